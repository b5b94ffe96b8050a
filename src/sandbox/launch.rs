//! The daemon's side of a supervisor: start a command, feed it, stop it, learn how it ended.
//!
//! Dropping the `Process` ends the whole tree. The daemon itself never forks: it spawns its own small binary, which
//! costs the same however large the daemon is.

#![expect(clippy::disallowed_methods, reason = "this is where supervisors start")]

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use rustix::process::Pid;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::SandboxError;
use super::cage::Cage;
use super::descriptors;
use super::supervisor::ENTRY;
use super::wire::{self, Controls, Ending, Failure, Launch, Order, Report, Step, Streams, Word};
use super::{quiesce, supervisors};
use crate::permission::Hold;

/// A variable of all commands.
static MARK: OnceLock<(String, String)> = OnceLock::new();

/// Sets a variable for all commands that start from here on. By it [`quiesce::end_marked`] finds those that outlived both
/// their supervisor and this process.
pub fn mark_commands(name: &str, value: &str) {
    // A second one would be the same.
    MARK.get_or_init(|| (name.to_owned(), value.to_owned()));
}

/// What to start.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// The binary that can `supervise`: see `supervisor::executable`.
    pub executable: PathBuf,
    /// The program, found through the `PATH` of `env` unless it holds a slash, and its arguments.
    pub argv: Vec<String>,
    /// The whole environment, apart from the mark: nothing is inherited.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// Without one, the command reaches all that the user can.
    pub cage: Option<Cage>,
    /// The work tree that the command works in, wherever it stands: it is stopped while others need the tree quiet.
    pub worktree: Option<PathBuf>,
}

/// A running command and its pipes.
#[derive(Debug)]
pub struct Supervised {
    pub stdin: pipe::Sender,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    pub process: Process,
}

/// A running command. Its whole tree dies with this value.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    exec_at_ms: i64,
    hold: Hold,
    socket: Arc<UnixStream>,
    supervisor: Child,
    unread: Vec<u8>,
    /// How the command ended, as far as the supervisor has told.
    status: Status,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Exited(i32),
    Signalled(i32),
    /// The supervisor itself was killed.
    Lost,
}

impl Status {
    /// The number a shell would give it.
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::Lost => 128,
        }
    }
}

/// How to ask for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// INT to the command, which some take as the end of what they do and not of themselves.
    Int,
    /// HUP to the command: its terminal is gone.
    HangUp,
    /// TERM to the command; what is left of its tree is killed when it ends.
    Term,
    /// KILL to the whole tree.
    Kill,
}

/// Stops a process that somebody else waits for; does nothing once that process is gone.
#[derive(Debug, Clone)]
pub struct Stopper(Weak<UnixStream>);

/// Starts a command with three pipes.
pub async fn spawn(spawn: Spawn) -> Result<Supervised, SandboxError> {
    let command = name(&spawn)?;
    let failed = |source| SandboxError::Supervisor { command: command.clone(), source };
    let (stdin, our_stdin) = io::pipe().map_err(failed)?;
    let (our_stdout, stdout) = io::pipe().map_err(failed)?;
    let (our_stderr, stderr) = io::pipe().map_err(failed)?;
    let process = start(spawn, [stdin.into(), stdout.into(), stderr.into()], Controls::Nothing).await?;
    Ok(Supervised {
        stdin: pipe::Sender::from_owned_fd(our_stdin.into()).map_err(failed)?,
        stdout: pipe::Receiver::from_owned_fd(our_stdout.into()).map_err(failed)?,
        stderr: pipe::Receiver::from_owned_fd(our_stderr.into()).map_err(failed)?,
        process,
    })
}

/// Starts a command on streams of the caller's choice.
pub(super) async fn start(spawn: Spawn, streams: Streams, controls: Controls) -> Result<Process, SandboxError> {
    let command = name(&spawn)?;
    tracing::debug!(command, arguments = spawn.argv.len() - 1, cwd = %spawn.cwd.display(), "starting a command");
    let failed = |source| SandboxError::Supervisor { command: command.clone(), source };
    let cwd = spawn.cwd.clone().into_os_string();
    let isolation = spawn.cage.as_ref().map(|cage| cage.isolation).unwrap_or_default();
    let argv = spawn.argv.into_iter().map(Word::Text).collect();
    let env = spawn.env.into_iter().chain(MARK.get().cloned()).collect();
    let launch = Launch { argv, env, cwd, cage: spawn.cage, controls };
    // Until the command runs: a work tree that becomes quiet meanwhile would not know of it.
    let _passed = supervisors::pass_gate(spawn.worktree.as_deref()).await;
    let started = supervisors::start(spawn.worktree.clone(), isolation, || start_supervisor(&spawn.executable));
    let (supervisor, socket) = started.map_err(failed)?;
    let socket = Arc::new(socket);
    let mut process = Process {
        pid: 0,
        exec_at_ms: 0,
        hold: Hold::Advisory,
        socket,
        supervisor,
        unread: Vec::new(),
        status: Status::Lost,
    };
    match process.send(&launch, &streams).await {
        // Gone already: the missing report says so.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        result => result.map_err(failed)?,
    }
    drop(streams);
    match process.read_report().await {
        Some(Report::Started { pid, exec_at_ms, held }) => {
            Ok(Process { pid, exec_at_ms, hold: held.into(), ..process })
        }
        Some(Report::Failed(failure)) => Err(describe(failure, command, spawn.cwd)),
        Some(Report::Exited(_)) | None => Err(SandboxError::Lost { command }),
    }
}

