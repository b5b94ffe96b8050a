//! The tasks against a process on in-memory pipes: what crashing, silence, slowness and garbage do to conversations.

#![expect(clippy::disallowed_methods, reason = "a test reads all signals at its end")]

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::{mpsc, oneshot};

use super::render;
use crate::backend::codex;
use crate::backend::event::{Block, Command};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::transport::spawn::{Child, Control, Exit, Signal, SpawnRequest, Spawner};
use crate::backend::{Backends, Conversation, Launch};

/// The agent's side of the pipes.
struct Peer {
    request: SpawnRequest,
    stdin: Lines<BufReader<DuplexStream>>,
    stdout: DuplexStream,
    stderr: DuplexStream,
    exit: oneshot::Sender<Exit>,
    signals: mpsc::UnboundedReceiver<Signal>,
    threads: u32,
}

impl Peer {
    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.stdin.next_line().await.unwrap().expect("our input is closed")).unwrap()
    }

    async fn write(&mut self, message: Value) {
        self.write_raw(format!("{message}\n").as_bytes()).await;
    }

    async fn write_raw(&mut self, bytes: &[u8]) {
        self.stdout.write_all(bytes).await.unwrap();
    }

    /// Answers like the real one until a request of `method` comes, which is left to the test.
    async fn serve_until(&mut self, method: &str) -> Value {
        loop {
            let request = self.read().await;
            if request["method"] == method {
                return request;
            }
            let result = match request["method"].as_str().unwrap() {
                "initialized" => continue,
                "initialize" => json!({"userAgent": "coppice/0.166.0 (x)"}),
                "thread/start" | "thread/resume" => {
                    self.threads += 1;
                    let id = request["params"]["threadId"]
                        .as_str()
                        .map_or_else(|| format!("t{}", self.threads), str::to_owned);
                    let cwd = &request["params"]["cwd"];
                    json!({"thread": {"id": id}, "cwd": cwd, "sandbox": {"type": "dangerFullAccess"},
                        "approvalPolicy": "untrusted"})
                }
                "turn/start" => {
                    json!({"turn": {"id": format!("u-{}", request["params"]["threadId"].as_str().unwrap())}})
                }
                "thread/unsubscribe" => {
                    let closed =
                        json!({"method": "thread/closed", "params": {"threadId": request["params"]["threadId"]}});
                    self.write(json!({"id": request["id"], "result": {"status": "unsubscribed"}})).await;
                    self.write(closed).await;
                    continue;
                }
                _ => json!({}),
            };
            self.write(json!({"id": request["id"], "result": result})).await;
        }
    }

    /// Ends the turn of a thread.
    async fn finish(&mut self, thread: &str, text: &str) {
        let turn = format!("u-{thread}");
        let delta = json!({"threadId": thread, "turnId": turn, "itemId": "m", "delta": text});
        self.write(json!({"method": "item/agentMessage/delta", "params": delta})).await;
        let items = super::message(text);
        let turn = json!({"id": turn, "status": "completed", "items": items});
        self.write(json!({"method": "turn/completed", "params": {"threadId": thread, "turn": turn}})).await;
    }
}

/// Makes a peer for every process that is started.
struct Peers(mpsc::UnboundedSender<Peer>);

impl Spawner for Peers {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        let (stdin, peer_stdin) = duplex(64 * 1024);
        let (stdout, peer_stdout) = duplex(64 * 1024);
        let (stderr, peer_stderr) = duplex(64 * 1024);
        let (exit, exited) = oneshot::channel();
        let (signal, signals) = mpsc::unbounded_channel();
        let child = Child {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            exec_at_ms: 1,
            pid: None,
            exit: exited.map(|exit| exit.unwrap_or(Exit::Lost("lost".to_owned()))).boxed(),
            control: Box::new(Signals(signal)),
        };
        let stdin = BufReader::new(peer_stdin).lines();
        self.0.send(Peer { request, stdin, stdout: peer_stdout, stderr: peer_stderr, exit, signals, threads: 0 }).ok();
        future::ready(Ok(child)).boxed()
    }
}

struct Signals(mpsc::UnboundedSender<Signal>);

impl Control for Signals {
    fn signal(&mut self, signal: Signal) {
        self.0.send(signal).ok();
    }
}

/// A daemon's backends, a place, and the processes that come to be.
struct World {
    dir: TempDir,
    backends: Backends,
    spawner: Arc<dyn Spawner>,
    peers: mpsc::UnboundedReceiver<Peer>,
}

impl World {
    fn new() -> Self {
        let (sender, peers) = mpsc::unbounded_channel();
        let dir = tempfile::tempdir().unwrap();
        Self { dir, backends: Backends::default(), spawner: Arc::new(Peers(sender)), peers }
    }

