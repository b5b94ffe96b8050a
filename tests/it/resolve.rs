//! A conflict that a model proposes to resolve and a person accepts.

use std::fs;

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::kill::CRASH;
use crate::script::{run, steps, write};

/// More effects than an acceptance has.
const EFFECTS: u32 = 30;

/// A world whose agent answers questions on the side by this script.
fn world(aside: &str) -> TestEnv {
    let env = TestEnv::new();
    let command = json!([env!("CARGO_BIN_EXE_coppice"), "demo-agent", "--aside", aside]);
    env.configure(&format!(
        "[sandbox]\nlevel = \"off\"\n[backends.scripted]\ntransport = \"acp\"\ncommand = {command}\n"
    ));
    env
}

/// Answers with these lines for the first region, the only one.
fn answer(lines: &str) -> String {
    format!("@answer <<DONE\n@@@ region 1\n{lines}\n@@@ end\nDONE")
}

/// A session in conflict with `main` about `README.md` and whatever else the script and the user changed.
fn in_conflict(env: &TestEnv, script: &[String], others: &[(&str, &str)]) -> String {
    let script: Vec<_> = [write("README.md", "theirs")].into_iter().chain(script.iter().cloned()).collect();
    let id = env.create_with(&["--model", "scripted"], &steps(&script));
    env.wait_for(&id, "ready");
    env.write("README.md", "ours\n");
    for (path, text) in others {
        env.write(path, text);
    }
    env.commit("ours");
    env.coppice(&["merge", &id]).exits(1).transcript();
    assert_eq!(env.status(&id), "conflict");
    id
}

#[test]
fn what_is_accepted_is_shown_whatever_attributes_say_and_has_no_hidden_characters() {
    let env = world(&answer("both"));
    env.write(".gitattributes", "README.md -diff\n");
    env.commit("attributes");
    let id = in_conflict(&env, &[], &[]);
    assert!(proposal(&env, &id)["patch"].as_str().unwrap().contains("\n+both\n"));
    let env = world(&answer("bo\u{202e}th"));
    let id = in_conflict(&env, &[], &[]);
    let refused = env.coppice(&["resolve", &id]).exits(1).stderr;
    assert!(refused.starts_with("error: the backend's response was refused: "), "{refused}");
}

#[test]
fn a_file_that_is_too_large_to_look_at_is_not_resolved() {
    let env = world(&answer("both"));
    let id = in_conflict(&env, &[], &[]);
    env.coppice(&["send", &id, &run("truncate -s 65M README.md")]).succeeds();
    env.wait_for(&id, "conflict");
    let refused = env.coppice(&["resolve", &id]).exits(1).stderr;
    assert!(refused.contains("README.md"), "{refused}");
}

#[test]
fn a_conflict_of_a_rebase_is_resolved_in_the_same_way() {
    let env = world(&answer("both"));
    let id = env.create_with(&["--model", "scripted"], &write("README.md", "theirs"));
    env.wait_for(&id, "ready");
    env.write("README.md", "ours\n");
    env.commit("ours");
    env.coppice(&["rebase", &id]).exits(1).transcript();
    assert_eq!(env.status(&id), "conflict");
    let proposed = proposal(&env, &id)["id"].as_str().unwrap().to_owned();
    env.coppice(&["resolve", &id, "--accept", &proposed]).succeeds();
    assert_eq!((readme(&env, &id), env.status(&id)), ("both\n".to_owned(), "ready".to_owned()));
}

fn readme(env: &TestEnv, id: &str) -> String {
    fs::read_to_string(env.worktree(id).join("README.md")).unwrap()
}

fn proposal(env: &TestEnv, id: &str) -> Value {
    env.json(&["resolve", id])
}

fn kept(env: &TestEnv) -> String {
    env.git(&["for-each-ref", "--format=%(objectname)", "refs/coppice/resolutions/"])
}

