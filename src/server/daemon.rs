//! The hidden entry `daemon run`: one process from the lock to the last goodbye.
//!
//! One loop hears everything that can end the daemon and asks the pure machine of `lifetime` what to do.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::crash;
use super::lifetime::{Action, Event, Lifetime, Load};
use super::listener::{OwnUserListener, Peer};
use super::lock::{self, Holder, LockError};
use super::log;
use super::routes::{About, App, router};
use super::socket::{self, SocketError};
use crate::api::daemon::{DETACHED, HINT, READY, StopHow};
use crate::api::environment;
use crate::api::request::Environment;
use crate::config::agent_variables::find_named_variables;
use crate::config::{self, LayerKind, Origin, Trust};
use crate::engine::{Engine, Options, StartError};
use crate::listener::{AcceptedConnection, GuardedListener, Overflow};
use crate::paths::{self, Paths, PathsError, read_user_file};
use crate::sandbox::support::support;
use crate::sandbox::{descriptors, supervisor};

/// How long sessions may take to end: longer than the longest stop of a backend.
const END_LIMIT: Duration = Duration::from_secs(20);
/// How long open requests may take once the daemon ends.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);
/// Few ask for the end, and each waits for an answer.
const STOP_REQUESTS: usize = 4;
/// The work is waiting, mostly for others; what computes has threads of its own.
const WORKERS: usize = 4;

/// Why the daemon did not start.
#[derive(Debug, thiserror::Error)]
enum DaemonError {
    #[error(transparent)]
    Paths(#[from] PathsError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Engine(#[from] StartError),
    #[error("failed to open the log `{path}`")]
    Log { path: String, source: io::Error },
    #[error("failed to prepare the process")]
    Process(#[from] io::Error),
}

impl DaemonError {
    /// One thing a person can do about it.
    fn hint(&self) -> Option<String> {
        let mut causes = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        let is_full = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::StorageFull)
        };
        if causes.any(is_full) {
            return Some("free some disk space and try again".to_owned());
        }
        match self {
            Self::Engine(StartError::Store(error)) => error.hint(),
            Self::Engine(StartError::Recover(error)) => error.hint.clone(),
            Self::Paths(_)
            | Self::Lock(_)
            | Self::Socket(_)
            | Self::Engine(StartError::Directory { .. })
            | Self::Log { .. }
            | Self::Process(_) => None,
        }
    }
}

/// Somebody asks for the end and wants to know what comes of it.
#[derive(Debug)]
pub(super) struct StopRequest {
    pub(super) how: StopHow,
    pub(super) verdict: oneshot::Sender<Lifetime>,
}

/// Runs the daemon to its end.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let presence = match arguments.any(|argument| argument == DETACHED) {
        true => Presence::Detached,
        false => Presence::Attached,
    };
    match run(presence) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let hint = error.hint();
            // A person reads stderr; the client that started a detached daemon reads stdout, and shows what is not `READY`.
            match presence {
                Presence::Attached => tell(&mut io::stderr(), presence, &error, hint.as_deref()).ok(),
                Presence::Detached => tell(&mut io::stdout(), presence, &error, hint.as_deref()).ok(),
            };
            ExitCode::FAILURE
        }
    }
}

/// Whether somebody watches this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Attached,
    Detached,
}

fn run(presence: Presence) -> Result<(), DaemonError> {
    let paths = Paths::of_this_process()?;
    if presence == Presence::Detached {
        // The terminal that the first client ran in may close, and its directory may go.
        rustix::process::setsid().map_err(io::Error::from)?;
        std::env::set_current_dir("/")?;
    }
    paths::make_private(&paths.data)?;
    paths::make_private(&paths.run)?;
    let holder =
        Holder { pid: std::process::id(), started_at: now_ms(), socket: paths.socket.clone(), ended: Some(false) };
    let mut lock = lock::acquire(&paths.lock(), &holder)?;
    if let Some(last) = &lock.lost {
        crash::record_unclean_end(&paths, last);
    }
    let filter = std::env::var("COPPICE_LOG").unwrap_or_else(|_| "info".to_owned());
    let _log = log::install(&paths.log(), &filter)
        .map_err(|source| DaemonError::Log { path: paths.log().display().to_string(), source })?;
    crash::record_panics(&paths, &holder, now_ms);
    if let Err(error) = descriptors::raise_limit() {
        warn!(%error, "failed to raise the limit of open files");
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.min(WORKERS))
        .thread_name("coppice")
        .enable_all()
        .build()?;
    let result = runtime.block_on(serve(&paths, presence));
    // A blocking call that hangs must not hold up the end.
    runtime.shutdown_timeout(CLOSE_LIMIT);
    lock.say_goodbye();
    result
}

/// What a session sees of the daemon's own environment, if no client handed over another.
pub(super) fn own_environment() -> Environment {
    let named = find_named_variables(|name| std::env::var_os(name), read_user_file);
    environment::capture(std::env::vars_os(), |name| named.iter().any(|known| known == name))
}

/// The daemon's whole environment, of which `env.pass` chooses.
pub(super) fn passable_environment() -> Environment {
    environment::capture(std::env::vars_os(), |_| true)
}

