//! Ends the daemon between any two effects of a turn or a removal, or in the midst of a merge, and requires the same facts
//! after the restart.

use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;

use insta::assert_snapshot;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use serde_json::Value;

use crate::env::TestEnv;
use crate::script::{run, say, steps, write};

/// Debug builds of the daemon end themselves right before the effect with this number.
pub(crate) const CRASH: &str = "COPPICE_CRASH_AT";

/// The effects are dealt out to this many tests, which run side by side.
const LANES: usize = 4;

/// More effects than a turn has: a lane must find its end before.
pub(crate) const EFFECTS: usize = 200;

#[test]
fn a_daemon_that_dies_between_any_two_effects_loses_nothing_lane_1() {
    lane(1);
}

#[test]
fn a_daemon_that_dies_between_any_two_effects_loses_nothing_lane_2() {
    lane(2);
}

#[test]
fn a_daemon_that_dies_between_any_two_effects_loses_nothing_lane_3() {
    lane(3);
}

#[test]
fn a_daemon_that_dies_between_any_two_effects_loses_nothing_lane_4() {
    lane(4);
}

fn lane(first: usize) {
    for effect in (first..EFFECTS).step_by(LANES) {
        let survived = crash_at(effect);
        if survived {
            assert!(effect > LANES, "the daemon did not end itself at all");
            return;
        }
    }
    panic!("a turn has more than {EFFECTS} effects");
}

#[test]
fn a_removal_that_is_cut_anywhere_loses_nothing() {
    for effect in 1..EFFECTS {
        let mut env = TestEnv::new();
        let id = env.create_ready(&write("file.txt", "one"));
        // Work that no turn has committed.
        std::fs::write(env.worktree(&id).join("by-hand.txt"), "two\n").unwrap();
        env.kill_daemon();
        env.set(CRASH, &effect.to_string());
        env.coppice(&["daemon", "start"]).succeeds();
        env.unset(CRASH);
        let marked = env.daemon_pid();
        // The daemon may die before it can answer.
        env.coppice(&["rm", &id]).transcript();
        let salvage = format!("refs/coppice/salvage/{id}");
        env.wait_for_event(&id, "saved", 0);
        let survived = marked.is_some() && env.daemon_pid() == marked;
        assert_eq!(env.json(&["list"]), Value::Array(Vec::new()), "at effect {effect}");
        assert_eq!(env.git(&["show", &format!("{salvage}:by-hand.txt")]), "two");

        env.coppice(&["restore", &id]).succeeds();
        let tree = env.worktree(&id);
        for (file, content) in [("file.txt", "one\n"), ("by-hand.txt", "two\n")] {
            assert_eq!(std::fs::read_to_string(tree.join(file)).unwrap(), content, "at effect {effect}");
        }
        if survived {
            return;
        }
    }
    panic!("a removal has more than {EFFECTS} effects");
}

/// Runs something, and returns when a file of this name is created in the directory.
fn until_created<T>(directory: &Path, name: &str, run: impl FnOnce() -> T) -> T {
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, directory, inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO).unwrap();
    let running = run();
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut space);
    loop {
        if events.is_buffer_empty() {
            let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
            let ready = poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&limit)).unwrap();
            assert_eq!(ready, 1, "`{name}` did not appear");
        }
        let event = events.next().unwrap();
        if event.file_name().is_some_and(|found| found.to_bytes() == name.as_bytes()) {
            return running;
        }
    }
}

#[test]
fn a_daemon_that_dies_while_it_moves_the_users_checkout_leaves_it_whole() {
    let env = TestEnv::new();
    // With a filter, the daemon moves the files itself.
    env.git(&["config", "filter.unused.smudge", "cat"]);
    let id = env.create_ready(&steps(&[
        run("for n in $(seq 400); do echo new > file$n; done; echo new > README.md"),
        say("done"),
    ]));
    env.write("mine", "mine\n");
    env.git(&["add", "mine"]);
    let (git_dir, before) = (env.repo().join(".git"), env.git(&["rev-parse", "main"]));
    let merging = until_created(&git_dir, "index.lock", || env.start(&["merge", &id]));
    env.kill_daemon();
    merging.end();
    env.json(&["list"]);
    assert!(!git_dir.join("index.lock").exists() && !git_dir.join("coppice-move").exists());
    assert_eq!(env.git(&["status", "--porcelain"]), "A  mine");
    // However far it had come.
    if env.git(&["rev-parse", "main"]) == before {
        assert!(!env.repo().join("file1").exists());
        env.coppice(&["merge", &id]).succeeds();
    }
    assert_eq!((env.read("file400"), env.read("README.md")), ("new\n".to_owned(), "new\n".to_owned()));
    assert_eq!(env.git(&["status", "--porcelain"]), "A  mine");
}

#[test]
fn a_lock_on_the_branch_of_a_session_is_named_with_a_way_out() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    env.send_ready(&id, &[], &write("a.txt", "b"));
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    let lock = env.repo().join(format!(".git/refs/heads/{branch}.lock"));
    fs::write(&lock, "").unwrap();
    let refused = env.coppice(&["undo", &id]).exits(1).stderr;
    let lock_path = lock.display();
    for expected in [
        format!("caused by: another git process works on the branch: `{lock_path}` exists"),
        format!("hint: if no git process runs there, remove `{lock_path}`; `coppice undo {id} --to 1` tries again"),
    ] {
        assert!(refused.contains(&expected), "{refused}");
    }
    assert!(!refused.contains("class="), "{refused}");
    fs::remove_file(&lock).unwrap();
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(fs::read_to_string(env.worktree(&id).join("a.txt")).unwrap(), "a\n");
}

