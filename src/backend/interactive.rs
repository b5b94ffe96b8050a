//! An agent's own interface on a conversation that it had with us: how each of them is started for a person.
//!
//! It asks its person about its calls by itself. Nothing here lets a call pass, and what confines a turn confines it too.

use futures_util::future::BoxFuture;

use crate::backend::failure::Failure;
use crate::backend::spec::Transport;
use crate::backend::transport::spawn::SpawnRequest;
use crate::backend::{Backends, Launch, claude, codex, gemini, install};

/// What to start on a terminal.
pub struct Interactive {
    pub request: SpawnRequest,
    /// What goes on beside the process as long as it runs.
    pub beside: Option<BoxFuture<'static, ()>>,
    /// What is done when it is gone.
    pub after: Option<BoxFuture<'static, ()>>,
}

impl Backends {
    /// Prepares the interface of an agent for the conversation that `launch` goes on with.
    pub async fn interactive(&self, launch: Launch) -> Result<Interactive, Failure> {
        match launch.spec.transport {
            Transport::Acp => Ok(plain(&launch)),
            Transport::Claude => claude::interactive::prepare(launch).await,
            Transport::Codex => codex::interactive::prepare(launch).await,
            Transport::Gemini => gemini::interactive::prepare(launch).await,
        }
    }
}

/// A program that needs nothing but its arguments.
fn plain(launch: &Launch) -> Interactive {
    let argv = launch.argv.iter().cloned().chain(launch.opening()).collect();
    let env = launch.confines.tell(launch.environment(), None);
    let request = SpawnRequest { argv, env, cwd: launch.cwd.clone(), needs: install::needs(launch) };
    Interactive { request, beside: None, after: None }
}

impl Launch {
    /// The arguments that open the conversation to a person.
    pub(super) fn opening(&self) -> Vec<String> {
        let words = self.spec.interactive.iter().flatten().cloned();
        words.chain(self.resume.clone()).collect()
    }
}
