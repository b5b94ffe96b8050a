//! Acknowledged appends: eight producers with 32 writes in flight each, payloads of about 1.2 KB, on a real disk.
//!
//! Prints one `name value` line per figure.

use std::error::Error;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use coppice::id::SessionId;
use coppice::store::{Change, Durability, NewEvent, ProjectRow, SessionRow, Store, StoreError, Write};
use futures_util::stream::{self, StreamExt, TryStreamExt};

const PRODUCERS: u8 = 8;
const IN_FLIGHT: usize = 32;
const APPENDS_EACH: usize = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    // Not the temp dir: it may live in memory.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (elapsed, mut latencies) = runtime.block_on(async {
        let store = Store::open(&dir.path().join("bench.db"))?;
        store.write(furniture()).await?;
        let started = Instant::now();
        let producers: Vec<_> = (0..PRODUCERS).map(|number| tokio::spawn(produce(store.clone(), number))).collect();
        let mut latencies = Vec::new();
        for producer in producers {
            latencies.extend(producer.await??);
        }
        let elapsed = started.elapsed();
        store.close().await;
        Ok::<_, Box<dyn Error>>((elapsed, latencies))
    })?;
    latencies.sort_unstable();
    let mut out = io::stdout().lock();
    writeln!(out, "appends_per_second {:.0}", latencies.len() as f64 / elapsed.as_secs_f64())?;
    writeln!(out, "ack_p50_ms {:.3}", quantile(&latencies, 50))?;
    writeln!(out, "ack_p99_ms {:.3}", quantile(&latencies, 99))?;
    Ok(())
}

/// Appends with a constant number of writes in flight; returns how long each acknowledgement took.
async fn produce(store: Store, number: u8) -> Result<Vec<Duration>, StoreError> {
    stream::iter(0..APPENDS_EACH)
        .map(|place| {
            let store = &store;
            async move {
                let started = Instant::now();
                store.write(append(number, place)).await?;
                Ok(started.elapsed())
            }
        })
        .buffer_unordered(IN_FLIGHT)
        .try_collect()
        .await
}

fn session(number: u8) -> SessionId {
    SessionId::from_random([0, 0, 0, 0, number])
}

/// Lengths from 200 to 2,200 bytes, 1,200 in the mean.
fn append(number: u8, place: usize) -> Write {
    let text = "x".repeat(200 + place * 7919 % 2001);
    let event = NewEvent {
        session: session(number),
        at: 0,
        kind: "message",
        version: 1,
        payload: format!("{{\"t\":\"{text}\"}}"),
    };
    Write { durability: Durability::Normal, changes: vec![Change::Event(event)] }
}

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
    let changes = [Change::Project(project)].into_iter().chain(sessions).collect();
    Write { durability: Durability::Full, changes }
}

fn quantile(sorted: &[Duration], percent: usize) -> f64 {
    let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(place).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1000.0)
}
