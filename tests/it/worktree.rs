//! A session's worktree from the user's side: what is placed in it, and what happens when somebody removes it by hand.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags, mkdirat, mknodat, open, openat};
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{run, say, steps, wait_for_file, write};

#[test]
fn a_worktree_removed_by_hand_comes_back_from_its_branch() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    fs::remove_dir_all(env.worktree(&id)).unwrap();
    env.coppice(&["send", &id, &write("other.txt", "two")]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(fs::read_to_string(env.worktree(&id).join("file.txt")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(env.worktree(&id).join("other.txt")).unwrap(), "two\n");
    assert!(env.kinds(&id).contains(&"warning".to_owned()));
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(fs::read_to_string(env.worktree(&id).join("file.txt")).unwrap(), "one\n");
    assert!(!env.worktree(&id).join("other.txt").exists());
}

#[test]
fn a_turn_fails_when_its_worktree_is_removed_and_the_next_one_has_it_again() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let (tree, signal) = (env.worktree(&id), env.visible_to_agents("go"));
    let since = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    let turn = steps(&[write("lost.txt", "two"), wait_for_file(&signal), run("touch lost.txt"), say("all done")]);
    env.coppice(&["send", &id, &turn]).succeeds();
    env.wait_for_event(&id, "tool_finished", since);
    fs::remove_dir_all(&tree).unwrap();
    fs::write(&signal, "").unwrap();
    env.wait_for(&id, "failed");
    let error = &env.session(&id)["last_error"];
    assert_eq!(error["message"], format!("the worktree `{}` was removed during the turn", tree.display()));
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.starts_with(&format!("run `coppice resume {id}`: ")), "{hint}");
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    let names = || {
        let mut names: Vec<_> = ["file.txt", "lost.txt"].into();
        names.retain(|name| tree.join(name).exists());
        names
    };
    assert_eq!(names(), ["file.txt", "lost.txt"]);
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(names(), ["file.txt"]);
}

/// Closes what a turn wrote, and a directory that git knows. As root, git is refused only in a whole cage, which a filter
/// of the user's asks for: there it has no capabilities.
fn close_files(env: &TestEnv) -> String {
    env.git(&["config", "filter.unused.smudge", "cat"]);
    run("mkdir closed listed; for file in closed/new listed/new docs/new file; do echo new >$file; done; \
         chmod 600 listed; chmod 000 closed docs src file; chmod 300 .")
}

const CLOSED_FILES: [&str; 4] = ["closed/new", "docs/new", "file", "listed/new"];

#[test]
fn files_that_a_turn_closed_are_shown_and_merged() {
    let env = TestEnv::new();
    let id = env.create_ready(&close_files(&env));
    let diff = env.coppice(&["diff", &id]).stdout();
    for path in CLOSED_FILES {
        assert!(diff.contains(&format!("+++ b/{path}")), "{path}: {diff}");
    }
    assert!(!diff.contains("deleted"), "{diff}");
    let tree = env.worktree(&id);
    env.send_ready(&id, &[], &run("chmod 700 closed; echo more >closed/more; chmod 000 closed"));
    // Between turns.
    fs::write(tree.join("listed/later"), "later").unwrap();
    fs::set_permissions(tree.join("listed"), fs::Permissions::from_mode(0o000)).unwrap();
    env.coppice(&["merge", &id]).succeeds();
    for path in CLOSED_FILES.iter().chain(&["closed/more", "listed/later", "src/main.rs"]) {
        assert!(env.repo().join(path).exists(), "{path}");
    }
}

