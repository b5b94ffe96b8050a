//! A database that is lost, damaged, saved or made again: what git holds is never lost with it.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use insta::assert_snapshot;
use rustix::process::Signal;
use serde_json::Value;

use crate::env::TestEnv;
use crate::kill::CRASH;
use crate::script::{hang, say, steps, wait_for_file, write};

fn database(env: &TestEnv) -> PathBuf {
    env.path("coppice/data/coppice.db")
}

/// Deletes the database with everything that belongs to it, but not the marker.
fn lose_database(env: &TestEnv) {
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(env.path(format!("coppice/data/coppice.db{suffix}"))).ok();
    }
}

/// The sessions as scripts see them: id, status and title.
fn sessions(env: &TestEnv, options: &[&str]) -> Vec<(String, String)> {
    let text = |session: &Value, field: &str| session[field].as_str().unwrap().to_owned();
    let listed = env.json(&[&["list"], options].concat());
    let mut found: Vec<_> =
        listed.as_array().unwrap().iter().map(|session| (text(session, "id"), text(session, "status"))).collect();
    found.sort();
    found
}

#[test]
fn a_lost_database_is_refused_and_not_created_anew() {
    let env = TestEnv::new();
    env.create_ready(&write("file.txt", "one"));
    env.end_daemon(&[]);
    lose_database(&env);
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 6
    -- stderr
    error: the daemon did not start: database `[ROOT]/coppice/data/coppice.db` is missing, although this data directory had one; branches, worktrees and checkpoints of sessions are safe

    hint: put a backup in its place, or run `coppice store rebuild`, which recovers the sessions from git
    ");
    assert!(!database(&env).exists());
    fs::write(database(&env), "").unwrap();
    assert!(env.coppice(&["new", "--model", "demo", "hi"]).exits(6).stderr.contains("is empty, although"));
}

#[test]
fn worktrees_of_an_older_version_show_that_a_database_is_lost() {
    let env = TestEnv::new();
    env.create_ready(&say("hi"));
    env.end_daemon(&[]);
    lose_database(&env);
    fs::remove_file(env.path("coppice/data/coppice.db-marker")).unwrap();
    assert!(env.coppice(&["list"]).exits(6).stderr.contains("is missing, although"));
}

#[test]
fn a_daemon_puts_a_deleted_database_back() {
    let env = TestEnv::new();
    let first = env.create_ready(&say("one"));
    fs::remove_file(database(&env)).unwrap();
    let second = env.create_ready(&say("two"));
    fs::remove_file(database(&env)).unwrap();
    env.end_daemon(&[]);
    let mut expected = vec![(first, "ready".to_owned()), (second, "ready".to_owned())];
    expected.sort();
    assert_eq!(sessions(&env, &[]), expected);
}

#[test]
fn a_daemon_refuses_work_while_another_file_has_the_path_of_its_database() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("one"));
    let other = env.path("other");
    env.coppice(&["store", "backup", other.to_str().unwrap()]).succeeds();
    fs::rename(&other, database(&env)).unwrap();
    let refused = env.coppice(&["new", "--model", "demo", "hi"]).exits(1);
    assert!(refused.stderr.contains("was replaced while the daemon used it"), "{}", refused.stderr);
    env.coppice(&["daemon", "stop", "--now"]).succeeds();
    env.wait_for_ends("daemon run");
    assert_eq!(sessions(&env, &[]), [(id, "ready".to_owned())]);
}

#[test]
fn a_data_directory_that_was_deleted_under_the_daemon_is_named_with_the_way_back() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    fs::remove_dir_all(env.path("coppice/data")).unwrap();
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 1
    -- stderr
    error: database `[ROOT]/coppice/data/coppice.db` was deleted while the daemon used it, and is not restored (its directory `[ROOT]/coppice/data` does not exist any more); branches and checkpoints of sessions are in their repositories

    hint: end the daemon with `coppice daemon stop --now`; `coppice store rebuild` in a repository then recovers its sessions from git
    ");
    let refused = env.coppice(&["new", "--model", "demo", "hi"]).exits(1).stderr;
    assert!(refused.contains("coppice store rebuild") && !refused.contains("worktrees"), "{refused}");
    env.coppice(&["daemon", "stop", "--now"]).succeeds();
    env.wait_for_ends("daemon run");
    env.coppice(&["store", "rebuild"]).succeeds();
    assert_eq!(sessions(&env, &[]), [(id.clone(), "ready".to_owned())]);
    env.send_ready(&id, &[], &write("more.txt", "two"));
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.read("file.txt"), env.read("more.txt")), ("one\n".to_owned(), "two\n".to_owned()));
}

