//! The actor against a peer on in-memory pipes: what reading, writing, dying and being slow do to a conversation.

#![expect(clippy::disallowed_methods, reason = "a test reads all signals at its end")]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::{mpsc, oneshot};

use crate::backend::event::{Block, Command, Event, Stop, ToolStatus};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::registry;
use crate::backend::transport::spawn::{Child, Control, Exit, Signal, SpawnRequest, Spawner};
use crate::backend::{Backends, Conversation, Launch, Purpose};

/// The agent's side of the pipes.
struct Peer {
    stdin: Lines<BufReader<DuplexStream>>,
    stdout: DuplexStream,
    stderr: DuplexStream,
    exit: oneshot::Sender<Exit>,
    signals: mpsc::UnboundedReceiver<Signal>,
}

impl Peer {
    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.stdin.next_line().await.unwrap().expect("the client closed our input")).unwrap()
    }

    async fn write(&mut self, message: Value) {
        self.write_raw(format!("{message}\n").as_bytes()).await;
    }

    async fn write_raw(&mut self, bytes: &[u8]) {
        self.stdout.write_all(bytes).await.unwrap();
    }

    async fn answer(&mut self, result: Value) -> Value {
        let request = self.read().await;
        self.write(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
        request
    }

    async fn update(&mut self, update: Value) {
        self.write(json!({"method": "session/update", "params": {"sessionId": "s", "update": update}})).await;
    }

    async fn text(&mut self, text: &str) {
        self.update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})).await;
    }

    async fn open(&mut self) {
        self.answer(json!({"protocolVersion": 1})).await;
        self.answer(json!({"sessionId": "s"})).await;
    }

    fn exit(self, exit: Exit) {
        self.exit.send(exit).unwrap();
    }
}

/// Hands out one prepared process, or none.
struct Prepared(Mutex<Option<Child>>);

impl Spawner for Prepared {
    fn spawn(&self, _: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        let missing = || Failure::new(FailureKind::Setup, "no such program");
        future::ready(self.0.lock().unwrap().take().ok_or_else(missing)).boxed()
    }
}

struct Signals(mpsc::UnboundedSender<Signal>);

impl Control for Signals {
    fn signal(&mut self, signal: Signal) {
        self.0.send(signal).ok();
    }
}

fn launch(child: Option<Child>) -> Conversation {
    launch_for(Purpose::Session, child)
}

fn launch_for(purpose: Purpose, child: Option<Child>) -> Conversation {
    Backends::default().start(Launch {
        purpose,
        model: (purpose != Purpose::Session).then(|| "gone".to_owned()),
        resume: (purpose != Purpose::Session).then(|| "old".to_owned()),
        spec: registry::from_config("peer", vec!["peer".to_owned()], Vec::new(), Vec::new()),
        argv: vec!["peer".to_owned()],
        cwd: PathBuf::from("/repo"),
        ..Launch::bare(PathBuf::from("/state"), Arc::new(Prepared(Mutex::new(child))))
    })
}

fn converse() -> (Conversation, Peer) {
    converse_for(Purpose::Session)
}

fn converse_for(purpose: Purpose) -> (Conversation, Peer) {
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
    (launch_for(purpose, Some(child)), Peer { stdin, stdout: peer_stdout, stderr: peer_stderr, exit, signals })
}

async fn prompt(conversation: &Conversation) {
    let blocks = vec![Block::Text("go".to_owned())];
    conversation.commands.send(Command::Prompt { blocks }).await.unwrap();
}

async fn next(conversation: &mut Conversation) -> Event {
    conversation.events.recv().await.expect("the conversation is over")
}

/// All events that are left.
async fn rest(mut conversation: Conversation) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = conversation.events.recv().await {
        events.push(event);
    }
    events
}

