//! The change of the tree itself: taken away, put in place, or undone.
//!
//! Where each file lies says how far a step has come, so that an undo needs no more than the journal and can itself be
//! killed: what is gone from `new` was put in place, what is in `old` was taken away.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use tracing::{debug, info, warn};

use super::Recovered;
use super::exchange::Exchange;
use super::journal::{Journal, Step};
use super::place::{Place, Seen};
use super::scratch::Scratch;
use crate::git::{GitError, Oid, Worktree, history, include};

/// How the change ended; `Changed` has changed nothing.
pub(super) enum Applied {
    Whole,
    Changed(PathBuf),
}

/// Why the change did not go on.
pub(in crate::git) enum Stopped {
    /// This file is not what was compared.
    Changed(PathBuf),
    Failed(GitError),
    /// Nothing is undone, as after a kill.
    #[cfg(test)]
    Killed,
}

impl From<GitError> for Stopped {
    fn from(error: GitError) -> Self {
        Self::Failed(error)
    }
}

/// Passed before each step that changes something; a test stops there.
pub(in crate::git) type Gate<'a> = &'a mut dyn FnMut() -> Result<(), Stopped>;

/// The places between which files move.
pub(in crate::git) struct Places<'a> {
    tree: &'a Place,
    new: Place,
    old: Place,
    displaced: Place,
}

impl<'a> Places<'a> {
    pub(in crate::git) fn open(tree: &'a Place, exchange: &Exchange) -> Result<Self, GitError> {
        let (new, old) = (Place::open(&exchange.new_files())?, Place::open(&exchange.old_files())?);
        Ok(Self { tree, new, old, displaced: Place::open(&exchange.displaced_files())? })
    }
}

/// What an undo does about files that somebody has changed since.
#[derive(Clone, Copy)]
pub(in crate::git) enum LaterChanges<'a> {
    /// They are committed to a ref of this worktree's session, and give way.
    Save(&'a Worktree),
    /// They stay as they are.
    Keep,
}

/// Takes all steps, or none.
pub(super) fn apply(
    parent: &Worktree,
    tree: &Place,
    scratch: Scratch,
    steps: &[Step],
    gate: Gate<'_>,
) -> Result<Applied, GitError> {
    let exchange = scratch.exchange();
    let places = Places::open(tree, &exchange)?;
    let journal = Journal { steps: steps.to_vec(), made: missing_directories(tree, steps) };
    let done = exchange.begin(&journal).map_err(Stopped::from).and_then(|()| {
        change(&places, steps, gate)?;
        gate()?;
        Ok(exchange.end()?)
    });
    let take_back = || {
        undo(&places, &journal, LaterChanges::Save(parent), &mut || Ok(())).map_err(super::unstopped)?;
        exchange.end()
    };
    match done {
        Ok(()) => {
            remove_emptied(tree, steps);
            scratch.discard();
            Ok(Applied::Whole)
        }
        Err(Stopped::Changed(path)) => {
            take_back()?;
            scratch.discard();
            Ok(Applied::Changed(path))
        }
        Err(Stopped::Failed(error)) => {
            take_back()?;
            scratch.discard();
            Err(error)
        }
        #[cfg(test)]
        Err(Stopped::Killed) => Err(super::unstopped(Stopped::Killed)),
    }
}

/// Undoes what the journal says was begun.
pub(super) fn recover(parent: &Worktree, scratch: Scratch, gate: Gate<'_>) -> Result<Recovered, Stopped> {
    let exchange = scratch.exchange();
    let Some(journal) = exchange.begun()? else {
        scratch.discard();
        return Ok(Recovered::Nothing);
    };
    let tree = Place::open(&parent.path)?;
    let places = Places::open(&tree, &exchange)?;
    let saved = undo(&places, &journal, LaterChanges::Save(parent), gate)?;
    gate()?;
    exchange.end()?;
    info!(worktree = %parent.path.display(), "an interrupted integration was undone");
    scratch.discard();
    Ok(Recovered::Undone { saved })
}

