//! Writing a session's state down, and what happens when the store refuses.

use std::time::Duration;

use tokio::time::Instant;
use tracing::info;

use crate::api::event::{Live, Payload};
use crate::api::session::{AskedQuestion, Status, TurnError, TurnState};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::{login, remedy};
use crate::permission::Level;
use crate::session::{Fact, Outcome, Rest, Session};
use crate::store::{Change, Durability, StoreError, Write};
use crate::tools::Planning;

use super::super::prepare::captured_environment;
use super::super::record::{ChildAccess, QuestionRecord, TurnBody};
use super::super::{clock, commit_retry, naming, shared, view};
use super::Actor;
use super::child::TurnOver;
use super::turn::TurnRun;

/// How long a store that refuses writes is left alone, at first and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

impl Actor {
    /// Writes the state with what is staged and the given changes, all or nothing.
    pub(super) async fn persist(&mut self, durability: Durability, changes: Vec<Change>) -> Result<(), StoreError> {
        self.shared.live.flush(self.id);
        let before = self.record.status;
        let stale_proposal = self.take_stale_proposal();
        let ends_with_waits = self.closing.is_some() && self.record.outlives();
        self.record.settle(self.state, if ends_with_waits { self.record.updated_at } else { clock::now() });
        let waits = matches!(self.state, Session::Attached(_)) && self.go_on && !self.record.body.order.is_empty();
        if std::mem::take(&mut self.follows) || waits {
            self.record.status = Status::Queued;
        }
        self.timing.follow(self.state, Instant::now());
        let mut all = std::mem::take(&mut self.unsaved);
        // Only the last state of the session counts; events that could not be stored come before it.
        all.retain(|change| !matches!(change, Change::Session(_)));
        all.push(Change::Session(self.record.row()));
        all.extend(self.handoff_changes());
        all.extend(changes);
        let staged = std::mem::take(&mut self.staged);
        self.warnings.extend(staged.iter().filter_map(Payload::warning).map(str::to_owned));
        all.extend(staged.iter().map(|payload| shared::event(self.id, payload)));
        match self.shared.store.write(Write { durability, changes: all.clone() }).await {
            Ok(_) => {
                self.timing.retry = None;
                self.shared.forget_unsaved(self.id);
                self.handoff_stored();
                if stale_proposal.is_some() {
                    self.delete_proposal().await;
                }
                if before != self.record.status {
                    let (session, status) = (self.id.to_string(), self.record.status);
                    self.shared.live.show(Live::Status { session, status });
                }
                Ok(())
            }
            Err(error) => {
                // What happened stays here until the store takes it; a session row that follows replaces this one.
                self.unsaved = all;
                // The store may refuse for long, and people look meanwhile.
                self.shared.show_unsaved(self.record.row(), &self.unsaved);
                let wait = self.timing.retry.map_or(PATIENCE.0, |(_, wait)| (wait * 2).min(PATIENCE.1));
                self.timing.retry = Some((Instant::now() + wait, wait));
                Err(error)
            }
        }
    }

    /// Performs one `Persist` of the machine.
    pub(super) async fn persist_fact(&mut self, fact: Fact) -> Result<(), StoreError> {
        match fact {
            Fact::Status | Fact::WaitBegan(_) | Fact::WaitEnded(_) => {
                self.persist(Durability::Normal, Vec::new()).await
            }
            Fact::TurnStarted => self.turn_started().await,
            Fact::ResponseRefused => {
                if let Some(turn) = &self.turn {
                    let reason = turn.refusal.as_ref().map(ToString::to_string).unwrap_or_default();
                    self.staged.push(Payload::Retry { turn: turn.number, reason });
                }
                self.persist(Durability::Normal, Vec::new()).await
            }
            Fact::TurnEnded(outcome) => self.turn_ended(outcome).await,
            Fact::WaitsCancelled => {
                self.resolve_open("cancelled");
                self.settle_questions("cancelled");
                self.record.body.calls.retain(|call| call.expired);
                let expired = |approval: &super::super::record::ApprovalRecord| approval.expired;
                self.record.body.approvals.retain(expired);
                self.persist(Durability::Normal, Vec::new()).await
            }
            Fact::Detached => self.persist(Durability::Full, Vec::new()).await,
            Fact::WaitsExpired => {
                self.expire_waits();
                self.persist(Durability::Normal, Vec::new()).await
            }
        }
    }

    fn resolve_open(&mut self, outcome: &str) {
        let open =
            self.record.body.approvals.iter().filter(|approval| approval.decision.is_none() && !approval.expired);
        self.staged.extend(open.map(|approval| Payload::ApprovalResolved {
            approval: approval.id.clone(),
            outcome: outcome.to_owned(),
            message: None,
        }));
    }

