//! The branches whose content the user trusts: a setup command that they agreed to runs outside of the sandbox on these.
//!
//! Consent to a command is consent to run it on what people reviewed. Work of an agent, or a fetched pull request, is
//! on none of these branches until somebody merges it.

use crate::git::{GitError, Oid, Repo, branch, history, remote};

use super::settings::Trusted;

/// What the names of sessions' branches begin with.
const SESSIONS: &str = "refs/heads/coppice/";
const LOCAL: &str = "refs/heads/";

/// The default branch, here and at its remote, and those on which the user has given their trust, by full names.
pub(super) fn list_branches(repo: &Repo, trusted: Option<&Trusted>) -> Result<Vec<String>, GitError> {
    let mut branches = Vec::new();
    if let Some(base) = remote::pull_base(repo, None)? {
        let name = base.name;
        branches.push(format!("refs/remotes/origin/{name}"));
        // The remote's head may change to the name of a branch that a session created.
        if !branch::is_created_by_session(repo, &name)? {
            branches.push(format!("{LOCAL}{name}"));
        }
    }
    let given = trusted.into_iter().flat_map(|trusted| trusted.branches.iter().cloned());
    branches.extend(given.filter(|branch| is_trustworthy(branch)));
    Ok(branches)
}

/// The names that no session may give to a branch: trust goes by name, also where the branch is gone or not there yet.
pub(super) fn reserved_names(repo: &Repo, trusted: Option<&Trusted>) -> Result<Vec<String>, GitError> {
    let given = trusted.into_iter().flat_map(|trusted| &trusted.branches);
    let given = given.filter_map(|branch| branch.strip_prefix(LOCAL)).map(str::to_owned);
    Ok(remote::default_names(repo)?.into_iter().chain(given).collect())
}

/// Whether a branch can be trusted at all: a session's own cannot.
pub(super) fn is_trustworthy(branch: &str) -> bool {
    branch.starts_with(LOCAL) && !branch.starts_with(SESSIONS)
}

/// Whether a commit is on one of the branches.
pub(super) fn holds_commit(repo: &Repo, branches: &[String], commit: &Oid) -> Result<bool, GitError> {
    for branch in branches {
        if let Some(tip) = repo.find_ref(branch)?
            && history::holds(repo, &tip, commit)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The names for people, each once.
pub(super) fn short_names(branches: &[String]) -> Vec<String> {
    let mut names: Vec<String> =
        branches.iter().filter_map(|branch| branch.strip_prefix(LOCAL)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_of_a_session_is_never_trusted() {
        for (branch, expected) in [
            ("refs/heads/main", true),
            ("refs/heads/feature/x", true),
            ("refs/heads/coppice/ab12/fix", false),
            ("refs/remotes/origin/pr", false),
            ("refs/pull/7/head", false),
        ] {
            assert_eq!(is_trustworthy(branch), expected, "{branch}");
        }
    }
}
