//! A program that speaks JSON lines, driven by hand: what the canary compares, and what shows that the model servers are right.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::model::script::LIMIT;

/// One running program. It is ended when the test lets go of it; what it started ends with its pipes.
pub(crate) struct Peer {
    child: Child,
    stdin: ChildStdin,
    lines: mpsc::Receiver<Value>,
    seen: Vec<Value>,
    next_id: u64,
}

impl Peer {
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            // A line that is no JSON is talk, which some programs mix in.
            for value in output.lines().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()) {
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        Self { child, stdin, lines, seen: Vec::new(), next_id: 1 }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    /// Calls a method and gives its result.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.reply(id)
    }

    /// Calls a method; its reply is read later.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    #[track_caller]
    pub(crate) fn reply(&mut self, id: u64) -> Value {
        let reply = self.until(|line| line["id"] == id && line["method"].is_null(), |_| None);
        assert!(reply["error"].is_null(), "{reply:#}");
        reply["result"].clone()
    }

    /// Reads on until a line fits, answering what the program asks on the way.
    #[track_caller]
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool, answer: impl Fn(&Value) -> Option<Value>) -> Value {
        let deadline = Instant::now() + LIMIT;
        loop {
            let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
                panic!("the program did not say it; it said {:#?}", self.seen);
            };
            if let Some(answer) = answer(&line) {
                self.send(&answer);
            }
            self.seen.push(line.clone());
            if fits(&line) {
                return line;
            }
        }
    }

    /// The kinds of messages seen so far.
    pub(crate) fn kinds(&self, kind: impl Fn(&Value) -> Vec<String>) -> BTreeSet<String> {
        self.seen.iter().flat_map(kind).collect()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
