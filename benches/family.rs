//! Children through the running daemon: how soon one starts beside a plain session, and what sixty-four of them cost.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::delegate::{CHANGED, change};
use crate::home::Home;
use crate::measure::{anonymous_memory, cost, median, ratio};
use crate::repo::{git, prepare};
use crate::{Bar, Options, Report};

const CHILDREN: usize = 64;

/// From a delegation to the exec of the child's agent, against the start of a plain session, in the same rounds.
pub(crate) fn starts(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, options.files));
    let parent = begin(&home, "say hello");
    let tree = PathBuf::from(shown(&home, &parent)["worktree"].as_str().unwrap());
    let mut rounds = Vec::new();
    for round in 0..options.rounds {
        // The end of a turn commits what the parent has.
        change(&tree, options.files, round);
        let status = cost(|| git(&tree, &["status", "--porcelain"]));
        assert_eq!(status.0.lines().count(), 2 * CHANGED);
        eat_spare(&home);
        let cold = (plain(&home, "populated"), child(&home, &parent, "populated"));
        // The child changed nothing, so its tree is the next spare.
        wait_for_spare(&home);
        let plain_spare = plain(&home, "spare");
        home.coppice(&["archive", &latest(&home)]);
        wait_for_spare(&home);
        change(&tree, options.files, options.rounds + round);
        rounds.push((status.1.wall, cold, (plain_spare, child(&home, &parent, "spare"))));
        wait_for_spare(&home);
    }
    let middle = |part: &dyn Fn(&Round) -> Duration| median(&rounds.iter().map(part).collect::<Vec<_>>());
    let status = middle(&|round| round.0);
    let (plain, child) = (middle(&|round| round.1.0), middle(&|round| round.1.1));
    report.note(&format!("git status {status:.2?}; cold: plain {plain:.2?}, child {child:.2?}"));
    report.add(
        "delegation to the child's exec, cold: against a plain session",
        ratio(child, plain),
        Bar::AtMost(1.3, "×"),
    );
    let (plain, child) = (middle(&|round| round.2.0), middle(&|round| round.2.1));
    report.note(&format!("with a spare: plain {plain:.2?}, child {child:.2?}"));
    let above = ratio(child.saturating_sub(plain), status);
    report.add("the same with a spare: above a plain session, in `git status`", above, Bar::AtMost(2.0, "×"));
}

type Round = (Duration, (Duration, Duration), (Duration, Duration));

/// Many readers of one parent at once.
pub(crate) fn crowd(options: &Options, report: &mut Report) {
    let home = Home::new(options, prepare(&options.root, 20));
    home.configure("[limits]\nparallel_turns = 16\n[delegation]\nmax_children = 64\n");
    home.coppice(&["list"]);
    let pid = home.daemon();
    let (done, most) = (AtomicBool::new(false), AtomicU64::new(0));
    let task = json!({"agent_id": "explore", "task": "@answer looked", "context_summary": "nothing"});
    let calls: String = (0..CHILDREN).map(|_| format!("@call& delegate {task}\n")).collect();
    let began = Instant::now();
    let parent = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(anonymous_memory(pid), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let id = home.coppice(&["new", "--model", "demo", "--agent", "engineer", &format!("{calls}@answer done")]);
        home.coppice(&["wait", id.trim()]);
        done.store(true, Ordering::Relaxed);
        id.trim().to_owned()
    });
    report.note(&format!("{CHILDREN} children in {:.2?}", began.elapsed()));
    let children = shown(&home, &parent)["children"].as_array().unwrap().clone();
    let ready = children.iter().filter(|child| shown(&home, child.as_str().unwrap())["status"] == "ready").count();
    report.add("64 reading children of one parent: completed", ready as f64, Bar::AtLeast(64.0, ""));
    let memory = most.load(Ordering::Relaxed) as f64 / 1_024.0;
    report.add("daemon RssAnon at its most meanwhile", memory, Bar::AtMost(48.0, "MiB"));
    let limit = Instant::now() + Duration::from_secs(30);
    while leftovers(&home, &children) > 0 && Instant::now() < limit {
        thread::sleep(Duration::from_millis(50));
    }
    report.add("worktrees, branches and refs left by them", leftovers(&home, &children) as f64, Bar::AtMost(0.0, ""));
}

