//! `TestEnv`: a home, a repository and a daemon of their own for each test, and proof that nothing outlives it.
//!
//! Waiting is always for a fact: the end of a process, a line of an event stream, a status. Nothing here sleeps.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;
use tempfile::TempDir;

/// No command of a test takes this long unless something hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// How long processes that must die by themselves may take to do so on a loaded machine.
const DEATH: Duration = Duration::from_secs(10);

/// The scripted agent under its own name, one that cannot restore a conversation, and one whose program is missing.
const BACKENDS: &str = r#"
[backends.forgetful]
transport = "acp"
command = ["COPPICE", "demo-agent", "--no-load"]

[backends.missing]
transport = "acp"
command = ["no-such-agent"]
"#;

/// One test's world. Everything in it dies with it.
pub(crate) struct TestEnv {
    root: TempDir,
    /// Set for every program that the test starts, beside the hermetic ones.
    variables: Vec<(String, String)>,
    /// Ids of the sessions that the test created, which differ between runs.
    ids: RefCell<Vec<String>>,
}

impl TestEnv {
    /// A home with a git identity, a configuration with a few agents, and the repository of [`TestEnv::repo`].
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("cop").tempdir().unwrap();
        let env = Self { root, variables: Vec::new(), ids: RefCell::default() };
        for directory in ["home", "coppice", "repo"] {
            fs::create_dir(env.path(directory)).unwrap();
        }
        fs::write(env.path("home/.gitconfig"), "[user]\n\tname = Tess Ter\n\temail = tess@example.com\n").unwrap();
        env.configure("");
        env.git(&["init", "-q", "-b", "main"]);
        env.write("README.md", "# sample\n");
        env.write("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
        env.write("docs/notes with space.txt", "one\ntwo\nthree\n");
        env.write(".gitignore", "/build\n.env\n");
        env.commit("begin");
        env
    }

