//! After `kill -9` of the daemon: what was seen is kept, what ran is gone, and a person decides what goes on.

use std::collections::BTreeSet;

use crate::env::TestEnv;
use crate::script::{ask, ask_to_run, hang, recall, say, steps, stray, write};

#[test]
fn a_running_turn_is_interrupted_and_its_tree_of_processes_is_gone() {
    let env = TestEnv::new();
    // A child that left its session and group is still the turn's.
    let id = env.create(&steps(&[stray("stray.pid"), write("half.txt", "1"), hang()]));
    let started = env.wait_for_event(&id, "tool_finished", 0);
    env.wait_for_event(&id, "tool_finished", started["seq"].as_u64().unwrap());
    // The daemon, the supervisor, the agent and its stray child at the least.
    let processes = env.processes();
    assert!(processes.len() >= 4, "{processes:?}");
    env.kill_daemon();
    assert_eq!(env.survivors(), Vec::<String>::new());

    assert_eq!(env.status(&id), "interrupted");
    assert_eq!(std::fs::read_to_string(env.worktree(&id).join("half.txt")).unwrap(), "1\n");
    assert_eq!(env.session(&id)["turns"], 1);
}

#[test]
fn what_a_cut_off_turn_left_is_counted_once_its_repository_is_back() {
    let env = TestEnv::new();
    let id = env.create(&steps(&[write("half.txt", "1"), hang()]));
    env.wait_for_event(&id, "tool_finished", 0);
    std::fs::rename(env.repo(), env.path("away")).unwrap();
    env.kill_daemon();
    env.coppice_in(&env.path("home"), &["daemon", "start"]).succeeds();
    env.coppice_in(&env.path("home"), &["send", &id, &say("too early")]).succeeds();
    env.coppice_in(&env.path("home"), &["wait", &id]).exits(1).transcript();
    std::fs::rename(env.path("away"), env.repo()).unwrap();
    env.wait_for_session(&id, |session| session["changes"]["files"] == 1);
}

#[test]
fn a_session_goes_on_with_its_conversation_restored() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("first"));
    env.kill_daemon();
    env.coppice(&["send", &id, &recall()]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.deliveries(&id), ["bootstrap_full", "delta_only"]);
    let answer = env.events(&id).pop().unwrap()["response"]["answer"].as_str().unwrap().to_owned();
    assert!(answer.contains('1'), "{answer}");
}

#[test]
fn a_session_goes_on_with_its_conversation_replayed() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "forgetful"], &say("first"));
    env.wait_for(&id, "ready");
    env.kill_daemon();
    env.coppice(&["send", &id, &say("second")]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.deliveries(&id), ["bootstrap_full", "bootstrap_with_replay"]);
}

#[test]
fn resume_takes_an_interrupted_turn_up_again() {
    let env = TestEnv::new();
    let id = env.create(&steps(&[write("half.txt", "1"), hang()]));
    env.wait_for_event(&id, "tool_finished", 0);
    env.kill_daemon();
    let seen = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["resume", &id]).succeeds();
    let started = env.wait_for_event(&id, "turn_started", seen);
    assert_eq!(started["turn"], 2);
    env.coppice(&["stop", &id]).succeeds();
    assert_eq!(std::fs::read_to_string(env.worktree(&id).join("half.txt")).unwrap(), "1\n");
}

#[test]
fn nothing_is_sent_again_by_itself() {
    let env = TestEnv::new();
    let id = env.create(&steps(&[write("half.txt", "1"), hang()]));
    env.wait_for_event(&id, "tool_finished", 0);
    env.coppice(&["send", &id, &say("queued")]).succeeds();
    env.kill_daemon();
    assert_eq!(env.status(&id), "interrupted");
    assert_eq!(env.session(&id)["queued"], 1);
    assert_eq!(env.kinds(&id).iter().filter(|kind| *kind == "turn_started").count(), 1);
}

#[test]
fn an_expired_approval_is_used_once_for_the_same_call() {
    let env = TestEnv::new();
    let prompt = ask_to_run("echo allowed >> proof.txt");
    let id = env.create(&prompt);
    env.wait_for(&id, "approval");
    env.kill_daemon();
    assert_eq!(env.session(&id)["approvals"][0]["expired"], true);

    env.coppice(&["approve", &id]).succeeds();

    env.wait_for(&id, "ready");
    assert_eq!(std::fs::read_to_string(env.worktree(&id).join("proof.txt")).unwrap(), "allowed\n");
    env.coppice(&["send", &id, &prompt]).succeeds();
    env.wait_for(&id, "approval");
}

#[test]
fn a_question_outlives_the_daemon() {
    let env = TestEnv::new();
    let id = env.create(&ask("Which?", &["red", "green"]));
    env.wait_for(&id, "asking");
    env.kill_daemon();
    assert_eq!(env.status(&id), "asking");
    env.coppice(&["answer", &id, "red"]).succeeds();
    env.wait_for(&id, "ready");
}

#[test]
fn what_a_client_has_seen_is_never_lost_and_no_number_comes_twice() {
    let env = TestEnv::new();
    let id = env.create(&steps(&[write("a.txt", "1"), write("b.txt", "2"), hang()]));
    let mut stream = env.start(&["events", "--all", "--follow", "--since", "0", "--json"]);
    for _ in ["a.txt", "b.txt"] {
        stream.line_where(|line| line.contains("\"tool_finished\""));
    }
    env.kill_daemon();
    let seen: Vec<_> = stream.seen().to_vec();
    drop(stream);

    env.coppice(&["send", &id, &say("on")]).succeeds();
    env.wait_for(&id, "ready");
    let kept: Vec<_> = env.coppice(&["events", "--all", "--json"]).stdout().lines().map(str::to_owned).collect();
    let numbers: Vec<_> = kept.iter().map(|line| number(line).expect("a stored event has a number")).collect();
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
    assert!(numbers.is_sorted());
    for line in seen.iter().filter(|line| number(line).is_some()) {
        assert!(kept.contains(line), "lost: {line}");
    }
}

fn number(line: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64()
}
