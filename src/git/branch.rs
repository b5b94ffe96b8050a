//! Branches beside a session's own, and the way back along its own. Neither leaves the branch of the session.

use git2::{ErrorCode, Repository};

use super::history::{self, branch_tip};
use super::merge::is_in;
use super::{GitError, Oid, Repo, Worktree};

/// The branches that belong to sessions, and the directory of them.
const SESSIONS: &str = "coppice";

/// Creates a branch for a session at a commit, and records that a session made it. A branch that exists is left alone;
/// what is called like one of `reserved`, like the branches of sessions and remotes, or like anything that git finds by that
/// name already, is refused.
pub fn create(tree: &Worktree, name: &str, at: &Oid, reserved: &[String]) -> Result<(), GitError> {
    let full = format!("refs/heads/{name}");
    if !git2::Branch::name_is_valid(name).unwrap_or(false) {
        return Err(GitError::InvalidBranch { branch: name.to_owned() });
    }
    let repo = tree.repo.open()?;
    if let Some(remote) = shadowed(&repo, name)? {
        return Err(GitError::BranchOfRemote { branch: name.to_owned(), remote });
    }
    let failed = |source: git2::Error| match source.code() {
        ErrorCode::Exists => GitError::BranchTaken { branch: name.to_owned() },
        _ => GitError::Library { act: format!("create the branch `{name}`"), source },
    };
    if tree.repo.find_ref(&full)?.is_some() {
        return Err(GitError::BranchTaken { branch: name.to_owned() });
    }
    if reserved.iter().map(String::as_str).chain([SESSIONS]).any(|other| is_same_or_below(name, other)) {
        return Err(GitError::BranchReserved { branch: name.to_owned() });
    }
    // A tag, a branch of a remote or a commit would not be found by this name any more.
    let is_free = matches!(repo.revparse_single(name), Err(error) if error.code() == ErrorCode::NotFound);
    if !is_free || is_branch_of_remote(&repo, name)? {
        return Err(GitError::BranchReserved { branch: name.to_owned() });
    }
    let message = "branch: created by a session";
    // Before the branch, so that none is there without its record.
    repo.reference(&creation_ref(name), at.raw(), true, message).map_err(failed)?;
    repo.reference(&full, at.raw(), false, message).map(drop).map_err(failed)
}

/// Whether a session created the branch of this name.
pub fn is_created_by_session(repo: &Repo, name: &str) -> Result<bool, GitError> {
    Ok(repo.find_ref(&creation_ref(name))?.is_some())
}

/// The record that a session created a branch. It stays when the branch is deleted; no name is a directory there, so that
/// the record of a branch that is gone blocks none of another.
fn creation_ref(name: &str) -> String {
    format!("refs/coppice/created/{}", name.replace('%', "%25").replace('/', "%2F"))
}

