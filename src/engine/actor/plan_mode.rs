//! The end of plan mode: the plan is shown, and a person decides whether it is carried out, kept, refined or dropped.
//!
//! A process in plan mode cannot change files, so an approved plan is carried out by a turn of its own.

use crate::api::event::{Payload, PromptAuthor};
use crate::permission::{Hold, Posture};
use crate::protocol;
use crate::session::Event;
use crate::store::Durability;
use crate::workflow::{self as plans, Course, NextPosture, Plan, PlanAction, PlanSource};

use super::super::fault::Fault;
use super::super::record::{PromptBody, ProposalRecord, QuestionCall, Switch};
use super::super::{clock, delegate, plan_mode, workflow};
use super::command::Place;
use super::question::Asked;
use super::{Actor, plan};

/// What a model is told whose plan is with the person already, or not wanted any more.
const OPEN: &str = "exit_plan_mode: the person is reading the plan; wait for what they decide";
const OVER: &str = "exit_plan_mode: plan mode is over already; end your turn";

impl Actor {
    /// `exit_plan_mode`: the plan in the plan file goes to a person. Without one there is nothing to decide.
    pub(super) async fn exit_plan_mode(&mut self, request: String) {
        let is_open = |call: &QuestionCall| call.proposal.is_some() && call.answer.is_none() && !call.expired;
        if self.record.body.calls.iter().any(is_open) {
            return self.answer_call(request, Err(OPEN.to_owned())).await;
        }
        if !plan_mode::is_on(&self.record) {
            return self.answer_call(request, Err(OVER.to_owned())).await;
        }
        let path = plan_mode::file(&self.shared, &self.record);
        let (file, from) = (path.display().to_string(), path.clone());
        let text = match on_disk(move || plan_mode::read(&from)).await {
            Ok(Some(text)) => text,
            Ok(None) => {
                self.tell(|_| Payload::Warning { message: plans::no_plan_notice(&file) }).await;
                return self.answer_call(request, Err(plans::no_plan(&file))).await;
            }
            Err(fault) => return self.answer_call(request, Err(delegate::text(fault))).await,
        };
        let Some(turn) = &self.turn else { return };
        let id = format!("p_{}-{}", self.id, self.record.body.asked + 1);
        let plan = Plan::new(id, &text, &turn.task.text, PlanSource::Turn(turn.number));
        if let Err(fault) = workflow::keep_plan(&self.shared, &self.record, &plan).await {
            return self.answer_call(request, Err(delegate::text(fault))).await;
        }
        self.ask(Asked {
            request,
            text: plans::card(&plan),
            options: plans::plan_actions(),
            multiple: false,
            plan: None,
            // What the person saw is what they decide about, whatever becomes of the file.
            proposal: Some(ProposalRecord { id: plan.id, title: plan.title, markdown: plan.markdown }),
            call_hash: String::new(),
        })
        .await;
    }

    /// A person decided about the plan of a session in plan mode. What stands in the way is told to that person, who
    /// can decide again.
    pub(super) async fn proposal_decided(
        &mut self,
        call: QuestionCall,
        proposal: ProposalRecord,
        action: PlanAction,
        answer: String,
    ) -> Result<(), Fault> {
        let ProposalRecord { id, title, markdown } = proposal;
        let plan = Plan { id, title, markdown, source: PlanSource::Turn(self.record.body.turns) };
        if action == PlanAction::Later {
            self.keep_for_later(&plan).await?;
        }
        workflow::decide_plan(&self.shared, &self.record, &plan.id, action.word(), None).await?;
        let posture = self.posture_of(action.posture()).await;
        let decision = Decision { plan, action, answer, posture };
        match (decision.action.course(), call.expired) {
            (Course::GoesOn, false) => self.refine(call, decision).await,
            (Course::Ends | Course::HandsOver, false) => self.conclude(call, decision).await,
            (Course::GoesOn | Course::Ends | Course::HandsOver, true) => self.decided_late(call, decision).await,
        }
    }

    /// The turn goes on planning.
    async fn refine(&mut self, call: QuestionCall, decision: Decision) -> Result<(), Fault> {
        let told = decision.action.told();
        if let Some(open) = self.record.body.calls.iter_mut().find(|open| open.id == call.id) {
            open.answer = Some(told.clone());
        }
        let answer = decision.answer;
        self.staged.push(Payload::QuestionAnswered { index: 0, answer, call: Some(call.id) });
        self.call_done(call.request, Ok(told.into())).await;
        Ok(())
    }

    /// The turn ends with the decision, and its answer is the plan.
    async fn conclude(&mut self, call: QuestionCall, decision: Decision) -> Result<(), Fault> {
        let (told, answer) = (decision.action.told(), decision.action.answer(&decision.plan));
        self.settle_plan(&call, &decision).await?;
        if let Some(turn) = &mut self.turn {
            turn.response = Some(protocol::Response { answer, questions: Vec::new(), summary: None });
        }
        self.answer_call(call.request, Ok(told.into())).await;
        self.step(Event::Conclude).await;
        self.drop_plan_file(&decision).await;
        Ok(())
    }

    /// The turn that showed the plan is gone: a decision that needs one begins another.
    async fn decided_late(&mut self, call: QuestionCall, decision: Decision) -> Result<(), Fault> {
        self.settle_plan(&call, &decision).await?;
        self.drop_plan_file(&decision).await;
        self.start().await;
        Ok(())
    }

