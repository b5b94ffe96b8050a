//! Going on with a conversation, against peers on in-memory pipes: found, lost, and closed in between.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{self, BoxFuture};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::oneshot;

use super::{ready, render};
use crate::backend::claude::{spec, uuid};
use crate::backend::event::{Block, Command, Event};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::transport::spawn::{Child, Control, Exit, Signal, SpawnRequest, Spawner};
use crate::backend::{Backends, Conversation, Launch};

const OLD: &str = "7b4c0a52-0000-4000-8000-000000000001";

/// The agent's side of the pipes.
struct Peer {
    stdin: Lines<BufReader<DuplexStream>>,
    stdout: DuplexStream,
    exit: oneshot::Sender<Exit>,
}

impl Peer {
    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.stdin.next_line().await.unwrap().expect("the client closed our input")).unwrap()
    }

    async fn write(&mut self, line: &str) {
        self.stdout.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Answers the start and one prompt.
    async fn serve(&mut self) {
        assert_eq!(self.read().await["request"]["subtype"], "initialize");
        self.write(&ready()).await;
        assert_eq!(self.read().await["type"], "user");
        self.write(&json!({"type": "result", "is_error": false, "result": "done"}).to_string()).await;
    }

    /// Waits for the end of its input, then goes.
    async fn leave(mut self, exit: Exit) {
        while let Ok(Some(_)) = self.stdin.next_line().await {}
        self.exit.send(exit).unwrap();
    }
}

struct Deaf;

impl Control for Deaf {
    fn signal(&mut self, _: Signal) {}
}

/// Hands out prepared processes and notes how they were started.
struct Prepared {
    children: Mutex<VecDeque<Child>>,
    started: Mutex<Vec<Vec<String>>>,
}

impl Spawner for Prepared {
    fn spawn(&self, request: SpawnRequest) -> BoxFuture<'static, Result<Child, Failure>> {
        self.started.lock().unwrap().push(request.argv);
        let missing = || Failure::new(FailureKind::Setup, "no such program");
        future::ready(self.children.lock().unwrap().pop_front().ok_or_else(missing)).boxed()
    }
}

fn process() -> (Child, Peer) {
    let (stdin, peer_stdin) = duplex(64 * 1024);
    let (stdout, peer_stdout) = duplex(64 * 1024);
    let (exit, exited) = oneshot::channel();
    let child = Child {
        pid: None,
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Box::new(tokio::io::empty()),
        exec_at_ms: 1,
        exit: exited.map(|exit| exit.unwrap_or(Exit::Lost("lost".to_owned()))).boxed(),
        control: Box::new(Deaf),
    };
    (child, Peer { stdin: BufReader::new(peer_stdin).lines(), stdout: peer_stdout, exit })
}

fn resume(state: &Path, children: Vec<Child>) -> (Conversation, Arc<Prepared>) {
    let spawner = Arc::new(Prepared { children: Mutex::new(children.into()), started: Mutex::default() });
    let conversation = Backends::default().start(Launch {
        spec: spec(),
        argv: vec!["claude".to_owned()],
        resume: Some(OLD.to_owned()),
        ..Launch::bare(state.to_owned(), spawner.clone())
    });
    (conversation, spawner)
}

async fn prompt(conversation: &Conversation) {
    let blocks = vec![Block::Text("go".to_owned())];
    conversation.commands.send(Command::Prompt { blocks }).await.unwrap();
}

async fn next(conversation: &mut Conversation) -> Event {
    conversation.events.recv().await.expect("the conversation is over")
}

/// All events that are left, after the owner let go.
async fn rest(conversation: Conversation) -> Vec<String> {
    let Conversation { commands, mut events } = conversation;
    drop(commands);
    let mut rest = Vec::new();
    while let Some(event) = events.recv().await {
        rest.push(render(&event));
    }
    rest
}

#[tokio::test]
async fn a_conversation_that_is_there_goes_on() {
    let state = tempfile::tempdir().unwrap();
    let (child, mut peer) = process();
    let (mut conversation, spawner) = resume(state.path(), vec![child]);
    prompt(&conversation).await;
    peer.serve().await;
    let Event::Started(started) = next(&mut conversation).await else { panic!("not started") };
    assert_eq!((started.conversation.as_str(), started.restored), (OLD, true));
    assert_eq!(render(&next(&mut conversation).await), r#"final "done" EndTurn"#);
    prompt(&conversation).await;
    assert_eq!(peer.read().await["type"], "user");
    let (rest, ()) = future::join(rest(conversation), peer.leave(Exit::Code(0))).await;
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert!(rest[0].starts_with("failed cancelled") && rest[1].starts_with("exited"), "{rest:?}");
    assert_eq!(spawner.started.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_lost_conversation_is_replaced_and_what_waited_is_answered() {
    let state = tempfile::tempdir().unwrap();
    let (first, mut lost) = process();
    let (second, mut peer) = process();
    let (mut conversation, spawner) = resume(state.path(), vec![first, second]);
    prompt(&conversation).await;
    lost.read().await;
    let refusal = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "errors": ["No conversation found with session ID: x"]});
    lost.write(&refusal.to_string()).await;
    lost.leave(Exit::Code(1)).await;
    peer.serve().await;
    let Event::Started(started) = next(&mut conversation).await else { panic!("not started") };
    assert!(!started.restored && started.conversation != OLD);
    assert_eq!(render(&next(&mut conversation).await), r#"final "done" EndTurn"#);
    let (rest, ()) = future::join(rest(conversation), peer.leave(Exit::Code(0))).await;
    assert_eq!(rest, [r#"exited Some("exit status 0") """#]);
    let started_with = spawner.started.lock().unwrap().clone();
    assert!(started_with[0].contains(&"--resume".to_owned()));
    assert!(started_with[1].contains(&"--session-id".to_owned()) && started_with[1].contains(&started.conversation));
}

#[tokio::test]
async fn to_close_while_the_answer_is_out_ends_everything() {
    let state = tempfile::tempdir().unwrap();
    let (child, peer) = process();
    let (conversation, spawner) = resume(state.path(), vec![child]);
    prompt(&conversation).await;
    conversation.commands.send(Command::Close).await.unwrap();
    let (rest, ()) = future::join(rest(conversation), peer.leave(Exit::Code(0))).await;
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert!(rest[0].starts_with(r#"failed cancelled "the conversation was closed before it took the prompt""#));
    assert_eq!(rest[1], r#"exited Some("exit status 0") """#);
    assert_eq!(spawner.started.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_program_that_does_not_start_is_told_once() {
    let state = tempfile::tempdir().unwrap();
    let (conversation, _) = resume(state.path(), Vec::new());
    let rest = rest(conversation).await;
    assert!(rest.len() == 2 && rest[0].starts_with("failed setup") && rest[1].starts_with("exited"), "{rest:?}");
}

#[test]
fn names_of_conversations_are_uuids() {
    let (one, other) = (uuid().unwrap(), uuid().unwrap());
    assert_ne!(one, other);
    let lengths: Vec<usize> = one.split('-').map(str::len).collect();
    assert_eq!((lengths, &one[14..15]), (vec![8, 4, 4, 4, 12], "4"));
    assert!(one.chars().all(|c| c == '-' || c.is_ascii_hexdigit()), "{one}");
}
