//! The user's pre-commit and commit-msg hooks, run on a temporary checkout of what is about to be committed.
//!
//! Who runs them, and in which cage, is the caller's choice. A hook that lies in a work tree never runs: an agent can
//! have written it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::git::command::Git;
use crate::git::{GitError, Oid, Repo, Worktree};

/// The hooks that a commit runs, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    PreCommit,
    CommitMsg,
}

impl Hook {
    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::CommitMsg => "commit-msg",
        }
    }
}

/// A hook that is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRun {
    pub hook: Hook,
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// The temporary checkout, the directory to run in.
    pub directory: PathBuf,
    /// What else the hook may write: its index, the message and the objects that it makes.
    pub writes: Vec<PathBuf>,
    /// Variables to set on top of the environment.
    pub environment: Vec<(&'static str, OsString)>,
}

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookResult {
    Passed,
    Failed { output: String },
}

/// A commit that is to be made.
pub(in crate::git) struct Commit<'a> {
    pub(in crate::git) parent: Oid,
    pub(in crate::git) tree: Oid,
    pub(in crate::git) message: &'a str,
}

/// What the hooks made of a commit.
pub(in crate::git) struct Hooked {
    pub(in crate::git) verdict: Verdict,
    /// Hooks that are there and did not run.
    pub(in crate::git) skipped: Vec<PathBuf>,
}

pub(in crate::git) enum Verdict {
    /// Hooks may stage further changes and edit the message.
    Passed {
        tree: Oid,
        message: String,
    },
    Failed {
        hook: Hook,
        output: String,
    },
}

/// How the names of temporary checkouts begin.
const SCRATCH: &str = ".merge-";

/// Whether a directory beside the worktrees is the temporary checkout of a merge.
pub(in super::super) fn is_scratch(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(SCRATCH.as_bytes())
}

/// Runs those of the wanted hooks that exist over a commit that is to be made.
pub(in crate::git) fn apply(
    tree: &Worktree,
    wanted: &[Hook],
    commit: Commit<'_>,
    run: &mut dyn FnMut(HookRun) -> HookResult,
) -> Result<Hooked, GitError> {
    let (found, skipped) = find(&tree.repo, wanted)?;
    let Commit { parent, tree: content, message } = commit;
    if found.is_empty() {
        return Ok(Hooked { verdict: Verdict::Passed { tree: content, message: message.to_owned() }, skipped });
    }
    let scratch = Scratch::new(tree, parent, content)?;
    let note = scratch.dir.path().join("COMMIT_EDITMSG");
    fs::write(&note, format!("{}\n", message.trim())).map_err(GitError::io("write", &note))?;
    for (hook, program) in found {
        let arguments = match hook {
            Hook::PreCommit => Vec::new(),
            Hook::CommitMsg => vec![note.clone().into_os_string()],
        };
        let environment = scratch.environment();
        let result = run(HookRun {
            hook,
            program,
            arguments,
            directory: scratch.files.clone(),
            writes: scratch.writes(),
            environment,
        });
        if let HookResult::Failed { output } = result {
            return Ok(Hooked { verdict: Verdict::Failed { hook, output }, skipped });
        }
    }
    let content = scratch.content(tree, parent)?;
    let message = read_plain(&note).map_err(GitError::io("read", &note))?;
    let message = String::from_utf8_lossy(&message).into_owned();
    Ok(Hooked { verdict: Verdict::Passed { tree: content, message }, skipped })
}

type Found = (Vec<(Hook, PathBuf)>, Vec<PathBuf>);

/// The hooks that may run, and those that lie in a work tree.
fn find(repo: &Repo, wanted: &[Hook]) -> Result<Found, GitError> {
    // The last value but one: the last is the neutral one that every run of ours sets.
    let output = Git::new(repo, "config").args(["--type=path", "-z", "--get-all", "core.hooksPath"]).run()?;
    let configured = output.split(|byte| *byte == 0).filter(|value| !value.is_empty()).rev().nth(1);
    let directory = match configured {
        None => repo.common_dir().join("hooks"),
        // A relative path is relative to the work tree.
        Some(path) => repo.checkout().unwrap_or(repo.common_dir()).join(OsStr::from_bytes(path)),
    };
    let present = wanted.iter().map(|hook| (*hook, directory.join(hook.name())));
    let present = present.filter(|(_, program)| is_executable(program));
    let (runs, skipped): (Vec<_>, Vec<_>) = present.partition(|(_, program)| !is_in_a_work_tree(repo, program));
    Ok((runs, skipped.into_iter().map(|(_, program)| program).collect()))
}

