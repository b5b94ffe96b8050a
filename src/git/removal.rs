//! The end of a worktree, in an order that loses nothing: moved away at once, saved, then recycled or deleted slowly.
//!
//! `trash` renames the tree to `<root>/.trash/<id>` and `salvage` commits what is in it to a ref. Then `recycle` or
//! `retire` takes the session's name off it, and only a tree without a name is changed or deleted. So a kill between
//! any two steps leaves in the trash, for `pending`, either all of a session's work or nothing of it.

mod discard;
mod hidden;
mod reclaim;
mod recycle;
mod restore;
#[cfg(test)]
mod tests;
mod verify;

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tracing::warn;

use super::history::{self, Recorded, tip_ref};
use super::merge;
use super::worktree::{registration, spare};
use super::{GitError, Oid, Repo, Worktree, integrate, owner_access, resolution, status};
use crate::id::SessionId;

pub use discard::{Discard, Step};
pub use reclaim::{Reclaimed, reclaim};
pub use recycle::{Recycled, TreeReuse, recycle};
pub use restore::restore;
pub use verify::{SpareVerdict, SpareVerification, TakeReadLease};

/// What a tree is called in the trash that belongs to no session.
const NAMELESS: &str = "unsaved";

/// The worktree of a removed session, at its place in the trash.
#[derive(Debug, Clone)]
pub struct Trashed {
    pub session: SessionId,
    pub worktree: Worktree,
}

/// Something in the trash that an earlier process did not finish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub path: PathBuf,
    /// The session whose work may still have to be saved; none when nothing in it is worth saving.
    pub session: Option<SessionId>,
}

/// The ref that keeps what a removed session left behind.
pub fn salvage_ref(id: &str) -> String {
    format!("refs/coppice/salvage/{id}")
}

/// Moves a worktree out of the way. A worktree that somebody deleted leaves an empty directory in the trash.
pub fn trash(tree: &Worktree, root: &Path) -> Result<Trashed, GitError> {
    let session = tree.session().ok_or_else(|| GitError::InvalidBranch { branch: tree.branch.clone() })?;
    // A directory that its owner cannot write cannot be moved.
    owner_access::restore_root(&tree.path);
    // A removal is never refused for what an integration has left; nothing of it is deleted then.
    if tree.path.is_dir()
        && let Err(error) = integrate::recover(tree)
    {
        warn!(%error, worktree = %tree.path.display(), "an interrupted integration stays");
    }
    if tree.admin.is_dir() {
        registration::lock(&tree.admin, registration::REMOVED)?;
    }
    let place = move_to_trash(&tree.path, root, session.as_str())?;
    let worktree = Worktree { path: place, ..tree.clone() };
    if worktree.admin.is_dir() {
        registration::point_admin_to(&worktree.admin, &worktree.path)?;
    }
    Ok(Trashed { session, worktree })
}

/// Gives up the files of a worktree that was never whole: a checkout was writing them, and commits hold them all. No agent
/// may have worked there; a worktree that is registered again while its agent's files are in it looks the same.
pub fn discard_unfinished(tree: &Worktree, root: &Path) -> Result<(), GitError> {
    if registration::lock_reason(&tree.admin).as_deref() != Some(registration::INITIALIZING) {
        return Ok(());
    }
    trash_unsaved(&tree.path, root)?;
    registration::remove(&tree.admin)
}

