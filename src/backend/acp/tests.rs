//! Tests of the client: against recorded conversations, against written ones, and against peers on real pipes.

mod agents;
mod machine;
mod peer;
mod replay;
mod walk;

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::handshake::Wishes;
use super::policy::{Asks, Policy, Refusals, Starts};
use crate::backend::event::{Choice, Event, Model};
use crate::backend::gemini;
use crate::backend::spec::{Images, Resume, StopLadder};
use crate::backend::transport::machine::Effect;

const STOP: StopLadder = StopLadder { cancel: Duration::from_secs(5), terminate: Duration::from_secs(3) };
pub(super) const POLICY: Policy = Policy {
    stop: STOP,
    images: Images::Offered,
    reads: Some(gemini::tool::read),
    retells: Some(gemini::tool::retell),
    refusals: Refusals::Beside,
    starts: Starts::Approval,
    asks: Asks::Owner,
    fitting: None,
    login: None,
    spoiled: None,
};

fn wishes() -> Wishes {
    Wishes {
        cwd: "/repo".to_owned(),
        policy: Resume::Offered,
        resume: None,
        model: None,
        mode: None,
        fitting: None,
        entrance: None,
        variables: Vec::new(),
        exec_at_ms: 7,
    }
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
    let ids = |choices: &[Choice]| choices.iter().map(|choice| choice.id.clone()).collect::<Vec<_>>().join(",");
    match event {
        Event::Started(started) => format!(
            "started {} restored={} models={} mode={} modes={}",
            started.info.name,
            started.restored,
            started.models.iter().map(|model: &Model| model.id.clone()).collect::<Vec<_>>().join(","),
            started.mode.as_deref().unwrap_or("-"),
            ids(&started.modes),
        ),
        Event::Text { delta } => format!("text {delta:?}"),
        Event::Thought { delta } => format!("thought {delta:?}"),
        Event::ToolStarted(tool) => format!("tool started {:?} {:?}", tool.title, tool.kind),
        Event::ToolOutput { text, .. } => format!("tool output {text:?}"),
        Event::ToolFinished { status, output, .. } => format!("tool finished {status:?} {output:?}"),
        Event::Approval(ask) => format!("approval {} {:?} {:?} {:?}", ask.request, ask.title, ask.kind, ask.preview),
        Event::ApprovalGone { request } => format!("approval gone {request}"),
        Event::ToolRequested(_) | Event::ToolRequestGone { .. } => "served tool".to_owned(),
        Event::Plan(entries) => format!("plan {entries:?}"),
        Event::Usage(usage) => format!("usage {:?} {:?}", usage.input_tokens, usage.output_tokens),
        Event::Retry { message } => format!("retry {message:?}"),
        Event::Final { text, stop } => format!("final {text:?} {stop:?}"),
        Event::Failed(failure) => format!("failed {} {:?}", failure.kind, failure.message),
        Event::Exited { status, stderr_tail } => format!("exited {status:?} {stderr_tail:?}"),
    }
}
