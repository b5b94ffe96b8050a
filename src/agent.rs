//! Agents: definitions of roles that a session can work in.
//!
//! Text in, definitions out: which files there are and what they say is brought by the caller. A definition can only
//! narrow what a session may do; a file that cannot be read as it was meant defines nothing.

pub mod builtin;
pub mod catalog;
mod dialect;
pub mod directory;
mod draft;
mod frontmatter;
pub mod listing;
mod name;
pub mod parse;
mod persona;
pub mod select;
pub mod skill;
mod skill_arguments;
pub mod surface;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::permission::Profile;
use crate::permission::compact::CompactPermission;

/// One agent as its file defines it.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The canonical key: lower case, `[a-z0-9_-]{1,64}`.
    pub id: String,
    /// The name as its author spells it.
    pub display_name: String,
    /// One line; the id where the file says nothing and need not.
    pub description: String,
    pub mode: Mode,
    /// Not offered to people; whether others may delegate to it is a matter of `mode`.
    pub hidden: bool,
    /// The text without personas.
    pub prompt: String,
    pub personas: Vec<Persona>,
    /// `provider/model`, a bare model, or `sonnet`, `opus`, `haiku`; `None` inherits.
    pub model: Option<String>,
    /// `none`, `minimal`, `low`, `medium`, `high` or `xhigh`; `None` inherits.
    pub effort: Option<String>,
    /// Which tools exist in a turn.
    pub tools: ToolLists,
    /// What happens when one of them is called.
    pub permission: Option<CompactPermission>,
    pub access: Access,
    /// Whose tools it works with, where it wants less than what is configured.
    pub profile: Option<Profile>,
    /// How many tool calls a turn may make.
    pub max_steps: Option<u32>,
    pub timeout: Option<Duration>,
    /// Whether a delegation to it runs behind the parent's turn.
    pub background: Option<bool>,
    pub source: Source,
    pub diagnostics: Vec<Diagnostic>,
}

/// Who can be given work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A person chooses it; nobody delegates to it.
    Primary,
    /// Others delegate to it; no person chooses it.
    Subagent,
    All,
}

/// One voice of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Persona {
    /// Lower case.
    pub name: String,
    pub description: String,
    pub prompt: String,
    pub model: Option<String>,
    pub effort: Option<String>,
}

/// The names and patterns of a tool surface as the file spells them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolLists {
    /// `None` is everything, an empty list is nothing.
    pub allow: Option<Vec<String>>,
    pub deny: Vec<String>,
}

/// Whether an agent may change files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// As the session or the parent may.
    #[default]
    Inherit,
    ReadOnly,
}

/// Where a definition comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub scope: Scope,
    pub format: Format,
    /// The file; for built-in agents a name that is no path.
    pub path: String,
    pub sha256: String,
}

/// Whose agent it is; a later one wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    #[serde(rename = "builtin")]
    BuiltIn,
    User,
    /// In the root of the repository.
    Project,
    /// In a directory below it.
    ProjectNested,
}

/// How a file is to be read; its directory decides. An earlier one wins over a later one beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `.coppice/agents`: every key of the others.
    Unified,
    Koda,
    Template,
    Task,
    Claude,
    Yotta,
}

/// Something a person should know about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// A word for programs, such as `unknown_key`.
    pub code: &'static str,
    pub message: String,
    /// Counted from 1.
    pub line: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

impl Diagnostic {
    fn error(code: &'static str, message: impl Into<String>, line: Option<u32>) -> Self {
        Self { severity: Severity::Error, code, message: message.into(), line }
    }

    fn warning(code: &'static str, message: impl Into<String>, line: Option<u32>) -> Self {
        Self { severity: Severity::Warning, code, message: message.into(), line }
    }
}

impl Mode {
    /// Whether a person can choose it.
    pub fn is_selectable(self) -> bool {
        match self {
            Self::Primary | Self::All => true,
            Self::Subagent => false,
        }
    }

    /// Whether others can hand work to it.
    pub fn is_delegatable(self) -> bool {
        match self {
            Self::Subagent | Self::All => true,
            Self::Primary => false,
        }
    }
}

// One spelling for people and programs.
macro_rules! display_as_serialized {
    ($($name:ty),*) => {
        $(impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.serialize(formatter)
            }
        })*
    };
}
display_as_serialized!(Mode, Scope, Format, Severity);
