//! The pieces every process-based backend shares: the child, its lines, JSON-RPC messages, the driver of a machine.

pub(crate) mod drive;
pub(crate) mod ending;
pub(crate) mod fault;
pub(crate) mod jsonrpc;
pub(crate) mod lines;
pub(crate) mod machine;
pub mod spawn;
