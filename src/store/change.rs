//! What can be written, and the SQL of each change.
//!
//! A change that contradicts the stored rows fails the whole write it is part of.

use std::path::Path;

use rusqlite::{ToSql, Transaction};

use super::error::StoreError;
use super::row::{HandoffRow, NewEvent, ProjectRow, PromptRow, ReviewRow, SessionRow, TurnRow, WorkflowRow};
use crate::id::SessionId;

/// Changes that happen together or not at all, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub durability: Durability,
    pub changes: Vec<Change>,
}

/// What an acknowledged write survives. A crash of the process loses nothing either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The last moments may be lost when the power fails.
    Normal,
    /// On the disk before it is acknowledged.
    Full,
}

/// One change of the stored rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Appends an event; its session must exist.
    Event(NewEvent),
    /// Inserts or replaces the project.
    Project(ProjectRow),
    /// Inserts or replaces the session; its project must exist.
    Session(SessionRow),
    /// Inserts or replaces the turn; its session must exist.
    Turn(TurnRow),
    /// Inserts the prompt; a stored prompt is never replaced.
    Prompt(PromptRow),
    /// Gives a queued prompt to a turn.
    TakePrompt { session: SessionId, number: u32, turn: u32 },
    /// Forgets a queued prompt.
    DropPrompt { session: SessionId, number: u32 },
    /// Inserts or replaces the handoff; its child must exist.
    Handoff(HandoffRow),
    /// Inserts or replaces the tasks and the plan of a session, which must exist.
    Workflow(WorkflowRow),
    /// Inserts or replaces what a person said about the changes of a session, which must exist.
    Review(ReviewRow),
    /// Forgets the session with its turns, prompts, events and review.
    DeleteSession(SessionId),
}

/// A committed write: the numbers of its events, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    pub seqs: Vec<u64>,
}

/// Performs a write inside a transaction of the database at `path`.
pub(super) fn apply(tx: &Transaction<'_>, write: &Write, path: &Path) -> Result<Written, StoreError> {
    let fail = StoreError::at(path);
    let run = |sql: &str, values: &[&dyn ToSql]| {
        tx.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(&fail)
    };
    let mut seqs = Vec::new();
    for change in &write.changes {
        match change {
            Change::Event(event) => {
                let NewEvent { session, at, kind, version, payload } = event;
                run(INSERT_EVENT, &[session, at, kind, version, payload])?;
                seqs.push(tx.last_insert_rowid().cast_unsigned());
            }
            Change::Project(ProjectRow { id, common_dir, record }) => {
                run(PUT_PROJECT, &[id, common_dir, record])?;
            }
            Change::Session(row) => {
                let SessionRow { id, project, parent, status, created_at, updated_at, removed_at, record } = row;
                run(PUT_SESSION, &[id, project, parent, status, created_at, updated_at, removed_at, record])?;
            }
            Change::Turn(TurnRow { session, number, record, raw }) => {
                run(PUT_TURN, &[session, number, record, raw])?;
            }
            Change::Prompt(PromptRow { session, number, at, body, turn }) => {
                run(INSERT_PROMPT, &[session, number, at, body, turn])?;
            }
            Change::TakePrompt { session, number, turn } => {
                let taken = run(TAKE_PROMPT, &[session, number, turn])?;
                still_queued(taken, *session, *number)?;
            }
            Change::DropPrompt { session, number } => {
                let dropped = run(DROP_PROMPT, &[session, number])?;
                still_queued(dropped, *session, *number)?;
            }
            Change::Handoff(row) => {
                let HandoffRow { id, parent, child, status, created_at, updated_at, record } = row;
                run(PUT_HANDOFF, &[id, parent, child, status, created_at, updated_at, record])?;
            }
            Change::Workflow(WorkflowRow { session, record }) => {
                run(PUT_WORKFLOW, &[session, record])?;
            }
            Change::Review(ReviewRow { session, record }) => {
                run(PUT_REVIEW, &[session, record])?;
            }
            Change::DeleteSession(session) => {
                run("DELETE FROM sessions WHERE id = ?1", &[session])?;
            }
        }
    }
    Ok(Written { seqs })
}

/// A prompt is taken or dropped once: whoever comes second must learn it.
fn still_queued(rows: usize, session: SessionId, number: u32) -> Result<(), StoreError> {
    match rows {
        0 => Err(StoreError::PromptGone { session, number }),
        _ => Ok(()),
    }
}

const INSERT_EVENT: &str = "INSERT INTO events (session, at, kind, version, payload) VALUES (?1, ?2, ?3, ?4, ?5)";

// Upserts, not REPLACE: that one deletes the old row first, and with it all that refers to it.
const PUT_PROJECT: &str = "INSERT INTO projects (id, common_dir, record) VALUES (?1, ?2, ?3)
    ON CONFLICT (id) DO UPDATE SET common_dir = excluded.common_dir, record = excluded.record";

const PUT_SESSION: &str = "INSERT INTO sessions
    (id, project, parent, status, created_at, updated_at, removed_at, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (id) DO UPDATE SET project = excluded.project, parent = excluded.parent, status = excluded.status,
    created_at = excluded.created_at, updated_at = excluded.updated_at, removed_at = excluded.removed_at,
    record = excluded.record";

const PUT_TURN: &str = "INSERT INTO turns (session, number, record, raw) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (session, number) DO UPDATE SET record = excluded.record, raw = excluded.raw";

const PUT_HANDOFF: &str = "INSERT INTO handoffs
    (id, parent, child, status, created_at, updated_at, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at, record = excluded.record";

const PUT_WORKFLOW: &str = "INSERT INTO workflows (session, record) VALUES (?1, ?2)
    ON CONFLICT (session) DO UPDATE SET record = excluded.record";

const PUT_REVIEW: &str = "INSERT INTO reviews (session, record) VALUES (?1, ?2)
    ON CONFLICT (session) DO UPDATE SET record = excluded.record";

const INSERT_PROMPT: &str = "INSERT INTO prompts (session, number, at, body, turn) VALUES (?1, ?2, ?3, ?4, ?5)";

const TAKE_PROMPT: &str = "UPDATE prompts SET turn = ?3 WHERE session = ?1 AND number = ?2 AND turn IS NULL";

const DROP_PROMPT: &str = "DELETE FROM prompts WHERE session = ?1 AND number = ?2 AND turn IS NULL";
