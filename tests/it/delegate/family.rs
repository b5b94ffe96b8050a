//! The tools with which a model looks after its children.

use serde_json::{Value, json};

use super::{child, children, handoff, handoffs, last_seq, played, record, wait_for_handoffs};
use crate::env::TestEnv;
use crate::script::{call, delegate, hang, say, steps, wait_for_file};

fn spawning() -> TestEnv {
    let env = TestEnv::new();
    env.configure("[delegation]\nfacade = \"spawn_agent\"");
    env
}

fn spawn(script: &str) -> String {
    call("spawn_agent", &json!({ "message": script, "agent_type": "general" }))
}

/// Lets the parent make calls in a turn of its own; what they gave.
#[track_caller]
fn told(env: &TestEnv, id: &str, calls: &[String]) -> Vec<String> {
    env.send_ready(id, &[], &steps(calls));
    env.last_answer(id).split("\n\n").map(str::to_owned).collect()
}

#[track_caller]
fn one(env: &TestEnv, id: &str, tool: &str, arguments: &Value) -> Value {
    let [only] = told(env, id, &[call(tool, arguments)]).try_into().unwrap();
    record(&only)
}

#[test]
fn wait_returns_with_the_first_that_is_done() {
    let env = spawning();
    let go = env.visible_to_agents("go");
    let (id, _) = played(&env, &steps(&[spawn(&hang()), spawn(&steps(&[wait_for_file(&go), say("done")]))]));
    let [hangs, ends] = children(&env, &id).try_into().unwrap();
    let seen = last_seq(&env, &id);
    env.coppice(&["send", &id, &call("wait", &json!({ "ids": [hangs, ends] }))]).succeeds();
    wait_for_handoffs(&env, &id, "running", 2);
    std::fs::write(go, "").unwrap();
    env.wait_for_event(&id, "turn_completed", seen);
    let expected = json!({ "status": { &ends: { "completed": "done" } }, "timed_out": false });
    assert_eq!(record(&env.last_answer(&id)), expected);
    let texts = told(
        &env,
        &id,
        &[
            call("wait", &json!({ "ids": ["nobody", ends] })),
            call("wait", &json!({ "ids": [] })),
            call("wait", &json!({ "ids": [ends], "timeout_ms": 0 })),
        ],
    );
    let expected = json!({ "status": { "nobody": "not_found", &ends: { "completed": "done" } }, "timed_out": false });
    assert_eq!(record(&texts[0]), expected);
    assert_eq!(texts[1..], ["error: ids must be non-empty", "error: timeout_ms must be greater than zero"]);
}

#[test]
fn input_is_queued_or_interrupts_and_needs_somebody_who_is_there() {
    let env = spawning();
    let go = env.visible_to_agents("go");
    let (id, _) = played(&env, &spawn(&steps(&[wait_for_file(&go), say("first")])));
    let child = child(&env, &id);
    wait_for_handoffs(&env, &id, "running", 1);
    let input = |text: &str, interrupt: bool| {
        call("send_input", &json!({ "id": child, "message": text, "interrupt": interrupt }))
    };
    let [queued] = told(&env, &id, &[input(&say("second"), false)]).try_into().unwrap();
    assert_eq!(record(&queued), json!({ "submission_id": format!("{child}-2") }));
    assert_eq!((env.session(&child)["turns"].clone(), env.session(&child)["queued"].clone()), (json!(1), json!(1)));
    std::fs::write(go, "").unwrap();
    env.wait_for(&child, "ready");
    assert_eq!((env.last_answer(&child), &handoff(&env, &id)["child_turn_id"]), ("second".to_owned(), &json!(2)));

    let seen = last_seq(&env, &child);
    told(&env, &id, &[input(&hang(), false)]);
    env.wait_for_event(&child, "turn_started", seen);
    told(&env, &id, &[input(&say("third"), true)]);
    env.wait_for(&child, "ready");
    assert_eq!(env.last_answer(&child), "third");
    assert!(env.kinds(&child).contains(&"turn_interrupted".to_owned()));
    assert_eq!(handoff(&env, &id)["assistant_text"], "third");

    told(&env, &id, &[call("close_agent", &json!({ "id": child }))]);
    let to = |to: &str| call("send_input", &json!({ "id": to, "message": "x" }));
    assert_eq!(
        told(&env, &id, &[to(&child), to("aaaaaaaa"), to("../x")]),
        [
            format!("error: agent with id {child} is closed"),
            "error: agent with id aaaaaaaa not found".to_owned(),
            "error: invalid agent id ../x: expected a session or a handoff".to_owned(),
        ]
    );
}

#[test]
fn an_agent_closes_what_is_below_it_and_nothing_else() {
    let env = TestEnv::new();
    env.configure("[delegation]\nmax_block = \"1s\"");
    // Two of them below the parent; the first has one of its own.
    let (id, _) =
        played(&env, &steps(&[delegate("orchestrator", &delegate("general", &hang())), delegate("general", &hang())]));
    let [middle, sibling] = children(&env, &id).try_into().unwrap();
    env.wait_for_event(&middle, "turn_completed", 0);
    env.wait_for_event(&sibling, "turn_started", 0);
    let leaf = child(&env, &middle);
    let close = |id: &str| call("close_agent", &json!({ "id": id }));
    assert_eq!(
        told(&env, &middle, &[close(&sibling), close(&id), close(&middle)]),
        [
            "error: Not permitted to close agents outside your subtree.".to_owned(),
            format!("error: agent with id {id} not found"),
            "error: Not permitted to close the current agent.".to_owned(),
        ]
    );
    assert_eq!(one(&env, &id, "close_agent", &json!({ "id": middle })), json!({ "status": "completed" }));
    let closed = |id: &str| env.events(id).iter().find(|event| event["type"] == "archived").unwrap()["seq"].as_u64();
    assert!(closed(&leaf) < closed(&middle), "the leaf first");
    assert_eq!(env.status(&sibling), "running");
    assert_eq!(one(&env, &id, "close_agent", &json!({ "id": sibling })), json!({ "status": "running" }));
    assert_eq!((env.status(&sibling), env.status(&leaf)), ("archived".to_owned(), "archived".to_owned()));
}

