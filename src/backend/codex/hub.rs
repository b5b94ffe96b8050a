//! The pipe of the shared process as a machine: whose request a reply answers, whose thread a notification is about.
//!
//! It holds no state of a conversation. Replies go by our ids, everything else by the id of the thread, and the ids of
//! the agent's own requests are another series, which only travels through.

mod route;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::backend::codex::hub::watch::Rung;
use crate::backend::codex::thread;
use crate::backend::codex::thread::Tag;
use crate::backend::event::AgentInfo;
use crate::backend::failure::Failure;
use crate::backend::spec::StopLadder;
use crate::backend::transport::jsonrpc::{self, METHOD_NOT_FOUND};
use crate::backend::transport::spawn::Signal;

/// A conversation of the shared process.
pub(super) type Member = u64;

/// The process starts in a quarter of a second; the rest is for a loaded machine.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Everything that can happen to the shared process.
#[derive(Debug)]
pub(super) enum Input {
    Join(Member),
    Leave(Member),
    Ask(Ask),
    Answer {
        id: Value,
        outcome: Result<Value, String>,
    },
    /// A conversation waits in vain for something that is not a reply.
    Suspect,
    /// The login of the process was refused; another process may find a better one.
    Outdated,
    /// What the process weighs, in bytes.
    Weight(u64),
    Line(String),
    OutputClosed,
    /// The process does not read what it is sent.
    Stuck,
    Elapsed,
    Gone {
        status: Option<String>,
        stderr_tail: String,
    },
}

/// A request of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ask {
    pub(super) member: Member,
    pub(super) tag: Tag,
    pub(super) method: &'static str,
    pub(super) params: Value,
    pub(super) limit: Duration,
}

/// What is to be done, in order.
#[derive(Debug)]
pub(super) enum Effect {
    Send(String),
    Deliver(Member, thread::Input),
    /// The member came too late; it has to look for another process.
    TurnAway(Member),
    /// Nobody else may find this process.
    Unlist,
    /// Asks for the weight of the process.
    Weigh,
    CloseInput,
    Signal(Signal),
    Finish,
}

/// One shared process.
#[derive(Debug)]
pub(super) struct Hub {
    state: State,
    stop: StopLadder,
    exec_at_ms: i64,
    next_id: u64,
    members: Vec<Member>,
    threads: HashMap<String, Member>,
    pending: BTreeMap<u64, Pending>,
    /// Requests that wait for the handshake, or for another conversation to let go of a thread.
    held: Vec<Ask>,
    /// When a process that nobody uses is ended.
    idle_until: Option<Instant>,
    is_retired: bool,
}

#[derive(Debug)]
enum State {
    Starting,
    Ready(AgentInfo),
    /// The process is being ended; `failure` is what its conversations are told.
    Stopping {
        rung: Rung,
        until: Instant,
        failure: Option<Failure>,
    },
    Gone,
}

#[derive(Debug)]
struct Pending {
    purpose: Asked,
    until: Instant,
}

/// Who waits for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Initialize,
    /// Whether the process answers at all.
    Probe,
    Member(Member, Tag),
    /// Nobody any more.
    Nobody,
}

