//! What a person is asked besides approvals, and what a session remembers of plan mode, as it is stored.

use serde::{Deserialize, Serialize};

/// A question that ended a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct QuestionRecord {
    pub(in super::super) text: String,
    pub(in super::super) options: Vec<String>,
    pub(in super::super) answer: Option<String>,
    /// What the question is for, where the engine itself acts on the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) purpose: Option<String>,
}

/// A question in the middle of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct QuestionCall {
    pub(in super::super) id: String,
    /// The backend's own name for the call.
    pub(in super::super) request: String,
    pub(in super::super) text: String,
    pub(in super::super) options: Vec<String>,
    pub(in super::super) multiple: bool,
    /// The handoff whose plan is decided with the answer. Only the engine sets it: a model names no purpose of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) plan: Option<String>,
    /// The plan of a session in plan mode that is decided with the answer, as it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) proposal: Option<ProposalRecord>,
    pub(in super::super) asked_at: i64,
    /// Identifies the call: an answer to an expired question is used once for the first identical one.
    pub(in super::super) call_hash: String,
    pub(in super::super) expired: bool,
    /// What the model is told; it stays here until the call is answered with it.
    pub(in super::super) answer: Option<String>,
}

/// A plan that a person was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct ProposalRecord {
    pub(in super::super) id: String,
    pub(in super::super) title: String,
    pub(in super::super) markdown: String,
}

/// What a session remembers of plan mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in super::super) struct PlanModeRecord {
    /// The posture that it had before.
    pub(in super::super) before: Option<String>,
    /// The last turn was told that it makes a plan.
    pub(in super::super) told: bool,
    /// The turn that a person ended with a decision about its plan: nothing of it is left to do.
    pub(in super::super) concluded: Option<u32>,
    /// When its plan was left for later.
    pub(in super::super) kept_at: Option<i64>,
}
