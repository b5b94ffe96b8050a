//! The tools that Coppice serves to agents: what they are called, what they take, and a call as a request.
//!
//! One registry for all carriers. Whoever performs a request brings the permission to do so.

pub mod code;
pub mod command;
mod describe;
pub mod external;
pub mod files;
pub mod github;
pub mod history;
pub mod inside;
mod params;
mod parse;
mod schema;
mod served;
pub mod survey;
#[cfg(test)]
mod tests;
mod work;

use serde_json::Value;

use crate::delegation::{Facade, Hold, Input, ListActive, Order, Wait};
use crate::permission::{Access, Effect, Profile};
use crate::tool::Tool;
use crate::workflow::{Change, ReviewChange, Todo};

pub use parse::parse;
pub use served::{is_served, served};
pub use work::Work;

/// One served tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct AdvertisedTool {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    /// What clients are told about its calls. They decide nothing by it.
    pub effect: Effect,
}

/// What a call came to: a text for the model, and images for those that see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub images: Vec<Image>,
}

/// A picture that a tool has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub mime: String,
    pub bytes: Vec<u8>,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { text, images: Vec::new() }
    }
}

/// What decides which tools a turn has.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Whether the agent's surface holds a tool.
    pub has: &'a dyn Fn(Tool) -> bool,
    /// Whether the agent's file lists a tool.
    pub names: &'a dyn Fn(Tool) -> bool,
    pub facade: Facade,
    /// Those that work can be handed to, in the order in which a model reads them.
    pub agents: &'a [Offer],
    pub delegation: Delegation,
    pub todos: Todos,
    pub skills: Skills,
    pub planning: Planning,
    pub profile: Profile,
    /// Whether it may change anything at all.
    pub access: Access,
    pub mutations: Mutations,
    pub shell: Shell,
}

/// Whether the agent runs commands with a tool of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    Own,
    Absent,
}

/// Whether agents are served the tools that change history and GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutations {
    Withheld,
    Served,
}

/// One agent that work can be handed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub id: String,
    pub description: String,
    pub personas: Vec<String>,
}

/// Whether the session may hand out work; [`crate::delegation::may_delegate`] decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delegation {
    Shown,
    Hidden,
}

/// Who keeps the list of todos.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Todos {
    Served,
    /// The agent has a tool of its own.
    Native,
}

/// Whether there is a skill to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skills {
    Present,
    Absent,
}

/// Whether the turn makes a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planning {
    On,
    Off,
}

/// A call that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Delegate(Order),
    Wait(Wait),
    SendInput(Input),
    CloseAgent {
        id: String,
    },
    ListActiveAgents(ListActive),
    SetThreadNote {
        id: String,
        note: Option<String>,
    },
    ResumeAgent {
        id: String,
    },
    ListAgents {
        agent: Option<String>,
        detail: Detail,
    },
    TaskWorkflow(Change),
    TaskReview(ReviewChange),
    TodoWrite(Vec<Todo>),
    Question(Question),
    ExitPlanMode,
    /// All of a skill, or what stands below one of its headings.
    Skill {
        name: String,
        section: Option<String>,
    },
    SearchSkills {
        query: String,
    },
    Work(Work),
}

/// How much of each agent a list tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Brief,
    Expanded,
}

/// One question in the middle of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub options: Vec<Alternative>,
    pub choice: Choice,
    /// What the question is for, where the engine takes part.
    pub purpose: Option<String>,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    pub label: String,
    pub role: Option<Consent>,
}

/// What choosing an answer means, where the model says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    Approve,
    Reject,
}

impl Alternative {
    /// The answer as a person reads it, and as the model hears it again: with what it means.
    pub fn shown(&self) -> String {
        match self.role {
            None => self.label.clone(),
            Some(Consent::Approve) => format!("{} (approve)", self.label),
            Some(Consent::Reject) => format!("{} (reject)", self.label),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    One,
    Several,
}

/// What the answer to a call waits for; a turn that waits gives its slot back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// It is answered at once.
    Nothing,
    Child,
    Person,
}

impl Request {
    pub fn waits_for(&self) -> Waits {
        match self {
            Self::Delegate(order) => match order.hold {
                Hold::Foreground => Waits::Child,
                Hold::Detached | Hold::Background => Waits::Nothing,
            },
            Self::Wait(_) => Waits::Child,
            Self::Question(_) | Self::ExitPlanMode => Waits::Person,
            Self::SendInput(_)
            | Self::CloseAgent { .. }
            | Self::ListActiveAgents(_)
            | Self::SetThreadNote { .. }
            | Self::ResumeAgent { .. }
            | Self::ListAgents { .. }
            | Self::TaskWorkflow(_)
            | Self::TaskReview(_)
            | Self::TodoWrite(_)
            | Self::Skill { .. }
            | Self::SearchSkills { .. }
            | Self::Work(_) => Waits::Nothing,
        }
    }
}