#[test]
fn files_that_a_turn_closed_are_saved_when_its_session_is_removed() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("nothing yet"));
    let tree = env.worktree(&id);
    env.send_ready(&id, &[], &close_files(&env));
    for path in ["closed/late", "late"] {
        fs::write(tree.join(path), "late").unwrap();
        fs::set_permissions(tree.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    for path in ["closed", ""] {
        fs::set_permissions(tree.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    env.coppice(&["rm", &id]).succeeds();
    env.wait_for_event(&id, "saved", 0);
    let saved = env.git(&["ls-tree", "-r", "--name-only", &format!("refs/coppice/salvage/{id}")]);
    for path in CLOSED_FILES.iter().chain(&["closed/late", "late", "src/main.rs"]) {
        assert!(saved.lines().any(|line| line == *path), "{path}: {saved}");
    }
    env.coppice(&["restore", &id]).succeeds();
    assert_eq!(fs::read_to_string(env.worktree(&id).join("closed/late")).unwrap(), "late");
}

#[test]
fn an_undo_replaces_and_deletes_what_a_turn_closed() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("kept.txt", "one"));
    env.git(&["config", "filter.unused.smudge", "cat"]);
    let close = "mkdir new; echo x >new/file; echo x >src/main.rs; chmod 555 new src; chmod 000 docs";
    env.send_ready(&id, &[], &run(close));
    env.coppice(&["undo", &id]).succeeds();
    assert!(env.coppice(&["diff", &id]).stdout().contains("kept.txt"));
    let tree = env.worktree(&id);
    assert!(!tree.join("new").exists());
    assert_eq!(fs::read_to_string(tree.join("src/main.rs")).unwrap(), env.read("src/main.rs"));
}

#[test]
fn what_git_cannot_read_is_told_and_never_deleted() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("nothing yet"));
    let (tree, name) = (env.worktree(&id), "d".repeat(200));
    // Its path is longer than a path may be.
    let mut deepest = open(&tree, OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..25 {
        mkdirat(&deepest, &name, Mode::RWXU).unwrap();
        deepest = openat(&deepest, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    openat(&deepest, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    env.send_ready(&id, &[], &write("file.txt", "one"));
    let events = env.events(&id);
    let warned = events.iter().filter(|event| event["type"] == "warning").map(|event| event["message"].to_string());
    assert!(warned.clone().any(|message| message.contains("not committed")), "{:?}", warned.collect::<Vec<_>>());
    let refused = env.coppice(&["undo", &id]).exits(1);
    assert!(refused.stderr.contains("would be lost"), "{}", refused.stderr);
    assert!(tree.join("file.txt").exists());
    env.coppice(&["rm", &id]).succeeds();
    env.wait_for_event(&id, "saved", 0);
    env.end_daemon(&[]);
    let left = tree.parent().unwrap().join(".trash").join(&id);
    assert!(left.join(name).is_dir() && left.join("file.txt").exists());
}

#[test]
fn a_worktree_that_is_being_saved_is_brought_back_afterwards() {
    let mut env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let (tree, sent) = (env.worktree(&id), env.path("sent"));
    env.end_daemon(&[]);
    // Saving waits for the message, and then a while for the mistake: a worktree that is back too early.
    let wait = format!(
        "case \"$GIT_WORK_TREE\" in */.trash/*)\nwhile ! test -e '{}'; do sleep 0.01; done\n\
         for try in $(seq 30); do test -e '{}' || sleep 0.01; done ;;\nesac",
        sent.display(),
        tree.display()
    );
    let directory = env.wrap_git("any", &wait);
    fs::write(directory.join("any"), "\n").unwrap();
    env.coppice(&["merge", &id]).succeeds();
    env.coppice(&["send", &id, &write("other.txt", "two")]).succeeds();
    fs::write(&sent, "").unwrap();
    env.wait_for(&id, "ready");
    assert!(tree.join("other.txt").exists());
    assert!(!env.kinds(&id).contains(&"warning".to_owned()), "{:?}", env.events(&id));
}

#[test]
fn removed_sessions_leave_neither_branch_nor_worktree_in_the_repository() {
    let env = TestEnv::new();
    for end in ["merge", "archive"] {
        let id = env.create_ready(&write(&format!("{end}.txt"), "text"));
        env.coppice(&[end, &id]).succeeds();
        env.wait_for_event(&id, "saved", 0);
        assert_ne!(env.git(&["for-each-ref", "refs/heads/coppice"]), "");
        env.coppice(&["rm", &id]).succeeds();
        assert_eq!(env.git(&["for-each-ref", "refs/heads/coppice"]), "");
        env.coppice(&["restore", &id]).succeeds();
        assert!(env.worktree(&id).join(format!("{end}.txt")).exists());
        env.coppice(&["rm", &id]).succeeds();
    }
    env.end_daemon(&[]);
    assert_eq!(env.git(&["for-each-ref", "refs/heads/coppice"]), "");
    assert_eq!(env.git(&["worktree", "list"]).lines().count(), 1, "{}", env.git(&["worktree", "list"]));
}

#[test]
fn a_session_of_a_repository_that_is_gone_is_removed_and_says_what_stays() {
    let env = TestEnv::new();
    let (removed, archived) = (env.create_ready(&write("a.txt", "a")), env.create_ready(&write("b.txt", "b")));
    fs::rename(env.repo(), env.path("moved")).unwrap();
    for (act, id) in [("rm", &removed), ("archive", &archived)] {
        let done = env.coppice_in(&env.path("home"), &[act, id]).exits(0);
        assert!(done.stderr.contains("warning: the worktree stays in"), "{}", done.stderr);
    }
    fs::rename(env.path("moved"), env.repo()).unwrap();
    env.end_daemon(&[]);
    assert_eq!(env.status(&archived), "archived");
    env.wait_for_event(&removed, "saved", 0);
    env.coppice(&["restore", &removed]).succeeds();
    assert_eq!(fs::read_to_string(env.worktree(&removed).join("a.txt")).unwrap(), "a\n");
}

#[test]
fn other_sessions_do_not_wait_while_a_removed_worktree_is_cleaned() {
    let mut env = TestEnv::new();
    let (waits, go) = (env.path("bin/waits"), env.path("go"));
    let wait = format!("while ! test -e '{}'; do sleep 0.01; done", go.display());
    env.wrap_git("waits", &wait);
    fs::write(&waits, "clean\n").unwrap();
    let removed = env.create_ready(&write("a.txt", "a"));
    env.coppice(&["rm", &removed]).succeeds();
    env.wait_for_event(&removed, "saved", 0);
    let other = env.create_ready(&write("b.txt", "b"));
    env.coppice(&["rm", &other]).succeeds();
    env.coppice(&["restore", &other]).succeeds();
    // The end of the daemon gives it up.
    env.end_daemon(&[]);
    fs::write(go, "").unwrap();
    env.coppice(&["restore", &removed]).succeeds();
    assert!(env.worktree(&removed).join("a.txt").exists());
}

/// A pipe that a hook or a filter waits for, once it does.
fn wait_for_reader(pipe: &Path) -> fs::File {
    let nonblocking = OFlags::NONBLOCK.bits().try_into().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match fs::File::options().write(true).custom_flags(nonblocking).open(pipe) {
            Ok(opened) => return opened,
            Err(error) => assert!(Instant::now() < deadline, "nobody reads: {error}"),
        }
    }
}

#[test]
fn a_hook_or_filter_that_hangs_while_a_worktree_is_made_can_be_stopped() {
    for is_hook in [true, false] {
        let env = TestEnv::new();
        let (git_dir, pipe) = (env.repo().join(".git"), env.repo().join(".git/pipe"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let hook = git_dir.join("hooks/post-checkout");
        let stopped = match is_hook {
            true => {
                fs::write(&hook, format!("#!/bin/sh\nread line <'{}'\n", pipe.display())).unwrap();
                fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
                format!("the hook `{}` was stopped", hook.display())
            }
            false => {
                env.write(".gitattributes", "*.dat filter=own\n");
                env.write("file.dat", "data\n");
                env.commit("a filter");
                env.git(&["config", "filter.own.smudge", &format!("cat '{}'", pipe.display())]);
                "`git read-tree` was stopped".to_owned()
            }
        };
        let id = env.create(&write("file.txt", "one"));
        let waiting = wait_for_reader(&pipe);
        env.coppice(&["stop", &id]).succeeds();
        env.wait_for(&id, "interrupted");
        drop(waiting);
        let events = env.events(&id);
        let warned = events.iter().filter(|event| event["type"] == "warning").map(|event| &event["message"]);
        let warned: Vec<_> = warned.collect();
        assert_eq!(warned, [&format!("the worktree is not made: {stopped}")]);
        let reason = events.iter().find(|event| event["type"] == "turn_interrupted").unwrap()["reason"].clone();
        assert_eq!(reason, "stopped by the user");
        match is_hook {
            true => fs::remove_file(&hook).unwrap(),
            false => env.git(&["config", "filter.own.smudge", "cat"]).clear(),
        }
        env.coppice(&["resume", &id]).succeeds();
        env.wait_for(&id, "ready");
        assert_eq!(fs::read_to_string(env.worktree(&id).join("file.txt")).unwrap(), "one\n");
    }
}

#[test]
fn a_filter_that_hangs_while_a_worktree_is_made_holds_up_no_other_session() {
    let env = TestEnv::new();
    env.write(".gitattributes", "*.dat filter=own\n");
    env.write("file.dat", "data\n");
    env.commit("a filter");
    let pipe = env.repo().join(".git/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let (done, away) = (env.create_ready(&write("done.txt", "one")), env.create_ready(&write("away.txt", "two")));
    let removed = env.create_ready(&write("removed.txt", "three"));
    env.git(&["config", "filter.own.smudge", &format!("cat '{}'", pipe.display())]);
    let hanging = env.create(&write("file.txt", "one"));
    let waiting = wait_for_reader(&pipe);
    env.git(&["config", "filter.own.smudge", "cat"]);
    env.coppice(&["merge", &done]).succeeds();
    env.coppice(&["rm", &removed]).succeeds();
    env.coppice(&["archive", &away]).succeeds();
    env.coppice(&["resume", &away]).succeeds();
    env.create_ready(&write("other.txt", "four"));
    assert_eq!(env.status(&hanging), "preparing");
    drop(waiting);
    env.wait_for(&hanging, "ready");
    assert_eq!(env.read("done.txt"), "one\n");
}

#[test]
fn a_pipe_in_the_place_of_an_ignore_file_holds_up_no_other_session() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[run("mkdir x && mkfifo x/.gitignore && echo kept > x/file"), say("done")]));
    let error = env.session(&id)["last_error"]["message"].as_str().unwrap().to_owned();
    assert!(error.ends_with("x/.gitignore` is not a regular file"), "{error}");
    env.coppice(&["rm", &id]).succeeds();
    env.create_ready(&say("done"));
    let mut since = 0;
    let told = loop {
        let warning = env.wait_for_event(&id, "warning", since);
        since = warning["seq"].as_u64().unwrap();
        match warning["message"].as_str().unwrap() {
            message if message.starts_with("the removed worktree stays in") => break message.to_owned(),
            _ => {}
        }
    };
    let pipe = told.split('`').find(|part| part.ends_with("x/.gitignore")).unwrap();
    fs::remove_file(pipe).unwrap();
    // A new daemon tries again at once.
    env.kill_daemon();
    env.wait_for_event(&id, "saved", since);
    let saved = format!("refs/coppice/salvage/{id}:x/file");
    assert_eq!(env.git(&["show", &saved]), "kept");
}

#[test]
fn a_huge_file_does_not_hold_up_the_next_daemon() {
    let env = TestEnv::new();
    let other = env.create(&steps(&[run("truncate -s 4T huge"), "@hang".to_owned()]));
    env.wait_for_event(&other, "tool_finished", 0);
    env.kill_daemon();
    assert_eq!(env.status(&other), "interrupted");
    // It still counts.
    env.end_daemon(&[]);
}

#[test]
fn an_agent_sees_a_linked_directory_that_was_replaced() {
    let env = TestEnv::new();
    env.configure("[worktree]\nlink = [\"build\"]\n");
    env.write("build/version", "1\n");
    let id = env.create_ready(&run("cat build/version >> seen.txt"));
    fs::remove_dir_all(env.repo().join("build")).unwrap();
    env.write("build/version", "2\n");
    env.send_ready(&id, &[], &run("cat build/version >> seen.txt"));
    assert_eq!(fs::read_to_string(env.worktree(&id).join("seen.txt")).unwrap(), "1\n2\n");
}

#[test]
fn a_branch_deleted_by_hand_comes_back_from_its_checkpoint() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    env.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
    env.coppice(&["send", &id, &write("other.txt", "two")]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.git(&["show", &format!("{branch}:file.txt")]), "one");
}

#[test]
fn uncommitted_files_that_are_gone_with_their_worktree_are_not_counted() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("committed.txt", "one"));
    let git_dir = env.git_in(&env.worktree(&id), &["rev-parse", "--absolute-git-dir"]);
    fs::write(Path::new(&git_dir).join("index.lock"), "").unwrap();
    env.send_ready(&id, &[], &write("uncommitted.txt", "two"));
    env.wait_for_session(&id, |session| session["changes"]["files"] == 2);
    // The lock goes with the worktree, as whoever puts it back removes it.
    fs::remove_dir_all(env.worktree(&id)).unwrap();
    env.send_ready(&id, &[], &say("nothing new"));
    let session = env.session(&id);
    assert_eq!((&session["changes"]["files"], &session["uncommitted"]), (&json!(1), &Value::Null));
}

