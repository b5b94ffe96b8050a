//! Sessions and those that descend from them, through the command line and the socket.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::say;

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
    let refused = env.coppice(&["integrate", &id]).exits(1);
    assert!(refused.stderr.contains("is nobody's child"), "{}", refused.stderr);
}
