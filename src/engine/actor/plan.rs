//! What happens with a finished plan: a person saves, applies, revises or stops it.
//!
//! A planner of its own asks at the end of its turn; the plan of a delegated one is decided inside its parent's call.

use std::path::{Path, PathBuf};

use crate::api::event::{Payload, PromptAuthor};
use crate::api::handoff::Handoff;
use crate::backend::Access;
use crate::config::family::PlannerApproval;
use crate::delegation::Facade;
use crate::permission::Posture;
use crate::session::{Event, Outcome, Wait};
use crate::store::Durability;
use crate::tools::inside::root::{Permissions, Root};
use crate::tools::{Answer, Question};
use crate::workflow::{self as plans, Applying, Plan, PlanDecision, PlanSource};

use super::super::agents::role;
use super::super::fault::Fault;
use super::super::record::{ChildAccess, PromptBody, QuestionRecord, Switch};
use super::super::{delegate, handoff, plan_mode, workflow};
use super::Actor;
use super::command::Place;
use super::question::Asked;
use super::turn::TurnRun;

/// A planner of its own reads only; whoever applies its plan is somebody else, bound by the session alone.
const OWN: Applying = Applying::Offered;

/// Where saved plans go in a work tree.
const DIRECTORY: &str = ".coppice/plans";

/// What a child that nobody watches is told about the plan of its own child.
const UNDECIDED: &str = "Nobody is there to decide about the plan; decide yourself what to do with it, and say so in \
                         your report.";

/// What follows a decision.
enum Next {
    Turn(PromptBody),
    /// Nothing but this message.
    Rest(String),
}

/// A decision about a child's plan, once it is carried out.
pub(super) struct Decided {
    /// The decision in words for the model.
    pub(super) told: String,
    /// The plan with it, as the call that waits gives it.
    pub(super) result: String,
}

impl Actor {
    /// The planner says that its plan is complete. The question that a person gets comes with the end of the turn.
    pub(super) async fn plan_shown(&mut self, request: String, question: &Question) {
        let shown = self.turn.as_ref().and_then(|turn| turn.said.clone()).unwrap_or_default();
        let options: Vec<String> = question.options.iter().map(|option| option.label.clone()).collect();
        let outcome = plans::check_save_plan(&options, &shown).map(|()| {
            if let Some(turn) = &mut self.turn {
                turn.plan = Some(shown);
            }
            "The plan is recorded. End your turn; a person decides what happens with it.".to_owned()
        });
        self.answer_call(request, outcome.map(Answer::from)).await;
    }

    /// The plan that the turn has handed over, if a person is to decide about one. Any other answer of a planner is just an
    /// answer.
    pub(super) fn finished_plan(&self, turn: &TurnRun) -> Option<Plan> {
        let response = turn.response.as_ref()?;
        let is_planner = turn.role.as_ref().is_some_and(|role| role.id == workflow::PLANNER);
        let asks = turn.config.workflow.planner_approval == PlannerApproval::Person;
        if !is_planner || !asks || self.record.body.child.is_some() || !response.questions.is_empty() {
            return None;
        }
        let text = turn.plan.as_deref()?;
        let id = format!("p_{}-{}", self.id, turn.number);
        Some(Plan::new(id, text, &turn.task.text, PlanSource::Turn(turn.number)))
    }

    /// Stores the plan that a turn ends with, before the turn does; the question about it.
    pub(super) async fn keep_plan(&mut self, outcome: Outcome, turn: &TurnRun) -> Option<QuestionRecord> {
        let plan = match outcome {
            Outcome::Asked => self.finished_plan(turn)?,
            Outcome::Completed | Outcome::Failed | Outcome::Interrupted => return None,
        };
        if let Err(fault) = workflow::keep_plan(&self.shared, &self.record, &plan).await {
            let message = format!("the plan could not be stored: {}", delegate::text(fault));
            self.staged.push(Payload::Warning { message });
        }
        Some(QuestionRecord {
            text: plans::DECISION_QUESTION.to_owned(),
            options: plans::decision_options(OWN),
            answer: None,
            purpose: Some(plans::PLAN_DECISION.to_owned()),
        })
    }

    /// Whether whoever asked for a child's plan could carry it out.
    fn applying(&self) -> Applying {
        let reads = |turn: &TurnRun| turn.role.as_ref().is_some_and(|role| role.bound == Access::ReadOnly);
        let is_reader = self.access() == Some(ChildAccess::ReadOnly) || self.turn.as_ref().is_some_and(reads);
        if is_reader { Applying::Withheld } else { Applying::Offered }
    }

