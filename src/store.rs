//! The store: sessions, turns, prompts and events in one SQLite database.
//!
//! One thread writes, and a write is acknowledged and visible only after its commit. Readers never wait for it.
//! The store knows rows, not what the engine keeps inside them, and nobody else knows SQL.

mod carry;
mod change;
mod error;
mod file;
mod fold;
mod health;
mod migrate;
mod reader;
mod row;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot, watch};

pub use carry::{Contents, carry_over, exchange, read_contents};
pub use change::{Change, Durability, Write, Written};
pub use error::StoreError;
pub use file::PreparedBackup;
pub use health::{Damage, Depth, admit, require_writable};
pub use reader::EventFilter;
pub use row::{HandoffRow, NewEvent, ProjectRow, PromptRow, ReviewRow, SessionRow, StoredEvent, TurnRow, WorkflowRow};

use crate::id::SessionId;
use file::{DatabaseFile, FileState};
use reader::{Readers, one, rows};
use writer::{BATCH, Message, Writer};

/// How long another process may hold the database before that is an error.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A handle to the database: cheap to clone, and the last one to go ends the writer.
#[derive(Clone)]
pub struct Store {
    inbox: mpsc::Sender<Message>,
    readers: Arc<Readers>,
    file: Arc<DatabaseFile>,
    committed: watch::Receiver<u64>,
}

/// Which sessions a list is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// Those that are there.
    Without,
    /// Those that were removed and can be restored.
    Only,
}

