//! Served tools that work on files and run commands: decided about, performed in the cage, and ended with their turn.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{call, steps};

/// A world in which agents work with the tools that are served to them.
fn enforced() -> TestEnv {
    let env = TestEnv::new();
    env.configure("[tools]\nprofile = \"enforced\"\n");
    env
}

fn bash(command: &str) -> String {
    call("run_bash", &json!({ "command": command }))
}

fn create(env: &TestEnv, posture: &str, prompt: &str) -> String {
    env.create_with(&["--model", "demo", "--posture", posture], prompt)
}

/// Nobody waits longer for the other end of a pipe.
const LIMIT: Duration = Duration::from_secs(60);

/// What comes through a pipe, line by line. It is read on a thread of its own, which may wait for ever: the test does not.
struct Pipe(Receiver<String>);

impl Pipe {
    fn open(path: &Path) -> Self {
        let (sender, lines) = mpsc::channel();
        let path = path.to_owned();
        thread::spawn(move || {
            // Opens when somebody opens it to write.
            let pipe = BufReader::new(File::open(path).unwrap());
            for line in pipe.lines() {
                // A test that is over hears nothing.
                sender.send(line.unwrap()).ok();
            }
        });
        Self(lines)
    }

    /// Waits for the first line.
    #[track_caller]
    fn has_begun(&self) {
        assert_eq!(self.0.recv_timeout(LIMIT).as_deref(), Ok("begun"));
    }

    /// Waits until nobody can write to it.
    #[track_caller]
    fn has_ended(&self) {
        assert_eq!(self.0.recv_timeout(LIMIT), Err(mpsc::RecvTimeoutError::Disconnected));
    }
}

/// A session with a pipe `f` in its work tree; the prompt that follows may write to it.
fn with_pipe(env: &TestEnv, prompt: &str) -> (String, Pipe) {
    let id = create(env, "unattended", &bash("mkfifo f"));
    env.wait_for(&id, "ready");
    env.coppice(&["send", &id, prompt]).succeeds();
    let pipe = Pipe::open(&env.worktree(&id).join("f"));
    (id, pipe)
}

#[test]
fn what_a_command_left_behind_is_gone_before_the_files_are_put_away() {
    let env = enforced();
    let ticks = "(i=0; while :; do i=$((i+1)); echo $i > tick; done) > /dev/null 2>&1 & until [ -s tick ]; do :; done";
    let id = create(&env, "unattended", &bash(ticks));
    env.wait_for(&id, "ready");
    // Whoever still wrote would have changed what was committed.
    assert_eq!(env.git_in(&env.worktree(&id), &["status", "--porcelain"]), "");
    assert_eq!(env.git_in(&env.worktree(&id), &["ls-files", "tick"]), "tick");
}

#[test]
fn a_command_writes_in_the_tree_and_nowhere_else() {
    let env = enforced();
    let outside = env.path("outside");
    fs::create_dir(&outside).unwrap();
    let command = format!("echo in > made; echo out > {}/planted; echo end", outside.display());
    let id = create(&env, "unattended", &bash(&command));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.starts_with("exit=0\n--- stdout ---\nend\n--- stderr ---\n"), "{answer}");
    assert_eq!(fs::read_to_string(env.worktree(&id).join("made")).unwrap(), "in\n");
    // Where the kernel cannot hold a command, nothing does.
    let is_held = support().hold() == Hold::Enforced;
    assert_eq!(answer.contains("cannot create") || answer.contains("Permission denied"), is_held, "{answer}");
    assert_eq!(outside.join("planted").exists(), !is_held);
}

#[test]
fn a_picture_is_shown_up_to_twenty_mebibytes_and_nothing_is_written_through_a_link() {
    let env = enforced();
    let limit = 20 * 1024 * 1024;
    let calls = ["whole.gif", "larger.gif"].map(|name| call("read_file", &json!({ "path": name })));
    let write = call("write_file", &json!({ "path": "link", "content": "changed" }));
    let make = bash(&format!(
        "printf GIF89a | tee whole.gif > larger.gif; truncate -s {limit} whole.gif; truncate -s {} larger.gif; echo kept > small; ln -s small link",
        limit + 1
    ));
    let id = create(&env, "unattended", &steps(&[make, calls[0].clone(), calls[1].clone(), write]));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.contains(&format!("[image: whole.gif, image/gif, {limit} bytes]")), "{answer}");
    let refusal = format!("`larger.gif` has {} bytes: pictures are shown up to {limit}", limit + 1);
    assert!(answer.contains(&refusal), "{answer}");
    assert!(answer.contains("`link` goes through a link: name the file itself, `small`"), "{answer}");
    assert_eq!(fs::read_to_string(env.worktree(&id).join("small")).unwrap(), "kept\n");
}