    /// A person decided about the plan of the last turn.
    pub(super) async fn decide_plan(&mut self, answer: &str) -> Result<(), Fault> {
        if self.record.body.questions.iter().all(|question| question.answer.is_some()) {
            return Err(Fault::TooManyAnswers { id: self.id, asked: 0, given: 1 });
        }
        let decision = plans::read_decision(answer, OWN).map_err(|reason| Fault::BadDecision { reason })?;
        let root = workflow::root(&self.record);
        let Some(kept) = workflow::read(&self.shared, root).await?.plan else {
            return Err(Fault::BadDecision { reason: "there is no plan".to_owned() });
        };
        let source = PlanSource::Turn(self.record.body.turns);
        let plan = Plan { id: kept.plan_id, title: kept.title, markdown: kept.markdown, source };
        let follow_up = |text: String, agent: &str| PromptBody {
            text,
            switch: Switch { agent: Some((agent.to_owned(), None)), ..Switch::default() },
            author: PromptAuthor::Coppice,
            ..PromptBody::default()
        };
        let posture = match decision {
            PlanDecision::Apply => self.posture_to_apply(answer).await,
            PlanDecision::Save | PlanDecision::Revise(_) | PlanDecision::Stop => None,
        };
        let (word, saved, next) = match decision {
            PlanDecision::Save => {
                let saved = self.save_plan(&plan).await?;
                self.commit_leftovers().await?;
                let message = plans::saved_message(&saved);
                ("save", Some(saved), Next::Rest(message))
            }
            PlanDecision::Stop => ("stop", None, Next::Rest(plans::STOPPED.to_owned())),
            PlanDecision::Apply => ("apply", None, Next::Turn(follow_up(plan.apply_prompt(), plans::ENGINEER))),
            PlanDecision::Revise(wish) => {
                ("revise", None, Next::Turn(follow_up(plan.revise_prompt(wish.as_deref()), workflow::PLANNER)))
            }
        };
        workflow::decide_plan(&self.shared, &self.record, &plan.id, word, saved).await?;
        self.plan_decided(answer.trim(), posture, next).await
    }

    /// The answer and what follows from it are one fact; a store that refuses it leaves the question open.
    async fn plan_decided(&mut self, answer: &str, posture: Option<Posture>, next: Next) -> Result<(), Fault> {
        let (before, kept) = ((self.state, self.record.body.clone()), self.unsaved.len());
        self.leave_plan_mode(posture);
        self.staged.push(Payload::QuestionAnswered { index: 0, answer: answer.to_owned(), call: None });
        let follows = matches!(next, Next::Turn(_));
        let stored = match next {
            Next::Turn(prompt) => {
                let open = &mut self.record.body.questions;
                open.iter_mut().for_each(|question| question.answer = Some(answer.to_owned()));
                self.queue(prompt, Place::First).await
            }
            Next::Rest(text) => {
                self.staged.push(Payload::Message { turn: self.record.body.turns, text });
                self.record.body.questions.clear();
                if let Some((next, _)) = crate::session::step(self.state, Event::Settle) {
                    self.state = next;
                }
                self.persist(Durability::Full, Vec::new()).await.map_err(Fault::from)
            }
        };
        if stored.is_err() {
            (self.state, self.record.body) = before;
            self.forget_refused(kept);
        }
        stored?;
        if follows {
            self.start().await;
        }
        Ok(())
    }

    /// A child has brought a plan: the call that asked for it waits until a person has decided. Where nobody is asked,
    /// the model gets the plan as it is.
    pub(super) async fn handoff_plan(&mut self, request: String, handoff: Handoff) {
        if self.asks_nobody() {
            let result = self.plan_result(&handoff, UNDECIDED);
            return self.call_done(request, Ok(result.into())).await;
        }
        let plan = workflow::plan_of(&handoff);
        if let Err(fault) = workflow::keep_plan(&self.shared, &self.record, &plan).await {
            return self.call_done(request, Err(delegate::text(fault))).await;
        }
        let text = format!("{} ({})", plans::DECISION_QUESTION, plan.title);
        let options = plans::decision_options(self.applying());
        let (plan, call_hash) = (Some(handoff.handoff_id), String::new());
        self.ask(Asked { request, text, options, multiple: false, plan, proposal: None, call_hash }).await;
        self.step(Event::Settled(Wait::Child)).await;
    }

