//! Coppice runs many coding agents at once on one git repository, each session in its own worktree.
//!
//! The rooms, from the core outwards; `docs/architecture.md` says what each of them does not know.

// Core: values in, values out.
/// Agents: what their files say, which one a name means, which tools it has.
pub mod agent;
/// Configuration: keys, layers, trust.
pub mod config;
/// Handing work to a child session: who may, what is asked, what comes back.
pub mod delegation;
/// Session ids: eight characters, matched by prefix.
pub mod id;
/// The Model Context Protocol: a message in, the reply out.
pub mod mcp;
/// What an agent may do without asking.
pub mod permission;
/// The structured response: parsing, streaming, schema, prompts.
pub mod protocol;
/// The life of a session as a state machine.
pub mod session;
/// Every tool that agents call: its names, what it does, how rules speak of it.
pub mod tool;
/// Tasks, reviews, todos and plans of a session.
pub mod workflow;

// Adapters: one outside thing each.
/// External coding agents, made to look the same; the scripted demo agent.
pub mod backend;
/// Worktrees, history and merges; the only room that runs git.
pub mod git;
/// GitHub over its REST interface.
pub mod github;
/// Accepting connections, with a limit for those that have not identified themselves.
pub mod listener;
/// Language servers: their protocol, and which program serves which language.
pub mod lsp;
/// Child processes that cannot outlive the daemon.
pub mod sandbox;
/// SQLite: events, sessions, turns and prompts; the only room that knows SQL.
pub mod store;
/// The tools that Coppice serves: their descriptions, and a call as a request.
pub mod tools;

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
/// How things are said to a person, the same in every face.
mod look;
/// The terminal interface.
pub mod tui;
