//! How one agent is understood beyond the words of the protocol.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::{Images, StopLadder};

/// What differs between agents, and between the purposes of one agent.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) stop: StopLadder,
    pub(crate) images: Images,
    pub(crate) titles: Titles,
    pub(crate) starts: Starts,
    pub(crate) asks: Asks,
    /// What a person does when the agent is not logged in.
    pub(crate) login: Option<String>,
    /// Told when the service refuses what the agent restored; `None` for agents whose restore is sound.
    pub(crate) spoiled: Option<Arc<Notify>>,
}

/// What the title of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Titles {
    /// Words for people, which may say anything.
    ForPeople,
    /// The command itself; its directory is in brackets before the explanation.
    Commands,
}

/// What tells that an asked call has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Starts {
    /// The agent says so.
    Update,
    /// The agent says nothing until the call ends, so an allowed call counts as begun.
    Approval,
}

/// Who answers a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    Owner,
    /// Nobody listens, so every request is refused at once.
    Nobody,
}

impl Policy {
    /// The failure as this agent's user is told it.
    pub(crate) fn tell(&self, failure: Failure) -> Failure {
        match &self.login {
            Some(login) if failure.kind == FailureKind::Auth => failure.with_hint(login),
            Some(_) | None => failure,
        }
    }
}
