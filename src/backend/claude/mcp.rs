//! The tools that Coppice serves, as an MCP server inside the agent's own pipe: no process, no socket. Pure.
//!
//! The protocol itself is `mcp`'s; the pipe wraps each reply, and wants one even where the protocol has none.

use serde_json::{Value, json};

use crate::backend::ServedTool;
use crate::backend::event::ToolOutput;
use crate::mcp::{self, Annotations, Output};
pub(crate) use crate::mcp::{Call, SERVER};

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

/// The name under which the agent offers one of our tools to the model, without what the agent added to it.
pub(crate) fn own_name(tool: &str) -> Option<&str> {
    tool.strip_prefix("mcp__")?.strip_prefix(SERVER)?.strip_prefix("__")
}

/// Reads a message to our server.
pub(crate) fn read(message: &Value, tools: &[ServedTool]) -> Asked {
    // The agent runs calls of one message together only where it takes them for reading. What they may do, and in which
    // order, is decided here and not there.
    let together = |tool: &ServedTool| mcp::Tool { annotations: Some(Annotations::ReadOnly), ..tool.listed() };
    let tools: Vec<mcp::Tool> = tools.iter().map(together).collect();
    let empty = || json!({"mcp_response": {"jsonrpc": "2.0", "id": 0, "result": {}}});
    match mcp::read(message, &tools) {
        mcp::Asked::Reply(reply) => Asked::Known(wrap(reply)),
        mcp::Asked::Call(call) => Asked::Call(call),
        mcp::Asked::Withdrawn { id } => Asked::Withdrawn { id, reply: empty() },
        mcp::Asked::Noted => Asked::Known(empty()),
    }
}

/// Answers a call. An error is told to the model, which goes on with its turn.
pub(crate) fn result(id: &Value, outcome: &Result<ToolOutput, String>) -> Value {
    wrap(mcp::result(id, &outcome.clone().map(Output::from)))
}

fn wrap(reply: Value) -> Value {
    json!({"mcp_response": reply})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::Effect;

    #[test]
    fn every_message_has_an_answer() {
        let empty = json!({"mcp_response": {"jsonrpc": "2.0", "id": 0, "result": {}}});
        for message in [json!({"method": "notifications/initialized"}), json!({"id": 0, "method": "ping"})] {
            assert_eq!(read(&message, &[]), Asked::Known(empty.clone()), "{message}");
        }
        let cancelled = json!({"method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(read(&cancelled, &[]), Asked::Withdrawn { id: json!(7), reply: empty });
    }

    #[test]
    fn calls_of_one_message_run_together() {
        let tool = ServedTool {
            name: "delegate".to_owned(),
            description: String::new(),
            input_schema: json!({}),
            effect: Effect::Destroys,
        };
        let Asked::Known(reply) = read(&json!({"id": 1, "method": "tools/list"}), &[tool]) else { panic!("a list") };
        assert_eq!(reply["mcp_response"]["result"]["tools"][0]["annotations"], json!({"readOnlyHint": true}));
    }

    #[test]
    fn a_result_says_whether_it_failed() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let done = result(&json!(2), &Ok("done".to_owned().into()));
        assert_eq!(done["mcp_response"]["result"], json!({"content": text("done"), "isError": false}));
        let image = mcp::Image { mime_type: "image/png".to_owned(), data: "AA==".to_owned() };
        let seen = result(&json!(2), &Ok(ToolOutput { text: "label".to_owned(), images: vec![image] }));
        let block = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let content = json!([{"type": "text", "text": "label"}, block]);
        assert_eq!(seen["mcp_response"]["result"], json!({"content": content, "isError": false}));
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
