//! Figures of the running daemon: how soon an agent starts, how quick a list is, what it costs to do nothing.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use coppice::id::SessionId;
use coppice::store::{Durability, Store, Write};
use serde_json::Value;

use crate::appends::event;
use crate::home::Home;
use crate::measure::{activity, anonymous_memory, median, milliseconds};
use crate::repo::{git, prepare};
use crate::{Bar, Options, Report};

const SESSIONS: usize = 200;
const EVENTS: usize = 1_000;
const IDLE: Duration = Duration::from_secs(30);

pub(crate) fn run(options: &Options, report: &mut Report) {
    if options.wants("launch") {
        launch(options, report);
    }
    if ["list", "memory", "idle", "restart"].into_iter().any(|section| options.wants(section)) {
        crowd(options, report);
    }
    if options.wants("removal") {
        removal(options, report);
    }
}

/// From the request to the agent's own program, as the events say.
fn launch(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    let mut waits = Vec::new();
    for _ in 0..options.rounds * 4 {
        let id = home.coppice(&["new", "--model", "demo", "say hello"]);
        home.coppice(&["wait", id.trim()]);
        let events = home.coppice(&["events", id.trim(), "--json"]);
        let find = |kind: &str| {
            let mut events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            events.find(|event| event["type"] == kind).unwrap()
        };
        let created = find("session_created")["at"].as_i64().unwrap();
        waits.push(find("turn_started")["exec_at"].as_i64().unwrap() - created);
    }
    let what = "tiny repository: request received to the agent's exec";
    report.add(what, median(&waits) as f64, Bar::AtMost(25.0, "ms"));
}

/// Many stored sessions.
fn crowd(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    home.coppice(&["list"]);
    if options.wants("memory") {
        let memory = anonymous_memory(home.daemon()) as f64 / 1_024.0;
        report.add("daemon RssAnon, idle", memory, Bar::AtMost(8.0, "MiB"));
    }
    for number in 0..SESSIONS {
        home.coppice(&["new", "--draft", "--model", "demo", "--title", &format!("session {number}"), "say hello"]);
    }
    home.stop();
    fill(&home);
    let mut restarts = Vec::new();
    for _ in 0..options.rounds {
        home.stop();
        let began = Instant::now();
        let sessions: Value = serde_json::from_str(&home.coppice(&["list", "--json"])).unwrap();
        restarts.push(began.elapsed());
        assert_eq!(sessions.as_array().or(sessions["items"].as_array()).unwrap().len(), SESSIONS);
    }
    if options.wants("restart") {
        let what = "restart with 200 sessions and 200,000 events, until the first list, client included";
        report.add(what, milliseconds(median(&restarts)), Bar::AtMost(300.0, "ms"));
    }
    if options.wants("memory") {
        let memory = anonymous_memory(home.daemon()) as f64 / 1_024.0;
        report.add("daemon RssAnon, 200 sessions of 1,000 events", memory, Bar::AtMost(16.0, "MiB"));
    }
    if options.wants("list") {
        let time = |arguments: &[&str]| {
            let began = Instant::now();
            home.coppice(arguments);
            began.elapsed()
        };
        let pairs: Vec<_> = (0..50).map(|_| (time(&["list"]), time(&["--version"]))).collect();
        let list = median(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>());
        let version = median(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>());
        let above = milliseconds(list) - milliseconds(version);
        report.add("`coppice list` with 200 sessions above `--version`", above, Bar::AtMost(10.0, "ms"));
    }
    if options.wants("idle") {
        let pid = home.daemon();
        // The last client's connection has to be gone for the daemon to be idle.
        thread::sleep(Duration::from_secs(2));
        let before = activity(pid);
        thread::sleep(IDLE);
        let after = activity(pid);
        let cpu = milliseconds(after.cpu.saturating_sub(before.cpu));
        report.add("daemon CPU over 30 s idle with 200 sessions", cpu, Bar::AtMost(15.0, "ms"));
        let switches = after.switches.saturating_sub(before.switches) as f64;
        report.add("daemon voluntary switches over 30 s idle", switches, Bar::AtMost(20.0, ""));
    }
}

/// Removing a large session: how soon the command returns, and how soon its work is safe.
fn removal(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, options.files));
    let (mut returns, mut safe) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let id = home.coppice(&["new", "--model", "demo", "say hello"]).trim().to_owned();
        home.coppice(&["wait", &id]);
        let session: Value = serde_json::from_str(&home.coppice(&["show", &id, "--json"])).unwrap();
        let worktree = PathBuf::from(session["worktree"].as_str().unwrap());
        fs::write(worktree.join("untracked.txt"), "not committed anywhere\n").unwrap();
        let began = Instant::now();
        home.coppice(&["rm", &id]);
        returns.push(began.elapsed());
        let reference = format!("refs/coppice/salvage/{id}");
        while git(&home.repo, &["for-each-ref", &reference]).is_empty() && began.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(10));
        }
        safe.push(began.elapsed());
    }
    report.add("`coppice rm` of a 50,000-file session", milliseconds(median(&returns)), Bar::AtMost(50.0, "ms"));
    report.add("its salvage ref", median(&safe).as_secs_f64(), Bar::AtMost(5.0, "s"));
}

/// Gives every stored session its events, past the daemon, which does not run.
fn fill(home: &Home) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let store = Store::open(&home.path().join("data/coppice.db")).unwrap();
    runtime.block_on(async {
        let sessions = store.sessions(coppice::store::Removed::Without).await.unwrap();
        assert_eq!(sessions.len(), SESSIONS);
        for session in sessions {
            store.write(many(session.id)).await.unwrap();
        }
        store.close().await;
    });
}

fn many(session: SessionId) -> Write {
    Write { durability: Durability::Normal, changes: (0..EVENTS).map(|place| event(session, place)).collect() }
}
