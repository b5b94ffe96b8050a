//! Taking a merge out of its branch again.
//!
//! The branch goes back to where it was while nothing else has the merge: no commit on top of it, no other branch, no tag,
//! and nothing that was pushed or fetched. Everywhere else a new commit reverts it. Nothing moves here.

use std::path::PathBuf;

use git2::Repository;

use super::replay::{self, Committer, Merged};
use super::{BranchMove, Refusal, is_in, recover_moves, short, users_refusal};
use crate::git::history::tree_of;
use crate::git::{GitError, Oid, Worktree, stage};

/// A merge that went into a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedCommit {
    /// Full ref name of the branch.
    pub target: String,
    /// Where the branch was before.
    pub before: Oid,
    pub commit: Oid,
}

/// What taking a merge back comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedTakeBack {
    Ready {
        planned: BranchMove,
        /// None if the branch goes back to where it was.
        revert: Option<Revert>,
    },
    /// The branch does not have the changes any more.
    Gone,
    /// Later commits changed the same lines.
    Conflict {
        files: Vec<PathBuf>,
    },
    Refused(Refusal),
}

/// The commit that takes the changes of a merge back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revert {
    pub commit: Oid,
    /// Another ref that has the merge; none if the branch has more commits since.
    pub holder: Option<String>,
}

/// Plans the move of the branch, and makes the commit that it needs.
pub fn plan_take_back(
    tree: &Worktree,
    merge: &MergedCommit,
    ssh_agent: Option<&str>,
) -> Result<PlannedTakeBack, GitError> {
    let MergedCommit { target, before, commit } = merge;
    let Some(tip) = tree.repo.find_ref(target)? else {
        return Ok(PlannedTakeBack::Refused(Refusal::TargetMissing { branch: short(target) }));
    };
    recover_moves(&tree.repo, tree.path.parent().unwrap_or(&tree.path));
    let repo = tree.repo.open()?;
    if repo.find_commit(commit.raw()).is_err() {
        return Ok(PlannedTakeBack::Gone);
    }
    let is_tip = tip == *commit;
    let holder = if is_tip { other_holder(&repo, &[target, &tree.branch_ref()], tip)? } else { None };
    let (new, revert) = if is_tip && holder.is_none() {
        (*before, None)
    } else {
        // A branch that was rewritten may have the changes in another commit.
        let content = match replay::merge_trees(tree, *commit, tip, *before)? {
            Merged::Clean { tree } => tree,
            Merged::Conflict { files, .. } => return Ok(PlannedTakeBack::Conflict { files }),
        };
        if content == tree_of(&repo, tip)? {
            return Ok(PlannedTakeBack::Gone);
        }
        let message = revert_message(&repo, *commit)?;
        let committer = Committer::user(&tree.repo, ssh_agent)?;
        let revert = replay::commit(&tree.repo, content, &[tip], &message, &committer)?;
        (revert, Some(Revert { commit: revert, holder }))
    };
    if let Some(refusal) = users_refusal(tree, &repo, (target, tip), tree_of(&repo, new)?)? {
        return Ok(PlannedTakeBack::Refused(refusal));
    }
    let why = format!("coppice: undo the merge {}", commit.short());
    Ok(PlannedTakeBack::Ready { planned: BranchMove { target: target.clone(), old: tip, new, why }, revert })
}

/// The files that a merge changed.
pub fn changed_files(tree: &Worktree, before: Oid, commit: Oid) -> Result<Vec<PathBuf>, GitError> {
    let differences = stage::differences(&tree.repo.open()?, before, commit)?;
    Ok(differences.into_iter().map(|difference| difference.path).collect())
}

/// A tag, a branch of a remote, or a branch other than `own` that has the commit.
fn other_holder(repo: &Repository, own: &[&str], commit: Oid) -> Result<Option<String>, GitError> {
    let names = || repo.references()?.names().map(|name| name.map(str::to_owned)).collect::<Result<Vec<_>, _>>();
    let names = names().map_err(GitError::library("list the branches"))?;
    let is_others = |name: &&String| {
        !own.contains(&name.as_str())
            && ["refs/heads/", "refs/tags/", "refs/remotes/"].iter().any(|at| name.starts_with(at))
    };
    for name in names.iter().filter(is_others) {
        // A tag may name something that is not a commit.
        let held = repo.find_reference(name).and_then(|found| found.peel_to_commit());
        if let Ok(held) = held
            && is_in(repo, commit, held.id().into())?
        {
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}

/// As `git revert` words it.
fn revert_message(repo: &Repository, commit: Oid) -> Result<String, GitError> {
    let found = repo.find_commit(commit.raw()).map_err(GitError::library("read the merge"))?;
    let subject = String::from_utf8_lossy(found.summary_bytes().unwrap_or_default()).into_owned();
    Ok(format!("Revert \"{subject}\"\n\nThis reverts commit {commit}."))
}
