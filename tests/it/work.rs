//! Served tools that work on files and run commands: decided about, performed in the cage, and ended with their turn.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

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

/// A session with a pipe `f` in its work tree; the prompt that follows may write to it.
fn with_pipe(env: &TestEnv, prompt: &str) -> (String, BufReader<File>) {
    let id = create(env, "unattended", &bash("mkfifo f"));
    env.wait_for(&id, "ready");
    env.coppice(&["send", &id, prompt]).succeeds();
    // Opens when somebody opens it to write.
    let pipe = File::open(env.worktree(&id).join("f")).unwrap();
    (id, BufReader::new(pipe))
}

/// Waits for the first line of a pipe.
fn begun(pipe: &mut BufReader<File>) {
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
}

/// Waits until nobody can write to a pipe.
fn ended(mut pipe: BufReader<File>) {
    let mut rest = String::new();
    pipe.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
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
fn r106_a_command_writes_in_the_tree_and_nowhere_else() {
    let env = enforced();
    let outside = env.path("outside");
    fs::create_dir(&outside).unwrap();
    let command = format!("echo in > made; echo out > {}/planted; echo end", outside.display());
    let id = create(&env, "unattended", &bash(&command));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.starts_with("exit=0\n--- stdout ---\nend\n--- stderr ---\n"), "{answer}");
    assert!(answer.contains("Permission denied"), "{answer}");
    assert_eq!(fs::read_to_string(env.worktree(&id).join("made")).unwrap(), "in\n");
    assert!(!outside.join("planted").exists());
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
    let (id, mut pipe) = with_pipe(&env, &bash("exec 3> f; echo begun >&3; sleep 1000"));
    begun(&mut pipe);
    env.coppice(&["stop", &id]).succeeds();
    ended(pipe);
    env.wait_for_ends("work-inside");
}

#[test]
fn r106_what_a_command_says_is_cut_and_the_cut_is_told() {
    let env = enforced();
    let loud = "head -c 1500000 /dev/zero | tr '\\0' x";
    let id = create(&env, "unattended", &bash(loud));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.contains("…[truncated: the first 1048576 of 1500000 bytes]"), "{} bytes", answer.len());
}

#[test]
fn r106_a_person_is_asked_about_a_command() {
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
    let env = TestEnv::new();
    env.write("Makefile", "test:\n\t@echo ran; false\n");
    env.commit("how it is tested");
    // Served whatever the agent has of its own.
    let id = create(&env, "attended", &call("run_tests", &json!({})));
    env.wait_for(&id, "approval");
    let approval = env.session(&id)["approvals"][0].clone();
    assert_eq!((&approval["title"], &approval["tool"]), (&json!("make test"), &json!("run_tests")));
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.starts_with("exit=2\n--- stdout ---\nran\n--- stderr ---\n"), "{answer}");
}

#[test]
fn a_call_whose_process_dies_is_told_so_and_the_next_one_works() {
    let env = enforced();
    let calls = steps(&[bash("exec 3> f; echo begun >&3; sleep 1000"), bash("echo again")]);
    let (id, mut pipe) = with_pipe(&env, &calls);
    begun(&mut pipe);
    let inside = env.processes().into_iter().filter(|process| process.command.contains("work-inside"));
    let inside: Vec<_> = inside.collect();
    assert_eq!(inside.len(), 1, "{inside:?}");
    kill_process(inside[0].pid, Signal::KILL).unwrap();
    ended(pipe);
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.contains("has ended before it answered; call the tool again"), "{answer}");
    assert!(answer.contains("exit=0\n--- stdout ---\nagain\n"), "{answer}");
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
fn r105_who_only_reads_fetches_pages_of_listed_hosts_alone() {
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
