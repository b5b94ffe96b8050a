//! What the daemon spends on streaming text: eight sessions that flood it, one client that follows all of them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use coppice::api::event::{Live, Payload};
use coppice::client::connection::Connection;
use coppice::client::events::{Events, Item};
use serde_json::json;

use crate::flood::{self, DELTAS};
use crate::home::Home;
use crate::measure::{median, processor_time_of};
use crate::repo::prepare;
use crate::{Bar, Options, Report};

const SESSIONS: usize = 8;
const SECOND: Duration = Duration::from_secs(1);

/// What the client saw of one session.
#[derive(Default)]
struct Seen {
    text: String,
    /// When each update came.
    updates: Vec<Instant>,
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    let program = std::env::current_exe().unwrap();
    home.configure(&format!(
        "[limits]\nparallel_turns = {SESSIONS}\n[backends.flood]\ncommand = [{}, {}]\n",
        json!(program),
        json!(flood::ROLE)
    ));
    let sessions: Vec<String> =
        (0..SESSIONS).map(|_| home.coppice(&["new", "--model", "flood", "get ready"]).trim().to_owned()).collect();
    sessions.iter().for_each(|id| drop(home.coppice(&["wait", id])));
    let pid = home.daemon();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut rates, mut paces) = (Vec::new(), Vec::new());
    runtime.block_on(async {
        let connection = home.connect().await;
        let mut events = home.follow().await;
        for _ in 0..options.rounds {
            let (began, before) = (Instant::now(), processor_time_of(pid));
            let seen = round(&connection, &mut events, &sessions).await;
            let spent = processor_time_of(pid).saturating_sub(before);
            report.note(&format!("{spent:.2?} of processor time in {:.2?}", began.elapsed()));
            rates.push(((DELTAS * SESSIONS) as f64 / spent.as_secs_f64()) as u64);
            paces.push(seen.values().map(pace).max().unwrap());
        }
    });
    let what = "stream of 100,000 deltas over 8 sessions, one client: deltas per second of the daemon's CPU";
    report.add(what, median(&rates) as f64, Bar::AtLeast(200_000.0, "/s"));
    report.add("the same, updates of one block within a second", median(&paces) as f64, Bar::AtMost(64.0, ""));
}

/// Lets all sessions flood and reads until the last one is done.
async fn round(connection: &Connection, events: &mut Events, sessions: &[String]) -> HashMap<String, Seen> {
    let prompt = serde_json::from_value(json!({"text": flood::WORD})).unwrap();
    for id in sessions {
        connection.prompt(id, &prompt).await.unwrap();
    }
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let mut done = 0;
    while done < sessions.len() {
        let item = events.next().await.unwrap();
        match item.fact().map(|event| event.payload) {
            Some(Payload::TurnCompleted { .. }) => done += 1,
            Some(Payload::TurnFailed { error, .. }) => panic!("{error:?}"),
            Some(_) | None => {}
        }
        // A client that could not keep up would get a block in progress, and its text would not be whole below.
        if let Item::Live(Live::Delta { session, text, .. }) = item {
            let seen = seen.entry(session).or_default();
            seen.text.push_str(&text);
            seen.updates.push(Instant::now());
        }
    }
    let answer = flood::answer();
    assert!(sessions.iter().all(|id| seen[id].text == answer), "the client did not get the text as it was sent");
    seen
}

/// The most updates that came within a second.
fn pace(seen: &Seen) -> usize {
    let within = |first: &Instant| seen.updates.iter().filter(|at| **at >= *first && **at - *first < SECOND).count();
    seen.updates.iter().map(within).max().unwrap_or_default()
}
