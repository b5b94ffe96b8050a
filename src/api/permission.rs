//! Permissions as clients see them: why a call would go ahead or not, and the plans that wait.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// What would happen with a call, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// The canonical name of the tool.
    pub tool: String,
    pub targets: Vec<String>,
    /// `allow`, `ask` or `deny`.
    pub verdict: String,
    /// The step that decided, from 1 to 14, and its name.
    pub step: u32,
    pub layer: String,
    /// The rule that decided, with its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub reason: String,
    pub posture: String,
    pub yolo: bool,
    pub agent: Option<String>,
    /// What "always" would save.
    #[serde(default)]
    pub saves: Vec<String>,
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Whether the kernel holds commands of the session, or only these words do.
    pub enforced: bool,
    /// The files whose rules took part, whether they exist or not.
    pub files: Vec<RuleFileInfo>,
}

/// One file of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuleFileInfo {
    pub path: String,
    /// How many rules it has; absent when there is no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<u32>,
    /// Why some of it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What let a call go ahead without a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutoApproval {
    /// The step that decided.
    pub layer: String,
    /// The rule that decided, with its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The posture of the session when it was decided.
    pub posture: String,
}

/// A plan that was left for later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SavedPlan {
    /// Names the plan within its project.
    pub id: String,
    pub title: String,
    pub path: String,
    pub session: Option<String>,
    pub saved_at: i64,
}

/// `GET /v1/plans`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ListPlans {
    /// A directory inside the repository.
    pub cwd: String,
}
