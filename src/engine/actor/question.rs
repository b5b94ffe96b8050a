//! Questions in the middle of a turn: asked by a tool, answered by a person, remembered across a restart.

use serde_json::Value;

use crate::api::event::Payload;
use crate::api::session::AskedQuestion;
use crate::config::family::BackgroundApprovals;
use crate::session::{Event, Wait};
use crate::store::Durability;
use crate::tools::{Alternative, Choice, Question};
use crate::workflow::{PlanAction, PlanDecision, read_action, read_decision};

use super::super::clock;
use super::super::fault::Fault;
use super::super::record::{ChildHold, ProposalRecord, QuestionCall};
use super::super::settings::hash;
use super::plan::Decided;
use super::{Actor, command, plan};

/// What a child that nobody watches is told instead of an answer.
const NOBODY: &str =
    "nobody is there to answer a background agent; decide yourself, and say in your report what you assumed";

impl Actor {
    /// The model asks a person and waits for the answer.
    pub(super) async fn question_called(&mut self, request: String, question: Question, arguments: &Value) {
        // The end of the turn hands a plan over; nobody is asked before that.
        if question.purpose.as_deref() == Some(crate::workflow::SAVE_PLAN) {
            return self.plan_shown(request, &question).await;
        }
        if self.asks_nobody() {
            return self.answer_call(request, Err(NOBODY.to_owned())).await;
        }
        // Any other purpose is the model's own word and means nothing here.
        let Question { text, options, choice, purpose: _ } = question;
        let options = options.iter().map(Alternative::shown).collect();
        let call_hash = hash(&arguments.to_string());
        let calls = &mut self.record.body.calls;
        let carried = calls.iter().position(|old| old.expired && old.answer.is_some() && old.call_hash == call_hash);
        if let Some(answer) = carried.and_then(|at| calls.remove(at).answer) {
            // A person answered while the daemon was away; the answer is used once.
            if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
                return self.give_up(&error).await;
            }
            return self.answer_call(request, Ok(answer.into())).await;
        }
        let multiple = choice == Choice::Several;
        self.ask(Asked { request, text, options, multiple, plan: None, proposal: None, call_hash }).await;
    }

    /// Opens a question that a call waits for.
    pub(super) async fn ask(&mut self, asked: Asked) {
        let Asked { request, text, options, multiple, plan, proposal, call_hash } = asked;
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
            plan,
            proposal,
            asked_at,
            call_hash,
            expired: false,
            answer: None,
        });
        self.step(Event::Waits(Wait::Question)).await;
    }

    /// Whether this is a child that nobody watches.
    pub(super) fn asks_nobody(&self) -> bool {
        let is_background = self.record.body.child.as_ref().is_some_and(|child| child.hold == ChildHold::Background);
        let denies = |turn: &super::TurnRun| turn.config.delegation.background_approvals == BackgroundApprovals::Deny;
        is_background && self.turn.as_ref().is_some_and(denies)
    }

    /// Answers the questions that the turn waits for, in their order. What is left over answers nothing.
    pub(super) async fn answer_calls(&mut self, answers: Vec<String>) -> Result<(), Fault> {
        let open: Vec<_> = self.record.body.calls.iter().filter(|call| call.answer.is_none()).collect();
        if answers.len() > open.len() {
            return Err(Fault::TooManyAnswers { id: self.id, asked: open.len(), given: answers.len() });
        }
        // One that cannot be read is the person's to mend, so all are read before the first is taken.
        let given =
            open.into_iter().zip(&answers).map(|(call, given)| Ok((call.id.clone(), Given::read(call, given)?)));
        for (id, given) in given.collect::<Result<Vec<_>, Fault>>()? {
            self.answer_one(&id, given).await?;
        }
        Ok(())
    }

    async fn answer_one(&mut self, id: &str, given: Given) -> Result<(), Fault> {
        let (answer, told, result) = match given {
            Given::Words(answer) => (answer.clone(), answer.clone(), answer),
            Given::Plan { handoff, decision, answer } => {
                let Decided { told, result } = self.handoff_plan_decided(&handoff, decision).await?;
                (answer, told, result)
            }
            Given::Proposal { proposal, action, answer } => {
                let call = self.record.body.calls.iter().find(|call| call.id == id).cloned();
                let Some(call) = call else { return Ok(()) };
                return self.proposal_decided(call, proposal, action, answer).await;
            }
        };
        let Some(call) = self.record.body.calls.iter_mut().find(|call| call.id == id) else { return Ok(()) };
        call.answer = Some(told);
        let (request, expired) = (call.request.clone(), call.expired);
        self.staged.push(Payload::QuestionAnswered { index: 0, answer, call: Some(id.to_owned()) });
        if expired {
            // It waits in the record for the turn that goes on.
            self.persist(Durability::Full, Vec::new()).await?;
            return self.resume_if_interrupted().await;
        }
        self.call_done(request, Ok(result.into())).await;
        Ok(())
    }

    /// The call behind a question is not waited for any more.
    pub(super) async fn question_gone(&mut self, request: &str) {
        let calls = &mut self.record.body.calls;
        let Some(at) = calls.iter().position(|call| call.request == request && !call.expired) else { return };
        let gone = calls.remove(at);
        if gone.answer.is_none() {
            self.staged.push(Payload::QuestionGone { call: gone.id, outcome: "cancelled".to_owned() });
        }
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
    /// The handoff whose plan is decided.
    pub(super) plan: Option<String>,
    /// The plan of this session that is decided.
    pub(super) proposal: Option<ProposalRecord>,
    pub(super) call_hash: String,
}

