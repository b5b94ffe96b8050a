//! Families that a daemon left in the middle of their work, and that a person resumes.

use serde_json::json;

use super::{parent, played, wait_for_handoffs};
use crate::env::TestEnv;
use crate::script::{call, delegate, hang, run, steps};

#[test]
fn children_are_resumed_with_the_environment_of_whoever_resumes_their_parent() {
    let mut env = TestEnv::new();
    env.set("LC_WHOSE", "first");
    let id = parent(&env, &delegate("general", &steps(&[run("echo $LC_WHOSE >> whose.txt"), hang()])));
    let [child] = wait_for_handoffs(&env, &id, "running", 1).try_into().unwrap();
    env.wait_for_event(&child, "tool_finished", 0);
    env.kill_daemon();
    env.set("LC_WHOSE", "daemon");
    let seen = env.events(&child).last().unwrap()["seq"].as_u64().unwrap();
    env.set("LC_WHOSE", "second");
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for_event(&child, "tool_finished", seen);
    assert_eq!(std::fs::read_to_string(env.worktree(&child).join("whose.txt")).unwrap(), "first\nsecond\n");
}

#[test]
fn children_of_an_earlier_attempt_belong_to_the_turn_that_takes_it_up_again() {
    let env = TestEnv::new();
    let id = parent(&env, &steps(&[delegate("general", &hang())]));
    let [first] = wait_for_handoffs(&env, &id, "running", 1).try_into().unwrap();
    env.kill_daemon();
    let seen = env.events(&first).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for_event(&first, "turn_started", seen);
    // The demo does as it is told, whatever it is told beside that, and asks a second child.
    let [_, second] = wait_for_handoffs(&env, &id, "running", 2).try_into().unwrap();
    assert_eq!([&first, &second].map(|child| env.status(child)), ["running", "running"]);
    env.coppice(&["stop", &id]).succeeds();
    wait_for_handoffs(&env, &id, "cancelled", 2);
}

#[test]
fn a_parent_that_cannot_be_resumed_leaves_its_children_alone() {
    let env = TestEnv::new();
    env.configure("[delegation]\nfacade = \"spawn_agent\"");
    let spawn = call("spawn_agent", &json!({ "agent_type": "general", "message": hang() }));
    let (id, _) = played(&env, &spawn);
    let [child] = wait_for_handoffs(&env, &id, "running", 1).try_into().unwrap();
    env.kill_daemon();
    let refused = env.coppice(&["resume", &id]).exits(1);
    assert!(refused.stderr.contains("is ready: it cannot be resumed"), "{}", refused.stderr);
    assert_eq!([&id, &child].map(|id| env.status(id)), ["ready", "interrupted"]);
    env.coppice(&["resume", &child]).succeeds();
}
