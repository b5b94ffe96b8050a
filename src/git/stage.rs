//! The content of a worktree as a tree object, untracked files included, built in a private index.
//!
//! The worktree's own index is copied, so that only what changed is read and hashed, and is never written here.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Delta, FileMode, ObjectType, Repository};
use rustix::fs::{Access, access};

use super::command::{self, Git};
use super::private_index::{OtherWriters, PrivateIndex};
use super::status::{self, Changed, State, Status};
use super::{GitError, Oid, Worktree};

/// What the content of a worktree is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A commit on the branch; the private index becomes the worktree's own.
    Checkpoint,
    /// A commit beside the branch.
    Snapshot,
    /// A comparison: content is written beside the private index and gone with it.
    Look,
}

/// A private index that holds what is in the worktree.
pub(super) struct Staged {
    private: PrivateIndex,
    purpose: Purpose,
    pub(super) status: Status,
    /// What is in the worktree and in no commit: nested repositories and what cannot be read.
    pub(super) left_out: Vec<PathBuf>,
}

/// Stages everything that is not ignored, and of what is ignored the files that are named.
pub(super) fn stage(tree: &Worktree, purpose: Purpose, ignored: &[PathBuf]) -> Result<Staged, GitError> {
    let private = PrivateIndex::copy_of(tree)?;
    // The copy may be refreshed: what git finds unchanged it need not read again.
    let git = |verb| private.git(verb).env("GIT_OPTIONAL_LOCKS", "1");
    let status = status::read_session(tree, git, &private.path())?;
    stage_in(private, tree, status, purpose, ignored)
}

/// Stages what a status lists, which may be less than there is.
pub(super) fn stage_of(
    tree: &Worktree,
    status: Status,
    purpose: Purpose,
    ignored: &[PathBuf],
) -> Result<Staged, GitError> {
    stage_in(PrivateIndex::copy_of(tree)?, tree, status, purpose, ignored)
}

fn stage_in(
    private: PrivateIndex,
    tree: &Worktree,
    status: Status,
    purpose: Purpose,
    ignored: &[PathBuf],
) -> Result<Staged, GitError> {
    let left_out = [status.nested.clone(), status.unreadable.clone()].concat();
    let mut staged = Staged { private, purpose, left_out, status };
    staged.update(tree, ignored)?;
    Ok(staged)
}

impl Staged {
    /// A run of git that sees this index, and the objects that only it has.
    pub(super) fn git(&self, verb: &'static str) -> Git {
        let git = self.private.git(verb);
        // Nobody reads the trailer of an index that is gone in a moment; hashing it costs as much as writing it.
        match self.purpose {
            Purpose::Checkpoint => git,
            Purpose::Snapshot | Purpose::Look => git.setting("index.skipHash=true"),
        }
    }

    /// The tree of what is staged, in the repository.
    pub(super) fn write_tree(&self) -> Result<Oid, GitError> {
        self.private.write_tree()
    }

    /// Makes the private index the worktree's own, and its objects the repository's.
    pub(super) fn install(&self) -> Result<(), GitError> {
        self.private.adopt_objects()?;
        self.private.install(OtherWriters::Possible)
    }

    /// Takes paths out of the index again.
    pub(super) fn leave_out(&mut self, paths: Vec<PathBuf>) -> Result<(), GitError> {
        self.remove(&paths)?;
        self.left_out.extend(paths);
        Ok(())
    }

    fn update(&mut self, tree: &Worktree, ignored: &[PathBuf]) -> Result<(), GitError> {
        let deleted = |changed: &&Changed| changed.unstaged == State::Deleted;
        let (gone, present): (Vec<_>, Vec<_>) = self.status.changed.iter().partition(deleted);
        // A path below a link that has taken the place of its directory: git would refuse to look at it again.
        let is_below_link = |path: &PathBuf| path.ancestors().skip(1).any(|parent| tree.path.join(parent).is_symlink());
        let hidden = gone.iter().map(|changed| changed.path.clone());
        let is_hidden = |path: &PathBuf| tree.path.join(path).symlink_metadata().is_ok() || is_below_link(path);
        let (hidden, gone): (Vec<_>, Vec<_>) = hidden.partition(is_hidden);
        let present = present.into_iter().map(|changed| &changed.path).chain(&self.status.untracked);
        let present = present.chain(ignored).cloned();
        let (can, cannot): (Vec<_>, Vec<_>) = present.partition(|path| can_be_staged(&tree.path.join(path)));
        self.left_out.extend(cannot);
        self.remove(&hidden)?;
        self.add(&[gone, can].concat())
    }

