//! Deletes a trashed tree in small steps, so that the caller sets the pace: deleting many files at once slows the
//! creation of the next ones.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{GitError, Pending};

/// How many directories are held open at most; a deeper one is moved up first.
const DEEPEST: usize = 64;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A deletion that goes on with each step.
pub struct Discard {
    path: PathBuf,
    /// Open directories from the top of the tree down to where the deletion is; none when all is gone.
    levels: Vec<Level>,
    moved_up: usize,
}

/// Whether a deletion is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    More,
    Done,
}

/// One directory whose entries are being deleted.
struct Level {
    name: CString,
    fd: OwnedFd,
    entries: Dir,
}

impl Discard {
    /// Starts to delete something that holds nobody's work; refused for what may hold a session's.
    pub fn new(pending: &Pending) -> Result<Self, GitError> {
        match pending.session {
            Some(session) => Err(GitError::NotSaved { session }),
            None => Self::start(&pending.path).map_err(GitError::io("delete", &pending.path)),
        }
    }

    fn start(path: &Path) -> io::Result<Self> {
        let mut discard = Self { path: path.to_owned(), levels: Vec::new(), moved_up: 0 };
        match path.symlink_metadata() {
            Err(_) => {}
            Ok(found) if found.is_dir() => {
                rustix::fs::chmod(path, Mode::RWXU)?;
                let fd = rustix::fs::open(path, DIRECTORY, Mode::empty())?;
                discard.levels.push(Level::new(c"".into(), fd)?);
            }
            Ok(_) => fs::remove_file(path)?,
        }
        Ok(discard)
    }

    /// Deletes up to `count` files and directories.
    pub fn step(&mut self, count: usize) -> io::Result<Step> {
        for _ in 0..count {
            if self.delete_one()? == Step::Done {
                return Ok(Step::Done);
            }
        }
        Ok(if self.levels.is_empty() { Step::Done } else { Step::More })
    }

    /// Deletes everything that is left.
    pub fn run(mut self) -> io::Result<()> {
        while self.step(1024)? == Step::More {}
        Ok(())
    }

    fn delete_one(&mut self) -> io::Result<Step> {
        let Some(level) = self.levels.last_mut() else { return Ok(Step::Done) };
        let Some(entry) = level.entries.read().transpose()? else { return self.leave() };
        let name = entry.file_name().to_owned();
        if matches!(name.to_bytes(), b"." | b"..") {
            return Ok(Step::More);
        }
        let file_type = match entry.file_type() {
            FileType::Unknown => {
                FileType::from_raw_mode(rustix::fs::statat(&level.fd, &name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
            }
            known => known,
        };
        match file_type {
            FileType::Directory => self.enter(name)?,
            _ => rustix::fs::unlinkat(&level.fd, &name, AtFlags::empty())?,
        }
        Ok(Step::More)
    }

    fn enter(&mut self, name: CString) -> io::Result<()> {
        let (Some(top), Some(level)) = (self.levels.first(), self.levels.last()) else { return Ok(()) };
        if self.levels.len() >= DEEPEST {
            // A tree can be deeper than there are file descriptors.
            self.moved_up += 1;
            rustix::fs::renameat(&level.fd, &name, &top.fd, format!(".deep.{}", self.moved_up))?;
            return Ok(());
        }
        // Caches of some tools are read-only on purpose. No link is followed: the entry is a directory, and the open
        // below refuses anything else.
        let opened = rustix::fs::openat(&level.fd, &name, DIRECTORY, Mode::empty());
        let fd = match opened {
            Err(Errno::ACCESS) => {
                rustix::fs::chmodat(&level.fd, &name, Mode::RWXU, AtFlags::empty())?;
                rustix::fs::openat(&level.fd, &name, DIRECTORY, Mode::empty())?
            }
            opened => opened?,
        };
        rustix::fs::fchmod(&fd, Mode::RWXU)?;
        self.levels.push(Level::new(name, fd)?);
        Ok(())
    }

    /// Removes the directory whose entries are gone, or reads it again if some came meanwhile.
    fn leave(&mut self) -> io::Result<Step> {
        let Some(mut level) = self.levels.pop() else { return Ok(Step::Done) };
        let removed = match self.levels.last() {
            Some(parent) => rustix::fs::unlinkat(&parent.fd, &level.name, AtFlags::REMOVEDIR),
            None => rustix::fs::rmdir(&self.path),
        };
        match removed {
            Ok(()) => Ok(if self.levels.is_empty() { Step::Done } else { Step::More }),
            Err(Errno::NOTEMPTY) => {
                level.entries.rewind();
                self.levels.push(level);
                Ok(Step::More)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Level {
    fn new(name: CString, fd: OwnedFd) -> io::Result<Self> {
        let entries = Dir::read_from(&fd)?;
        Ok(Self { name, fd, entries })
    }
}