#[test]
fn a_model_proposes_a_resolution_and_a_person_accepts_it() {
    let env = world(&answer("both"));
    let id = in_conflict(&env, &[], &[]);
    let marked = readme(&env, &id);
    let shown = env.coppice(&["resolve", &id]).transcript();
    // The marks name the session, so the hash of the file is another one each time.
    let shown: Vec<_> = shown.lines().filter(|line| !line.starts_with("index ")).collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    exit: 4
    -- stdout
    diff --git a/README.md b/README.md
    --- a/README.md
    +++ b/README.md
    @@ -1,5 +1 @@
    -<<<<<<< refs/heads/coppice/[ID1]/write-readme-md-theirs
    -theirs
    -=======
    -ours
    ->>>>>>> refs/heads/main
    +both
    -- stderr
    proposal [COMMIT]
      README.md  1 region
    hint: `coppice resolve [ID1] --accept [COMMIT]` applies it
    ");
    assert_eq!((readme(&env, &id), env.status(&id)), (marked, "conflict".to_owned()));

    let proposal = proposal(&env, &id);
    let proposed = proposal["id"].as_str().unwrap().to_owned();
    assert_eq!(kept(&env), proposed);
    assert_eq!(proposal["files"], json!([{"path": "README.md", "regions": 1}]));
    env.kill_daemon();
    insta::assert_snapshot!(env.coppice(&["resolve", &id, "--accept", &proposed]).transcript(), @"
    exit: 0
    -- stderr
    [ID1] the proposal is applied, ready
    ");
    assert_eq!((readme(&env, &id), env.status(&id)), ("both\n".to_owned(), "ready".to_owned()));
    assert_eq!(kept(&env), "");
    let tree = env.worktree(&id);
    assert_eq!(env.git_in(&tree, &["status", "--porcelain"]), "");
    assert_eq!(env.git_in(&tree, &["log", "-1", "--format=%s"]), "Resolve the conflict with main");

    let again = env.coppice(&["resolve", &id, "--accept", &proposed]).exits(1).stderr;
    assert!(again.starts_with(&format!("error: session `{id}` is ready: it cannot be resolved\n")), "{again}");
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("README.md"), "both\n");
}

#[test]
fn an_acceptance_that_is_cut_anywhere_can_be_repeated() {
    for effect in 1..EFFECTS {
        let mut env = world(&answer("both"));
        let id = in_conflict(&env, &[], &[]);
        let proposed = proposal(&env, &id)["id"].as_str().unwrap().to_owned();
        env.kill_daemon();
        env.set(CRASH, &effect.to_string());
        env.coppice(&["daemon", "start"]).succeeds();
        env.unset(CRASH);
        let marked = env.daemon_pid();
        // The daemon may die before it can answer.
        env.coppice(&["resolve", &id, "--accept", &proposed]).transcript();
        let survived = marked.is_some() && env.daemon_pid() == marked;
        if env.status(&id) == "conflict" {
            env.coppice(&["resolve", &id, "--accept", &proposed]).succeeds();
        }
        assert_eq!((readme(&env, &id), env.status(&id)), ("both\n".to_owned(), "ready".to_owned()), "at {effect}");
        // The daemon that survived would die in the merge.
        env.kill_daemon();
        env.coppice(&["merge", &id]).succeeds();
        assert_eq!(env.read("README.md"), "both\n");
        if survived {
            assert!(effect > 1, "the daemon did not end itself");
            return;
        }
    }
    panic!("an acceptance has more than {EFFECTS} effects");
}

