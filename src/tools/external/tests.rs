//! Conversations with a scripted server at the other end of the pipes. Where a wait is part of a test, the clock is paused.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::runtime;

use super::*;
use crate::permission::Effect;

const PIPE: usize = 1 << 16;
const LONG: Duration = Duration::from_secs(3600);

/// The server's end of the pipes.
struct Script {
    asked: Lines<BufReader<DuplexStream>>,
    out: DuplexStream,
}

fn pipes() -> (Io, Script) {
    let (stdin, asked) = tokio::io::duplex(PIPE);
    let (stdout, out) = tokio::io::duplex(PIPE);
    (Io { stdin: Box::new(stdin), stdout: Box::new(stdout) }, Script { asked: BufReader::new(asked).lines(), out })
}

impl Script {
    /// The next message of the client, which must be of this method.
    async fn expect(&mut self, method: &str) -> Value {
        let line = self.asked.next_line().await.unwrap().expect("the client has closed");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["method"], method, "{message}");
        message
    }

    async fn write(&mut self, text: &str) {
        self.out.write_all(text.as_bytes()).await.unwrap();
    }

    async fn send(&mut self, message: Value) {
        self.write(&format!("{message}\n")).await;
    }

    async fn reply(&mut self, to: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": to["id"], "result": result})).await;
    }

    /// Answers the first message and takes the second.
    async fn greet(&mut self) {
        let hello = self.expect("initialize").await;
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}}});
        self.reply(&hello, result).await;
        self.expect("notifications/initialized").await;
    }

    /// Answers one request for a part of the list; returns the cursor that it named.
    async fn list(&mut self, names: &[&str], next: Value) -> Value {
        let request = self.expect("tools/list").await;
        let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
        self.reply(&request, json!({"tools": tools, "nextCursor": next})).await;
        request["params"]["cursor"].clone()
    }

    async fn answer(&mut self, to: &Value, text: &str) {
        self.reply(to, json!({"content": [{"type": "text", "text": text}]})).await;
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "Does it", "inputSchema": {"type": "object"}})
}

/// A connection to a server that has the one tool `echo`.
async fn connected(limits: Limits) -> (External, Script) {
    let (io, mut script) = pipes();
    let (external, ()) = tokio::join!(connect("docs", io, limits), async {
        script.greet().await;
        script.list(&["echo"], Value::Null).await;
    });
    (external.unwrap(), script)
}

fn names(external: &External) -> Vec<String> {
    external.tools().into_iter().map(|tool| tool.name).collect()
}

/// A call that goes on beside the test.
fn call(external: &External, arguments: Value) -> tokio::task::JoinHandle<Result<String, String>> {
    let external = external.clone();
    tokio::spawn(async move { external.call("echo", arguments, LONG).await })
}

#[tokio::test]
async fn tools_of_a_server_are_listed_over_pages_under_their_served_names() {
    let (io, mut script) = pipes();
    let served = async {
        script.greet().await;
        assert_eq!(script.list(&["one", "two"], json!("p2")).await, Value::Null);
        assert_eq!(script.list(&["three", "no.such"], json!("p3")).await, "p2");
        assert_eq!(script.list(&[], Value::Null).await, "p3");
    };
    let (external, ()) = tokio::join!(connect("docs", io, Limits::default()), served);
    let external = external.unwrap();
    assert_eq!(external.server(), "docs");
    assert_eq!(names(&external), ["mcp__docs__one", "mcp__docs__two", "mcp__docs__three"]);
    assert!(external.tools().iter().all(|tool| tool.effect == Effect::Destroys));
    let warning = "tool `no.such` is left out: a name has 1 to 64 letters, digits, `_` and `-`";
    assert_eq!(external.warnings(), [format!("mcp server `docs`: {warning}")]);
}

