//! A scripted server over pipes: it answers what it is asked, in the order that a test wants.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};

use super::*;
use crate::lsp::frame::{self, Frames};
use crate::lsp::servers::PROGRAMS;

/// The server's side of the pipes.
struct Fake {
    input: ReadHalf<DuplexStream>,
    output: WriteHalf<DuplexStream>,
    frames: Frames,
    read: std::collections::VecDeque<Value>,
}

impl Fake {
    async fn next(&mut self) -> Value {
        loop {
            if let Some(message) = self.read.pop_front() {
                return message;
            }
            let mut piece = [0; 4096];
            let count = self.input.read(&mut piece).await.unwrap();
            assert!(count > 0, "the client hung up");
            let messages = self.frames.push(&piece[..count]);
            self.read.extend(messages.iter().map(|message| serde_json::from_str::<Value>(message).unwrap()));
        }
    }

    async fn say(&mut self, message: Value) {
        self.output.write_all(&frame::encode(&message.to_string())).await.unwrap();
    }

    /// Reads a question and answers it.
    async fn answer(&mut self, method: &str, result: Value) -> Value {
        let asked = self.next().await;
        assert_eq!(asked["method"], method);
        self.say(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
        asked["params"].clone()
    }
}

/// A server of the first program that waits for nothing.
fn program(ready: Ready) -> &'static Program {
    PROGRAMS.iter().find(|program| program.ready == ready).unwrap()
}

async fn meet(ready: Ready, capabilities: Value) -> (Server, Fake) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(theirs);
    let mut fake = Fake { input, output, frames: Frames::new(1 << 20), read: Default::default() };
    let (stdout, stdin) = tokio::io::split(ours);
    let io = Io { stdin: Box::new(stdin), stdout: Box::new(stdout) };
    let limits = Limits { start: Duration::from_secs(5), ..Limits::default() };
    let root = Path::new("/tree");
    let hello = async {
        let params = fake.answer("initialize", json!({ "capabilities": capabilities })).await;
        assert_eq!(params["rootUri"], "file:///tree");
        assert_eq!(fake.next().await["method"], "initialized");
    };
    let (server, ()) = tokio::join!(connect(program(ready), root, io, limits), hello);
    (server.unwrap(), fake)
}

