//! The API as any other program sees it: HTTP/1.1 over the daemon's unix socket, without our client.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::env::TestEnv;

/// The whole reply, whatever it says.
pub(crate) fn reply(env: &TestEnv, path: &str) -> String {
    whole(request(env, path, &[], "close"))
}

/// The body of a reply that succeeds.
#[track_caller]
pub(crate) fn get(env: &TestEnv, path: &str, headers: &[(&str, &str)]) -> String {
    let text = whole(request(env, path, headers, "close"));
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
    assert!(head.starts_with("HTTP/1.1 200"), "{text}");
    body.to_owned()
}

/// The whole reply to a request with a body.
#[track_caller]
pub(crate) fn post(env: &TestEnv, path: &str, body: &serde_json::Value) -> String {
    with_body(env, "POST", path, body)
}

/// The same, by any method.
#[track_caller]
pub(crate) fn with_body(env: &TestEnv, method: &str, path: &str, body: &serde_json::Value) -> String {
    let (mut text, body) = (String::new(), body.to_string());
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: coppice\r\nconnection: close\r\n");
    let head = format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n");
    send(env, &format!("{head}{body}")).read_to_string(&mut text).unwrap();
    text
}

/// The lines of a stream up to the first blank line after an event with a number.
#[track_caller]
pub(crate) fn stream(env: &TestEnv, path: &str, headers: &[(&str, &str)]) -> Vec<String> {
    let mut lines = Vec::new();
    for line in request(env, path, headers, "keep-alive").lines() {
        let line = line.unwrap();
        let is_end = line.is_empty() && lines.iter().any(|line: &String| line.starts_with("id:"));
        lines.push(line);
        if is_end {
            break;
        }
    }
    lines
}

fn whole(mut reply: BufReader<UnixStream>) -> String {
    let mut text = String::new();
    reply.read_to_string(&mut text).unwrap();
    text
}

fn request(env: &TestEnv, path: &str, headers: &[(&str, &str)], connection: &str) -> BufReader<UnixStream> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    send(env, &format!("GET {path} HTTP/1.1\r\nhost: coppice\r\nconnection: {connection}\r\n{headers}\r\n"))
}

fn send(env: &TestEnv, request: &str) -> BufReader<UnixStream> {
    let status = env.json(&["daemon", "status"]);
    let mut socket = UnixStream::connect(status["socket"].as_str().unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    BufReader::new(socket)
}