/// Everything in the trash of a root, and spares that belong to no repository.
pub fn pending(root: &Path) -> Vec<Pending> {
    let entries = fs::read_dir(directory(root)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = entries.map(|path| Pending { session: session_of(&path), path }).collect();
    let is_orphan = |path: &PathBuf| !is_registered(path);
    found.extend(spare::all(root).into_iter().filter(is_orphan).map(|path| Pending { path, session: None }));
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

impl Pending {
    /// The removal to go on with, for what is known of the session's worktree.
    pub fn resume(&self, tree: &Worktree) -> Option<Trashed> {
        let worktree = Worktree { path: self.path.clone(), ..tree.clone() };
        self.session.map(|session| Trashed { session, worktree })
    }
}

/// Commits what is in a trashed worktree, untracked files included, to the session's salvage ref, on top of the last
/// commit of its branch. Works with whatever is left when branch or files were deleted by hand.
///
/// What the commit leaves out (nested repositories, entries named `.git`, unreadable files) exists only in the trash: a caller who loses
/// nothing neither recycles nor retires the tree then.
pub fn salvage(trashed: &Trashed) -> Result<Recorded, GitError> {
    let tree = &trashed.worktree;
    // Nothing on disk means that the files were deleted or never written, not that the session wanted to delete them.
    let is_empty = is_empty(&tree.path)?;
    tree.mend_history()?;
    registration::lock(&tree.admin, registration::REMOVED)?;
    let (name, message) = (salvage_ref(trashed.session.as_str()), format!("work of session {}", trashed.session));
    let recorded = match is_empty {
        true => hidden::save_branch(tree, &name, &message)?,
        false => {
            let mut recorded = history::snapshot(tree, &name, &message)?;
            recorded.left_out.extend(status::find_git_entries(tree)?);
            recorded
        }
    };
    hidden::save(trashed, &recorded)?;
    Ok(recorded)
}

/// Deletes the session's branch; it stays if the salvage ref does not hold its last commit.
pub fn drop_branch(trashed: &Trashed) -> Result<(), GitError> {
    let tree = &trashed.worktree;
    let saved = saved_commit(trashed)?;
    let repo = tree.repo.open()?;
    let Ok(mut branch) = repo.find_reference(&tree.branch_ref()) else { return Ok(()) };
    let holds = |tip| repo.find_commit(saved.raw()).is_ok_and(|saved| saved.parent_ids().any(|parent| parent == tip));
    match branch.target().is_some_and(holds) {
        true => branch.delete().map_err(GitError::library(format!("delete the branch `{}`", tree.branch))),
        false => Ok(()),
    }
}

/// Gives a saved worktree up: it is only there to be deleted from here on.
pub fn retire(trashed: &Trashed, root: &Path) -> Result<Pending, GitError> {
    saved_commit(trashed)?;
    let tree = &trashed.worktree;
    registration::remove(&tree.admin)?;
    Ok(Pending { path: move_to_trash(&tree.path, root, NAMELESS)?, session: None })
}

/// Gives up the spare of a repository that has no sessions any more.
pub fn retire_spare(repo: &Repo, root: &Path) -> Result<(), GitError> {
    let Some(found) = spare::find(repo, root) else { return Ok(()) };
    registration::remove(&found.admin)?;
    trash_unsaved(&found.path, root)
}

/// Undoes or completes what killed merges left in the user's checkouts, and removes what they left in a root and what is
/// registered in the repository although its files are gone.
pub fn tidy(repo: &Repo, root: &Path) -> Result<(), GitError> {
    merge::recover_moves(repo, root);
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for scratch in entries.filter(|entry| merge::is_scratch(&entry.file_name())) {
        trash_unsaved(&scratch.path(), root)?;
    }
    prune(repo)
}

/// Removes what interrupted removals left registered in the repository although its files are gone.
fn prune(repo: &Repo) -> Result<(), GitError> {
    let entries = fs::read_dir(repo.common_dir().join("worktrees")).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|admin| registration::is_stale(admin))
        .try_for_each(|admin| registration::remove(&admin))
}

/// Forgets what was kept of a removed session: its salvage ref, its checkpoints, and what was put aside.
pub fn forget(repo: &Repo, session: SessionId) -> Result<(), GitError> {
    forget_history(repo, session)?;
    delete(repo, &[format!("refs/coppice/undo/{session}/*")])
}

/// Forgets how a session came to where it is; what was put aside on the way stays.
fn forget_history(repo: &Repo, session: SessionId) -> Result<(), GitError> {
    let checkpoints = format!("refs/coppice/checkpoints/{session}/*");
    delete(
        repo,
        &[
            salvage_ref(session.as_str()),
            hidden::refs(session),
            checkpoints,
            tip_ref(session),
            resolution::proposal_ref(session),
        ],
    )
}

pub(super) fn delete(repo: &Repo, patterns: &[String]) -> Result<(), GitError> {
    let handle = repo.open()?;
    for pattern in patterns {
        let found = handle.references_glob(pattern).map_err(GitError::library(format!("list `{pattern}`")))?;
        for mut reference in found.flatten() {
            reference.delete().map_err(GitError::library(format!("delete `{pattern}`")))?;
        }
    }
    Ok(())
}

/// Moves files that hold no work of anybody to the trash; nothing happens when they do not exist.
pub(crate) fn trash_unsaved(path: &Path, root: &Path) -> Result<(), GitError> {
    match path.symlink_metadata() {
        Ok(_) => move_to_trash(path, root, NAMELESS).map(drop),
        Err(_) => Ok(()),
    }
}

/// What was saved of a trashed worktree; an error when nothing was.
fn saved_commit(trashed: &Trashed) -> Result<Oid, GitError> {
    let saved = trashed.worktree.repo.find_ref(&salvage_ref(trashed.session.as_str()))?;
    saved.ok_or(GitError::NotSaved { session: trashed.session })
}

fn directory(root: &Path) -> PathBuf {
    root.join(".trash")
}

/// Renames to a free name in the trash, `<name>` or `<name>.<number>`; what does not exist leaves an empty directory.
fn move_to_trash(path: &Path, root: &Path, name: &str) -> Result<PathBuf, GitError> {
    let trash = directory(root);
    fs::create_dir_all(&trash).map_err(GitError::io("create", &trash))?;
    for number in 0.. {
        let place = if number == 0 { trash.join(name) } else { trash.join(format!("{name}.{number}")) };
        if place.symlink_metadata().is_ok() {
            continue;
        }
        match fs::rename(path, &place) {
            Ok(()) => return Ok(place),
            // Another removal was quicker to take the name.
            Err(error) if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return fs::create_dir(&place).map(|()| place.clone()).map_err(GitError::io("create", &place));
            }
            Err(error) => return Err(GitError::io("move away", path)(error)),
        }
    }
    Err(GitError::PathTaken { path: trash.join(name) })
}

fn session_of(path: &Path) -> Option<SessionId> {
    let name = path.file_name()?.to_str()?;
    name.split('.').next()?.parse().ok()
}

/// Whether some git directory stands for these files, by their `.git` file.
fn is_registered(path: &Path) -> bool {
    let content = fs::read(path.join(".git")).unwrap_or_default();
    let admin = content.strip_prefix(b"gitdir: ").map(|admin| OsStr::from_bytes(admin.trim_ascii_end()));
    admin.is_some_and(|admin| registration::is_admin_of(Path::new(admin), path))
}

/// Whether a worktree has no files but the one by which git finds its directory.
fn is_empty(path: &Path) -> Result<bool, GitError> {
    let is_git_file =
        |entry: fs::DirEntry| entry.file_name() == ".git" && entry.file_type().is_ok_and(|it| it.is_file());
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.all(|entry| entry.is_ok_and(is_git_file))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(GitError::io("read", path)(error)),
    }
}
