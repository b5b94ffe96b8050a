//! A directory whose files are looked at, taken away and put in place without following any symbolic link.
//!
//! A work tree is written by an agent while this runs: each path is opened step by step, and a name is only ever taken
//! by a rename that replaces nothing.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use sha1::Digest;

use crate::git::GitError;
use crate::git::include::place::{Missing, copy_file, descend};
use crate::git::index::{blob_hasher, blob_id};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
// Without `NONBLOCK` a pipe in the place of a file would hold the caller for ever.
const SOURCE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Length of a SHA-1.
pub(in crate::git) const HASH: usize = 20;

/// What lies at a path, told by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum Seen {
    Absent,
    File {
        hash: [u8; HASH],
        execution: Execution,
    },
    Link {
        hash: [u8; HASH],
    },
    /// A directory, a pipe, a file that cannot be read, or something in place of a directory above it.
    Other,
}

/// Whether the owner may execute a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum Execution {
    Plain,
    Executable,
}

/// A directory, held open.
pub(in crate::git) struct Place {
    root: OwnedFd,
    path: PathBuf,
}

impl Place {
    pub(in crate::git) fn open(path: &Path) -> Result<Self, GitError> {
        let root = rustix::fs::open(path, DIRECTORY, Mode::empty());
        let root = root.map_err(|errno| GitError::io("open", path)(errno.into()))?;
        Ok(Self { root, path: path.to_owned() })
    }

    /// What lies at a path.
    pub(in crate::git) fn look(&self, path: &Path) -> Result<Seen, GitError> {
        self.look_raw(path).map_err(|errno| self.error("read", path, errno))
    }

    fn look_raw(&self, path: &Path) -> rustix::io::Result<Seen> {
        let (directory, name) = match self.above(path, Missing::Refuse) {
            Err(Errno::NOENT) => return Ok(Seen::Absent),
            Err(Errno::LOOP | Errno::NOTDIR | Errno::ACCESS) => return Ok(Seen::Other),
            above => above?,
        };
        let found = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(Seen::Absent),
            found => found?,
        };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => match rustix::fs::readlinkat(&directory, name, Vec::new()) {
                Ok(target) => Ok(Seen::Link { hash: blob_id(target.as_bytes()) }),
                // Another thing took its place.
                Err(_) => Ok(Seen::Other),
            },
            FileType::RegularFile => match rustix::fs::openat(&directory, name, SOURCE, Mode::empty()) {
                Ok(file) => see_file(file),
                Err(_) => Ok(Seen::Other),
            },
            _ => Ok(Seen::Other),
        }
    }

    /// Whether a file or a link lies at a path.
    pub(in crate::git) fn is_file(&self, path: &Path) -> bool {
        matches!(self.kind(path), Ok(FileType::RegularFile | FileType::Symlink))
    }

    /// Whether something lies at a path that is not a directory.
    pub(in crate::git) fn is_in_the_way(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind != FileType::Directory)
    }

    /// Whether a directory lies at a path.
    pub(in crate::git) fn is_directory(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind == FileType::Directory)
    }

    /// Whether anything lies at a path.
    pub(in crate::git) fn is_there(&self, path: &Path) -> bool {
        self.kind(path).is_ok()
    }

    /// Whether nothing at all lies at a path.
    pub(in crate::git) fn is_free(&self, path: &Path) -> bool {
        matches!(self.kind(path), Err(Errno::NOENT))
    }

    fn kind(&self, path: &Path) -> rustix::io::Result<FileType> {
        Ok(FileType::from_raw_mode(self.stat(path)?.st_mode))
    }

    /// What the file system says about a path.
    pub(in crate::git) fn stat(&self, path: &Path) -> rustix::io::Result<rustix::fs::Stat> {
        let (above, name) = self.above(path, Missing::Refuse)?;
        rustix::fs::statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Opens a file for reading; none when something else is there.
    pub(in crate::git) fn read(&self, path: &Path) -> Option<File> {
        let (directory, name) = self.above(path, Missing::Refuse).ok()?;
        rustix::fs::openat(&directory, name, SOURCE, Mode::empty()).ok().map(File::from)
    }

    /// Moves something to a free path of another place; directories on the way there are made.
    pub(in crate::git) fn move_to(&self, path: &Path, other: &Place, to: &Path) -> rustix::io::Result<()> {
        let (from, name) = self.above(path, Missing::Refuse)?;
        let (into, new) = other.above(to, Missing::Create)?;
        match rustix::fs::renameat_with(&from, name, &into, new, RenameFlags::NOREPLACE) {
            // A file system without such a rename. What appears in this moment is replaced.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                match rustix::fs::statat(&into, new, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => rustix::fs::renameat(&from, name, &into, new),
                    Err(errno) => Err(errno),
                    Ok(_) => Err(Errno::EXIST),
                }
            }
            renamed => renamed,
        }
    }

    /// Removes a directory and those in it, as far as they are empty.
    pub(in crate::git) fn remove_empty(&self, path: &Path) -> rustix::io::Result<()> {
        let (above, name) = self.above(path, Missing::Refuse)?;
        let directory = rustix::fs::openat(&above, name, DIRECTORY, Mode::empty())?;
        let mut entries = rustix::fs::Dir::read_from(&directory)?;
        while let Some(entry) = entries.read().transpose()? {
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                self.remove_empty(&path.join(std::ffi::OsStr::from_bytes(name)))?;
            }
        }
        rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR)
    }

    /// Removes the directory at a path if it is empty.
    pub(in crate::git) fn remove_directory(&self, path: &Path) -> rustix::io::Result<()> {
        let (above, name) = self.above(path, Missing::Refuse)?;
        rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR)
    }

    /// Removes the directories above a path, as far as they are empty.
    pub(in crate::git) fn remove_empty_parents(&self, path: &Path) {
        let above = path.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty());
        above.map_while(|part| self.remove_directory(part).ok()).for_each(drop);
    }

    /// Makes a directory and those above it.
    pub(in crate::git) fn create_directory(&self, path: &Path) -> rustix::io::Result<()> {
        descend(&self.root, path, Missing::Create).map(drop)
    }

    /// Copies a file or a link to the same path of another place, which is free; directories on the way there are made.
    pub(in crate::git) fn copy_to(&self, path: &Path, other: &Place) -> io::Result<()> {
        let (from, name) = self.above(path, Missing::Refuse)?;
        let (into, _) = other.above(path, Missing::Create)?;
        let found = rustix::fs::statat(&from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&from, name, Vec::new())?;
                Ok(rustix::fs::symlinkat(target.as_c_str(), &into, name)?)
            }
            FileType::RegularFile => copy_file(&from, &into, name, Mode::from_raw_mode(found.st_mode)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    pub(in crate::git) fn error(&self, act: &'static str, path: &Path, errno: Errno) -> GitError {
        GitError::Io { act, path: self.path.join(path), source: errno.into() }
    }

    fn above<'p>(&self, path: &'p Path, missing: Missing) -> rustix::io::Result<(OwnedFd, &'p Path)> {
        let (parent, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        Ok((descend(&self.root, parent, missing)?, Path::new(name)))
    }
}

fn see_file(file: OwnedFd) -> rustix::io::Result<Seen> {
    let found = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Ok(Seen::Other);
    }
    let execution = if found.st_mode & 0o100 == 0 { Execution::Plain } else { Execution::Executable };
    let mut hasher = blob_hasher(found.st_size.unsigned_abs());
    let (mut file, mut buffer) = (File::from(file), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }
    // A file that grows while it is read gets a hash that no blob has.
    Ok(Seen::File { hash: hasher.finalize().into(), execution })
}
