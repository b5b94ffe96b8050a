//! The one integration crate: the real binary in its own home, and the walls of the house.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says what it expects by failing, and starts whatever it needs"
)]

mod agents;
mod approval;
mod attach;
mod backends;
mod caches;
mod cli;
mod code;
mod confine;
mod daemon;
mod delegate;
mod demo;
mod env;
#[cfg(target_os = "linux")]
mod escape;
mod events;
mod external;
mod family;
mod github;
mod hints;
mod history;
mod hook_fix;
mod hostile_shell;
mod http;
mod import;
mod kill;
mod limits;
mod login;
mod mcp;
mod merge;
mod merge_undo;
mod models;
mod parallel;
mod permissions;
mod place;
mod plan;
mod planmode;
mod prepared_review;
mod project_env;
mod prompt;
mod queue;
mod quiet;
#[cfg(target_os = "linux")]
mod race;
mod registries;
mod repositories;
mod resolve;
mod response;
mod resume;
mod review;
mod script;
#[allow(dead_code, reason = "shared with the suite of the real programs, which uses more of it")]
mod seat;
mod session;
mod settings;
mod signing;
mod store;
mod supervisor;
mod switch;
mod tape;
mod tidy;
mod tools;
mod trust;
mod tui;
mod undo;
mod unseen;
mod utility;
mod work;
mod workflow;
mod worktree;
