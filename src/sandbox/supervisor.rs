//! The hidden entry `supervise`: a tiny process between the daemon and one command.
//!
//! It outlives a killed daemon just long enough to end the command's whole tree, also what changed its session or
//! process group. It logs nothing and holds next to nothing in memory. Two threads: one waits for the daemon, one for
//! children. A single one could only learn of orphans by polling, and an orphan that nobody reaps looks alive to
//! those who wait for its end.

#![expect(clippy::disallowed_methods, reason = "this is where the second stage starts")]

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, kill_process, setsid, wait, waitid,
};

use super::wire::{self, Ending, Failure, Launch, Order, Report, StageReport, Step, Streams};
use super::{stage, tree};

/// The argument that selects this entry.
pub const ENTRY: &str = "supervise";
pub(super) const STAGE_TWO: &str = "--stage=exec";
/// The arguments of a second stage, by which others know it until it becomes its command.
pub(super) const STAGE_ARGUMENTS: [&str; 2] = [ENTRY, STAGE_TWO];
/// The waiting thread reads a few bytes at a time.
const STACK: usize = 64 * 1024;

/// Runs as the supervisor, or as its second stage when `arguments` ask for it.
pub fn main(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    if arguments.next().is_some_and(|first| first == STAGE_TWO) {
        stage::main();
        // Reached only when the command could not be executed; a shell uses this number for the same.
        return ExitCode::from(127);
    }
    name_process();
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    match wire::receive_launch(&socket) {
        Ok(Some((launch, streams))) => supervise(socket, &launch, streams),
        // The daemon is gone, or somebody typed the hidden command.
        Ok(None) | Err(_) => ExitCode::FAILURE,
    }
}

/// The program to start a supervisor from: this very binary, also after an upgrade replaced the file on disk.
#[cfg(target_os = "linux")]
pub fn executable() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// The program to start a supervisor from.
#[cfg(not(target_os = "linux"))]
pub fn executable() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Started through `/proc/self/exe`, the process would be called `exe`.
fn name_process() {
    #[cfg(target_os = "linux")]
    std::fs::write("/proc/self/comm", "coppice").ok();
}

fn supervise(socket: OwnedFd, launch: &Launch, streams: Streams) -> ExitCode {
    let mut reports = File::from(socket);
    let started = prepare().and_then(|channel| Ok((start_stage(launch, streams, channel)?, reports.try_clone()?)));
    let (stage, orders) = match started {
        Ok(started) => started,
        Err(error) => {
            report(&mut reports, &Report::Failed(Failure::new(Step::Supervise, &error)));
            return ExitCode::FAILURE;
        }
    };
    let command = stage.command;
    let tree = Mutex::new(Tree::Running);
    std::thread::scope(|scope| {
        let listener = std::thread::Builder::new().stack_size(STACK);
        if listener.spawn_scoped(scope, || obey(orders, command, &tree)).is_err() {
            end(&tree, command);
        }
        report(&mut reports, &stage.outcome());
        reap(command, &tree, |ending| report(&mut reports, &Report::Exited(ending)));
        // The listener waits for a daemon that may stay for days; the end of the process ends it.
        std::process::exit(0)
    })
}

/// Runs a command below this process, until it and all that it started have ended. All of them end when `wait_for_owner`
/// returns.
pub(super) fn run_command(
    launch: &Launch,
    streams: Streams,
    wait_for_owner: impl FnOnce() + Send + 'static,
) -> io::Result<Result<Ending, Failure>> {
    tree::adopt_orphans()?;
    let stage = start_stage(launch, streams, UnixStream::pair()?)?;
    let command = stage.command;
    let tree = Arc::new(Mutex::new(Tree::Running));
    let ours = Arc::clone(&tree);
    std::thread::Builder::new().stack_size(STACK).spawn(move || {
        wait_for_owner();
        end(&ours, command);
    })?;
    if let Report::Failed(failure) = stage.outcome() {
        return Ok(Err(failure));
    }
    let mut ended = Ending::Signal(Signal::KILL.as_raw());
    reap(command, &tree, |ending| ended = ending);
    Ok(Ok(ended))
}

