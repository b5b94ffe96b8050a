//! What is seen but not stored: streaming text, progress, and the block in progress for those who come late.
//!
//! Senders never wait. A reader that falls behind loses deltas, never events: those come from the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

use crate::api::event::{Block, Live};
use crate::id::SessionId;

/// How many records a slow reader may fall behind.
const BACKLOG: usize = 1024;

/// How much of a block in progress is kept for those who come late.
const KEPT: usize = 256 * 1024;

/// The live side of all sessions; cheap to clone.
#[derive(Clone)]
pub(super) struct Lively {
    records: broadcast::Sender<Arc<Live>>,
    blocks: Arc<Mutex<HashMap<SessionId, InProgress>>>,
}

struct InProgress {
    turn: u32,
    block: Block,
    text: String,
}

impl Lively {
    pub(super) fn new() -> Self {
        Self { records: broadcast::Sender::new(BACKLOG), blocks: Arc::default() }
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Arc<Live>> {
        self.records.subscribe()
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
        drop(blocks);
        self.show(Live::Delta { session: session.to_string(), turn, block, text });
    }

    /// Forgets the block in progress: a stored event holds it, or its turn is over.
    pub(super) fn settle(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    /// Shows one record to whoever watches.
    pub(super) fn show(&self, record: Live) {
        // Nobody may be watching.
        self.records.send(Arc::new(record)).ok();
    }

    /// The blocks in progress of one session, or of all.
    pub(super) fn in_progress(&self, session: Option<SessionId>) -> Vec<Live> {
        let blocks = self.lock();
        let wanted = blocks.iter().filter(|(id, _)| session.is_none_or(|session| session == **id));
        wanted
            .map(|(id, InProgress { turn, block, text })| Live::InProgress {
                session: id.to_string(),
                turn: *turn,
                block: block.clone(),
                text: text.clone(),
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, InProgress>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reader_gets_the_block_in_progress_as_one_record() {
        let lively = Lively::new();
        let session = SessionId::from_random([1; 5]);
        lively.delta(session, 1, Block::Thought, "hm".into());
        lively.delta(session, 1, Block::Message, "Hel".into());
        lively.delta(session, 1, Block::Message, "lo".into());
        let seen = lively.in_progress(Some(session));
        let expected =
            Live::InProgress { session: session.to_string(), turn: 1, block: Block::Message, text: "Hello".into() };
        assert_eq!(seen, [expected]);
        lively.settle(session);
        assert_eq!(lively.in_progress(None), []);
    }
}
