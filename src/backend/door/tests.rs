//! The door with real clients on the loopback, and the calls on their way to the owner of a conversation.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::bridge;
use super::caller::{Caller, CallerError, Replies};
use super::*;
use crate::backend::event::{Block, Command, Event, Stop, ToolRequest};
use crate::backend::failure::{Failure, FailureKind};

/// One conversation with an open door and nobody behind the protocol.
struct Talk {
    _door: Door,
    entrance: Entrance,
    commands: mpsc::Sender<Command>,
    events: mpsc::Receiver<Event>,
    /// What the protocol hears and says.
    inner_commands: mpsc::Receiver<Command>,
    inner_events: mpsc::Sender<Event>,
}

fn tool(name: &str) -> mcp::Tool {
    let input_schema = json!({"type": "object"});
    mcp::Tool { name: name.to_owned(), description: String::new(), input_schema, annotations: None }
}

async fn talk(door: &Door, name: &str) -> Talk {
    let (entrance, stay) = door.admit(vec![tool(name)], Vec::new()).await.unwrap();
    let (commands, command_receiver) = mpsc::channel(8);
    let (event_sender, events) = mpsc::channel(8);
    let (inner_sender, inner_commands) = mpsc::channel(8);
    let (inner_events, inner_receiver) = mpsc::channel(8);
    tokio::spawn(carry::carry(stay, inner_sender, inner_receiver, command_receiver, event_sender));
    Talk { _door: door.clone(), entrance, commands, events, inner_commands, inner_events }
}

#[tokio::test]
async fn strangers_that_send_nothing_give_way_to_callers_with_a_token() {
    let door = Door::default();
    let talk = talk(&door, "delegate").await;
    let port = door.port().await.unwrap();
    let mut strangers = Vec::new();
    for _ in 0..260 {
        strangers.push(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap());
    }
    let reply = talk.ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    assert_eq!(reply["result"]["tools"][0]["name"], "delegate", "{reply}");
    let oldest = tokio::time::timeout(Duration::from_secs(5), strangers[0].read(&mut [0])).await;
    assert!(matches!(oldest, Ok(Ok(0) | Err(_))), "{oldest:?}");
}

/// A conversation in the middle of a turn.
async fn turn(door: &Door) -> Talk {
    let mut talk = talk(door, "delegate").await;
    talk.tell(Command::Prompt { blocks: vec![Block::Text("go".to_owned())] }).await;
    assert!(matches!(talk.inner_commands.recv().await, Some(Command::Prompt { .. })));
    talk
}

impl Talk {
    async fn tell(&self, command: Command) {
        self.commands.send(command).await.unwrap();
    }

    async fn event(&mut self) -> Event {
        self.events.recv().await.unwrap()
    }

    /// The request that the owner hears of.
    async fn requested(&mut self) -> ToolRequest {
        match self.event().await {
            Event::ToolRequested(request) => request,
            other => panic!("{other:?}"),
        }
    }

    async fn post(&self, message: Value) -> Result<Replies, CallerError> {
        let headers = vec![("authorization".to_owned(), format!("Bearer {}", self.entrance.token))];
        Caller { url: self.entrance.url.clone(), headers }.post(&message).await
    }

    /// What a message is answered with.
    async fn ask(&self, message: Value) -> Value {
        self.post(message).await.unwrap().next().await.unwrap().unwrap()
    }

    async fn call(&self, id: u64) -> Replies {
        self.post(call(id)).await.unwrap()
    }

    /// One request as bytes.
    async fn raw(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let length = body.len().to_string();
        self.send(method, &[headers, &[("Content-Length", &length)]].concat(), body).await
    }

    /// A request of which the rest may follow.
    async fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let address = self.entrance.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut text = format!("{method} /mcp HTTP/1.1\r\n");
        if headers.iter().all(|(name, _)| *name != "Host") {
            text.push_str(&format!("Host: {address}\r\n"));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
        stream
    }

    async fn status(&self, method: &str, headers: &[(&str, &str)]) -> u16 {
        let mut head = [0; 12];
        self.raw(method, headers, "{\"id\":1,\"method\":\"ping\"}").await.read_exact(&mut head).await.unwrap();
        String::from_utf8_lossy(&head[9..]).parse().unwrap()
    }
}

fn call(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "delegate", "arguments": {"task": id}, "_meta": {"progressToken": id}}})
}

fn answered(id: u64, text: &str, is_error: bool) -> Value {
    json!({"jsonrpc": "2.0", "id": id,
        "result": {"content": [{"type": "text", "text": text}], "isError": is_error}})
}