#[test]
fn ignored_files_come_along_when_the_user_agrees() {
    let env = TestEnv::new();
    env.write(".worktreeinclude", ".env\n");
    env.write(".env", "KEY=1\n");
    env.commit("include");
    let before = env.create_ready(&say("hi"));
    assert!(!env.worktree(&before).join(".env").exists());
    env.trust();
    let id = env.create_ready(&say("hi"));
    assert_eq!(fs::read_to_string(env.worktree(&id).join(".env")).unwrap(), "KEY=1\n");
}

#[test]
fn linked_directories_are_in_no_commit() {
    let env = TestEnv::new();
    // The pattern matches directories only, and a link is none.
    env.write(".gitignore", "node_modules/\n");
    env.commit("ignore");
    env.write("node_modules/package", "mine\n");
    env.configure("[worktree]\nlink = [\"node_modules\"]");
    let id = env.create_ready(&write("file.txt", "one"));
    assert!(env.worktree(&id).join("node_modules").is_symlink());
    let warnings: Vec<_> = env.events(&id).into_iter().filter(|event| event["type"] == "warning").collect();
    assert_eq!(warnings, Vec::<serde_json::Value>::new());
    assert_eq!(env.json(&["diff", &id])["files"].as_array().unwrap().len(), 1);
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["show", "--name-only", "--format="]).trim(), "file.txt");
    assert_eq!(env.read("node_modules/package"), "mine\n");
}

