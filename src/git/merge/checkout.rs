//! The checkouts that show a branch, and moving the branch together with them.
//!
//! Order: the ref is locked and its old value checked, then files and index of each checkout move, then the ref. A kill
//! in between frees the lock, because its holder is a child that ends with our pipe. A move that this process makes is
//! recorded, and taken back by the next start or merge. A move that git makes goes on, and leaves the merged content
//! staged on the old commit: nothing is lost, and the same merge run again completes it. The other order would leave a
//! checkout whose next commit reverts the merge.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Output};

use git2::{Delta, Repository};
use tracing::warn;

use super::recorded_move::RecordedMove;
use super::reversal::{MoveReversal, Reversed};
use super::user_checkout::{StagedMove, UserCheckout};
use super::{Refusal, short};
use crate::git::command::{self, Git};
use crate::git::integrate::apply::{Gate, Stopped};
use crate::git::integrate::{plan, unstopped};
use crate::git::private_index::{OtherWriters, PrivateIndex};
use crate::git::reach::may_fetch;
use crate::git::worktree::registration;
use crate::git::{GitError, Oid, Repo, Worktree, driver, stage, status};

/// A checkout: files with an index and a head.
pub(super) enum Checkout {
    User(UserCheckout),
    /// A session's worktree, in which its agent may be at work.
    Session(Worktree),
}

/// A ref that moves from one commit to another.
pub(super) struct Advance<'a> {
    pub(super) name: &'a str,
    pub(super) old: Oid,
    pub(super) new: Oid,
    /// For the reflog.
    pub(super) why: &'a str,
}

