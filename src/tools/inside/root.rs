//! The work tree as a directory that is held open: whatever a call names is found beneath it, one part after the other.
//!
//! No part is opened through a link. A link that stays in the tree is read by its words, one that leads out is refused,
//! and nothing is written through either, so nobody who swaps a part for a link in the meantime gets anything else opened. It holds also where no
//! kernel does. What the rules keep from tools that read and write files is refused by name and by place.

mod entry;
mod error;
mod resolve;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self, AtFlags, CWD, Mode, OFlags, RawMode};
use rustix::io::Errno;

use crate::permission::guard::{self, Act};
use crate::permission::{Places, Target};

pub use entry::{Entry, Kind};
pub use error::RootError;
use resolve::{Last, Parents, Spot};

/// Directories are opened to look at and to name things in, never through a link.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A pipe without a writer must not hold whoever opens it.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The permissions of what is made, before the process's own mask.
const NEW_FILE: RawMode = 0o666;
const NEW_DIRECTORY: RawMode = 0o777;

/// Told apart from what others make beside it.
static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// A work tree. Paths are relative to it, or absolute and below it.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    /// The same place with its links followed.
    real: PathBuf,
    directory: OwnedFd,
    /// The one file outside that may be read and written.
    plan: Option<PathBuf>,
    places: Places,
}

/// The permissions of a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permissions {
    /// Those of the file that it replaces, or the usual ones.
    Kept,
    /// Those of a program, or not.
    Program,
    Plain,
    /// Exactly these.
    Exactly(RawMode),
}

impl Root {
    /// Opens the work tree; `plan` is the file that the session may write while it makes a plan.
    pub fn open(tree: &Path, plan: Option<&Path>) -> io::Result<Self> {
        let directory = fs::openat(CWD, tree, DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty())?;
        let real = tree.canonicalize()?;
        let places = Places { tree: real.clone(), ..Places::default() };
        Ok(Self { path: tree.to_owned(), real, directory, plan: plan.map(Path::to_owned), places })
    }

    /// Where the tree is, by the name it was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is, with its links followed.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Opens a regular file to read it.
    pub fn read(&self, path: &str) -> Result<(std::fs::File, Entry), RootError> {
        let spot = self.resolve(path, Last::Followed, Parents::Present)?;
        self.guard(path, &spot, Act::Read)?;
        open_regular(spot.directory.as_fd(), Path::new(&spot.name), path)
    }

    /// What a path is, with its links followed.
    pub fn look(&self, path: &str) -> Result<Entry, RootError> {
        let spot = self.resolve(path, Last::Followed, Parents::Present)?;
        spot.entry().map_err(|errno| error::failed("look at", path, errno))
    }

