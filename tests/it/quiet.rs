//! A work tree in which nothing runs while others work there: real process trees that resist, and what ends when.

mod elusive;
mod held_git;
mod lost_supervisor;
mod slow_git;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use coppice::sandbox::cage::{Cage, Isolation};
use coppice::sandbox::launch::{Spawn, Status, Stop, Supervised, spawn};
use coppice::sandbox::quiesce::{QuietError, end_orphans, end_processes, run_in_quiet_tree};
use coppice::sandbox::support::{Namespaces, support};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::env::TestEnv;
use crate::script::{hang, run, say, steps, write};
use crate::supervisor::Watch;

const PART: &str = "COPPICE_TEST_PART";

/// A command in a work tree of its own, which answers each line it reads.
struct Agent {
    tree: TempDir,
    supervised: Supervised,
    pids: Vec<i32>,
}

impl Agent {
    /// Runs `script`, which prints `count` pids, and then answers what it is told.
    async fn start(script: &str, count: usize) -> Self {
        Self::start_in(None, script, count).await
    }

    /// The same in namespaces, where the pids mean nothing outside; `None` where there are none.
    async fn start_in_namespaces(script: &str) -> Option<Self> {
        let support = support().with_namespaces(Path::new(env!("CARGO_BIN_EXE_coppice")));
        let cage = Cage { read: vec!["/".into()], isolation: Isolation::Namespaces, ..Cage::default() };
        match support.namespaces {
            Namespaces::Work => Some(Self::start_in(Some(cage), script, 1).await),
            Namespaces::Refused(_) | Namespaces::Untried => None,
        }
    }

    async fn start_in(cage: Option<Cage>, script: &str, count: usize) -> Self {
        let tree = tempfile::tempdir().unwrap();
        let answer = "while read line; do echo \"$line\"; done";
        let command = command(tree.path(), &format!("{script}\n{answer}"));
        let cage = cage.map(|cage| Cage { write: vec![tree.path().to_owned(), "/dev/null".into()], ..cage });
        let mut supervised = spawn(Spawn { cage, ..command }).await.unwrap();
        let mut pids = Vec::new();
        while pids.len() < count {
            pids.push(read_line(&mut supervised).await.parse().unwrap());
        }
        Self { tree, supervised, pids }
    }

    fn path(&self) -> &Path {
        self.tree.path()
    }

    /// Fails unless the command itself is alive and works.
    async fn answers(&mut self) {
        self.supervised.stdin.write_all(b"ping\n").await.unwrap();
        assert_eq!(read_line(&mut self.supervised).await, "ping");
    }

    /// The lengths of all files of the work tree.
    fn lengths(tree: &Path) -> Vec<(PathBuf, u64)> {
        let entries = fs::read_dir(tree).unwrap().map(|entry| entry.unwrap());
        let mut lengths: Vec<_> = entries.map(|entry| (entry.path(), entry.metadata().unwrap().len())).collect();
        lengths.sort();
        lengths
    }

    /// Looks at the work tree for a while in which a process that runs changes it; fails if one did.
    async fn stands_still(&self) {
        let tree = self.path().to_owned();
        let pids = self.pids.clone();
        run_in_quiet_tree(self.path(), move || {
            let before = Self::lengths(&tree);
            for _ in 0..300 {
                assert_eq!(Self::lengths(&tree), before, "something writes");
            }
            for pid in pids {
                // `D` for one that waits until its child has executed a program.
                assert!(matches!(state(pid), 'T' | 'D'), "{pid} runs");
            }
        })
        .await
        .unwrap();
    }

    /// Waits until the work tree has changed.
    fn moves(&self) {
        let before = Self::lengths(self.path());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while Self::lengths(self.path()) == before {
            assert!(std::time::Instant::now() < deadline, "nothing writes any more");
        }
    }
}

fn command(tree: &Path, script: &str) -> Spawn {
    let env = [("PATH", std::env::var("PATH").unwrap()), ("ME", me()), ("TREE", tree.display().to_string())];
    Spawn {
        executable: PathBuf::from(env!("CARGO_BIN_EXE_coppice")),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        cwd: tree.to_owned(),
        cage: None,
        worktree: Some(tree.to_owned()),
    }
}

fn me() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

/// A line of a script that runs one part of [`player`] beside the command.
fn plays(part: &str) -> String {
    format!("{PART}={part} \"$ME\" --exact quiet::player --nocapture >/dev/null 2>&1 & echo $!")
}

