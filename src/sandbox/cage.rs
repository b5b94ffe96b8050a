//! What a process may reach: plain data, which the second stage turns into rules of the kernel.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The limits of one process and of all that it starts. What is not listed cannot be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cage {
    /// Directories and files that may be read and executed; what does not exist is skipped.
    pub read: Vec<PathBuf>,
    /// Directories and files that may be changed too; what does not exist is skipped.
    pub write: Vec<PathBuf>,
    pub network: Network,
    pub isolation: Isolation,
}

/// What holds a process beside the rules for its files, ports and calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    #[default]
    RulesOnly,
    /// Namespaces of its own: what is not listed is absent, other processes are out of sight, and listed ports are the
    /// whole network. A process that cannot have them does not start.
    Namespaces,
}

/// What a process can connect to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    #[default]
    Open,
    /// TCP to these ports of the own machine, and nothing else.
    Ports(Vec<u16>),
}
