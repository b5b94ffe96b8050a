//! What a name in a directory is.

use std::fmt;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{self, AtFlags, Dir, FileType, RawMode, Stat};

use super::error::RootError;

/// What is known about a file without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    /// Its permissions.
    pub mode: RawMode,
    /// Its bytes, of a regular file.
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Link,
    Pipe,
    Socket,
    Device,
    Unknown,
}

impl Entry {
    /// The entry of a regular file; anything else is refused.
    pub(super) fn regular(self, path: &str) -> Result<Self, RootError> {
        let path = path.to_owned();
        match self.kind {
            Kind::File => Ok(self),
            Kind::Directory => Err(RootError::Directory { path }),
            // It was none when the path was walked.
            Kind::Link => Err(RootError::Link { path }),
            kind @ (Kind::Pipe | Kind::Socket | Kind::Device | Kind::Unknown) => Err(RootError::Special { path, kind }),
        }
    }
}

impl From<Stat> for Entry {
    fn from(stat: Stat) -> Self {
        let mode = stat.st_mode as RawMode;
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        Self { kind: FileType::from_raw_mode(mode).into(), mode: mode & 0o7777, size }
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a link",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "of an unknown kind",
        })
    }
}

/// What a name is; of a link, the link.
pub(super) fn of(directory: impl AsFd, name: &Path) -> rustix::io::Result<Entry> {
    fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(Entry::from)
}

pub(super) fn list(directory: impl AsFd) -> rustix::io::Result<Vec<(String, Kind)>> {
    let mut entries = Vec::new();
    for found in Dir::read_from(&directory)? {
        let found = found?;
        let name = String::from_utf8_lossy(found.file_name().to_bytes()).into_owned();
        if name == "." || name == ".." {
            continue;
        }
        let kind = match found.file_type() {
            // Some disks do not say it here.
            FileType::Unknown => fs::statat(&directory, found.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(Kind::Unknown, |stat| Entry::from(stat).kind),
            kind => kind.into(),
        };
        entries.push((name, kind));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(entries)
}