/// Takes every step; where one stops, those before it stay.
pub(in crate::git) fn change(places: &Places<'_>, steps: &[Step], gate: Gate<'_>) -> Result<(), Stopped> {
    // What only goes makes room for what comes.
    for (number, step) in steps.iter().enumerate().filter(|(_, step)| step.new == Seen::Absent) {
        gate()?;
        take_away(places, number, step)?;
    }
    for (number, step) in steps.iter().enumerate().filter(|(_, step)| step.new != Seen::Absent) {
        gate()?;
        match step.old {
            // A directory whose files went with other steps.
            Seen::Absent => places.tree.remove_empty(&step.path).unwrap_or_else(|errno| {
                debug!(path = %step.path.display(), %errno, "no empty directory in the way");
            }),
            Seen::File { .. } | Seen::Link { .. } | Seen::Other => {
                take_away(places, number, step)?;
                gate()?;
            }
        }
        places.new.move_to(&step.path, places.tree, &step.path).map_err(|errno| stop(places.tree, step, errno))?;
    }
    Ok(())
}

/// Moves a file out of the tree, if it is the one that was compared, before and after.
fn take_away(places: &Places<'_>, number: usize, step: &Step) -> Result<(), Stopped> {
    let kept = kept_name(number);
    if places.tree.look(&step.path)? != step.old {
        return Err(Stopped::Changed(step.path.clone()));
    }
    places.tree.move_to(&step.path, &places.old, &kept).map_err(|errno| stop(places.tree, step, errno))?;
    match places.old.look(&kept)? == step.old {
        true => Ok(()),
        false => Err(Stopped::Changed(step.path.clone())),
    }
}

fn stop(tree: &Place, step: &Step, errno: Errno) -> Stopped {
    match errno {
        Errno::EXIST | Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NOTEMPTY | Errno::ISDIR => {
            Stopped::Changed(step.path.clone())
        }
        errno => Stopped::Failed(tree.error("replace", &step.path, errno)),
    }
}

/// Brings the tree back. Returns the commits in which later changes were saved.
pub(in crate::git) fn undo(
    places: &Places<'_>,
    journal: &Journal,
    later: LaterChanges<'_>,
    gate: Gate<'_>,
) -> Result<Vec<Oid>, Stopped> {
    let (tree, mut saved) = (places.tree, Vec::new());
    if let LaterChanges::Save(parent) = later {
        let mut altered = Vec::new();
        for step in journal.steps.iter().filter(|step| is_put(places, step)) {
            if ![step.new, Seen::Absent].contains(&tree.look(&step.path)?) {
                altered.push(step.path.clone());
            }
        }
        saved.extend(save(parent, tree, &altered)?);
    }
    for step in journal.steps.iter().rev().filter(|step| is_put(places, step)) {
        gate()?;
        let moved = match (tree.look(&step.path)?, later) {
            (Seen::Absent, _) => Ok(()),
            (seen, _) if seen == step.new => tree.move_to(&step.path, &places.new, &step.path),
            (Seen::File { .. } | Seen::Link { .. } | Seen::Other, LaterChanges::Save(_)) => {
                displace(places, &step.path)
            }
            (Seen::File { .. } | Seen::Link { .. } | Seen::Other, LaterChanges::Keep) => Ok(()),
        };
        moved.map_err(|errno| tree.error("undo", &step.path, errno))?;
    }
    let kept = |number: usize| !places.old.is_free(&kept_name(number));
    let gone: Vec<_> = journal.steps.iter().enumerate().rev().filter(|(number, _)| kept(*number)).collect();
    if let LaterChanges::Save(parent) = later {
        let blocks: Vec<_> = gone.iter().filter_map(|(_, step)| block(tree, &step.path)).collect();
        saved.extend(save(parent, tree, &blocks)?);
    }
    for (number, step) in gone {
        gate()?;
        let restore = || places.old.move_to(&kept_name(number), tree, &step.path);
        let restored = match (block(tree, &step.path), later) {
            (None, _) => restore(),
            (Some(block), LaterChanges::Save(_)) => displace(places, &block).and_then(|()| restore()),
            (Some(block), LaterChanges::Keep) => {
                warn!(path = %step.path.display(), block = %block.display(), "a file is not restored over a later change");
                Ok(())
            }
        };
        restored.map_err(|errno| tree.error("undo", &step.path, errno))?;
    }
    for directory in journal.made.iter().rev() {
        if let Err(errno) = tree.remove_directory(directory) {
            debug!(directory = %directory.display(), %errno, "a directory stays");
        }
    }
    Ok(saved)
}

