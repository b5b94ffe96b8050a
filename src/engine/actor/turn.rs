//! A turn at work: what the backend says becomes facts, live text and events of the machine.

use std::sync::Arc;

use tokio::time::Instant;

use crate::api::event::{AgentUse, Block, Payload, PlanEntry};
use crate::api::session::{TurnError, TurnState, Usage};
use crate::backend::event::{
    Block as PromptBlock, Command as BackendCommand, Event as BackendEvent, PlanStatus, ToolCall, ToolKind, ToolStatus,
};
use crate::backend::failure::{Failure, FailureKind, LoginCommand};
use crate::config::Config;
use crate::config::resolve::CommitMessage;
use crate::config::value::format_duration;
use crate::delegation;
use crate::id::SessionId;
use crate::protocol;
use crate::session::{Asks, Event, Phase, Session, Turn};
use crate::store::{Change, Durability};

use super::super::agents::role::Role;
use super::super::blocks::{Blocks, Ended, cut_plan};
use super::super::external::Servers;
use super::super::judge::Judge;
use super::super::output_quota::OutputQuota;
use super::super::prepare::{Prepared, Told, Unprepared};
use super::super::record::{ConversationRecord, PromptBody, Tree};
use super::super::timing::Overdue;
use super::super::work::Bench;
use super::super::{clock, view};
use super::Actor;
use super::passed::Passes;

/// The turn in progress, from the moment its prompt is chosen.
pub(super) struct TurnRun {
    pub(super) number: u32,
    /// Which queued prompt it carries.
    pub(super) prompt: u32,
    pub(super) task: PromptBody,
    pub(super) started: Option<Begun>,
    pub(super) blocks: Blocks,
    /// What may be stored of it.
    pub(super) output_quota: OutputQuota,
    pub(super) tools: Vec<ToolCall>,
    /// What let its calls pass.
    pub(super) passes: Passes,
    pub(super) response: Option<protocol::Response>,
    pub(super) refusal: Option<protocol::ResponseError>,
    pub(super) raw: Option<String>,
    pub(super) failure: Option<Failure>,
    /// Why it was stopped.
    pub(super) reason: String,
    pub(super) checkpoint: Option<String>,
    pub(super) checkpoint_failed: bool,
    /// Who words the checkpoint.
    pub(super) wording: CommitMessage,
    /// What it cost so far, repairs included.
    pub(super) usage: Usage,
    /// Who works, and with which tools.
    pub(super) role: Option<Arc<Role>>,
    pub(super) config: Arc<Config>,
    /// Who decides about its calls.
    pub(super) judge: Option<Box<Judge>>,
    /// The external servers that its tools are of.
    pub(super) servers: Option<Arc<Servers>>,
    /// What the work of its served calls shares.
    pub(super) bench: Arc<Bench>,
    /// How many tool calls the agent has made.
    pub(super) steps: u32,
    /// The last message that was not the response.
    pub(super) said: Option<String>,
    /// The plan that a planner has shown.
    pub(super) plan: Option<String>,
}

/// How the turn reached its backend.
pub(super) struct Begun {
    pub(super) at: i64,
    pub(super) exec_at: i64,
    pub(super) delivery: Told,
    pub(super) agent: Option<AgentUse>,
    /// The whole prompt as it goes to the backend.
    pub(super) blocks: Vec<PromptBlock>,
}

impl TurnRun {
    pub(super) fn new(number: u32, prompt: u32, task: PromptBody) -> Self {
        Self {
            number,
            prompt,
            task,
            started: None,
            blocks: Blocks::default(),
            output_quota: OutputQuota::default(),
            tools: Vec::new(),
            passes: Passes::default(),
            response: None,
            refusal: None,
            raw: None,
            failure: None,
            reason: "stopped".to_owned(),
            checkpoint: None,
            checkpoint_failed: false,
            wording: CommitMessage::Summary,
            usage: Usage::default(),
            role: None,
            config: Arc::default(),
            judge: None,
            servers: None,
            bench: Arc::default(),
            steps: 0,
            said: None,
            plan: None,
        }
    }

