//! The limits of a turn: a backend that takes too long, or says nothing, is interrupted, and the session says why; of one
//! that says too much, only the beginning is stored.

use std::fs;

use serde_json::json;

use crate::env::TestEnv;
use crate::script::{ask, hang, run, say, steps, write};

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

#[test]
fn a_flood_of_output_is_cut_and_everything_else_is_stored() {
    let env = TestEnv::new();
    let flood = ["@huge 65000"; 1100].join("\n");
    let id = env.create(&steps(&[flood, write("late.txt", "late"), ask("Go on?", &["yes"])]));
    env.wait_for(&id, "asking");
    let events = env.events(&id);
    let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert!((1000..1050).contains(&count("tool_started")), "{}", count("tool_started"));
    assert_eq!(count("tool_finished"), count("tool_started"));
    assert_eq!((count("checkpoint"), count("question_asked"), count("turn_completed")), (1, 1, 1));
    let warnings: Vec<_> = events.iter().filter_map(|event| event["message"].as_str()).collect();
    let [cut, left_out] = warnings[..] else { panic!("{warnings:?}") };
    assert!(cut.ends_with(": its further output is not stored"), "{cut}");
    assert!(left_out.ends_with(" were not stored"), "{left_out}");
    let size = |name: &str| fs::metadata(env.path("coppice/data").join(name)).unwrap().len() >> 20;
    assert!(size("coppice.db") < 80, "{} MiB", size("coppice.db"));
    assert!(size("coppice.db-wal") < 16, "{} MiB", size("coppice.db-wal"));
}
