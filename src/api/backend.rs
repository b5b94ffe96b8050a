//! The agents that can be added, and whether one works in the sandbox.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::request::Environment;

/// One agent that is known by name, whether it is installed and added or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackendEntry {
    pub name: String,
    pub origin: BackendOrigin,
    /// Where its program was found.
    pub program: Option<String>,
    /// What the program says.
    pub version: Option<String>,
    /// The command that installs it.
    pub install: Option<String>,
    /// How a person logs in.
    pub login: Option<String>,
}

/// Where the description of a backend comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendOrigin {
    BuiltIn,
    /// Known, and offered once it is added.
    Preset,
    /// A preset that the configuration names.
    AddedPreset,
    /// The configuration alone describes it.
    Configured,
}

/// `POST /v1/backends/check`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckBackend {
    pub name: String,
    /// With the settings of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the agent may see of the environment of whoever asks.
    #[serde(default)]
    pub environment: Environment,
    /// Sent to the agent once its session is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// What a backend did in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackendCheck {
    pub name: String,
    /// The level of the sandbox that it ran in.
    pub sandbox: String,
    /// What it calls itself once its session is open.
    pub agent: Option<String>,
    pub version: Option<String>,
    /// How many models it offers.
    pub models: u32,
    /// What it answered to the prompt.
    pub reply: Option<String>,
    pub failure: Option<BackendFailure>,
}

/// Why a backend did not work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackendFailure {
    pub kind: String,
    pub message: String,
    pub hint: String,
}
