//! The checkouts that show a branch, and moving the branch together with them.
//!
//! Order: the ref is locked and its old value checked, then files and index of each checkout move, then the ref. A kill
//! in between frees the lock, because its holder is a child that ends with our pipe, and leaves the merged content
//! staged on the old commit: nothing is lost, and the same merge run again completes it. The other order would leave a
//! checkout whose next commit reverts the merge.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};

use git2::{Delta, Repository};

use super::{Refusal, short};
use crate::git::command::{self, Git};
use crate::git::{GitError, Oid, Repo, stage, status};

/// A checkout: files with an index and a head.
pub(super) struct Checkout {
    pub(super) git_dir: PathBuf,
    pub(super) files: PathBuf,
    /// The commit whose attributes count; none where the files decide, in a checkout of the user.
    pub(super) attributes: Option<Oid>,
}

/// A ref that moves from one commit to another.
pub(super) struct Advance<'a> {
    pub(super) name: &'a str,
    pub(super) old: Oid,
    pub(super) new: Oid,
    /// For the reflog.
    pub(super) why: &'a str,
}

/// Finds every checkout whose head is the branch `name`, at present `commit`.
pub(super) fn showing(repo: &Repo, name: &str, commit: Oid) -> Vec<Checkout> {
    // The worktree of another session is as hostile as this one.
    let attributes = name.starts_with("refs/heads/coppice/").then_some(commit);
    let head = format!("ref: {name}");
    let shows =
        |git_dir: &Path| fs::read(git_dir.join("HEAD")).is_ok_and(|text| text.trim_ascii_end() == head.as_bytes());
    let main = repo.checkout().map(|files| (repo.common_dir().to_owned(), files.to_owned()));
    let all = main.into_iter().chain(linked(repo.common_dir()));
    all.filter(|(git_dir, files)| shows(git_dir) && files.is_dir())
        .map(|(git_dir, files)| Checkout { git_dir, files, attributes })
        .collect()
}

/// The linked worktrees, by git directory and files.
pub(super) fn linked(common_dir: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let git_dir = entry.path();
            let text = fs::read(git_dir.join("gitdir")).ok()?;
            // Relative to the git directory when `worktree.useRelativePaths` is set.
            let git_file = git_dir.join(OsStr::from_bytes(text.trim_ascii_end()));
            Some((git_dir, git_file.parent()?.to_owned()))
        })
        .collect()
}

/// Whether an operation is under way that will write the branch when it ends.
pub(super) fn busy(common_dir: &Path, name: &str, showing: &[Checkout]) -> Option<Refusal> {
    let refusal = |checkout: &Path, operation| Some(Refusal::Busy { checkout: checkout.to_owned(), operation });
    for Checkout { git_dir, files, .. } in showing {
        for (file, operation) in
            [("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")]
        {
            if git_dir.join(file).exists() {
                return refusal(files, operation);
            }
        }
    }
    let all = linked(common_dir).into_iter().chain([(common_dir.to_owned(), common_dir.to_owned())]);
    let short = short(name);
    for (git_dir, files) in all {
        for (file, value, operation) in [
            ("rebase-merge/head-name", name, "rebase"),
            ("rebase-apply/head-name", name, "rebase"),
            ("BISECT_START", short.as_str(), "bisect"),
        ] {
            if fs::read(git_dir.join(file)).is_ok_and(|text| text.trim_ascii_end() == value.as_bytes()) {
                return refusal(&files, operation);
            }
        }
    }
    None
}

impl Checkout {
    fn git(&self, verb: &'static str) -> Git {
        let git = Git::in_checkout(&self.git_dir, &self.files, verb);
        match self.attributes {
            Some(commit) => git.attributes_from(commit),
            None => git,
        }
    }

    /// Why this checkout cannot go from one tree to the other without losing something local.
    pub(super) fn refusal(&self, repo: &Repository, before: Oid, after: Oid) -> Result<Option<Refusal>, GitError> {
        let local = |files| Ok(Some(Refusal::LocalChanges { checkout: self.files.clone(), files }));
        let ignored = self.ignored_in_the_way(repo, before, after)?;
        if !ignored.is_empty() {
            return local(ignored);
        }
        // Without this, a file that was only touched counts as changed. Its exit status says no more than that.
        self.git("update-index").args(["-q", "--ignore-submodules", "--refresh"]).output()?;
        let dry = self.move_files(before, after).arg("--dry-run").output()?;
        if dry.status.success() {
            return Ok(None);
        }
        let files = self.local_changes(repo, before, after)?;
        if files.is_empty() {
            return Err(command::failed("read-tree", &dry));
        }
        local(files)
    }

    fn move_files(&self, from: Oid, to: Oid) -> Git {
        let git = self.git("read-tree").online();
        git.args(["-m", "-u", "--no-recurse-submodules", &from.to_string(), &to.to_string()])
    }

    /// Files of the user that the move would touch; also those in the way of a directory, and below a file.
    fn local_changes(&self, repo: &Repository, before: Oid, after: Oid) -> Result<Vec<PathBuf>, GitError> {
        let status = status::read_with(self.git("status"))?;
        let touched: Vec<_> =
            stage::differences(repo, before, after)?.into_iter().map(|difference| difference.path).collect();
        let local = status.changed.into_iter().map(|changed| changed.path).chain(status.untracked).chain(status.nested);
        Ok(local
            .filter(|path| touched.iter().any(|other| other.starts_with(path) || path.starts_with(other)))
            .collect())
    }

