//! The life of a session as a function: a state and an event in, the next state and the effects out.
//!
//! Nothing here waits, writes or asks for the time. The engine performs the effects in their order, and every order
//! puts what must survive a crash before what the outside can see.

mod hook_fix;
mod step;
#[cfg(test)]
mod tests;

pub use hook_fix::{
    AfterFix, AfterHook, FixObstacle, FixStop, FixWork, HOOK_FIX_ROUNDS, MergeWish, PromptQueue, after_fix, after_hook,
};
pub use step::step;

/// Where a session stands, in the words that every client shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Draft,
    Queued,
    Preparing,
    Running,
    Approval,
    Asking,
    Ready,
    Failed,
    Interrupted,
    Integrating,
    Conflict,
    Merged,
    Archived,
}

/// What a session is while no turn is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rest {
    Draft,
    Ready,
    Asking,
    Failed,
    Interrupted,
    Conflict,
    Merged,
    Archived,
}

/// A session: at rest, in a turn, being merged or rebased, or in the hands of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Session {
    Resting(Rest),
    Turning(Turn),
    /// Remembers where it came from, because a refused merge changes nothing.
    Integrating(Rest),
    /// A person works in the worktree, so no turn may begin and nothing else may change it.
    Attached(Rest),
}

/// One turn in progress: how far it is, and what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Turn {
    pub phase: Phase,
    pub open: Open,
    pub repairs_left: u32,
}

/// How many calls of the agent wait, by what they wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Open {
    pub approvals: u32,
    pub questions: u32,
    pub children: u32,
}

/// What a call of the agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// A person allows or denies it.
    Approval,
    /// A person answers it.
    Question,
    /// A child session reports.
    Child,
}

/// How far a turn is. A slot is held in `Preparing`, `Working`, `Stopping` and `Closing` with [`Slot::Held`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waits for a slot; nothing was sent.
    Queued,
    /// Makes the worktree and starts the backend; nothing was sent.
    Preparing,
    /// The backend works, and none of its calls waits.
    Working,
    /// At least one call waits; the slot is given back. A model goes on only when all its calls are answered.
    Parked,
    /// The last call is settled; the turn waits for a slot before it goes on.
    Returning,
    /// The backend was told to stop and has not ended yet.
    Stopping(Outcome, Slot),
    /// The backend is done; what it changed is being committed.
    Closing(Outcome, Slot),
}

/// Whether a turn that ends still holds its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    Held,
    Free,
}

/// How a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    Completed,
    /// Completed with questions.
    Asked,
    Failed,
    Interrupted,
}

/// Everything that can happen to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A prompt is waiting and may be sent.
    Begin {
        repairs: u32,
    },
    SlotGranted,
    /// The worktree is ready and the backend has a conversation.
    Prepared,
    PrepareFailed,
    /// A call of the agent waits.
    Waits(Wait),
    /// What a call waited for is there.
    Settled(Wait),
    /// The backend took a waiting call back.
    Withdrawn(Wait),
    /// The backend's final message was a valid response.
    Answered(Asks),
    /// The backend's final message was refused.
    Refused,
    /// The backend failed or went away.
    BackendLost,
    /// The user, or the end of the daemon, stops the turn.
    Stop,
    /// What a person decided in the middle of the turn ends it well.
    Conclude,
    /// A time limit ran out.
    TimedOut,
    /// What the turn changed is on the session branch.
    Committed(Standing),
    Integrate,
    /// The merge or rebase ended.
    Integrated(Integration),
    /// A person wants to work in the worktree.
    Attach,
    /// The person left, and what they changed is on the session branch.
    Detach,
    Archive,
    /// An archived session is wanted again, with its work as it stands.
    Unarchive(Standing),
    /// An undo or a removal by hand changed the tree of a session at rest.
    Settle,
    /// The daemon starts and finds the session as the last one left it.
    Recover,
}

/// Whether a valid response holds questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asks {
    Nothing,
    Questions,
}

/// How a session's work stands to its base after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Nothing is known to be in the way of a merge.
    Clear,
    /// An earlier merge or rebase found a conflict, and it is still there.
    Conflict,
    /// The worktree is gone, and with it what the turn changed.
    TreeGone,
}

/// What came of a merge or rebase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Integration {
    Merged,
    /// The branch moved onto its base; the session goes on.
    Rebased,
    Conflict,
    /// Nothing happened.
    Refused,
}

