//! Who works, and what they know: the delivery of each prompt, restored conversations, another model or backend.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{fail, hang, recall, say, write};
use crate::tape::{taped, texts, told};

/// How a prompt with all rules begins, and one without.
const RULES: &str = "These rules hold for the whole conversation.";
const REMINDER: &str = "The rules of this conversation still hold";
const REPLAY: &str = "## The conversation so far";

fn switches(env: &TestEnv, id: &str) -> Vec<(Value, Value, Value)> {
    let switched = env.events(id).into_iter().filter(|event| event["type"] == "switched");
    switched.map(|mut event| (event["turn"].take(), event["from"].take(), event["to"].take())).collect()
}

fn engine(backend: &str, model: Option<&str>) -> Value {
    json!({"backend": backend, "model": model, "reasoning": null})
}

#[test]
fn rules_are_told_once_and_the_past_only_to_who_lost_it() {
    let env = taped();
    let id = env.create_with(&["--model", "taped"], &say("first"));
    env.wait_for(&id, "ready");
    env.send_ready(&id, &[], &say("second"));
    env.kill_daemon();
    env.send_ready(&id, &[], &recall());
    assert_eq!(env.last_answer(&id), "remembered turns: 2");
    env.kill_daemon();
    fs::remove_dir_all(env.path("agent")).unwrap();
    fs::create_dir(env.path("agent")).unwrap();
    env.send_ready(&id, &[], &recall());
    assert_eq!(env.last_answer(&id), "remembered turns: 0");

    assert_eq!(env.deliveries(&id), ["bootstrap_full", "delta_only", "delta_only", "bootstrap_with_replay"]);
    let texts = texts(&env);
    for (text, begins) in texts.iter().zip([RULES, REMINDER, REMINDER, RULES]) {
        assert!(text.starts_with(begins), "{text}");
    }
    let replayed: Vec<_> = texts.iter().map(|text| text.contains(REPLAY)).collect();
    assert_eq!(replayed, [false, false, false, true]);
    assert!(texts[3].contains("Turn 1, the person:\n> @answer first\nYou:\n> first\n"), "{}", texts[3]);
}

#[test]
fn a_conversation_that_never_heard_its_rules_is_told_them_again() {
    let env = taped();
    let id = env.create_with(&["--model", "taped"], &fail("out of office"));
    env.wait_for(&id, "failed");
    let seen = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["send", &id, &hang()]).succeeds();
    env.wait_for_event(&id, "turn_started", seen);
    env.coppice(&["stop", &id]).succeeds();
    env.send_ready(&id, &[], &say("at last"));
    env.send_ready(&id, &[], &say("and on"));
    let replay = "bootstrap_with_replay";
    assert_eq!(env.deliveries(&id), ["bootstrap_full", replay, replay, "delta_only"]);
    assert_eq!(told(&env, "session/new").len(), 1, "the process was alive, and so was its conversation");
    let began: Vec<_> = texts(&env).iter().map(|text| text.starts_with(RULES)).collect();
    assert_eq!(began, [true, true, true, false]);
}

#[test]
fn nothing_is_restored_that_was_never_heard() {
    let env = taped();
    let id = env.create_with(&["--model", "taped"], &fail("out of office"));
    env.wait_for(&id, "failed");
    env.kill_daemon();
    env.send_ready(&id, &[], &say("at last"));
    assert_eq!((told(&env, "session/new").len(), told(&env, "session/load").len()), (2, 0));
    assert_eq!(env.deliveries(&id), ["bootstrap_full", "bootstrap_with_replay"]);
}

#[test]
fn an_idle_backend_goes_and_is_started_again_with_its_conversation() {
    let env = taped();
    let config = fs::read_to_string(env.path("coppice/config.toml")).unwrap();
    fs::write(env.path("coppice/config.toml"), format!("limits.backend_idle = \"1s\"\n{config}")).unwrap();
    let id = env.create_with(&["--model", "taped"], &say("first"));
    env.wait_for(&id, "ready");
    env.wait_for_ends("demo-agent");
    env.send_ready(&id, &[], &recall());
    assert_eq!(told(&env, "session/load").len(), 1);
    assert_eq!(env.deliveries(&id), ["bootstrap_full", "delta_only"]);
    assert_eq!(env.last_answer(&id), "remembered turns: 1");
}

