//! What a decision about a call depends on besides the call.

use std::path::PathBuf;

use super::compact::CompactPermission;
use super::rule::{Rule, Rules};
use super::{Hold, Posture, UnknownWord};

/// The session in which a call is made.
pub struct Scene<'a> {
    pub posture: Posture,
    pub overlay: Overlay,
    /// Whether the kernel keeps commands in the work tree whatever they say.
    pub hold: Hold,
    pub access: Access,
    /// Whether the agent has a tool, by its canonical name.
    pub has_tool: &'a (dyn Fn(&str) -> bool + Sync),
    pub agent: Option<&'a CompactPermission>,
    /// Whether what the agent's file allows counts; what it forbids always does.
    pub agent_word: AgentWord,
    pub rules: &'a Rules,
    /// What a person allowed for this session.
    pub grants: &'a [Rule],
    pub audience: Audience,
    pub places: &'a Places,
    pub git_driver: Option<&'a GitDriver>,
}

/// A setting by which git runs a program when it reads files of the work tree, where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDriver {
    pub setting: String,
}

/// What lies over the posture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Overlay {
    #[default]
    None,
    /// Whatever is not denied and need not be asked about goes ahead.
    Yolo,
}

/// Whether the agent may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Write,
    ReadOnly,
}

/// How far the file of an agent is believed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentWord {
    #[default]
    Counts,
    /// It came with a repository: it can forbid and ask, and allow nothing.
    OnlyTightens,
}

/// Who answers when somebody has to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Person,
    Nobody,
}

/// The places that calls are measured against; all of them absolute, with their links followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The work tree.
    pub tree: PathBuf,
    /// Where else the session may write: its own temporary files and caches.
    pub roots: Vec<PathBuf>,
    /// Where the session's tools may read as if it were in its tree: what its sandbox lets them read, without `/proc`.
    pub readable: Vec<PathBuf>,
    pub home: PathBuf,
    /// Where Coppice keeps its own data.
    pub state: PathBuf,
    /// The user's checkout of the repository.
    pub checkout: Option<PathBuf>,
    /// The only file that may be written while a plan is made.
    pub plan: Option<PathBuf>,
    /// Names of the repository's remotes.
    pub remotes: Vec<String>,
    /// Whether a file of secrets is at the root of the work tree.
    pub has_tree_secret: bool,
}

/// What `permission_mode` of an imported configuration stands for.
pub fn imported_mode(word: &str) -> Result<(Access, Overlay), UnknownWord> {
    match word {
        "auto" => Ok((Access::Write, Overlay::None)),
        "read_only" => Ok((Access::ReadOnly, Overlay::None)),
        "full_access" => Ok((Access::Write, Overlay::Yolo)),
        _ => Err(UnknownWord::new(word, "`auto`, `read_only`, `full_access`")),
    }
}
