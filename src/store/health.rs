//! Whether a database file can be used: what is found there is judged before anything is written.
//!
//! A data directory that had a database never starts anew in silence. The verdict is a pure function; looking at the file
//! opens it for reading only, so that a damaged one stays as it is.

#![expect(clippy::disallowed_methods, reason = "this is the room that opens databases")]

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Result as SqlResult};

use super::error::{StoreError, find_unwritable, is_unwritable};
use super::migrate;

/// Every page of a database up to this size is checked at each start.
const QUICKLY_CHECKED: u64 = 16 << 20;

/// What the marker says to a person who finds it.
const MARKER_TEXT: &str = "This directory has a Coppice database, `coppice.db`. If it is missing or damaged, \
                           `coppice store rebuild` recovers the sessions from git.\n";

/// What is wrong with a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    Missing,
    Emptied,
    /// SQLite says why it cannot be read.
    Unreadable(String),
    /// A database with tables of somebody else.
    Foreign,
    /// A table or an index of its schema is gone.
    Incomplete(String),
    /// It holds no session, while sessions have worktrees.
    WithoutSessions {
        worktrees: usize,
    },
    /// Deleted while the daemon used it, and its content could not be put back.
    Deleted(String),
    /// Another file took its place while the daemon used it; the daemon's own content, if it could be saved, is in the file.
    Replaced {
        saved: Option<PathBuf>,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing, although this data directory had one"),
            Self::Emptied => f.write_str("is empty, although this data directory had one with content"),
            Self::Unreadable(reason) => write!(f, "is damaged ({reason})"),
            Self::Foreign => f.write_str("was not written by coppice"),
            Self::Incomplete(part) => write!(f, "is damaged (it lacks the {part})"),
            Self::WithoutSessions { worktrees } => {
                write!(f, "holds no session, although {worktrees} worktrees of sessions exist")
            }
            Self::Deleted(reason) => write!(f, "was deleted while the daemon used it, and is not restored ({reason})"),
            Self::Replaced { saved: None } => f.write_str("was replaced while the daemon used it"),
            Self::Replaced { saved: Some(saved) } => {
                write!(f, "was replaced while the daemon used it, whose content is in `{}`", saved.display())
            }
        }
    }
}

/// What lies at the path of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FoundFile {
    Missing,
    /// No byte, or a database without a schema: somebody began to create one.
    Blank,
    Unreadable(String),
    Foreign,
    Newer(i64),
    Incomplete(String),
    Sound {
        sessions: u64,
    },
}

/// What else shows that there was a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Traces {
    /// The marker or a write-ahead log lies beside it.
    had_database: bool,
    /// How many sessions have a worktree.
    worktrees: usize,
}

/// What to do with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Create,
    Open,
    Newer(i64),
    Refuse(Damage),
}

fn judge(found: FoundFile, traces: Traces) -> Verdict {
    let is_known = traces.had_database || traces.worktrees > 0;
    match found {
        FoundFile::Missing if is_known => Verdict::Refuse(Damage::Missing),
        FoundFile::Blank if is_known => Verdict::Refuse(Damage::Emptied),
        FoundFile::Missing | FoundFile::Blank => Verdict::Create,
        FoundFile::Unreadable(reason) => Verdict::Refuse(Damage::Unreadable(reason)),
        FoundFile::Foreign => Verdict::Refuse(Damage::Foreign),
        FoundFile::Newer(found) => Verdict::Newer(found),
        FoundFile::Incomplete(part) => Verdict::Refuse(Damage::Incomplete(part)),
        FoundFile::Sound { sessions: 0 } if traces.worktrees > 0 => {
            Verdict::Refuse(Damage::WithoutSessions { worktrees: traces.worktrees })
        }
        FoundFile::Sound { .. } => Verdict::Open,
    }
}

/// How thoroughly a file is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every page, unless the database is large.
    Start,
    EveryPage,
}

/// Refuses a database that must not be used or created; `worktrees` is the number of sessions that have one.
pub fn admit(path: &Path, worktrees: usize, depth: Depth, patience: Duration) -> Result<(), StoreError> {
    let has_log = fs::metadata(companion(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let traces = Traces { had_database: has_log || companion(path, MARKER).exists(), worktrees };
    let path = path.to_owned();
    match judge(look(&path, depth, patience)?, traces) {
        Verdict::Create | Verdict::Open => Ok(()),
        Verdict::Newer(found) => Err(StoreError::Newer { path, found, known: migrate::KNOWN }),
        Verdict::Refuse(damage) => Err(StoreError::Damaged { path, damage }),
    }
}

/// Refuses a database that can be read and not written.
pub fn require_writable(path: &Path) -> Result<(), StoreError> {
    match find_unwritable(path, is_unwritable) {
        Some(unwritable) => Err(StoreError::ReadOnly { path: path.to_owned(), unwritable: Some(unwritable) }),
        None => Ok(()),
    }
}

/// Beside the database: this directory has one.
const MARKER: &str = "-marker";

/// Leaves the marker beside a database that is complete.
pub(super) fn leave_marker(path: &Path) -> Result<(), StoreError> {
    let marker = companion(path, MARKER);
    let write = || -> io::Result<()> {
        let mut file = match File::create_new(&marker) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
            file => file?,
        };
        file.write_all(MARKER_TEXT.as_bytes())?;
        file.sync_all()?;
        sync_directory(&marker)
    };
    write().map_err(|source| StoreError::Create { path: marker.clone(), source })
}

/// A file that is named after the database.
pub(super) fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Makes a new name in a directory survive a power failure.
pub(super) fn sync_directory(file: &Path) -> io::Result<()> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

/// A connection that changes nothing.
pub(super) fn open_to_read(path: &Path, patience: Duration) -> SqlResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(patience)?;
    Ok(db)
}

