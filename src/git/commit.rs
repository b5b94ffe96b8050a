//! Commits that an agent words itself, on the session's branch: what goes in, the user's hooks over it, the commit.
//!
//! They are drafts like checkpoints: never signed, and made although the user has no identity.

use std::path::{Path, PathBuf};

use super::history::{self, Recorded, branch_tip, move_branch, tree_of};
use super::merge::hook::{self, Verdict};
use super::merge::replay::{self, Committer};
use super::merge::{Hook, HookResult, HookRun};
use super::private_index::{OtherWriters, PrivateIndex};
use super::push::checked_out;
use super::stage::{self, Purpose};
use super::status::{self, State};
use super::{GitError, Oid, Worktree};

/// How a commit of what is staged ended. Anything but `Committed` has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Committed {
        commit: Oid,
        /// Hooks that did not run because they lie in a work tree.
        skipped_hooks: Vec<PathBuf>,
    },
    NothingStaged,
    HookFailed {
        hook: Hook,
        output: String,
    },
}

/// A commit that hooks have let pass.
#[derive(Debug)]
pub enum CommitPlan {
    Ready(PlannedCommit),
    Ended(Outcome),
}

/// A commit to be made.
#[derive(Debug)]
pub struct PlannedCommit {
    /// What it comes on top of.
    tip: Oid,
    /// What is staged, and what hooks made of it.
    content: Oid,
    committed: Oid,
    message: String,
    skipped_hooks: Vec<PathBuf>,
}

/// What was staged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    pub files: usize,
    /// What is there and in no commit: nested repositories and files that cannot be read.
    pub left_out: Vec<PathBuf>,
    /// Wanted paths below which nothing has changed.
    pub unmatched: Vec<PathBuf>,
}

/// Stages the changes of what is below some paths of the tree, files that git does not know included. When one of them
/// matches nothing, nothing is staged.
pub fn stage_paths(tree: &Worktree, paths: &[PathBuf]) -> Result<Selected, GitError> {
    let mut status = status::read(tree)?;
    let is_unchanged = |wanted: &&PathBuf| {
        let mut changed = status.changed.iter().map(|changed| &changed.path).chain(&status.untracked);
        !changed.any(|path| is_below(path, wanted))
    };
    let unmatched: Vec<_> = paths.iter().filter(is_unchanged).cloned().collect();
    if !unmatched.is_empty() {
        return Ok(Selected { files: 0, left_out: Vec::new(), unmatched });
    }
    let is_wanted = |path: &Path| paths.iter().any(|wanted| is_below(path, wanted));
    status.changed.retain(|changed| is_wanted(&changed.path));
    status.untracked.retain(|path| is_wanted(path));
    status.nested.retain(|path| is_wanted(path));
    let wanted = status.changed.len() + status.untracked.len();
    let staged = stage::stage_of(tree, status, Purpose::Checkpoint, &[])?;
    staged.install()?;
    let left_out: Vec<_> = staged.left_out.into_iter().filter(|path| is_wanted(path)).collect();
    Ok(Selected { files: wanted.saturating_sub(left_out.len()), left_out, unmatched })
}

/// Stages every change.
pub fn stage_all(tree: &Worktree) -> Result<Selected, GitError> {
    let staged = stage::stage(tree, Purpose::Checkpoint, &[])?;
    staged.install()?;
    let files = staged.status.changed.len() + staged.status.untracked.len();
    Ok(Selected { files, left_out: staged.left_out, unmatched: Vec::new() })
}

/// Takes what is below some paths of the tree out of the next commit; how many files that were.
pub fn unstage(tree: &Worktree, paths: &[PathBuf]) -> Result<usize, GitError> {
    let status = status::read(tree)?;
    let staged = status.changed.into_iter().filter(|changed| changed.staged != State::Same);
    let staged = staged.map(|changed| changed.path);
    let staged: Vec<_> = staged.filter(|path| paths.iter().any(|wanted| is_below(path, wanted))).collect();
    if !staged.is_empty() {
        let private = PrivateIndex::copy_of(tree)?;
        let git = private.git("reset").args(["--quiet", "--no-refresh", "--pathspec-from-file=-"]);
        let git = git.args(["--pathspec-file-nul", "HEAD"]).env("GIT_OPTIONAL_LOCKS", "1");
        git.input(stage::nul_separated(&staged)).run()?;
        private.install(OtherWriters::Possible)?;
    }
    Ok(staged.len())
}

