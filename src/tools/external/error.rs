//! Why there is no conversation with an external server, and what a person can do about it.

use std::time::Duration;

/// Why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExternalError {
    #[error("`{name}` cannot name an mcp server")]
    Name { name: String },
    #[error("mcp server `{server}` did not say within {limit:?} which tools it has")]
    Silent { server: String, limit: Duration },
    #[error("mcp server `{server}` refused `{method}`: {message}")]
    Refused { server: String, method: &'static str, message: String },
    #[error("mcp server `{server}` answered `{method}` with something else")]
    Senseless { server: String, method: &'static str },
    #[error("mcp server `{server}` wrote {lines} lines in a row that are no messages")]
    Garbled { server: String, lines: usize },
    #[error("mcp server `{server}` does not read what it is sent")]
    Stuck { server: String },
    #[error("mcp server `{server}` ended its output")]
    Ended { server: String },
}

impl ExternalError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Name { name } => format!(
                "rename `mcp.servers.{name}`: at most 48 letters, digits, `-` and single `_`, no `_` at its end, and not \
                 `coppice`"
            ),
            Self::Garbled { server, .. } => format!(
                "`mcp.servers.{server}.command` must write nothing but messages to standard output; logs belong on \
                 standard error"
            ),
            Self::Refused { server, .. } | Self::Senseless { server, .. } => {
                format!("check that `mcp.servers.{server}.command` starts a server of the Model Context Protocol")
            }
            Self::Silent { server, .. } | Self::Stuck { server } | Self::Ended { server } => format!(
                "run what `mcp.servers.{server}.command` names by hand: it has to speak MCP over standard input and output \
                 and to keep running"
            ),
        }
    }
}
