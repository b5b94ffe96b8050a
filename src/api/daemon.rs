//! The daemon about itself.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The argument that tells a daemon that nobody watches it.
pub const DETACHED: &str = "--detached";

/// What a detached daemon writes to its stdout once it listens.
pub const READY: &[u8] = b"ready\n";

/// Begins the line of advice that follows a daemon's last words.
pub const HINT: &str = "hint: ";

/// `GET /v1/daemon`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DaemonStatus {
    pub running: bool,
    /// `null` while no daemon runs.
    pub pid: Option<u32>,
    pub version: String,
    /// [`crate::api::VERSION`] of the daemon.
    pub api: u32,
    pub socket: String,
    pub uptime_s: u64,
    pub clients: u32,
    pub sessions: u32,
    pub running_turns: u32,
    /// It accepts no further turn and ends when those that run have ended.
    pub draining: bool,
}

/// `POST /v1/daemon/stop`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopDaemon {
    #[serde(default)]
    pub how: StopHow,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopHow {
    /// Lets running turns end first.
    #[default]
    Drain,
    /// Interrupts them.
    Now,
    /// Only if no turn runs; otherwise it goes on.
    IfIdle,
}

/// The file in the data directory that says how the last daemon came to grief.
pub const CRASH_FILE: &str = "crash.json";

/// A daemon that did not end well, or a task of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashReport {
    pub kind: CrashKind,
    pub pid: u32,
    /// Milliseconds since the epoch, as the next.
    pub started_at: i64,
    /// When it happened, or the last sign of life.
    pub at: i64,
    pub what: String,
    /// Where its log is.
    pub log: String,
}

/// What a crash ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashKind {
    /// One task; the daemon went on.
    TaskPanicked,
    /// The whole daemon.
    Ended,
}
