//! The lines of the pipe: what the agent says, sorted, and what it is told. Pure.

use serde_json::{Value, json};

use crate::backend::event::Block;
use crate::mcp::json::{JsonError, parse_untrusted};

/// The name of our callback before every tool call; the agent echoes it.
const CALLBACK: &str = "before-tool";

/// One line of the agent. Lines of a kind that is not here mean nothing to us.
#[derive(Debug, PartialEq)]
pub(crate) enum Said {
    /// Something that waits for an answer under this id.
    Asked {
        id: String,
        request: Value,
    },
    /// The answer to something that we asked.
    Answered {
        id: String,
        outcome: Result<Value, String>,
    },
    /// What was asked under this id is not waited for any more.
    Withdrawn {
        id: String,
    },
    /// A turn begins.
    Init(Value),
    /// A failed model call is tried again.
    Retry(Value),
    /// A piece of a message as the model writes it.
    Piece(Value),
    /// One whole block of a message.
    Assistant(Value),
    /// The results of tools, and what the agent itself puts into the conversation.
    User(Value),
    Limit(Value),
    /// A turn is over.
    Result(Value),
    Unknown,
}

/// Sorts a line; the error says why it is no message at all.
pub(crate) fn parse(line: &str) -> Result<Said, JsonError> {
    let mut message = parse_untrusted(line.as_bytes())?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let said = match message["type"].as_str().unwrap_or_default() {
        "stream_event" => Said::Piece(message),
        "assistant" => Said::Assistant(message),
        "user" => Said::User(message),
        "result" => Said::Result(message),
        "rate_limit_event" => Said::Limit(message["rate_limit_info"].take()),
        "system" => match message["subtype"].as_str() {
            Some("init") => Said::Init(message),
            Some("api_retry") => Said::Retry(message),
            Some(_) | None => Said::Unknown,
        },
        "control_request" => Said::Asked { id: text(&message["request_id"]), request: message["request"].take() },
        "control_cancel_request" => Said::Withdrawn { id: text(&message["request_id"]) },
        "control_response" => {
            let mut response = message["response"].take();
            let outcome = match response["subtype"].as_str() {
                Some("success") => Ok(response["response"].take()),
                Some(_) | None => Err(text(&response["error"])),
            };
            Said::Answered { id: text(&response["request_id"]), outcome }
        }
        _ => Said::Unknown,
    };
    Ok(said)
}

/// Asks the agent something.
pub(crate) fn request(id: &str, request: &Value) -> String {
    json!({"type": "control_request", "request_id": id, "request": request}).to_string()
}

/// The first request of a process: it costs no model call, and from here on no tool runs without our callback.
pub(crate) fn initialize() -> Value {
    json!({"subtype": "initialize", "hooks": {"PreToolUse": [{"hookCallbackIds": [CALLBACK]}]}})
}

pub(crate) fn interrupt() -> Value {
    json!({"subtype": "interrupt"})
}

/// Answers what the agent asked under this id.
pub(crate) fn success(id: &str, response: &Value) -> String {
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": response}})
        .to_string()
}

/// Refuses what the agent asked under this id.
pub(crate) fn error(id: &str, text: &str) -> String {
    json!({"type": "control_response", "response": {"subtype": "error", "request_id": id, "error": text}}).to_string()
}

/// The line that starts a turn.
pub(crate) fn prompt(blocks: &[Block]) -> String {
    let content: Vec<Value> = blocks.iter().map(content).collect();
    json!({"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": null, "session_id": ""})
        .to_string()
}

fn content(block: &Block) -> Value {
    match block {
        // The agent takes a text that begins with a slash as a command of its own and asks no model. Which of the
        // blocks it looks at is its own affair: in 2.1.197 it is the last one.
        Block::Text(text) if text.trim_start().starts_with('/') => {
            json!({"type": "text", "text": format!("The prompt:\n{text}")})
        }
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Image(image) => json!({"type": "image",
            "source": {"type": "base64", "media_type": image.mime_type, "data": image.data}}),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::backend::event::Image;

    #[test]
    fn lines_are_sorted_and_the_unknown_is_let_go() {
        let check = |line: Value, expected: Said| assert_eq!(parse(&line.to_string()).unwrap(), expected);
        let named = |id: &str| id.to_owned();
        check(
            json!({"type": "control_request", "request_id": "a", "request": {"subtype": "x"}}),
            Said::Asked { id: named("a"), request: json!({"subtype": "x"}) },
        );
        check(
            json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r"}}),
            Said::Answered { id: named("r"), outcome: Ok(Value::Null) },
        );
        check(
            json!({"type": "control_response", "response": {"subtype": "error", "request_id": "r", "error": "no"}}),
            Said::Answered { id: named("r"), outcome: Err(named("no")) },
        );
        check(json!({"type": "control_cancel_request", "request_id": "a"}), Said::Withdrawn { id: named("a") });
        check(
            json!({"type": "rate_limit_event", "rate_limit_info": {"status": "x"}}),
            Said::Limit(json!({"status": "x"})),
        );
        for unknown in [
            json!({"type": "system", "subtype": "task_updated"}),
            json!({"type": "from_the_future"}),
            json!({"no": "type"}),
            json!([1]),
            json!(null),
        ] {
            check(unknown, Said::Unknown);
        }
        assert!(parse("Warning: words for people").is_err());
    }

    #[test]
    fn a_prompt_keeps_the_order_of_its_blocks() {
        let image = Image { mime_type: "image/png".to_owned(), data: "aGk=".to_owned(), path: PathBuf::from("/x.png") };
        let line = prompt(&[Block::Text("a".to_owned()), Block::Image(image), Block::Text("b".to_owned())]);
        let sent: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            sent["message"],
            json!({"role": "user", "content": [{"type": "text", "text": "a"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                {"type": "text", "text": "b"}]})
        );
    }

    #[test]
    fn a_prompt_is_never_a_command_of_the_agent() {
        for (texts, expected) in [
            (&["/compact"][..], &["The prompt:\n/compact"][..]),
            (&[" \n/clear"], &["The prompt:\n \n/clear"]),
            (&["see ", "/var/log is odd"], &["see ", "The prompt:\n/var/log is odd"]),
            (&["/a", "b", "/c"], &["The prompt:\n/a", "b", "The prompt:\n/c"]),
        ] {
            let blocks: Vec<Block> = texts.iter().map(|text| Block::Text((*text).to_owned())).collect();
            let sent: Value = serde_json::from_str(&prompt(&blocks)).unwrap();
            let sent = sent["message"]["content"].as_array().unwrap();
            assert_eq!(sent.iter().map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>(), expected);
        }
    }
}
