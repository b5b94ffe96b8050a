//! Accepts connections for an HTTP server and limits those that have not identified themselves.
//!
//! A connection is unproven until the server has accepted one of its requests (`AcceptedConnection::confirm`). An unproven
//! one is closed after ten seconds. When there are too many it makes room for a newer one: after a moment if it has sent
//! nothing, else after two seconds; until then, others are accepted but not served. Idle strangers cannot take the descriptors of the daemon, close connections whose request is
//! on its way, nor keep others from connecting for long. A server can also limit how many proven ones are open.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many connections may be unproven at the same time.
const MAX_UNPROVEN: usize = 256;
/// How long a connection may stay unproven: a client sends its request at once.
const PROOF_LIMIT: Duration = Duration::from_secs(10);
/// How long a connection that has sent something is not closed for a newer one.
const PROOF_GRACE: Duration = Duration::from_secs(2);
/// The same, of one that has sent nothing. Those are closed first: a client sends its request as soon as it is connected.
const SILENT_GRACE: Duration = Duration::from_millis(200);

/// How many accepted connections may wait until there is room among the unproven ones.
const MAX_WAITING: usize = 1024;

/// A listener whose connections have to prove themselves.
pub struct GuardedListener<L: Listener> {
    inner: L,
    overflow: Overflow,
    /// Accepted and not served yet, oldest first.
    waiting: VecDeque<(L::Io, L::Addr)>,
    unproven: Arc<Unproven>,
    open: watch::Sender<u32>,
}

/// What becomes of connections when too many wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// They are closed, so that each is accepted at once: what identifies its peer may not last.
    Close,
    /// They wait in the kernel's queue.
    LeaveQueued,
}

/// An open connection; it counts as open until it is dropped.
pub struct GuardedStream<S> {
    stream: S,
    proof: ConnectionProof,
    has_sent: bool,
    /// Waits for the end of an unproven connection.
    expiry: Pin<Box<dyn Future<Output = ()> + Send>>,
    open: watch::Sender<u32>,
}

/// One connection, as the server's middleware sees it.
#[derive(Debug, Clone)]
pub struct AcceptedConnection<A> {
    pub address: A,
    proof: ConnectionProof,
}

#[derive(Debug, Clone)]
struct ConnectionProof {
    number: u64,
    unproven: Arc<Unproven>,
    /// What the connection takes of limits until it closes.
    permits: Arc<Mutex<Vec<OwnedSemaphorePermit>>>,
}

/// The unproven connections of a listener by number; a smaller number is older.
#[derive(Debug, Default)]
struct Unproven {
    set: Mutex<UnprovenSet>,
    /// Told when a connection leaves the set.
    left: Notify,
}

#[derive(Debug, Default)]
struct UnprovenSet {
    next: u64,
    waiting: BTreeMap<u64, UnprovenConnection>,
}

#[derive(Debug)]
struct UnprovenConnection {
    accepted_at: Instant,
    has_sent: bool,
    close: CancellationToken,
}

impl UnprovenConnection {
    /// From when on it can be closed for a newer one.
    fn replaceable_at(&self) -> Instant {
        self.accepted_at + if self.has_sent { PROOF_GRACE } else { SILENT_GRACE }
    }
}

impl<L: Listener> GuardedListener<L> {
    /// `open` tells how many connections are served.
    pub fn new(inner: L, overflow: Overflow, open: watch::Sender<u32>) -> Self {
        Self { inner, overflow, waiting: VecDeque::new(), unproven: Arc::default(), open }
    }

    /// Waits until a connection can be served, and accepts others meanwhile.
    async fn next_connection(&mut self) -> (L::Io, L::Addr) {
        loop {
            let has_space = self.waiting.len() < MAX_WAITING;
            tokio::select! {
                accepted = self.inner.accept(), if has_space || self.overflow == Overflow::Close => {
                    if has_space {
                        self.waiting.push_back(accepted);
                    }
                }
                () = self.unproven.wait_for_room(), if !self.waiting.is_empty() => {
                    if let Some(first) = self.waiting.pop_front() {
                        return first;
                    }
                }
            }
        }
    }
}

impl<L: Listener> Listener for GuardedListener<L> {
    type Io = GuardedStream<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = self.next_connection().await;
        let (proof, evicted) = Unproven::admit(&self.unproven);
        let expiry = {
            let proof = proof.clone();
            async move {
                let timed_out = tokio::time::timeout(PROOF_LIMIT, evicted.cancelled()).await.is_err();
                if timed_out && !proof.remove() {
                    // The connection has proven itself in time.
                    std::future::pending().await
                }
            }
        };
        self.open.send_modify(|count| *count += 1);
        let (expiry, open) = (Box::pin(expiry), self.open.clone());
        (GuardedStream { stream, proof, has_sent: false, expiry, open }, address)
    }

    fn local_addr(&self) -> io::Result<L::Addr> {
        self.inner.local_addr()
    }
}