/// Finds every checkout whose head is the branch `name`, at present `commit`. Temporary directories of a move are made
/// beside the session's worktree.
pub(super) fn showing(session: &Worktree, name: &str, commit: Oid) -> Vec<Checkout> {
    let (repo, scratch_root) = (&session.repo, session.path.parent().unwrap_or(&session.path));
    let is_session_branch = short(name).starts_with("coppice/");
    let real_root = scratch_root.canonicalize().ok();
    // The path that the session itself has for one of its worktrees; git may have another name for it.
    let session_path = |files: &Path| {
        let is_below = real_root.is_some() && files.parent().and_then(|parent| parent.canonicalize().ok()) == real_root;
        is_below.then(|| scratch_root.join(files.file_name().unwrap_or_default()))
    };
    let head = format!("ref: {name}");
    let shows =
        |git_dir: &Path| fs::read(git_dir.join("HEAD")).is_ok_and(|text| text.trim_ascii_end() == head.as_bytes());
    let main = repo.checkout().map(|files| (repo.common_dir().to_owned(), files.to_owned()));
    let all = main.into_iter().chain(linked(repo.common_dir()));
    all.filter(|(git_dir, files)| shows(git_dir) && files.is_dir())
        .map(|(git_dir, files)| {
            let repo = repo.clone();
            // The worktree of another session is as hostile as this one, whatever branch the user switched it to.
            match session_path(&files).or_else(|| is_session_branch.then(|| files.clone())) {
                Some(path) => {
                    let branch = short(name);
                    Checkout::Session(Worktree { repo, path, admin: git_dir, branch, base: commit, attributes: commit })
                }
                None => {
                    let scratch_root = scratch_root.to_owned();
                    Checkout::User(UserCheckout { repo, git_dir, files, scratch_root })
                }
            }
        })
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
    for checkout in showing {
        let (git_dir, files) = (checkout.git_dir(), checkout.files());
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

/// A move of a checkout that is about to happen.
enum PreparedMove<'a> {
    ByGit(GitMove<'a>),
    Staged(Box<StagedMove<'a>>),
}

/// A move that a run of git makes, in a process that goes on if this one is killed.
struct GitMove<'a> {
    checkout: &'a Checkout,
    from: Oid,
    to: Oid,
    reversal: Box<MoveReversal<'a>>,
}

/// A move that is made, while its branch has not moved yet.
enum FinishedMove<'a> {
    ByGit(GitMove<'a>),
    Recorded(RecordedMove<'a>),
}

/// How a checkout followed its branch.
enum Followed<'a> {
    Moved(FinishedMove<'a>),
    Refused(Refusal),
}

impl<'a> GitMove<'a> {
    fn prepare(checkout: &'a Checkout, from: Oid, to: Oid) -> Result<Self, GitError> {
        Ok(Self { checkout, from, to, reversal: Box::new(MoveReversal::prepare(checkout, from, to)?) })
    }

    /// Takes files and index to the other commit; after an error the files are as they were.
    fn run(&self) -> Result<(), GitError> {
        self.try_run().map_err(|failure| {
            // Git has not begun then.
            if let GitError::IndexLocked { .. } = failure {
                return failure;
            }
            let reversed = self.reversal.run();
            if let Ok(Reversed::Whole) = reversed {
                return failure;
            }
            warn!(?reversed, "files could not be put back");
            GitError::HalfMoved { path: self.checkout.files().to_owned(), source: Box::new(failure) }
        })
    }

    fn try_run(&self) -> Result<(), GitError> {
        let (from, to) = (self.from, self.to);
        match self.checkout {
            Checkout::User(user) => user.move_by_git(from, to),
            Checkout::Session(tree) => {
                let private = PrivateIndex::copy_of(tree)?;
                private.refresh()?;
                move_tree(private.checkout("read-tree")?, from, to).run()?;
                private.check_flags()?;
                private.install(OtherWriters::Possible)
            }
        }
    }
}

impl<'a> PreparedMove<'a> {
    /// Takes files and index to the other commit.
    fn finish(self, gate: Gate<'_>) -> Result<FinishedMove<'a>, Stopped> {
        match self {
            Self::ByGit(by_git) => {
                by_git.run()?;
                Ok(FinishedMove::ByGit(by_git))
            }
            Self::Staged(staged) => staged.finish(gate).map(FinishedMove::Recorded),
        }
    }

    /// Leaves the checkout as it is.
    fn abandon(self) {
        match self {
            Self::ByGit(_) => {}
            Self::Staged(staged) => staged.abandon(),
        }
    }
}

impl FinishedMove<'_> {
    /// Takes files and index back to the commit that they came from.
    fn take_back(self) -> Result<(), GitError> {
        match self {
            Self::ByGit(GitMove { checkout, from, to, .. }) => GitMove::prepare(checkout, to, from)?.run(),
            Self::Recorded(recorded) => recorded.take_back(),
        }
    }

    /// The branch has moved along.
    fn complete(self) {
        match self {
            Self::ByGit(_) => {}
            Self::Recorded(recorded) => {
                if let Err(error) = recorded.complete() {
                    warn!(%error, "the record of a merge stays");
                }
            }
        }
    }
}

impl Checkout {
    fn git_dir(&self) -> &Path {
        match self {
            Self::User(user) => &user.git_dir,
            Self::Session(tree) => &tree.admin,
        }
    }

    /// The directory that holds the files.
    pub(super) fn files(&self) -> &Path {
        match self {
            Self::User(user) => &user.files,
            Self::Session(tree) => &tree.path,
        }
    }

    /// The worktree of a session, where its processes may run.
    pub(super) fn session_path(&self) -> Option<&Path> {
        match self {
            Self::User(_) => None,
            Self::Session(tree) => Some(&tree.path),
        }
    }

    /// A run that only looks.
    fn git(&self, verb: &'static str) -> Git {
        match self {
            Self::User(user) => user.git(verb),
            Self::Session(tree) => Git::in_tree(tree, verb),
        }
    }

    /// Asks git whether it would go from one tree to the other.
    fn try_move(&self, before: Oid, after: Oid) -> Result<Output, GitError> {
        match self {
            Self::User(user) => user.try_move(before, after),
            Self::Session(tree) => {
                let private = PrivateIndex::copy_of(tree)?;
                private.refresh()?;
                move_tree(private.checkout("read-tree")?, before, after).arg("--dry-run").output()
            }
        }
    }

    fn prepare(&self, to: &Advance<'_>) -> Result<PreparedMove<'_>, GitError> {
        match self {
            Self::User(user) if self.may_fail_to_write()? => {
                return user.stage(to).map(|staged| PreparedMove::Staged(Box::new(staged)));
            }
            Self::Session(tree) if self.may_fail_to_write()? => {
                let entries = plan::file_entries(&plan::edits(&tree.repo.open()?, to.old, to.new)?);
                PrivateIndex::empty(tree)?.try_checkout(entries)?;
            }
            Self::User(_) | Self::Session(_) => {}
        }
        GitMove::prepare(self, to.old, to.new).map(PreparedMove::ByGit)
    }

    /// Whether a filter or a missing object can stop git in the midst of the files. Git takes nothing back then, so all
    /// files are written elsewhere first.
    fn may_fail_to_write(&self) -> Result<bool, GitError> {
        let repo = match self {
            Self::User(user) => &user.repo,
            Self::Session(tree) => &tree.repo,
        };
        Ok(may_fetch(repo.common_dir()) || driver::has_any_filter(self.git("config"))?)
    }

    /// Takes files and index from one commit to the other, unless something local would be lost.
    fn follow(&self, repo: &Repository, to: &Advance<'_>, gate: Gate<'_>) -> Result<Followed<'_>, Stopped> {
        let prepared = self.prepare(to)?;
        // Looked at after the filters have run, which may take long.
        match self.refusal(repo, to.old, to.new) {
            Ok(None) => match prepared.finish(gate) {
                Err(Stopped::Changed(path)) => {
                    let (checkout, files) = (self.files().to_owned(), vec![path]);
                    Ok(Followed::Refused(Refusal::LocalChanges { checkout, files }))
                }
                finished => finished.map(Followed::Moved),
            },
            Ok(Some(refusal)) => {
                prepared.abandon();
                Ok(Followed::Refused(refusal))
            }
            Err(error) => {
                prepared.abandon();
                Err(error.into())
            }
        }
    }

    /// Why this checkout cannot go from one tree to the other without losing something local.
    pub(super) fn refusal(&self, repo: &Repository, before: Oid, after: Oid) -> Result<Option<Refusal>, GitError> {
        if let Self::Session(tree) = self
            && registration::lock_reason(&tree.admin).as_deref() == Some(registration::INITIALIZING)
        {
            // Whoever writes its files would put them over those that are moved now.
            return Ok(Some(Refusal::Busy { checkout: tree.path.clone(), operation: "checkout" }));
        }
        let paths = self.submodules_in_the_way(repo, before, after)?;
        if !paths.is_empty() {
            return Ok(Some(Refusal::SubmodulesReplaced { checkout: self.files().to_owned(), paths }));
        }
        let mut files = self.ignored_in_the_way(repo, before, after)?;
        let dry = self.try_move(before, after)?;
        if !dry.status.success() {
            files.extend(self.local_changes(repo, before, after)?);
            if files.is_empty() {
                return Err(command::failed("read-tree", &dry));
            }
        }
        files.sort();
        files.dedup();
        let checkout = self.files().to_owned();
        Ok((!files.is_empty()).then_some(Refusal::LocalChanges { checkout, files }))
    }

    /// Fails if a lock keeps git from putting local changes away. A killed git leaves its locks, and files that it wrote.
    pub(super) fn check_locks(&self, common_dir: &Path, branch: &str) -> Result<(), GitError> {
        let (index, branch) = (self.git_dir().join("index.lock"), common_dir.join(format!("{branch}.lock")));
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        match (is_there(&index), is_there(&branch)) {
            (true, _) => Err(GitError::IndexLocked { path: index }),
            (false, true) => Err(GitError::BranchLocked { path: branch }),
            (false, false) => Ok(()),
        }
    }

    /// Files of the user that the move would touch; also those in the way of a directory, and below a file.
    fn local_changes(&self, repo: &Repository, before: Oid, after: Oid) -> Result<Vec<PathBuf>, GitError> {
        let status = status::read_with(|verb| self.git(verb), &self.git_dir().join("index"), self.files())?;
        let touched: Vec<_> =
            stage::differences(repo, before, after)?.into_iter().map(|difference| difference.path).collect();
        let local = status.changed.into_iter().map(|changed| changed.path).chain(status.untracked).chain(status.nested);
        Ok(local
            .filter(|path| touched.iter().any(|other| other.starts_with(path) || path.starts_with(other)))
            .collect())
    }

    /// Submodules of the user's that would become files. Git deletes such a directory with all that is in it, changes that
    /// are committed nowhere included. What a session has in one is kept elsewhere.
    fn submodules_in_the_way(&self, repo: &Repository, before: Oid, after: Oid) -> Result<Vec<PathBuf>, GitError> {
        match self {
            Self::User(_) => {}
            Self::Session(_) => return Ok(Vec::new()),
        }
        let mut replaced = stage::replaced_gitlinks(repo, before, after)?;
        let has_files =
            |path: &PathBuf| fs::read_dir(self.files().join(path)).is_ok_and(|mut found| found.next().is_some());
        replaced.retain(has_files);
        Ok(replaced)
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
                let mut ignored: Vec<_> = paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
                ignored.extend(self.ignored_below(&present)?);
                Ok(ignored)
            }
            _ => Err(command::failed("check-ignore", &output)),
        }
    }

    /// Ignored files in directories that are in the way.
    fn ignored_below(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, GitError> {
        let directories: Vec<_> = paths.iter().filter(|path| self.files().join(path).is_dir()).collect();
        if directories.is_empty() {
            return Ok(Vec::new());
        }
        let list = self.git("ls-files").args(["--others", "--ignored", "--exclude-standard", "-z", "--"]);
        let listed = list.args(directories).run()?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// What stands where `path` is to be written: something at the path itself, or a file in place of a directory.
    fn in_the_way(&self, path: &Path) -> Option<PathBuf> {
        let mut parents: Vec<_> = path.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
        parents.reverse();
        parents.into_iter().find_map(|part| {
            let metadata = fs::symlink_metadata(self.files().join(part)).ok()?;
            (part == path || !metadata.is_dir()).then(|| part.to_owned())
        })
    }
}

pub(super) fn move_tree(git: Git, from: Oid, to: Oid) -> Git {
    git.args(["-m", "-u", "--no-recurse-submodules", &from.to_string(), &to.to_string()])
}

/// Moves the ref and the checkouts that show it; none when done, else why nothing moved.
pub(super) fn advance(repo: &Repo, to: &Advance<'_>, checkouts: &[Checkout]) -> Result<Option<Refusal>, GitError> {
    advance_by(repo, to, checkouts, &mut || Ok(())).map_err(unstopped)
}

pub(super) fn advance_by(
    repo: &Repo,
    to: &Advance<'_>,
    checkouts: &[Checkout],
    gate: Gate<'_>,
) -> Result<Option<Refusal>, Stopped> {
    let lock = match RefLock::take(repo, to) {
        Err(GitError::RefMoved { .. }) => return Ok(Some(Refusal::TargetMoved { branch: short(to.name) })),
        lock => lock?,
    };
    let (handle, mut moved) = (repo.open()?, Vec::new());
    for checkout in checkouts {
        // Looked at again under the lock: time has passed since the first look.
        match checkout.follow(&handle, to, gate) {
            Ok(Followed::Moved(finished)) => moved.push(finished),
            Ok(Followed::Refused(refusal)) => {
                take_back(moved)?;
                return Ok(Some(refusal));
            }
            #[cfg(test)]
            Err(Stopped::Killed) => return Err(Stopped::Killed),
            Err(stopped) => {
                take_back(moved)?;
                return Err(stopped);
            }
        }
    }
    gate()?;
    if let Err(error) = lock.commit() {
        take_back(moved)?;
        return Err(error.into());
    }
    gate()?;
    moved.into_iter().for_each(FinishedMove::complete);
    Ok(None)
}

fn take_back(moved: Vec<FinishedMove<'_>>) -> Result<(), GitError> {
    moved.into_iter().rev().try_for_each(FinishedMove::take_back)
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
