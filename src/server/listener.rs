//! The daemon's socket as the HTTP server sees it: only processes of the same user, and who is at the other end.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use axum::serve::Listener;
use rustix::process::{Pid, geteuid};
use tokio::net::UnixStream;

use super::socket::Socket;
use crate::listener::AcceptedConnection;
use crate::sandbox::peer::{PeerOrigin, identify_process};

/// How long to wait when the system has no descriptor left for another connection.
const BREATHER: Duration = Duration::from_secs(1);

/// How often the socket's file is looked for. Nobody tells that it was removed, and a directory that is unmounted while
/// the socket is bound in it sends no notice.
const SOCKET_CHECK: Duration = Duration::from_secs(2);

/// The process at the other end of a connection. It is looked at when the connection is accepted: later its pid may be
/// another process's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer(pub(super) PeerOrigin);

/// Accepts connections from processes of the daemon's own user. The mode of the socket says the same, but whoever runs
/// as the user can change a mode.
#[derive(Debug)]
pub(super) struct OwnUserListener(pub(super) Socket);

impl Listener for OwnUserListener {
    type Io = UnixStream;
    type Addr = Peer;

    async fn accept(&mut self) -> (UnixStream, Peer) {
        loop {
            let Ok(accepted) = tokio::time::timeout(SOCKET_CHECK, self.0.accept()).await else {
                self.0.keep_in_place();
                continue;
            };
            match accepted.and_then(|(stream, _)| Ok((stream.peer_cred()?, stream))) {
                Ok((peer, stream)) if peer.uid() == geteuid().as_raw() => {
                    let process = peer.pid().and_then(Pid::from_raw);
                    let origin = process.map_or(PeerOrigin::Unknown, |pid| identify_process(stream.as_fd(), pid));
                    return (stream, Peer(origin));
                }
                Ok((peer, _)) => tracing::warn!(uid = peer.uid(), "refused a connection of another user"),
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(BREATHER).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer(PeerOrigin::Unknown))
    }
}

/// Confirms the connection of a request and tells the routes who is at its other end.
pub(super) async fn identify_peer(
    ConnectInfo(connection): ConnectInfo<AcceptedConnection<Peer>>,
    mut request: Request,
    next: Next,
) -> Response {
    connection.confirm();
    request.extensions_mut().insert(ConnectInfo(connection.address));
    next.run(request).await
}