    fn launch(&self) -> Launch {
        let home = self.dir.path().to_string_lossy().into_owned();
        Launch {
            spec: codex::spec(),
            argv: vec!["/bin/codex".to_owned()],
            cwd: self.dir.path().to_owned(),
            env: vec![
                ("HOME".to_owned(), home),
                ("LANG".to_owned(), "C".to_owned()),
                ("TMPDIR".to_owned(), "/nowhere".to_owned()),
            ],
            ..Launch::bare(PathBuf::from("/neutral"), Arc::clone(&self.spawner))
        }
    }

    fn start(&self) -> Conversation {
        self.backends.start(self.launch())
    }

    async fn peer(&mut self) -> Peer {
        self.peers.recv().await.unwrap()
    }
}

async fn prompt(conversation: &Conversation) {
    let blocks = vec![Block::Text("go".to_owned())];
    conversation.commands.send(Command::Prompt { blocks }).await.unwrap();
}

async fn next(conversation: &mut Conversation) -> String {
    render(&conversation.events.recv().await.expect("the conversation is over"))
}

/// All events that are left.
async fn rest(mut conversation: Conversation) -> Vec<String> {
    let mut events = Vec::new();
    while let Some(event) = conversation.events.recv().await {
        events.push(render(&event));
    }
    events
}

const STARTED: &str = "started 0.166.0 None restored=false models=";

#[tokio::test(start_paused = true)]
async fn conversations_share_one_process_and_the_last_one_ends_it() {
    let mut world = World::new();
    let (mut one, mut two) = (world.start(), world.start());
    prompt(&one).await;
    prompt(&two).await;
    let mut peer = world.peer().await;
    assert_eq!(peer.request.argv[..2], ["/bin/codex", "app-server"]);
    assert_eq!(peer.request.cwd, PathBuf::from("/neutral"));
    let names: Vec<&str> = peer.request.env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["HOME", "TMPDIR", "NO_COLOR"], "the rest goes with the thread");
    let request = peer.serve_until("turn/start").await;
    let first = request["params"]["threadId"].as_str().unwrap().to_owned();
    peer.write(json!({"id": request["id"], "result": {"turn": {"id": format!("u-{first}")}}})).await;
    let request = peer.serve_until("turn/start").await;
    let second = request["params"]["threadId"].as_str().unwrap().to_owned();
    peer.write(json!({"id": request["id"], "result": {"turn": {"id": format!("u-{second}")}}})).await;
    peer.finish(&second, "b").await;
    peer.finish(&first, "a").await;
    let mut said = Vec::new();
    for conversation in [&mut one, &mut two] {
        assert_eq!(next(conversation).await, STARTED);
        said.push((next(conversation).await, next(conversation).await));
    }
    said.sort();
    let turn = |text: &str| (format!("text {text:?}"), format!("final {text:?} EndTurn"));
    assert_eq!(said, [turn("a"), turn("b")]);

    drop((one.commands, two.commands));
    peer.serve_until("thread/unsubscribe").await;
    // The pause between the last conversation and the end of the process passes by itself: the clock is ours.
    while let Some(line) = peer.stdin.next_line().await.unwrap() {
        let request: Value = serde_json::from_str(&line).unwrap();
        peer.write(json!({"id": request["id"], "result": {"status": "notLoaded"}})).await;
    }
    assert!(peer.signals.try_recv().is_err(), "nobody signals a process that goes by itself");
    assert!(world.peers.try_recv().is_err(), "one process was enough");
}

#[tokio::test(start_paused = true)]
async fn a_process_whose_login_was_refused_is_found_by_nobody_and_ends_when_it_is_left() {
    let mut world = World::new();
    let mut one = world.start();
    let mut peer = world.peer().await;
    let serve = tokio::spawn(async move {
        let request = peer.serve_until("turn/start").await;
        peer.write(json!({"id": request["id"], "result": {"turn": {"id": "u-t1"}}})).await;
        let error = json!({"message": "unexpected status 401", "codexErrorInfo": "unauthorized"});
        let turn = json!({"id": "u-t1", "status": "failed", "error": error, "items": []});
        peer.write(json!({"method": "turn/completed", "params": {"threadId": "t1", "turn": turn}})).await;
        peer.serve_until("thread/unsubscribe").await;
        peer
    });
    assert_eq!(next(&mut one).await, STARTED);
    prompt(&one).await;
    assert_eq!(next(&mut one).await, "failed auth \"unexpected status 401\"");
    let mut two = world.start();
    let mut fresh = world.peer().await;
    let served = tokio::spawn(async move { fresh.serve_until("turn/start").await });
    assert_eq!(next(&mut two).await, STARTED);
    prompt(&two).await;
    assert_eq!(served.await.unwrap()["method"], "turn/start");

    let mut old = serve.await.unwrap();
    old.write(json!({"method": "thread/closed", "params": {"threadId": "t1"}})).await;
    while let Some(line) = old.stdin.next_line().await.unwrap() {
        let request: Value = serde_json::from_str(&line).unwrap();
        old.write(json!({"id": request["id"], "result": {}})).await;
    }
    assert!(world.peers.try_recv().is_err(), "two processes were enough");
}

