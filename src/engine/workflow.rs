//! Tasks, reviews and plans of a root session: read, changed by a pure function, stored with the fact.
//!
//! All of a family share the list of its root, so a change is made under that root's lock and not by its task.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::api::event::{Payload, PromptAuthor};
use crate::api::handoff::Handoff;
use crate::api::workflow as api;
use crate::backend::Access;
use crate::config::Config;
use crate::config::family;
use crate::delegation::{Facade, Hold, Order};
use crate::id::SessionId;
use crate::store::{Change as Stored, Durability, WorkflowRow, Write};
use crate::workflow::{
    Change, Plan, PlanSource, Review, ReviewChange, ReviewMode, ReviewStatus, Task, TaskStatus, Tasks, TurnEnd,
    due_review,
};

use super::actor::{self, Message};
use super::delegate::{self, Wish};
use super::fault::Fault;
use super::handoff;
use super::record::{self, Record, json};
use super::shared::{Shared, event};

/// The agent whose finished plans a person decides about.
pub(super) const PLANNER: &str = "planner";
/// The agent that is told what it reviews.
pub(super) const REVIEWER: &str = "reviewer";

/// The session whose list a session works on.
pub(super) fn root(record: &Record) -> SessionId {
    record.body.child.as_ref().map_or(record.id, |child| child.root)
}

pub(super) async fn read(shared: &Shared, root: SessionId) -> Result<api::Workflow, Fault> {
    let row = shared.store.workflow(root).await?;
    Ok(row.map(|row| record::workflow(&row)).transpose()?.unwrap_or_default())
}

/// What the store gets for a workflow that changed.
pub(super) fn changes(root: SessionId, workflow: &api::Workflow) -> [Stored; 2] {
    let row = WorkflowRow { session: root, record: json(workflow) };
    [Stored::Workflow(row), event(root, &Payload::WorkflowUpdated { workflow: workflow.clone() })]
}

/// `task_workflow`
pub(super) async fn change(shared: &Shared, record: &Record, change: &Change) -> Result<String, String> {
    alter(shared, root(record), |tasks| tasks.apply(change)).await
}

/// `task_review`, on the tasks of the root: a delegated reviewer reviews its parent's.
pub(super) async fn review(shared: &Shared, record: &Record, change: &ReviewChange) -> Result<String, String> {
    alter(shared, root(record), |tasks| tasks.review(change, record.id.as_str())).await
}

async fn alter(
    shared: &Shared,
    root: SessionId,
    act: impl FnOnce(&Tasks) -> Result<(Tasks, String), String>,
) -> Result<String, String> {
    let lock = shared.family_lock(root);
    let _held = lock.lock().await;
    let workflow = read(shared, root).await.map_err(delegate::text)?;
    let before = tasks(&workflow);
    let (after, text) = act(&before)?;
    if after != before {
        let workflow = api::Workflow { tasks: after.list.iter().map(told).collect(), ..workflow };
        store(shared, root, &workflow).await.map_err(delegate::text)?;
    }
    Ok(text)
}

async fn store(shared: &Shared, root: SessionId, workflow: &api::Workflow) -> Result<(), Fault> {
    let write = Write { durability: Durability::Full, changes: changes(root, workflow).to_vec() };
    Ok(shared.store.write(write).await.map(drop)?)
}

/// Remembers a plan as the last one of the family.
pub(super) async fn keep_plan(shared: &Shared, record: &Record, plan: &Plan) -> Result<(), Fault> {
    let root = root(record);
    let lock = shared.family_lock(root);
    let _held = lock.lock().await;
    let workflow = read(shared, root).await?;
    let plan = api::Plan {
        plan_id: plan.id.clone(),
        title: plan.title.clone(),
        markdown: plan.markdown.clone(),
        created_by: record.id.to_string(),
        source: match &plan.source {
            PlanSource::Turn(turn) => format!("turn {turn}"),
            PlanSource::Handoff(handoff) => handoff.clone(),
        },
        decision: None,
        saved_to: None,
    };
    store(shared, root, &api::Workflow { plan: Some(plan), ..workflow }).await
}

/// Remembers what was decided about a plan, as long as it is the last one of the family.
pub(super) async fn decide_plan(
    shared: &Shared,
    record: &Record,
    id: &str,
    decision: &str,
    saved_to: Option<String>,
) -> Result<(), Fault> {
    let root = root(record);
    let lock = shared.family_lock(root);
    let _held = lock.lock().await;
    let mut workflow = read(shared, root).await?;
    if let Some(plan) = workflow.plan.as_mut().filter(|plan| plan.plan_id == id) {
        plan.decision = Some(decision.to_owned());
        plan.saved_to = saved_to;
    }
    store(shared, root, &workflow).await
}

/// A turn of a session ended well: starts a review if that is due. It runs as a child that only reads.
pub(super) fn after_turn(
    shared: Arc<Shared>,
    record: Record,
    agent: String,
    turn: u32,
    config: Arc<Config>,
) -> impl Future<Output = ()> {
    // Counted before the task begins: a daemon that drains waits for it.
    let going = shared.busy();
    async move {
        let id = record.id;
        let wish = Wish {
            parent: record,
            turn,
            agent,
            access: Access::ReadOnly,
            order: review_order(&config),
            config,
            context: None,
            author: PromptAuthor::Coppice,
        };
        if let Err(reason) = start_review(&shared, wish).await {
            let message = format!("the review did not start: {reason}");
            // A store that refuses this has told it elsewhere.
            shared.note(id, &[Payload::Warning { message }]).await.ok();
        }
        drop(going);
    }
}

