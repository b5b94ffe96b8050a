//! Folds the write-ahead log into the database beside the writer.
//!
//! Folding waits for the disk twice. Done by the writer it would hold up the acknowledgements of everybody; SQLite
//! lets another connection do it while the writer goes on. Only to cut the log does it take the writer's place.

#![expect(clippy::disallowed_methods, reason = "this is the room that opens databases")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tracing::debug;

/// How many bytes the log grows between two folds.
const STEP: u64 = 4 << 20;

/// How long the log is not cut for those who read it or write to it; the writer waits no longer than that.
const CUT_PATIENCE: Duration = Duration::from_millis(100);

/// What the log file keeps after it was folded in; below `STEP`, so that its length tells how much waits in it.
pub(super) const KEPT_BYTES: i64 = 1 << 20;

/// From this many pages on the writer folds what is left by itself, where a read that does not end keeps the log from
/// being cut. Large, so that hardly any write meets it.
pub(super) const WRITER_FOLDS_AT_PAGES: i64 = 32_768;

/// Watches the length of the log and folds on a thread that lives only as long as the work.
pub(super) struct Folder {
    database: PathBuf,
    log: PathBuf,
    asked_at: u64,
    running: Option<JoinHandle<()>>,
}

impl Folder {
    pub(super) fn new(database: &Path) -> Self {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        Self { database: database.to_owned(), log: log.into(), asked_at: 0, running: None }
    }

    /// Starts folding when the log has grown enough since the last time.
    pub(super) fn after_commit(&mut self) {
        let length = fs::metadata(&self.log).map_or(0, |metadata| metadata.len());
        if length < self.asked_at {
            self.asked_at = 0;
        }
        let is_busy = self.running.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_busy || length < self.asked_at + STEP {
            return;
        }
        self.asked_at = length;
        match self.spawn() {
            Ok(thread) => self.running = Some(thread),
            Err(error) => debug!(%error, "log not folded"),
        }
    }

    /// Waits until nothing is being folded.
    pub(super) fn stop(self) {
        if self.running.is_some_and(|thread| thread.join().is_err()) {
            debug!("folding panicked");
        }
    }

    fn spawn(&self) -> io::Result<JoinHandle<()>> {
        let database = self.database.clone();
        thread::Builder::new().name("store-fold".into()).spawn(move || {
            // Nothing is lost by a failure: the log stays, and the next fold or the next start reads it.
            if let Err(error) = fold(&database) {
                debug!(%error, "log not folded");
            }
        })
    }
}

fn fold(database: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(database, flags)?;
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    // What was committed meanwhile is little. Without this, the log starts over only when a commit finds all of it folded
    // in, which a load that never pauses prevents, and stays as long as it is when the load ends.
    db.busy_timeout(CUT_PATIENCE)?;
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}
