//! Events as they happen: stored facts in order, live records between them, nothing twice and nothing missed.
//!
//! A reader pulls. One that is slow keeps the store's reader waiting and nobody else; what it misses of the live records
//! it gets again as the block in progress.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::api::error::Error;
use crate::api::event::Live;
use crate::engine::{Feed, Marked, Watch};

/// How many facts are read at a time.
const BATCH: u32 = 256;

/// A stored event, spelled for the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) seq: u64,
    pub(super) text: String,
}

/// Where a stream comes from; the engine, except in tests.
pub(super) trait Source: Send + Sync + 'static {
    /// The number of the last committed fact.
    fn committed(&self) -> watch::Receiver<u64>;
    fn watch(&self) -> Watch;
    /// Behind which fact a reader begins that asks for what happens from here on.
    fn begins(&self) -> u64;
    /// A live record as this reader sees it, if it is for this reader.
    fn show(&self, record: Arc<Live>) -> Option<Arc<Live>>;
    /// At most `limit` of the facts that this reader asked for, after `after` and in order.
    fn facts(&self, after: u64, limit: u32) -> impl Future<Output = Result<Vec<Fact>, Error>> + Send;
}

impl Source for Feed {
    fn committed(&self) -> watch::Receiver<u64> {
        self.committed()
    }

    fn watch(&self) -> Watch {
        self.watch()
    }

    fn begins(&self) -> u64 {
        self.begins()
    }

    fn show(&self, record: Arc<Live>) -> Option<Arc<Live>> {
        self.show(record)
    }

    async fn facts(&self, after: u64, limit: u32) -> Result<Vec<Fact>, Error> {
        let facts = self.facts(after, limit).await?;
        Ok(facts.into_iter().map(|(seq, text)| Fact { seq, text }).collect())
    }
}

/// One message of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Fact(Fact),
    Live(Arc<Live>),
    /// The daemon ends; there is no use in looking for it.
    Goodbye,
}

/// One reader's place in the stream.
pub(super) struct Tail<S> {
    source: S,
    after: u64,
    committed: watch::Receiver<u64>,
    records: broadcast::Receiver<Marked>,
    /// Live records whose turn comes after the facts before them.
    waiting: VecDeque<Marked>,
    ready: VecDeque<Message>,
    end: CancellationToken,
    is_over: bool,
}

impl<S: Source> Tail<S> {
    /// Begins behind the fact `after`, or with what happens from here on; `end` lets the stream say goodbye.
    pub(super) fn new(source: S, after: Option<u64>, end: CancellationToken) -> Self {
        let committed = source.committed();
        let after = after.unwrap_or_else(|| source.begins());
        let Watch { in_progress, records } = source.watch();
        let waiting = in_progress.into();
        Self { source, after, committed, records, waiting, ready: VecDeque::new(), end, is_over: false }
    }

    /// The number behind which the next fact comes.
    pub(super) fn after(&self) -> u64 {
        self.after
    }

