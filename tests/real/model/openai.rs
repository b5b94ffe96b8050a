//! OpenAI Responses, as Codex uses it with a provider of the user's own configuration.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::call::Request;
use super::dialect::{Dialect, Part, Role, event, pieces};
use super::script::{Reach, Step, USAGE};

pub(super) fn role(request: &Request) -> Role {
    match request.path.split('?').next() {
        Some("/v1/responses") => Role::Call,
        Some(_) | None => Role::Aside(None),
    }
}

pub(super) fn parts(step: &Step, request: &Request) -> Vec<Part> {
    match step {
        Step::Say(text) => vec![Part::Text(text.clone())],
        Step::Answer { prose, response } => vec![Part::Text(format!("{prose}{response}"))],
        Step::Shell { command, reach } => run(command, *reach, request),
        Step::Read { path } => run(&format!("cat '{path}'"), Reach::Worktree, request),
        Step::Native { name, input } => vec![Part::Tool { name: name.clone(), input: input.clone() }],
        Step::Write { path, content } => {
            let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
            let patch = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n");
            if in_code_mode(request) {
                let code = format!("text(await tools.apply_patch({}));", json!(patch));
                return vec![Part::Freeform { name: "exec", input: code }];
            }
            vec![Part::Freeform { name: "apply_patch", input: patch }]
        }
        Step::Serve(calls) if in_code_mode(request) => {
            let calls: Vec<_> = calls.iter().map(|(tool, input)| format!("tools.{tool}({input})")).collect();
            let code = format!("text(JSON.stringify(await Promise.all([{}])));", calls.join(", "));
            vec![Part::Freeform { name: "exec", input: code }]
        }
        Step::Serve(calls) => Dialect::OpenAi.serve(calls),
        Step::Before { .. } | Step::Status(_) | Step::Cut | Step::Hang | Step::Held(_) => Vec::new(),
    }
}

/// Some models have no tools of their own, only one that runs code which calls them.
fn in_code_mode(request: &Request) -> bool {
    request.body["tools"].is_null()
}

fn run(command: &str, reach: Reach, request: &Request) -> Vec<Part> {
    let mut input = json!({"cmd": command, "yield_time_ms": 30_000});
    if reach == Reach::Beyond {
        input["sandbox_permissions"] = json!("require_escalated");
        input["justification"] = json!("the task needs it");
    }
    if in_code_mode(request) {
        let code = format!("text(JSON.stringify(await tools.exec_command({input})));");
        return vec![Part::Freeform { name: "exec", input: code }];
    }
    vec![Part::Tool { name: "exec_command".to_owned(), input }]
}

pub(super) fn frames(parts: &[Part], request: &Request) -> Vec<Bytes> {
    let mut frames = Vec::new();
    let mut say = |name: &str, mut data: Value| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(frames.len());
        frames.push(event(Some(name), &data));
    };
    let mut begun = whole(&[], request);
    begun["status"] = json!("in_progress");
    begun["usage"] = Value::Null;
    say("response.created", json!({"response": begun}));
    for (index, part) in parts.iter().enumerate() {
        let done = item(part, index, request);
        let mut added = done.clone();
        for (field, empty) in [("content", json!([])), ("arguments", json!("")), ("input", json!(""))] {
            if !added[field].is_null() {
                added[field] = empty;
            }
        }
        say("response.output_item.added", json!({"output_index": index, "item": added}));
        if let Part::Text(text) = part {
            for piece in pieces(text) {
                say(
                    "response.output_text.delta",
                    json!({"output_index": index, "item_id": done["id"], "content_index": 0, "delta": piece}),
                );
            }
        }
        say("response.output_item.done", json!({"output_index": index, "item": done}));
    }
    say("response.completed", json!({"response": whole(parts, request)}));
    frames
}

pub(super) fn whole(parts: &[Part], request: &Request) -> Value {
    let output: Vec<_> = parts.iter().enumerate().map(|(index, part)| item(part, index, request)).collect();
    json!({
        "id": id("resp", request, 0),
        "object": "response",
        "model": request.body["model"],
        "status": "completed",
        "output": output,
        "usage": {
            "input_tokens": USAGE.input,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": USAGE.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": USAGE.input + USAGE.output,
        },
    })
}

pub(super) fn error(status: u16, message: &str) -> Value {
    match status {
        // The kind that is not tried again.
        429 => json!({"error": {"type": "usage_limit_reached", "message": message, "resets_in_seconds": 3600}}),
        401 => json!({"error": {"type": "invalid_request_error", "code": "invalid_api_key", "message": message}}),
        _ => json!({"error": {"type": "scripted", "code": "scripted", "message": message}}),
    }
}

fn item(part: &Part, index: usize, request: &Request) -> Value {
    let call = id("call", request, index);
    match part {
        Part::Text(text) => {
            let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
            let id = id("msg", request, index);
            json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content})
        }
        Part::Tool { name, input } => {
            let id = id("fc", request, index);
            json!({"type": "function_call", "id": id, "call_id": call, "name": name, "arguments": input.to_string()})
        }
        Part::Freeform { name, input } => {
            let id = id("ctc", request, index);
            json!({"type": "custom_tool_call", "id": id, "call_id": call, "name": name, "input": input})
        }
    }
}

/// Distinct within a conversation: its number of items grows with each call.
fn id(kind: &str, request: &Request, index: usize) -> String {
    format!("{kind}_{:04}{index:02}", request.body["input"].as_array().map_or(0, Vec::len))
}