/// Whether a name is another one or lies below it, where file systems may ignore case.
fn is_same_or_below(name: &str, other: &str) -> bool {
    let (head, rest) = (name.get(..other.len()), name.get(other.len()..));
    head.is_some_and(|head| head.eq_ignore_ascii_case(other))
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether some remote has a branch of this name, which `git switch` would offer.
fn is_branch_of_remote(repo: &Repository, name: &str) -> Result<bool, GitError> {
    let library = |source| GitError::Library { act: "list the branches of remotes".to_owned(), source };
    let mut found = repo.references_glob(&format!("refs/remotes/*/{name}")).map_err(library)?;
    Ok(found.next().is_some())
}

/// The remote whose branches a person's commands would not find any more: git looks among our own branches first.
fn shadowed(repo: &Repository, name: &str) -> Result<Option<String>, GitError> {
    let library = |source| GitError::Library { act: "list the remotes".to_owned(), source };
    let remotes = repo.remotes().map_err(library)?;
    let is_shadowed = |remote: &&str| is_same_or_below(name, remote);
    Ok(remotes.iter().flatten().flatten().find(is_shadowed).map(str::to_owned))
}

/// Puts branch, index and files back to an earlier commit of the session, at or after `floor`. What is there is kept
/// under `saved` first; untracked files go as well.
pub fn roll_back(tree: &Worktree, target: &Oid, floor: &Oid, saved: &str) -> Result<(), GitError> {
    let repo = tree.repo.open()?;
    let tip = branch_tip(&repo, tree)?;
    if !is_in(&repo, *floor, *target)? || !is_in(&repo, *target, tip)? {
        return Err(GitError::NotOfSession { commit: *target });
    }
    history::snapshot_and_reset(tree, target, saved, "before a rollback").map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::git::history::Checkpoint;
    use crate::git::testkit::{Sandbox, write};

    fn checkpoint(tree: &Worktree, turn: u32) -> Oid {
        write(&tree.path.join("work"), format!("{turn}\n"));
        let about = Checkpoint { session: "abcdefgh".parse().unwrap(), turn, message: "work" };
        history::checkpoint(tree, about).unwrap().unwrap().commit
    }

    #[test]
    fn a_branch_that_exists_is_left_alone() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        let before = sandbox.head();
        create(&tree, "feature/x", &before, &[]).unwrap();
        assert_eq!(sandbox.oid("feature/x"), before);
        let later = checkpoint(&tree, 1);
        let again = create(&tree, "feature/x", &later, &[]);
        assert!(matches!(again, Err(GitError::BranchTaken { branch }) if branch == "feature/x"));
        assert_eq!(sandbox.oid("feature/x"), before);
        assert!(matches!(create(&tree, "-x", &later, &[]), Err(GitError::InvalidBranch { .. })));
        for remote in ["origin", "up/stream"] {
            sandbox.git(&["remote", "add", remote, "https://a.example/x"]);
        }
        for (name, remote) in [("origin", "origin"), ("origin/main", "origin"), ("up/stream/x", "up/stream")] {
            let shadow = create(&tree, name, &later, &[]);
            assert!(matches!(shadow, Err(GitError::BranchOfRemote { remote: found, .. }) if found == remote), "{name}");
        }
        create(&tree, "original/x", &later, &[]).unwrap();
        sandbox.git(&["tag", "v1.0"]);
        sandbox.git(&["update-ref", "refs/remotes/origin/release/2", "HEAD"]);
        let commit = &sandbox.head().to_string()[..8];
        for name in ["v1.0", "release/2", commit, "HEAD"] {
            let taken = create(&tree, name, &later, &[]);
            assert!(matches!(taken, Err(GitError::BranchReserved { .. } | GitError::InvalidBranch { .. })), "{name}");
        }
        create(&tree, "up/other", &later, &[]).unwrap();
        // A branch is a file where one below it needs a directory.
        assert!(create(&tree, "feature", &later, &[]).is_err());
        assert_eq!(fs::read_to_string(tree.admin.join("HEAD")).unwrap(), "ref: refs/heads/coppice/abcdefgh/work\n");
    }

    #[test]
    fn a_session_creates_no_branch_with_a_reserved_name_and_each_of_its_branches_is_recorded() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        let at = checkpoint(&tree, 1);
        let reserved = ["trunk".to_owned()];
        for name in ["trunk", "TRUNK", "trunk/x", "coppice", "coppice/x", "Coppice/abcdefgh/y"] {
            let refused = create(&tree, name, &at, &reserved);
            assert!(matches!(refused, Err(GitError::BranchReserved { branch }) if branch == name), "{name}");
            assert!(!is_created_by_session(&tree.repo, name).unwrap());
        }
        create(&tree, "trunks", &at, &reserved).unwrap();
        sandbox.git(&["branch", "-q", "-D", "trunks"]);
        create(&tree, "trunks/x", &at, &reserved).unwrap();
        for (name, expected) in [("trunks", true), ("trunks/x", true), ("main", false)] {
            assert_eq!(is_created_by_session(&tree.repo, name).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn the_way_back_ends_where_the_session_began() {
        let sandbox = Sandbox::new();
        sandbox.write("more", "more\n");
        sandbox.commit_all("more");
        let tree = sandbox.session("abcdefgh");
        let (first, second) = (checkpoint(&tree, 1), checkpoint(&tree, 2));
        write(&tree.path.join("untracked"), "kept elsewhere\n");
        write(&tree.path.join("work"), "not committed\n");
        let saved = "refs/coppice/undo/abcdefgh/1";
        let stranger = sandbox.oid("HEAD~1");
        for target in [stranger, sandbox.git(&["commit-tree", "-m", "x", "HEAD^{tree}"]).trim().parse().unwrap()] {
            let refused = roll_back(&tree, &target, &tree.base, saved);
            assert!(matches!(refused, Err(GitError::NotOfSession { commit }) if commit == target));
        }
        assert!(roll_back(&tree, &tree.base, &first, saved).is_err(), "what is merged stays");
        assert_eq!(sandbox.oid(&tree.branch), second);
        write(&tree.path.join("git~1"), "in no commit\n");
        let refused = roll_back(&tree, &first, &tree.base, saved);
        assert!(matches!(refused, Err(GitError::CannotBeSaved { paths }) if paths == [Path::new("git~1")]));
        assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "not committed\n");
        fs::remove_file(tree.path.join("git~1")).unwrap();

        roll_back(&tree, &first, &tree.base, saved).unwrap();
        assert_eq!(sandbox.oid(&tree.branch), first);
        assert_eq!(fs::read_to_string(tree.path.join("work")).unwrap(), "1\n");
        assert!(!tree.path.join("untracked").exists());
        assert_eq!(sandbox.git(&["show", &format!("{saved}:untracked")]), "kept elsewhere\n");
        assert_eq!(sandbox.git(&["show", &format!("{saved}:work")]), "not committed\n");
        roll_back(&tree, &tree.base, &tree.base, "refs/coppice/undo/abcdefgh/2").unwrap();
        assert!(!tree.path.join("work").exists());
    }
}
