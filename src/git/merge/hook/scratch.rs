//! The temporary checkout in which hooks run.
//!
//! Everything in it is the hooks' to write, so everything is read back by `adopt` as hostile.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::adopt;
use crate::git::command::Git;
use crate::git::include;
use crate::git::include::place::Places;
use crate::git::{GitError, Oid, Worktree};

/// How the names of temporary checkouts begin.
const SCRATCH: &str = ".merge-";

/// How many files of a hooks directory come along that git does not track.
const MOST_UNTRACKED: usize = 256;

/// Whether a directory beside the worktrees is the temporary checkout of a merge.
pub(in crate::git) fn is_scratch(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(SCRATCH.as_bytes())
}

/// A temporary linked worktree at the parent commit, with the content to be committed in its index and files.
pub(super) struct Scratch {
    dir: TempDir,
    pub(super) files: PathBuf,
    git_dir: PathBuf,
}

impl Scratch {
    pub(super) fn new(tree: &Worktree, parent: Oid, content: Oid) -> Result<Self, GitError> {
        // Beside the session's worktree: a whole checkout may not fit into the temporary directory.
        let beside = tree.path.parent().unwrap_or(&tree.path);
        let dir = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(beside);
        let dir = dir.map_err(GitError::io("create a temporary checkout in", beside))?;
        let unique = dir.path().file_name().unwrap_or_default().to_string_lossy().replace(SCRATCH, "coppice-merge-");
        let files = dir.path().join(&unique);
        let scratch = Self { git_dir: tree.repo.common_dir().join("worktrees").join(&unique), files, dir };
        Git::new(&tree.repo, "worktree")
            .args(["add", "--quiet", "--detach", "--no-checkout"])
            .arg(&scratch.files)
            .arg(parent.to_string())
            .run()?;
        fs::create_dir(scratch.objects()).map_err(GitError::io("create", &scratch.objects()))?;
        let git = Git::in_checkout(&scratch.git_dir, &scratch.files, "read-tree").attributes_from(parent);
        git.index(&scratch.index())
            .writes(scratch.dir.path())
            .online()
            .args(["--reset", "-u", &content.to_string()])
            .run()?;
        Ok(scratch)
    }

    /// Copies a hook, and what lies beside it, from the user's checkout as far as the content has none of it.
    pub(super) fn bring(&self, tree: &Worktree, path: &Path, directory: Option<&Path>) -> Result<(), GitError> {
        let Some(checkout) = tree.repo.checkout() else { return Ok(()) };
        let repo = tree.repo.open()?;
        let shown = repo.head().and_then(|head| head.peel_to_tree()).ok();
        let beside = match directory {
            Some(directory) => include::files_below(checkout, directory)?,
            None => Vec::new(),
        };
        let places = Places::open(checkout, &self.files)?;
        let untracked = |path: &&PathBuf| !super::is_tracked(shown.as_ref(), path);
        let hook = path.to_owned();
        for path in std::iter::once(&hook).chain(&beside).filter(untracked).take(MOST_UNTRACKED) {
            // What is in the content stays, and a file that cannot be copied is missed by the hook itself.
            places.copy(path);
        }
        Ok(())
    }

    /// Writes the message where `commit-msg` edits it.
    pub(super) fn write_message(&self, message: &str) -> Result<PathBuf, GitError> {
        let note = self.message();
        fs::write(&note, format!("{}\n", message.trim())).map_err(GitError::io("write", &note))?;
        Ok(note)
    }

    /// The message as the hooks left it.
    pub(super) fn read_message(&self) -> Result<String, GitError> {
        let bytes = adopt::read_file(&self.message()).map_err(GitError::io("read", &self.message()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The tree that the hooks staged.
    pub(super) fn adopt(&self, tree: &Worktree) -> Result<Oid, GitError> {
        adopt::staged_tree(&tree.repo, &self.index(), &self.objects())
    }

    fn message(&self) -> PathBuf {
        self.dir.path().join("COMMIT_EDITMSG")
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    fn objects(&self) -> PathBuf {
        self.dir.path().join("objects")
    }

    /// Not the git directory: whoever writes there decides what our own git runs.
    pub(super) fn writes(&self) -> Vec<PathBuf> {
        vec![self.dir.path().to_owned()]
    }

    /// What `git commit` tells its hooks. Objects are made beside the repository's own, which are read.
    pub(super) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let common = self.git_dir.ancestors().nth(2).unwrap_or(&self.git_dir);
        vec![
            ("GIT_OBJECT_DIRECTORY", self.objects().into_os_string()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", common.join("objects").into_os_string()),
            ("GIT_DIR", self.git_dir.clone().into_os_string()),
            ("GIT_WORK_TREE", self.files.clone().into_os_string()),
            ("GIT_INDEX_FILE", self.index().into_os_string()),
            ("GIT_EDITOR", ":".into()),
        ]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is a worktree without files, which git prunes by itself.
        fs::remove_dir_all(&self.git_dir).ok();
    }
}
