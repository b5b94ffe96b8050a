//! A session's worktree: made quickly, found again after a crash, repaired when a person removed part of it.
//!
//! A worktree lies at `<root>/<id>` and its git directory at `<common dir>/worktrees/<id>`. Until it is ready it is
//! locked, so that git neither prunes nor offers it; a creation that was killed is completed by `finish_interrupted`.

#![expect(clippy::disallowed_methods, reason = "`chattr` has no safe call of its own")]

mod health;
mod hook;
pub(super) mod registration;
pub(super) mod spare;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use git2::ErrorCode;
use tracing::{debug, warn};

use super::populate::populate;
use super::private_index::{OtherWriters, PrivateIndex};
use super::{GitError, Oid, Repo, program, removal};
use crate::id::SessionId;

pub use health::{Health, Repaired};

/// Below this many files git's own checkout is as quick as a copy: both mostly wait for processes to start.
const SMALL: u32 = 200;

/// One session's worktree. Nothing is read from its `.git` file: an agent can rewrite that.
#[derive(Debug, Clone)]
pub struct Worktree {
    pub repo: Repo,
    /// The directory that holds the files.
    pub path: PathBuf,
    /// `<common dir>/worktrees/<name>`: this worktree's HEAD and index.
    pub admin: PathBuf,
    /// Short name of the session's branch, `coppice/<id>/<slug>`.
    pub branch: String,
    /// The commit the session started from.
    pub base: Oid,
    /// The only source of attributes and filters: the base, or for a child the base of the root of its family. What an
    /// agent wrote, commit messages included, must not choose how files are checked out.
    pub attributes: Oid,
}

/// What to create.
#[derive(Debug, Clone, Copy)]
pub struct New<'a> {
    /// The directory of all worktrees of the project.
    pub root: &'a Path,
    pub id: SessionId,
    /// The last part of the branch name.
    pub slug: &'a str,
    pub base: Oid,
    /// The commit whose attributes count: the base, unless an agent wrote it.
    pub attributes: Oid,
}

/// A worktree that is ready to work in.
#[derive(Debug)]
pub struct Created {
    pub worktree: Worktree,
    pub method: Method,
}

/// How the files came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The tree of an earlier session was taken over.
    Spare,
    /// Files were copied from the main checkout.
    Populated,
    /// Git wrote all files.
    Checkout,
}

/// Which ways `create_by` may try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    /// A spare, else a copy where it pays, else a checkout.
    Best,
    /// A copy, however small the repository is, else a checkout.
    Populate,
    /// A checkout by git.
    Checkout,
}

/// How far a creation is; reported at most about twenty times a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub phase: Phase,
    /// Files that are there.
    pub done: usize,
    /// All files, or 0 while that is not known.
    pub total: usize,
}

/// What a creation is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The one phase that others who change the repository must wait for: the later ones write only files of the worktree.
    Registering,
    Planning,
    Copying,
    CheckingOut,
}

