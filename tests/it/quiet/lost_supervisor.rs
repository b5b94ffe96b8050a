//! The end of a process of ours above an agent, whatever ends it, is the end of all below, in every kind of sandbox.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::{is_running, last_seq, me, stray_sleep};
use crate::env::TestEnv;
use crate::escape::isolation::refuse_namespaces;
use crate::script::{hang, run, say, steps};

const ALONE: &str = "COPPICE_TEST_WITHOUT_NAMESPACES";

fn with_namespaces() -> TestEnv {
    TestEnv::new()
}

fn without_sandbox() -> TestEnv {
    let env = TestEnv::new();
    env.configure("sandbox.level = \"off\"");
    env
}

/// Runs a test of this file in a process whose daemon gets no namespaces.
fn run_without_namespaces(test: &str) {
    let name = format!("quiet::lost_supervisor::{test}");
    let output = std::process::Command::new(me()).args(["--exact", &name]).env(ALONE, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The environment of a test that [`run_without_namespaces`] runs, and nobody else.
fn without_namespaces() -> Option<TestEnv> {
    std::env::var_os(ALONE)?;
    refuse_namespaces();
    Some(TestEnv::new())
}

/// The processes of ours above the agents, outermost first.
fn supervisors(env: &TestEnv) -> Vec<Pid> {
    let is_ours = |command: &str| command.split(' ').nth(1) == Some("supervise");
    let mut found: Vec<_> =
        env.processes().into_iter().filter(|process| is_ours(&process.command)).map(|process| process.pid).collect();
    found.sort_by_key(|pid| started(*pid));
    found
}

fn started(pid: Pid) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    stat.rsplit(')').next().unwrap().split_ascii_whitespace().nth(19).unwrap().parse().unwrap()
}

/// Starts a session that has left a process behind, where nothing but its supervisor knows of it.
fn session_with_stray(env: &TestEnv, seconds: u32) -> String {
    let writes = run("setsid sh -c 'while :; do echo x >> written; done' </dev/null >/dev/null 2>&1 & echo");
    let id = env.create(&steps(&[writes, stray_sleep(seconds), hang()]));
    env.wait_for_event(&id, "tool_finished", 0);
    while !is_running(env, &format!("sleep {seconds}")) {}
    id
}

/// Each process above the agent is killed once, in a session of its own.
fn kill_each_supervisor(env: &TestEnv) {
    let mut place = 0;
    loop {
        let id = session_with_stray(env, 6041);
        let above = supervisors(env);
        let Some(killed) = above.get(place) else {
            assert!(place > 0);
            return env.coppice(&["stop", &id]).succeeds();
        };
        kill_process(*killed, Signal::KILL).unwrap();
        env.wait_for(&id, "failed");
        env.wait_for_ends("sleep 6041");
        env.wait_for_ends("written");
        env.wait_for_ends("demo-agent");
        env.coppice(&["rm", &id]).succeeds();
        place += 1;
    }
}

/// What a turn has started ends with the turn that is stopped, and the agent stays.
fn stop_a_turn(env: &TestEnv) {
    let id = env.create_ready(&say("begun"));
    let writes = "setsid sh -c 'while :; do echo x >> written; done' </dev/null >/dev/null 2>&1 & echo";
    let prompt = steps(&[run(writes), stray_sleep(6042), hang()]);
    env.coppice(&["send", &id, &prompt]).succeeds();
    env.wait_for_event(&id, "tool_finished", last_seq(env, &id));
    while !is_running(env, "sleep 6042") {}
    env.coppice(&["stop", &id]).succeeds();
    assert!(!is_running(env, "sleep 6042") && !is_running(env, "written"));
    env.send_ready(&id, &[], &say("again"));
}

/// The daemon dies together with all supervisors, and the next one finds what they left.
fn kill_everything_above(env: &TestEnv) {
    let id = session_with_stray(env, 6043);
    let daemon = env.daemon_pid().unwrap();
    kill_process(daemon, Signal::STOP).unwrap();
    for pid in supervisors(env) {
        // The end of one may have been the end of the next.
        kill_process(pid, Signal::KILL).ok();
    }
    kill_process(daemon, Signal::KILL).unwrap();
    assert_eq!(env.status(&id), "interrupted");
    assert!(!is_running(env, "sleep 6043") && !is_running(env, "written") && !is_running(env, "demo-agent"));
}

#[test]
fn nothing_outlives_a_supervisor() {
    kill_each_supervisor(&with_namespaces());
    kill_each_supervisor(&without_sandbox());
    run_without_namespaces("nothing_outlives_a_supervisor_without_namespaces");
}

#[test]
fn nothing_outlives_a_supervisor_without_namespaces() {
    if let Some(env) = without_namespaces() {
        kill_each_supervisor(&env);
    }
}

#[test]
fn a_stop_ends_what_the_turn_started() {
    stop_a_turn(&with_namespaces());
    stop_a_turn(&without_sandbox());
    run_without_namespaces("a_stop_ends_what_the_turn_started_without_namespaces");
}

#[test]
fn a_stop_ends_what_the_turn_started_without_namespaces() {
    if let Some(env) = without_namespaces() {
        stop_a_turn(&env);
    }
}

#[test]
fn nothing_outlives_the_daemon_and_all_supervisors() {
    kill_everything_above(&with_namespaces());
    kill_everything_above(&without_sandbox());
    run_without_namespaces("nothing_outlives_the_daemon_and_all_supervisors_without_namespaces");
}

#[test]
fn nothing_outlives_the_daemon_and_all_supervisors_without_namespaces() {
    if let Some(env) = without_namespaces() {
        kill_everything_above(&env);
    }
}
