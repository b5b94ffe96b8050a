//! Performs the steps of a round as a person would: starts commands, lets faults strike meanwhile, takes them back, waits
//! until nothing goes on any more, and then asks `model` whether everything holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::disk;
use crate::env::{Process, TestEnv};
use crate::fault::{Remedy, Struck, is_victim};
use crate::model::{Checkout, Known, KnownFiles, SHARED, UNFINISHED_UNDO, violations};
use crate::observe::{LOCKS, USERS_FILES};
use crate::step::{Act, BACKGROUND, FOREGROUND, Fault, Moment, Pick, Step, Strike, Style, Turn, Victim};

/// The daemon answers, and processes that have to end are gone, within this time on a machine that has nothing else to do.
const ANSWER: Duration = Duration::from_secs(2);

/// No command and no turn that ends by itself takes this long there.
const ACT: Duration = Duration::from_secs(20);

/// Names the directory that gets a copy of a failed round.
const KEEP: &str = "COPPICE_CHAOS_KEEP";

/// What an act may take of the disk before it is full.
const ACT_SPACE_KIB: u64 = 16 << 10;

/// The exit code of a bug.
const BUG: i32 = 70;

/// How much happened.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) faults: usize,
    /// Faults that found nothing to strike.
    pub(crate) missed: usize,
    pub(crate) slowest: Duration,
    /// From a kill to the end of the last process that had to end with it.
    pub(crate) slowest_end: Duration,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.faults += other.faults;
        self.missed += other.missed;
        self.slowest = self.slowest.max(other.slowest);
        self.slowest_end = self.slowest_end.max(other.slowest_end);
    }
}

/// One home, its sessions, and what is known about them.
pub(crate) struct Round {
    pub(crate) env: TestEnv,
    /// Where the user's checkout is now.
    pub(crate) checkout: PathBuf,
    pub(crate) known_checkout: Checkout,
    known_events: BTreeMap<u64, Value>,
    /// The daemon that has to be the same at the next check; none where a fault killed it.
    known_daemon: Option<Pid>,
    /// The files of each session, by its id.
    known_files: BTreeMap<String, KnownFiles>,
    /// The ids of the sessions that something was done with since the last check.
    touched: BTreeSet<String>,
    /// The ids of those whose files may go.
    rewound: BTreeSet<String>,
    /// The directories of the sessions whose turns write nothing.
    idle: Vec<String>,
    follower: Follower,
    /// How many sessions were asked for; the number of each is part of its title.
    created: usize,
    prompts: usize,
    /// The sessions that were seen last, oldest first.
    sessions: Vec<Value>,
    /// The directories of the sessions that were merged since the last check.
    merging: Vec<String>,
    /// What the next answer may take longer.
    pub(crate) grace: Duration,
    tally: Tally,
}

impl Round {
    pub(crate) fn new() -> Self {
        let env = TestEnv::new();
        env.write(SHARED, "from the user\n");
        env.commit("shared");
        let [changed, staged, untracked] = USERS_FILES;
        for path in [changed, staged, untracked] {
            env.write(path, "work of the user\n");
        }
        env.git(&["add", staged]);
        assert!([changed, untracked].iter().all(|path| env.repo().join(path).exists()));
        let follower = Follower::start(&env, 0);
        let nothing =
            Checkout { head: String::new(), tip: String::new(), status: String::new(), files: vec![], litter: vec![] };
        let mut round = Self {
            checkout: env.repo(),
            known_checkout: nothing,
            known_events: BTreeMap::new(),
            known_daemon: None,
            known_files: BTreeMap::new(),
            touched: BTreeSet::new(),
            rewound: BTreeSet::new(),
            idle: Vec::new(),
            follower,
            created: 0,
            prompts: 0,
            sessions: Vec::new(),
            merging: Vec::new(),
            grace: Duration::ZERO,
            tally: Tally::default(),
            env,
        };
        round.known_checkout = round.checkout_facts();
        round
    }

