//! The pieces every process-based backend shares: the child, its lines, JSON-RPC messages.

pub mod spawn;