impl Store {
    /// Opens or creates the database at `path`, whose directory must exist. Blocks; meant for the start of the daemon.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_beside(path, 0)
    }

    /// The same where this many sessions have a worktree: none is created for those of a database that was lost.
    pub fn open_beside(path: &Path, worktrees: usize) -> Result<Self, StoreError> {
        admit(path, worktrees, Depth::Start, PATIENCE)?;
        let writer = Writer::open(path, PATIENCE)?;
        health::leave_marker(path)?;
        Self::start(writer, PATIENCE)
    }

    fn start(writer: Writer, patience: Duration) -> Result<Self, StoreError> {
        let file = writer.file();
        let readers = Readers::new(file.clone(), patience);
        let (inbox, messages) = mpsc::channel(BATCH);
        let (announce, committed) = watch::channel(writer.last_seq()?);
        thread::Builder::new()
            .name("store".into())
            .spawn(move || writer.run(messages, &announce))
            .map_err(|source| StoreError::Thread { source })?;
        Ok(Self { inbox, readers: Arc::new(readers), file, committed })
    }

    /// Commits the changes, all of them or none, and returns after the commit.
    ///
    /// Writes are committed in the order in which they are first polled. Dropping the future before it is done leaves
    /// open whether the write happens.
    pub async fn write(&self, write: Write) -> Result<Written, StoreError> {
        let (ack, acknowledged) = oneshot::channel();
        self.inbox.send(Message::Write(write, ack)).await.map_err(|_| StoreError::Closed)?;
        acknowledged.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Runs a query, on the file that the writer writes to. A file that was deleted is put back first.
    async fn read<T, Q>(&self, query: Q) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        if self.file.state() != FileState::InPlace {
            let (done, attended) = oneshot::channel();
            self.inbox.send(Message::AttendFile(done)).await.map_err(|_| StoreError::Closed)?;
            attended.await.unwrap_or(Err(StoreError::Closed))?;
        }
        self.readers.read(query).await
    }

    /// The number of the newest committed event; it changes before the write is acknowledged and never goes back.
    pub fn committed(&self) -> watch::Receiver<u64> {
        self.committed.clone()
    }

    /// Commits what is queued, folds the log into the database and closes it; every handle is closed afterwards.
    pub async fn close(&self) {
        self.readers.close().await;
        let (done, closed) = oneshot::channel();
        if self.inbox.send(Message::Close(done)).await.is_ok() {
            // An error means that the writer is gone already, which is what is wanted.
            closed.await.ok();
        }
    }

    /// All projects.
    pub async fn projects(&self) -> Result<Vec<ProjectRow>, StoreError> {
        let sql = "SELECT id, common_dir, record FROM projects ORDER BY id";
        self.read(move |db| rows(db, sql, [], row::project)).await
    }

    /// The sessions, oldest first.
    pub async fn sessions(&self, removed: Removed) -> Result<Vec<SessionRow>, StoreError> {
        let sql = match removed {
            Removed::Without => {
                "SELECT id, project, parent, status, created_at, updated_at, removed_at, record FROM sessions
                 WHERE removed_at IS NULL ORDER BY created_at, id"
            }
            Removed::Only => {
                "SELECT id, project, parent, status, created_at, updated_at, removed_at, record FROM sessions
                 WHERE removed_at IS NOT NULL ORDER BY created_at, id"
            }
        };
        self.read(move |db| rows(db, sql, [], row::session)).await
    }

    /// How many sessions there are.
    pub async fn count_sessions(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM sessions WHERE removed_at IS NULL";
        let count = self.read(move |db| one(db, sql, [], |row| row.get::<_, i64>(0))).await?;
        Ok(count.unwrap_or_default().cast_unsigned())
    }

    /// One session, removed or not.
    pub async fn session(&self, id: SessionId) -> Result<Option<SessionRow>, StoreError> {
        let sql = "SELECT id, project, parent, status, created_at, updated_at, removed_at, record FROM sessions
                   WHERE id = ?1";
        self.read(move |db| one(db, sql, [id], row::session)).await
    }

    /// The children of a session, removed ones included, oldest first.
    pub async fn children(&self, parent: SessionId) -> Result<Vec<SessionRow>, StoreError> {
        let sql = "SELECT id, project, parent, status, created_at, updated_at, removed_at, record FROM sessions
                   WHERE parent = ?1 ORDER BY created_at, id";
        self.read(move |db| rows(db, sql, [parent], row::session)).await
    }

    /// All that descend from a session, removed ones included, oldest first.
    pub async fn descendants(&self, root: SessionId) -> Result<Vec<SessionRow>, StoreError> {
        self.read(move |db| reader::descendants(db, root)).await
    }

    /// One handoff.
    pub async fn handoff(&self, id: String) -> Result<Option<HandoffRow>, StoreError> {
        let sql = "SELECT id, parent, child, status, created_at, updated_at, record FROM handoffs WHERE id = ?1";
        self.read(move |db| one(db, sql, [id], row::handoff)).await
    }

    /// The handoff that made a session.
    pub async fn handoff_of(&self, child: SessionId) -> Result<Option<HandoffRow>, StoreError> {
        let sql = "SELECT id, parent, child, status, created_at, updated_at, record FROM handoffs WHERE child = ?1";
        self.read(move |db| one(db, sql, [child], row::handoff)).await
    }

    /// The handoffs that a session asked for, oldest first.
    pub async fn handoffs(&self, parent: SessionId) -> Result<Vec<HandoffRow>, StoreError> {
        let sql = "SELECT id, parent, child, status, created_at, updated_at, record FROM handoffs
                   WHERE parent = ?1 ORDER BY created_at, id";
        self.read(move |db| rows(db, sql, [parent], row::handoff)).await
    }

    /// The tasks and the plan of a session.
    pub async fn workflow(&self, session: SessionId) -> Result<Option<WorkflowRow>, StoreError> {
        let sql = "SELECT session, record FROM workflows WHERE session = ?1";
        self.read(move |db| one(db, sql, [session], row::workflow)).await
    }

    /// What a person said about a session's changes.
    pub async fn review(&self, session: SessionId) -> Result<Option<ReviewRow>, StoreError> {
        let sql = "SELECT session, record FROM reviews WHERE session = ?1";
        self.read(move |db| one(db, sql, [session], row::review)).await
    }

    /// The turns of a session in their order.
    pub async fn turns(&self, session: SessionId) -> Result<Vec<TurnRow>, StoreError> {
        let sql = "SELECT session, number, record, raw FROM turns WHERE session = ?1 ORDER BY number";
        self.read(move |db| rows(db, sql, [session], row::turn)).await
    }

    /// One turn of a session.
    pub async fn turn(&self, session: SessionId, number: u32) -> Result<Option<TurnRow>, StoreError> {
        let sql = "SELECT session, number, record, raw FROM turns WHERE session = ?1 AND number = ?2";
        self.read(move |db| one(db, sql, params![session, number], row::turn)).await
    }

    /// The turns of all sessions whose record begins with `prefix`.
    pub async fn turns_by_prefix(&self, prefix: &'static str) -> Result<Vec<TurnRow>, StoreError> {
        let sql = "SELECT session, number, record, raw FROM turns WHERE substr(record, 1, length(?1)) = ?1";
        self.read(move |db| rows(db, sql, [prefix], row::turn)).await
    }

    /// The prompts of a session that no turn has taken, in the order in which they were accepted.
    pub async fn queued_prompts(&self, session: SessionId) -> Result<Vec<PromptRow>, StoreError> {
        let sql = "SELECT session, number, at, body, turn FROM prompts
                   WHERE session = ?1 AND turn IS NULL ORDER BY number";
        self.read(move |db| rows(db, sql, [session], row::prompt)).await
    }

    /// The first `limit` events after the number `after`, oldest first: what a stream sends next.
    pub async fn events(&self, filter: EventFilter, after: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(move |db| reader::events_after(db, filter, after, limit)).await
    }

    /// The last `limit` events before the number `before`, oldest first: one page further back.
    pub async fn events_before(
        &self,
        filter: EventFilter,
        before: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(move |db| reader::events_before(db, filter, before, limit)).await
    }

    /// The last `limit` events, oldest first.
    pub async fn tail(&self, filter: EventFilter, limit: u32) -> Result<Vec<StoredEvent>, StoreError> {
        self.events_before(filter, u64::MAX, limit).await
    }

    /// The number of the newest event that was ever committed, 0 before the first.
    pub async fn last_seq(&self) -> Result<u64, StoreError> {
        self.read(reader::last_seq).await
    }
}
