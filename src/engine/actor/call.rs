//! Calls of the tools that Coppice serves: checked against what the turn has, performed beside the session's task, and
//! answered when the turn may go on.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::api::event::{Payload, PlanEntry};
use crate::backend::event::{Command as BackendCommand, ToolOutput, ToolRequest};
use crate::delegation::DEPTH_REACHED;
use crate::session::{Event, Wait};
use crate::tools::{self, Answer, Image, Request};

use super::super::agents::role;
use super::super::delegate::{self, Caller, News, What};
use super::super::work::Allowed;
use super::Actor;
use super::work::Held;

/// How many pieces of news of the calls may wait.
const NEWS: usize = 128;

/// The served calls of one turn.
pub(super) struct Calls {
    open: Vec<OpenCall>,
    /// Calls that a person decides about first.
    pub(super) held: Vec<Held>,
    sender: mpsc::Sender<News>,
    news: mpsc::Receiver<News>,
}

/// A served call that is not answered.
struct OpenCall {
    request: String,
    /// What it waits for, once it does.
    waits: Option<Wait>,
    /// The answer, while the turn waits for a slot.
    ready: Option<Result<Answer, String>>,
    /// Whoever performs it stops waiting when this goes.
    _cancel: Option<DropGuard>,
}

impl Calls {
    pub(super) fn new() -> Self {
        let (sender, news) = mpsc::channel(NEWS);
        Self { open: Vec::new(), held: Vec::new(), sender, news }
    }

    pub(super) async fn next(&mut self) -> News {
        match self.news.recv().await {
            Some(news) => news,
            // The sender is held here as well, so this never comes.
            None => std::future::pending().await,
        }
    }

    /// Forgets all calls: their turn is over.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Opens a call that is performed beside the session's task until `cancel` says that nobody waits for it.
    pub(super) fn open(&mut self, request: &str, cancel: CancellationToken) {
        let request = request.to_owned();
        self.open.push(OpenCall { request, waits: None, ready: None, _cancel: Some(cancel.drop_guard()) });
    }

    /// Where news of the calls go.
    pub(super) fn sender(&self) -> mpsc::Sender<News> {
        self.sender.clone()
    }

    /// Takes out a call that a person decided about.
    pub(super) fn take_held(&mut self, request: &str) -> Option<Held> {
        let at = self.held.iter().position(|held| held.request == request)?;
        Some(self.held.swap_remove(at))
    }

    /// A call that waits for a person is decided by a rule after all.
    pub(super) fn decided_by_rule(&mut self, request: &str) {
        if let Some(held) = self.held.iter_mut().find(|held| held.request == request) {
            held.allowed = Allowed::ByRule;
        }
    }

    fn find(&mut self, request: &str) -> Option<&mut OpenCall> {
        self.open.iter_mut().find(|call| call.request == request)
    }

    fn take(&mut self, request: &str) -> Option<OpenCall> {
        let at = self.open.iter().position(|call| call.request == request)?;
        Some(self.open.swap_remove(at))
    }
}

impl Actor {
    /// The model calls a served tool.
    pub(super) async fn tool_requested(&mut self, call: ToolRequest) {
        let ToolRequest { request, tool, arguments } = call;
        let Some(role) = self.turn.as_ref().and_then(|turn| turn.role.clone()) else {
            return self.answer_call(request, Err(format!("no tool is called `{tool}`"))).await;
        };
        // It is not in the list that the model was given; a model that calls it all the same is refused here.
        if !role.served.iter().any(|served| served.name == tool) {
            let text = self.unavailable(&tool, &role.id);
            return self.answer_call(request, Err(text)).await;
        }
        if let Some(external) = role.external.iter().find(|external| external.name == tool) {
            return self.external_called(request, external.clone(), arguments).await;
        }
        match tools::parse(&tool, &arguments) {
            Err(text) => self.answer_call(request, Err(text)).await,
            Ok(Request::Question(question)) => self.question_called(request, question, &arguments).await,
            Ok(Request::ExitPlanMode) => self.exit_plan_mode(request).await,
            Ok(Request::TodoWrite(todos)) => {
                let entry = |todo: &crate::workflow::Todo| PlanEntry {
                    content: todo.content.clone(),
                    status: todo.status.word().to_owned(),
                };
                let (entries, text) = (todos.iter().map(entry).collect(), crate::workflow::todo_text(&todos));
                self.tell(|turn| Payload::PlanUpdated { turn, entries }).await;
                self.answer_call(request, Ok(text.into())).await;
            }
            Ok(Request::Work(work)) => self.work_called(request, tool, work, &arguments).await,
            Ok(asked) => {
                let cancel = CancellationToken::new();
                let Some(caller) = self.caller(cancel.clone()) else { return };
                self.calls.open(&request, cancel);
                let (shared, sender) = (self.shared.clone(), self.calls.sender());
                // It is not bound to the turn: what it has begun to make must not be left half made.
                self.shared.tasks.spawn(delegate::perform(shared, caller, request, asked, sender));
            }
        }
    }

