//! The routes over a real socket and a real, empty engine; the client of this crate asks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use hyper::Method;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::daemon::StopRequest;
use super::lifetime::{Event, Lifetime};
use super::listener::{OwnUserListener, Peer};
use super::routes::{About, App, BODY_LIMIT, router};
use super::socket;
use crate::api::attach::{Attach, Attached, Left, Program};
use crate::api::daemon::{StopDaemon, StopHow};
use crate::api::error::{Error, ErrorKind};
use crate::api::project::{GrantTrust, SetConfig};
use crate::api::request::{
    AllowScope, CreateSession, Decide, DenyScope, EventQuery, ListSessions, Merge, SendPrompt, SetPosture,
};
use crate::api::review::{AddComment, EditComment, LookAt};
use crate::api::session::Session;
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::client::events::Events;
use crate::client::start::{Absent, Daemon};
use crate::engine::{Engine, Options};
use crate::listener::{AcceptedConnection, GuardedListener};
use crate::paths::{Paths, Surroundings};

struct House {
    _dir: TempDir,
    paths: Paths,
    clients: watch::Receiver<u32>,
    requests: mpsc::Receiver<StopRequest>,
    end: CancellationToken,
}

impl House {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let around = Surroundings { coppice_home: Some(dir.path().into()), ..Surroundings::default() };
        let paths = Paths::compute(&around).unwrap();
        let engine = Engine::start(Options {
            data: paths.data.clone(),
            config: paths.config.clone(),
            executable: "unused".into(),
            environment: BTreeMap::new(),
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
        let listener = GuardedListener::new(OwnUserListener(socket::bind(&paths.socket).unwrap()), count);
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

/// This test and the server are one process, so to the server the client is one of its own.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_descends_from_the_daemon_may_not_decide_for_a_person() {
    let house = House::open().await;
    let client = house.connect().await;
    let set = SetConfig { key: "limits.parallel_turns".into(), value: Some("9".into()), ..SetConfig::default() };
    let grant = GrantTrust { cwd: "/".into(), hash: String::new() };
    let wide = CreateSession { yolo: true, ..CreateSession::default() };
    let posture = Some("unattended".to_owned());
    let attach = Attach { program: Program::Shell, columns: 80, rows: 24, env: None };
    for refused in [
        refusal(client.set_posture("abc", &SetPosture { posture: posture.clone(), yolo: None }).await),
        refusal(client.create(&wide).await),
        refusal(client.create(&CreateSession { posture: posture.clone(), ..CreateSession::default() }).await),
        refusal(client.prompt("abc", &SendPrompt { posture, ..SendPrompt::default() }).await),
        refusal(client.prompt("abc", &SendPrompt { yolo: Some(true), ..SendPrompt::default() }).await),
        refusal(client.decide("abc", "oldest", &Decide::Allow { scope: AllowScope::Once }).await),
        refusal(client.decide("abc", "oldest", &Decide::Deny { message: None, scope: DenyScope::Once }).await),
        refusal(client.merge("abc", &Merge::default()).await),
        refusal(client.integrate("abc").await),
        refusal(client.comment("abc", &AddComment::default()).await),
        refusal(client.edit_comment("abc", 1, &EditComment::default()).await),
        refusal(client.drop_comment("abc", 1).await),
        refusal(client.look_at("abc", &LookAt::default()).await),
        refusal(client.send_review("abc").await),
        refusal(client.grant_trust(&grant).await),
        refusal(client.set_config(&set).await),
        refusal(client.send::<Attached>(Method::POST, "/v1/sessions/abc/attach", &attach).await),
        refusal(client.get::<Attached>("/v1/sessions/abc/attach/t/output", &()).await),
        refusal(client.send::<Attached>(Method::POST, "/v1/sessions/abc/attach/t/input", &()).await),
        refusal(client.send::<Left>(Method::DELETE, "/v1/sessions/abc/attach/t", &()).await),
    ] {
        assert_eq!(refused.kind, ErrorKind::Forbidden);
        assert_eq!(refused.message, "this decision belongs to a person, and the request came from an agent's process");
    }
    assert!(!house.paths.config.exists());
    assert_eq!(client.sessions(&ListSessions::default()).await.unwrap().items, []);
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused_in_words() {
    let house = House::open().await;
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
    let mut house = House::open().await;
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
    assert_eq!((status.clients, status.sessions, status.pid), (1, 0, std::process::id()));
    house.clients.wait_for(|count| *count == 0).await.unwrap();
}

#[tokio::test]
async fn a_stream_says_goodbye_when_the_daemon_ends() {
    let house = House::open().await;
    let daemon = Daemon { paths: house.paths.clone(), absent: Absent::Fail };
    let mut events = Events::open(daemon.clone(), EventQuery::default()).await.unwrap();
    house.end.cancel();
    assert!(matches!(events.next().await, Err(ClientError::Stopped)));

    let elsewhere = EventQuery { session: Some("zz".into()), ..EventQuery::default() };
    let error = refusal(Events::open(daemon, elsewhere).await);
    assert_eq!(error.message, "no session matches `zz`");
}
