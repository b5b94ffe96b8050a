//! The history of a session: snapshots of its worktree, the checkpoint after each turn, and the way back to one.
//!
//! A snapshot moves nothing. A checkpoint is a commit on the session's branch. Both have refs, so that the user's own
//! garbage collection cannot take them.

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use git2::{Delta, ObjectType, Repository, Signature, Tree};

use tracing::warn;

use super::owner_access::{self, OwnerAccess};
use super::private_index::{OtherWriters, PrivateIndex};
use super::stage::{self, Purpose, Staged};
use super::worktree::{self, registration};
use super::{GitError, Identity, Oid, Repo, Worktree, message, status};
use crate::id::SessionId;

/// Commits of ours that are not the user's work, and checkpoints of users without an identity.
const NAME: &str = "Coppice";
const EMAIL: &str = "coppice@localhost";

/// A commit of what is in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub commit: Oid,
    /// The last commit of the session before it: what is between the two is what it records.
    pub before: Oid,
    /// What is in the worktree and not in the commit: nested repositories and files that cannot be read.
    pub left_out: Vec<PathBuf>,
}

impl Recorded {
    /// Whether nothing changed since the last commit of the session.
    pub fn is_empty(&self) -> bool {
        self.commit == self.before
    }
}

/// What a checkpoint says about itself.
#[derive(Debug, Clone, Copy)]
pub struct Checkpoint<'a> {
    pub session: SessionId,
    pub turn: u32,
    /// The commit message, without the trailer.
    pub message: &'a str,
}

/// Where the checkpoint of a turn is kept.
pub fn checkpoint_ref(session: SessionId, turn: u32) -> String {
    format!("{}{turn}", checkpoint_prefix(session))
}

fn checkpoint_prefix(session: SessionId) -> String {
    format!("refs/coppice/checkpoints/{session}/")
}

/// Where the tip of a session's branch is kept, for the day on which somebody deletes the branch.
pub fn tip_ref(session: SessionId) -> String {
    format!("refs/coppice/tips/{session}")
}

/// Keeps a commit that the session's branch was moved to with its base: it is none of a turn.
pub fn keep_moved(repo: &Repo, session: SessionId, commit: Oid) -> Result<(), GitError> {
    let repo = repo.open()?;
    set_ref(&repo, &format!("{}moved", checkpoint_prefix(session)), commit, "moved with its base")?;
    set_ref(&repo, &tip_ref(session), commit, "moved with its base")
}

/// Commits everything in the worktree that is not ignored to `ref_name`, on top of the session's branch. The branch,
/// the index and the files stay as they are.
pub fn snapshot(tree: &Worktree, ref_name: &str, message: &str) -> Result<Recorded, GitError> {
    let recorded = record(tree, &[], message)?;
    set_ref(&tree.repo.open()?, ref_name, recorded.commit, message)?;
    Ok(recorded)
}

/// Commits everything in the worktree that is not ignored, and the ignored files that are named, on top of the session's
/// branch. Nothing but the answer knows the commit.
pub(super) fn record(tree: &Worktree, ignored: &[PathBuf], message: &str) -> Result<Recorded, GitError> {
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    let mut staged = stage::stage(tree, Purpose::Snapshot, ignored)?;
    let content = match ignored.is_empty() {
        true => content(&repo, tip, &mut staged)?,
        // A clean status says nothing about them.
        false => written(&repo, tip, &mut staged)?,
    };
    let author = signature(&own_identity())?;
    let commit = commit(&repo, &author, message, content, tip)?;
    Ok(Recorded { commit, before: tip, left_out: staged.left_out })
}

