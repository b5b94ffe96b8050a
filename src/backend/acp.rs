//! Any agent that speaks the Agent Client Protocol.
//!
//! [`client`] decides, without IO; the transport's driver owns the process and performs what was decided.

mod client;
mod fault;
mod handshake;
mod message;
pub(crate) mod native;
mod permission;
pub(crate) mod policy;
#[cfg(test)]
mod tests;
mod turn;
pub(crate) mod update;

use std::path::Path;

use tokio::sync::mpsc;

use crate::backend::acp::client::Client;
use crate::backend::acp::handshake::Wishes;
use crate::backend::acp::policy::{Asks, Policy, Refusals, Starts};
use crate::backend::door::Entrance;
use crate::backend::event::{Command, Event};
use crate::backend::remedy::LoginRemedy;
use crate::backend::spec::NativeTools;
use crate::backend::transport::drive;
use crate::backend::transport::spawn::SpawnRequest;
use crate::backend::{Launch, Purpose, install, posture, state};

/// Runs a conversation with any agent, from its process's start to its end.
pub(crate) async fn run(
    launch: Launch,
    entrance: Option<Entrance>,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    let cwd = place(&launch).to_owned();
    let door = entrance.as_ref().map(|entrance| entrance.url.as_str());
    let mut env = launch.confines.tell(launch.environment(), door);
    if launch.spec.native_tools == NativeTools::Removable {
        native::tell(&mut env, &posture::left(&launch));
    }
    let mut needs = install::needs(&launch);
    match state::prepare(&launch) {
        Ok(linked) => needs.read.extend(linked),
        Err(failure) => {
            // Nobody may listen any more.
            events.send(Event::Failed(failure)).await.ok();
            events.send(Event::Exited { status: None, stderr_tail: String::new() }).await.ok();
            return;
        }
    }
    let request = SpawnRequest { argv: launch.argv.clone(), env, cwd, needs };
    let policy = Policy {
        stop: launch.spec.stop,
        images: launch.spec.images,
        reads: None,
        retells: None,
        refusals: Refusals::Beside,
        starts: Starts::Update,
        asks: asks(launch.purpose),
        fitting: Some(policy::fitting(launch.posture)),
        login: LoginRemedy::of_agent(&launch.spec),
        spoiled: None,
    };
    converse(launch, request, policy, entrance, commands, events).await;
}

/// Runs a conversation with an agent whose start and words are known better.
///
/// The agent is told of `entrance` as it opens its session; one that was told another way gets none here.
pub(crate) async fn converse(
    launch: Launch,
    request: SpawnRequest,
    policy: Policy,
    entrance: Option<Entrance>,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<Event>,
) {
    let variables = request.env.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.clone()).collect();
    let Some(child) = drive::spawn(&launch, request, &events).await else { return };
    let cwd = place(&launch).to_string_lossy().into_owned();
    let is_session = launch.purpose == Purpose::Session;
    let wishes = Wishes {
        cwd,
        policy: launch.spec.resume,
        resume: launch.resume.filter(|_| is_session),
        // A survey asks what there is; a model that is gone must not keep it from the answer.
        model: launch.model.filter(|_| launch.purpose != Purpose::Survey),
        mode: launch.mode.filter(|_| is_session),
        fitting: policy.fitting.filter(|_| is_session),
        entrance,
        variables,
        exec_at_ms: child.exec_at_ms,
    };
    drive::run(child, Client::begin(policy, wishes), commands, events).await;
}

/// Who is asked in a conversation of that purpose.
pub(crate) fn asks(purpose: Purpose) -> Asks {
    match purpose {
        Purpose::Session => Asks::Owner,
        Purpose::Utility | Purpose::Survey => Asks::Nobody,
    }
}

/// Where the session stands: only the turns of a session have business in a work tree.
fn place(launch: &Launch) -> &Path {
    match launch.purpose {
        Purpose::Session => &launch.cwd,
        Purpose::Utility | Purpose::Survey => &launch.neutral_dir,
    }
}
