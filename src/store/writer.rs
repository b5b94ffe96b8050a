//! The one writer: a thread that commits everything waiting for it in one transaction and then acknowledges.
//!
//! There is no timer: while a commit runs the next writes gather, and when nothing waits the thread sleeps in the channel.

#![expect(clippy::disallowed_methods, reason = "this is the room that opens databases")]

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::mem;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::warn;

use super::change::{Durability, Write, Written, apply};
use super::error::StoreError;
use super::file::{self, DatabaseFile, FileState};
use super::fold::{Folder, KEPT_BYTES, WRITER_FOLDS_AT_PAGES};
use super::health::Damage;
use super::migrate::migrate;
use super::reader;

/// How many writes one transaction takes: enough to share the cost of a commit, few enough to bound an acknowledgement.
pub(super) const BATCH: usize = 256;

/// What the writer's thread is asked.
pub(super) enum Message {
    Write(Write, oneshot::Sender<Result<Written, StoreError>>),
    /// Puts the file back where it was deleted; an error where that cannot be.
    AttendFile(oneshot::Sender<Result<(), StoreError>>),
    Close(oneshot::Sender<()>),
}

/// The only connection that changes the database.
pub(super) struct Writer {
    pub(super) db: Connection,
    path: PathBuf,
    durability: Durability,
    patience: Duration,
    file: Arc<DatabaseFile>,
    /// Where the content was saved when another file took the place of this one.
    saved: Option<PathBuf>,
}

impl Writer {
    /// Opens or creates the database at `path` and brings it to the known schema.
    pub(super) fn open(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        create(path)?;
        let db = connect(path, patience)?;
        let file = Arc::new(DatabaseFile::opened_at(path));
        Ok(Self { db, path: path.to_owned(), durability: Durability::Normal, patience, file, saved: None })
    }

    /// The file that is written to.
    pub(super) fn file(&self) -> Arc<DatabaseFile> {
        self.file.clone()
    }

    /// The number of the newest event that was ever committed, 0 before the first.
    pub(super) fn last_seq(&self) -> Result<u64, StoreError> {
        reader::last_seq(&self.db).map_err(StoreError::at(&self.path))
    }

    /// Serves the inbox until it closes, then leaves a database without a log.
    pub(super) fn run(mut self, mut inbox: mpsc::Receiver<Message>, committed: &watch::Sender<u64>) {
        let mut waiting = Vec::with_capacity(BATCH);
        let mut closing = Vec::new();
        let mut folder = Folder::new(&self.path);
        while inbox.blocking_recv_many(&mut waiting, BATCH) > 0 {
            let mut writes = Vec::with_capacity(waiting.len());
            let mut acks = Vec::with_capacity(waiting.len());
            let mut asking = Vec::new();
            for message in waiting.drain(..) {
                match message {
                    Message::Write(write, ack) => {
                        writes.push(write);
                        acks.push(ack);
                    }
                    Message::AttendFile(done) => asking.push(done),
                    Message::Close(done) => {
                        inbox.close();
                        closing.push(done);
                    }
                }
            }
            for done in asking {
                done.send(self.attend_file()).ok();
            }
            let results = self.commit(&writes);
            let newest = results.iter().flatten().filter_map(|written| written.seqs.last()).max();
            committed.send_if_modified(|seq| newest.is_some_and(|newest| mem::replace(seq, *newest) != *newest));
            for (ack, result) in acks.into_iter().zip(results) {
                // The caller may have stopped waiting; what is committed stands.
                ack.send(result).ok();
            }
            folder.after_commit();
        }
        folder.stop();
        self.close();
        for done in closing {
            done.send(()).ok();
        }
    }

    /// Commits all writes together; when that fails, each alone, so that a bad one fails only itself.
    pub(super) fn commit(&mut self, writes: &[Write]) -> Vec<Result<Written, StoreError>> {
        match self.transact(writes) {
            Ok(written) => written.into_iter().map(Ok).collect(),
            Err(error) if writes.len() == 1 => vec![Err(error)],
            // Each alone would wait as long again for the same lock, or copy the whole database again.
            Err(StoreError::Locked { .. }) => {
                writes.iter().map(|_| Err(StoreError::Locked { path: self.path.clone() })).collect()
            }
            Err(StoreError::Damaged { path, damage }) => {
                let refuse = |_| Err(StoreError::Damaged { path: path.clone(), damage: damage.clone() });
                writes.iter().map(refuse).collect()
            }
            Err(_) => writes.iter().map(|write| self.transact_one(write)).collect(),
        }
    }

    fn transact_one(&mut self, write: &Write) -> Result<Written, StoreError> {
        self.transact(slice::from_ref(write)).map(|written| written.into_iter().next().unwrap_or_default())
    }

