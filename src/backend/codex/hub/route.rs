//! Where the lines of the process go: replies by our ids, everything else by the id of the thread.

use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{debug, trace};

use crate::backend::codex::fault::Refusal;
use crate::backend::codex::hub::{Asked, Effect, Hub, Member, State};
use crate::backend::codex::thread;
use crate::backend::codex::thread::Tag;
use crate::backend::event::AgentInfo;
use crate::backend::transport::jsonrpc::{self, METHOD_NOT_FOUND, Message, RpcError};
use crate::backend::transport::lines::log_skipped;

impl Hub {
    pub(super) fn on_line(&mut self, line: &str, now: Instant) -> Vec<Effect> {
        match jsonrpc::parse(line) {
            Ok(Message::Response { id, outcome }) => self.on_response(id, outcome, now),
            Ok(Message::Notification { method, params }) => self.on_notification(method, params),
            Ok(Message::Request { id, method, params }) => match self.owner(&params) {
                Some(member) => vec![Effect::Deliver(member, thread::Input::Asked { id, method, params })],
                None => {
                    debug!(method, "request of nobody's thread refused");
                    let text = format!("method `{method}` is not supported");
                    vec![Effect::Send(jsonrpc::error(&id, METHOD_NOT_FOUND, &text, Value::Null))]
                }
            },
            Err(reason) => {
                log_skipped(line, &reason);
                Vec::new()
            }
        }
    }

    fn on_response(&mut self, id: u64, outcome: Result<Value, RpcError>, now: Instant) -> Vec<Effect> {
        let Some(pending) = self.pending.remove(&id) else {
            debug!(id, "reply to nothing that was asked, or too late");
            return Vec::new();
        };
        match pending.purpose {
            Asked::Initialize => self.on_initialized(outcome, now),
            Asked::Probe => Vec::new(),
            Asked::Nobody => match &outcome {
                // The thread of a conversation that did not wait for it.
                Ok(result) if result["thread"]["id"].is_string() => {
                    let thread = result["thread"]["id"].as_str().unwrap_or_default().to_owned();
                    vec![self.let_go(&thread, now)]
                }
                Ok(_) | Err(_) => Vec::new(),
            },
            Asked::Member(member, tag) => {
                if let (Tag::Open(_), Ok(result)) = (tag, &outcome)
                    && let Some(thread) = result["thread"]["id"].as_str()
                {
                    self.threads.insert(thread.to_owned(), member);
                }
                let outcome = outcome.map_err(Refusal::Error);
                vec![Effect::Deliver(member, thread::Input::Replied { tag, outcome })]
            }
        }
    }

    fn on_initialized(&mut self, outcome: Result<Value, RpcError>, now: Instant) -> Vec<Effect> {
        let result = match outcome {
            Ok(result) => result,
            Err(error) => return self.fail_start(&Refusal::Error(error), now),
        };
        let info = AgentInfo { name: "codex".to_owned(), version: version(result["userAgent"].as_str()) };
        self.state = State::Ready(info.clone());
        let mut effects = vec![Effect::Send(json!({"method": "initialized"}).to_string())];
        let ready = self.members.iter().map(|member| Effect::Deliver(*member, self.ready(info.clone())));
        effects.extend(ready);
        let held = std::mem::take(&mut self.held);
        effects.extend(held.into_iter().flat_map(|ask| self.on_ask(ask, now)).collect::<Vec<_>>());
        effects.extend(self.on_left(now));
        effects
    }

    fn on_notification(&mut self, method: String, params: Value) -> Vec<Effect> {
        let Some(member) = self.owner(&params) else {
            trace!(method, "notification of nobody's thread skipped");
            return Vec::new();
        };
        if method == "thread/closed" {
            self.threads.retain(|thread, _| params["threadId"] != *thread);
        }
        // A process grows with its turns, so the end of one is the time to look.
        let is_end = method == "turn/completed";
        let mut effects = vec![Effect::Deliver(member, thread::Input::Notified { method, params })];
        effects.extend(is_end.then_some(Effect::Weigh));
        effects
    }

    /// Whose thread a message is about. Nobody's are the threads that are let go, and those that open this moment:
    /// until the reply says which is whose, nothing that matters happens in them.
    fn owner(&self, params: &Value) -> Option<Member> {
        self.threads.get(params["threadId"].as_str()?).copied()
    }
}

/// The version inside `coppice/0.166.0 (Debian …)`.
fn version(user_agent: Option<&str>) -> String {
    let rest = user_agent.and_then(|text| text.split_once('/')).map(|(_, rest)| rest).unwrap_or_default();
    rest.split_whitespace().next().unwrap_or_default().to_owned()
}
