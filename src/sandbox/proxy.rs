//! A proxy on the own machine that reaches listed hosts only, for processes that can reach nothing but it.
//!
//! It carries bytes and keeps none: a tunnel by `CONNECT`, or one plain request by its full address. It asks nobody who
//! they are: whoever reaches the port may reach the listed hosts.

mod head;
mod hosts;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional, sink};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use head::{Destination, Head, Host, Kind, Malformed};
use hosts::{Allowed, Reach};

/// A longer head is no request of an ordinary client.
const HEAD_LIMIT: usize = 64 * 1024;
/// How long a client may take to say what it wants.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long finding and connecting to a host may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(20);
/// How long a refused client may take to read why.
const FAREWELL: Duration = Duration::from_secs(1);
/// More connections wait until others end.
const CONNECTIONS: usize = 256;
/// When no connection can be taken, descriptors are short, and only time brings some back.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// A running proxy. It ends with this value, and everything that it carries.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    _server: AbortOnDropHandle<()>,
}

/// Starts a proxy to `hosts`: `example.com`, `*.example.com` for all below, or an address, each with `:PORT` or for all
/// ports.
pub async fn start(hosts: Vec<String>) -> io::Result<Proxy> {
    let allowed = Arc::new(Allowed::parse(&hosts)?);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    Ok(Proxy { port, _server: AbortOnDropHandle::new(tokio::spawn(serve(listener, allowed))) })
}

impl Proxy {
    /// Where it listens on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Why a request got an answer of ours.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("the request could not be read")]
    Malformed(#[from] Malformed),
    #[error("the head of the request is too long")]
    TooLong,
    #[error("the request took too long")]
    TooLate,
    #[error("host `{0}` is not listed in `sandbox.hosts`")]
    Unlisted(Destination),
    #[error("host `{0}` leads into the own network: list the address itself in `sandbox.hosts`")]
    Inward(Destination),
    #[error("failed to reach `{0}`: {1}")]
    Unreachable(Destination, io::Error),
    #[error("failed to reach `{0}` in time")]
    Slow(Destination),
    /// The client is gone, or the connection broke.
    #[error("the connection ended")]
    Gone(#[from] io::Error),
}

async fn serve(listener: TcpListener, allowed: Arc<Allowed>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((client, _)) => {
                    connections.spawn(carry(client, Arc::clone(&allowed)));
                }
                Err(_) => sleep(EXHAUSTED).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn carry(mut client: TcpStream, allowed: Arc<Allowed>) {
    let Err(refusal) = relay(&mut client, &allowed).await else { return };
    let status = match &refusal {
        Refusal::Malformed(_) => "400 Bad Request",
        Refusal::TooLong => "431 Request Header Fields Too Large",
        Refusal::TooLate => "408 Request Timeout",
        Refusal::Unlisted(_) | Refusal::Inward(_) => "403 Forbidden",
        Refusal::Unreachable(..) => "502 Bad Gateway",
        Refusal::Slow(_) => "504 Gateway Timeout",
        Refusal::Gone(_) => return,
    };
    tracing::debug!(%refusal, "the proxy refused a request");
    // A client that left needs no answer.
    timeout(FAREWELL, answer(&mut client, status, &refusal)).await.ok();
}

async fn relay(client: &mut TcpStream, allowed: &Allowed) -> Result<(), Refusal> {
    let (head, rest) = timeout(HEAD_PATIENCE, read_head(client)).await.map_err(|_| Refusal::TooLate)??;
    let Head { destination, kind } = head::parse(&head)?;
    let Some(reach) = allowed.reach(&destination) else { return Err(Refusal::Unlisted(destination)) };
    let mut server = match timeout(CONNECT_PATIENCE, connect(&destination, reach)).await {
        Ok(Ok(Some(server))) => server,
        Ok(Ok(None)) => return Err(Refusal::Inward(destination)),
        Ok(Err(error)) => return Err(Refusal::Unreachable(destination, error)),
        Err(_) => return Err(Refusal::Slow(destination)),
    };
    match kind {
        Kind::Tunnel => client.write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n").await?,
        Kind::Forward(head) => server.write_all(&head).await?,
    }
    server.write_all(&rest).await?;
    // The end of one direction is passed on, and the other goes on until its own.
    copy_bidirectional(client, &mut server).await?;
    Ok(())
}

/// Reads up to the empty line; what came with it belongs to what follows.
async fn read_head(client: &mut TcpStream) -> Result<(Vec<u8>, Vec<u8>), Refusal> {
    let mut head = Vec::with_capacity(1024);
    loop {
        if client.read_buf(&mut head).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if let Some(end) = head::end(&head) {
            let rest = head.split_off(end);
            return Ok((head, rest));
        }
        if head.len() > HEAD_LIMIT {
            return Err(Refusal::TooLong);
        }
    }
}

/// Connects to the first address that the host may have; `None` when it may have none of its own.
async fn connect(destination: &Destination, reach: Reach) -> io::Result<Option<TcpStream>> {
    let found: Vec<SocketAddr> = match &destination.host {
        Host::Address(address) => vec![(*address, destination.port).into()],
        Host::Name(name) => lookup_host((name.as_str(), destination.port)).await?.collect(),
    };
    let fine: Vec<_> = found.into_iter().filter(|address| reach.permits(address.ip())).collect();
    if fine.is_empty() {
        return Ok(None);
    }
    TcpStream::connect(fine.as_slice()).await.map(Some)
}

async fn answer(client: &mut TcpStream, status: &str, refusal: &Refusal) -> io::Result<()> {
    let text = format!("{refusal}\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    client.write_all(head.as_bytes()).await?;
    client.write_all(text.as_bytes()).await?;
    client.shutdown().await?;
    // Closing over unread bytes would reset the connection, and the answer with it.
    copy(client, &mut sink()).await?;
    Ok(())
}
