//! One conversation as a machine: one input in, effects out. It neither waits nor reads nor writes.
//!
//! It speaks to the shared process through the hub, which owns the pipe and knows whose thread is whose.

mod end;
mod open;
mod run;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::backend::codex::approval::{self, Answer};
use crate::backend::codex::fault::{self, Refusal};
use crate::backend::codex::settings::{Opening, Wishes};
use crate::backend::codex::turn::Turn;
use crate::backend::event::{AgentInfo, Block, Command, Decision, Event};
use crate::backend::failure::{Failure, FailureKind};

/// How long a request may stay unanswered.
const REPLY_LIMIT: Duration = Duration::from_secs(30);

/// A thread loads its history and starts its shell on the way.
const OPEN_LIMIT: Duration = Duration::from_secs(60);

/// Everything that can happen to a conversation.
#[derive(Debug)]
pub(super) enum Input {
    /// The shared process answers.
    Ready {
        exec_at_ms: i64,
        info: AgentInfo,
    },
    Command(Command),
    /// A prompt with an image that is not there.
    NoImage(PathBuf),
    Notified {
        method: String,
        params: Value,
    },
    Asked {
        id: Value,
        method: String,
        params: Value,
    },
    Replied {
        tag: Tag,
        outcome: Result<Value, Refusal>,
    },
    /// The shared process is to be replaced: leave it when nothing runs.
    Retiring,
    Elapsed,
    /// The shared process is gone.
    Lost {
        failure: Option<Failure>,
        status: Option<String>,
        stderr_tail: String,
    },
}

/// What is to be done, in order.
#[derive(Debug, PartialEq)]
pub(super) enum Effect {
    Ask {
        tag: Tag,
        method: &'static str,
        params: Value,
        limit: Duration,
    },
    Answer {
        id: Value,
        outcome: Result<Value, String>,
    },
    Emit(Event),
    /// Replaces the timer.
    Arm(Duration),
    Disarm,
    /// The shared process looks hung from here.
    Suspect,
    /// The login of the shared process was refused: nobody else may find that process.
    Outdated,
    /// Nothing holds on to the shared process any more; what it still says is not heard.
    Part,
    /// Looks for a shared process again.
    Join,
    /// Nothing follows.
    Finish,
}

/// Which request a reply belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Account,
    Config,
    /// Whether a sandbox can be made at all.
    Probe,
    Models,
    Open(Opening),
    /// With the number of the turn: a reply may come after the end of what it started.
    Turn(u64),
    /// Words of a person in the middle of a turn.
    Steer,
    Interrupt,
    Clean,
    Unsubscribe,
}

/// One conversation.
#[derive(Debug)]
pub(super) struct Thread {
    wishes: Wishes,
    phase: Phase,
    id: String,
    info: AgentInfo,
    exec_at_ms: i64,
    /// The user's configuration, for what has to be switched off by name.
    user: Value,
    /// Why the conversation does not open, unless the configuration is to blame: with a broken one, Codex falls back to
    /// its defaults and looks logged out.
    suspected: Option<Failure>,
    queue: VecDeque<Prompt>,
    turns: u64,
    tries: u32,
    plan: Plan,
    has_started: bool,
}

/// What becomes of the conversation when nothing runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    Stay,
    /// Leave the process when no prompt waits either, and go on in another one with the next prompt.
    Retire,
    Close,
}

#[derive(Debug)]
enum Prompt {
    Blocks(Vec<Block>),
    NoImage(PathBuf),
}

#[derive(Debug)]
enum Phase {
    /// The shared process starts.
    Joining,
    /// A request of the opening is under way.
    Opening(Tag),
    /// Another process still holds the thread.
    Held,
    Idle,
    Turn {
        number: u64,
        turn: Turn,
        stop: Stop,
    },
    /// The turn is over; its commands are not.
    Cleaning {
        running: Vec<String>,
        outcome: Event,
    },
    Leaving(Farewell),
    /// Between two processes: the next prompt goes on in another one.
    Away,
    Gone,
}

