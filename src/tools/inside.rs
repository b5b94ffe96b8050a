//! Work inside a session's cage: a process of our own binary performs what agents ask of their work tree, so that the
//! kernel holds it to what the session may reach.
//!
//! `serve` is that process, `Link` is the daemon's end of its pipes. Whoever starts the process confines it, and ends it.

mod halt;
pub mod ignored;
mod link;
pub mod root;
mod serve;
mod wire;

pub(crate) use halt::Halt;
pub use link::Link;
pub use serve::{ENTRY, arguments, main};
pub use wire::Request;
