//! The files of a submodule as an agent left them, compared with the commit that it was filled from.
//!
//! Content is hashed, never guessed from its time. Files that the submodule's own ignore files name are left out unless
//! the commit has them.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{FileMode, ObjectType, Repository, Tree};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::write::VERB;
use super::{DEEPEST, DIRECTORY, SubmoduleFile, SubmoduleFileKind, is_dot_git};
use crate::git::stop::StopSignal;
use crate::git::{GitError, Oid};

const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// How much is read or written before somebody can stop it.
const PIECE: u64 = 1 << 20;
/// A larger file is left out.
const LARGEST: u64 = 128 << 20;
/// A larger file has no line counts.
const COUNTED: usize = 1 << 20;
/// A larger ignore file counts for nothing.
const LARGEST_IGNORE: u64 = 64 << 10;

/// What differs in one submodule.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) files: Vec<WalkedFile>,
    /// From the root of the submodule.
    pub(super) left_out: Vec<PathBuf>,
}

pub(super) struct WalkedFile {
    pub(super) change: SubmoduleFile,
    /// The content, which is in the superproject's objects; none for a deleted file.
    pub(super) content: Option<(Oid, FileMode)>,
}

/// Compares a directory with a commit; without a commit everything in it is new. Content that differs is written to the
/// objects of `own`. A signal stops it.
pub(super) fn compare(
    own: &Repository,
    base: Option<(&Repository, Oid)>,
    directory: Option<&OwnedFd>,
    stop: &StopSignal,
) -> Result<Walked, GitError> {
    let tree = match base {
        Some((store, commit)) => {
            let tree = store.find_commit(commit.raw()).and_then(|commit| commit.tree());
            Some(tree.map_err(GitError::library(format!("read the submodule's commit `{commit}`")))?)
        }
        None => None,
    };
    let mut walk = Walk { own, store: base.map(|(store, _)| store), stop, walked: Walked::default() };
    walk.directory(directory, tree.as_ref(), Path::new(""), &mut Vec::new())?;
    walk.walked.files.sort_by(|one, other| one.change.path.cmp(&other.change.path));
    Ok(walk.walked)
}

/// The names and kinds in a directory.
pub(in crate::git) fn entries(directory: &OwnedFd) -> io::Result<Vec<(CString, FileType)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_owned();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let found = rustix::fs::statat(directory, &name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(found.st_mode)
            }
            kind => kind,
        };
        found.push((name, kind));
    }
    Ok(found)
}

struct Walk<'a> {
    own: &'a Repository,
    store: Option<&'a Repository>,
    stop: &'a StopSignal,
    walked: Walked,
}

