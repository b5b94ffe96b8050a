//! Anthropic Messages, as Claude Code uses it: it probes the address, counts tokens and has titles made on the side.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::call::Request;
use super::cloud::{self, Cloud, CloudRequest};
use super::dialect::{Dialect, EVENTS, Part, Role, event, pieces};
use super::script::{Step, USAGE};

pub(super) fn role(request: &Request) -> Role {
    let path = request.path.split('?').next().unwrap_or_default();
    let has_tools = request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    match path {
        "/v1/messages/count_tokens" => Role::Aside(Some(json!({"input_tokens": 100}))),
        _ if path != "/v1/messages" && CloudRequest::read(path).is_none() => Role::Aside(None),
        _ if has_tools => Role::Call,
        // Requests without tools are side work, such as a title for the list of conversations.
        _ => Role::Chatter,
    }
}

pub(super) fn parts(step: &Step, request: &Request) -> Vec<Part> {
    let tool = |name: &str, input| vec![Part::Tool { name: name.to_owned(), input }];
    match step {
        Step::Say(text) => vec![Part::Text(text.clone())],
        // Only a program that was told of the schema has a tool for it.
        Step::Answer { prose, response } if !offers(request, "StructuredOutput") => {
            vec![Part::Text(format!("{prose}{response}"))]
        }
        Step::Answer { prose, response } => {
            let prose = (!prose.is_empty()).then(|| Part::Text(prose.clone()));
            prose.into_iter().chain(tool("StructuredOutput", response.clone())).collect()
        }
        Step::Shell { command, reach: _ } => tool("Bash", json!({"command": command, "description": "run"})),
        Step::Write { path, content } => tool("Write", json!({"file_path": path, "content": content})),
        Step::Read { path } => tool("Read", json!({"file_path": path})),
        Step::Native { name, input } => tool(name, input.clone()),
        Step::Serve(calls) => Dialect::Anthropic.serve(calls),
        Step::Before { .. } | Step::Status(_) | Step::Cut | Step::Hang | Step::Held(_) => Vec::new(),
    }
}

fn offers(request: &Request, tool: &str) -> bool {
    request.body["tools"].as_array().is_some_and(|tools| tools.iter().any(|offered| offered["name"] == tool))
}

pub(super) fn frames(parts: &[Part], request: &Request) -> Vec<Bytes> {
    let mut frames = Vec::new();
    let mut say = |name: &str, mut data: Value| {
        data["type"] = json!(name);
        frames.push(match CloudRequest::read(&request.path).map(|read| read.cloud) {
            Some(Cloud::Bedrock) => cloud::frame(&data),
            Some(Cloud::Vertex) | None => event(Some(name), &data),
        });
    };
    let mut message = whole(&[], request);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    say("message_start", json!({"message": message}));
    for (index, part) in parts.iter().enumerate() {
        let (begin, deltas) = match part {
            Part::Text(text) => {
                let deltas = pieces(text).into_iter().map(|text| json!({"type": "text_delta", "text": text}));
                (json!({"type": "text", "text": ""}), deltas.collect())
            }
            Part::Tool { name, input } => {
                let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
                (json!({"type": "tool_use", "id": id("toolu", request, index), "name": name, "input": {}}), vec![delta])
            }
            Part::Freeform { .. } => continue,
        };
        say("content_block_start", json!({"index": index, "content_block": begin}));
        for delta in deltas {
            say("content_block_delta", json!({"index": index, "delta": delta}));
        }
        say("content_block_stop", json!({"index": index}));
    }
    let end = json!({"stop_reason": stop_reason(parts), "stop_sequence": null});
    say("message_delta", json!({"delta": end, "usage": usage()}));
    say("message_stop", json!({}));
    frames
}

pub(super) fn whole(parts: &[Part], request: &Request) -> Value {
    let content = parts.iter().enumerate().filter_map(|(index, part)| match part {
        Part::Text(text) => Some(json!({"type": "text", "text": text})),
        Part::Tool { name, input } => {
            Some(json!({"type": "tool_use", "id": id("toolu", request, index), "name": name, "input": input}))
        }
        Part::Freeform { .. } => None,
    });
    json!({
        "id": id("msg", request, 0),
        "type": "message",
        "role": "assistant",
        "model": model(request),
        "content": content.collect::<Vec<_>>(),
        "stop_reason": stop_reason(parts),
        "stop_sequence": null,
        "usage": usage(),
    })
}

/// The model that was asked.
pub(super) fn model(request: &Request) -> &str {
    let in_path = CloudRequest::read(&request.path).map(|read| read.model);
    in_path.or_else(|| request.body["model"].as_str()).unwrap_or_default()
}

/// Whether the reply is a stream.
pub(super) fn streams(request: &Request) -> bool {
    CloudRequest::read(&request.path).map_or(request.body["stream"] == true, |read| read.is_streamed)
}

/// The type of a stream.
pub(super) fn stream_type(request: &Request) -> &'static str {
    match CloudRequest::read(&request.path).map(|read| read.cloud) {
        Some(Cloud::Bedrock) => cloud::FRAMES,
        Some(Cloud::Vertex) | None => EVENTS,
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"})
}

fn stop_reason(parts: &[Part]) -> &'static str {
    match parts.last() {
        Some(Part::Tool { .. }) => "tool_use",
        Some(Part::Text(_) | Part::Freeform { .. }) | None => "end_turn",
    }
}

fn usage() -> Value {
    json!({
        "input_tokens": USAGE.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": USAGE.output,
        "service_tier": "standard",
    })
}

/// Distinct within a conversation: its number of messages grows with each call.
fn id(kind: &str, request: &Request, index: usize) -> String {
    format!("{kind}_{:04}{index:02}", request.body["messages"].as_array().map_or(0, Vec::len))
}
