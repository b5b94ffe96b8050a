//! Pushes into a bare repository beside, as a remote is.

use super::*;
use crate::git::testkit::{Sandbox, run_git, write, write_script};

fn remote(sandbox: &Sandbox) {
    let bare = sandbox.root().join("remote.git");
    run_git(&sandbox.root(), &["init", "--quiet", "--bare", "remote.git"]);
    sandbox.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
}

fn commit(tree: &Worktree, text: &str) {
    write(&tree.path.join("work"), text);
    run_git(&tree.path, &["add", "work"]);
    run_git(&tree.path, &["commit", "--quiet", "-m", text]);
}

fn try_push(tree: &Worktree) -> Result<Pushed, GitError> {
    push(tree, "main", [("GIT_DIR", "/nowhere"), ("SSH_AUTH_SOCK", "/nowhere")], &Stops::new())
}

#[test]
fn the_first_push_sets_the_upstream_and_the_next_keeps_it() {
    let sandbox = Sandbox::new();
    remote(&sandbox);
    let tree = sandbox.session("abcdefgh");
    commit(&tree, "one");
    let pushed = |upstream| Pushed { branch: tree.branch.clone(), remote: "origin".into(), upstream };
    assert_eq!(try_push(&tree).unwrap(), pushed(Upstream::Set));
    commit(&tree, "two");
    assert_eq!(try_push(&tree).unwrap(), pushed(Upstream::Kept));
    let there = run_git(&sandbox.root().join("remote.git"), &["rev-parse", &tree.branch]);
    assert_eq!(there.trim(), sandbox.oid(&tree.branch).to_string());
}

#[test]
fn history_that_differs_is_refused_and_never_forced() {
    let sandbox = Sandbox::new();
    remote(&sandbox);
    let tree = sandbox.session("abcdefgh");
    commit(&tree, "one");
    try_push(&tree).unwrap();
    let there = || run_git(&sandbox.root().join("remote.git"), &["rev-parse", &tree.branch]);
    let before = there();
    run_git(&tree.path, &["commit", "--quiet", "--amend", "-m", "other"]);
    // A mirror and a refspec with a plus are force by configuration.
    sandbox.git(&["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"]);
    let error = try_push(&tree).unwrap_err();
    assert!(matches!(&error, GitError::Refused { output, .. } if output.contains("non-fast-forward")), "{error}");
    assert_eq!(there(), before);
}

#[test]
fn a_detached_head_is_not_pushed() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session("abcdefgh");
    run_git(&tree.path, &["switch", "--quiet", "--detach"]);
    assert!(matches!(try_push(&tree), Err(GitError::Detached { .. })));
}

#[test]
fn a_missing_remote_and_an_upstream_that_is_the_base_are_told() {
    let sandbox = Sandbox::new();
    let tree = sandbox.session("abcdefgh");
    assert!(matches!(try_push(&tree), Err(GitError::NoRemote { remote }) if remote == "origin"));
    sandbox.git(&["config", &format!("branch.{}.remote", tree.branch), "origin"]);
    for (merge, expected) in [("refs/heads/main", "started from"), ("refs/tags/x", "no branch")] {
        sandbox.git(&["config", &format!("branch.{}.merge", tree.branch), merge]);
        assert!(matches!(try_push(&tree), Err(GitError::Refused { output, .. }) if output.contains(expected)));
    }
}

#[test]
fn a_branch_goes_to_its_upstream_whatever_that_is_called() {
    let sandbox = Sandbox::new();
    remote(&sandbox);
    let tree = sandbox.session("abcdefgh");
    commit(&tree, "one");
    run_git(&tree.path, &["push", "--quiet", "--set-upstream", "origin", "HEAD:refs/heads/feature"]);
    commit(&tree, "two");
    let pushed = Pushed { branch: "feature".into(), remote: "origin".into(), upstream: Upstream::Kept };
    assert_eq!(try_push(&tree).unwrap(), pushed);
    let there = |name| run_git(&sandbox.root().join("remote.git"), &["for-each-ref", "--format=%(objectname)", name]);
    assert_eq!(there("refs/heads/feature").trim(), sandbox.oid(&tree.branch).to_string());
    assert_eq!(there("refs/heads/coppice"), "");
}

#[test]
fn no_hook_runs_and_no_prompt_waits() {
    let sandbox = Sandbox::new();
    remote(&sandbox);
    let mark = sandbox.root().join("ran");
    write_script(&sandbox.main().join(".git/hooks/pre-push"), &format!("touch {}; exit 1", mark.display()));
    let tree = sandbox.session("abcdefgh");
    try_push(&tree).unwrap();
    assert!(!mark.exists());
    // A way to the remote that would ask: it is told not to, and keeps the words of the user.
    let said = sandbox.root().join("said");
    let script = sandbox.root().join("ssh.sh");
    write_script(
        &script,
        &format!("echo \"$@ [$SSH_ASKPASS_REQUIRE$GIT_TERMINAL_PROMPT]\" > {}; exit 1", said.display()),
    );
    sandbox.git(&["config", "core.sshCommand", &format!("{} -v", script.display())]);
    sandbox.git(&["config", "remote.origin.url", "ssh://example.invalid/x"]);
    assert!(matches!(try_push(&tree), Err(GitError::Refused { .. })));
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("-v -oBatchMode=yes") && said.contains("[never0]"), "{said}");
}

#[test]
fn a_push_that_is_stopped_ends_with_all_that_it_started() {
    let sandbox = Sandbox::new();
    remote(&sandbox);
    let tree = sandbox.session("abcdefgh");
    let (pipe, script) = (sandbox.root().join("started"), sandbox.root().join("ssh.sh"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    write_script(&script, &format!("echo > {}; exec sleep 600", pipe.display()));
    sandbox.git(&["config", "core.sshCommand", script.to_str().unwrap()]);
    sandbox.git(&["config", "remote.origin.url", "ssh://example.invalid/x"]);
    let stops = Stops::new();
    let stopper = stops.stopper();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Reading waits until the other machine is being asked.
            fs::read(&pipe).unwrap();
            stopper.stop();
        });
        assert!(matches!(push(&tree, "main", [], &stops), Err(GitError::Stopped { .. })));
    });
}