#[test]
fn a_proposal_is_for_the_files_that_it_was_made_for() {
    let env = world(&answer("both"));
    let id = in_conflict(&env, &[], &[]);
    let proposed = proposal(&env, &id)["id"].as_str().unwrap().to_owned();
    let unknown = env.coppice(&["resolve", &id, "--accept", &"0".repeat(40)]).exits(5).stderr;
    assert!(unknown.contains(&format!("`coppice resolve {id}` proposes again")), "{unknown}");

    let (marked, file) = (readme(&env, &id), env.worktree(&id).join("README.md"));
    fs::write(&file, format!("{marked}more\n")).unwrap();
    let refused = env.coppice(&["resolve", &id, "--accept", &proposed]).transcript();
    insta::assert_snapshot!(refused, @"
    exit: 1
    -- stderr
    error: files of session `[ID1]` changed after the resolution was proposed: README.md

    hint: `coppice resolve [ID1]` proposes again
    ");
    assert_eq!((readme(&env, &id), env.status(&id)), (format!("{marked}more\n"), "conflict".to_owned()));

    fs::write(&file, &marked).unwrap();
    fs::write(env.worktree(&id).join("other.txt"), "another file\n").unwrap();
    let refused = env.coppice(&["resolve", &id, "--accept", &proposed]).exits(1).stderr;
    assert!(refused.contains("other.txt"), "{refused}");
    fs::remove_file(env.worktree(&id).join("other.txt")).unwrap();
    env.coppice(&["resolve", &id, "--accept", &proposed]).succeeds();
    assert_eq!((readme(&env, &id), env.status(&id)), ("both\n".to_owned(), "ready".to_owned()));
}

#[test]
fn a_bad_answer_is_repaired_once_and_then_refused() {
    let env = world(&format!("@answer both\n@then\n{}", answer("both")));
    let id = in_conflict(&env, &[], &[]);
    assert_eq!(proposal(&env, &id)["files"][0]["path"], "README.md");

    let env = world(&format!("@answer both\n@then\n{}", answer("<<<<<<< main")));
    let id = in_conflict(&env, &[], &[]);
    let marked = readme(&env, &id);
    insta::assert_snapshot!(env.coppice(&["resolve", &id]).transcript(), @"
    exit: 1
    -- stderr
    error: the backend's response was refused: the text for region 1 holds a conflict mark

    hint: `coppice resolve [ID1]` asks again
    ");
    assert_eq!((readme(&env, &id), env.status(&id), kept(&env)), (marked, "conflict".to_owned(), String::new()));
}

#[test]
fn files_without_marks_are_listed_and_left_alone() {
    let env = world(&answer("both"));
    env.write("gone.txt", "1\n");
    env.commit("a file");
    let id = in_conflict(&env, &["@delete gone.txt".to_owned()], &[("gone.txt", "2\n")]);
    let proposal = proposal(&env, &id);
    let reason = "it has no conflict marks: one side deleted it, git cannot merge it by lines, or it is resolved";
    assert_eq!(proposal["left_out"], json!([{"path": "gone.txt", "reason": reason}]));
    let accepted = env.coppice(&["resolve", &id, "--accept", proposal["id"].as_str().unwrap()]);
    insta::assert_snapshot!(accepted.transcript(), @"
    exit: 0
    -- stderr
    [ID1] the proposal is applied, conflict
    still in conflict: gone.txt
    ");
    assert_eq!(readme(&env, &id), "both\n");
    insta::assert_snapshot!(env.coppice(&["resolve", &id]).transcript(), @"
    exit: 1
    -- stderr
    error: no resolution can be proposed for session `[ID1]`: `gone.txt`: it has no conflict marks: one side deleted it, git cannot merge it by lines, or it is resolved

    hint: edit the files in `coppice shell [ID1]`, or let the agent: `coppice send [ID1] 'resolve the conflict'`
    ");
}

#[test]
fn a_file_that_may_hold_secrets_is_no_part_of_the_question() {
    let env = world(&answer("both"));
    env.write(".gitignore", "");
    env.write(".env", "KEY=1\n");
    env.commit("a file");
    let id = in_conflict(&env, &[write(".env", "KEY=theirs")], &[(".env", "KEY=ours\n")]);
    assert_eq!(proposal(&env, &id)["left_out"], json!([{"path": ".env", "reason": "it may hold secrets"}]));
}

#[test]
fn the_proposal_goes_when_the_session_leaves_the_conflict() {
    let env = world(&answer("both"));
    let id = in_conflict(&env, &[], &[]);
    proposal(&env, &id);
    assert_ne!(kept(&env), "");
    fs::write(env.worktree(&id).join("README.md"), "by hand\n").unwrap();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((kept(&env), env.read("README.md")), (String::new(), "by hand\n".to_owned()));
}

#[test]
fn agents_can_neither_ask_for_a_proposal_nor_accept_one() {
    let env = world(&answer("both"));
    let id = in_conflict(&env, &[], &[]);
    let proposed = proposal(&env, &id)["id"].as_str().unwrap().to_owned();
    let (program, home) = (env!("CARGO_BIN_EXE_coppice"), env.path("coppice"));
    for act in [format!("resolve {id}"), format!("resolve {id} --accept {proposed}")] {
        let line = format!("COPPICE_HOME={} {program} {act} > said.txt 2>&1; true", home.display());
        let other = env.create_ready(&run(&line));
        let said = fs::read_to_string(env.worktree(&other).join("said.txt")).unwrap();
        assert!(said.starts_with("error: only a person may do this"), "{act}: {said}");
    }
    assert_eq!(env.status(&id), "conflict");
}