    fn transact(&mut self, writes: &[Write]) -> Result<Vec<Written>, StoreError> {
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        self.attend_file()?;
        self.switch(writes.iter().map(|write| write.durability).max().unwrap_or(Durability::Normal))?;
        let fail = StoreError::at(&self.path);
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&fail)?;
        let written =
            writes.iter().map(|write| apply(&tx, write, &self.path)).collect::<Result<Vec<_>, StoreError>>()?;
        tx.commit().map_err(&fail)?;
        Ok(written)
    }

    /// SQLite accepts the pragma only between transactions.
    fn switch(&mut self, wanted: Durability) -> Result<(), StoreError> {
        if self.durability != wanted {
            self.db.pragma_update(None, "synchronous", level(wanted)).map_err(StoreError::at(&self.path))?;
            self.durability = wanted;
        }
        Ok(())
    }

    /// Makes sure that what is written can be found again: the file of a database can be deleted or replaced while it is
    /// open, and whatever is written then is lost with the process.
    fn attend_file(&mut self) -> Result<(), StoreError> {
        let damage = match self.file.state() {
            FileState::InPlace => {
                self.file.remember_log();
                return Ok(());
            }
            FileState::Emptied => Damage::Emptied,
            FileState::Deleted => match self.put_back() {
                Ok(()) => {
                    warn!(path = %self.path.display(), "the database was deleted; its content is back");
                    return Ok(());
                }
                Err(error) => Damage::Deleted(match self.path.parent().filter(|directory| !directory.exists()) {
                    Some(directory) => format!("its directory `{}` does not exist any more", directory.display()),
                    None => error.to_string(),
                }),
            },
            FileState::Replaced => {
                if self.saved.is_none() {
                    self.saved = self.save_beside().ok();
                    self.file.withdraw_log();
                }
                Damage::Replaced { saved: self.saved.clone() }
            }
        };
        Err(StoreError::Damaged { path: self.path.clone(), damage })
    }

    /// Writes the content of a deleted file to its path and goes on with that one.
    fn put_back(&mut self) -> Result<(), StoreError> {
        file::put_back(file::write_copy(&self.db, &self.path)?, &self.path)?;
        let fail = StoreError::at(&self.path);
        // The last connection to close deletes the log by its name: the old one goes before the new file has a log.
        let old = mem::replace(&mut self.db, Connection::open_in_memory().map_err(&fail)?);
        drop(old);
        self.db = connect(&self.path, self.patience)?;
        self.durability = Durability::Normal;
        self.file.remember();
        Ok(())
    }

    /// Keeps the content of a file that lost its path to another one.
    fn save_beside(&self) -> Result<PathBuf, StoreError> {
        let target = file::free_name(&self.path, "displaced");
        file::place_copy(file::write_copy(&self.db, &target)?, &target)?;
        Ok(target)
    }

    /// A log that could not be folded in is no loss: the next start reads it.
    fn close(mut self) {
        if let Err(error) = self.attend_file() {
            warn!(%error, "database not closed cleanly");
            // Closing it would delete the log of whatever is at its path now.
            return mem::forget(self.db);
        }
        let folded = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        if !matches!(folded, Ok(0)) {
            warn!(path = %self.path.display(), "write-ahead log not folded in at close");
        }
        if let Err((_, error)) = self.db.close() {
            warn!(path = %self.path.display(), %error, "database not closed cleanly");
        }
    }
}

/// Opens the database, brings it to the known schema and sets what holds for its writer.
fn connect(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    let fail = StoreError::at(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(&fail)?;
    db.busy_timeout(patience).map_err(&fail)?;
    migrate(&mut db, path)?;
    db.pragma_update(None, "journal_mode", "wal").map_err(&fail)?;
    db.pragma_update(None, "synchronous", level(Durability::Normal)).map_err(&fail)?;
    // In KiB. Appending touches the right edge of two trees: a larger cache would only hold memory.
    db.pragma_update(None, "cache_size", -1024).map_err(&fail)?;
    db.pragma_update(None, "journal_size_limit", KEPT_BYTES).map_err(&fail)?;
    db.pragma_update(None, "wal_autocheckpoint", WRITER_FOLDS_AT_PAGES).map_err(&fail)?;
    Ok(db)
}

/// Creates the file for its owner alone; SQLite gives its companion files the same mode.
///
/// An existing file is not even opened: closing it again would drop the locks this process holds on it.
fn create(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::StorageFull => Err(StoreError::Full { path: path.to_owned() }),
        Err(source) => Err(StoreError::Create { path: path.to_owned(), source }),
    }
}

fn level(durability: Durability) -> &'static str {
    match durability {
        Durability::Normal => "normal",
        Durability::Full => "full",
    }
}
