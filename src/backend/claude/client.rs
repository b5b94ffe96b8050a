//! The client of one process as a machine: one input in, effects out. It neither waits nor reads nor writes.

mod ask;
mod stop;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tracing::debug;

use crate::backend::claude::argv::Begin;
use crate::backend::claude::client::stop::Rung;
use crate::backend::claude::control::{self, Said};
use crate::backend::claude::model::{self, Login};
use crate::backend::claude::plan::Plan;
use crate::backend::claude::turn::{self, Turn};
use crate::backend::claude::{fault, mcp, stream, tool};
use crate::backend::event::{AgentInfo, Block, Command, ContextUse, Event, Started, ToolStatus, Usage};
use crate::backend::failure::Failure;
use crate::backend::remedy::LoginRemedy;
use crate::backend::spec::StopLadder;
use crate::backend::transport::lines::log_skipped;
use crate::backend::transport::machine::{Effect, Input, Machine};
use crate::backend::{Native, Purpose, ServedTool};

/// The agent is ready within three seconds on a loaded machine.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long a process may live on after it closed its output, or after `KILL`.
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// What `initialize` is called on the pipe.
const INITIALIZE: &str = "initialize";

/// What an interrupt is called on the pipe.
const INTERRUPT: &str = "interrupt";

/// What a conversation is to be.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    pub(crate) begin: Begin,
    pub(crate) cwd: PathBuf,
    pub(crate) purpose: Purpose,
    pub(crate) native: Native,
    pub(crate) model: Option<String>,
    pub(crate) has_schema: bool,
    pub(crate) tools: Vec<ServedTool>,
    pub(crate) stop: StopLadder,
    /// What a person does about a login that does not work.
    pub(crate) login: LoginRemedy,
    pub(crate) exec_at_ms: i64,
}

/// Whether the conversation that was asked for is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    Open,
    /// The agent does not know it. Nobody has been told anything yet.
    Lost,
}

/// One conversation.
#[derive(Debug)]
pub(crate) struct Client {
    wishes: Wishes,
    phase: Phase,
    opening: Option<oneshot::Sender<Opening>>,
    /// Prompts that wait for the start or for the turn before them.
    queue: VecDeque<Vec<Block>>,
    login: Login,
    plan: Plan,
    /// What the process has cost so far; the agent tells sums.
    cost_usd: f64,
    has_output: bool,
}

#[derive(Debug)]
enum Phase {
    Opening,
    Idle,
    Turn {
        turn: Box<Turn>,
        stop: TurnStop,
        has_begun: bool,
    },
    /// The process ends by itself, and another one takes its place.
    Lost,
    /// The process is being ended; `failure` is what the running turn will be told.
    Stopping {
        rung: Rung,
        failure: Option<Failure>,
    },
    Gone,
}

#[derive(Debug, Clone, PartialEq)]
enum TurnStop {
    NotAsked,
    /// The agent was told to stop and has not done so yet; the turn ends with this, whatever it makes of it.
    Asked(Failure),
}

impl Client {
    /// The machine and its first effects. `opening` is told once whether the conversation is there.
    pub(crate) fn begin(wishes: Wishes, opening: Option<oneshot::Sender<Opening>>) -> (Self, Vec<Effect>) {
        let client = Self {
            wishes,
            phase: Phase::Opening,
            opening,
            queue: VecDeque::new(),
            login: Login::Missing,
            plan: Plan::default(),
            cost_usd: 0.0,
            has_output: true,
        };
        let first = Effect::Send(control::request(INITIALIZE, &control::initialize()));
        (client, vec![first, Effect::Arm(START_LIMIT)])
    }

