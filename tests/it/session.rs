//! What a session goes through while its daemon lives: prompts, questions, approvals, undo, merge, removal.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::env::TestEnv;
use crate::script::{ask, ask_to_run, crash, fail, hang, misfit, misfit_once, say, steps, write};

#[test]
fn work_goes_from_a_prompt_to_the_users_branch() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "demo", "--title", "Greet"], &write("greeting.txt", "hello"));
    env.wait_for(&id, "ready");
    assert!(!env.repo().join("greeting.txt").exists());
    let diff = env.json(&["diff", &id]);
    assert_eq!(diff["files"], json!([{"path": "greeting.txt", "status": "A", "insertions": 1, "deletions": 0}]));
    assert_eq!(env.session(&id)["changes"], json!({"files": 1, "insertions": 1, "deletions": 0}));

    env.coppice(&["merge", &id]).succeeds();

    assert_eq!(env.status(&id), "merged");
    assert_eq!(env.read("greeting.txt"), "hello\n");
    assert_eq!(env.git(&["log", "--format=%s|%an", "-1", "main"]), "Greet|Tess Ter");
    assert_eq!(env.git(&["rev-list", "--count", "main"]), "2");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn one_turn_is_told_by_its_events() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("greeting.txt", "hello"), say("done")]));
    let kinds: Vec<_> = env.kinds(&id).into_iter().filter(|kind| kind != "preparing" && kind != "usage").collect();
    assert_eq!(
        kinds,
        [
            "session_created",
            "prompt_queued",
            "turn_started",
            "tool_started",
            "tool_finished",
            "checkpoint",
            "turn_completed"
        ]
    );
    let completed = env.events(&id).pop().unwrap();
    assert_eq!(completed["response"]["answer"], "done");
}

#[test]
fn every_way_to_merge_brings_the_same_tree() {
    for style in ["--squash", "--no-ff", "--rebase"] {
        let env = TestEnv::new();
        let id = env.create_ready(&write("greeting.txt", "hello"));
        env.write("other.txt", "meanwhile\n");
        env.commit("meanwhile");
        env.coppice(&["merge", &id, style]).succeeds();
        assert_eq!(
            (env.read("greeting.txt"), env.read("other.txt")),
            ("hello\n".into(), "meanwhile\n".into()),
            "{style}"
        );
        let parents = env.git(&["log", "--format=%P", "-1"]).split(' ').count();
        assert_eq!(parents, if style == "--no-ff" { 2 } else { 1 }, "{style}");
    }
}

#[test]
fn work_that_cannot_be_committed_is_not_taken_for_none() {
    let env = TestEnv::new();
    env.refuse_dat_files();
    let id = env.create_ready(&write("file.dat", "one"));
    let shown = env.coppice(&["show", &id]).exits(0).stdout;
    let part = |from: &str| shown[shown.find(from).unwrap()..].lines().next().unwrap().to_owned();
    assert_eq!(part("status "), "status    ready, its changes are not committed");
    assert!(shown.contains("\nchanges   not committed\n"), "{shown}");
    assert!(part("uncommitted: ").contains("what the turn changed could not be committed"), "{shown}");
    assert!(part("hint: ").ends_with(&format!("within two minutes, and `coppice merge {id}` at once")), "{shown}");
    assert!(env.coppice(&["wait", &id]).exits(0).stdout.contains("its changes are not committed"));
    assert!(env.coppice(&["list"]).exits(0).stdout.contains("its changes are not committed"));
    assert!(env.coppice(&["merge", &id]).exits(1).stderr.contains("filter"));
    assert!(env.coppice(&["show", &id]).exits(0).stdout.contains("its changes are not committed"));

    env.git(&["config", "filter.broken.clean", "cat"]);
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("file.dat"), "one\n");
    assert_eq!(env.session(&id)["last_error"], json!(null));
}