    /// Performs a step and checks what must hold after it; what became of it, for the trace.
    pub(crate) fn perform(&mut self, step: &Step) -> String {
        if step.strike.iter().flat_map(|strike| &strike.faults).any(|fault| matches!(fault, Fault::FullDisk(_))) {
            // The rest is quick to fill.
            self.fill_disk(ACT_SPACE_KIB);
        }
        let mut client = self.begin(step.act);
        let Some(strike) = &step.strike else {
            let outcome = finish(client);
            self.look();
            return outcome;
        };
        match (strike.moment, &mut client) {
            (Moment::AfterMs(time), Some(client)) => client.wait_at_most(Duration::from_millis(time)),
            (Moment::AfterMs(_), None) => {}
            (Moment::ToolRuns, _) => self.await_tool(),
        }
        let struck = self.strike_all(strike, client);
        disk::free(&self.env.path(""));
        self.settle();
        if strike.faults.iter().any(|fault| matches!(fault, Fault::Kill(Victim::Git, _))) {
            self.remove_locks();
        }
        self.check();
        struck
    }

    /// Ends everything; nothing may be left.
    pub(crate) fn finish(mut self) -> Tally {
        self.settle();
        self.check();
        self.follower.end();
        self.env.coppice_in(&self.env.path("home"), &["daemon", "stop", "--now"]).transcript();
        let deadline = Instant::now() + patience(ANSWER);
        let left: Vec<_> = self.env.processes().into_iter().filter(|process| !process.ends_before(deadline)).collect();
        assert!(left.is_empty(), "these processes outlived their daemon: {left:#?}");
        self.tally
    }

    /// Removes the locks of a git that was killed, as a person does who was told about them.
    fn remove_locks(&self) {
        for lock in LOCKS {
            fs::remove_file(self.checkout.join(".git").join(lock)).ok();
        }
    }

    /// Leaves so much of the disk, if it is ours.
    fn fill_disk(&self, spare_kib: u64) {
        if disk::is_own() {
            disk::fill(&self.env.path(""), spare_kib);
        }
    }

    /// Waits until both processes of a tool run.
    fn await_tool(&self) {
        let deadline = Instant::now() + patience(ACT);
        let runs = |command: &str| self.env.processes().iter().any(|process| process.command.trim_end() == command);
        while !(runs(FOREGROUND) && runs(BACKGROUND)) {
            assert!(Instant::now() < deadline, "the tool of the turn does not start");
        }
    }

    /// Lets the faults happen, then the act under them, and takes them back.
    fn strike_all(&mut self, strike: &Strike, mut client: Option<Client>) -> String {
        let (mut remedies, mut doomed, mut said) = (Vec::new(), Vec::new(), Vec::new());
        for fault in &strike.faults {
            self.tally.faults += 1;
            match self.strike(*fault, client.as_mut()) {
                Struck::Nothing => {
                    self.tally.faults -= 1;
                    self.tally.missed += 1;
                    said.push("missed".to_owned());
                }
                Struck::Done => {}
                Struck::Lasting(remedy) => remedies.push(remedy),
                Struck::Doomed(processes) => doomed.extend(processes),
            }
        }
        self.known_daemon = self.known_daemon.filter(|_| !strike.faults.iter().any(|fault| fault.kills_daemon()));
        let is_full = strike.faults.iter().any(|fault| matches!(fault, Fault::FullDisk(_))) && !remedies.is_empty();
        // Another fault may keep the daemon from answering.
        let answers_while_full = is_full && strike.faults.len() == 1;
        if answers_while_full {
            self.list();
        }
        let under = strike.act.filter(|act| remedies.is_empty() || !act.is_users()).and_then(|act| self.begin(act));
        // A command that cannot end under the fault ends after it.
        let mut clients: Vec<_> = client.into_iter().chain(under).collect();
        for client in &mut clients {
            client.wait_at_most(Duration::from_secs(1));
        }
        if answers_while_full {
            self.list();
        }
        self.heal(remedies);
        said.extend(clients.into_iter().map(|client| finish(Some(client))));
        self.await_ends(&doomed);
        said.join(" | ")
    }

