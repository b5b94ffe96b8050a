//! The ACP client as a machine: one input in, effects out. It neither waits nor reads nor writes.

mod ask;
mod cost;
mod noise;
mod stop;

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use tracing::debug;

use crate::backend::acp::client::cost::Cost;
use crate::backend::acp::client::noise::Noise;
use crate::backend::acp::client::stop::Rung;
use crate::backend::acp::fault;
use crate::backend::acp::handshake::{Handshake, Next, Ready, Wishes};
use crate::backend::acp::message;
use crate::backend::acp::permission;
use crate::backend::acp::policy::Policy;
use crate::backend::acp::turn::Turn;
use crate::backend::acp::update::{self, Update};
use crate::backend::event::{Block, Command, Event, Started};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::Images;
use crate::backend::transport::jsonrpc::{self, Message, RpcError};
use crate::backend::transport::lines::log_skipped;
use crate::backend::transport::machine::{Effect, Input, Machine};

/// Slow agents need ten seconds on a loaded machine; some fetch their model list from the network.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(120);

/// A program that writes text where messages belong is rarely an agent, and often one that waits for a person.
const NOISE_LIMIT: Duration = Duration::from_secs(30);

/// How long a restored session may be silent before its replay counts as over.
const REPLAY_LIMIT: Duration = Duration::from_secs(1);

/// How long a process may live on after it closed its output, or after `KILL`.
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// One conversation.
#[derive(Debug)]
pub(crate) struct Client {
    policy: Policy,
    phase: Phase,
    next_id: u64,
    /// Known once the session is open.
    session: Session,
    /// Prompts that wait for the handshake or for the turn before them.
    queue: VecDeque<Vec<Block>>,
    noise: Noise,
    has_seen_commands: bool,
    has_output: bool,
}

#[derive(Debug, Default)]
struct Session {
    id: String,
    cwd: String,
    takes_images: bool,
    /// Whether the conversation was restored and no turn has proved yet that it still works.
    is_unproved: bool,
    cost: Cost,
}

#[derive(Debug)]
enum Phase {
    Handshake {
        request: u64,
        handshake: Box<Handshake>,
    },
    /// A loaded session streams its old history; the conversation starts when that is over.
    Replay {
        started: Started,
    },
    Idle,
    Turn {
        request: u64,
        turn: Turn,
        stop: TurnStop,
    },
    /// The process is being ended; `failure` is what the running turn will be told.
    Stopping {
        rung: Rung,
        failure: Option<Failure>,
    },
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnStop {
    NotAsked,
    /// The agent was told to cancel and has not answered yet.
    Asked,
}

impl Client {
    /// The machine and its first effects.
    pub(crate) fn begin(policy: Policy, wishes: Wishes) -> (Self, Vec<Effect>) {
        let cwd = wishes.cwd.clone();
        let (handshake, method, params) = Handshake::begin(wishes);
        let client = Self {
            policy,
            phase: Phase::Handshake { request: 1, handshake: Box::new(handshake) },
            next_id: 2,
            session: Session { cwd, ..Session::default() },
            queue: VecDeque::new(),
            noise: Noise::default(),
            has_seen_commands: false,
            has_output: true,
        };
        let first = Effect::Send(jsonrpc::request(1, method, params));
        (client, vec![first, Effect::Arm(HANDSHAKE_LIMIT)])
    }

    fn on_line(&mut self, line: &str) -> Vec<Effect> {
        match jsonrpc::parse(line) {
            Ok(Message::Response { id, outcome }) => self.on_response(id, outcome),
            Ok(Message::Notification { method, params }) => self.on_notification(&method, &params),
            Ok(Message::Request { id, method, params }) => self.on_request(id, &method, &params),
            // Agents write for people to the same pipe: a login page, a warning, a blank line.
            Err(reason) => {
                log_skipped(line, &reason);
                self.on_noise(line)
            }
        }
    }

    /// In the handshake, noise is remembered and leaves less time for the next message.
    fn on_noise(&mut self, line: &str) -> Vec<Effect> {
        if !matches!(self.phase, Phase::Handshake { .. }) || !self.has_output {
            return Vec::new();
        }
        let was_last = self.noise.is_last;
        self.noise.hear(line);
        if was_last { Vec::new() } else { vec![Effect::Arm(NOISE_LIMIT)] }
    }

    fn on_prompt(&mut self, blocks: Vec<Block>) -> Vec<Effect> {
        self.queue.push_back(blocks);
        if matches!(self.phase, Phase::Idle) { self.send_next() } else { Vec::new() }
    }

