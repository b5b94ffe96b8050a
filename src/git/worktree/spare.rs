//! The spare: the tree of an ended session, taken over by the next one instead of writing all files again, once every file
//! in it was compared with its blob.
//!
//! It lies at `<root>/.spare/<id of the ended session>`; its git directory keeps that id until it is taken.

use std::fs;
use std::path::{Path, PathBuf};

use tracing::{debug, warn};

use super::{Phase, Progress, Worktree, checkout, registration};
use crate::git::private_index::OtherWriters;
use crate::git::{GitError, Oid, Repo, attributes, removal};
use crate::id::SessionId;

/// A tree that waits for a session, and its git directory.
pub(crate) struct Spare {
    pub(crate) path: PathBuf,
    pub(crate) admin: PathBuf,
}

/// Where spares of a root lie.
pub(crate) fn directory(root: &Path) -> PathBuf {
    root.join(".spare")
}

impl Spare {
    /// Whether its content was compared, file by file, after the last process of its session had ended.
    pub(crate) fn is_verified(&self) -> bool {
        registration::lock_reason(&self.admin).as_deref() == Some(registration::SPARE)
    }
}

/// The tree in the place of a repository's spare, verified or not.
pub(crate) fn find(repo: &Repo, root: &Path) -> Option<Spare> {
    let mut found = all(root).into_iter().map(|path| {
        let admin = repo.common_dir().join("worktrees").join(path.file_name().unwrap_or_default());
        Spare { path, admin }
    });
    found.find(|spare| registration::is_admin_of(&spare.admin, &spare.path))
}

/// All trees in the place of the spare.
pub(crate) fn all(root: &Path) -> Vec<PathBuf> {
    let is_named =
        |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<SessionId>().ok()).is_some();
    let entries = fs::read_dir(directory(root)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(is_named).collect()
}

/// Turns the spare into this worktree, whose branch exists. False when there is none or it turned out to be unusable;
/// it is out of the way then.
pub(super) fn take(tree: &Worktree, root: &Path, progress: &mut dyn FnMut(Progress)) -> Result<bool, GitError> {
    let Some(spare) = find(&tree.repo, root) else { return Ok(false) };
    let head = fs::read(spare.admin.join("HEAD")).ok().and_then(|head| Oid::from_output(&head));
    let has_attributes =
        head.is_some_and(|head| attributes::differ(&tree.repo, head, tree.attributes).is_ok_and(|differ| !differ));
    if !spare.is_verified() || !has_attributes {
        debug!(spare = %spare.path.display(), has_attributes, "spare worktree not used");
        if spare.admin == tree.admin {
            // It stands where the git directory of this worktree goes.
            removal::trash_unsaved(&spare.path, root)?;
            registration::remove(&spare.admin)?;
        }
        return Ok(false);
    }
    // Renaming the git directory is the claim: of two creations at the same time only one succeeds.
    if fs::rename(&spare.admin, &tree.admin).is_err() {
        return Ok(false);
    }
    let moved_in = move_in(tree, &spare).and_then(|()| {
        progress(Progress { phase: Phase::CheckingOut, done: 0, total: 0 });
        // Compares every file and writes only those that differ.
        checkout(tree, OtherWriters::None)
    });
    match moved_in {
        Ok(()) => Ok(true),
        Err(error) => {
            warn!(%error, "spare worktree not usable");
            for left in [&spare.path, &tree.path] {
                removal::trash_unsaved(left, root)?;
            }
            registration::remove(&tree.admin)?;
            Ok(false)
        }
    }
}

fn move_in(tree: &Worktree, spare: &Spare) -> Result<(), GitError> {
    registration::lock(&tree.admin, registration::INITIALIZING)?;
    fs::rename(&spare.path, &tree.path).map_err(GitError::io("take", &spare.path))?;
    registration::point_to(tree)?;
    registration::attach(tree)?;
    debug!(worktree = %tree.path.display(), "spare worktree taken");
    Ok(())
}