#[test]
fn work_that_could_not_be_committed_is_counted_and_committed_once_the_cause_is_gone() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("first.txt", "one"));
    let git_dir = env.git_in(&env.worktree(&id), &["rev-parse", "--absolute-git-dir"]);
    let lock = Path::new(&git_dir).join("index.lock");
    fs::write(&lock, "").unwrap();
    let before = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["send", &id, &steps(&[write("second.txt", "two"), fail("out of ideas")])]).succeeds();
    env.wait_for(&id, "failed");
    let shown = env.coppice(&["show", &id]).exits(0).stdout;
    assert!(shown.contains("out of ideas; its changes are not committed"), "{shown}");
    let counted = env.wait_for_session(&id, |session| session["changes"]["files"] == 2);
    assert_eq!((&counted["status"], &counted["uncommitted"]["kind"]), (&json!("failed"), &json!("uncommitted")));
    assert!(env.coppice(&["show", &id]).exits(0).stdout.contains("2 files  +2 -0, not committed"));

    fs::remove_file(&lock).unwrap();
    env.wait_for_event(&id, "checkpoint", before);
    let session = env.wait_for_session(&id, |session| session["uncommitted"].is_null());
    assert_eq!(session["last_error"]["message"], "out of ideas");
    assert_eq!(env.git(&["show", &format!("{}:second.txt", session["branch"].as_str().unwrap())]), "two");
}

#[test]
fn the_hint_about_local_work_names_every_file_and_works() {
    let env = TestEnv::new();
    env.write(".gitignore", "*.log\n");
    env.commit("ignore");
    let id = env.create_ready(&steps(&[write("README.md", "theirs"), write("new", "a file")]));
    env.write("README.md", "mine\n");
    env.write("new/deep.log", "ignored\n");
    env.write("untouched.log", "stays\n");
    let told = env.coppice(&["merge", &id]).exits(1).stderr;
    let hint = told.split('`').find(|part| part.starts_with("git -C ")).unwrap();
    assert!(hint.ends_with(" stash push --all -- README.md new/deep.log"), "{told}");
    env.git(&hint.split(' ').skip(1).collect::<Vec<_>>());
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.read("README.md"), env.read("new")), ("theirs\n".into(), "a file\n".into()));
    assert_eq!(env.read("untouched.log"), "stays\n");
}

#[test]
fn a_merge_that_would_lose_local_work_is_refused() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("README.md", "theirs"));
    env.write("README.md", "mine\n");
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: the merge into `main` is refused: local changes in `[ROOT]/repo` would be overwritten: `README.md`

    hint: commit them, or run `git -C [ROOT]/repo stash push --all -- README.md`, then merge again
    ");
    assert_eq!(env.read("README.md"), "mine\n");
    assert_eq!(env.status(&id), "ready");
}

#[test]
fn a_merge_with_unrelated_local_work_keeps_it() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("greeting.txt", "hello"));
    env.write("README.md", "mine\n");
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.read("README.md"), env.read("greeting.txt")), ("mine\n".into(), "hello\n".into()));
    assert_eq!(env.git(&["status", "--porcelain"]), " M README.md");
}

#[test]
fn a_merge_reaches_a_base_that_is_not_checked_out() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("greeting.txt", "hello"));
    env.git(&["checkout", "-q", "-b", "elsewhere"]);
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["show", "main:greeting.txt"]), "hello");
    assert!(!env.repo().join("greeting.txt").exists());
}

