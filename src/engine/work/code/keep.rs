//! The language servers that run: one for each work tree and language, kept across turns, ended when nobody asks them.
//!
//! They are heavy: only so many run at a time, and the one that was idle longest gives way.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::debug;

use crate::lsp::Server;
use crate::sandbox::launch::Process;

use super::watch::Seen;

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
pub(in crate::engine) struct Languages(Arc<Kept>);

struct Kept {
    bounds: Bounds,
    seats: Mutex<HashMap<Key, Arc<Seat>>>,
    /// One for each server that may run; held until its process is gone.
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// The place of one server; its state is held while it is started, so that two calls do not start two.
#[derive(Default)]
struct Seat {
    state: Arc<tokio::sync::Mutex<State>>,
    /// The tree goes, or its servers get other rights: nobody starts here any more.
    closed: CancellationToken,
}

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
    pub(super) files: tokio::sync::Mutex<Option<Arc<Seen>>>,
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
        let places = Arc::new(Semaphore::new(bounds.most));
        Self(Arc::new(Kept { bounds, seats: Mutex::default(), places, tasks, stop }))
    }

    /// The server of a work tree, started if it does not run. A start goes on when nobody waits for it any more: whoever
    /// asks next finds the server. One that runs for the same files with other rights is ended first.
    pub(super) async fn lease(
        &self,
        key: Key,
        start: impl Future<Output = Result<Started, String>> + Send + 'static,
    ) -> Result<Lease, String> {
        let is_other =
            |other: &Key| (&other.tree, other.program) == (&key.tree, key.program) && other.made_of != key.made_of;
        self.0.close(is_other).await;
        let seat = Arc::clone(self.0.seats().entry(key).or_default());
        let state = Arc::clone(&seat.state).lock_owned().await;
        match &*state {
            State::Running(running) if !running.is_ending() => return Ok(Lease::of(running)),
            State::Failed { at, message } if at.elapsed() < self.0.bounds.failed => return Err(message.clone()),
            State::Running(_) | State::Failed { .. } | State::Empty => {}
        }
        let kept = Arc::clone(&self.0);
        let started = self.0.tasks.spawn(async move { kept.start(&seat, state, start).await });
        started.await.map_err(|error| format!("the start of the language server was broken off: {error}"))?
    }

    /// The server of a work tree if it runs.
    pub(super) fn find(&self, key: &Key) -> Option<Lease> {
        let seat = self.0.seats().get(key).cloned()?;
        let state = seat.state.try_lock().ok()?;
        match &*state {
            State::Running(running) if !running.is_ending() => Some(Lease::of(running)),
            State::Running(_) | State::Failed { .. } | State::Empty => None,
        }
    }

    /// Whether there is anybody to ask.
    pub(super) fn is_any_running(&self) -> bool {
        self.0.places.available_permits() < self.0.bounds.most
    }

    /// Ends the servers of a work tree, which goes; returns when they are gone.
    pub(in crate::engine) async fn end(&self, tree: &Path) {
        self.0.close(|key| key.tree == tree).await;
    }
}

impl Kept {
    /// Ends servers, also those that are about to start; returns when they are gone.
    async fn close(&self, is_meant: impl Fn(&Key) -> bool) {
        let seats: Vec<_> = self.seats().extract_if(|key, _| is_meant(key)).map(|(_, seat)| seat).collect();
        for seat in seats {
            seat.closed.cancel();
            if let State::Running(running) = std::mem::take(&mut *seat.state.lock().await) {
                running.end.cancel();
                running.gone.cancelled().await;
            }
        }
    }

    /// Starts a server on its seat.
    async fn start(
        &self,
        seat: &Seat,
        mut state: OwnedMutexGuard<State>,
        start: impl Future<Output = Result<Started, String>>,
    ) -> Result<Lease, String> {
        let starts = async {
            // One that ends has its place until it is gone.
            if let State::Running(last) = &*state {
                last.gone.cancelled().await;
            }
            let place = self.place().await?;
            Ok::<_, String>((place, start.await))
        };
        let (place, started) = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err("the daemon is ending".to_owned()),
            () = seat.closed.cancelled() => return Err("the language server was ended meanwhile; try again".to_owned()),
            started = starts => started?,
        };
        match started {
            Ok(started) => {
                let running = self.seat(started, place, &seat.state);
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

    /// A place for another server; the one that was idle longest is ended for it where there is none.
    async fn place(&self) -> Result<OwnedSemaphorePermit, String> {
        loop {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                return Ok(place);
            }
            let Some(oldest) = self.give_way() else {
                let most = self.bounds.most;
                return Err(format!("{most} language servers are at work, and no more may run; try again later"));
            };
            debug!(server = oldest.server.program().name, "language server gives way to another");
            oldest.gone.cancelled().await;
        }
    }

    /// Tells the server to end that was idle longest, if one is.
    fn give_way(&self) -> Option<Arc<Running>> {
        let seats: Vec<_> = self.seats().values().cloned().collect();
        // Leases are given with the state in hand: held here, nobody is given the one that is told to end.
        let states: Vec<_> = seats.iter().filter_map(|seat| seat.state.try_lock().ok()).collect();
        let running = states.iter().filter_map(|state| match &**state {
            State::Running(running) if !running.gone.is_cancelled() => Some(running),
            State::Running(_) | State::Failed { .. } | State::Empty => None,
        });
        let idle = running.map(|running| (*running.used.borrow(), running)).filter(|(used, _)| used.by == 0);
        let (_, oldest) = idle.min_by_key(|(used, _)| used.last)?;
        oldest.end.cancel();
        Some(Arc::clone(oldest))
    }

    /// Begins to mind a server: it ends when it is idle too long, gives way, or the daemon ends.
    fn seat(
        &self,
        started: Started,
        place: OwnedSemaphorePermit,
        state: &Arc<tokio::sync::Mutex<State>>,
    ) -> Arc<Running> {
        let Started { server, process } = started;
        let (used, uses) = watch::channel(Used { by: 0, last: Instant::now() });
        let (end, gone) = (CancellationToken::new(), CancellationToken::new());
        let minded = Minded { server: server.clone(), process, uses, end: end.clone(), stop: self.stop.clone() };
        let running = Running { server, files: tokio::sync::Mutex::default(), used, end, gone: gone.clone() };
        let (idle, grace, state) = (self.bounds.idle, self.bounds.grace, Arc::clone(state));
        self.tasks.spawn(async move {
            minded.run(idle, grace).await;
            drop(place);
            gone.cancel();
            // What it knew of the files is of no use to the next one.
            let mut state = state.lock().await;
            if let State::Running(running) = &*state
                && running.gone.is_cancelled()
            {
                *state = State::Empty;
            }
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