    /// Sets a variable for the programs that the test starts from here on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Takes a variable of [`TestEnv::set`] back.
    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known != name);
    }

    /// A path outside of every worktree that an agent can see from its sandbox: in the repository's git directory.
    pub(crate) fn visible_to_agents(&self, name: &str) -> PathBuf {
        self.repo().join(".git").join(name)
    }

    /// Writes the user's `config.toml`: the test's agents and `text`.
    pub(crate) fn configure(&self, text: &str) {
        let backends = BACKENDS.replace("COPPICE", env!("CARGO_BIN_EXE_coppice"));
        fs::write(self.path("coppice/config.toml"), format!("{text}\n{backends}")).unwrap();
    }

    /// A path below the test's own directory.
    pub(crate) fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(inside)
    }

    /// The user's checkout.
    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    /// Writes a file of the user's checkout.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads a file of the user's checkout.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo().join(path)).unwrap()
    }

    /// Puts a git of the daemon's in front of the real one, before the daemon starts; the directory it is in. It runs an
    /// `action` where its arguments contain the words in the file `words_file` of that directory.
    pub(crate) fn wrap_git(&mut self, words_file: &str, action: &str) -> PathBuf {
        let directory = self.path("bin");
        fs::create_dir(&directory).unwrap();
        let path = std::env::var("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|entry| entry.join("git")).find(|git| git.is_file()).unwrap();
        let script = format!(
            "#!/bin/sh\nif test -e '{0}/{words_file}' && read -r words < '{0}/{words_file}'; then\n\
             case \"$*\" in *\"$words\"*) {action} ;; esac\nfi\nexec '{1}' \"$@\"\n",
            directory.display(),
            real.display()
        );
        fs::write(directory.join("git"), script).unwrap();
        fs::set_permissions(directory.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        self.set("PATH", &format!("{}:{path}", directory.display()));
        directory
    }

    /// Commits attributes by which no `*.dat` file can be committed.
    pub(crate) fn refuse_dat_files(&self) {
        self.write(".gitattributes", "*.dat filter=broken\n");
        self.commit("attributes");
        self.git(&["config", "filter.broken.required", "true"]);
        self.git(&["config", "filter.broken.smudge", "cat"]);
        self.git(&["config", "filter.broken.clean", "false"]);
    }

    /// Commits everything in the user's checkout.
    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Runs git in the user's checkout; its output without the last line end.
    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.repo(), arguments)
    }

    #[track_caller]
    pub(crate) fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let mut command = self.command("git", directory);
        command.args(arguments);
        self.run(command).stdout().trim_end().to_owned()
    }

    /// Runs `coppice` in the user's checkout.
    #[track_caller]
    pub(crate) fn coppice(&self, arguments: &[&str]) -> Output {
        self.coppice_in(&self.repo(), arguments)
    }

    #[track_caller]
    pub(crate) fn coppice_in(&self, directory: &Path, arguments: &[&str]) -> Output {
        let mut command = self.program(directory);
        command.args(arguments);
        self.run(command)
    }

    /// Runs `coppice` with a text on its standard input.
    #[track_caller]
    pub(crate) fn coppice_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let file = self.path("input");
        fs::write(&file, input).unwrap();
        let mut command = self.program(&self.repo());
        command.args(arguments).stdin(fs::File::open(file).unwrap());
        self.run(command)
    }

    /// What a successful command with `--json` prints.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let text = self.coppice(&[arguments, &["--json"]].concat()).stdout();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Starts `coppice` and leaves it to the test.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.program(&self.repo());
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(command.spawn().unwrap(), arguments)
    }

    /// Starts `coppice` with an input that the test writes.
    pub(crate) fn converse(&self, arguments: &[&str]) -> (Running, ChildStdin) {
        let mut command = self.program(&self.repo());
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        (Running::new(child, arguments), input)
    }

    /// `coppice` in the user's checkout, for a test that starts it in a way of its own.
    pub(crate) fn to_start(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(&self.repo());
        command.args(arguments);
        command
    }

    fn program(&self, directory: &Path) -> Command {
        self.command(env!("CARGO_BIN_EXE_coppice"), directory)
    }

    /// A program that sees nothing of the machine's user.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>, directory: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(directory).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("home")).env("COPPICE_HOME", self.path("coppice"));
        command.env("LANG", "C.UTF-8").env("TZ", "UTC");
        command.env("GIT_CONFIG_GLOBAL", self.path("home/.gitconfig")).env("GIT_CONFIG_NOSYSTEM", "1");
        // Only the test's own commits: the daemon's come from its clock.
        if command.get_program() == "git" {
            command.env("GIT_AUTHOR_DATE", "1700000000 +0000").env("GIT_COMMITTER_DATE", "1700000000 +0000");
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    #[track_caller]
    fn run(&self, mut command: Command) -> Output {
        let what = format!("{command:?}");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()).ok());
        let Ok(output) = ended.recv_timeout(LIMIT) else {
            kill_process(pid, Signal::KILL).ok();
            panic!("still running after {LIMIT:?}: {what}\n{}", self.log());
        };
        let output = output.unwrap();
        Output {
            status: output.status,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            what,
            random: self.random(),
        }
    }

    /// What differs between runs of this test, and the name that stands for it.
    fn random(&self) -> Vec<(String, String)> {
        let root = (self.root.path().to_string_lossy().into_owned(), "[ROOT]".to_owned());
        let program = (env!("CARGO_BIN_EXE_coppice").to_owned(), "coppice".to_owned());
        let ids = self.ids.borrow().clone().into_iter().zip(1..).map(|(id, number)| (id, format!("[ID{number}]")));
        [program, root].into_iter().chain(ids).collect()
    }

    /// Every log file of the daemon, for the message of a failing test.
    pub(crate) fn log(&self) -> String {
        fn logs(directory: &Path, found: &mut String) {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.extension().is_some_and(|extension| extension == "log") {
                    found.push_str(&fs::read_to_string(&path).unwrap_or_default());
                } else if path.is_dir() && path.file_name().is_some_and(|name| name != "worktrees") {
                    logs(&path, found);
                }
            }
        }
        let mut found = String::new();
        logs(&self.path("coppice"), &mut found);
        found
    }
}

/// Sessions.
impl TestEnv {
    /// Creates a session with the scripted agent; its id.
    #[track_caller]
    pub(crate) fn create(&self, prompt: &str) -> String {
        self.create_with(&["--model", "demo"], prompt)
    }

    #[track_caller]
    pub(crate) fn create_with(&self, options: &[&str], prompt: &str) -> String {
        let id = self.coppice(&[&["new"], options, &[prompt]].concat()).stdout().trim().to_owned();
        self.ids.borrow_mut().push(id.clone());
        id
    }

