//! Performing what the machine asks for.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::api::session::Changes;
use crate::backend::event::{Block, Command as BackendCommand};
use crate::config::Config;
use crate::protocol::prompt;
use crate::session::{Effect, Event, Outcome, Rest, Session, Standing};
use crate::store::{Durability, StoreError};

use super::super::record::{CallOrigin, Tree};
use super::super::timing::Limits;
use super::super::{prepare, settings};
use super::approval::backend_decision;
use super::{Actor, Preparation};

impl Actor {
    /// Performs one effect and returns the event that follows from it at once.
    pub(super) async fn perform(&mut self, effect: Effect) -> Result<Option<Event>, StoreError> {
        match effect {
            Effect::Persist(fact) => self.persist_fact(fact).await?,
            Effect::TakeSlot(priority) => self.wish = Some(self.shared.slots.wish(priority)),
            Effect::LeaveQueue => self.wish = None,
            Effect::ReleaseSlot => self.permit = None,
            Effect::Prepare => self.prepare().await?,
            Effect::SendPrompt => self.send_prompt().await,
            Effect::SendRepair => self.send_repair().await,
            Effect::Deliver => self.deliver_decisions().await?,
            Effect::Interrupt => {
                self.tell_backend(BackendCommand::Interrupt).await;
                if let Some(turn) = &self.turn {
                    self.stop_children(turn.number);
                }
            }
            Effect::AbortPreparation => {
                if let Some(preparation) = &self.preparation {
                    preparation.abort.cancel();
                }
            }
            Effect::Commit => {
                self.end_served().await;
                match std::mem::take(&mut self.has_wider_cage) {
                    true => self.end_wider_processes().await,
                    false => self.end_leftovers().await,
                }
                let standing = match self.lost_tree() {
                    true => Standing::TreeGone,
                    false => {
                        self.commit().await;
                        self.standing().await
                    }
                };
                self.take_stops();
                return Ok(Some(Event::Committed(standing)));
            }
            Effect::Next(outcome) => return Ok(self.next(outcome).await),
        }
        Ok(None)
    }

    async fn prepare(&mut self) -> Result<(), StoreError> {
        if let Err(fault) = self.fresh_snapshot().await {
            tracing::warn!(session = %self.id, %fault, "the child starts from the snapshot of its first turn");
        }
        let body = &mut self.record.body;
        let (tree, is_untouched) = (body.tree, body.is_untouched);
        if tree == Tree::Absent {
            body.tree = Tree::Creating;
        }
        body.is_untouched = false;
        if is_untouched {
            // It must outlast a crash of the machine: what an agent wrote does.
            self.persist(Durability::Full, Vec::new()).await?;
        } else if tree == Tree::Absent {
            self.persist(Durability::Normal, Vec::new()).await?;
        }
        // What runs is replaced if it has another posture than the turn that begins.
        self.has_wider_cage = false;
        let abort = CancellationToken::new();
        let task = self.turn.as_ref().map(|turn| turn.task.clone()).unwrap_or_default();
        let task = self.with_decisions(task).await;
        let task = self.with_reviewed_work(task).await;
        let engine = task.switch.apply(self.record.body.engine());
        let open = self.conversation.take().zip(self.open.take());
        let mut record = self.record.clone();
        record.body.is_untouched = is_untouched;
        let plan = prepare::Plan { record, engine, task, open, setup: std::mem::take(&mut self.setup) };
        let task = tokio::spawn(prepare::run(self.shared.clone(), plan, abort.clone()));
        self.preparation = Some(Preparation { task, abort });
        Ok(())
    }

    async fn send_prompt(&mut self) {
        self.timing.follow(self.state, Instant::now());
        let begun = self.turn.as_mut().and_then(|turn| turn.started.as_mut());
        let blocks = begun.map(|begun| std::mem::take(&mut begun.blocks)).unwrap_or_default();
        self.tell_backend(BackendCommand::Prompt { blocks }).await;
    }

    async fn send_repair(&mut self) {
        let refusal = self.turn.as_ref().and_then(|turn| turn.refusal.as_ref());
        let Some(text) = refusal.map(prompt::repair) else { return };
        self.tell_backend(BackendCommand::Prompt { blocks: vec![Block::Text(text)] }).await;
    }