#[test]
fn a_directory_in_the_place_of_the_database_is_named_as_one() {
    let env = TestEnv::new();
    env.create_ready(&say("hi"));
    env.end_daemon(&[]);
    lose_database(&env);
    fs::create_dir(database(&env)).unwrap();
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 6
    -- stderr
    error: the daemon did not start: `[ROOT]/coppice/data/coppice.db` is a directory, not a database

    hint: move the directory away and put a backup in its place, or run `coppice store rebuild`, which recovers the sessions from git
    ");
    fs::remove_dir(database(&env)).unwrap();
    env.coppice(&["store", "rebuild"]).succeeds();
}

#[test]
fn doctor_works_where_no_daemon_can_start() {
    let env = TestEnv::new();
    env.coppice(&["list"]).succeeds();
    env.end_daemon(&[]);
    let check = |name: &str| {
        let output = env.coppice(&["doctor", "--json"]).exits(1);
        let checks: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
        let found = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{checks:#?}"));
        format!("{}: {}", found["state"].as_str().unwrap(), found["detail"].as_str().unwrap())
    };
    fs::write(database(&env), "this is not a database, but long enough to be one".repeat(100)).unwrap();
    assert!(check("database").contains("is damaged (file is not a database)"), "{}", check("database"));
    assert!(check("daemon").starts_with("bad: did not start: database"), "{}", check("daemon"));
    assert!(check("git").starts_with("good"), "{}", check("git"));
    lose_database(&env);
    assert!(check("database").contains("is missing, although"), "{}", check("database"));
}

#[test]
fn doctor_says_that_the_last_daemon_was_killed() {
    let env = TestEnv::new();
    let crash = |env: &TestEnv| {
        let checks = env.coppice(&["doctor", "--json"]).stdout;
        let checks: Vec<Value> = serde_json::from_str(&checks).unwrap();
        checks.into_iter().find(|check| check["name"] == "last crash").map(|check| check["detail"].to_string())
    };
    env.coppice(&["list"]).succeeds();
    env.end_daemon(&[]);
    assert_eq!(crash(&env), None, "an end is no crash");
    let pid = env.daemon_pid().unwrap().as_raw_nonzero();
    env.signal_daemon(Signal::ABORT);
    env.wait_for_ends("daemon run");
    let told = crash(&env).unwrap();
    assert!(told.contains(&format!("the daemon (pid {pid}) ended unexpectedly")), "{told}");
}

#[test]
fn a_backup_takes_the_place_of_a_lost_database() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("hi"));
    let file = env.path("backup.db");
    let made = env.coppice(&["store", "backup", file.to_str().unwrap()]).stdout();
    assert_eq!(made.trim(), file.to_str().unwrap());
    assert!(
        env.coppice(&["store", "backup", file.to_str().unwrap()]).exits(1).stderr.contains("failed to write the copy")
    );
    env.coppice(&["store", "backup"]).succeeds();
    env.end_daemon(&[]);
    lose_database(&env);
    fs::copy(&file, database(&env)).unwrap();
    assert_eq!(env.last_answer(&id), "hi");
}

#[test]
fn verify_names_what_differs() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    assert_snapshot!(env.coppice(&["store", "verify"]).transcript(), @r"
    exit: 0
    -- stdout
    [ROOT]/coppice/data/coppice.db: sound, 1 session
    ");
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    let tree = env.worktree(&id);
    env.end_daemon(&[]);
    fs::rename(&tree, env.path("elsewhere")).unwrap();
    env.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
    env.git(&["branch", "coppice/aaaaaaaa/stranger"]);
    let shown = env.coppice(&["store", "verify"]).exits(1);
    for expected in ["its worktree", "its branch", "branch `coppice/aaaaaaaa/stranger` belongs to no known session"] {
        assert!(shown.stdout.contains(expected), "{expected}: {}", shown.stdout);
    }
}

