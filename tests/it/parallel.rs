//! Many sessions at once: the limit holds, and whoever waits for a person takes nobody's place.

use crate::env::TestEnv;
use crate::script::{ask_to_run, hang, say};

#[test]
fn no_more_turns_run_than_the_limit_allows() {
    let env = TestEnv::new();
    env.configure("[limits]\nparallel_turns = 1\n");
    let first = env.create(&hang());
    env.wait_for_event(&first, "turn_started", 0);
    let second = env.create(&say("second"));
    let third = env.create(&say("third"));
    assert_eq!((env.status(&second), env.status(&third)), ("queued".into(), "queued".into()));

    env.coppice(&["stop", &first]).succeeds();

    env.wait_for(&second, "ready");
    env.wait_for(&third, "ready");
    let started = |id: &str| env.wait_for_event(id, "turn_started", 0)["seq"].as_u64().unwrap();
    assert!(started(&second) < started(&third), "the queue is not fair");
}

#[test]
fn turns_that_wait_for_a_person_give_their_slot_back() {
    let env = TestEnv::new();
    env.configure("[limits]\nparallel_turns = 1\n");
    let waiting: Vec<_> = (0..3).map(|_| env.create(&ask_to_run("true"))).collect();
    for id in &waiting {
        env.wait_for(id, "approval");
    }
    let other = env.create(&say("gets through"));
    env.wait_for(&other, "ready");
    for id in &waiting {
        env.coppice(&["approve", id]).succeeds();
    }
    for id in &waiting {
        env.wait_for(id, "ready");
    }
}

#[test]
fn sessions_do_not_see_each_others_files() {
    let env = TestEnv::new();
    let ids: Vec<_> = ["a", "b", "c", "d"].map(|name| env.create(&crate::script::write("same.txt", name))).into();
    for (id, name) in ids.iter().zip(["a\n", "b\n", "c\n", "d\n"]) {
        env.wait_for(id, "ready");
        assert_eq!(std::fs::read_to_string(env.worktree(id).join("same.txt")).unwrap(), name);
    }
}
