//! Fills a registered, empty worktree with files copied from the main checkout; git writes only what cannot be copied.
//!
//! The index is git's own work (`read-tree`); the stat words of copied files are patched into it. Whatever goes wrong
//! here leaves a worktree that one `git reset --hard` completes, so a caller treats every error as "let git do it".

mod copy;
mod plan;
pub(crate) mod settings;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tracing::debug;

use super::command::Git;
use super::index::{Entry, Index, IndexError};
use super::private_index::{OtherWriters, PrivateIndex, copy_with_time};
use super::worktree::{Phase, Progress};
use super::{GitError, Worktree, attributes};

pub(crate) use copy::LineEnds;
use copy::Source;
use plan::Plan;
pub(crate) use plan::split;

/// One in this many entries may have lost its stat data before the main index is refreshed, on a private copy.
const STALE_ONE_IN: usize = 50;
/// How many files are looked at to estimate that share.
const SAMPLE: usize = 200;

/// Why a repository is filled by a plain checkout.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsuited {
    #[error("there is no main checkout to copy from")]
    NoCheckout,
    #[error("`{key}` is set to `{value}`")]
    Setting { key: String, value: String },
    #[error("the index cannot be used")]
    Index(#[from] IndexError),
    #[error("copying stopped")]
    Copy(#[from] rustix::io::Errno),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Fills the worktree at its base commit.
pub(crate) fn populate(tree: &Worktree, progress: &mut dyn FnMut(Progress)) -> Result<(), Unsuited> {
    progress(Progress { phase: Phase::Planning, done: 0, total: 0 });
    let checkout = tree.repo.checkout().ok_or(Unsuited::NoCheckout)?;
    let line_ends = settings::check(tree)?;
    let private = PrivateIndex::empty(tree)?;
    private.git("read-tree").arg(tree.base.to_string()).run()?;
    let mut ours = Index::parse(read_index(&private.path())?.bytes)?;
    let attributes = attributes::check(tree, &ours)?;
    let line_ends = if line_ends == LineEnds::Normalised { line_ends } else { attributes.line_ends };

    let read = |path: &Path| -> Result<(Index, Plan), Unsuited> {
        let file = read_index(path)?;
        let main = Index::parse(file.bytes)?;
        let plan = plan::plan(&ours, &main, file.written, &attributes.for_git);
        Ok((main, plan))
    };
    let path = tree.repo.common_dir().join("index");
    let (mut main, mut plan) = read(&path)?;
    if is_stale(&main, &plan, checkout) {
        let refreshed = Refreshed::new(tree, checkout, &path)?;
        (main, plan) = read(&refreshed.path())?;
    }

    let total = ours.len();
    debug!(copies = plan.copies(), rest = plan.rest.len(), ?line_ends, "worktree planned");
    let source = Source { checkout, main: &main, ours: &ours, line_ends };
    let copied = copy::copy(source, &plan, &tree.path, &mut |done| {
        progress(Progress { phase: Phase::Copying, done, total });
    })?;
    progress(Progress { phase: Phase::Copying, done: copied.stats.len(), total });
    let rest = rest_of(&ours, &plan, &copied.failed);
    for (number, stat) in &copied.stats {
        ours.patch(*number, stat);
    }
    fs::write(private.path(), ours.into_bytes()).map_err(GitError::io("write", &private.path()))?;
    if !rest.is_empty() {
        progress(Progress { phase: Phase::CheckingOut, done: copied.stats.len(), total });
        private.checkout("checkout-index")?.args(["-f", "-u", "-z", "--stdin"]).input(rest).run()?;
    }
    Ok(private.install(OtherWriters::None)?)
}

/// Paths that git writes, each ended by a zero.
fn rest_of(ours: &Index, plan: &Plan, failed: &[usize]) -> Vec<u8> {
    let mut paths = Vec::new();
    for number in plan.rest.iter().chain(failed) {
        paths.extend_from_slice(ours.path(*number));
        paths.push(0);
    }
    paths
}

struct IndexFile {
    bytes: Vec<u8>,
    /// The second in which it was written.
    written: i64,
}

fn read_index(path: &Path) -> Result<IndexFile, GitError> {
    let read = || {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        file.read_to_end(&mut bytes)?;
        Ok(IndexFile { bytes, written: metadata.mtime() })
    };
    read().map_err(GitError::io("read", path))
}

/// Estimates whether too many entries would be left to git for the lack of stat data that agree with the files.
fn is_stale(main: &Index, plan: &Plan, checkout: &Path) -> bool {
    let pairs: Vec<_> = plan.batches.iter().flat_map(|batch| &batch.copies).collect();
    let is_changed = |entry: Entry<'_>| {
        let path = checkout.join(OsStr::from_bytes(entry.path));
        !rustix::fs::lstat(&path).is_ok_and(|found| copy::matches(&entry, &found) || is_link(&found))
    };
    let sample: Vec<_> = pairs.iter().step_by((pairs.len() / SAMPLE).max(1)).collect();
    let changed = sample.iter().filter(|pair| is_changed(main.entry(pair.main))).count();
    changed * STALE_ONE_IN > sample.len() || plan.untrusted * STALE_ONE_IN > pairs.len() + plan.untrusted
}

fn is_link(found: &rustix::fs::Stat) -> bool {
    rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Symlink
}

/// A copy of the main index with fresh stat data; the user's own index is never touched.
struct Refreshed {
    dir: TempDir,
}

impl Refreshed {
    fn new(tree: &Worktree, checkout: &Path, index: &Path) -> Result<Self, GitError> {
        let dir = tempfile::Builder::new().prefix("coppice-").tempdir_in(&tree.admin);
        let copy = Self { dir: dir.map_err(GitError::io("create a directory in", &tree.admin))? };
        // A later time would make entries look trustworthy that changed in the second the index was written.
        copy_with_time(index, &copy.path()).map_err(GitError::io("copy", index))?;
        // The status only tells that some files differ from their entries.
        Git::in_checkout(tree.repo.common_dir(), checkout, "update-index")
            .index(&copy.path())
            .writes(copy.dir.path())
            .args(["-q", "--refresh"])
            .output()?;
        Ok(copy)
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("index")
    }
}
