//! Git: worktrees, snapshots, diffs and merges of one repository.
//!
//! Reads of refs, objects and configuration go through libgit2, in process; whatever touches a work tree, a filter or a
//! signature goes through the `git` program, started in one place (`command`). Everything here blocks: callers run it
//! on threads that may block.

mod attributes;
pub mod branch;
pub mod caged;
pub mod capture;
pub(crate) mod command;
pub mod commit;
pub mod diff;
mod drain;
pub mod driver;
pub mod error;
mod file;
pub mod handoff;
pub mod history;
pub mod include;
mod index;
pub mod integrate;
mod lfs;
pub mod listing;
pub mod look;
pub mod merge;
mod message;
pub mod oid;
mod owner_access;
pub mod place;
mod populate;
mod private_index;
pub mod program;
pub mod push;
pub mod reach;
pub mod remote;
pub mod removal;
pub mod repo;
pub mod resolution;
mod stage;
pub mod status;
pub mod stop;
pub mod submodule;
pub mod traces;
pub mod tracked;
pub mod veil;
pub mod worktree;

pub use error::GitError;
pub use oid::Oid;
pub use repo::{Base, Identity, Repo};
pub use worktree::Worktree;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
pub(crate) mod testkit;
