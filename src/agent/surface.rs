//! Which tools exist in a turn of an agent: names of a file against what there is.
//!
//! A surface never holds more than what is available and what the file names. It says nothing about whether a call of
//! a tool needs a person.

use std::collections::BTreeSet;

use super::Definition;
use crate::permission::compact::{glob, tool};

/// The abilities that agents bring along, by canonical name.
pub const NATIVE: &[&str] =
    &["read", "search", "locate", "list", "write", "edit", "patch", "bash", "web_fetch", "web_search", "todo"];

/// What an agent that may run commands can look at with them.
const READING_OF_SHELL: &[&str] = &["read", "search", "locate", "list", "git_diff", "git_show", "git_status"];

/// Acting on children. Looking at what there is and what runs is no part of it.
const DELEGATION: &[&str] = &["delegate", "wait", "send_input", "close_agent", "set_thread_note", "resume_agent"];

/// The tools of one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surface {
    /// Canonical names of our own.
    pub tools: BTreeSet<String>,
    /// Tools of external servers, as `mcp:SERVER:TOOL`.
    pub mcp: BTreeSet<String>,
    /// Those of our own that the agent's file lists, and does not just leave in.
    pub named: BTreeSet<String>,
    /// What the author of the file should know.
    pub warnings: Vec<String>,
}

/// Works out the tools of an agent. `available` are the tools of this turn and `mcp_tools` those of external servers,
/// each in any spelling.
pub fn resolve(agent: &Definition, available: &[&str], mcp_tools: &[String]) -> Surface {
    let mut tools: BTreeSet<_> = available.iter().map(|name| tool::canonical(name).into_owned()).collect();
    // Typing into a command that runs is nothing without running one.
    if tools.contains("bash") {
        tools.insert("write_stdin".to_owned());
    }
    let mut mcp: BTreeSet<_> = mcp_tools.iter().map(|name| tool::canonical(name).into_owned()).collect();
    let warnings = unknown(agent, &mcp);
    let is_held = |name: &String| {
        let is_allowed =
            agent.tools.allow.as_ref().is_none_or(|allow| allow.iter().any(|item| tool::means(item, name)));
        is_allowed && !is_forbidden(agent, name)
    };
    tools.retain(is_held);
    mcp.retain(is_held);
    let named = if agent.tools.allow.is_some() { tools.clone() } else { BTreeSet::new() };
    Surface { tools, mcp, named, warnings }
}

impl Surface {
    /// Whether a tool exists in the turn, in any spelling.
    pub fn contains(&self, name: &str) -> bool {
        let name = tool::canonical(name);
        self.tools.contains(name.as_ref()) || self.mcp.contains(name.as_ref())
    }

    /// The abilities it leaves to the agent itself, by canonical name.
    pub fn native(&self) -> impl Iterator<Item = &'static str> {
        NATIVE.iter().copied().filter(|name| self.tools.contains(*name))
    }

    /// The tools of our own that no agent brings along.
    pub fn served(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str).filter(|name| !NATIVE.contains(name))
    }

    /// The same with what a shell stands in for when it only reads, for an agent whose shell is taken away because it
    /// could write. What the agent's file forbids stays out.
    #[must_use]
    pub fn with_reading_of_shell(mut self, agent: &Definition) -> Self {
        if self.tools.contains("bash") {
            let reading = READING_OF_SHELL.iter().filter(|name| !is_forbidden(agent, name));
            self.tools.extend(reading.map(|name| (*name).to_owned()));
        }
        self
    }

    /// The same without acting on children, for a session that may have none.
    #[must_use]
    pub fn without_delegation(mut self) -> Self {
        self.tools.retain(|name| !DELEGATION.contains(&name.as_str()));
        self
    }

    /// Whether one of our tools could change files or history. External servers answer for themselves.
    pub fn is_mutating(&self) -> bool {
        self.tools.iter().any(|name| tool::is_mutating(name))
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
        is_of_servers || is_here || tool::all().any(|name| tool::means(item, name))
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
