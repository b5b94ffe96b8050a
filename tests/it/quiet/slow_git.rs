//! Git that never comes to an end of what an agent left, and those who do not wait for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::is_running;
use crate::env::TestEnv;
use crate::script::{call, hang, run, say, steps, write};

const SLOW: &str = "sleep 6030";

/// A git of the daemon's that never ends while it adds files to an index, if the test says so.
struct SlowGit {
    words: PathBuf,
}

impl SlowGit {
    /// Puts it in front of the real one, before the daemon starts.
    fn install(env: &mut TestEnv) -> Self {
        Self { words: env.wrap_git("slow", &format!("exec {SLOW}")).join("slow") }
    }

    fn begin(&self) {
        fs::write(&self.words, "update-index --add\n").unwrap();
    }

    fn end(&self) {
        fs::remove_file(&self.words).unwrap();
    }
}

#[track_caller]
fn wait_for_slow_git(env: &TestEnv) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_running(env, SLOW) {
        assert!(Instant::now() < deadline, "git does not come");
    }
}

/// A session whose second turn has ended, apart from its checkpoint, which does not.
fn closing_session(env: &TestEnv, git: &SlowGit) -> String {
    let id = env.create_ready(&say("begun"));
    git.begin();
    env.coppice(&["send", &id, &steps(&[write("made.txt", "made"), say("done")])]).succeeds();
    wait_for_slow_git(env);
    id
}

#[test]
fn a_stop_gives_up_the_checkpoint_and_the_next_one_takes_the_files() {
    let mut env = TestEnv::new();
    let git = SlowGit::install(&mut env);
    let id = env.create_ready(&say("begun"));
    let tree = env.worktree(&id);
    git.begin();
    let wait = run("while ! test -e go; do sleep 0.01; done");
    env.coppice(&["send", &id, &steps(&[write("made.txt", "made"), wait, say("done")])]).succeeds();
    env.coppice(&["send", &id, &write("waits.txt", "waits")]).succeeds();
    fs::write(tree.join("go"), "").unwrap();
    wait_for_slow_git(&env);
    let stopped = env.coppice(&["stop", &id]).exits(0);
    let warning = format!(
        "what the turn changed could not be committed: `git update-index` was stopped; the files are in {}",
        tree.display()
    );
    assert!(stopped.stderr.contains(&warning), "{}", stopped.stderr);
    assert!(!is_running(&env, SLOW));
    env.wait_for(&id, "ready");
    assert_eq!(env.session(&id)["last_error"]["kind"], "uncommitted");
    assert!(tree.join("made.txt").exists());
    assert!(!tree.join("waits.txt").exists(), "a prompt that waits does not begin");

    git.end();
    env.send_ready(&id, &[], &say("again"));
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    assert_eq!(env.git(&["show", &format!("{branch}:made.txt")]), "made");
}

#[test]
fn a_stopped_turn_gives_up_its_checkpoint() {
    let mut env = TestEnv::new();
    let git = SlowGit::install(&mut env);
    let id = env.create_ready(&say("begun"));
    git.begin();
    env.coppice(&["send", &id, &steps(&[write("made.txt", "made"), run("true"), hang()])]).succeeds();
    env.wait_for_event(&id, "tool_finished", 0);
    env.coppice(&["stop", &id]).succeeds();
    env.wait_for(&id, "interrupted");
    assert!(!is_running(&env, SLOW));
    assert!(env.worktree(&id).join("made.txt").exists());
}

#[test]
fn a_removal_and_a_restore_give_up_what_git_does_meanwhile() {
    let mut env = TestEnv::new();
    let git = SlowGit::install(&mut env);
    let id = closing_session(&env, &git);
    let tree = env.worktree(&id);
    env.coppice(&["rm", &id]).succeeds();
    // The sweeper saves the tree.
    wait_for_slow_git(&env);
    assert!(tree.parent().unwrap().join(".trash").join(&id).join("made.txt").exists());
    env.coppice(&["restore", &id]).succeeds();
    assert!(!is_running(&env, SLOW));
    assert!(tree.join("made.txt").exists());
    git.end();
    env.send_ready(&id, &[], &say("again"));
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    assert_eq!(env.git(&["show", &format!("{branch}:made.txt")]), "made");
}

#[test]
fn the_end_of_the_daemon_gives_up_checkpoints_and_removals() {
    let mut env = TestEnv::new();
    let git = SlowGit::install(&mut env);
    let id = closing_session(&env, &git);
    let tree = env.worktree(&id);
    env.end_daemon(&["--now"]);
    assert!(!is_running(&env, SLOW));
    assert!(tree.join("made.txt").exists());

    env.coppice(&["rm", &id]).succeeds();
    wait_for_slow_git(&env);
    env.end_daemon(&["--now"]);
    assert!(!is_running(&env, SLOW));
    assert!(tree.parent().unwrap().join(".trash").join(&id).join("made.txt").exists());
}

#[test]
fn git_does_not_outlive_a_killed_daemon_into_the_next_one() {
    let mut env = TestEnv::new();
    let git = SlowGit::install(&mut env);
    let id = closing_session(&env, &git);
    kill_process(env.daemon_pid().unwrap(), Signal::KILL).unwrap();
    assert!(is_running(&env, SLOW));
    git.end();
    // The first request to the next daemon.
    assert_eq!(env.status(&id), "interrupted");
    assert!(!is_running(&env, SLOW));
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    assert_eq!(env.git(&["show", &format!("{branch}:made.txt")]), "made");
}

/// An agent that changes history, once a person agrees.
fn changing() -> TestEnv {
    let env = TestEnv::new();
    env.configure("default.posture = \"attended\"\n[tools]\ngit_mutations = \"allow\"\n");
    env
}

/// Makes and removes a session, for which the repository is locked.
fn work_beside(env: &TestEnv) {
    let other = env.create_ready(&say("beside"));
    env.coppice(&["rm", &other]).succeeds();
    assert!(is_running(env, SLOW));
}

#[test]
fn no_other_session_waits_for_what_an_agent_stages_or_commits() {
    for (tool, arguments) in [("git_stage_files", json!({ "all": true })), ("git_checkpoint", json!({}))] {
        let mut env = changing();
        let git = SlowGit::install(&mut env);
        let id = env.create(&steps(&[write("made.txt", "made"), call(tool, &arguments)]));
        env.wait_for(&id, "approval");
        git.begin();
        env.coppice(&["approve", &id]).succeeds();
        wait_for_slow_git(&env);
        work_beside(&env);
        env.coppice(&["stop", &id]).succeeds();
    }
}

#[test]
fn no_other_session_waits_for_the_hooks_of_a_commit() {
    let env = changing();
    let hook = env.repo().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\nexec {SLOW}\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let stage = call("git_stage_files", &json!({ "all": true }));
    let commit = call("git_commit_apply", &json!({ "message": "feat: add it" }));
    let id = env.create(&steps(&[write("made.txt", "made"), stage, commit]));
    for _ in 0..2 {
        env.wait_for(&id, "approval");
        env.coppice(&["approve", &id]).succeeds();
    }
    wait_for_slow_git(&env);
    work_beside(&env);
    env.coppice(&["stop", &id]).succeeds();
}
