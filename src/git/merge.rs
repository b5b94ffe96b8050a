//! Bringing a session's work into the branch it came from, without disturbing the user's checkout.
//!
//! Everything is made as objects first; the branch and the checkouts that show it move last, together, or not at all.
//! A conflict, a refusal and a failing hook are outcomes, not errors, and leave everything as it was.

mod bring;
mod checkout;
pub(super) mod hook;
mod recorded_move;
pub(super) mod replay;
mod reversal;
mod take_back;
mod user_checkout;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::Repository;

use self::checkout::{Advance, Checkout};
use self::hook::Commit;
use self::replay::{Committer, Merged, Replayed};
use super::diff::Changes;
use super::history::{branch_tip, tree_of};
use super::{GitError, Oid, Worktree, stage};
pub use bring::{
    BasePlan, Bring, Brought, ConflictFile, Unresolved, bring, conflicts, parted as left_base, plan_base, unresolved,
};
pub(super) use hook::is_scratch;
pub use hook::{Hook, HookChanges, HookFileChange, HookResult, HookRun};
pub(super) use recorded_move::recover_moves;
pub use take_back::{MergedCommit, PlannedTakeBack, Revert, changed_files, plan_take_back};

/// What to merge, and how.
#[derive(Debug, Clone, Copy)]
pub struct Merge<'a> {
    /// Full ref name of the branch that receives the work; none when the session started from a tag or a commit.
    pub target: Option<&'a str>,
    pub style: Style,
    /// The whole commit message; a rebase keeps the messages of its commits.
    pub message: &'a str,
    /// What the session's work is measured from: where it started, or its last commit that is already in the target.
    pub base: Oid,
    pub hooks: HookPolicy<'a>,
    /// Socket of the ssh agent that signs; none for that of this process.
    pub ssh_agent: Option<&'a str>,
}

/// What happens with the user's commit hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookPolicy<'a> {
    /// They run, and a merge that they change needs consent.
    Check,
    /// They run, and whatever they change is committed.
    AcceptAll,
    /// They run, and the changes with this id are committed, no others.
    AcceptOnly(&'a str),
    /// They do not run.
    Skip,
}

/// The shape of the merged history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// One commit with all the work.
    Squash,
    /// A merge commit.
    NoFf,
    /// Every commit again, on top of the target.
    Rebase,
}

/// How a merge ended. Anything but `Merged` has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Merged {
        /// Where the target was before; none if another process has made this merge.
        before: Option<Oid>,
        commit: Oid,
        /// The checkouts whose files moved along, because they show the target.
        checkouts: Vec<PathBuf>,
        hooks: HookReport,
    },
    UpToDate,
    Conflict {
        files: Vec<PathBuf>,
    },
    Refused(Refusal),
    HookFailed {
        hook: Hook,
        output: String,
    },
    /// The hooks changed what was to be merged, and nobody has agreed to it.
    HookChanged(HookChanges),
}

/// What the hooks of a merge did, for the person who asked for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookReport {
    /// Files that they changed.
    pub changes: Option<HookChanges>,
    /// Where they changed some, what the whole commit changes.
    pub total: Option<Changes>,
    /// Whether they edited the commit message.
    pub edited_message: bool,
    /// Hooks that the merged work itself changes or deletes; its own version counted.
    pub changed_hooks: Vec<PathBuf>,
}

/// A merge that is made, hooks included, and that nobody has seen: only the branch has to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    move_to: BranchMove,
    hooks: HookReport,
}

/// A branch and the commit that it is to move to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchMove {
    /// Full ref name of the branch.
    target: String,
    /// What the branch was when this was planned; another one is refused.
    old: Oid,
    new: Oid,
    /// For the reflog.
    why: String,
}

/// What the making of a merge came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    Ready(Ready),
    /// There is nothing to move.
    Ended(Outcome),
}

/// How a rebase ended. Anything but `Rebased` has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebaseOutcome {
    Rebased {
        head: Oid,
        /// The tree of the whole work merged into the new base at once, with marks where that conflicts. The commits one
        /// by one can come to something else: one that takes an earlier one back also takes back the same change of the
        /// base.
        expected: Oid,
    },
    UpToDate,
    Conflict {
        files: Vec<PathBuf>,
    },
    Refused(Refusal),
}