/// Commits what a turn changed on the session's branch; none when it changed nothing and left nothing out. No hooks run.
///
/// The index is replaced before the branch moves: a kill in between leaves the work staged, and the next checkpoint
/// commits it.
pub fn checkpoint(tree: &Worktree, about: Checkpoint<'_>) -> Result<Option<Recorded>, GitError> {
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    let mut staged = stage::stage(tree, Purpose::Checkpoint, &[])?;
    let is_clean = staged.status.is_clean();
    let (content, identity) = thread::scope(|scope| {
        // A run of git each: who commits is asked while the tree is written.
        let identity = (!is_clean).then(|| scope.spawn(|| checkpoint_identity(&tree.repo)));
        let content = content(&repo, tip, &mut staged);
        (content, identity.map(|asked| asked.join().unwrap_or_else(|panic| resume_unwind(panic))))
    });
    let content = content?;
    if !is_clean {
        staged.install()?;
    }
    let ref_name = checkpoint_ref(about.session, about.turn);
    let before = last_known(&repo, tree, about.session, tip)?;
    let commit = match tree_of(&repo, tip)? == content {
        true if before == tip => {
            let unchanged = Recorded { commit: tip, before, left_out: staged.left_out };
            return Ok((!unchanged.left_out.is_empty()).then_some(unchanged));
        }
        // The agent has committed by itself.
        true => tip,
        false => {
            let author = signature(&identity.unwrap_or_else(|| checkpoint_identity(&tree.repo))?)?;
            let commit = commit(&repo, &author, &checkpoint_message(about), content, tip)?;
            move_branch(&repo, tree, tip, commit, "coppice: checkpoint")?;
            commit
        }
    };
    set_ref(&repo, &ref_name, commit, "checkpoint")?;
    Ok(Some(Recorded { commit, before, left_out: staged.left_out }))
}

/// Gives a checkpoint another message; the commit that takes its place. Tree, parents, author, committer and their times
/// stay, index and files are not touched, and no hooks run.
///
/// `None`, and nothing happens, when the branch went on meanwhile or the commit is not one of ours: what an agent
/// committed by itself keeps the agent's words.
pub fn reword(tree: &Worktree, commit: &Oid, about: Checkpoint<'_>) -> Result<Option<Oid>, GitError> {
    let repo = tree.repo.open()?;
    let failed = |source| GitError::Library { act: format!("reword `{commit}`"), source };
    let old = repo.find_commit(commit.raw()).map_err(failed)?;
    let is_ours = old.message_bytes().ends_with(trailer(about.session).as_bytes());
    if !is_ours || branch_tip(&repo, tree)? != *commit {
        return Ok(None);
    }
    let parents: Vec<_> = old.parents().collect();
    let parents: Vec<_> = parents.iter().collect();
    let content = old.tree().map_err(failed)?;
    let message = checkpoint_message(about);
    let new = repo.commit(None, &old.author(), &old.committer(), &message, &content, &parents).map_err(failed)?;
    let branch = format!("refs/heads/{}", tree.branch);
    let kept = checkpoint_ref(about.session, about.turn);
    // Both under one lock: a branch whose tip no checkpoint keeps looks like a commit of the agent's own.
    let mut refs = repo.transaction().map_err(failed)?;
    for name in [&branch, &kept] {
        refs.lock_ref(name).map_err(failed)?;
        if repo.refname_to_id(name).ok() != Some(commit.raw()) {
            return Ok(None);
        }
        refs.set_target(name, new, Some(&old.committer()), "coppice: reword").map_err(failed)?;
    }
    refs.commit().map_err(failed)?;
    if let Err(error) = set_ref(&repo, &tip_ref(about.session), new.into(), "coppice: reword") {
        warn!(branch, %error, "the tip of a branch is not kept");
    }
    Ok(Some(new.into()))
}

/// The commits after `from` up to `to`, oldest first, along first parents.
pub fn line(repo: &Repo, from: &Oid, to: &Oid) -> Result<Vec<Oid>, GitError> {
    let failed = |source| GitError::Library { act: format!("list the commits from `{from}` to `{to}`"), source };
    let handle = repo.open()?;
    let mut walk = handle.revwalk().map_err(failed)?;
    walk.simplify_first_parent().map_err(failed)?;
    walk.push(to.raw()).map_err(failed)?;
    walk.hide(from.raw()).map_err(failed)?;
    let mut commits = walk.map(|commit| commit.map(Oid::from)).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    commits.reverse();
    Ok(commits)
}

/// Whether `commit` is below `tip`, or the same.
pub fn holds(repo: &Repo, tip: &Oid, commit: &Oid) -> Result<bool, GitError> {
    let below =
        || repo.open()?.graph_descendant_of(tip.raw(), commit.raw()).map_err(GitError::library("compare histories"));
    Ok(tip == commit || below()?)
}