#[test]
fn a_conflict_names_its_files_and_harms_nothing() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("README.md", "theirs"));
    env.write("README.md", "ours\n");
    env.commit("ours");
    let before = env.git(&["rev-parse", "main"]);
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    conflict
      README.md
    hint: `main` is merged into the worktree; conflicting text files have marks: `coppice resolve [ID1]` proposes a resolution, `coppice send [ID1] 'resolve the conflict'` lets the agent edit them, or edit the files in [ROOT]/coppice/data/worktrees/[PROJECT]/[ID1]; then `coppice merge [ID1]`
    ");
    assert_eq!(env.status(&id), "conflict");
    assert_eq!(env.session(&id)["conflicts"], json!(["README.md"]));
    assert_eq!((env.git(&["rev-parse", "main"]), env.read("README.md")), (before, "ours\n".into()));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_question_waits_for_its_answer() {
    let env = TestEnv::new();
    let id = env.create(&ask("Which colour?", &["red", "green"]));
    env.wait_for(&id, "asking");
    assert_eq!(env.session(&id)["waiting_for"], "answer");
    assert_eq!(env.json(&["inbox"])[0]["questions"][0]["text"], "Which colour?");
    env.coppice(&["wait", &id]).exits(3).transcript();

    env.coppice(&["answer", &id, "2"]).succeeds();

    env.wait_for(&id, "ready");
    assert_eq!(env.json(&["inbox"]), json!([]));
    let answered = env.events(&id).into_iter().find(|event| event["type"] == "question_answered").unwrap();
    assert_eq!(answered["answer"], "green");
}

#[test]
fn an_allowed_call_happens() {
    let env = TestEnv::new();
    let id = env.create(&ask_to_run("echo allowed > proof.txt"));
    env.wait_for(&id, "approval");
    assert!(!env.worktree(&id).join("proof.txt").exists());
    env.coppice(&["wait", &id]).exits(4).transcript();
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert!(env.worktree(&id).join("proof.txt").exists());
}

#[test]
fn a_denied_call_does_not_happen() {
    let env = TestEnv::new();
    let id = env.create(&ask_to_run("echo denied > proof.txt"));
    env.wait_for(&id, "approval");
    env.coppice(&["deny", &id, "--message", "not here"]).succeeds();
    env.wait_for(&id, "ready");
    assert!(!env.worktree(&id).join("proof.txt").exists());
    let resolved = env.events(&id).into_iter().find(|event| event["type"] == "approval_resolved").unwrap();
    assert_eq!((&resolved["outcome"], &resolved["message"]), (&json!("denied"), &json!("not here")));
}

#[test]
fn prompts_queue_while_a_turn_runs() {
    let env = TestEnv::new();
    let id = env.create(&ask_to_run("true"));
    env.wait_for(&id, "approval");
    env.coppice(&["send", &id, &write("second.txt", "2")]).succeeds();
    env.coppice(&["send", &id, &write("third.txt", "3")]).succeeds();
    assert_eq!(env.session(&id)["queued"], 2);
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    let turns: Vec<_> =
        env.events(&id).iter().filter(|e| e["type"] == "turn_started").map(|e| e["prompt"].clone()).collect();
    assert_eq!(turns, [1, 2, 3]);
    assert!(env.worktree(&id).join("third.txt").exists());
}

#[test]
fn a_prompt_that_cannot_wait_interrupts() {
    let env = TestEnv::new();
    let id = env.create(&steps(&[write("first.txt", "1"), hang()]));
    env.wait_for_event(&id, "tool_finished", 0);
    env.coppice(&["send", &id, "--now", &write("second.txt", "2")]).succeeds();
    env.wait_for(&id, "ready");
    let ends: Vec<_> = env.kinds(&id).into_iter().filter(|kind| kind.starts_with("turn_")).collect();
    assert_eq!(ends, ["turn_started", "turn_interrupted", "turn_started", "turn_completed"]);
    // What the interrupted turn had done is still there.
    assert!(env.worktree(&id).join("first.txt").exists());
}

#[test]
fn a_stopped_turn_leaves_no_process_and_goes_on_when_asked() {
    let env = TestEnv::new();
    let id = env.create(&hang());
    env.wait_for_event(&id, "turn_started", 0);
    env.coppice(&["stop", &id]).succeeds();
    env.wait_for(&id, "interrupted");
    env.coppice(&["send", &id, &say("back")]).succeeds();
    env.wait_for(&id, "ready");
}

