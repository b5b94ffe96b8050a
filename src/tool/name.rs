//! The name of a tool as a call, a rule or an agent file spells it. Names are case-sensitive.

use std::borrow::Cow;

use super::Tool;

/// The server under whose name agents know the tools that we serve.
const OWN_SERVER: &str = "coppice";

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolName<'a> {
    Known(Tool),
    /// A tool of an external MCP server.
    External {
        server: &'a str,
        tool: &'a str,
    },
    Unknown(&'a str),
}

impl<'a> ToolName<'a> {
    /// Reads any spelling: one of a row, with or without our server before it, or a tool of an external server as
    /// `mcp:SERVER:TOOL`, `mcp__SERVER__TOOL` or `mcp/SERVER/TOOL`.
    pub fn read(name: &'a str) -> Self {
        if let Some(tool) = Tool::named(name) {
            return Self::Known(tool);
        }
        let Some((server, tool)) = split_server(name) else { return Self::Unknown(name) };
        let own = Tool::named(tool).filter(|_| server == OWN_SERVER);
        own.map_or(Self::External { server, tool }, Self::Known)
    }

    pub fn known(self) -> Option<Tool> {
        match self {
            Self::Known(tool) => Some(tool),
            Self::External { .. } | Self::Unknown(_) => None,
        }
    }

    /// The one spelling of it.
    pub fn canonical(self) -> Cow<'a, str> {
        match self {
            Self::Known(tool) => Cow::Borrowed(tool.name()),
            Self::External { server, tool } => Cow::Owned(format!("mcp:{server}:{tool}")),
            Self::Unknown(name) => Cow::Borrowed(name),
        }
    }
}

fn split_server(name: &str) -> Option<(&str, &str)> {
    let split = |prefix, separator| name.strip_prefix(prefix).and_then(|rest: &str| rest.split_once(separator));
    let (server, tool) = split("mcp:", ":").or_else(|| split("mcp__", "__")).or_else(|| split("mcp/", "/"))?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_other_systems_have_one_canonical_name() {
        for (spelling, name) in [
            ("Grep", "search"),
            ("Glob", "locate"),
            ("exec_command", "bash"),
            ("update_plan", "todo"),
            ("spawn_agent", "delegate"),
            ("list_git_changed_files", "git_status"),
            ("mcp__github__create_pr", "mcp:github:create_pr"),
            ("mcp/github/create_pr", "mcp:github:create_pr"),
            ("mcp:github:create_pr", "mcp:github:create_pr"),
            ("mcp__coppice__spawn_agent", "delegate"),
            ("mcp__coppice__other", "mcp:coppice:other"),
            ("mcp__broken", "mcp__broken"),
            ("Wait", "Wait"),
            ("READ", "READ"),
        ] {
            assert_eq!(ToolName::read(spelling).canonical(), name);
        }
    }
}
