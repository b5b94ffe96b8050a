//! The protocol as a client of tools speaks it: what it sends, how it reads the answers, what a server that asks is told.
//!
//! Messages only: which request an answer belongs to, and how long to wait for it, is known to whoever sends them.

use serde_json::{Map, Value, json};

use super::jsonrpc;
use super::{METHOD_NOT_FOUND, REVISION, SERVER};

/// Ends a text that was cut.
const CUT: &str = "…[truncated]";

/// The first message: who we are. Nothing that a server could ask of a client is offered.
pub fn initialize(id: u64) -> String {
    let client = json!({"name": SERVER, "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
    jsonrpc::request(id, "initialize", params)
}

/// Follows the answer to the first message; then the server does what it is asked.
pub fn initialized() -> String {
    jsonrpc::notification("notifications/initialized", json!({}))
}

pub fn list_tools(id: u64, cursor: Option<&str>) -> String {
    let params = cursor.map(|cursor| ("cursor".to_owned(), json!(cursor)));
    jsonrpc::request(id, "tools/list", Value::Object(Map::from_iter(params)))
}

pub fn call_tool(id: u64, tool: &str, arguments: Value) -> String {
    jsonrpc::request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Tells that nobody waits for the answer to a request.
pub fn cancelled(id: u64) -> String {
    jsonrpc::notification("notifications/cancelled", json!({"requestId": id, "reason": "nobody waits for it"}))
}

/// Answers a request of the server.
pub fn answer(id: &Value, method: &str) -> String {
    match method {
        "ping" => jsonrpc::response(id, json!({})),
        "roots/list" => jsonrpc::response(id, json!({"roots": []})),
        _ => {
            let text = format!("{SERVER} does not offer `{method}`");
            jsonrpc::error(id, METHOD_NOT_FOUND, &text, json!({"method": method}))
        }
    }
}

/// Whether a server has tools, by its answer to `initialize`.
pub fn has_tools(initialized: &Value) -> bool {
    initialized["capabilities"]["tools"].is_object()
}

/// A part of a list of tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// As the server describes them.
    pub tools: Vec<Value>,
    /// Where the next part begins.
    pub next: Option<String>,
}

/// Reads a part of a list of tools; `None` when the answer is none.
pub fn read_page(result: Value) -> Option<Page> {
    let Value::Object(mut result) = result else { return None };
    let Some(Value::Array(tools)) = result.remove("tools") else { return None };
    let next = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Some(Page { tools, next })
}

/// What a call brought, as a model reads it, in at most `limit` bytes; an error where the server calls it one.
///
/// Everything that is not text is named only: backends take text, and a model that asks for an image can be told so.
pub fn read_result(result: &Value, limit: usize) -> Result<String, String> {
    let blocks = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let mut parts: Vec<_> = blocks.iter().map(block).collect();
    // A server that fills both says the same twice.
    if let Some(structured) = result.get("structuredContent").filter(|_| !blocks.iter().any(has_text)) {
        parts.push(structured.to_string());
    }
    parts.retain(|part| !part.is_empty());
    let text = if parts.is_empty() { "[no content]".to_owned() } else { cut(parts.join("\n"), limit) };
    if result["isError"] == true { Err(text) } else { Ok(text) }
}

/// The first `limit` bytes of a text, with a mark where something is missing.
pub fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit.saturating_sub(CUT.len())));
        text.push_str(CUT);
    }
    text
}

fn has_text(block: &Value) -> bool {
    text(block).or_else(|| text(&block["resource"])).is_some_and(|text| !text.is_empty())
}

fn block(block: &Value) -> String {
    let word = |key: &str| block[key].as_str().unwrap_or_default();
    match word("type") {
        "text" => word("text").to_owned(),
        "resource_link" => format!("[resource `{}`: {}]", word("name"), word("uri")),
        "resource" => {
            let resource = &block["resource"];
            let uri = resource["uri"].as_str().unwrap_or_default();
            text(resource).map_or_else(|| format!("[resource {uri}]"), str::to_owned)
        }
        "" => "[something without a type]".to_owned(),
        kind => format!("[{kind}]"),
    }
}