#[test]
fn a_rebuild_recovers_sessions_from_git() {
    let env = TestEnv::new();
    let works = env.create_with(&["--model", "demo", "--title", "Add a file"], &write("file.txt", "one"));
    env.wait_for(&works, "ready");
    let archived = env.create_with(&["--model", "demo", "--title", "Put away"], &write("other.txt", "two"));
    env.wait_for(&archived, "ready");
    let removed = env.create_with(&["--model", "demo", "--title", "Taken back"], &write("third.txt", "three"));
    env.wait_for(&removed, "ready");
    env.coppice(&["archive", &archived]).succeeds();
    env.wait_for_event(&archived, "saved", 0);
    env.coppice(&["rm", &removed]).succeeds();
    env.wait_for_event(&removed, "saved", 0);
    env.end_daemon(&[]);
    lose_database(&env);

    // Not in the repository: its worktrees lead to it.
    let rebuilt = env.coppice_in(&env.path("home"), &["store", "rebuild", "--json"]).stdout();
    let rebuilt: Value = serde_json::from_str(&rebuilt).unwrap();
    assert_eq!(rebuilt["skipped"], Value::Array(Vec::new()), "{rebuilt:#}");
    let found = |id: &str| {
        let found = rebuilt["recovered"].as_array().unwrap().iter().find(|session| session["id"] == id);
        let found = found.unwrap_or_else(|| panic!("{rebuilt:#}"));
        format!("{} {} {} from {}", found["state"], found["title"], found["branch"], found["base"]).replace('"', "")
    };
    assert_eq!(found(&works), format!("ready Add a file coppice/{works}/add-a-file from main"));
    assert_eq!(found(&archived), format!("archived Put away coppice/{archived}/put-away from main"));
    assert_eq!(found(&removed), format!("removed recovered session coppice/{removed}/recovered from main"));

    let shown = env.coppice(&["show", &works]).stdout();
    assert!(shown.contains("posture") && !shown.contains("sandbox"), "{shown}");
    let told = env.events(&works)[1]["message"].as_str().unwrap().to_owned();
    assert!(told.ends_with("posture attended"), "{told}");
    env.coppice(&["store", "verify"]).succeeds();
    env.send_ready(&works, &[], &write("more.txt", "four"));
    assert!(env.coppice(&["show", &works]).stdout().contains("sandbox"));
    assert_eq!(fs::read_to_string(env.worktree(&works).join("file.txt")).unwrap(), "one\n");
    env.coppice(&["restore", &removed]).succeeds();
    assert_eq!(fs::read_to_string(env.worktree(&removed).join("third.txt")).unwrap(), "three\n");
    env.coppice(&["merge", &works]).succeeds();
    assert_eq!((env.read("file.txt"), env.read("more.txt")), ("one\n".to_owned(), "four\n".to_owned()));
}

#[test]
fn a_rebuild_finds_the_files_of_a_repository_that_was_moved_as_well() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let (tree, moved) = (env.worktree(&id), env.path("moved"));
    fs::write(tree.join("by-hand.txt"), "mine\n").unwrap();
    env.end_daemon(&[]);
    lose_database(&env);
    fs::rename(env.repo(), &moved).unwrap();
    env.coppice_in(&moved, &["store", "rebuild"]).succeeds();
    env.coppice_in(&moved, &["store", "verify"]).succeeds();
    let session: Value = serde_json::from_str(&env.coppice_in(&moved, &["show", &id, "--json"]).stdout()).unwrap();
    assert_eq!((&session["worktree"], &session["changes"]["files"]), (&tree.to_str().unwrap().into(), &2.into()));
    env.coppice_in(&moved, &["merge", &id]).succeeds();
    let read = |name: &str| fs::read_to_string(moved.join(name)).unwrap();
    assert_eq!((read("file.txt"), read("by-hand.txt")), ("one\n".to_owned(), "mine\n".to_owned()));
}

