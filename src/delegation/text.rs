//! What a parent's model reads: the result of a delegation in the shape of its façade, and of `wait`.
//!
//! Only the child's final reply crosses over; what it thought and called stays in its own session.

use serde_json::{Map, Value, json};

use super::status::Lifecycle;
use super::{Facade, Report, Status};

/// The tags that a child's text must not close.
const TAGS: [&str; 2] = ["task_result", "task_error"];

/// An empty result reads like a call that went wrong.
const NO_REPLY: &str = "The subagent finished without a reply.";

/// The result of a call in the shape of its façade; `record` is the handoff with the field names of the API.
pub fn result(facade: Facade, report: &Report<'_>, record: &Value) -> Result<String, String> {
    match facade {
        Facade::Delegate => Ok(delegate_text(record)),
        Facade::Task => Ok(task_text(report)),
        Facade::SpawnAgent => Ok(spawn_text(report.session, None)),
        Facade::Agent => agent_text(report),
    }
}

/// `delegate`: the record itself. Ends that its callers do not know are failures with an error; what is absent is left
/// out.
pub fn delegate_text(record: &Value) -> String {
    let mut told = match record {
        Value::Object(record) => record.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    told.retain(|_, value| !value.is_null());
    let Some(status) = told.get("status").and_then(Value::as_str).and_then(Status::from_word) else {
        return Value::Object(told).to_string();
    };
    told.insert("status".to_owned(), json!(status.told().word()));
    if let Some(error) = status.error() {
        told.entry("error").or_insert_with(|| json!(error));
    }
    let id = told.get("handoff_id").and_then(Value::as_str).unwrap_or_default();
    if let Some(hint) = hint(status, id) {
        told.insert("hint".to_owned(), json!(hint));
    }
    Value::Object(told).to_string()
}

/// `task`: the reply or the error between tags.
pub fn task_text(report: &Report<'_>) -> String {
    let mut attributes = format!("agent=\"{}\"", escaped(report.agent));
    for (name, value) in [("task", report.label), ("session", report.session)] {
        if !value.is_empty() {
            attributes.push_str(&format!(" {name}=\"{}\"", escaped(value)));
        }
    }
    let (tag, body) = match hint(report.status, report.handoff) {
        Some(hint) => {
            attributes.push_str(&format!(" status=\"{}\"", report.status.word()));
            ("task_result", hint)
        }
        None => match reply(report) {
            Ok(reply) => ("task_result", reply),
            Err(error) => ("task_error", error),
        },
    };
    format!("<{tag} {attributes}>\n{}\n</{tag}>", neutral(&body))
}

/// `spawn_agent`: the id, and the note if there is one.
pub fn spawn_text(agent: &str, note: Option<&str>) -> String {
    let mut told = json!({ "agent_id": agent });
    if let Some(note) = note {
        told["thread_note"] = json!(note);
    }
    told.to_string()
}

/// `Agent`: the bare reply.
pub fn agent_text(report: &Report<'_>) -> Result<String, String> {
    match hint(report.status, report.handoff) {
        Some(hint) => Ok(hint),
        None => reply(report),
    }
}

/// `Agent` in the background: the line with the id.
pub fn background_text(agent: &str, id: &str) -> String {
    format!("Task {id}: {agent} works in the background. Call wait with ids [\"{id}\"] when you need its reply.")
}

/// `wait`: the agents that are done, and whether there is none.
pub fn wait_text<'a>(agents: impl IntoIterator<Item = Awaited<'a>>) -> String {
    let done: Map<_, _> = agents
        .into_iter()
        .filter(|agent| agent.state.is_final())
        .map(|agent| (agent.id.to_owned(), agent.told()))
        .collect();
    let timed_out = done.is_empty();
    json!({ "status": done, "timed_out": timed_out }).to_string()
}

/// One of the agents that a `wait` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited<'a> {
    /// As the caller spells it.
    pub id: &'a str,
    pub state: Lifecycle,
    /// The reply of a completed agent, the error of one that failed.
    pub text: Option<&'a str>,
}

impl Awaited<'_> {
    fn told(&self) -> Value {
        match self.state {
            Lifecycle::Completed | Lifecycle::Errored => json!({ self.state.word(): self.text }),
            Lifecycle::PendingInit | Lifecycle::Running | Lifecycle::Shutdown | Lifecycle::NotFound => {
                json!(self.state.word())
            }
        }
    }
}

/// The reply with what happened to the files, or the error with what there is of a reply.
pub fn reply(report: &Report<'_>) -> Result<String, String> {
    let joined = |parts: [Option<&str>; 3]| {
        let said = parts.into_iter().flatten().map(str::trim).filter(|part| !part.is_empty());
        said.collect::<Vec<_>>().join("\n\n")
    };
    if report.status.told() != Status::Failed {
        let text = report.text.filter(|text| !text.trim().is_empty()).unwrap_or(NO_REPLY);
        return Ok(joined([Some(text), report.files, None]));
    }
    let error = report.error.or(report.status.error());
    let partial = report.text.map(|text| format!("Its last words:\n{}", text.trim()));
    Err(joined([error, partial.as_deref(), report.files]))
}

/// What to do about a child that is not done when the call must return.
fn hint(status: Status, id: &str) -> Option<String> {
    let state = match status {
        Status::Queued => "The subagent waits for a free slot.",
        Status::Running => "The subagent is still working.",
        Status::PendingPermission => "The subagent waits for a person's permission.",
        Status::PendingQuestion => "The subagent waits for a person's answer.",
        Status::Completed | Status::Failed | Status::Cancelled | Status::TimedOut | Status::Interrupted => return None,
    };
    Some(format!("{state} Call wait with ids [\"{id}\"] to collect its result; do not delegate the same task again."))
}

fn escaped(value: &str) -> String {
    let mut safe = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// The body as it is, but for what would end the wrapper early.
fn neutral(body: &str) -> String {
    let mut safe = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find("</") {
        let (before, tag) = rest.split_at(at);
        safe.push_str(before);
        let name = tag[2..].trim_start();
        let closes = TAGS.iter().any(|tag| name.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag)));
        safe.push_str(if closes { "&lt;/" } else { "</" });
        rest = &tag[2..];
    }
    safe + rest
}
