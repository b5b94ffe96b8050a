//! Puts the tree of an ended session where the project's spare lies, if nothing about its git directory is in doubt.
//!
//! Git makes it what a checkout gives. Git trusts times for that, which an agent can set, so the tree is used only after
//! `verify` has read every file. What is in doubt goes to the trash instead.

use std::fs;
use std::path::{Path, PathBuf};

use super::{GitError, NAMELESS, Pending, Trashed, move_to_trash, retire, saved_commit};
use crate::git::index::Index;
use crate::git::private_index::{OtherWriters, PrivateIndex};
use crate::git::worktree::{checkout_into, registration, spare};
use crate::git::{Oid, Worktree, attributes};

/// Whether the tree of an ended session may become the spare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeReuse {
    Allowed,
    /// The session's processes could move files into the tree that another session has open for writing: without a mount
    /// of its own for the worktree, a directory that sessions share is on the same one.
    NotIsolated,
}

/// What became of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recycled {
    /// It lies at this place, and is the spare once it is verified.
    Spare(PathBuf),
    /// It is retired, for this reason.
    Doubt { reason: String, left: Pending },
}

/// Everything that the git directory of a worktree may hold; anything else is an operation that was not finished.
const KNOWN: [&str; 10] =
    ["HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "index", "gitdir", "commondir", "locked", "logs", "refs"];
/// Extensions that are a cache of the index's own content, or only speed up reading it.
const HARMLESS: [[u8; 4]; 4] = [*b"TREE", *b"REUC", *b"EOIE", *b"IEOT"];

/// Makes a saved tree the spare of its root, or retires it.
pub fn recycle(trashed: &Trashed, root: &Path, reuse: TreeReuse) -> Result<Recycled, GitError> {
    let saved = saved_commit(trashed)?;
    let tree = &trashed.worktree;
    let directory = spare::directory(root);
    fs::create_dir_all(&directory).map_err(GitError::io("create", &directory))?;
    let doubt = match (reuse, spare::find(&tree.repo, root)) {
        (TreeReuse::NotIsolated, _) => Some("its session ran without namespaces".to_owned()),
        (TreeReuse::Allowed, Some(_)) => Some("there is a spare".to_owned()),
        (TreeReuse::Allowed, None) => check_admin(tree).or_else(|| check_index(tree)),
    };
    if let Some(reason) = doubt {
        return Ok(Recycled::Doubt { reason, left: retire(trashed, root)? });
    }
    // Without its name first: cleaned, it must not pass for the session's work.
    let nameless = Worktree { path: move_to_trash(&tree.path, root, NAMELESS)?, ..tree.clone() };
    // A failing git is a reason for doubt, not a failure of the removal.
    let doubt = prepare(&nameless, saved).unwrap_or_else(|error| Some(error.to_string()));
    if let Some(reason) = doubt {
        registration::remove(&tree.admin)?;
        return Ok(Recycled::Doubt { reason, left: Pending { path: nameless.path, session: None } });
    }
    let place = directory.join(trashed.session.as_str());
    fs::rename(&nameless.path, &place).map_err(GitError::io("move", &nameless.path))?;
    registration::point_admin_to(&tree.admin, &place)?;
    Ok(Recycled::Spare(place))
}

/// Makes the tree what a checkout of the likely next base is, and says why it cannot be.
fn prepare(tree: &Worktree, saved: Oid) -> Result<Option<String>, GitError> {
    registration::lock(&tree.admin, registration::UNVERIFIED)?;
    registration::point_admin_to(&tree.admin, &tree.path)?;
    let commit = likely_base(tree)?;
    if attributes::differ(&tree.repo, tree.attributes, commit)? || attributes::differ(&tree.repo, saved, commit)? {
        return Ok(Some("its attributes are not those of the next session".to_owned()));
    }
    registration::detach(tree, commit)?;
    let tree = &Worktree { base: commit, attributes: commit, ..tree.clone() };
    let private = PrivateIndex::copy_of(tree)?;
    checkout_into(&private, commit, OtherWriters::Possible)?;
    private.checkout("clean")?.args(["--quiet", "-ffdx"]).run()?;
    private.install(OtherWriters::Possible)?;
    // The next session starts a history of its own.
    for left in ["logs", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG"] {
        remove_any(&tree.admin.join(left))?;
    }
    Ok(None)
}

pub(super) fn check_admin(tree: &Worktree) -> Option<String> {
    if !registration::has_own_git_file(tree) {
        return Some("its `.git` file was changed".to_owned());
    }
    if !registration::is_own_admin(tree) {
        return Some("its git directory points elsewhere".to_owned());
    }
    let mut names = fs::read_dir(&tree.admin).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let unknown = names.find(|name| !name.to_str().is_some_and(|name| KNOWN.contains(&name)));
    unknown.map(|name| format!("its git directory holds `{}`", name.display()))
}

/// Flags in the index would hide changed files from the reset.
pub(super) fn check_index(tree: &Worktree) -> Option<String> {
    let index = match read_index(tree) {
        Ok(index) => index,
        Err(reason) => return Some(reason),
    };
    if let Some(name) = index.extensions().iter().find(|name| !HARMLESS.contains(name)) {
        return Some(format!("its index has the extension `{}`", String::from_utf8_lossy(name)));
    }
    index.entries().any(|entry| entry.is_flagged).then(|| "its index has entries that git does not check".to_owned())
}

pub(super) fn read_index(tree: &Worktree) -> Result<Index, String> {
    let bytes = fs::read(tree.admin.join("index")).map_err(|error| error.to_string())?;
    Index::parse(bytes).map_err(|error| error.to_string())
}

/// What the next session most likely starts from: the commit of the user's checkout.
fn likely_base(tree: &Worktree) -> Result<Oid, GitError> {
    let repo = tree.repo.open()?;
    let head = repo.head().and_then(|head| head.peel_to_commit());
    Ok(head.map_or(tree.base, |commit| commit.id().into()))
}

fn remove_any(path: &Path) -> Result<(), GitError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(GitError::io("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
