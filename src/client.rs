//! The way to the daemon: connect, start it when none runs, agree on the version, ask, follow events.
//!
//! Faces use this and never the socket itself. It shows nothing to anybody and it knows nothing behind the socket.

use std::io;
use std::path::PathBuf;

use crate::api;
use crate::paths::PathsError;

pub mod attach;
mod calls;
pub mod connection;
pub mod environment;
pub mod events;
pub mod handshake;
mod sse;
pub mod start;
#[cfg(test)]
mod tests;

/// Why the daemon did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no daemon answers on `{}`", socket.display())]
    Unreachable { socket: PathBuf, source: io::Error },
    #[error("the daemon runs (pid {pid}), but nothing listens on its socket `{}`", socket.display())]
    OutOfReach { pid: u32, socket: PathBuf },
    #[error("`{}` is not a socket: no daemon can listen there", path.display())]
    NotASocket { path: PathBuf },
    #[error("a program that is not coppice listens on `{}`", socket.display())]
    Foreign { socket: PathBuf },
    /// Carries the last words of the daemon.
    #[error("the daemon did not start{}", tail(log))]
    NotStarted { log: String, hint: Option<String> },
    #[error("failed to start the daemon from `{}`", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error(
        "the daemon speaks version {theirs} of the interface, this client version {ours}, \
         and the daemon cannot be replaced while {running_turns} turns run"
    )]
    TooOld { ours: u32, theirs: u32, running_turns: u32 },
    #[error("the daemon speaks version {theirs} of the interface, this client only version {ours}")]
    TooNew { ours: u32, theirs: u32 },
    #[error("the daemon went away before it answered")]
    Lost { source: hyper::Error },
    /// A command about a session was sent, and perhaps performed.
    #[error("the daemon went away before it answered")]
    LostAct { session: String, source: hyper::Error },
    #[error("the daemon{} does not answer", numbered(*pid))]
    Silent { pid: Option<u32> },
    #[error("the daemon was stopped")]
    Stopped,
    #[error(transparent)]
    Refused(#[from] api::error::Error),
    #[error("the daemon's answer to `{request}` makes no sense")]
    Malformed { request: String, source: serde_json::Error },
    #[error("`{value}` cannot be part of a request")]
    Request { value: String, source: hyper::http::Error },
    #[error(transparent)]
    Paths(#[from] PathsError),
}

fn numbered(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

fn tail(log: &str) -> String {
    match log.trim() {
        "" => String::new(),
        log => format!(": {log}"),
    }
}
