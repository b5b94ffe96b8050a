//! The pieces every process-based backend shares: the child, its lines, JSON-RPC messages, the driver of a machine.

pub(crate) mod drive;
pub(crate) mod ending;
pub(crate) mod fault;
pub(crate) mod lines;
pub(crate) mod machine;
pub mod spawn;

/// The messages of agents are those of MCP, so one reader serves both.
pub(crate) use crate::mcp::jsonrpc;