/// Takes a snapshot of the worktree and then resets it. When that would delete something that the snapshot cannot hold,
/// nothing is changed.
pub fn snapshot_and_reset(tree: &Worktree, to: &Oid, ref_name: &str, message: &str) -> Result<Recorded, GitError> {
    let recorded = snapshot_before_reset(tree, to, ref_name, message)?;
    reset_after_snapshot(tree, to, ref_name)?;
    Ok(recorded)
}

/// Takes a snapshot of a worktree that is about to be reset; an error when the reset would delete something that the
/// snapshot cannot hold.
pub fn snapshot_before_reset(tree: &Worktree, to: &Oid, ref_name: &str, message: &str) -> Result<Recorded, GitError> {
    let repo = tree.repo.open()?;
    let mut recorded = record(tree, &[], message)?;
    let ignored = ignored_in_the_way(tree, &repo, recorded.commit, *to)?;
    let (directories, files): (Vec<_>, Vec<_>) = ignored.into_iter().partition(|path| tree.path.join(path).is_dir());
    if !files.is_empty() {
        recorded = record(tree, &files, message)?;
    }
    let is_named = |path: &PathBuf| recorded.left_out.iter().any(|known| known.starts_with(path));
    let unnamed: Vec<_> = directories.into_iter().filter(|path| !is_named(path)).collect();
    recorded.left_out.extend(unnamed);
    let target = find_tree(&repo, *to)?;
    let is_deleted = |path: &&PathBuf| {
        let is_nested = tree.path.join(path).join(".git").symlink_metadata().is_ok();
        !is_nested || is_taken_by(&target, path)
    };
    let paths: Vec<_> = recorded.left_out.iter().filter(is_deleted).cloned().collect();
    if !paths.is_empty() {
        return Err(GitError::CannotBeSaved { paths });
    }
    set_ref(&repo, ref_name, recorded.commit, message)?;
    Ok(recorded)
}

/// Puts branch, index and files back to a commit. Of untracked files those go that the snapshot holds, which is kept in a
/// ref; ignored files, nested repositories and links that Coppice made stay. A reset that failed or was killed can be
/// repeated, to the same commit or to another one. No signal stops it.
pub fn reset_after_snapshot(tree: &Worktree, to: &Oid, ref_name: &str) -> Result<(), GitError> {
    let tree = &tree.unstoppable();
    let failed = |source| GitError::HalfReset { saved: ref_name.to_owned(), source: Box::new(source) };
    let reset = || {
        registration::attach(tree)?;
        match put_back(tree, to, ref_name) {
            Ok(()) => Ok(()),
            Err(error) => match owner_access::restore(&tree.path, OwnerAccess::Write, tree.repo.stop())? {
                0 => Err(error),
                _ => put_back(tree, to, ref_name),
            },
        }
    };
    reset().map_err(failed)
}

/// Puts the files back to a snapshot, and the branch to the commit that the snapshot was taken on; that commit.
pub fn restore_snapshot(tree: &Worktree, snapshot: &Oid, ref_name: &str) -> Result<Oid, GitError> {
    let repo = tree.repo.open()?;
    let parent = repo.find_commit(snapshot.raw()).and_then(|commit| commit.parent_id(0));
    let tip: Oid = parent.map_err(GitError::library(format!("read commit `{snapshot}`")))?.into();
    reset_after_snapshot(tree, snapshot, ref_name)?;
    let tree = &Worktree { repo: tree.repo.unstoppable(), ..tree.clone() };
    let uncommit = || {
        let private = PrivateIndex::copy_of(tree)?;
        private.git("read-tree").arg(tip.to_string()).run()?;
        private.install(OtherWriters::Possible)?;
        reset_branch(&repo, tree, tip, "coppice: restore")
    };
    uncommit().map_err(|source| GitError::HalfReset { saved: ref_name.to_owned(), source: Box::new(source) })?;
    Ok(tip)
}

