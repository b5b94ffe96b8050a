//! How one agent is understood beyond the words of the protocol.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;

use crate::backend::acp::update::ToolUpdate;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::remedy::LoginRemedy;
use crate::backend::spec::{Images, StopLadder};
use crate::permission::{Posture, Reach};

/// What differs between agents, and between the purposes of one agent.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) stop: StopLadder,
    pub(crate) images: Images,
    /// Reads what the agent's words tell about a call; without it, only what the protocol has a place for counts.
    pub(crate) reads: Option<Reading>,
    /// Reads what the agent's words tell about a call as it goes on, where they are words of its own.
    pub(crate) retells: Option<Retelling>,
    pub(crate) refusals: Refusals,
    pub(crate) starts: Starts,
    pub(crate) asks: Asks,
    /// The mode to be in, if the agent offers it.
    pub(crate) fitting: Option<&'static str>,
    /// What a person does when the agent is not logged in.
    pub(crate) login: Option<LoginRemedy>,
    /// Told when the service refuses what the agent restored; `None` for agents whose restore is sound.
    pub(crate) spoiled: Option<Arc<Notify>>,
}

pub(crate) type Reading = fn(call: &Value, cwd: &Path) -> Option<Known>;

pub(crate) type Retelling = fn(ToolUpdate) -> ToolUpdate;

/// A call as an agent's words tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// By a name that `permission` knows, or the agent's own.
    pub(crate) tool: String,
    pub(crate) reach: Reach,
    /// What there is to show besides; `None` leaves it at what the agent shows.
    pub(crate) note: Option<String>,
}

/// Where the reason of a refusal goes; the protocol has no place for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusals {
    /// Beside the chosen option, for agents that look there.
    Beside,
    /// In the place of an option: the agent, which knows none of that name, runs nothing and tells the model what it was
    /// answered.
    AsOption,
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
            Some(login) if failure.kind == FailureKind::Auth => failure.with_remedy(login),
            Some(_) | None => failure,
        }
    }
}

/// The mode of an agent that has it by that name. Only a mode that asks lets every call come back, so edits that go ahead
/// are allowed one by one and not by the agent's own mode for them.
pub(crate) fn fitting(posture: Posture) -> &'static str {
    match posture {
        Posture::Plan => "plan",
        Posture::Attended | Posture::Edits | Posture::Unattended => "default",
    }
}
