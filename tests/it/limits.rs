//! The clocks of a turn: a backend that takes too long, or says nothing, is interrupted, and the session says why.

use serde_json::json;

use crate::env::TestEnv;
use crate::script::{hang, run, say};

/// R129.
#[test]
fn a_turn_has_four_hours_and_ten_silent_minutes_unless_it_is_said() {
    let env = TestEnv::new();
    for (key, expected) in [("limits.turn_timeout", "4h"), ("limits.stall_timeout", "10m")] {
        assert_eq!(env.coppice(&["config", "get", key]).stdout().trim().trim_matches('"'), expected);
    }
}

#[test]
fn a_silent_backend_is_interrupted_and_lives_on() {
    let env = TestEnv::new();
    env.configure("[limits]\nstall_timeout = \"1s\"");
    let id = env.create(&hang());
    env.wait_for(&id, "failed");
    let error = &env.session(&id)["last_error"];
    assert_eq!((&error["kind"], &error["message"]), (&json!("timeout"), &json!("the backend said nothing for 1s")));
    env.send_ready(&id, &[], &say("back"));
}

/// R129.
#[test]
fn a_turn_that_takes_too_long_is_interrupted_with_its_tool() {
    let env = TestEnv::new();
    env.configure("[limits]\nturn_timeout = \"1s\"");
    let id = env.create(&run("exec tail -f /dev/null"));
    env.wait_for(&id, "failed");
    let error = &env.session(&id)["last_error"];
    assert_eq!((&error["kind"], &error["message"]), (&json!("timeout"), &json!("the turn took longer than 1s")));
    let left: Vec<_> = env.processes().into_iter().filter(|process| process.command.contains("tail")).collect();
    assert!(left.is_empty(), "{left:?}");
}
