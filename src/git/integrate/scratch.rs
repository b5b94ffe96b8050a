//! The directory beside a worktree in which an integration is prepared, out of the agent's reach.
//!
//! `<root>/.integrate/<session>` holds the files of the exchange, its journal, and `seen/<path>`, copies for git to hash.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tracing::debug;

use super::exchange::Exchange;
use super::journal::Step;
use super::place::{Execution, Place, Seen};
use super::plan::{self, Blob, Edit};
use crate::git::command::Git;
use crate::git::index::mode;
use crate::git::private_index::{adopt_packs, borrow_objects};
use crate::git::{GitError, Oid, Worktree};

/// What a look at the tree came to.
pub(super) enum Comparison {
    /// It is what was merged; these steps bring it to the result.
    AsMerged(Vec<Step>),
    /// These files are something else.
    Changed(Vec<PathBuf>),
}

/// The directory of one parent's integration.
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// An empty one. What an earlier integration has left was undone before.
    pub(super) fn new(parent: &Worktree) -> Result<Self, GitError> {
        let scratch = Self { path: directory(parent) };
        scratch.exchange().create_directories()?;
        fs::create_dir_all(scratch.seen_files()).map_err(GitError::io("create", &scratch.seen_files()))?;
        Ok(scratch)
    }

    /// The one that a killed integration has left.
    pub(super) fn find(parent: &Worktree) -> Option<Self> {
        let path = directory(parent);
        path.symlink_metadata().is_ok().then_some(Self { path })
    }

    pub(super) fn exchange(&self) -> Exchange {
        Exchange::at(&self.path, &self.path)
    }

    fn new_files(&self) -> PathBuf {
        self.exchange().new_files()
    }

    fn seen_files(&self) -> PathBuf {
        self.path.join("seen")
    }

    /// Writes what a checkout of the result would write, for the paths that differ.
    pub(super) fn write_contents(&self, parent: &Worktree, edits: &[Edit]) -> Result<(), GitError> {
        let entries = plan::index_entries(edits.iter());
        if entries.is_empty() {
            return Ok(());
        }
        let (objects, git) = (self.path.join("objects"), |verb| self.git(parent, &self.new_files(), verb));
        borrow_objects(&objects, &parent.repo)?;
        git("update-index").args(["--add", "-z", "--index-info"]).input(entries).run()?;
        let checkout = git("checkout-index").env("GIT_OBJECT_DIRECTORY", &objects).online();
        checkout.args(["--all", "--quiet"]).run()?;
        adopt_packs(&parent.repo, &objects)
    }

    /// Compares the tree with what was merged.
    pub(super) fn compare(&self, parent: &Worktree, place: &Place, edits: Vec<Edit>) -> Result<Comparison, GitError> {
        let modes = Modes::of(parent)?;
        let new_files = Place::open(&self.new_files())?;
        let freed: Vec<_> = edits.iter().filter(|edit| edit.old.is_some()).map(|edit| edit.path.clone()).collect();
        let (mut steps, mut changed, mut doubtful) = (Vec::new(), Vec::new(), Vec::new());
        for Edit { path, old, new } in edits {
            let is = place.look(&path)?;
            let becomes = if new.is_some() { new_files.look(&path)? } else { Seen::Absent };
            if new.is_some() && !matches!(becomes, Seen::File { .. } | Seen::Link { .. }) {
                let detail = format!("`{}` was not written", path.display());
                return Err(GitError::Unreadable { verb: "checkout-index", detail });
            }
            let verdict = match old {
                // The very thing is there already, ignored by git.
                None if is == becomes => continue,
                None => judge_free(&path, is, &freed),
                Some(old) => judge(old, is, modes),
            };
            match verdict {
                Verdict::Same => {}
                Verdict::Doubt(oid) => doubtful.push((path.clone(), oid)),
                Verdict::Other => changed.push(path.clone()),
            }
            let old = if old.is_some() { is } else { Seen::Absent };
            steps.push(Step { path, old, new: becomes });
        }
        changed.extend(self.other_content(parent, place, &steps, doubtful)?);
        changed.sort();
        Ok(if changed.is_empty() { Comparison::AsMerged(steps) } else { Comparison::Changed(changed) })
    }

    /// The files among these whose content is another one, line ends and filters considered. Git hashes copies: in the
    /// tree it could be led to another file.
    fn other_content(
        &self,
        parent: &Worktree,
        place: &Place,
        steps: &[Step],
        doubtful: Vec<(PathBuf, Oid)>,
    ) -> Result<Vec<PathBuf>, GitError> {
        let copies = Place::open(&self.seen_files())?;
        let before: HashMap<&Path, Seen> = steps.iter().map(|step| (step.path.as_path(), step.old)).collect();
        let (mut lines, mut asked, mut other) = (Vec::new(), Vec::new(), Vec::new());
        for (path, oid) in doubtful {
            let to = self.seen_files().join(&path);
            let copied = place.read(&path).is_some_and(|mut file| {
                let above = fs::create_dir_all(to.parent().unwrap_or(&to));
                above.and_then(|()| std::io::copy(&mut file, &mut File::create(&to)?)).is_ok()
            });
            let hash = |seen: Seen| match seen {
                Seen::File { hash, .. } => Some(hash),
                Seen::Absent | Seen::Link { .. } | Seen::Other => None,
            };
            let expected = before.get(path.as_path()).and_then(|seen| hash(*seen));
            if !copied || hash(copies.look(&path)?) != expected {
                other.push(path);
                continue;
            }
            lines.extend(quote(&path));
            asked.push((path, oid));
        }
        if asked.is_empty() {
            return Ok(other);
        }
        let verb = "hash-object";
        let said = self.git(parent, &self.seen_files(), verb).arg("--stdin-paths").input(lines).run()?;
        let found: Vec<_> = said.split(|byte| *byte == b'\n').filter_map(Oid::from_output).collect();
        if found.len() != asked.len() {
            return Err(GitError::Unreadable { verb, detail: "an answer is missing".to_owned() });
        }
        other.extend(asked.into_iter().zip(found).filter(|((_, oid), found)| oid != found).map(|((path, _), _)| path));
        Ok(other)
    }

    /// Removes what is left; only without a journal. What stays behind says nothing and goes with the next one.
    pub(super) fn discard(self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            debug!(%error, path = %self.path.display(), "what prepared an integration stays");
        }
    }

    /// A run of git in one of the directories here, with an index of its own. It is confined as in the parent's worktree:
    /// agents wrote the files.
    fn git(&self, parent: &Worktree, files: &Path, verb: &'static str) -> Git {
        let tree = Worktree { path: files.to_owned(), admin: parent.repo.common_dir().to_owned(), ..parent.clone() };
        Git::in_tree(&tree, verb).index(&self.path.join("index")).writes(&self.path)
    }
}

