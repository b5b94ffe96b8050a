//! The readers: at most two connections, opened when first needed, used on tokio's blocking pool.
//!
//! A reader never waits for the writer and sees only what is committed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Params, Result as SqlResult, Row, params};
use tokio::sync::Semaphore;
use tokio::task;

use super::error::StoreError;
use super::file::{DatabaseFile, FileIdentity};
use super::health::open_to_read;
use super::row::{self, SessionRow, StoredEvent, rowid};
use crate::id::SessionId;

/// One long read does not hold up the short ones, and the memory of two connections is all that reading costs.
const READERS: u32 = 2;

/// Which events a stream is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventFilter {
    /// Those of every session.
    #[default]
    All,
    /// Those of one session.
    Session(SessionId),
    /// Those of a session and of all that descend from it when the events are read.
    Family(SessionId),
}

/// A bounded set of read-only connections.
pub(super) struct Readers {
    file: Arc<DatabaseFile>,
    patience: Duration,
    permits: Arc<Semaphore>,
    /// Each with the file that it reads.
    idle: Mutex<Vec<(Option<FileIdentity>, Connection)>>,
}

impl Readers {
    pub(super) fn new(file: Arc<DatabaseFile>, patience: Duration) -> Self {
        let permits = Arc::new(Semaphore::new(READERS as usize));
        Self { file, patience, permits, idle: Mutex::default() }
    }

