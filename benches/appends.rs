//! How many events the store acknowledges, and how long one waits for its acknowledgement.

use std::time::{Duration, Instant};

use coppice::id::SessionId;
use coppice::store::{Change, Durability, NewEvent, ProjectRow, SessionRow, Store, Write};
use futures_util::stream::{self, StreamExt};

use crate::measure::{median, milliseconds, percentile};
use crate::{Bar, Options, Report};

const PRODUCERS: u8 = 8;
const IN_FLIGHT: usize = 32;
/// Enough for some seconds, so that folding the log into the database is part of the figure.
const EACH: usize = 20_000;

pub(crate) fn run(options: &Options, report: &mut Report) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut rates = Vec::new();
    let mut waits = Vec::new();
    for _ in 0..options.rounds {
        let directory = tempfile::tempdir_in(&options.root).unwrap();
        let store = Store::open(&directory.path().join("bench.db")).unwrap();
        let (took, round) = runtime.block_on(async {
            store.write(furniture()).await.unwrap();
            let began = Instant::now();
            let producers: Vec<_> = (0..PRODUCERS).map(|number| tokio::spawn(produce(store.clone(), number))).collect();
            let mut waits = Vec::new();
            for producer in producers {
                waits.extend(producer.await.unwrap());
            }
            let took = began.elapsed();
            store.close().await;
            (took, waits)
        });
        rates.push((round.len() as f64 / took.as_secs_f64()) as u64);
        waits.push(percentile(&round, 99));
    }
    let what = "acknowledged appends, 8 producers with 32 in flight";
    report.add(what, median(&rates) as f64, Bar::AtLeast(20_000.0, "/s"));
    report.add("the same, p99 acknowledgement", milliseconds(median(&waits)), Bar::AtMost(20.0, "ms"));
}

/// Appends with a constant number of writes in flight; how long each acknowledgement took.
async fn produce(store: Store, number: u8) -> Vec<Duration> {
    let store = &store;
    let writes = stream::iter(0..EACH).map(|place| async move {
        let began = Instant::now();
        store
            .write(Write { durability: Durability::Normal, changes: vec![event(session(number), place)] })
            .await
            .unwrap();
        began.elapsed()
    });
    writes.buffer_unordered(IN_FLIGHT).collect().await
}

fn session(number: u8) -> SessionId {
    SessionId::from_random([0, 0, 0, 0, number])
}

/// A message of 200 to 2,200 bytes, 1,200 in the mean.
pub(crate) fn event(session: SessionId, place: usize) -> Change {
    let text = "x".repeat(200 + place * 7919 % 2001);
    let payload = format!(r#"{{"turn":1,"text":"{text}"}}"#);
    Change::Event(NewEvent { session, at: 1_700_000_000_000, kind: "message", version: 1, payload })
}

/// What the events belong to.
fn furniture() -> Write {
    let project = ProjectRow { id: "p".into(), common_dir: "/repo/.git".into(), record: "{}".into() };
    let sessions = (0..PRODUCERS).map(|number| {
        Change::Session(SessionRow {
            id: session(number),
            project: "p".into(),
            parent: None,
            status: "running".into(),
            created_at: 0,
            updated_at: 0,
            removed_at: None,
            record: "{}".into(),
        })
    });
    Write { durability: Durability::Full, changes: [Change::Project(project)].into_iter().chain(sessions).collect() }
}