    /// Creates a session and waits until its first turn ended well.
    #[track_caller]
    pub(crate) fn create_ready(&self, prompt: &str) -> String {
        let id = self.create(prompt);
        self.wait_for(&id, "ready");
        id
    }

    /// The session object.
    #[track_caller]
    pub(crate) fn session(&self, id: &str) -> Value {
        self.json(&["show", id])
    }

    #[track_caller]
    pub(crate) fn status(&self, id: &str) -> String {
        self.session(id)["status"].as_str().unwrap().to_owned()
    }

    /// Waits until nothing happens in the session without a person, and requires the status it then has.
    #[track_caller]
    pub(crate) fn wait_for(&self, id: &str, status: &str) {
        // Its exit code tells the statuses apart; the test names the one it wants.
        let patience = format!("{}s", (LIMIT - DEATH).as_secs());
        let waited = self.coppice(&["wait", id, "--timeout", &patience]);
        let session = self.session(id);
        assert_eq!(session["status"], status, "{session:#}\n{}{}\n{}", waited.stdout, waited.stderr, self.log());
    }

    /// Waits until the session object fits, and gives it.
    #[track_caller]
    pub(crate) fn wait_for_session(&self, id: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LIMIT;
        loop {
            let session = self.session(id);
            if fits(&session) {
                return session;
            }
            assert!(Instant::now() < deadline, "{session:#}\n{}", self.log());
        }
    }

    /// Waits for the first event of a type after `since`, and gives it.
    #[track_caller]
    pub(crate) fn wait_for_event(&self, id: &str, kind: &str, since: u64) -> Value {
        let since = since.to_string();
        let mut stream = self.start(&["events", id, "--follow", "--since", &since, "--json"]);
        stream.line_where(|line| serde_json::from_str::<Value>(line).is_ok_and(|event| event["type"] == kind));
        serde_json::from_str(stream.last()).unwrap()
    }

