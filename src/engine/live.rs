//! What is seen but not stored: streaming text, progress, and the block in progress for those who come late.
//!
//! Senders never wait. A reader that falls behind loses deltas, never events: those come from the store. Each record is
//! marked with the last event before it, so that a reader can put both in order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, watch};

use crate::api::event::{Block, Live};
use crate::id::SessionId;

/// How many records a slow reader may fall behind.
const BACKLOG: usize = 1024;

/// How much of a block in progress is kept for those who come late.
const KEPT: usize = 256 * 1024;

/// A live record and the last event that was committed before it was shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Marked {
    pub after: u64,
    pub record: Arc<Live>,
}

/// The live records from one moment on.
#[derive(Debug)]
pub struct Watch {
    /// The blocks in progress at that moment.
    pub in_progress: Vec<Marked>,
    pub records: broadcast::Receiver<Marked>,
}

/// The live side of all sessions; cheap to clone.
#[derive(Clone)]
pub(super) struct Lively {
    records: broadcast::Sender<Marked>,
    committed: watch::Receiver<u64>,
    /// Locked while a record is shown, so that a reader finds each delta in the block or in the records, never in both.
    blocks: Arc<Mutex<HashMap<SessionId, InProgress>>>,
}

struct InProgress {
    turn: u32,
    block: Block,
    text: String,
}

impl Lively {
    /// Marks records by the numbers that `committed` tells.
    pub(super) fn new(committed: watch::Receiver<u64>) -> Self {
        Self { records: broadcast::Sender::new(BACKLOG), committed, blocks: Arc::default() }
    }

    /// Shows more text of a block; text of another block begins that one.
    pub(super) fn delta(&self, session: SessionId, turn: u32, block: Block, text: String) {
        if text.is_empty() {
            return;
        }
        let mut blocks = self.lock();
        let current =
            blocks.entry(session).or_insert_with(|| InProgress { turn, block: block.clone(), text: String::new() });
        if current.turn != turn || current.block != block {
            *current = InProgress { turn, block: block.clone(), text: String::new() };
        }
        if current.text.len() + text.len() <= KEPT {
            current.text.push_str(&text);
        }
        self.send(Live::Delta { session: session.to_string(), turn, block, text });
        drop(blocks);
    }

    /// Forgets the block in progress: a stored event holds it, or its turn is over.
    pub(super) fn settle(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    /// Shows one record to whoever watches.
    pub(super) fn show(&self, record: Live) {
        let blocks = self.lock();
        self.send(record);
        drop(blocks);
    }

    /// The blocks in progress of one session, or of all, and every record that follows.
    pub(super) fn watch(&self, session: Option<SessionId>) -> Watch {
        let blocks = self.lock();
        let wanted = blocks.iter().filter(|(id, _)| session.is_none_or(|session| session == **id));
        let in_progress = wanted.map(|(id, InProgress { turn, block, text })| Live::InProgress {
            session: id.to_string(),
            turn: *turn,
            block: block.clone(),
            text: text.clone(),
        });
        Watch { in_progress: in_progress.map(|record| self.mark(record)).collect(), records: self.records.subscribe() }
    }

    fn send(&self, record: Live) {
        // Nobody may be watching.
        self.records.send(self.mark(record)).ok();
    }

    fn mark(&self, record: Live) -> Marked {
        Marked { after: *self.committed.borrow(), record: Arc::new(record) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, InProgress>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reader_gets_the_block_in_progress_and_then_the_rest_of_it() {
        let committed = watch::Sender::new(3);
        let lively = Lively::new(committed.subscribe());
        let session = SessionId::from_random([1; 5]);
        lively.delta(session, 1, Block::Thought, "hm".into());
        lively.delta(session, 1, Block::Message, "Hel".into());
        lively.delta(session, 1, Block::Message, "lo".into());
        let mut seen = lively.watch(Some(session));
        let name = session.to_string();
        let begun = Live::InProgress { session: name.clone(), turn: 1, block: Block::Message, text: "Hello".into() };
        assert_eq!(seen.in_progress, [Marked { after: 3, record: Arc::new(begun) }]);
        committed.send_replace(4);
        lively.delta(session, 1, Block::Message, "!".into());
        let more = Live::Delta { session: name, turn: 1, block: Block::Message, text: "!".into() };
        assert_eq!(seen.records.try_recv(), Ok(Marked { after: 4, record: Arc::new(more) }));
        assert!(seen.records.is_empty());
        assert_eq!(lively.watch(Some(SessionId::from_random([2; 5]))).in_progress, []);
        lively.settle(session);
        assert_eq!(lively.watch(None).in_progress, []);
    }
}
