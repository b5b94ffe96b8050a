//! Brings a removed session's worktree back: from the trash while it is there, else from its branch and salvage ref.

use std::fs;
use std::path::Path;

use tracing::warn;

use super::{GitError, Pending, is_empty, pending, salvage_ref, trash_unsaved};
use crate::git::private_index::{OtherWriters, PrivateIndex};
use crate::git::worktree::{self, Progress, Ways, registration};
use crate::git::{Oid, Worktree};

/// Restores branch, files and uncommitted work. `tree` is the worktree as it was, at the path it had. A restore that was
/// interrupted is completed by the next one.
pub fn restore(tree: &Worktree, root: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), GitError> {
    match (tree.path.symlink_metadata().is_ok(), registration::lock_reason(&tree.admin).as_deref()) {
        // Only files that were written from the refs, which still hold everything.
        (true, Some(registration::INITIALIZING)) => {
            trash_unsaved(&tree.path, root)?;
            rebuild(tree, root, progress)?;
        }
        // Moved, but git was not told.
        (true, Some(registration::REMOVED)) => take_back(tree, &tree.path)?,
        (true, _) if registration::is_own_admin(tree) => {}
        (true, _) => return Err(GitError::PathTaken { path: tree.path.clone() }),
        (false, _) => match find_in_trash(tree, root)? {
            Some(found) => take_back(tree, &found.path)?,
            None => rebuild(tree, root, progress)?,
        },
    }
    // The work is in the worktree: a later removal saves it again.
    let repo = tree.repo.open()?;
    match tree.session().map(|session| repo.find_reference(&salvage_ref(session.as_str()))) {
        Some(Ok(mut saved)) => saved.delete().map_err(GitError::library("delete the salvage ref")),
        Some(Err(_)) | None => Ok(()),
    }
}

/// The session's tree in the trash: the one its git directory stands for, else the last one, since a kill can leave the
/// git directory behind the rename.
fn find_in_trash(tree: &Worktree, root: &Path) -> Result<Option<Pending>, GitError> {
    let session = tree.session();
    let mut last = None;
    for found in pending(root).into_iter().filter(|found| found.session.is_some() && found.session == session) {
        if is_empty(&found.path)? {
            continue;
        }
        if registration::is_admin_of(&tree.admin, &found.path) {
            return Ok(Some(found));
        }
        last = Some(found);
    }
    Ok(last)
}

fn take_back(tree: &Worktree, from: &Path) -> Result<(), GitError> {
    if from != tree.path {
        fs::rename(from, &tree.path).map_err(GitError::io("take back", from))?;
    }
    tree.mend_history()?;
    registration::point_to(tree)?;
    registration::unlock(&tree.admin)
}

fn rebuild(tree: &Worktree, root: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), GitError> {
    let id = tree.branch.split('/').nth(1).unwrap_or_default();
    let repo = tree.repo.open()?;
    let saved = tree.repo.find_ref(&salvage_ref(id))?;
    let below = match saved {
        Some(saved) => repo.find_commit(saved.raw()).and_then(|saved| saved.parent_id(0)).map(Oid::from).ok(),
        None => None,
    };
    let tip = match (tree.repo.find_ref(&tree.branch_ref())?, below) {
        (Some(tip), Some(below)) if tip != below => {
            return Err(GitError::RefMoved { name: tree.branch.clone() });
        }
        (Some(tip), _) => tip,
        (None, Some(below)) => {
            let made = repo.reference(&tree.branch_ref(), below.raw(), false, "branch: restored");
            made.map_err(GitError::library(format!("create the branch `{}`", tree.branch)))?;
            below
        }
        (None, None) => return Err(GitError::NothingSaved { branch: tree.branch.clone() }),
    };
    if registration::is_stale(&tree.admin) {
        registration::remove(&tree.admin)?;
    }
    let at_tip = Worktree { base: tip, ..tree.clone() };
    let mut put_back = || {
        worktree::fill(&at_tip, root, Ways::Best, progress)?;
        saved.map_or(Ok(()), |saved| put_work_back(tree, tip, saved))?;
        registration::unlock(&tree.admin)
    };
    put_back().inspect_err(|_| {
        // Half of a session's files must not stand where the whole is expected.
        if let Err(error) = trash_unsaved(&tree.path, root).and_then(|()| registration::remove(&tree.admin)) {
            warn!(%error, worktree = %tree.path.display(), "failed restore not cleaned up");
        }
    })
}

/// Writes what was saved over the commit it was saved on, and leaves it uncommitted.
fn put_work_back(tree: &Worktree, tip: Oid, saved: Oid) -> Result<(), GitError> {
    let private = PrivateIndex::copy_of(tree)?;
    private.refresh()?;
    private.checkout("read-tree")?.args(["-m", "-u", &tip.to_string(), &saved.to_string()]).run()?;
    private.git("read-tree").args(["-m", &tip.to_string()]).run()?;
    private.check_content(tip)?;
    private.install(OtherWriters::None)
}