#[test]
fn the_include_file_counts_as_it_is_in_the_trusted_commit() {
    let env = TestEnv::new();
    env.write(".gitignore", "/build\n.env\n*.local\n");
    env.write(".worktreeinclude", "*.local\n");
    env.commit("include");
    env.trust();
    // The checkout shows another branch, which nobody trusts.
    env.git(&["switch", "--quiet", "--create", "other"]);
    env.write(".worktreeinclude", "*\n");
    env.commit("everything");
    env.write(".env", "KEY=1\n");
    env.write("own.local", "own\n");
    let id = env.create_with(&["--model", "demo", "--base", "main"], &say("hi"));
    env.wait_for(&id, "ready");
    assert!(env.worktree(&id).join("own.local").exists());
    assert!(!env.worktree(&id).join(".env").exists());
}

#[test]
fn setup_runs_only_after_trust() {
    let env = TestEnv::new();
    env.write(".coppice/config.toml", "[worktree]\nsetup = \"echo made > made.txt\"\n");
    env.commit("setup");
    let before = env.create_ready(&say("hi"));
    assert!(!env.worktree(&before).join("made.txt").exists());

    env.trust();

    let after = env.create_ready(&say("hi"));
    assert!(env.worktree(&after).join("made.txt").exists());
    assert!(env.kinds(&after).contains(&"setup_output".to_owned()));

    // Another text is another question.
    env.write(".coppice/config.toml", "[worktree]\nsetup = \"echo other > other.txt\"\n");
    env.commit("other setup");
    let changed = env.create_ready(&say("hi"));
    assert!(!env.worktree(&changed).join("other.txt").exists());
}