async fn read_line(supervised: &mut Supervised) -> String {
    let mut line = Vec::new();
    // Byte by byte: what follows the line belongs to the next reader.
    while line.last() != Some(&b'\n') {
        let byte = supervised.stdout.read_u8().await.expect("the command ended");
        line.push(byte);
    }
    String::from_utf8(line).unwrap().trim().to_owned()
}

fn state(pid: i32) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().trim().chars().next().unwrap()
}

/// A process that does one thing without end, if a test asks for it, and an empty test otherwise.
#[test]
fn player() {
    let (Ok(part), Ok(tree)) = (std::env::var(PART), std::env::var("TREE")) else { return };
    let tree = PathBuf::from(tree);
    let write = |name: String| {
        let mut text = String::new();
        loop {
            text.push('x');
            text.truncate(4096);
            fs::write(tree.join(&name), format!("{text}{}", text.len() % 7)).unwrap();
        }
    };
    match part.as_str() {
        "threads" => std::thread::scope(|scope| {
            (0..6).for_each(|number| drop(scope.spawn(move || write(format!("thread{number}")))));
        }),
        "spawns" => loop {
            // The standard library waits for the exec in the kernel, where no stop signal reaches it.
            assert!(std::process::Command::new("true").status().unwrap().success());
        },
        "vfork" => elusive::wait_in_vfork(&tree),
        "chain" => elusive::run_chain(&tree),
        "timer" => elusive::wake_by_timer(&tree),
        part => panic!("nobody plays {part}"),
    }
}

/// Writes to a file without end, from wherever it is started.
const WRITERS: &str = r#"
cat > writer <<'END'
echo $$
while :; do echo x >> "$TREE/$1"; done
END
sh writer plain &
setsid sh writer session &
sh -c "setsid sh writer twice & exit 0" &
(trap '' TERM HUP INT TSTP; exec sh writer deaf) &
"#;

#[tokio::test]
async fn a_quiet_tree_stands_still_and_continues() {
    let mut agent = Agent::start(WRITERS, 4).await;
    agent.moves();
    agent.stands_still().await;
    agent.moves();
    agent.answers().await;
}

#[tokio::test]
async fn all_threads_stand_still() {
    let mut agent = Agent::start(&plays("threads"), 1).await;
    agent.moves();
    agent.stands_still().await;
    agent.moves();
    agent.answers().await;
}

#[tokio::test]
async fn a_process_that_starts_others_all_the_time_is_caught_and_survives() {
    let forks = r#"
for i in 1 2 3; do sh -c 'echo $$; while :; do (echo x >> "$TREE/forks" &); done' & done
"#;
    let mut agent = Agent::start(&format!("{forks}\n{}", plays("spawns")), 4).await;
    let watch = Watch::over(&agent.pids);
    for _ in 0..20 {
        agent.stands_still().await;
    }
    watch.all_live();
    agent.answers().await;
}

#[tokio::test]
async fn a_process_whose_child_never_executes_a_program_counts_as_stopped_and_survives() {
    let script = plays("vfork");
    let caged = Agent::start_in_namespaces(&script).await;
    // Its pids mean nothing out here.
    let caged = caged.map(|agent| Agent { pids: Vec::new(), ..agent });
    for mut agent in [Some(Agent::start(&script, 1).await), caged].into_iter().flatten() {
        let watch = Watch::over(&agent.pids);
        while !agent.path().join("child").exists() {}
        agent.moves();
        agent.stands_still().await;
        watch.all_live();
        agent.moves();
        agent.answers().await;
    }
}

#[tokio::test]
async fn a_chain_of_processes_that_end_at_once_is_stopped_and_goes_on() {
    let Some(mut agent) = Agent::start_in_namespaces(&plays("chain")).await else { return };
    let counter = agent.path().join("links");
    let links = move || fs::read(&counter).unwrap_or_default().first_chunk().copied().map(u64::from_ne_bytes);
    for _ in 0..10 {
        let before = links();
        while links() == before {}
        let links = links.clone();
        let stays = move || (0..2000).map(|_| links()).all(|now| now == links());
        assert!(run_in_quiet_tree(agent.path(), stays).await.unwrap(), "the chain goes on");
    }
    agent.answers().await;
    end_orphans(agent.path()).await.unwrap();
    agent.answers().await;
}

