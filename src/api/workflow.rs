//! Tasks, reviews and plans as clients see them; also the form in which they are stored.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The work of a root session, broken down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Workflow {
    pub tasks: Vec<Task>,
    /// The last plan that was made.
    pub plan: Option<Plan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    pub task_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `pending`, `in_progress`, `blocked` or `completed`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Review>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Review {
    /// `pass`, `concern`, `fail` or `accepted`.
    pub status: String,
    pub summary: String,
    /// The session of the reviewer.
    pub by: String,
}

/// A plan, and what was decided about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    pub plan_id: String,
    pub title: String,
    pub markdown: String,
    /// The session that made it.
    pub created_by: String,
    /// The turn, or the handoff, that it comes from.
    pub source: String,
    /// `save`, `apply`, `revise` or `stop`; absent while nobody decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Where it was saved, in the session's work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_to: Option<String>,
}
