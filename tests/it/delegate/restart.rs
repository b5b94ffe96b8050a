//! A daemon that ends while a family works: what was asked for is kept, nothing runs twice, and a person goes on.

use serde_json::{Value, json};

use super::{child, children, define, handoff, handoffs, last_seq, parent, record, wait_for_handoffs};
use crate::env::TestEnv;
use crate::script::{ask_to_run, call, delegate, question, say, steps, together, wait_for_file, write};
use crate::tape::{taped, texts};

fn starts(env: &TestEnv, id: &str) -> usize {
    env.events(id).iter().filter(|event| event["type"] == "turn_started").count()
}

#[test]
fn three_children_on_three_backends_outlive_the_daemon_that_they_worked_in() {
    let env = taped();
    let config = std::fs::read_to_string(env.path("coppice/config.toml")).unwrap();
    // Whoever sends the script of an interrupted parent again finds no place for more children.
    std::fs::write(env.path("coppice/config.toml"), format!("[delegation]\nmax_children = 2\n{config}")).unwrap();
    define(&env, "quick", "model: demo\n");
    define(&env, "other", "model: forgetful\n");
    let go = env.visible_to_agents("go");
    let waits = delegate("other", &steps(&[wait_for_file(&go), say("waited")]));
    let asks = delegate("general", &steps(&[ask_to_run("true"), write("a.txt", "1"), say("ran it")]));
    let script = steps(&[delegate("quick", &say("was quick")), together(&[waits, asks])]);
    let id = env.create_with(&["--model", "taped", "--agent", "engineer"], &script);
    wait_for_handoffs(&env, &id, "completed", 1);
    wait_for_handoffs(&env, &id, "running", 3);
    wait_for_handoffs(&env, &id, "pending_permission", 1);
    env.kill_daemon();

    let family = children(&env, &id);
    assert_eq!((env.status(&id), family.len()), ("interrupted".to_owned(), 3));
    let kept = handoffs(&env, &id);
    let of = |agent: &str| handoffs(&env, &id).into_iter().find(|kept| kept["child_agent_id"] == agent).unwrap();
    let stands = |agent: &str| of(agent)["status"].as_str().unwrap().to_owned();
    assert_eq!(["quick", "other", "general"].map(stands), ["completed", "interrupted", "interrupted"]);
    assert_eq!(["quick", "other", "general"].map(|agent| of(agent)["backend"].clone()), ["demo", "forgetful", "taped"]);
    assert!(family.iter().chain([&id]).all(|id| starts(&env, id) == 1), "nothing resumes by itself");

    env.coppice(&["resume", &id]).succeeds();
    env.wait_for_event(&id, "turn_completed", 0);
    let told = texts(&env).into_iter().rfind(|text| text.contains("You had delegated work")).unwrap();
    for kept in &kept {
        let head = format!("Handoff {}", kept["handoff_id"].as_str().unwrap());
        assert!(told.contains(&head), "{told}");
    }
    assert!(told.contains("was quick"), "{told}");
    let answer = env.last_answer(&id);
    assert!(answer.split("\n\n").all(|text| text.starts_with("error: at most 2 background subagents")), "{answer}");

    std::fs::write(go, "").unwrap();
    env.coppice(&["approve", of("general")["child_session_id"].as_str().unwrap()]).succeeds();
    for child in &family {
        env.wait_for(child, "ready");
    }
    let ids: Vec<_> = kept.iter().map(|kept| kept["handoff_id"].clone()).collect();
    env.send_ready(&id, &[], &call("wait", &json!({ "ids": ids })));
    let waited = record(&env.last_answer(&id));
    let reply = |agent: &str| waited["status"][of(agent)["handoff_id"].as_str().unwrap()]["completed"].clone();
    assert_eq!(reply("quick"), "was quick");
    assert_eq!(reply("other"), "waited");
    assert_eq!(reply("general"), "ran it\n\nChanged in your work tree: a.txt.");
    assert_eq!(family.iter().map(|child| starts(&env, child)).collect::<Vec<_>>(), [1, 2, 2]);
    assert_eq!(children(&env, &id), family);
}

#[test]
fn a_family_that_was_shut_down_in_order_is_interrupted_too() {
    let env = TestEnv::new();
    let id = parent(&env, &delegate("general", "@hang"));
    wait_for_handoffs(&env, &id, "running", 1);
    env.end_daemon(&["--now"]);
    let child = child(&env, &id);
    assert_eq!((env.status(&id), env.status(&child)), ("interrupted".to_owned(), "interrupted".to_owned()));
    assert_eq!(handoff(&env, &id)["status"], "interrupted");
}

