//! The settings about agents, their children and their workflow.

use std::time::Duration;

use crate::permission::Profile;

/// How sessions delegate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    pub facade: Facade,
    pub timeout: Duration,
    /// `None` leaves it to what the backend bears.
    pub max_block: Option<Duration>,
    pub max_depth: u32,
    pub nested_agents: Vec<String>,
    pub max_children: u32,
    pub integrate: Integrate,
    pub background_approvals: BackgroundApprovals,
    pub ignored: Vec<String>,
    pub models: Models,
}

/// The tool that a model delegates with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facade {
    Delegate,
    Task,
    SpawnAgent,
    Agent,
}

/// When a child's files reach its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrate {
    Auto,
    Manual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundApprovals {
    Deny,
    Queue,
}

/// What becomes of an agent whose own model is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Models {
    /// It works with the model of its parent or session.
    Inherit,
    Strict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workflow {
    pub review_mode: ReviewMode,
    /// `None` is the session's own.
    pub review_model: Option<String>,
    pub planner_approval: PlannerApproval,
}

/// When a review starts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewMode {
    Off,
    Manual,
    Auto,
}

/// Who decides what happens with a finished plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannerApproval {
    Person,
    Nobody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    pub surface: Surface,
    pub profile: Profile,
    pub git_mutations: GitMutations,
    pub web_search: WebSearch,
}

/// What happens where a backend cannot be held to an agent's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    Enforced,
    Advisory,
}

/// Whether agents are served the tools that change history and GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitMutations {
    Deny,
    Allow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebSearch {
    Off,
    On,
}
