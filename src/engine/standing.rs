//! Where a client stands: the repository around its directory, and what is checked out there.
//!
//! Inside a session's worktree nothing is discovered: an agent can rewrite the `.git` file there. The store says which
//! repository and branch the directory belongs to.

use std::path::{Path, PathBuf};

use crate::git::{Base, Repo};
use crate::store::Removed;

use super::actor::blocking;
use super::fault::Fault;
use super::record::Record;
use super::shared::Shared;

/// A client's directory, understood.
pub(super) struct Standing {
    pub(super) repo: Repo,
    from: PathBuf,
    /// The session's branch, when the directory is in a session's worktree.
    branch: Option<String>,
}

impl Standing {
    /// Finds out where `cwd` is.
    pub(super) async fn find(shared: &Shared, cwd: PathBuf) -> Result<Self, Fault> {
        let (from, branch) = match session_at(shared, &cwd).await? {
            Some(record) => (PathBuf::from(record.body.common_dir), Some(record.body.branch)),
            None => (cwd, None),
        };
        let (repo, from) = blocking(move || Ok((Repo::discover(&from)?, from))).await?;
        Ok(Self { repo, from, branch })
    }

    /// Where the directory is in its work tree, from the root of that.
    pub(super) fn place(&self) -> PathBuf {
        let Ok(from) = self.from.canonicalize() else { return PathBuf::new() };
        let is_root = |directory: &&Path| directory.join(".git").symlink_metadata().is_ok();
        let root = match (&self.branch, self.repo.checkout().filter(|checkout| from.starts_with(checkout))) {
            (Some(_), _) => None,
            (None, Some(checkout)) => Some(checkout),
            (None, None) => from.ancestors().find(is_root),
        };
        root.and_then(|root| from.strip_prefix(root).ok()).map(Path::to_owned).unwrap_or_default()
    }

    /// What a session that is begun here starts from.
    pub(super) async fn base(&self, wanted: Option<String>) -> Result<Base, Fault> {
        let (repo, from) = (self.repo.clone(), self.from.clone());
        let wanted = wanted.or_else(|| self.branch.clone());
        blocking(move || repo.resolve_base(&from, wanted.as_deref())).await
    }
}

/// The session in whose worktree a client's directory is. Every other place below the data directory is refused: agents
/// write there, and a repository that is found there may be one that they made.
pub(super) async fn session_at(shared: &Shared, cwd: &Path) -> Result<Option<Record>, Fault> {
    if !cwd.is_absolute() || !cwd.is_dir() {
        return Err(Fault::NotADirectory { path: cwd.to_owned() });
    }
    let (Ok(data), Ok(cwd)) = (shared.data.canonicalize(), cwd.canonicalize()) else { return Ok(None) };
    let Ok(inside) = cwd.strip_prefix(data) else { return Ok(None) };
    let id = match inside.iter().collect::<Vec<_>>().as_slice() {
        [worktrees, _, session, ..] if *worktrees == "worktrees" => session.to_str().and_then(|id| id.parse().ok()),
        _ => None,
    };
    let rows = shared.store.sessions(Removed::Without).await?;
    match rows.into_iter().find(|row| Some(row.id) == id) {
        Some(row) => Ok(Some(Record::read(row)?)),
        None => Err(Fault::InDataDirectory { path: cwd }),
    }
}