#[test]
fn a_relative_entry_of_the_search_path_leads_to_no_program_of_an_agent() {
    let mut env = TestEnv::new();
    let path = std::env::var("PATH").unwrap();
    env.write(".coppice/config.toml", "[worktree]\nsetup = \"printenv PATH\"\n");
    env.commit("setup");
    env.set("PATH", &format!("./bin::{path}:bin"));
    env.trust();
    let plant = r"mkdir bin; printf '#!/bin/sh\nexit 7\n' > bin/git; chmod +x bin/git";
    let id = env.create_ready(&steps(&[run(plant), say("done")]));
    let output = env.events(&id).into_iter().find(|event| event["type"] == "setup_output").unwrap();
    assert_eq!(output["text"], path);
    assert!(env.coppice(&["diff", &id]).stdout().contains("+exit 7"));
    env.send_ready(&id, &[], &write("file.txt", "more"));
}

#[test]
fn a_failing_setup_stops_the_session_in_a_clear_state() {
    let env = TestEnv::new();
    env.write(".coppice/config.toml", "[worktree]\nsetup = \"echo no luck >&2; exit 7\"\n");
    env.commit("setup");
    env.trust();
    let id = env.create(&say("hi"));
    env.wait_for(&id, "failed");
    let session = env.session(&id);
    assert_eq!(session["last_error"]["kind"], "setup", "{session:#}");
    let output = env.events(&id).into_iter().find(|event| event["type"] == "setup_output" && event["exit"] == 7);
    assert!(output.is_some(), "{:#?}", env.events(&id));
}

