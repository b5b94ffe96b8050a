//! A merge that is taken back: what the base branch, the user's checkout and the session are then.

use insta::assert_snapshot;
use serde_json::json;

use crate::env::TestEnv;
use crate::kill::{CRASH, EFFECTS};
use crate::script::{say, write};

/// A session whose file is merged.
fn merged(env: &TestEnv) -> String {
    let id = env.create_ready(&write("one.txt", "one"));
    env.coppice(&["merge", &id]).succeeds();
    id
}

#[test]
fn a_merge_is_undone_and_made_again() {
    let env = TestEnv::new();
    let before = env.git(&["rev-parse", "main"]);
    let id = merged(&env);
    let session = env.session(&id);
    let commit = env.git(&["rev-parse", "main"]);
    assert_eq!(
        session["undoable_merge"],
        json!({"commit": commit, "target": "main", "files": ["one.txt"], "file_count": 1})
    );
    assert!(session["next"].as_array().unwrap().contains(&json!("undo")), "{session}");

    let undone = env.coppice(&["undo", &id]).transcript();
    assert_snapshot!(undone.replace(&commit[..10], "[MERGE]"), @r"
    exit: 0
    -- stderr
    [ID1]: `main` is without the merge [MERGE] again; to merge: +1 -0
      one.txt
    `coppice merge [ID1]` merges it again
    ");
    assert_eq!((env.git(&["rev-parse", "main"]), env.git(&["status", "--porcelain"])), (before, String::new()));
    let session = env.session(&id);
    assert_eq!((&session["status"], &session["changes"]["files"]), (&json!("ready"), &json!(1)));
    assert!(env.worktree(&id).join("one.txt").exists());
    let event = env.events(&id).into_iter().find(|event| event["type"] == "merge_undone").unwrap();
    assert_eq!((&event["commit"], &event["target"], event.get("reverted_by")), (&json!(commit), &json!("main"), None));

    env.send_ready(&id, &[], &write("two.txt", "two"));
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "one.txt\ntwo.txt");
}