    fn on_line(&mut self, line: &str) -> Vec<Effect> {
        let said = match control::parse(line) {
            Ok(said) => said,
            // The agent writes warnings for people to the same pipe.
            Err(error) => {
                log_skipped(line, &error);
                return Vec::new();
            }
        };
        match said {
            Said::Asked { id, request } => self.on_asked(&id, request),
            Said::Answered { id, outcome } if id == INITIALIZE => self.on_ready(outcome),
            Said::Answered { .. } | Said::Unknown => Vec::new(),
            Said::Withdrawn { id } => emit(self.turn().and_then(|turn| turn.withdraw(&id))),
            Said::Init(init) => self.on_init(&init),
            Said::Retry(retry) => self.on_retry(&retry),
            Said::Piece(piece) if turn::is_inner(&piece) => Vec::new(),
            Said::Piece(piece) => emit(self.turn().and_then(|turn| turn.stream.apply(&piece["event"]))),
            Said::Assistant(line) => match &mut self.phase {
                Phase::Turn { turn, .. } => emit(turn.assistant(&line, &self.wishes.cwd)),
                Phase::Opening | Phase::Idle | Phase::Lost | Phase::Stopping { .. } | Phase::Gone => Vec::new(),
            },
            Said::User(line) => match &mut self.phase {
                Phase::Turn { turn, stop: TurnStop::NotAsked, .. } => emit(turn.user(&line, &mut self.plan)),
                Phase::Turn { turn, .. } => emit(turn.user(&line, &mut self.plan).into_iter().map(cut_off)),
                Phase::Opening | Phase::Idle | Phase::Lost | Phase::Stopping { .. } | Phase::Gone => Vec::new(),
            },
            Said::Limit(limit) => {
                if let Some(turn) = self.turn().filter(|_| limit["status"] == "rejected") {
                    turn.signs.resets_at = limit["resetsAt"].as_i64().map(|seconds| seconds * 1000);
                }
                Vec::new()
            }
            Said::Result(result) => self.on_result(&result),
        }
    }

    fn on_ready(&mut self, outcome: Result<Value, String>) -> Vec<Effect> {
        if !matches!(self.phase, Phase::Opening) {
            return Vec::new();
        }
        let ready = match outcome {
            Ok(ready) => ready,
            Err(text) => return self.fail_start(Rung::Asked, fault::refused(&text)),
        };
        self.login = model::login(&ready);
        if self.login == Login::Missing {
            return self.fail_start(Rung::Asked, fault::auth("the agent is not logged in", &self.wishes.login));
        }
        self.tell(Opening::Open);
        let started = Started {
            conversation: self.wishes.begin.id().to_owned(),
            restored: matches!(self.wishes.begin, Begin::Resume(_)),
            exec_at_ms: self.wishes.exec_at_ms,
            models: model::models(&ready),
            model: model::choose(&ready, self.wishes.model.as_deref()),
            modes: Vec::new(),
            mode: None,
            info: AgentInfo { name: "claude".to_owned(), version: String::new() },
        };
        let mut effects = vec![Effect::Disarm, Effect::Emit(Event::Started(started))];
        effects.extend(self.send_next());
        effects
    }

    /// Tells once how the opening went; whoever waited may be gone.
    fn tell(&mut self, opening: Opening) {
        if let Some(waiting) = self.opening.take() {
            waiting.send(opening).ok();
        }
    }

    fn on_prompt(&mut self, blocks: Vec<Block>) -> Vec<Effect> {
        self.queue.push_back(blocks);
        if matches!(self.phase, Phase::Idle) { self.send_next() } else { Vec::new() }
    }

    /// Sends the oldest waiting prompt, or rests. A prompt that comes while a tool runs would be mixed into the turn, so
    /// it is kept back until then.
    fn send_next(&mut self) -> Vec<Effect> {
        self.phase = Phase::Idle;
        let Some(blocks) = self.queue.pop_front() else { return Vec::new() };
        self.phase = Phase::Turn { turn: Box::default(), stop: TurnStop::NotAsked, has_begun: false };
        vec![Effect::Send(control::prompt(&blocks))]
    }

