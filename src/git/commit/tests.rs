//! Commits of what is staged and of everything, with hooks that refuse, add to them and lie in the wrong place.

#![expect(clippy::disallowed_methods, reason = "a test runs hooks without a cage")]

use std::fs;

use super::*;
use crate::git::testkit::{Sandbox, run_git, write, write_script};

fn session() -> (Sandbox, Worktree) {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "a\n");
    sandbox.commit_all("second");
    let tree = sandbox.session("abcdefgh");
    (sandbox, tree)
}

fn run_hook(hook: HookRun) -> HookResult {
    let mut command = std::process::Command::new(&hook.program);
    command.args(&hook.arguments).current_dir(&hook.directory).envs(hook.environment);
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { HookResult::Passed } else { HookResult::Failed { output: said } }
}

fn porcelain(tree: &Worktree) -> String {
    run_git(&tree.path, &["status", "--porcelain"])
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

#[test]
fn what_is_named_is_staged_and_unstaged() {
    let (_sandbox, tree) = session();
    write(&tree.path.join("src/a"), "changed\n");
    write(&tree.path.join("src/b"), "b\n");
    write(&tree.path.join("[x]*"), "odd\n");
    fs::remove_file(tree.path.join("README")).unwrap();
    let staged = |names: &[&str]| stage_paths(&tree, &paths(names)).unwrap();
    assert_eq!(staged(&["src", "nope"]).unmatched, paths(&["nope"]));
    assert_eq!(porcelain(&tree), " D README\n M src/a\n?? [x]*\n?? src/b\n");
    assert_eq!(staged(&["src"]), Selected { files: 2, left_out: vec![], unmatched: vec![] });
    assert_eq!(porcelain(&tree), " D README\nM  src/a\nA  src/b\n?? [x]*\n");
    assert_eq!(staged(&["[x]*", "README"]).files, 2);
    assert_eq!(porcelain(&tree), "D  README\nA  [x]*\nM  src/a\nA  src/b\n");
    assert_eq!(unstage(&tree, &paths(&["src/b", "*"])).unwrap(), 1);
    assert_eq!(porcelain(&tree), "D  README\nA  [x]*\nM  src/a\n?? src/b\n");
    assert_eq!(unstage(&tree, &paths(&["."])).unwrap(), 3);
    assert_eq!(unstage(&tree, &paths(&["."])).unwrap(), 0);
    assert_eq!(stage_all(&tree).unwrap().files, 4);
    assert_eq!(porcelain(&tree), "D  README\nA  [x]*\nM  src/a\nA  src/b\n");
}

#[test]
fn a_nested_repository_is_left_out_and_told() {
    let (_sandbox, tree) = session();
    run_git(&tree.path, &["init", "--quiet", "nested"]);
    write(&tree.path.join("nested/x"), "x\n");
    write(&tree.path.join("b"), "b\n");
    let all = stage_all(&tree).unwrap();
    assert_eq!((all.files, all.left_out), (1, paths(&["nested"])));
}

#[test]
fn only_what_is_staged_is_committed() {
    let (sandbox, tree) = session();
    let nothing = commit(&tree, "x", &mut run_hook).unwrap();
    assert_eq!(nothing, Outcome::NothingStaged);
    write(&tree.path.join("src/a"), "changed\n");
    write(&tree.path.join("src/b"), "b\n");
    stage_paths(&tree, &paths(&["src/a"])).unwrap();
    let Outcome::Committed { commit, .. } = commit(&tree, "the subject\n\nbody", &mut run_hook).unwrap() else {
        panic!("not committed");
    };
    assert_eq!(sandbox.oid(&tree.branch), commit);
    assert_eq!(sandbox.git(&["log", "-1", "--format=%an %s%n%b", &tree.branch]), "Ada the subject\nbody\n\n");
    assert_eq!(porcelain(&tree), "?? src/b\n");
    // As after any turn in which the agent committed by itself.
    let about = history::Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "work" };
    fs::remove_file(tree.path.join("src/b")).unwrap();
    assert_eq!(history::checkpoint(&tree, about).unwrap().unwrap().commit, commit);
}