    /// Why the turn failed, as it is stored and shown; `login` is the command that logs a person in.
    pub(super) fn error(
        &self,
        id: SessionId,
        login: Option<String>,
        explain: impl FnOnce(Failure) -> Failure,
    ) -> TurnError {
        let said = match &self.refusal {
            Some(refusal) => format!("the backend's response was refused: {refusal}"),
            None => "the backend ended the turn without a response".to_owned(),
        };
        let failure = explain(self.failure.clone().unwrap_or_else(|| Failure::new(FailureKind::Protocol, said)));
        let failure = match &self.raw {
            None if failure.hint == FailureKind::Protocol.hint() => {
                failure.with_hint("run `coppice resume` to send the prompt again")
            }
            Some(_) | None => failure,
        };
        // A backend does not know whose it is; a hint that can be pasted does.
        let hint = ["resume", "show --raw"].iter().fold(failure.hint, |hint, command| {
            hint.replace(&format!("`coppice {command}`"), &format!("`coppice {command} {id}`"))
        });
        let hint = hint.replace("`coppice send --", &format!("`coppice send {id} --"));
        let kind = failure.kind.as_str().to_owned();
        let error = TurnError { kind, message: failure.message, hint: Some(hint), ..TurnError::default() };
        match failure.kind {
            FailureKind::Auth => match failure.login {
                LoginCommand::Backend => TurnError { command: login, ..error },
                LoginCommand::Other(command) => TurnError { command: Some(command.to_owned()), ..error },
                LoginCommand::None => error,
            },
            FailureKind::RateLimit { resets_at } => TurnError { resets_at, ..error },
            FailureKind::Quota
            | FailureKind::Model
            | FailureKind::Context
            | FailureKind::Transport
            | FailureKind::Protocol
            | FailureKind::Timeout
            | FailureKind::StepLimit
            | FailureKind::Crashed
            | FailureKind::Cancelled
            | FailureKind::Setup
            | FailureKind::Hook
            | FailureKind::Git
            | FailureKind::Sandbox
            | FailureKind::Store => error,
        }
    }
}

impl Actor {
    pub(super) async fn prepared(&mut self, result: Result<Prepared, Unprepared>) {
        match result {
            Ok(prepared) => {
                self.record.body.tree = Tree::Ready;
                self.begun(prepared);
                self.step(Event::Prepared).await;
            }
            Err(Unprepared { tree, is_untouched, failure }) => {
                let body = &mut self.record.body;
                (body.tree, body.is_untouched) = (tree.unwrap_or(body.tree), is_untouched);
                if let Some(turn) = &mut self.turn {
                    turn.failure = Some(failure);
                }
                self.step(Event::PrepareFailed).await;
            }
        }
    }

    /// Takes over what was prepared.
    fn begun(&mut self, prepared: Prepared) {
        let Prepared {
            conversation,
            conversation_record,
            exec_at,
            engine,
            role,
            judge,
            servers,
            reach,
            agent,
            delivery,
            blocks,
        } = prepared;
        (self.conversation, self.open) = (Some(conversation), Some(conversation_record.clone()));
        // One that was stopped meanwhile is not sent: its prompt, and who is to work on it, stay in the queue.
        let sends = matches!(self.state, Session::Turning(Turn { phase: Phase::Preparing, .. }));
        let Some(turn) = self.turn.as_mut().filter(|_| sends) else { return };
        turn.started = Some(Begun { at: clock::now(), exec_at, delivery, agent, blocks });
        self.record.body.agent = role.record();
        self.record.body.reach = reach;
        turn.role = Some(Arc::from(role));
        (turn.judge, turn.servers) = (Some(judge), servers);
        let before = self.record.body.engine();
        if before != engine {
            let (turn, from, to) = (turn.number, view::engine(before), view::engine(engine.clone()));
            self.staged.push(Payload::Switched { turn, from, to });
            self.record.body.set_engine(engine);
        }
        // What it has heard of a role is what it had heard before, until it answers.
        let heard = self.record.body.conversation.take().map(|known| known.role).unwrap_or_default();
        self.record.body.conversation = match delivery {
            Told::Everything => Some(ConversationRecord { role: heard, ..conversation_record }),
            Told::Nothing | Told::Replayed => None,
        };
    }

