//! An undo that fails in the midst or is killed: the state before it is kept, and the next act completes it.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::env::TestEnv;
use crate::kill::{CRASH, EFFECTS};
use crate::script::{run, say, steps, write};

/// A git of the daemon's that fails where its arguments contain what the test says.
struct FailingGit {
    directory: PathBuf,
}

impl FailingGit {
    /// Puts it in front of the real one, before the daemon starts.
    fn install(env: &mut TestEnv) -> Self {
        let directory = env.wrap_git("fails", "echo 'no space left' >&2; exit 1");
        Self { directory }
    }

    fn fail_at(&self, words: &str) {
        fs::write(self.directory.join("fails"), format!("{words}\n")).unwrap();
    }

    fn work(&self) {
        fs::remove_file(self.directory.join("fails")).unwrap();
    }
}

/// A session of two turns with a file that no turn has committed.
fn with_two_turns(env: &TestEnv) -> String {
    let id = env.create_ready(&write("one.txt", "one"));
    env.send_ready(&id, &[], &write("two.txt", "two"));
    fs::write(env.worktree(&id).join("by-hand.txt"), "mine\n").unwrap();
    id
}

/// Which of the files are there.
fn files(env: &TestEnv, id: &str) -> Vec<&'static str> {
    let tree = env.worktree(id);
    ["one.txt", "two.txt", "by-hand.txt"].into_iter().filter(|name| tree.join(name).exists()).collect()
}

/// The refs that keep the state before the undos of a session.
fn saved(env: &TestEnv, id: &str) -> Vec<String> {
    let refs = env.git(&["for-each-ref", "--format=%(refname)", &format!("refs/coppice/undo/{id}/")]);
    refs.lines().map(str::to_owned).collect()
}

#[track_caller]
fn keeps_everything(env: &TestEnv, id: &str) {
    let whole = |name: &String| {
        let names = env.git(&["ls-tree", "--name-only", name]);
        ["by-hand.txt", "one.txt", "two.txt"].iter().all(|file| names.lines().any(|line| line == *file))
    };
    assert!(saved(env, id).iter().any(whole), "{:?}", saved(env, id));
}

