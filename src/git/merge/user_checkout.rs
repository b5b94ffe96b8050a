//! Moves a checkout of the user's from one commit to another.
//!
//! Mostly git does it, in a process that goes on if this one is killed. But a filter of the user's can run code of the
//! repository, and the git directory usually lies below the files; and a filter or a fetch that fails stops git in the midst
//! of the files. So where either may happen, git writes the files that differ into a directory of ours, where a filter can
//! change nothing else, and this process puts copies of them into the checkout.
//! It puts the index in place, too, under git's own lock (`recorded_move`). Filters run in the checkout as it was.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;

use super::checkout::Advance;
use super::hook::create_scratch_directory;
use super::recorded_move::RecordedMove;
use crate::git::command::Git;
use crate::git::index::{Index, Stat, mode};
use crate::git::integrate::apply::{Gate, Stopped};
use crate::git::integrate::journal::Step;
use crate::git::integrate::place::{Place, Seen};
use crate::git::integrate::plan::{self, Blob, Edit};
use crate::git::private_index::{adopt_packs, borrow_objects, copy_if_there};
use crate::git::reach::may_fetch;
use crate::git::{GitError, Oid, Repo, driver, stage};

/// A checkout of the user's, whose files decide about attributes.
pub(super) struct UserCheckout {
    pub(super) repo: Repo,
    pub(super) git_dir: PathBuf,
    pub(super) files: PathBuf,
    /// Where temporary directories are made.
    pub(super) scratch_root: PathBuf,
}

impl UserCheckout {
    /// A run that writes nothing.
    pub(super) fn git(&self, verb: &'static str) -> Git {
        Git::in_checkout(&self.git_dir, &self.files, verb)
    }

    /// Whether git runs programs that the user has named when it writes files.
    pub(super) fn has_filter(&self) -> Result<bool, GitError> {
        driver::has_filter(self.git("config"))
    }

    /// Takes files and index from one commit to another, where no filter runs.
    pub(super) fn move_by_git(&self, from: Oid, to: Oid) -> Result<(), GitError> {
        let lock = self.git_dir.join("index.lock");
        if lock.symlink_metadata().is_ok() {
            return Err(GitError::IndexLocked { path: lock });
        }
        let git = |verb| self.git(verb).writes(&self.git_dir);
        // Its exit status says no more than that some files differ.
        git("update-index").args(["-q", "--ignore-submodules", "--refresh"]).output()?;
        super::checkout::move_tree(self.fetching(git("read-tree").writes(&self.files)), from, to).run().map(drop)
    }

    /// The run with access to content that the repository leaves elsewhere.
    fn fetching(&self, git: Git) -> Git {
        match may_fetch(self.repo.common_dir()) {
            true => git.writes(&self.repo.common_dir().join("objects")).online(),
            false => git,
        }
    }

    /// Asks git whether it would move the checkout.
    pub(super) fn try_move(&self, from: Oid, to: Oid) -> Result<Output, GitError> {
        let index = IndexCopy::new(self)?;
        // Without this, a file that was only touched counts as changed. Its exit status says no more than that.
        index.git("update-index").args(["-q", "--ignore-submodules", "--refresh"]).output()?;
        let git = index.git("read-tree");
        // With filters the files were written before, and content that they need was fetched then.
        let git = if self.has_filter()? { git } else { self.fetching(git) };
        super::checkout::move_tree(git, from, to).arg("--dry-run").output()
    }