    /// Why a tool is not there. A child that would hand its work on is told to do it.
    fn unavailable(&self, tool: &str, agent: &str) -> String {
        let hands_on = self.turn.as_ref().is_some_and(|turn| role::facade(&turn.config).name() == tool);
        match (&self.record.body.child, hands_on) {
            (Some(_), true) => DEPTH_REACHED.to_owned(),
            (Some(_), false) | (None, _) => format!("tool `{tool}` is not available to agent `{agent}`"),
        }
    }

    pub(super) fn caller(&self, cancel: CancellationToken) -> Option<Caller> {
        let turn = self.turn.as_ref()?;
        let registry = self.shared.settings.registry(&turn.config);
        let hold = registry.get(&self.record.body.backend).map(|spec| spec.hold).unwrap_or_default();
        Some(Caller {
            record: self.record.clone(),
            turn: turn.number,
            role: turn.role.clone()?,
            config: Arc::clone(&turn.config),
            hold,
            cancel,
        })
    }

    /// News of a call that is performed beside this task.
    pub(super) async fn call_news(&mut self, news: News) {
        let News { request, what } = news;
        let Some(call) = self.calls.find(&request) else { return };
        match what {
            What::Waits => {
                call.waits = Some(Wait::Child);
                self.step(Event::Waits(Wait::Child)).await;
            }
            What::Done(outcome) => self.call_done(request, outcome).await,
            What::Plan(handoff) => self.handoff_plan(request, *handoff).await,
            What::Wider(wider) => self.call_widened(request, *wider).await,
        }
    }

    /// The answer to a call is there: it goes out at once, or when the turn holds a slot again.
    pub(super) async fn call_done(&mut self, request: String, outcome: Result<Answer, String>) {
        let Some(call) = self.calls.find(&request) else { return };
        match call.waits {
            None => {
                self.calls.take(&request);
                self.answer_call(request, outcome).await;
            }
            Some(wait) => {
                call.ready = Some(outcome);
                self.step(Event::Settled(wait)).await;
            }
        }
    }

    /// Keeps a call open that waits for a person.
    pub(super) fn hold_call(&mut self, request: String) {
        match self.calls.find(&request) {
            Some(call) => call.waits = Some(Wait::Question),
            None => {
                let waits = Some(Wait::Question);
                self.calls.open.push(OpenCall { request, waits, ready: None, _cancel: None });
            }
        }
    }

    /// Hands out the answers that are there.
    pub(super) async fn deliver_results(&mut self) {
        let ready: Vec<_> = self.calls.open.extract_if(.., |call| call.ready.is_some()).collect();
        for call in ready {
            if let Some(outcome) = call.ready {
                self.answer_call(call.request, outcome).await;
            }
        }
    }

    /// The model, or its program, does not wait for a call any more. The child of a delegation goes on: its handoff is
    /// there for whoever asks.
    pub(super) async fn tool_request_gone(&mut self, request: &str) {
        self.question_gone(request).await;
        self.calls.take_held(request);
        self.approval_gone(request).await;
        let Some(call) = self.calls.take(request) else { return };
        if let (Some(wait), None) = (call.waits, &call.ready) {
            self.step(Event::Withdrawn(wait)).await;
        }
    }

    pub(super) async fn answer_call(&mut self, request: String, outcome: Result<Answer, String>) {
        let outcome = outcome.map(output);
        self.tell_backend(BackendCommand::ToolResult { request, outcome }).await;
    }
}

/// What an agent is handed.
fn output(answer: Answer) -> ToolOutput {
    let shown = |output: ToolOutput, image: Image| output.with_image(image.mime, STANDARD.encode(image.bytes));
    answer.images.into_iter().fold(ToolOutput::from(answer.text), shown)
}
