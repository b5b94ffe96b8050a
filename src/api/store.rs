//! What the commands that look after the database report. They work without a daemon, so none of it crosses the socket.

use serde::Serialize;

/// Whether the database agrees with itself, the repositories and the worktrees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreVerification {
    pub database: String,
    pub sessions: usize,
    /// What differs, one sentence each.
    pub differences: Vec<String>,
}

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreBackup {
    pub file: String,
    pub bytes: u64,
}

/// What a rebuild goes by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RebuildRequest {
    /// Directories of repositories to look at, besides those that are found.
    pub repositories: Vec<String>,
    /// Where the person stands, which need not be in a repository.
    pub here: Option<String>,
    pub when_healthy: WhenHealthy,
}

/// What to do about a database that has no damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenHealthy {
    #[default]
    Refuse,
    Rebuild,
}

/// What a rebuild did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreRebuild {
    pub database: String,
    /// Where the old database is.
    pub kept: Option<String>,
    pub repositories: Vec<String>,
    /// How many sessions the old database still had, which are as they were.
    pub carried_over: usize,
    /// Those that were recovered from git alone.
    pub recovered: Vec<RecoveredSession>,
    /// What could not be looked at, and why.
    pub skipped: Vec<String>,
}

/// A session that was recovered without its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveredSession {
    pub id: String,
    pub title: String,
    pub branch: String,
    pub base: String,
    /// Its status, or `removed`.
    pub state: String,
    pub turns: u32,
    /// What is assumed and not recorded anywhere.
    pub uncertain: Vec<String>,
}
