//! Ends the daemon between any two effects of a turn, and requires the same facts after the restart.

use crate::env::TestEnv;
use crate::script::{say, steps, write};

/// Debug builds of the daemon end themselves right before the effect with this number.
const CRASH: &str = "COPPICE_CRASH_AT";

/// The effects are dealt out to this many tests, which run side by side.
const LANES: usize = 4;

/// More effects than a turn has: a lane must find its end before.
const EFFECTS: usize = 200;

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
        // It may die while the client waits, too; where the session stands is looked at below.
        env.coppice(&["wait", asked.stdout.trim(), "--timeout", "30s"]).transcript();
    }
    let survived = marked.is_some() && env.daemon_pid() == marked;
    finish(&env, &prompt);
    survived
}

/// Goes on with whatever was stored and checks the facts that must hold in the end.
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
    assert_eq!(std::fs::read_to_string(tree.join("file.txt")).unwrap(), "one\n");
    assert_eq!(env.git_in(&tree, &["status", "--porcelain"]), "");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let events = env.events(&id);
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let completed: Vec<_> = events.iter().filter(|event| event["type"] == "turn_completed").collect();
    assert_eq!(completed.len(), 1, "{events:#?}");
    assert_eq!(completed[0]["response"]["answer"], "done");
}