#[test]
fn what_a_killed_git_left_in_the_checkout_is_named_with_a_way_out() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("a.txt", "a"), write("README.md", "new"), say("done")]));
    // As a `git read-tree` and a `git update-ref` leave it that were killed together with the daemon.
    let git_dir = env.repo().join(".git");
    let (index_lock, ref_lock) = (git_dir.join("index.lock"), git_dir.join("refs/heads/main.lock"));
    fs::write(&index_lock, "").unwrap();
    fs::write(&ref_lock, "").unwrap();
    env.write("a.txt", "a\n");
    env.write("README.md", "new\n");

    let merge = || env.coppice(&["merge", &id]).transcript();
    assert_snapshot!(merge(), @r"
    exit: 1
    -- stderr
    error: the merge into `main` failed; nothing was merged
      caused by: another git process works on the index: `[ROOT]/repo/.git/index.lock` exists

    hint: if no git process runs there, remove `[ROOT]/repo/.git/index.lock`
    ");
    fs::remove_file(&index_lock).unwrap();
    assert_snapshot!(merge(), @r"
    exit: 1
    -- stderr
    error: the merge into `main` failed; nothing was merged
      caused by: another git process works on the branch: `[ROOT]/repo/.git/refs/heads/main.lock` exists

    hint: if no git process runs there, remove `[ROOT]/repo/.git/refs/heads/main.lock`
    ");
    fs::remove_file(&ref_lock).unwrap();
    assert_snapshot!(merge(), @r"
    exit: 1
    -- stderr
    error: the merge into `main` is refused: local changes in `[ROOT]/repo` would be overwritten: `README.md`, `a.txt`

    hint: commit them, or run `git -C [ROOT]/repo stash push --all -- README.md a.txt`, then merge again
    ");
    env.git(&["stash", "push", "--all", "--", "README.md", "a.txt"]);
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.read("a.txt"), env.git(&["status", "--porcelain"])), ("a\n".to_owned(), String::new()));
}

/// Runs one turn with a daemon that dies at that effect, and whatever it takes to finish the turn; whether it lived.
fn crash_at(effect: usize) -> bool {
    let mut env = TestEnv::new();
    let prompt = steps(&[write("file.txt", "one"), say("done")]);
    // Only the first daemon carries the mark; one that a client starts in its place is sound.
    env.set(CRASH, &effect.to_string());
    env.coppice(&["daemon", "start"]).succeeds();
    env.unset(CRASH);
    let marked = env.daemon_pid();
    // The daemon may die before it can answer.
    let asked = env.coppice(&["new", "--model", "demo", &prompt]);
    if asked.status.success() {
        // It may die while the client waits, too. The client may say so, but must not wait for ever.
        let waited = env.coppice(&["wait", asked.stdout.trim(), "--timeout", "30s"]);
        assert_ne!(waited.status.code(), Some(124), "effect {effect}: the wait outlived its daemon");
    }
    let survived = marked.is_some() && env.daemon_pid() == marked;
    finish(&env, &prompt);
    survived
}

/// Goes on with whatever was stored, as a person would, and checks the facts that must hold in the end.
fn finish(env: &TestEnv, prompt: &str) {
    let sessions = env.json(&["list"]);
    assert!(sessions.as_array().unwrap().len() <= 1, "{sessions:#}");
    let id = match sessions[0]["id"].as_str() {
        Some(id) => id.to_owned(),
        // The request was never accepted, so nothing of it may be there.
        None => {
            assert_eq!(env.git(&["for-each-ref", "refs/heads/coppice"]), "");
            env.create(prompt)
        }
    };
    env.coppice(&["wait", &id, "--timeout", "30s"]).transcript();
    if env.status(&id) != "ready" {
        env.coppice(&["resume", &id]).succeeds();
        env.wait_for(&id, "ready");
    }
    let tree = env.worktree(&id);
    let is_done = || env.events(&id).iter().any(|event| event["response"]["answer"] == "done");
    if !is_done() {
        // The scripted agent was told to go on, and has no thoughts of its own about what that means.
        env.coppice(&["send", &id, prompt]).succeeds();
        env.wait_for(&id, "ready");
        assert!(is_done(), "{:#?}", env.events(&id));
    }
    assert_eq!(std::fs::read_to_string(tree.join("file.txt")).unwrap(), "one\n");
    // Every commit that a turn made is known as its checkpoint.
    let turns = env.json(&["show", &id, "--raw"]);
    for kept in env.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/coppice/checkpoints"]).lines() {
        let (name, commit) = kept.split_once(' ').unwrap();
        let number: u64 = name.rsplit('/').next().unwrap().parse().unwrap();
        let turn = turns.as_array().unwrap().iter().find(|turn| turn["number"] == number).unwrap();
        assert_eq!(turn["checkpoint"], commit, "{turns:#}");
    }
    assert_eq!(env.git_in(&tree, &["status", "--porcelain"]), "");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_history(&env.events(&id));
}

/// That numbers only grow, that no prompt was sent twice, and that every turn that started has one end.
pub(crate) fn assert_history(events: &[Value]) {
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let started: Vec<_> = events.iter().filter(|event| event["type"] == "turn_started").collect();
    let sent: Vec<_> = started.iter().map(|event| event["prompt"].as_u64().unwrap()).collect();
    assert!(sent.is_sorted_by(|a, b| a < b), "a prompt was sent twice: {sent:?}");
    for start in started {
        let ends = events.iter().filter(|event| {
            let is_end =
                ["turn_completed", "turn_interrupted", "turn_failed"].iter().any(|kind| event["type"] == *kind);
            is_end && event["turn"] == start["turn"] && event["seq"].as_u64() > start["seq"].as_u64()
        });
        assert_eq!(ends.count(), 1, "turn {} in {events:#?}", start["turn"]);
    }
}