#[tokio::test]
async fn a_server_is_asked_and_can_ask_back() {
    let (server, mut fake) = meet(Ready::AtOnce, json!({ "definitionProvider": {}, "renameProvider": false })).await;
    assert!(server.can("textDocument/definition"));
    assert!(!server.can("textDocument/rename"));
    let talk = async {
        let asked = fake.next().await;
        let register = json!({ "registrations": [{ "id": "r", "method": "textDocument/rename" }] });
        fake.say(json!({ "id": "x", "method": "client/registerCapability", "params": register })).await;
        assert_eq!(fake.next().await, json!({ "jsonrpc": "2.0", "id": "x", "result": null }));
        fake.say(json!({ "id": 0, "method": "workspace/applyEdit", "params": { "edit": {} } })).await;
        assert_eq!(fake.next().await["result"]["applied"], false);
        fake.say(json!({ "id": asked["id"], "result": [1] })).await;
    };
    let (answer, ()) = tokio::join!(server.ask("textDocument/definition", json!({})), talk);
    assert_eq!(answer, Ok(json!([1])));
    assert!(server.can("textDocument/rename"));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_takes_too_long_is_withdrawn() {
    let (server, mut fake) = meet(Ready::AtOnce, json!({})).await;
    let late = server.ask("textDocument/definition", json!({})).await;
    assert!(matches!(late, Err(LspError::Late { .. })), "{late:?}");
    let asked = fake.next().await;
    let cancelled = fake.next().await;
    assert_eq!(cancelled["method"], "$/cancelRequest");
    assert_eq!(cancelled["params"]["id"], asked["id"]);
    // The answer to the old question is not taken for that of the next.
    let talk = async {
        let again = fake.next().await;
        fake.say(json!({ "id": asked["id"], "result": "old" })).await;
        fake.say(json!({ "id": again["id"], "result": "fresh" })).await;
    };
    let (answer, ()) = tokio::join!(server.ask("textDocument/definition", json!({})), talk);
    assert_eq!(answer, Ok(json!("fresh")));
}

#[tokio::test]
async fn a_question_that_was_overtaken_is_put_again() {
    let (server, mut fake) = meet(Ready::AtOnce, json!({})).await;
    let talk = async {
        let asked = fake.next().await;
        fake.say(json!({ "id": asked["id"], "error": { "code": -32801, "message": "content modified" } })).await;
        fake.answer("textDocument/definition", json!(1)).await;
        let asked = fake.next().await;
        fake.say(json!({ "id": asked["id"], "error": { "code": -32603, "message": "boom" } })).await;
    };
    let asks = async {
        let first = server.ask("textDocument/definition", json!({})).await;
        (first, server.ask("textDocument/definition", json!({})).await)
    };
    let ((first, second), ()) = tokio::join!(asks, talk);
    assert_eq!(first, Ok(json!(1)));
    assert!(matches!(second, Err(LspError::Refused { code: -32603, .. })), "{second:?}");
}

#[tokio::test]
async fn a_server_that_ends_leaves_nobody_waiting() {
    let (server, fake) = meet(Ready::AtOnce, json!({})).await;
    let (answer, ()) = tokio::join!(server.ask("textDocument/definition", json!({})), async { drop(fake) });
    let ended = LspError::Ended { server: server.program().name.to_owned() };
    assert_eq!(answer, Err(ended.clone()));
    assert_eq!(server.show(Path::new("/tree/a"), "x", String::new()).await, Err(ended));
}

fn published(version: Value, messages: &[&str]) -> Value {
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
    let list: Vec<_> = messages.iter().map(|message| json!({ "range": range, "message": message })).collect();
    let params = json!({ "uri": "file:///tree/a.py", "version": version, "diagnostics": list });
    json!({ "method": "textDocument/publishDiagnostics", "params": params })
}

fn messages(diagnosed: &Diagnosed) -> Vec<&str> {
    diagnosed.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn published_diagnostics_are_those_of_the_text_that_was_shown() {
    let (server, mut fake) = meet(Ready::AtOnce, json!({})).await;
    let path = Path::new("/tree/a.py");
    let limit = Duration::from_secs(15);
    assert_eq!(server.show(path, "python", "1".to_owned()).await, Ok(1));
    assert_eq!(fake.next().await["method"], "textDocument/didOpen");
    let talk = async {
        fake.say(published(json!(1), &["syntax"])).await;
        tokio::task::yield_now().await;
        fake.say(published(json!(1), &["syntax", "types"])).await;
    };
    let (diagnosed, ()) = tokio::join!(server.diagnostics(path, 1, limit), talk);
    let diagnosed = diagnosed.unwrap();
    assert_eq!((messages(&diagnosed), &diagnosed.unfinished), (vec!["syntax", "types"], &None));

    assert_eq!(server.show(path, "python", "2".to_owned()).await, Ok(2));
    assert_eq!(fake.next().await["method"], "textDocument/didChange");
    assert_eq!(fake.next().await["method"], "textDocument/didSave");
    let talk = async {
        fake.say(published(json!(1), &["old"])).await;
        fake.say(published(json!(2), &[])).await;
    };
    let (diagnosed, ()) = tokio::join!(server.diagnostics(path, 2, limit), talk);
    assert_eq!(diagnosed, Ok(Diagnosed { diagnostics: Vec::new(), unfinished: None }));
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_another_file_changed_may_be_said_anew() {
    let (server, mut fake) = meet(Ready::AtOnce, json!({})).await;
    let (path, limit) = (Path::new("/tree/a.py"), Duration::from_secs(15));
    server.show(path, "python", String::new()).await.unwrap();
    fake.next().await;
    let (diagnosed, ()) =
        tokio::join!(server.diagnostics(path, 1, limit), fake.say(published(Value::Null, &["first"])));
    assert_eq!(messages(&diagnosed.unwrap()), ["first"]);
    server.happened(&[(PathBuf::from("/tree/b.py"), Happened::Changed)]).await.unwrap();
    fake.next().await;
    let (diagnosed, ()) =
        tokio::join!(server.diagnostics(path, 1, limit), fake.say(published(Value::Null, &["second"])));
    assert_eq!(messages(&diagnosed.unwrap()), ["second"]);
    // A server that has nothing else to say is not waited for until the time is up.
    server.happened(&[(PathBuf::from("/tree/b.py"), Happened::Changed)]).await.unwrap();
    let diagnosed = server.diagnostics(path, 1, limit).await.unwrap();
    assert_eq!((messages(&diagnosed), &diagnosed.unfinished), (vec!["second"], &None));
}

#[tokio::test(start_paused = true)]
async fn what_is_there_when_the_time_is_up_is_kept() {
    let (server, mut fake) = meet(Ready::AtOnce, json!({})).await;
    let path = Path::new("/tree/a.py");
    server.show(path, "python", String::new()).await.unwrap();
    fake.next().await;
    // It speaks about an older text only, and never about this one.
    let talk = fake.say(published(json!(0), &["early"]));
    let (diagnosed, ()) = tokio::join!(server.diagnostics(path, 1, Duration::from_secs(15)), talk);
    let diagnosed = diagnosed.unwrap();
    assert_eq!(messages(&diagnosed), ["early"]);
    assert_eq!(diagnosed.unfinished.as_deref(), Some("no complete answer within 15 s"));
}

#[tokio::test]
async fn diagnostics_are_asked_for_where_the_server_answers() {
    let (server, mut fake) = meet(Ready::AtOnce, json!({ "diagnosticProvider": {} })).await;
    let path = Path::new("/tree/a.py");
    server.show(path, "python", String::new()).await.unwrap();
    fake.next().await;
    let items = published(Value::Null, &["asked"])["params"]["diagnostics"].clone();
    let talk = fake.answer("textDocument/diagnostic", json!({ "kind": "full", "items": items }));
    let (diagnosed, params) = tokio::join!(server.diagnostics(path, 1, Duration::from_secs(15)), talk);
    assert_eq!(messages(&diagnosed.unwrap()), ["asked"]);
    assert_eq!(params["textDocument"]["uri"], "file:///tree/a.py");
}

#[tokio::test(start_paused = true)]
async fn a_server_is_ready_when_its_work_is_done() {
    let (server, mut fake) = meet(Ready::AfterWork, json!({})).await;
    let progress = |token: u32, kind: &str| json!({ "method": "$/progress", "params": { "token": token, "value": { "kind": kind } } });
    for (token, kind) in [(1, "begin"), (2, "begin"), (1, "end")] {
        fake.say(progress(token, kind)).await;
    }
    let mut known = server.known.clone();
    known.wait_for(|known| known.has_worked && known.working.len() == 1).await.unwrap();
    assert!(!server.ready().await, "it never ends");
    fake.say(progress(2, "end")).await;
    assert!(server.ready().await);
}

#[tokio::test]
async fn a_server_is_told_of_files_and_asked_to_leave() {
    let (server, mut fake) = meet(Ready::AtOnce, json!({})).await;
    let files = [(PathBuf::from("/tree/a"), Happened::Created), (PathBuf::from("/tree/b"), Happened::Deleted)];
    server.happened(&files).await.unwrap();
    let told = fake.next().await;
    assert_eq!(told["params"]["changes"][1], json!({ "uri": "file:///tree/b", "type": 3 }));
    let talk = async {
        fake.answer("shutdown", Value::Null).await;
        assert_eq!(fake.next().await["method"], "exit");
    };
    tokio::join!(server.leave(Duration::from_secs(5)), talk);
}
