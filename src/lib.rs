//! Coppice runs many coding agents at once on one git repository, each session in its own worktree.
//!
//! The rooms, from the core outwards; `docs/architecture.md` says what each of them does not know.

pub mod id;
pub mod session;

// Joins.
pub mod api;
