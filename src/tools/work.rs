//! Work on files, commands, code, history and GitHub: calls that are decided about like the agent's own before anybody
//! performs them.
//!
//! Each family reads its own calls and says what they reach; whoever performs them has the permission by then.

use std::path::Path;

use serde_json::Value;

use super::{code, command, files, github, history};
use crate::permission::Reach;

/// One such call, read and checked as far as its words go.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    Files(files::Request),
    Command(command::Request),
    Code(code::Request),
    History(history::Request),
    GitHub(github::Request),
}

impl Work {
    /// Reads a call of one of the families; `None` when the tool is of none.
    pub(super) fn parse(name: &str, arguments: &Value) -> Option<Result<Self, String>> {
        let files = || files::parse(name, arguments).map(|read| read.map(Self::Files));
        let command = || command::parse(name, arguments).map(|read| read.map(Self::Command));
        let code = || code::parse(name, arguments).map(|read| read.map(Self::Code));
        let history = || history::parse(name, arguments).map(|read| read.map(Self::History));
        let github = || github::parse(name, arguments).map(|read| read.map(Self::GitHub));
        files().or_else(command).or_else(code).or_else(history).or_else(github)
    }

    /// The call with what only the work tree can tell, so that the rules are asked about all of it. Looks at the disk.
    pub fn settled(self, tree: &Path) -> Result<Self, String> {
        match self {
            Self::Command(request) => request.settled(tree).map(Self::Command),
            Self::Files(_) | Self::Code(_) | Self::History(_) | Self::GitHub(_) => Ok(self),
        }
    }

    /// What the rules are asked about; `tree` is the work tree by the name that the agent knows.
    pub fn reach(&self, tree: &Path) -> Reach {
        match self {
            Self::Files(request) => request.reach(tree),
            Self::Command(request) => request.reach(tree),
            Self::Code(request) => request.reach(tree),
            Self::History(request) => request.reach(tree),
            Self::GitHub(request) => request.reach(tree),
        }
    }

    /// The call in one line, for people.
    pub fn title(&self) -> String {
        match self {
            Self::Files(request) => request.title(),
            Self::Command(request) => request.title(),
            Self::Code(request) => request.title(),
            Self::History(request) => request.title(),
            Self::GitHub(request) => request.title(),
        }
    }

    /// What a person looks at before they decide; empty when the title says it all.
    pub fn preview(&self) -> String {
        match self {
            Self::Files(request) => request.preview(),
            Self::Command(request) => request.preview(),
            Self::Code(request) => request.preview(),
            Self::History(request) => request.preview(),
            Self::GitHub(request) => request.preview(),
        }
    }
}