#[test]
fn another_model_of_the_same_backend_keeps_the_conversation() {
    let env = taped();
    let id = env.create_with(&["--model", "taped"], &say("first"));
    env.wait_for(&id, "ready");
    env.send_ready(&id, &["--model", "taped/scripted"], &recall());
    assert_eq!(env.last_answer(&id), "remembered turns: 1");
    assert_eq!(env.deliveries(&id), ["bootstrap_full", "delta_only"]);
    // Another one is opened to ask for the models, and takes no prompt.
    assert_eq!((told(&env, "session/new").len(), told(&env, "session/load").len()), (2, 1));
    assert_eq!(env.session(&id)["model"], "scripted");
    assert_eq!(switches(&env, &id), [(json!(2), engine("taped", None), engine("taped", Some("scripted")))]);
    // The wish holds for what follows, and the same wish again changes nothing.
    env.send_ready(&id, &["--model", "taped/scripted"], &say("third"));
    assert_eq!(told(&env, "session/load").len(), 1);
}

#[test]
fn another_backend_goes_on_in_the_same_worktree_with_the_past_told() {
    let env = taped();
    let id = env.create_ready(&write("first.txt", "1"));
    let tree = env.worktree(&id);
    env.send_ready(&id, &["--model", "taped"], &write("second.txt", "2"));
    assert_eq!(env.worktree(&id), tree);
    assert_eq!(["first.txt", "second.txt"].map(|file| tree.join(file).exists()), [true, true]);
    let [text] = texts(&env).try_into().unwrap();
    assert!(text.starts_with(RULES) && text.contains("> @write first.txt 1\n"), "{text}");

    // What the first one remembers lacks a turn, so it begins anew as well.
    env.send_ready(&id, &["--model", "demo"], &recall());
    assert_eq!(env.last_answer(&id), "remembered turns: 0");
    let replay = "bootstrap_with_replay";
    assert_eq!(env.deliveries(&id), ["bootstrap_full", replay, replay]);
    let (demo, taped) = (engine("demo", None), engine("taped", None));
    assert_eq!(switches(&env, &id), [(json!(2), demo.clone(), taped.clone()), (json!(3), taped, demo)]);
    let turns = env.json(&["show", &id, "--raw"]);
    let backends: Vec<_> = turns.as_array().unwrap().iter().map(|turn| turn["backend"].clone()).collect();
    assert_eq!(backends, ["demo", "taped", "demo"]);
    let shown = env.coppice(&["show", &id]).stdout();
    assert!(shown.contains("2  completed on taped/scripted, "), "{shown}");
}

#[test]
fn a_queued_switch_outlives_the_daemon() {
    let env = taped();
    let id = env.create(&hang());
    env.wait_for_event(&id, "turn_started", 0);
    env.coppice(&["send", &id, "--model", "taped", &say("second")]).succeeds();
    assert_eq!(env.session(&id)["backend"], "demo", "the turn in progress goes on as it began");
    env.kill_daemon();
    env.send_ready(&id, &[], &say("third"));
    assert_eq!(env.session(&id)["backend"], "taped");
    assert_eq!(texts(&env).len(), 2);
}

#[test]
fn a_prompt_that_its_backend_never_took_goes_on_elsewhere() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("first"));
    env.configure("[backends.broken]\ncommand = [\"false\"]");
    env.coppice(&["send", &id, "--model", "broken", &say("second")]).succeeds();
    env.wait_for(&id, "failed");
    env.coppice(&["send", &id, "--model", "demo", &say("third")]).succeeds();
    env.wait_for(&id, "ready");
    let turns = env.json(&["show", &id, "--raw"]);
    let states: Vec<_> = turns.as_array().unwrap().iter().map(|turn| turn["state"].clone()).collect();
    assert_eq!(states, ["completed", "failed", "completed", "completed"]);
    assert_eq!(env.last_answer(&id), "third");
}

#[test]
fn a_switch_that_cannot_be_made_is_refused_and_nothing_is_queued() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("first"));
    assert_snapshot!(env.coppice(&["send", &id, "--model", "demmo", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: no backend is called `demmo`; known are claude, codex, gemini, forgetful, missing, demo

    hint: did you mean `demo`? `coppice models` shows what can be used
    ");
    assert_snapshot!(env.coppice(&["send", &id, "--model", "missing", "hi"]).transcript(), @r"
    exit: 1
    -- stderr
    error: backend `missing` is not installed: there is no `no-such-agent` on PATH

    hint: install it, or correct its `command` in the configuration
    ");
    assert_snapshot!(env.coppice(&["send", &id, "--reasoning", "high", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: backend `demo` has no reasoning level `high`; it has none

    hint: `coppice models` shows what can be used
    ");
    let session = env.session(&id);
    assert_eq!((&session["status"], &session["queued"]), (&json!("ready"), &json!(0)));
    assert_eq!(env.kinds(&id).iter().filter(|kind| *kind == "prompt_queued").count(), 1);
}
