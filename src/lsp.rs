//! Language servers: the protocol, one server as a peer, and which program serves which language.
//!
//! It speaks through the pipes that it is given and touches no file: whoever starts a server confines it, reads the texts
//! that it is shown and writes what it would have changed.

pub mod answer;
mod desk;
mod documents;
pub mod edit;
mod error;
mod frame;
mod hello;
mod link;
pub mod position;
pub mod probe;
mod server;
pub mod servers;
pub mod uri;

pub use desk::Known;
pub use error::LspError;
pub use server::{Diagnosed, Io, Limits, Server, connect};

/// What became of a file behind a server's back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    Created,
    Changed,
    Deleted,
}