#[tokio::test]
async fn noise_and_huge_lines_do_not_disturb_a_turn() {
    let (mut conversation, mut peer) = converse();
    prompt(&conversation).await;
    let agent = async {
        peer.write_raw(b"Please visit the following URL\n\x1b[2J\n\n{\"half\": \n\xff\xfe{}\n").await;
        peer.open().await;
        let request = peer.read().await;
        let output = "x".repeat(10 * 1024 * 1024);
        peer.update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "title": "big",
            "content": [{"type": "content", "content": {"type": "text", "text": output}}]}),
        )
        .await;
        peer.write_raw(
            b"{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":",
        )
        .await;
        peer.write_raw(b"\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"caf\xe9\"}}}}\n").await;
        peer.write(json!({"id": request["id"], "result": {"stopReason": "end_turn"}})).await;
        peer
    };
    let read = async {
        assert!(matches!(next(&mut conversation).await, Event::Started(_)));
        assert!(matches!(next(&mut conversation).await, Event::ToolStarted(_)));
        let Event::ToolFinished { status: ToolStatus::Completed, output, .. } = next(&mut conversation).await else {
            panic!("no tool output")
        };
        assert!(output.len() < 70_000 && output.contains("bytes left out]"));
        assert_eq!(next(&mut conversation).await, Event::Text { delta: "caf\u{fffd}".to_owned() });
        let last = Event::Final { text: "caf\u{fffd}".to_owned(), stop: Stop::EndTurn };
        assert_eq!(next(&mut conversation).await, last);
    };
    future::join(agent, read).await;
}

#[tokio::test]
async fn a_crash_carries_the_status_and_the_end_of_stderr() {
    let (conversation, mut peer) = converse();
    prompt(&conversation).await;
    peer.open().await;
    peer.read().await;
    // More than any pipe holds: it only goes through because somebody reads it.
    peer.stderr.write_all(&vec![b'.'; 300 * 1024]).await.unwrap();
    peer.stderr.write_all(b"\nout of memory\n").await.unwrap();
    peer.text("half").await;
    peer.exit(Exit::Code(3));
    let events = rest(conversation).await;
    let [Event::Started(_), Event::Text { .. }, Event::Failed(failure), Event::Exited { status, stderr_tail }] =
        events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!(failure.kind, FailureKind::Crashed);
    assert!(failure.message.starts_with("the agent ended in the middle of a turn with exit status 3: ..."));
    assert!(failure.message.ends_with("out of memory"));
    assert_eq!((status.as_deref(), stderr_tail.len()), (Some("exit status 3"), 4096));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ignores_the_cancel_is_terminated_then_killed() {
    let (mut conversation, mut peer) = converse();
    prompt(&conversation).await;
    peer.open().await;
    peer.read().await;
    assert!(matches!(next(&mut conversation).await, Event::Started(_)));
    conversation.commands.send(Command::Interrupt).await.unwrap();
    assert_eq!(peer.read().await["method"], "session/cancel");
    assert_eq!(peer.signals.recv().await, Some(Signal::Terminate));
    assert_eq!(peer.signals.recv().await, Some(Signal::Kill));
    peer.exit(Exit::Signal(9));
    let events = rest(conversation).await;
    let [Event::Failed(failure), Event::Exited { status, .. }] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&failure.kind, status.as_deref()), (&FailureKind::Cancelled, Some("signal 9")));
}

