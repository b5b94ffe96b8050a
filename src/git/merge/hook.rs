//! The user's pre-commit and commit-msg hooks, run on a temporary checkout of what is about to be committed.
//!
//! Who runs them, and in which cage, is the caller's choice. A hook of the user's checkout (husky, a relative
//! `core.hooksPath`) runs as the commit itself has it; one that lies in another work tree never runs: an agent can have
//! written it.

mod adopt;
mod change;
mod scratch;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::{FileMode, Repository, Tree};

use self::scratch::Scratch;
use crate::git::command::Git;
use crate::git::{GitError, Oid, Repo, Worktree};
pub(in crate::git) use change::compare;
pub use change::{HookChanges, HookFileChange};
pub(super) use scratch::create_scratch_directory;
pub(in super::super) use scratch::is_scratch;

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
    /// The directory that hooks of one merge write, and nobody else: the checkout, its index, the message and objects.
    pub scratch: PathBuf,
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
#[derive(Clone, Copy)]
pub(in crate::git) struct Commit<'a> {
    pub(in crate::git) parent: Oid,
    pub(in crate::git) tree: Oid,
    pub(in crate::git) message: &'a str,
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

/// The hooks of a commit.
#[derive(Default)]
pub(in crate::git) struct FoundHooks {
    runs: Vec<(Hook, HookProgram)>,
    /// Hooks that lie in a work tree that an agent may write: they cannot run.
    pub(in crate::git) unusable: Vec<PathBuf>,
    /// Hooks of the repository that the commit itself changes or deletes.
    pub(in crate::git) changed: Vec<PathBuf>,
}

/// Where the program of a hook comes from.
enum HookProgram {
    /// A file outside of every work tree.
    Own(PathBuf),
    /// A path below the user's checkout. The commit has its own version of it; files that git does not track, such as
    /// the wrappers of husky, come from the checkout.
    InCheckout { path: PathBuf, directory: Option<PathBuf> },
}

/// Looks for those of the wanted hooks that exist for a commit.
pub(in crate::git) fn find(repo: &Repo, wanted: &[Hook], commit: Commit<'_>) -> Result<FoundHooks, GitError> {
    // The last value but one: the last is the neutral one that every run of ours sets.
    let output = Git::new(repo, "config").args(["--type=path", "-z", "--get-all", "core.hooksPath"]).run()?;
    let configured = output.split(|byte| *byte == 0).filter(|value| !value.is_empty()).rev().nth(1);
    let checkout = repo.checkout();
    let directory = match configured {
        None => repo.common_dir().join("hooks"),
        // A relative path is relative to the work tree.
        Some(path) => checkout.unwrap_or(repo.common_dir()).join(OsStr::from_bytes(path)),
    };
    let handle = repo.open()?;
    let (before, after) = (peel(&handle, commit.parent)?, peel(&handle, commit.tree)?);
    let shown = handle.head().and_then(|head| head.peel_to_tree()).ok();
    let mut found = FoundHooks::default();
    for hook in wanted {
        let program = directory.join(hook.name());
        let (path, directory) = match place(repo, &program) {
            Place::Outside => {
                found.runs.extend(is_executable(&program).then_some((*hook, HookProgram::Own(program))));
                continue;
            }
            Place::Foreign => {
                found.unusable.extend(is_executable(&program).then_some(program));
                continue;
            }
            Place::Checkout(path) if path.file_name() == Some(OsStr::new(hook.name())) => {
                let directory = path.parent().filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned);
                (path, directory)
            }
            // A link from the hooks directory to one file of the checkout.
            Place::Checkout(path) => (path, None),
        };
        let is_there = match after.get_path(&path) {
            Ok(entry) => entry.filemode() != i32::from(FileMode::Blob),
            // What another branch tracks is not there once this commit is checked out.
            Err(_) => !is_tracked(shown.as_ref(), &path) && is_executable(&program),
        };
        // Also when it is gone: an agent can take a check away by deleting it.
        let is_changed = |path: &PathBuf| entry(&before, path) != entry(&after, path);
        found.changed.extend(scripts(&path, directory.as_deref()).into_iter().filter(is_changed));
        if is_there {
            found.runs.push((*hook, HookProgram::InCheckout { path, directory }));
        }
    }
    found.changed.dedup();
    Ok(found)
}

