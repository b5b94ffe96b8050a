//! GitHub over its REST interface: requests as values, answers as small types, and whose token they carry.
//!
//! Everything here blocks: callers run it on threads that may block. A token goes to the configured base and nowhere
//! else, and no type here shows one.

mod answer;
mod base;
mod client;
pub mod envelope;
mod error;
mod reference;
mod remote;
mod request;
#[cfg(test)]
mod tests;
mod token;

pub use answer::{Check, Comment, Issue, Outcome, Pull, Review};
pub use base::Base;
pub use client::{Client, Cut, DIFF_LIMIT};
pub use error::GitHubError;
pub use reference::{BadReference, Reference};
pub use remote::Slug;
pub use request::{Fields, Filter, NewPull, Stage};
pub use token::{BadTokenFile, Token};