#[tokio::test]
async fn a_list_without_end_has_one() {
    let limits = Limits { tools: 3, ..Limits::default() };
    for (pages, listed) in [(&[&["a", "b"][..], &["c", "d"]][..], 3), (&[&["a"], &[], &[]], 1)] {
        let (io, mut script) = pipes();
        let served = async {
            script.greet().await;
            for page in pages {
                script.list(page, json!("again")).await;
            }
        };
        let (external, ()) = tokio::join!(connect("docs", io, limits), served);
        let external = external.unwrap();
        assert_eq!(names(&external).len(), listed);
        let warning = "mcp server `docs`: it lists more than 3 tools, and the rest is left out";
        assert_eq!(external.warnings(), [warning]);
    }
}

#[tokio::test]
async fn a_server_without_tools_is_no_failure() {
    let (io, mut script) = pipes();
    let served = async {
        let hello = script.expect("initialize").await;
        script.reply(&hello, json!({"protocolVersion": "2024-11-05", "capabilities": {"prompts": {}}})).await;
        script.expect("notifications/initialized").await;
    };
    let (external, ()) = tokio::join!(connect("docs", io, Limits::default()), served);
    let external = external.unwrap();
    assert_eq!(names(&external), Vec::<String>::new());
    assert_eq!(external.warnings(), ["mcp server `docs`: it has no tools"]);
}

#[tokio::test]
async fn a_changed_list_is_asked_for_again() {
    let (external, mut script) = connected(Limits::default()).await;
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let mut catalog = external.catalog.clone();
    catalog.mark_unchanged();
    script.send(changed.clone()).await;
    let request = script.expect("tools/list").await;
    // Twice while it is being asked for means once more afterwards.
    script.send(changed.clone()).await;
    script.send(changed.clone()).await;
    script.reply(&request, json!({"tools": [tool("a")]})).await;
    catalog.changed().await.unwrap();
    script.list(&["a", "b"], Value::Null).await;
    catalog.changed().await.unwrap();
    assert_eq!(names(&external), ["mcp__docs__a", "mcp__docs__b"]);
    // What is known stays where the server has no list.
    script.send(changed).await;
    let request = script.expect("tools/list").await;
    script.reply(&request, json!({"tools": "none"})).await;
    script.send(json!({"id": 1, "method": "ping"})).await;
    script.asked.next_line().await.unwrap();
    assert_eq!(names(&external), ["mcp__docs__a", "mcp__docs__b"]);
}

#[tokio::test]
async fn a_list_that_changes_before_it_is_known_is_asked_for_again() {
    let (io, mut script) = pipes();
    let (external, ()) = tokio::join!(connect("docs", io, Limits::default()), async {
        script.greet().await;
        let request = script.expect("tools/list").await;
        script.send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})).await;
        script.reply(&request, json!({"tools": []})).await;
    });
    let mut catalog = external.as_ref().unwrap().catalog.clone();
    script.list(&["late"], Value::Null).await;
    catalog.wait_for(|catalog| catalog.as_ref().is_some_and(|catalog| !catalog.tools.is_empty())).await.unwrap();
    assert_eq!(names(&external.unwrap()), ["mcp__docs__late"]);
}

