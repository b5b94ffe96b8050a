//! Which tools a pattern of an agent's file or a map means.

use std::borrow::Cow;

use super::glob;
use crate::tool::{Tool, ToolName};

/// Whether a name or pattern of an agent's file means a tool; either may be in any spelling.
pub fn means(pattern: &str, tool: &str) -> bool {
    Spelled::new(tool).is_meant_by(pattern)
}

/// A tool in all of its spellings, to be held against many patterns.
pub(in crate::permission) struct Spelled<'a> {
    pub name: ToolName<'a>,
    canonical: Cow<'a, str>,
    spellings: Vec<Cow<'a, str>>,
    /// `SERVER_TOOL` of a tool of an external server.
    short: Option<String>,
}

impl<'a> Spelled<'a> {
    pub(in crate::permission) fn new(name: &'a str) -> Self {
        let name = ToolName::read(name);
        let canonical = name.canonical();
        let (spellings, short) = match name {
            ToolName::Known(tool) => (tool.names().iter().copied().map(Cow::Borrowed).collect(), None),
            ToolName::External { server, tool } => {
                let others = [format!("mcp__{server}__{tool}"), format!("mcp/{server}/{tool}")];
                let spellings = std::iter::once(canonical.clone()).chain(others.map(Cow::Owned));
                (spellings.collect(), Some(format!("{server}_{tool}")))
            }
            ToolName::Unknown(_) => (vec![canonical.clone()], None),
        };
        Self { name, canonical, spellings, short }
    }

    pub(in crate::permission) fn canonical(&self) -> &str {
        &self.canonical
    }

    pub(in crate::permission) fn is_meant_by(&self, pattern: &str) -> bool {
        let is_named = if glob::is_pattern(pattern) {
            self.spellings.iter().any(|spelling| glob::matches(pattern, spelling))
        } else {
            // Only what names a server has spellings that are in no list.
            let is_other = || pattern.starts_with("mcp") && ToolName::read(pattern).canonical() == self.canonical;
            self.spellings.iter().any(|spelling| spelling == pattern) || is_other()
        };
        is_named || self.short.as_ref().is_some_and(|short| is_short_for(pattern, short))
    }
}

/// `SERVER_TOOL` looks like any other name, so it counts only where it cannot mean a tool of our own.
fn is_short_for(pattern: &str, short: &str) -> bool {
    let is_ours = || Tool::ALL.iter().flat_map(|tool| tool.names()).any(|spelling| glob::matches(pattern, spelling));
    glob::matches(pattern, short) && !is_ours()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_spelling_never_reaches_past_a_tool_of_our_own() {
        assert!(means("github_create_pr", "mcp:github:create_pr"));
        assert!(means("github_*", "mcp__github__create_pr"));
        assert!(!means("web_search", "mcp:web:search"));
        assert!(!means("git_*", "mcp:git:push"));
        assert!(means("mcp__git*", "mcp:git:push"));
        assert!(means("*", "mcp:git:push"));
    }
}
