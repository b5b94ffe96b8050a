//! The file behind an open database: whether it is still the one at its path, and copies of it.
//!
//! A deleted file lives on as long as somebody has it open, so a store that notices in time can put its content back.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::NamedTempFile;

use super::error::StoreError;
use super::health::{Depth, admit, companion, open_to_read, sync_directory};

/// Names a file, whatever is at its path later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// The path of a database and the file that was opened there.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    opened: Mutex<Option<FileIdentity>>,
    /// The write-ahead log that belongs to it.
    log: Mutex<Option<FileIdentity>>,
}

/// What became of the opened file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    InPlace,
    Deleted,
    Emptied,
    Replaced,
}

impl DatabaseFile {
    /// The file at `path`, which was just opened. It is not opened here: closing it again would drop SQLite's locks.
    pub(super) fn opened_at(path: &Path) -> Self {
        let file = Self { path: path.to_owned(), opened: Mutex::default(), log: Mutex::default() };
        file.remember();
        file
    }

    /// Takes the file at the path for the opened one.
    pub(super) fn remember(&self) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = identify_at(&self.path);
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Remembers the log, which SQLite creates when it is first needed. Meant for a file that is in its place.
    pub(super) fn remember_log(&self) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.is_none() {
            *log = identify_at(&companion(&self.path, "-wal"));
        }
    }

    /// Removes the log beside another file that took the path: SQLite would take it for that one's and overwrite its pages.
    pub(super) fn withdraw_log(&self) {
        let own = *self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_some() && identify_at(&companion(&self.path, "-wal")) == own {
            remove_companions(&self.path);
        }
    }

    pub(super) fn identity(&self) -> Option<FileIdentity> {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> FileState {
        match (fs::metadata(&self.path), self.identity()) {
            (Ok(found), Some(opened)) if identify(&found) != opened => FileState::Replaced,
            (Ok(found), _) if found.len() == 0 => FileState::Emptied,
            (Ok(_), _) => FileState::InPlace,
            (Err(_), _) => FileState::Deleted,
        }
    }
}

fn identify_at(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path).ok().map(|found| identify(&found))
}

fn identify(found: &fs::Metadata) -> FileIdentity {
    FileIdentity { device: found.dev(), inode: found.ino() }
}

/// Copies an open database into a temporary file in the directory of `target`: one consistent state, and on the disk.
pub(super) fn write_copy(db: &Connection, target: &Path) -> Result<NamedTempFile, StoreError> {
    let failed = |source| StoreError::Copy { path: target.to_owned(), source };
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let copy = tempfile::Builder::new().prefix(".coppice-copy-").tempfile_in(directory).map_err(failed)?;
    // It takes an empty file for none.
    db.execute("VACUUM INTO ?1", [copy.path().to_string_lossy()]).map_err(StoreError::at(target))?;
    copy.as_file().sync_all().map_err(failed)?;
    Ok(copy)
}

/// Gives a copy its name, unless something has it already.
pub(super) fn place_copy(copy: NamedTempFile, target: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Copy { path: target.to_owned(), source };
    copy.persist_noclobber(target).map_err(|error| failed(error.error))?;
    sync_directory(target).map_err(failed)
}

/// Puts a copy where the file of the database was, without the log and the index that belong to that one.
pub(super) fn put_back(copy: NamedTempFile, path: &Path) -> Result<(), StoreError> {
    remove_companions(path);
    place_copy(copy, path)
}

/// SQLite would take a log for that of whatever database is at the path.
pub(super) fn remove_companions(path: &Path) {
    for suffix in ["-wal", "-shm"] {
        // One that is not there is as good as removed.
        fs::remove_file(companion(path, suffix)).ok();
    }
}

/// A name beside the database that nothing has yet.
pub(super) fn free_name(path: &Path, word: &str) -> PathBuf {
    let plain = companion(path, &format!(".{word}"));
    let numbered = (2..).map(|number: u32| companion(path, &format!(".{word}-{number}")));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or(plain)
}

/// A complete copy of a database that has not got its name yet.
#[derive(Debug)]
pub struct PreparedBackup {
    copy: NamedTempFile,
    target: PathBuf,
}

impl PreparedBackup {
    /// Copies the database at `path` beside `target`, while others may work with it.
    pub fn write(path: &Path, target: &Path, patience: Duration) -> Result<Self, StoreError> {
        admit(path, 0, Depth::EveryPage, patience)?;
        let db = open_to_read(path, patience).map_err(StoreError::at(path))?;
        Ok(Self { copy: write_copy(&db, target)?, target: target.to_owned() })
    }

    /// Gives the copy its name, unless something has it already.
    pub fn place(self) -> Result<(), StoreError> {
        place_copy(self.copy, &self.target)
    }
}
