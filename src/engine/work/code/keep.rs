//! The language servers that run: one for each work tree and language, kept across turns, ended when nobody asks them.
//!
//! They are heavy: only so many run at a time, and the one that was idle longest gives way.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::debug;

use crate::lsp::Server;
use crate::sandbox::launch::Process;

use super::watch::Snapshot;

/// How long servers are kept, and how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// A server that nobody asked for so long is ended.
    pub(super) idle: Duration,
    /// How many run at a time, in all sessions together.
    pub(super) most: usize,
    /// How long a start that failed is not tried again.
    pub(super) failed: Duration,
    /// How long a server may take to end by itself.
    pub(super) grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(5 * 60),
            most: 4,
            failed: Duration::from_secs(30),
            grace: Duration::from_secs(2),
        }
    }
}

/// Which server: of which work tree, and by which program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) tree: PathBuf,
    pub(super) program: &'static str,
    /// Names what it was started with; one of another make is another server.
    pub(super) made_of: String,
}

/// All servers of a daemon.
pub(in crate::engine) struct Languages {
    bounds: Bounds,
    seats: Mutex<HashMap<Key, Arc<Seat>>>,
    /// One for each server that may run; held until its process is gone.
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// The place of one server; held while it is started, so that two calls do not start two.
#[derive(Default)]
struct Seat(tokio::sync::Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Empty,
    Failed {
        at: Instant,
        message: String,
    },
    Running(Arc<Running>),
}

/// A server at work.
pub(super) struct Running {
    pub(super) server: Server,
    /// The files as the server was last told of them.
    pub(super) files: tokio::sync::Mutex<Option<Snapshot>>,
    used: watch::Sender<Used>,
    end: CancellationToken,
    gone: CancellationToken,
}

#[derive(Debug, Clone, Copy)]
struct Used {
    by: usize,
    last: Instant,
}

/// A server that was just started; the process is what ends with it.
pub(super) struct Started {
    pub(super) server: Server,
    pub(super) process: Option<Process>,
}

/// A server in use: it is not idle while this lives.
pub(super) struct Lease(Arc<Running>);

impl Languages {
    pub(in crate::engine) fn new(tasks: &TaskTracker, stop: &CancellationToken) -> Self {
        Self::bounded(Bounds::default(), tasks, stop)
    }

    pub(super) fn bounded(bounds: Bounds, tasks: &TaskTracker, stop: &CancellationToken) -> Self {
        let (tasks, stop) = (tasks.clone(), stop.clone());
        Self { bounds, seats: Mutex::default(), places: Arc::new(Semaphore::new(bounds.most)), tasks, stop }
    }

    /// The server of a work tree, started if it does not run.
    pub(super) async fn lease(
        &self,
        key: Key,
        start: impl Future<Output = Result<Started, String>>,
    ) -> Result<Lease, String> {
        let seat = Arc::clone(self.seats().entry(key.clone()).or_default());
        let mut state = seat.0.lock().await;
        match &*state {
            State::Running(running) if !running.is_ending() => return Ok(Lease::of(running)),
            State::Failed { at, message } if at.elapsed() < self.bounds.failed => return Err(message.clone()),
            State::Running(_) | State::Failed { .. } | State::Empty => {}
        }
        if self.stop.is_cancelled() {
            return Err("the daemon is ending".to_owned());
        }
        let place = self.place().await?;
        match start.await {
            Ok(started) => {
                let running = self.seat(started, place);
                let lease = Lease::of(&running);
                *state = State::Running(running);
                Ok(lease)
            }
            Err(message) => {
                *state = State::Failed { at: Instant::now(), message: message.clone() };
                Err(message)
            }
        }
    }

    /// The server of a work tree if it runs.
    pub(super) fn find(&self, key: &Key) -> Option<Lease> {
        let seat = self.seats().get(key).cloned()?;
        let state = seat.0.try_lock().ok()?;
        match &*state {
            State::Running(running) if !running.is_ending() => Some(Lease::of(running)),
            State::Running(_) | State::Failed { .. } | State::Empty => None,
        }
    }

    /// Whether there is anybody to ask.
    pub(super) fn is_any_running(&self) -> bool {
        self.places.available_permits() < self.bounds.most
    }

