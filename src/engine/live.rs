//! What is seen but not stored: streaming text, progress, and the block in progress for those who come late.
//!
//! Senders never wait. A reader that falls behind loses deltas, never events: those come from the store. Each record is
//! marked with the last event before it, so that a reader can put both in order. Text that comes faster than a screen
//! can show it is gathered; nothing runs while none comes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep_until};

use crate::api::event::{Block, Live};
use crate::id::SessionId;

/// How many records a slow reader may fall behind.
const BACKLOG: usize = 1024;

/// How much of a block in progress is kept for those who come late.
const KEPT: usize = 256 * 1024;

/// How much time lies between two records of a block: a screen shows no more.
const PACE: Duration = Duration::from_millis(16);

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
    /// What records have brought so far, up to the limit.
    shown: String,
    /// What the next record brings.
    unshown: String,
    /// When the last record came.
    last: Option<Instant>,
    /// When the next one comes, if somebody waits to send it.
    next: Option<Instant>,
}

impl InProgress {
    fn new(turn: u32, block: Block) -> Self {
        Self { turn, block, shown: String::new(), unshown: String::new(), last: None, next: None }
    }

    /// Takes the text out that no record has brought yet.
    fn take(&mut self, session: SessionId) -> Option<Live> {
        if self.unshown.is_empty() {
            return None;
        }
        let text = std::mem::take(&mut self.unshown);
        let room = KEPT - self.shown.len();
        self.shown.push_str(&text[..text.floor_char_boundary(room)]);
        Some(Live::Delta { session: session.to_string(), turn: self.turn, block: self.block.clone(), text })
    }
}

impl Lively {
    /// Marks records by the numbers that `committed` tells.
    pub(super) fn new(committed: watch::Receiver<u64>) -> Self {
        Self { records: broadcast::Sender::new(BACKLOG), committed, blocks: Arc::default() }
    }

    /// Shows more text of a block; text of another block begins that one. After a pause text is shown at once, in a
    /// stream when its time has come.
    pub(super) fn delta(&self, session: SessionId, turn: u32, block: Block, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut blocks = self.lock();
        let current = blocks.entry(session).or_insert_with(|| InProgress::new(turn, block.clone()));
        if current.turn != turn || current.block != block {
            self.send(current.take(session));
            *current = InProgress::new(turn, block);
        }
        current.unshown.push_str(text);
        if current.next.is_some() {
            return;
        }
        let now = Instant::now();
        match current.last.map(|last| last + PACE).filter(|next| *next > now) {
            None => {
                current.last = Some(now);
                self.send(current.take(session));
            }
            Some(next) => {
                current.next = Some(next);
                tokio::spawn(self.clone().show_at(next, session));
            }
        }
    }

    async fn show_at(self, time: Instant, session: SessionId) {
        sleep_until(time).await;
        let mut blocks = self.lock();
        // The block may have ended meanwhile, and another one may have its own time.
        if let Some(current) = blocks.get_mut(&session).filter(|current| current.next == Some(time)) {
            (current.last, current.next) = (Some(time), None);
            self.send(current.take(session));
        }
    }

    /// Shows what is left of the text so far: a fact that is about to be stored comes after it.
    pub(super) fn flush(&self, session: SessionId) {
        self.send(self.lock().get_mut(&session).and_then(|current| current.take(session)));
    }

    /// Forgets the block in progress: a stored event holds it, or its turn is over.
    pub(super) fn settle(&self, session: SessionId) {
        let mut blocks = self.lock();
        self.send(blocks.remove(&session).and_then(|mut current| current.take(session)));
    }

    /// Shows one record to whoever watches.
    pub(super) fn show(&self, record: Live) {
        let blocks = self.lock();
        self.send(Some(record));
        drop(blocks);
    }

    /// The blocks in progress of the sessions that are wanted, and every record that follows.
    pub(super) fn watch(&self, wants: impl Fn(SessionId) -> bool) -> Watch {
        let mut blocks = self.lock();
        let wanted = blocks.iter_mut().filter(|(id, _)| wants(**id));
        let in_progress = wanted.map(|(id, current)| {
            self.send(current.take(*id));
            let InProgress { turn, block, shown, .. } = current;
            let (block, text) = (block.clone(), shown.clone());
            self.mark(Live::InProgress { session: id.to_string(), turn: *turn, block, text })
        });
        // Whoever watches from here on has the rest in the block.
        Watch { in_progress: in_progress.collect(), records: self.records.subscribe() }
    }

