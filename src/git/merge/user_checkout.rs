//! Moves a checkout of the user's from one commit to another.
//!
//! Mostly git does it, in a process that goes on if this one is killed. But a filter of the user's can run code of the
//! repository, and the git directory usually lies below the files. So with filters git writes the files that differ into
//! a directory of ours, where a filter can change nothing else, and this process puts them into the checkout. It puts the
//! index in place, too, under git's own lock. Filters run in the checkout as it was.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;

use super::hook::create_scratch_directory;
use crate::git::command::Git;
use crate::git::index::{Index, Stat, mode};
use crate::git::integrate::place::Place;
use crate::git::integrate::plan::{self, Blob, Edit};
use crate::git::private_index::{IndexLock, adopt_packs, borrow_objects, copy_with_time};
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
    pub(super) fn stage(&self, from: Oid, to: Oid) -> Result<StagedMove<'_>, GitError> {
        let edits = plan::edits(&self.repo.open()?, from, to)?;
        let absent = self.list_absent(&edits)?;
        let dir = create_scratch_directory(&self.scratch_root)?;
        let staged = StagedMove { checkout: self, from, to, edits, absent, dir };
        staged.write_files()?;
        Ok(staged)
    }

    /// The paths among these that a sparse checkout has no files of.
    fn list_absent(&self, edits: &[Edit]) -> Result<HashSet<PathBuf>, GitError> {
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

    fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// The index as it is; empty where there is none.
    fn read_index(&self) -> Result<Vec<u8>, GitError> {
        match fs::read(self.index()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(GitError::io("read", &self.index())),
        }
    }
}

/// The files of a move, written and not yet in place.
pub(super) struct StagedMove<'a> {
    checkout: &'a UserCheckout,
    from: Oid,
    to: Oid,
    edits: Vec<Edit>,
    absent: HashSet<PathBuf>,
    dir: TempDir,
}

impl StagedMove<'_> {
    /// Puts the files and the index in place. Refused if the index changes meanwhile.
    pub(super) fn finish(self) -> Result<(), GitError> {
        let (from, to) = (self.from.to_string(), self.to.to_string());
        let index = IndexCopy::new(self.checkout)?;
        // What the user has staged already stays, with its file.
        let differing = index.git("diff-index").args(["--cached", "--name-only", "--no-renames", "-z", &to]).run()?;
        let differing = split_paths(&differing);
        // Only the index: no file is looked at, so no filter runs.
        index.git("read-tree").args(["-i", "-m", &from, &to]).run()?;
        let is_absent = |edit: &&Edit| edit.new.is_some() && self.absent.contains(&edit.path);
        let absent: Vec<_> = self.edits.iter().filter(is_absent).map(|edit| edit.path.clone()).collect();
        if !absent.is_empty() {
            let git = index.git("update-index").args(["--skip-worktree", "-z", "--stdin"]);
            git.input(stage::nul_separated(&absent)).run()?;
        }
        let lock = IndexLock::take(&self.checkout.git_dir)?;
        if self.checkout.read_index()? != index.original {
            return Err(lock.refusal());
        }
        let is_due = |edit: &&Edit| differing.contains(&edit.path) && !self.absent.contains(&edit.path);
        let due: Vec<_> = self.edits.iter().filter(is_due).collect();
        let stats = self.place_files(&due)?;
        let bytes = fs::read(index.path()).map_err(GitError::io("read", &index.path()))?;
        lock.install(&with_stats(bytes, &stats), None)
    }

    /// Lets git write what a checkout would write, filters included.
    fn write_files(&self) -> Result<(), GitError> {
        let (files, objects, index) =
            (self.new_files(), self.dir.path().join("objects"), self.dir.path().join("index"));
        fs::create_dir(&files).map_err(GitError::io("create", &files))?;
        let is_written = |edit: &&Edit| !self.absent.contains(&edit.path) && !edit.new.is_some_and(Blob::is_gitlink);
        let entries = plan::index_entries(self.edits.iter().filter(is_written));
        if entries.is_empty() {
            return Ok(());
        }
        let git = |verb| self.checkout.git(verb).index(&index);
        git("update-index").writes(self.dir.path()).args(["--add", "-z", "--index-info"]).input(entries).run()?;
        // Not the index: a filter must not choose what is staged. Nor objects, unless git has to fetch some.
        let mut checkout = git("checkout-index").writes(&files).attributes_from(self.to).online();
        if may_fetch(self.checkout.repo.common_dir()) {
            borrow_objects(&objects, &self.checkout.repo)?;
            checkout = checkout.writes(&objects).env("GIT_OBJECT_DIRECTORY", &objects);
        }
        let prefix = [b"--prefix=", files.as_os_str().as_bytes(), b"/"].concat();
        checkout.args(["--all", "--quiet"]).arg(OsStr::from_bytes(&prefix)).run()?;
        adopt_packs(&self.checkout.repo, &objects)
    }

    /// Replaces files of the checkout, in git's order: what only goes makes room for what comes.
    fn place_files(&self, edits: &[&Edit]) -> Result<HashMap<Vec<u8>, Stat>, GitError> {
        let (new, tree) = (Place::open(&self.new_files())?, Place::open(&self.checkout.files)?);
        let mut stats = HashMap::new();
        let (gone, coming): (Vec<_>, Vec<_>) = edits.iter().copied().partition(|edit| edit.new.is_none());
        for Edit { path, old, .. } in gone {
            match old.is_some_and(Blob::is_gitlink) {
                // It stays if it holds anything.
                true => drop(tree.remove_directory(path)),
                false => tree.remove_file(path).map_err(|errno| tree.error("remove", path, errno))?,
            }
            tree.remove_empty_parents(path);
        }
        for Edit { path, old, new: blob } in coming {
            let failed = |errno| tree.error("replace", path, errno);
            if blob.is_some_and(Blob::is_gitlink) {
                tree.create_directory(path).map_err(failed)?;
                continue;
            }
            match old {
                Some(old) if !old.is_gitlink() => tree.remove_file(path).map_err(failed)?,
                // An empty directory gives way; anything else was refused before.
                Some(_) | None => drop(tree.remove_empty(path)),
            }
            let found = new.copy_to(path, &tree).map_err(GitError::io("write", &self.checkout.files.join(path)))?;
            stats.insert(path.as_os_str().as_bytes().to_owned(), Stat::from(&found));
        }
        Ok(stats)
    }

    fn new_files(&self) -> PathBuf {
        self.dir.path().join("new")
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
        let (own, copy) = (checkout.index(), Self { checkout, original: checkout.read_index()?, dir });
        match copy_with_time(&own, &copy.path()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(GitError::io("copy", &own)(error)),
            Ok(()) | Err(_) => Ok(copy),
        }
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