/// What a checkout of `to` would replace although the snapshot does not hold it, since it is ignored.
fn ignored_in_the_way(tree: &Worktree, repo: &Repository, snapshot: Oid, to: Oid) -> Result<Vec<PathBuf>, GitError> {
    let added = stage::differences(repo, snapshot, to)?.into_iter().filter(|found| found.delta == Delta::Added);
    let in_the_way = |path: PathBuf| {
        let blocks = |part: &&Path| match tree.path.join(part).symlink_metadata() {
            Ok(found) => !found.is_dir() || *part == path,
            Err(_) => false,
        };
        let mut parts: Vec<_> = path.ancestors().collect();
        parts.reverse();
        parts.into_iter().find(blocks).map(Path::to_owned)
    };
    let held = find_tree(repo, snapshot)?;
    let mut found: Vec<_> = added.filter_map(|found| in_the_way(found.path)).collect();
    found.retain(|path| held.get_path(path).is_err());
    found.dedup();
    Ok(found)
}

/// Whether a checkout of `target` needs the place of a nested repository for its own files.
fn is_taken_by(target: &Tree<'_>, path: &Path) -> bool {
    let mut above = path.ancestors().filter(|above| !above.as_os_str().is_empty());
    above.any(|above| match target.get_path(above).ok().and_then(|entry| entry.kind()) {
        Some(ObjectType::Tree) => above == path,
        Some(ObjectType::Commit) | None => false,
        Some(_) => true,
    })
}

fn put_back(tree: &Worktree, to: &Oid, saved: &str) -> Result<(), GitError> {
    let repo = tree.repo.open()?;
    let held = repo.find_reference(saved).and_then(|saved| saved.peel_to_tree());
    let held = held.map_err(GitError::library(format!("read the snapshot `{saved}`")))?;
    let private = PrivateIndex::copy_of(tree)?;
    // What has not changed is not written again, and so not built again.
    private.refresh()?;
    // Git deletes what its index has and the commit has not. A file that the snapshot ignores may be untracked by now.
    let mut untracked = status::read_session(tree, |verb| private.git(verb), &private.path())?.untracked;
    untracked.retain(|path| held.get_path(path).is_ok());
    let add = private.git("update-index").args(["--add", "--replace", "-z", "--stdin"]);
    add.input(stage::nul_separated(&untracked)).run()?;
    worktree::checkout_into(&private, *to, OtherWriters::Possible)?;
    private.install(OtherWriters::Possible)?;
    reset_branch(&repo, tree, *to, "coppice: reset")
}

fn find_tree(repo: &Repository, commit: Oid) -> Result<Tree<'_>, GitError> {
    let tree = repo.find_commit(commit.raw()).and_then(|found| found.tree());
    tree.map_err(GitError::library(format!("read commit `{commit}`")))
}

/// The user's identity; work of a user without one must not be lost for that.
pub(super) fn checkpoint_identity(repo: &Repo) -> Result<Identity, GitError> {
    match repo.identity() {
        Err(GitError::NoIdentity) => Ok(own_identity()),
        identity => identity,
    }
}

fn own_identity() -> Identity {
    Identity { name: NAME.to_owned(), email: EMAIL.to_owned() }
}

/// The tree object of what is in the worktree.
pub(super) fn content(repo: &Repository, tip: Oid, staged: &mut Staged) -> Result<Oid, GitError> {
    match staged.status.is_clean() && staged.status.head == Some(tip) {
        true => tree_of(repo, tip),
        false => written(repo, tip, staged),
    }
}

/// The tree object of what is in the private index.
fn written(repo: &Repository, tip: Oid, staged: &mut Staged) -> Result<Oid, GitError> {
    let before = tree_of(repo, tip)?;
    let mut content = staged.write_tree()?;
    // Nested repositories that somebody staged by hand.
    let nested = stage::added_gitlinks(repo, before, content)?;
    if !nested.is_empty() {
        staged.leave_out(nested)?;
        content = staged.write_tree()?;
    }
    Ok(content)
}

pub(super) fn branch_tip(repo: &Repository, tree: &Worktree) -> Result<Oid, GitError> {
    let found = repo.find_reference(&format!("refs/heads/{}", tree.branch));
    match found.and_then(|reference| reference.peel_to_commit()) {
        Ok(commit) => Ok(commit.id().into()),
        Err(_) => Err(GitError::BranchMissing { branch: tree.branch.clone() }),
    }
}