fn is_executable(program: &Path) -> bool {
    fs::metadata(program).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Links are followed: one from the git directory into a work tree leads to a file that an agent may have written.
fn is_in_a_work_tree(repo: &Repo, program: &Path) -> bool {
    let Ok(real) = program.canonicalize() else { return true };
    let is_in_git_dir = real.starts_with(repo.common_dir()) && !real.starts_with(repo.common_dir().join("worktrees"));
    let linked = super::checkout::linked(repo.common_dir());
    let mut trees = linked.iter().map(|(_, files)| files.as_path()).chain(repo.checkout());
    !is_in_git_dir && trees.any(|files| files.canonicalize().is_ok_and(|files| real.starts_with(files)))
}

/// A temporary linked worktree at the parent commit, with the content to be committed in its index and files.
struct Scratch {
    dir: TempDir,
    files: PathBuf,
    git_dir: PathBuf,
}

impl Scratch {
    fn new(tree: &Worktree, parent: Oid, content: Oid) -> Result<Self, GitError> {
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
        scratch.git("read-tree", parent).online().args(["--reset", "-u", &content.to_string()]).run()?;
        Ok(scratch)
    }

    fn git(&self, verb: &'static str, parent: Oid) -> Git {
        Git::in_checkout(&self.git_dir, &self.files, verb).attributes_from(parent).index(&self.index())
    }

    /// What the hooks staged. Objects that they made are taken over by their content: a hook runs code of the work tree,
    /// which must not write into the repository itself.
    fn content(&self, tree: &Worktree, parent: Oid) -> Result<Oid, GitError> {
        let content = self.own_objects(self.git("write-tree", parent)).run_oid()?;
        let made = loose_objects(&self.objects()).map_err(GitError::io("read", &self.objects()))?;
        if !made.is_empty() {
            let pack =
                self.own_objects(self.git("pack-objects", parent)).args(["--stdout", "-q"]).input(made.join("\n"));
            let pack = pack.run()?;
            Git::new(&tree.repo, "unpack-objects").args(["-q", "--strict"]).input(pack).run()?;
        }
        Ok(content)
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    fn objects(&self) -> PathBuf {
        self.dir.path().join("objects")
    }

    fn own_objects(&self, git: Git) -> Git {
        self.object_variables().into_iter().fold(git, |git, (name, value)| git.env(name, value))
    }

    /// Objects are made beside the repository's own, which are read.
    fn object_variables(&self) -> [(&'static str, OsString); 2] {
        let common = self.git_dir.ancestors().nth(2).unwrap_or(&self.git_dir);
        [
            ("GIT_OBJECT_DIRECTORY", self.objects().into_os_string()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", common.join("objects").into_os_string()),
        ]
    }

    /// Not the git directory: whoever writes there decides what our own git runs.
    fn writes(&self) -> Vec<PathBuf> {
        vec![self.dir.path().to_owned()]
    }

    /// What `git commit` tells its hooks.
    fn environment(&self) -> Vec<(&'static str, OsString)> {
        let [objects, alternates] = self.object_variables();
        vec![
            objects,
            alternates,
            ("GIT_DIR", self.git_dir.clone().into_os_string()),
            ("GIT_WORK_TREE", self.files.clone().into_os_string()),
            ("GIT_INDEX_FILE", self.index().into_os_string()),
            ("GIT_EDITOR", ":".into()),
        ]
    }
}

/// Reads what a hook wrote, unless it put a link there.
fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    match fs::symlink_metadata(path)?.is_file() {
        true => fs::read(path),
        false => Err(io::Error::other("it is no plain file")),
    }
}

/// The names of the objects in a directory of objects that git fills one by one.
fn loose_objects(directory: &Path) -> io::Result<Vec<String>> {
    let is_hex = |name: &str, length: usize| name.len() == length && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let first = entry?.file_name().to_string_lossy().into_owned();
        if is_hex(&first, 2) {
            for entry in fs::read_dir(directory.join(&first))? {
                let rest = entry?.file_name().to_string_lossy().into_owned();
                names.extend(is_hex(&rest, 38).then(|| format!("{first}{rest}")));
            }
        }
    }
    Ok(names)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is a worktree without files, which git prunes by itself.
        fs::remove_dir_all(&self.git_dir).ok();
    }
}