#[tokio::test]
async fn dropping_the_commands_closes_the_conversation() {
    let (Conversation { commands, mut events }, mut peer) = converse();
    peer.open().await;
    assert!(matches!(events.recv().await, Some(Event::Started(_))));
    drop(commands);
    assert_eq!(peer.stdin.next_line().await.unwrap(), None);
    peer.exit(Exit::Code(0));
    let status = Some("exit status 0".to_owned());
    assert_eq!(events.recv().await, Some(Event::Exited { status, stderr_tail: String::new() }));
    assert_eq!(events.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_sleeps_does_not_stop_commands() {
    let (conversation, mut peer) = converse();
    prompt(&conversation).await;
    peer.open().await;
    let request = peer.read().await;
    // Nobody reads the events, so this cannot all go through before the interrupt does.
    let (spam, times) = ("spam ".repeat(1_000), 1_000);
    let text = spam.clone();
    let Peer { mut stdin, mut stdout, stderr: _stderr, exit, signals: _signals } = peer;
    let flood = tokio::spawn(async move {
        let update = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
        let line = json!({"method": "session/update", "params": {"sessionId": "s", "update": update}});
        for _ in 0..times {
            stdout.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        let reply = json!({"id": request["id"], "result": {"stopReason": "cancelled"}});
        stdout.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
        exit.send(Exit::Code(0)).unwrap();
    });
    conversation.commands.send(Command::Interrupt).await.unwrap();
    let cancel: Value = serde_json::from_str(&stdin.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(cancel["method"], "session/cancel");
    let events = rest(conversation).await;
    flood.await.unwrap();
    let [Event::Started(_), texts @ .., Event::Failed(failure), Event::Exited { .. }] = events.as_slice() else {
        panic!("{} events", events.len())
    };
    let delta = |event: &Event| match event {
        Event::Text { delta } => delta.clone(),
        other => panic!("{other:?}"),
    };
    assert!(texts.iter().map(delta).collect::<String>() == spam.repeat(times));
    assert_eq!(failure.kind, FailureKind::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_stray_child_that_holds_the_pipes_does_not_hide_the_exit() {
    let (conversation, mut peer) = converse();
    peer.open().await;
    let Peer { stdout, stderr, exit, .. } = peer;
    exit.send(Exit::Code(0)).unwrap();
    assert!(matches!(rest(conversation).await.last(), Some(Event::Exited { .. })));
    drop((stdout, stderr));
}

#[tokio::test]
async fn a_process_that_cannot_start_is_told_as_it_is() {
    let failure = Failure::new(FailureKind::Setup, "no such program");
    let exited = Event::Exited { status: None, stderr_tail: String::new() };
    assert_eq!(rest(launch(None)).await, [Event::Failed(failure), exited]);
}

#[tokio::test]
async fn a_survey_opens_a_session_far_from_the_work_tree_and_sets_nothing() {
    let (mut conversation, mut peer) = converse_for(Purpose::Survey);
    peer.answer(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})).await;
    let models = json!({"availableModels": [{"modelId": "a", "name": "A"}], "currentModelId": "a"});
    let request = peer.answer(json!({"sessionId": "s", "models": models})).await;
    assert_eq!((&request["method"], &request["params"]["cwd"]), (&json!("session/new"), &json!("/state")));
    let Event::Started(started) = next(&mut conversation).await else { panic!("not started") };
    assert_eq!(
        started.models.iter().map(|model| (model.id.as_str(), model.is_default)).collect::<Vec<_>>(),
        [("a", true)]
    );
}

#[tokio::test]
async fn a_side_question_is_asked_far_from_the_work_tree_and_asks_nobody() {
    let (mut conversation, mut peer) = converse_for(Purpose::Utility);
    prompt(&conversation).await;
    peer.answer(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})).await;
    let models = json!({"availableModels": [{"modelId": "gone", "name": "A"}], "currentModelId": "gone"});
    let request = peer.answer(json!({"sessionId": "s", "models": models})).await;
    assert_eq!((&request["method"], &request["params"]["cwd"]), (&json!("session/new"), &json!("/state")));
    let request = peer.read().await;
    peer.write(json!({"id": 0, "method": "session/request_permission", "params": {"sessionId": "s",
        "options": [{"optionId": "no", "kind": "reject_once"}], "toolCall": {"toolCallId": "c"}}}))
        .await;
    assert_eq!(peer.read().await["result"]["outcome"]["optionId"], "no");
    peer.text("done").await;
    peer.write(json!({"id": request["id"], "result": {"stopReason": "end_turn"}})).await;
    assert!(matches!(next(&mut conversation).await, Event::Started(_)));
    assert!(matches!(next(&mut conversation).await, Event::Text { .. }));
    assert!(matches!(next(&mut conversation).await, Event::Final { .. }));
}
