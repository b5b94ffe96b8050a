//! Finds the daemon, starts it when none runs, and replaces one that is too old.
//!
//! Of several clients that find none, one holds the start lock and starts it; the others wait for that lock. Readiness
//! comes over the daemon's stdout, so nobody polls.

#![expect(clippy::disallowed_methods, reason = "this is where a client starts the daemon")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::ClientError;
use super::connection::Connection;
use super::handshake::{Verdict, judge};
use crate::api;
use crate::api::daemon::{DETACHED, DaemonStatus, HINT, READY, StopDaemon, StopHow};
use crate::paths::{self, Paths};

/// Recovery after a crash is quick; a store on a slow disk may have to be upgraded first.
const START_LIMIT: Duration = Duration::from_secs(120);
/// A daemon without turns has little to put away.
const END_LIMIT: Duration = Duration::from_secs(10);
/// A daemon answers at once what it is; one that is stopped or stuck never does.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Where no process holds the daemon's lock, whoever listens is somebody else.
const FOREIGN_LIMIT: Duration = Duration::from_millis(1500);
/// How often a daemon that somebody else started, or one that ends, is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How much of a failed daemon's last words is shown.
const LOG_TAIL: u64 = 4096;

/// Where a daemon is, and what to do when there is none.
#[derive(Debug, Clone)]
pub struct Daemon {
    pub paths: Paths,
    pub absent: Absent,
}

/// What to do when no daemon answers.
#[derive(Debug, Clone)]
pub enum Absent {
    Fail,
    /// Start one from this program.
    Start {
        program: PathBuf,
    },
}

/// The process that holds the daemon's lock, as it describes itself.
#[derive(Debug, serde::Deserialize)]
struct Holder {
    pid: u32,
    socket: PathBuf,
}

impl Daemon {
    /// The daemon of this process's user, started on demand.
    pub fn of_this_process() -> Result<Self, ClientError> {
        Ok(Self { paths: Paths::of_this_process()?, absent: Absent::Start { program: own_program() } })
    }

    /// Connects to a daemon that this client can work with.
    pub async fn connect(&self) -> Result<Connection, ClientError> {
        let met = match self.meet().await {
            // It ended between accepting and answering, as after a long idle time.
            Err(ClientError::Lost { .. }) => self.meet().await,
            result => result,
        };
        match met {
            Err(ClientError::Lost { .. }) if self.holder().is_none() => Err(self.foreign()),
            result => result,
        }
    }

    fn foreign(&self) -> ClientError {
        ClientError::Foreign { socket: self.paths.socket.clone() }
    }

    /// Something at the path of the socket that keeps every daemon from listening there.
    fn find_obstacle(&self, source: &io::Error) -> Option<ClientError> {
        let path = &self.paths.socket;
        match path.symlink_metadata() {
            Ok(found) if !found.file_type().is_socket() && !found.is_symlink() => {
                Some(ClientError::NotASocket { path: path.clone() })
            }
            // Too many wait for a program that accepts nobody.
            Ok(_) if source.kind() == io::ErrorKind::WouldBlock && self.holder().is_none() => Some(self.foreign()),
            Ok(_) | Err(_) => None,
        }
    }

    /// How long an answer is waited for: a daemon may be suspended, somebody else has nothing to say.
    fn answer_limit(&self) -> Duration {
        if self.holder().is_some() { ANSWER_LIMIT } else { FOREIGN_LIMIT }
    }

    async fn meet(&self) -> Result<Connection, ClientError> {
        let opened = match self.open().await {
            Err(ClientError::Unreachable { source, socket }) => match self.find_obstacle(&source) {
                Some(obstacle) => return Err(obstacle),
                None => Err(ClientError::Unreachable { source, socket }),
            },
            opened => opened,
        };
        let connection = match (opened, &self.absent) {
            (Err(ClientError::Unreachable { .. }), Absent::Start { program }) => self.start(program).await?,
            (Err(ClientError::Unreachable { source, .. }), Absent::Fail) => return Err(self.unreachable(source)),
            (result, Absent::Start { .. } | Absent::Fail) => result?,
        };
        let asked = tokio::time::timeout(self.answer_limit(), connection.daemon()).await;
        let status = asked.map_err(|_| match self.pid() {
            Some(pid) => ClientError::Silent { pid: Some(pid) },
            None => self.foreign(),
        })??;
        match (judge(env!("CARGO_PKG_VERSION"), api::VERSION, &status), &self.absent) {
            (Verdict::Use, Absent::Start { .. } | Absent::Fail) => Ok(connection.renewed_by(self)),
            (Verdict::Refuse, Absent::Start { .. } | Absent::Fail) => {
                Err(ClientError::TooNew { ours: api::VERSION, theirs: status.api })
            }
            (Verdict::Replace, Absent::Start { program }) => self.replace(connection, program).await,
            (Verdict::Replace, Absent::Fail) => keep(connection, &status),
        }
    }

    /// The process of the daemon that runs, whether it answers or not.
    pub fn pid(&self) -> Option<u32> {
        self.holder().map(|holder| holder.pid)
    }

