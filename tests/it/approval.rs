//! Which calls of an agent go through by themselves, and which wait for a person.

use serde_json::json;

use crate::env::TestEnv;
use crate::script::{say, steps};

/// Asks for permission to do what follows, and names what it touches.
fn request(deed: &str) -> String {
    steps(&[format!("@request {deed}"), deed.to_owned(), say("done")])
}

#[test]
fn a_call_that_stays_in_the_worktree_asks_nobody() {
    let env = TestEnv::new();
    for (deed, file) in [("@write inside.txt 1", "inside.txt"), ("@run echo 2 > made.txt", "made.txt")] {
        let id = env.create_ready(&request(deed));
        assert!(env.worktree(&id).join(file).exists(), "{deed}");
        assert!(!env.kinds(&id).contains(&"approval_requested".to_owned()), "{deed}");
    }
}

#[test]
fn a_call_that_leaves_the_worktree_waits_for_a_person() {
    let env = TestEnv::new();
    let outside = env.path("outside.txt");
    std::os::unix::fs::symlink(env.path(""), env.repo().join("out")).unwrap();
    env.commit("a way out");
    let command = format!("@run echo x > {}", outside.display());
    for deed in [command.as_str(), "@write ../outside.txt x", "@write out/outside.txt x", "@write .git x"] {
        let id = env.create(&request(deed));
        env.wait_for(&id, "approval");
        assert!(!outside.exists(), "{deed}");
        env.coppice(&["deny", &id]).succeeds();
        env.wait_for(&id, "ready");
        assert!(!outside.exists(), "{deed}");
    }
    let id = env.create(&request(&command));
    env.wait_for(&id, "approval");
    assert_eq!(env.json(&["inbox"])[0]["approval"]["tool"], json!("execute"));
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert!(outside.exists());
}

#[test]
fn a_decision_is_for_one_call() {
    let env = TestEnv::new();
    let command = format!("@run echo x >> {}", env.path("outside.txt").display());
    let id = env.create(&steps(&[request(&command), request(&command)]));
    env.wait_for(&id, "approval");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "approval");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(std::fs::read_to_string(env.path("outside.txt")).unwrap(), "x\nx\n");
}