#[test]
fn a_hook_that_refuses_is_told_in_its_own_words() {
    let (sandbox, tree) = session();
    write_script(&sandbox.main().join(".git/hooks/pre-commit"), "echo 'lint: src/a:1'; echo no >&2; exit 3");
    write(&tree.path.join("src/a"), "changed\n");
    stage_all(&tree).unwrap();
    let refused = commit(&tree, "x", &mut run_hook).unwrap();
    let output = "lint: src/a:1\nno\n".to_owned();
    assert_eq!(refused, Outcome::HookFailed { hook: Hook::PreCommit, output });
    assert_eq!(sandbox.oid(&tree.branch), tree.base);
    assert_eq!(porcelain(&tree), "M  src/a\n");
}

#[test]
fn what_a_hook_stages_and_words_is_in_the_commit_and_in_the_tree() {
    let (sandbox, tree) = session();
    let hooks = sandbox.main().join(".git/hooks");
    write_script(&hooks.join("pre-commit"), "echo formatted > src/a; echo formatted > src/b; git add src");
    write_script(&hooks.join("commit-msg"), "echo 'by the hook' > \"$1\"");
    write(&tree.path.join("src/a"), "changed\n");
    write(&tree.path.join("src/b"), "changed\n");
    stage_all(&tree).unwrap();
    assert!(matches!(commit(&tree, "x", &mut run_hook).unwrap(), Outcome::Committed { .. }));
    assert_eq!(sandbox.git(&["show", "--format=%s", "-s", &tree.branch]), "by the hook\n");
    assert_eq!(sandbox.git(&["show", &format!("{}:src/a", tree.branch)]), "formatted\n");
    assert_eq!(fs::read_to_string(tree.path.join("src/a")).unwrap(), "formatted\n");
    assert_eq!(porcelain(&tree), "");

    // What was changed since it was staged stays as it is.
    write(&tree.path.join("src/a"), "staged\n");
    stage_all(&tree).unwrap();
    write(&tree.path.join("src/a"), "later\n");
    write(&tree.path.join("c"), "c\n");
    stage_paths(&tree, &paths(&["c"])).unwrap();
    assert!(matches!(commit(&tree, "x", &mut run_hook).unwrap(), Outcome::Committed { .. }));
    assert_eq!(fs::read_to_string(tree.path.join("src/a")).unwrap(), "later\n");
    assert_eq!(porcelain(&tree), " M src/a\n");
}

#[test]
fn everything_is_committed_without_hooks() {
    let (sandbox, tree) = session();
    write_script(&sandbox.main().join(".git/hooks/pre-commit"), "exit 1");
    assert_eq!(commit_all(&tree, "checkpoint").unwrap(), None);
    write(&tree.path.join("src/a"), "changed\n");
    write(&tree.path.join("b"), "b\n");
    let recorded = commit_all(&tree, "checkpoint").unwrap().unwrap();
    assert_eq!(sandbox.oid(&tree.branch), recorded.commit);
    assert_eq!(porcelain(&tree), "");
    assert_eq!(commit_all(&tree, "checkpoint").unwrap(), None);
}

#[test]
fn a_session_that_left_its_branch_commits_nothing() {
    let (sandbox, tree) = session();
    run_git(&tree.path, &["switch", "--quiet", "--create", "other"]);
    write(&tree.path.join("b"), "b\n");
    stage_all(&tree).unwrap();
    assert!(matches!(commit(&tree, "x", &mut run_hook), Err(GitError::BranchMissing { .. })));
    assert!(commit_all(&tree, "x").is_err());
    run_git(&tree.path, &["switch", "--quiet", "--detach"]);
    assert!(matches!(commit(&tree, "x", &mut run_hook), Err(GitError::Detached { .. })));
    assert_eq!(sandbox.oid(&tree.branch), tree.base);
}
