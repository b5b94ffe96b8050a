//! The directories through which the files of a tree are exchanged, and the journal of the exchange.
//!
//! `new/<path>` holds what is to be put in place, `old/<number>` what was taken away, `displaced/<number>` what gave way to
//! an undo. The journal exists exactly while the tree may be half changed.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::journal::Journal;
use crate::git::GitError;

/// Where one exchange happens. The files are on the file system of the tree, so that a rename moves them.
#[derive(Debug, Clone)]
pub(in crate::git) struct Exchange {
    files: PathBuf,
    journal: PathBuf,
}

impl Exchange {
    /// An exchange through `files` whose journal is in `records`.
    pub(in crate::git) fn at(files: &Path, records: &Path) -> Self {
        Self { files: files.to_owned(), journal: records.join("journal") }
    }

    pub(in crate::git) fn create_directories(&self) -> Result<(), GitError> {
        [self.new_files(), self.old_files(), self.displaced_files()]
            .iter()
            .try_for_each(|part| fs::create_dir_all(part).map_err(GitError::io("create", part)))
    }

    pub(in crate::git) fn new_files(&self) -> PathBuf {
        self.files.join("new")
    }

    pub(super) fn old_files(&self) -> PathBuf {
        self.files.join("old")
    }

    pub(super) fn displaced_files(&self) -> PathBuf {
        self.files.join("displaced")
    }

    /// Records what is about to happen, for whoever comes after a kill.
    pub(in crate::git) fn begin(&self, journal: &Journal) -> Result<(), GitError> {
        write_whole(&self.journal, &journal.to_bytes())
    }

    /// What was about to happen; none when nothing had begun.
    pub(in crate::git) fn begun(&self) -> Result<Option<Journal>, GitError> {
        let bytes = match fs::read(&self.journal) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(GitError::io("read", &self.journal))?,
        };
        Journal::parse(&bytes).map(Some).ok_or_else(|| not_understood(&self.journal))
    }

    /// The tree is whole, changed or as it was: from here on there is nothing to undo.
    pub(in crate::git) fn end(&self) -> Result<(), GitError> {
        match fs::remove_file(&self.journal) {
            // It could not even be written.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(GitError::io("remove", &self.journal)),
        }
    }
}

/// Writes a file that after a kill is there with all of its content, or not at all.
pub(in crate::git) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    let draft = path.with_extension("draft");
    let write = || {
        let mut file = File::create(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    write().map_err(GitError::io("write", path))
}

/// The error about a record that is not what this program writes.
pub(in crate::git) fn not_understood(path: &Path) -> GitError {
    GitError::Io { act: "understand", path: path.to_owned(), source: ErrorKind::InvalidData.into() }
}
