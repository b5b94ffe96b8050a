//! Any agent that speaks the Agent Client Protocol.
//!
//! [`client`] decides, without IO; the transport's driver owns the process and performs what was decided.

mod client;
mod fault;
mod handshake;
mod message;
mod permission;
#[cfg(test)]
mod tests;
mod turn;
mod update;

use tokio::sync::mpsc;

use crate::backend::Launch;
use crate::backend::acp::client::{Client, Policy};
use crate::backend::acp::handshake::Wishes;
use crate::backend::event::{Command, Event};
use crate::backend::transport::drive;
use crate::backend::transport::spawn::SpawnRequest;

/// Runs a conversation from its process's start to its end.
pub(crate) async fn run(launch: Launch, commands: mpsc::Receiver<Command>, events: mpsc::Sender<Event>) {
    let request = SpawnRequest { argv: launch.argv.clone(), env: launch.environment(), cwd: launch.cwd.clone() };
    let variables = request.env.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.clone()).collect();
    let Some(child) = drive::spawn(&launch, request, &events).await else { return };
    let wishes = Wishes {
        cwd: launch.cwd.to_string_lossy().into_owned(),
        policy: launch.spec.resume,
        resume: launch.resume,
        model: launch.model,
        mode: launch.mode,
        variables,
        exec_at_ms: child.exec_at_ms,
    };
    let policy = Policy { stop: launch.spec.stop, images: launch.spec.images };
    drive::run(child, Client::begin(policy, wishes), commands, events).await;
}