    fn send(&self, record: Option<Live>) {
        if let Some(record) = record {
            // Nobody may be watching.
            self.records.send(self.mark(record)).ok();
        }
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
    use std::iter;

    use super::*;

    const SESSION: fn() -> SessionId = || SessionId::from_random([1; 5]);

    fn said(watch: &mut Watch) -> Vec<(u64, String)> {
        let texts = iter::from_fn(|| watch.records.try_recv().ok()).map(|marked| match &*marked.record {
            Live::Delta { text, .. } => (marked.after, text.clone()),
            Live::InProgress { .. } | Live::Progress { .. } | Live::Status { .. } | Live::SubagentEvent { .. } => {
                (marked.after, "?".to_owned())
            }
        });
        texts.collect()
    }

    fn message(lively: &Lively, text: &str) {
        lively.delta(SESSION(), 1, Block::Message, text);
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_reader_gets_the_block_in_progress_and_then_the_rest_of_it() {
        let committed = watch::Sender::new(3);
        let lively = Lively::new(committed.subscribe());
        let mut early = lively.watch(|_| true);
        lively.delta(SESSION(), 1, Block::Thought, "hm");
        for text in ["Hel", "l", "o"] {
            message(&lively, text);
        }
        let mut late = lively.watch(|id| id == SESSION());
        let (session, block, text) = (SESSION().to_string(), Block::Message, "Hello".to_owned());
        let begun = Live::InProgress { session, turn: 1, block, text };
        assert_eq!(late.in_progress, [Marked { after: 3, record: Arc::new(begun) }]);
        committed.send_replace(4);
        message(&lively, "!");
        lively.flush(SESSION());
        assert_eq!(said(&mut late), [(4, "!".into())]);
        assert_eq!(said(&mut early), [(3, "hm".into()), (3, "Hel".into()), (3, "lo".into()), (4, "!".into())]);
        assert_eq!(lively.watch(|_| false).in_progress, []);
        lively.settle(SESSION());
        assert_eq!(lively.watch(|_| true).in_progress, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_shown_at_the_pace_of_a_screen_and_begins_at_once() {
        let lively = Lively::new(watch::Sender::new(0).subscribe());
        let mut seen = lively.watch(|_| true);
        let start = Instant::now();
        let mut updates = Vec::new();
        for number in 0..1000 {
            message(&lively, &format!("{number} "));
            if number == 0 {
                assert_eq!(said(&mut seen), [(0, "0 ".into())]);
            }
            tokio::time::advance(Duration::from_millis(1)).await;
            tokio::task::yield_now().await;
            updates.extend(said(&mut seen));
        }
        tokio::time::sleep(PACE * 2).await;
        updates.extend(said(&mut seen));
        assert!((60..=63).contains(&updates.len()), "{} updates in {:?}", updates.len(), start.elapsed());
        let text: String = updates.into_iter().map(|(_, text)| text).collect();
        assert_eq!(text, (1..1000).map(|number| format!("{number} ")).collect::<String>());
        message(&lively, "after a pause");
        assert_eq!(said(&mut seen), [(0, "after a pause".into())]);
    }

    #[tokio::test(start_paused = true)]
    async fn text_comes_before_the_fact_that_follows_it() {
        let committed = watch::Sender::new(1);
        let lively = Lively::new(committed.subscribe());
        let mut seen = lively.watch(|_| true);
        message(&lively, "a");
        message(&lively, "b");
        lively.flush(SESSION());
        committed.send_replace(2);
        message(&lively, "c");
        lively.settle(SESSION());
        committed.send_replace(3);
        message(&lively, "d");
        message(&lively, "e");
        assert_eq!(said(&mut seen), [(1, "a".into()), (1, "b".into()), (2, "c".into()), (3, "d".into())]);
        tokio::time::sleep(PACE * 2).await;
        assert_eq!(said(&mut seen), [(3, "e".into())]);
    }

    #[tokio::test]
    async fn what_is_kept_of_a_long_block_has_no_gap() {
        let lively = Lively::new(watch::Sender::new(0).subscribe());
        let long = "é".repeat(KEPT / 2 - 1);
        for text in [&long, "xyz", "!"] {
            message(&lively, text);
        }
        let watch = lively.watch(|_| true);
        let Live::InProgress { text, .. } = &*watch.in_progress[0].record else { panic!("{watch:?}") };
        assert!(*text == format!("{long}xy"));
    }
}