impl<L: Listener> Connected<IncomingStream<'_, GuardedListener<L>>> for AcceptedConnection<L::Addr>
where
    L::Addr: Clone + Sync + 'static,
{
    fn connect_info(stream: IncomingStream<'_, GuardedListener<L>>) -> Self {
        Self { address: stream.remote_addr().clone(), proof: stream.io().proof.clone() }
    }
}

impl<A> AcceptedConnection<A> {
    /// The connection has proven itself and may stay open.
    pub fn confirm(&self) {
        self.proof.remove();
    }

    /// As `confirm`, but the connection takes one permit of each limit with it. `false` if one of them has none left.
    pub fn confirm_within(&self, limits: &[&Arc<Semaphore>]) -> bool {
        let mut permits = self.proof.lock_permits();
        if permits.is_empty() {
            let taken: Result<Vec<_>, _> = limits.iter().map(|limit| Arc::clone(limit).try_acquire_owned()).collect();
            let Ok(taken) = taken else { return false };
            *permits = taken;
        }
        self.confirm();
        true
    }
}

impl ConnectionProof {
    /// Takes the connection out of the unproven ones; whether it was among them.
    fn remove(&self) -> bool {
        let was_unproven = self.unproven.lock().waiting.remove(&self.number).is_some();
        if was_unproven {
            self.unproven.left.notify_one();
        }
        was_unproven
    }

    /// The connection has sent something, though perhaps no whole request.
    fn note_sent(&self) {
        if let Some(connection) = self.unproven.lock().waiting.get_mut(&self.number) {
            connection.has_sent = true;
        }
    }

    fn lock_permits(&self) -> MutexGuard<'_, Vec<OwnedSemaphorePermit>> {
        self.permits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unproven {
    fn lock(&self) -> MutexGuard<'_, UnprovenSet> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another connection can be added, if need be in the place of one that may be closed.
    async fn wait_for_room(&self) {
        loop {
            let full_until = self.lock().full_until();
            let Some(room_at) = full_until else { return };
            tokio::select! {
                () = self.left.notified() => {}
                () = tokio::time::sleep_until(room_at) => {}
            }
        }
    }

    /// Adds a connection, and closes the one that could be closed earliest when there are too many.
    fn admit(this: &Arc<Self>) -> (ConnectionProof, CancellationToken) {
        let close = CancellationToken::new();
        let mut set = this.lock();
        let number = set.next;
        set.next += 1;
        if set.waiting.len() >= MAX_UNPROVEN
            && let Some((replaced, _)) = set.first_replaceable()
            && let Some(connection) = set.waiting.remove(&replaced)
        {
            connection.close.cancel();
        }
        let connection = UnprovenConnection { accepted_at: Instant::now(), has_sent: false, close: close.clone() };
        set.waiting.insert(number, connection);
        (ConnectionProof { number, unproven: Arc::clone(this), permits: Arc::default() }, close)
    }
}

impl UnprovenSet {
    /// Until when no connection may be added, if there are too many and none of them may be closed.
    fn full_until(&self) -> Option<Instant> {
        let (_, room_at) = self.first_replaceable().filter(|_| self.waiting.len() >= MAX_UNPROVEN)?;
        Some(room_at).filter(|room_at| Instant::now() < *room_at)
    }

