//! A person at a terminal in a session's worktree. What is typed and shown travels as raw bytes beside these types.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::request::Environment;
use super::session::Changes;

/// The body of `POST /v1/sessions/{id}/attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attach {
    pub program: Program,
    pub columns: u16,
    pub rows: u16,
    /// What the program may see of the client's environment; absent leaves the session with what it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Environment>,
}

/// What the person works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// The agent's own interface, on the session's conversation.
    Agent,
    /// The person's shell.
    Shell,
}

impl Program {
    pub fn as_str(self) -> &'static str {
        match self {
            Program::Agent => "agent",
            Program::Shell => "shell",
        }
    }
}

/// A program that waits for its terminal to be looked at. It ends when nobody reads its output for some seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attached {
    /// Names this terminal in all that follows.
    pub attach: String,
    pub program: Program,
    /// The session's whole id.
    pub session: String,
    /// What runs, as a person knows it.
    pub name: String,
}

/// The body of `POST /v1/sessions/{id}/attach/{attach}/size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resize {
    pub columns: u16,
    pub rows: u16,
}

/// How it ended: the answer to `DELETE /v1/sessions/{id}/attach/{attach}`, also of one that had ended before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Left {
    /// The number a shell would give the end of the program.
    pub exit: i32,
    /// What was committed of the files, where something changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What that commit changed.
    pub changes: Changes,
}