impl Hub {
    /// The machine and its first effects.
    pub(super) fn begin(stop: StopLadder, exec_at_ms: i64, now: Instant) -> (Self, Vec<Effect>) {
        let mut hub = Self {
            state: State::Starting,
            stop,
            exec_at_ms,
            next_id: 1,
            members: Vec::new(),
            threads: HashMap::new(),
            pending: BTreeMap::new(),
            held: Vec::new(),
            idle_until: None,
            is_retired: false,
        };
        let params = json!({
            "clientInfo": {"name": "coppice", "title": "Coppice", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {"experimentalApi": true},
        });
        let first = hub.request(Asked::Initialize, "initialize", params, now + START_LIMIT);
        (hub, vec![first])
    }

    /// When `Elapsed` is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Stopping { until, .. } => Some(*until),
            State::Starting | State::Ready(_) => {
                self.pending.values().map(|pending| pending.until).chain(self.idle_until).min()
            }
            State::Gone => None,
        }
    }

    /// Takes one input; effects are performed in their order.
    pub(super) fn step(&mut self, input: Input, now: Instant) -> Vec<Effect> {
        match input {
            Input::Join(member) => self.on_join(member),
            Input::Leave(member) => self.on_leave(member, now),
            Input::Ask(ask) => self.on_ask(ask, now),
            Input::Answer { id, outcome } => match outcome {
                Ok(result) => vec![Effect::Send(jsonrpc::response(&id, result))],
                Err(text) => vec![Effect::Send(jsonrpc::error(&id, METHOD_NOT_FOUND, &text, Value::Null))],
            },
            Input::Suspect => self.probe(now),
            Input::Outdated => self.retire(now),
            Input::Weight(bytes) => self.on_weight(bytes, now),
            Input::Line(line) => self.on_line(&line, now),
            Input::OutputClosed => self.on_output_closed(now),
            Input::Stuck => self.on_hung(now),
            Input::Elapsed => self.on_elapsed(now),
            Input::Gone { status, stderr_tail } => self.on_gone(&status, &stderr_tail),
        }
    }

    fn on_join(&mut self, member: Member) -> Vec<Effect> {
        match &self.state {
            State::Stopping { .. } | State::Gone => vec![Effect::TurnAway(member)],
            _ if self.is_retired => vec![Effect::TurnAway(member)],
            State::Starting => {
                self.members.push(member);
                Vec::new()
            }
            State::Ready(info) => {
                let ready = Effect::Deliver(member, self.ready(info.clone()));
                self.members.push(member);
                self.idle_until = None;
                vec![ready]
            }
        }
    }

    fn ready(&self, info: AgentInfo) -> thread::Input {
        thread::Input::Ready { exec_at_ms: self.exec_at_ms, info }
    }

    /// A member that is gone leaves no thread behind: one that it did not let go of is let go for it.
    fn on_leave(&mut self, member: Member, now: Instant) -> Vec<Effect> {
        self.members.retain(|known| *known != member);
        self.held.retain(|ask| ask.member != member);
        for pending in self
            .pending
            .values_mut()
            .filter(|pending| matches!(pending.purpose, Asked::Member(who, _) if who == member))
        {
            pending.purpose = Asked::Nobody;
        }
        let mut effects = Vec::new();
        let left: Vec<String> = self.threads.extract_if(|_, who| *who == member).map(|(thread, _)| thread).collect();
        for thread in left {
            effects.push(self.let_go(&thread, now));
        }
        let held = std::mem::take(&mut self.held);
        effects.extend(held.into_iter().flat_map(|ask| self.on_ask(ask, now)).collect::<Vec<_>>());
        effects.extend(self.on_left(now));
        effects
    }

    fn let_go(&mut self, thread: &str, now: Instant) -> Effect {
        let until = now + START_LIMIT;
        self.request(Asked::Nobody, "thread/unsubscribe", json!({"threadId": thread}), until)
    }

    fn on_ask(&mut self, ask: Ask, now: Instant) -> Vec<Effect> {
        match self.state {
            State::Starting => {
                self.held.push(ask);
                return Vec::new();
            }
            State::Ready(_) => {}
            State::Stopping { .. } | State::Gone => return Vec::new(),
        }
        if ask.method == "thread/resume" {
            let Some(thread) = ask.params["threadId"].as_str() else { return Vec::new() };
            // One pipe has one subscription to a thread: the one before has to be gone, or it takes ours along.
            if self.threads.get(thread).is_some_and(|owner| *owner != ask.member) {
                self.held.push(ask);
                return Vec::new();
            }
            // Notifications may come before the reply.
            self.threads.insert(thread.to_owned(), ask.member);
        }
        let until = now + ask.limit;
        vec![self.request(Asked::Member(ask.member, ask.tag), ask.method, ask.params, until)]
    }

    fn request(&mut self, purpose: Asked, method: &str, params: Value, until: Instant) -> Effect {
        let id = self.next_id;
        self.next_id += 1;
        self.pending.insert(id, Pending { purpose, until });
        Effect::Send(jsonrpc::request(id, method, params))
    }
}
