//! What a child session starts from: a snapshot of its parent's work tree, kept by a ref of its own.
//!
//! The parent sees nothing of it: its index, its branch and its files stay as they are. Bringing the child's work back
//! is `integrate`.

use git2::ErrorCode;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::command::Git;
use super::history::{self, Recorded};
use super::{GitError, Repo, Worktree, include, status};

/// What becomes of files that git ignores in the parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored<'a> {
    /// They are no part of the snapshot.
    Left,
    /// Those that a pattern wants are part of it, in the syntax of `.gitignore`.
    Taken(&'a [String]),
}

/// The ref that keeps the snapshot of a handoff.
pub fn handoff_ref(id: &str) -> String {
    format!("refs/coppice/handoffs/{id}")
}

/// Commits the parent's work tree exactly as it is, for a child to start from.
pub fn snapshot(parent: &Worktree, id: &str, ignored: Ignored<'_>) -> Result<Recorded, GitError> {
    let ignored = match ignored {
        Ignored::Left => Vec::new(),
        Ignored::Taken(patterns) => {
            include::ignored_files(Git::in_tree(parent, "ls-files"), &parent.path, &parse(parent, patterns)?)?
        }
    };
    let recorded = history::record(parent, &ignored, &format!("work tree of `{}` for a child\n", parent.branch))?;
    history::set_ref(&parent.repo.open()?, &handoff_ref(id), recorded.commit, "handoff")?;
    Ok(recorded)
}

/// Lets go of a snapshot; nothing happens when there is none.
pub fn drop_snapshot(repo: &Repo, id: &str) -> Result<(), GitError> {
    let name = handoff_ref(id);
    match repo.open()?.find_reference(&name).and_then(|mut reference| reference.delete()) {
        Err(error) if error.code() != ErrorCode::NotFound => {
            Err(GitError::Library { act: format!("delete `{name}`"), source: error })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Archives what a read-only child has changed, to a ref of the caller, and puts its tree back; none when it has changed
/// nothing. Ignored files and nested repositories stay in the tree.
pub fn tidy(tree: &Worktree, ref_name: &str) -> Result<Option<Recorded>, GitError> {
    let status = status::read(tree)?;
    let is_at_base = tree.repo.find_ref(&tree.branch_ref())? == Some(tree.base) && status.head == Some(tree.base);
    if is_at_base && status.is_clean() && status.nested.is_empty() {
        return Ok(None);
    }
    let message = format!("changes of `{}`, which may not write", tree.branch);
    history::snapshot_and_reset(tree, &tree.base, ref_name, &message).map(Some)
}

fn parse(parent: &Worktree, patterns: &[String]) -> Result<Gitignore, GitError> {
    let mut builder = GitignoreBuilder::new(&parent.path);
    let invalid = |pattern: &str, error: ignore::Error| GitError::InvalidPattern {
        pattern: pattern.to_owned(),
        detail: error.to_string(),
    };
    for pattern in patterns {
        builder.add_line(None, pattern).map_err(|error| invalid(pattern, error))?;
    }
    builder.build().map_err(|error| invalid(&patterns.join(" "), error))
}

#[cfg(test)]
mod tests;