#[test]
fn the_list_has_scopes_a_tree_and_hides_the_closed() {
    let env = TestEnv::new();
    let (id, _) = played(&env, &delegate("orchestrator", &delegate("general", &say("below"))));
    let middle = child(&env, &id);
    let leaf = child(&env, &middle);
    let list = |asked: &Value| -> Vec<Value> {
        one(&env, &id, "list_active_agents", asked)["agents"].as_array().unwrap().clone()
    };
    let names = |agents: Vec<Value>| agents.iter().map(|agent| agent["thread_id"].clone()).collect::<Vec<_>>();
    assert_eq!(names(list(&json!({}))), [json!(middle)]);
    assert_eq!(names(list(&json!({ "scope": "descendants" }))), [json!(middle), json!(leaf)]);
    let tree = list(&json!({ "scope": "all", "include_tree": true }));
    assert_eq!((&tree[1]["parent_thread_id"], &tree[1]["depth"]), (&json!(middle), &json!(2)));
    assert_eq!((&tree[0]["agent_type"], &tree[0]["status"]), (&json!("orchestrator"), &json!("completed")));
    assert_eq!(tree[0]["model"], "demo");
    assert!(tree[0]["thread_name"].as_str().unwrap().ends_with("(@orchestrator subagent)"));
    one(&env, &id, "close_agent", &json!({ "id": leaf }));
    assert_eq!(names(list(&json!({ "scope": "all" }))), [json!(middle)]);
    let all = list(&json!({ "scope": "all", "include_closed": true }));
    assert_eq!((names(all.clone()).len(), &all[1]["status"]), (2, &json!("shutdown")));
    let [refused] = told(&env, &id, &[call("list_active_agents", &json!({ "scope": "mine" }))]).try_into().unwrap();
    assert_eq!(refused, "error: unsupported scope \"mine\"; expected one of: children, descendants, all");
}

#[test]
fn a_note_is_trimmed_cleared_made_up_and_kept() {
    let env = spawning();
    let noted =
        |note: Value| call("spawn_agent", &json!({ "message": say("x"), "agent_type": "worker", "thread_note": note }));
    let (id, answer) = played(&env, &steps(&[noted(json!(" mine ")), noted(json!("  ")), noted(Value::Null)]));
    let notes: Vec<_> = answer.split("\n\n").map(|text| record(text)["thread_note"].clone()).collect();
    let default = notes[2].as_str().unwrap();
    assert!(default.starts_with("agent_type=worker; agent_description=Implements one"), "{default}");
    assert_eq!(notes[..2], [json!("mine"), Value::Null]);
    let [first, second, _] = children(&env, &id).try_into().unwrap();
    for id in [&first, &second] {
        env.wait_for(id, "ready");
    }
    let note = |of: &str, note: Value| one(&env, &id, "set_thread_note", &json!({ "id": of, "note": note }));
    assert_eq!(note(&first, json!("  other ")), json!({ "thread_note": "other" }));
    assert_eq!(note(&second, json!("late")), json!({ "thread_note": "late" }));
    assert_eq!(note(&second, Value::Null), json!({ "thread_note": null }));
    env.kill_daemon();
    assert_eq!(
        (&env.session(&first)["thread_note"], &env.session(&second)["thread_note"]),
        (&json!("other"), &Value::Null)
    );
    assert_eq!(handoffs(&env, &id)[0]["thread_note"], "other");
    env.send_ready(&first, &[], "@env COPPICE_THREAD_NOTE");
    assert!(env.last_answer(&first).contains("other"), "{}", env.last_answer(&first));
}

#[test]
fn a_closed_agent_is_opened_again_and_the_agents_are_told() {
    let env = spawning();
    let (id, _) = played(&env, &spawn(&say("first")));
    let child = child(&env, &id);
    env.wait_for(&child, "ready");
    assert_eq!(one(&env, &id, "close_agent", &json!({ "id": child })), json!({ "status": "completed" }));
    assert_eq!(env.status(&child), "archived");
    assert_eq!(one(&env, &id, "resume_agent", &json!({ "id": child })), json!({ "status": "completed" }));
    told(&env, &id, &[call("send_input", &json!({ "id": child, "message": say("again") }))]);
    env.wait_for(&child, "ready");
    assert_eq!(one(&env, &id, "wait", &json!({ "ids": [child] }))["status"][&child]["completed"], "again");
    // One that is active goes on.
    assert_eq!(one(&env, &id, "resume_agent", &json!({ "id": child })), json!({ "status": "completed" }));

    let listed = one(&env, &id, "list_agents", &json!({ "agent_type": "general" }));
    assert_eq!(listed["agents"][0]["agent_type"], "general");
    let [refused] = told(&env, &id, &[call("list_agents", &json!({ "agent_type": "My Role" }))]).try_into().unwrap();
    assert!(refused.starts_with("error: invalid agent_type \"My Role\""), "{refused}");
}