    /// Sends the oldest waiting prompt, or rests.
    fn send_next(&mut self) -> Vec<Effect> {
        self.phase = Phase::Idle;
        let Some(blocks) = self.queue.pop_front() else { return Vec::new() };
        let has_image = blocks.iter().any(|block| matches!(block, Block::Image(_)));
        if has_image && (self.policy.images == Images::Refused || !self.session.takes_images) {
            let mut effects = vec![Effect::Emit(Event::Failed(fault::no_images()))];
            effects.extend(self.send_next());
            return effects;
        }
        let params = message::prompt(&self.session.id, &blocks);
        let (request, line) = self.request("session/prompt", params);
        self.phase = Phase::Turn { request, turn: Turn::default(), stop: TurnStop::NotAsked };
        vec![Effect::Send(line)]
    }

    fn on_interrupt(&mut self) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Handshake { .. } | Phase::Replay { .. } => {
                let dropped = self.queue.pop_front();
                dropped.map(|_| Effect::Emit(Event::Failed(fault::interrupted()))).into_iter().collect()
            }
            Phase::Turn { stop: TurnStop::Asked, .. } | Phase::Idle | Phase::Stopping { .. } | Phase::Gone => {
                Vec::new()
            }
            Phase::Turn { turn, stop, .. } => {
                *stop = TurnStop::Asked;
                let mut effects = cancel(&self.session.id, turn);
                effects.push(Effect::Arm(self.policy.stop.cancel));
                effects
            }
        }
    }

    fn on_close(&mut self) -> Vec<Effect> {
        let mut effects = match &mut self.phase {
            Phase::Stopping { .. } | Phase::Gone => return Vec::new(),
            Phase::Handshake { .. } | Phase::Replay { .. } | Phase::Idle => Vec::new(),
            Phase::Turn { turn, .. } => cancel(&self.session.id, turn),
        };
        let failure = self.turn().map(|_| fault::interrupted());
        effects.extend(self.stop(Rung::Asked, failure));
        effects
    }

    fn on_response(&mut self, id: u64, outcome: Result<Value, RpcError>) -> Vec<Effect> {
        match std::mem::replace(&mut self.phase, Phase::Gone) {
            Phase::Handshake { request, handshake } if request == id => self.on_handshake(handshake.reply(outcome)),
            Phase::Turn { request, turn, stop } if request == id => self.on_turn_end(turn, stop, outcome),
            other => {
                debug!(id, "reply to nothing that was asked");
                self.phase = other;
                Vec::new()
            }
        }
    }

    fn on_handshake(&mut self, next: Next) -> Vec<Effect> {
        match next {
            Next::Call(handshake, method, params) => {
                let (request, line) = self.request(method, params);
                self.phase = Phase::Handshake { request, handshake };
                let mut effects = vec![Effect::Send(line)];
                if std::mem::take(&mut self.noise.is_last) {
                    effects.push(Effect::Arm(HANDSHAKE_LIMIT));
                }
                effects
            }
            Next::Failed(failure) => self.fail_start(Rung::Asked, failure),
            Next::Ready(Ready { started, takes_images, replays }) => {
                self.session.id = started.conversation.clone();
                self.session.takes_images = takes_images;
                self.session.is_unproved = started.restored;
                if !started.restored {
                    self.session.cost.begin();
                }
                if replays && !self.has_seen_commands {
                    self.phase = Phase::Replay { started };
                    return vec![Effect::Arm(REPLAY_LIMIT)];
                }
                self.start(started)
            }
        }
    }

    fn start(&mut self, started: Started) -> Vec<Effect> {
        let mut effects = vec![Effect::Disarm, Effect::Emit(Event::Started(started))];
        effects.extend(self.send_next());
        effects
    }

    fn on_turn_end(&mut self, mut turn: Turn, stop: TurnStop, outcome: Result<Value, RpcError>) -> Vec<Effect> {
        let is_spoiled = stop == TurnStop::NotAsked && outcome.as_ref().is_err_and(|error| self.is_spoiled(error));
        let events = match (stop, outcome) {
            // Whatever the agent makes of a cancel, the person asked for the end of the turn.
            (TurnStop::Asked, _) => failed(turn.abandon(), fault::interrupted()),
            (TurnStop::NotAsked, Ok(result)) => {
                self.session.is_unproved = false;
                turn.finish(&result)
            }
            (TurnStop::NotAsked, Err(error)) if is_spoiled => {
                self.policy.spoiled.iter().for_each(|spoiled| spoiled.notify_one());
                failed(turn.abandon(), fault::spoiled(&error))
            }
            (TurnStop::NotAsked, Err(error)) => failed(turn.abandon(), self.policy.tell(fault::classify(&error))),
        };
        let mut effects = vec![Effect::Disarm];
        effects.extend(events.into_iter().map(Effect::Emit));
        effects.extend(if is_spoiled { self.stop(Rung::Asked, None) } else { self.send_next() });
        effects
    }

    /// Whether the service refuses the history that the agent sent along. Every further turn would end the same way,
    /// so the conversation ends here, and whoever opens it again gets a fresh one.
    fn is_spoiled(&self, error: &RpcError) -> bool {
        let is_refused = error.code == 400 && fault::classify(error).kind == FailureKind::Protocol;
        self.policy.spoiled.is_some() && self.session.is_unproved && is_refused
    }

    fn on_notification(&mut self, method: &str, params: &Value) -> Vec<Effect> {
        match method {
            "session/update" => self.on_update(params),
            "$/cancel_request" => {
                let pending = self.turn().and_then(|turn| turn.take_pending(&params["requestId"].to_string()));
                let gone = pending.map(|pending| Event::ApprovalGone { request: pending.approval.request });
                gone.map(Effect::Emit).into_iter().collect()
            }
            other => {
                debug!(method = other, "unknown notification skipped");
                Vec::new()
            }
        }
    }

    fn on_update(&mut self, params: &Value) -> Vec<Effect> {
        let update = update::read(&params["update"]);
        match &mut self.phase {
            Phase::Handshake { .. } => {
                self.has_seen_commands |= update == Update::Commands;
                self.session.cost.settle(&update);
                Vec::new()
            }
            Phase::Replay { started } if update == Update::Commands => {
                let started = started.clone();
                self.start(started)
            }
            // Further history: the agent is not silent yet.
            Phase::Replay { .. } => {
                self.session.cost.settle(&update);
                vec![Effect::Arm(REPLAY_LIMIT)]
            }
            Phase::Turn { turn, .. } if params["sessionId"].as_str() == Some(self.session.id.as_str()) => {
                turn.describe(&params["update"]);
                let update = match (self.session.cost.rise(update), self.policy.retells) {
                    (Update::Tool(tool), Some(retell)) => Update::Tool(retell(tool)),
                    (update, _) => update,
                };
                turn.apply(update).into_iter().map(Effect::Emit).collect()
            }
            Phase::Idle if self.session.cost.is_unknown() => {
                self.session.cost.settle(&update);
                Vec::new()
            }
            Phase::Turn { .. } | Phase::Idle | Phase::Stopping { .. } | Phase::Gone => Vec::new(),
        }
    }

    fn turn(&mut self) -> Option<&mut Turn> {
        match &mut self.phase {
            Phase::Turn { turn, .. } => Some(turn),
            Phase::Handshake { .. } | Phase::Replay { .. } | Phase::Idle => None,
            Phase::Stopping { .. } | Phase::Gone => None,
        }
    }

    fn request(&mut self, method: &str, params: Value) -> (u64, String) {
        let id = self.next_id;
        self.next_id += 1;
        (id, jsonrpc::request(id, method, params))
    }
}

