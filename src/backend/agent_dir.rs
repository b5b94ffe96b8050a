//! Files of ours in directories that an agent writes too.
//!
//! We are outside of its cage, so whatever it plants there must lead us nowhere: each part of a path is opened from the
//! one above it and no link is followed, a file is put in its place by a rename and never written through, and what is
//! read must be a plain file, which nobody waits for.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, openat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;

/// A file for its owner alone.
pub(super) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The same, and a program.
pub(super) const PROGRAM: Mode = Mode::RWXU;

const ROOT: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = ROOT.union(OFlags::NOFOLLOW);
// Without `NONBLOCK` a pipe in the place of a file would hold the caller for ever.
const SOURCE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const FRESH: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// No file that we read back is nearly as long.
const LIMIT: u64 = 16 * 1024 * 1024;

/// A directory that an agent writes, reached from one that it cannot replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentDir {
    root: PathBuf,
    path: PathBuf,
}

/// What happens where a directory on the way is missing, or something else is in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Made,
    Told,
}

impl AgentDir {
    /// A directory that the agent fills and cannot replace.
    pub(super) fn fixed(root: PathBuf) -> Self {
        Self { path: root.clone(), root }
    }

    /// A directory in such a one; the agent can put anything in its place.
    pub(super) fn below(root: &Path, name: &str) -> Self {
        Self { root: root.to_owned(), path: root.join(name) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory itself.
    pub(super) fn make(&self) -> io::Result<()> {
        self.enter(Path::new(""), Missing::Made).map(drop)
    }

    /// Puts a file in its place, whole or not at all, and makes the directories above it.
    pub(super) fn write(&self, name: impl AsRef<Path>, mode: Mode, bytes: &[u8]) -> io::Result<()> {
        let (dir, name) = self.above(name.as_ref(), Missing::Made)?;
        let draft = draft()?;
        let mut file = File::from(openat(&dir, &draft, FRESH, mode)?);
        put(&dir, &draft, name, file.write_all(bytes))
    }

    /// Puts a link in its place, and makes the directories above it.
    pub(super) fn link(&self, name: impl AsRef<Path>, target: &Path) -> io::Result<()> {
        let (dir, name) = self.above(name.as_ref(), Missing::Made)?;
        let draft = draft()?;
        symlinkat(target, &dir, &draft)?;
        put(&dir, &draft, name, Ok(()))
    }

    /// A plain file, opened without waiting; `None` when nothing is there.
    pub(super) fn open(&self, name: impl AsRef<Path>) -> io::Result<Option<File>> {
        let above = self.above(name.as_ref(), Missing::Told);
        let file = match above.and_then(|(dir, name)| Ok(openat(&dir, name, SOURCE, Mode::empty())?)) {
            Ok(file) => File::from(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_file = file.metadata()?.is_file();
        if is_file { Ok(Some(file)) } else { Err(io::Error::new(io::ErrorKind::InvalidData, "not a plain file")) }
    }

    /// The content of a file that has no other name, which somebody else's would have; `None` when nothing is there.
    pub(super) fn read(&self, name: impl AsRef<Path>) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.open(name)? else { return Ok(None) };
        let found = file.metadata()?;
        if found.nlink() > 1 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a file with several names"));
        }
        if found.len() > LIMIT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::new();
        file.take(LIMIT).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Takes away a file or a link.
    pub(super) fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (dir, name) = self.above(name.as_ref(), Missing::Told)?;
        Ok(unlinkat(&dir, name, AtFlags::empty())?)
    }

    /// The names in a directory; none where there is no directory.
    pub(super) fn entries(&self, name: impl AsRef<Path>) -> Vec<OsString> {
        let dir = self.enter(name.as_ref(), Missing::Told).and_then(|dir| Ok(Dir::read_from(&dir)?));
        let entries = dir.into_iter().flatten().filter_map(Result::ok);
        let names = entries.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
        names.filter(|name| name != "." && name != "..").collect()
    }

    /// Gives something in a directory another name there.
    pub(super) fn rename(&self, within: impl AsRef<Path>, from: &str, to: &str) -> io::Result<()> {
        let dir = self.enter(within.as_ref(), Missing::Told)?;
        let [from, to] = [from, to].map(|name| plain(Path::new(name)));
        Ok(renameat(&dir, from?, &dir, to?)?)
    }

    /// The directory that something lies in, and its name there.
    fn above<'a>(&self, path: &'a Path, missing: Missing) -> io::Result<(OwnedFd, &'a OsStr)> {
        let dir = self.enter(path.parent().unwrap_or(Path::new("")), missing)?;
        Ok((dir, path.file_name().ok_or_else(outside)?))
    }

    fn enter(&self, below: &Path, missing: Missing) -> io::Result<OwnedFd> {
        let own = self.path.strip_prefix(&self.root).map_err(|_| outside())?;
        let parts = own.components().chain(below.components()).map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(outside()),
        });
        let parts = parts.collect::<io::Result<Vec<_>>>()?;
        let root = rustix::fs::open(&self.root, ROOT, Mode::empty())?;
        parts.into_iter().try_fold(root, |above, name| step(&above, name, missing))
    }
}

/// Opens a directory in another one; nobody but the agent can have put something else there.
fn step(above: &OwnedFd, name: &OsStr, missing: Missing) -> io::Result<OwnedFd> {
    match (openat(above, name, DIRECTORY, Mode::empty()), missing) {
        (Ok(dir), Missing::Made | Missing::Told) => return Ok(dir),
        (Err(Errno::NOENT), Missing::Made) => {}
        // What a system says of a link differs.
        (Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK), Missing::Made) => unlinkat(above, name, AtFlags::empty())?,
        (Err(error), Missing::Made | Missing::Told) => return Err(error.into()),
    }
    match mkdirat(above, name, Mode::RWXU) {
        // Somebody else made it at the same time.
        Ok(()) | Err(Errno::EXIST) => Ok(openat(above, name, DIRECTORY, Mode::empty())?),
        Err(error) => Err(error.into()),
    }
}

/// Gives a draft its name; one that cannot get it goes.
fn put(dir: &OwnedFd, draft: &str, name: &OsStr, made: io::Result<()>) -> io::Result<()> {
    let placed = made.and_then(|()| Ok(renameat(dir, draft, dir, name)?));
    if placed.is_err() {
        // The failure itself is what counts.
        unlinkat(dir, draft, AtFlags::empty()).ok();
    }
    placed
}

/// A name that nobody can have taken in advance.
fn draft() -> io::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!(".draft-{:032x}", u128::from_be_bytes(random)))
}

fn plain(path: &Path) -> io::Result<&OsStr> {
    path.file_name().filter(|name| *name == path.as_os_str()).ok_or_else(outside)
}

fn outside() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a path inside of the agent's directory")
}

#[cfg(test)]
mod tests;
