//! The daemon's own life: started by whoever comes first, never two, gone when nobody needs it.

use std::os::unix::net::UnixListener;

use rustix::process::{Signal, kill_process};

use crate::env::TestEnv;
use crate::script::{ask_to_run, hang, run, say};
use crate::seat::Seat;

#[test]
fn the_first_command_starts_it_and_status_does_not() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "status"]).exits(6).transcript();
    assert_eq!(env.daemon_pid(), None);
    env.coppice(&["list"]).succeeds();
    let status = env.json(&["daemon", "status"]);
    assert_eq!((&status["running"], &status["sessions"]), (&true.into(), &0.into()), "{status:#}");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn clients_that_race_find_one_daemon() {
    let env = TestEnv::new();
    let racers: Vec<_> = (0..6).map(|_| env.start(&["list", "--json"])).collect();
    for racer in racers {
        let (code, stderr) = racer.end();
        assert_eq!(code, Some(0), "{stderr}");
    }
    let daemons: Vec<_> =
        env.processes().into_iter().filter(|process| process.command.contains("daemon run")).collect();
    assert_eq!(daemons.len(), 1, "{daemons:?}");
}

#[test]
fn a_second_daemon_is_refused() {
    let env = TestEnv::new();
    env.coppice(&["list"]).succeeds();
    let pid = env.daemon_pid();
    let output = env.coppice(&["daemon", "run"]).exits(1);
    let text = output.transcript().replace(&pid.unwrap().to_string(), "[PID]");
    insta::assert_snapshot!(text, @r"
    exit: 1
    -- stderr
    error: a daemon is already running (pid [PID], socket `[ROOT]/coppice/run/daemon.sock`)
    ");
    assert_eq!(env.daemon_pid(), pid);
}

#[test]
fn a_stale_socket_is_no_obstacle() {
    let env = TestEnv::new();
    env.coppice(&["list"]).succeeds();
    let socket = env.json(&["daemon", "status"])["socket"].as_str().unwrap().to_owned();
    env.kill_daemon();
    std::fs::remove_file(&socket).ok();
    drop(UnixListener::bind(&socket).unwrap());
    env.coppice(&["daemon", "status"]).exits(6).transcript();
    env.coppice(&["list"]).succeeds();
}

#[test]
fn socket_and_data_belong_to_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    env.coppice(&["list"]).succeeds();
    let socket = std::path::PathBuf::from(env.json(&["daemon", "status"])["socket"].as_str().unwrap());
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn the_first_term_lets_a_turn_end_and_the_second_does_not() {
    let env = TestEnv::new();
    let waits = env.create(&ask_to_run("true"));
    env.wait_for(&waits, "approval");
    let hangs = env.create(&hang());
    env.wait_for_event(&hangs, "turn_started", 0);
    env.signal_daemon(Signal::TERM);
    env.coppice(&["daemon", "status"]).succeeds();
    env.signal_daemon(Signal::TERM);
    assert_eq!(env.survivors(), Vec::<String>::new());
    assert_eq!(env.status(&hangs), "interrupted");
}

#[test]
fn a_drain_ends_when_the_last_turn_has_ended() {
    let env = TestEnv::new();
    let id = env.create(&hang());
    env.wait_for_event(&id, "turn_started", 0);
    env.signal_daemon(Signal::TERM);
    // What could not begin is not taken.
    insta::assert_snapshot!(env.coppice(&["new", "--model", "demo", "late"]).transcript(), @r"
    exit: 1
    -- stderr
    error: the daemon is ending and begins no further turn

    hint: try again: the next command starts another daemon
    ");
    env.coppice(&["stop", &id]).succeeds();
    assert_eq!(env.survivors(), Vec::<String>::new());
    env.create_ready(&say("later"));
}

#[test]
fn an_idle_daemon_ends_by_itself() {
    let env = TestEnv::new();
    env.configure("[daemon]\nidle_exit = \"1s\"\n");
    env.coppice(&["list"]).succeeds();
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn stop_ends_it_and_the_next_command_starts_another() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("hi"));
    env.coppice(&["daemon", "stop"]).succeeds();
    assert_eq!(env.survivors(), Vec::<String>::new());
    assert_eq!(env.status(&id), "ready");
}

#[test]
fn its_log_holds_no_prompt_and_no_answer() {
    let env = TestEnv::new();
    env.create_ready(&say("a-secret-answer"));
    let log = env.coppice(&["daemon", "logs"]).stdout();
    assert!(!log.is_empty());
    assert!(!log.contains("a-secret-answer"), "{log}");
}

#[test]
fn an_agent_cannot_decide_for_its_user() {
    let env = TestEnv::new();
    // In the sandbox it would not even reach the daemon.
    env.configure("[sandbox]\nlevel = \"off\"");
    let program = env!("CARGO_BIN_EXE_coppice");
    let home = env.path("coppice");
    let id = env.create_ready(&run(&format!(
        "COPPICE_HOME={} {program} config set limits.parallel_turns 9 > said.txt 2>&1; true",
        home.display()
    )));
    let said = std::fs::read_to_string(env.worktree(&id).join("said.txt")).unwrap();
    insta::assert_snapshot!(said, @r"
    error: this decision belongs to a person, and the request came from an agent's process

    hint: run the command in a terminal of your own
    ");
    assert_eq!(env.coppice(&["config", "get", "limits.parallel_turns"]).stdout(), "0\n");
}

#[test]
fn a_daemon_that_does_not_answer_is_named_while_it_is_waited_for() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let pid = env.daemon_pid().unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let mut seat = Seat::take(&env.to_start(&["list"]));
    seat.showed(&format!("waiting for the daemon (pid {}), which does not answer yet", pid.as_raw_nonzero()));
    kill_process(pid, Signal::CONT).unwrap();
    assert_eq!(seat.ends(), 0);
}
