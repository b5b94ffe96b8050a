//! The end of a child that left nothing: after it no directory, registration or branch of the session exists, and
//! no ref but those of what was put aside.
//!
//! Each step can be repeated, so that a kill in between costs no more than another call.

use std::path::Path;

use super::{GitError, Recycled, Trashed, TreeReuse, forget_history, pending, prune, recycle, restore, salvage, trash};
use crate::git::history::tree_of;
use crate::git::{Worktree, handoff, status};

/// What became of a child's worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reclaimed {
    /// It is the project's spare.
    Spare,
    /// It waits in the trash, without a name, to be deleted.
    Trash,
    /// It was gone already.
    Gone,
    /// It holds work, which is as it was.
    Kept,
}

/// Removes a child whose work tree and branch are what it started from, and lets go of its handoff's snapshot. No agent
/// may be running in it. `hold_repository` takes the lock under which worktrees and branches move; what an agent left
/// decides how long git reads it, and none of that happens under the lock.
pub fn reclaim<G>(
    tree: &Worktree,
    root: &Path,
    handoff: &str,
    reuse: TreeReuse,
    hold_repository: impl Fn() -> G,
) -> Result<Reclaimed, GitError> {
    let trashed = match tree.path.symlink_metadata().is_ok() {
        true if has_work(tree)? => return Ok(Reclaimed::Kept),
        true => {
            let _held = hold_repository();
            let trashed = trash(&tree.unstoppable(), root)?;
            Some(Trashed { worktree: Worktree { repo: tree.repo.clone(), ..trashed.worktree }, ..trashed })
        }
        false => resumed(tree, root),
    };
    let became = match trashed {
        Some(trashed) => give_up(tree, &trashed, root, reuse, &hold_repository)?,
        None => Reclaimed::Gone,
    };
    let _held = hold_repository();
    match became {
        Reclaimed::Kept => return Ok(became),
        // A merge into the branch may have come meanwhile; the next turn makes the files again.
        Reclaimed::Spare | Reclaimed::Trash | Reclaimed::Gone if branch_has_work(tree)? => return Ok(Reclaimed::Kept),
        Reclaimed::Spare | Reclaimed::Trash | Reclaimed::Gone => {}
    }
    drop_branch(tree)?;
    if let Some(session) = tree.session() {
        forget_history(&tree.repo, session)?;
    }
    handoff::drop_snapshot(&tree.repo, handoff)?;
    prune(&tree.repo)?;
    Ok(became)
}

/// Whether anything differs from what the session started with.
fn has_work(tree: &Worktree) -> Result<bool, GitError> {
    let status = status::read(tree)?;
    let is_clean = status.is_clean() && status.nested.is_empty() && status.head == Some(tree.base);
    Ok(!is_clean || branch_has_work(tree)?)
}

fn branch_has_work(tree: &Worktree) -> Result<bool, GitError> {
    Ok(tree.repo.find_ref(&tree.branch_ref())?.is_some_and(|tip| tip != tree.base))
}

/// The removal that an earlier call did not finish.
fn resumed(tree: &Worktree, root: &Path) -> Option<Trashed> {
    let found = pending(root).into_iter().find(|found| found.session.is_some() && found.session == tree.session());
    found.and_then(|found| found.resume(tree))
}

/// Takes the session's name off the tree, if it holds nothing in the place where nobody writes any more. A tree that could
/// not be looked at goes back to its place.
fn give_up<G>(
    tree: &Worktree,
    trashed: &Trashed,
    root: &Path,
    reuse: TreeReuse,
    hold_repository: impl Fn() -> G,
) -> Result<Reclaimed, GitError> {
    let take_back = || {
        let _held = hold_repository();
        restore(&tree.unstoppable(), root, &mut |_| {})
    };
    let saved = match salvage(trashed) {
        Ok(saved) => saved,
        Err(error) => {
            take_back()?;
            return Err(error);
        }
    };
    let repo = tree.repo.open()?;
    let is_empty = saved.left_out.is_empty() && tree_of(&repo, saved.commit)? == tree_of(&repo, tree.base)?;
    if !is_empty || branch_has_work(tree)? {
        return take_back().map(|()| Reclaimed::Kept);
    }
    Ok(match recycle(trashed, root, reuse)? {
        Recycled::Spare(_) => Reclaimed::Spare,
        Recycled::Doubt { .. } => Reclaimed::Trash,
    })
}

fn drop_branch(tree: &Worktree) -> Result<(), GitError> {
    let repo = tree.repo.open()?;
    let Ok(mut branch) = repo.find_reference(&tree.branch_ref()) else { return Ok(()) };
    branch.delete().map_err(GitError::library(format!("delete the branch `{}`", tree.branch)))
}
