//! The settings about what sessions can reach.

use std::collections::BTreeMap;

use crate::permission::Level;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    pub level: Level,
    /// What restricted sessions can reach besides the hosts of their model.
    pub hosts: Vec<String>,
    /// Directories that all sessions may write.
    pub caches: Vec<String>,
    /// Directories that sessions may read besides the usual ones.
    pub read: Vec<String>,
}

/// An external MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub hints: Hints,
}

/// Whether what a server says about its tools is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hints {
    Believed,
    Ignored,
}