#[test]
fn a_merge_that_is_not_the_last_commit_is_reverted() {
    let env = TestEnv::new();
    let id = merged(&env);
    let commit = env.git(&["rev-parse", "main"]);
    env.write("later.txt", "later\n");
    env.commit("later");
    // Nobody's file is lost, and what is said helps.
    env.write("one.txt", "mine\n");
    let refused = env.coppice(&["undo", &id]).exits(1).transcript();
    assert_snapshot!(refused.replace(&commit[..10], "[MERGE]"), @r"
    exit: 1
    -- stderr
    error: the merge `[MERGE]` into `main` cannot be undone: local changes in `[ROOT]/repo` would be overwritten: `one.txt`

    hint: run `git -C [ROOT]/repo stash push --all -- one.txt`, undo again, then `git stash pop`
    ");
    assert_eq!((env.status(&id), env.read("one.txt")), ("merged".into(), "mine\n".into()));
    assert!(!env.worktree(&id).exists());
    env.git(&["stash", "push", "--all", "--", "one.txt"]);

    let undone = env.coppice(&["undo", &id]).transcript();
    let revert = env.git(&["rev-parse", "main"]);
    assert_snapshot!(undone.replace(&commit[..10], "[MERGE]").replace(&revert[..10], "[REVERT]"), @r"
    exit: 0
    -- stderr
    [ID1]: `main` is without the merge [MERGE] again; to merge: +1 -0
      one.txt
    `coppice merge [ID1]` merges it again
    warning: `main` has more commits since the merge [MERGE]: the commit [REVERT] reverts it
    ");
    assert_eq!(env.git(&["show", "--format=", "--name-status", "main"]), "D\tone.txt");
    assert!(env.repo().join("later.txt").exists());
    // Nothing is left that could be undone twice, and the work can be merged again.
    assert_eq!(env.session(&id)["undoable_merge"], json!(null));
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("one.txt"), "one\n");
}

#[test]
fn all_merges_of_a_session_can_be_undone_one_after_the_other() {
    let env = TestEnv::new();
    let before = env.git(&["rev-parse", "main"]);
    let id = merged(&env);
    let first = env.git(&["rev-parse", "main"]);
    env.send_ready(&id, &[], &write("two.txt", "two"));
    env.coppice(&["merge", &id]).succeeds();
    // An archive in between changes nothing about it.
    env.coppice(&["archive", &id]).succeeds();
    env.coppice(&["restore", &id]).succeeds();
    env.coppice(&["undo", &id, "--merge"]).succeeds();
    assert_eq!(env.git(&["rev-parse", "main"]), first);
    // Then the turn that was merged second, then the merge of the first, which nobody means without saying so.
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(env.session(&id)["changes"]["files"], 0);
    let refused = env.coppice(&["undo", &id]).exits(1).stderr;
    assert!(refused.contains(&format!("`coppice undo {id} --merge` takes the merge back")), "{refused}");
    env.coppice(&["undo", &id, "--merge"]).succeeds();
    assert_eq!((env.git(&["rev-parse", "main"]), env.session(&id)["changes"]["files"].clone()), (before, json!(1)));
}

#[test]
fn a_session_that_went_on_loses_its_merge_only_by_name_and_with_no_file_that_nobody_committed() {
    let env = TestEnv::new();
    let id = merged(&env);
    let commit = env.git(&["rev-parse", "main"]);
    env.send_ready(&id, &[], &say("more"));
    // A process of the agent writes after its turn.
    std::fs::write(env.worktree(&id).join("late.txt"), "late").unwrap();
    for options in [&["--merge"][..], &[]] {
        let refused = env.coppice(&[&["undo", id.as_str()], options].concat()).exits(1).stderr;
        assert!(refused.contains("since"), "{refused}");
        assert_eq!(env.git(&["rev-parse", "main"]), commit, "{options:?}");
    }
    let refused = env.coppice(&["undo", &id, "--merge"]).exits(1).stderr;
    assert!(refused.contains("files have changed since the last turn"), "{refused}");
    env.coppice(&["undo", &id, "--to", "2"]).succeeds();
    assert!(!env.worktree(&id).join("late.txt").exists());
    env.coppice(&["undo", &id, "--merge"]).succeeds();
    assert_ne!(env.git(&["rev-parse", "main"]), commit);
}

#[test]
fn an_undo_from_before_a_merge_is_not_taken_back_after_it() {
    let env = TestEnv::new();
    let id = merged(&env);
    env.send_ready(&id, &[], &write("two.txt", "two"));
    env.coppice(&["undo", &id]).succeeds();
    let undone = env.coppice(&["undo", &id, "--merge"]).transcript();
    assert!(undone.contains("warning: the undo before it can no longer be taken back"), "{undone}");
    let refused = env.coppice(&["undo", &id, "--redo"]).exits(1).stderr;
    assert!(refused.contains("has no undo to take back"), "{refused}");
    env.coppice(&["undo", &id, "--to", "2"]).succeeds();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "one.txt\ntwo.txt");
}

#[test]
fn an_undo_of_a_merge_that_is_cut_anywhere_can_be_repeated() {
    for effect in 1..EFFECTS {
        let mut env = TestEnv::new();
        let before = env.git(&["rev-parse", "main"]);
        let id = merged(&env);
        env.kill_daemon();
        env.set(CRASH, &effect.to_string());
        // It may die at once, while it saves what the merged worktree held.
        env.coppice(&["daemon", "start"]).transcript();
        env.unset(CRASH);
        let marked = env.daemon_pid();
        env.coppice(&["undo", &id]).transcript();
        let survived = marked.is_some() && env.daemon_pid() == marked;
        if env.status(&id) == "merged" {
            env.coppice(&["undo", &id]).succeeds();
        }
        assert_eq!((env.status(&id), env.git(&["rev-parse", "main"])), ("ready".into(), before), "at effect {effect}");
        assert_eq!(env.session(&id)["changes"]["files"], 1, "at effect {effect}");
        if survived {
            assert!(effect > 1, "the daemon did not end itself");
            return;
        }
        env.coppice(&["merge", &id]).succeeds();
    }
    panic!("an undo has more than {EFFECTS} effects");
}
