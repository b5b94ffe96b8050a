//! A session's branch and its remote `origin`: what it is called there, what a pull request of it would hold, and the way
//! there for people.
//!
//! Everything is read from the repository, never from a worktree. What asks the remote asks no person.

use std::time::Duration;

use git2::{ErrorCode, Reference};

use super::capture::{self, Stops};
use super::command::{self, Git};
use super::push::{configured, need_remote, unattended};
use super::{GitError, Oid, Repo};

const REMOTE: &str = "origin";

/// How long a push may take, and a look at what is there.
const PUSH_TIME: Duration = Duration::from_secs(10 * 60);
const LOOK_TIME: Duration = Duration::from_secs(20);

/// How much is kept of what git says.
const KEEP: usize = 64 * 1024;
/// How many commits are listed.
const COMMITS: &str = "--max-count=200";

/// The usual names of the branch that work is merged into.
const USUAL: [&str; 3] = ["main", "master", "develop"];

/// Where GitHub looks for the text that a pull request begins with.
const TEMPLATES: [&str; 6] = [
    ".github/pull_request_template.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
    "pull_request_template.md",
    "PULL_REQUEST_TEMPLATE.md",
    "docs/pull_request_template.md",
    "docs/PULL_REQUEST_TEMPLATE.md",
];

/// The branch that a pull request would be merged into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullBase {
    pub name: String,
    pub found: Found,
    /// None when neither the remote's branch nor one of that name is known here.
    pub commit: Option<Oid>,
}

/// How a base was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Explicit,
    /// The remote's own head.
    OriginHead,
    /// One of the usual names.
    Fallback,
}

/// The addresses of `origin`: as it is configured, then as git would use it. The user may have a short form for one, or
/// a way around it.
pub fn origin(repo: &Repo) -> Result<Vec<String>, GitError> {
    let Some(written) = configured(repo, "remote.origin.url")? else { return Ok(Vec::new()) };
    let used = Git::new(repo, "ls-remote").online().args(["--get-url", REMOTE]).run()?;
    Ok(vec![written, String::from_utf8_lossy(&used).trim().to_owned()])
}

/// The names of all remotes.
pub fn remote_names(repo: &Repo) -> Result<Vec<String>, GitError> {
    let names = Git::new(repo, "remote").run()?;
    Ok(String::from_utf8_lossy(&names).lines().map(str::to_owned).collect())
}

/// Whether a word can be the name of a branch.
pub fn is_branch_name(name: &str) -> bool {
    !name.starts_with('-') && name != "HEAD" && Reference::is_valid_name(&format!("refs/heads/{name}"))
}

/// What a branch is called at `origin`: as its upstream says, or by its own name.
pub fn published(repo: &Repo, branch: &str) -> Result<String, GitError> {
    let remote = configured(repo, &format!("branch.{branch}.remote"))?;
    let merge = configured(repo, &format!("branch.{branch}.merge"))?;
    let merge = merge.filter(|_| remote.as_deref() == Some(REMOTE));
    Ok(merge
        .and_then(|merge| merge.strip_prefix("refs/heads/").map(str::to_owned))
        .unwrap_or_else(|| branch.to_owned()))
}

/// Pushes a branch to `origin` under a name, which becomes its upstream. Nothing is forced and no hook runs. Keys are those
/// of the given ssh agent, or of this process's.
pub fn publish(repo: &Repo, branch: &str, name: &str, ssh_agent: Option<&str>, stops: &Stops) -> Result<(), GitError> {
    let verb = "push";
    let source = format!("refs/heads/{branch}");
    if repo.find_ref(&source)?.is_none() {
        return Err(GitError::BranchMissing { branch: branch.to_owned() });
    }
    need_remote(repo, REMOTE)?;
    let git = unattended(repo, Git::new(repo, verb), ssh_agent.map(|socket| ("SSH_AUTH_SOCK", socket)))?;
    let git = git.args(["--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-progress"]);
    let git = git.args(["--set-upstream", "--end-of-options", REMOTE, &format!("{source}:refs/heads/{name}")]);
    let ended = capture::until(git, KEEP, PUSH_TIME, stops)?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(GitError::Refused { verb, output: command::tail(&ended.said.bytes) }),
    }
}