    /// The next message; `None` when there will be no other.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            if self.is_over {
                return None;
            }
            // Read before the records: one that comes later was shown after this fact.
            let committed = *self.committed.borrow_and_update();
            self.take_record();
            let target = self.waiting.front().map_or(committed, |record| record.after);
            if self.after < target {
                match self.read_facts(target).await {
                    Ok(()) => {}
                    Err(error) => {
                        tracing::warn!(%error, "a stream of events ends early");
                        self.is_over = true;
                    }
                }
            } else if let Some(marked) = self.waiting.pop_front() {
                self.ready.extend(self.source.show(marked.record).map(Message::Live));
            } else {
                self.sleep().await;
            }
        }
    }

    /// Reads facts up to `target`; later ones wait for the live records before them.
    async fn read_facts(&mut self, target: u64) -> Result<(), Error> {
        let facts = self.source.facts(self.after, BATCH).await?;
        let is_last = facts.len() < BATCH as usize;
        // The numbers in between belong to facts that this reader did not ask for.
        self.after = match facts.last() {
            Some(last) if !is_last && last.seq < target => last.seq,
            Some(_) | None => target,
        };
        self.ready.extend(facts.into_iter().take_while(|fact| fact.seq <= target).map(Message::Fact));
        Ok(())
    }

    fn take_record(&mut self) {
        if !self.waiting.is_empty() {
            return;
        }
        match self.records.try_recv() {
            Ok(marked) => self.waiting.push_back(marked),
            Err(TryRecvError::Lagged(_)) => self.catch_up(),
            Err(TryRecvError::Empty | TryRecvError::Closed) => {}
        }
    }

    /// Starts over with the blocks in progress, which hold what the lost records said.
    fn catch_up(&mut self) {
        let Watch { in_progress, records } = self.source.watch();
        self.records = records;
        self.waiting.extend(in_progress);
    }

    async fn sleep(&mut self) {
        tokio::select! {
            () = self.end.cancelled() => {
                self.ready.push_back(Message::Goodbye);
                self.is_over = true;
            }
            changed = self.committed.changed() => self.is_over |= changed.is_err(),
            record = self.records.recv() => match record {
                Ok(marked) => self.waiting.push_back(marked),
                Err(RecvError::Lagged(_)) => self.catch_up(),
                Err(RecvError::Closed) => self.is_over = true,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::api::event::Block;

    /// A daemon in miniature: facts of two sessions, and records of both.
    #[derive(Clone)]
    struct Small {
        facts: Arc<Mutex<Vec<(u64, &'static str)>>>,
        committed: watch::Sender<u64>,
        records: broadcast::Sender<Marked>,
        in_progress: Arc<Mutex<Vec<Marked>>>,
    }

    impl Small {
        fn new() -> Self {
            Self {
                facts: Arc::default(),
                committed: watch::Sender::new(0),
                records: broadcast::Sender::new(4),
                in_progress: Arc::default(),
            }
        }

        fn commit(&self, session: &'static str) {
            let seq = *self.committed.borrow() + 1;
            self.facts.lock().unwrap().push((seq, session));
            self.committed.send_replace(seq);
        }

        fn show(&self, session: &str, text: &str) {
            let after = *self.committed.borrow();
            self.records.send(Marked { after, record: Arc::new(delta(session, text)) }).ok();
        }

        fn tail(&self, after: u64) -> Tail<Self> {
            Tail::new(self.clone(), Some(after), CancellationToken::new())
        }
    }

    impl Source for Small {
        fn committed(&self) -> watch::Receiver<u64> {
            self.committed.subscribe()
        }

        fn watch(&self) -> Watch {
            Watch { in_progress: self.in_progress.lock().unwrap().clone(), records: self.records.subscribe() }
        }

        fn begins(&self) -> u64 {
            *self.committed.borrow()
        }

        fn show(&self, record: Arc<Live>) -> Option<Arc<Live>> {
            (record.session() == "a").then_some(record)
        }

        async fn facts(&self, after: u64, limit: u32) -> Result<Vec<Fact>, Error> {
            let facts = self.facts.lock().unwrap();
            let ours = facts.iter().filter(|(seq, session)| *seq > after && *session == "a");
            Ok(ours.take(limit as usize).map(|(seq, _)| fact(*seq)).collect())
        }
    }

    fn fact(seq: u64) -> Fact {
        Fact { seq, text: format!("fact {seq}") }
    }

    fn delta(session: &str, text: &str) -> Live {
        Live::Delta { session: session.into(), turn: 1, block: Block::Message, text: text.into() }
    }

    async fn read(tail: &mut Tail<Small>, count: usize) -> Vec<String> {
        let mut seen = Vec::new();
        for _ in 0..count {
            seen.push(match tail.next().await {
                Some(Message::Fact(fact)) => fact.seq.to_string(),
                Some(Message::Live(record)) => match &*record {
                    Live::Delta { text, .. } => text.clone(),
                    Live::InProgress { .. }
                    | Live::Progress { .. }
                    | Live::Status { .. }
                    | Live::SubagentEvent { .. } => "?".into(),
                },
                Some(Message::Goodbye) => "goodbye".into(),
                None => "end".into(),
            });
        }
        seen
    }

    #[tokio::test]
    async fn live_records_keep_their_place_between_the_facts() {
        let small = Small::new();
        let mut tail = small.tail(0);
        small.commit("a");
        small.show("a", "one");
        small.show("b", "not ours");
        small.commit("a");
        small.commit("b");
        small.show("a", "two");
        small.commit("a");
        assert_eq!(read(&mut tail, 5).await, ["1", "one", "2", "two", "4"]);
    }

    #[tokio::test]
    async fn a_stream_resumes_behind_the_number_it_is_given() {
        let small = Small::new();
        (0..3).for_each(|_| small.commit("a"));
        let mut tail = small.tail(2);
        assert_eq!(read(&mut tail, 1).await, ["3"]);
        small.commit("b");
        small.commit("a");
        assert_eq!(read(&mut tail, 1).await, ["5"]);
    }

    #[tokio::test]
    async fn many_facts_come_in_batches_without_a_gap() {
        let small = Small::new();
        let count = BATCH as usize * 2 + 7;
        (0..count).for_each(|_| small.commit("a"));
        let expected: Vec<_> = (1..=count).map(|seq| seq.to_string()).collect();
        assert_eq!(read(&mut small.tail(0), count).await, expected);
    }

    #[tokio::test]
    async fn a_late_reader_gets_the_block_in_progress_after_the_facts_before_it() {
        let small = Small::new();
        small.commit("a");
        small.in_progress.lock().unwrap().push(Marked { after: 1, record: Arc::new(delta("a", "so far")) });
        small.commit("a");
        assert_eq!(read(&mut small.tail(0), 3).await, ["1", "so far", "2"]);
    }

    #[tokio::test]
    async fn a_slow_reader_loses_deltas_and_no_facts() {
        let small = Small::new();
        let mut tail = small.tail(0);
        for text in ["1", "2", "3", "4", "5", "6"] {
            small.commit("a");
            small.show("a", text);
        }
        small.in_progress.lock().unwrap().push(Marked { after: 6, record: Arc::new(delta("a", "123456")) });
        assert_eq!(read(&mut tail, 7).await, ["1", "2", "3", "4", "5", "6", "123456"]);
    }

    #[tokio::test]
    async fn the_end_of_the_daemon_is_said_once() {
        let small = Small::new();
        let end = CancellationToken::new();
        let mut tail = Tail::new(small.clone(), Some(0), end.clone());
        small.commit("a");
        end.cancel();
        assert_eq!(read(&mut tail, 3).await, ["1", "goodbye", "end"]);
    }
}
