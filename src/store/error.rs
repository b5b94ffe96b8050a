//! Why the store did not do what it was asked, told apart by what a person can do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use super::health::Damage;
use crate::id::SessionId;

/// A file system with less room than this is what an I/O error was about: SQLite reports a full disk as such only
/// when a plain write meets it, not when it enlarges the shared index or syncs.
const ROOM_TO_WORK: u64 = 1 << 20;

/// Why a store operation did not happen; nothing of a failed write stays.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("failed to create database `{}`", path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("failed to open database `{}`", path.display())]
    Open { path: PathBuf, source: rusqlite::Error },
    #[error("database `{}` is read-only", path.display())]
    ReadOnly { path: PathBuf },
    #[error(
        "database `{}` has schema {found}, written by a newer coppice: this one ({}) knows {known}",
        path.display(), env!("CARGO_PKG_VERSION")
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("failed to upgrade database `{}` from schema {found} to {known}", path.display())]
    Upgrade { path: PathBuf, found: i64, known: i64, source: rusqlite::Error },
    #[error("database `{}` {damage}; branches, worktrees and checkpoints of sessions are safe", path.display())]
    Damaged { path: PathBuf, damage: Damage },
    #[error("failed to write the copy `{}`", path.display())]
    Copy { path: PathBuf, source: io::Error },
    #[error("database `{}` is damaged or not a database; branches, worktrees and checkpoints of sessions are safe", path.display())]
    Corrupt { path: PathBuf, source: rusqlite::Error },
    #[error("database `{}` is locked by another process", path.display())]
    Locked { path: PathBuf },
    #[error("no space left for database `{}`", path.display())]
    Full { path: PathBuf },
    #[error("failed to use database `{}`", path.display())]
    Sql { path: PathBuf, source: rusqlite::Error },
    #[error("the write contradicts what is stored")]
    Contradiction { source: rusqlite::Error },
    #[error("prompt {number} of session `{session}` is not queued")]
    PromptGone { session: SessionId, number: u32 },
    #[error("failed to start the store's writer")]
    Thread { source: io::Error },
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// The one thing that helps, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Create { .. } | Self::Open { .. } | Self::ReadOnly { .. } => {
                Some("make the directory writable, or name another one with COPPICE_HOME")
            }
            Self::Newer { .. } => Some("use the newer coppice that wrote it, or another COPPICE_HOME"),
            Self::Upgrade { .. } => {
                Some("nothing was changed: use the coppice that wrote it, and report this with `coppice doctor`")
            }
            Self::Damaged { damage: Damage::Deleted(_) | Damage::Replaced { .. }, .. } => Some(
                "end the daemon with `coppice daemon stop --now`; `coppice store verify` then says what the file holds",
            ),
            Self::Damaged { .. } | Self::Corrupt { .. } => {
                Some("put a backup in its place, or run `coppice store rebuild`, which recovers the sessions from git")
            }
            Self::Copy { .. } => Some("name a file that does not exist yet, in a directory that you can write"),
            Self::Locked { .. } => Some("close the program that holds it and try again"),
            Self::Full { .. } => Some("free some disk space and try again"),
            Self::Sql { .. }
            | Self::Contradiction { .. }
            | Self::PromptGone { .. }
            | Self::Thread { .. }
            | Self::Closed => None,
        }
    }

    /// Sorts what SQLite reports about the database at `path`.
    pub(super) fn at(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        move |source| {
            let (path, source) = (path.to_owned(), without_sql(source));
            match source.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
                Some(ErrorCode::DiskFull) => Self::Full { path },
                Some(ErrorCode::SystemIoFailure) if is_full(&path) => Self::Full { path },
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path },
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { path, source },
                Some(ErrorCode::CannotOpen) => Self::Open { path, source },
                Some(ErrorCode::ConstraintViolation) => Self::Contradiction { source },
                _ => Self::Sql { path, source },
            }
        }
    }
}

/// The same error without the text of the statement, which says nothing to a person.
pub(super) fn without_sql(error: rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqlInputError { error, msg, .. } => rusqlite::Error::SqliteFailure(error, Some(msg)),
        error => error,
    }
}

/// Whether the file system that holds `path` has no room left.
fn is_full(path: &Path) -> bool {
    let directory = path.parent().unwrap_or(path);
    rustix::fs::statvfs(directory).is_ok_and(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) < ROOM_TO_WORK)
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn each_sqlite_code_has_its_own_message() {
        for (code, message) in [
            (ffi::SQLITE_BUSY, "database `/no/such/db` is locked by another process"),
            (ffi::SQLITE_LOCKED, "database `/no/such/db` is locked by another process"),
            (ffi::SQLITE_FULL, "no space left for database `/no/such/db`"),
            (ffi::SQLITE_READONLY, "database `/no/such/db` is read-only"),
            (ffi::SQLITE_READONLY_DIRECTORY, "database `/no/such/db` is read-only"),
            (
                ffi::SQLITE_CORRUPT,
                "database `/no/such/db` is damaged or not a database; branches, worktrees and checkpoints of sessions are safe",
            ),
            (
                ffi::SQLITE_NOTADB,
                "database `/no/such/db` is damaged or not a database; branches, worktrees and checkpoints of sessions are safe",
            ),
            (ffi::SQLITE_CANTOPEN, "failed to open database `/no/such/db`"),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, "the write contradicts what is stored"),
            (ffi::SQLITE_IOERR_WRITE, "failed to use database `/no/such/db`"),
        ] {
            let source = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(StoreError::at(Path::new("/no/such/db"))(source).to_string(), message, "code {code}");
        }
    }
}
