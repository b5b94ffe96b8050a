//! What a decision about one call costs with many rules written down.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use coppice::permission::rule::{Rule, RuleFile, Rules};
use coppice::permission::{
    Access, AgentWord, Audience, Call, Hold, Leads, Overlay, Places, Posture, Scene, Subject, Target, decide,
};

use crate::measure::median;
use crate::{Bar, Report};

const RULES: usize = 200;
const BATCH: u32 = 200;
const BATCHES: usize = 50;

pub(crate) fn run(report: &mut Report) {
    let rules = Rules { files: vec![file()], ..Rules::default() };
    let places = Places {
        tree: PathBuf::from("/data/tree"),
        home: PathBuf::from("/home/u"),
        state: PathBuf::from("/data"),
        ..Places::default()
    };
    let scene = Scene {
        posture: Posture::Attended,
        overlay: Overlay::None,
        hold: Hold::Enforced,
        access: Access::Write,
        has_tool: &|_| true,
        agent: None,
        agent_word: AgentWord::Counts,
        rules: &rules,
        grants: &[],
        audience: Audience::Person,
        places: &places,
        git_driver: None,
    };
    for (name, call) in [("an edit", edit()), ("a read", read()), ("a command in three parts", command())] {
        let took: Vec<_> = (0..BATCHES).map(|_| batch(&call, &scene)).collect();
        let name = format!("verdict about {name} with {RULES} rules");
        report.add(&name, median(&took) as f64 / 1000.0, Bar::AtMost(20.0, "µs"));
    }
}

/// Nanoseconds for one decision, over a batch of them.
fn batch(call: &Call, scene: &Scene<'_>) -> u128 {
    let began = Instant::now();
    for _ in 0..BATCH {
        black_box(decide(black_box(call), scene));
    }
    began.elapsed().as_nanos() / u128::from(BATCH)
}

/// Rules of all kinds, none of which is about the calls that are measured.
fn file() -> RuleFile {
    let rule = |number: usize| match number % 4 {
        0 => Rule::new("Bash", &format!("tool{number} *")).unwrap(),
        1 => Rule::new("Edit", &format!("gen{number}/**")).unwrap(),
        2 => Rule::new("Read", &format!("**/private{number}/*.key")).unwrap(),
        _ => Rule::new("Fetch", &format!("https://host{number}.example/*")).unwrap(),
    };
    let all: Vec<_> = (0..RULES).map(rule).collect();
    let (allow, rest) = all.split_at(RULES / 2);
    let (ask, deny) = rest.split_at(RULES / 4);
    RuleFile { name: "permissions.json".into(), allow: allow.to_vec(), ask: ask.to_vec(), deny: deny.to_vec() }
}

fn paths(tool: &str, path: &str) -> Call {
    let path = PathBuf::from(path);
    Call { tool: tool.into(), subject: Subject::Paths(vec![Target { named: path.clone(), real: path }]) }
}

fn edit() -> Call {
    paths("Edit", "/data/tree/src/engine/actor.rs")
}

fn read() -> Call {
    paths("Read", "/data/tree/docs/architecture.md")
}

fn command() -> Call {
    let tree = Path::new("/data/tree").to_owned();
    let cwd = Target { named: tree.clone(), real: tree };
    let text = "cd src && cargo test --lib permission 2>&1 | tail -n 20".to_owned();
    Call { tool: "Bash".into(), subject: Subject::Command { text, cwd, leads: Leads::Inside } }
}
