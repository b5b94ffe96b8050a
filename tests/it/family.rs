//! Sessions and those that descend from them, through the command line and the socket.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{ask_to_run, delegate, say, steps};

fn get(env: &TestEnv, path: &str) -> Value {
    serde_json::from_str(&crate::http::get(env, path, &[])).unwrap()
}

#[test]
fn a_session_that_never_delegated_has_no_family() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("alone"));
    let session = env.session(&id);
    assert_eq!((&session["children"], &session["waiting_for"]), (&json!([]), &Value::Null));
    assert_eq!(get(&env, &format!("/v1/sessions/{id}/handoffs")), json!({ "items": [] }));
    assert_eq!(get(&env, &format!("/v1/sessions/{id}/workflow")), json!({ "tasks": [], "plan": null }));

    let whole = env.coppice(&["events", &id, "--json"]).stdout();
    assert_eq!(env.coppice(&["events", &id, "--alone", "--json"]).stdout(), whole);
    let page = get(&env, &format!("/v1/events?session={id}&family=false"));
    assert_eq!(page["items"].as_array().unwrap().len(), whole.lines().count());
}

#[test]
fn only_a_child_is_integrated() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("alone"));
    let refused = env.coppice(&["integrate", &id]).exits(2);
    assert!(refused.stderr.contains("is nobody's child"), "{}", refused.stderr);
}

/// Starts a parent that delegates, and waits until a person is wanted or it is done.
fn parent(env: &TestEnv, script: &str) -> String {
    env.create_with(&["--agent", "engineer"], &steps(&[script.to_owned(), say("all done")]))
}

fn only_child(env: &TestEnv, parent: &str) -> String {
    env.session(parent)["children"][0].as_str().unwrap().to_owned()
}

#[test]
fn the_parents_stream_holds_every_event_of_its_child_once() {
    let env = TestEnv::new();
    let id = parent(&env, &delegate("general", &say("found it")));
    env.wait_for(&id, "ready");
    let child = only_child(&env, &id);
    // Read first: what is swept up behind the child may follow at any time.
    let own = env.events(&child);
    assert!(own.iter().any(|event| event["response"]["answer"] == "found it"), "{own:#?}");
    let wrapped: Vec<_> = env.events(&id).into_iter().filter(|event| event["type"] == "subagent_event").collect();
    assert!(wrapped.iter().all(|event| event["sessionId"] == json!(child) && event["agentType"] == "general"));
    let inner: Vec<_> = wrapped.into_iter().map(|event| event["event"].clone()).collect();
    assert_eq!(inner[..own.len()], own);
    assert!(
        env.coppice(&["events", &id, "--alone", "--json"]).stdout().lines().all(|line| !line.contains("agentType"))
    );
}

#[test]
fn a_stream_that_was_open_before_the_child_resumes_in_the_middle_of_it() {
    let env = TestEnv::new();
    let id = parent(&env, &delegate("general", &say("found it")));
    let mut stream = env.start(&["events", &id, "--follow", "--json", "--since", "0"]);
    stream.line_where(|line| line.contains("all done") && line.contains("\"turn_completed\""));
    let seen: Vec<Value> = stream.seen().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let whole = env.events(&id);
    assert_eq!(seen, whole[..seen.len()]);
    let middle = seen.iter().position(|event| event["type"] == "subagent_event").unwrap();
    let since = seen[middle]["seq"].to_string();
    let rest = env.coppice(&["events", &id, "--json", "--since", &since]).stdout();
    assert_eq!(serde_json::from_str::<Value>(rest.lines().next().unwrap()).unwrap(), whole[middle + 1]);
}

#[test]
fn a_childs_approval_is_given_at_the_parent() {
    let env = TestEnv::new();
    let id = parent(&env, &delegate("general", &steps(&[ask_to_run("true"), say("ran it")])));
    drop(env.coppice(&["wait", &id, "--timeout", "30s"]).exits(4));
    let session = env.session(&id);
    let child = only_child(&env, &id);
    assert_eq!(session["waiting_for"], "approval", "{session:#}");
    assert_eq!(session["approvals"][0]["session"], json!(child));
    let inbox = env.json(&["inbox"]);
    assert_eq!((inbox.as_array().unwrap().len(), &inbox[0]["session"]), (1, &json!(child)), "{inbox:#}");
    assert_eq!((&inbox[0]["parent"], &inbox[0]["agent"]), (&json!(id), &json!("general")));
    let request = session["approvals"][0]["id"].as_str().unwrap().to_owned();
    env.coppice(&["approve", &id, &request]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&child), "ran it");
}
