//! Delegation: a parent session hands work to a child session of its own.
//!
//! What is asked for, who may ask, how the child stands and what the parent reads: values in, values out. The engine
//! makes the child and keeps the record.

mod admit;
mod family;
mod limit;
mod note;
mod status;
#[cfg(test)]
mod tests;
mod text;

use std::time::Duration;

pub use admit::{Candidate, DEPTH_REACHED, DelegationTool, Standing, admit, may_delegate};
pub use family::{Member, close_order, has_person, invalid_id, is_closed, list_text, not_found};
pub use limit::{AgentKind, Limits, hold, limit};
pub use note::{Watched, note, one_line, preview, watch_line};
pub use status::{Cause, Child, Lifecycle, STEP_LIMIT, TIMEOUT, is_out_of_steps, of_child};
pub use text::{Awaited, agent_text, background_text, delegate_text, reply, result, spawn_text, task_text, wait_text};

/// How a delegation looks to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facade {
    Delegate,
    Task,
    SpawnAgent,
    Agent,
}

impl Facade {
    /// The name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delegate => "delegate",
            Self::Task => "task",
            Self::SpawnAgent => "spawn_agent",
            Self::Agent => "Agent",
        }
    }
}

/// One delegation, whichever façade it came through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub facade: Facade,
    pub agent: String,
    pub persona: Option<String>,
    pub prompt: String,
    /// What the child should know beside its task.
    pub context: Option<String>,
    /// A few words that a person reads.
    pub label: String,
    /// Earlier handoffs whose results the child gets.
    pub sources: Vec<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// `None` leaves it to the default; a blank note is none at all.
    pub note: Option<String>,
    pub hold: Hold,
    pub timeout: Option<Duration>,
}

/// Whether the call waits for the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The parent's call returns with the result.
    Foreground,
    /// The call returns at once, and the parent's turn still owns the child.
    Detached,
    /// The call returns at once, and the child outlives the parent's turn.
    Background,
}

/// How a handoff stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Queued,
    Running,
    PendingPermission,
    PendingQuestion,
    Completed,
    Failed,
    /// A person or the parent ended it.
    Cancelled,
    TimedOut,
    /// The daemon ended while it worked.
    Interrupted,
}

/// What a parent's model is told about a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    pub handoff: &'a str,
    pub session: &'a str,
    pub agent: &'a str,
    pub label: &'a str,
    pub status: Status,
    /// The child's final answer.
    pub text: Option<&'a str>,
    pub error: Option<&'a str>,
    /// What happened to the files, one sentence, where there is something to say.
    pub files: Option<&'a str>,
}

/// `wait`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub ids: Vec<String>,
    /// Within its bounds.
    pub timeout: Duration,
}

/// `send_input`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub id: String,
    pub text: String,
    pub when: When,
}

/// When a child hears what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    NextTurn,
    /// The turn in progress is interrupted.
    Now,
}

/// `list_active_agents`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListActive {
    pub scope: Scope,
    pub shape: Shape,
    pub closed: Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Children,
    Descendants,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Flat,
    Tree,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    Hidden,
    Shown,
}