/// What becomes of the conversation that lets go of its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Farewell {
    ForGood,
    /// It goes on in another process; whoever owns it does not hear of that.
    ForNow,
}

/// How far the end of a turn was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    NotAsked,
    /// The turn has no id yet, so there is nothing to interrupt.
    Wanted,
    Asked,
}

impl Thread {
    pub(super) fn new(wishes: Wishes) -> Self {
        Self {
            wishes,
            phase: Phase::Joining,
            id: String::new(),
            info: AgentInfo::default(),
            exec_at_ms: 0,
            user: Value::Null,
            suspected: None,
            queue: VecDeque::new(),
            turns: 0,
            tries: 0,
            plan: Plan::Stay,
            has_started: false,
        }
    }

    pub(super) fn is_joining(&self) -> bool {
        matches!(self.phase, Phase::Joining)
    }

    /// Takes one input; effects are performed in their order.
    pub(super) fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = self.handle(input);
        if effects.iter().any(is_refused_login) {
            effects.insert(0, Effect::Outdated);
        }
        effects
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Ready { exec_at_ms, info } => self.on_ready(exec_at_ms, info),
            Input::Command(Command::Prompt { blocks }) => self.on_prompt(Prompt::Blocks(blocks)),
            Input::NoImage(path) => self.on_prompt(Prompt::NoImage(path)),
            Input::Command(Command::Decide { request, decision }) => self.on_decision(&request, &decision),
            Input::Command(Command::ToolResult { request, outcome }) => {
                let id = self.turn().and_then(|turn| turn.take_call(&request));
                id.map(|id| answered((id, approval::tool_result(&outcome)))).into_iter().collect()
            }
            Input::Command(Command::Interrupt) => self.on_interrupt(),
            Input::Command(Command::Close) => self.on_close(),
            Input::Notified { method, params } => self.on_notice(&method, &params),
            Input::Asked { id, method, params } => self.on_asked(&id, &method, &params),
            Input::Replied { tag, outcome } => self.on_reply(tag, outcome),
            Input::Retiring => self.on_retiring(),
            Input::Elapsed => self.on_elapsed(),
            Input::Lost { failure, status, stderr_tail } => self.on_lost(failure.as_ref(), status, stderr_tail),
        }
    }

    /// Answers a request. What a person says to a refusal has no place in the answer; it is a word in the turn that runs,
    /// and the refusal waits until the agent has taken it. Else the model may go on without it, and be asked once more.
    fn on_decision(&mut self, request: &str, decision: &Decision) -> Vec<Effect> {
        let thread = self.id.clone();
        let Some(turn) = self.turn() else { return Vec::new() };
        let Some(pending) = turn.take_approval(request) else { return Vec::new() };
        let said = match decision {
            Decision::Once => None,
            Decision::Deny { message } => message.as_deref().filter(|words| !words.trim().is_empty()),
        };
        let answer = (pending.id.clone(), pending.result(Answer::from(decision)));
        let Some((words, id)) = said.zip(turn.id.as_ref()) else { return vec![answered(answer)] };
        let input = json!([{"type": "text", "text": words}]);
        let params = json!({"threadId": thread, "expectedTurnId": id, "input": input});
        turn.refusals.push_back(answer);
        vec![ask(Tag::Steer, "turn/steer", params, REPLY_LIMIT)]
    }

    fn on_prompt(&mut self, prompt: Prompt) -> Vec<Effect> {
        match self.phase {
            Phase::Leaving(Farewell::ForGood) | Phase::Gone => vec![failed(fault::closed())],
            Phase::Idle => {
                self.queue.push_back(prompt);
                self.rest()
            }
            Phase::Away => {
                self.queue.push_back(prompt);
                self.rejoin()
            }
            Phase::Joining | Phase::Opening(_) | Phase::Held | Phase::Turn { .. } | Phase::Cleaning { .. } => {
                self.queue.push_back(prompt);
                Vec::new()
            }
            Phase::Leaving(Farewell::ForNow) => {
                self.queue.push_back(prompt);
                Vec::new()
            }
        }
    }

    /// Nothing runs: the oldest prompt is sent, or the conversation ends, or it rests. Never a second turn beside one
    /// that runs: it would be taken as a part of the first.
    fn rest(&mut self) -> Vec<Effect> {
        self.phase = Phase::Idle;
        if self.plan == Plan::Close {
            return self.leave();
        }
        match self.queue.pop_front() {
            // A thread without a turn is written down nowhere, and its first prompt is on its way.
            None if self.plan == Plan::Retire && self.turns > 0 => self.let_go(Farewell::ForNow),
            None => Vec::new(),
            Some(Prompt::NoImage(path)) => {
                let mut effects = vec![failed(fault::no_image(&path))];
                effects.extend(self.rest());
                effects
            }
            Some(Prompt::Blocks(blocks)) => {
                self.turns += 1;
                let turn = Turn::new(&self.wishes.cwd);
                self.phase = Phase::Turn { number: self.turns, turn, stop: Stop::NotAsked };
                let params = self.wishes.turn(&self.id, &blocks);
                vec![ask(Tag::Turn(self.turns), "turn/start", params, REPLY_LIMIT)]
            }
        }
    }

    fn on_reply(&mut self, tag: Tag, outcome: Result<Value, Refusal>) -> Vec<Effect> {
        match (tag, &mut self.phase) {
            (tag, Phase::Opening(asked)) if tag == *asked => self.on_opened(tag, outcome),
            (Tag::Turn(number), Phase::Turn { number: running, turn, stop }) if number == *running => match outcome {
                Ok(result) => {
                    if turn.id.is_some() {
                        return Vec::new();
                    }
                    turn.id = result["turn"]["id"].as_str().map(str::to_owned);
                    if *stop == Stop::Wanted { self.interrupt() } else { Vec::new() }
                }
                Err(refusal) => self.on_turn_refused(&refusal),
            },
            // Taken or not: the refusal must not wait for ever.
            (Tag::Steer, Phase::Turn { turn, .. }) => turn.refusals.pop_front().map(answered).into_iter().collect(),
            (Tag::Unsubscribe, Phase::Leaving(_)) if !is_unsubscribed(&outcome) => self.on_left(),
            // The end of the turn and of its commands is told by notifications, the end of the thread too; the other
            // replies come too late for anybody.
            (Tag::Account | Tag::Config | Tag::Probe | Tag::Models | Tag::Open(_) | Tag::Turn(_), _)
            | (Tag::Steer | Tag::Interrupt | Tag::Clean | Tag::Unsubscribe, _) => Vec::new(),
        }
    }

    fn turn(&mut self) -> Option<&mut Turn> {
        match &mut self.phase {
            Phase::Turn { turn, .. } => Some(turn),
            Phase::Joining | Phase::Opening(_) | Phase::Held | Phase::Idle => None,
            Phase::Cleaning { .. } | Phase::Leaving(_) | Phase::Away | Phase::Gone => None,
        }
    }

    fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Turn { stop: Stop::Wanted | Stop::Asked, .. })
    }
}

fn ask(tag: Tag, method: &'static str, params: Value, limit: Duration) -> Effect {
    Effect::Ask { tag, method, params, limit }
}

fn answered((id, result): (Value, Value)) -> Effect {
    Effect::Answer { id, outcome: Ok(result) }
}

fn is_refused_login(effect: &Effect) -> bool {
    matches!(effect, Effect::Emit(Event::Failed(Failure { kind: FailureKind::Auth, .. })))
}

fn failed(failure: Failure) -> Effect {
    Effect::Emit(Event::Failed(failure))
}

/// Whether the thread is on its way out; otherwise nothing follows the reply.
fn is_unsubscribed(outcome: &Result<Value, Refusal>) -> bool {
    outcome.as_ref().is_ok_and(|result| result["status"] == "unsubscribed")
}
