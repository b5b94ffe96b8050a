//! The server of tools that an ACP agent is given, as its client reaches it: by HTTP on the loopback, or by the pipes of a
//! program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) enum Server {
    Http { stream: BufReader<TcpStream>, head: String },
    Pipes { child: Child, output: BufReader<ChildStdout> },
}

impl Server {
    /// Connects to a server as a session names it.
    pub(crate) fn connect(named: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut server = match named["url"].as_str() {
            Some(url) => {
                let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
                let mut head = format!("POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
                head += "Accept: application/json, text/event-stream\r\n";
                for header in named["headers"].as_array().unwrap() {
                    head += &format!("{}: {}\r\n", text(&header["name"]), text(&header["value"]));
                }
                let stream = TcpStream::connect(host).unwrap();
                stream.set_nodelay(true).unwrap();
                Self::Http { stream: BufReader::new(stream), head }
            }
            None => {
                let mut command = Command::new(text(&named["command"]));
                command.args(named["args"].as_array().unwrap().iter().map(text));
                command.envs(
                    named["env"].as_array().unwrap().iter().map(|pair| (text(&pair["name"]), text(&pair["value"]))),
                );
                let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
                let output = BufReader::new(child.stdout.take().unwrap());
                Self::Pipes { child, output }
            }
        };
        let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        server.ask(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": client}));
        server
    }

    /// The reply to a request.
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        match self {
            Self::Http { stream, head } => {
                let body = request.to_string();
                let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
                stream.get_mut().write_all(request.as_bytes()).unwrap();
                let body = read_body(stream);
                // A stream of events has the reply behind a word.
                let text = body.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or(&body);
                serde_json::from_str(text).unwrap()
            }
            Self::Pipes { child, output } => {
                child.stdin.as_mut().unwrap().write_all(format!("{request}\n").as_bytes()).unwrap();
                loop {
                    let mut line = String::new();
                    assert!(output.read_line(&mut line).unwrap() > 0, "the server left");
                    let reply: Value = serde_json::from_str(&line).unwrap();
                    if reply["id"] == request["id"] {
                        return reply;
                    }
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Self::Pipes { child, .. } = self {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}

/// The body of a response that has a length, or comes in pieces.
fn read_body(stream: &mut BufReader<TcpStream>) -> String {
    let line = |stream: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        line.trim_end().to_ascii_lowercase()
    };
    let status = line(stream);
    assert!(status.contains(" 200 "), "{status}");
    let (mut length, mut body) = (None, Vec::new());
    loop {
        match line(stream) {
            end if end.is_empty() => break,
            header => {
                if let Some(value) = header.strip_prefix("content-length:") {
                    length = Some(value.trim().parse::<u64>().unwrap());
                }
            }
        }
    }
    if let Some(length) = length {
        stream.take(length).read_to_end(&mut body).unwrap();
        return String::from_utf8(body).unwrap();
    }
    loop {
        let length = u64::from_str_radix(&line(stream), 16).unwrap();
        stream.take(length).read_to_end(&mut body).unwrap();
        line(stream);
        if length == 0 {
            return String::from_utf8(body).unwrap();
        }
    }
}
