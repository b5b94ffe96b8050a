//! Backends: external coding agents, made to look the same.
//!
//! A backend turns a [`Launch`] into a [`Conversation`]: commands in, normalised events out. It knows neither git nor
//! the store nor how processes are caged; those who start one hand it a [`Spawner`].

pub mod event;
pub mod failure;
pub mod registry;
pub mod spec;
pub mod transport;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::backend::event::{Command, Event};
use crate::backend::spec::Spec;
use crate::backend::transport::spawn::Spawner;

/// Everything one conversation needs to begin.
pub struct Launch {
    pub spec: Spec,
    /// The resolved program and its arguments.
    pub argv: Vec<String>,
    /// The work tree.
    pub cwd: PathBuf,
    /// The environment of the session; what the spec sets is added to it.
    pub env: Vec<(String, String)>,
    /// The conversation to go on with.
    pub resume: Option<String>,
    pub model: Option<String>,
    pub mode: Option<String>,
    /// Where the agent may keep its own state.
    pub state_dir: PathBuf,
    pub spawn: Arc<dyn Spawner>,
}

/// A handle on one conversation; its actor owns the process. Dropping `commands` closes it.
pub struct Conversation {
    pub commands: mpsc::Sender<Command>,
    pub events: mpsc::Receiver<Event>,
}
