//! What a removed worktree holds besides its files and its branch: an index that differs from both, and a head that was
//! taken off the branch. Each gets a ref of its own, beside the salvage ref.

use std::fs;

use git2::{Repository, Signature};

use super::Trashed;
use crate::git::history::Recorded;
use crate::git::private_index::PrivateIndex;
use crate::git::{GitError, Oid, Worktree};
use crate::id::SessionId;

/// Pattern of the refs that keep what is neither in the files nor on the branch.
pub(super) fn refs(session: SessionId) -> String {
    format!("refs/coppice/salvage-more/{session}/*")
}

/// Keeps the detached head and the staged content of a trashed worktree, where they hold something of their own.
pub(super) fn save(trashed: &Trashed, recorded: &Recorded) -> Result<(), GitError> {
    let (tree, session) = (&trashed.worktree, trashed.session);
    let repo = tree.repo.open()?;
    let keep = |name: &str, commit: Oid| {
        let name = refs(session).replace('*', name);
        let made = repo.reference(&name, commit.raw(), true, "kept for a removed session");
        made.map(drop).map_err(GitError::library(format!("write `{name}`")))
    };
    let saved = repo.find_commit(recorded.commit.raw()).map_err(GitError::library("read what was saved"))?;
    let tip = saved.parent(0).map_err(GitError::library("read the branch"))?;
    let head = fs::read(tree.admin.join("HEAD")).unwrap_or_default();
    if let Some(head) = Oid::from_output(&head).filter(|head| head.raw() != tip.id()) {
        keep("head", head)?;
    }
    // An index with conflicts has no tree; its content comes from commits.
    let private = PrivateIndex::copy_of(tree)?;
    let staged = Oid::from_output(&private.git("write-tree").output()?.stdout);
    match staged.filter(|staged| ![saved.tree_id(), tip.tree_id()].contains(&staged.raw())) {
        Some(staged) => {
            private.adopt_objects()?;
            keep("index", commit(&repo, "index of a removed session", staged.raw(), &tip)?)
        }
        None => Ok(()),
    }
}

/// Keeps the branch alone, in the same shape as a snapshot: a commit on top of it. What an earlier removal saved on top of
/// it stays: nobody has worked since.
pub(super) fn save_branch(tree: &Worktree, name: &str, message: &str) -> Result<Recorded, GitError> {
    let repo = tree.repo.open()?;
    let tip = repo.find_reference(&tree.branch_ref()).and_then(|branch| branch.peel_to_commit());
    let tip = tip.map_err(GitError::library(format!("read `{}`", tree.branch)))?;
    let saved = tree.repo.find_ref(name)?;
    let is_on_tip = |saved: &Oid| repo.find_commit(saved.raw()).is_ok_and(|saved| saved.parent_id(0) == Ok(tip.id()));
    if let Some(commit) = saved.filter(is_on_tip) {
        return Ok(Recorded { commit, before: tip.id().into(), left_out: Vec::new() });
    }
    let commit = commit(&repo, message, tip.tree_id(), &tip)?;
    repo.reference(name, commit.raw(), true, message).map_err(GitError::library(format!("write `{name}`")))?;
    Ok(Recorded { commit, before: tip.id().into(), left_out: Vec::new() })
}

fn commit(repo: &Repository, message: &str, content: git2::Oid, parent: &git2::Commit<'_>) -> Result<Oid, GitError> {
    let commit = || {
        let who = Signature::now("Coppice", "coppice@localhost")?;
        repo.commit(None, &who, &who, message, &repo.find_tree(content)?, &[parent])
    };
    commit().map(Oid::from).map_err(GitError::library("commit what is kept of a session"))
}