#[test]
fn an_undo_that_fails_says_what_to_do_and_can_be_repeated() {
    let mut env = TestEnv::new();
    let git = FailingGit::install(&mut env);
    for (number, words) in ["read-tree --reset", "update-index --add --replace"].into_iter().enumerate() {
        let id = with_two_turns(&env);
        git.fail_at(words);
        let said = env.coppice(&["undo", &id]).exits(1);
        keeps_everything(&env, &id);
        if number == 0 {
            let saved = saved(&env, &id)[0].replace(&id, "[ID1]");
            assert_snapshot!(said.transcript().replace(&saved, "[SAVED]"), @r"
            exit: 1
            -- stderr
            error: the undo of session `[ID1]` to turn 1 did not finish
              caused by: not all files could be put back; the state before is kept in `[SAVED]`
              caused by: `git read-tree` failed with exit status: 1: no space left

            hint: free some disk space; `coppice undo [ID1] --to 1` tries again, `coppice undo [ID1] --redo` restores the files from before it
            ");
        }
        let error = env.session(&id)["last_error"].clone();
        assert_eq!(error["kind"], "unfinished_undo");
        assert!(error["message"].as_str().unwrap().contains(&saved(&env, &id)[0]), "{error}");
        // Nothing is merged or begun with such files.
        for act in [vec!["merge", &id], vec!["send", &id, "hi"], vec!["archive", &id]] {
            let refused = env.coppice(&act).exits(1).stderr;
            assert!(refused.contains("did not finish"), "{refused}");
        }
        assert_eq!(env.status(&id), "ready");
        git.work();
        let (to, expected) = [("1", vec!["one.txt"]), ("2", vec!["one.txt", "two.txt"])][number].clone();
        let undone = env.json(&["undo", &id, "--to", to]);
        assert!(undone["warnings"].to_string().contains("an undo before this one did not finish"), "{undone}");
        assert_eq!(files(&env, &id), expected);
        assert!(env.session(&id)["last_error"].is_null());
    }
}

#[test]
fn an_undo_that_changes_nothing_leaves_no_mark() {
    let mut env = TestEnv::new();
    let git = FailingGit::install(&mut env);
    let id = with_two_turns(&env);
    git.fail_at("write-tree");
    env.coppice(&["undo", &id]).exits(1).transcript();
    git.work();
    assert!(env.session(&id)["last_error"].is_null());
    assert_eq!((saved(&env, &id), files(&env, &id).len()), (vec![], 3));
}

#[test]
fn an_undo_that_is_cut_anywhere_is_completed_by_the_next_daemon() {
    for effect in 1..EFFECTS {
        let mut env = TestEnv::new();
        let id = with_two_turns(&env);
        env.kill_daemon();
        env.set(CRASH, &effect.to_string());
        env.coppice(&["daemon", "start"]).succeeds();
        env.unset(CRASH);
        let marked = env.daemon_pid();
        // The daemon may die before it can answer.
        env.coppice(&["undo", &id]).transcript();
        let survived = marked.is_some() && env.daemon_pid() == marked;
        // The next daemon completes what has begun.
        let session = env.session(&id);
        assert_ne!(session["last_error"]["kind"], "unfinished_undo", "at effect {effect}");
        if session["undone_to"] != 1 {
            env.coppice(&["undo", &id]).succeeds();
        }
        assert_eq!(files(&env, &id), ["one.txt"], "at effect {effect}");
        keeps_everything(&env, &id);
        if survived {
            assert!(effect > 3, "the daemon did not end itself");
            return;
        }
    }
    panic!("an undo has more than {EFFECTS} effects");
}

/// A session whose second turn changes two files and cannot commit them.
fn with_failed_checkpoint(env: &TestEnv) -> String {
    env.refuse_dat_files();
    let id = env.create_ready(&write("one.txt", "one"));
    env.send_ready(&id, &[], &steps(&[write("two.txt", "two"), write("file.dat", "two"), say("done")]));
    id
}

#[test]
fn an_undo_says_which_turn_it_restores_where_one_was_never_committed_on_its_own() {
    let env = TestEnv::new();
    let id = with_failed_checkpoint(&env);
    env.send_ready(&id, &[], &steps(&[run("rm file.dat"), write("three.txt", "three"), say("done")]));
    let undone = env.json(&["undo", &id]);
    let expected = "the files are as after turn 1: what turn 2 changed was never committed on its own";
    assert!(undone["warnings"].as_array().unwrap().iter().any(|warning| warning == expected), "{undone}");
    assert_eq!((files(&env, &id), &undone["undone_to"]), (vec!["one.txt"], &1.into()));
    let events = env.events(&id);
    assert_eq!(events.iter().rfind(|event| event["type"] == "undone").unwrap()["to"], 1);
    env.json(&["undo", &id, "--to", "3"]);
    assert_eq!(files(&env, &id), ["one.txt", "two.txt"]);
}

#[test]
fn a_redo_brings_back_what_no_turn_committed() {
    let env = TestEnv::new();
    let id = with_failed_checkpoint(&env);
    env.git(&["config", "filter.broken.clean", "cat"]);
    fs::write(env.worktree(&id).join("by-hand.txt"), "mine\n").unwrap();
    let before = env.session(&id);
    let said = env.coppice(&["undo", &id]).exits(0).stderr;
    assert!(said.contains(&format!("`coppice undo {id} --redo` takes this back")), "{said}");
    assert_eq!(files(&env, &id), ["one.txt"]);
    env.coppice(&["undo", &id, "--redo"]).succeeds();
    assert_eq!(files(&env, &id), ["one.txt", "two.txt", "by-hand.txt"]);
    let session = env.session(&id);
    assert_eq!((&session["undone_to"], &session["changes"]), (&before["undone_to"], &before["changes"]));
    // As before: in the worktree, and in no commit of the branch.
    let branch = session["branch"].as_str().unwrap();
    assert!(!env.git(&["ls-tree", "--name-only", branch]).contains("by-hand.txt"));

    env.send_ready(&id, &[], &say("done"));
    let refused = env.coppice(&["undo", &id, "--redo"]).transcript();
    assert_snapshot!(refused, @r"
    exit: 1
    -- stderr
    error: session `[ID1]` has no undo to take back

    hint: `coppice undo [ID1] --to N` goes to the files of any turn; `coppice show [ID1]` lists them; a merge that was undone comes again with `coppice merge [ID1]`
    ");
}

#[test]
fn a_redo_restores_the_files_after_an_undo_that_failed() {
    let mut env = TestEnv::new();
    let git = FailingGit::install(&mut env);
    let id = with_two_turns(&env);
    git.fail_at("read-tree --reset");
    env.coppice(&["undo", &id]).exits(1).transcript();
    git.work();
    env.coppice(&["undo", &id, "--redo"]).succeeds();
    assert_eq!(files(&env, &id), ["one.txt", "two.txt", "by-hand.txt"]);
    assert!(env.session(&id)["last_error"].is_null());
}

#[test]
fn a_turn_whose_checkpoint_failed_gets_it_before_the_next_turn() {
    let env = TestEnv::new();
    let id = with_failed_checkpoint(&env);
    env.git(&["config", "filter.broken.clean", "cat"]);
    env.send_ready(&id, &[], &write("three.txt", "three"));
    let undone = env.json(&["undo", &id]);
    assert_eq!((files(&env, &id), &undone["undone_to"]), (vec!["one.txt", "two.txt"], &2.into()));
    assert!(!env.worktree(&id).join("three.txt").exists());
}

#[test]
fn an_undo_right_after_a_failed_checkpoint_takes_back_that_turn_alone() {
    let env = TestEnv::new();
    let id = with_failed_checkpoint(&env);
    env.git(&["config", "filter.broken.clean", "cat"]);
    env.json(&["undo", &id]);
    assert_eq!(files(&env, &id), ["one.txt"]);
}

#[test]
fn an_undo_goes_back_to_where_its_turn_began() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("one.txt", "one"));
    env.coppice(&["undo", &id]).succeeds();
    env.send_ready(&id, &[], &say("nothing to do"));
    env.send_ready(&id, &[], &write("two.txt", "two"));
    assert_eq!(files(&env, &id), ["two.txt"]);
    env.coppice(&["undo", &id]).succeeds();
    assert!(files(&env, &id).is_empty());
    assert_eq!(env.session(&id)["changes"]["files"], 0);
    // What was undone before comes back only when somebody asks for it.
    env.coppice(&["undo", &id, "--to", "1"]).succeeds();
    assert_eq!(files(&env, &id), ["one.txt"]);
}

