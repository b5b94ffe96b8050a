//! Ends the daemon between any two effects of a turn or a removal, and requires the same facts after the restart.

use serde_json::Value;

use crate::env::TestEnv;
use crate::script::{say, steps, write};

/// Debug builds of the daemon end themselves right before the effect with this number.
pub(crate) const CRASH: &str = "COPPICE_CRASH_AT";

/// The effects are dealt out to this many tests, which run side by side.
const LANES: usize = 4;

/// More effects than a turn has: a lane must find its end before.
pub(crate) const EFFECTS: usize = 200;

#[test]
fn a_daemon_that_dies_between_any_two_effects_loses_nothing_lane_1() {
    lane(1);
}

#[test]
fn a_daemon_that_dies_between_any_two_effects_loses_nothing_lane_2() {
    lane(2);
}

#[test]
fn a_daemon_that_dies_between_any_two_effects_loses_nothing_lane_3() {
    lane(3);
}

#[test]
fn a_daemon_that_dies_between_any_two_effects_loses_nothing_lane_4() {
    lane(4);
}

fn lane(first: usize) {
    for effect in (first..EFFECTS).step_by(LANES) {
        let survived = crash_at(effect);
        if survived {
            assert!(effect > LANES, "the daemon did not end itself at all");
            return;
        }
    }
    panic!("a turn has more than {EFFECTS} effects");
}

#[test]
fn a_removal_that_is_cut_anywhere_loses_nothing() {
    for effect in 1..EFFECTS {
        let mut env = TestEnv::new();
        let id = env.create_ready(&write("file.txt", "one"));
        // Work that no turn has committed.
        std::fs::write(env.worktree(&id).join("by-hand.txt"), "two\n").unwrap();
        env.kill_daemon();
        env.set(CRASH, &effect.to_string());
        env.coppice(&["daemon", "start"]).succeeds();
        env.unset(CRASH);
        let marked = env.daemon_pid();
        // The daemon may die before it can answer.
        env.coppice(&["rm", &id]).transcript();
        let salvage = format!("refs/coppice/salvage/{id}");
        env.wait_for_event(&id, "saved", 0);
        let survived = marked.is_some() && env.daemon_pid() == marked;
        assert_eq!(env.json(&["list"]), Value::Array(Vec::new()), "at effect {effect}");
        assert_eq!(env.git(&["show", &format!("{salvage}:by-hand.txt")]), "two");

        env.coppice(&["restore", &id]).succeeds();
        let tree = env.worktree(&id);
        for (file, content) in [("file.txt", "one\n"), ("by-hand.txt", "two\n")] {
            assert_eq!(std::fs::read_to_string(tree.join(file)).unwrap(), content, "at effect {effect}");
        }
        if survived {
            return;
        }
    }
    panic!("a removal has more than {EFFECTS} effects");
}

/// Runs one turn with a daemon that dies at that effect, and whatever it takes to finish the turn; whether it lived.
fn crash_at(effect: usize) -> bool {
    let mut env = TestEnv::new();
    let prompt = steps(&[write("file.txt", "one"), say("done")]);
    // Only the first daemon carries the mark; one that a client starts in its place is sound.
    env.set(CRASH, &effect.to_string());
    env.coppice(&["daemon", "start"]).succeeds();
    env.unset(CRASH);
    let marked = env.daemon_pid();
    // The daemon may die before it can answer.
    let asked = env.coppice(&["new", "--model", "demo", &prompt]);
    if asked.status.success() {
        // It may die while the client waits, too. The client may say so, but must not wait for ever.
        let waited = env.coppice(&["wait", asked.stdout.trim(), "--timeout", "30s"]);
        assert_ne!(waited.status.code(), Some(124), "effect {effect}: the wait outlived its daemon");
    }
    let survived = marked.is_some() && env.daemon_pid() == marked;
    finish(&env, &prompt);
    survived
}

/// Goes on with whatever was stored, as a person would, and checks the facts that must hold in the end.
fn finish(env: &TestEnv, prompt: &str) {
    let sessions = env.json(&["list"]);
    assert!(sessions.as_array().unwrap().len() <= 1, "{sessions:#}");
    let id = match sessions[0]["id"].as_str() {
        Some(id) => id.to_owned(),
        // The request was never accepted, so nothing of it may be there.
        None => {
            assert_eq!(env.git(&["for-each-ref", "refs/heads/coppice"]), "");
            env.create(prompt)
        }
    };
    env.coppice(&["wait", &id, "--timeout", "30s"]).transcript();
    if env.status(&id) != "ready" {
        env.coppice(&["resume", &id]).succeeds();
        env.wait_for(&id, "ready");
    }
    let tree = env.worktree(&id);
    let is_done = || env.events(&id).iter().any(|event| event["response"]["answer"] == "done");
    if !is_done() {
        // The scripted agent was told to go on, and has no thoughts of its own about what that means.
        env.coppice(&["send", &id, prompt]).succeeds();
        env.wait_for(&id, "ready");
        assert!(is_done(), "{:#?}", env.events(&id));
    }
    assert_eq!(std::fs::read_to_string(tree.join("file.txt")).unwrap(), "one\n");
    assert_eq!(env.git_in(&tree, &["status", "--porcelain"]), "");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_history(&env.events(&id));
}

/// That numbers only grow, that no prompt was sent twice, and that every turn that started has one end.
pub(crate) fn assert_history(events: &[Value]) {
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let started: Vec<_> = events.iter().filter(|event| event["type"] == "turn_started").collect();
    let sent: Vec<_> = started.iter().map(|event| event["prompt"].as_u64().unwrap()).collect();
    assert!(sent.is_sorted_by(|a, b| a < b), "a prompt was sent twice: {sent:?}");
    for start in started {
        let ends = events.iter().filter(|event| {
            let is_end =
                ["turn_completed", "turn_interrupted", "turn_failed"].iter().any(|kind| event["type"] == *kind);
            is_end && event["turn"] == start["turn"] && event["seq"].as_u64() > start["seq"].as_u64()
        });
        assert_eq!(ends.count(), 1, "turn {} in {events:#?}", start["turn"]);
    }
}
