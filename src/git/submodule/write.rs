//! Files of a submodule written into a worktree, one directory after the other, without following a link.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{FileMode, ObjectType, Repository, Tree};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::overlay::Overlay;
use super::{DEEPEST, DIRECTORY, file_mode, is_dot_git};
use crate::git::include::place::{Missing, descend};
use crate::git::stop::StopSignal;
use crate::git::{GitError, Oid};

/// What an error says was stopped.
pub(super) const VERB: &str = "submodule";

const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Directories that stay empty.
#[derive(Default)]
pub(super) struct Unfilled {
    /// Submodules inside.
    pub(super) nested: Vec<PathBuf>,
    pub(super) too_deep: Vec<PathBuf>,
}

/// Writes the files of a commit into an empty directory. A signal stops it.
pub(super) fn fill(store: &Repository, commit: Oid, target: &OwnedFd, stop: &StopSignal) -> Result<Unfilled, GitError> {
    let tree = store.find_commit(commit.raw()).and_then(|commit| commit.tree());
    let tree = tree.map_err(GitError::library(format!("read the submodule's commit `{commit}`")))?;
    let mut unfilled = Unfilled::default();
    write_tree((store, stop), &tree, target, Path::new(""), &mut unfilled)?;
    Ok(unfilled)
}

/// Writes what was kept of a submodule over the files of its commit.
pub(super) fn put_back(own: &Repository, kept: &Overlay, path: &Path, target: &OwnedFd) -> Result<(), GitError> {
    for (file, content, mode) in kept.files_of(path) {
        let blob = own.find_blob(content.raw()).map_err(GitError::library("read a kept file"))?;
        let write = || {
            let (parent, name) = (file.parent().unwrap_or(Path::new("")), file.file_name().unwrap_or_default());
            let directory = descend(target, parent, Missing::Create)?;
            remove(&directory, name)?;
            write_file(&directory, name, blob.content(), mode)
        };
        write().map_err(GitError::io("write", &file))?;
    }
    for file in kept.deleted_of(path) {
        let (parent, name) = (file.parent().unwrap_or(Path::new("")), file.file_name().unwrap_or_default());
        match descend(target, parent, Missing::Refuse) {
            Ok(directory) => remove(&directory, name).map_err(GitError::io("delete", &file))?,
            Err(_) => continue,
        }
    }
    Ok(())
}

fn write_tree(
    (store, stop): (&Repository, &StopSignal),
    tree: &Tree<'_>,
    target: &OwnedFd,
    at: &Path,
    unfilled: &mut Unfilled,
) -> Result<(), GitError> {
    for entry in tree {
        stop.check(VERB)?;
        let name = OsStr::from_bytes(entry.name_bytes());
        let path = at.join(name);
        // A tree object can hold any name.
        if name.is_empty() || name == "." || name == ".." || name.as_bytes().contains(&b'/') || is_dot_git(name) {
            continue;
        }
        let failed = |error| GitError::io("write", &path)(error);
        let is_directory = matches!(entry.kind(), Some(ObjectType::Tree | ObjectType::Commit));
        if is_directory {
            rustix::fs::mkdirat(target, name, Mode::from_raw_mode(0o777)).map_err(|errno| failed(errno.into()))?;
        }
        match entry.kind() {
            Some(ObjectType::Tree) if at.components().count() >= DEEPEST => unfilled.too_deep.push(path),
            Some(ObjectType::Tree) => {
                let opened = rustix::fs::openat(target, name, DIRECTORY, Mode::empty());
                let opened = opened.map_err(|errno| GitError::io("open", &path)(errno.into()))?;
                let below = store.find_tree(entry.id()).map_err(GitError::library("read the submodule's commit"))?;
                write_tree((store, stop), &below, &opened, &path, unfilled)?;
            }
            Some(ObjectType::Commit) => unfilled.nested.push(path),
            _ => {
                let blob = store.find_blob(entry.id()).map_err(GitError::library("read the submodule's commit"))?;
                write_file(target, name, blob.content(), file_mode(entry.filemode())).map_err(failed)?;
            }
        }
    }
    Ok(())
}

fn write_file(directory: &OwnedFd, name: &OsStr, content: &[u8], mode: FileMode) -> io::Result<()> {
    let permissions = match mode {
        FileMode::Link => return Ok(rustix::fs::symlinkat(OsStr::from_bytes(content), directory, name)?),
        FileMode::BlobExecutable => 0o777,
        _ => 0o666,
    };
    let file = rustix::fs::openat(directory, name, NEW, Mode::from_raw_mode(permissions))?;
    File::from(file).write_all(content)
}

/// Removes a file or a link, if there is one.
fn remove(directory: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