/// What a person said, once it makes sense.
#[derive(Debug, PartialEq, Eq)]
enum Given {
    Words(String),
    Plan { handoff: String, decision: PlanDecision, answer: String },
    Proposal { proposal: ProposalRecord, action: PlanAction, answer: String },
}

impl Given {
    fn read(call: &QuestionCall, given: &str) -> Result<Self, Fault> {
        let answer = match call.multiple {
            true => given.split(',').map(|part| command::chosen(&call.options, part)).collect::<Vec<_>>().join(", "),
            false => command::chosen(&call.options, given),
        };
        if let Some(proposal) = call.proposal.clone() {
            let action = read_action(&answer).map_err(|reason| Fault::BadDecision { reason })?;
            return Ok(Given::Proposal { proposal, action, answer });
        }
        let Some(handoff) = call.plan.clone() else { return Ok(Given::Words(answer)) };
        let decision = read_decision(&answer, plan::offered(&call.options));
        Ok(Given::Plan { handoff, decision: decision.map_err(|reason| Fault::BadDecision { reason })?, answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(plan: Option<&str>, options: &[&str]) -> QuestionCall {
        QuestionCall {
            id: "1".into(),
            request: "r".into(),
            text: "?".into(),
            options: options.iter().map(|option| option.to_string()).collect(),
            multiple: false,
            plan: plan.map(str::to_owned),
            proposal: None,
            asked_at: 0,
            call_hash: String::new(),
            expired: false,
            answer: None,
        }
    }

    #[test]
    fn only_a_question_of_the_engine_decides_about_a_plan() {
        let all = ["Save plan", "Apply plan", "Revise plan", "Stop"];
        let read = |plan, options: &[&str], given| match Given::read(&call(plan, options), given) {
            Ok(Given::Words(answer)) => answer,
            Ok(Given::Plan { handoff, decision, .. }) => format!("{handoff} {decision:?}"),
            Ok(Given::Proposal { proposal, action, .. }) => format!("{} {action:?}", proposal.id),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(read(None, &all, "2"), "Apply plan");
        assert_eq!(read(None, &all, "7"), "7");
        assert_eq!(read(Some("h_1"), &all, "2"), "h_1 Apply");
        assert_eq!(read(Some("h_1"), &all, "shorter"), "h_1 Revise(Some(\"shorter\"))");
        assert!(read(Some("h_1"), &all, "7").contains("`7` is not one of the 4 options"));
        let proposal = Some(ProposalRecord { id: "p_1".into(), title: "T".into(), markdown: "# T".into() });
        let card = QuestionCall { proposal, ..call(None, &[]) };
        let decided = |given| match Given::read(&card, given) {
            Ok(Given::Proposal { action, .. }) => format!("{action:?}"),
            Ok(other) => format!("{other:?}"),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(
            (decided("A"), decided("smaller")),
            ("AcceptEdits".into(), "KeepPlanning(Some(\"smaller\"))".into())
        );
        assert!(decided("y").contains("`y` is none of"));
        let withheld = ["Save plan", "Revise plan", "Stop"];
        assert_eq!(read(Some("h_1"), &withheld, "2"), "h_1 Revise(None)");
        assert!(read(Some("h_1"), &withheld, "Apply plan").contains("the session is read-only"));
    }
}
