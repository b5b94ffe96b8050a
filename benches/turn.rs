//! What Coppice adds to a warm turn: the scripted agent driven by hand over its own pipes, and the same turn through
//! the daemon.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use coppice::api::event::Payload;
use coppice::backend::registry::DEMO_ENTRY;
use coppice::client::connection::Connection;
use coppice::client::events::Events;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::codex::Stage;
use crate::home::Home;
use crate::measure::{median, milliseconds};
use crate::peer::Peer;
use crate::repo::prepare;
use crate::{Bar, Options, Report};

pub(crate) fn run(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    let place = tempfile::tempdir_in(&options.root).unwrap();
    let mut raw = Raw::start(place.path());
    let mut ours = Ours::start(&home, "demo", "@answer ready");
    for (what, change) in [("nothing changed", ""), ("one file changed", "@write note.txt ")] {
        let script = |round: usize| match change {
            "" => "@answer done".to_owned(),
            change => format!("{change}round {round}\n@answer done"),
        };
        compare(options, report, what, |round| raw.turn(&script(round)), |round| ours.turn(&script(round)));
    }
    match Stage::new(options) {
        None => report.note("no `COPPICE_REAL_BIN`: the turn of a real agent is not measured"),
        Some(stage) => {
            let mut raw = stage.raw();
            let mut ours = Ours::start(&stage.home, &Stage::model(), "get ready");
            compare(options, report, "Codex", |_| raw.turn("say hello"), |_| ours.turn("say hello"));
        }
    }
}

/// Takes turns in turn, by hand and through the daemon; the first round warms both.
fn compare(
    options: &Options,
    report: &mut Report,
    what: &str,
    mut raw: impl FnMut(usize) -> Duration,
    mut ours: impl FnMut(usize) -> Duration,
) {
    let rounds: Vec<_> = (0..=options.rounds.max(10)).map(|round| (raw(round), ours(round))).collect();
    let middle =
        |part: fn(&(Duration, Duration)) -> Duration| median(&rounds[1..].iter().map(part).collect::<Vec<_>>());
    let (raw, ours) = (middle(|round| round.0), middle(|round| round.1));
    report.note(&format!("{what}: {raw:.2?} by hand, {ours:.2?} through the daemon"));
    let added = milliseconds(ours) - milliseconds(raw);
    report.add(&format!("added to a warm turn, tiny repository, {what}"), added, Bar::AtMost(20.0, "ms"));
}

/// A session of the daemon whose agent is there.
pub(crate) struct Ours {
    runtime: Runtime,
    connection: Connection,
    events: Events,
    pub(crate) id: String,
}

impl Ours {
    pub(crate) fn start(home: &Home, model: &str, prompt: &str) -> Self {
        let id = home.coppice(&["new", "--model", model, prompt]).trim().to_owned();
        home.coppice(&["wait", &id]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (connection, events) = runtime.block_on(async { (home.connect().await, home.follow().await) });
        Self { runtime, connection, events, id }
    }

    /// From the accepted prompt to the fact that its turn is completed.
    pub(crate) fn turn(&mut self, prompt: &str) -> Duration {
        self.complete(prompt).0
    }

    /// What a turn answers.
    pub(crate) fn answer(&mut self, prompt: &str) -> String {
        self.complete(prompt).1
    }

    fn complete(&mut self, prompt: &str) -> (Duration, String) {
        let prompt = serde_json::from_value(json!({"text": prompt})).unwrap();
        self.runtime.block_on(async {
            self.connection.prompt(&self.id, &prompt).await.unwrap();
            let accepted = Instant::now();
            loop {
                match self.events.next().await.unwrap().fact().map(|event| event.payload) {
                    Some(Payload::TurnCompleted { response, .. }) => return (accepted.elapsed(), response.answer),
                    Some(Payload::TurnFailed { error, .. }) => panic!("{error:?}"),
                    Some(_) | None => {}
                }
            }
        })
    }
}

/// The scripted agent's own process and a session in it.
struct Raw {
    peer: Peer,
    session: Value,
}

impl Raw {
    fn start(place: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coppice"));
        let mut peer = Peer::start(command.arg(DEMO_ENTRY).current_dir(place));
        peer.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
        let session = peer.ask("session/new", &json!({"cwd": place, "mcpServers": []}))["sessionId"].take();
        Self { peer, session }
    }

    fn turn(&mut self, script: &str) -> Duration {
        let prompt = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": script}]});
        let began = Instant::now();
        let result = self.peer.ask("session/prompt", &prompt);
        let took = began.elapsed();
        assert_eq!(result["stopReason"], "end_turn");
        took
    }
}
