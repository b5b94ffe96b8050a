//! How a backend gets a process without knowing who makes it.
//!
//! The engine implements [`Spawner`] with the supervisor; tests implement it with pipes.

use std::fmt;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::backend::failure::Failure;

/// Starts processes. A failure carries its own kind: a missing program is not a broken sandbox.
pub trait Spawner: Send + Sync {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>>;
}

/// The process to start; `env` is the whole environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnRequest {
    pub argv: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub needs: Needs,
}

/// Places that the program itself cannot do without: where it is installed, where its login is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

/// A running process. Dropping its control ends it and everything it started.
pub struct Child {
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    pub exec_at_ms: i64,
    /// To look at its memory; signals go through `control`.
    pub pid: Option<u32>,
    /// Resolves once, when the process is gone.
    pub exit: BoxFuture<'static, Exit>,
    pub control: Box<dyn Control>,
}

/// Ends a process tree; returns at once.
pub trait Control: Send {
    fn signal(&mut self, signal: Signal);
}

/// How hard a process is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Kill,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// Whoever watched the process is gone too; the text says what is known.
    Lost(String),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Lost(text) => f.write_str(text),
        }
    }
}