#[test]
fn a_command_knows_no_keys() {
    let mut env = enforced();
    env.set("OPENAI_API_KEY", "sk-secret");
    let id = create(&env, "unattended", &bash("env | grep -c sk-secret; echo \"${TMPDIR:+own}\""));
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "exit=0\n--- stdout ---\n0\nown\n--- stderr ---\n");
}

#[test]
fn a_command_is_stopped_with_its_turn() {
    let env = enforced();
    let (id, pipe) = with_pipe(&env, &bash("exec 3> f; echo begun >&3; sleep 1000"));
    pipe.has_begun();
    env.coppice(&["stop", &id]).succeeds();
    pipe.has_ended();
    env.wait_for_ends("work-inside");
}

#[test]
fn what_a_command_says_is_cut_and_the_cut_is_told() {
    let env = enforced();
    let loud = "head -c 1500000 /dev/zero | tr '\\0' x";
    let id = create(&env, "unattended", &bash(loud));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.contains("…[truncated: the first 1048576 of 1500000 bytes]"), "{} bytes", answer.len());
}

#[test]
fn a_person_is_asked_about_a_command() {
    let env = enforced();
    let id = create(&env, "attended", &bash("touch made"));
    env.wait_for(&id, "approval");
    let approval = env.session(&id)["approvals"][0].clone();
    assert_eq!((&approval["title"], &approval["tool"]), (&json!("touch made"), &json!("run_bash")));
    assert!(!env.worktree(&id).join("made").exists());
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert!(env.worktree(&id).join("made").exists());
}

#[test]
fn a_command_that_a_rule_forbids_does_not_run() {
    let env = enforced();
    env.write(".coppice/permissions.local.json", r#"{"permissions":{"deny":["Bash(touch *)"]}}"#);
    let id = create(&env, "unattended", &bash("touch made"));
    env.wait_for(&id, "ready");
    assert!(env.last_answer(&id).contains("touch made"), "{}", env.last_answer(&id));
    assert!(!env.worktree(&id).join("made").exists());
}

#[test]
fn tests_are_asked_about_by_the_command_that_runs_them() {
    let mut env = TestEnv::new();
    env.write("Makefile", "test:\n");
    env.commit("how it is tested");
    // Not every machine has the program that the file is for.
    let programs = env.path("programs");
    fs::create_dir(&programs).unwrap();
    fs::write(programs.join("make"), "#!/bin/sh\necho \"ran $*\"; exit 2\n").unwrap();
    fs::set_permissions(programs.join("make"), fs::Permissions::from_mode(0o755)).unwrap();
    env.set("PATH", &format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    // Served whatever the agent has of its own.
    let id = create(&env, "attended", &call("run_tests", &json!({})));
    env.wait_for(&id, "approval");
    let approval = env.session(&id)["approvals"][0].clone();
    assert_eq!((&approval["title"], &approval["tool"]), (&json!("make test"), &json!("run_tests")));
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.starts_with("exit=2\n--- stdout ---\nran test\n--- stderr ---\n"), "{answer}");
}

#[test]
fn a_call_whose_process_dies_is_told_so_and_the_next_one_works() {
    let env = enforced();
    let calls = steps(&[bash("exec 3> f; echo begun >&3; sleep 1000"), bash("echo again")]);
    let (id, pipe) = with_pipe(&env, &calls);
    pipe.has_begun();
    let inside = env.processes().into_iter().filter(|process| process.command.contains("work-inside"));
    let inside: Vec<_> = inside.collect();
    assert_eq!(inside.len(), 1, "{inside:?}");
    kill_process(inside[0].pid, Signal::KILL).unwrap();
    pipe.has_ended();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.contains("has ended before it answered; call the tool again"), "{answer}");
    assert!(answer.contains("exit=0\n--- stdout ---\nagain\n"), "{answer}");
}

/// A diff that puts a word into each of these files, which are not there.
fn adding(paths: &[&str]) -> String {
    let file = |path: &&str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+word\n");
    call("apply_diff", &json!({ "diff": paths.iter().map(file).collect::<String>() }))
}