/// Whether what a step puts in place has left the place where it was prepared.
fn is_put(places: &Places<'_>, step: &Step) -> bool {
    step.new != Seen::Absent && places.new.is_free(&step.path)
}

/// Commits the tree with these files in it, ignored or not, so that they can give way; none when there are none.
fn save(parent: &Worktree, tree: &Place, paths: &[PathBuf]) -> Result<Option<Oid>, GitError> {
    let mut files = Vec::new();
    for path in paths.iter().filter(|path| tree.is_there(path)) {
        files.extend(include::files_below(&parent.path, path)?);
    }
    files.retain(|path| tree.is_file(path));
    if files.is_empty() {
        return Ok(None);
    }
    let commit = history::record(parent, &files, "before an integration is undone")?.commit;
    let session = parent.admin.file_name().unwrap_or_default().display();
    let name = format!("refs/coppice/undo/{session}/{commit}");
    history::set_ref(&parent.repo.open()?, &name, commit, "integration undone")?;
    Ok(Some(commit))
}

/// What keeps a file from coming back to its path: something there, or above it something that is not a directory. An
/// empty directory goes.
fn block(tree: &Place, path: &Path) -> Option<PathBuf> {
    let mut above: Vec<_> = path.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty()).collect();
    above.reverse();
    let in_the_way = above.into_iter().find(|part| tree.is_in_the_way(part));
    let taken = || (!tree.is_free(path) && tree.remove_empty(path).is_err()).then_some(path);
    in_the_way.or_else(taken).map(Path::to_owned)
}

fn displace(places: &Places<'_>, path: &Path) -> rustix::io::Result<()> {
    for number in 0.. {
        match places.tree.move_to(path, &places.displaced, &kept_name(number)) {
            Err(Errno::EXIST) => {}
            // Nothing can be reached there.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            moved => return moved,
        }
    }
    Err(Errno::EXIST)
}

fn kept_name(number: usize) -> PathBuf {
    PathBuf::from(number.to_string())
}

/// The directories above the steps that are not there, parents first.
pub(in crate::git) fn missing_directories(tree: &Place, steps: &[Step]) -> Vec<PathBuf> {
    let coming = steps.iter().filter(|step| step.new != Seen::Absent);
    let above = coming.flat_map(|step| step.path.ancestors().skip(1)).filter(|part| !part.as_os_str().is_empty());
    let all: BTreeSet<&Path> = above.collect();
    let is_missing = |part: &&Path| tree.is_free(part) || tree.is_in_the_way(part);
    let missing: Vec<_> = all.iter().copied().filter(is_missing).collect();
    let is_below = |part: &Path| missing.iter().any(|other| part.starts_with(other));
    all.iter().filter(|part| is_below(part)).map(|part| part.to_path_buf()).collect()
}

/// As git does, directories that lost their last file go.
pub(in crate::git) fn remove_emptied(tree: &Place, steps: &[Step]) {
    let gone = steps.iter().filter(|step| step.new == Seen::Absent);
    gone.for_each(|step| tree.remove_empty_parents(&step.path));
}