    async fn turn_started(&mut self) -> Result<(), StoreError> {
        let Some(turn) = &self.turn else { return Ok(()) };
        let Some(begun) = &turn.started else { return Ok(()) };
        info!(session = %self.id, turn = turn.number, delivery = begun.delivery.as_str(), "turn started");
        let plans = turn.role.as_ref().is_some_and(|role| role.planning == Planning::On);
        let body = &mut self.record.body;
        body.plan_mode.told = plans;
        // A plan that is worked on again does not wait.
        body.plan_mode.kept_at = body.plan_mode.kept_at.filter(|_| !plans);
        body.turns = turn.number;
        body.order.retain(|number| *number != turn.prompt);
        (body.questions, body.last_error, body.undone, body.interrupted) = (Vec::new(), None, None, None);
        body.unfinished = false;
        // Nobody decided these before the session went on; a decided one waits for its call.
        body.approvals.retain(|approval| approval.decision.is_some());
        body.calls.retain(|call| call.answer.is_some());
        self.staged.push(Payload::TurnStarted {
            turn: turn.number,
            prompt: turn.prompt,
            delivery: begun.delivery.as_str().to_owned(),
            exec_at: begun.exec_at,
            agent: begun.agent.clone(),
        });
        let changes = vec![
            Change::TakePrompt { session: self.id, number: turn.prompt, turn: turn.number },
            Change::Turn(self.turn_body(turn, TurnState::Running).row(self.id, turn.number, None)),
        ];
        self.persist(Durability::Full, changes).await
    }

    /// The turn as far as it is.
    pub(super) fn turn_body(&self, turn: &TurnRun, state: TurnState) -> TurnBody {
        let told = self.open.as_ref().and_then(|open| open.model.clone());
        TurnBody {
            state,
            prompt: turn.task.text.clone(),
            author: turn.task.author,
            images: turn.task.images.clone(),
            agent: turn.started.as_ref().and_then(|begun| begun.agent.clone()),
            backend: self.record.body.backend.clone(),
            model: turn.started.as_ref().and(told).or_else(|| self.record.body.model.clone()),
            started_at: turn.started.as_ref().map_or_else(clock::now, |begun| begun.at),
            ended_at: None,
            response: None,
            error: None,
            checkpoint: turn.checkpoint.clone(),
            checkpoint_failed: turn.checkpoint_failed,
            undone: false,
            usage: turn.usage.clone(),
        }
    }

    /// Why a turn failed, with the command that logs in to the session's backend.
    pub(super) fn turn_error(&self, turn: &TurnRun) -> TurnError {
        let registry = self.shared.settings.registry(&turn.config);
        let spec = registry.get(&self.record.body.backend);
        let env: Vec<_> = captured_environment(&self.shared, &self.record).into_iter().collect();
        let began = turn.started.is_some() && turn.failure.is_some();
        let surroundings = self.open.as_ref().filter(|_| began).map(|open| &open.surroundings);
        let explain_refusal = |failure| match surroundings {
            Some(surroundings) => surroundings.explain(failure),
            None => failure,
        };
        let explain = |failure: Failure| match (&failure.kind, spec) {
            (FailureKind::Auth, Some(spec)) => login::explain_auth_failure(failure, spec, &env),
            (FailureKind::Model, Some(spec)) if self.record.body.model.is_none() => {
                login::explain_model_failure(failure, spec, &env)
            }
            // At `restricted`, a proxy of ours is in its place.
            (FailureKind::Transport, Some(spec)) if turn.config.sandbox.level != Level::Restricted => {
                remedy::explain_transport_failure(failure, spec, &env)
            }
            _ => failure,
        };
        turn.error(self.id, spec.and_then(|spec| spec.login.clone()), |failure| explain(explain_refusal(failure)))
    }