    /// A turn begins, and with it the agent shows what it made of its arguments.
    fn on_init(&mut self, init: &Value) -> Vec<Effect> {
        let Phase::Turn { stop, has_begun, .. } = &mut self.phase else { return Vec::new() };
        // What was interrupted before it began did not hear it.
        let is_late = !std::mem::replace(has_begun, true) && *stop != TurnStop::NotAsked;
        if is_late {
            return vec![Effect::Send(control::request(INTERRUPT, &control::interrupt()))];
        }
        match self.misunderstanding(init) {
            Some(failure) => self.stop_turn(failure),
            None => Vec::new(),
        }
    }

    fn misunderstanding(&self, init: &Value) -> Option<Failure> {
        let has_tool = |name: &str| init["tools"].as_array().into_iter().flatten().any(|tool| tool == name);
        if self.wishes.has_schema && !has_tool(tool::RESPONSE) {
            return Some(fault::schema_dropped());
        }
        if self.wishes.tools.is_empty() {
            return None;
        }
        let server = init["mcp_servers"].as_array().into_iter().flatten().find(|server| server["name"] == mcp::SERVER);
        let status = server.and_then(|server| server["status"].as_str()).unwrap_or("missing");
        (status != "connected").then(|| fault::tools_missing(status))
    }

    fn on_retry(&mut self, retry: &Value) -> Vec<Effect> {
        let Phase::Turn { stop, .. } = &self.phase else { return Vec::new() };
        let is_auth =
            retry["error"] == "authentication_failed" || matches!(retry["error_status"].as_u64(), Some(401 | 403));
        // A token may be renewed between the first try and the second; a key stays wrong.
        let is_hopeless = self.login == Login::Key || retry["attempt"].as_u64() != Some(1);
        match stop {
            TurnStop::NotAsked if is_auth && is_hopeless => {
                let status = retry["error_status"].as_u64().unwrap_or(401);
                let text = format!("the service refused the login of the agent (status {status})");
                self.stop_turn(fault::auth(text, &self.wishes.login))
            }
            TurnStop::NotAsked | TurnStop::Asked(_) => {
                vec![Effect::Emit(Event::Retry { message: fault::retry(retry) })]
            }
        }
    }

    /// Ends the running turn with `failure`; the process is to live on.
    fn stop_turn(&mut self, failure: Failure) -> Vec<Effect> {
        let Phase::Turn { turn, stop, .. } = &mut self.phase else { return Vec::new() };
        if *stop != TurnStop::NotAsked {
            return Vec::new();
        }
        *stop = TurnStop::Asked(failure);
        let mut effects = vec![Effect::Send(control::request(INTERRUPT, &control::interrupt()))];
        effects.extend(emit(turn.forget_questions()));
        effects.push(Effect::Arm(self.wishes.stop.cancel));
        effects
    }

    fn on_interrupt(&mut self) -> Vec<Effect> {
        match self.phase {
            Phase::Opening => {
                let dropped = self.queue.pop_front();
                emit(dropped.map(|_| Event::Failed(fault::interrupted())))
            }
            Phase::Turn { .. } => self.stop_turn(fault::interrupted()),
            Phase::Idle | Phase::Lost | Phase::Stopping { .. } | Phase::Gone => Vec::new(),
        }
    }

    fn on_close(&mut self) -> Vec<Effect> {
        let mut effects = match &self.phase {
            Phase::Lost | Phase::Stopping { .. } | Phase::Gone => return Vec::new(),
            Phase::Opening | Phase::Idle => Vec::new(),
            // To close the input alone would let the turn go on to its end.
            Phase::Turn { .. } => vec![Effect::Send(control::request(INTERRUPT, &control::interrupt()))],
        };
        let failure = self.turn().map(|_| fault::interrupted());
        effects.extend(self.stop(Rung::Asked, failure));
        effects
    }

