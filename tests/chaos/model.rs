//! What must hold, whatever was done and whatever failed: pure functions over what was observed.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Pid;
use serde_json::Value;

/// Written by all sessions and by the user.
pub(crate) const SHARED: &str = "shared.txt";

/// The kind of error by which a session says that an undo is completed by the next act.
pub(crate) const UNFINISHED_UNDO: &str = "unfinished_undo";

/// The user's checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkout {
    /// The branch that is checked out.
    pub(crate) head: String,
    /// Its commit.
    pub(crate) tip: String,
    /// What git says about the user's uncommitted work.
    pub(crate) status: String,
    /// The uncommitted files themselves, and what is staged.
    pub(crate) files: Vec<String>,
    /// Files of ours in the git directory that no work in progress explains.
    pub(crate) litter: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) files: u64,
    pub(crate) insertions: u64,
    pub(crate) deletions: u64,
}

/// A session at rest.
#[derive(Debug)]
pub(crate) struct SeenSession {
    pub(crate) id: String,
    /// The only directory that it writes to, besides the shared file.
    pub(crate) directory: String,
    pub(crate) status: String,
    pub(crate) shown: Changes,
    /// What git says; absent where git cannot say it.
    pub(crate) real: Option<Changes>,
    /// Every path that differs from its base.
    pub(crate) paths: BTreeSet<String>,
    /// Those that differ on its branch.
    pub(crate) committed: BTreeSet<String>,
    /// Files in its worktree that git ignores.
    pub(crate) ignored: BTreeSet<String>,
    /// Why the session says that its files and its branch may differ.
    pub(crate) doubt: Option<String>,
}

/// Paths of a session that differ from its base.
#[derive(Debug)]
pub(crate) struct KnownFiles {
    /// In its worktree.
    pub(crate) changed: BTreeSet<String>,
    /// On its branch.
    pub(crate) committed: BTreeSet<String>,
}

/// Everything that is looked at once nothing goes on any more.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) checkout: Checkout,
    pub(crate) sessions: Vec<SeenSession>,
    pub(crate) events: BTreeMap<u64, Value>,
    pub(crate) daemon: Option<Pid>,
    /// Commits of `merged` events that the base branch does not hold.
    pub(crate) lost_merges: Vec<String>,
    /// Every path of every commit of the base branch.
    pub(crate) base_paths: BTreeSet<String>,
    /// What changed on the base branch since the last look.
    pub(crate) merged_paths: BTreeSet<String>,
    pub(crate) fsck: String,
    /// Lines of the log about bugs.
    pub(crate) panics: Vec<String>,
}

/// What was known before the step.
pub(crate) struct Known<'a> {
    pub(crate) checkout: &'a Checkout,
    pub(crate) events: &'a BTreeMap<u64, Value>,
    /// Absent where a fault ended it.
    pub(crate) daemon: Option<Pid>,
    /// By the ids of their sessions.
    pub(crate) files: &'a BTreeMap<String, KnownFiles>,
    /// The ids of the sessions whose files may go.
    pub(crate) rewound: &'a BTreeSet<String>,
    /// The directories of the sessions that were merged meanwhile.
    pub(crate) merged: &'a [String],
    /// The directories of the sessions that write nothing.
    pub(crate) idle: &'a [String],
}

/// Everything that does not hold.
pub(crate) fn violations(known: &Known<'_>, seen: &Observed) -> Vec<String> {
    let mut found = checkout(known, seen);
    found.extend(lost_events(known.events, &seen.events));
    found.extend(seen.sessions.iter().flat_map(|session| truth(session, &seen.base_paths)));
    found.extend(seen.sessions.iter().filter_map(|session| lost_files(known, session, &seen.base_paths)));
    let idle = seen.sessions.iter().filter(|session| known.idle.contains(&session.directory));
    found.extend(idle.filter_map(foreign_files));
    if known.daemon.is_some() && known.daemon != seen.daemon {
        found.push(format!("the daemon was {:?} and is {:?}", known.daemon, seen.daemon));
    }
    found.extend(seen.lost_merges.iter().map(|commit| format!("merged commit {commit} is not in the base branch")));
    found.extend((!seen.fsck.is_empty()).then(|| format!("git fsck: {}", seen.fsck)));
    found.extend(seen.panics.iter().map(|line| format!("the daemon's log: {line}")));
    found
}

fn checkout(known: &Known<'_>, seen: &Observed) -> Vec<String> {
    let (before, after) = (known.checkout, &seen.checkout);
    let mut found = Vec::new();
    if (&before.head, &before.status, &before.files) != (&after.head, &after.status, &after.files) {
        found.push(format!("the user's checkout changed:\nbefore {before:#?}\nafter {after:#?}"));
    }
    found.extend(after.litter.iter().map(|path| format!("`{path}` was left in the git directory")));
    if before.tip != after.tip && known.merged.is_empty() {
        found.push(format!("the base branch moved from {} to {} without a merge", before.tip, after.tip));
    }
    let is_foreign = |path: &&String| *path != SHARED && !known.merged.iter().any(|own| owner(path) == Some(own));
    let foreign: Vec<_> = seen.merged_paths.iter().filter(is_foreign).collect();
    if !foreign.is_empty() {
        found.push(format!("a merge of {:?} changed {foreign:?}", known.merged));
    }
    found
}

fn lost_events(before: &BTreeMap<u64, Value>, after: &BTreeMap<u64, Value>) -> Vec<String> {
    let lost = before.iter().filter(|(number, event)| after.get(number) != Some(*event));
    lost.map(|(number, event)| format!("event {number} was {event} and is {:?}", after.get(number))).collect()
}

/// What a session had and has no more; what was merged may be a part of its base by now.
fn lost_files(known: &Known<'_>, session: &SeenSession, base_paths: &BTreeSet<String>) -> Option<String> {
    let before = known.files.get(&session.id).filter(|_| !known.rewound.contains(&session.id))?;
    session.real?;
    let lost: Vec<_> = before.changed.difference(&session.paths).filter(|path| !base_paths.contains(*path)).collect();
    (!lost.is_empty()).then(|| format!("session {} ({}) lost {lost:?}", session.id, session.directory))
}

/// What is wrong with a session that writes nothing: it completes its turn and has exactly the files of its base.
fn foreign_files(session: &SeenSession) -> Option<String> {
    let found: Vec<_> = session.paths.union(&session.ignored).collect();
    let is_sound = session.status == "ready" && found.is_empty();
    (!is_sound).then(|| format!("session {} is {} and wrote nothing, but has {found:?}", session.id, session.status))
}

fn truth(session: &SeenSession, base_paths: &BTreeSet<String>) -> Vec<String> {
    let name = format!("session {} ({})", session.id, session.directory);
    let mut found = Vec::new();
    let counts = ["ready", "interrupted", "failed", "asking"].contains(&session.status.as_str());
    if let Some(real) = session.real.filter(|real| counts && session.doubt.is_none() && *real != session.shown) {
        found.push(format!("{name} is {} with {:?}, and git says {real:?}", session.status, session.shown));
    }
    let is_foreign = |path: &&String| {
        owner(path).is_some_and(|other| other != session.directory) && !base_paths.contains(path.as_str())
    };
    let foreign: Vec<_> = session.paths.iter().filter(is_foreign).collect();
    if !foreign.is_empty() {
        found.push(format!("{name} holds files of others: {foreign:?}"));
    }
    found
}

/// The session directory that a path lies in.
fn owner(path: &str) -> Option<&str> {
    path.split_once('/').map(|(directory, _)| directory).filter(|directory| directory.starts_with('s'))
}
