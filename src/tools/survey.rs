//! Every tool there is, and why a turn does not have one of them. For people: calls are decided about elsewhere.

use super::Context;
use super::served::{self, Row};
use crate::permission::compact::Action;
use crate::permission::{self, Effect};
use crate::tool::{Tool, ToolFamily};

/// One tool and whether a turn has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    pub name: &'static str,
    pub family: ToolFamily,
    /// What happens with a call that nothing else decides about; `None` where that depends on the call.
    pub usual: Option<Action>,
    pub effect: Effect,
    /// `None` is served.
    pub missing: Option<Missing>,
}

/// Why a turn does not have a tool. The first reason counts: what the surface leaves out no other setting brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Surface,
    Delegation,
    Agents,
    Todos,
    Skills,
    Planning,
    Native,
    Shell,
    Mutations,
    ReadOnly,
}

/// Looks at every tool with the eyes of a turn, in the order in which a model reads them.
pub fn survey(context: &Context<'_>) -> Vec<Surveyed> {
    let facade = Surveyed {
        name: context.facade.name(),
        family: Tool::Delegate.family(),
        usual: permission::usual(context.facade.name()),
        effect: served::DELEGATES,
        missing: served::undelegated(context),
    };
    let row = |row: &'static Row| Surveyed {
        name: row.name,
        family: row.family(),
        usual: permission::usual(row.name),
        effect: row.effect,
        missing: row.missing(context),
    };
    std::iter::once(facade).chain(served::rows().map(row)).collect()
}

impl Missing {
    pub const ALL: [Self; 10] = [
        Self::Surface,
        Self::Delegation,
        Self::Agents,
        Self::Todos,
        Self::Skills,
        Self::Planning,
        Self::Native,
        Self::Shell,
        Self::Mutations,
        Self::ReadOnly,
    ];

    /// A word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Surface => "surface",
            Self::Delegation => "delegation",
            Self::Agents => "agents",
            Self::Todos => "todos",
            Self::Skills => "skills",
            Self::Planning => "planning",
            Self::Native => "profile",
            Self::Shell => "shell",
            Self::Mutations => "git_mutations",
            Self::ReadOnly => "read_only",
        }
    }

    /// The reason, and what would change it.
    pub fn why(self) -> &'static str {
        match self {
            Self::Surface => "the agent's file leaves it out",
            Self::Delegation => "the agent hands out no work",
            Self::Agents => "there is no agent to hand work to",
            Self::Todos => "the backend has a list of its own",
            Self::Skills => "there is no skill to load",
            Self::Planning => "only while a plan is made",
            Self::Native => "the agent works with its own; `tools.profile` or `--profile` serves this one instead",
            Self::Shell => "the agent runs git in its shell; listing this tool in `AllowTools` serves it",
            Self::Mutations => "`tools.git_mutations = \"allow\"` serves it",
            Self::ReadOnly => "the agent only reads",
        }
    }
}
