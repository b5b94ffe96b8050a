//! The routes over a real socket and a real, empty engine; the client of this crate asks.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use axum::serve::Listener;
use hyper::Method;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
#[cfg(target_os = "linux")]
use {serde_json::Value, utoipa::OpenApi};

use super::daemon::StopRequest;
use super::lifetime::{Event, Lifetime};
use super::listener::{OwnUserListener, Peer};
#[cfg(target_os = "linux")]
use super::routes::Document;
use super::routes::{About, App, BODY_LIMIT, router};
use super::socket;
use crate::api::daemon::{StopDaemon, StopHow};
use crate::api::error::{Error, ErrorKind};
use crate::api::request::{CreateSession, EventQuery, ListSessions};
use crate::api::session::Session;
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::client::events::Events;
use crate::client::start::{Absent, Daemon};
use crate::engine::{Engine, Options};
use crate::listener::{AcceptedConnection, GuardedListener, Overflow};
use crate::paths::{Paths, Surroundings};
use crate::sandbox::peer::PeerOrigin;
use crate::sandbox::support::support;

struct House {
    _dir: TempDir,
    paths: Paths,
    clients: watch::Receiver<u32>,
    requests: mpsc::Receiver<StopRequest>,
    end: CancellationToken,
}

/// Lets a test choose who its client is: in truth it is this process.
struct ListenerFor {
    inner: OwnUserListener,
    peer: Option<PeerOrigin>,
}

impl Listener for ListenerFor {
    type Io = UnixStream;
    type Addr = Peer;

    async fn accept(&mut self) -> (UnixStream, Peer) {
        let (stream, peer) = self.inner.accept().await;
        (stream, self.peer.map_or(peer, Peer))
    }

    fn local_addr(&self) -> io::Result<Peer> {
        self.inner.local_addr()
    }
}

impl House {
    async fn open(peer: PeerOrigin) -> Self {
        Self::open_for(Some(peer)).await
    }

    #[cfg(target_os = "linux")]
    async fn open_to_own_process() -> Self {
        Self::open_for(None).await
    }

    async fn open_for(peer: Option<PeerOrigin>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let around = Surroundings { coppice_home: Some(dir.path().into()), ..Surroundings::default() };
        let paths = Paths::compute(&around).unwrap();
        let engine = Engine::start(Options {
            data: paths.data.clone(),
            config: paths.config.clone(),
            executable: "unused".into(),
            environment: BTreeMap::new(),
            passable_environment: BTreeMap::new(),
            support: support(),
        });
        let (stops, requests) = mpsc::channel(1);
        let count = watch::Sender::new(0);
        let clients = count.subscribe();
        let end = CancellationToken::new();
        let app = App {
            engine: engine.await.unwrap(),
            about: Arc::new(About { socket: paths.socket.display().to_string(), started: Instant::now() }),
            life: watch::Sender::new(Lifetime::default()).subscribe(),
            stops,
            end: end.clone(),
        };
        let inner = OwnUserListener(socket::bind(&paths.socket).unwrap());
        let listener = GuardedListener::new(ListenerFor { inner, peer }, Overflow::Close, count);
        let service = router(app).into_make_service_with_connect_info::<AcceptedConnection<Peer>>();
        tokio::spawn(axum::serve(listener, service).into_future());
        Self { _dir: dir, paths, clients, requests, end }
    }

    async fn connect(&self) -> Connection {
        Connection::open(&self.paths.socket).await.unwrap()
    }
}

#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Error {
    match result {
        Err(ClientError::Refused(error)) => error,
        Ok(_) | Err(_) => panic!("not refused: {result:?}"),
    }
}

/// What an agent's process may ask for; every other operation of the interface is a person's.
#[cfg(target_os = "linux")]
const OPEN_TO_AGENTS: [(&str, &str); 12] = [
    ("get", "/v1/daemon"),
    ("get", "/v1/events"),
    ("get", "/v1/events/stream"),
    ("get", "/v1/inbox"),
    ("get", "/v1/sessions"),
    ("get", "/v1/sessions/{id}"),
    ("get", "/v1/sessions/{id}/diff"),
    ("get", "/v1/sessions/{id}/handoffs"),
    ("get", "/v1/sessions/{id}/queue"),
    ("get", "/v1/sessions/{id}/review"),
    ("get", "/v1/sessions/{id}/turns"),
    ("get", "/v1/sessions/{id}/workflow"),
];