    /// The connection that can be closed first, and from when on.
    fn first_replaceable(&self) -> Option<(u64, Instant)> {
        let times = self.waiting.iter().map(|(number, connection)| (*number, connection.replaceable_at()));
        times.min_by_key(|(_, at)| *at)
    }
}

impl<S> Drop for GuardedStream<S> {
    fn drop(&mut self) {
        self.proof.remove();
        self.proof.lock_permits().clear();
        self.open.send_modify(|count| *count -= 1);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.expiry.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before && !self.has_sent {
            self.has_sent = true;
            self.proof.note_sent();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{UnixListener, UnixStream};

    use super::*;

    struct Fixture {
        _dir: tempfile::TempDir,
        path: std::path::PathBuf,
        listener: GuardedListener<UnixListener>,
        open: watch::Receiver<u32>,
    }

    impl Fixture {
        fn new(overflow: Overflow) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("socket");
            let (count, open) = watch::channel(0);
            let listener = GuardedListener::new(UnixListener::bind(&path).unwrap(), overflow, count);
            Self { _dir: dir, path, listener, open }
        }

        async fn connect(&mut self) -> (UnixStream, GuardedStream<UnixStream>) {
            let client = UnixStream::connect(&self.path).await.unwrap();
            (client, self.listener.accept().await.0)
        }
    }

    async fn read_end(stream: &mut GuardedStream<UnixStream>) -> io::ErrorKind {
        stream.read_u8().await.unwrap_err().kind()
    }

    #[tokio::test(start_paused = true)]
    async fn an_unproven_connection_ends_after_the_limit_and_a_proven_one_stays() {
        let mut fixture = Fixture::new(Overflow::Close);
        let (_idle, mut unproven) = fixture.connect().await;
        let (mut client, mut proven) = fixture.connect().await;
        proven.proof.remove();
        assert_eq!(read_end(&mut unproven).await, io::ErrorKind::TimedOut);
        let long_after = tokio::time::timeout(PROOF_LIMIT * 3, proven.read_u8()).await;
        assert!(long_after.is_err(), "it waits for the next request");
        client.write_all(b"x").await.unwrap();
        assert_eq!(proven.read_u8().await.unwrap(), b'x');
        assert_eq!(*fixture.open.borrow(), 2);
        drop((unproven, proven));
        assert_eq!(*fixture.open.borrow(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_takes_the_place_of_the_oldest_unproven_one_after_the_grace() {
        let mut fixture = Fixture::new(Overflow::Close);
        let (_client, mut proven) = fixture.connect().await;
        proven.proof.remove();
        let mut idle = Vec::new();
        for _ in 0..MAX_UNPROVEN {
            idle.push(fixture.connect().await);
        }
        let begin = tokio::time::Instant::now();
        idle.push(fixture.connect().await);
        assert!((SILENT_GRACE..PROOF_GRACE).contains(&begin.elapsed()), "{:?}", begin.elapsed());
        assert_eq!(read_end(&mut idle[0].1).await, io::ErrorKind::TimedOut);
        assert!(tokio::time::timeout(Duration::ZERO, idle[1].1.read_u8()).await.is_err());
        assert!(tokio::time::timeout(Duration::ZERO, proven.read_u8()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_neither_closes_a_connection_whose_request_is_on_its_way_nor_keeps_its_place() {
        let mut fixture = Fixture::new(Overflow::Close);
        let (mut client, mut stream) = fixture.connect().await;
        let mut flood = Vec::new();
        for _ in 1..MAX_UNPROVEN {
            flood.push(fixture.connect().await);
        }
        let _waits = UnixStream::connect(&fixture.path).await.unwrap();
        let accepted = tokio::time::timeout(SILENT_GRACE / 2, fixture.listener.accept()).await;
        assert!(accepted.is_err(), "there is no room");
        client.write_all(b"x").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'x');
        stream.proof.remove();
        let begin = tokio::time::Instant::now();
        fixture.listener.accept().await;
        assert_eq!(begin.elapsed(), Duration::ZERO, "who proves itself makes room at once");
    }

    #[tokio::test(start_paused = true)]
    async fn silent_connections_make_room_for_others_long_before_those_that_have_sent_something() {
        let mut fixture = Fixture::new(Overflow::LeaveQueued);
        let (mut client, mut speaking) = fixture.connect().await;
        client.write_all(b"x").await.unwrap();
        assert_eq!(speaking.read_u8().await.unwrap(), b'x');
        let mut silent = Vec::new();
        let begin = tokio::time::Instant::now();
        // Three times as many as there is room for.
        for _ in 0..3 * MAX_UNPROVEN {
            silent.push(fixture.connect().await);
        }
        assert!(begin.elapsed() < PROOF_GRACE, "{:?}", begin.elapsed());
        assert!(tokio::time::timeout(Duration::ZERO, speaking.read_u8()).await.is_err(), "it is still open");
    }

    #[tokio::test(start_paused = true)]
    async fn connections_are_accepted_while_there_is_no_room_to_serve_them() {
        let moment = PROOF_GRACE / 2048;
        // What becomes of one more than may wait.
        for (overflow, is_closed) in [(Overflow::Close, true), (Overflow::LeaveQueued, false)] {
            let mut fixture = Fixture::new(overflow);
            let mut served = Vec::new();
            for _ in 0..MAX_UNPROVEN {
                let (mut client, mut stream) = fixture.connect().await;
                client.write_all(b"x").await.unwrap();
                assert_eq!(stream.read_u8().await.unwrap(), b'x');
                served.push((client, stream));
            }
            let mut clients = Vec::new();
            for number in 0..=MAX_WAITING {
                clients.push(UnixStream::connect(&fixture.path).await.unwrap());
                let accepted = tokio::time::timeout(moment, fixture.listener.accept()).await;
                assert!(accepted.is_err(), "there is no room");
                assert_eq!(fixture.listener.waiting.len(), (number + 1).min(MAX_WAITING));
            }
            let last = clients.last_mut().unwrap();
            let end = tokio::time::timeout(moment, last.read_u8()).await;
            assert_eq!(end.is_ok(), is_closed, "{overflow:?}: {end:?}");
        }
    }
}