async fn serve(paths: &Paths, presence: Presence) -> Result<(), DaemonError> {
    let signals = Signals::install()?;
    let executable = supervisor::executable()?;
    let options = Options {
        data: paths.data.clone(),
        config: paths.config.clone(),
        environment: own_environment(),
        passable_environment: passable_environment(),
        support: support().with_namespaces(&executable),
        executable,
    };
    options.prepare_process();
    let engine = Engine::start(options).await?;
    let clients = watch::Sender::new(0);
    let socket = OwnUserListener(socket::bind(&paths.socket)?);
    let listener = GuardedListener::new(socket, Overflow::Close, clients.clone());
    info!(version = env!("CARGO_PKG_VERSION"), socket = %paths.socket.display(), "listening");

    let (stops, requests) = mpsc::channel(STOP_REQUESTS);
    let (life, shown) = watch::channel(Lifetime::default());
    let end = CancellationToken::new();
    let about = Arc::new(About { socket: paths.socket.display().to_string(), started: Instant::now() });
    let app = App { engine: engine.clone(), about, life: shown, stops, end: end.clone() };
    let service = router(app).into_make_service_with_connect_info::<AcceptedConnection<Peer>>();
    let server = tokio::spawn(
        axum::serve(listener, service).with_graceful_shutdown(end.clone().cancelled_owned()).into_future(),
    );
    if presence == Presence::Detached {
        // The client that started us may have given up waiting.
        io::stdout().write_all(READY).and_then(|()| io::stdout().flush()).ok();
    }

    let ears = Ears { signals, clients: clients.subscribe(), requests };
    live(&engine, &paths.config, &life, ears).await;
    info!("ending");
    end.cancel();
    if tokio::time::timeout(CLOSE_LIMIT, server).await.is_err() {
        warn!("some clients did not let go in time");
    }
    // Whatever hangs is settled by the next start.
    if tokio::time::timeout(END_LIMIT, engine.shut_down()).await.is_err() {
        warn!("some sessions did not end in time");
    }
    engine.end_leftovers().await;
    info!("ended");
    Ok(())
}

/// Where events come from, besides the engine.
struct Ears {
    signals: Signals,
    clients: watch::Receiver<u32>,
    requests: mpsc::Receiver<StopRequest>,
}

/// Hears events until one of them ends the daemon.
async fn live(engine: &Engine, config: &Path, shown: &watch::Sender<Lifetime>, mut ears: Ears) {
    let (mut running, mut active) = engine.busy();
    let mut life = Lifetime::default();
    life.step(Event::Load(load(&running, &active)));
    let mut deadline = None;
    loop {
        match (life.is_idle(), deadline) {
            (true, None) => deadline = Some(tokio::time::Instant::now() + idle_exit(config)),
            (false, Some(_)) => deadline = None,
            (true, Some(_)) | (false, None) => {}
        }
        let mut asker = None;
        let event = tokio::select! {
            event = ears.signals.next() => event,
            Some(StopRequest { how, verdict }) = ears.requests.recv() => {
                asker = Some(verdict);
                Event::Stop(how)
            }
            Ok(()) = ears.clients.changed() => {
                // Also one that came and left in between has used the daemon.
                deadline = None;
                Event::Clients(*ears.clients.borrow_and_update())
            }
            Ok(()) = running.changed() => Event::Load(load(&running, &active)),
            Ok(()) = active.changed() => Event::Load(load(&running, &active)),
            () = sleep_until(deadline) => Event::Deadline,
        };
        let action = life.step(event);
        shown.send_replace(life);
        if let Some(asker) = asker {
            // It may have left without waiting for the answer.
            asker.send(life).ok();
        }
        match action {
            Action::Nothing => {}
            Action::Drain => {
                info!(?event, "draining");
                engine.drain();
            }
            Action::Exit => return,
        }
    }
}

fn load(running: &watch::Receiver<usize>, active: &watch::Receiver<usize>) -> Load {
    let count = |number: &watch::Receiver<usize>| u32::try_from(*number.borrow()).unwrap_or(u32::MAX);
    Load { running_turns: count(running), pending: count(active) }
}

async fn sleep_until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Read when it matters, so that an edit counts without a restart. A broken file is told to those who ask for something.
fn idle_exit(path: &Path) -> Duration {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let origin = Origin { label: path.display().to_string(), kind: LayerKind::User };
    let layer = config::parse(&text, &origin).ok();
    config::resolve(layer.as_slice(), Trust::Untrusted).idle_exit
}

/// The signals that end a daemon.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn install() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Event {
        tokio::select! {
            _ = self.terminate.recv() => Event::Terminate,
            _ = self.interrupt.recv() => Event::Terminate,
            _ = self.hang_up.recv() => Event::HangUp,
        }
    }
}

pub(super) fn now_ms() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1000 + now.tv_nsec / 1_000_000
}

fn tell(out: &mut impl Write, presence: Presence, error: &dyn std::error::Error, hint: Option<&str>) -> io::Result<()> {
    let (begin, join) = match presence {
        Presence::Attached => ("error: ", "\n  caused by: "),
        Presence::Detached => ("", ": "),
    };
    write!(out, "{begin}{error}")?;
    let mut causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.try_for_each(|cause| write!(out, "{join}{cause}"))?;
    hint.map_or(Ok(()), |hint| write!(out, "\n{HINT}{hint}"))?;
    writeln!(out)
}