    /// Does what a person decided about a child's plan. What stands in the way is told to that person, who can decide
    /// again.
    pub(super) async fn handoff_plan_decided(&mut self, id: &str, decision: PlanDecision) -> Result<Decided, Fault> {
        let handoff = handoff::find(&self.shared, id).await?.ok_or_else(|| Fault::NoHandoff { id: id.to_owned() })?;
        let plan = workflow::plan_of(&handoff);
        let (word, saved, told) = match decision {
            PlanDecision::Apply => ("apply", None, "The user wants the plan applied. Carry it out.".to_owned()),
            PlanDecision::Save => {
                let saved = self.save_plan(&plan).await?;
                let told =
                    format!("{} The user does not want it carried out in this turn.", plans::saved_message(&saved));
                ("save", Some(saved), told)
            }
            PlanDecision::Revise(wish) => {
                let wish = wish.unwrap_or_else(|| "No more was said.".to_owned());
                ("revise", None, format!("The user wants the plan revised before anything else is done: {wish}"))
            }
            PlanDecision::Stop => ("stop", None, plans::STOPPED.to_owned()),
        };
        workflow::decide_plan(&self.shared, &self.record, &plan.id, word, saved).await?;
        let result = self.plan_result(&handoff, &told);
        Ok(Decided { told, result })
    }

    /// What the call that asked for a plan gives.
    fn plan_result(&self, handoff: &Handoff, told: &str) -> String {
        let facade = self.turn.as_ref().map_or(Facade::Delegate, |turn| role::facade(&turn.config));
        let (Ok(result) | Err(result)) = delegate::result(facade, handoff);
        format!("{result}\n\n{told}")
    }

    /// A prompt with what a person decided about plans while no turn ran: the calls that waited for it are gone.
    pub(super) async fn with_decisions(&self, mut task: PromptBody) -> PromptBody {
        for call in self.record.body.calls.iter().filter(|call| call.expired) {
            let (Some(id), Some(told)) = (&call.plan, &call.answer) else { continue };
            let is_told = task.context.as_ref().is_some_and(|context| context.contains(id));
            let handoff = if is_told { None } else { handoff::find(&self.shared, id).await.ok().flatten() };
            let decided = format!("A person decided about the plan of handoff {id}: {told}");
            let parts = [task.context.take(), handoff.as_ref().map(delegate::told), Some(decided)];
            task.context = Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"));
        }
        task
    }

    /// Writes the plan into the session's work tree, and a copy beside all work trees; where it is in the tree.
    async fn save_plan(&self, plan: &Plan) -> Result<String, Fault> {
        let name = plan.file_name(&self.record.body.title, "");
        let text = format!("{}\n", plan.markdown.trim_end());
        let copies = plan_mode::directory(&self.shared, &self.record.project);
        let tree = PathBuf::from(&self.record.body.worktree);
        let saved = format!("{DIRECTORY}/{name}");
        let path = saved.clone();
        tokio::task::spawn_blocking(move || {
            write_kept(&copies, &name, &text)?;
            write_below(&tree, &path, &text, Permissions::Kept)
        })
        .await??;
        Ok(saved)
    }
}

/// Writes a plan into a directory for kept plans, which is made if needed.
pub(super) fn write_kept(directory: &Path, name: &str, text: &str) -> Result<(), Fault> {
    let failed = |source| Fault::File { act: "create", path: directory.to_owned(), source };
    std::fs::create_dir_all(directory).map_err(failed)?;
    write_below(directory, name, text, Permissions::Exactly(0o600))
}

/// Writes a file below a directory. An agent may be at work there: no part of the path is opened through a link, and
/// none leads out of the directory.
fn write_below(directory: &Path, path: &str, text: &str, permissions: Permissions) -> Result<(), Fault> {
    let failed = |source| Fault::File { act: "write", path: directory.join(path), source };
    let root = Root::open(directory, None).map_err(failed)?;
    let written = root.write(path, &mut text.as_bytes(), permissions);
    written.map(drop).map_err(|error| failed(std::io::Error::other(String::from(error))))
}

/// What a person could choose when they were asked.
pub(super) fn offered(options: &[String]) -> Applying {
    match options == plans::decision_options(Applying::Withheld) {
        true => Applying::Withheld,
        false => Applying::Offered,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::*;

    #[test]
    fn a_plan_stays_in_the_work_tree_while_an_agent_swaps_directories_for_links() {
        let outer = tempfile::tempdir().unwrap();
        let (tree, outside) = (outer.path().join("tree"), outer.path().join("outside"));
        fs::create_dir_all(tree.join(DIRECTORY)).unwrap();
        fs::create_dir_all(outside.join("plans")).unwrap();
        symlink(&outside, tree.join("link")).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (directory, link) = (tree.join(".coppice"), tree.join("link"));
                while !is_over.load(Ordering::Relaxed) {
                    renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            });
            for number in 0..10_000 {
                // Refused whenever the link is there.
                write_below(&tree, &format!("{DIRECTORY}/plan-{number}.md"), "plan\n", Permissions::Kept).ok();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(outside.join("plans")).unwrap().count(), 0);
    }
}
