//! Runs of git on a session's files that can be given up. An agent decides how long git reads its files, and nobody who
//! stops, removes or restores a session, or ends the daemon, waits for that.
//!
//! A run that is given up fails, and the files stay as they are. Its caller says what that means.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::git::stop::{StopGuard, stop_signal};
use crate::git::{GitError, Worktree};
use crate::id::SessionId;

use super::actor::in_quiet_tree;
use super::fault::Fault;
use super::shared::{Shared, lock};

/// How long a run may go on while somebody waits for its end.
const PATIENCE: Duration = Duration::from_secs(3);

/// The runs of all sessions; cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct StoppableRuns {
    runs: Arc<Mutex<BTreeMap<u64, StoppableRun>>>,
    /// How many have begun.
    begun: watch::Sender<u64>,
}

#[derive(Debug)]
struct StoppableRun {
    session: SessionId,
    begun_at: Instant,
    _stop: StopGuard,
}

/// Stops its run, if it still goes on, when it is dropped.
#[derive(Debug)]
pub(super) struct RunTicket {
    number: u64,
    runs: StoppableRuns,
}

/// Whose runs are given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenUp {
    OfSession(SessionId),
    All,
}

impl StoppableRuns {
    /// The worktree for one run, which ends with the ticket at the latest.
    pub(super) fn begin(&self, session: SessionId, tree: &Worktree) -> Result<(Worktree, RunTicket), GitError> {
        let (guard, signal) = stop_signal().map_err(|source| GitError::Spawn { verb: "status", source })?;
        let tree = Worktree { repo: tree.repo.stopped_by(signal), ..tree.clone() };
        let run = StoppableRun { session, begun_at: Instant::now(), _stop: guard };
        let mut number = 0;
        self.begun.send_modify(|begun| {
            (number, *begun) = (*begun, *begun + 1);
            lock(&self.runs).insert(number, run);
        });
        Ok((tree, RunTicket { number, runs: self.clone() }))
    }

    /// Waits for something, and gives up each run that may hold it up after a short while.
    pub(super) async fn give_up_until<T>(&self, which: GivenUp, done: impl Future<Output = T>) -> T {
        let (since, mut begun) = (Instant::now(), self.begun.subscribe());
        tokio::pin!(done);
        loop {
            let next = self.stop_overdue(which, since);
            tokio::select! {
                biased;
                done = &mut done => return done,
                // The sender is part of this value.
                _ = begun.changed() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// Stops the runs whose time is over; when the next one is to be stopped.
    fn stop_overdue(&self, which: GivenUp, since: Instant) -> Option<Instant> {
        let is_meant = |run: &StoppableRun| match which {
            GivenUp::OfSession(session) => run.session == session,
            GivenUp::All => true,
        };
        let ends_at = |run: &StoppableRun| run.begun_at.max(since) + PATIENCE;
        let mut runs = lock(&self.runs);
        runs.retain(|_, run| !is_meant(run) || Instant::now() < ends_at(run));
        runs.values().filter(|run| is_meant(run)).map(ends_at).min()
    }
}

impl Drop for RunTicket {
    fn drop(&mut self) {
        lock(&self.runs.runs).remove(&self.number);
    }
}

impl Shared {
    /// Runs git in a worktree while no process of its session runs there, until that is given up.
    pub(super) async fn in_stoppable_tree<T: Send + 'static>(
        &self,
        session: SessionId,
        tree: &Worktree,
        work: impl FnOnce(Worktree) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, Fault> {
        let (tree, _run) = self.runs.begin(session, tree)?;
        in_quiet_tree(&tree.path.clone(), move || work(tree)).await
    }
}

async fn sleep_until(next: Option<Instant>) {
    match next {
        Some(next) => tokio::time::sleep_until(next).await,
        None => std::future::pending().await,
    }
}
