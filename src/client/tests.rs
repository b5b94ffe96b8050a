//! The client against small daemons of its own making, over real sockets.

#![expect(clippy::disallowed_methods, reason = "a test starts programs of its own")]

use std::collections::VecDeque;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use tempfile::TempDir;
use tokio::net::UnixListener;

use super::ClientError;
use super::connection::Connection;
use super::events::{Events, Item};
use super::start::{Absent, Daemon};
use crate::api;
use crate::api::daemon::{DaemonStatus, StopDaemon, StopHow};
use crate::api::error::{Error, ErrorBody, ErrorKind};
use crate::api::project::BackendQuery;
use crate::api::request::EventQuery;
use crate::paths::{Paths, Surroundings};

fn status(version: &str, api: u32) -> DaemonStatus {
    DaemonStatus {
        running: true,
        pid: Some(1),
        version: version.into(),
        api,
        socket: String::new(),
        uptime_s: 0,
        clients: 0,
        sessions: 0,
        running_turns: 0,
        draining: false,
    }
}

fn this_version() -> DaemonStatus {
    status(env!("CARGO_PKG_VERSION"), api::VERSION)
}

struct Home {
    dir: TempDir,
    daemon: Daemon,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let around = Surroundings { coppice_home: Some(dir.path().into()), ..Surroundings::default() };
        let paths = Paths::compute(&around).unwrap();
        std::fs::create_dir_all(&paths.run).unwrap();
        Self { dir, daemon: Daemon { paths, absent: Absent::Fail } }
    }

    fn serve(&self, routes: Router) {
        let listener = UnixListener::bind(&self.daemon.paths.socket).unwrap();
        tokio::spawn(async move { axum::serve(listener, routes).await });
    }

    fn serve_status(&self, status: DaemonStatus) {
        self.serve(Router::new().route("/v1/daemon", get(async move || Json(status))));
    }

    /// A program for the client to start.
    fn program(&self, script: &str) -> PathBuf {
        let (text, path) = (self.dir.path().join("text"), self.dir.path().join("program"));
        std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Copied by another process: a file that a fork of this one still has open for writing cannot be executed.
        assert!(std::process::Command::new("cp").args([&text, &path]).status().unwrap().success());
        path
    }

    fn starting(&self, program: &Path) -> Daemon {
        Daemon { paths: self.daemon.paths.clone(), absent: Absent::Start { program: program.to_owned() } }
    }
}

#[tokio::test]
async fn a_refusal_arrives_as_it_was_said() {
    let home = Home::new();
    let refusal = Error::new(ErrorKind::NotFound, "no session matches `zz`").with_hint("try `coppice list`");
    let body = ErrorBody { error: refusal.clone() };
    home.serve(
        Router::new()
            .route("/v1/sessions/zz", get(async move || (StatusCode::NOT_FOUND, Json(body))))
            .route("/v1/inbox", get(async || (StatusCode::BAD_GATEWAY, "who are you")))
            .route("/v1/models", get(async || "hello")),
    );
    let connection = Connection::open(&home.daemon.paths.socket).await.unwrap();
    assert!(matches!(connection.session("zz").await, Err(ClientError::Refused(error)) if error == refusal));
    assert_eq!(connection.inbox().await.unwrap_err().to_string(), "the daemon answered with status 502");
    let error = connection.models(&BackendQuery::default()).await.unwrap_err().to_string();
    assert_eq!(error, "the daemon's answer to `GET /v1/models` makes no sense");
}

