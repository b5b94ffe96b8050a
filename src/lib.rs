//! Coppice runs many coding agents at once on one git repository, each session in its own worktree.
//!
//! The rooms, from the core outwards; `docs/architecture.md` says what each of them does not know.

// Core: values in, values out.
/// Configuration: keys, layers, trust.
pub mod config;
/// Session ids: eight characters, matched by prefix.
pub mod id;
/// What an agent may do without asking.
pub mod permission;
/// The structured response: parsing, streaming, schema, prompts.
pub mod protocol;
/// The life of a session as a state machine.
pub mod session;

// Adapters: one outside thing each.
/// External coding agents, made to look the same; the scripted demo agent.
pub mod backend;
/// Worktrees, history and merges; the only room that runs git.
pub mod git;
/// Child processes that cannot outlive the daemon.
pub mod sandbox;
/// SQLite: events, sessions, turns and prompts; the only room that knows SQL.
pub mod store;

// Joins.
/// What crosses the socket.
pub mod api;
/// Connecting to the daemon, starting it if absent.
pub mod client;
/// One task per session; performs effects by calling the adapters.
pub mod engine;
/// Where everything lives.
pub mod paths;
/// The daemon: listener, routes, event stream, drain.
pub mod server;

// Faces.
/// The command line.
pub mod cli;
