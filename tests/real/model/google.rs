//! Gemini `streamGenerateContent` and `generateContent`; the latter with a schema of its own is side work of the program.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use super::call::Request;
use super::dialect::{Dialect, Part, Role, event, pieces};
use super::script::{Step, USAGE};

pub(super) fn role(request: &Request) -> Role {
    let verb = request.path.split('?').next().and_then(|path| path.rsplit_once(':')).map(|(_, verb)| verb);
    match verb {
        Some("streamGenerateContent") => Role::Call,
        Some("generateContent") => match &request.body["generationConfig"]["responseJsonSchema"]["properties"] {
            Value::Object(properties) => Role::Aside(Some(whole(&[Part::Text(instance(properties).to_string())]))),
            _ => Role::Call,
        },
        Some("countTokens") => Role::Aside(Some(json!({"totalTokens": 100}))),
        Some("embedContent") => Role::Aside(Some(json!({"embedding": {"values": [0.0]}}))),
        Some(_) | None => Role::Aside(None),
    }
}

/// The smallest object of a side request's schema.
fn instance(properties: &Map<String, Value>) -> Value {
    let pairs = properties.iter().map(|(name, schema)| {
        let value = match (schema["enum"].get(0), schema["type"].as_str().unwrap_or_default()) {
            (Some(value), _) => value.clone(),
            (None, "integer" | "INTEGER") => json!(20),
            (None, "number" | "NUMBER") => json!(0.1),
            (None, "boolean" | "BOOLEAN") => json!(false),
            (None, _) => json!("x"),
        };
        (name.clone(), value)
    });
    Value::Object(pairs.collect())
}

pub(super) fn parts(step: &Step) -> Vec<Part> {
    let tool = |name: &str, input| vec![Part::Tool { name: name.to_owned(), input }];
    match step {
        Step::Say(text) => vec![Part::Text(text.clone())],
        Step::Answer { prose, response } => vec![Part::Text(format!("{prose}{response}"))],
        Step::Shell { command, reach: _ } => {
            tool("run_shell_command", json!({"command": command, "description": "run"}))
        }
        Step::Write { path, content } => tool("write_file", json!({"file_path": path, "content": content})),
        Step::Read { path } => tool("read_file", json!({"file_path": path})),
        Step::Native { name, input } => tool(name, input.clone()),
        Step::Serve(calls) => Dialect::Google.serve(calls),
        Step::Before { .. } | Step::Status(_) | Step::Cut | Step::Hang | Step::Held(_) => Vec::new(),
    }
}

pub(super) fn frames(parts: &[Part]) -> Vec<Bytes> {
    let chunk = |part: Value| json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]});
    let mut frames = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => {
                frames.extend(pieces(text).into_iter().map(|piece| event(None, &chunk(json!({"text": piece})))));
            }
            Part::Tool { .. } | Part::Freeform { .. } => {
                frames.extend(content(part).map(|part| event(None, &chunk(part))))
            }
        }
    }
    let mut end = whole(&[Part::Text(String::new())]);
    end["candidates"][0]["finishReason"] = json!("STOP");
    frames.push(event(None, &end));
    frames
}

pub(super) fn whole(parts: &[Part]) -> Value {
    let parts: Vec<_> = parts.iter().filter_map(content).collect();
    json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": USAGE.input,
            "candidatesTokenCount": USAGE.output,
            "totalTokenCount": USAGE.input + USAGE.output,
        },
    })
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let details = match status {
        // A limit of the day: waiting a little does not help, so the program does not.
        429 => json!([{
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaMetric": "requests"}],
        }]),
        _ => json!([]),
    };
    json!({"error": {"code": status, "message": message, "status": name, "details": details}})
}

fn content(part: &Part) -> Option<Value> {
    match part {
        Part::Text(text) => Some(json!({"text": text})),
        Part::Tool { name, input } => Some(json!({"functionCall": {"name": name, "args": input}})),
        Part::Freeform { .. } => None,
    }
}