#[test]
fn a_rebuild_takes_each_session_from_one_repository() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let tree = env.worktree(&id);
    fs::write(tree.join("by-hand.txt"), "mine\n").unwrap();
    let copies = ["copy1", "copy2", "copy3"].map(|name| env.path(name).to_str().unwrap().to_owned());
    for copy in &copies {
        let copied = env.command("cp", &env.path("home")).args(["-a", env.repo().to_str().unwrap(), copy]).status();
        assert!(copied.unwrap().success());
    }
    env.end_daemon(&[]);
    lose_database(&env);
    let rebuilt = env.json(&["store", "rebuild", &copies[0], &copies[1], &copies[2]]);
    assert_eq!(rebuilt["recovered"].as_array().unwrap().len(), 1, "{rebuilt:#}");
    assert_eq!(rebuilt["skipped"].as_array().unwrap().len(), 3, "{rebuilt:#}");
    assert_eq!(env.session(&id)["worktree"], tree.to_str().unwrap());
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("by-hand.txt"), "mine\n");
}

#[test]
fn a_rebuild_obeys_nothing_that_an_agent_left() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let tree = env.worktree(&id);
    let made = tree.join("made");
    env.git_in(
        &env.path("home"),
        &["clone", "-q", "--mirror", env.repo().to_str().unwrap(), made.join(".git").to_str().unwrap()],
    );
    env.git_in(&made, &["config", "core.bare", "false"]);
    env.end_daemon(&[]);
    lose_database(&env);
    let refused = env.coppice_in(&made, &["store", "rebuild", made.to_str().unwrap(), "--json"]).stdout();
    assert!(refused.contains("is in the data directory of Coppice"), "{refused}");
    assert_eq!(env.session(&id)["project"], env.repo().join(".git").to_str().unwrap());

    // Nor does it wait for what never ends.
    env.end_daemon(&[]);
    lose_database(&env);
    fs::remove_file(tree.join(".git")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, tree.join(".git"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    env.coppice(&["store", "rebuild"]).succeeds();
    assert_eq!(env.status(&id), "ready");
}

#[test]
fn a_rebuild_keeps_what_can_be_read_and_the_old_database() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "demo", "--title", "A title: kept"], &write("file.txt", "one"));
    env.wait_for(&id, "ready");
    env.end_daemon(&[]);
    let refused = env.coppice(&["store", "rebuild"]).exits(1);
    assert!(refused.stderr.contains("needs no rebuild") && refused.stderr.contains("--force"), "{}", refused.stderr);

    // The last page is of an index or of events; sessions come first.
    let bytes = fs::metadata(database(&env)).unwrap().len();
    let file = OpenOptions::new().write(true).open(database(&env)).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0x5a; 4096], bytes - 4096).unwrap();
    assert!(env.coppice(&["list"]).exits(6).stderr.contains("is damaged ("));
    let damaged = fs::read(database(&env)).unwrap();
    let rebuilt = env.json(&["store", "rebuild"]);
    assert_eq!(
        (&rebuilt["carried_over"], &rebuilt["recovered"]),
        (&1.into(), &Value::Array(Vec::new())),
        "{rebuilt:#}"
    );
    assert_eq!(fs::read(rebuilt["kept"].as_str().unwrap()).unwrap(), damaged);
    assert_eq!(env.session(&id)["title"], "A title: kept");
}

#[test]
fn rebuilds_and_backups_in_the_same_second_have_names_of_their_own() {
    let env = TestEnv::new();
    env.create_ready(&say("hi"));
    env.end_daemon(&[]);
    for act in [["store", "rebuild", "--force"].as_slice(), &["store", "backup"]] {
        (0..3).for_each(|_| drop(env.coppice(act).stdout()));
    }
    let count = |directory: &str, part: &str| {
        let names = fs::read_dir(env.path(directory)).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains(part)).count()
    };
    assert_eq!((count("coppice/data", ".db.old-"), count("coppice/data/backups", "coppice-")), (3, 3));
}

#[test]
fn a_rebuild_waits_for_no_running_daemon() {
    let env = TestEnv::new();
    env.coppice(&["list"]).succeeds();
    let refused = env.coppice(&["store", "rebuild", "--force"]).exits(1);
    assert!(refused.stderr.contains("a daemon is already running"), "{}", refused.stderr);
}

