//! The content of a worktree as a tree object, untracked files included, built in a private index.
//!
//! The worktree's own index is copied, so that only what changed is read and hashed, and is never written here.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tempfile::TempDir;

use super::command::Git;
use super::status::{self, Status};
use super::{GitError, Oid, Worktree};

/// Where the content of changed files is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// Into the repository, for a commit.
    Kept,
    /// Beside the private index, gone with it: a look at a diff leaves nothing behind.
    Passing,
}

/// A private index that holds what is in the worktree.
pub(super) struct Staged {
    dir: TempDir,
    objects: Objects,
    pub(super) status: Status,
    /// What is in the worktree and in no commit: nested repositories and files that cannot be read.
    pub(super) left_out: Vec<PathBuf>,
}

/// Stages everything that is not ignored.
pub(super) fn stage(tree: &Worktree, objects: Objects) -> Result<Staged, GitError> {
    let status = status::read(tree)?;
    let dir = tempfile::Builder::new().prefix("coppice-").tempdir_in(&tree.admin);
    let dir = dir.map_err(GitError::io("create a private index in", &tree.admin))?;
    let mut staged = Staged { dir, objects, left_out: status.nested.clone(), status };
    let own = tree.admin.join("index");
    if own.exists() {
        copy_with_time(&own, &staged.index()).map_err(GitError::io("copy", &own))?;
    }
    if objects == Objects::Passing {
        let info = staged.dir.path().join("objects/info");
        borrow_objects(&info, tree.repo.common_dir()).map_err(GitError::io("write", &info))?;
    }
    staged.update(tree)?;
    Ok(staged)
}

impl Staged {
    pub(super) fn index(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    /// A run of git that sees this index, and the objects that only it has.
    pub(super) fn git(&self, tree: &Worktree, verb: &'static str) -> Git {
        let git = Git::in_tree(tree, verb).index(&self.index());
        match self.objects {
            Objects::Kept => git,
            Objects::Passing => git.env("GIT_OBJECT_DIRECTORY", self.dir.path().join("objects")),
        }
    }

    pub(super) fn write_tree(&self, tree: &Worktree) -> Result<Oid, GitError> {
        self.git(tree, "write-tree").run_oid()
    }

    fn update(&mut self, tree: &Worktree) -> Result<(), GitError> {
        let mut list = Vec::new();
        let changed = self.status.changed.iter().map(|changed| &changed.path);
        for path in changed.chain(&self.status.untracked) {
            match can_be_staged(&tree.path.join(path)) {
                true => {
                    list.extend(path.as_os_str().as_bytes());
                    list.push(0);
                }
                false => self.left_out.push(path.clone()),
            }
        }
        if list.is_empty() {
            return Ok(());
        }
        // Explicit paths, because adding a whole directory would take nested repositories along.
        self.git(tree, "update-index").args(["--add", "--remove", "--replace", "-z", "--stdin"]).input(list).run()?;
        Ok(())
    }
}

/// A file and not the environment names the repository's objects: there a colon in the path would end it.
fn borrow_objects(info: &Path, common_dir: &Path) -> io::Result<()> {
    fs::create_dir_all(info)?;
    fs::write(info.join("alternates"), common_dir.join("objects").as_os_str().as_bytes())
}

/// Git tells a file that changed within the clock's tick by comparing its time with that of the index file, so the copy
/// must look as old as the original.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let time = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(time)
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