#[tokio::test]
async fn no_daemon_is_said_plainly() {
    let home = Home::new();
    let socket = &home.daemon.paths.socket;
    let expected = format!("no daemon answers on `{}`", socket.display());
    assert_eq!(home.daemon.connect().await.unwrap_err().to_string(), expected);
    // The same for a socket that a killed daemon left behind.
    drop(std::os::unix::net::UnixListener::bind(socket).unwrap());
    assert_eq!(home.daemon.connect().await.unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn a_daemon_of_the_same_version_is_used() {
    let home = Home::new();
    home.serve_status(this_version());
    assert!(home.daemon.connect().await.is_ok());
}

#[tokio::test]
async fn a_daemon_that_is_too_new_is_refused() {
    let home = Home::new();
    home.serve_status(status("999.0.0", api::VERSION + 1));
    let expected = "the daemon speaks version 2 of the interface, this client only version 1";
    assert_eq!(home.daemon.connect().await.unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn an_older_daemon_that_has_work_is_kept_if_the_interface_fits() {
    for (theirs, is_kept) in [(api::VERSION, true), (api::VERSION - 1, false)] {
        let home = Home::new();
        let busy = DaemonStatus { running_turns: 2, ..status("0.0.1", theirs) };
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, reply) = (asked.clone(), busy.clone());
        let stop = async move |Json(stop): Json<StopDaemon>| {
            seen.lock().unwrap().push(stop.how);
            Json(reply)
        };
        home.serve(Router::new().route("/v1/daemon", get(async || Json(busy))).route("/v1/daemon/stop", post(stop)));
        let connected = home.starting(Path::new("unused")).connect().await;
        assert_eq!(*asked.lock().unwrap(), [StopHow::IfIdle]);
        match connected {
            Ok(_) => assert!(is_kept),
            Err(error) => {
                assert!(!is_kept);
                let expected = "the daemon speaks version 0 of the interface, this client version 1, \
                                and the daemon cannot be replaced while 2 turns run";
                assert_eq!(error.to_string(), expected);
            }
        }
    }
}

#[tokio::test]
async fn a_daemon_that_fails_to_start_leaves_its_last_words() {
    let home = Home::new();
    let program = home.program("echo 'error: the store is locked' >&2; exit 1");
    let error = home.starting(&program).connect().await.unwrap_err();
    assert_eq!(error.to_string(), "the daemon did not start: error: the store is locked");

    let error = home.starting(Path::new("/no/such/program")).connect().await.unwrap_err();
    assert_eq!(error.to_string(), "failed to start the daemon from `/no/such/program`");
}

#[tokio::test]
async fn a_daemon_is_started_with_the_words_it_expects() {
    let home = Home::new();
    // It plays a daemon that is ready but has lost its socket again.
    let program = home.program("echo \"$@\" > \"$0.args\"; echo ready");
    let error = home.starting(&program).connect().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(home.dir.path().join("program.args")).unwrap(), "daemon run --detached\n");
}

/// Plays one prepared stream per request and notes where each wanted to resume.
#[derive(Clone)]
struct Streams {
    prepared: Arc<Mutex<VecDeque<&'static str>>>,
    resumed_at: Arc<Mutex<Vec<Option<String>>>>,
}

async fn stream(State(streams): State<Streams>, headers: HeaderMap) -> String {
    let at = headers.get("last-event-id").map(|at| at.to_str().unwrap().to_owned());
    streams.resumed_at.lock().unwrap().push(at);
    streams.prepared.lock().unwrap().pop_front().unwrap().to_owned()
}

#[tokio::test]
async fn a_stream_resumes_behind_the_last_event_it_has_seen() {
    let home = Home::new();
    let fact = |seq: u64| Item::Fact { seq, text: format!("{{\"seq\":{seq}}}") };
    let streams = Streams {
        prepared: Arc::new(Mutex::new(
            [
                "id: 4\ndata: {\"seq\":4}\n\nid: 5\ndata: {\"seq\":5}\n\nid: 6\ndata: cut off",
                "",
                ": alive\n\nevent: novelty\ndata: {}\n\nid: 6\ndata: {\"seq\":6}\n\nevent: goodbye\ndata: {}\n\n",
            ]
            .into(),
        )),
        resumed_at: Arc::default(),
    };
    home.serve(
        Router::new()
            .route("/v1/daemon", get(async || Json(this_version())))
            .route("/v1/events/stream", get(stream))
            .with_state(streams.clone()),
    );
    let query = EventQuery { since: Some(3), ..EventQuery::default() };
    let mut events = Events::open(home.daemon.clone(), query).await.unwrap();
    for seq in [4, 5, 6] {
        assert_eq!(events.next().await.unwrap(), fact(seq));
    }
    assert_eq!(events.next().await.unwrap_err().to_string(), "the daemon was stopped");
    let at = |seq: &str| Some(seq.to_owned());
    assert_eq!(*streams.resumed_at.lock().unwrap(), [at("3"), at("5"), at("5")]);
}

#[tokio::test]
async fn an_older_daemon_without_work_makes_room() {
    let home = Home::new();
    let ending = Arc::new(Mutex::new(false));
    let old = || status("0.0.1", api::VERSION);
    let (asked, told) = (ending.clone(), ending.clone());
    home.serve(
        Router::new()
            .route("/v1/daemon", get(async move || Json(DaemonStatus { draining: *asked.lock().unwrap(), ..old() })))
            .route(
                "/v1/daemon/stop",
                post(async move || {
                    *told.lock().unwrap() = true;
                    Json(DaemonStatus { draining: true, ..old() })
                }),
            ),
    );
    // What comes after it is ready at once, and then as far as the old socket still answers.
    let program = home.program("echo started >> \"$0.log\"; echo ready");
    home.starting(&program).connect().await.unwrap();
    assert!(*ending.lock().unwrap());
    assert_eq!(std::fs::read_to_string(home.dir.path().join("program.log")).unwrap(), "started\n");
}