    /// Takes the decisions out of the record before they go out: each is used once, whatever happens.
    async fn deliver_decisions(&mut self) -> Result<(), StoreError> {
        let (decided, open) = std::mem::take(&mut self.record.body.approvals)
            .into_iter()
            .partition(|approval| approval.decision.is_some() && !approval.expired);
        self.record.body.approvals = open;
        self.record.body.calls.retain(|call| call.answer.is_none() || call.expired);
        self.persist(Durability::Normal, Vec::new()).await?;
        let decided: Vec<super::super::record::ApprovalRecord> = decided;
        for approval in decided {
            let origin = approval.call.map(|call| call.origin).unwrap_or_default();
            match (approval.decision, origin) {
                (Some(decision), CallOrigin::Backend) => {
                    let decision = backend_decision(decision);
                    self.tell_backend(BackendCommand::Decide { request: approval.request, decision }).await;
                }
                (Some(decision), CallOrigin::Served) => self.call_decided(approval.request, decision).await,
                (None, _) => {}
            }
        }
        self.deliver_results().await;
        Ok(())
    }

    /// What follows a turn: the next prompt, unless the turn ended badly or somebody is asked something.
    async fn next(&mut self, outcome: Outcome) -> Option<Event> {
        let wanted = self.goes_on(outcome);
        (self.go_on, self.is_stopped_late) = (false, false);
        if self.closing.is_some() {
            self.conversation = None;
        }
        if wanted { self.begin().await } else { None }
    }

    /// Whether a turn that ends so is followed by the next queued prompt.
    pub(super) fn goes_on(&self, outcome: Outcome) -> bool {
        let wanted = match outcome {
            Outcome::Completed => !self.is_stopped_late,
            Outcome::Asked => false,
            Outcome::Failed | Outcome::Interrupted => self.go_on,
        };
        wanted && self.closing.is_none()
    }

    /// Chooses the next queued prompt; none when the queue is empty.
    pub(super) async fn begin(&mut self) -> Option<Event> {
        let first = *self.record.body.order.first()?;
        let queued = self.shared.store.queued_prompts(self.id).await;
        let task = match super::command::queued_prompt(queued, first) {
            Ok(task) => self.record.body.redirected(first, task),
            Err(error) => {
                tracing::error!(session = %self.id, prompt = first, %error, "a queued prompt cannot be read");
                return None;
            }
        };
        if let Err(fault) = prepare::undo_integration(&self.shared, &self.record).await {
            tracing::warn!(session = %self.id, %fault, "an integration that was cut short could not be undone");
        }
        let has_leftovers = self.record.body.interrupted.is_some() || self.record.body.is_uncommitted();
        if has_leftovers
            && let Tree::Ready = self.record.body.tree
            && let Err(fault) = self.commit_leftovers().await
        {
            tracing::warn!(session = %self.id, %fault, "what the last turn left is committed with the next one");
            if let Err(fault) = self.note_failed_checkpoint().await {
                tracing::warn!(session = %self.id, %fault, "an undo will not know that the turn has no checkpoint");
            }
        }
        if let Session::Resting(Rest::Merged) = self.state
            && self.record.body.base.branch.is_some()
        {
            // What was merged is told by the merge; from here on counts what is not.
            self.record.body.changes = Changes::default();
        }
        self.record.body.before_undo = None;
        let config = self.config().await;
        self.timing.begin(self.limits(&config));
        let turn = super::TurnRun::new(self.record.body.turns + 1, first, task);
        let repairs = config.repair;
        self.turn = Some(super::TurnRun { wording: config.commit_message, config: Arc::new(config), ..turn });
        Some(Event::Begin { repairs })
    }

    /// How long a turn may take; a child has its own limit as well.
    fn limits(&self, config: &Config) -> Limits {
        let limits = settings::limits(config);
        match &self.record.body.child {
            Some(child) => Limits { turn: limits.turn.min(Duration::from_millis(child.timeout_ms)), ..limits },
            None => limits,
        }
    }

    /// The settings in force; a broken file is told by the preparation, which reads it too.
    pub(super) async fn config(&self) -> Config {
        let read = async {
            let repo = prepare::open_repo(&self.record).await?;
            self.shared.settings.session(&self.record, &repo).await
        };
        read.await.map(|settings| settings.config).unwrap_or_default()
    }
}