#[test]
fn an_undo_can_be_undone() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    env.coppice(&["send", &id, &write("file.txt", "two")]).succeeds();
    env.wait_for(&id, "ready");
    let file = env.worktree(&id).join("file.txt");
    let read = || std::fs::read_to_string(&file).ok();

    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(read().as_deref(), Some("one\n"));
    let forward = env.coppice(&["undo", &id, "--to", "2"]).exits(0).stderr;
    assert!(forward.contains("is as turn 2 left it"), "{forward}");
    assert_eq!(read().as_deref(), Some("two\n"));
    env.coppice(&["undo", &id, "--to", "0"]).succeeds();
    assert_eq!(read(), None);

    // What was never committed by a turn is saved by the undo itself.
    assert!(!env.coppice(&["undo", &id, "--to", "0"]).exits(0).stderr.contains("refs/coppice/undo/"));
    std::fs::write(env.worktree(&id).join("mine.txt"), "by hand\n").unwrap();
    let told = env.coppice(&["undo", &id, "--to", "1"]).exits(0).stderr;
    assert!(told.contains("warning: changes that no turn had committed are kept in `refs/coppice/undo/"), "{told}");
    let undone = env.events(&id).into_iter().rfind(|event| event["type"] == "undone").unwrap();
    let saved = undone["saved"].as_str().unwrap();
    assert_eq!(env.git(&["show", &format!("{saved}:mine.txt")]), "by hand");

    // What no commit can hold would be lost: git refuses names that other systems take for `.git`.
    let unsavable = env.worktree(&id).join("git~1");
    std::fs::write(&unsavable, "by hand\n").unwrap();
    let refused = env.coppice(&["undo", &id, "--to", "0"]).exits(1).stderr;
    assert!(refused.contains("files that no commit can hold would be lost: `git~1`"), "{refused}");
    assert_eq!(
        (std::fs::read_to_string(&unsavable).ok(), read().as_deref()),
        (Some("by hand\n".into()), Some("one\n"))
    );
    std::fs::remove_file(unsavable).unwrap();
    env.coppice(&["undo", &id, "--to", "0"]).succeeds();
}

#[test]
fn a_removed_session_comes_back_with_its_uncommitted_work() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let tree = env.worktree(&id);
    std::fs::write(tree.join("mine.txt"), "by hand\n").unwrap();

    env.coppice(&["rm", &id]).succeeds();
    assert!(!tree.exists());
    assert_eq!(env.json(&["list"]), json!([]));
    assert_eq!(env.json(&["list", "--removed"])[0]["id"], id.as_str());

    env.coppice(&["restore", &id]).succeeds();
    let tree = env.worktree(&id);
    assert_eq!(std::fs::read_to_string(tree.join("mine.txt")).unwrap(), "by hand\n");
    assert_eq!(env.git_in(&tree, &["status", "--porcelain"]), "?? mine.txt");
    env.coppice(&["send", &id, &write("more.txt", "2")]).succeeds();
    env.wait_for(&id, "ready");
}

#[test]
fn an_archived_session_keeps_branch_and_transcript() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "one"));
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    env.coppice(&["archive", &id]).succeeds();
    assert_eq!(env.status(&id), "archived");
    assert_eq!(env.git(&["show", &format!("{branch}:file.txt")]), "one");
}

#[test]
fn a_draft_starts_when_it_is_sent() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "demo", "--draft"], &write("file.txt", "one"));
    assert_eq!(env.status(&id), "draft");
    assert_eq!(env.session(&id)["turns"], 0);
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert!(env.worktree(&id).join("file.txt").exists());
}

#[test]
fn title_and_base_are_what_the_user_said() {
    let env = TestEnv::new();
    env.git(&["branch", "old"]);
    env.write("README.md", "# later\n");
    env.commit("later");
    let id = env.create_with(&["--model", "demo", "--title", "Fix the lexer", "--base", "old"], &say("hi"));
    env.wait_for(&id, "ready");
    let session = env.session(&id);
    assert_eq!((&session["title"], &session["base"]["name"]), (&json!("Fix the lexer"), &json!("old")));
    assert!(session["branch"].as_str().unwrap().ends_with("/fix-the-lexer"), "{}", session["branch"]);
    assert_eq!(std::fs::read_to_string(env.worktree(&id).join("README.md")).unwrap(), "# sample\n");
}