#[test]
fn a_question_of_a_turn_that_is_gone_is_answered_once() {
    let env = TestEnv::new();
    let id = env.create(&question("Which colour?", &["red", "green"]));
    env.wait_for(&id, "asking");
    env.kill_daemon();
    assert_eq!(env.status(&id), "interrupted");
    let gone = env.events(&id).into_iter().find(|event| event["type"] == "question_gone").unwrap();
    assert_eq!(gone["outcome"], "expired");
    assert_eq!(env.session(&id)["questions"][0]["text"], "Which colour?");
    env.coppice(&["answer", &id, "2"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!((env.last_answer(&id), starts(&env, &id)), ("green".to_owned(), 2));
    env.coppice(&["send", &id, &question("Which colour?", &["red", "green"])]).succeeds();
    env.wait_for(&id, "asking");
}

#[test]
fn a_childs_question_that_expired_is_answered_at_the_parent_which_then_hears_of_it() {
    let env = taped();
    let id = env.create_with(
        &["--model", "taped", "--agent", "engineer"],
        &delegate("general", &question("Which colour?", &["red", "green"])),
    );
    wait_for_handoffs(&env, &id, "pending_question", 1);
    env.kill_daemon();
    let child = child(&env, &id);
    let questions = env.session(&id)["questions"].clone();
    assert_eq!((&questions[0]["text"], &questions[0]["session"]), (&json!("Which colour?"), &json!(child)));
    env.coppice(&["answer", &id, "green"]).succeeds();
    env.wait_for(&child, "ready");
    let kept = handoff(&env, &id);
    assert_eq!((&kept["status"], &kept["assistant_text"]), (&json!("completed"), &json!("green")));
    assert_eq!((env.status(&id), starts(&env, &id)), ("interrupted".to_owned(), 1));
    let seen = last_seq(&env, &id);
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for_event(&id, "tool_started", seen);
    let told = texts(&env).into_iter().find(|text| text.contains("You had delegated work")).unwrap();
    let head = format!("Handoff {} (agent general, session {child})", kept["handoff_id"].as_str().unwrap());
    assert!(told.contains(&head) && told.contains(": completed\n> green"), "{told}");
    env.coppice(&["stop", &id]).succeeds();
}

/// Debug builds of the daemon end themselves right before the effect with this number.
const CRASH: &str = "COPPICE_CRASH_AT";

/// The effects are dealt out to this many tests, which run side by side.
const LANES: usize = 4;

/// More effects than a delegation has: a lane must find its end before.
const EFFECTS: usize = 200;

#[test]
fn a_delegation_that_is_cut_anywhere_can_be_finished_lane_1() {
    lane(1);
}

#[test]
fn a_delegation_that_is_cut_anywhere_can_be_finished_lane_2() {
    lane(2);
}

#[test]
fn a_delegation_that_is_cut_anywhere_can_be_finished_lane_3() {
    lane(3);
}

#[test]
fn a_delegation_that_is_cut_anywhere_can_be_finished_lane_4() {
    lane(4);
}

fn lane(first: usize) {
    for effect in (first..EFFECTS).step_by(LANES) {
        if crash_at(effect) {
            assert!(effect > LANES, "the daemon did not end itself at all");
            return;
        }
    }
    panic!("a delegation has more than {EFFECTS} effects");
}

/// Delegates with a daemon that dies at that effect, and does whatever it takes to finish; whether the daemon lived.
fn crash_at(effect: usize) -> bool {
    let mut env = TestEnv::new();
    let script = steps(&[delegate("general", &steps(&[write("a.txt", "1"), say("did it")])), say("done")]);
    env.set(CRASH, &effect.to_string());
    env.coppice(&["daemon", "start"]).succeeds();
    env.unset(CRASH);
    let marked = env.daemon_pid();
    let new = ["new", "--model", "demo", "--agent", "engineer", &script];
    // The daemon may die before it can answer.
    let asked = env.coppice(&new);
    if asked.status.success() {
        let waited = env.coppice(&["wait", asked.stdout.trim(), "--timeout", "30s"]);
        assert_ne!(waited.status.code(), Some(124), "effect {effect}: the wait outlived its daemon");
    }
    let survived = marked.is_some() && env.daemon_pid() == marked;
    let sessions = env.json(&["list", "--all"]);
    let root = sessions.as_array().unwrap().iter().find(|session| session["parent"] == Value::Null);
    let id = match root {
        Some(root) => root["id"].as_str().unwrap().to_owned(),
        None => env.coppice(&new).stdout().trim().to_owned(),
    };
    // The scripted agent delegates again when it is told to go on: each child is a child of a turn of its own.
    for _ in 0..3 {
        drop(env.coppice(&["wait", &id, "--timeout", "30s"]));
        if env.status(&id) == "ready" {
            break;
        }
        env.coppice(&["resume", &id]).succeeds();
    }
    env.wait_for(&id, "ready");
    let family = children(&env, &id);
    for child in &family {
        drop(env.coppice(&["wait", child, "--timeout", "30s"]));
    }
    let kept = handoffs(&env, &id);
    assert_eq!(kept.len(), family.len(), "effect {effect}");
    for kept in &kept {
        assert!(kept["finished_at"].is_i64(), "effect {effect}: {kept:#}");
        let of_turn = kept["parent_turn_id"].as_u64();
        assert!(of_turn <= env.session(&id)["turns"].as_u64(), "effect {effect}: {kept:#}");
    }
    assert_eq!(kept.last().unwrap()["status"], "completed", "effect {effect}: {kept:#?}");
    let tree = env.worktree(&id);
    assert_eq!(std::fs::read_to_string(tree.join("a.txt")).unwrap(), "1\n", "effect {effect}");
    assert_eq!(env.git_in(&tree, &["status", "--porcelain"]), "");
    for id in family.iter().chain([&id]) {
        let alone = env.coppice(&["events", id, "--alone", "--json"]).stdout();
        let events: Vec<_> = alone.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        crate::kill::assert_history(&events);
    }
    env.end_daemon(&[]);
    assert_eq!(env.git(&["for-each-ref", "refs/coppice/handoffs"]), "", "effect {effect}");
    survived
}
