//! Who asks: a person, or an agent's process. What an agent starts descends from the daemon, or is in a sandbox.

use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::Refusal;
use super::listener::Peer;
use crate::api::error::{Error, ErrorKind};
use crate::engine::Asker;
use crate::sandbox::peer::PeerOrigin;

/// Keeps routes for people.
pub(super) async fn only(ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next) -> Response {
    match require(peer) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Who asks; whoever may be an agent counts as one.
pub(super) fn asker(peer: Peer) -> Asker {
    match peer.0 {
        PeerOrigin::Stranger => Asker::Person,
        PeerOrigin::Descendant | PeerOrigin::Sandboxed | PeerOrigin::Unknown => Asker::Agent,
    }
}

/// Refuses everybody who may be an agent.
pub(super) fn require(peer: Peer) -> Result<(), Refusal> {
    let (whose, hint) = match peer.0 {
        PeerOrigin::Stranger => return Ok(()),
        PeerOrigin::Descendant | PeerOrigin::Unknown => (
            "a process of a session",
            "run the command in a terminal of your own; processes of a session may only look: \
             `coppice list --all`, `coppice show ID`, `coppice diff ID`",
        ),
        PeerOrigin::Sandboxed => (
            "a process in a sandbox",
            "run the command in a terminal outside of the sandbox; if you work in a sandbox of your own, stop the daemon \
             there with `coppice daemon stop`, and the next command starts one in your sandbox",
        ),
    };
    let message = format!("only a person may do this, and the request came from {whose}");
    Err(Refusal(Error::new(ErrorKind::Forbidden, message).with_hint(hint)))
}
