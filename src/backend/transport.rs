//! The pieces every process-based backend shares: the child, its lines, JSON-RPC messages.

pub(crate) mod jsonrpc;
pub(crate) mod lines;
pub mod spawn;