    fn heal(&mut self, remedies: Vec<Remedy>) {
        for remedy in remedies.into_iter().rev() {
            self.apply(remedy);
        }
    }

    /// That processes end soon after the daemon answers again.
    fn await_ends(&mut self, doomed: &[Process]) {
        self.list();
        let deadline = Instant::now() + patience(ANSWER);
        let left: Vec<_> = doomed.iter().filter(|process| !process.ends_before(deadline)).collect();
        assert!(left.is_empty(), "these processes outlived whoever started them: {left:#?}");
    }

    /// That processes end in time after a kill, with nobody there who could start another daemon.
    pub(crate) fn await_ends_alone(&mut self, doomed: &[Process], killed_at: Instant) {
        let deadline = killed_at + patience(ANSWER);
        let left: Vec<_> = doomed.iter().filter(|process| !process.ends_before(deadline)).collect();
        assert!(left.is_empty(), "these processes run {:?} after the kill: {left:#?}", killed_at.elapsed());
        self.tally.slowest_end = self.tally.slowest_end.max(killed_at.elapsed());
        let tools: Vec<_> =
            self.env.processes().into_iter().filter(|process| is_victim(process, Victim::Tool)).collect();
        assert!(tools.is_empty(), "these commands of an agent run after the kill: {tools:#?}");
    }

    /// Ends the client that follows the events: it would start another daemon at once. The next check starts it again.
    pub(crate) fn end_follower(&mut self) {
        self.follower.end();
    }

    /// The facts that hold in the midst of turns, too.
    fn look(&mut self) {
        self.list();
        let checkout = self.checkout_facts();
        if self.merging.is_empty() {
            assert_eq!(checkout, self.known_checkout, "the user's checkout changed");
        }
    }

    /// Everything that must hold when nothing goes on.
    fn check(&mut self) {
        let deadline = Instant::now() + patience(ANSWER);
        let seen = loop {
            // Before the look: what a daemon does by itself may come at any moment.
            self.known_events.extend(self.follower.seen());
            let seen = self.observe(&self.sessions);
            let known = Known {
                checkout: &self.known_checkout,
                events: &self.known_events,
                daemon: self.known_daemon,
                files: &self.known_files,
                rewound: &self.rewound,
                merged: &self.merging,
                idle: &self.idle,
            };
            let found = violations(&known, &seen);
            if found.is_empty() {
                break seen;
            }
            assert!(Instant::now() < deadline, "{}", found.join("\n"));
            self.list();
        };
        self.known_checkout = seen.checkout;
        self.known_events = seen.events;
        self.known_daemon = seen.daemon;
        for id in std::mem::take(&mut self.rewound) {
            self.known_files.remove(&id);
        }
        for session in seen.sessions {
            // The next act with it takes the files away.
            if session.doubt.as_deref() == Some(UNFINISHED_UNDO) {
                self.known_files.remove(&session.id);
            } else if session.real.is_some() {
                self.known_files
                    .insert(session.id, KnownFiles { changed: session.paths, committed: session.committed });
            }
        }
        self.merging.clear();
        self.touched.clear();
        if self.follower.has_ended() {
            self.follower = Follower::start(&self.env, *self.known_events.keys().last().unwrap_or(&0));
        }
    }

    /// Waits until no session does anything by itself.
    fn settle(&mut self) {
        let deadline = Instant::now() + patience(ACT);
        loop {
            self.list();
            let busy: Vec<_> = self.sessions.iter().filter(|session| is_busy(session)).collect();
            let Some(first) = busy.first() else { return };
            let description = format!("{first:#}");
            assert!(Instant::now() < deadline, "the session does not come to rest: {description}");
            self.has_agents(&busy);
            let ids: Vec<_> = busy.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect();
            for id in &ids {
                if self.is_endless(id) {
                    self.command(&["stop", id]).output().unwrap();
                }
            }
            self.command(&["wait", &ids[0], "--timeout", "3s"]).output().unwrap();
        }
    }

