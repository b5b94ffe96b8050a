//! A session's branch on its way to a remote, with the user's own credentials and never by force.
//!
//! It runs outside of every cage: hooks stay off, and whoever would be asked for a password is not there.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::capture::{self, Stops};
use super::command::{self, Git};
use super::{GitError, Repo, Worktree};

/// How long a push may take.
const TIME: Duration = Duration::from_secs(10 * 60);

/// How much of what a push says is kept.
const KEEP: usize = 64 * 1024;

/// Where a branch goes that has no upstream.
const REMOTE: &str = "origin";

/// Variables of the user that would ask a person, or translate what is read.
const DROPPED: &[&str] = &["SSH_ASKPASS", "LC_ALL", "LANGUAGE", "LC_MESSAGES"];

/// A branch that is at its remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// What it is called there.
    pub branch: String,
    pub remote: String,
    pub upstream: Upstream,
}

/// Whether a push gave the branch its upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    Set,
    Kept,
}

/// Pushes the branch that is checked out to its upstream, whatever its name is there, or to `origin`, which becomes its
/// upstream. What work is merged into, `base`, is not where it is pushed. `environment` is the user's: it leads to their
/// keys. A head without a branch is [`GitError::Detached`], what the remote or the way to it refuses is
/// [`GitError::Refused`].
pub fn push<'a>(
    tree: &Worktree,
    base: &str,
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
    stops: &Stops,
) -> Result<Pushed, GitError> {
    let verb = "push";
    let branch = checked_out(tree)?;
    let upstream = upstream(tree, &branch)?;
    let there = match &upstream {
        Some((_, merge)) => merge.strip_prefix("refs/heads/").map(str::to_owned),
        None => Some(branch.clone()),
    };
    let refused = |output| Err(GitError::Refused { verb, output });
    let Some(there) = there else {
        return refused(format!("the upstream of `{branch}` is no branch"));
    };
    if there == base {
        return refused(format!("the upstream of `{branch}` is `{there}`, which the session started from"));
    }
    let mut git = unattended(&tree.repo, Git::new(&tree.repo, verb), environment)?;
    git = git.args(["--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-progress"]);
    let (remote, kind) = match upstream {
        Some((remote, _)) => (remote, Upstream::Kept),
        None => (REMOTE.to_owned(), Upstream::Set),
    };
    if kind == Upstream::Set {
        need_remote(&tree.repo, &remote)?;
        git = git.arg("--set-upstream");
    }
    let git = git.args(["--end-of-options", &remote, &format!("refs/heads/{branch}:refs/heads/{there}")]);
    let ended = capture::until(git, KEEP, TIME, stops)?;
    match ended.status.success() {
        true => Ok(Pushed { branch: there, remote, upstream: kind }),
        false => Err(GitError::Refused { verb, output: command::tail(&ended.said.bytes) }),
    }
}

/// A run that goes to a remote by the user's own way and asks nobody.
pub(super) fn unattended<'a>(
    repo: &Repo,
    git: Git,
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Git, GitError> {
    let mut git = git.online().setting("core.askPass=").setting("credential.interactive=false");
    let mut ssh = configured(repo, "core.sshCommand")?;
    for (variable, value) in environment {
        match variable {
            "GIT_SSH_COMMAND" => ssh = Some(value.to_owned()),
            // These would lead it to another repository.
            variable if variable.starts_with("GIT_") || DROPPED.contains(&variable) => {}
            variable => git = git.env(variable, value),
        }
    }
    let ssh = ssh.unwrap_or_else(|| "ssh".to_owned());
    git = git.env("GIT_SSH_COMMAND", format!("{ssh} -oBatchMode=yes"));
    Ok(git.env("SSH_ASKPASS_REQUIRE", "never").env("GCM_INTERACTIVE", "never"))
}

/// The branch that is checked out in a worktree, by its short name.
pub(super) fn checked_out(tree: &Worktree) -> Result<String, GitError> {
    let path = tree.admin.join("HEAD");
    let head = fs::read(&path).map_err(GitError::io("read", &path))?;
    let branch = head.trim_ascii_end().strip_prefix(b"ref: refs/heads/").map(OsStr::from_bytes);
    let branch = branch.and_then(OsStr::to_str).map(str::to_owned);
    branch.ok_or_else(|| GitError::Detached { path: tree.path.clone() })
}

/// The remote of a branch and the full name of the branch there.
pub(super) fn upstream(tree: &Worktree, branch: &str) -> Result<Option<(String, String)>, GitError> {
    let remote = configured(&tree.repo, &format!("branch.{branch}.remote"))?;
    let merge = configured(&tree.repo, &format!("branch.{branch}.merge"))?;
    // `.` stands for the repository itself.
    Ok(remote.filter(|remote| remote != ".").zip(merge))
}

/// That it is known where a remote is.
pub(super) fn need_remote(repo: &Repo, remote: &str) -> Result<(), GitError> {
    for key in ["url", "pushurl"] {
        if configured(repo, &format!("remote.{remote}.{key}"))?.is_some() {
            return Ok(());
        }
    }
    Err(GitError::NoRemote { remote: remote.to_owned() })
}

/// A setting of the repository or the user.
pub(super) fn configured(repo: &Repo, key: &str) -> Result<Option<String>, GitError> {
    let verb = "config";
    // Every run of ours sets one of these for itself, after the user's.
    let output = Git::new(repo, verb).online().args(["-z", "--get", "--end-of-options", key]).output()?;
    match output.status.code() {
        Some(0) => Ok(Some(String::from_utf8_lossy(output.stdout.trim_ascii_end()).trim_end_matches('\0').to_owned())),
        // The key is not set.
        Some(1) => Ok(None),
        _ => Err(command::failed(verb, &output)),
    }
}

#[cfg(test)]
mod tests;