    /// Stores the decision with all that follows from it: one fact, so that no restart finds half of it. A store that
    /// refuses leaves the card open.
    async fn settle_plan(&mut self, call: &QuestionCall, decision: &Decision) -> Result<(), Fault> {
        let Decision { plan, action, answer, posture } = decision;
        let (before, kept) = ((self.state, self.record.body.clone()), self.unsaved.len());
        let answered = Payload::QuestionAnswered { index: 0, answer: answer.clone(), call: Some(call.id.clone()) };
        self.staged.push(answered);
        let body = &mut self.record.body;
        body.calls.retain(|open| open.id != call.id);
        (body.plan_mode.concluded, body.unfinished) = (Some(body.turns), false);
        if *action == PlanAction::Later {
            body.plan_mode.kept_at = Some(clock::now());
        }
        self.leave_plan_mode(*posture);
        let prompt = match action {
            PlanAction::AcceptEdits | PlanAction::KeepAsking => Some(plan.apply_prompt()),
            PlanAction::KeepPlanning(wish) => Some(plans::refine_prompt(plan, wish.as_deref())),
            PlanAction::Later | PlanAction::Stop => None,
        };
        let stored = match prompt {
            Some(text) => {
                let prompt = PromptBody {
                    text,
                    switch: self.hand_over(action),
                    author: PromptAuthor::Coppice,
                    ..PromptBody::default()
                };
                self.queue(prompt, Place::First).await
            }
            None => {
                if call.expired {
                    let text = action.answer(plan);
                    self.staged.push(Payload::Message { turn: self.record.body.turns, text });
                    self.state = crate::session::step(self.state, Event::Settle).map_or(self.state, |(next, _)| next);
                }
                self.persist(Durability::Full, Vec::new()).await.map_err(Fault::from)
            }
        };
        if stored.is_err() {
            (self.state, self.record.body) = before;
            self.forget_refused(kept);
        }
        stored
    }

    /// Who carries the plan out: whoever made it, unless that is somebody who only plans.
    fn hand_over(&self, action: &PlanAction) -> Switch {
        let is_planner = self.record.body.agent.id == workflow::PLANNER;
        match action.course() {
            Course::HandsOver if is_planner => {
                Switch { agent: Some((plans::ENGINEER.to_owned(), None)), ..Switch::default() }
            }
            Course::HandsOver | Course::GoesOn | Course::Ends => Switch::default(),
        }
    }

    /// Whether what a person decided ends the turn in progress, whatever its agent still says.
    pub(super) fn is_concluded(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| self.record.body.plan_mode.concluded == Some(turn.number))
    }

    /// The posture in which a planner's plan is carried out, if it is another one: a key of the card names it, and
    /// nothing is carried out in plan mode.
    pub(super) async fn posture_to_apply(&self, answer: &str) -> Option<Posture> {
        let is_planning = self.record.body.posture.posture() == Posture::Plan;
        let wanted = plans::key(answer).map(|action| action.posture());
        match wanted.or(is_planning.then_some(NextPosture::Former)) {
            Some(next) => self.posture_of(next).await,
            None => None,
        }
    }

    async fn posture_of(&self, next: NextPosture) -> Option<Posture> {
        match next {
            NextPosture::Plan => None,
            NextPosture::Attended => Some(Posture::Attended),
            NextPosture::Edits => Some(Posture::Edits),
            NextPosture::Former => {
                let hold = if self.record.body.reach.enforced { Hold::Enforced } else { Hold::Advisory };
                let before = self.record.body.plan_mode.before.as_deref();
                Some(plan_mode::former(before, &self.config().await, hold))
            }
        }
    }

    /// Changes the posture with what is stored next.
    pub(super) fn leave_plan_mode(&mut self, posture: Option<Posture>) {
        let record = &mut self.record.body.posture;
        let Some(word) = posture.map(Posture::as_str).filter(|word| *word != record.word) else { return };
        record.word = word.to_owned();
        let changed = Payload::PostureChanged { posture: word.to_owned(), yolo: record.yolo };
        self.staged.push(changed);
    }

    /// The plan waits as the person read it.
    async fn keep_for_later(&self, plan: &Plan) -> Result<(), Fault> {
        let directory = plan_mode::directory(&self.shared, &self.record.project);
        let (name, text) = (format!("{}.md", plan_mode::name(&self.record)), format!("{}\n", plan.markdown));
        on_disk(move || plan::write_kept(&directory, &name, &text)).await
    }

    /// A plan that was carried out or dropped is not found in its file when the next one is made.
    async fn drop_plan_file(&self, decision: &Decision) {
        match decision.action {
            PlanAction::KeepPlanning(_) => return,
            // What is kept for later lies where no agent writes.
            PlanAction::Later | PlanAction::AcceptEdits | PlanAction::KeepAsking | PlanAction::Stop => {}
        }
        let path = plan_mode::file(&self.shared, &self.record);
        if let Err(fault) = on_disk(move || plan_mode::discard(&path)).await {
            tracing::warn!(session = %self.id, %fault, "the file of a decided plan stays");
        }
    }
}

async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await?
}

/// A decision on its way into the store.
struct Decision {
    plan: Plan,
    action: PlanAction,
    /// As the person said it.
    answer: String,
    /// Where the session goes from here, if it leaves plan mode.
    posture: Option<Posture>,
}
