//! What a person sees of the repository around a directory: its root, its branch, how far that is from its upstream.
//!
//! It discovers, so it is for directories of the user only: in a session's worktree an agent could mislead it.

use std::path::{Path, PathBuf};

use git2::{BranchType, Repository};

use super::repo::{self, canonical, has_commits};
use super::{GitError, Repo};

/// A directory of the user, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub repo: Repo,
    /// HEAD and index of the work tree that the directory is in.
    pub git_dir: PathBuf,
    /// The root of that work tree; none in a bare repository.
    pub files: Option<PathBuf>,
    /// Short name of the branch that is checked out, also before its first commit; none when detached.
    pub branch: Option<String>,
    /// None for a branch that follows none.
    pub distance: Option<Distance>,
    pub has_commits: bool,
}

/// How many commits a branch has that its upstream has not, and the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distance {
    pub ahead: usize,
    pub behind: usize,
}

impl Place {
    /// Finds out where `dir` is. A repository without commits is a place too.
    pub fn find(dir: &Path) -> Result<Self, GitError> {
        let found = repo::discover_handle(dir)?;
        let branch = checked_out(&found);
        Ok(Self {
            repo: Repo::of(&found)?,
            git_dir: canonical(found.path())?,
            files: found.workdir().map(canonical).transpose()?,
            distance: branch.as_deref().and_then(|branch| from_upstream(&found, branch)),
            branch,
            has_commits: has_commits(&found)?,
        })
    }
}

/// How far a branch is from the one that it follows; none where either does not exist.
pub fn distance(repo: &Repo, branch: &str) -> Result<Option<Distance>, GitError> {
    Ok(from_upstream(&repo.open()?, branch))
}

/// The branch that HEAD names, whether it has a commit or not.
fn checked_out(repo: &Repository) -> Option<String> {
    let head = repo.find_reference("HEAD").ok()?;
    let name = head.symbolic_target().ok().flatten()?;
    name.strip_prefix("refs/heads/").map(str::to_owned)
}

fn from_upstream(repo: &Repository, branch: &str) -> Option<Distance> {
    let local = repo.find_branch(branch, BranchType::Local).ok()?;
    let (here, there) = (local.get().target()?, local.upstream().ok()?.get().target()?);
    let (ahead, behind) = repo.graph_ahead_behind(here, there).ok()?;
    Some(Distance { ahead, behind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testkit::{Sandbox, run_git};

    #[test]
    fn every_layout_has_a_root_and_a_branch() {
        let sandbox = Sandbox::new();
        sandbox.write("deep/er/file", "x\n");
        let main = sandbox.main();
        let expected = Place {
            repo: sandbox.repo(),
            git_dir: main.join(".git"),
            files: Some(main.clone()),
            branch: Some("main".into()),
            distance: None,
            has_commits: true,
        };
        assert_eq!(Place::find(&main.join("deep/er")).unwrap(), expected);

        sandbox.git(&["worktree", "add", "--quiet", "-b", "side", "../linked"]);
        let linked = sandbox.root().join("linked");
        let git_dir = main.join(".git/worktrees/linked");
        let side = Place { git_dir, files: Some(linked.clone()), branch: Some("side".into()), ..expected.clone() };
        assert_eq!(Place::find(&linked).unwrap(), side);

        sandbox.git(&["checkout", "--quiet", "--detach"]);
        assert_eq!(Place::find(&main).unwrap(), Place { branch: None, ..expected });

        sandbox.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
        let bare = Place::find(&sandbox.root().join("bare.git")).unwrap();
        assert_eq!((bare.files, bare.git_dir), (None, sandbox.root().join("bare.git")));
        assert!(matches!(Place::find(&sandbox.root()), Err(GitError::NotARepository { .. })));
    }

    #[test]
    fn a_repository_without_commits_has_a_branch_already() {
        let place = Place::find(&Sandbox::unborn().main()).unwrap();
        assert_eq!((place.branch.as_deref(), place.has_commits), (Some("main"), false));
    }

    #[test]
    fn a_branch_is_compared_with_the_one_that_it_follows() {
        let sandbox = Sandbox::new();
        sandbox.git(&["clone", "--quiet", ".", "../clone"]);
        let clone = sandbox.root().join("clone");
        let commit = |dir: &Path, message: &str| {
            let identity = ["-c", "user.name=a", "-c", "user.email=b"];
            run_git(dir, &[&identity[..], &["commit", "--quiet", "--allow-empty", "-m", message]].concat());
        };
        let far = |ahead, behind| Some(Distance { ahead, behind });
        assert_eq!(Place::find(&clone).unwrap().distance, far(0, 0));
        commit(&clone, "one");
        commit(&clone, "two");
        commit(&sandbox.main(), "three");
        run_git(&clone, &["fetch", "--quiet"]);
        let place = Place::find(&clone).unwrap();
        assert_eq!((place.distance, distance(&place.repo, "main").unwrap()), (far(2, 1), far(2, 1)));
        assert_eq!(distance(&place.repo, "no-such-branch").unwrap(), None);
        run_git(&clone, &["update-ref", "-d", "refs/remotes/origin/main"]);
        assert_eq!(Place::find(&clone).unwrap().distance, None, "the upstream is gone");
    }
}