#[test]
fn a_response_that_does_not_fit_gets_one_repair() {
    let env = TestEnv::new();
    let repaired = env.create_ready(&misfit_once());
    assert_eq!(env.session(&repaired)["turns"], 1);
    assert!(env.kinds(&repaired).contains(&"retry".to_owned()));

    let failed = env.create(&misfit());
    env.wait_for(&failed, "failed");
    assert_eq!(env.session(&failed)["last_error"]["kind"], "protocol");
    assert_eq!(env.kinds(&failed).iter().filter(|kind| *kind == "retry").count(), 1);
    assert!(!env.coppice(&["show", &failed, "--raw"]).stdout().is_empty());
}

#[test]
fn failures_of_the_agent_say_what_helps() {
    let env = TestEnv::new();
    let crashed = env.create(&crash());
    env.wait_for(&crashed, "failed");
    assert_eq!(env.session(&crashed)["last_error"]["kind"], "crashed");
    let failed = env.create(&fail("the model is on holiday"));
    env.wait_for(&failed, "failed");
    let message = env.session(&failed)["last_error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("the model is on holiday"), "{message}");
}

#[test]
fn run_follows_to_the_end() {
    let env = TestEnv::new();
    let output = env.coppice(&["run", "--model", "demo", &say("all done")]);
    assert!(output.stdout.contains("all done"), "{}", output.stdout);
    output.succeeds();
    env.coppice(&["run", "--model", "demo", &ask("Which?", &["a", "b"])]).exits(3).transcript();
    env.coppice(&["run", "--model", "demo", &crash()]).exits(1).transcript();
}

#[test]
fn leaving_run_does_not_stop_the_turn() {
    let env = TestEnv::new();
    let mut run = env.start(&["run", "--json", "--model", "demo", &ask_to_run("true")]);
    run.line_where(|line| line.contains("turn_started"));
    let id = env.json(&["list"])[0]["id"].as_str().unwrap().to_owned();
    env.wait_for(&id, "approval");
    run.signal(rustix::process::Signal::INT);
    let (code, stderr) = run.end();
    // It had come to rest by itself, or was left: both leave the session as it is.
    assert!(matches!(code, Some(4 | 130)), "{code:?}: {stderr}");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
}

#[test]
fn an_undo_after_a_rebase_stays_on_the_base() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("first.txt", "1"));
    env.coppice(&["send", &id, &write("second.txt", "2")]).succeeds();
    env.wait_for(&id, "ready");
    env.write("upstream.txt", "up\n");
    env.commit("upstream");
    env.coppice(&["rebase", &id]).succeeds();
    env.coppice(&["undo", &id]).succeeds();
    let tree = env.worktree(&id);
    let there = ["first.txt", "second.txt", "upstream.txt"].map(|file| tree.join(file).exists());
    assert_eq!(there, [true, false, true]);
    assert_eq!(env.session(&id)["changes"]["files"], 1);
}

#[test]
fn an_archived_session_comes_back_with_its_tree() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("file.txt", "1"));
    env.coppice(&["archive", &id]).succeeds();
    assert!(!env.worktree(&id).exists());
    env.coppice(&["resume", &id]).succeeds();
    assert_eq!(env.status(&id), "ready");
    assert!(env.worktree(&id).join("file.txt").exists());
    env.coppice(&["merge", &id]).succeeds();
}