/// This test and the server are one process, so to the server the client is one of its own.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_descends_from_the_daemon_may_look_and_do_nothing_else() {
    let house = House::open_to_own_process().await;
    let document = serde_json::to_value(Document::openapi()).unwrap();
    let mut open = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let client = house.connect().await;
            let verb = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let address = path.replace(['{', '}'], "");
            let result = match verb {
                // A stream that begins has no end to wait for.
                Method::GET => client.get::<Value>(&address, &[("session", "zz")]).await,
                _ => client.send::<Value>(verb, &address, &()).await,
            };
            match result {
                Err(ClientError::Refused(refusal)) if refusal.kind == ErrorKind::Forbidden => assert_eq!(
                    refusal.message, "only a person may do this, and the request came from a process of a session",
                    "{method} {path}"
                ),
                Ok(_) | Err(_) => open.push((method.clone(), path.clone())),
            }
        }
    }
    open.sort_unstable();
    assert_eq!(open.iter().map(|(method, path)| (method.as_str(), path.as_str())).collect::<Vec<_>>(), OPEN_TO_AGENTS);

    let client = house.connect().await;
    assert_eq!(client.sessions(&ListSessions::default()).await.unwrap().items, []);
    let elsewhere = ListSessions { cwd: Some("/".into()), ..ListSessions::default() };
    assert_eq!(refusal(client.sessions(&elsewhere).await).kind, ErrorKind::Forbidden);
}

#[tokio::test]
async fn a_process_in_another_sandbox_is_told_why_it_is_refused() {
    let house = House::open(PeerOrigin::Sandboxed).await;
    let client = house.connect().await;
    let error = refusal(client.stop_daemon(&StopDaemon { how: StopHow::IfIdle }).await);
    assert_eq!(error.kind, ErrorKind::Forbidden);
    assert_eq!(error.message, "only a person may do this, and the request came from a process in a sandbox");
    assert!(error.hint.unwrap().starts_with("run the command in a terminal outside of the sandbox; "));
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused_in_words() {
    let house = House::open(PeerOrigin::Stranger).await;
    let client = house.connect().await;
    let error = refusal(client.get::<Session>("/v2/sessions", &()).await);
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::NotFound, "`/v2/sessions` is not a path of this interface")
    );
    let error = refusal(client.send::<Session>(Method::PUT, "/v1/sessions", &()).await);
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Invalid, "`/v1/sessions` does not know the method `PUT`")
    );
    let error = refusal(client.send::<Session>(Method::POST, "/v1/sessions", &"?").await);
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Invalid, "the request's body is not usable"));
    let error = refusal(client.get::<Session>("/v1/sessions", &[("limit", "many")]).await);
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Invalid, "the request's query is not usable"));
    let huge = CreateSession { prompt: "x".repeat(BODY_LIMIT + 1), ..CreateSession::default() };
    let error = refusal(client.create(&huge).await);
    assert_eq!((error.kind, error.causes.len()), (ErrorKind::Invalid, 1));
}

#[tokio::test]
async fn a_stop_is_answered_with_what_comes_of_it() {
    let mut house = House::open(PeerOrigin::Stranger).await;
    let client = house.connect().await;
    let asked = tokio::spawn(async move { client.stop_daemon(&StopDaemon { how: StopHow::IfIdle }).await });
    let StopRequest { how, verdict } = house.requests.recv().await.unwrap();
    assert_eq!((how, *house.clients.borrow()), (StopHow::IfIdle, 1));
    let mut life = Lifetime::default();
    life.step(Event::Clients(1));
    life.step(Event::Stop(how));
    verdict.send(life).unwrap();
    let status = asked.await.unwrap().unwrap();
    assert!(status.running && status.draining);
    assert_eq!((status.clients, status.sessions, status.pid), (1, 0, Some(std::process::id())));
    house.clients.wait_for(|count| *count == 0).await.unwrap();
}

#[tokio::test]
async fn a_stream_says_goodbye_when_the_daemon_ends() {
    let house = House::open(PeerOrigin::Stranger).await;
    let daemon = Daemon { paths: house.paths.clone(), absent: Absent::Fail };
    let mut events = Events::open(daemon.clone(), EventQuery::default()).await.unwrap();
    house.end.cancel();
    assert!(matches!(events.next().await, Err(ClientError::Stopped)));

    let elsewhere = EventQuery { session: Some("zz".into()), ..EventQuery::default() };
    let error = refusal(Events::open(daemon, elsewhere).await);
    assert_eq!(error.message, "no session matches `zz`");
}
