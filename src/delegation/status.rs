//! How a child stands, in the words of the handoff and in the words of `wait` and the lists.

use super::Status;

/// The texts that a parent reads for an end without a reply.
pub const TIMEOUT: &str = "Subagent timeout";
pub const STEP_LIMIT: &str = "step_limit";
const CANCELLED: &str = "The subagent was stopped before it finished.";
const INTERRUPTED: &str = "The subagent was interrupted when the daemon ended; resume_agent opens it again.";

/// Where the session of a child is, and how its last turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// Waits for a slot.
    Queued,
    /// Its worktree is being made.
    Preparing,
    Running,
    /// Waits for a person's permission.
    Approval,
    /// Asks a person in the middle of its turn.
    AskingInTurn,
    /// Its turn ended with questions.
    AskingAtRest,
    Ready,
    Failed(Cause),
    /// A person or the parent stopped or closed it.
    Stopped,
    /// The daemon ended in the middle of its turn.
    DaemonEnded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Timeout,
    /// It made as many tool calls as its agent may.
    StepLimit,
    Other,
}

/// The life of an agent as `wait` and `list_active_agents` tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    PendingInit,
    Running,
    Completed,
    Errored,
    Shutdown,
    NotFound,
}

/// How the handoff of a child stands.
pub fn of_child(child: Child) -> Status {
    match child {
        Child::Queued | Child::Preparing => Status::Queued,
        Child::Running => Status::Running,
        Child::Approval => Status::PendingPermission,
        Child::AskingInTurn | Child::AskingAtRest => Status::PendingQuestion,
        Child::Ready => Status::Completed,
        Child::Failed(Cause::Timeout) => Status::TimedOut,
        Child::Failed(Cause::StepLimit | Cause::Other) => Status::Failed,
        Child::Stopped => Status::Cancelled,
        Child::DaemonEnded => Status::Interrupted,
    }
}

/// Whether the tool call that begins is one too many, `taken` being the calls of the turn with this one. After the last
/// call that is allowed the child can still answer.
pub fn is_out_of_steps(limit: Option<u32>, taken: u32) -> bool {
    limit.is_some_and(|limit| taken > limit)
}

impl Status {
    /// The word of the record and the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::PendingPermission => "pending_permission",
            Self::PendingQuestion => "pending_question",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Interrupted => "interrupted",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [
            Self::Queued,
            Self::Running,
            Self::PendingPermission,
            Self::PendingQuestion,
            Self::Completed,
            Self::Failed,
            Self::Cancelled,
            Self::TimedOut,
            Self::Interrupted,
        ]
        .into_iter()
        .find(|status| status.word() == word)
    }

    /// Whether nothing more comes unless somebody asks for it.
    pub fn is_final(self) -> bool {
        self.lifecycle().is_final()
    }

    pub fn lifecycle(self) -> Lifecycle {
        match self {
            Self::Queued => Lifecycle::PendingInit,
            Self::Running | Self::PendingPermission | Self::PendingQuestion => Lifecycle::Running,
            Self::Completed => Lifecycle::Completed,
            // A `wait` for an interrupted child must not last until its timeout: nothing resumes by itself.
            Self::Failed | Self::TimedOut | Self::Interrupted => Lifecycle::Errored,
            Self::Cancelled => Lifecycle::Shutdown,
        }
    }

    /// The status for callers that know four ends only.
    pub fn told(self) -> Self {
        match self {
            Self::Cancelled | Self::TimedOut | Self::Interrupted => Self::Failed,
            Self::Queued
            | Self::Running
            | Self::PendingPermission
            | Self::PendingQuestion
            | Self::Completed
            | Self::Failed => self,
        }
    }

    /// What the end means where nobody said more about it.
    pub fn error(self) -> Option<&'static str> {
        match self {
            Self::TimedOut => Some(TIMEOUT),
            Self::Cancelled => Some(CANCELLED),
            Self::Interrupted => Some(INTERRUPTED),
            Self::Failed => Some("The subagent failed."),
            Self::Queued | Self::Running | Self::PendingPermission | Self::PendingQuestion | Self::Completed => None,
        }
    }
}

impl Lifecycle {
    pub fn word(self) -> &'static str {
        match self {
            Self::PendingInit => "pending_init",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Errored => "errored",
            Self::Shutdown => "shutdown",
            Self::NotFound => "not_found",
        }
    }

    pub fn is_final(self) -> bool {
        match self {
            Self::PendingInit | Self::Running => false,
            Self::Completed | Self::Errored | Self::Shutdown | Self::NotFound => true,
        }
    }
}
