//! Child processes that cannot outlive us: every backend and every configured command runs under a supervisor.
//!
//! This room knows processes, descriptors and signals. It knows no session, no backend and no git, and it is the
//! only room that asks which operating system it runs on.

use std::io;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
mod adopted;
pub mod cage;
pub mod command;
mod confine;
pub mod descriptors;
#[cfg(target_os = "linux")]
mod freeze;
pub mod hold;
pub mod launch;
pub mod lease;
pub mod listed_path;
pub mod mode;
#[cfg(target_os = "linux")]
mod namespace;
pub mod peer;
pub mod proxy;
pub mod quiesce;
mod stage;
pub mod supervisor;
mod supervisors;
pub mod support;
pub mod terminal;
mod tree;
mod wire;

/// Why a process did not start.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("the command to start is empty")]
    NoCommand,
    #[error("command `{command}` was not found")]
    NotFound { command: String, source: io::Error },
    #[error("failed to execute `{command}`")]
    Exec { command: String, source: io::Error },
    #[error("failed to enter the directory `{}`", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("failed to confine `{command}`")]
    Confine { command: String, source: io::Error },
    #[error("failed to start the supervisor of `{command}`")]
    Supervisor { command: String, source: io::Error },
    #[error("failed to open a terminal for `{command}`")]
    Terminal { command: String, source: io::Error },
    #[error("the supervisor of `{command}` ended before the command started")]
    Lost { command: String },
}