    /// That a session which is shown as running has an agent, or is soon shown as something else.
    fn has_agents(&self, busy: &[&Value]) {
        for session in busy.iter().filter(|session| session["status"] == "running") {
            let id = session["id"].as_str().unwrap();
            let deadline = Instant::now() + patience(ANSWER);
            let is_true = || {
                let now: Value = serde_json::from_str(&self.ask(&["show", id, "--json"])).unwrap();
                now["status"] != "running" || self.env.processes().iter().any(|process| is_agent_of(process, id))
            };
            while !is_true() {
                assert!(Instant::now() < deadline, "session {id} is shown as running and has no agent");
            }
        }
    }

    /// Whether the turn in progress ends only when somebody stops it.
    fn is_endless(&self, id: &str) -> bool {
        let events = self.ask(&["events", id, "--alone", "--json"]);
        let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let started = events.iter().rfind(|event| event["type"] == "turn_started");
        let prompt = started.map(|event| event["prompt"].clone());
        let queued = events.iter().filter(|event| event["type"] == "prompt_queued");
        let text =
            queued.filter(|event| Some(&event["number"]) == prompt.as_ref()).find_map(|event| event["text"].as_str());
        text.is_some_and(|text| text.contains("sleep 3600"))
    }

    /// Reads the sessions, which the daemon must tell soon.
    fn list(&mut self) {
        let (begun, limit) = (Instant::now(), patience(ANSWER) + std::mem::take(&mut self.grace));
        let text = self.ask(&["list", "--all", "--json"]);
        let took = begun.elapsed();
        assert!(took < limit, "the daemon answered after {took:?} instead of {limit:?}");
        self.tally.slowest = self.tally.slowest.max(took);
        let sessions: Vec<Value> = serde_json::from_str(&text).unwrap();
        self.sessions = sessions.into_iter().filter(|session| session["parent"].is_null()).collect();
        self.sessions.sort_by_key(|session| session["created_at"].as_i64());
    }

    /// One of the sessions.
    pub(crate) fn session(&self, which: Pick) -> Option<&Value> {
        self.sessions.get(which.checked_rem(self.sessions.len())?)
    }

    /// What a command prints that must succeed.
    pub(crate) fn ask(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`coppice {}`: {}\n{said}", arguments.join(" "), output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// `coppice` where the user's checkout is now.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.to_start(arguments);
        command.current_dir(&self.checkout);
        command
    }

    /// Sends a prompt and waits for the end of its turn.
    fn send_and_wait(&self, id: &str, prompt: &str) -> Command {
        let program = self.command(&[]).get_program().to_owned();
        let mut command = self.env.command("sh", &self.checkout);
        command.args(["-c", r#""$0" send "$1" "$2" && exec "$0" wait "$1""#]).arg(program).args([id, prompt]);
        command
    }

    pub(crate) fn git_command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = self.env.command("git", directory);
        command.args(arguments);
        command
    }

    pub(crate) fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        self.env.git_in(directory, arguments)
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        if let (true, Some(to)) = (thread::panicking(), std::env::var_os(KEEP)) {
            Command::new("cp").arg("-a").arg(self.env.path("")).arg(to).status().ok();
        }
    }
}