#[tokio::test]
async fn a_process_that_runs_all_the_same_and_ends_is_noticed() {
    let Some(mut agent) = Agent::start_in_namespaces(&plays("timer")).await else { return };
    let tree = agent.path().to_owned();
    while !tree.join("ready").exists() {}
    let work = move || {
        fs::write(tree.join("quiet"), "").unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !tree.join("ran").exists() && std::time::Instant::now() < deadline {}
    };
    match run_in_quiet_tree(agent.path(), work).await {
        Err(error) => assert!(matches!(error, QuietError::Disturbed { .. }), "{error:?}"),
        // It was continued so often while it was stopped that it was killed.
        Ok(()) => assert!(!agent.path().join("ran").exists()),
    }
    agent.answers().await;
}

#[tokio::test]
async fn processes_that_continue_each_other_are_caught() {
    let script = r#"
sh -c 'echo $$; while :; do echo x >> "$TREE/one"; kill -CONT $PPID; done' &
sh -c 'echo $$; while :; do echo x >> "$TREE/two"; kill -CONT 0 2>/dev/null; done' &
"#;
    let agent = Agent::start(script, 2).await;
    agent.stands_still().await;
}

#[tokio::test]
async fn a_process_that_runs_all_the_same_is_killed_and_the_work_does_not_count() {
    let mut agent = Agent::start(WRITERS, 4).await;
    let ends = Watch::over(&agent.pids[1..2]);
    let continued = Pid::from_raw(agent.pids[1]).unwrap();
    let tree = agent.path().to_owned();
    let work = move || {
        let before = Agent::lengths(&tree);
        kill_process(continued, Signal::CONT).unwrap();
        while Agent::lengths(&tree) == before {}
        kill_process(continued, Signal::STOP).unwrap();
    };
    let error = run_in_quiet_tree(agent.path(), work).await.unwrap_err();
    assert!(matches!(error, QuietError::Disturbed { count: 1 }), "{error:?}");
    ends.all_end();
    agent.pids.remove(1);
    agent.answers().await;
    agent.stands_still().await;
}

#[tokio::test]
async fn what_was_stopped_before_stays_stopped() {
    let mut agent = Agent::start("sh -c 'echo $$; kill -STOP $$; echo went on' &", 1).await;
    agent.answers().await;
    while state(agent.pids[0]) != 'T' {}
    agent.stands_still().await;
    agent.answers().await;
    assert_eq!(state(agent.pids[0]), 'T');
}

#[tokio::test]
async fn nothing_starts_in_a_quiet_tree() {
    let agent = Agent::start("", 0).await;
    let (tree, mark) = (agent.path().to_owned(), agent.path().join("mark"));
    let (runtime, there) = (tokio::runtime::Handle::current(), mark.clone());
    let starting = run_in_quiet_tree(agent.path(), move || {
        let starting = runtime.spawn(spawn(command(&tree, "echo here > mark; echo done")));
        // Another tree is not concerned.
        let other = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            let started = runtime.block_on(spawn(command(other.path(), "echo"))).unwrap();
            assert!(started.process.pid() > 0);
        }
        assert!(!there.exists());
        starting
    })
    .await
    .unwrap();
    let mut started = starting.await.unwrap().unwrap();
    assert_eq!(read_line(&mut started).await, "done");
    assert!(mark.exists());
}

#[tokio::test]
async fn a_killed_supervisor_blocks_no_later_start() {
    let mut agent = Agent::start("echo $$", 1).await;
    let supervisor = parent_of(agent.pids[0]);
    let watch = Watch::over(&agent.pids);
    kill_process(supervisor, Signal::KILL).unwrap();
    assert_eq!(agent.supervised.process.wait().await, Status::Lost);
    watch.all_end();
    run_in_quiet_tree(agent.path(), || ()).await.unwrap();
    let mut next = spawn(command(agent.path(), "echo there")).await.unwrap();
    assert_eq!(read_line(&mut next).await, "there");
    end_processes(agent.path()).await.unwrap();
}

fn parent_of(pid: i32) -> Pid {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    Pid::from_raw(stat.rsplit(')').next().unwrap().split_ascii_whitespace().nth(1).unwrap().parse().unwrap()).unwrap()
}