/// Works out the commit of what is staged. `hooks` runs the user's pre-commit and commit-msg hooks, so the processes of the
/// worktree go on meanwhile.
pub fn plan_commit(
    tree: &Worktree,
    message: &str,
    hooks: &mut dyn FnMut(HookRun) -> HookResult,
) -> Result<CommitPlan, GitError> {
    let repo = tree.repo.open()?;
    let tip = own_tip(&repo, tree)?;
    let content = PrivateIndex::copy_of(tree)?.write_tree()?;
    if content == tree_of(&repo, tip)? {
        return Ok(CommitPlan::Ended(Outcome::NothingStaged));
    }
    let wanted = [Hook::PreCommit, Hook::CommitMsg];
    let planned = hook::Commit { parent: tip, tree: content, message };
    let found = hook::find(&tree.repo, &wanted, planned)?;
    Ok(match hook::apply(tree, &found, planned, hooks)? {
        Verdict::Passed { tree: committed, message } => {
            CommitPlan::Ready(PlannedCommit { tip, content, committed, message, skipped_hooks: found.unusable })
        }
        Verdict::Failed { hook, output } => CommitPlan::Ended(Outcome::HookFailed { hook, output }),
    })
}

/// Makes a planned commit on the session's branch, unless that has moved since.
pub fn finish_commit(tree: &Worktree, planned: PlannedCommit) -> Result<Outcome, GitError> {
    let PlannedCommit { tip, content, committed, message, skipped_hooks } = planned;
    let repo = tree.repo.open()?;
    if own_tip(&repo, tree)? != tip {
        return Err(GitError::RefMoved { name: tree.branch_ref() });
    }
    let commit = replay::commit(&tree.repo, committed, &[tip], &message, &Committer::session(&tree.repo)?)?;
    if committed != content {
        follow(tree, content, committed)?;
    }
    move_branch(&repo, tree, tip, commit, "coppice: commit")?;
    Ok(Outcome::Committed { commit, skipped_hooks })
}

/// Both at once.
#[cfg(test)]
pub(super) fn commit(
    tree: &Worktree,
    message: &str,
    hooks: &mut dyn FnMut(HookRun) -> HookResult,
) -> Result<Outcome, GitError> {
    match plan_commit(tree, message, hooks)? {
        CommitPlan::Ready(planned) => finish_commit(tree, planned),
        CommitPlan::Ended(outcome) => Ok(outcome),
    }
}

/// Commits every change on the session's branch; none when there is none. No hooks run.
pub fn commit_all(tree: &Worktree, message: &str) -> Result<Option<Recorded>, GitError> {
    let repo = tree.repo.open()?;
    let tip = own_tip(&repo, tree)?;
    let mut staged = stage::stage(tree, Purpose::Checkpoint, &[])?;
    let content = history::content(&repo, tip, &mut staged)?;
    if content == tree_of(&repo, tip)? {
        return Ok(None);
    }
    // Before the branch moves: a kill in between leaves the work staged.
    staged.install()?;
    let commit = replay::commit(&tree.repo, content, &[tip], message, &Committer::session(&tree.repo)?)?;
    move_branch(&repo, tree, tip, commit, "coppice: commit")?;
    Ok(Some(Recorded { commit, before: tip, left_out: staged.left_out }))
}

/// The tip of the session's branch, as long as that is what is checked out.
fn own_tip(repo: &git2::Repository, tree: &Worktree) -> Result<Oid, GitError> {
    match checked_out(tree)? == tree.branch {
        true => branch_tip(repo, tree),
        false => Err(GitError::BranchMissing { branch: tree.branch.clone() }),
    }
}

/// Brings what hooks have staged into the index, and into the files unless one of them has changed since it was staged.
fn follow(tree: &Worktree, from: Oid, to: Oid) -> Result<(), GitError> {
    let read = |update: &str| {
        let private = PrivateIndex::copy_of(tree)?;
        private.refresh()?;
        private.checkout("read-tree")?.args(["-m", update, &from.to_string(), &to.to_string()]).run()?;
        private.check_content(to)?;
        private.install(OtherWriters::Possible)
    };
    read("-u").or_else(|_| read("-i"))
}

/// Whether a path is `wanted` or below it; `.` is the tree itself.
fn is_below(path: &Path, wanted: &Path) -> bool {
    wanted.as_os_str() == "." || path.starts_with(wanted)
}

#[cfg(test)]
mod tests;