/// What may still happen below this process. Reaping and killing exclude each other by its lock, so that a pid cannot
/// pass to a stranger between being listed and being killed.
#[derive(PartialEq, Eq)]
enum Tree {
    Running,
    Ending,
}

fn prepare() -> io::Result<(UnixStream, UnixStream)> {
    // A leader of a session already: somebody started us by hand in a terminal of its own.
    match setsid() {
        Ok(_) | Err(Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    tree::adopt_orphans()?;
    UnixStream::pair()
}

/// A second stage that was told what to become.
struct Stage {
    command: Pid,
    channel: UnixStream,
}

fn start_stage(launch: &Launch, streams: Streams, (ours, theirs): (UnixStream, UnixStream)) -> io::Result<Stage> {
    let child = Command::new(executable()?)
        .args(STAGE_ARGUMENTS)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    wire::send_launch(&ours, launch, &streams)?;
    // The streams close here: the ends of their pipes are seen only when nobody but the command holds them.
    Ok(Stage { command: Pid::from_child(&child), channel: ours })
}

impl Stage {
    /// Waits until the stage became the command, or could not.
    fn outcome(self) -> Report {
        let mut channel = BufReader::new(self.channel);
        let mut ready = None;
        loop {
            match wire::read(&mut channel) {
                Ok(Some(StageReport::Ready { exec_at_ms, held })) => ready = Some((exec_at_ms, held)),
                Ok(Some(StageReport::Failed(failure))) => return Report::Failed(failure),
                Ok(None) => break,
                Err(error) => return Report::Failed(Failure::new(Step::Supervise, &error)),
            }
        }
        match ready {
            Some((exec_at_ms, held)) => Report::Started { pid: self.command.as_raw_nonzero().get(), exec_at_ms, held },
            None => Report::Failed(Failure { step: Step::Supervise, errno: Errno::CHILD.raw_os_error() }),
        }
    }
}

/// Carries out orders until the daemon asks for the end, or is gone.
fn obey(orders: File, command: Pid, tree: &Mutex<Tree>) {
    let mut orders = BufReader::with_capacity(256, orders);
    loop {
        match wire::read(&mut orders) {
            Ok(Some(Order::Int)) => signal(tree, command, Signal::INT),
            Ok(Some(Order::HangUp)) => signal(tree, command, Signal::HUP),
            Ok(Some(Order::Term)) => signal(tree, command, Signal::TERM),
            Ok(Some(Order::Kill) | None) | Err(_) => return end(tree, command),
        }
    }
}

/// Signals the command alone, while it is there.
fn signal(tree: &Mutex<Tree>, command: Pid, signal: Signal) {
    let tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
    if *tree == Tree::Running {
        kill_process(command, signal).ok();
    }
}

fn end(tree: &Mutex<Tree>, command: Pid) {
    let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
    *tree = Tree::Ending;
    tree::kill_children(command);
}

/// Reaps until no descendant is left. The command's own end is the end of all it started.
fn reap(command: Pid, tree: &Mutex<Tree>, mut tell: impl FnMut(Ending)) {
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let mut tree = tree.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == command {
                tell(ending(status));
                *tree = Tree::Ending;
            }
        }
        // After the reaping: what the dead left behind is a child of ours by then. Each kill leads to another round,
        // so a process forked behind our back is met in the next one.
        if *tree == Tree::Ending {
            tree::kill_children(command);
        }
    }
}

pub(super) fn ending(status: WaitStatus) -> Ending {
    match status.terminating_signal() {
        Some(signal) => Ending::Signal(signal),
        None => Ending::Code(status.exit_status().unwrap_or_default()),
    }
}

fn report(to: &mut File, report: &Report) {
    // A daemon that is gone cannot be told; the listener sees that too and ends the tree.
    wire::line(report).and_then(|line| to.write_all(&line)).ok();
}
