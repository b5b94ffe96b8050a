//! The tools that Coppice serves, as an MCP server inside the agent's own pipe: no process, no socket. Pure.

use serde_json::{Value, json};

use crate::backend::ServedTool;
use crate::backend::transport::jsonrpc::METHOD_NOT_FOUND;

/// The name of our server; the agent puts it into the names of our tools.
pub(crate) const SERVER: &str = "coppice";

/// The revision that is answered to an agent that names none.
const REVISION: &str = "2025-11-25";

/// What one message of the agent asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Asked {
    /// This is the answer.
    Known(Value),
    Call(Call),
    /// The call of this id is not waited for any more; the value answers the message itself.
    Withdrawn {
        id: Value,
        reply: Value,
    },
}

/// A call of one of our tools.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: Value,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

/// The name under which the agent offers one of our tools to the model, without what the agent added to it.
pub(crate) fn own_name(tool: &str) -> Option<&str> {
    tool.strip_prefix("mcp__")?.strip_prefix(SERVER)?.strip_prefix("__")
}

/// Reads a message to our server.
pub(crate) fn read(message: &Value, tools: &[ServedTool]) -> Asked {
    let id = message["id"].clone();
    let params = &message["params"];
    let known = |result: Value| Asked::Known(reply(&id, result));
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => known(json!({
            "protocolVersion": params["protocolVersion"].as_str().unwrap_or(REVISION),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": SERVER, "version": env!("CARGO_PKG_VERSION")},
        })),
        "tools/list" => known(json!({"tools": tools.iter().map(describe).collect::<Vec<_>>()})),
        "tools/call" => Asked::Call(Call {
            tool: params["name"].as_str().unwrap_or_default().to_owned(),
            arguments: params["arguments"].clone(),
            id,
        }),
        "ping" => known(json!({})),
        "notifications/cancelled" => {
            Asked::Withdrawn { id: params["requestId"].clone(), reply: reply(&json!(0), json!({})) }
        }
        // A notification has no id, but the pipe wants every message answered.
        _ if id.is_null() => Asked::Known(reply(&json!(0), json!({}))),
        method => Asked::Known(refusal(&id, METHOD_NOT_FOUND, &format!("method `{method}` not found"))),
    }
}

/// Answers a call. An error is told to the model, which goes on with its turn.
pub(crate) fn result(id: &Value, outcome: &Result<String, String>) -> Value {
    let (text, is_error) = match outcome {
        Ok(text) => (text, false),
        Err(text) => (text, true),
    };
    reply(id, json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
}

fn describe(tool: &ServedTool) -> Value {
    json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema})
}

fn reply(id: &Value, result: Value) -> Value {
    json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "result": result}})
}

fn refusal(id: &Value, code: i64, text: &str) -> Value {
    json!({"mcp_response": {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(message: Value) -> Value {
        let tool = ServedTool {
            name: "delegate".to_owned(),
            description: "Runs a child".to_owned(),
            input_schema: json!({"type": "object"}),
        };
        match read(&message, &[tool]) {
            Asked::Known(reply) => reply["mcp_response"].clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_message_has_an_answer() {
        let hello = json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2030-01-01"}});
        assert_eq!(answer(hello)["result"]["protocolVersion"], "2030-01-01");
        let list = answer(json!({"id": 1, "method": "tools/list"}));
        let described = json!({"name": "delegate", "description": "Runs a child", "inputSchema": {"type": "object"}});
        assert_eq!(list, json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [described]}}));
        let empty = json!({"jsonrpc": "2.0", "id": 0, "result": {}});
        assert_eq!(answer(json!({"method": "notifications/initialized"})), empty);
        assert_eq!(answer(json!({"id": 0, "method": "ping"})), empty);
        assert_eq!(answer(json!({"id": 7, "method": "resources/list"}))["error"]["code"], -32601);
    }

    #[test]
    fn a_call_waits_and_its_result_says_whether_it_failed() {
        let call = json!({"id": 2, "method": "tools/call", "params": {"name": "delegate", "arguments": {"task": "t"}}});
        let expected = Call { id: json!(2), tool: "delegate".to_owned(), arguments: json!({"task": "t"}) };
        assert_eq!(read(&call, &[]), Asked::Call(expected));
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let done = result(&json!(2), &Ok("done".to_owned()));
        assert_eq!(done["mcp_response"]["result"], json!({"content": text("done"), "isError": false}));
        let failed = result(&json!(2), &Err("no".to_owned()));
        assert_eq!(failed["mcp_response"]["result"], json!({"content": text("no"), "isError": true}));
    }

    #[test]
    fn our_tools_are_known_by_their_whole_prefix() {
        assert_eq!(own_name("mcp__coppice__delegate"), Some("delegate"));
        assert_eq!(own_name("mcp__coppice2__delegate"), None);
        assert_eq!(own_name("delegate"), None);
    }
}
