//! Figures of the terminal interface: the first frame, one frame, one key, doing nothing, and what it all weighs.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use coppice::api::event::Payload;
use coppice::store::{Change, Durability, NewEvent, Store, Write};
use coppice::tui::bench::scene;
use serde_json::json;

use crate::flood;
use crate::home::Home;
use crate::measure::{activity, median, milliseconds, percentile};
use crate::repo::prepare;
use crate::seat::Seat;
use crate::{Bar, Options, Report};

const SESSIONS: usize = 200;
const LINES: usize = 100_000;
const STREAMS: usize = 8;
const SILENT: usize = 20;
const FRAMES: u32 = 400;
const KEYS: usize = 300;
const IDLE: Duration = Duration::from_secs(20);
/// The first thing that every frame shows.
const MARK: &str = "Describe the next task";

pub(crate) fn run(options: &Options, report: &mut Report) {
    first_frames(options, report);
    frames(report);
    keys(options, report);
    idle(options, report);
    weight(options, report);
}

fn open(home: &Home) -> Seat {
    Seat::sized(&home.command(&[]), 120, 36)
}

/// From the start of the program until its first screen stands.
fn first_frames(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    home.coppice(&["new", "--draft", "--model", "demo", "say hello"]);
    let time = || {
        let began = Instant::now();
        let mut face = open(&home);
        face.shows(MARK);
        // The end of the program is not part of it.
        began.elapsed()
    };
    let (mut warm, mut cold) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds * 2 {
        home.coppice(&["list"]);
        warm.push(time());
        home.stop();
        cold.push(time());
    }
    report.add("first frame with a running daemon", milliseconds(median(&warm)), Bar::AtMost(60.0, "ms"));
    report.add("first frame without one", milliseconds(median(&cold)), Bar::AtMost(250.0, "ms"));
}

/// Processor time of one frame while a long transcript is scrolled.
fn frames(report: &mut Report) {
    let mut scene = scene(LINES, SESSIONS);
    scene.draw();
    let before = activity(std::process::id()).cpu;
    for _ in 0..FRAMES {
        scene.scroll();
        scene.draw();
    }
    let each = activity(std::process::id()).cpu.saturating_sub(before) / FRAMES;
    let what = "one frame with 200 sessions and 100,000 wrapped lines, scrolling, CPU";
    report.add(what, milliseconds(each), Bar::AtMost(2.0, "ms"));
}

/// From a key until the screen shows it, while eight sessions stream.
fn keys(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    let program = std::env::current_exe().unwrap();
    home.configure(&format!(
        "[limits]\nparallel_turns = {STREAMS}\n[backends.flood]\ncommand = [{}, {}]\n",
        json!(program),
        json!(flood::ROLE)
    ));
    for _ in 0..STREAMS {
        home.coppice(&["new", "--model", "flood", flood::SLOW_WORD]);
    }
    let mut face = open(&home);
    face.shows(MARK);
    face.shows("events with cha");
    face.types("n");
    // A letter that follows at once would be part of a text, and a key where letters are shortcuts waits for one.
    face.shows("leave, keeps the draft");
    let mut waits = Vec::new();
    while waits.len() < KEYS {
        let mut written = String::new();
        for place in 0..50_u8 {
            written.push(char::from(b'a' + place % 26));
            let began = Instant::now();
            face.types(&written[written.len() - 1..]);
            face.shows(&written);
            waits.push(began.elapsed());
        }
        for _ in 0..50 {
            face.types("\x7f");
        }
        face.hides("abcdef");
    }
    report.note(&format!("median {:.2?}", median(&waits)));
    let what = "key to changed screen while 8 sessions stream, p99";
    report.add(what, milliseconds(percentile(&waits, 99)), Bar::AtMost(20.0, "ms"));
}

/// What an open face spends when nothing happens.
fn idle(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    home.configure(&format!("[limits]\nparallel_turns = {SILENT}\n"));
    for _ in 0..SILENT {
        home.coppice(&["new", "--model", "demo", "@hang"]);
    }
    let mut face = open(&home);
    face.shows(&format!("{SILENT} running"));
    thread::sleep(Duration::from_secs(3));
    let before = activity(face.pid()).cpu;
    thread::sleep(IDLE);
    let spent = activity(face.pid()).cpu.saturating_sub(before);
    let share = spent.as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    report.add("open face with 20 running, silent sessions, of a core", share, Bar::AtMost(0.5, "%"));
}

/// Memory with a long transcript open from its end to its beginning.
fn weight(options: &Options, report: &mut Report) {
    const EACH: usize = 100;
    let home = Home::new(options, prepare(&options.root, 20));
    let id = home.coppice(&["new", "--draft", "--model", "demo", "--title", "long", "say hello"]).trim().to_owned();
    home.stop();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let store = Store::open(&home.path().join("data/coppice.db")).unwrap();
    runtime.block_on(async {
        let message = |number: usize| {
            let line =
                |line| format!("{number}.{line} what an agent says about the state of a session in one line of a list");
            let text = (0..EACH).map(line).collect::<Vec<_>>().join("\n");
            let encoded = Payload::Message { turn: 1, text }.encode();
            Change::Event(NewEvent {
                session: id.parse().unwrap(),
                at: 1,
                kind: encoded.kind,
                version: encoded.version,
                payload: encoded.text,
            })
        };
        let changes = (0..LINES / EACH).map(message).collect();
        store.write(Write { durability: Durability::Normal, changes }).await.unwrap();
        store.close().await;
    });
    let mut face = open(&home);
    face.shows("long");
    face.types("\r");
    face.shows("999.99");
    face.types("g");
    face.shows(" 0.0 what");
    let status = fs::read_to_string(format!("/proc/{}/status", face.pid())).unwrap();
    let kibibytes: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.split_ascii_whitespace().next()?.parse().ok())
        .unwrap();
    report.add("RSS with a transcript of 100,000 lines open", kibibytes / 1_024.0, Bar::AtMost(60.0, "MiB"));
}