/// A session whose second turn is cut off by a kill of the daemon, once it has begun and `has_written`.
fn with_killed_turn(env: &TestEnv, before_kill: &[String], has_written: impl Fn(&Path) -> bool) -> String {
    let id = env.create_ready(&write("one.txt", "one"));
    let endless = [before_kill, &[run("sleep 3600"), say("done")]].concat();
    env.coppice(&["send", &id, &steps(&endless)]).succeeds();
    env.wait_for(&id, "running");
    env.wait_for_session(&id, |_| has_written(&env.worktree(&id)));
    env.kill_daemon();
    id
}

#[test]
fn an_undo_after_a_kill_takes_back_what_the_cut_off_turn_left() {
    let env = TestEnv::new();
    let id = with_killed_turn(&env, &[write("two.txt", "two")], |tree| tree.join("two.txt").exists());
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(files(&env, &id), ["one.txt"]);
    env.coppice(&["undo", &id]).succeeds();
    assert!(files(&env, &id).is_empty());
}

#[test]
fn an_undo_after_a_kill_takes_back_the_turn_before_one_that_left_nothing() {
    let env = TestEnv::new();
    let id = with_killed_turn(&env, &[], |_| true);
    env.coppice(&["undo", &id]).succeeds();
    assert!(files(&env, &id).is_empty());
}

#[test]
fn work_that_was_merged_stays_merged_when_an_undo_goes_past_it_and_back() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("one.txt", "one"));
    env.coppice(&["merge", &id]).succeeds();
    env.send_ready(&id, &[], &write("one.txt", "changed"));
    env.coppice(&["merge", &id]).succeeds();
    env.send_ready(&id, &[], &write("one.txt", "changed again"));
    for to in ["0", "1", "2", "3"] {
        env.coppice(&["undo", &id, "--to", to]).succeeds();
    }
    assert_eq!(env.session(&id)["changes"]["insertions"], 1);
    env.coppice(&["undo", &id, "--to", "1"]).succeeds();
    assert_eq!(env.session(&id)["changes"]["files"], 0);
    env.coppice(&["undo", &id, "--to", "3"]).succeeds();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("one.txt"), "changed again\n");
}

#[test]
fn nothing_is_merged_that_an_unfinished_undo_was_to_take_back() {
    let mut env = TestEnv::new();
    let git = FailingGit::install(&mut env);
    let id = with_two_turns(&env);
    git.fail_at("read-tree --reset");
    env.coppice(&["undo", &id]).exits(1).transcript();
    git.work();
    let refused = env.coppice(&["merge", &id]).exits(1).stderr;
    assert!(refused.contains("to turn 1 had not finished, and has now"), "{refused}");
    assert_eq!(files(&env, &id), ["one.txt"]);
    env.coppice(&["merge", &id]).succeeds();
    assert!(env.repo().join("one.txt").exists() && !env.repo().join("two.txt").exists());
}