async fn start_review(shared: &Arc<Shared>, wish: Wish) -> Result<(), String> {
    let mode = match wish.config.workflow.review_mode {
        family::ReviewMode::Off => ReviewMode::Off,
        family::ReviewMode::Manual => ReviewMode::Manual,
        family::ReviewMode::Auto => ReviewMode::Auto,
    };
    let parent = &wish.parent;
    let _held = shared.reviews.lock().await;
    let workflow = read(shared, root(parent)).await.map_err(delegate::text)?;
    let is_root = parent.body.child.is_none();
    if !is_root || !due_review(mode, &wish.agent, TurnEnd::Completed, &tasks(&workflow)) {
        return Ok(());
    }
    let asked = handoff::of_parent(shared, parent.id).await.map_err(delegate::text)?;
    let wish = Wish { context: Some(format!("The tasks of the session:\n{}", tasks(&workflow).text())), ..wish };
    // A child that is made while the daemon drains cannot begin.
    if is_reviewed(&asked) || shared.slots.is_draining() {
        return Ok(());
    }
    let made = delegate::child(shared, &wish).await?;
    if shared.slots.is_draining()
        && let Ok(child) = made.child_session_id.parse::<SessionId>()
    {
        // It may have come too late to be told of the end with the others.
        let (done, ended) = oneshot::channel();
        actor::deliver(shared, child, Message::Shutdown(done));
        // An error means that its task is gone, which is what is wanted.
        ended.await.ok();
    }
    Ok(())
}

/// Whether a reviewer is at work, whoever asked for it.
fn is_reviewed(asked: &[Handoff]) -> bool {
    asked.iter().any(|handoff| handoff.child_agent_id == REVIEWER && !handoff.status.is_final())
}

fn review_order(config: &Config) -> Order {
    Order {
        facade: Facade::Delegate,
        agent: REVIEWER.to_owned(),
        persona: None,
        prompt: "All tasks of this session are completed. Review what was done for each task that has no review yet: \
                 the changes above against what was asked for. Record an outcome for each task with `task_review`."
            .to_owned(),
        context: None,
        label: "Review of the completed tasks".to_owned(),
        sources: Vec::new(),
        model: config.workflow.review_model.clone(),
        effort: None,
        note: None,
        hold: Hold::Background,
        timeout: None,
    }
}

/// The plan that a child brought.
pub(super) fn plan_of(handoff: &Handoff) -> Plan {
    // A planner of an older version hands its plan over as its answer.
    let markdown = handoff.plan.as_deref().or(handoff.assistant_text.as_deref()).unwrap_or_default();
    let source = PlanSource::Handoff(handoff.handoff_id.clone());
    Plan::new(format!("p_{}", handoff.child_session_id), markdown, &handoff.label, source)
}

fn tasks(workflow: &api::Workflow) -> Tasks {
    Tasks { list: workflow.tasks.iter().map(stored).collect() }
}

fn stored(task: &api::Task) -> Task {
    let statuses = [TaskStatus::Pending, TaskStatus::InProgress, TaskStatus::Blocked, TaskStatus::Completed];
    let outcomes = [ReviewStatus::Pass, ReviewStatus::Concern, ReviewStatus::Fail, ReviewStatus::Accepted];
    let review = |review: &api::Review| Review {
        status: outcomes.into_iter().find(|known| known.word() == review.status).unwrap_or(ReviewStatus::Concern),
        summary: review.summary.clone(),
        by: review.by.clone(),
    };
    Task {
        id: task.task_id.clone(),
        parent: task.parent_task_id.clone(),
        title: task.title.clone(),
        kind: task.kind.clone(),
        status: statuses.into_iter().find(|known| known.word() == task.status).unwrap_or(TaskStatus::Pending),
        notes: task.notes.clone(),
        progress: task.progress.clone(),
        block_reason: task.block_reason.clone(),
        summary: task.summary.clone(),
        reviews: task.reviews.iter().map(review).collect(),
    }
}

fn told(task: &Task) -> api::Task {
    let review = |review: &Review| api::Review {
        status: review.status.word().to_owned(),
        summary: review.summary.clone(),
        by: review.by.clone(),
    };
    api::Task {
        task_id: task.id.clone(),
        parent_task_id: task.parent.clone(),
        title: task.title.clone(),
        kind: task.kind.clone(),
        status: task.status.word().to_owned(),
        notes: task.notes.clone(),
        progress: task.progress.clone(),
        block_reason: task.block_reason.clone(),
        summary: task.summary.clone(),
        reviews: task.reviews.iter().map(review).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_stored_and_found_again_whole() {
        let review = Review { status: ReviewStatus::Fail, summary: "no test".into(), by: "abcd2345".into() };
        for status in [TaskStatus::Pending, TaskStatus::InProgress, TaskStatus::Blocked, TaskStatus::Completed] {
            let task = Task {
                id: "t1".into(),
                parent: Some("t0".into()),
                title: "Parse".into(),
                kind: Some("analysis".into()),
                status,
                notes: Some("n".into()),
                progress: Some("p".into()),
                block_reason: Some("b".into()),
                summary: Some("s".into()),
                reviews: vec![review.clone()],
            };
            assert_eq!(stored(&told(&task)), task);
        }
    }
}
