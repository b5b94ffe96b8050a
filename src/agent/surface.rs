//! Which tools exist in a turn of an agent: names of a file against what there is.
//!
//! A surface never holds more than what is available and what the file names. It says nothing about whether a call of
//! a tool needs a person.

use std::collections::BTreeSet;

use super::Definition;
use crate::permission::compact::{glob, tool};
use crate::tool::{Tool, ToolEffect, ToolName};

/// What an agent that may run commands can look at with them.
const READING_OF_SHELL: [Tool; 7] =
    [Tool::Read, Tool::Search, Tool::Locate, Tool::List, Tool::GitDiff, Tool::GitShow, Tool::GitStatus];

/// The tools of one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surface {
    pub tools: BTreeSet<Tool>,
    /// Tools of external servers, as `mcp:SERVER:TOOL`.
    pub mcp: BTreeSet<String>,
    /// Those of `tools` that the agent's file lists, and does not just leave in.
    pub named: BTreeSet<Tool>,
    /// What the author of the file should know.
    pub warnings: Vec<String>,
}

/// Works out the tools of an agent. `available` are the tools of this turn and `mcp_tools` those of external servers, in
/// any spelling.
pub fn resolve(agent: &Definition, available: impl IntoIterator<Item = Tool>, mcp_tools: &[String]) -> Surface {
    let mut tools: BTreeSet<_> = available.into_iter().collect();
    // Typing into a command that runs is nothing without running one.
    if tools.contains(&Tool::Bash) {
        tools.insert(Tool::WriteStdin);
    }
    let mut mcp: BTreeSet<_> = mcp_tools.iter().map(|name| ToolName::read(name).canonical().into_owned()).collect();
    let warnings = unknown(agent, &mcp);
    let is_held = |name: &str| {
        let is_allowed =
            agent.tools.allow.as_ref().is_none_or(|allow| allow.iter().any(|item| tool::means(item, name)));
        is_allowed && !is_forbidden(agent, name)
    };
    tools.retain(|tool| is_held(tool.name()));
    mcp.retain(|name| is_held(name));
    let named = if agent.tools.allow.is_some() { tools.clone() } else { BTreeSet::new() };
    Surface { tools, mcp, named, warnings }
}

impl Surface {
    /// Whether a tool exists in the turn, in any spelling.
    pub fn contains(&self, name: &str) -> bool {
        match ToolName::read(name) {
            ToolName::Known(tool) => self.has(tool),
            name @ (ToolName::External { .. } | ToolName::Unknown(_)) => self.mcp.contains(name.canonical().as_ref()),
        }
    }

    pub fn has(&self, tool: Tool) -> bool {
        self.tools.contains(&tool)
    }

    /// The canonical names of `tools`, in their order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.tools.iter().map(|tool| tool.name().to_owned()).collect();
        names.sort_unstable();
        names
    }

    /// The tools it leaves to the agent itself.
    pub fn native(&self) -> impl Iterator<Item = Tool> {
        self.tools.iter().copied().filter(|tool| tool.is_native())
    }

    /// The tools that no agent brings along.
    pub fn served(&self) -> impl Iterator<Item = Tool> {
        self.tools.iter().copied().filter(|tool| !tool.is_native())
    }

    /// The same with what a shell stands in for when it only reads, for an agent whose shell is taken away because it
    /// could write. What the agent's file forbids stays out.
    #[must_use]
    pub fn with_reading_of_shell(mut self, agent: &Definition) -> Self {
        if self.has(Tool::Bash) {
            self.tools.extend(READING_OF_SHELL.iter().filter(|tool| !is_forbidden(agent, tool.name())));
        }
        self
    }

    /// The same without acting on children, for a session that may have none.
    #[must_use]
    pub fn without_delegation(mut self) -> Self {
        self.tools.retain(|tool| tool.effect() != ToolEffect::Children);
        self
    }

    /// Whether one of our tools could change files or history. External servers answer for themselves.
    pub fn is_mutating(&self) -> bool {
        self.tools.iter().any(|tool| tool.is_mutating())
    }
}

fn is_forbidden(agent: &Definition, name: &str) -> bool {
    let is_denied = agent.tools.deny.iter().any(|item| tool::means(item, name));
    is_denied || agent.permission.as_ref().is_some_and(|permission| !permission.may_ever_run(name))
}

/// What the allow list names and nobody knows. A tool that exists elsewhere but not in this turn is left out silently.
fn unknown(agent: &Definition, mcp: &BTreeSet<String>) -> Vec<String> {
    let is_known = |item: &str| {
        // Which servers answer can change from turn to turn.
        let is_of_servers = item.starts_with("mcp") && glob::is_pattern(item);
        let is_here = mcp.iter().any(|name| tool::means(item, name));
        is_of_servers || is_here || Tool::ALL.iter().any(|known| tool::means(item, known.name()))
    };
    let allow = agent.tools.allow.iter().flatten();
    allow
        .filter(|item| !is_known(item))
        .map(|item| {
            let (name, source) = (&agent.display_name, &agent.source.path);
            format!("agent \"{name}\" ({source}) references unknown tool \"{item}\" — dropping from allowlist")
        })
        .collect()
}