fn gone(request: &ToolRequest) -> Event {
    Event::ToolRequestGone { request: request.request.clone() }
}

#[tokio::test]
async fn a_token_opens_one_conversation_and_no_other() {
    let door = Door::default();
    let (mut one, mut two) = (talk(&door, "one").await, talk(&door, "two").await);
    assert_eq!(one.entrance.url, two.entrance.url);
    assert_eq!(one.entrance.token.len(), 64);
    for (talk, name) in [(&one, "one"), (&two, "two")] {
        let list = talk.ask(json!({"id": 1, "method": "tools/list"})).await;
        assert_eq!(list["result"]["tools"][0]["name"], name);
    }
    one.tell(Command::Prompt { blocks: Vec::new() }).await;
    one.inner_commands.recv().await.unwrap();
    let mut replies = one.call(7).await;
    let request = one.requested().await;
    assert_eq!((request.tool.as_str(), request.arguments), ("delegate", json!({"task": 7})));
    // The same name in another conversation is another request.
    two.tell(Command::ToolResult { request: request.request.clone(), outcome: Ok("stolen".to_owned().into()) }).await;
    one.tell(Command::ToolResult { request: request.request, outcome: Ok("mine".to_owned().into()) }).await;
    assert_eq!(replies.next().await.unwrap(), Some(answered(7, "mine", false)));
    assert_eq!(replies.next().await.unwrap(), None);
    assert!(two.events.try_recv().is_err());
    // Results of served tools are no business of the protocol.
    assert!(one.inner_commands.try_recv().is_err());
}

#[tokio::test]
async fn strangers_are_turned_away() {
    let talk = talk(&Door::default(), "one").await;
    let token = format!("Bearer {}", talk.entrance.token);
    let own = ("Authorization", token.as_str());
    let host = talk.entrance.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    let named = host.replace("127.0.0.1", "localhost");
    for (method, headers, status) in [
        ("POST", vec![own], 200),
        ("POST", vec![], 401),
        ("POST", vec![("Authorization", "Bearer 0")], 401),
        ("POST", vec![("Authorization", "Bearer")], 401),
        ("GET", vec![("Authorization", "Bearer 0")], 401),
        ("POST", vec![own, ("Host", "evil.example")], 403),
        ("POST", vec![own, ("Host", "127.0.0.1:1")], 403),
        ("POST", vec![own, ("Host", named.as_str())], 200),
        ("POST", vec![own, ("Origin", "https://evil.example")], 403),
        ("POST", vec![own, ("Origin", "null")], 403),
        ("POST", vec![own, ("Origin", &format!("http://{host}"))], 200),
        ("GET", vec![own], 405),
        ("DELETE", vec![own], 204),
    ] {
        assert_eq!(talk.status(method, &headers).await, status, "{method} {headers:?}");
    }
}