/// Creates a worktree on a branch of its own, by the quickest way.
pub fn create(repo: &Repo, new: New<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Created, GitError> {
    create_by(repo, new, Ways::Best, progress)
}

/// Creates a worktree on a branch of its own, by the ways the caller allows.
pub fn create_by(
    repo: &Repo,
    new: New<'_>,
    ways: Ways,
    progress: &mut dyn FnMut(Progress),
) -> Result<Created, GitError> {
    progress(Progress { phase: Phase::Registering, done: 0, total: 0 });
    let branch = format!("coppice/{}/{}", new.id, new.slug);
    let tree = open(repo, &new.root.join(new.id.as_str()), &branch, new.base, new.attributes);
    make_root(new.root)?;
    // A session whose tree became the spare takes it back, or puts it out of its way.
    let is_own_spare =
        |admin: &Path| ways == Ways::Best && spare::find(repo, new.root).is_some_and(|spare| spare.admin == admin);
    let is_taken = |path: &Path| path.symlink_metadata().is_ok() && !is_own_spare(path);
    if let Some(taken) = [&tree.path, &tree.admin].into_iter().find(|path| is_taken(path)) {
        return Err(GitError::PathTaken { path: taken.clone() });
    }
    // The branch comes first: from it alone an interrupted creation can be completed.
    create_branch(&tree)?;
    let filled = fill(&tree, new.root, ways, progress).and_then(|method| {
        registration::unlock(&tree.admin)?;
        Ok(method)
    });
    match filled {
        Ok(method) => Ok(Created { worktree: tree, method }),
        Err(error) => {
            if let Err(error) = abandon(&tree, new.root) {
                warn!(%error, worktree = %tree.path.display(), "failed creation not cleaned up");
            }
            Err(error)
        }
    }
}

/// The worktree at `path`, which is named after its session.
pub fn open(repo: &Repo, path: &Path, branch: &str, base: Oid, attributes: Oid) -> Worktree {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let admin = repo.common_dir().join("worktrees").join(name);
    Worktree { repo: repo.clone(), path: path.to_owned(), admin, branch: branch.to_owned(), base, attributes }
}

/// Completes a worktree whose creation was killed at any point after its branch was made.
pub fn finish_interrupted(tree: &Worktree, progress: &mut dyn FnMut(Progress)) -> Result<(), GitError> {
    if tree.repo.find_ref(&tree.branch_ref())?.is_none() {
        return Err(GitError::BranchMissing { branch: tree.branch.clone() });
    }
    registration::remove_locks(&tree.admin)?;
    registration::register_again(tree)?;
    progress(Progress { phase: Phase::CheckingOut, done: 0, total: 0 });
    if checkout(tree, OtherWriters::None).is_err() {
        // After a power failure the index can be cut short; without one git writes all files.
        registration::remove_index(&tree.admin)?;
        checkout(tree, OtherWriters::None)?;
    }
    hook::post_checkout(tree)?;
    registration::unlock(&tree.admin)
}

impl Worktree {
    /// Full ref name of the session's branch.
    pub(crate) fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// The session it belongs to, after which its git directory is named.
    pub(crate) fn session(&self) -> Option<SessionId> {
        self.admin.file_name()?.to_str()?.parse().ok()
    }

    /// The same worktree, for work that must not be given up once it has begun.
    pub(super) fn unstoppable(&self) -> Self {
        Self { repo: self.repo.unstoppable(), ..self.clone() }
    }
}

/// Registers a worktree whose branch exists and writes its files; it stays locked.
pub(super) fn fill(
    tree: &Worktree,
    root: &Path,
    ways: Ways,
    progress: &mut dyn FnMut(Progress),
) -> Result<Method, GitError> {
    let method = match ways {
        Ways::Best if spare::take(tree, root, progress)? => Method::Spare,
        Ways::Best | Ways::Populate | Ways::Checkout => {
            registration::register(tree)?;
            write_files(tree, ways, progress)?
        }
    };
    hook::post_checkout(tree)?;
    Ok(method)
}

fn write_files(tree: &Worktree, ways: Ways, progress: &mut dyn FnMut(Progress)) -> Result<Method, GitError> {
    let is_worth_it = match ways {
        Ways::Best => main_entries(&tree.repo) >= SMALL,
        Ways::Populate => true,
        Ways::Checkout => false,
    };
    if is_worth_it {
        match populate(tree, progress) {
            Ok(()) => return Ok(Method::Populated),
            Err(reason) => debug!(%reason, "worktree is checked out by git"),
        }
        registration::remove_locks(&tree.admin)?;
    }
    progress(Progress { phase: Phase::CheckingOut, done: 0, total: 0 });
    checkout(tree, OtherWriters::None)?;
    Ok(Method::Checkout)
}

/// Makes files and index equal to the branch, whatever is there.
pub(super) fn checkout(tree: &Worktree, others: OtherWriters) -> Result<(), GitError> {
    let missing = || GitError::BranchMissing { branch: tree.branch.clone() };
    let tip = tree.repo.find_ref(&tree.branch_ref())?.ok_or_else(missing)?;
    let private = PrivateIndex::copy_of(tree)?;
    checkout_into(&private, tip, others)?;
    private.install(others)
}

/// Makes a worktree and its repository know each other again after the repository was moved or cloned anew.
pub fn link_again(tree: &Worktree) -> Result<(), GitError> {
    let is_new = !tree.mend_history()?.is_empty();
    registration::point_to(tree)?;
    if is_new { registration::unlock(&tree.admin) } else { Ok(()) }
}

/// Makes files and a private index equal to a commit, whatever is there.
pub(super) fn checkout_into(private: &PrivateIndex, commit: Oid, others: OtherWriters) -> Result<(), GitError> {
    let git = private.checkout("read-tree")?.args(["--reset", "-u", "--no-recurse-submodules"]);
    git.arg(commit.to_string()).run()?;
    match others {
        OtherWriters::Possible => private.check_content(commit),
        OtherWriters::None => Ok(()),
    }
}

fn create_branch(tree: &Worktree) -> Result<(), GitError> {
    let name = tree.branch_ref();
    if !git2::Reference::is_valid_name(&name) {
        return Err(GitError::InvalidBranch { branch: tree.branch.clone() });
    }
    let repo = tree.repo.open()?;
    let made = repo.reference(&name, tree.base.raw(), false, "branch: created for a session");
    match made.map(drop).map_err(|error| (error.code(), error)) {
        Ok(()) => Ok(()),
        Err((ErrorCode::Exists, _)) => Err(GitError::BranchTaken { branch: tree.branch.clone() }),
        Err((_, source)) => {
            // A branch named `coppice` is a file where the branches below it need a directory.
            tree.repo.check_namespace()?;
            Err(GitError::library(format!("create the branch `{}`", tree.branch))(source))
        }
    }
}

/// How many files the main checkout has, by the header of its index.
fn main_entries(repo: &Repo) -> u32 {
    use std::io::Read;
    let mut header = [0; 12];
    let read = fs::File::open(repo.common_dir().join("index")).and_then(|mut file| file.read_exact(&mut header));
    match read {
        Ok(()) => u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
        Err(_) => 0,
    }
}

fn make_root(root: &Path) -> Result<(), GitError> {
    if root.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(root).map_err(GitError::io("create", root))?;
    // Tells ext4 to spread the worktrees over the disk: it is slow to create files where many were deleted just
    // before. Other file systems refuse, and lose nothing.
    let spread =
        Command::new("chattr").env("PATH", program::search_path()).arg("+T").arg(root).stdin(Stdio::null()).output();
    debug!(succeeded = spread.is_ok_and(|output| output.status.success()), "worktree root marked");
    Ok(())
}

/// Takes back a creation that failed: nothing of a session has happened in it.
fn abandon(tree: &Worktree, root: &Path) -> Result<(), GitError> {
    removal::trash_unsaved(&tree.path, root)?;
    registration::remove(&tree.admin)?;
    let repo = tree.repo.open()?;
    let found = repo.find_reference(&tree.branch_ref());
    found.and_then(|mut branch| branch.delete()).map_err(GitError::library("delete the branch of a failed creation"))
}
