//! Prompts that wait: they are seen in their order, one can be dropped, and a dropped one is never sent.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::kill::{CRASH, EFFECTS, assert_history};
use crate::script::{hang, say};

/// The numbers and texts of what waits.
fn waiting(env: &TestEnv, id: &str) -> Value {
    let prompts = env.json(&["queue", id]);
    let short = |prompt: &Value| json!([prompt["number"], prompt["text"]]);
    prompts.as_array().unwrap().iter().map(short).collect()
}

/// A session whose first turn never ends, with two prompts behind it.
fn busy(env: &TestEnv) -> String {
    let id = env.create(&hang());
    env.wait_for_event(&id, "turn_started", 0);
    for text in ["two", "three"] {
        env.coppice(&["send", &id, &say(text)]).succeeds();
    }
    id
}

#[test]
fn what_waits_is_seen_and_can_be_dropped() {
    let env = TestEnv::new();
    let id = busy(&env);
    assert_eq!(waiting(&env, &id), json!([[2, "@answer two"], [3, "@answer three"]]));
    let first = &env.json(&["queue", &id])[0];
    assert_eq!((&first["images"], first["queued_at"].is_i64()), (&json!([]), true));

    assert_snapshot!(env.coppice(&["queue", &id, "--drop", "2"]).transcript(), @r"
    exit: 0
    -- stderr
    [ID1] prompt 2 is dropped; 1 left
    ");
    assert_eq!(waiting(&env, &id), json!([[3, "@answer three"]]));
    assert_eq!(env.session(&id)["queued"], 1);
    assert_snapshot!(env.coppice(&["queue", &id, "--drop", "2"]).transcript(), @r"
    exit: 5
    -- stderr
    error: no prompt 2 waits in session `[ID1]`

    hint: `coppice queue [ID1]` lists what waits
    ");
    assert_snapshot!(env.coppice(&["queue", &id, "--drop", "1"]).transcript(), @r"
    exit: 1
    -- stderr
    error: prompt 1 of session `[ID1]` does not wait: its turn is in progress

    hint: `coppice stop [ID1]` stops it
    ");
    assert_eq!(env.json(&["queue", &id, "--drop", "3"]), json!([]));
    assert_snapshot!(env.coppice(&["queue", &id]).transcript(), @r"
    exit: 0
    -- stderr
    no prompt waits
    ");

    // A stopped turn is repeated by a resume; what was dropped does not follow it.
    env.coppice(&["stop", &id]).succeeds();
    let dropped: Vec<_> = env.events(&id).into_iter().filter(|event| event["type"] == "prompt_dropped").collect();
    assert_eq!(dropped.iter().map(|event| &event["number"]).collect::<Vec<_>>(), [2, 3]);
    env.coppice(&["send", &id, &say("four")]).succeeds();
    env.wait_for(&id, "ready");
    let sent: Vec<_> = env.events(&id).into_iter().filter(|event| event["type"] == "turn_started").collect();
    assert_eq!(sent.iter().map(|event| &event["prompt"]).collect::<Vec<_>>(), [1, 4]);
    assert_history(&env.events(&id));
}

#[test]
fn a_draft_without_its_prompt_has_nothing_to_resume() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "demo", "--draft"], &say("one"));
    assert_eq!(waiting(&env, &id), json!([[1, "@answer one"]]));
    env.coppice(&["queue", &id, "--drop", "1"]).succeeds();
    assert_snapshot!(env.coppice(&["resume", &id]).transcript(), @r#"
    exit: 1
    -- stderr
    error: session `[ID1]` has nothing to resume: the prompt that waited was dropped

    hint: `coppice send [ID1] "…"` gives it another prompt
    "#);
    assert!(!env.session(&id)["next"].as_array().unwrap().contains(&json!("resume")));
    env.coppice(&["send", &id, &say("two")]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.events(&id).iter().filter(|event| event["type"] == "turn_started").count(), 1);
}

#[test]
fn a_prompt_that_never_began_is_not_sent_again_once_it_is_dropped() {
    let env = TestEnv::new();
    env.configure("[limits]\nparallel_turns = 1\n");
    let first = env.create(&hang());
    env.wait_for_event(&first, "turn_started", 0);
    let id = env.create(&say("one"));
    assert_snapshot!(env.coppice(&["queue", &id, "--drop", "1"]).transcript(), @r"
    exit: 1
    -- stderr
    error: prompt 1 of session `[ID2]` does not wait: its turn is in progress

    hint: `coppice stop [ID2]` stops it
    ");
    env.coppice(&["stop", &id]).succeeds();
    env.coppice(&["queue", &id, "--drop", "1"]).succeeds();
    env.kill_daemon();
    assert_snapshot!(env.coppice(&["resume", &id]).transcript(), @r#"
    exit: 1
    -- stderr
    error: session `[ID2]` has nothing to resume: the prompt that waited was dropped

    hint: `coppice send [ID2] "…"` gives it another prompt
    "#);
    assert_eq!(env.status(&id), "interrupted");
    assert!(!env.events(&id).iter().any(|event| event["type"] == "turn_started"));
}

#[test]
fn a_daemon_that_dies_while_a_prompt_is_dropped_keeps_it_or_drops_it_for_good() {
    for effect in 1..EFFECTS {
        let mut env = TestEnv::new();
        let id = busy(&env);
        env.kill_daemon();
        env.set(CRASH, &effect.to_string());
        env.coppice(&["daemon", "start"]).succeeds();
        env.unset(CRASH);
        let marked = env.daemon_pid();
        let told = env.coppice(&["queue", &id, "--drop", "2"]).status.success();
        let survived = marked.is_some() && env.daemon_pid() == marked;
        let events = env.events(&id);
        let dropped = events.iter().filter(|event| event["type"] == "prompt_dropped").count();
        let left = waiting(&env, &id);
        match dropped {
            0 => assert!(!told && left == json!([[2, "@answer two"], [3, "@answer three"]]), "{effect}: {left}"),
            _ => assert!(dropped == 1 && left == json!([[3, "@answer three"]]), "{effect}: {left}"),
        }
        if survived {
            assert!(told && effect > 2, "effect {effect}");
            return;
        }
    }
    panic!("dropping a prompt has more than {EFFECTS} effects");
}
