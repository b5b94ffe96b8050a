//! What can still be read of a damaged database, taken over into a new one; the exchange of the two;
//! and the contents of one for a comparison.

#![expect(clippy::disallowed_methods, reason = "this is the room that opens databases")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Result as SqlResult, Row, params_from_iter};

use super::error::StoreError;
use super::file::remove_companions;
use super::health::{companion, leave_marker, open_to_read, sync_directory};
use super::reader::rows;
use super::row::{self, ProjectRow, SessionRow};

/// The tables in an order in which every row finds what it refers to.
const TABLES: [(&str, &str); 8] = [
    ("projects", "id, common_dir, record"),
    ("sessions", "id, project, parent, status, created_at, updated_at, removed_at, record"),
    ("turns", "session, number, record, raw"),
    ("prompts", "session, number, at, turn, body"),
    ("events", "seq, session, at, kind, version, payload"),
    ("handoffs", "id, parent, child, status, created_at, updated_at, record"),
    ("workflows", "session, record"),
    ("reviews", "session, record"),
];

/// Copies every row of the database at `from` that SQLite can still read into the complete database at `into`.
pub fn carry_over(from: &Path, into: &Path, patience: Duration) -> Result<(), StoreError> {
    let Ok(old) = open_to_read(from, patience) else { return Ok(()) };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut new = Connection::open_with_flags(into, flags).map_err(StoreError::at(into))?;
    let tx = new.transaction().map_err(StoreError::at(into))?;
    for (table, columns) in TABLES {
        // A table that cannot be read to its end gives what comes before.
        copy_rows(&old, &tx, table, columns).ok();
    }
    tx.commit().map_err(StoreError::at(into))
}

fn copy_rows(old: &Connection, new: &Connection, table: &str, columns: &str) -> SqlResult<()> {
    let count = columns.split(',').count();
    let places = vec!["?"; count].join(", ");
    let mut insert = new.prepare(&format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({places})"))?;
    let mut query = old.prepare(&format!("SELECT {columns} FROM {table}"))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let values: Vec<Value> = (0..count).map(|column| row.get(column)).collect::<SqlResult<_>>()?;
        // A row whose session is lost is lost with it.
        insert.execute(params_from_iter(values)).ok();
    }
    Ok(())
}

/// Puts the database at `new`, which nobody uses, in the place of the one at `path`, which is kept as `kept`. A kill leaves
/// the old one, the new one, or none beside the kept one, which the next start refuses.
pub fn exchange(new: &Path, path: &Path, kept: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Copy { path: path.to_owned(), source };
    let log = companion(path, "-wal");
    let has_log = fs::metadata(&log).is_ok_and(|found| found.len() > 0);
    if path.exists() {
        // Without its log the old one may look whole and lack what was written last, so the two go together.
        let keep = if has_log { fs::rename(path, kept) } else { fs::hard_link(path, kept) };
        keep.map_err(failed)?;
    }
    if has_log {
        fs::rename(&log, companion(kept, "-wal")).map_err(failed)?;
    }
    remove_companions(path);
    fs::rename(new, path).map_err(failed)?;
    remove_companions(new);
    sync_directory(path).map_err(failed)?;
    leave_marker(path)
}

/// What a database says, for a comparison with what is there.
#[derive(Debug, Default)]
pub struct Contents {
    pub projects: Vec<ProjectRow>,
    /// Removed ones included.
    pub sessions: Vec<SessionRow>,
    /// Rows that refer to rows which are not there.
    pub broken: Vec<String>,
}

/// Reads the database at `path` while others may work with it.
pub fn read_contents(path: &Path, patience: Duration) -> Result<Contents, StoreError> {
    let db = open_to_read(path, patience).map_err(StoreError::at(path))?;
    let read = || -> SqlResult<Contents> {
        let projects = rows(&db, "SELECT id, common_dir, record FROM projects ORDER BY id", [], row::project)?;
        let sessions =
            "SELECT id, project, parent, status, created_at, updated_at, removed_at, record FROM sessions ORDER BY id";
        let sessions = rows(&db, sessions, [], row::session)?;
        let describe = |row: &Row<'_>| -> SqlResult<String> {
            let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
            Ok(format!("a row of the table `{table}` refers to one of `{parent}` that is not there"))
        };
        let mut broken: Vec<String> =
            db.prepare("PRAGMA foreign_key_check")?.query_map([], describe)?.collect::<SqlResult<_>>()?;
        broken.dedup();
        Ok(Contents { projects, sessions, broken })
    };
    read().map_err(StoreError::at(path))
}