#[test]
fn a_rebuild_that_is_killed_leaves_what_was_there() {
    let mut env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    env.end_daemon(&[]);
    let before = fs::read(database(&env)).unwrap();
    env.set(CRASH, "1");
    let killed = env.coppice(&["store", "rebuild", "--force"]);
    assert_eq!(killed.status.code(), None, "{}", killed.stderr);
    env.unset(CRASH);
    assert_eq!(fs::read(database(&env)).unwrap(), before);
    env.coppice(&["store", "rebuild", "--force"]).succeeds();
    assert_eq!(sessions(&env, &[]), [(id, "ready".to_owned())]);
}

#[test]
fn a_backup_that_is_killed_leaves_no_file_of_its_name() {
    let mut env = TestEnv::new();
    let id = env.create_ready(&say("hi"));
    let file = env.path("backup");
    env.set(CRASH, "1");
    let killed = env.coppice(&["store", "backup", file.to_str().unwrap()]);
    assert_eq!(killed.status.code(), None, "{}", killed.stderr);
    env.unset(CRASH);
    assert!(!file.exists());
    env.coppice(&["store", "backup", file.to_str().unwrap()]).succeeds();
    assert_eq!(env.status(&id), "ready");
}

/// Changes the database past the store.
fn alter_database(env: &TestEnv, sql: &str) {
    rusqlite::Connection::open(database(env)).unwrap().execute_batch(sql).unwrap();
}

/// Lets every write of a session fail, as a full disk does.
const REFUSE: &str = "CREATE TRIGGER refuse BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no'); END";

fn turn_states(env: &TestEnv, id: &str) -> Vec<String> {
    let rows = rusqlite::Connection::open(database(env)).unwrap();
    let mut query = rows.prepare("SELECT record FROM turns WHERE session = ?1 ORDER BY number").unwrap();
    let records = query.query_map([id], |row| row.get::<_, String>(0)).unwrap();
    let state = |record: String| serde_json::from_str::<Value>(&record).unwrap()["state"].as_str().unwrap().to_owned();
    records.map(|record| state(record.unwrap())).collect()
}

#[test]
fn the_end_of_a_turn_that_could_not_be_stored_is_stored_once_the_store_writes_again() {
    let env = TestEnv::new();
    let gate = env.visible_to_agents("gate");
    let id = env.create(&steps(&[write("b1", "1"), wait_for_file(&gate), write("b2", "2")]));
    env.wait_for_event(&id, "tool_finished", 0);
    alter_database(&env, REFUSE);
    fs::write(&gate, "").unwrap();
    env.wait_for_session(&id, |session| session["status"] == "failed");
    let shown = env.coppice(&["show", &id]).stdout();
    assert!(shown.contains("1  failed") && !shown.contains("1  running"), "{shown}");
    alter_database(&env, "DROP TRIGGER refuse");
    env.wait_for_event(&id, "checkpoint", 0);
    assert_eq!(turn_states(&env, &id), ["failed"]);

    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(turn_states(&env, &id), ["failed", "completed"]);
}

#[test]
fn a_daemon_that_cannot_recover_says_why_where_its_log_cannot_be_written() {
    let env = TestEnv::new();
    let id = env.create(&hang());
    env.wait_for_event(&id, "turn_started", 0);
    env.kill_daemon();
    alter_database(&env, REFUSE);
    let log = env.path("coppice/run/start.log");
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink("/dev/full", &log).unwrap();
    let refused = env.coppice(&["list"]);
    // It has no end for those who read it.
    fs::remove_file(&log).unwrap();
    assert_snapshot!(refused.transcript(), @r"
    exit: 6
    -- stderr
    error: the daemon did not start: failed to recover the sessions: the write contradicts what is stored

    hint: `coppice daemon logs` shows what it said last
    ");
    alter_database(&env, "DROP TRIGGER refuse");
    assert_eq!(env.status(&id), "interrupted");
}

#[test]
fn a_start_ends_turns_that_are_stored_as_running_although_their_session_went_on() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("one"));
    env.send_ready(&id, &[], &say("two"));
    env.end_daemon(&[]);
    let sql = "UPDATE turns SET record = replace(record, '\"state\":\"completed\"', '\"state\":\"running\"') WHERE number = 1";
    alter_database(&env, sql);
    assert_eq!(turn_states(&env, &id), ["running", "completed"]);
    assert_eq!(env.status(&id), "ready");
    assert_eq!(turn_states(&env, &id), ["interrupted", "completed"]);
}