#[test]
fn what_an_agent_plants_in_its_worktree_does_not_run() {
    let env = TestEnv::new();
    let proof = env.path("proof");
    let proof = proof.to_str().unwrap();
    let id = env.create_ready(&steps(&[
        run(&format!(
            "mkdir -p hooks && printf '#!/bin/sh\\ntouch {proof}\\n' > hooks/pre-commit && chmod +x hooks/pre-commit"
        )),
        run(&format!("git config core.hooksPath hooks; git config core.fsmonitor 'touch {proof}'; true")),
        write("file.txt", "one"),
    ]));
    env.coppice(&["diff", &id]).succeeds();
    env.coppice(&["send", &id, &write("file.txt", "two")]).succeeds();
    env.wait_for(&id, "ready");
    assert!(!env.path("proof").exists());
}

#[test]
fn the_users_checkout_is_as_it_was() {
    let env = TestEnv::new();
    env.write("README.md", "edited\n");
    env.write("untracked.txt", "mine\n");
    let index = fs::read(env.repo().join(".git/index")).unwrap();
    let config = fs::read(env.repo().join(".git/config")).unwrap();
    let id = env.create_ready(&write("file.txt", "one"));
    env.coppice(&["rm", &id]).succeeds();
    assert_eq!(fs::read(env.repo().join(".git/index")).unwrap(), index);
    assert_eq!(fs::read(env.repo().join(".git/config")).unwrap(), config);
    assert_eq!(env.git(&["status", "--porcelain"]), " M README.md\n?? untracked.txt");
    assert_eq!(env.git(&["branch", "--show-current"]), "main");
}