/// Why a merge is not possible as things stand; the text says what a person can see.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the session did not start from a branch, so there is none to merge into")]
    NoTarget,
    #[error("the branch `{branch}` does not exist any more")]
    TargetMissing { branch: String },
    #[error("the session and `{branch}` have no common history")]
    Unrelated { branch: String },
    #[error("local changes in `{}` would be overwritten: {}", checkout.display(), list(files))]
    LocalChanges { checkout: PathBuf, files: Vec<PathBuf> },
    #[error("submodules in `{}` would be replaced, with all that is in them: {}", checkout.display(), list(paths))]
    SubmodulesReplaced { checkout: PathBuf, paths: Vec<PathBuf> },
    #[error("a {operation} is in progress in `{}`", checkout.display())]
    Busy { checkout: PathBuf, operation: &'static str },
    #[error("the work adds nested repositories, whose files would not be merged: {}", list(paths))]
    NestedRepositories { paths: Vec<PathBuf> },
    #[error("the work fits, but its commits do not fit one by one: {}", list(files))]
    OneByOne { files: Vec<PathBuf> },
    #[error("the commits one by one come to something else than the work as a whole: {}", list(files))]
    ReplayDiffers { files: Vec<PathBuf> },
    #[error("`{branch}` moved while it was being merged into")]
    TargetMoved { branch: String },
    #[error("these hooks lie in a work tree that an agent may write, and cannot run: {}", list(paths))]
    UnusableHooks { paths: Vec<PathBuf> },
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

/// Makes a merge of what is committed on the session's branch, as objects alone. `hooks` runs the user's pre-commit and
/// commit-msg hooks, so it may take as long as they do.
pub fn make(tree: &Worktree, merge: Merge<'_>, hooks: &mut dyn FnMut(HookRun) -> HookResult) -> Result<Made, GitError> {
    let ended = |outcome| Ok(Made::Ended(outcome));
    let Some(target) = merge.target else { return ended(Outcome::Refused(Refusal::NoTarget)) };
    let branch = short(target);
    let Some(old) = tree.repo.find_ref(target)? else {
        return ended(Outcome::Refused(Refusal::TargetMissing { branch }));
    };
    tree.repo.identity()?;
    recover_moves(&tree.repo, tree.path.parent().unwrap_or(&tree.path));
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    if is_in(&repo, tip, old)? {
        return ended(Outcome::UpToDate);
    }
    let Some(fork) = fork(&repo, old, tip, merge.base)? else {
        return ended(Outcome::Refused(Refusal::Unrelated { branch }));
    };
    let content = match replay::merge_trees(tree, fork, old, tip)? {
        Merged::Clean { tree } => tree,
        Merged::Conflict { files, .. } => return ended(Outcome::Conflict { files }),
    };
    let before = tree_of(&repo, old)?;
    if content == before {
        return ended(Outcome::UpToDate);
    }
    let nested = stage::added_gitlinks(&repo, before, content)?;
    if !nested.is_empty() {
        return ended(Outcome::Refused(Refusal::NestedRepositories { paths: nested }));
    }
    // Asked before the hooks run: they may take minutes.
    if let Some(refusal) = users_refusal(tree, &repo, (target, old), content)? {
        return ended(Outcome::Refused(refusal));
    }
    let (hooked, message, hooks) = match run_hooks(tree, &repo, merge, (old, content), hooks)? {
        Checked::Passed { tree, message, report } => (tree, message, report),
        Checked::Ended(outcome) => return ended(outcome),
    };
    let committer = Committer::user(&tree.repo, merge.ssh_agent)?;
    let commit = match merge.style {
        Style::Squash => replay::commit(&tree.repo, hooked, &[old], &message, &committer)?,
        Style::NoFf => replay::commit(&tree.repo, hooked, &[old, tip], &message, &committer)?,
        Style::Rebase => match replay::replay(tree, fork, tip, old, &committer)? {
            Replayed::Head(head) => {
                let different = stage::differences(&repo, content, head)?;
                if !different.is_empty() {
                    let files = different.into_iter().map(|difference| difference.path).collect();
                    return ended(Outcome::Refused(Refusal::ReplayDiffers { files }));
                }
                head
            }
            Replayed::Conflict { files } => return ended(Outcome::Refused(Refusal::OneByOne { files })),
        },
    };
    let why = format!("coppice: merge {}", tree.branch);
    Ok(Made::Ready(Ready { move_to: BranchMove { target: target.to_owned(), old, new: commit, why }, hooks }))
}

/// What the hooks made of a merge.
enum Checked {
    Passed { tree: Oid, message: String, report: HookReport },
    Ended(Outcome),
}

/// Runs the user's hooks over the tree that is to be committed on top of `parent`.
fn run_hooks(
    tree: &Worktree,
    repo: &Repository,
    merge: Merge<'_>,
    (parent, content): (Oid, Oid),
    run: &mut dyn FnMut(HookRun) -> HookResult,
) -> Result<Checked, GitError> {
    let ended = |outcome| Ok(Checked::Ended(outcome));
    let wanted: &[Hook] = match (merge.hooks, merge.style) {
        (HookPolicy::Skip, _) => &[],
        (_, Style::Squash | Style::NoFf) => &[Hook::PreCommit, Hook::CommitMsg],
        // As in git's own rebase, messages stay as they are; what the check stages has no commit to go to.
        (_, Style::Rebase) => &[Hook::PreCommit],
    };
    let commit = Commit { parent, tree: content, message: merge.message };
    let found = hook::find(&tree.repo, wanted, commit)?;
    if !found.unusable.is_empty() {
        return ended(Outcome::Refused(Refusal::UnusableHooks { paths: found.unusable }));
    }
    let (hooked, message) = match hook::apply(tree, &found, commit, run)? {
        hook::Verdict::Passed { tree, message } => (tree, message),
        hook::Verdict::Failed { hook, output } => return ended(Outcome::HookFailed { hook, output }),
    };
    let nested = stage::added_gitlinks(repo, content, hooked)?;
    if !nested.is_empty() {
        return ended(Outcome::Refused(Refusal::NestedRepositories { paths: nested }));
    }
    let changes = hook::compare(repo, content, hooked)?;
    let is_agreed = match (&changes, merge.hooks, merge.style) {
        (None, _, _) | (Some(_), HookPolicy::AcceptAll | HookPolicy::Skip, _) | (Some(_), _, Style::Rebase) => true,
        (Some(_), HookPolicy::Check, _) => false,
        (Some(changes), HookPolicy::AcceptOnly(id), _) => changes.id == id,
    };
    match changes {
        Some(changes) if !is_agreed => ended(Outcome::HookChanged(changes)),
        changes => {
            let edited_message = message.trim() != merge.message.trim();
            let total = match (&changes, merge.style) {
                (Some(_), Style::Squash | Style::NoFf) => {
                    hook::compare(repo, parent, hooked)?.map(|whole| whole.total())
                }
                (None, _) | (Some(_), Style::Rebase) => None,
            };
            let report = HookReport { changes, total, edited_message, changed_hooks: found.changed };
            Ok(Checked::Passed { tree: hooked, message, report })
        }
    }
}

impl Ready {
    /// Hooks of the repository that the merged work itself changes or deletes.
    pub fn changed_hooks(&self) -> &[PathBuf] {
        &self.hooks.changed_hooks
    }

    pub fn branch_move(&self) -> &BranchMove {
        &self.move_to
    }
}

/// The worktrees of sessions that show the branch and have to move with it.
pub fn session_worktrees(tree: &Worktree, planned: &BranchMove) -> BTreeSet<PathBuf> {
    let checkouts = checkout::showing(tree, &planned.target, planned.old);
    checkouts.iter().filter_map(Checkout::session_path).map(Path::to_owned).collect()
}

/// Moves the branch, and the checkouts that show it, to a merge that is made. A branch that is elsewhere meanwhile is
/// refused. Nothing runs in the worktrees of `quiet`, and of those that belong to sessions no other one moves.
pub fn advance(tree: &Worktree, ready: Ready, quiet: &BTreeSet<PathBuf>) -> Result<Outcome, GitError> {
    let Ready { move_to, hooks } = ready;
    Ok(match move_branch(tree, &move_to, quiet)? {
        Ok(checkouts) => Outcome::Merged { before: Some(move_to.old), commit: move_to.new, checkouts, hooks },
        Err(refusal) => Outcome::Refused(refusal),
    })
}

/// Moves a branch, and the checkouts that show it, as planned. Returns the files of these checkouts.
pub fn move_branch(
    tree: &Worktree,
    planned: &BranchMove,
    quiet: &BTreeSet<PathBuf>,
) -> Result<Result<Vec<PathBuf>, Refusal>, GitError> {
    let BranchMove { target, old, new, why } = planned;
    // Looked for here: the hooks gave the user time to switch branches.
    let checkouts = checkout::showing(tree, target, *old);
    if checkouts.iter().filter_map(Checkout::session_path).any(|path| !quiet.contains(path)) {
        return Ok(Err(Refusal::TargetMoved { branch: short(target) }));
    }
    let refusal = checkout::advance(&tree.repo, &Advance { name: target, old: *old, new: *new, why }, &checkouts)?;
    Ok(match refusal {
        None => Ok(checkouts.iter().map(|checkout| checkout.files().to_owned()).collect()),
        Some(refusal) => Err(refusal),
    })
}

/// Both at once.
#[cfg(test)]
pub(super) fn merge(
    tree: &Worktree,
    merge: Merge<'_>,
    hooks: &mut dyn FnMut(HookRun) -> HookResult,
) -> Result<Outcome, GitError> {
    match make(tree, merge, hooks)? {
        Made::Ready(ready) => {
            let quiet = session_worktrees(tree, ready.branch_move());
            advance(tree, ready, &quiet)
        }
        Made::Ended(outcome) => Ok(outcome),
    }
}

/// Puts the session's commits on top of `onto`, in its branch and its worktree. On a conflict nothing has moved;
/// otherwise `onto` is the session's base from then on. The work is measured from `base`, as for a merge. No signal stops it
/// once it moves files.
pub fn rebase(tree: &Worktree, onto: &Oid, base: Oid) -> Result<RebaseOutcome, GitError> {
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    if is_in(&repo, *onto, tip)? {
        return Ok(RebaseOutcome::UpToDate);
    }
    let Some(fork) = fork(&repo, *onto, tip, base)? else {
        return Ok(RebaseOutcome::Refused(Refusal::Unrelated { branch: onto.short() }));
    };
    let head = match replay::replay(tree, fork, tip, *onto, &Committer::session(&tree.repo)?)? {
        Replayed::Head(head) => head,
        Replayed::Conflict { files } => return Ok(RebaseOutcome::Conflict { files }),
    };
    let (Merged::Clean { tree: expected } | Merged::Conflict { tree: expected, .. }) =
        replay::merge_trees(tree, fork, *onto, tip)?;
    let name = format!("refs/heads/{}", tree.branch);
    let own = Worktree { attributes: *onto, ..tree.clone() };
    if let Some(refusal) =
        refusal(&[Checkout::Session(own.clone())], &repo, &name, tree_of(&repo, tip)?, tree_of(&repo, head)?)?
    {
        return Ok(RebaseOutcome::Refused(refusal));
    }
    let advance = Advance { name: &name, old: tip, new: head, why: "coppice: rebase" };
    let own = own.unstoppable();
    Ok(match checkout::advance(&own.repo.clone(), &advance, &[Checkout::Session(own)])? {
        None => RebaseOutcome::Rebased { head, expected },
        Some(refusal) => RebaseOutcome::Refused(refusal),
    })
}

/// The first reason why a checkout of the user's cannot follow its branch to another tree. The worktrees of other sessions
/// are looked at when they move, while nothing runs in them.
fn users_refusal(
    tree: &Worktree,
    repo: &Repository,
    (target, old): (&str, Oid),
    content: Oid,
) -> Result<Option<Refusal>, GitError> {
    let mut checkouts = checkout::showing(tree, target, old);
    checkouts.retain(|checkout| matches!(checkout, Checkout::User(_)));
    refusal(&checkouts, repo, target, tree_of(repo, old)?, content)
}

/// The first reason why a checkout cannot follow its branch from one tree to the other.
fn refusal(
    checkouts: &[Checkout],
    repo: &Repository,
    target: &str,
    before: Oid,
    after: Oid,
) -> Result<Option<Refusal>, GitError> {
    if let Some(refusal) = checkout::busy(repo.commondir(), target, checkouts) {
        return Ok(Some(refusal));
    }
    for checkout in checkouts {
        if let Some(refusal) = checkout.refusal(repo, before, after)? {
            if let Refusal::LocalChanges { .. } = refusal {
                checkout.check_locks(repo.commondir(), target)?;
            }
            return Ok(Some(refusal));
        }
    }
    Ok(None)
}

/// Where the session's own work begins: at `base` when the target does not have it, because its content came there
/// by another commit (a squash), else where the histories part.
fn fork(repo: &Repository, target: Oid, tip: Oid, base: Oid) -> Result<Option<Oid>, GitError> {
    let parted = parted(repo, target, tip)?;
    let from_base = is_in(repo, base, tip)?
        && match parted {
            Some(parted) => is_in(repo, parted, base)?,
            None => true,
        };
    Ok(if from_base { Some(base) } else { parted })
}

/// Where two histories part.
fn parted(repo: &Repository, one: Oid, other: Oid) -> Result<Option<Oid>, GitError> {
    match repo.merge_base(one.raw(), other.raw()) {
        Ok(oid) => Ok(Some(Oid::from(oid))),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(source) => Err(GitError::Library { act: "find the common history".to_owned(), source }),
    }
}

/// Whether `commit` is `of` or one of its ancestors.
pub(super) fn is_in(repo: &Repository, commit: Oid, of: Oid) -> Result<bool, GitError> {
    let found = commit == of
        || repo.graph_descendant_of(of.raw(), commit.raw()).map_err(GitError::library("compare histories"))?;
    Ok(found)
}

fn short(name: &str) -> String {
    name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests;
