//! A handoff: the durable record of one delegation from a parent session to a child session.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::session::{AskedQuestion, Changes, Summary, Usage};

/// One delegation as the parent's model, people and programs see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Handoff {
    pub handoff_id: String,
    pub parent_session_id: String,
    /// The parent's turn that asked.
    pub parent_turn_id: u32,
    pub child_session_id: String,
    /// The child's last turn.
    pub child_turn_id: Option<u32>,
    pub child_agent_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    pub status: HandoffStatus,
    /// A few words about the task.
    pub label: String,
    pub depth: u32,
    /// Whether the child outlives the parent's turn.
    pub background: bool,
    /// The child's final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assistant_text: Option<String>,
    /// The plan that the child handed over with a `question` of the purpose `planner_save_plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_permission: Option<PendingPermission>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_question: Option<PendingQuestion>,
    pub backend: String,
    pub model: Option<String>,
    pub branch: String,
    /// The snapshot of the parent's work tree that the child started from.
    pub base_sha: String,
    /// What the child's branch ends with, where it changed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_sha: Option<String>,
    pub diffstat: Changes,
    pub started_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<i64>,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<AskedQuestion>,
    /// What became of the child's files.
    pub integration: Integration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_note: Option<String>,
}

/// How a handoff stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandoffStatus {
    Queued,
    Running,
    PendingPermission,
    PendingQuestion,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
    Interrupted,
}

impl HandoffStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            HandoffStatus::Queued => "queued",
            HandoffStatus::Running => "running",
            HandoffStatus::PendingPermission => "pending_permission",
            HandoffStatus::PendingQuestion => "pending_question",
            HandoffStatus::Completed => "completed",
            HandoffStatus::Failed => "failed",
            HandoffStatus::Cancelled => "cancelled",
            HandoffStatus::TimedOut => "timed_out",
            HandoffStatus::Interrupted => "interrupted",
        }
    }

    /// Whether the child has come to an end that only somebody else changes.
    pub fn is_final(self) -> bool {
        match self {
            HandoffStatus::Completed
            | HandoffStatus::Failed
            | HandoffStatus::Cancelled
            | HandoffStatus::TimedOut
            | HandoffStatus::Interrupted => true,
            HandoffStatus::Queued
            | HandoffStatus::Running
            | HandoffStatus::PendingPermission
            | HandoffStatus::PendingQuestion => false,
        }
    }
}

/// What became of a child's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Integration {
    /// There is nothing to bring home: the child changed nothing, or may not.
    Nothing {},
    /// The files are on the child's branch.
    Pending {},
    /// The files could not be committed; they are in the child's worktree.
    Uncommitted { worktree: String, reason: String },
    /// They are in the parent's work tree.
    Integrated { files: Vec<String> },
    /// They do not fit; nothing was written.
    Conflict { files: Vec<String> },
    /// The parent's files changed meanwhile; nothing was written.
    Changed { files: Vec<String> },
}

/// Where an event comes from that is shown on the stream of a session above.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The agent of the direct child.
    pub agent_type: String,
    /// The direct child.
    pub session_id: String,
    /// The delegation that made it.
    pub handoff_id: String,
    /// How far the session of the event is below the root of its family.
    pub depth: u32,
    pub label: String,
    /// The way from the direct child down to the session of the event.
    pub path: Vec<String>,
}

/// A call of the child that a person must allow or deny.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingPermission {
    pub request_id: String,
    /// `execution`, `path` or `network`.
    pub kind: String,
    pub tool_name: String,
    /// Why a person is asked.
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The first file, the address or what else the call is about, where it is no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub working_directory: String,
}

/// A question of the child that a person must answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PendingQuestion {
    pub request_id: String,
    pub tool_name: String,
    pub question: String,
    pub options: Vec<String>,
}
