//! Any agent that speaks the Agent Client Protocol.
//!
//! [`client`] decides, without IO; [`actor`] owns the process and performs what was decided.

pub(crate) mod actor;
mod client;
mod effect;
mod fault;
mod handshake;
mod message;
mod permission;
#[cfg(test)]
mod tests;
mod turn;
mod update;