    /// What a path itself is: of a link, the link. `None` when there is nothing.
    pub fn find(&self, path: &str) -> Result<Option<Entry>, RootError> {
        let spot = match self.resolve(path, Last::Itself, Parents::Present) {
            Ok(spot) => spot,
            Err(RootError::Missing { .. }) => return Ok(None),
            Err(other) => return Err(other),
        };
        match spot.entry() {
            Ok(entry) => Ok(Some(entry)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(error::failed("look at", path, errno)),
        }
    }

    /// Where a path is, relative to the tree, with its links followed; for whoever searches below it.
    pub fn place(&self, path: &str) -> Result<PathBuf, RootError> {
        let spot = self.resolve(path, Last::Followed, Parents::Present)?;
        self.guard(path, &spot, Act::Search)?;
        match &spot.inside {
            Some(inside) => Ok(inside.clone()),
            None => Err(RootError::Outside { path: path.to_owned() }),
        }
    }

    /// Opens a directory of the tree by its place, no part of which may be a link.
    pub fn directory(&self, place: &Path) -> io::Result<OwnedFd> {
        beneath(&self.directory, place)
    }

    /// The names in a directory and what they are, sorted.
    pub fn list(&self, path: &str) -> Result<Vec<(String, Kind)>, RootError> {
        let spot = self.resolve(path, Last::Followed, Parents::Present)?;
        let fail = |errno| match errno {
            Errno::NOTDIR => RootError::NotDirectory { path: path.to_owned() },
            errno => error::failed("list", path, errno),
        };
        let directory = fs::openat(&spot.directory, &spot.name, DIRECTORY, Mode::empty()).map_err(fail)?;
        entry::list(&directory).map_err(fail)
    }

    /// Replaces a file, or makes it with the directories that it needs. Who reads it sees the old one or the new one.
    pub fn write(&self, path: &str, content: &mut dyn Read, permissions: Permissions) -> Result<u64, RootError> {
        let spot = self.spot_to_write(path)?;
        let old = match spot.entry() {
            Ok(entry) => Some(entry.regular(path)?),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(error::failed("write", path, errno)),
        };
        if old.as_ref().is_some_and(|old| old.mode & 0o222 == 0) {
            return Err(RootError::ReadOnly { path: path.to_owned() });
        }
        replace(&spot, content, permissions, old.as_ref()).map_err(|source| RootError::Io {
            act: "write",
            path: path.to_owned(),
            source,
        })
    }

    /// Whether a file may be written as far as can be told before it is: by the rules, and by what is there.
    pub fn judge_write(&self, path: &str) -> Result<(), RootError> {
        let spot = self.resolve(path, Last::Followed, Parents::Judged)?;
        self.guard(path, &spot, Act::Write)
    }

    /// Whether the contents of a file of the tree are kept from tools that read.
    pub fn is_kept(&self, place: &Path) -> bool {
        guard::is_tree_secret(place)
    }

    /// Makes a directory and those above it; says which ones were missing, the outermost first.
    pub fn make_directory(&self, path: &str) -> Result<Vec<String>, RootError> {
        // Judged before any part of it is made.
        let named = self.resolve(path, Last::Followed, Parents::Judged)?;
        self.guard(path, &named, Act::Write)?;
        let mut made = Vec::new();
        let spot = self.resolve(path, Last::Followed, Parents::Made(&mut made))?;
        match fs::mkdirat(&spot.directory, &spot.name, Mode::from_raw_mode(NEW_DIRECTORY)) {
            Ok(()) => made.extend(spot.inside.iter().map(|inside| inside.to_string_lossy().into_owned())),
            Err(Errno::EXIST) => match spot.entry().map(|entry| entry.kind) {
                Ok(Kind::Directory) => {}
                Ok(_) | Err(_) => return Err(RootError::NotDirectory { path: path.to_owned() }),
            },
            Err(errno) => return Err(error::failed("make", path, errno)),
        }
        Ok(made)
    }

    /// Removes a file, a link, or a directory that is empty.
    pub fn remove(&self, path: &str) -> Result<Kind, RootError> {
        let spot = self.resolve(path, Last::Itself, Parents::Present)?;
        self.guard(path, &spot, Act::Write)?;
        let fail = |errno| match errno {
            Errno::NOTEMPTY | Errno::EXIST => RootError::NotEmpty { path: path.to_owned() },
            errno => error::failed("delete", path, errno),
        };
        let kind = spot.own_entry(path)?.kind;
        let flags = if kind == Kind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        fs::unlinkat(&spot.directory, &spot.name, flags).map_err(fail)?;
        Ok(kind)
    }

    /// Renames whatever `from` is; of a link, the link. Makes the directories that `to` needs.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), RootError> {
        let source = self.resolve(from, Last::Itself, Parents::Present)?;
        self.guard(from, &source, Act::Write)?;
        source.own_entry(from)?;
        let judged = self.resolve(to, Last::Itself, Parents::Judged)?;
        self.guard(to, &judged, Act::Write)?;
        let target = self.resolve(to, Last::Itself, Parents::Made(&mut Vec::new()))?;
        let fail = |errno| match errno {
            Errno::NOTEMPTY | Errno::EXIST => RootError::NotEmpty { path: to.to_owned() },
            Errno::ISDIR => RootError::Directory { path: to.to_owned() },
            errno => error::failed("move", from, errno),
        };
        fs::renameat(&source.directory, &source.name, &target.directory, &target.name).map_err(fail)
    }