fn look(path: &Path, depth: Depth, patience: Duration) -> Result<FoundFile, StoreError> {
    let size = match fs::metadata(path) {
        // SQLite would delete the log beside an empty file.
        Ok(found) if found.is_file() && found.len() == 0 => return Ok(FoundFile::Blank),
        Ok(found) if found.is_dir() => return Err(StoreError::Directory { path: path.to_owned() }),
        Ok(found) => found.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FoundFile::Missing),
        Err(source) => return Err(StoreError::Create { path: path.to_owned(), source }),
    };
    let every_page = match depth {
        Depth::EveryPage => true,
        Depth::Start => size <= QUICKLY_CHECKED,
    };
    let found = open_to_read(path, patience).and_then(|db| {
        let found = look_inside(&db)?;
        match every_page && matches!(found, FoundFile::Sound { .. }) {
            true => Ok(first_broken_page(&db)?.map_or(found, FoundFile::Unreadable)),
            false => Ok(found),
        }
    });
    match found.map_err(StoreError::at(path)) {
        Err(StoreError::Corrupt { source, .. }) => Ok(FoundFile::Unreadable(reason(&source))),
        found => found,
    }
}

fn look_inside(db: &Connection) -> SqlResult<FoundFile> {
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let parts = schema_parts(db)?;
    match usize::try_from(version).ok().filter(|version| *version <= migrate::MIGRATIONS.len()) {
        None => Ok(FoundFile::Newer(version)),
        Some(0) if parts.is_empty() => Ok(FoundFile::Blank),
        Some(0) => Ok(FoundFile::Foreign),
        Some(version) => {
            let whole = Connection::open_in_memory()?;
            migrate::MIGRATIONS.iter().take(version).try_for_each(|sql| whole.execute_batch(sql))?;
            let lost = schema_parts(&whole)?.into_iter().find(|part| !parts.contains(part));
            match lost {
                Some(part) => Ok(FoundFile::Incomplete(part)),
                None => {
                    let count: i64 = db.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?;
                    Ok(FoundFile::Sound { sessions: count.cast_unsigned() })
                }
            }
        }
    }
}

/// The tables and indices that somebody declared, as in ``table `sessions` ``.
fn schema_parts(db: &Connection) -> SqlResult<Vec<String>> {
    let sql =
        "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC, name";
    let mut query = db.prepare(sql)?;
    let parts =
        query.query_map([], |row| Ok(format!("{} `{}`", row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    parts.collect()
}

/// What SQLite finds wrong first.
fn first_broken_page(db: &Connection) -> SqlResult<Option<String>> {
    let found: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((found != "ok").then(|| found.lines().next_back().unwrap_or_default().to_owned()))
}

fn reason(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_lost_is_never_created_anew() {
        let traces = |had_database, worktrees| Traces { had_database, worktrees };
        let (fresh, marked, inhabited) = (traces(false, 0), traces(true, 0), traces(false, 2));
        let broken = || FoundFile::Unreadable("x".to_owned());
        let partial = || FoundFile::Incomplete("table `turns`".to_owned());
        let refuse = Verdict::Refuse;
        for (found, traces, expected) in [
            (FoundFile::Missing, fresh, Verdict::Create),
            (FoundFile::Missing, marked, refuse(Damage::Missing)),
            (FoundFile::Missing, inhabited, refuse(Damage::Missing)),
            (FoundFile::Blank, fresh, Verdict::Create),
            (FoundFile::Blank, marked, refuse(Damage::Emptied)),
            (FoundFile::Blank, inhabited, refuse(Damage::Emptied)),
            (broken(), fresh, refuse(Damage::Unreadable("x".to_owned()))),
            (broken(), marked, refuse(Damage::Unreadable("x".to_owned()))),
            (FoundFile::Foreign, fresh, refuse(Damage::Foreign)),
            (FoundFile::Newer(9), fresh, Verdict::Newer(9)),
            (FoundFile::Newer(9), inhabited, Verdict::Newer(9)),
            (partial(), marked, refuse(Damage::Incomplete("table `turns`".to_owned()))),
            (FoundFile::Sound { sessions: 0 }, fresh, Verdict::Open),
            (FoundFile::Sound { sessions: 0 }, marked, Verdict::Open),
            (FoundFile::Sound { sessions: 0 }, inhabited, refuse(Damage::WithoutSessions { worktrees: 2 })),
            (FoundFile::Sound { sessions: 1 }, inhabited, Verdict::Open),
            (FoundFile::Sound { sessions: 1 }, fresh, Verdict::Open),
        ] {
            assert_eq!(judge(found.clone(), traces), expected, "{found:?} {traces:?}");
        }
    }
}