#[tokio::test]
async fn a_token_dies_with_its_conversation() {
    let door = Door::default();
    let mut talk = turn(&door).await;
    let mut open = talk.call(1).await;
    let request = talk.requested().await;
    let (ended, _) = mpsc::channel(1);
    drop(std::mem::replace(&mut talk.inner_events, ended));
    assert_eq!(talk.event().await, gone(&request));
    assert_eq!(talk.events.recv().await, None);
    assert_eq!(open.next().await.unwrap(), Some(answered(1, "the conversation is over", true)));
    let refused = talk.post(json!({"id": 1, "method": "ping"})).await.unwrap_err();
    assert_eq!(refused.to_string(), "the server answers with status 401 Unauthorized");
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_stays_open_and_says_so() {
    let mut talk = turn(&Door::default()).await;
    let mut replies = talk.call(3).await;
    let request = talk.requested().await;
    // Ten minutes of fifteen seconds each.
    for step in 1..=40 {
        assert_eq!(replies.next().await.unwrap(), Some(mcp::progress(&json!(3), step)));
    }
    talk.tell(Command::ToolResult { request: request.request, outcome: Err("no".to_owned()) }).await;
    assert_eq!(replies.next().await.unwrap(), Some(answered(3, "no", true)));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wants_no_progress_gets_comments() {
    let mut talk = turn(&Door::default()).await;
    let bearer = format!("Bearer {}", talk.entrance.token);
    let body = json!({"id": 1, "method": "tools/call", "params": {"name": "delegate"}}).to_string();
    let mut stream = talk.raw("POST", &[("Authorization", &bearer)], &body).await;
    talk.requested().await;
    let mut text = String::new();
    while text.matches(mcp::sse::KEEP_ALIVE).count() < 5 {
        let mut piece = [0; 512];
        let read = stream.read(&mut piece).await.unwrap();
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    assert!(text.contains("content-type: text/event-stream"), "{text}");
    assert!(!text.contains("data:"), "{text}");
}

#[tokio::test]
async fn a_client_that_leaves_withdraws_its_call() {
    let mut talk = turn(&Door::default()).await;
    let (left, mut stays) = (talk.call(1).await, talk.call(2).await);
    let (first, second) = (talk.requested().await, talk.requested().await);
    drop(left);
    assert_eq!(talk.event().await, gone(&first));
    talk.tell(Command::ToolResult { request: second.request, outcome: Ok("here".to_owned().into()) }).await;
    assert_eq!(stays.next().await.unwrap(), Some(answered(2, "here", false)));
}

#[tokio::test]
async fn a_cancelled_call_is_withdrawn_and_not_answered() {
    let mut talk = turn(&Door::default()).await;
    let mut replies = talk.call(9).await;
    let request = talk.requested().await;
    let cancel = |id: u64| json!({"method": "notifications/cancelled", "params": {"requestId": id}});
    assert_eq!(talk.post(cancel(8)).await.unwrap().next().await.unwrap(), None);
    assert_eq!(talk.post(cancel(9)).await.unwrap().next().await.unwrap(), None);
    assert_eq!(talk.event().await, gone(&request));
    assert_eq!(replies.next().await.unwrap(), None);
}

#[tokio::test]
async fn no_call_outlives_its_turn() {
    let mut talk = turn(&Door::default()).await;
    let mut replies = talk.call(1).await;
    let request = talk.requested().await;
    let end = Event::Final { text: "{}".to_owned(), stop: Stop::EndTurn };
    talk.inner_events.send(end.clone()).await.unwrap();
    assert_eq!(talk.event().await, gone(&request));
    assert_eq!(talk.event().await, end);
    assert_eq!(replies.next().await.unwrap(), Some(answered(1, "the turn is over", true)));
    assert_eq!(talk.ask(call(2)).await, answered(2, "the turn is over", true));
}

#[tokio::test]
async fn an_interrupted_turn_makes_no_further_call() {
    let mut talk = turn(&Door::default()).await;
    let mut replies = talk.call(1).await;
    let request = talk.requested().await;
    talk.tell(Command::Interrupt).await;
    assert_eq!(talk.inner_commands.recv().await, Some(Command::Interrupt));
    assert_eq!(talk.event().await, gone(&request));
    assert_eq!(replies.next().await.unwrap(), Some(answered(1, "the turn was interrupted", true)));
    assert_eq!(talk.ask(call(2)).await, answered(2, "the turn is over", true));
}

/// An agent that ends its turn by itself has not read an answer that sends it back to its model.
#[tokio::test]
async fn a_turn_that_ends_when_told_to_sees_no_answer_before() {
    let mut talk = turn(&Door::default()).await;
    let mut replies = talk.call(1).await;
    let request = talk.requested().await;
    talk.tell(Command::Interrupt).await;
    assert_eq!(talk.inner_commands.recv().await, Some(Command::Interrupt));
    let end = Event::Failed(Failure::new(FailureKind::Cancelled, "the turn was interrupted"));
    talk.inner_events.send(end.clone()).await.unwrap();
    assert_eq!(talk.event().await, gone(&request));
    assert_eq!(talk.event().await, end);
    assert_eq!(replies.next().await.unwrap(), Some(answered(1, "the turn is over", true)));
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let talk = talk(&Door::default(), "one").await;
    let bearer = format!("Bearer {}", talk.entrance.token);
    let mut text = String::new();
    let headers = [("Authorization", bearer.as_str()), ("Connection", "close")];
    talk.raw("POST", &headers, "{").await.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 400 ") && text.contains("the message cannot be read: not JSON"), "{text}");
    assert!(!format!("{:?}", talk.entrance).contains(&talk.entrance.token));
}

/// Sends a ping over a connection that stays open; the status of the answer.
async fn ping(stream: &mut TcpStream, talk: &Talk) -> u16 {
    let host = talk.entrance.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let body = r#"{"id":1,"method":"ping"}"#;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        talk.entrance.token,
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    read_status(stream).await
}

async fn read_status(stream: &mut TcpStream) -> u16 {
    let mut answer = [0; 512];
    let read = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[9..12.min(read)]).parse().unwrap()
}

/// Pings until a place is free: the door notices a closed connection by itself.
async fn wait_for_place(talk: &Talk) {
    let bearer = format!("Bearer {}", talk.entrance.token);
    let free = async {
        while talk.status("POST", &[("Authorization", &bearer), ("Connection", "close")]).await != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), free).await.unwrap();
}

#[tokio::test]
async fn a_conversation_has_a_limited_number_of_connections() {
    let door = Door::default();
    let (greedy, other) = (talk(&door, "one").await, talk(&door, "two").await);
    let port = door.port().await.unwrap();
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    let mut open = Vec::new();
    for _ in 0..limits::CONNECTIONS {
        let mut stream = connect().await.unwrap();
        assert_eq!(ping(&mut stream, &greedy).await, 200);
        open.push(stream);
    }
    let mut refused = connect().await.unwrap();
    assert_eq!(ping(&mut refused, &greedy).await, 429);
    assert_eq!(refused.read(&mut [0]).await.unwrap(), 0, "it is closed");
    assert_eq!(ping(&mut open[0], &greedy).await, 200, "an open one stays");
    assert_eq!(ping(&mut connect().await.unwrap(), &other).await, 200, "another conversation has its own limit");
    open.pop();
    wait_for_place(&greedy).await;
}

#[tokio::test]
async fn requests_that_do_not_end_take_a_limited_part_of_the_memory() {
    let door = Door::default();
    let (greedy, other) = (talk(&door, "one").await, talk(&door, "two").await);
    let bearer = format!("Bearer {}", greedy.entrance.token);
    let part = vec![b' '; limits::LONGEST_REQUEST - 1];
    let mut sending = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let length = limits::LONGEST_REQUEST.to_string();
        let mut stream = greedy.send("POST", &[("Authorization", &bearer), ("Content-Length", &length)], "").await;
        let part = part.clone();
        sending.spawn(async move {
            // Whoever is refused cannot send the rest.
            stream.write_all(&part).await.ok();
            let mut status = [0; 12];
            let answered = stream.read_exact(&mut status).await.is_ok();
            answered.then(|| String::from_utf8_lossy(&status[9..]).into_owned())
        });
    }
    // Two wait for their last byte; the third has no room.
    let first = tokio::time::timeout(Duration::from_secs(20), sending.join_next()).await.unwrap();
    assert!(first.unwrap().unwrap().is_none_or(|status| status == "503"));
    assert_eq!(other.ask(json!({"id": 1, "method": "ping"})).await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    sending.shutdown().await;
    wait_for_place(&greedy).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_arrive_is_given_up() {
    let talk = talk(&Door::default(), "one").await;
    let bearer = format!("Bearer {}", talk.entrance.token);
    let mut stream = talk.send("POST", &[("Authorization", &bearer), ("Content-Length", "2")], "{").await;
    let begin = tokio::time::Instant::now();
    assert_eq!(read_status(&mut stream).await, 408);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_request_of_too_many_values_is_refused() {
    let talk = talk(&Door::default(), "one").await;
    let bearer = format!("Bearer {}", talk.entrance.token);
    let body = format!("[{}0]", "[0],".repeat(1 << 20));
    let mut text = String::new();
    let headers = [("Authorization", bearer.as_str()), ("Connection", "close")];
    talk.raw("POST", &headers, &body).await.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 400 ") && text.contains("too many values"), "{text}");
}

#[tokio::test]
async fn a_bridge_is_as_good_as_the_door() {
    let mut talk = turn(&Door::default()).await;
    let (lines, mut replies) = bridge::talk(&talk.entrance.url, &talk.entrance.token);
    let hello = json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
    for message in [hello, json!({"method": "notifications/initialized"}), call(1), json!({"id": 2, "method": "ping"})]
    {
        lines.send(message.to_string()).await.unwrap();
    }
    let mut next = async || serde_json::from_str::<Value>(&replies.recv().await.unwrap()).unwrap();
    assert_eq!(next().await["result"]["protocolVersion"], "2025-06-18");
    // A call that is open keeps nothing else from being answered.
    assert_eq!(next().await, json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
    let request = talk.requested().await;
    talk.tell(Command::ToolResult { request: request.request, outcome: Ok("done".to_owned().into()) }).await;
    assert_eq!(next().await, answered(1, "done", false));
    lines.send(call(3).to_string()).await.unwrap();
    let request = talk.requested().await;
    drop(lines);
    assert_eq!(talk.event().await, gone(&request));
}