#[test]
fn a_diff_is_decided_about_by_all_of_its_files() {
    let env = enforced();
    let rules = r#"{"permissions":{"allow":["Edit(open/**)"],"deny":["Edit(locked/**)"]}}"#;
    env.write(".coppice/permissions.local.json", rules);
    env.trust();
    let has = |id: &str, path: &str| env.worktree(id).join(path).exists();
    // One file that a rule forbids refuses all of it, whoever could be asked.
    for posture in ["attended", "unattended"] {
        let id = create(&env, posture, &adding(&["open/a.txt", "locked/b.txt"]));
        env.wait_for(&id, "ready");
        let answer = env.last_answer(&id);
        assert!(answer.contains("denied by policy for pattern: locked/b.txt"), "{answer}");
        assert!(!has(&id, "open/a.txt") && !has(&id, "locked/b.txt"));
    }
    // All of them allowed: nobody is asked.
    let id = create(&env, "attended", &adding(&["open/a.txt", "open/b.txt"]));
    env.wait_for(&id, "ready");
    assert!(has(&id, "open/a.txt") && has(&id, "open/b.txt"), "{}", env.last_answer(&id));
    // One that no rule speaks of is a question about all of them.
    let id = create(&env, "attended", &adding(&["open/a.txt", "other.txt"]));
    env.wait_for(&id, "approval");
    assert!(!has(&id, "open/a.txt") && !has(&id, "other.txt"));
    assert_eq!(env.session(&id)["approvals"][0]["tool"], "apply_diff");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert!(has(&id, "open/a.txt") && has(&id, "other.txt"), "{}", env.last_answer(&id));
    // Nor does a header lead out of the tree.
    let id = create(&env, "unattended", &adding(&["open/a.txt", "../planted.txt"]));
    env.wait_for(&id, "ready");
    assert!(!has(&id, "open/a.txt") && !has(&id, "../planted.txt"), "{}", env.last_answer(&id));
}

#[test]
fn a_page_of_the_own_machine_is_not_fetched() {
    let env = enforced();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let fetch = |url: String| call("fetch_url", &json!({ "url": url }));
    let calls = [
        fetch(format!("http://127.0.0.1:{port}/")),
        fetch(format!("http://localhost:{port}/")),
        fetch(format!("http://[::1]:{port}/")),
        fetch("file:///etc/passwd".to_owned()),
    ];
    let id = create(&env, "unattended", &steps(&calls));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert_eq!(answer.matches("error: fetch_url: ").count(), 4, "{answer}");
    assert!(!answer.contains("root:x:0"), "{answer}");
    let came = listener.accept().map(|(_, from)| from).map_err(|error| error.kind());
    assert_eq!(came, Err(std::io::ErrorKind::WouldBlock), "nothing reaches the port");
}

#[test]
fn files_are_worked_on_in_the_cage() {
    let env = enforced();
    let outside = env.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "hidden").unwrap();
    let read = |path: &Path| call("read_file", &json!({ "path": path }));
    let calls: [String; 4] = [
        call("write_file", &json!({ "path": "a/b.txt", "content": "one\ntwo\n" })),
        read(Path::new("a/b.txt")),
        call("grep", &json!({ "pattern": "tw", "path": "a" })),
        bash(&format!("ln -s {} way", outside.display())),
    ];
    let id = create(&env, "unattended", &steps(&calls));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.contains("wrote 8 bytes") && answer.contains("2\ttwo"), "{answer}");
    env.send_ready(&id, &[], &read(Path::new("way/secret")));
    assert!(!env.last_answer(&id).contains("hidden"), "{}", env.last_answer(&id));
    assert_eq!(env.session(&id)["approvals"], Value::Array(Vec::new()));
}

#[test]
fn who_only_reads_fetches_pages_of_listed_hosts_alone() {
    let env = TestEnv::new();
    let fetch = |url: &str| call("fetch_url", &json!({ "url": url }));
    for url in ["http://pages.example/", "https://pages.example/"] {
        let id = env.create_with(&["--model", "demo", "--profile", "readonly"], &fetch(url));
        env.wait_for(&id, "ready");
        let answer = env.last_answer(&id);
        assert!(answer.contains("pages.example") && answer.contains("`sandbox.hosts`"), "{answer}");
    }
}

#[test]
fn a_served_call_that_went_ahead_by_itself_says_by_what() {
    let env = enforced();
    let read = call("read_file", &json!({ "path": "made" }));
    let id = create(&env, "unattended", &steps(&[bash("echo in > made"), read]));
    env.wait_for(&id, "ready");
    let ended = env.events(&id).into_iter().filter(|event| event["type"] == "tool_finished");
    let passed: Vec<_> = ended.map(|event| event["auto"].clone()).collect();
    assert_eq!(passed, [json!({"layer": "posture", "posture": "unattended"}), Value::Null]);
}
