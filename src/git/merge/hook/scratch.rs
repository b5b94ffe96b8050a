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
use crate::git::private_index::{adopt_packs, borrow_objects};
use crate::git::worktree::registration;
use crate::git::{GitError, Oid, Worktree};

/// How the names of temporary checkouts begin.
const SCRATCH: &str = ".merge-";

/// How many files of a hooks directory come along that git does not track.
const MOST_UNTRACKED: usize = 256;

/// Whether a directory beside the worktrees is the temporary checkout of a merge.
pub(in crate::git) fn is_scratch(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(SCRATCH.as_bytes())
}

/// Makes a temporary directory of a merge: beside the session's worktree, because a whole checkout may not fit into the
/// system's own place for such.
pub(in super::super) fn create_scratch_directory(beside: &Path) -> Result<TempDir, GitError> {
    let dir = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(beside);
    dir.map_err(GitError::io("create a temporary directory in", beside))
}

/// A temporary linked worktree at the parent commit, with the content to be committed in its index and files.
pub(super) struct Scratch {
    dir: TempDir,
    pub(super) files: PathBuf,
    git_dir: PathBuf,
}

impl Scratch {
    pub(super) fn new(tree: &Worktree, parent: Oid, content: Oid) -> Result<Self, GitError> {
        let dir = create_scratch_directory(tree.path.parent().unwrap_or(&tree.path))?;
        let unique = dir.path().file_name().unwrap_or_default().to_string_lossy().replace(SCRATCH, "coppice-merge-");
        let files = dir.path().join(&unique);
        let scratch = Self { git_dir: tree.repo.common_dir().join("worktrees").join(&unique), files, dir };
        Git::new(&tree.repo, "worktree")
            .args(["add", "--quiet", "--detach", "--no-checkout", "--lock", "--reason", registration::MERGING])
            .arg(&scratch.files)
            .arg(parent.to_string())
            .run()?;
        borrow_objects(&scratch.objects(), &tree.repo)?;
        let (path, admin) = (scratch.files.clone(), scratch.git_dir.clone());
        // An agent wrote the content, and so perhaps what a filter runs.
        let files = Worktree { path, admin, base: parent, attributes: parent, ..tree.clone() };
        let git = Git::in_tree(&files, "read-tree").index(&scratch.index()).writes(scratch.dir.path());
        let git = git.env("GIT_OBJECT_DIRECTORY", scratch.objects()).online();
        git.args(["--reset", "-u", &content.to_string()]).run()?;
        // Before the hooks, which may write there what they like.
        adopt_packs(&tree.repo, &scratch.objects())?;
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

    /// What hooks may write. Not the git directory: whoever writes there decides what our own git runs.
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What `git commit` tells its hooks. Objects are made beside the repository's own, which are read.
    pub(super) fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("GIT_OBJECT_DIRECTORY", self.objects().into_os_string()),
            ("GIT_DIR", self.git_dir.clone().into_os_string()),
            ("GIT_WORK_TREE", self.files.clone().into_os_string()),
            ("GIT_INDEX_FILE", self.index().into_os_string()),
            ("GIT_EDITOR", ":".into()),
        ]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is a locked worktree without files, which goes when the daemon starts again.
        fs::remove_dir_all(&self.git_dir).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::removal;
    use crate::git::testkit::Sandbox;

    #[test]
    fn what_a_killed_merge_left_goes_with_the_next_start() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        let root = sandbox.root().join("trees");
        let worktrees = || sandbox.git(&["worktree", "list"]).lines().count();
        std::mem::forget(Scratch::new(&tree, sandbox.head(), sandbox.head()).unwrap());
        std::mem::forget(create_scratch_directory(&root).unwrap());
        sandbox.git(&["worktree", "prune"]);
        assert_eq!(worktrees(), 3);
        removal::tidy(&tree.repo, &root).unwrap();
        assert_eq!(worktrees(), 2);
        let names = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(!names.into_iter().any(|name| is_scratch(&name)));
    }
}
