//! A bare repository beside stands for the remote.

use super::*;
use crate::git::Worktree;
use crate::git::testkit::{Sandbox, run_git, write};

/// A repository whose `origin` is the bare one beside it.
fn with_remote() -> Sandbox {
    let sandbox = Sandbox::new();
    run_git(&sandbox.root(), &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
    let bare = sandbox.root().join("remote.git");
    sandbox.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    sandbox
}

fn commit(tree: &Worktree, path: &str, message: &str) -> Oid {
    write(&tree.path.join(path), message);
    run_git(&tree.path, &["add", path]);
    run_git(&tree.path, &["commit", "--quiet", "-m", message]);
    run_git(&tree.path, &["rev-parse", "HEAD"]).trim().parse().unwrap()
}

#[test]
fn a_base_is_the_wanted_one_then_the_remotes_head_then_a_usual_name() {
    let sandbox = with_remote();
    let repo = sandbox.repo();
    let (commit, other) = (Some(sandbox.head()), Some(sandbox.head()));
    let base = |name: &str, found, commit| Some(PullBase { name: name.to_owned(), found, commit });
    assert_eq!(pull_base(&repo, None).unwrap(), base("main", Found::Fallback, commit));
    sandbox.git(&["branch", "trunk"]);
    sandbox.git(&["push", "--quiet", "origin", "trunk"]);
    sandbox.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    assert_eq!(pull_base(&repo, None).unwrap(), base("trunk", Found::OriginHead, other));
    assert_eq!(pull_base(&repo, Some("origin/main")).unwrap(), base("main", Found::Explicit, commit));
    assert_eq!(pull_base(&repo, Some("gone")).unwrap(), base("gone", Found::Explicit, None));
    assert_eq!(pull_base(&repo, Some("--all")).unwrap(), base("--all", Found::Explicit, None));
    // A head that leads nowhere is as good as none.
    sandbox.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/lost"]);
    assert_eq!(pull_base(&repo, None).unwrap(), base("main", Found::Fallback, commit));
}

#[test]
fn without_any_usual_name_there_is_no_base() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "--move", "main", "odd"]);
    assert_eq!(pull_base(&sandbox.repo(), None).unwrap(), None);
}

#[test]
fn a_pull_request_is_told_by_its_commits_and_files() {
    let sandbox = with_remote();
    sandbox.write(".github/pull_request_template.md", "What and why?\n");
    let base = sandbox.commit_all("a template");
    let tree = sandbox.session("abcdefgh");
    commit(&tree, "one", "add one");
    let head = commit(&tree, "two", "add two");
    let repo = sandbox.repo();
    assert_eq!(ahead(&repo, base, head).unwrap(), 2);
    let listed = commits(&repo, base, head).unwrap();
    let subjects: Vec<_> = listed.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(subjects, ["add two", "add one"]);
    let table = stat(&repo, base, head).unwrap();
    assert!(table.contains(" one | 1 +") && table.contains("2 files changed"), "{table}");
    assert_eq!(template(&repo, base).unwrap().as_deref(), Some("What and why?\n"));
    assert_eq!(template(&repo, sandbox.oid("main~1")).unwrap(), None);
}

#[test]
fn a_branch_is_pushed_when_the_remote_says_so() {
    let sandbox = with_remote();
    let tree = sandbox.session("abcdefgh");
    let repo = sandbox.repo();
    let pushed = |name: &str| is_pushed(&repo, name, &Stops::new()).unwrap();
    assert_eq!(pushed(&tree.branch), Some(false));
    publish(&repo, &tree.branch, &tree.branch, None, &Stops::new()).unwrap();
    assert_eq!(pushed(&tree.branch), Some(true));
    sandbox.git(&["remote", "set-url", "origin", "/nowhere/at/all"]);
    assert_eq!(pushed(&tree.branch), None);
}

#[test]
fn a_branch_keeps_the_name_under_which_it_was_published() {
    let sandbox = with_remote();
    let tree = sandbox.session("abcdefgh");
    let (repo, branch) = (sandbox.repo(), tree.branch.as_str());
    assert_eq!(published(&repo, branch).unwrap(), branch);
    let head = commit(&tree, "one", "add one");
    publish(&repo, branch, "fix/it", None, &Stops::new()).unwrap();
    assert_eq!(published(&repo, branch).unwrap(), "fix/it");
    let there = run_git(&sandbox.root().join("remote.git"), &["rev-parse", "fix/it"]);
    assert_eq!(there.trim(), head.to_string());
    // What the remote has and the branch has not is never thrown away.
    run_git(&tree.path, &["commit", "--quiet", "--amend", "-m", "other"]);
    assert!(matches!(publish(&repo, branch, "fix/it", None, &Stops::new()), Err(GitError::Refused { .. })));
    assert!(matches!(publish(&repo, "gone", "gone", None, &Stops::new()), Err(GitError::BranchMissing { .. })));
}

#[test]
fn the_addresses_of_the_remote_are_as_written_and_as_used() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo();
    assert_eq!(origin(&repo).unwrap(), [""; 0]);
    sandbox.git(&["remote", "add", "origin", "gh:ada/engine"]);
    sandbox.git(&["config", "url.https://github.com/.insteadOf", "gh:"]);
    assert_eq!(origin(&repo).unwrap(), ["gh:ada/engine", "https://github.com/ada/engine"]);
}

#[test]
fn names_for_branches() {
    for (name, is_one) in [
        ("fix/it", true),
        ("x", true),
        ("", false),
        ("-f", false),
        ("a b", false),
        ("a..b", false),
        ("HEAD", false),
        ("a:b", false),
        ("a.lock", false),
        ("/a", false),
    ] {
        assert_eq!(is_branch_name(name), is_one, "{name}");
    }
}
