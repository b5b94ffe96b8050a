//! Prints the figures of `docs/performance.md` as ratios of one interleaved run.
//!
//! `cargo bench --bench report` runs every section; `-- worktree list --rounds 7` only some, with more rounds.
//! Everything happens below cargo's target directory, and the 50,000-file repository is kept there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark stops at the first surprise, and starts whatever it measures"
)]

mod appends;
mod cage;
mod carrier;
mod checkpoint;
mod codex;
mod daemon;
mod delegate;
mod family;
mod flood;
mod home;
mod languages;
mod measure;
mod model;
mod peer;
mod quiesce;
mod repo;
#[expect(dead_code, reason = "the tests do more in front of a terminal than the figures need")]
#[path = "../tests/it/seat.rs"]
mod seat;
mod server;
mod stream;
mod tools;
mod tui;
mod turn;
mod verdict;
mod worktree;

use std::path::PathBuf;

/// What to run, and how often.
pub(crate) struct Options {
    /// Where everything is made.
    pub(crate) root: PathBuf,
    pub(crate) rounds: usize,
    pub(crate) files: usize,
    sections: Vec<String>,
}

impl Options {
    fn wants(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|wanted| wanted == section)
    }
}

const SECTIONS: [&str; 20] = [
    "worktree",
    "launch",
    "list",
    "memory",
    "idle",
    "appends",
    "restart",
    "removal",
    "stream",
    "checkpoint",
    "delegate",
    "children",
    "turn",
    "quiesce",
    "codex_memory",
    "cage",
    "verdict",
    "tui",
    "tools",
    "languages",
];

/// The table, line by line.
#[derive(Default)]
pub(crate) struct Report {
    lines: Vec<String>,
}

/// What a figure must be.
pub(crate) enum Bar {
    AtMost(f64, &'static str),
    AtLeast(f64, &'static str),
}

impl Report {
    /// Adds one figure.
    pub(crate) fn add(&mut self, name: &str, measured: f64, bar: Bar) {
        let (sign, limit, unit, holds) = match bar {
            Bar::AtMost(limit, unit) => ("≤", limit, unit, measured <= limit),
            Bar::AtLeast(limit, unit) => ("≥", limit, unit, measured >= limit),
        };
        let verdict = if holds { "holds" } else { "**missed**" };
        let precision = if measured.abs() < 10.0 { 2 } else { 0 };
        let line = format!("| {name} | {measured:.precision$} {unit} | {sign} {limit} {unit} | {verdict} |");
        eprintln!("{line}");
        self.lines.push(line);
    }

    /// Says something about how the figures came to be.
    pub(crate) fn note(&self, text: &str) {
        eprintln!("  {text}");
    }
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some(flood::ROLE) {
        return flood::serve();
    }
    if let Some(agent) = std::env::args().next().and_then(|program| carrier::Agent::of(&program)) {
        return carrier::serve(agent);
    }
    let options = parse(std::env::args().skip(1));
    std::fs::create_dir_all(&options.root).unwrap();
    let mut report = Report::default();
    if options.wants("worktree") {
        worktree::run(&options, &mut report);
    }
    daemon::run(&options, &mut report);
    if options.wants("appends") {
        appends::run(&options, &mut report);
    }
    if options.wants("stream") {
        stream::run(&options, &mut report);
    }
    if options.wants("checkpoint") {
        checkpoint::run(&options, &mut report);
    }
    if options.wants("delegate") {
        delegate::run(&options, &mut report);
        family::starts(&options, &mut report);
    }
    if options.wants("children") {
        family::crowd(&options, &mut report);
    }
    if options.wants("turn") {
        turn::run(&options, &mut report);
    }
    if options.wants("quiesce") {
        quiesce::run(&options, &mut report);
    }
    if options.wants("codex_memory") {
        codex::memory(&options, &mut report);
    }
    if options.wants("cage") {
        cage::run(&options, &mut report);
    }
    if options.wants("verdict") {
        verdict::run(&mut report);
    }
    if options.wants("tui") {
        tui::run(&options, &mut report);
    }
    if options.wants("tools") {
        tools::run(&options, &mut report);
    }
    if options.wants("languages") {
        languages::run(&options, &mut report);
    }
    println!("| what | measured | bar | verdict |\n|---|---|---|---|");
    println!("{}", report.lines.join("\n"));
}

fn parse(arguments: impl Iterator<Item = String>) -> Options {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench");
    let mut options = Options { root, rounds: 5, files: 50_000, sections: Vec::new() };
    let mut arguments = arguments.filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|value| value.parse().ok()).expect("a number follows");
        match argument.as_str() {
            "--rounds" => options.rounds = number(),
            "--files" => options.files = number(),
            section if SECTIONS.contains(&section) => options.sections.push(argument),
            unknown => panic!("unknown section `{unknown}`; known: {}", SECTIONS.join(", ")),
        }
    }
    options
}
