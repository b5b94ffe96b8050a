//! The two processes around a command in namespaces: the keeper outside, and the init process inside.

use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, pidfd_send_signal, wait, waitpid};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};

use super::{SetupReport, call, loopback};
use crate::sandbox::stage::restore_default_actions;
use crate::sandbox::supervisor::ending;
use crate::sandbox::wire::{self, Ending};

/// What the supervisor sends to the command, and so to the keeper.
const FORWARDED: [Signal; 3] = [Signal::INT, Signal::HUP, Signal::TERM];

/// Stands in for the command outside. Its death is the death of all inside.
pub(in crate::sandbox) struct Keeper {
    init: Pid,
    socket: UnixStream,
    command: OwnedFd,
    listeners: Vec<TcpListener>,
}

/// The first process inside: it reaps what nobody else does, and ends with the command.
pub(in crate::sandbox) struct Init {
    command: Pid,
    socket: UnixStream,
}

/// Installs handlers for forwarded signals; one that comes early waits for the keeper to listen.
pub(super) fn catch_signals() -> io::Result<()> {
    restore_default_actions(&FORWARDED)
}

impl Keeper {
    /// Waits until all is set up inside, or cannot be.
    pub(super) fn start(init: Pid, socket: UnixStream) -> io::Result<Self> {
        let (line, descriptors) = wire::receive_line(&socket)?.ok_or(Errno::CHILD)?;
        match serde_json::from_slice(&line)? {
            SetupReport::Ready => {
                let mut descriptors = descriptors.into_iter();
                let command = descriptors.next().ok_or(Errno::BADF)?;
                Ok(Self { init, socket, command, listeners: descriptors.map(TcpListener::from).collect() })
            }
            SetupReport::Refused { errno } => {
                // It ends by itself, and nobody else waits for it.
                waitpid(Some(init), WaitOptions::empty()).ok();
                Err(io::Error::from_raw_os_error(errno))
            }
        }
    }

    /// Passes signals on until the command ends, and ends by the same signal or with the answer as its exit status.
    pub(in crate::sandbox) fn attend(self) -> i32 {
        let Self { init, socket, command, listeners } = self;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let ending = runtime.and_then(|runtime| runtime.block_on(forward(socket, command, listeners)));
        // Without an ending the init process was killed, and all inside with it.
        let ending = ending.unwrap_or(Ending::Signal(Signal::KILL.as_raw()));
        // The processes inside are gone when it is.
        waitpid(Some(init), WaitOptions::empty()).ok();
        match ending {
            Ending::Code(code) => code,
            Ending::Signal(number) => call::end_by_signal(number),
        }
    }
}

async fn forward(socket: UnixStream, command: OwnedFd, listeners: Vec<TcpListener>) -> io::Result<Ending> {
    let [interrupt, hang_up, terminate] = FORWARDED.map(|number| signal(SignalKind::from_raw(number.as_raw())));
    let (mut interrupt, mut hang_up, mut terminate) = (interrupt?, hang_up?, terminate?);
    for listener in listeners {
        tokio::spawn(loopback::carry(listener));
    }
    socket.set_nonblocking(true)?;
    let mut socket = BufReader::new(tokio::net::UnixStream::from_std(socket)?);
    let mut line = Vec::new();
    loop {
        let number = tokio::select! {
            read = socket.read_until(b'\n', &mut line) => {
                read?;
                return Ok(serde_json::from_slice(&line)?);
            }
            _ = interrupt.recv() => Signal::INT,
            _ = hang_up.recv() => Signal::HUP,
            _ = terminate.recv() => Signal::TERM,
        };
        // A command that ended already has nothing to hear.
        pidfd_send_signal(&command, number).ok();
    }
}

impl Init {
    pub(super) fn new(command: Pid, socket: UnixStream) -> Self {
        Self { command, socket }
    }

    /// Reaps until the command ends, and tells the keeper how.
    pub(in crate::sandbox) fn reap(mut self) {
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.command => {
                    // The keeper may be gone, and then nobody is left to tell.
                    wire::line(&ending(status)).and_then(|line| self.socket.write_all(&line)).ok();
                    return;
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}