#[tokio::test(start_paused = true)]
async fn another_login_or_configuration_has_a_process_of_its_own() {
    let mut world = World::new();
    let home = world.dir.path().join(".codex");
    std::fs::create_dir(&home).unwrap();
    let mut open = Vec::new();
    for (file, text, is_new) in [
        ("auth.json", r#"{"OPENAI_API_KEY": "a"}"#, true),
        ("auth.json", r#"{"OPENAI_API_KEY": "a", "last_refresh": "now"}"#, false),
        ("auth.json", r#"{"OPENAI_API_KEY": "b"}"#, true),
        ("config.toml", "model = \"a\"\n", true),
    ] {
        std::fs::write(home.join(file), text).unwrap();
        let mut conversation = world.start();
        if is_new {
            let mut peer = world.peer().await;
            tokio::spawn(async move { peer.serve_until("never").await });
        }
        assert_eq!(next(&mut conversation).await, STARTED, "{text}");
        assert!(world.peers.try_recv().is_err(), "{text}");
        open.push(conversation);
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_interrupts_everybody_and_the_next_start_has_another_process() {
    let mut world = World::new();
    let (mut busy, mut idle) = (world.start(), world.start());
    let mut peer = world.peer().await;
    let serve = tokio::spawn(async move {
        peer.serve_until("turn/start").await;
        peer
    });
    assert_eq!(next(&mut idle).await, STARTED);
    assert_eq!(next(&mut busy).await, STARTED);
    prompt(&busy).await;
    let mut peer = serve.await.unwrap();
    // More than any pipe holds: it only goes through because somebody reads it.
    peer.stderr.write_all(&vec![b'.'; 300 * 1024]).await.unwrap();
    peer.stderr.write_all(b"\nout of memory\n").await.unwrap();
    peer.exit.send(Exit::Signal(9)).unwrap();
    drop((peer.stdout, peer.stderr, peer.stdin));
    let events = rest(busy).await;
    assert!(
        events[0].starts_with("failed crashed \"codex ended in the middle of a turn with signal 9: ..."),
        "{events:?}"
    );
    assert!(events[1].starts_with("exited Some(\"signal 9\")") && events[1].ends_with("out of memory\\n\""));
    assert!(rest(idle).await[0].starts_with("exited"));

    let mut again = world.backends.start(Launch { resume: Some("t1".to_owned()), ..world.launch() });
    let mut peer = world.peer().await;
    let serve = tokio::spawn(async move { peer.serve_until("turn/start").await });
    assert_eq!(next(&mut again).await, "started 0.166.0 None restored=true models=");
    prompt(&again).await;
    assert_eq!(serve.await.unwrap()["params"]["threadId"], "t1");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_says_nothing_is_ended_for_everybody() {
    let mut world = World::new();
    let mut conversation = world.start();
    let mut peer = world.peer().await;
    let serve = tokio::spawn(async move {
        peer.serve_until("turn/start").await;
        peer
    });
    assert_eq!(next(&mut conversation).await, STARTED);
    prompt(&conversation).await;
    let mut peer = serve.await.unwrap();
    assert_eq!(next(&mut conversation).await, "failed timeout \"codex did not answer the turn\"");
    assert_eq!(peer.signals.recv().await, Some(Signal::Terminate));
    assert_eq!(peer.signals.recv().await, Some(Signal::Kill));
    assert_eq!(rest(conversation).await, ["exited None \"\""]);
}

#[tokio::test(start_paused = true)]
async fn garbage_and_huge_lines_disturb_nobody() {
    let mut world = World::new();
    let mut conversation = world.start();
    prompt(&conversation).await;
    let mut peer = world.peer().await;
    let agent = async {
        peer.write_raw(b"\x1b[2Jnot json\n{\"id\":null}\n\xff\xfe\n{\"half\":\n").await;
        let request = peer.serve_until("turn/start").await;
        peer.write(json!({"id": request["id"], "result": {"turn": {"id": "u-t1"}}})).await;
        let item = json!({"type": "commandExecution", "id": "c", "command": "big", "status": "completed",
            "aggregatedOutput": "x".repeat(6 * 1024 * 1024)});
        peer.write(json!({"method": "item/completed", "params": {"threadId": "t1", "turnId": "u-t1", "item": item}}))
            .await;
        peer.finish("t1", "done").await;
        peer
    };
    let read = async {
        assert_eq!(next(&mut conversation).await, STARTED);
        assert_eq!(next(&mut conversation).await, "tool started \"big\" Execute");
        let finished = next(&mut conversation).await;
        assert!(finished.len() < 70_000 && finished.contains("bytes left out]"));
        assert_eq!(next(&mut conversation).await, "text \"done\"");
        assert_eq!(next(&mut conversation).await, "final \"done\" EndTurn");
    };
    future::join(agent, read).await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_sleeps_does_not_stop_the_others_for_good() {
    let mut world = World::new();
    let mut awake = world.start();
    let mut peer = world.peer().await;
    let serve = tokio::spawn(async move {
        let request = peer.serve_until("turn/start").await;
        (peer, request)
    });
    assert_eq!(next(&mut awake).await, STARTED);
    let asleep = world.start();
    prompt(&asleep).await;
    let (mut peer, request) = serve.await.unwrap();
    let thread = request["params"]["threadId"].as_str().unwrap().to_owned();
    let turn = format!("u-{thread}");
    peer.write(json!({"id": request["id"], "result": {"turn": {"id": turn}}})).await;
    let flood = tokio::spawn(async move {
        let delta = json!({"threadId": thread, "turnId": turn, "itemId": "m", "delta": "spam "});
        for _ in 0..5_000 {
            peer.write(json!({"method": "item/agentMessage/delta", "params": delta})).await;
        }
        let request = peer.serve_until("turn/start").await;
        let thread = request["params"]["threadId"].as_str().unwrap().to_owned();
        peer.write(json!({"id": request["id"], "result": {"turn": {"id": format!("u-{thread}")}}})).await;
        peer.finish(&thread, "heard").await;
        peer
    });
    prompt(&awake).await;
    assert_eq!(next(&mut awake).await, "text \"heard\"");
    assert_eq!(next(&mut awake).await, "final \"heard\" EndTurn");
    let events = rest(asleep).await;
    assert!(events.iter().any(|event| event.starts_with("failed crashed")), "{:?}", events.last());
    flood.await.unwrap();
}

#[tokio::test]
async fn a_process_that_cannot_start_is_told_as_it_is() {
    struct Nobody;
    impl Spawner for Nobody {
        fn spawn(&self, _: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
            future::ready(Err(Failure::new(FailureKind::Setup, "no such program"))).boxed()
        }
    }
    let mut world = World::new();
    world.spawner = Arc::new(Nobody);
    assert_eq!(rest(world.start()).await, ["failed setup \"no such program\"", "exited None \"\""]);
}

#[tokio::test]
async fn places_that_codex_would_take_unseen_are_looked_at() {
    let world = World::new();
    let gone = world.backends.start(Launch { cwd: PathBuf::from("/no/such/tree"), ..world.launch() });
    assert_eq!(rest(gone).await[0], "failed setup \"work tree `/no/such/tree` is not a directory\"");
    let mut launch = world.launch();
    launch.env.retain(|(name, _)| name == "HOME");
    launch.env.push(("TMPDIR".to_owned(), "/".to_owned()));
    assert!(rest(world.backends.start(launch)).await[0].starts_with("failed sandbox \"codex cannot run commands"));
    let mut launch = world.launch();
    launch.env.push(("CODEX_HOME".to_owned(), "/no/such/home".to_owned()));
    let homeless = rest(world.backends.start(launch)).await;
    assert_eq!(homeless[0], "failed setup \"CODEX_HOME `/no/such/home` is not a directory\"");
}

#[tokio::test(start_paused = true)]
async fn another_key_or_home_is_another_process() {
    let mut world = World::new();
    let _one = world.start();
    let first = world.peer().await;
    let mut launch = world.launch();
    launch.env.push(("OPENAI_API_KEY".to_owned(), "k".to_owned()));
    let _two = world.backends.start(launch);
    let second = world.peer().await;
    assert_ne!(first.request.env, second.request.env);
    // What only commands see makes no difference.
    let mut launch = world.launch();
    launch.env.push(("CARGO_HOME".to_owned(), "/c".to_owned()));
    let _three = world.backends.start(launch);
    assert!(tokio::time::timeout(std::time::Duration::from_secs(1), world.peers.recv()).await.is_err());
}
