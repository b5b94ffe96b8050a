//! A session's worktree: where it is and what it belongs to.

use std::path::PathBuf;

use super::{Oid, Repo};

/// One session's worktree. Nothing is read from its `.git` file: an agent can rewrite that.
#[derive(Debug, Clone)]
pub struct Worktree {
    pub repo: Repo,
    /// The directory that holds the files.
    pub path: PathBuf,
    /// `<common dir>/worktrees/<name>`: this worktree's HEAD and index.
    pub admin: PathBuf,
    /// Short name of the session's branch, `coppice/<id>/<slug>`.
    pub branch: String,
    /// The commit the session started from; the only source of attributes and filters.
    pub base: Oid,
}
