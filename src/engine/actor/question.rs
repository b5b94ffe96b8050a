//! Questions in the middle of a turn: asked by a tool, answered by a person, remembered across a restart.

use serde_json::Value;

use crate::api::event::Payload;
use crate::api::session::AskedQuestion;
use crate::config::family::BackgroundApprovals;
use crate::session::{Event, Wait};
use crate::store::Durability;
use crate::tools::{Choice, Question};

use super::super::clock;
use super::super::fault::Fault;
use super::super::record::{ChildHold, QuestionCall};
use super::super::settings::hash;
use super::{Actor, command};

/// What a child that nobody watches is told instead of an answer.
const NOBODY: &str =
    "nobody is there to answer a background agent; decide yourself, and say in your report what you assumed";

impl Actor {
    /// The model asks a person and waits for the answer.
    pub(super) async fn question_called(&mut self, request: String, question: Question, arguments: &Value) {
        if self.asks_nobody() {
            return self.answer_call(request, Err(NOBODY.to_owned())).await;
        }
        if question.purpose.as_deref() == Some(crate::workflow::SAVE_PLAN) {
            return self.plan_shown(request, &question).await;
        }
        let Question { text, options, choice, purpose } = question;
        let call_hash = hash(&arguments.to_string());
        let calls = &mut self.record.body.calls;
        let carried = calls.iter().position(|old| old.expired && old.answer.is_some() && old.call_hash == call_hash);
        if let Some(answer) = carried.and_then(|at| calls.remove(at).answer) {
            // A person answered while the daemon was away; the answer is used once.
            if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
                return self.give_up(&error).await;
            }
            return self.answer_call(request, Ok(answer)).await;
        }
        let multiple = choice == Choice::Several;
        self.ask(Asked { request, text, options, multiple, purpose, call_hash }).await;
    }

    /// Opens a question that a call waits for.
    pub(super) async fn ask(&mut self, asked: Asked) {
        let Asked { request, text, options, multiple, purpose, call_hash } = asked;
        let Some(turn) = &mut self.turn else { return };
        let number = turn.number;
        let ended = turn.blocks.interlude();
        self.store_blocks(number, ended).await;
        self.record.body.asked += 1;
        let id = self.record.body.asked.to_string();
        let questions = vec![AskedQuestion { text: text.clone(), options: options.clone() }];
        self.staged.push(Payload::QuestionAsked { turn: number, questions, call: Some(id.clone()) });
        let asked_at = clock::now();
        self.hold_call(request.clone());
        self.record.body.calls.push(QuestionCall {
            id,
            request,
            text,
            options,
            multiple,
            purpose,
            asked_at,
            call_hash,
            expired: false,
            answer: None,
        });
        self.step(Event::Waits(Wait::Question)).await;
    }

    fn asks_nobody(&self) -> bool {
        let is_background = self.record.body.child.as_ref().is_some_and(|child| child.hold == ChildHold::Background);
        let denies = |turn: &super::TurnRun| turn.config.delegation.background_approvals == BackgroundApprovals::Deny;
        is_background && self.turn.as_ref().is_some_and(denies)
    }

    /// Answers the questions that the turn waits for, in their order. What is left over answers nothing.
    pub(super) async fn answer_calls(&mut self, answers: Vec<String>) -> Result<(), Fault> {
        let open: Vec<_> =
            self.record.body.calls.iter().filter(|call| call.answer.is_none()).map(|call| call.id.clone()).collect();
        if answers.len() > open.len() {
            return Err(Fault::TooManyAnswers { id: self.id, asked: open.len(), given: answers.len() });
        }
        for (id, given) in open.into_iter().zip(answers) {
            self.answer_one(&id, &given).await?;
        }
        Ok(())
    }

    async fn answer_one(&mut self, id: &str, given: &str) -> Result<(), Fault> {
        let Some(call) = self.record.body.calls.iter_mut().find(|call| call.id == id) else { return Ok(()) };
        let answer = match call.multiple {
            true => given.split(',').map(|part| command::chosen(&call.options, part)).collect::<Vec<_>>().join(", "),
            false => command::chosen(&call.options, given),
        };
        call.answer = Some(answer.clone());
        let (request, expired, purpose) = (call.request.clone(), call.expired, call.purpose.clone());
        self.staged.push(Payload::QuestionAnswered { index: 0, answer: answer.clone(), call: Some(id.to_owned()) });
        if expired {
            self.persist(Durability::Full, Vec::new()).await?;
            return self.resume_if_interrupted().await;
        }
        self.record.body.calls.retain(|call| call.id != id);
        let outcome = match purpose.as_deref().and_then(|purpose| purpose.strip_prefix(super::plan::HANDOFF_PLAN)) {
            Some(handoff) => self.handoff_plan_decided(handoff, &answer).await,
            None => Ok(answer),
        };
        self.call_done(request, outcome).await;
        Ok(())
    }

    /// The call behind a question is not waited for any more.
    pub(super) async fn question_gone(&mut self, request: &str) {
        let calls = &mut self.record.body.calls;
        let Some(at) = calls.iter().position(|call| call.request == request && !call.expired) else { return };
        let gone = calls.remove(at);
        self.staged.push(Payload::QuestionGone { call: gone.id, outcome: "cancelled".to_owned() });
    }

    /// Tells that the open questions are over, one way or the other.
    pub(super) fn settle_questions(&mut self, outcome: &str) {
        let open = self.record.body.calls.iter().filter(|call| call.answer.is_none() && !call.expired);
        self.staged
            .extend(open.map(|call| Payload::QuestionGone { call: call.id.clone(), outcome: outcome.to_owned() }));
    }
}

/// A question on its way to a person.
pub(super) struct Asked {
    pub(super) request: String,
    pub(super) text: String,
    pub(super) options: Vec<String>,
    pub(super) multiple: bool,
    pub(super) purpose: Option<String>,
    pub(super) call_hash: String,
}