impl Machine for Client {
    fn step(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Command(Command::Prompt { blocks }) => self.on_prompt(blocks),
            Input::Command(Command::Decide { request, decision }) => self.on_decision(&request, &decision),
            // Tools reach these agents over MCP, never over this pipe.
            Input::Command(Command::ToolResult { .. }) => Vec::new(),
            Input::Command(Command::Interrupt) => self.on_interrupt(),
            Input::Command(Command::Close) => self.on_close(),
            Input::Line(line) => self.on_line(&line),
            Input::OutputClosed => {
                self.has_output = false;
                match self.phase {
                    Phase::Stopping { .. } | Phase::Gone => Vec::new(),
                    Phase::Handshake { .. } | Phase::Replay { .. } | Phase::Idle | Phase::Turn { .. } => {
                        vec![Effect::CloseInput, Effect::Arm(EXIT_LIMIT)]
                    }
                }
            }
            Input::Stuck => self.give_up(fault::input_stuck()),
            Input::Elapsed => self.on_elapsed(),
            Input::Gone { status, stderr_tail } => self.on_gone(status, stderr_tail),
        }
    }
}

/// Tells the agent to cancel. Agents wait for an open permission even then, so each is answered too.
fn cancel(session: &str, turn: &mut Turn) -> Vec<Effect> {
    let notice = jsonrpc::notification("session/cancel", json!({"sessionId": session}));
    let mut effects = vec![Effect::Send(notice)];
    for pending in turn.take_all_pending() {
        effects.push(Effect::Send(jsonrpc::response(&pending.id, permission::cancelled())));
        effects.push(Effect::Emit(Event::ApprovalGone { request: pending.approval.request }));
    }
    effects
}

fn failed(mut events: Vec<Event>, failure: Failure) -> Vec<Event> {
    events.push(Event::Failed(failure));
    events
}