    /// Every stored event of the session.
    #[track_caller]
    pub(crate) fn events(&self, id: &str) -> Vec<Value> {
        let text = self.coppice(&["events", id, "--json"]).stdout();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The types of the session's events, in order.
    #[track_caller]
    pub(crate) fn kinds(&self, id: &str) -> Vec<String> {
        self.events(id).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// How each turn's prompt was delivered.
    #[track_caller]
    pub(crate) fn deliveries(&self, id: &str) -> Vec<String> {
        let started = self.events(id).into_iter().filter(|event| event["type"] == "turn_started");
        started.map(|event| event["delivery"].as_str().unwrap().to_owned()).collect()
    }

    /// The answer of the last turn that was completed.
    #[track_caller]
    pub(crate) fn last_answer(&self, id: &str) -> String {
        let completed = self.events(id).into_iter().rfind(|event| event["type"] == "turn_completed").unwrap();
        completed["response"]["answer"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt and waits until its turn ended well.
    #[track_caller]
    pub(crate) fn send_ready(&self, id: &str, options: &[&str], prompt: &str) {
        self.coppice(&[&["send", id], options, &[prompt]].concat()).succeeds();
        self.wait_for(id, "ready");
    }

    /// Agrees to what the repository asks for, as the user who read it.
    #[track_caller]
    pub(crate) fn trust(&self) {
        let wanted = self.json(&["trust"]);
        self.coppice(&["trust", "--hash", wanted["hash"].as_str().unwrap()]).succeeds();
    }

    /// The session's work tree.
    #[track_caller]
    pub(crate) fn worktree(&self, id: &str) -> PathBuf {
        PathBuf::from(self.session(id)["worktree"].as_str().unwrap())
    }
}

/// Processes.
impl TestEnv {
    /// The daemon's process, if one runs.
    pub(crate) fn daemon_pid(&self) -> Option<Pid> {
        // The repository may have been moved.
        let output = self.coppice_in(self.root.path(), &["daemon", "status", "--json"]);
        let status: Value = serde_json::from_str(&output.stdout).ok()?;
        Pid::from_raw(i32::try_from(status["pid"].as_i64()?).ok()?)
    }

    /// Ends the daemon without warning and waits until everything that it had started is gone too.
    #[track_caller]
    pub(crate) fn kill_daemon(&self) {
        let daemon = self.daemon_pid().expect("a daemon runs");
        // Taken before: a client that follows events may start the next daemon at once.
        let family: Vec<_> = family(&[daemon]).into_iter().filter_map(Process::of).collect();
        kill_process(daemon, Signal::KILL).unwrap();
        let deadline = Instant::now() + DEATH;
        let left: Vec<_> = family.iter().filter(|process| !process.ends_before(deadline)).collect();
        assert!(left.is_empty(), "these processes outlived their daemon: {left:?}");
    }

    /// Lets the daemon end, and waits until it has: everybody in it has then done what was left to do.
    #[track_caller]
    pub(crate) fn end_daemon(&self, options: &[&str]) {
        let daemon = self.daemon_pid().and_then(Process::of).expect("a daemon runs");
        self.coppice(&[&["daemon", "stop"], options].concat()).succeeds();
        assert!(daemon.ends_before(Instant::now() + DEATH), "the daemon still runs");
    }

    /// Sends a signal to the daemon.
    #[track_caller]
    pub(crate) fn signal_daemon(&self, signal: Signal) {
        kill_process(self.daemon_pid().expect("a daemon runs"), signal).unwrap();
    }

    /// Waits until every process of this test with this in its command line has ended.
    #[track_caller]
    pub(crate) fn wait_for_ends(&self, command: &str) {
        let deadline = Instant::now() + DEATH;
        for process in self.processes().into_iter().filter(|process| process.command.contains(command)) {
            assert!(process.ends_before(deadline), "still there: {process:?}");
        }
    }

    /// Waits until no process of this test is left; those that are still there after [`DEATH`].
    pub(crate) fn survivors(&self) -> Vec<String> {
        let deadline = Instant::now() + DEATH;
        loop {
            let processes = self.processes();
            let all_ended = processes.iter().all(|process| process.ends_before(deadline));
            // Those that ended may have left others behind.
            if processes.is_empty() || !all_ended {
                return processes.into_iter().map(|process| process.command).collect();
            }
        }
    }

    /// Waits until every agent has ended by itself, those that begin meanwhile too.
    #[track_caller]
    pub(crate) fn agents_end(&self) {
        let deadline = Instant::now() + DEATH;
        loop {
            let mut agents = self.processes();
            agents.retain(|process| process.command.contains("demo-agent"));
            let all_ended = agents.iter().all(|agent| agent.ends_before(deadline));
            assert!(all_ended, "these agents still run: {agents:?}");
            if agents.is_empty() {
                return;
            }
        }
    }

    /// Every process whose environment or directory lies in this test's own, and everything below one.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let root = self.root.path();
        let name = root.as_os_str().as_encoded_bytes();
        let is_marked = |pid: &Pid| {
            let environment = fs::read(proc(*pid, "environ")).unwrap_or_default();
            let stands_inside = fs::read_link(proc(*pid, "cwd")).is_ok_and(|cwd| cwd.starts_with(root));
            stands_inside || environment.windows(name.len()).any(|part| part == name)
        };
        let marked: Vec<_> = all_pids().into_iter().filter(is_marked).collect();
        family(&marked).into_iter().filter_map(Process::of).collect()
    }
}

/// A process that is not our child, held by a descriptor: its number may be used again after its end.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) command: String,
    handle: OwnedFd,
}

impl Process {
    /// The process, unless it has ended.
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let command = String::from_utf8_lossy(&fs::read(proc(pid, "cmdline")).ok()?).replace('\0', " ");
        // Nothing is left of the command line of one that has ended and was not collected.
        (!command.is_empty()).then_some(Self { pid, command, handle })
    }

    /// Waits for its end.
    pub(crate) fn ends_before(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        // The end of any child of this process interrupts a call.
        retry_on_intr(|| poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&left))).unwrap() > 0
    }
}

fn proc(pid: Pid, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{file}", pid.as_raw_nonzero()))
}

fn all_pids() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)).collect()
}