    /// Runs `query` on a connection of its own.
    pub(super) async fn read<T, Q>(self: &Arc<Self>, query: Q) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let readers = Arc::clone(self);
        let reading = task::spawn_blocking(move || {
            let result = readers.run(query);
            drop(permit);
            result
        });
        match reading.await.map_err(task::JoinError::try_into_panic) {
            Ok(result) => result,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // Only a runtime that shuts down cancels a blocking task.
            Err(Err(_)) => Err(StoreError::Closed),
        }
    }

    /// Waits for the reads under way, then closes the connections and refuses further reads.
    pub(super) async fn close(&self) {
        // Fails only when another caller closes at the same time, and that one does the work.
        if let Ok(all) = self.permits.acquire_many(READERS).await {
            self.permits.close();
            self.idle().clear();
            all.forget();
        }
    }

    fn run<T>(&self, query: impl FnOnce(&Connection) -> SqlResult<T>) -> Result<T, StoreError> {
        let (fail, identity) = (StoreError::at(&self.file.path), self.file.identity());
        // One that reads a file that was deleted and put back would not see what is written since.
        let parked = self.idle().pop().filter(|(read, _)| *read == identity);
        let db = parked.map_or_else(|| self.open(), |(_, db)| Ok(db)).map_err(&fail)?;
        // A connection that failed is not kept: the next read starts from a sound one.
        let value = query(&db).map_err(&fail)?;
        self.idle().push((identity, db));
        Ok(value)
    }

    fn open(&self) -> SqlResult<Connection> {
        let db = open_to_read(&self.file.path, self.patience)?;
        // In KiB: the kernel caches the file, and pages are not mapped because a disk error would then kill the process.
        db.pragma_update(None, "cache_size", -256)?;
        Ok(db)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Option<FileIdentity>, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All rows of a query.
pub(super) fn rows<T, P: Params>(
    db: &Connection,
    sql: &str,
    values: P,
    read: fn(&Row<'_>) -> SqlResult<T>,
) -> SqlResult<Vec<T>> {
    db.prepare_cached(sql)?.query_map(values, read)?.collect()
}

/// The one row of a query, if it is there.
pub(super) fn one<T, P: Params>(
    db: &Connection,
    sql: &str,
    values: P,
    read: fn(&Row<'_>) -> SqlResult<T>,
) -> SqlResult<Option<T>> {
    db.prepare_cached(sql)?.query_row(values, read).optional()
}

/// The number of the newest event that was ever committed, also when it is deleted since.
pub(super) fn last_seq(db: &Connection) -> SqlResult<u64> {
    let seq = one(db, "SELECT seq FROM sqlite_sequence WHERE name = 'events'", [], |row| row.get::<_, i64>(0))?;
    Ok(seq.unwrap_or(0).cast_unsigned())
}

/// The oldest `limit` events after `after`, oldest first.
pub(super) fn events_after(
    db: &Connection,
    filter: EventFilter,
    after: u64,
    limit: u32,
) -> SqlResult<Vec<StoredEvent>> {
    match filter {
        EventFilter::All => rows(db, AFTER_IN_ALL, params![rowid(after), limit], row::event),
        EventFilter::Session(id) => rows(db, AFTER_IN_ONE, params![rowid(after), limit, id], row::event),
        EventFilter::Family(id) => rows(db, AFTER_IN_FAMILY, params![rowid(after), limit, id], row::event),
    }
}

/// The newest `limit` events before `before`, oldest first.
pub(super) fn events_before(
    db: &Connection,
    filter: EventFilter,
    before: u64,
    limit: u32,
) -> SqlResult<Vec<StoredEvent>> {
    let mut events = match filter {
        EventFilter::All => rows(db, BEFORE_IN_ALL, params![rowid(before), limit], row::event),
        EventFilter::Session(id) => rows(db, BEFORE_IN_ONE, params![rowid(before), limit, id], row::event),
        EventFilter::Family(id) => rows(db, BEFORE_IN_FAMILY, params![rowid(before), limit, id], row::event),
    }?;
    events.reverse();
    Ok(events)
}

/// All that descend from a session, removed ones included, oldest first.
pub(super) fn descendants(db: &Connection, root: SessionId) -> SqlResult<Vec<SessionRow>> {
    rows(db, DESCENDANTS, [root], row::session)
}

const AFTER_IN_ALL: &str =
    "SELECT seq, session, at, kind, version, payload FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2";

const BEFORE_IN_ALL: &str =
    "SELECT seq, session, at, kind, version, payload FROM events WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2";

const AFTER_IN_ONE: &str = "SELECT seq, session, at, kind, version, payload FROM events
    WHERE session = ?3 AND seq > ?1 ORDER BY seq LIMIT ?2";

const BEFORE_IN_ONE: &str = "SELECT seq, session, at, kind, version, payload FROM events
    WHERE session = ?3 AND seq < ?1 ORDER BY seq DESC LIMIT ?2";

// `UNION` and not `UNION ALL`: it ends even where rows that somebody changed name each other as parents.
const DESCENDANTS: &str = "WITH RECURSIVE family (id) AS
    (VALUES (?1) UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent = family.id)
    SELECT id, project, parent, status, created_at, updated_at, removed_at, record FROM sessions
    WHERE id IN family AND id <> ?1 ORDER BY created_at, id";

// The inner query merges the sessions by number inside the index; only the wanted payloads are read.
const AFTER_IN_FAMILY: &str = "WITH RECURSIVE family (id) AS
    (VALUES (?3) UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent = family.id)
    SELECT seq, session, at, kind, version, payload FROM events WHERE seq IN
    (SELECT seq FROM events WHERE session IN family AND seq > ?1 ORDER BY seq LIMIT ?2)
    ORDER BY seq";

const BEFORE_IN_FAMILY: &str = "WITH RECURSIVE family (id) AS
    (VALUES (?3) UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent = family.id)
    SELECT seq, session, at, kind, version, payload FROM events WHERE seq IN
    (SELECT seq FROM events WHERE session IN family AND seq < ?1 ORDER BY seq DESC LIMIT ?2)
    ORDER BY seq DESC";

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test asks SQLite for its plan")]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::migrate;

    /// How SQLite would answer a query.
    fn plan(sql: &str) -> Vec<String> {
        let mut db = Connection::open_in_memory().unwrap();
        migrate::migrate(&mut db, Path::new(":memory:")).unwrap();
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let count = plan.parameter_count();
        let values = (0..count).map(|_| "1");
        let steps = plan.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect()
    }

    /// However long a session is, a page of it is one stretch of the index, in either direction.
    #[test]
    fn a_page_of_a_session_is_read_without_sorting_or_looking_at_the_rest() {
        for (sql, bound) in [(AFTER_IN_ONE, ">"), (BEFORE_IN_ONE, "<")] {
            let expected = format!("SEARCH events USING INDEX events_by_session (session=? AND rowid{bound}?)");
            assert_eq!(plan(sql), [expected]);
        }
    }

    /// However many sessions and events there are, those of a family are found by index.
    #[test]
    fn a_family_is_read_without_looking_at_the_others() {
        for sql in [AFTER_IN_FAMILY, BEFORE_IN_FAMILY, DESCENDANTS] {
            let steps = plan(sql);
            let is_whole = |step: &String| step.starts_with("SCAN events") || step.starts_with("SCAN sessions");
            assert!(!steps.iter().any(is_whole), "{steps:#?}");
            assert!(steps.iter().any(|step| step.contains("sessions_by_parent")), "{steps:#?}");
        }
    }
}
