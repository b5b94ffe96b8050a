//! An agent's process driven by hand: JSON-RPC lines over its own pipes, one request at a time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Peer {
    pub(crate) fn start(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = piped.spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, input, output: BufReader::new(output), last: 0 }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request and reads everything up to its result.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        let last = self.last;
        let mut reply = self.read_until(|message| message["id"] == last && message["method"].is_null());
        assert_eq!(reply["error"], Value::Null, "{method}");
        reply["result"].take()
    }

    pub(crate) fn notify(&mut self, method: &str) {
        self.send(&json!({"jsonrpc": "2.0", "method": method}));
    }

    /// Reads up to the first message that is the wanted one.
    pub(crate) fn read_until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the agent ended");
            let message = serde_json::from_str(&line).unwrap_or_default();
            if is_wanted(&message) {
                return message;
            }
        }
    }

    fn send(&mut self, message: &Value) {
        // In one piece, as an agent's client writes it.
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
