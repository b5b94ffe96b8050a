//! Git in the middle of its work on a session's tree, and what the processes of that session do meanwhile.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{state, stray_sleep};
use crate::env::TestEnv;
use crate::script::{hang, say, steps, write};

/// A git of the daemon's that waits for the test whenever its arguments contain what the test says.
struct HeldGit {
    directory: PathBuf,
}

impl HeldGit {
    /// Puts it in front of the real one, before the daemon starts.
    fn install(env: &mut TestEnv) -> Self {
        let directory = env.wrap_git("held", "read -r line < \"${0%/*}/gate\"");
        mknodat(CWD, directory.join("gate"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        Self { directory }
    }

    /// Runs `coppice` with these arguments, and `look` while a git with `held` in its arguments waits.
    fn look_during(&self, env: &TestEnv, held: &str, arguments: &[&str], look: impl FnOnce()) {
        let (code, said) = self.act_during(env, held, arguments, look);
        assert_eq!(code, Some(0), "{said}");
    }

    /// The same for a command that may fail: its exit code and what it said.
    fn act_during(&self, env: &TestEnv, held: &str, arguments: &[&str], act: impl FnOnce()) -> (Option<i32>, String) {
        // Read as a whole or not at all.
        fs::write(self.directory.join("next"), format!("{held}\n")).unwrap();
        fs::rename(self.directory.join("next"), self.directory.join("held")).unwrap();
        let running = env.start(arguments);
        let gate = self.wait_for_reader();
        act();
        fs::remove_file(self.directory.join("held")).unwrap();
        drop(gate);
        running.end()
    }

    /// The end of the pipe that holds git, once git waits at the other one.
    fn wait_for_reader(&self) -> File {
        let nonblocking = OFlags::NONBLOCK.bits().try_into().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match File::options().write(true).custom_flags(nonblocking).open(self.directory.join("gate")) {
                Ok(gate) => return gate,
                Err(error) => assert!(Instant::now() < deadline, "git does not come: {error}"),
            }
        }
    }
}

/// Whether the processes with this text in their command lines are stopped; all of them are, or none.
fn is_stopped(env: &TestEnv, command: &str) -> bool {
    let processes = env.processes().into_iter().filter(|process| process.command.contains(command));
    let mut states: Vec<_> = processes.map(|process| state(process.pid.as_raw_nonzero().get()) == 'T').collect();
    states.dedup();
    assert_eq!(states.len(), 1, "{:?}", env.processes());
    states[0]
}

#[test]
fn a_merge_into_the_branch_of_a_session_stops_that_session() {
    let mut env = TestEnv::new();
    let git = HeldGit::install(&mut env);
    let target = env.create(&steps(&[stray_sleep(6021), hang()]));
    env.wait_for_event(&target, "tool_finished", 0);
    let branch = env.session(&target)["branch"].as_str().unwrap().to_owned();
    let source = env.create_with(&["--model", "demo", "--base", &branch], &write("merged.txt", "merged"));
    env.wait_for(&source, "ready");
    git.look_during(&env, "read-tree -m -u", &["merge", &source], || {
        assert!(is_stopped(&env, "sleep 6021"));
    });
    assert!(!is_stopped(&env, "sleep 6021"));
    assert_eq!(fs::read_to_string(env.worktree(&target).join("merged.txt")).unwrap(), "merged\n");
    assert_eq!(env.git_in(&env.worktree(&target), &["status", "--porcelain"]), "");
}

#[test]
fn an_undo_whose_session_is_killed_meanwhile_is_completed_by_the_next_act() {
    let mut env = TestEnv::new();
    let git = HeldGit::install(&mut env);
    let id = env.create_ready(&write("undone.txt", "one"));
    let (code, said) = git.act_during(&env, "read-tree --reset", &["undo", &id], || {
        let processes = env.processes();
        let supervisor = processes.iter().find(|process| process.command.trim().ends_with("supervise")).unwrap();
        kill_process(supervisor.pid, Signal::KILL).unwrap();
        env.wait_for_ends("demo-agent");
    });
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(env.session(&id)["last_error"]["kind"], "unfinished_undo");
    env.send_ready(&id, &[], &say("again"));
    assert!(!env.worktree(&id).join("undone.txt").exists());
    let session = env.session(&id);
    assert_eq!((&session["changes"]["files"], &session["last_error"]), (&json!(0), &Value::Null));
}

#[test]
fn merges_into_one_session_and_its_turns_wait_for_each_other_in_turn() {
    let env = TestEnv::new();
    let target = env.create_ready(&write("first.txt", "1"));
    let branch = env.session(&target)["branch"].as_str().unwrap().to_owned();
    let create = |name: &str| env.create_with(&["--model", "demo", "--base", &branch], &write(name, "x"));
    let sources = ["one.txt", "two.txt", "three.txt"].map(create);
    sources.iter().for_each(|id| env.wait_for(id, "ready"));
    let merges = sources.each_ref().map(|id| env.start(&["merge", id]));
    for _ in 0..3 {
        env.send_ready(&target, &[], &say("again"));
    }
    for merge in merges {
        let (code, said) = merge.end();
        assert_eq!(code, Some(0), "{said}");
    }
    for name in ["first.txt", "one.txt", "two.txt", "three.txt"] {
        assert!(env.worktree(&target).join(name).exists(), "{name}");
    }
    assert_eq!(env.git_in(&env.worktree(&target), &["status", "--porcelain"]), "");
}

#[test]
fn submodules_are_read_while_their_session_is_stopped() {
    let mut env = TestEnv::new();
    let git = HeldGit::install(&mut env);
    crate::merge::with_submodule(&env);
    let id = env.create_ready(&steps(&[write("libs/lib/lib.c", "changed"), write("a.txt", "a"), say("done")]));
    git.look_during(&env, "--blob=", &["undo", &id], || assert!(is_stopped(&env, "demo-agent")));
    assert!(!is_stopped(&env, "demo-agent"));
    assert_eq!(env.session(&id)["submodules"][0]["count"], 1);
}
