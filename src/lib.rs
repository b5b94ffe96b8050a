//! Coppice runs many coding agents at once on one git repository, each session in its own worktree.
//!
//! The rooms, from the core outwards; `docs/architecture.md` says what each of them does not know.

// Core: values in, values out.
/// Session ids: eight characters, matched by prefix.
pub mod id;
/// The structured response: parsing, streaming, schema, prompts.
pub mod protocol;
/// The life of a session as a state machine.
pub mod session;
/// Configuration: keys, layers, trust.
pub mod config;

// Adapters: one outside thing each.
/// Worktrees, history and merges; the only room that runs git.
pub mod git;
/// SQLite: events, sessions, turns and prompts; the only room that knows SQL.
pub mod store;
/// External coding agents, made to look the same; the scripted demo agent.
pub mod backend;
/// Child processes that cannot outlive the daemon.
pub mod sandbox;

// Joins.
/// Where everything lives.
pub mod paths;
/// One task per session; performs effects by calling the adapters.
pub mod engine;
/// What crosses the socket.
pub mod api;
/// The daemon: listener, routes, event stream, drain.
pub mod server;
/// Connecting to the daemon, starting it if absent.
pub mod client;

// Faces.
/// The command line.
pub mod cli;
