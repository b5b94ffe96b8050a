//! Tests of the client: against recorded conversations, against written ones, and on random walks.

mod launch;
mod machine;
mod replay;
mod resume;
mod walk;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::argv::Begin;
use super::client::Wishes;
use crate::backend::event::Event;
use crate::backend::remedy::LoginRemedy;
use crate::backend::spec::StopLadder;
use crate::backend::transport::machine::Effect;
use crate::backend::{Native, Purpose, ServedTool};

const STOP: StopLadder = StopLadder { cancel: Duration::from_secs(2), terminate: Duration::from_secs(3) };

fn wishes() -> Wishes {
    Wishes {
        begin: Begin::Fresh("fresh-id".to_owned()),
        cwd: PathBuf::from("/repo"),
        purpose: Purpose::Session,
        native: Native::default(),
        model: Some("claude-opus-4-7".to_owned()),
        has_schema: false,
        tools: Vec::new(),
        stop: STOP,
        login: LoginRemedy::of_backend("log in"),
        exec_at_ms: 7,
    }
}

fn delegate() -> ServedTool {
    let input_schema = json!({"type": "object", "properties": {"task": {"type": "string"}}});
    ServedTool {
        name: "delegate".to_owned(),
        description: "Runs a child".to_owned(),
        input_schema,
        effect: crate::permission::Effect::Adds,
    }
}

/// The answer to `initialize` of an agent that is logged in.
fn ready() -> String {
    let account = json!({"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty"});
    answered("initialize", json!({"models": [{"value": "opus"}], "account": account}))
}

fn answered(id: &str, response: Value) -> String {
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": id, "response": response}})
        .to_string()
}

/// What the machine did, sorted.
#[derive(Default)]
struct Log {
    sent: Vec<Value>,
    events: String,
    other: Vec<Effect>,
}

impl Log {
    fn note(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(line) => self.sent.push(serde_json::from_str(&line).unwrap()),
                Effect::Emit(event) => writeln!(self.events, "{}", render(&event)).unwrap(),
                other => self.other.push(other),
            }
        }
    }
}

fn render(event: &Event) -> String {
    match event {
        Event::Started(started) => format!(
            "started {} restored={} models={}",
            started.conversation,
            started.restored,
            started.models.iter().map(|model| model.id.clone()).collect::<Vec<_>>().join(","),
        ),
        Event::Text { delta } => format!("text {delta:?}"),
        Event::Thought { delta } => format!("thought {delta:?}"),
        Event::ToolStarted(tool) => format!("tool started {:?} {:?}", tool.title, tool.kind),
        Event::ToolOutput { text, .. } => format!("tool output {text:?}"),
        Event::ToolFinished { status, output, .. } => format!("tool finished {status:?} {output:?}"),
        Event::Approval(ask) => format!("approval {:?} {:?} {:?} {:?}", ask.title, ask.kind, ask.preview, ask.reach),
        Event::ApprovalGone { .. } => "approval gone".to_owned(),
        Event::ToolRequested(asked) => format!("tool requested {} {}", asked.tool, asked.arguments),
        Event::ToolRequestGone { .. } => "tool request gone".to_owned(),
        Event::Plan(entries) => format!("plan {entries:?}"),
        Event::Usage(usage) => {
            let cost = usage.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("{cost:.5}"));
            let context = usage.context.map(|context| (context.used, context.size));
            format!("usage {:?} {:?} {cost} {context:?}", usage.input_tokens, usage.output_tokens)
        }
        Event::Retry { message } => format!("retry {message:?}"),
        Event::Final { text, stop } => format!("final {text:?} {stop:?}"),
        Event::Failed(failure) => format!("failed {} {:?} ({})", failure.kind, failure.message, failure.hint),
        Event::Exited { status, stderr_tail } => format!("exited {status:?} {stderr_tail:?}"),
    }
}
