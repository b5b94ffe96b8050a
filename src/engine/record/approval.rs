//! Calls that a person is asked about, as they are stored.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::permission::{Effect, Reach};

/// A call that waits for a decision, or for its use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct ApprovalRecord {
    pub(in super::super) id: String,
    /// The backend's own name for the request.
    pub(in super::super) request: String,
    pub(in super::super) tool: String,
    pub(in super::super) title: String,
    pub(in super::super) preview: Option<String>,
    /// The verdict: why a person is asked, by which step and rule.
    #[serde(default)]
    pub(in super::super) reason: String,
    #[serde(default)]
    pub(in super::super) layer: String,
    #[serde(default)]
    pub(in super::super) rule: Option<String>,
    /// The rules that a wider consent saves.
    #[serde(default)]
    pub(in super::super) saves: Vec<String>,
    #[serde(default)]
    pub(in super::super) warnings: Vec<String>,
    /// What the call is, to be judged again when something was allowed.
    #[serde(default)]
    pub(in super::super) call: Option<CallRecord>,
    pub(in super::super) requested_at: i64,
    /// Identifies the call: a decision on an expired approval is used once for the first identical one.
    pub(in super::super) call_hash: String,
    pub(in super::super) expired: bool,
    pub(in super::super) decision: Option<DecisionRecord>,
}

/// A call as it was asked about, by its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct CallRecord {
    pub(in super::super) tool: String,
    pub(in super::super) reach: CallReach,
    /// Who makes it.
    #[serde(default)]
    pub(in super::super) origin: CallOrigin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum CallReach {
    Paths(Vec<PathBuf>),
    Command { text: String, cwd: PathBuf },
    Url(String),
    Mcp { server: String, tool: String, effect: CallEffect },
    Elsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum CallEffect {
    Reads,
    Adds,
    Destroys,
}

impl From<Reach> for CallReach {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::Paths(paths) => Self::Paths(paths),
            Reach::Command { text, cwd } => Self::Command { text, cwd },
            Reach::Url(url) => Self::Url(url),
            Reach::Mcp { server, tool, effect } => {
                let effect = match effect {
                    Effect::Reads => CallEffect::Reads,
                    Effect::Adds => CallEffect::Adds,
                    Effect::Destroys => CallEffect::Destroys,
                };
                Self::Mcp { server, tool, effect }
            }
            Reach::Elsewhere => Self::Elsewhere,
        }
    }
}

impl From<CallReach> for Reach {
    fn from(reach: CallReach) -> Self {
        match reach {
            CallReach::Paths(paths) => Self::Paths(paths),
            CallReach::Command { text, cwd } => Self::Command { text, cwd },
            CallReach::Url(url) => Self::Url(url),
            CallReach::Mcp { server, tool, effect } => {
                let effect = match effect {
                    CallEffect::Reads => Effect::Reads,
                    CallEffect::Adds => Effect::Adds,
                    CallEffect::Destroys => Effect::Destroys,
                };
                Self::Mcp { server, tool, effect }
            }
            CallReach::Elsewhere => Self::Elsewhere,
        }
    }
}

/// Who performs a call once it is allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum CallOrigin {
    #[default]
    Backend,
    /// One of the tools that Coppice serves.
    Served,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(in super::super) enum DecisionRecord {
    Allow,
    Deny { message: Option<String> },
}
