//! Which agents stay when their turn is over: the next prompt of their session finds them running.
//!
//! Each costs memory and descriptors, so there is an upper bound, and git, the store and the connections of clients come
//! first. The choice is a pure function; the sessions end their own agents when they are told to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::sandbox::descriptors::{DescriptorUsage, read_usage};

use super::shared::lock;

/// How many idle agents are kept at most.
const MAX_IDLE_AGENTS: usize = 64;

/// How many descriptors of the daemon one agent has at least: three pipes, the supervisor's socket and its process.
const DESCRIPTORS_PER_AGENT: usize = 5;

/// How many descriptors idle agents leave free, or half of a limit that is too low for that.
const RESERVED_DESCRIPTORS: usize = 512;

/// How long a turn waits for agents that end: one may belong to a session that is busy with something else.
const RETIREMENT_LIMIT: Duration = Duration::from_secs(10);

/// The idle agents of one daemon; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct IdleAgents {
    agents: Arc<Mutex<AgentList>>,
    /// How many there are.
    count: watch::Sender<usize>,
}

/// The agents by number, which grows: the smallest has been idle for longest.
#[derive(Default)]
struct AgentList {
    last_number: u64,
    retirements: BTreeMap<u64, CancellationToken>,
}

/// The place of one idle agent among them, until it is dropped.
pub(super) struct IdlePlace {
    number: u64,
    agents: IdleAgents,
    retirement: CancellationToken,
}

impl IdleAgents {
    /// An agent becomes idle. Those that are too many by now are told to end, possibly this one.
    pub(super) fn join(&self) -> IdlePlace {
        let retirement = CancellationToken::new();
        let mut list = self.lock();
        list.last_number += 1;
        let number = list.last_number;
        list.retirements.insert(number, retirement.clone());
        self.changed(list);
        self.retire_surplus(read_usage());
        IdlePlace { number, agents: self.clone(), retirement }
    }

    /// Ends idle agents until there are enough descriptors for a turn, as far as that helps.
    pub(super) async fn make_room(&self) {
        let mut count = self.count.subscribe();
        let enough = async {
            loop {
                let usage = read_usage();
                self.retire_surplus(usage);
                if missing_descriptors(usage) == 0 || *count.borrow_and_update() == 0 || count.changed().await.is_err()
                {
                    return;
                }
            }
        };
        // Without enough of them, the turn tries its luck.
        tokio::time::timeout(RETIREMENT_LIMIT, enough).await.ok();
    }

    fn retire_surplus(&self, usage: Option<DescriptorUsage>) {
        let list = self.lock();
        let retiring = choose_retiring(list.retirements.keys().copied(), usage);
        for retirement in retiring.iter().filter_map(|number| list.retirements.get(number)) {
            retirement.cancel();
        }
    }

    fn changed(&self, list: MutexGuard<'_, AgentList>) {
        self.count.send_replace(list.retirements.len());
    }

    fn lock(&self) -> MutexGuard<'_, AgentList> {
        lock(&self.agents)
    }
}

impl IdlePlace {
    /// Waits until the agent is to end.
    pub(super) async fn retired(&self) {
        self.retirement.cancelled().await;
    }
}

impl Drop for IdlePlace {
    fn drop(&mut self) {
        let mut list = self.agents.lock();
        list.retirements.remove(&self.number);
        self.agents.changed(list);
    }
}

/// Which of the idle agents are to end: the first of them, which have been idle for longest, as many as are too many or
/// as give back the descriptors that are missing. Those that are about to end already are among them.
fn choose_retiring(idle: impl ExactSizeIterator<Item = u64>, usage: Option<DescriptorUsage>) -> Vec<u64> {
    let too_many = idle.len().saturating_sub(MAX_IDLE_AGENTS);
    let needed = missing_descriptors(usage).div_ceil(DESCRIPTORS_PER_AGENT);
    idle.take(too_many.max(needed)).collect()
}

/// How many descriptors idle agents should give back.
fn missing_descriptors(usage: Option<DescriptorUsage>) -> usize {
    usage.map_or(0, |DescriptorUsage { open, limit }| {
        let reserved = RESERVED_DESCRIPTORS.min(limit / 2);
        (open + reserved).saturating_sub(limit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_were_idle_for_longest_end_first_and_no_more_than_needed() {
        let usage = |open, limit| Some(DescriptorUsage { open, limit });
        for (idle, usage, expected) in [
            (0..3, None, 0..0),
            (0..3, usage(100, 1024), 0..0),
            (0..64, usage(512, 1024), 0..0),
            // More than there may be, whatever the limit.
            (5..70, None, 5..6),
            (5..80, usage(100, 1_000_000), 5..16),
            // Fewer free ones than are reserved.
            (0..10, usage(513, 1024), 0..1),
            (0..10, usage(517, 1024), 0..1),
            (0..10, usage(518, 1024), 0..2),
            (7..10, usage(1024, 1024), 7..10),
            // Half of a low limit.
            (0..10, usage(100, 200), 0..0),
            (0..10, usage(111, 200), 0..3),
            // The larger of both needs.
            (0..74, usage(523, 1024), 0..10),
            (0..74, usage(600, 1024), 0..18),
        ] {
            let chosen = choose_retiring(idle.clone().collect::<Vec<u64>>().into_iter(), usage);
            assert_eq!(chosen, expected.collect::<Vec<u64>>(), "{idle:?} {usage:?}");
        }
    }

    #[tokio::test]
    async fn the_oldest_of_too_many_agents_is_told_to_end() {
        let agents = IdleAgents::default();
        let places: Vec<_> = (0..=MAX_IDLE_AGENTS).map(|_| agents.join()).collect();
        places[0].retired().await;
        assert!(!places[1].retirement.is_cancelled());
        drop(places);
        assert_eq!(*agents.count.borrow(), 0);
    }
}