    /// Writes the files of a move beside the checkout, which stays as it is.
    pub(super) fn stage(&self, to: &Advance<'_>) -> Result<StagedMove<'_>, GitError> {
        let edits = plan::edits(&self.repo.open()?, to.old, to.new)?;
        let absent = self.list_absent(&edits)?;
        let dir = create_scratch_directory(&self.scratch_root)?;
        let new_files =
            self.write_files(dir.path(), to.new, edits.iter().filter(|edit| !absent.contains(&edit.path)))?;
        let recorded = RecordedMove::create(self, to)?;
        // Copies: a process that a filter left behind can still write what git has written.
        match recorded.prepare_steps(&new_files, edits.iter().filter(|edit| !absent.contains(&edit.path))) {
            Ok(steps) => Ok(StagedMove { recorded, from: to.old, to: to.new, edits, absent, steps }),
            Err(error) => {
                recorded.discard();
                Err(error)
            }
        }
    }

    /// Lets git write what a checkout would write, filters included. Returns where the files are.
    fn write_files<'e>(
        &self,
        dir: &Path,
        commit: Oid,
        edits: impl Iterator<Item = &'e Edit>,
    ) -> Result<PathBuf, GitError> {
        let (files, objects, index) = (dir.join("new"), dir.join("objects"), dir.join("index"));
        fs::create_dir(&files).map_err(GitError::io("create", &files))?;
        let entries = plan::file_entries(edits);
        if entries.is_empty() {
            return Ok(files);
        }
        let git = |verb| self.git(verb).index(&index);
        git("update-index").writes(dir).args(["--add", "-z", "--index-info"]).input(entries).run()?;
        // Not the index: a filter must not choose what is staged. Nor objects, unless git has to fetch some.
        let mut checkout = git("checkout-index").writes(&files).attributes_from(commit).online();
        if may_fetch(self.repo.common_dir()) {
            borrow_objects(&objects, &self.repo)?;
            checkout = checkout.writes(&objects).env("GIT_OBJECT_DIRECTORY", &objects);
        }
        let prefix = [b"--prefix=", files.as_os_str().as_bytes(), b"/"].concat();
        checkout.args(["--all", "--quiet"]).arg(OsStr::from_bytes(&prefix)).run()?;
        adopt_packs(&self.repo, &objects)?;
        Ok(files)
    }

    /// The paths whose entries in the index are not those of a commit.
    pub(super) fn list_differing(&self, commit: Oid) -> Result<HashSet<PathBuf>, GitError> {
        IndexCopy::new(self)?.list_differing(commit)
    }

    /// The paths among these that a sparse checkout has no files of.
    pub(super) fn list_absent(&self, edits: &[Edit]) -> Result<HashSet<PathBuf>, GitError> {
        let sparse = self.git("config").args(["--type=bool", "--get", "core.sparseCheckout"]).output()?;
        let mut absent = HashSet::new();
        if sparse.stdout.trim_ascii() == b"true" {
            let paths: Vec<_> = edits.iter().map(|edit| edit.path.clone()).collect();
            let rules = self.git("sparse-checkout").args(["check-rules", "-z"]);
            let present = split_paths(&rules.input(stage::nul_separated(&paths)).run()?);
            absent = paths.into_iter().filter(|path| !present.contains(path)).collect();
        }
        Ok(absent)
    }

    pub(super) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// The index as it is; empty where there is none.
    pub(super) fn read_index(&self) -> Result<Vec<u8>, GitError> {
        match fs::read(self.index()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(GitError::io("read", &self.index())),
        }
    }
}

/// The files of a move, written and not yet in place.
pub(super) struct StagedMove<'a> {
    recorded: RecordedMove<'a>,
    from: Oid,
    to: Oid,
    edits: Vec<Edit>,
    absent: HashSet<PathBuf>,
    steps: Vec<Step>,
}

