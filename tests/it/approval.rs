//! Which calls of an agent go through by themselves, which wait for a person, and which nobody can allow.

use serde_json::json;

use crate::env::TestEnv;
use crate::script::{ask_to_run, say, steps};

/// Asks for permission to do what follows, and names what it touches.
fn request(deed: &str) -> String {
    steps(&[format!("@request {deed}"), deed.to_owned(), say("done")])
}

/// A world in which no kernel stands in the way of what a person allows.
fn open() -> TestEnv {
    let env = TestEnv::new();
    env.configure("[sandbox]\nlevel = \"off\"");
    env
}

#[track_caller]
fn create(env: &TestEnv, posture: &str, prompt: &str) -> String {
    env.create_with(&["--model", "demo", "--posture", posture], prompt)
}

#[test]
fn a_call_that_stays_in_the_worktree_asks_nobody() {
    for env in [TestEnv::new(), open()] {
        for (deed, file) in [("@write inside.txt 1", "inside.txt"), ("@run echo 2 > made.txt", "made.txt")] {
            let id = create(&env, "unattended", &request(deed));
            env.wait_for(&id, "ready");
            assert!(env.worktree(&id).join(file).exists(), "{deed}");
            assert!(!env.kinds(&id).contains(&"approval_requested".to_owned()), "{deed}");
        }
    }
}

#[test]
fn a_call_that_leaves_the_worktree_waits_for_a_person() {
    let env = open();
    let outside = env.path("outside.txt");
    let command = format!("@run echo x > {}", outside.display());
    let write = format!("@write {} x", outside.display());
    for deed in [command.as_str(), write.as_str()] {
        let id = create(&env, "edits", &request(deed));
        env.wait_for(&id, "approval");
        assert!(!outside.exists(), "{deed}");
        env.coppice(&["deny", &id]).succeeds();
        env.wait_for(&id, "ready");
        assert!(!outside.exists(), "{deed}");
    }
    let id = create(&env, "edits", &request(&command));
    env.wait_for(&id, "approval");
    assert_eq!(env.json(&["inbox"])[0]["approval"]["tool"], json!("execute"));
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert!(outside.exists());
}

#[test]
fn what_belongs_to_git_or_to_us_is_refused_without_a_question() {
    let env = open();
    std::os::unix::fs::symlink(env.path(""), env.repo().join("out")).unwrap();
    env.commit("a way out");
    let outside = format!("@write {} x", env.path("outside.txt").display());
    for (posture, deed) in [
        ("attended", "@write .git x"),
        ("unattended", "@write .git x"),
        ("attended", "@write ../beside.txt x"),
        ("attended", "@write out/outside.txt x"),
        // Where nobody is there to be asked, all that lies outside is refused.
        ("unattended", outside.as_str()),
    ] {
        let id = create(&env, posture, &request(deed));
        env.wait_for(&id, "ready");
        assert!(!env.kinds(&id).contains(&"approval_requested".to_owned()), "{posture} {deed}");
        let refused = env.events(&id).into_iter().find(|event| event["type"] == "warning");
        assert!(refused.is_some(), "{posture} {deed}");
    }
    assert!(!env.path("outside.txt").exists());
}

#[test]
fn a_decision_is_for_one_call() {
    let env = open();
    let command = format!("@run echo x >> {}", env.path("outside.txt").display());
    let id = create(&env, "edits", &steps(&[request(&command), request(&command)]));
    env.wait_for(&id, "approval");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "approval");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(std::fs::read_to_string(env.path("outside.txt")).unwrap(), "x\nx\n");
}

#[test]
fn what_waits_does_not_grow_younger_with_a_restart_or_a_refused_merge() {
    let env = TestEnv::new();
    let age = |id: &str| env.session(id)["updated_at"].as_i64().unwrap();
    for end in ["kill", "stop"] {
        let waits = env.create(&ask_to_run("true"));
        env.wait_for(&waits, "approval");
        let before = age(&waits);
        match end {
            "kill" => env.kill_daemon(),
            _ => env.coppice(&["daemon", "stop", "--now"]).succeeds(),
        }
        assert_eq!((env.status(&waits), age(&waits)), ("interrupted".to_owned(), before), "{end}");
    }
    let empty = env.create_ready(&say("nothing"));
    let before = age(&empty);
    env.coppice(&["merge", &empty]).exits(1).transcript();
    assert_eq!((env.status(&empty), age(&empty)), ("ready".to_owned(), before));
}
