//! The work of a session as people see it: tasks, their reviews, todos and plans.
//!
//! Values in, values out: the engine stores what is returned and acts on it.

mod change;
mod plan;
mod plan_mode;
mod review;
mod tasks;
#[cfg(test)]
mod tests;
mod todo;

pub use change::Fields;
pub use plan::{
    Applying, DECISION_QUESTION, PLAN_DECISION, SAVE_PLAN, STOPPED, check_save_plan, decision_options, read_decision,
    saved_message,
};
pub use plan_mode::{
    Course, NextPosture, PlanAction, card, key, no_plan, no_plan_notice, plan_actions, read_action, refine_prompt,
    resume_prompt,
};
pub use review::{ReviewFields, due_review};
pub use todo::{todo_text, todos};

/// The agent that works through a list of tasks and carries plans out.
pub const ENGINEER: &str = "engineer";

/// The tasks of one root session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tasks {
    /// In the order in which they were made.
    pub list: Vec<Task>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    pub parent: Option<String>,
    pub title: String,
    /// `implementation`, `analysis`, `report`, `epic`, or the agent's own word.
    pub kind: Option<String>,
    pub status: TaskStatus,
    pub notes: Option<String>,
    pub progress: Option<String>,
    pub block_reason: Option<String>,
    pub summary: Option<String>,
    pub reviews: Vec<Review>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    Pending,
    InProgress,
    Blocked,
    Completed,
}

/// What an agent asks of the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    List,
    Create {
        /// `None` takes the next free one.
        id: Option<String>,
        parent: Option<String>,
        title: String,
        kind: Option<String>,
        start: Start,
        notes: Option<String>,
    },
    /// Says at least one thing.
    Update {
        id: String,
        start: Option<Start>,
        progress: Option<String>,
        notes: Option<String>,
    },
    Block {
        id: String,
        reason: String,
        progress: Option<String>,
        notes: Option<String>,
    },
    Complete {
        id: String,
        summary: String,
        progress: Option<String>,
        notes: Option<String>,
    },
}

/// Where a task that is neither blocked nor completed stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Pending,
    InProgress,
}

/// What a reviewer asks of the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewChange {
    List,
    Record { id: String, status: ReviewStatus, summary: String },
}

/// What a reviewer found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub status: ReviewStatus,
    pub summary: String,
    /// The session of the reviewer.
    pub by: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewStatus {
    Pass,
    Concern,
    Fail,
    Accepted,
}

/// One line of an agent's list for the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    pub content: String,
    pub status: TodoStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Skipped,
}

/// When a review starts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewMode {
    Off,
    Manual,
    Auto,
}

/// How a turn ended, as far as a review cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    /// It asked, failed or was interrupted.
    Other,
}

/// A plan that waits for a person's decision, or has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub id: String,
    pub title: String,
    pub markdown: String,
    pub source: PlanSource,
}

/// Where a plan comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanSource {
    Turn(u32),
    Handoff(String),
}

/// What a person decides about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanDecision {
    Save,
    Apply,
    /// With what is to change, if it was said.
    Revise(Option<String>),
    Stop,
}
