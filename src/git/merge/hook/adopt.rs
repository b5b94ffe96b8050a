//! What hooks left in their own directory, taken over as data.
//!
//! A hook runs code of the work tree. It can replace its index, an object or a directory by a link, or name another
//! repository's objects as alternates, so that a read of ours would publish them. Nothing here follows a link, git never
//! opens the hooks' object directory, and an object is written to the repository under the hash of its own content.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags};

use crate::git::command::Git;
use crate::git::{GitError, Oid, Repo};

/// The largest file that is taken over.
const LARGEST: u64 = 1 << 30;

const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = FILE.union(OFlags::DIRECTORY);

/// The tree of an index that hooks wrote, once the objects that they made are in the repository.
pub(super) fn staged_tree(repo: &Repo, index: &Path, objects: &Path) -> Result<Oid, GitError> {
    let private = tempfile::tempdir().map_err(GitError::io("create a directory in", &std::env::temp_dir()))?;
    adopt_objects(repo, objects, private.path())?;
    // A copy that nobody else writes: the hooks' processes are gone, their links are not.
    let copy = private.path().join("index");
    let bytes = read_file(index).map_err(GitError::io("read", index))?;
    fs::write(&copy, bytes).map_err(GitError::io("write", &copy))?;
    Git::new(repo, "write-tree").index(&copy).run_oid()
}

/// Reads a plain file of bounded size.
pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    read_opened(rustix::fs::openat(CWD, path, FILE, Mode::empty())?)
}

fn read_opened(fd: OwnedFd) -> io::Result<Vec<u8>> {
    let file = File::from(fd);
    let found = file.metadata()?;
    if !found.is_file() || found.len() > LARGEST {
        return Err(io::Error::other("it is no plain file, or too large"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes every object that is new into the repository. Only loose objects are looked at, which is what `git add` makes.
fn adopt_objects(repo: &Repo, objects: &Path, private: &Path) -> Result<(), GitError> {
    let handle = repo.open()?;
    let own = handle.odb().map_err(GitError::library("open the objects"))?;
    let copies = private.join("objects");
    let is_new = |name: git2::Oid| !own.exists(name);
    let new = copy_loose_objects(objects, &copies, &is_new).map_err(GitError::io("read", objects))?;
    let write = || {
        let theirs = git2::Odb::new()?;
        theirs.add_disk_alternate(copies.to_string_lossy().as_ref())?;
        for name in new {
            // Refused if the content has another hash than its name says.
            let object = theirs.read(name)?;
            own.write(object.kind(), object.data())?;
        }
        Ok(())
    };
    write().map_err(GitError::library("take over the objects of a hook"))
}

/// Copies the plain files of an object directory that are named as objects and wanted; returns their names.
fn copy_loose_objects(from: &Path, to: &Path, is_wanted: &dyn Fn(git2::Oid) -> bool) -> io::Result<Vec<git2::Oid>> {
    let top = rustix::fs::openat(CWD, from, DIRECTORY, Mode::empty())?;
    let mut copied = Vec::new();
    fs::create_dir_all(to)?;
    for first in names(&top, FileType::Directory, 2)? {
        let directory = rustix::fs::openat(&top, &first, DIRECTORY, Mode::empty())?;
        for rest in names(&directory, FileType::RegularFile, 38)? {
            let Ok(name) = git2::Oid::from_str(&format!("{first}{rest}")) else { continue };
            if is_wanted(name) {
                let bytes = read_opened(rustix::fs::openat(&directory, &rest, FILE, Mode::empty())?)?;
                fs::create_dir_all(to.join(&first))?;
                fs::write(to.join(&first).join(&rest), bytes)?;
                copied.push(name);
            }
        }
    }
    Ok(copied)
}

/// The entries of one kind whose names are so many hexadecimal digits.
fn names(directory: &OwnedFd, kind: FileType, digits: usize) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        let is_hex = name.len() == digits && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        // Where the file system does not tell the kind, opening does.
        if is_hex && (entry.file_type() == kind || entry.file_type() == FileType::Unknown) {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}