/// Acts.
impl Round {
    /// Starts an act; nothing when it has no target, or was the user's own and is over.
    fn begin(&mut self, act: Act) -> Option<Client> {
        let id = |round: &Self, which| round.session(which).map(|session| session["id"].as_str().unwrap().to_owned());
        let arguments: Vec<String> = match act {
            Act::New(turn) | Act::Run(turn) => {
                self.created += 1;
                let directory = format!("s{}", self.created);
                self.idle.extend(matches!(turn, Turn::Idle).then(|| directory.clone()));
                let prompt = self.prompt(turn, &directory);
                let command = if let Act::Run(_) = act { "run" } else { "new" };
                let fixed = [command, "--model", "demo", "--agent", "engineer", "--title"].map(str::to_owned);
                fixed.into_iter().chain([directory, prompt]).collect()
            }
            Act::Send(which, turn) => {
                let session = self.session(which)?;
                let (id, directory) = (session["id"].as_str()?.to_owned(), session["title"].as_str()?.to_owned());
                vec!["send".to_owned(), id, self.prompt(turn, &directory)]
            }
            Act::SendAndWait(which, turn) => {
                let session = self.session(which)?;
                let (id, directory) = (session["id"].as_str()?.to_owned(), session["title"].as_str()?.to_owned());
                let prompt = self.prompt(turn, &directory);
                self.touched.insert(id.clone());
                return Some(Client::start(self.send_and_wait(&id, &prompt)));
            }
            Act::Stop(which) => vec!["stop".to_owned(), id(self, which)?],
            Act::Resume(which) => vec!["resume".to_owned(), id(self, which)?],
            Act::Undo(which) => vec!["undo".to_owned(), self.rewind(which)?],
            Act::Rollback(which, turn) => {
                vec!["undo".to_owned(), self.rewind(which)?, "--to".to_owned(), turn.to_string()]
            }
            Act::Diff(which) => vec!["diff".to_owned(), id(self, which)?],
            Act::Merge(which, style) => {
                let directory = self.session(which)?["title"].as_str()?.to_owned();
                self.merging.push(directory);
                vec!["merge".to_owned(), id(self, which)?, style.option().to_owned()]
            }
            Act::Rebase(which) => vec!["rebase".to_owned(), self.rewind(which)?],
            Act::Archive(which) => vec!["archive".to_owned(), id(self, which)?],
            Act::Remove(which) => vec!["rm".to_owned(), id(self, which)?],
            Act::Restore(which) => vec!["restore".to_owned(), self.removed(which)?],
            Act::TakeMergeBack => return self.take_merge_back(),
            Act::UserCommit => return self.user_commit(),
        };
        self.touched.extend(arguments.get(1).cloned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Some(Client::start(self.command(&arguments)))
    }

    /// The id of a session whose files may go.
    fn rewind(&mut self, which: Pick) -> Option<String> {
        let id = self.session(which)?["id"].as_str()?.to_owned();
        self.rewound.insert(id.clone());
        Some(id)
    }

    /// Expects no more of a session's files than what is committed, or nothing where a turn may commit what is left.
    pub(crate) fn expect_committed(&mut self, which: Pick) {
        let Some(session) = self.session(which) else { return };
        let (id, is_busy) = (session["id"].as_str().unwrap().to_owned(), is_busy(session));
        if is_busy || self.touched.contains(&id) {
            self.rewound.insert(id);
        } else if let Some(files) = self.known_files.get_mut(&id) {
            files.changed.clone_from(&files.committed);
        }
    }

    fn prompt(&mut self, turn: Turn, directory: &str) -> String {
        self.prompts += 1;
        turn.prompt(directory, self.prompts)
    }

    fn removed(&self, which: Pick) -> Option<String> {
        // The daemon may be unable to answer under a fault.
        let output = self.command(&["list", "--all", "--removed", "--json"]).output().unwrap();
        let removed: Vec<Value> = serde_json::from_slice(&output.stdout).ok()?;
        let session = removed.get(which.checked_rem(removed.len())?)?;
        session["id"].as_str().map(str::to_owned)
    }

    fn user_commit(&mut self) -> Option<Client> {
        let path = self.checkout.join(SHARED);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("line {} of the user\n{text}", self.prompts)).unwrap();
        self.git(&self.checkout, &["commit", "--quiet", "--only", SHARED, "--message", "user"]);
        self.known_checkout.tip = self.git(&self.checkout, &["rev-parse", "refs/heads/main"]);
        None
    }