/// Beside the worktree: on the same file system, and where no agent writes.
fn directory(parent: &Worktree) -> PathBuf {
    let beside = parent.path.parent().unwrap_or(&parent.path);
    place(beside, parent.admin.file_name().unwrap_or_default())
}

/// The directory of one session, beside the worktrees.
pub(super) fn place(beside: &Path, session: &OsStr) -> PathBuf {
    beside.join(".integrate").join(session)
}

/// What a comparison of one file comes to.
enum Verdict {
    Same,
    /// The bytes are not those of the object; a filter may explain it.
    Doubt(Oid),
    Other,
}

/// Whether modes on disk mean anything here.
#[derive(Clone, Copy)]
enum Modes {
    Kept,
    Ignored,
}

impl Modes {
    fn of(parent: &Worktree) -> Result<Self, GitError> {
        let config = parent.repo.open()?.config().map_err(GitError::library("read the configuration"))?;
        Ok(if config.get_bool("core.fileMode").unwrap_or(true) { Self::Kept } else { Self::Ignored })
    }
}

fn judge(expected: Blob, is: Seen, modes: Modes) -> Verdict {
    let is_same = |hash: &[u8]| hash == expected.oid.raw().as_bytes();
    match (is, expected.mode & mode::TYPE) {
        (Seen::Link { hash }, mode::SYMLINK) if is_same(&hash) => Verdict::Same,
        (Seen::File { hash, execution }, mode::REGULAR) => {
            let wanted = if expected.mode & 0o100 == 0 { Execution::Plain } else { Execution::Executable };
            match modes {
                Modes::Kept if wanted != execution => Verdict::Other,
                Modes::Kept | Modes::Ignored if is_same(&hash) => Verdict::Same,
                Modes::Kept | Modes::Ignored => Verdict::Doubt(expected.oid),
            }
        }
        (Seen::Absent | Seen::File { .. } | Seen::Link { .. } | Seen::Other, _) => Verdict::Other,
    }
}

/// Judges a place that should be free. A directory there, or a file above it, may be freed by other steps; if it is not,
/// the step fails.
fn judge_free(path: &Path, is: Seen, freed: &[PathBuf]) -> Verdict {
    let is_freed = || freed.iter().any(|other| other.starts_with(path) || path.starts_with(other));
    match is {
        Seen::Absent => Verdict::Same,
        Seen::Other if is_freed() => Verdict::Same,
        Seen::Other | Seen::File { .. } | Seen::Link { .. } => Verdict::Other,
    }
}

/// A path as `hash-object` reads it: a line, quoted as in C, since a name may hold line ends.
fn quote(path: &Path) -> Vec<u8> {
    let mut line = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => line.extend([b'\\', *byte]),
            b' '..=b'~' => line.push(*byte),
            byte => line.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    line.extend(b"\"\n");
    line
}