    /// Waits until the daemon with that pid has ended, at most for a while; whether it has.
    pub async fn wait_for_end(&self, pid: u32, limit: Duration) -> bool {
        let ended = async {
            while self.pid() == Some(pid) {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        tokio::time::timeout(limit, ended).await.is_ok()
    }

    /// Who holds the daemon's lock. The text alone may be that of a daemon that was killed.
    fn holder(&self) -> Option<Holder> {
        let mut file = File::open(self.paths.lock()).ok()?;
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Connects to the socket that belongs to this process's surroundings, or to the one on which the daemon of another
    /// login listens.
    async fn open(&self) -> Result<Connection, ClientError> {
        match Connection::open(&self.paths.socket).await {
            Err(unreachable @ ClientError::Unreachable { .. }) => {
                let elsewhere = self.holder().map(|holder| holder.socket).filter(|socket| *socket != self.paths.socket);
                match elsewhere {
                    Some(socket) => Connection::open(&socket).await,
                    None => Err(unreachable),
                }
            }
            result => result,
        }
    }

    /// Nobody answers: no daemon runs, or it cannot be reached.
    fn unreachable(&self, source: io::Error) -> ClientError {
        match self.holder() {
            Some(Holder { pid, socket }) => ClientError::OutOfReach { pid, socket },
            None => ClientError::Unreachable { socket: self.paths.socket.clone(), source },
        }
    }

    /// Starts a daemon unless another client is quicker.
    async fn start(&self, program: &Path) -> Result<Connection, ClientError> {
        paths::make_private(&self.paths.run)?;
        let _start_lock = lock(self.paths.start_lock(), START_LIMIT).await;
        if let Some(connection) = self.find_lasting().await {
            return Ok(connection);
        }
        if let Some(connection) = self.wait_for_holder().await? {
            return Ok(connection);
        }
        match launch(program, &self.paths).await {
            Ok(()) => self.open().await,
            // One that a client started which died meanwhile was quicker.
            Err(error) => self.wait_for_holder().await?.ok_or(error),
        }
    }

    /// Waits for the daemon that holds the lock; none once nobody holds it. One that ends holds it longer than its socket,
    /// one that starts has no socket yet, and one whose socket was removed makes another.
    async fn wait_for_holder(&self) -> Result<Option<Connection>, ClientError> {
        let deadline = tokio::time::Instant::now() + END_LIMIT;
        while self.holder().is_some() {
            if let Some(connection) = self.find_lasting().await {
                return Ok(Some(connection));
            }
            if tokio::time::Instant::now() > deadline {
                return self.open().await.map(Some).map_err(|error| match error {
                    ClientError::Unreachable { source, .. } => self.unreachable(source),
                    error => error,
                });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(None)
    }

    /// A daemon that answers and is not about to end.
    async fn find_lasting(&self) -> Option<Connection> {
        let connection = self.open().await.ok()?;
        let status = tokio::time::timeout(self.answer_limit(), connection.daemon()).await.ok()?.ok()?;
        (!status.draining).then_some(connection)
    }

    async fn replace(&self, connection: Connection, program: &Path) -> Result<Connection, ClientError> {
        let status = connection.stop_daemon(&StopDaemon { how: StopHow::IfIdle }).await?;
        if !status.draining {
            return keep(connection, &status);
        }
        drop(connection);
        self.start(program).await
    }
}

/// Works with an older daemon as long as the interface is the same.
fn keep(connection: Connection, daemon: &DaemonStatus) -> Result<Connection, ClientError> {
    match daemon.api == api::VERSION {
        true => Ok(connection),
        false => {
            Err(ClientError::TooOld { ours: api::VERSION, theirs: daemon.api, running_turns: daemon.running_turns })
        }
    }
}

/// Starts a daemon and waits until it listens.
async fn launch(program: &Path, paths: &Paths) -> Result<(), ClientError> {
    let failed = |source| ClientError::Start { program: program.to_owned(), source };
    // Only for what a daemon says that cannot say it properly; a full disk keeps none of it.
    let log = File::create(paths.start_log()).map_or_else(|_| Stdio::null(), Stdio::from);
    let mut daemon = Command::new(program)
        .args(["daemon", "run", DETACHED])
        // These paths need not be those of this process's own environment.
        .envs(paths.home.iter().map(|home| ("COPPICE_HOME", home)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(failed)?;
    let stdout = daemon.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
    let mut words = Vec::new();
    let mut said = stdout.take(LOG_TAIL);
    let listen =
        async { while !words.starts_with(READY) && said.read_buf(&mut words).await.is_ok_and(|read| read > 0) {} };
    // What was said until then counts.
    tokio::time::timeout(START_LIMIT, listen).await.ok();
    match String::from_utf8_lossy(&words).trim() {
        _ if words.starts_with(READY) => Ok(()),
        "" => Err(not_started(&read_tail(&paths.start_log()))),
        last_words => Err(not_started(last_words)),
    }
}

/// The last words of a daemon; its advice comes on a line of its own.
fn not_started(log: &str) -> ClientError {
    let (log, hint) = match log.rsplit_once(HINT) {
        Some((log, hint)) => (log, Some(hint.trim().to_owned())),
        None => (log, None),
    };
    ClientError::NotStarted { log: log.trim().to_owned(), hint }
}

/// Takes a file lock, waiting for it in a thread of its own. The lock only saves work, so a client that cannot have it
/// goes on: the daemon's own lock decides.
async fn lock(path: PathBuf, limit: Duration) -> Option<File> {
    let (taken, wait) = tokio::sync::oneshot::channel();
    // Not on the runtime, which would not end before the thread does.
    std::thread::spawn(move || {
        let lock = || -> io::Result<File> {
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            file.lock()?;
            Ok(file)
        };
        // Too late for a client that gave up; the lock goes with the file.
        taken.send(lock()).ok();
    });
    tokio::time::timeout(limit, wait).await.ok()?.ok()?.ok()
}

fn read_tail(path: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(LOG_TAIL);
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::new();
        file.take(LOG_TAIL).read_to_end(&mut tail)?;
        Ok(tail)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).trim().to_owned()
}

/// This program's file, or the one that replaced it: Linux marks the path of a deleted file.
fn own_program() -> PathBuf {
    let path = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("coppice"));
    match path.to_str().and_then(|path| path.strip_suffix(" (deleted)")) {
        Some(replaced) => PathBuf::from(replaced),
        None => path,
    }
}
