//! Accepts connections, counts them, and remembers who is at the other end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use rustix::process::Pid;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::watch;

use super::socket::Socket;

/// How long to wait when the system has no descriptor left for another connection.
const BREATHER: Duration = Duration::from_secs(1);

/// The process at the other end of a connection, as the system saw it when it connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer(pub(super) Option<Pid>);

/// The socket as the HTTP server sees it.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) socket: Socket,
    /// How many connections are open.
    pub(super) clients: watch::Sender<u32>,
}

impl Listener for Door {
    type Io = Visitor;
    type Addr = Peer;

    async fn accept(&mut self) -> (Visitor, Peer) {
        loop {
            match self.socket.accept().await {
                Ok((stream, _)) => {
                    let pid = stream.peer_cred().ok().and_then(|peer| peer.pid()).and_then(Pid::from_raw);
                    return (Visitor::new(stream, self.clients.clone()), Peer(pid));
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(BREATHER).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer(None))
    }
}

impl Connected<IncomingStream<'_, Door>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        *stream.remote_addr()
    }
}

/// An open connection; it counts as a client until it is dropped.
pub(super) struct Visitor {
    stream: UnixStream,
    clients: watch::Sender<u32>,
}

impl Visitor {
    fn new(stream: UnixStream, clients: watch::Sender<u32>) -> Self {
        clients.send_modify(|count| *count += 1);
        Self { stream, clients }
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.clients.send_modify(|count| *count -= 1);
    }
}

impl AsyncRead for Visitor {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Visitor {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