    fn take_merge_back(&mut self) -> Option<Client> {
        let [_, staged, _] = USERS_FILES;
        let git = |arguments: &[&str]| self.git_command(&self.checkout, arguments).output().unwrap();
        let parents = self.git(&self.checkout, &["log", "-1", "--format=%P %s"]);
        if parents.ends_with(" shared") || parents.ends_with(" user") {
            return None;
        }
        // A revert wants nothing staged.
        git(&["rm", "--quiet", "--cached", staged]);
        let mainline: &[&str] =
            if parents.split(' ').nth(1).is_some_and(|word| word.len() == 40) { &["-m", "1"] } else { &[] };
        if !git(&[&["revert", "--no-edit"], mainline, &["HEAD"]].concat()).status.success() {
            git(&["revert", "--abort"]);
        }
        git(&["add", staged]);
        self.known_checkout.tip = self.git(&self.checkout, &["rev-parse", "refs/heads/main"]);
        None
    }
}

impl Act {
    /// Whether the user does it with git.
    fn is_users(self) -> bool {
        matches!(self, Act::TakeMergeBack | Act::UserCommit)
    }
}

impl Style {
    fn option(self) -> &'static str {
        match self {
            Style::Squash => "--squash",
            Style::NoFf => "--no-ff",
            Style::Rebase => "--rebase",
        }
    }
}

/// Whether a process is the agent of a session: the session's directories are in its environment.
fn is_agent_of(process: &Process, id: &str) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", process.pid.as_raw_nonzero())).unwrap_or_default();
    process.command.contains(" demo-agent") && String::from_utf8_lossy(&environment).contains(id)
}

fn is_busy(session: &Value) -> bool {
    ["queued", "preparing", "running", "integrating"].iter().any(|status| session["status"] == *status)
}

/// A bound, widened by as much as the machine has to do besides.
fn patience(bound: Duration) -> Duration {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(1.0);
    let cores = thread::available_parallelism().map_or(1.0, |cores| f64::from(u32::try_from(cores.get()).unwrap()));
    bound.mul_f64((load / cores).max(1.0))
}

/// How a command ended, for the trace.
fn finish(client: Option<Client>) -> String {
    let Some(client) = client else { return "-".to_owned() };
    let what = client.what.clone();
    let output = client.output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() != Some(BUG) && !stderr.contains("panicked"), "{what}: {}\n{stderr}", output.status);
    match output.status.code() {
        Some(0) => "ok".to_owned(),
        code => format!("{code:?} {}", stderr.lines().next().unwrap_or_default()),
    }
}

/// A command in progress.
pub(crate) struct Client {
    what: String,
    pid: Pid,
    ended: mpsc::Receiver<Output>,
    result: Option<Output>,
}

impl Client {
    fn start(mut command: Command) -> Self {
        let what = format!("{command:?}");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output().unwrap()).ok());
        Self { what, pid, ended, result: None }
    }

    /// Waits for its end, but no longer than this.
    pub(crate) fn wait_at_most(&mut self, time: Duration) {
        if self.result.is_none() {
            self.result = self.ended.recv_timeout(time).ok();
        }
    }

    fn output(mut self) -> Output {
        self.wait_at_most(patience(ACT));
        self.result.take().unwrap_or_else(|| {
            kill_process(self.pid, Signal::KILL).ok();
            panic!("`{}` does not end", self.what)
        })
    }
}

/// A client that follows all events, as an interface does.
struct Follower {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Follower {
    fn start(env: &TestEnv, since: u64) -> Self {
        let mut command = env.to_start(&["events", "--all", "--follow", "--json", "--since", &since.to_string()]);
        command.current_dir(env.path("home"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        thread::spawn(move || output.lines().map_while(Result::ok).for_each(|line| sink.lock().unwrap().push(line)));
        Self { child, lines }
    }

    /// The events that it showed since the last call.
    fn seen(&self) -> Vec<(u64, Value)> {
        let lines = std::mem::take(&mut *self.lines.lock().unwrap());
        let events = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        events.filter_map(|event| Some((event["seq"].as_u64()?, event))).collect()
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn end(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.end();
    }
}
