//! What differs between backends, as data. Code branches on a field, never on a name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    pub name: String,
    pub transport: Transport,
    /// The program and its arguments; the program is looked up on `PATH` unless it holds a slash.
    pub command: Vec<String>,
    /// Added to the environment of the process, stronger than what the session brings.
    pub env: Vec<(String, String)>,
    /// Models to offer when the agent itself cannot be asked.
    pub models: Vec<String>,
    pub resume: Resume,
    pub images: Images,
    /// The file in the work tree from which the agent reads its instructions by itself.
    pub instruction_file: String,
    pub stop: StopLadder,
    /// The variable that tells the agent where to keep its own state, if it has one.
    pub state_env: Option<String>,
    /// A scripted agent thinks nothing: it is never offered among the real ones.
    pub scripted: bool,
}

/// The language a backend speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Agent Client Protocol, JSON-RPC lines over stdin and stdout.
    Acp,
}

/// How a conversation comes back after its process is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// The agent restores it if it says that it can, otherwise it is replayed.
    Offered,
    /// Always replayed into a fresh conversation.
    Replay,
}

/// How images of a prompt reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// As base64 blocks inside the prompt, if the agent says that it takes them.
    Offered,
    Refused,
}

/// How long each polite step gets before the next, harder one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopLadder {
    /// From the protocol's own cancel, or the end of its input, to `TERM`.
    pub cancel: Duration,
    /// From `TERM` to `KILL`.
    pub terminate: Duration,
}

/// A backend whose program is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("backend `{name}` has no command")]
    NoCommand { name: String },
    #[error("backend `{name}`: command `{command}` not found on PATH")]
    NotFound { name: String, command: String },
}

/// Finds the program of a backend, the way a shell that stands in `cwd` would.
pub fn resolve(spec: &Spec, path_env: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, ResolveError> {
    let command = spec.command.first().ok_or_else(|| ResolveError::NoCommand { name: spec.name.clone() })?;
    which::which_in(command, path_env, cwd)
        .map_err(|_| ResolveError::NotFound { name: spec.name.clone(), command: command.clone() })
}