#[tokio::test]
async fn orphans_end_and_the_command_goes_on_with_its_children() {
    let script = r#"
sh -c 'echo $$; exec sleep 600' &
sh -c "setsid sh -c 'echo \$\$; sleep 600' & exit 0"
sh -c "(sh -c 'echo \$\$; sleep 600; :' &)"
"#;
    let mut agent = Agent::start(script, 3).await;
    let child =
        agent.pids.iter().position(|pid| parent_of(*pid).as_raw_nonzero().get() == agent.supervised.process.pid());
    let child = agent.pids.remove(child.unwrap());
    let (stays, ends) = (Watch::over(&[child]), Watch::over(&agent.pids));
    end_orphans(agent.path()).await.unwrap();
    ends.all_end();
    stays.all_live();
    agent.answers().await;
}

/// In a container, the session that this process belongs to may have begun outside, and has no number then.
#[test]
fn orphans_end_where_the_own_session_is_out_of_sight() {
    let inside = |program: &str, arguments: &[&str]| {
        let unshare = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", program];
        std::process::Command::new("unshare")
            .args(unshare)
            .args(arguments)
            .status()
            .is_ok_and(|status| status.success())
    };
    if inside("true", &[]) {
        let test = "quiet::orphans_end_and_the_command_goes_on_with_its_children";
        assert!(inside(&me(), &["--exact", test]));
    }
}

#[tokio::test]
async fn ending_the_processes_of_a_tree_leaves_none_and_returns_when_they_are_gone() {
    let mut agent = Agent::start(WRITERS, 4).await;
    let second = spawn(command(agent.path(), "trap '' TERM; sleep 600")).await.unwrap();
    let other = Agent::start("echo $$", 1).await;
    end_processes(agent.path()).await.unwrap();
    agent.pids.push(second.process.pid());
    agent.pids.retain(|pid| Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(agent.pids, Vec::<i32>::new());
    assert_eq!(agent.supervised.process.wait().await, Status::Signalled(9));
    // Another tree is not concerned.
    Watch::over(&other.pids).all_live();
    other.supervised.process.stop(Stop::Kill);
}

/// The owner is this test binary again, in a process that can be killed without mercy.
#[tokio::test]
async fn what_is_stopped_ends_with_its_owner() {
    let mut owner = tokio::process::Command::new(me())
        .args(["--exact", "quiet::owner_of_a_quiet_tree", "--nocapture"])
        .env(PART, "owner")
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let mut pids = Vec::new();
    while pids.len() < 4 {
        let line = lines.next_line().await.unwrap().expect("the owner ended early");
        pids.extend(line.strip_prefix("stopped ").map(|pid| pid.parse::<i32>().unwrap()));
    }
    let watch = Watch::over(&pids);
    kill_process(Pid::from_raw(owner.id().unwrap() as i32).unwrap(), Signal::KILL).unwrap();
    owner.wait().await.unwrap();
    watch.all_end();
}

/// Plays the owner when the test above asks for it, and is an empty test otherwise.
#[tokio::test]
async fn owner_of_a_quiet_tree() {
    if std::env::var(PART).as_deref() != Ok("owner") {
        return;
    }
    let agent = Agent::start(WRITERS, 4).await;
    let pids = agent.pids.clone();
    let work = move || {
        pids.iter().for_each(|pid| println!("\nstopped {pid}"));
        loop {
            std::thread::park();
        }
    };
    run_in_quiet_tree(agent.path(), work).await.unwrap();
}

/// Starts `sleep` for that many seconds where nothing but its supervisor knows of it.
fn stray_sleep(seconds: u32) -> String {
    run(&format!("setsid sh -c 'setsid sleep {seconds} & exit 0' </dev/null >/dev/null 2>&1"))
}

fn is_running(env: &TestEnv, command: &str) -> bool {
    env.processes().iter().any(|process| process.command.contains(command))
}

#[test]
fn what_a_turn_leaves_running_ends_with_it_and_the_agent_stays() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[stray_sleep(6001), say("done")]));
    assert!(!is_running(&env, "sleep 6001"));
    assert!(is_running(&env, "demo-agent"));
    env.send_ready(&id, &[], &say("again"));

    env.coppice(&["send", &id, &steps(&[stray_sleep(6002), hang()])]).succeeds();
    env.wait_for_event(&id, "tool_finished", last_seq(&env, &id));
    assert!(is_running(&env, "sleep 6002"));
    env.coppice(&["stop", &id]).succeeds();
    assert!(!is_running(&env, "sleep 6002"));
}

