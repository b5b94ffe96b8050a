//! One tool call as the engine of permissions sees it, and what it says about it.

use std::path::PathBuf;

use super::Reach;
use super::compact::Action;

/// A tool call, with its links followed by whoever knows the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// In any spelling that `tool` knows; `mcp:SERVER:TOOL` for external servers.
    pub tool: String,
    pub subject: Subject,
}

/// What a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Paths(Vec<Target>),
    Command {
        text: String,
        cwd: Target,
        /// Whether everything that the command names leads into the work tree, as far as its words and the disk tell.
        leads: Leads,
    },
    Url(String),
    /// A tool of an external server.
    Mcp {
        server: String,
        tool: String,
        effect: Effect,
    },
    /// A skill or another thing with a name.
    Name(String),
    /// Nothing that could be told.
    Nothing,
}

/// A path of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As the call names it, absolute.
    pub named: PathBuf,
    /// Where its links lead; empty when that cannot be known.
    pub real: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leads {
    Inside,
    /// To a file in the tree that may not be read.
    Kept,
    /// Somewhere else, or nobody can say.
    Elsewhere,
}

/// What an external server says about one of its tools; one that says nothing is taken to destroy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Destroys,
    /// It changes something, and says that it destroys nothing.
    Adds,
}

/// What was decided about a call, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub action: Action,
    pub layer: Layer,
    /// The rule that decided, as its file spells it, with the file's name.
    pub rule: Option<String>,
    /// For the model when it is denied, for the person when it is asked about.
    pub reason: String,
}

/// The steps of a decision, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    HardFloor,
    Surface,
    PathGuard,
    AgentVeto,
    DenyRule,
    PlanGate,
    NobodyToAsk,
    HardAsk,
    Boundary,
    Yolo,
    PlanFile,
    AcceptEdits,
    Rules,
    ToolClass,
}

impl Layer {
    /// Its number in the order, from 1 on.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::HardFloor => "hard floor",
            Self::Surface => "surface",
            Self::PathGuard => "path guard",
            Self::AgentVeto => "agent veto",
            Self::DenyRule => "deny rule",
            Self::PlanGate => "plan gate",
            Self::NobodyToAsk => "nobody to ask",
            Self::HardAsk => "hard ask",
            Self::Boundary => "boundary",
            Self::Yolo => "yolo",
            Self::PlanFile => "plan file",
            Self::AcceptEdits => "posture",
            Self::Rules => "rules",
            Self::ToolClass => "tool class",
        }
    }
}

impl From<&Reach> for Subject {
    /// The subject of a call whose paths are taken as they are named.
    fn from(reach: &Reach) -> Self {
        let target = |path: &PathBuf| Target { named: path.clone(), real: path.clone() };
        match reach {
            Reach::Paths(paths) => Self::Paths(paths.iter().map(target).collect()),
            Reach::Command { text, cwd } => {
                Self::Command { text: text.clone(), cwd: target(cwd), leads: Leads::Elsewhere }
            }
            Reach::Url(url) => Self::Url(url.clone()),
            Reach::Mcp { server, tool, effect } => {
                Self::Mcp { server: server.clone(), tool: tool.clone(), effect: *effect }
            }
            Reach::Elsewhere => Self::Nothing,
        }
    }
}
