//! What Coppice adds to a warm turn: the scripted agent driven by hand over its own pipes, and the same turn through
//! the daemon.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use coppice::api::event::Payload;
use coppice::backend::registry::DEMO_ENTRY;
use coppice::client::connection::Connection;
use coppice::client::events::Events;
use serde_json::{Value, json};

use crate::home::Home;
use crate::measure::{median, milliseconds};
use crate::repo::prepare;
use crate::{Bar, Options, Report};

pub(crate) fn run(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    let place = tempfile::tempdir_in(&options.root).unwrap();
    let mut raw = Raw::start(place.path());
    let id = home.coppice(&["new", "--model", "demo", "@answer ready"]).trim().to_owned();
    home.coppice(&["wait", &id]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (connection, mut events) = runtime.block_on(async { (home.connect().await, home.follow().await) });
    let mut compare = |what: &str, script: &dyn Fn(usize) -> String| {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        // The first round warms both.
        for round in 0..=options.rounds.max(10) {
            bare.push(raw.turn(&script(round)));
            ours.push(runtime.block_on(turn(&connection, &mut events, &id, &script(round))));
        }
        let (bare, ours) = (median(&bare[1..]), median(&ours[1..]));
        report.note(&format!("{what}: {bare:.2?} by hand, {ours:.2?} through the daemon"));
        let added = milliseconds(ours) - milliseconds(bare);
        report.add(&format!("added to a warm turn, tiny repository, {what}"), added, Bar::AtMost(20.0, "ms"));
    };
    compare("nothing changed", &|_| "@answer done".to_owned());
    compare("one file changed", &|round| format!("@write note.txt round {round}\n@answer done"));
}

/// From the accepted prompt to the fact that its turn is completed.
async fn turn(connection: &Connection, events: &mut Events, id: &str, script: &str) -> Duration {
    let prompt = serde_json::from_value(json!({"text": script})).unwrap();
    connection.prompt(id, &prompt).await.unwrap();
    let accepted = Instant::now();
    loop {
        match events.next().await.unwrap().fact().map(|event| event.payload) {
            Some(Payload::TurnCompleted { .. }) => return accepted.elapsed(),
            Some(Payload::TurnFailed { error, .. }) => panic!("{error:?}"),
            Some(_) | None => {}
        }
    }
}

/// The agent's own process and an ACP session in it.
struct Raw {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Value,
    next: u64,
}

impl Raw {
    fn start(place: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_coppice"))
            .arg(DEMO_ENTRY)
            .current_dir(place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut raw = Self { process, input, output: BufReader::new(output), session: Value::Null, next: 0 };
        raw.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
        let opened = raw.ask("session/new", &json!({"cwd": place, "mcpServers": []}));
        raw.session = opened["sessionId"].clone();
        raw
    }

    fn turn(&mut self, script: &str) -> Duration {
        let prompt = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": script}]});
        let began = Instant::now();
        let result = self.ask("session/prompt", &prompt);
        let took = began.elapsed();
        assert_eq!(result["stopReason"], "end_turn");
        took
    }

    /// Sends a request and reads everything up to its result.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the agent ended");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.next {
                return message["result"].take();
            }
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
