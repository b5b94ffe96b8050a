//! The rows as the engine writes and reads them, and how each is taken out of a SQLite row.
//!
//! The `record`, `body` and `payload` texts are JSON that the store carries without looking inside.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Result, Row};

use crate::id::SessionId;

/// One git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRow {
    pub id: String,
    pub common_dir: String,
    pub record: String,
}

/// One session: the columns that queries need, and the rest as the engine's own record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: SessionId,
    pub project: String,
    pub parent: Option<SessionId>,
    pub status: String,
    pub created_at: i64,
    pub updated_at: i64,
    pub removed_at: Option<i64>,
    pub record: String,
}

/// One turn of a session, with the text the backend really sent once it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    pub session: SessionId,
    pub number: u32,
    pub record: String,
    pub raw: Option<String>,
}

/// One accepted prompt; it is queued until a turn has taken it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptRow {
    pub session: SessionId,
    pub number: u32,
    pub at: i64,
    pub body: String,
    pub turn: Option<u32>,
}

/// One delegation: who asked, who works, how it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRow {
    pub id: String,
    pub parent: SessionId,
    pub child: SessionId,
    pub status: String,
    pub created_at: i64,
    pub updated_at: i64,
    pub record: String,
}

/// The tasks and the plan of a root session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowRow {
    pub session: SessionId,
    pub record: String,
}

/// What a person said about a session's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRow {
    pub session: SessionId,
    pub record: String,
}

/// An event on its way in: it gets its number when it is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub session: SessionId,
    pub at: i64,
    pub kind: &'static str,
    pub version: u16,
    pub payload: String,
}

/// A committed event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub seq: u64,
    pub session: SessionId,
    pub at: i64,
    pub kind: String,
    pub version: u16,
    pub payload: String,
}

impl ToSql for SessionId {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.as_str()))
    }
}

impl FromSql for SessionId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(FromSqlError::other)
    }
}

/// A number that SQLite can hold: rowids are signed, and no event is ever beyond the largest.
pub(super) fn rowid(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

/// Reads `id, common_dir, record`.
pub(super) fn project(row: &Row<'_>) -> Result<ProjectRow> {
    Ok(ProjectRow { id: row.get(0)?, common_dir: row.get(1)?, record: row.get(2)? })
}

/// Reads `id, project, parent, status, created_at, updated_at, removed_at, record`.
pub(super) fn session(row: &Row<'_>) -> Result<SessionRow> {
    Ok(SessionRow {
        id: row.get(0)?,
        project: row.get(1)?,
        parent: row.get(2)?,
        status: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
        removed_at: row.get(6)?,
        record: row.get(7)?,
    })
}

/// Reads `session, number, record, raw`.
pub(super) fn turn(row: &Row<'_>) -> Result<TurnRow> {
    Ok(TurnRow { session: row.get(0)?, number: row.get(1)?, record: row.get(2)?, raw: row.get(3)? })
}

/// Reads `session, number, at, body, turn`.
pub(super) fn prompt(row: &Row<'_>) -> Result<PromptRow> {
    Ok(PromptRow { session: row.get(0)?, number: row.get(1)?, at: row.get(2)?, body: row.get(3)?, turn: row.get(4)? })
}

/// Reads `id, parent, child, status, created_at, updated_at, record`.
pub(super) fn handoff(row: &Row<'_>) -> Result<HandoffRow> {
    Ok(HandoffRow {
        id: row.get(0)?,
        parent: row.get(1)?,
        child: row.get(2)?,
        status: row.get(3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
        record: row.get(6)?,
    })
}

/// Reads `session, record`.
pub(super) fn workflow(row: &Row<'_>) -> Result<WorkflowRow> {
    Ok(WorkflowRow { session: row.get(0)?, record: row.get(1)? })
}

/// Reads `session, record`.
pub(super) fn review(row: &Row<'_>) -> Result<ReviewRow> {
    Ok(ReviewRow { session: row.get(0)?, record: row.get(1)? })
}

/// Reads `seq, session, at, kind, version, payload`.
pub(super) fn event(row: &Row<'_>) -> Result<StoredEvent> {
    Ok(StoredEvent {
        seq: row.get::<_, i64>(0)?.cast_unsigned(),
        session: row.get(1)?,
        at: row.get(2)?,
        kind: row.get(3)?,
        version: row.get(4)?,
        payload: row.get(5)?,
    })
}