    /// Git overwrites ignored files without a word, but they are the user's.
    fn ignored_in_the_way(&self, repo: &Repository, before: Oid, after: Oid) -> Result<Vec<PathBuf>, GitError> {
        let differences = stage::differences(repo, before, after)?;
        let added = differences.into_iter().filter(|difference| difference.delta == Delta::Added);
        let mut present: Vec<_> = added.filter_map(|difference| self.in_the_way(&difference.path)).collect();
        present.dedup();
        if present.is_empty() {
            return Ok(present);
        }
        // The one command that reads paths as patterns and takes no order to read them literally.
        let list: Vec<_> = present.iter().map(|path| Path::new(".").join(path)).collect();
        let git = self.git("check-ignore").env("GIT_LITERAL_PATHSPECS", "0").args(["-z", "--stdin"]);
        let output = git.input(stage::nul_separated(&list)).output()?;
        match output.status.code() {
            Some(0 | 1) => {
                let paths = output.stdout.split(|byte| *byte == 0).filter_map(|path| path.strip_prefix(b"./"));
                Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
            }
            _ => Err(command::failed("check-ignore", &output)),
        }
    }

    /// What stands where `path` is to be written: something at the path itself, or a file in place of a directory.
    fn in_the_way(&self, path: &Path) -> Option<PathBuf> {
        let mut parents: Vec<_> = path.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
        parents.reverse();
        parents.into_iter().find_map(|part| {
            let metadata = fs::symlink_metadata(self.files.join(part)).ok()?;
            (part == path || !metadata.is_dir()).then(|| part.to_owned())
        })
    }
}

/// Moves the ref and the checkouts that show it; none when done, else why nothing moved.
pub(super) fn advance(repo: &Repo, to: &Advance<'_>, checkouts: &[Checkout]) -> Result<Option<Refusal>, GitError> {
    let lock = match RefLock::take(repo, to) {
        Err(GitError::RefMoved { .. }) => return Ok(Some(Refusal::TargetMoved { branch: short(to.name) })),
        lock => lock?,
    };
    let handle = repo.open()?;
    for (moved, checkout) in checkouts.iter().enumerate() {
        // Looked at again under the lock: time has passed since the first look.
        let stopped = match checkout.refusal(&handle, to.old, to.new) {
            Ok(None) => checkout.move_files(to.old, to.new).run().map(|_| None),
            stopped => stopped,
        };
        if !matches!(stopped, Ok(None)) {
            move_back(&checkouts[..moved], to)?;
            return stopped;
        }
    }
    match lock.commit() {
        Ok(()) => Ok(None),
        Err(error) => {
            move_back(checkouts, to)?;
            Err(error)
        }
    }
}

fn move_back(checkouts: &[Checkout], to: &Advance<'_>) -> Result<(), GitError> {
    checkouts.iter().try_for_each(|checkout| checkout.move_files(to.new, to.old).run().map(drop))
}

/// A ref that is locked by a `git update-ref` which waits for a word from us. When we die, it lets go.
struct RefLock {
    child: Child,
    input: Option<ChildStdin>,
}

const UPDATE_REF: &str = "update-ref";

impl RefLock {
    fn take(repo: &Repo, to: &Advance<'_>) -> Result<Self, GitError> {
        let mut child = Git::new(repo, UPDATE_REF).args(["-m", to.why, "--stdin"]).spawn()?;
        let mut lock = Self { input: child.stdin.take(), child };
        let script = format!("start\nupdate {} {} {}\nprepare\n", to.name, to.new, to.old);
        match lock.say(&script, "prepare: ok") {
            Ok(()) => Ok(lock),
            // Only a lost race is an outcome; a ref that cannot be locked is an error with git's own words.
            Err(_) if repo.find_ref(to.name)? != Some(to.old) => Err(GitError::RefMoved { name: to.name.to_owned() }),
            Err(error) => Err(error),
        }
    }

    fn commit(mut self) -> Result<(), GitError> {
        self.say("commit\n", "commit: ok")
    }

    fn say(&mut self, words: &str, expected: &str) -> Result<(), GitError> {
        let spawn = |source| GitError::Spawn { verb: UPDATE_REF, source };
        if let Some(input) = &mut self.input {
            // A child that is gone says why on its stderr, which is read below.
            input.write_all(words.as_bytes()).ok();
        }
        let answered = self.child.stdout.as_mut().is_some_and(|output| {
            // It answers with short lines and only when asked, so that nothing is read ahead and lost.
            BufReader::new(output).lines().map_while(Result::ok).any(|line| line == expected)
        });
        if answered {
            return Ok(());
        }
        self.input = None;
        let mut stderr = Vec::new();
        if let Some(pipe) = &mut self.child.stderr {
            pipe.read_to_end(&mut stderr).map_err(spawn)?;
        }
        let status = self.child.wait().map_err(spawn)?;
        Err(GitError::Failed { verb: UPDATE_REF, status, stderr: command::tail(&stderr) })
    }
}

impl Drop for RefLock {
    fn drop(&mut self) {
        // Closing its input ends the child and frees the lock; waiting only reaps it.
        self.input = None;
        self.child.wait().ok();
    }
}