#[test]
fn a_spare_tree_holds_nothing_of_its_former_session() {
    let env = TestEnv::new();
    let first =
        env.create_ready(&steps(&[write("file.txt", "one"), run("mkdir -p build && echo secret > build/secret")]));
    env.coppice(&["archive", &first]).succeeds();
    let second = env.create_ready(&say("hi"));
    let tree = env.worktree(&second);
    assert!(!tree.join("file.txt").exists() && !tree.join("build").exists());
    assert_eq!(env.git_in(&tree, &["status", "--porcelain", "--ignored"]), "");
}

#[test]
fn a_client_inside_a_worktree_is_told_where_it_is_by_the_store() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let tree = env.worktree(&id);
    // An agent can point git anywhere from here.
    fs::write(tree.join(".git"), "gitdir: /nowhere\n").unwrap();
    let listed = env.coppice_in(&tree, &["list", "--json"]).stdout();
    assert!(listed.contains(&id), "{listed}");
    let next = env.coppice_in(&tree, &["new", "--model", "demo", &say("hi")]).stdout();
    let base = env.session(next.trim())["base"]["name"].clone();
    assert_eq!(base, env.session(&id)["branch"]);
}

#[test]
fn work_comes_back_when_worktree_and_branch_are_both_deleted() {
    let env = TestEnv::new();
    let branch_of = |id: &str| format!("refs/heads/{}", env.session(id)["branch"].as_str().unwrap());
    let lose = |id: &str| {
        fs::remove_dir_all(env.worktree(id)).unwrap();
        env.git(&["update-ref", "-d", &branch_of(id)]);
    };
    let two_turns = || {
        let id = env.create_ready(&write("one.txt", "one"));
        env.send_ready(&id, &[], &write("two.txt", "two"));
        id
    };
    let id = two_turns();
    lose(&id);
    assert!(env.coppice(&["diff", &id, "--stat"]).stdout().contains("two.txt"));
    env.send_ready(&id, &[], &write("three.txt", "three"));
    assert_eq!(env.session(&id)["changes"]["files"], 3);

    // What was undone does not come back.
    let id = two_turns();
    env.coppice(&["undo", &id]).succeeds();
    lose(&id);
    env.send_ready(&id, &[], &say("done"));
    assert_eq!(env.session(&id)["changes"]["files"], 1);

    let id = two_turns();
    lose(&id);
    env.coppice(&["rm", &id]).succeeds();
    env.coppice(&["restore", &id]).succeeds();
    assert!(env.coppice(&["diff", &id, "--stat"]).stdout().contains("two.txt"));

    let id = two_turns();
    lose(&id);
    let merged = env.coppice(&["merge", &id]).exits(0).stderr;
    assert!(merged.contains("the worktree was gone and is back"), "{merged}");
    assert_eq!((env.read("one.txt"), env.read("two.txt")), ("one\n".to_owned(), "two\n".to_owned()));
}

#[test]
fn a_merge_or_an_undo_brings_back_what_was_deleted_by_hand() {
    let env = TestEnv::new();
    for (number, act) in ["merge", "undo", "rebase"].into_iter().enumerate() {
        let id = env.create_ready(&write(&format!("{number}.txt"), "one"));
        fs::remove_dir_all(env.worktree(&id)).unwrap();
        env.coppice(&[act, &id]).succeeds();
        let id = env.create_ready(&write(&format!("{number}-branch.txt"), "one"));
        env.git(&["update-ref", "-d", &format!("refs/heads/{}", env.session(&id)["branch"].as_str().unwrap())]);
        env.coppice(&[act, &id]).succeeds();
    }
    assert!(env.repo().join("0.txt").exists() && env.repo().join("0-branch.txt").exists());
}
