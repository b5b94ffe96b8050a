//! Tests of Codex: against recorded conversations, against written ones, and against peers on real pipes.

mod hub;
mod machine;
mod peer;
mod recycle;
mod replay;
mod settings;
mod walk;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::profile::{Places, Profile, TreeAccess};
use super::settings::Wishes;
use super::thread::{Effect, Input, Thread};
use crate::backend::codex;
use crate::backend::event::{AgentInfo, Block, Command, Event};
use crate::backend::{Limits, Native, Purpose};
use crate::permission::Posture;

const PATIENCE: Duration = Duration::from_secs(7);

fn wishes() -> Wishes {
    Wishes {
        purpose: Purpose::Session,
        cwd: PathBuf::from("/tree"),
        real_cwd: PathBuf::from("/tree"),
        resume: None,
        model: None,
        effort: None,
        instructions: None,
        schema: Some(json!({"type": "object"})),
        roots: vec![PathBuf::from("/repo")],
        tools: Vec::new(),
        native: Native::default(),
        posture: Posture::Unattended,
        profile: None,
        env: Vec::new(),
        project_env: Vec::new(),
        config_file: None,
        unset: Vec::new(),
        spec: codex::spec(),
        patience: PATIENCE,
    }
}

/// The same with limits.
fn confined() -> Wishes {
    let limits = Limits { read: vec![PathBuf::from("/usr")], ..Limits::default() };
    let (tree, program) = (Path::new("/tree"), Path::new("/opt/codex"));
    let places = Places { tree: [tree, tree], access: TreeAccess::Write, temp: None, plan: None, home: None, program };
    Wishes { profile: Some(Profile::confined(&limits, places)), ..wishes() }
}

fn prompt(text: &str) -> Input {
    Input::Command(Command::Prompt { blocks: vec![Block::Text(text.to_owned())] })
}

fn ready() -> Input {
    Input::Ready { exec_at_ms: 7, info: AgentInfo { name: "codex".to_owned(), version: "0.166.0".to_owned() } }
}

/// A conversation whose agent is written down in the test, and what came of it.
struct Talk {
    thread: Thread,
    asked: Vec<(&'static str, Value)>,
    /// The tags of what was asked, to reply to.
    tags: Vec<super::thread::Tag>,
    answered: Vec<(Value, Result<Value, String>)>,
    events: String,
    other: Vec<Effect>,
}

impl Talk {
    fn new(wishes: Wishes) -> Self {
        let thread = Thread::new(wishes);
        Self {
            thread,
            asked: Vec::new(),
            tags: Vec::new(),
            answered: Vec::new(),
            events: String::new(),
            other: Vec::new(),
        }
    }

    fn input(&mut self, input: Input) -> &mut Self {
        for effect in self.thread.step(input) {
            match effect {
                Effect::Ask { tag, method, params, .. } => {
                    self.asked.push((method, params));
                    self.tags.push(tag);
                }
                Effect::Answer { id, outcome } => self.answered.push((id, outcome)),
                Effect::Emit(event) => writeln!(self.events, "{}", render(&event)).unwrap(),
                other => self.other.push(other),
            }
        }
        self
    }

    /// Answers the last request.
    fn reply(&mut self, result: Value) -> &mut Self {
        let tag = *self.tags.last().unwrap();
        self.input(Input::Replied { tag, outcome: Ok(result) })
    }

    fn refuse(&mut self, message: &str) -> &mut Self {
        let tag = *self.tags.last().unwrap();
        let error = crate::backend::transport::jsonrpc::RpcError {
            code: -32600,
            message: message.to_owned(),
            data: Value::Null,
        };
        self.input(Input::Replied { tag, outcome: Err(super::fault::Refusal::Error(error)) })
    }

    fn notice(&mut self, method: &str, params: Value) -> &mut Self {
        self.input(Input::Notified { method: method.to_owned(), params })
    }

    fn request(&mut self, id: u64, method: &str, params: Value) -> &mut Self {
        self.input(Input::Asked { id: json!(id), method: method.to_owned(), params })
    }

    /// An open conversation that waits for a prompt.
    fn open(wishes: Wishes) -> Self {
        let mut talk = Self::new(wishes);
        talk.input(ready()).reply(json!({"account": null, "requiresOpenaiAuth": false})).reply(json!({"config": {}}));
        talk.reply(opened("t"));
        talk
    }

    /// A conversation in which a turn runs.
    fn in_turn() -> Self {
        let mut talk = Self::open(wishes());
        talk.input(prompt("go")).reply(json!({"turn": {"id": "u"}}));
        talk.events.clear();
        talk.asked.clear();
        talk
    }

    fn item(&mut self, stage: &str, item: Value) -> &mut Self {
        self.notice(&format!("item/{stage}"), json!({"threadId": "t", "turnId": "u", "item": item}))
    }

    fn end(&mut self, status: &str, items: Value) -> &mut Self {
        self.notice("turn/completed", json!({"threadId": "t", "turn": {"id": "u", "status": status, "items": items}}))
    }

    fn methods(&self) -> Vec<&str> {
        self.asked.iter().map(|(method, _)| *method).collect()
    }

    #[track_caller]
    fn expect_events(&self, expected: &[&str]) {
        assert_eq!(self.events.lines().collect::<Vec<_>>(), expected);
    }
}

/// What opening a thread replies.
fn opened(thread: &str) -> Value {
    json!({"thread": {"id": thread}, "model": "gpt-5.5", "cwd": "/tree", "sandbox": {"type": "dangerFullAccess"},
        "approvalPolicy": "untrusted"})
}

fn message(text: &str) -> Value {
    json!([{"type": "agentMessage", "text": text}])
}

fn render(event: &Event) -> String {
    match event {
        Event::Started(started) => format!(
            "started {} {:?} restored={} models={}",
            started.info.version,
            started.model,
            started.restored,
            started.models.iter().map(|model| model.id.clone()).collect::<Vec<_>>().join(","),
        ),
        Event::Text { delta } => format!("text {delta:?}"),
        Event::Thought { delta } => format!("thought {delta:?}"),
        Event::ToolStarted(tool) => format!("tool started {:?} {:?}", tool.title, tool.kind),
        Event::ToolOutput { text, .. } => format!("tool output {text:?}"),
        Event::ToolFinished { status, output, .. } => format!("tool finished {status:?} {output:?}"),
        Event::Approval(ask) => format!("approval {} {:?} {:?} {:?}", ask.request, ask.title, ask.preview, ask.reach),
        Event::ApprovalGone { request } => format!("approval gone {request}"),
        Event::ToolRequested(call) => format!("tool requested {} {} {}", call.request, call.tool, call.arguments),
        Event::ToolRequestGone { request } => format!("tool request gone {request}"),
        Event::Plan(entries) => format!("plan {entries:?}"),
        Event::Usage(usage) => format!("usage {:?} {:?}", usage.input_tokens, usage.output_tokens),
        Event::Retry { message } => format!("retry {message:?}"),
        Event::Final { text, stop } => format!("final {text:?} {stop:?}"),
        Event::Failed(failure) => format!("failed {} {:?}", failure.kind, failure.message),
        Event::Exited { status, stderr_tail } => format!("exited {status:?} {stderr_tail:?}"),
    }
}