impl<'a> StagedMove<'a> {
    /// Puts the files and the index in place. Refused if the index changes meanwhile; after an error nothing has changed.
    pub(super) fn finish(self, gate: Gate<'_>) -> Result<RecordedMove<'a>, Stopped> {
        match self.place_all(gate) {
            Ok(()) => Ok(self.recorded),
            #[cfg(test)]
            Err(Stopped::Killed) => Err(Stopped::Killed),
            Err(stopped) => {
                self.recorded.take_back()?;
                Err(stopped)
            }
        }
    }

    /// Leaves the checkout as it is.
    pub(super) fn abandon(self) {
        self.recorded.discard();
    }

    fn place_all(&self, gate: Gate<'_>) -> Result<(), Stopped> {
        let (from, to) = (self.from.to_string(), self.to.to_string());
        let index = IndexCopy::new(self.recorded.checkout)?;
        // What the user has staged already stays, with its file.
        let differing = index.list_differing(self.to)?;
        // Only the index: no file is looked at, so no filter runs.
        index.git("read-tree").args(["-i", "-m", &from, &to]).run()?;
        let is_absent = |edit: &&Edit| edit.new.is_some() && self.absent.contains(&edit.path);
        let absent: Vec<_> = self.edits.iter().filter(is_absent).map(|edit| edit.path.clone()).collect();
        if !absent.is_empty() {
            let git = index.git("update-index").args(["--skip-worktree", "-z", "--stdin"]);
            git.input(stage::nul_separated(&absent)).run()?;
        }
        let steps: Vec<_> = self.steps.iter().filter(|step| differing.contains(&step.path)).cloned().collect();
        let written: Vec<_> =
            steps.iter().filter(|step| step.new != Seen::Absent).map(|step| step.path.clone()).collect();
        let is_submodule = |edit: &&Edit| {
            let is_due = differing.contains(&edit.path) && !self.absent.contains(&edit.path);
            is_due && edit.new.is_some_and(Blob::is_gitlink)
        };
        let submodules: Vec<_> = self.edits.iter().filter(is_submodule).map(|edit| edit.path.as_path()).collect();
        let updated = |tree: &Place| {
            let stat =
                |path: &PathBuf| Some((path.as_os_str().as_bytes().to_owned(), Stat::from(&tree.stat(path).ok()?)));
            let bytes = fs::read(index.path()).map_err(GitError::io("read", &index.path()))?;
            Ok(with_stats(bytes, &written.iter().filter_map(stat).collect()))
        };
        self.recorded.make(&index.original, steps, &submodules, &updated, gate)
    }
}

/// A copy of the checkout's index, in a directory that a run may write.
struct IndexCopy<'a> {
    checkout: &'a UserCheckout,
    original: Vec<u8>,
    dir: TempDir,
}

impl<'a> IndexCopy<'a> {
    fn new(checkout: &'a UserCheckout) -> Result<Self, GitError> {
        let dir = create_scratch_directory(&checkout.scratch_root)?;
        let copy = Self { checkout, original: checkout.read_index()?, dir };
        copy_if_there(&checkout.index(), &copy.path())?;
        Ok(copy)
    }

    /// The paths whose entries are not those of a commit.
    fn list_differing(&self, commit: Oid) -> Result<HashSet<PathBuf>, GitError> {
        let git = self.git("diff-index").args(["--cached", "--name-only", "--no-renames", "-z"]);
        Ok(split_paths(&git.args([&commit.to_string(), "--"]).run()?))
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    /// A run that works on the copy, and writes it whole: a sparse index is of no use to anybody else.
    fn git(&self, verb: &'static str) -> Git {
        self.checkout.git(verb).index(&self.path()).writes(self.dir.path()).setting("index.sparse=false")
    }
}

/// Tells an index what the file system says about new files. One that only git understands stays as it is, and git looks
/// at these files itself.
fn with_stats(bytes: Vec<u8>, stats: &HashMap<Vec<u8>, Stat>) -> Vec<u8> {
    let Ok(mut index) = Index::parse(bytes.clone()) else { return bytes };
    for number in 0..index.len() {
        let entry = index.entry(number);
        if let Some(stat) = stats.get(entry.path).filter(|_| entry.mode & mode::TYPE != mode::GITLINK) {
            index.patch(number, stat);
        }
    }
    index.into_bytes()
}

fn split_paths(output: &[u8]) -> HashSet<PathBuf> {
    let paths = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| Path::new(OsStr::from_bytes(path)).to_owned()).collect()
}