fn text(of: &Value) -> Option<&str> {
    of["text"].as_str()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn sent(line: &str, expected: Value) {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap(), expected);
        assert!(!line.contains('\n'), "one message is one line");
    }

    #[test]
    fn requests_are_what_the_protocol_says() {
        let info = json!({"name": "coppice", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        sent(&initialize(0), json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}));
        sent(&initialized(), json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}}));
        sent(&list_tools(1, None), json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}));
        let next = json!({"cursor": "p2"});
        sent(&list_tools(2, Some("p2")), json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": next}));
        let call = json!({"name": "t", "arguments": {"a": "b\nc"}});
        let line = call_tool(3, "t", json!({"a": "b\nc"}));
        sent(&line, json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}));
        let params = json!({"requestId": 3, "reason": "nobody waits for it"});
        sent(&cancelled(3), json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }

    #[test]
    fn a_server_that_asks_is_answered_and_gets_nothing() {
        sent(&answer(&json!("p"), "ping"), json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
        sent(&answer(&json!(1), "roots/list"), json!({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}));
        for method in ["sampling/createMessage", "elicitation/create", "from/the/future"] {
            let text = format!("coppice does not offer `{method}`");
            let error = json!({"code": METHOD_NOT_FOUND, "message": text, "data": {"method": method}});
            sent(&answer(&json!(1), method), json!({"jsonrpc": "2.0", "id": 1, "error": error}));
        }
    }

    #[test]
    fn a_list_comes_in_parts() {
        assert!(has_tools(&json!({"capabilities": {"tools": {}}})));
        assert!(!has_tools(&json!({"capabilities": {"prompts": {}}})) && !has_tools(&Value::Null));
        for (result, expected) in [
            (json!({"tools": [], "nextCursor": "x"}), Some(Page { tools: vec![], next: Some("x".to_owned()) })),
            (json!({"tools": [1], "nextCursor": null}), Some(Page { tools: vec![json!(1)], next: None })),
            (json!({"tools": {}}), None),
            (json!([]), None),
            (Value::Null, None),
        ] {
            assert_eq!(read_page(result.clone()), expected, "{result}");
        }
    }

    #[test]
    fn a_result_is_text() {
        let text = |text: &str| json!({"type": "text", "text": text});
        for (result, expected) in [
            (json!({"content": [text("a"), text("b")]}), Ok("a\nb")),
            (json!({"content": [text("a")], "structuredContent": {"a": 1}}), Ok("a")),
            (json!({"content": [text("")], "structuredContent": {"a": 1}}), Ok(r#"{"a":1}"#)),
            (json!({"structuredContent": {"a": 1}}), Ok(r#"{"a":1}"#)),
            (
                json!({"content": [{"type": "image", "data": "…"}, text("a"), {"type": "audio"}]}),
                Ok("[image]\na\n[audio]"),
            ),
            (json!({"content": [{"type": "image"}], "structuredContent": [1]}), Ok("[image]\n[1]")),
            (
                json!({"content": [{"type": "resource_link", "name": "n", "uri": "file:///a"}]}),
                Ok("[resource `n`: file:///a]"),
            ),
            (json!({"content": [{"type": "resource", "resource": {"uri": "u", "text": "t"}}]}), Ok("t")),
            (json!({"content": [{"type": "resource", "resource": {"uri": "u", "blob": "AA"}}]}), Ok("[resource u]")),
            (json!({"content": [7]}), Ok("[something without a type]")),
            (json!({"content": []}), Ok("[no content]")),
            (json!(null), Ok("[no content]")),
            (json!({"content": [text("no such file")], "isError": true}), Err("no such file")),
            (json!({"isError": true}), Err("[no content]")),
        ] {
            let found = read_result(&result, 1000);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{result}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_keeps_to_its_limit(text in "\\PC{0,60}", limit in CUT.len()..60) {
            let kept = cut(text.clone(), limit);
            prop_assert!(kept.len() <= limit);
            match kept.strip_suffix(CUT).filter(|_| kept != text) {
                Some(head) => prop_assert!(text.starts_with(head)),
                None => prop_assert_eq!(kept, text),
            }
        }
    }
}
