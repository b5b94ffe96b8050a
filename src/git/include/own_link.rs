//! Which symbolic links of a worktree Coppice made: those that lead to the same path of the user's checkout.
//!
//! No list of them is kept. A link with such a target is in no commit, whoever made it: in the user's checkout it would
//! lead to itself.

use std::path::Path;
use std::{fs, io};

use git2::{ErrorCode, FileMode};

use crate::git::{GitError, Oid, Repo, Worktree};

/// Whether a path of a worktree is a link to the same path of the user's checkout, which may have moved meanwhile.
pub(in crate::git) fn is_own_link(tree: &Worktree, path: &Path) -> bool {
    let Some(checkout) = tree.repo.checkout() else { return false };
    let Ok(target) = fs::read_link(tree.path.join(path)) else { return false };
    let leads_to_moved = || -> io::Result<bool> {
        let depth = path.components().count();
        let root = target.ancestors().nth(depth).filter(|_| target.is_absolute() && target.ends_with(path));
        Ok(root.map(Path::canonicalize).transpose()?.is_some_and(|root| root == checkout))
    };
    target == checkout.join(path) || leads_to_moved().unwrap_or(false)
}

/// Whether a commit has a symbolic link at a path.
pub(in crate::git) fn is_link_in(repo: &Repo, commit: Oid, path: &Path) -> Result<bool, GitError> {
    let failed = |source| GitError::Library { act: format!("read `{}` of commit `{commit}`", path.display()), source };
    let handle = repo.open()?;
    let tree = handle.find_commit(commit.raw()).and_then(|commit| commit.tree()).map_err(failed)?;
    match tree.get_path(path) {
        Ok(entry) => Ok(entry.filemode() == i32::from(FileMode::Link)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
        Err(error) => Err(failed(error)),
    }
}