/// Runs the hooks that were found over a commit that is to be made.
pub(in crate::git) fn apply(
    tree: &Worktree,
    found: &FoundHooks,
    commit: Commit<'_>,
    run: &mut dyn FnMut(HookRun) -> HookResult,
) -> Result<Verdict, GitError> {
    let Commit { parent, tree: content, message } = commit;
    if found.runs.is_empty() {
        return Ok(Verdict::Passed { tree: content, message: message.to_owned() });
    }
    let scratch = Scratch::new(tree, parent, content)?;
    let note = scratch.write_message(message)?;
    for (hook, program) in &found.runs {
        let program = match program {
            HookProgram::Own(program) => program.clone(),
            HookProgram::InCheckout { path, directory } => {
                scratch.bring(tree, path, directory.as_deref())?;
                let program = scratch.files.join(path);
                // Git passes over a hook that cannot be executed. A link out of the checkout is none of its files.
                if !is_executable(&program) || !leads_into(&program, &scratch.files) {
                    continue;
                }
                program
            }
        };
        let arguments = match hook {
            Hook::PreCommit => Vec::new(),
            Hook::CommitMsg => vec![note.clone().into_os_string()],
        };
        let result = run(HookRun {
            hook: *hook,
            program,
            arguments,
            directory: scratch.files.clone(),
            scratch: scratch.path().to_owned(),
            environment: scratch.environment(),
        });
        if let HookResult::Failed { output } = result {
            return Ok(Verdict::Failed { hook: *hook, output });
        }
    }
    Ok(Verdict::Passed { tree: scratch.adopt(tree)?, message: scratch.read_message()? })
}

/// Where a path lies.
enum Place {
    Outside,
    /// Below the user's checkout, at this path.
    Checkout(PathBuf),
    /// In another work tree, or where nobody can tell.
    Foreign,
}

/// Links are followed: one from the git directory into a work tree leads to a file that an agent may have written.
fn place(repo: &Repo, program: &Path) -> Place {
    // A hook that only the commit has, or that nobody has, is at least in a directory.
    let real = program.canonicalize().or_else(|_| {
        let (directory, name) = (program.parent().unwrap_or(program), program.file_name().unwrap_or_default());
        directory.canonicalize().map(|directory| directory.join(name))
    });
    let below = |files: &Path, real: &Path| -> Option<PathBuf> {
        real.strip_prefix(files.canonicalize().ok()?).ok().map(Path::to_owned)
    };
    let Ok(real) = real else {
        // Nothing is there yet: only the commit can have it, and only below the checkout.
        let path = repo.checkout().and_then(|files| program.strip_prefix(files).ok());
        return path.map_or(Place::Outside, |path| Place::Checkout(path.to_owned()));
    };
    let is_in_git_dir = real.starts_with(repo.common_dir()) && !real.starts_with(repo.common_dir().join("worktrees"));
    if is_in_git_dir {
        return Place::Outside;
    }
    if super::checkout::linked(repo.common_dir()).iter().any(|(_, files)| below(files, &real).is_some()) {
        return Place::Foreign;
    }
    match repo.checkout().and_then(|files| below(files, &real)) {
        Some(path) => Place::Checkout(path),
        None => Place::Outside,
    }
}

/// The paths that decide what a hook of the checkout does, as far as they can be named: itself, and the script that
/// husky's wrapper in `_` runs.
fn scripts(path: &Path, directory: Option<&Path>) -> Vec<PathBuf> {
    let wrapped = directory
        .filter(|directory| directory.file_name() == Some(OsStr::new("_")))
        .and_then(|directory| Some(directory.parent()?.join(path.file_name()?)));
    std::iter::once(path.to_owned()).chain(wrapped).collect()
}

fn peel(repo: &Repository, oid: Oid) -> Result<Tree<'_>, GitError> {
    let found = repo.find_object(oid.raw(), None).and_then(|object| object.peel_to_tree());
    found.map_err(GitError::library(format!("read the tree of `{oid}`")))
}

fn entry(tree: &Tree<'_>, path: &Path) -> Option<(git2::Oid, i32)> {
    tree.get_path(path).ok().map(|entry| (entry.id(), entry.filemode()))
}

fn is_tracked(tree: Option<&Tree<'_>>, path: &Path) -> bool {
    tree.is_some_and(|tree| tree.get_path(path).is_ok())
}

fn is_executable(program: &Path) -> bool {
    fs::metadata(program).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn leads_into(program: &Path, files: &Path) -> bool {
    program.canonicalize().is_ok_and(|real| files.canonicalize().is_ok_and(|files| real.starts_with(files)))
}
