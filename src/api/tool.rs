//! The tools of an agent on a backend: what it would really get, and why it would not get the rest.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `GET /v1/tools`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ToolQuery {
    /// With the agents and settings of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where programs are looked for, instead of the daemon's own `PATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `AGENT` or `AGENT:PERSONA`; the configured one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// `BACKEND` or `BACKEND/MODEL`, installed or not; what a session of the agent would have when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `native`, `enforced` or `readonly`, as a session could ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// What an agent gets on a backend in a session of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolSurface {
    pub agent: String,
    #[serde(default)]
    pub persona: Option<String>,
    pub backend: String,
    /// `native`, `enforced` or `readonly`: the tightest word of the configuration, the agent's file and the request.
    pub profile: String,
    /// `write` or `read_only`.
    pub access: String,
    /// Why the backend cannot be held to it. A session is refused then, unless `tools.surface` is `advisory`.
    #[serde(default)]
    pub problem: Option<String>,
    /// What stays of the agent's own without being of use.
    #[serde(default)]
    pub note: Option<String>,
    /// What it keeps of its own tools, by canonical name.
    pub native: Vec<String>,
    pub served: Vec<ToolRow>,
    pub missing: Vec<MissingTool>,
}

/// A tool that Coppice serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolRow {
    pub name: String,
    /// `session`, `files`, `commands`, `code`, `history`, `github`, or `mcp` for tools of external servers.
    pub family: String,
    /// What happens with a call that no rule and no posture decides about: `allow`, `ask`, or `varies` with the call.
    pub approval: String,
    /// `reads`, `adds` or `destroys`.
    pub effect: String,
}

/// A tool that is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MissingTool {
    pub name: String,
    /// As of a served tool; `native` for one of the agent's own.
    pub family: String,
    /// A word for programs.
    pub reason: String,
    /// The reason in words, and what would change it.
    pub why: String,
}
