//! Names of served tools as Codex takes them: it keeps those of MCP servers for its own, and refuses a conversation with one.

/// What begins the names of tools of external servers here, and there.
const RESERVED: &str = "mcp__";
const OFFERED: &str = "external__";

/// The name under which a served tool is offered.
pub(super) fn to_codex(name: &str) -> String {
    match name.strip_prefix(RESERVED) {
        Some(rest) => format!("{OFFERED}{rest}"),
        None => name.to_owned(),
    }
}

/// The served tool that was offered under a name.
pub(super) fn from_codex(name: &str) -> String {
    match name.strip_prefix(OFFERED) {
        Some(rest) => format!("{RESERVED}{rest}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_an_external_server_is_offered_under_another_name() {
        for (served, offered) in [("mcp__db__look", "external__db__look"), ("read_file", "read_file")] {
            assert_eq!((to_codex(served).as_str(), from_codex(offered).as_str()), (offered, served));
        }
    }
}