/// What the engine does next, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Writes the state, with the fact that goes with it, before anything that follows.
    Persist(Fact),
    /// Asks for a slot; turns that return come before turns that begin.
    TakeSlot(Priority),
    /// Withdraws the wish for a slot.
    LeaveQueue,
    ReleaseSlot,
    Prepare,
    SendPrompt,
    SendRepair,
    /// Hands the decisions, answers and results that are there to the backend.
    Deliver,
    Interrupt,
    /// Ends the preparation that is under way.
    AbortPreparation,
    Commit,
    /// Begins the next queued prompt, if there is one and the last turn did not end badly.
    Next(Outcome),
}

/// What a persisted state says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fact {
    /// Only the status changed.
    Status,
    TurnStarted,
    WaitBegan(Wait),
    WaitEnded(Wait),
    ResponseRefused,
    TurnEnded(Outcome),
    /// Open approvals and questions outlive the process that asked; a decision resumes the session.
    WaitsExpired,
    WaitsCancelled,
    Detached,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    Beginning,
    Returning,
}

impl Session {
    pub fn status(self) -> Status {
        match self {
            Session::Resting(rest) | Session::Attached(rest) => rest.status(),
            Session::Integrating(_) => Status::Integrating,
            Session::Turning(turn) => turn.status(),
        }
    }

    /// Whether a turn is in progress, from queued to closing.
    pub fn is_turning(self) -> bool {
        matches!(self, Session::Turning(_))
    }

    /// Whether something goes on in the worktree that must end before anything else begins.
    pub fn is_occupied(self) -> bool {
        match self {
            Session::Turning(_) | Session::Attached(_) => true,
            Session::Resting(_) | Session::Integrating(_) => false,
        }
    }
}

impl Rest {
    pub fn status(self) -> Status {
        match self {
            Rest::Draft => Status::Draft,
            Rest::Ready => Status::Ready,
            Rest::Asking => Status::Asking,
            Rest::Failed => Status::Failed,
            Rest::Interrupted => Status::Interrupted,
            Rest::Conflict => Status::Conflict,
            Rest::Merged => Status::Merged,
            Rest::Archived => Status::Archived,
        }
    }
}

impl Turn {
    fn status(self) -> Status {
        match self.phase {
            Phase::Queued => Status::Queued,
            Phase::Preparing => Status::Preparing,
            Phase::Working | Phase::Parked | Phase::Returning if self.open.approvals > 0 => Status::Approval,
            Phase::Working | Phase::Parked | Phase::Returning if self.open.questions > 0 => Status::Asking,
            Phase::Working | Phase::Parked | Phase::Returning | Phase::Stopping(..) | Phase::Closing(..) => {
                Status::Running
            }
        }
    }
}

impl Open {
    /// Nothing waits.
    pub const NONE: Self = Self { approvals: 0, questions: 0, children: 0 };

    pub fn total(self) -> u32 {
        self.approvals + self.questions + self.children
    }

    fn count(&mut self, wait: Wait) -> &mut u32 {
        match wait {
            Wait::Approval => &mut self.approvals,
            Wait::Question => &mut self.questions,
            Wait::Child => &mut self.children,
        }
    }

    fn with(mut self, wait: Wait) -> Self {
        *self.count(wait) += 1;
        self
    }

    fn without(mut self, wait: Wait) -> Option<Self> {
        let count = self.count(wait);
        *count = count.checked_sub(1)?;
        Some(self)
    }
}

impl Status {
    /// What a person can do next, as command names; every client offers the same.
    pub fn next(self) -> &'static [&'static str] {
        match self {
            Status::Draft => &["resume", "send", "rm"],
            Status::Queued | Status::Preparing | Status::Running => &["wait", "stop", "send"],
            Status::Approval => &["approve", "deny", "stop", "send"],
            Status::Asking => &["answer", "send", "diff", "rm"],
            Status::Ready => &["diff", "send", "merge", "undo", "archive", "rm"],
            Status::Failed | Status::Interrupted => &["resume", "send", "diff", "undo", "merge", "archive", "rm"],
            Status::Integrating => &["wait", "stop"],
            Status::Conflict => &["send", "diff", "merge", "undo", "archive", "rm"],
            Status::Merged => &["diff", "send", "undo", "rm"],
            Status::Archived => &["restore", "diff", "send", "rm"],
        }
    }
}