#[test]
fn the_sessions_of_a_moved_repository_are_found_again() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    let (old, new, tree) = (env.repo(), env.path("moved"), env.worktree(&id));
    std::fs::rename(&old, &new).unwrap();
    let told = env.coppice_in(&new, &["list"]).exits(0).stderr;
    let old_name = old.display();
    let offered =
        format!("1 session of this repository when it was at `{old_name}`: coppice project relink makes them");
    assert!(told.contains(&offered), "{told}");
    let refused = env.coppice_in(&new, &["merge", &id]).exits(1).stderr;
    let expected = format!("the repository of session `{id}` is no longer at `{old_name}`");
    assert!(refused.contains(&expected) && refused.contains("`coppice project relink` in its new place"), "{refused}");

    // Where another repository is, nothing is said about it, unless all sessions are asked for.
    let other = env.path("other");
    std::fs::create_dir(&other).unwrap();
    for arguments in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "other"]] {
        env.git_in(&other, arguments);
    }
    let told = env.coppice_in(&other, &["list"]).exits(0).stderr;
    assert!(!told.contains(&old_name.to_string()) && !told.contains("relink"), "{told}");
    let told = env.coppice_in(&other, &["list", "--all"]).exits(0).stderr;
    assert!(told.contains(&format!("1 session of `{old_name}`, which is gone")), "{told}");
    for arguments in [&["project", "relink"][..], &["project", "relink", &old_name.to_string()]] {
        let refused = env.coppice_in(&other, arguments).transcript();
        assert!(!refused.starts_with("exit: 0"), "{refused}");
    }

    let told = env.coppice_in(&new, &["project", "relink"]).exits(0).stderr;
    assert_eq!(told.trim(), format!("1 session of `{old_name}` relinked to `{}`", new.display()));
    assert!(env.coppice_in(&new, &["list"]).exits(0).stdout.contains(&id));
    let inside = env.git_in(&tree, &["rev-parse", "--git-common-dir"]);
    assert_eq!(std::path::Path::new(inside.trim()), new.join(".git"));
    env.coppice_in(&new, &["send", &id, &write("b.txt", "b")]).succeeds();
    env.coppice_in(&new, &["wait", &id]).succeeds();
    env.coppice_in(&new, &["merge", &id]).succeeds();
    let read = |name: &str| std::fs::read_to_string(new.join(name)).unwrap();
    assert_eq!((read("a.txt"), read("b.txt")), ("a\n".into(), "b\n".into()));
    assert!(!env.coppice_in(&new, &["list"]).exits(0).stderr.contains("relink"));
}

#[test]
fn a_moved_repository_that_is_in_use_again_gets_its_former_sessions() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    let new = env.path("moved");
    fs::rename(env.repo(), &new).unwrap();
    let other = env.coppice_in(&new, &["new", "--model", "demo", &write("b.txt", "b")]).stdout().trim().to_owned();
    env.coppice_in(&new, &["wait", &other]).succeeds();
    env.coppice_in(&new, &["project", "relink"]).succeeds();
    for id in [&id, &other] {
        env.coppice_in(&new, &["merge", id]).succeeds();
    }
    assert!(new.join("a.txt").exists() && new.join("b.txt").exists());
}

#[test]
fn a_repository_in_the_place_of_a_moved_one_has_nothing_of_its_trust() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    let (old, new) = (env.repo(), env.path("moved"));
    env.coppice(&["config", "set", "--project", "merge.style", "rebase"]).succeeds();
    std::fs::rename(&old, &new).unwrap();
    let from = old.to_str().unwrap();
    env.coppice_in(&env.path("home"), &["project", "relink", from, new.to_str().unwrap()]).succeeds();
    let style = |place: &std::path::Path| env.coppice_in(place, &["config", "get", "merge.style"]).stdout();
    assert_eq!(style(&new).trim(), "rebase");
    std::fs::create_dir(&old).unwrap();
    for arguments in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "other"]] {
        env.git(arguments);
    }
    assert_eq!(style(&old).trim(), "squash");
    assert!(!env.coppice(&["list"]).exits(0).stdout.contains(&id));
    let refused = env.coppice_in(&new, &["project", "relink", from]).transcript();
    assert!(refused.contains("is still there: its sessions belong to it"), "{refused}");
}