    /// Refuses what the rules keep from tools, by the name that was given and by the place that it is, and to write a file
    /// by a name that goes through a link.
    fn guard(&self, path: &str, spot: &Spot, act: Act) -> Result<(), RootError> {
        // Only the plan is not in the tree, and it was named to us.
        let Some(inside) = &spot.inside else { return Ok(()) };
        let named = self.words(path).unwrap_or_else(|| inside.clone());
        let target = Target { named: self.real.join(&named), real: self.real.join(inside) };
        if let Some(refusal) = guard::check(&[target], act, &self.places) {
            return Err(RootError::Refused { refusal });
        }
        let is_direct = resolve::without_dots(&named) == *inside;
        match act {
            Act::Write if !is_direct => {
                Err(RootError::ThroughLink { path: path.to_owned(), place: inside.to_string_lossy().into_owned() })
            }
            Act::Read | Act::Search | Act::Write => Ok(()),
        }
    }

    fn spot_to_write(&self, path: &str) -> Result<Spot, RootError> {
        self.judge_write(path)?;
        let spot = self.resolve(path, Last::Followed, Parents::Made(&mut Vec::new()))?;
        // Whoever moves things about in the meantime is judged by where they led.
        self.guard(path, &spot, Act::Write)?;
        Ok(spot)
    }
}

/// Opens a file of a directory that is held; anything but a regular file is refused before it is opened.
fn open_regular(directory: impl AsFd, name: &Path, path: &str) -> Result<(std::fs::File, Entry), RootError> {
    let fail = |errno| error::failed("read", path, errno);
    entry::of(&directory, name).map_err(fail)?.regular(path)?;
    let file = fs::openat(&directory, name, FILE, Mode::empty()).map_err(fail)?;
    let entry = Entry::from(fs::fstat(&file).map_err(fail)?).regular(path)?;
    Ok((std::fs::File::from(file), entry))
}

/// Opens a directory below one that is held; no part of its path may be a link.
pub fn beneath(directory: &OwnedFd, place: &Path) -> io::Result<OwnedFd> {
    let mut directory = directory.try_clone()?;
    for part in place {
        directory = fs::openat(&directory, part, DIRECTORY, Mode::empty())?;
    }
    Ok(directory)
}

/// Opens a file that a walk has met, by its name in its directory.
pub fn open_met(directory: impl AsFd, name: &OsStr) -> io::Result<std::fs::File> {
    let file = fs::openat(directory, name, FILE, Mode::empty())?;
    match Entry::from(fs::fstat(&file)?).kind {
        Kind::File => Ok(std::fs::File::from(file)),
        // It has changed since.
        Kind::Directory | Kind::Link | Kind::Pipe | Kind::Socket | Kind::Device | Kind::Unknown => {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }
}

/// Writes a file beside the one it replaces and puts it in its place.
fn replace(spot: &Spot, content: &mut dyn Read, permissions: Permissions, old: Option<&Entry>) -> io::Result<u64> {
    let (name, file) = temporary(&spot.directory)?;
    let mut file = std::fs::File::from(file);
    let written = (|| {
        let length = io::copy(content, &mut file)?;
        file.flush()?;
        let made = Entry::from(fs::fstat(&file)?).mode;
        let mode = match (permissions, old) {
            (Permissions::Exactly(mode), _) => mode,
            (Permissions::Kept, Some(old)) => old.mode,
            (Permissions::Kept | Permissions::Plain, None) => made,
            (Permissions::Plain, Some(old)) => old.mode & !0o111,
            // Whoever may read it may run it.
            (Permissions::Program, old) => {
                let mode = old.map_or(made, |old| old.mode);
                mode | (mode & 0o444) >> 2
            }
        };
        if mode != made {
            fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        fs::renameat(&spot.directory, &name, &spot.directory, &spot.name)?;
        Ok(length)
    })();
    if written.is_err() {
        // The first failure is the one to tell.
        fs::unlinkat(&spot.directory, &name, AtFlags::empty()).ok();
    }
    written
}

fn temporary(directory: &OwnedFd) -> io::Result<(String, OwnedFd)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let name = format!(".coppice-{}-{number}", std::process::id());
        match fs::openat(directory, &name, flags, Mode::from_raw_mode(NEW_FILE)) {
            Ok(file) => return Ok((name, file)),
            // Left behind by a process of the same number that was ended.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