#[tokio::test]
async fn calls_run_together_and_answers_find_them_in_any_order() {
    let (external, mut script) = connected(Limits::default()).await;
    let calls: Vec<_> = (0..3).map(|at| call(&external, json!({"at": at}))).collect();
    let mut asked = Vec::new();
    for _ in 0..3 {
        asked.push(script.expect("tools/call").await);
    }
    for request in asked.iter().rev() {
        assert_eq!(request["params"]["name"], "echo");
        script.answer(request, &request["params"]["arguments"].to_string()).await;
    }
    for (at, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), Ok(format!(r#"{{"at":{at}}}"#)));
    }
}

#[tokio::test]
async fn a_failed_call_is_a_text_and_a_huge_one_is_cut() {
    let (external, mut script) = connected(Limits::default()).await;
    let failed = call(&external, json!({}));
    let request = script.expect("tools/call").await;
    script.reply(&request, json!({"content": [{"type": "text", "text": "no such file"}], "isError": true})).await;
    assert_eq!(failed.await.unwrap(), Err("no such file".to_owned()));

    let refused = call(&external, json!({}));
    let request = script.expect("tools/call").await;
    script.send(json!({"id": request["id"], "error": {"code": -32602, "message": "what?"}})).await;
    assert_eq!(refused.await.unwrap(), Err("mcp server `docs` refused the call: what? (-32602)".to_owned()));

    let huge = call(&external, json!({}));
    let request = script.expect("tools/call").await;
    script.answer(&request, &"ä".repeat(1 << 20)).await;
    let text = huge.await.unwrap().unwrap();
    assert!(text.ends_with("ä…[truncated]"));
    assert!((262_140..=262_144).contains(&text.len()), "{}", text.len());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_withdrawn() {
    let (external, mut script) = connected(Limits::default()).await;
    let (outcome, request) =
        tokio::join!(external.call("echo", json!({}), CALL_TIMEOUT), async { script.expect("tools/call").await });
    assert_eq!(outcome, Err("mcp server `docs` did not answer `echo` within 60s".to_owned()));
    assert_eq!(script.expect("notifications/cancelled").await["params"]["requestId"], request["id"]);
    // An answer that comes nevertheless harms nobody.
    script.answer(&request, "late").await;
    let next = call(&external, json!({}));
    let request = script.expect("tools/call").await;
    script.answer(&request, "in time").await;
    assert_eq!(next.await.unwrap(), Ok("in time".to_owned()));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_withdrawn() {
    let (external, mut script) = connected(Limits::default()).await;
    let dropped = call(&external, json!({}));
    let request = script.expect("tools/call").await;
    dropped.abort();
    assert_eq!(script.expect("notifications/cancelled").await["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn the_end_of_a_server_answers_its_open_calls() {
    let (external, mut script) = connected(Limits::default()).await;
    let open = call(&external, json!({}));
    script.expect("tools/call").await;
    drop(script);
    let ended = ExternalError::Ended { server: "docs".to_owned() };
    assert_eq!(open.await.unwrap(), Err("mcp server `docs` ended its output".to_owned()));
    assert_eq!(external.closed().await, ended);
    assert_eq!(external.call("echo", json!({}), LONG).await, Err(ended.to_string()));
    let hint = "run what `mcp.servers.docs.command` names by hand: it has to speak MCP over standard input and output and to \
                keep running";
    assert_eq!(ended.hint(), hint);
}

#[tokio::test]
async fn the_last_handle_closes_the_servers_input() {
    let (external, mut script) = connected(Limits::default()).await;
    drop(external);
    assert_eq!(script.asked.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn a_server_that_asks_is_answered_in_the_middle_of_a_call() {
    let (external, mut script) = connected(Limits::default()).await;
    let open = call(&external, json!({}));
    let request = script.expect("tools/call").await;
    script.send(json!({"method": "notifications/message", "params": {"level": "info", "data": "x"}})).await;
    script.send(json!({"id": "s", "method": "sampling/createMessage", "params": {}})).await;
    let refusal: Value = serde_json::from_str(&script.asked.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&json!("s"), &json!(-32601)));
    script.answer(&request, "done").await;
    assert_eq!(open.await.unwrap(), Ok("done".to_owned()));
}

#[tokio::test]
async fn some_garbage_is_survived_and_much_is_not() {
    let limits = Limits { garbage: 3, line: 1000, ..Limits::default() };
    let (external, mut script) = connected(limits).await;
    for _ in 0..3 {
        script.write("listening on stdio\n\n[1]\n").await;
        script.send(json!({"id": 9, "method": "ping"})).await;
        script.asked.next_line().await.unwrap().unwrap();
    }
    script.write(&format!("{}\n{{}}\n", "x".repeat(5000))).await;
    script.write("\u{1b}[2J\n").await;
    let garbled = ExternalError::Garbled { server: "docs".to_owned(), lines: 3 };
    assert_eq!(external.closed().await, garbled);
    assert_eq!(garbled.to_string(), "mcp server `docs` wrote 3 lines in a row that are no messages");
}

#[tokio::test]
async fn a_server_that_does_not_read_is_given_up() {
    let (external, mut script) = connected(Limits::default()).await;
    // The client answers each; what it cannot write piles up until it is too much.
    let asks = format!("{}\n", json!({"id": "x".repeat(1000), "method": "ping"})).repeat(10);
    let flood = async {
        while script.out.write_all(asks.as_bytes()).await.is_ok() {}
        std::future::pending::<()>().await;
    };
    tokio::select! {
        error = external.closed() => assert_eq!(error, ExternalError::Stuck { server: "docs".to_owned() }),
        () = flood => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up_after_thirty_seconds() {
    let (io, mut script) = pipes();
    let error = connect("docs", io, Limits::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "mcp server `docs` did not say within 30s which tools it has");
    script.expect("initialize").await;
    assert_eq!(script.asked.next_line().await.unwrap(), None, "its input is closed");
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_named() {
    let (io, _script) = pipes();
    let error = connect("coppice", io, Limits::default()).await.unwrap_err();
    assert_eq!(error, ExternalError::Name { name: "coppice".to_owned() });
    let refusal = json!({"error": {"code": -32000, "message": "no key"}});
    for (hello, list, expected) in [
        (Some(refusal.clone()), None, "mcp server `docs` refused `initialize`: no key (-32000)"),
        (Some(json!({"result": 7})), None, "mcp server `docs` answered `initialize` with something else"),
        (None, Some(refusal), "mcp server `docs` refused `tools/list`: no key (-32000)"),
        (None, Some(json!({"result": {}})), "mcp server `docs` answered `tools/list` with something else"),
        (None, None, "mcp server `docs` ended its output"),
    ] {
        let (io, mut script) = pipes();
        let served = async move {
            if list.is_some() {
                script.greet().await;
            }
            let method = if list.is_some() { "tools/list" } else { "initialize" };
            let id = script.expect(method).await["id"].take();
            if let Some(mut answer) = hello.or(list) {
                answer["id"] = id;
                script.send(answer).await;
            }
        };
        let (connected, ()) = tokio::join!(connect("docs", io, Limits::default()), served);
        assert_eq!(connected.unwrap_err().to_string(), expected);
    }
}

/// Pieces of messages and of nonsense.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        Just(b"\n".to_vec()),
        Just(br#"{"id":1,"result":{"capabilities":{"tools":{}}}}"#.to_vec()),
        Just(br#"{"id":2,"result":{"tools":[{"name":"a","inputSchema":{}},7],"nextCursor":"x"}}"#.to_vec()),
        Just(br#"{"id":3,"result":{"tools":[null]}}"#.to_vec()),
        Just(br#"{"id":4,"result":{"content":[{"type":"text"},{}]}}"#.to_vec()),
        Just(br#"{"method":"notifications/tools/list_changed"}"#.to_vec()),
        Just(br#"{"id":{},"method":"ping"}"#.to_vec()),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_server_breaks_its_client(bytes in bytes()) {
        let runtime = runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (io, mut script) = pipes();
            let limits = Limits { garbage: 4, line: 200, tools: 2, ..Limits::default() };
            let (connected, ()) = tokio::join!(connect("docs", io, limits), async move {
                // A client that has given the server up reads no more of it.
                script.out.write_all(&bytes).await.ok();
            });
            // Its output has ended, so it is over in any case.
            if let Ok(external) = connected {
                external.call("a", json!({}), LONG).await.unwrap_err();
            }
        });
    }
}