    /// The model has heard the prompt: its conversation knows the rules and is worth going on with. A prompt that
    /// failed or was interrupted before that may have reached nobody, so the next one tells everything again.
    async fn heard(&mut self) {
        let begun = self.turn.as_ref().is_some_and(|turn| turn.started.is_some());
        if !begun || self.record.body.conversation == self.open {
            return;
        }
        self.record.body.conversation = self.open.clone();
        if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
            self.give_up(&error).await;
        }
    }

    pub(super) async fn backend(&mut self, event: BackendEvent) {
        // A backend that only tries again makes no progress.
        if !matches!(event, BackendEvent::Retry { .. }) {
            self.timing.hear(Instant::now());
        }
        if is_output(&event) {
            self.heard().await;
        }
        match event {
            BackendEvent::Started(_) => {}
            BackendEvent::Text { delta } => self.text(&delta).await,
            BackendEvent::Thought { delta } => {
                if let Some(turn) = &mut self.turn {
                    let shown = turn.blocks.thought(&delta);
                    self.shared.live.delta(self.id, turn.number, Block::Thought, &shown);
                }
            }
            BackendEvent::ToolStarted(call) => self.tool_started(call).await,
            BackendEvent::ToolOutput { call, text } => {
                if let Some(turn) = &self.turn {
                    self.shared.live.delta(self.id, turn.number, Block::Tool { call }, &text);
                }
            }
            BackendEvent::ToolFinished { call, status, output } => self.tool_finished(call, status, output).await,
            BackendEvent::Approval(request) => self.approval_asked(request).await,
            BackendEvent::ApprovalGone { request } => self.approval_gone(&request).await,
            BackendEvent::ToolRequested(request) => self.tool_requested(request).await,
            BackendEvent::ToolRequestGone { request } => self.tool_request_gone(&request).await,
            BackendEvent::Plan(entries) => {
                let entries = entries
                    .into_iter()
                    .map(|entry| PlanEntry { content: entry.text, status: plan_status(entry.status).to_owned() });
                let entries = cut_plan(entries.collect());
                self.tell(|turn| Payload::PlanUpdated { turn, entries }).await;
            }
            BackendEvent::Usage(usage) => self.usage(&usage).await,
            BackendEvent::Retry { message } => self.tell(|turn| Payload::Retry { turn, reason: message }).await,
            BackendEvent::Final { text, .. } => self.finished(text).await,
            BackendEvent::Failed(failure) => self.failed(failure).await,
            BackendEvent::Exited { .. } => self.backend_gone().await,
        }
    }

    /// The conversation is over, expected or not.
    pub(super) async fn backend_gone(&mut self) {
        self.conversation = None;
        if self.state.is_turning() {
            let lost = || Failure::new(FailureKind::Crashed, "the backend went away");
            if let Some(turn) = &mut self.turn {
                turn.failure.get_or_insert_with(lost);
            }
            self.step(Event::BackendLost).await;
        }
    }

    pub(super) async fn due(&mut self) {
        let now = Instant::now();
        match self.timing.overdue(self.state, self.conversation.is_some(), now) {
            None => {}
            Some(Overdue::Retry) => self.retry_store().await,
            Some(Overdue::Idle) => self.end_conversation().await,
            Some(Overdue::Turn(limit)) => {
                let message = match self.record.body.child {
                    Some(_) => delegation::TIMEOUT.to_owned(),
                    None => format!("the turn took longer than {}", format_duration(limit)),
                };
                self.time_out(FailureKind::Timeout, message).await;
            }
            Some(Overdue::Stall(limit)) => {
                let message = format!("the backend said nothing for {}", format_duration(limit));
                self.time_out(FailureKind::Timeout, message).await;
            }
        }
    }

    /// A limit of the turn is reached.
    async fn time_out(&mut self, kind: FailureKind, message: String) {
        if let Some(turn) = &mut self.turn {
            turn.failure = Some(Failure::new(kind, message));
        }
        self.step(Event::TimedOut).await;
    }

    async fn text(&mut self, delta: &str) {
        let Some(turn) = &mut self.turn else { return };
        let number = turn.number;
        let thought = if turn.blocks.is_thinking() { turn.blocks.end_thought() } else { None };
        let shown = turn.blocks.message(delta);
        self.store_blocks(number, thought).await;
        self.shared.live.delta(self.id, number, Block::Message, &shown);
    }

    async fn tool_started(&mut self, call: ToolCall) {
        self.timing.tool_started();
        let Some(turn) = &mut self.turn else { return };
        let number = turn.number;
        let ended = turn.blocks.interlude();
        let auto = turn.passes.begun(&call);
        let ToolCall { call: id, title, kind, input } = call.clone();
        turn.tools.push(call);
        let limit = turn.role.as_ref().and_then(|role| role.max_steps);
        turn.steps += 1;
        let is_over = delegation::is_out_of_steps(limit, turn.steps);
        self.store_blocks(number, ended).await;
        let tool = tool_name(kind).to_owned();
        self.tell(|turn| Payload::ToolStarted { turn, call: id, tool, title, input, auto }).await;
        if let (true, Some(limit)) = (is_over, limit) {
            let message = format!("the agent may make {limit} tool calls in a turn and wanted another");
            self.time_out(FailureKind::StepLimit, message).await;
        }
    }

    async fn tool_finished(&mut self, call: String, status: ToolStatus, output: String) {
        self.timing.tool_finished();
        let Some(turn) = &mut self.turn else { return };
        let known = turn.tools.iter().position(|tool| tool.call == call).map(|at| turn.tools.remove(at));
        let auto = turn.passes.ended(&call, known.as_ref());
        let (tool, title) = match known {
            Some(ToolCall { title, kind, .. }) => (tool_name(kind).to_owned(), title),
            None => (tool_name(ToolKind::Other).to_owned(), call.clone()),
        };
        let ok = match status {
            ToolStatus::Completed => true,
            ToolStatus::Failed | ToolStatus::Unfinished => false,
        };
        self.shared.live.settle(self.id);
        self.tell(|turn| Payload::ToolFinished { turn, call, tool, title, ok, output, auto }).await;
    }

    async fn usage(&mut self, usage: &crate::backend::event::Usage) {
        let spent = Usage {
            input_tokens: usage.input_tokens.unwrap_or_default(),
            output_tokens: usage.output_tokens.unwrap_or_default(),
            cost_usd: usage.cost_usd,
        };
        self.record.body.usage.add(&spent);
        let Some(turn) = &mut self.turn else { return };
        turn.usage.add(&spent);
        self.staged.extend(turn.output_quota.admit(Payload::Usage { turn: turn.number, usage: spent }));
        // With the turn: one that the daemon does not live to see the end of has cost something too.
        let Some(turn) = &self.turn else { return };
        let row = self.turn_body(turn, TurnState::Running).row(self.id, turn.number, None);
        if let Err(error) = self.persist(Durability::Normal, vec![Change::Turn(row)]).await {
            self.give_up(&error).await;
        }
    }

    async fn finished(&mut self, text: String) {
        if self.is_concluded() {
            self.shared.live.settle(self.id);
            return self.step(Event::Answered(Asks::Nothing)).await;
        }
        let Some(turn) = &mut self.turn else { return };
        let number = turn.number;
        let thought = turn.blocks.finish();
        let parsed = protocol::parse(&text);
        turn.raw = Some(text);
        self.store_blocks(number, thought).await;
        self.shared.live.settle(self.id);
        let Some(turn) = &mut self.turn else { return };
        let event = match parsed {
            Ok(response) => {
                let asks = if response.questions.is_empty() { Asks::Nothing } else { Asks::Questions };
                turn.response = Some(response);
                // A person decides about a plan, as about any other question.
                let decides = self.turn.as_ref().is_some_and(|turn| self.finished_plan(turn).is_some());
                Event::Answered(if decides { Asks::Questions } else { asks })
            }
            Err(refusal) => {
                turn.refusal = Some(refusal);
                Event::Refused
            }
        };
        self.step(event).await;
    }

    async fn failed(&mut self, failure: Failure) {
        if let (FailureKind::Auth, Some(open)) = (&failure.kind, &mut self.open) {
            // A program may keep a login that was refused; the next turn starts another process.
            open.start_fingerprint = None;
        }
        let Some(turn) = &mut self.turn else { return };
        // What it said so far is all there is of it.
        let (number, ended) = (turn.number, turn.blocks.interlude());
        turn.failure.get_or_insert(failure);
        self.store_blocks(number, ended).await;
        self.shared.live.settle(self.id);
        self.step(Event::BackendLost).await;
    }

    /// Stores one fact about the turn in progress.
    pub(super) async fn tell(&mut self, fact: impl FnOnce(u32) -> Payload) {
        let Some(turn) = &mut self.turn else { return };
        let Some(payload) = turn.output_quota.admit(fact(turn.number)) else { return };
        self.staged.push(payload);
        if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
            self.give_up(&error).await;
        }
    }

    pub(super) async fn store_blocks(&mut self, turn: u32, ended: impl IntoIterator<Item = Ended>) {
        let before = self.staged.len();
        for block in ended {
            let Some(run) = &mut self.turn else { return };
            let payload = match block {
                Ended::Message(text) => {
                    run.said = Some(text.clone());
                    Payload::Message { turn, text }
                }
                Ended::Thought(text) => Payload::Thought { turn, text },
            };
            self.staged.extend(run.output_quota.admit(payload));
        }
        if self.staged.len() > before {
            self.shared.live.settle(self.id);
            if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
                self.give_up(&error).await;
            }
        }
    }

    /// Says something to the backend; one that is gone reports its own end.
    pub(super) async fn tell_backend(&self, command: BackendCommand) {
        if let Some(conversation) = &self.conversation {
            conversation.commands.send(command).await.ok();
        }
    }
}

/// Whether only a model that has heard the prompt makes a backend say this.
fn is_output(event: &BackendEvent) -> bool {
    match event {
        BackendEvent::Text { .. }
        | BackendEvent::Thought { .. }
        | BackendEvent::ToolStarted(_)
        | BackendEvent::ToolOutput { .. }
        | BackendEvent::ToolFinished { .. }
        | BackendEvent::Approval(_)
        | BackendEvent::ToolRequested(_)
        | BackendEvent::Plan(_)
        | BackendEvent::Final { .. } => true,
        BackendEvent::Started(_)
        | BackendEvent::ApprovalGone { .. }
        | BackendEvent::ToolRequestGone { .. }
        | BackendEvent::Usage(_)
        | BackendEvent::Retry { .. }
        | BackendEvent::Failed(_)
        | BackendEvent::Exited { .. } => false,
    }
}

pub(super) fn tool_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::Other => "other",
    }
}

fn plan_status(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Pending => "pending",
        PlanStatus::InProgress => "in_progress",
        PlanStatus::Completed => "completed",
    }
}

#[cfg(test)]
mod tests;
