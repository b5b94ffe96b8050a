//! The terminal interface: one model, one `update`, one `view`, and a thin shell around them.
//!
//! It is an ordinary client: whatever it does, the command line can do too, and it can die at any moment without harm.

mod act;
mod bar;
#[doc(hidden)]
pub mod bench;
mod burst;
mod composer;
mod confirm;
mod decide;
mod help;
mod keymap;
mod login;
mod model;
mod mouse;
mod msg;
mod notice;
mod order;
mod panel;
mod picker;
mod review;
#[cfg(test)]
mod sample;
mod session;
mod sessions;
mod settings;
mod shell;
mod state;
mod theme;
mod transcript;
mod typeahead;
mod update;
mod view;
mod welcome;
mod world;

pub(crate) use review::digests as patch_digests;
pub(crate) use shell::edit_text;
pub use shell::{TuiError, run};