    fn on_result(&mut self, result: &Value) -> Vec<Effect> {
        if matches!(self.phase, Phase::Opening) {
            return self.on_refused(result);
        }
        let mut effects = Vec::new();
        effects.extend(emit(self.usage(result).map(Event::Usage)));
        // A turn that the agent began by itself is not the one that is waited for.
        if result["origin"]["kind"].is_string() {
            return effects;
        }
        match std::mem::replace(&mut self.phase, Phase::Gone) {
            Phase::Turn { mut turn, stop, .. } => {
                effects.push(Effect::Disarm);
                effects.extend(emit(match stop {
                    TurnStop::Asked(failure) => failed(turn.abandon(), failure),
                    TurnStop::NotAsked => turn.finish(result, &self.wishes.login),
                }));
                effects.extend(self.send_next());
                effects
            }
            // What was spent was spent, also by a turn that nobody waits for any more.
            other @ (Phase::Idle | Phase::Stopping { .. }) => {
                self.phase = other;
                effects
            }
            other @ (Phase::Opening | Phase::Lost | Phase::Gone) => {
                self.phase = other;
                Vec::new()
            }
        }
    }

    /// A result before the agent is ready: it does not know the conversation, or refuses to start.
    fn on_refused(&mut self, result: &Value) -> Vec<Effect> {
        match self.wishes.begin {
            Begin::Resume(_) if self.opening.is_some() => {
                debug!(reason = fault::describe(result), "conversation lost");
                self.tell(Opening::Lost);
                self.phase = Phase::Lost;
                vec![Effect::CloseInput, Effect::Arm(EXIT_LIMIT)]
            }
            Begin::Resume(_) | Begin::Fresh(_) => {
                self.fail_start(Rung::Asked, fault::refused(&fault::describe(result)))
            }
        }
    }

    /// What was spent since the last result.
    fn usage(&mut self, result: &Value) -> Option<Usage> {
        let usage = result["usage"].as_object().map(|_| &result["usage"])?;
        let cost = result["total_cost_usd"].as_f64().map(|total| {
            let spent = (total - self.cost_usd).max(0.0);
            self.cost_usd = total;
            spent
        });
        let size = result["modelUsage"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(_, model)| model["contextWindow"].as_u64());
        let used = self.turn().map(|turn| turn.stream.used()).filter(|used| *used > 0);
        Some(Usage {
            input_tokens: Some(stream::read(usage)),
            output_tokens: usage["output_tokens"].as_u64(),
            cost_usd: cost,
            context: used.zip(size.max()).map(|(used, size)| ContextUse { used, size }),
        })
    }

    fn turn(&mut self) -> Option<&mut Turn> {
        match &mut self.phase {
            Phase::Turn { turn, .. } => Some(turn),
            Phase::Opening | Phase::Idle | Phase::Lost | Phase::Stopping { .. } | Phase::Gone => None,
        }
    }
}

impl Machine for Client {
    fn step(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Command(Command::Prompt { blocks }) => self.on_prompt(blocks),
            Input::Command(Command::Decide { request, decision }) => self.on_decided(&request, &decision),
            Input::Command(Command::ToolResult { request, outcome }) => self.on_served(&request, &outcome),
            Input::Command(Command::Interrupt) => self.on_interrupt(),
            Input::Command(Command::Close) => self.on_close(),
            Input::Line(line) => self.on_line(&line),
            Input::OutputClosed => self.on_output_closed(),
            Input::Stuck => self.give_up(fault::input_stuck()),
            Input::Elapsed => self.on_elapsed(),
            Input::Gone { status, stderr_tail } => self.on_gone(status, stderr_tail),
        }
    }
}

fn emit(events: impl IntoIterator<Item = Event>) -> Vec<Effect> {
    events.into_iter().map(Effect::Emit).collect()
}

/// A call that fails while its turn is being stopped was cut off, whatever the model is told about it.
fn cut_off(event: Event) -> Event {
    match event {
        Event::ToolFinished { call, status: ToolStatus::Failed, .. } => {
            Event::ToolFinished { call, status: ToolStatus::Unfinished, output: String::new() }
        }
        other => other,
    }
}

fn failed(mut events: Vec<Event>, failure: Failure) -> Vec<Event> {
    events.push(Event::Failed(failure));
    events
}