/// What there is of the children besides their records.
fn leftovers(home: &Home, children: &[Value]) -> usize {
    let refs = git(&home.repo, &["for-each-ref", "--format=%(refname)", "refs/heads/coppice", "refs/coppice"]);
    let of_children = |line: &&str| {
        line.starts_with("refs/coppice/handoffs/")
            || children.iter().any(|child| line.contains(child.as_str().unwrap()))
    };
    let is_of_child = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        children.iter().any(|child| *child == json!(name))
    };
    let trees = worktrees(home).into_iter().filter(is_of_child);
    refs.lines().filter(of_children).count() + trees.count()
}

fn plain(home: &Home, method: &str) -> Duration {
    let id = begin(home, "say hello");
    let events = events(home, &id);
    assert_eq!(find(&events, "preparing")["how"], method);
    let exec = find(&events, "turn_started")["exec_at"].as_i64().unwrap();
    span(find(&events, "session_created")["at"].as_i64().unwrap(), exec)
}

/// Lets the parent delegate once; from its call to the exec of the child's agent.
fn child(home: &Home, parent: &str, method: &str) -> Duration {
    let task = json!({"agent_id": "general", "task": "@answer hello", "context_summary": "nothing"});
    home.coppice(&["send", parent, "--agent", "engineer", &format!("@call delegate {task}\n@answer done")]);
    home.coppice(&["wait", parent]);
    let own: Vec<_> = events(home, parent).into_iter().filter(|event| event["session"] == parent).collect();
    let called = own.iter().rfind(|event| event["type"] == "tool_started").unwrap()["at"].as_i64().unwrap();
    let session = shown(home, parent);
    let child = session["children"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
    let events = events(home, &child);
    assert_eq!(find(&events, "preparing")["how"], method);
    span(called, find(&events, "turn_started")["exec_at"].as_i64().unwrap())
}

fn span(from: i64, to: i64) -> Duration {
    Duration::from_millis(u64::try_from(to - from).unwrap())
}

fn begin(home: &Home, prompt: &str) -> String {
    let id = home.coppice(&["new", "--model", "demo", prompt]).trim().to_owned();
    home.coppice(&["wait", &id]);
    id
}

fn shown(home: &Home, id: &str) -> Value {
    serde_json::from_str(&home.coppice(&["show", id, "--json"])).unwrap()
}

fn events(home: &Home, id: &str) -> Vec<Value> {
    home.coppice(&["events", id, "--json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn find<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    events.iter().find(|event| event["type"] == kind).unwrap()
}

/// The session that was begun last by a person.
fn latest(home: &Home) -> String {
    let sessions: Value = serde_json::from_str(&home.coppice(&["list", "--json"])).unwrap();
    let sessions = sessions.as_array().or(sessions["items"].as_array()).unwrap().clone();
    let own = sessions.iter().filter(|session| session["parent"].is_null());
    let last = own.max_by_key(|session| session["created_at"].as_i64()).unwrap();
    last["id"].as_str().unwrap().to_owned()
}

/// The directories of the home's worktrees, the spare's holder left out.
fn worktrees(home: &Home) -> Vec<PathBuf> {
    let projects = fs::read_dir(home.path().join("data/worktrees")).into_iter().flatten().flatten();
    let trees = projects.flat_map(|project| fs::read_dir(project.path()).into_iter().flatten().flatten());
    trees.map(|tree| tree.path()).collect()
}

fn has_spare(home: &Home) -> bool {
    let is_full =
        |path: &Path| path.ends_with(".spare") && fs::read_dir(path).is_ok_and(|mut inside| inside.next().is_some());
    worktrees(home).iter().any(|path| is_full(path))
}

fn wait_for_spare(home: &Home) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !has_spare(home) {
        assert!(Instant::now() < limit, "no tree became the spare");
        thread::sleep(Duration::from_millis(20));
    }
}

fn eat_spare(home: &Home) {
    if has_spare(home) {
        begin(home, "say hello");
    }
}