/// These processes and everything below them.
pub(crate) fn family(heads: &[Pid]) -> Vec<Pid> {
    let parent = |pid: Pid| {
        let stat = fs::read_to_string(proc(pid, "stat")).ok()?;
        // The name before it may hold anything, spaces and brackets too.
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)
    };
    let parents: Vec<_> = all_pids().into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = heads.to_vec();
    let mut at = 0;
    while let Some(&head) = found.get(at) {
        let below = parents.iter().filter(|(pid, parent)| *parent == head && !found.contains(pid));
        let below: Vec<_> = below.map(|(pid, _)| *pid).collect();
        found.extend(below);
        at += 1;
    }
    found
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("-- daemon log --\n{}", self.log());
        }
        if let Some(pid) = self.daemon_pid() {
            kill_process(pid, Signal::KILL).ok();
        }
        let survivors = self.survivors();
        for process in self.processes() {
            kill_process(process.pid, Signal::KILL).ok();
        }
        if !thread::panicking() {
            assert_eq!(survivors, Vec::<String>::new(), "these processes outlived their daemon");
        }
    }
}

/// What a program said and how it ended.
#[must_use = "compare the output, or say which end is expected"]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    what: String,
    random: Vec<(String, String)>,
}

impl Output {
    /// The standard output of a program that succeeded.
    #[track_caller]
    pub(crate) fn stdout(self) -> String {
        assert!(self.status.success(), "{}: {}\n{}{}", self.what, self.status, self.stdout, self.stderr);
        self.stdout
    }

    /// That the program succeeded, whatever it said.
    #[track_caller]
    pub(crate) fn succeeds(self) {
        self.stdout();
    }

    /// That the program ended with a code, whatever it said.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}\n{}{}", self.what, self.stdout, self.stderr);
        self
    }

    /// Everything a person sees, with what differs between runs replaced.
    pub(crate) fn transcript(&self) -> String {
        let code = self.status.code().map_or("killed".to_owned(), |code| code.to_string());
        let mut text = format!("exit: {code}\n");
        for (name, part) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !part.is_empty() {
                text.push_str(&format!("-- {name}\n{}\n", part.trim_end()));
            }
        }
        steady(&text, &self.random)
    }
}

/// Replaces what is random, every commit and every project by names.
fn steady(text: &str, random: &[(String, String)]) -> String {
    let text = random.iter().fold(text.to_owned(), |text, (value, name)| text.replace(value, name));
    let is_hex = |word: &str, length| word.len() == length && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).map(|piece| {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        match word {
            _ if is_hex(word, 40) => piece.replace(word, "[COMMIT]"),
            _ if is_hex(word, 16) => piece.replace(word, "[PROJECT]"),
            _ => piece.to_owned(),
        }
    });
    words.collect()
}

/// A program that the test talks with while it runs. It is ended when the test lets go of it.
pub(crate) struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
    seen: Vec<String>,
    what: String,
}

impl Running {
    fn new(mut child: Child, arguments: &[&str]) -> Self {
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines, seen: Vec::new(), what: arguments.join(" ") }
    }

    /// Reads on until a line fits.
    #[track_caller]
    pub(crate) fn line_where(&mut self, fits: impl Fn(&str) -> bool) {
        loop {
            let Ok(line) = self.lines.recv_timeout(LIMIT) else {
                panic!("`coppice {}` did not say it; it said:\n{}", self.what, self.seen.join("\n"));
            };
            self.seen.push(line);
            if fits(self.last()) {
                return;
            }
        }
    }

    /// The last line that was read.
    pub(crate) fn last(&self) -> &str {
        self.seen.last().map_or("", String::as_str)
    }

    /// Every line that was read.
    pub(crate) fn seen(&self) -> &[String] {
        &self.seen
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end; the exit code and what was written to stderr.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let pid = Pid::from_child(&self.child);
        let mut stderr = self.child.stderr.take().unwrap();
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(std::io::read_to_string(&mut stderr)).ok());
        let Ok(text) = ended.recv_timeout(LIMIT) else {
            kill_process(pid, Signal::KILL).ok();
            panic!("`coppice {}` still runs after {LIMIT:?}", self.what);
        };
        self.seen.extend(self.lines.iter());
        (self.child.wait().unwrap().code(), text.unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn what_differs_between_runs_gets_a_name() {
    let random =
        [("/tmp/copX", "[ROOT]"), ("kafgapbq", "[ID1]")].map(|(value, name)| (value.to_owned(), name.to_owned()));
    let text = "session kafgapbq in /tmp/copX/repo at 0123456789abcdef0123456789abcdef01234567 (greeting)";
    assert_eq!(steady(text, &random), "session [ID1] in [ROOT]/repo at [COMMIT] (greeting)");
}
