//! OpenAI Chat Completions, as agents use it that work with anybody's models. Each has a shell under a name of its own.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::call::Request;
use super::dialect::{Part, Role, event, pieces};
use super::script::{Step, USAGE};

/// Names under which agents offer a shell.
const SHELLS: &[&str] = &["bash", "run_shell_command"];

pub(super) fn role(request: &Request) -> Role {
    match request.path.split('?').next() {
        Some("/v1/chat/completions") if tools(request).next().is_some() => Role::Call,
        Some("/v1/chat/completions") => Role::Chatter,
        Some(_) | None => Role::Aside(None),
    }
}

pub(super) fn parts(step: &Step, request: &Request) -> Vec<Part> {
    let tool = |name: &str, input| vec![Part::Tool { name: name.to_owned(), input }];
    match step {
        Step::Say(text) => vec![Part::Text(text.clone())],
        Step::Answer { prose, response } => vec![Part::Text(format!("{prose}{response}"))],
        Step::Shell { command, reach: _ } => {
            let is_shell = |tool: &&Value| SHELLS.iter().any(|name| tool["name"] == *name);
            let shell = tools(request).find(is_shell).expect("an agent with a shell");
            // Each wants its own arguments, and no others.
            let known = [("command", json!(command)), ("description", json!("run")), ("is_background", json!(false))];
            let wanted = known.into_iter().filter(|(name, _)| shell["parameters"]["properties"].get(name).is_some());
            let input = wanted.map(|(name, value)| (name.to_owned(), value)).collect();
            tool(shell["name"].as_str().unwrap_or_default(), Value::Object(input))
        }
        Step::Native { name, input } => tool(name, input.clone()),
        Step::Write { .. } | Step::Read { .. } | Step::Serve(_) => unreachable!("no case of these agents needs it"),
        Step::Before { .. } | Step::Status(_) | Step::Cut | Step::Hang | Step::Held(_) => Vec::new(),
    }
}

fn tools(request: &Request) -> impl Iterator<Item = &Value> {
    request.body["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"])
}

pub(super) fn frames(parts: &[Part], request: &Request) -> Vec<Bytes> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Text(text) => deltas.extend(pieces(text).into_iter().map(|piece| json!({"content": piece}))),
            Part::Tool { name, input } => deltas.push(json!({"tool_calls": [call(name, input, index, request)]})),
            Part::Freeform { .. } => {}
        }
    }
    let chunk = |choices: Value| {
        let mut chunk = head("chat.completion.chunk", request);
        chunk["choices"] = choices;
        chunk
    };
    let choice = |delta, reason| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    let mut frames: Vec<_> = deltas.into_iter().map(|delta| event(None, &chunk(choice(delta, Value::Null)))).collect();
    frames.push(event(None, &chunk(choice(json!({}), reason(parts)))));
    let mut end = chunk(json!([]));
    end["usage"] = usage();
    frames.push(event(None, &end));
    frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
    frames
}

pub(super) fn whole(parts: &[Part], request: &Request) -> Value {
    let text: String =
        parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None }).collect();
    let calls: Vec<_> = parts
        .iter()
        .enumerate()
        .filter_map(|(index, part)| match part {
            Part::Tool { name, input } => Some(call(name, input, index, request)),
            Part::Text(_) | Part::Freeform { .. } => None,
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut whole = head("chat.completion", request);
    whole["choices"] = json!([{"index": 0, "message": message, "finish_reason": reason(parts)}]);
    whole["usage"] = usage();
    whole
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let code = if status == 401 { "invalid_api_key" } else { "scripted" };
    json!({"error": {"message": message, "type": "invalid_request_error", "code": code}})
}

fn head(object: &str, request: &Request) -> Value {
    let id = format!("chatcmpl-{}", request.body["messages"].as_array().map_or(0, Vec::len));
    json!({"id": id, "object": object, "created": 1_700_000_000, "model": request.body["model"]})
}

/// Distinct within a conversation: its number of messages grows with each call.
fn call(name: &str, input: &Value, index: usize, request: &Request) -> Value {
    let id = format!("call_{:04}{index:02}", request.body["messages"].as_array().map_or(0, Vec::len));
    json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": input.to_string()}})
}

fn reason(parts: &[Part]) -> Value {
    match parts.last() {
        Some(Part::Tool { .. }) => json!("tool_calls"),
        Some(Part::Text(_) | Part::Freeform { .. }) | None => json!("stop"),
    }
}

fn usage() -> Value {
    let total = USAGE.input + USAGE.output;
    json!({"prompt_tokens": USAGE.input, "completion_tokens": USAGE.output, "total_tokens": total})
}
