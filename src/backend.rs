//! Backends: external coding agents, made to look the same.
//!
//! A backend turns a `Launch` into a `Conversation`: commands in, normalised events out. It knows neither git nor
//! the store nor how processes are caged; those who start one hand it a `Spawner`.

mod acp;
pub mod demo;
pub mod event;
pub mod failure;
pub mod registry;
pub mod spec;
pub mod transport;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::backend::event::{Command, Event};
use crate::backend::spec::{Spec, Transport};
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

/// How many commands and events may wait.
const QUEUE: usize = 128;

/// Starts a conversation; whether it really begins is told by its first event.
///
/// Has to be called inside a tokio runtime.
pub fn start(launch: Launch) -> Conversation {
    let (commands, command_receiver) = mpsc::channel(QUEUE);
    let (event_sender, events) = mpsc::channel(QUEUE);
    match launch.spec.transport {
        Transport::Acp => tokio::spawn(acp::run(launch, command_receiver, event_sender)),
    };
    Conversation { commands, events }
}

impl Launch {
    /// The whole environment of the process: the session's, overridden by what the backend needs.
    fn environment(&self) -> Vec<(String, String)> {
        let state =
            self.spec.state_env.iter().map(|name| (name.clone(), self.state_dir.to_string_lossy().into_owned()));
        let own: Vec<(String, String)> = state.chain(self.spec.env.iter().cloned()).collect();
        let is_overridden = |name: &String| own.iter().any(|(known, _)| known == name);
        let session = self.env.iter().filter(|(name, _)| !is_overridden(name)).cloned();
        session.chain(own.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::backend::failure::Failure;
    use crate::backend::transport::spawn::{Child, SpawnRequest};

    struct Nobody;

    impl Spawner for Nobody {
        fn spawn(&self, _: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn what_the_backend_sets_is_stronger_than_the_session() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut spec = registry::demo("/bin/coppice".as_ref());
        spec.env = vec![pair("KEY", "backend")];
        let launch = Launch {
            spec,
            argv: Vec::new(),
            cwd: PathBuf::new(),
            env: vec![pair("KEY", "session"), pair("PATH", "/bin"), pair(registry::DEMO_STATE_ENV, "elsewhere")],
            resume: None,
            model: None,
            mode: None,
            state_dir: PathBuf::from("/state"),
            spawn: Arc::new(Nobody),
        };
        let expected = [pair("PATH", "/bin"), pair(registry::DEMO_STATE_ENV, "/state"), pair("KEY", "backend")];
        assert_eq!(launch.environment(), expected);
    }
}
