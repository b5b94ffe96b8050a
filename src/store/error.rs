//! Why the store did not do what it was asked, told apart by what a person can do about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::health::{Damage, companion};
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
    #[error("{}", describe_read_only(path, unwritable.as_deref()))]
    ReadOnly {
        path: PathBuf,
        /// The file or directory that is to blame, where that is known.
        unwritable: Option<PathBuf>,
    },
    #[error("database `{}` does not exist; {}", path.display(), describe_safe_work(path))]
    Absent { path: PathBuf },
    #[error("`{}` is a directory, not a database", path.display())]
    Directory { path: PathBuf },
    #[error(
        "database `{}` has schema {found}, written by a newer coppice: this one ({}) knows {known}",
        path.display(), env!("CARGO_PKG_VERSION")
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("failed to upgrade database `{}` from schema {found} to {known}", path.display())]
    Upgrade { path: PathBuf, found: i64, known: i64, source: rusqlite::Error },
    #[error("database `{}` {damage}; {}", path.display(), describe_safe_work(path))]
    Damaged { path: PathBuf, damage: Damage },
    #[error("failed to write the copy `{}`", path.display())]
    Copy { path: PathBuf, source: io::Error },
    #[error("database `{}` is damaged or not a database; {}", path.display(), describe_safe_work(path))]
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
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::ReadOnly { unwritable: Some(unwritable), .. } => {
                return Some(format!(
                    "make `{}` writable, or name another directory with COPPICE_HOME",
                    unwritable.display()
                ));
            }
            Self::Create { .. } | Self::Open { .. } | Self::ReadOnly { unwritable: None, .. } => {
                "make the directory writable, or name another one with COPPICE_HOME"
            }
            Self::Absent { .. } | Self::Damaged { damage: Damage::Deleted(_), .. } => {
                "end the daemon with `coppice daemon stop --now`; `coppice store rebuild` in a repository then recovers \
                 its sessions from git"
            }
            Self::Directory { .. } => {
                "move the directory away and put a backup in its place, or run `coppice store rebuild`, which recovers \
                 the sessions from git"
            }
            Self::Newer { .. } => "use the newer coppice that wrote it, or another COPPICE_HOME",
            Self::Upgrade { .. } => {
                "nothing was changed: use the coppice that wrote it, and report this with `coppice doctor`"
            }
            Self::Damaged { damage: Damage::Replaced { .. }, .. } => {
                "end the daemon with `coppice daemon stop --now`; `coppice store verify` then says what the file holds"
            }
            Self::Damaged { .. } | Self::Corrupt { .. } => {
                "put a backup in its place, or run `coppice store rebuild`, which recovers the sessions from git"
            }
            Self::Copy { .. } => "name a file that does not exist yet, in a directory that you can write",
            Self::Locked { .. } => "close the program that holds it and try again",
            Self::Full { .. } => "free some disk space and try again",
            Self::Sql { .. }
            | Self::Contradiction { .. }
            | Self::PromptGone { .. }
            | Self::Thread { .. }
            | Self::Closed => return None,
        };
        Some(text.to_owned())
    }

    /// Sorts what SQLite reports about the database at `path`.
    pub(super) fn at(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        move |source| {
            let (path, source) = (path.to_owned(), without_sql(source));
            match source.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
                Some(ErrorCode::DiskFull) => Self::Full { path },
                Some(ErrorCode::SystemIoFailure) if is_full(&path) => Self::Full { path },
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                    Self::ReadOnly { unwritable: find_unwritable(&path, is_unwritable), path }
                }
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { path, source },
                Some(ErrorCode::CannotOpen) => Self::cannot_open(path, source),
                Some(ErrorCode::ConstraintViolation) => Self::Contradiction { source },
                _ => Self::Sql { path, source },
            }
        }
    }
}

impl StoreError {
    /// SQLite does not say why it cannot open a file.
    fn cannot_open(path: PathBuf, source: rusqlite::Error) -> Self {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => Self::Directory { path },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent { path },
            Ok(_) | Err(_) => match find_unwritable(&path, is_unwritable) {
                Some(unwritable) => Self::ReadOnly { path, unwritable: Some(unwritable) },
                None => Self::Open { path, source },
            },
        }
    }
}

/// The first of the database's files that cannot be written, else its directory: SQLite gives its companion files the
/// mode that the database has when they are made, and they keep it.
pub(super) fn find_unwritable(path: &Path, is_unwritable: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let companions = ["-wal", "-shm"].map(|suffix| companion(path, suffix));
    let directory = path.parent().map(Path::to_owned);
    let mut candidates = std::iter::once(path.to_owned()).chain(companions).chain(directory);
    candidates.find(|candidate| is_unwritable(candidate))
}

/// Whether something is there that this process may not write.
pub(super) fn is_unwritable(path: &Path) -> bool {
    path.exists() && accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_err()
}

fn describe_read_only(path: &Path, unwritable: Option<&Path>) -> String {
    match unwritable.filter(|unwritable| *unwritable != path) {
        Some(unwritable) => {
            format!("database `{}` cannot be written: `{}` is read-only", path.display(), unwritable.display())
        }
        None => format!("database `{}` is read-only", path.display()),
    }
}

/// What a lost database leaves unharmed. Worktrees lie beside it, and may be lost with it.
fn describe_safe_work(path: &Path) -> &'static str {
    match path.with_file_name("worktrees").is_dir() {
        true => "branches, worktrees and checkpoints of sessions are safe",
        false => "branches and checkpoints of sessions are in their repositories",
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
                "database `/no/such/db` is damaged or not a database; branches and checkpoints of sessions are in their \
                 repositories",
            ),
            (
                ffi::SQLITE_NOTADB,
                "database `/no/such/db` is damaged or not a database; branches and checkpoints of sessions are in their \
                 repositories",
            ),
            (
                ffi::SQLITE_CANTOPEN,
                "database `/no/such/db` does not exist; branches and checkpoints of sessions are in their repositories",
            ),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, "the write contradicts what is stored"),
            (ffi::SQLITE_IOERR_WRITE, "failed to use database `/no/such/db`"),
        ] {
            let source = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(StoreError::at(Path::new("/no/such/db"))(source).to_string(), message, "code {code}");
        }
    }
    #[test]
    fn the_file_that_cannot_be_written_is_named() {
        let path = Path::new("/data/coppice.db");
        for (unwritable, message, hint) in [
            (vec![], "database `/data/coppice.db` is read-only", "make the directory writable, or name another one"),
            (vec!["/data/coppice.db"], "database `/data/coppice.db` is read-only", "make `/data/coppice.db` writable,"),
            (
                vec!["/data/coppice.db-shm", "/data"],
                "database `/data/coppice.db` cannot be written: `/data/coppice.db-shm` is read-only",
                "make `/data/coppice.db-shm` writable,",
            ),
            (
                vec!["/data/coppice.db-wal", "/data/coppice.db-shm"],
                "database `/data/coppice.db` cannot be written: `/data/coppice.db-wal` is read-only",
                "make `/data/coppice.db-wal` writable,",
            ),
            (
                vec!["/data"],
                "database `/data/coppice.db` cannot be written: `/data` is read-only",
                "make `/data` writable,",
            ),
        ] {
            let found = find_unwritable(path, |candidate| unwritable.iter().any(|name| candidate == Path::new(name)));
            let error = StoreError::ReadOnly { path: path.to_owned(), unwritable: found };
            assert_eq!(error.to_string(), message);
            assert!(error.hint().unwrap().starts_with(hint), "{error:?}");
        }
    }
}
