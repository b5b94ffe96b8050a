//! Why a git operation did not happen, told apart by what a caller or a person can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use super::Oid;
use crate::id::SessionId;

/// Why a git operation did not happen.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("`{}` is not in a git repository", path.display())]
    NotARepository { path: PathBuf },
    #[error("`{}` is a git directory among the files of another repository", path.display())]
    NestedGitDirectory { path: PathBuf },
    #[error("the `git` program is not on PATH")]
    ProgramMissing,
    #[error("git {found} is too old: at least {needed} is needed")]
    ProgramTooOld { found: String, needed: &'static str },
    #[error("the repository at `{}` has no commits", path.display())]
    NoCommits { path: PathBuf },
    #[error("the repository at `{}` belongs to another user", path.display())]
    ForeignOwner { path: PathBuf },
    #[error("the repository at `{}` uses {feature}, which is not supported", path.display())]
    Unsupported { path: PathBuf, feature: String },
    #[error("`{}` belongs to another repository than `{}`", path.display(), repo.display())]
    OtherRepository { path: PathBuf, repo: PathBuf },
    #[error("no branch, tag or commit is named `{name}`")]
    UnknownBase { name: String },
    #[error("`{name}` names more than one commit")]
    AmbiguousBase { name: String },
    #[error("`{name}` is not a commit")]
    NotACommit { name: String },
    #[error("the branch `{branch}` takes the place of the branches below `coppice/`")]
    NamespaceTaken { branch: String },
    #[error("`{}` already exists", path.display())]
    PathTaken { path: PathBuf },
    #[error("the branch `{branch}` already exists")]
    BranchTaken { branch: String },
    #[error("`{branch}` would stand in the way of the branches of the remote `{remote}`")]
    BranchOfRemote { branch: String, remote: String },
    #[error("no session may create the branch `{branch}`: the name is reserved")]
    BranchReserved { branch: String },
    #[error("`{branch}` is not a name for a session's branch")]
    InvalidBranch { branch: String },
    #[error("the work of session `{session}` is not saved")]
    NotSaved { session: SessionId },
    #[error("files that no commit can hold would be lost: {}", list_paths(paths))]
    CannotBeSaved { paths: Vec<PathBuf> },
    #[error("not all files could be put back; the state before is kept in `{saved}`")]
    HalfReset { saved: String, source: Box<GitError> },
    #[error("neither the branch `{branch}` nor saved work of it exists")]
    NothingSaved { branch: String },
    #[error(
        "no git identity is configured: run `git config --global user.name \"Your Name\"` \
         and `git config --global user.email you@example.com`"
    )]
    NoIdentity,
    #[error("the worktree `{}` does not exist", path.display())]
    TreeMissing { path: PathBuf },
    #[error("the branch `{branch}` does not exist")]
    BranchMissing { branch: String },
    #[error("`{name}` moved meanwhile")]
    RefMoved { name: String },
    #[error("another git process works on the index: `{}` exists", path.display())]
    IndexLocked { path: PathBuf },
    #[error("another git process works on the branch: `{}` exists", path.display())]
    BranchLocked { path: PathBuf },
    #[error("another daemon is merging into `{}`", path.display())]
    MoveUnderWay { path: PathBuf },
    #[error("some files in `{}` are those of another commit and could not be put back", path.display())]
    HalfMoved { path: PathBuf, source: Box<GitError> },
    #[error("`{pattern}` is not a pattern for ignored files: {detail}")]
    InvalidPattern { pattern: String, detail: String },
    #[error("`{commit}` is not a commit of this session")]
    NotOfSession { commit: Oid },
    #[error("no branch is checked out in `{}`", path.display())]
    Detached { path: PathBuf },
    #[error("there is no remote `{remote}`")]
    NoRemote { remote: String },
    #[error("`git {verb}` was refused: {output}")]
    Refused { verb: &'static str, output: String },
    #[error("`git {verb}` was stopped")]
    Stopped { verb: &'static str },
    #[error("the hook `{}` was stopped", hook.display())]
    HookStopped { hook: PathBuf },
    #[error("`git {verb}` took longer than {} seconds", after.as_secs())]
    TimedOut { verb: &'static str, after: Duration },
    #[error("`git {verb}` cannot read the files: `{}` is not a regular file", path.display())]
    NotRegular { verb: &'static str, path: PathBuf },
    #[error("failed to start `git {verb}`")]
    Spawn { verb: &'static str, source: io::Error },
    #[error("`git {verb}` failed with {status}: {stderr}")]
    Failed { verb: &'static str, status: ExitStatus, stderr: String },
    #[error("`git {verb}` gave an answer that cannot be read: {detail}")]
    Unreadable { verb: &'static str, detail: String },
    #[error("failed to {act} `{}`", path.display())]
    Io { act: &'static str, path: PathBuf, source: io::Error },
    #[error("failed to {act}")]
    Library { act: String, source: git2::Error },
}

impl GitError {
    /// One thing a person can do about it, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotARepository { .. } => Some("go to a repository, or make one with `git init`".to_owned()),
            Self::NestedGitDirectory { .. } => {
                Some("go to the repository around it; if this one is yours, move it out of there".to_owned())
            }
            Self::ProgramMissing | Self::ProgramTooOld { .. } => {
                Some(format!("install git {} or later", super::command::OLDEST_GIT))
            }
            Self::NoCommits { .. } => Some("make a first commit: `git commit --allow-empty -m start`".to_owned()),
            Self::ForeignOwner { path } => {
                Some(format!("if you trust it, run `git config --global --add safe.directory {}`", path.display()))
            }
            Self::UnknownBase { .. } | Self::NotACommit { .. } => {
                Some("`git branch --all` and `git tag` list the names".to_owned())
            }
            Self::AmbiguousBase { .. } => Some("use more digits of the commit id".to_owned()),
            Self::NamespaceTaken { branch } => Some(format!("rename it: `git branch --move {branch} {branch}-old`")),
            Self::IndexLocked { path } | Self::BranchLocked { path } => {
                Some(format!("if no git process runs there, remove `{}`", path.display()))
            }
            Self::NoRemote { remote } => Some(format!("`git remote add {remote} URL` says where to push to")),
            Self::HalfMoved { path, .. } => Some(format!(
                "fix the cause; `git -C {0} status` then shows these files, and `git -C {0} restore FILE` puts one back",
                path.display()
            )),
            Self::NotRegular { path, .. } => Some(format!("delete `{}`", path.display())),
            Self::CannotBeSaved { .. } => Some("make these files readable, rename them or delete them".to_owned()),
            Self::TreeMissing { .. } => {
                Some("the next prompt, `coppice merge` and `coppice undo` make it again".to_owned())
            }
            Self::HalfReset { source, .. } => source.hint(),
            Self::Failed { stderr, .. } => hint_about_disk(stderr),
            Self::Io { source, .. } | Self::Spawn { source, .. } => hint_about_disk(&source.to_string()),
            Self::Library { source, .. } => hint_about_disk(source.message()),
            Self::Unsupported { .. }
            | Self::OtherRepository { .. }
            | Self::NoIdentity
            | Self::BranchMissing { .. }
            | Self::RefMoved { .. }
            | Self::MoveUnderWay { .. }
            | Self::PathTaken { .. }
            | Self::BranchTaken { .. }
            | Self::BranchOfRemote { .. }
            | Self::BranchReserved { .. }
            | Self::InvalidBranch { .. }
            | Self::NotSaved { .. }
            | Self::NothingSaved { .. }
            | Self::InvalidPattern { .. }
            | Self::NotOfSession { .. }
            | Self::Detached { .. }
            | Self::Refused { .. }
            | Self::Stopped { .. }
            | Self::HookStopped { .. }
            | Self::TimedOut { .. }
            | Self::Unreadable { .. } => None,
        }
    }

    /// For `map_err`: an input or output error with the act and the path it was about.
    pub(crate) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { act, path, source }
    }

    /// For `map_err`: an error of libgit2 with the act it stopped.
    pub(crate) fn library(act: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        let act = act.into();
        move |source| match find_lock(&source) {
            Some(path) => Self::BranchLocked { path },
            None => Self::Library { act, source },
        }
    }
}

/// The lock file that libgit2 names where another process works on a ref.
fn find_lock(error: &git2::Error) -> Option<PathBuf> {
    let quoted = error.message().split('\'').nth(1).filter(|_| error.code() == git2::ErrorCode::Locked)?;
    quoted.ends_with(".lock").then(|| PathBuf::from(quoted))
}

/// What helps where the operating system refused to write, by its own words.
fn hint_about_disk(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let says = |words: &str| text.contains(words);
    if says("no space left") || says("disk quota exceeded") {
        Some("free some disk space".to_owned())
    } else if says("read-only file system") || says("permission denied") {
        Some("make the repository and its files writable".to_owned())
    } else {
        None
    }
}

fn list_paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_takes_nothing_has_a_hint() {
        let io = |code| GitError::Io { act: "write", path: "/r/x".into(), source: io::Error::from_raw_os_error(code) };
        let library = |text: &str| GitError::Library {
            act: "write a commit".to_owned(),
            source: git2::Error::new(git2::ErrorCode::GenericError, git2::ErrorClass::Os, text),
        };
        let (space, writable) = (Some("free some disk space"), Some("make the repository"));
        for (error, hint) in [
            (io(rustix::io::Errno::NOSPC.raw_os_error()), space),
            (io(rustix::io::Errno::DQUOT.raw_os_error()), space),
            (io(rustix::io::Errno::ROFS.raw_os_error()), writable),
            (io(rustix::io::Errno::ACCESS.raw_os_error()), writable),
            (io(rustix::io::Errno::NOENT.raw_os_error()), None),
            (library("failed to create temporary file '/r/o': No space left on device"), space),
            (library("failed to create temporary file '/r/o': Read-only file system"), writable),
            (library("object not found"), None),
            (
                GitError::HalfReset {
                    saved: "refs/x".to_owned(),
                    source: Box::new(io(rustix::io::Errno::NOSPC.raw_os_error())),
                },
                space,
            ),
        ] {
            let found = error.hint();
            let fits = match (&found, hint) {
                (Some(found), Some(hint)) => found.starts_with(hint),
                (found, hint) => found.is_none() && hint.is_none(),
            };
            assert!(fits, "{error:?}: {found:?}");
        }
    }
}
