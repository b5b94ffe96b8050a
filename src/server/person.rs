//! Who asks: a person, or an agent that this daemon started. What an agent starts always descends from the daemon.

use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rustix::process::getpid;

use super::error::Refusal;
use super::listener::Peer;
use crate::api::error::{Error, ErrorKind};
use crate::sandbox::peer::{Kinship, kinship};

/// Keeps routes for people.
pub(super) async fn only(ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next) -> Response {
    match require(peer) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Refuses everybody who may be an agent.
pub(super) fn require(peer: Peer) -> Result<(), Refusal> {
    match peer.0.map(|peer| kinship(peer, getpid())) {
        Some(Kinship::Stranger) => Ok(()),
        Some(Kinship::Descendant | Kinship::Gone) | None => {
            let message = "this decision belongs to a person, and the request came from an agent's process";
            let hint = "run the command in a terminal of your own";
            Err(Refusal(Error::new(ErrorKind::Forbidden, message).with_hint(hint)))
        }
    }
}