impl Walk<'_> {
    fn directory(
        &mut self,
        directory: Option<&OwnedFd>,
        base: Option<&Tree<'_>>,
        at: &Path,
        ignores: &mut Vec<Gitignore>,
    ) -> Result<(), GitError> {
        let mut seen = Vec::new();
        if let Some(directory) = directory {
            let Ok(entries) = entries(directory) else {
                self.walked.left_out.push(at.to_owned());
                return Ok(());
            };
            ignores.push(read_ignore(directory, at));
            for (name, kind) in entries {
                self.stop.check(VERB)?;
                let name = OsStr::from_bytes(name.as_bytes());
                let path = at.join(name);
                let known = base.and_then(|base| base.get_name_bytes(name.as_bytes()));
                seen.push(name.to_owned());
                match kind {
                    // That of the submodule itself only names another directory.
                    FileType::RegularFile | FileType::Symlink if path == Path::new(".git") => {}
                    // No commit can hold what is in it.
                    _ if is_dot_git(name) => self.walked.left_out.push(path),
                    _ if known.is_none() && is_ignored(ignores, &path, kind) => {}
                    FileType::Directory => {
                        let below = known.filter(|known| known.kind() == Some(ObjectType::Tree));
                        let below = below.and_then(|known| self.store?.find_tree(known.id()).ok());
                        let opened = rustix::fs::openat(directory, name, DIRECTORY, Mode::empty());
                        match opened {
                            Ok(opened) if at.components().count() < DEEPEST => {
                                self.directory(Some(&opened), below.as_ref(), &path, ignores)?;
                            }
                            Ok(_) | Err(_) => self.walked.left_out.push(path),
                        }
                    }
                    FileType::RegularFile | FileType::Symlink => match read(directory, name, kind, self.stop) {
                        Ok((bytes, mode)) => {
                            let before = known.as_ref().map(|known| (known.id(), known.filemode()));
                            self.file(path, &bytes, mode, before)?;
                        }
                        Err(_) => {
                            self.stop.check(VERB)?;
                            self.walked.left_out.push(path);
                        }
                    },
                    // Pipes, sockets and devices hold no content.
                    _ => {}
                }
            }
            ignores.pop();
        }
        let Some(base) = base else { return Ok(()) };
        for known in base {
            let name = OsStr::from_bytes(known.name_bytes());
            if !seen.iter().any(|seen| seen == name) {
                self.deleted(&at.join(name), known.id(), known.kind())?;
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        path: PathBuf,
        bytes: &[u8],
        mode: FileMode,
        before: Option<(git2::Oid, i32)>,
    ) -> Result<(), GitError> {
        if let Some((id, known_mode)) = before
            && known_mode == i32::from(mode)
            && id == git2::Oid::hash_object(ObjectType::Blob, bytes).map_err(GitError::library("hash a file"))?
        {
            return Ok(());
        }
        let content = self.write(bytes)?;
        let kind = if before.is_some() { SubmoduleFileKind::Changed } else { SubmoduleFileKind::Added };
        let old = before.and_then(|(id, _)| self.store?.find_blob(id).ok()).map(|blob| blob.content().to_vec());
        let change = SubmoduleFile { path, kind, lines: count(&old.unwrap_or_default(), bytes) };
        self.walked.files.push(WalkedFile { change, content: Some((content.into(), mode)) });
        Ok(())
    }

    /// Writes content to the objects, piece by piece, since compression takes long.
    fn write(&self, bytes: &[u8]) -> Result<git2::Oid, GitError> {
        let failed = || GitError::library("keep a file of a submodule");
        let objects = self.own.odb().map_err(failed())?;
        let mut writer = objects.writer(bytes.len(), ObjectType::Blob).map_err(failed())?;
        let mut left = bytes;
        while io::copy(&mut left.by_ref().take(PIECE), &mut writer).map_err(GitError::io("write", self.own.path()))? > 0
        {
            self.stop.check(VERB)?;
        }
        writer.finalize().map_err(failed())
    }

    fn deleted(&mut self, path: &Path, id: git2::Oid, kind: Option<ObjectType>) -> Result<(), GitError> {
        let Some(store) = self.store else { return Ok(()) };
        match kind {
            // It was never filled.
            Some(ObjectType::Tree) if path.components().count() > DEEPEST => {}
            Some(ObjectType::Tree) => {
                self.stop.check(VERB)?;
                let below = store.find_tree(id).map_err(GitError::library("read the submodule's commit"))?;
                for known in &below {
                    self.deleted(&path.join(OsStr::from_bytes(known.name_bytes())), known.id(), known.kind())?;
                }
            }
            Some(ObjectType::Blob) => {
                let old = store.find_blob(id).map(|blob| blob.content().to_vec()).unwrap_or_default();
                let kind = SubmoduleFileKind::Deleted;
                let change = SubmoduleFile { path: path.to_owned(), kind, lines: count(&old, b"") };
                self.walked.files.push(WalkedFile { change, content: None });
            }
            // A submodule of the submodule was never filled.
            _ => {}
        }
        Ok(())
    }
}

/// The lines that came and went.
fn count(old: &[u8], new: &[u8]) -> Option<(usize, usize)> {
    let is_text = |bytes: &[u8]| bytes.len() <= COUNTED && !bytes.iter().take(8000).any(|byte| *byte == 0);
    if !is_text(old) || !is_text(new) {
        return None;
    }
    let patch = git2::Patch::from_buffers(old, None, new, None, None).ok()?;
    patch.line_stats().ok().map(|(_, insertions, deletions)| (insertions, deletions))
}

/// A file or the target of a link, with the mode that git has for it.
fn read(directory: &OwnedFd, name: &OsStr, kind: FileType, stop: &StopSignal) -> io::Result<(Vec<u8>, FileMode)> {
    if kind == FileType::Symlink {
        let target = rustix::fs::readlinkat(directory, name, Vec::new())?;
        return Ok((target.into_bytes(), FileMode::Link));
    }
    let file = File::from(rustix::fs::openat(directory, name, FILE, Mode::empty())?);
    let found = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || file.metadata()?.len() > LARGEST {
        return Err(io::Error::other("it is no plain file, or too large"));
    }
    let (mut file, mut bytes) = (file.take(LARGEST), Vec::new());
    while file.by_ref().take(PIECE).read_to_end(&mut bytes)? > 0 {
        stop.check(VERB).map_err(io::Error::other)?;
    }
    let mode = if found.st_mode & 0o111 == 0 { FileMode::Blob } else { FileMode::BlobExecutable };
    Ok((bytes, mode))
}

fn read_ignore(directory: &OwnedFd, at: &Path) -> Gitignore {
    let read = || {
        let file = File::from(rustix::fs::openat(directory, ".gitignore", FILE, Mode::empty()).ok()?);
        let is_plain = file.metadata().is_ok_and(|found| found.is_file() && found.len() <= LARGEST_IGNORE);
        let mut text = Vec::new();
        is_plain.then(|| file.take(LARGEST_IGNORE).read_to_end(&mut text)).and_then(Result::ok)?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let mut builder = GitignoreBuilder::new(at);
    for line in read().unwrap_or_default().lines() {
        // A pattern that makes no sense ignores nothing.
        builder.add_line(None, line).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn is_ignored(ignores: &[Gitignore], path: &Path, kind: FileType) -> bool {
    let matched = ignores.iter().rev().map(|ignore| ignore.matched(path, kind == FileType::Directory));
    matched.into_iter().find(|found| !found.is_none()).is_some_and(|found| found.is_ignore())
}
