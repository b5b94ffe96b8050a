//! Lists and ends of trees of agents.

use super::*;

fn member(id: &str, parent: Option<&str>, depth: u32, state: Lifecycle) -> Member {
    Member {
        id: id.into(),
        parent: parent.map(str::to_owned),
        depth,
        name: None,
        note: None,
        agent: Some("worker".into()),
        persona: None,
        state,
        state_seconds: None,
        model: "m".into(),
        effort: None,
        updated_at: None,
    }
}

/// root ─ a ─ a1, a2; root ─ b ─ b1; root ─ c
fn family() -> Vec<Member> {
    vec![
        member("root", None, 0, Lifecycle::Running),
        member("a", Some("root"), 1, Lifecycle::Running),
        member("a1", Some("a"), 2, Lifecycle::Completed),
        member("a2", Some("a"), 2, Lifecycle::Shutdown),
        member("b", Some("root"), 1, Lifecycle::Errored),
        member("b1", Some("b"), 2, Lifecycle::NotFound),
        member("c", Some("root"), 1, Lifecycle::PendingInit),
    ]
}

#[test]
fn an_id_that_cannot_be_told_anything() {
    assert_eq!(not_found("x"), "agent with id x not found");
    assert_eq!(is_closed("x"), "agent with id x is closed");
    assert_eq!(invalid_id("x y", "it holds a space"), "invalid agent id x y: it holds a space");
}

#[test]
fn a_subtree_is_closed_from_its_leaves() {
    let outside = "Not permitted to close agents outside your subtree.";
    for (caller, target, expected) in [
        ("root", "a", Ok(vec!["a2", "a1", "a"])),
        ("root", "b1", Ok(vec!["b1"])),
        ("a", "a1", Ok(vec!["a1"])),
        ("a", "a", Err("Not permitted to close the current agent.")),
        ("root", "root", Err("Not permitted to close the current agent.")),
        ("a", "b", Err(outside)),
        ("a", "b1", Err(outside)),
        ("a1", "a", Err(outside)),
        ("a1", "a2", Err(outside)),
        ("a", "root", Err(outside)),
        ("root", "x", Err("agent with id x not found")),
    ] {
        let order = close_order(caller, target, &family());
        let order = order.as_ref().map(|ids| ids.iter().map(String::as_str).collect()).map_err(String::as_str);
        assert_eq!(order, expected, "{caller} closes {target}");
    }
}

#[test]
fn a_list_has_its_scope_and_hides_what_is_closed() {
    let ids = |caller, scope, closed| {
        let text = list_text(ListActive { scope, shape: Shape::Flat, closed }, caller, &family());
        let listed: Value = serde_json::from_str(&text).unwrap();
        let agents = listed["agents"].as_array().unwrap().iter();
        agents.map(|agent| agent["thread_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (caller, scope, closed, expected) in [
        ("root", Scope::Children, Closed::Hidden, vec!["a", "b", "c"]),
        ("root", Scope::Descendants, Closed::Hidden, vec!["a", "a1", "b", "c"]),
        ("root", Scope::Descendants, Closed::Shown, vec!["a", "a1", "a2", "b", "b1", "c"]),
        ("a", Scope::Children, Closed::Hidden, vec!["a1"]),
        ("a", Scope::Children, Closed::Shown, vec!["a1", "a2"]),
        ("a", Scope::All, Closed::Hidden, vec!["a", "a1", "b", "c"]),
        ("c", Scope::Descendants, Closed::Shown, vec![]),
    ] {
        assert_eq!(ids(caller, scope, closed), expected);
    }
}

#[test]
fn an_entry_says_what_there_is_to_say() {
    let ask = ListActive { scope: Scope::Children, shape: Shape::Tree, closed: Closed::Hidden };
    let full = Member {
        name: Some("@worker subagent".into()),
        note: Some("n".into()),
        persona: Some("fast".into()),
        state_seconds: Some(7),
        effort: Some("low".into()),
        updated_at: Some(12),
        ..member("a", Some("root"), 1, Lifecycle::Running)
    };
    assert_eq!(
        list_text(ask, "root", &[full]),
        "{\"agents\":[{\"thread_id\":\"a\",\"thread_name\":\"@worker subagent\",\"thread_note\":\"n\",\
         \"agent_type\":\"worker\",\"agent_name\":\"fast\",\"status\":\"running\",\"status_duration_sec\":7,\
         \"model\":\"m\",\"reasoning_effort\":\"low\",\"updated_at\":12,\"parent_thread_id\":\"root\",\"depth\":1}]}"
    );
    let flat = ListActive { shape: Shape::Flat, ..ask };
    assert_eq!(
        list_text(flat, "root", &[member("a", Some("root"), 1, Lifecycle::Running)]),
        "{\"agents\":[{\"thread_id\":\"a\",\"agent_type\":\"worker\",\"status\":\"running\",\"model\":\"m\"}]}"
    );
}

#[test]
fn a_list_that_is_no_tree_does_not_keep_anybody() {
    let circle = [member("a", Some("b"), 1, Lifecycle::Running), member("b", Some("a"), 1, Lifecycle::Running)];
    assert_eq!(close_order("a", "b", &circle), Ok(vec!["a".into(), "b".into()]));
}
