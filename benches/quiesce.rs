//! What it costs to run something in a worktree while no process of its session runs: an idle agent, and one with many
//! children, each without a cage and in namespaces.

use std::path::{Path, PathBuf};
use std::time::Instant;

use coppice::sandbox::cage::{Cage, Isolation};
use coppice::sandbox::launch::{Spawn, Supervised, spawn};
use coppice::sandbox::quiesce::{end_orphans, run_in_quiet_tree};
use tokio::io::AsyncReadExt;

use crate::measure::{median, milliseconds};
use crate::{Bar, Options, Report};

/// An agent that waits, and one that has started twenty helpers.
const AGENTS: [(&str, &str); 2] = [
    ("an idle agent", "echo; exec cat"),
    ("an agent with 20 children", "for i in $(seq 20); do sleep 600 & done; echo; exec cat"),
];

pub(crate) fn run(options: &Options, report: &mut Report) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let namespaces = Cage { read: vec!["/".into()], isolation: Isolation::Namespaces, ..Cage::default() };
    for (what, script) in AGENTS {
        for (place, cage) in [("without a cage", None), ("in namespaces", Some(namespaces.clone()))] {
            let added = runtime.block_on(measure(options.rounds.max(50), script, cage));
            let what = format!("added to the end of a turn by quiescing, {what} {place}");
            report.add(&what, added, Bar::AtMost(5.0, "ms"));
        }
    }
}

/// The end of a turn ends orphans, and takes a checkpoint in a quiet tree; the same without, in turn.
async fn measure(rounds: usize, script: &str, cage: Option<Cage>) -> f64 {
    let tree = tempfile::tempdir().unwrap();
    let mut agent: Supervised = spawn(Spawn { cage, ..command(tree.path(), script) }).await.unwrap();
    agent.stdout.read_u8().await.unwrap();
    let (mut quiet, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = Instant::now();
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        plain.push(began.elapsed());
        let began = Instant::now();
        end_orphans(tree.path()).await.unwrap();
        run_in_quiet_tree(tree.path(), || ()).await.unwrap();
        quiet.push(began.elapsed());
    }
    milliseconds(median(&quiet)) - milliseconds(median(&plain))
}

fn command(tree: &Path, script: &str) -> Spawn {
    Spawn {
        executable: PathBuf::from(env!("CARGO_BIN_EXE_coppice")),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        cwd: tree.to_owned(),
        cage: None,
        worktree: Some(tree.to_owned()),
    }
}