#[test]
fn a_session_does_nothing_in_another_repository_at_the_path_of_its_own() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    let (old, new) = (env.repo(), env.path("moved"));
    fs::rename(&old, &new).unwrap();
    env.git_in(&env.path("home"), &["clone", "-q", new.to_str().unwrap(), old.to_str().unwrap()]);
    let other = env.create_ready(&write("b.txt", "b"));
    let expected = format!("is not the repository of session `{id}`");
    for act in ["merge", "rebase", "undo"] {
        let refused = env.coppice(&[act, &id]).exits(1).stderr;
        assert!(refused.contains(&expected), "{act}: {refused}");
    }
    env.coppice(&["send", &id, "hi"]).succeeds();
    env.wait_for(&id, "failed");
    let failure = env.session(&id)["last_error"]["message"].to_string();
    assert!(failure.contains(&expected), "{failure}");
    assert!(!old.join("a.txt").exists());
    assert!(!env.git(&["branch", "--list"]).contains(&id));
    env.coppice_in(&new, &["project", "relink"]).succeeds();
    env.coppice_in(&new, &["merge", &id]).succeeds();
    env.coppice(&["merge", &other]).succeeds();
    let has = |place: &std::path::Path| (place.join("a.txt").exists(), place.join("b.txt").exists());
    assert_eq!((has(&new), has(&old)), ((true, false), (false, true)));
}

#[test]
fn the_sessions_of_a_repository_that_was_cloned_anew_go_on_in_the_clone() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    let (old, backup) = (env.repo(), env.path("backup"));
    env.git_in(&env.path("home"), &["clone", "-q", "--bare", old.to_str().unwrap(), backup.to_str().unwrap()]);
    fs::remove_dir_all(&old).unwrap();
    env.git_in(&env.path("home"), &["clone", "-q", backup.to_str().unwrap(), old.to_str().unwrap()]);
    let refused = env.coppice(&["merge", &id]).exits(1).stderr;
    assert!(refused.contains(&format!("run `coppice project relink {}` here", old.display())), "{refused}");
    env.coppice(&["project", "relink", old.to_str().unwrap()]).succeeds();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("a.txt"), "a\n");
}

#[test]
fn several_sessions_are_put_away_at_once_and_each_result_is_told() {
    let env = TestEnv::new();
    for (act, word) in [("archive", "archived"), ("rm", "removed")] {
        let [one, two] = [(), ()].map(|()| env.create_ready(&write("a.txt", "a")));
        let told = env.coppice(&[act, &one, "zzzzzzzz", &two]).exits(5).stderr;
        let lines: Vec<_> = told.lines().collect();
        assert!(lines[0].starts_with(&format!("{one} {word}")), "{told}");
        assert!(lines[1].starts_with("error: ") && lines[1].contains("`zzzzzzzz`"), "{told}");
        assert!(lines.last().unwrap().starts_with(&format!("{two} {word}")), "{told}");
        // The worktrees are gone, and nobody is sent to one.
        assert!(env.coppice(&["show", &one]).exits(0).stdout.contains("worktree  none\n"));
    }
}

#[test]
fn a_base_branch_that_was_deleted_is_made_again_by_the_command_of_the_hint() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    env.git(&["checkout", "-q", "-b", "other"]);
    env.git(&["branch", "-q", "-D", "main"]);
    let mut hinted = String::new();
    for act in ["rebase", "merge"] {
        let refused = env.coppice(&[act, &id]).exits(1).stderr;
        assert!(refused.contains("the branch `main` does not exist any more"), "{refused}");
        hinted = refused.split('`').find(|word| word.starts_with("git branch ")).unwrap().to_owned();
    }
    env.git(&hinted.split(' ').skip(1).collect::<Vec<_>>());
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["show", "main:a.txt"]), "a");
}
