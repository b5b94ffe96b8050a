//! Calls that are decided about like the agent's own and then made by us: work of the served tools, and tools of external
//! servers.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::tools::Work;
use crate::tools::external::ExternalTool;

use super::super::delegate::{News, What};
use super::super::record::{CallOrigin, DecisionRecord};
use super::super::work::{self, Allowed, Consent, Wider};
use super::Actor;
use super::approval::{self, Asked, Ruling};
use super::passed::CardOf;

/// A call that a person decides about.
pub(super) struct Held {
    pub(super) request: String,
    act: Act,
    /// By whom it is, should it be allowed.
    pub(super) allowed: Allowed,
}

/// What is done once a call is allowed.
pub(super) enum Act {
    External {
        tool: Box<ExternalTool>,
        arguments: Value,
    },
    Work(Box<Work>),
    /// It is under way already, and waits to hear.
    Widened(oneshot::Sender<Result<(), String>>),
}

impl Actor {
    /// The model calls a tool that works on files, commands, code, history or GitHub.
    pub(super) async fn work_called(&mut self, request: String, tool: String, work: Work, arguments: &Value) {
        let tree = PathBuf::from(&self.record.body.worktree);
        let work = match work.settled(&tree) {
            Ok(work) => work,
            Err(text) => return self.answer_call(request, Err(text)).await,
        };
        let asked = Asked {
            request,
            reach: work.reach(&tree),
            kind: tool.clone(),
            title: work.title(),
            preview: work.preview(),
            call_hash: approval::hash([&tool, &arguments.to_string()]),
            origin: CallOrigin::Served,
            card: CardOf::Served { tool: tool.clone(), arguments: arguments.clone() },
            tool,
        };
        self.decide_and_act(asked, Act::Work(Box::new(work))).await;
    }

    /// Performs a call, refuses it, or has a person decide.
    pub(super) async fn decide_and_act(&mut self, asked: Asked, act: Act) {
        let request = asked.request.clone();
        match self.rule(asked).await {
            Ruling::Allow(allowed) => self.act(request, act, allowed),
            Ruling::Deny(text) => self.refuse(request, act, text).await,
            Ruling::Pending => self.calls.held.push(Held { request, act, allowed: Allowed::ByPerson }),
        }
    }

    /// A call that was allowed reaches more than it named.
    pub(super) async fn call_widened(&mut self, request: String, wider: Wider) {
        let Wider { tool, reach, title, preview, answer } = wider;
        let asked = Asked {
            request,
            reach,
            kind: tool.clone(),
            call_hash: approval::hash([&tool, &title, &preview]),
            title,
            preview,
            origin: CallOrigin::Served,
            card: CardOf::Told,
            tool,
        };
        self.decide_and_act(asked, Act::Widened(answer)).await;
    }

    /// A person has decided about a call that waits here.
    pub(super) async fn call_decided(&mut self, request: String, decision: DecisionRecord) {
        let Some(held) = self.calls.take_held(&request) else { return };
        match decision {
            DecisionRecord::Allow => self.act(request, held.act, held.allowed),
            DecisionRecord::Deny { message } => {
                let text = message.unwrap_or_else(|| "The user refused this tool call.".to_owned());
                self.refuse(request, held.act, text).await;
            }
        }
    }

    fn act(&mut self, request: String, act: Act, allowed: Allowed) {
        match act {
            Act::External { tool, arguments } => self.call_external(request, *tool, arguments),
            Act::Work(work) => self.work(request, *work, allowed),
            // Whoever asked may be gone, with the call.
            Act::Widened(answer) => {
                answer.send(Ok(())).ok();
            }
        }
    }

    /// Ends the calls of the turn and what works for them: nothing of it writes while the files are put away.
    pub(super) async fn end_served(&mut self) {
        self.calls.clear();
        if let Some(bench) = self.turn.as_ref().map(|turn| Arc::clone(&turn.bench)) {
            bench.end().await;
        }
    }

    async fn refuse(&mut self, request: String, act: Act, text: String) {
        match act {
            Act::External { .. } | Act::Work(_) => self.answer_call(request, Err(text)).await,
            // The call itself answers, unless it is gone.
            Act::Widened(answer) => {
                answer.send(Err(text)).ok();
            }
        }
    }

    fn work(&mut self, request: String, work: Work, allowed: Allowed) {
        let cancel = CancellationToken::new();
        let Some(caller) = self.caller(cancel.clone()) else { return };
        let Some(bench) = self.turn.as_ref().map(|turn| Arc::clone(&turn.bench)) else { return };
        self.calls.open(&request, cancel);
        let (shared, sender) = (self.shared.clone(), self.calls.sender());
        let changing = bench.enter(&work);
        let consent = Consent { allowed, request: request.clone(), title: work.title(), news: sender.clone() };
        self.shared.tasks.spawn(async move {
            let outcome = work::perform(&shared, &caller, &bench, &consent, work).await;
            drop(changing);
            // A turn that is over hears nothing.
            sender.send(News { request, what: What::Done(outcome) }).await.ok();
        });
    }
}