    /// Ends the servers of a work tree, which goes; returns when they are gone.
    pub(in crate::engine) async fn end(&self, tree: &Path) {
        let seats: Vec<_> = {
            let mut seats = self.seats();
            let keys: Vec<Key> = seats.keys().filter(|key| key.tree == tree).cloned().collect();
            keys.iter().filter_map(|key| seats.remove(key)).collect()
        };
        for seat in seats {
            if let State::Running(running) = std::mem::take(&mut *seat.0.lock().await) {
                running.end.cancel();
                running.gone.cancelled().await;
            }
        }
    }

    /// A place for another server; the one that was idle longest is ended for it where there is none.
    async fn place(&self) -> Result<OwnedSemaphorePermit, String> {
        loop {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                return Ok(place);
            }
            let Some(oldest) = self.longest_idle() else {
                let most = self.bounds.most;
                return Err(format!("{most} language servers are at work, and no more may run; try again later"));
            };
            debug!(server = oldest.server.program().name, "language server gives way to another");
            oldest.end.cancel();
            oldest.gone.cancelled().await;
        }
    }

    fn longest_idle(&self) -> Option<Arc<Running>> {
        let running = |seat: &Arc<Seat>| match &*seat.0.try_lock().ok()? {
            State::Running(running) if !running.gone.is_cancelled() => Some(Arc::clone(running)),
            State::Running(_) | State::Failed { .. } | State::Empty => None,
        };
        let running: Vec<_> = self.seats().values().filter_map(running).collect();
        let idle = running.into_iter().map(|running| (*running.used.borrow(), running.clone()));
        idle.filter(|(used, _)| used.by == 0).min_by_key(|(used, _)| used.last).map(|(_, running)| running)
    }

    /// Begins to mind a server: it ends when it is idle too long, gives way, or the daemon ends.
    fn seat(&self, started: Started, place: OwnedSemaphorePermit) -> Arc<Running> {
        let Started { server, process } = started;
        let (used, uses) = watch::channel(Used { by: 0, last: Instant::now() });
        let (end, gone) = (CancellationToken::new(), CancellationToken::new());
        let minded = Minded { server: server.clone(), process, uses, end: end.clone(), stop: self.stop.clone() };
        let running = Running { server, files: tokio::sync::Mutex::default(), used, end, gone: gone.clone() };
        let (idle, grace) = (self.bounds.idle, self.bounds.grace);
        self.tasks.spawn(async move {
            minded.run(idle, grace).await;
            drop(place);
            gone.cancel();
        });
        Arc::new(running)
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<Key, Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the task of a server owns.
struct Minded {
    server: Server,
    process: Option<Process>,
    uses: watch::Receiver<Used>,
    end: CancellationToken,
    stop: CancellationToken,
}

impl Minded {
    async fn run(mut self, idle: Duration, grace: Duration) {
        tokio::select! {
            () = self.end.cancelled() => {}
            () = self.stop.cancelled() => {}
            _ = self.server.closed() => {}
            () = idle_for(&mut self.uses, idle) => {}
        }
        // Nobody is given it from here on.
        self.end.cancel();
        self.server.leave(grace).await;
        if let Some(process) = self.process {
            let status = process.end(grace).await;
            debug!(server = self.server.program().name, %status, "language server ended");
        }
    }
}

/// Returns when nobody has used it for so long; never while somebody does.
async fn idle_for(uses: &mut watch::Receiver<Used>, idle: Duration) {
    loop {
        let used = *uses.borrow_and_update();
        let changed = match used.by {
            0 => tokio::select! {
                changed = uses.changed() => changed,
                () = time::sleep_until(used.last + idle) => return,
            },
            _ => uses.changed().await,
        };
        if changed.is_err() {
            return;
        }
    }
}

impl Running {
    fn is_ending(&self) -> bool {
        self.end.is_cancelled()
    }
}

impl Lease {
    fn of(running: &Arc<Running>) -> Self {
        running.used.send_modify(|used| used.by += 1);
        Self(Arc::clone(running))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.used.send_modify(|used| *used = Used { by: used.by.saturating_sub(1), last: Instant::now() });
    }
}

impl std::ops::Deref for Lease {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.0
    }
}

#[cfg(test)]
mod tests;
