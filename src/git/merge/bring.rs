//! Bringing the base branch into a session that it does not go together with: one merge commit on the session's branch,
//! its files in the worktree, and git's marks where both sides changed the same lines.
//!
//! Only whoever can write the git directory can merge there, and an agent or a person in the cage cannot. They edit the
//! files; the next merge finds the base in the session's history and takes what they made of it.

use std::path::{Path, PathBuf};

use super::checkout::{self, Advance, Checkout};
use super::replay::{self, Committer, Merged};
use super::{Refusal, fork, is_in, refusal, short};
use crate::git::history::{self, branch_tip, tree_of};
use crate::git::{GitError, Oid, Worktree};
use crate::id::SessionId;

/// What to bring.
#[derive(Debug, Clone, Copy)]
pub struct Bring<'a> {
    pub session: SessionId,
    /// Full ref name of the base branch.
    pub target: &'a str,
    /// What the session's work is measured from.
    pub base: Oid,
}

/// How it ended. Anything but `Brought` has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    Brought {
        head: Oid,
        /// The commit of the base branch that the session holds from then on.
        onto: Oid,
        /// Files that both sides changed; where git can tell the places, they are marked.
        conflicts: Vec<PathBuf>,
    },
    UpToDate,
    Refused(Refusal),
}

/// Merges the base branch into the session's branch and worktree. What is not committed must be before.
pub fn bring(tree: &Worktree, order: Bring<'_>) -> Result<Brought, GitError> {
    let branch = short(order.target);
    let Some(onto) = tree.repo.find_ref(order.target)? else {
        return Ok(Brought::Refused(Refusal::TargetMissing { branch }));
    };
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    if is_in(&repo, onto, tip)? {
        return Ok(Brought::UpToDate);
    }
    let Some(fork) = fork(&repo, onto, tip, order.base)? else {
        return Ok(Brought::Refused(Refusal::Unrelated { branch }));
    };
    let name = tree.branch_ref();
    // By their names, which git writes beside the marks.
    let (content, conflicts) = match replay::merge_named(tree, onto, fork, &name, order.target)? {
        Merged::Clean { tree } => (tree, Vec::new()),
        Merged::Conflict { tree, files } => (tree, files),
    };
    if tree.repo.find_ref(order.target)? != Some(onto) || branch_tip(&repo, tree)? != tip {
        return Ok(Brought::Refused(Refusal::TargetMoved { branch }));
    }
    let own = [Checkout::Session(Worktree { attributes: onto, ..tree.clone() })];
    if let Some(refusal) = refusal(&own, &repo, &name, tree_of(&repo, tip)?, content)? {
        return Ok(Brought::Refused(refusal));
    }
    let message = history::own_message(order.session, &format!("Merge {branch} into {}", tree.branch));
    let head = replay::commit(&tree.repo, content, &[tip, onto], &message, &Committer::session(&tree.repo)?)?;
    let advance = Advance { name: &name, old: tip, new: head, why: "coppice: bring the base" };
    if let Some(refusal) = checkout::advance(&tree.repo, &advance, &own)? {
        return Ok(Brought::Refused(refusal));
    }
    history::keep_moved(&tree.repo, order.session, head)?;
    Ok(Brought::Brought { head, onto, conflicts })
}

/// The files among these that the session's branch holds with marks of `bring`.
pub fn marked(tree: &Worktree, target: &str, files: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    let content = repo.find_commit(tip.raw()).and_then(|commit| commit.tree());
    let content = content.map_err(GitError::library(format!("read commit `{tip}`")))?;
    let marks = [format!("<<<<<<< {}", tree.branch_ref()), format!(">>>>>>> {target}")];
    let is_marked = |path: &Path| {
        // A path that is gone, or is no file any more, holds no marks.
        let blob = content.get_path(path).and_then(|entry| repo.find_blob(entry.id()));
        blob.is_ok_and(|blob| {
            let mut lines = blob.content().split(|byte| *byte == b'\n');
            lines.any(|line| marks.iter().any(|mark| line.starts_with(mark.as_bytes())))
        })
    };
    Ok(files.iter().filter(|path| is_marked(path)).cloned().collect())
}

/// What is left of a conflict: files with marks, else those that a merge would still stop at.
pub fn unresolved(tree: &Worktree, order: Bring<'_>, files: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
    let marked = marked(tree, order.target, files)?;
    if !marked.is_empty() {
        return Ok(marked);
    }
    let Some(target) = tree.repo.find_ref(order.target)? else { return Ok(Vec::new()) };
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    let Some(fork) = fork(&repo, target, tip, order.base)? else { return Ok(Vec::new()) };
    Ok(match replay::merge_trees(tree, fork, target, tip)? {
        Merged::Clean { .. } => Vec::new(),
        Merged::Conflict { files, .. } => files,
    })
}

/// Where a session that stands at `commit` left its base branch; none without a common history.
pub fn parted(tree: &Worktree, target: &str, commit: Oid) -> Result<Option<Oid>, GitError> {
    let Some(target) = tree.repo.find_ref(target)? else { return Ok(None) };
    super::parted(&tree.repo.open()?, target, commit)
}
