//! The Model Context Protocol as a server of tools speaks it: a message in, the reply out.
//!
//! Every carrier of ours shares it: the pipe of an agent, the door on the loopback, standard input and output. `client` is
//! the other side, for servers that are not ours.

pub mod client;
pub(crate) mod json;
pub(crate) mod jsonrpc;
pub mod sse;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

/// The name of our server; agents put it into the names of our tools.
pub const SERVER: &str = "coppice";

/// The variables that tell a bridge where the door is and what opens it.
pub const URL_ENV: &str = "COPPICE_MCP_URL";
pub const TOKEN_ENV: &str = "COPPICE_MCP_TOKEN";

/// The revision that is answered to a client that names none. What is spoken here is the same in all of them, so a client
/// that names one gets its own.
const REVISION: &str = "2025-11-25";

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
/// The peer asked for something we do not have.
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INTERNAL_ERROR: i64 = -32603;

/// One tool as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    pub annotations: Option<Annotations>,
}

/// What a client may assume about a tool; hints, nobody relies on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotations {
    ReadOnly,
    /// It changes something, and nothing that was there is lost.
    Additive,
    Destructive,
}

impl Annotations {
    /// Reads the hints of a listed tool; one that says nothing is destructive, as the protocol has it.
    pub fn read(hints: &Value) -> Self {
        let says = |hint: &str| hints[hint].as_bool();
        match (says("readOnlyHint"), says("destructiveHint")) {
            (Some(true), _) => Self::ReadOnly,
            (_, Some(false)) => Self::Additive,
            (_, Some(true) | None) => Self::Destructive,
        }
    }

    fn hints(self) -> Value {
        match self {
            Self::ReadOnly => json!({"readOnlyHint": true}),
            Self::Additive => json!({"readOnlyHint": false, "destructiveHint": false}),
            Self::Destructive => json!({"readOnlyHint": false, "destructiveHint": true}),
        }
    }
}

/// What one message of the client asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// This answers it.
    Reply(Value),
    Call(Call),
    /// The call of this id is given up by the client; nothing answers the message itself.
    Withdrawn {
        id: Value,
    },
    /// Nothing answers it.
    Noted,
}

/// A call of a tool. Whether there is such a tool is for the caller of this room to say: the list may have changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub id: Value,
    pub tool: String,
    pub arguments: Value,
    /// Under which the client wants to hear that the call goes on.
    pub progress: Option<Value>,
}

/// What a call brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub text: String,
    /// For models that see.
    pub images: Vec<Image>,
    /// For clients that are programs. Models behind some agents see only this where it is present, so a backend gets none.
    pub structured: Option<Value>,
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self { text, images: Vec::new(), structured: None }
    }
}

/// A picture in the answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub mime_type: String,
    /// In base64.
    pub data: String,
}

impl Image {
    fn block(&self) -> Value {
        json!({"type": "image", "data": self.data, "mimeType": self.mime_type})
    }
}

/// Reads a message to the server that has these tools.
pub fn read(message: &Value, tools: &[Tool]) -> Asked {
    let Some(message) = message.as_object() else {
        return Asked::Reply(refusal(&Value::Null, INVALID_REQUEST, "a message is one JSON object"));
    };
    let id = message.get("id").filter(|id| !id.is_null());
    let params = message.get("params").unwrap_or(&Value::Null);
    match (message.get("method").and_then(Value::as_str), id) {
        (Some(method), Some(id)) => request(id, method, params, tools),
        (Some("notifications/cancelled"), None) => Asked::Withdrawn { id: params["requestId"].clone() },
        (Some(_), None) => Asked::Noted,
        // We ask nothing, so a response is an answer to nothing.
        (None, _) if message.contains_key("result") || message.contains_key("error") => Asked::Noted,
        (None, id) => Asked::Reply(refusal(id.unwrap_or(&Value::Null), INVALID_REQUEST, "a message has a method")),
    }
}

fn request(id: &Value, method: &str, params: &Value, tools: &[Tool]) -> Asked {
    match method {
        "initialize" => Asked::Reply(reply(
            id,
            json!({
                "protocolVersion": params["protocolVersion"].as_str().unwrap_or(REVISION),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": SERVER, "version": env!("CARGO_PKG_VERSION")},
            }),
        )),
        "tools/list" => Asked::Reply(reply(id, json!({"tools": tools.iter().map(describe).collect::<Vec<_>>()}))),
        "tools/call" => Asked::Call(Call {
            id: id.clone(),
            tool: params["name"].as_str().unwrap_or_default().to_owned(),
            // A tool without parameters is called without arguments by some clients.
            arguments: Some(&params["arguments"])
                .filter(|given| !given.is_null())
                .cloned()
                .unwrap_or_else(|| json!({})),
            progress: params["_meta"].get("progressToken").filter(|token| !token.is_null()).cloned(),
        }),
        "ping" => Asked::Reply(reply(id, json!({}))),
        _ => Asked::Reply(refusal(id, METHOD_NOT_FOUND, &format!("method `{method}` not found"))),
    }
}

/// Answers a call. An error is told to the model, which goes on with its turn.
pub fn result(id: &Value, outcome: &Result<Output, String>) -> Value {
    let (text, images, structured, is_error) = match outcome {
        Ok(Output { text, images, structured }) => (text, images.as_slice(), structured.as_ref(), false),
        Err(text) => (text, [].as_slice(), None, true),
    };
    let text = json!({"type": "text", "text": text});
    let content: Vec<Value> = std::iter::once(text).chain(images.iter().map(Image::block)).collect();
    let mut result = json!({"content": content, "isError": is_error});
    if let Some(structured) = structured {
        result["structuredContent"] = structured.clone();
    }
    reply(id, result)
}

/// Refuses a request.
pub fn refusal(id: &Value, code: i64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})
}

/// Tells that a call goes on; `step` only ever rises.
pub fn progress(token: &Value, step: u64) -> Value {
    let params = json!({"progressToken": token, "progress": step});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

fn reply(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn describe(tool: &Tool) -> Value {
    let mut described = Map::from_iter([
        ("name".to_owned(), json!(tool.name)),
        ("description".to_owned(), json!(tool.description)),
        ("inputSchema".to_owned(), tool.input_schema.clone()),
    ]);
    if let Some(annotations) = tool.annotations {
        described.insert("annotations".to_owned(), annotations.hints());
    }
    Value::Object(described)
}