    async fn turn_ended(&mut self, outcome: Outcome) -> Result<(), StoreError> {
        let Some(turn) = self.turn.take() else {
            return self.persist(Durability::Full, Vec::new()).await;
        };
        info!(session = %self.id, turn = turn.number, ?outcome, "turn ended");
        // A turn that never came to put its files away has them as well.
        self.calls.clear();
        self.report(outcome, &turn);
        let plan = self.keep_plan(outcome, &turn).await;
        self.end_fix(outcome, &turn);
        let prompt_follows = self.goes_on(outcome) && !self.record.body.order.is_empty();
        self.follows = prompt_follows || self.record.body.hook_fix.is_some();
        let number = turn.number;
        self.staged.extend(turn.output_quota.describe_left_out(number));
        let response = turn.response.as_ref().map(view::response);
        let (state, error) = match outcome {
            Outcome::Completed | Outcome::Asked => (TurnState::Completed, None),
            Outcome::Failed => (TurnState::Failed, Some(self.turn_error(&turn))),
            Outcome::Interrupted => (TurnState::Interrupted, None),
        };
        let body = &mut self.record.body;
        // The turn itself may have gone well while its files could not be committed.
        if error.is_some() || !body.is_uncommitted() {
            body.last_error = error.clone();
        }
        // What expires with this daemon, or was decided for a turn that never began, is still worth something.
        let (ends, begun) = (self.closing.is_some(), turn.started.is_some());
        body.approvals.retain(|approval| approval.expired && (ends || !begun));
        let is_cut = matches!(outcome, Outcome::Failed | Outcome::Interrupted);
        // A decision about a plan comes with the prompt, so a turn that is to be taken up again has to hear it again.
        body.calls.retain(|call| call.expired && (ends || !begun || is_cut && call.plan.is_some()));
        body.unfinished = begun && is_cut && body.plan_mode.concluded != Some(number);
        match (state, response.clone()) {
            (TurnState::Completed, Some(response)) => {
                let asked = |question: &AskedQuestion| QuestionRecord {
                    text: question.text.clone(),
                    options: question.options.clone(),
                    answer: None,
                    purpose: None,
                };
                body.questions = response.questions.iter().map(asked).collect();
                body.summary = response.summary.clone().or(body.summary.take());
                let mut questions = response.questions.clone();
                if let Some(asked) = plan {
                    questions.push(AskedQuestion { text: asked.text.clone(), options: asked.options.clone() });
                    self.record.body.questions.push(asked);
                }
                self.staged.push(Payload::TurnCompleted { turn: number, response });
                if !questions.is_empty() {
                    self.staged.push(Payload::QuestionAsked { turn: number, questions, call: None });
                }
            }
            (TurnState::Failed, _) => {
                let error = error.clone().unwrap_or_default();
                self.staged.push(Payload::TurnFailed { turn: number, error });
            }
            (TurnState::Interrupted | TurnState::Running | TurnState::Completed, _) => {
                body.interrupted = turn.started.is_some().then_some(number);
                self.staged.push(Payload::TurnInterrupted { turn: number, reason: turn.reason.clone() });
            }
        }
        let unworded = self.unworded(outcome, &turn);
        let about = TurnOver { number, role: turn.role.clone(), config: turn.config.clone() };
        let row = TurnBody { ended_at: Some(clock::now()), response, error, ..self.turn_body(&turn, state) };
        // A turn that never reached its backend counts too, and its prompt is still queued.
        self.record.body.turns = number;
        let ended = self.persist(Durability::Full, vec![Change::Turn(row.row(self.id, number, turn.raw))]).await;
        self.answer_stops();
        if ended.is_ok() {
            self.after_turn(outcome, &about).await;
        }
        if self.record.body.is_to_be_committed_again() && self.access() != Some(ChildAccess::ReadOnly) {
            commit_retry::schedule(&self.shared, self.id);
        }
        if let (Some(unworded), Ok(())) = (unworded, &ended) {
            naming::ask_message(&self.shared, &self.record, unworded);
        }
        ended
    }

    /// The store refused: the turn cannot go on unseen, so its backend ends, and the facts wait here.
    pub(super) async fn give_up(&mut self, error: &StoreError) {
        self.go_on = false;
        let failure = Failure::new(FailureKind::Store, error.to_string());
        (self.wish, self.permit, self.conversation) = (None, None, None);
        if let Some(preparation) = self.preparation.take() {
            preparation.abort.cancel();
        }
        if self.state.is_turning() {
            self.note_cut_off();
            if let Some(turn) = &mut self.turn {
                turn.failure = Some(failure);
            }
            self.state = Session::Resting(Rest::Failed);
            // Also refused, most likely: it joins what waits.
            self.turn_ended(Outcome::Failed).await.ok();
        }
    }

    /// Forgets changes that the store refused and that a client is told did not happen; the record is as before them again.
    pub(super) fn forget_refused(&mut self, kept: usize) {
        self.unsaved.truncate(kept);
        if self.unsaved.is_empty() {
            self.timing.retry = None;
            self.shared.forget_unsaved(self.id);
        } else {
            self.shared.show_unsaved(self.record.row(), &self.unsaved);
        }
    }

    /// What a person was asked waits beyond the end of this daemon; a decision then resumes the session.
    pub(super) fn expire_waits(&mut self) {
        self.resolve_open("expired");
        self.settle_questions("expired");
        self.record.body.approvals.iter_mut().for_each(|approval| approval.expired = true);
        self.record.body.calls.iter_mut().for_each(|call| call.expired = true);
    }

    /// Offers the store once more what it refused.
    pub(super) async fn retry_store(&mut self) {
        if let Err(error) = self.persist(Durability::Full, Vec::new()).await {
            self.give_up(&error).await;
        }
    }
}
