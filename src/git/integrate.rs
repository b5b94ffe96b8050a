//! Brings a child's work into its parent's work tree: a three-way merge made as objects, then all of its files or none.
//!
//! Nothing is staged or committed and the parent's index stays as it is. The contents are written beside the tree first,
//! each file is compared with what was merged right before it is replaced, and whatever stops the replacement, a kill
//! included, is undone from a journal. One integration at a time per parent; the parent's agent may go on writing.

pub(super) mod apply;
pub(super) mod exchange;
pub(super) mod journal;
pub(super) mod place;
pub(super) mod plan;
mod scratch;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use self::apply::{Applied, Stopped};
use self::place::Place;
use self::scratch::{Comparison, Scratch};
use super::diff::{self, FileChange, Target};
use super::history;
use super::merge::replay::{Merged, merge_by};
use super::{GitError, Oid, Worktree};

/// What a child has made, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// The snapshot that it started from. After an integration, the head that was integrated: the parent has that work.
    pub base: Oid,
    /// The last commit of its branch.
    pub head: Oid,
}

/// How an integration ended. Anything but `Integrated` has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Integrated {
        files: Vec<FileChange>,
    },
    /// The parent has everything already.
    Nothing,
    /// Both have changed these files, in ways that do not go together.
    Conflict {
        files: Vec<PathBuf>,
    },
    /// These files are not what was merged: somebody writes them, or git ignores them in the parent.
    Changed {
        files: Vec<PathBuf>,
    },
    /// Nested repositories, and names that lead into a git directory: no part of a work tree.
    Refused {
        files: Vec<PathBuf>,
    },
}

/// What was found of an integration that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    Nothing,
    /// The parent is as it was before. Files that somebody changed after the kill are in these commits, kept by refs
    /// below `refs/coppice/undo/<session>/`.
    Undone {
        saved: Vec<Oid>,
    },
}

/// Merges a child's commits into the parent's work tree as it is.
pub fn integrate(parent: &Worktree, child: Child) -> Result<Outcome, GitError> {
    integrate_by(parent, child, &mut || Ok(()))
}

/// Changes the files from one commit to another, if the work tree holds exactly the first. One that holds the second has
/// nothing to change: whoever died right after that can ask again.
pub(super) fn replace(worktree: &Worktree, from: Oid, to: Oid) -> Result<Outcome, GitError> {
    recover(worktree)?;
    let (repo, message) = (worktree.repo.open()?, format!("work tree of `{}`", worktree.branch));
    let found = history::record(worktree, &[], &message)?.commit;
    if plan::edits(&repo, found, to)?.is_empty() {
        return Ok(Outcome::Nothing);
    }
    let others = plan::edits(&repo, from, found)?;
    match others.is_empty() {
        true => replace_files(worktree, from, to, &mut || Ok(())),
        false => Ok(Outcome::Changed { files: others.into_iter().map(|edit| edit.path).collect() }),
    }
}

/// The files in which a child's commits and the parent's work tree as it is do not go together. Nothing is written there.
pub fn conflicts(parent: &Worktree, child: Child) -> Result<Vec<PathBuf>, GitError> {
    if child.base == child.head {
        return Ok(Vec::new());
    }
    let ours = present(parent, child.base)?;
    Ok(match merge_by(parent, parent.attributes, child.base, ours, child.head)? {
        Merged::Clean { .. } => Vec::new(),
        Merged::Conflict { files, .. } => files,
    })
}

/// Whether a killed integration has left something in the work tree of this path.
pub fn is_pending(worktree: &Path) -> bool {
    let (Some(beside), Some(name)) = (worktree.parent(), worktree.file_name()) else { return false };
    scratch::place(beside, name).symlink_metadata().is_ok()
}

/// Undoes what a killed integration has left half done; to be called before anything else looks at the tree.
pub fn recover(parent: &Worktree) -> Result<Recovered, GitError> {
    match Scratch::find(parent) {
        Some(scratch) => apply::recover(&parent.unstoppable(), scratch, &mut || Ok(())).map_err(unstopped),
        None => Ok(Recovered::Nothing),
    }
}

/// `gate` is passed before each step that changes something; a test stops there.
fn integrate_by(
    parent: &Worktree,
    child: Child,
    gate: &mut dyn FnMut() -> Result<(), Stopped>,
) -> Result<Outcome, GitError> {
    recover(parent)?;
    if child.base == child.head {
        return Ok(Outcome::Nothing);
    }
    let ours = present(parent, child.base)?;
    let result = match merge_by(parent, parent.attributes, child.base, ours, child.head)? {
        Merged::Clean { tree } => tree,
        Merged::Conflict { files, .. } => return Ok(Outcome::Conflict { files }),
    };
    replace_files(parent, ours, result, gate)
}

/// Brings the files in which `result` differs from `ours`, which is what the tree holds.
fn replace_files(
    parent: &Worktree,
    ours: Oid,
    result: Oid,
    gate: &mut dyn FnMut() -> Result<(), Stopped>,
) -> Result<Outcome, GitError> {
    let edits = plan::edits(&parent.repo.open()?, ours, result)?;
    let refused: Vec<_> = edits.iter().filter(|edit| edit.is_refused()).map(|edit| edit.path.clone()).collect();
    if !refused.is_empty() {
        return Ok(Outcome::Refused { files: refused });
    }
    if edits.is_empty() {
        return Ok(Outcome::Nothing);
    }
    let mut files = diff::files(parent, &ours, Target::Commit(result))?;
    let place = Place::open(&parent.path)?;
    let scratch = Scratch::new(parent)?;
    let prepared = scratch.write_contents(parent, &edits).and_then(|()| scratch.compare(parent, &place, edits));
    let steps = match prepared {
        Ok(Comparison::AsMerged(steps)) if !steps.is_empty() => steps,
        other => {
            scratch.discard();
            return other.map(|comparison| match comparison {
                Comparison::AsMerged(_) => Outcome::Nothing,
                Comparison::Changed(files) => Outcome::Changed { files },
            });
        }
    };
    let written: HashSet<&Path> = steps.iter().map(|step| step.path.as_path()).collect();
    files.retain(|file| written.contains(file.path.as_path()));
    Ok(match apply::apply(&parent.unstoppable(), &place, scratch, &steps, gate)? {
        Applied::Whole => Outcome::Integrated { files },
        Applied::Changed(path) => Outcome::Changed { files: vec![path] },
    })
}

/// A commit of the parent as it is. Of what git ignores, it holds the files that the base has: a snapshot may have taken
/// them along, and without them the merge would believe that the parent has deleted them.
fn present(parent: &Worktree, base: Oid) -> Result<Oid, GitError> {
    let message = format!("work tree of `{}`", parent.branch);
    let plain = history::record(parent, &[], &message)?.commit;
    let gone = plan::edits(&parent.repo.open()?, base, plain)?;
    let gone = gone.into_iter().filter(|edit| edit.new.is_none()).map(|edit| edit.path);
    let place = Place::open(&parent.path)?;
    let hidden: Vec<_> = gone.filter(|path| place.is_file(path)).collect();
    match hidden.is_empty() {
        true => Ok(plain),
        false => Ok(history::record(parent, &hidden, &message)?.commit),
    }
}

/// An error that no test has caused.
pub(super) fn unstopped(stopped: Stopped) -> GitError {
    match stopped {
        Stopped::Failed(error) => error,
        Stopped::Changed(path) => GitError::PathTaken { path },
        #[cfg(test)]
        Stopped::Killed => GitError::PathTaken { path: PathBuf::from("killed") },
    }
}

#[cfg(test)]
mod tests;
