//! Served tools as an agent waits for them: a call comes by each of the carriers, the daemon decides, and the process in the
//! session's cage performs. Of a search, one call takes what a second one adds to a turn that makes one.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::carrier::{self, Agent};
use crate::home::Home;
use crate::measure::{cost, median, milliseconds, ratio};
use crate::repo::prepare;
use crate::turn::Ours;
use crate::{Bar, Options, Report};

/// How many calls are added to a turn.
const CALLS: u32 = 20;

/// A file of 2,000 lines.
const LONG: &str = "long.rs";

/// What no file of the repository holds, so that both look into all of them.
const ABSENT: &str = "words that nobody wrote";

pub(crate) fn run(options: &Options, report: &mut Report) {
    read(options, report);
    search(options, report);
}

/// A file of 2,000 lines, whole, by each carrier.
fn read(options: &Options, report: &mut Report) {
    let mut home = enforced(options, 20);
    let programs = home.path().join("bin");
    carrier::install(&programs);
    let path = env::var_os("PATH").unwrap_or_default();
    home.set("PATH", env::join_paths([programs].into_iter().chain(env::split_paths(&path))).unwrap());
    let bar = || Bar::AtMost(5.0, "ms");
    let what = "served `read_file` of 2,000 lines";
    for agent in Agent::ALL {
        let mut session = with_long_file(&home, agent.name());
        let prompt = format!("{}{CALLS} read_file {}", carrier::WORD, json!({"path": LONG}));
        let took = carrier::read(&(0..=options.rounds).map(|_| session.answer(&prompt)).collect::<Vec<_>>().join(" "));
        // The first turn warms the way.
        let took = median(&took[CALLS as usize..]);
        report.add(&format!("{what}, {}", agent.carrier()), milliseconds(took), bar());
    }
}

fn with_long_file(home: &Home, model: &str) -> Ours {
    let session = Ours::start(home, model, "get ready");
    let lines: String = (1..=2_000).map(|line| format!("let value_{line} = {line}; // a line like many\n")).collect();
    fs::write(tree(home, &session).join(LONG), lines).unwrap();
    session
}

/// All files of a large repository, beside the program that is known to be fast.
fn search(options: &Options, report: &mut Report) {
    let is_there = |status: std::io::Result<std::process::ExitStatus>| status.is_ok_and(|status| status.success());
    if !is_there(Command::new("rg").arg("--version").stdout(Stdio::null()).status()) {
        return report.note("no `rg`: the served search has nothing to be held against");
    }
    let home = enforced(options, options.files);
    let mut session = Ours::start(&home, "demo", "@answer ready");
    let tree = tree(&home, &session);
    let alone: Vec<Duration> = (0..=options.rounds).map(|_| cost(|| search_alone(&tree)).1.wall).collect();
    let served = one_call(options, &mut session, "grep", &json!({"pattern": ABSENT}), 2);
    let alone = median(&alone[1..]);
    report.note(&format!("{} files: rg {alone:.2?}, served {served:.2?}", options.files));
    report.add("served `grep` against `rg`", ratio(served, alone), Bar::AtMost(1.3, "×"));
}

fn search_alone(tree: &Path) {
    let found = Command::new("rg").args(["--fixed-strings", "--line-number", ABSENT]).current_dir(tree).output();
    assert_eq!(found.unwrap().status.code(), Some(1), "nothing is found");
}

/// A home whose agents work with the tools that are served to them.
fn enforced(options: &Options, files: usize) -> Home {
    let home = Home::new(options, prepare(&options.root, files));
    let tables: String = Agent::ALL.iter().map(|agent| agent.table()).collect();
    // Nobody can take an ACP agent's own tools away.
    home.configure(&format!("[tools]\nprofile = \"enforced\"\nsurface = \"advisory\"\n{tables}"));
    home
}

pub(crate) fn tree(home: &Home, session: &Ours) -> PathBuf {
    let shown: Value = serde_json::from_str(&home.coppice(&["show", &session.id, "--json"])).unwrap();
    PathBuf::from(shown["worktree"].as_str().unwrap())
}

/// What one call adds to a turn. Both turns make a first one, which starts the process in the cage.
pub(crate) fn one_call(options: &Options, session: &mut Ours, tool: &str, arguments: &Value, calls: u32) -> Duration {
    let script = |calls: u32| {
        let lines: Vec<_> = (0..calls).map(|_| format!("@call {tool} {arguments}")).collect();
        format!("{}\n@answer done", lines.join("\n"))
    };
    let mut round = || {
        let (few, many) = (session.turn(&script(1)), session.turn(&script(1 + calls)));
        many.saturating_sub(few) / calls
    };
    round();
    let rounds: Vec<Duration> = (0..options.rounds).map(|_| round()).collect();
    median(&rounds)
}
