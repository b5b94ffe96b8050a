//! The real Claude, Codex and Gemini programs, and other agents, behind the real binary, with scripted models of our own on loopback.
//!
//! `tests/real/run` installs the programs and runs this; a plain `cargo test` does not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says what it expects by failing, and starts whatever it needs"
)]

mod agent;
mod aside;
mod attach;
mod cloud;
mod code;
mod codex_cage;
mod codex_edge;
mod codex_posture;
mod consent;
mod delegate;
mod edge;
#[path = "../it/env.rs"]
#[allow(dead_code, reason = "shared with the integration crate, which uses more of it")]
mod env;
mod fault;
mod gate;
mod home;
mod hostile;
mod import;
mod key;
mod kill;
mod login;
mod model;
mod oauth;
mod peer;
mod posture;
mod preset;
mod profile;
mod raw;
mod registry;
#[path = "../it/seat.rs"]
#[allow(dead_code, reason = "shared with the integration crate, which uses more of it")]
mod seat;
mod served;
mod stage;
mod surface;
mod switch;
mod together;
mod tool;
mod trap;
mod turn;
mod user;
