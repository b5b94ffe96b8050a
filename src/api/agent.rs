//! Agents as clients see them: what a model is told, what each file defines, and what an agent has on each backend.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `GET /v1/agents`: the same answer that the tool `list_agents` gives to a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct AgentQuery {
    /// With the agents of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Only this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// With models and prompts.
    #[serde(default)]
    pub expanded: bool,
}

/// The agents that work can be handed to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentRoles {
    #[schema(value_type = Vec<Object>)]
    pub agents: Vec<serde_json::Value>,
}

/// `GET /v1/agent-files`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct AgentPlace {
    /// With the agents of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Every file there is, those that win first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentFiles {
    pub agents: Vec<AgentFile>,
    pub skills: Vec<SkillFile>,
    /// What is wrong with files that should be skills.
    pub diagnostics: Vec<AgentDiagnostic>,
}

/// One file and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentFile {
    /// Empty when not even that can be told.
    pub id: String,
    pub display_name: String,
    pub description: String,
    /// `primary`, `subagent` or `all`; absent when the file is broken.
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub hidden: bool,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    #[serde(default)]
    pub allow_list: Option<Vec<String>>,
    #[serde(default)]
    pub deny_list: Option<Vec<String>>,
    #[serde(default)]
    pub read_only: bool,
    #[serde(default)]
    pub max_steps: Option<u32>,
    #[serde(default)]
    pub personas: Vec<AgentPersona>,
    pub source: AgentSource,
    /// The file that is used in its place.
    #[serde(default)]
    pub shadowed_by: Option<String>,
    /// Whether it defines nothing.
    #[serde(default)]
    pub broken: bool,
    #[serde(default)]
    pub diagnostics: Vec<AgentDiagnostic>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentPersona {
    pub name: String,
    pub description: String,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub reasoning_effort: Option<String>,
}

/// Where a definition comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentSource {
    /// `builtin`, `user`, `project` or `project_nested`.
    pub scope: String,
    /// `unified`, `koda`, `template`, `task`, `claude` or `yotta`.
    pub format: String,
    pub path: String,
    pub sha256: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkillFile {
    pub name: String,
    pub description: String,
    pub path: String,
}

/// Something a person should know about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentDiagnostic {
    pub path: String,
    /// Counted from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// `info`, `warning` or `error`.
    pub severity: String,
    /// A word for programs.
    pub code: String,
    pub message: String,
}

/// `GET /v1/agents/{agent}`; the agent is `AGENT` or `AGENT:PERSONA`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ShowAgent {
    /// With the agents and settings of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where programs are looked for, instead of the daemon's own `PATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only this backend, installed or not; all installed ones when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
}

/// One agent as it would work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    pub file: AgentFile,
    #[serde(default)]
    pub persona: Option<String>,
    pub prompt: String,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// The tools that exist for it, by their canonical names.
    pub tools: Vec<String>,
    pub backends: Vec<AgentOnBackend>,
}

/// What an agent has on a backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentOnBackend {
    pub backend: String,
    /// The tools that Coppice serves to it.
    pub served: Vec<String>,
    /// What it keeps of the backend's own tools; absent when that is all of them.
    #[serde(default)]
    pub native: Option<Vec<String>>,
    /// `write` or `read_only`.
    pub access: String,
    /// Why the backend cannot be held to it.
    #[serde(default)]
    pub problem: Option<String>,
}

/// `POST /v1/agents/check`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckAgents {
    pub files: Vec<AgentText>,
}

/// A file as its client read it; the directory in its path says how to understand it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentText {
    pub path: String,
    pub text: String,
}

/// `POST /v1/agents/seed`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedAgents {}

/// Copies of the built-in agents in the user's own directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeededAgents {
    pub directory: String,
    /// The files that were written: all of them, or none.
    pub written: Vec<String>,
    /// The files of the same names that were there already.
    pub existing: Vec<String>,
}