    /// Stages explicit paths: adding a whole directory would take nested repositories along.
    fn add(&mut self, paths: &[PathBuf]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let verb = "update-index";
        let git = self.git(verb).args(["--add", "--remove", "--replace", "-z", "--stdin"]);
        let output = git.input(nul_separated(paths)).output()?;
        if !output.status.success() {
            return Err(command::failed(verb, &output));
        }
        // Names that no commit can hold, such as `git~1`. A name may have several lines.
        if !output.stderr.is_empty() {
            let is_ignored = |path: &&PathBuf| {
                let line = [b"Ignoring path ", path.as_os_str().as_bytes(), b"\n"].concat();
                output.stderr.windows(line.len()).any(|window| window == line)
            };
            self.left_out.extend(paths.iter().filter(is_ignored).cloned());
        }
        Ok(())
    }

    fn remove(&self, paths: &[PathBuf]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let git = self.git("update-index").args(["--force-remove", "-z", "--stdin"]);
        git.input(nul_separated(paths)).run().map(drop)
    }
}

/// One path that differs between two trees.
pub(super) struct Difference {
    pub(super) path: PathBuf,
    pub(super) delta: Delta,
    is_gitlink: bool,
}

/// Compares two trees, without looking for renames.
pub(super) fn differences(repo: &Repository, before: Oid, after: Oid) -> Result<Vec<Difference>, GitError> {
    let compare = || {
        let peel = |oid: Oid| repo.find_object(oid.raw(), None)?.peel_to_tree();
        repo.diff_tree_to_tree(Some(&peel(before)?), Some(&peel(after)?), None)
    };
    let diff = compare().map_err(GitError::library("compare two trees"))?;
    let found = diff.deltas().filter_map(|delta| {
        let bytes = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes())?;
        let is_gitlink = delta.new_file().mode() == FileMode::Commit;
        Some(Difference { path: PathBuf::from(OsStr::from_bytes(bytes)), delta: delta.status(), is_gitlink })
    });
    Ok(found.collect())
}

/// The nested repositories that `after` records and `before` does not.
pub(super) fn added_gitlinks(repo: &Repository, before: Oid, after: Oid) -> Result<Vec<PathBuf>, GitError> {
    let all = differences(repo, before, after)?.into_iter();
    let added = all.filter(|difference| difference.is_gitlink && difference.delta == Delta::Added);
    Ok(added.map(|difference| difference.path).collect())
}

/// The nested repositories that `before` records where `after` has a file or a directory.
pub(super) fn replaced_gitlinks(repo: &Repository, before: Oid, after: Oid) -> Result<Vec<PathBuf>, GitError> {
    let peel = |oid: Oid| repo.find_object(oid.raw(), None).and_then(|object| object.peel_to_tree());
    let trees = peel(before).and_then(|before| Ok((before, peel(after)?)));
    let (before, after) = trees.map_err(GitError::library("compare two trees"))?;
    let mut paths: Vec<_> = differences(repo, before.id().into(), after.id().into())?
        .into_iter()
        .map(|difference| difference.path)
        .filter(|path| {
            let kind = |tree: &git2::Tree<'_>| tree.get_path(path).ok().and_then(|entry| entry.kind());
            kind(&before) == Some(ObjectType::Commit) && !matches!(kind(&after), None | Some(ObjectType::Commit))
        })
        .collect();
    paths.dedup();
    Ok(paths)
}

/// Paths as git reads them with `-z --stdin`.
pub(super) fn nul_separated(paths: &[PathBuf]) -> Vec<u8> {
    paths.iter().flat_map(|path| path.as_os_str().as_bytes().iter().copied().chain([0])).collect()
}

/// One unreadable file or socket must not keep the rest of the work from being saved. What is gone counts as readable:
/// its absence is what gets staged.
fn can_be_staged(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return true };
    let kind = metadata.file_type();
    match kind.is_file() {
        true => access(path, Access::READ_OK).is_ok(),
        false => kind.is_symlink() || kind.is_dir(),
    }
}