impl Process {
    /// The command's process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// When the command was executed, in milliseconds since the epoch.
    pub fn exec_at_ms(&self) -> i64 {
        self.exec_at_ms
    }

    /// Whether the kernel holds the command to its cage; without one nothing does.
    pub fn hold(&self) -> Hold {
        self.hold
    }

    /// A handle that can stop this process from elsewhere.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::downgrade(&self.socket))
    }

    /// Asks for the end; `wait` tells when it came.
    pub fn stop(&self, how: Stop) {
        order(&self.socket, how);
    }

    /// Waits until the command and all it started are gone. Cancelling the wait loses nothing.
    pub async fn wait(&mut self) -> Status {
        while let Some(report) = self.read_report().await {
            match report {
                Report::Exited(Ending::Code(code)) => self.status = Status::Exited(code),
                Report::Exited(Ending::Signal(signal)) => self.status = Status::Signalled(signal),
                Report::Started { .. } | Report::Failed(_) => {}
            }
        }
        // Only reaps: the supervisor closed its socket by exiting.
        self.supervisor.wait().await.ok();
        if self.status == Status::Lost {
            quiesce::end_adopted().await;
        }
        self.status
    }

    /// Ends the process: politely first, by force when `grace` has passed.
    pub async fn end(self, grace: Duration) -> Status {
        self.end_by(Stop::Term, grace).await
    }

    /// The same with a polite request of the caller's choice.
    pub async fn end_by(mut self, request: Stop, grace: Duration) -> Status {
        self.stop(request);
        match tokio::time::timeout(grace, self.wait()).await {
            Ok(status) => status,
            Err(_) => {
                self.stop(Stop::Kill);
                self.wait().await
            }
        }
    }

    async fn send(&self, launch: &Launch, streams: &Streams) -> io::Result<()> {
        let line = wire::line(launch)?;
        let mut sent = loop {
            self.socket.writable().await?;
            let send = || wire::send_streams(&*self.socket, streams, &line);
            match self.socket.try_io(tokio::io::Interest::WRITABLE, send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => break result?,
            }
        };
        while sent < line.len() {
            self.socket.writable().await?;
            match self.socket.try_write(&line[sent..]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => sent += result?,
            }
        }
        Ok(())
    }

    /// The next report; `None` when the supervisor is gone, with it the tree.
    async fn read_report(&mut self) -> Option<Report> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&line).ok();
            }
            let mut chunk = [0; 256];
            self.socket.readable().await.ok()?;
            match self.socket.try_read(&mut chunk) {
                Ok(0) => return None,
                Ok(read) => self.unread.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }
}

impl Stopper {
    /// Asks for the end.
    pub fn stop(&self, how: Stop) {
        if let Some(socket) = self.0.upgrade() {
            order(&socket, how);
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Exited(code) => write!(f, "exit status {code}"),
            Status::Signalled(signal) => write!(f, "signal {signal}"),
            Status::Lost => f.write_str("an unknown status: its supervisor was killed"),
        }
    }
}

fn start_supervisor(executable: &PathBuf) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = StdStream::pair()?;
    ours.set_nonblocking(true)?;
    let supervisor = Command::new(executable)
        .arg(ENTRY)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // The supervisor starts nothing before it has received its launch message.
    if let Some(pid) = supervisor.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        descriptors::restore_limit(pid)?;
    }
    Ok((supervisor, UnixStream::from_std(ours)?))
}

fn order(socket: &UnixStream, how: Stop) {
    let order = match how {
        Stop::Int => Order::Int,
        Stop::HangUp => Order::HangUp,
        Stop::Term => Order::Term,
        Stop::Kill => Order::Kill,
    };
    // A few bytes always fit, and a supervisor that is gone has nothing left to stop.
    wire::line(&order).and_then(|line| socket.try_write(&line)).ok();
}

pub(super) fn name(spawn: &Spawn) -> Result<String, SandboxError> {
    spawn.argv.first().cloned().ok_or(SandboxError::NoCommand)
}

fn describe(failure: Failure, command: String, cwd: PathBuf) -> SandboxError {
    let source = io::Error::from_raw_os_error(failure.errno);
    match failure.step {
        Step::Exec if source.kind() == io::ErrorKind::NotFound => SandboxError::NotFound { command, source },
        Step::Exec => SandboxError::Exec { command, source },
        Step::Directory => SandboxError::Directory { path: cwd, source },
        Step::Confine => SandboxError::Confine { command, source },
        Step::Supervise => SandboxError::Supervisor { command, source },
    }
}