fn last_seq(env: &TestEnv, id: &str) -> u64 {
    env.events(id).into_iter().rfind(|event| event["type"] == "turn_completed").unwrap()["seq"].as_u64().unwrap()
}

/// Git runs a user's filter with a script that the agent may have rewritten.
#[test]
fn a_filter_runs_in_a_whole_cage_and_leaves_nothing_behind() {
    let support = support().with_namespaces(Path::new(env!("CARGO_BIN_EXE_coppice")));
    if support.namespaces != Namespaces::Work {
        return;
    }
    let env = TestEnv::new();
    env.write("tools/clean", "cat\n");
    env.write(".gitattributes", "*.txt filter=own\n");
    env.commit("a filter");
    env.git(&["config", "filter.own.clean", "sh ./tools/clean"]);
    let script = "setsid sleep 6004 >/dev/null 2>&1 & sed s/mode/$(grep ^Seccomp: /proc/self/status | tr -dc 0-9)/";
    let prompt = [write("tools/clean", script), write("a.txt", "mode"), say("done")];
    let id = env.create_ready(&steps(&prompt));
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    assert_eq!(env.git(&["show", &format!("{branch}:a.txt")]), "2");
    assert!(!is_running(&env, "sleep 6004"));
}

#[test]
fn a_checkout_hook_ends_with_the_daemon() {
    let env = TestEnv::new();
    let hook = env.repo().join(".git/hooks/post-checkout");
    fs::write(&hook, "#!/bin/sh\nexec sleep 6005 >/dev/null 2>&1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    env.create(&say("done"));
    while !is_running(&env, "sleep 6005") {}
    env.kill_daemon();
    env.wait_for_ends("sleep 6005");
}

#[test]
fn no_program_of_ours_loads_a_library_of_an_agents() {
    let mut env = TestEnv::new();
    // An empty entry is the current directory.
    env.set("LD_LIBRARY_PATH", ":/nonexistent");
    for filter in [None, Some("cat")] {
        if let Some(filter) = filter {
            env.git(&["config", "filter.own.clean", filter]);
        }
        let prompt = [write("libc.so.6", "no library"), write("libz.so.1", "no library"), say("done")];
        let id = env.create_ready(&steps(&prompt));
        let session = env.session(&id);
        assert_eq!((&session["changes"]["files"], &session["last_error"]), (&2.into(), &Value::Null), "{session:#}");
        assert!(env.coppice(&["diff", &id]).stdout().contains("no library"));
    }
}

#[test]
fn nothing_of_a_removed_session_runs() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("done"));
    assert!(is_running(&env, "demo-agent"));
    env.coppice(&["rm", &id]).succeeds();
    assert!(!is_running(&env, "demo-agent"));
}

#[test]
fn killing_supervisors_ends_what_was_below_them() {
    let env = TestEnv::new();
    let id = env.create(&steps(&[stray_sleep(6003), hang()]));
    env.wait_for_event(&id, "tool_finished", 0);
    assert!(is_running(&env, "sleep 6003"));
    let processes = env.processes();
    let is_supervisor = |command: &str| command.trim().ends_with("supervise");
    for supervisor in processes.iter().filter(|process| is_supervisor(&process.command)) {
        kill_process(supervisor.pid, Signal::KILL).unwrap();
    }
    env.wait_for(&id, "failed");
    env.wait_for_ends("sleep 6003");
    env.wait_for_ends("demo-agent");
    env.send_ready(&id, &[], &say("again"));
}

#[test]
fn a_process_that_kills_its_supervisor_is_no_person() {
    let env = TestEnv::new();
    env.configure("sandbox.level = \"off\"");
    let before = fs::read_to_string(env.path("coppice/config.toml")).unwrap();
    let program = env!("CARGO_BIN_EXE_coppice");
    let script = format!(
        "supervisor=$(cut -d ' ' -f 4 /proc/$PPID/stat); export COPPICE_HOME='{home}'; setsid sh -c \"
         kill -9 $supervisor; while :; do '{program}' config set store.keep_removed 99d; done\" </dev/null >/dev/null 2>&1",
        home = env.path("coppice").display(),
    );
    let id = env.create(&steps(&[run(&script.replace('\n', " ")), hang()]));
    env.wait_for(&id, "failed");
    env.wait_for_ends("keep_removed");
    assert_eq!(fs::read_to_string(env.path("coppice/config.toml")).unwrap(), before);
}