/// Whether `origin` has a branch of this name; none when it cannot be asked.
pub fn is_pushed(repo: &Repo, name: &str, stops: &Stops) -> Result<Option<bool>, GitError> {
    let git = unattended(repo, Git::new(repo, "ls-remote"), [])?;
    let full = format!("refs/heads/{name}");
    let git = git.args(["--exit-code", "--heads", "--end-of-options", REMOTE, &full]);
    match capture::until(git, KEEP, LOOK_TIME, stops) {
        Ok(ended) => Ok(match ended.status.code() {
            Some(0) => Some(true),
            // Git's own number for a remote that answers and has none.
            Some(2) => Some(false),
            Some(_) | None => None,
        }),
        Err(GitError::TimedOut { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Finds the branch that a pull request would be merged into: the wanted one, what the remote calls its head, or the
/// first of the usual names.
pub fn pull_base(repo: &Repo, wanted: Option<&str>) -> Result<Option<PullBase>, GitError> {
    if let Some(name) = wanted {
        let name = name.strip_prefix("origin/").unwrap_or(name).to_owned();
        return Ok(Some(PullBase { commit: tip(repo, &name)?, name, found: Found::Explicit }));
    }
    if let Some(name) = origin_head(repo)?
        && let Some(commit) = tip(repo, &name)?
    {
        return Ok(Some(PullBase { name, found: Found::OriginHead, commit: Some(commit) }));
    }
    for name in USUAL {
        if let Some(commit) = tip(repo, name)? {
            return Ok(Some(PullBase { name: name.to_owned(), found: Found::Fallback, commit: Some(commit) }));
        }
    }
    Ok(None)
}

/// The names that the default branch has or could get: what the remote calls its head, and the usual ones.
pub fn default_names(repo: &Repo) -> Result<Vec<String>, GitError> {
    Ok(origin_head(repo)?.into_iter().chain(USUAL.map(str::to_owned)).collect())
}

/// How many commits of `head` the base has not.
pub fn ahead(repo: &Repo, base: Oid, head: Oid) -> Result<usize, GitError> {
    let counted = repo.open()?.graph_ahead_behind(head.raw(), base.raw());
    counted.map(|(ahead, _)| ahead).map_err(GitError::library("count the commits of the branch"))
}

/// The files that changed since the base, with the number of lines, as a table.
pub fn stat(repo: &Repo, base: Oid, head: Oid) -> Result<String, GitError> {
    let git = Git::new(repo, "diff").args(["--stat=120", "--no-ext-diff", "--no-textconv", "--no-color"]);
    // Attributes of the work itself would choose how it is shown.
    text(git.attributes_from(base).arg(format!("{base}...{head}")).arg("--"))
}

/// The commits since the base, latest first, one line each.
pub fn commits(repo: &Repo, base: Oid, head: Oid) -> Result<String, GitError> {
    let git =
        Git::new(repo, "log").args(["--format=%h %s", "--no-decorate", "--no-color", "--no-show-signature", COMMITS]);
    text(git.arg(format!("{base}..{head}")).arg("--"))
}

/// The text that pull requests of the repository begin with.
pub fn template(repo: &Repo, commit: Oid) -> Result<Option<String>, GitError> {
    for path in TEMPLATES {
        if let Some(bytes) = repo.file_at(&commit, path)? {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    Ok(None)
}

fn text(git: Git) -> Result<String, GitError> {
    Ok(String::from_utf8_lossy(&git.run()?).into_owned())
}

/// The last known commit of a branch of the remote, or of the branch of that name here.
fn tip(repo: &Repo, name: &str) -> Result<Option<Oid>, GitError> {
    if !is_branch_name(name) {
        return Ok(None);
    }
    match repo.find_ref(&format!("refs/remotes/{REMOTE}/{name}"))? {
        Some(commit) => Ok(Some(commit)),
        None => repo.find_ref(&format!("refs/heads/{name}")),
    }
}

fn origin_head(repo: &Repo) -> Result<Option<String>, GitError> {
    let repo = repo.open()?;
    let prefix = format!("refs/remotes/{REMOTE}/");
    match repo.find_reference(&format!("{prefix}HEAD")) {
        Ok(head) => {
            Ok(head.symbolic_target().ok().flatten().and_then(|name| Some(name.strip_prefix(&prefix)?.to_owned())))
        }
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(source) => Err(GitError::Library { act: "read the head of `origin`".to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;
