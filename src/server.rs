//! The daemon: one process that owns the sessions and answers over a unix socket.
//!
//! This room turns requests into calls of the engine and its answers into HTTP. It decides when the process lives and
//! ends; what happens inside a session it does not know.

mod crash;
pub mod daemon;
mod error;
pub mod lifetime;
mod listener;
pub mod local;
pub mod lock;
pub mod log;
mod person;
pub mod routes;
pub mod socket;
mod stream;
#[cfg(test)]
mod tests;
