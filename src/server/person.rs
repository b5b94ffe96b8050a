//! Who asks: a person, or an agent that this daemon started. What an agent starts always descends from the daemon.

use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rustix::process::getpid;

use super::error::Refusal;
use super::listener::Peer;
use crate::api::error::{Error, ErrorKind};
use crate::engine::Asker;
use crate::sandbox::peer::{Kinship, kinship};

/// Keeps routes for people.
pub(super) async fn only(ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next) -> Response {
    match require(peer) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Who asks; whoever may be an agent counts as one.
pub(super) fn asker(peer: Peer) -> Asker {
    match peer.0.map(|peer| kinship(peer, getpid())) {
        Some(Kinship::Stranger) => Asker::Person,
        Some(Kinship::Descendant | Kinship::Gone) | None => Asker::Agent,
    }
}

/// Refuses everybody who may be an agent.
pub(super) fn require(peer: Peer) -> Result<(), Refusal> {
    match asker(peer) {
        Asker::Person => Ok(()),
        Asker::Agent => {
            let message = "this decision belongs to a person, and the request came from an agent's process";
            let hint = "run the command in a terminal of your own";
            Err(Refusal(Error::new(ErrorKind::Forbidden, message).with_hint(hint)))
        }
    }
}
