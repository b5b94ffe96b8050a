//! Tables over the messages of a client.

use proptest::prelude::*;

use super::*;

fn tools() -> Vec<Tool> {
    let tool = |name: &str, annotations| Tool {
        name: name.to_owned(),
        description: format!("Does {name}"),
        input_schema: json!({"type": "object"}),
        annotations,
    };
    vec![tool("delegate", None), tool("list", Some(Annotations::ReadOnly))]
}

#[track_caller]
fn replied(message: Value, expected: Value) {
    assert_eq!(read(&message, &tools()), Asked::Reply(expected));
}

fn ok(id: Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

#[test]
fn a_client_gets_the_revision_that_it_speaks() {
    for (params, revision) in [(json!({"protocolVersion": "2024-11-05"}), "2024-11-05"), (Value::Null, REVISION)] {
        let info = json!({"name": "coppice", "version": env!("CARGO_PKG_VERSION")});
        let result = json!({"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": info});
        replied(json!({"id": 0, "method": "initialize", "params": params}), ok(json!(0), result));
    }
}

#[test]
fn annotations_are_listed_where_there_are_some() {
    let described =
        |name: &str| json!({"name": name, "description": format!("Does {name}"), "inputSchema": {"type": "object"}});
    let mut list = described("list");
    list["annotations"] = json!({"readOnlyHint": true});
    let tools = json!({"tools": [described("delegate"), list]});
    replied(json!({"id": "a", "method": "tools/list"}), ok(json!("a"), tools));
}

#[test]
fn hints_are_read_as_they_are_written() {
    for annotations in [Annotations::ReadOnly, Annotations::Additive, Annotations::Destructive] {
        assert_eq!(Annotations::read(&annotations.hints()), annotations);
    }
    for (hints, expected) in [
        (Value::Null, Annotations::Destructive),
        (json!({"readOnlyHint": "true"}), Annotations::Destructive),
        (json!({"title": "t", "readOnlyHint": false}), Annotations::Destructive),
        (json!({"destructiveHint": false}), Annotations::Additive),
    ] {
        assert_eq!(Annotations::read(&hints), expected, "{hints}");
    }
}

#[test]
fn every_request_has_an_answer_and_every_notification_has_none() {
    replied(json!({"id": 1, "method": "ping"}), ok(json!(1), json!({})));
    let unknown = refusal(&json!(1), METHOD_NOT_FOUND, "method `resources/list` not found");
    replied(json!({"id": 1, "method": "resources/list"}), unknown);
    replied(json!([]), refusal(&Value::Null, INVALID_REQUEST, "a message is one JSON object"));
    replied(json!({"id": 4}), refusal(&json!(4), INVALID_REQUEST, "a message has a method"));
    for noted in [
        json!({"method": "notifications/initialized"}),
        json!({"method": "from/the/future", "id": null}),
        json!({"id": 3, "result": {}}),
        json!({"id": 3, "error": {"code": 1}}),
    ] {
        assert_eq!(read(&noted, &tools()), Asked::Noted, "{noted}");
    }
    let cancelled = json!({"method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(read(&cancelled, &tools()), Asked::Withdrawn { id: json!(7) });
}

#[test]
fn a_call_brings_what_it_was_given() {
    let call =
        |arguments, progress| Asked::Call(Call { id: json!(2), tool: "delegate".to_owned(), arguments, progress });
    for (params, expected) in [
        (json!({"name": "delegate", "arguments": {"task": "t"}}), call(json!({"task": "t"}), None)),
        (json!({"name": "delegate"}), call(json!({}), None)),
        (json!({"name": "delegate", "_meta": {"progressToken": 0}}), call(json!({}), Some(json!(0)))),
    ] {
        assert_eq!(read(&json!({"id": 2, "method": "tools/call", "params": params}), &[]), expected);
    }
}

#[test]
fn a_backend_gets_text_and_nothing_else() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let done = json!({"content": text("done"), "isError": false});
    assert_eq!(result(&json!(2), &Ok(Output::from("done".to_owned()))), ok(json!(2), done));
    let failed = json!({"content": text("no"), "isError": true});
    assert_eq!(result(&json!(2), &Err("no".to_owned())), ok(json!(2), failed));
    let both = json!({"content": text("done"), "isError": false, "structuredContent": {"a": 1}});
    let output = Output { text: "done".to_owned(), images: Vec::new(), structured: Some(json!({"a": 1})) };
    assert_eq!(result(&json!(2), &Ok(output)), ok(json!(2), both));
}

proptest! {
    #[test]
    fn no_message_breaks_the_reader(text in "(\\{|\\}|\\[|\"id\"|\"method\"|\"params\"|\"tools/call\"|:|,|1|null|\\PC){0,30}") {
        if let Ok(message) = serde_json::from_str::<Value>(&text) {
            read(&message, &tools());
        }
    }
}
