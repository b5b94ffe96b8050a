//! The daemon's own life: started by whoever comes first, never two, gone when nobody needs it.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use rustix::process::{Resource, Signal, Uid, geteuid, getrlimit, kill_process};
use rustix::thread::{no_new_privs, set_no_new_privs, set_thread_res_uid};

use crate::env::TestEnv;
use crate::script::{ask_to_run, hang, run, say, steps, write};
use crate::seat::Seat;

#[test]
fn the_first_command_starts_it_and_status_does_not() {
    let env = TestEnv::new();
    let absent = env.coppice(&["daemon", "status", "--json"]).exits(6).stdout;
    let absent: serde_json::Value = serde_json::from_str(&absent).unwrap();
    assert_eq!((&absent["running"], &absent["pid"]), (&false.into(), &serde_json::Value::Null), "{absent:#}");
    assert_eq!(env.daemon_pid(), None);
    env.coppice(&["list"]).succeeds();
    let status = env.json(&["daemon", "status"]);
    assert_eq!((&status["running"], &status["sessions"]), (&true.into(), &0.into()), "{status:#}");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn whatever_has_the_path_of_the_socket_is_named_at_once() {
    let env = TestEnv::new();
    let socket = env.path("coppice/run/daemon.sock");
    fs::create_dir_all(&socket).unwrap();
    let begun = Instant::now();
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 6
    -- stderr
    error: `[ROOT]/coppice/run/daemon.sock` is not a socket: no daemon can listen there

    hint: move it away and try again; a daemon that runs listens there again by itself
    ");
    fs::remove_dir(&socket).unwrap();
    // It listens and accepts nobody.
    let listener = UnixListener::bind(&socket).unwrap();
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 6
    -- stderr
    error: a program that is not coppice listens on `[ROOT]/coppice/run/daemon.sock`

    hint: end that program, or name another directory with COPPICE_HOME
    ");
    let stop = env.coppice(&["daemon", "stop", "--force"]).exits(6).stderr;
    assert!(stop.contains("a program that is not coppice listens on"), "{stop}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    drop(listener);
    env.coppice(&["list"]).succeeds();
    // A daemon that runs listens again once the path is free.
    fs::remove_file(&socket).unwrap();
    fs::create_dir(&socket).unwrap();
    env.coppice(&["list"]).exits(6).transcript();
    fs::remove_dir(&socket).unwrap();
    env.coppice(&["list"]).succeeds();
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
fn a_full_disk_below_its_logs_stops_nobody() {
    let env = TestEnv::new();
    for log in ["coppice/data/log/daemon.log", "coppice/run/start.log"] {
        fs::create_dir_all(env.path(log).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/dev/full", env.path(log)).unwrap();
    }
    let id = env.create_ready(&say("one"));
    env.send_ready(&id, &[], &say("two"));
    env.coppice(&["rm", &id]).succeeds();
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

    hint: `coppice daemon stop --now` ends the turns that it waits for; then the next command starts another daemon
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
fn an_agent_without_a_turn_does_not_keep_the_daemon_alive() {
    let env = TestEnv::new();
    env.configure("[daemon]\nidle_exit = \"1s\"\n");
    env.create_ready(&say("done"));
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
    let other = env.create_ready(&say("hi"));
    let daemon = env.daemon_pid();
    let acts = [
        "config set limits.parallel_turns 9",
        "daemon stop",
        "new --model demo @answer",
        &format!("send {other} @answer"),
        &format!("undo {other}"),
        &format!("rm {other}"),
    ];
    let script =
        acts.map(|act| run(&format!("COPPICE_HOME={} {program} {act} >> said.txt 2>&1; true", home.display())));
    let id = env.create_ready(&steps(&script));
    let said = std::fs::read_to_string(env.worktree(&id).join("said.txt")).unwrap();
    let refusal = "error: only a person may do this, and the request came from a process of a session\n\n\
                   hint: run the command in a terminal of your own; processes of a session may only look: \
                   `coppice list --all`, `coppice show ID`, `coppice diff ID`\n";
    assert_eq!(said, refusal.repeat(acts.len()));
    assert_eq!(env.coppice(&["config", "get", "limits.parallel_turns"]).stdout(), "0\n");
    assert_eq!(env.daemon_pid(), daemon);
    assert_eq!(env.json(&["list"]).as_array().unwrap().len(), 2);
}

/// A process that lost its daemon is below no other one.
#[cfg(target_os = "linux")]
#[test]
fn a_process_in_a_sandbox_is_no_person_whoever_started_it() {
    if no_new_privs().unwrap() {
        // The daemon of this test is in the same sandbox.
        return;
    }
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let mut stop = env.to_start(&["daemon", "stop"]);
    let confined = std::thread::spawn(move || {
        set_no_new_privs(true).unwrap();
        stop.output().unwrap()
    });
    insta::assert_snapshot!(String::from_utf8(confined.join().unwrap().stderr).unwrap(), @r"
    error: only a person may do this, and the request came from a process in a sandbox

    hint: run the command in a terminal outside of the sandbox; if you work in a sandbox of your own, stop the daemon there with `coppice daemon stop`, and the next command starts one in your sandbox
    ");
    env.coppice(&["daemon", "stop"]).succeeds();
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

#[test]
fn a_daemon_that_was_stopped_can_be_killed_by_the_command_line() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let pid = env.daemon_pid().unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let mut seat = Seat::take(&env.to_start(&["daemon", "status"]));
    seat.showed(&format!("waiting for the daemon (pid {}), which does not answer yet", pid.as_raw_nonzero()));
    let killed = env.coppice(&["daemon", "stop", "--force"]).exits(0);
    assert!(killed.stderr.contains(&format!("killed the daemon (pid {})", pid.as_raw_nonzero())), "{}", killed.stderr);
    assert_eq!(seat.ends(), 6);
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn a_daemon_that_hangs_while_it_ends_is_killed_when_a_person_forces_it() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let (pid, socket) = (env.daemon_pid().unwrap(), socket_path(&env));
    // A request that is never complete holds up the end for a while.
    let mut client = UnixStream::connect(&socket).unwrap();
    let head = "POST /v1/sessions HTTP/1.1\r\nhost: coppice\r\ncontent-type: application/json\r\ncontent-length: 9\r\n";
    client.write_all(format!("{head}expect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    client.read_exact(&mut [0]).unwrap();
    let stop = env.start(&["daemon", "stop", "--force"]);
    while socket.exists() {}
    kill_process(pid, Signal::STOP).unwrap();
    let (code, stderr) = stop.end();
    let killed = format!("killed the daemon (pid {}); the next command starts another\n", pid.as_raw_nonzero());
    assert_eq!((code, stderr), (Some(0), killed));
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn a_start_waits_for_the_daemon_that_is_ending_and_starts_another() {
    let env = TestEnv::new();
    let id = env.create(&hang());
    env.wait_for_event(&id, "turn_started", 0);
    let old = env.daemon_pid().unwrap();
    env.coppice(&["daemon", "stop"]).succeeds();
    let mut seat = Seat::take(&env.to_start(&["daemon", "start"]));
    seat.showed(&format!("waiting for the daemon (pid {}) to end", old.as_raw_nonzero()));
    env.coppice(&["daemon", "stop", "--now"]).succeeds();
    assert_eq!(seat.ends(), 0);
    assert_ne!(env.daemon_pid().unwrap(), old);
}

#[test]
fn a_daemon_whose_directory_was_removed_listens_again() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let (pid, run) = (env.daemon_pid(), socket_path(&env).parent().unwrap().to_owned());
    fs::remove_dir_all(run).unwrap();
    env.coppice(&["list"]).succeeds();
    assert_eq!(env.daemon_pid(), pid);
}

#[test]
fn a_daemon_that_nobody_can_reach_is_named_and_ends_when_it_is_told_to() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let (pid, run) = (env.daemon_pid().unwrap().as_raw_nonzero(), socket_path(&env).parent().unwrap().to_owned());
    fs::remove_dir_all(&run).unwrap();
    fs::write(&run, "in the way").unwrap();
    let status = env.coppice(&["daemon", "status"]).exits(6);
    assert!(status.stderr.contains(&format!("the daemon runs (pid {pid}), but nothing listens")), "{}", status.stderr);
    env.coppice(&["daemon", "stop"]).succeeds();
    assert_eq!(env.survivors(), Vec::<String>::new());
}

#[test]
fn another_login_with_a_runtime_directory_of_its_own_finds_the_same_daemon() {
    let mut env = TestEnv::new();
    let (home, data) = (env.path("home"), env.path("home/.local/share/coppice"));
    env.set("COPPICE_HOME", "");
    env.set("XDG_DATA_HOME", data.parent().unwrap().to_str().unwrap());
    env.set("XDG_CONFIG_HOME", home.join(".config").to_str().unwrap());
    for login in ["first", "second"] {
        fs::create_dir(env.path(login)).unwrap();
    }
    env.set("XDG_RUNTIME_DIR", env.path("first").to_str().unwrap());
    env.coppice(&["daemon", "start"]).succeeds();
    let pid = env.daemon_pid();
    env.set("XDG_RUNTIME_DIR", env.path("second").to_str().unwrap());
    env.coppice(&["list"]).succeeds();
    assert_eq!(env.daemon_pid(), pid);
    env.coppice(&["daemon", "stop"]).succeeds();
    assert_eq!(env.survivors(), Vec::<String>::new());
}

/// The socket of the running daemon.
fn socket_path(env: &TestEnv) -> PathBuf {
    env.json(&["daemon", "status"])["socket"].as_str().unwrap().into()
}

/// Sends a request and reads to the end of the connection; the server may close it before or after the request.
fn ask_for_sessions(mut socket: UnixStream) -> String {
    let mut reply = String::new();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.write_all(b"GET /v1/sessions HTTP/1.1\r\nhost: coppice\r\nconnection: close\r\n\r\n").ok();
    socket.read_to_string(&mut reply).ok();
    reply
}

#[test]
fn idle_connections_give_way_to_new_ones() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let path = socket_path(&env);
    let idle: Vec<_> = (0..300).map(|_| UnixStream::connect(&path).unwrap()).collect();
    env.coppice(&["list"]).succeeds();
    let mut oldest = idle.first().unwrap();
    oldest.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert_eq!(oldest.read(&mut [0]).unwrap(), 0, "the daemon closes it");
}

#[test]
fn another_user_is_refused_even_where_the_modes_are_open() {
    if !geteuid().is_root() {
        // Only root can act as another user.
        return;
    }
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let path = socket_path(&env);
    let (top, temp) = (env.path(""), std::env::temp_dir());
    for opened in path.ancestors().take_while(|opened| opened.starts_with(&top) && *opened != temp) {
        fs::set_permissions(opened, Permissions::from_mode(0o777)).unwrap();
    }
    assert!(ask_for_sessions(UnixStream::connect(&path).unwrap()).starts_with("HTTP/1.1 200"));
    let reply_to_stranger = std::thread::spawn(move || {
        let nobody = Uid::from_raw(65534);
        set_thread_res_uid(nobody, nobody, nobody).unwrap();
        ask_for_sessions(UnixStream::connect(&path).unwrap())
    });
    assert_eq!(reply_to_stranger.join().unwrap(), "");
}

/// The soft limit of open files of a process.
fn soft_descriptor_limit(limits: &Path) -> u64 {
    let text = fs::read_to_string(limits).unwrap();
    let line = text.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// Starts the daemon from a shell that sets limits.
fn start_limited(env: &TestEnv, limits: &str) {
    let start = env.to_start(&["daemon", "start"]);
    let mut limited = std::process::Command::new("sh");
    let script = format!("{limits} && exec \"$@\"");
    limited.args(["-c", &script, "sh"]).arg(start.get_program()).args(start.get_args());
    limited.current_dir(start.get_current_dir().unwrap()).env_clear();
    limited.envs(start.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(limited.output().unwrap().status.success());
}

#[cfg(target_os = "linux")]
#[test]
fn the_daemon_may_open_more_files_than_its_agents() {
    let env = TestEnv::new();
    start_limited(&env, "ulimit -Sn 200");
    let pid = env.daemon_pid().unwrap().as_raw_nonzero();
    let limits = format!("/proc/{pid}/limits");
    assert_eq!(Some(soft_descriptor_limit(limits.as_ref())), getrlimit(Resource::Nofile).maximum);
    let id = env.create_ready(&run("ulimit -Sn > limit.txt"));
    assert_eq!(fs::read_to_string(env.worktree(&id).join("limit.txt")).unwrap(), "200\n");
}

#[test]
fn more_sessions_than_there_are_descriptors_for_keep_no_agent_and_all_finish() {
    let env = TestEnv::new();
    start_limited(&env, "ulimit -n 160");
    let ids: Vec<_> = (0..32).map(|number| env.create(&write("file.txt", &number.to_string()))).collect();
    for id in &ids {
        env.wait_for(id, "ready");
    }
    env.coppice(&["merge", &ids[0]]).succeeds();
    assert_eq!(env.read("file.txt"), "0\n");
    // The agents that were used last are there, the others are not.
    let agents = env.processes().into_iter().filter(|process| process.command.contains("demo-agent"));
    assert!((1..32).contains(&agents.count()));
    env.send_ready(&ids[1], &[], &say("again"));
}

#[test]
fn a_turn_without_descriptors_names_the_limit() {
    let env = TestEnv::new();
    start_limited(&env, "ulimit -n 160");
    // A turn that waits for a person needs its agent.
    let failed = (0..40).find_map(|_| {
        let id = env.create(&ask_to_run("true"));
        // Its exit code says what the status says.
        drop(env.coppice(&["wait", &id]));
        let session = env.session(&id);
        (session["status"] == "failed").then_some(session)
    });
    let hint = failed.expect("a turn fails")["last_error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.starts_with("the daemon has reached its limit of open files (RLIMIT_NOFILE = 160): "), "{hint}");
}