pub(super) fn tree_of(repo: &Repository, commit: Oid) -> Result<Oid, GitError> {
    let found = repo.find_commit(commit.raw()).map_err(GitError::library(format!("read commit `{commit}`")))?;
    Ok(found.tree_id().into())
}

/// The newest commit on the branch that is where this session started or what one of its checkpoints keeps; what follows
/// it, an agent has committed by itself.
fn last_known(repo: &Repository, tree: &Worktree, session: SessionId, tip: Oid) -> Result<Oid, GitError> {
    let find = || {
        let mut known = HashSet::from([tree.base.raw()]);
        for kept in repo.references_glob(&format!("{}*", checkpoint_prefix(session)))? {
            known.extend(kept?.target());
        }
        let mut walk = repo.revwalk()?;
        walk.simplify_first_parent()?;
        walk.push(tip.raw())?;
        for commit in walk {
            let commit = commit?;
            if known.contains(&commit) {
                return Ok(commit.into());
            }
        }
        Ok(tree.base)
    };
    find().map_err(GitError::library("read the checkpoints"))
}

fn checkpoint_message(about: Checkpoint<'_>) -> String {
    let Checkpoint { session, turn, message } = about;
    let message = match message.trim() {
        "" => format!("Turn {turn}"),
        text => message::printable(text),
    };
    message + &trailer(session)
}

/// A message of ours about something that is no turn.
pub(super) fn own_message(session: SessionId, text: &str) -> String {
    text.to_owned() + &trailer(session)
}

/// The last paragraph of every message of ours.
fn trailer(session: SessionId) -> String {
    format!("\n\nCoppice-Session: {session}\n")
}

fn signature(identity: &Identity) -> Result<Signature<'static>, GitError> {
    Signature::now(&identity.name, &identity.email)
        .map_err(GitError::library(format!("commit as `{} <{}>`", identity.name, identity.email)))
}

fn commit(
    repo: &Repository,
    author: &Signature<'_>,
    message: &str,
    content: Oid,
    parent: Oid,
) -> Result<Oid, GitError> {
    let make = || {
        let content = repo.find_tree(content.raw())?;
        let parent = repo.find_commit(parent.raw())?;
        repo.commit(None, author, author, message, &content, &[&parent])
    };
    Ok(make().map_err(GitError::library("write a commit"))?.into())
}

pub(super) fn set_ref(repo: &Repository, name: &str, commit: Oid, why: &str) -> Result<(), GitError> {
    let why = why.lines().next().unwrap_or_default();
    repo.reference(name, commit.raw(), true, why).map_err(GitError::library(format!("write `{name}`")))?;
    Ok(())
}

fn reset_branch(repo: &Repository, tree: &Worktree, to: Oid, why: &str) -> Result<(), GitError> {
    set_ref(repo, &tree.branch_ref(), to, why)?;
    keep_tip(repo, tree, to, why)
}

fn keep_tip(repo: &Repository, tree: &Worktree, tip: Oid, why: &str) -> Result<(), GitError> {
    match tree.session() {
        Some(session) => set_ref(repo, &tip_ref(session), tip, why),
        None => Ok(()),
    }
}

pub(super) fn move_branch(repo: &Repository, tree: &Worktree, from: Oid, to: Oid, why: &str) -> Result<(), GitError> {
    let name = format!("refs/heads/{}", tree.branch);
    match repo.reference_matching(&name, to.raw(), true, from.raw(), why) {
        // The branch has moved, whatever becomes of the second ref.
        Ok(_) => match keep_tip(repo, tree, to, why) {
            Ok(()) => Ok(()),
            Err(error) => {
                warn!(branch = name, %error, "the tip of a branch is not kept");
                Ok(())
            }
        },
        Err(error) if error.code() == git2::ErrorCode::Modified => Err(GitError::RefMoved { name }),
        Err(source) => Err(GitError::library(format!("move `{name}`"))(source)),
    }
}

#[cfg(test)]
mod tests;
