//! What a person has looked at is what is merged: work that changes after a look, although no turn runs, is refused.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::http;
use crate::script::{delegate, run, say, steps, write};

/// A session that wrote `page.md`.
fn with_page(env: &TestEnv, text: &str) -> String {
    env.create_ready(&steps(&[write("page.md", text), say("done")]))
}

fn edit(env: &TestEnv, id: &str, path: &str, text: &str) {
    fs::write(env.worktree(id).join(path), format!("{text}\n")).unwrap();
}

#[track_caller]
fn look(env: &TestEnv, id: &str) -> String {
    env.coppice(&["diff", id]).stdout()
}

#[track_caller]
fn refused(env: &TestEnv, id: &str) -> String {
    let said = env.coppice(&["merge", id]).exits(1).stderr;
    assert!(said.contains("changed after you last looked"), "{said}");
    said
}

/// What the warnings of a merge say.
#[track_caller]
fn merge(env: &TestEnv, id: &str) -> Value {
    let session = env.json(&["merge", id]);
    if session["warnings"].is_null() { json!([]) } else { session["warnings"].clone() }
}

/// A backend whose agent has a child that outlives its turns: it writes what it is told, and says when that is done.
fn configure_writing_agent(env: &TestEnv) {
    let server = "while read -r text <build/in; do echo \"$text\" >page.md; echo done >build/out; done";
    let program = env!("CARGO_BIN_EXE_coppice");
    let script = format!(
        "mkdir -p build && mkfifo build/in build/out; ({server}) </dev/null >/dev/null 2>&1 & exec '{program}' demo-agent"
    );
    env.configure(&format!("[backends.server]\ntransport = \"acp\"\ncommand = [\"sh\", \"-c\", '''{script}''']"));
}

/// Lets the child of the agent write the page.
#[track_caller]
fn let_agent_write(env: &TestEnv, id: &str, text: &str) {
    let mut shell = Command::new("timeout");
    let script = "echo \"$1\" >build/in && cat build/out";
    shell.args(["60", "sh", "-c", script, "sh", text]).current_dir(env.worktree(id));
    assert_eq!(shell.output().unwrap().stdout, b"done\n");
    assert_eq!(fs::read_to_string(env.worktree(id).join("page.md")).unwrap(), format!("{text}\n"));
}

#[test]
fn a_process_that_outlives_its_turn_cannot_show_one_thing_and_have_another_merged() {
    let env = TestEnv::new();
    configure_writing_agent(&env);
    let id = env.create_with(&["--model", "server"], &steps(&[write("page.md", "evil"), say("done")]));
    env.wait_for(&id, "ready");
    // The checkpoint holds one text, and the person sees the other.
    let_agent_write(&env, &id, "good");
    assert!(look(&env, &id).contains("+good"));
    let_agent_write(&env, &id, "evil");
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: 1 file changed after you last looked at the work: `page.md`

    hint: look again with `coppice diff [ID1]`, or merge exactly this without a look: `coppice merge [ID1] --accept-unseen-changes=[COMMIT]`
    ");
    assert_eq!(env.git(&["log", "--format=%s", "main"]), "begin");
    assert_eq!(env.status(&id), "ready");

    // A look at a part of the work is none.
    env.coppice(&["diff", &id, "--stat"]).succeeds();
    env.coppice(&["diff", &id, "--turn", "1"]).succeeds();
    refused(&env, &id);
    let_agent_write(&env, &id, "good");
    assert_eq!(merge(&env, &id), json!([]), "it is what was shown");
    assert_eq!(env.read("page.md"), "good\n");
}

#[test]
fn another_look_or_the_flag_lets_a_merge_pass() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    look(&env, &id);
    edit(&env, &id, "page.md", "two");
    edit(&env, &id, "new.md", "three");
    let said = refused(&env, &id);
    assert!(said.contains("2 files changed after you last looked at the work: `new.md`, `page.md`"), "{said}");
    assert!(look(&env, &id).contains("+two"));
    assert_eq!(merge(&env, &id), json!([]));
    assert_eq!(env.read("page.md"), "two\n");

    let id = with_page(&env, "four");
    look(&env, &id);
    edit(&env, &id, "page.md", "five");
    let merged = env.json(&["merge", &id, "--accept-unseen-changes"]);
    assert_eq!(merged["warnings"], json!(["1 file changed after you last looked at the work: `page.md`"]));
    assert_eq!(env.read("page.md"), "five\n");
}

#[test]
fn consent_names_exactly_what_was_refused() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    look(&env, &id);
    edit(&env, &id, "page.md", "two");
    let refusal = http::with_body(&env, "POST", &format!("/v1/sessions/{id}/merge"), &json!({}));
    let (_, refusal) = refusal.split_once("\r\n\r\n").unwrap();
    let refusal = serde_json::from_str::<Value>(refusal).unwrap();
    let accept = format!("--accept-unseen-changes={}", refusal["error"]["unseen_changes"]["id"].as_str().unwrap());
    edit(&env, &id, "page.md", "evil");
    let said = env.coppice(&["merge", &id, &accept]).exits(1).stderr;
    assert!(said.contains("changed after you last looked") && !said.contains(&format!("{id} {accept}`")), "{said}");
    edit(&env, &id, "page.md", "two");
    env.coppice(&["merge", &id, &accept]).succeeds();
    assert_eq!(env.read("page.md"), "two\n");
}

#[test]
fn a_patch_that_is_cut_is_no_look() {
    let env = TestEnv::new();
    let id = with_page(&env, "good");
    look(&env, &id);
    // The change of the page comes after a file that fills the patch.
    edit(&env, &id, "a.txt", &"a long line of a long file\n".repeat(1_300_000));
    edit(&env, &id, "page.md", "evil");
    let patch = look(&env, &id);
    assert!(patch.len() < 33 << 20 && !patch.contains("+evil"), "{}", patch.len());
    let base = env.git(&["rev-parse", "main"]);
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    let remark = format!(
        "\\ The patch is longer than 32 MiB; the rest is left out. `coppice diff {id} --stat` lists all files, \
         `git diff {base} {branch} -- PATH` in your repository shows what is committed of one."
    );
    assert_eq!(patch.lines().last(), Some(remark.as_str()));
    assert!(env.coppice(&["diff", &id, "--stat"]).stdout().contains("page.md"));
    let said = refused(&env, &id);
    assert!(said.contains("2 files changed after you last looked at the work: `a.txt`, `page.md`"), "{said}");
}

#[test]
fn many_files_are_counted_and_the_first_are_named() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    look(&env, &id);
    (10..40).for_each(|number| edit(&env, &id, &format!("f{number}"), "x"));
    let said = refused(&env, &id);
    assert!(said.contains("30 files changed after you last looked at the work: `f10`, `f11`"), "{said}");
    assert!(said.contains("`f21` and 18 more"), "{said}");
    let body = http::with_body(&env, "POST", &format!("/v1/sessions/{id}/merge"), &json!({}));
    let (_, body) = body.split_once("\r\n\r\n").unwrap();
    let error = serde_json::from_str::<Value>(body).unwrap()["error"]["unseen_changes"].clone();
    assert_eq!((&error["count"], error["files"].as_array().unwrap().len()), (&json!(30), 12));
    let accept = json!({"unseen": "accept"});
    let merged = http::with_body(&env, "POST", &format!("/v1/sessions/{id}/merge"), &accept);
    assert!(merged.starts_with("HTTP/1.1 200"), "{merged}");
}

#[test]
fn a_look_before_the_last_turn_is_not_compared() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    look(&env, &id);
    env.send_ready(&id, &[], &steps(&[write("page.md", "two"), say("done")]));
    assert_eq!(merge(&env, &id), json!([]));
    assert_eq!(env.read("page.md"), "two\n");

    let id = with_page(&env, "three");
    edit(&env, &id, "by-hand.md", "late");
    // Nobody has looked: the merge says what it takes.
    assert_eq!(merge(&env, &id), json!(["1 file that changed after the last turn is part of this merge"]));
}

#[test]
fn a_look_while_a_turn_runs_is_not_compared() {
    let env = TestEnv::new();
    let go = env.visible_to_agents("go");
    let wait = crate::script::wait_for_file(&go);
    let id = env.create(&steps(&[write("page.md", "one"), wait, write("page.md", "two"), say("done")]));
    env.wait_for_event(&id, "tool_finished", 0);
    assert!(look(&env, &id).contains("+one"));
    fs::write(&go, "").unwrap();
    env.wait_for(&id, "ready");
    assert_eq!(merge(&env, &id), json!([]));
    assert_eq!(env.read("page.md"), "two\n");
}

#[test]
fn a_look_outlives_the_daemon() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    look(&env, &id);
    env.kill_daemon();
    edit(&env, &id, "page.md", "two");
    refused(&env, &id);
    env.end_daemon(&[]);
    refused(&env, &id);
    env.kill_daemon();
    edit(&env, &id, "page.md", "one");
    assert_eq!(merge(&env, &id), json!([]));
}

#[test]
fn a_look_outlives_an_archive_and_a_removal() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    edit(&env, &id, "page.md", "two");
    look(&env, &id);
    env.coppice(&["archive", &id]).succeeds();
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    env.coppice(&["rm", &id]).succeeds();
    env.coppice(&["restore", &id]).succeeds();
    edit(&env, &id, "page.md", "three");
    refused(&env, &id);
    edit(&env, &id, "page.md", "two");
    assert_eq!(merge(&env, &id), json!([]));
}

#[test]
fn an_undo_is_compared_with_what_was_shown_after_the_turn_it_keeps() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    edit(&env, &id, "page.md", "shown");
    look(&env, &id);
    edit(&env, &id, "page.md", "one");
    env.send_ready(&id, &[], &steps(&[write("page.md", "two"), say("done")]));
    look(&env, &id);
    env.coppice(&["undo", &id, "--to", "1"]).succeeds();
    refused(&env, &id);
    // Back again, it is what was shown after the second turn.
    env.coppice(&["undo", &id, "--to", "2"]).succeeds();
    assert_eq!(merge(&env, &id), json!([]));

    // Nobody has looked after the turn that is kept.
    let id = with_page(&env, "three");
    env.send_ready(&id, &[], &steps(&[write("page.md", "four"), say("done")]));
    look(&env, &id);
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!(merge(&env, &id), json!([]));
    assert_eq!(env.read("page.md"), "three\n");
}

#[test]
fn a_rebase_takes_the_look_along_and_hides_nothing() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    look(&env, &id);
    edit(&env, &id, "page.md", "two");
    let rebase = env.coppice(&["rebase", &id]);
    insta::assert_snapshot!(rebase.transcript(), @r"
    exit: 1
    -- stderr
    error: 1 file changed after you last looked at the work: `page.md`

    hint: look again with `coppice diff [ID1]`, then rebase
    ");
    look(&env, &id);
    env.write("other.txt", "meanwhile\n");
    env.commit("meanwhile");
    env.coppice(&["rebase", &id]).succeeds();
    edit(&env, &id, "page.md", "three");
    let said = refused(&env, &id);
    assert!(said.contains("1 file changed after you last looked at the work: `page.md`"), "{said}");
    edit(&env, &id, "page.md", "two");
    assert_eq!(merge(&env, &id), json!([]));
}

/// A session whose turns make a change and take it back, as a person sees it before the base gets the same change.
fn with_change_taken_back(env: &TestEnv) -> String {
    env.write("page.md", "one\n");
    env.commit("one");
    let id = with_page(env, "fixed");
    env.send_ready(&id, &[], &steps(&[write("page.md", "one"), write("new.md", "new"), say("done")]));
    let shown = look(env, &id);
    assert!(shown.contains("+new") && !shown.contains("page.md"), "{shown}");
    env.write("page.md", "fixed\n");
    env.commit("fixed");
    id
}

#[test]
fn a_rebase_that_takes_back_a_change_of_the_base_needs_another_look() {
    let env = TestEnv::new();
    let id = with_change_taken_back(&env);
    env.coppice(&["rebase", &id]).succeeds();
    assert!(refused(&env, &id).contains("1 file changed after you last looked at the work: `page.md`"));
    assert!(look(&env, &id).contains("-fixed"));
    assert_eq!(merge(&env, &id), json!([]));
    assert_eq!(env.read("page.md"), "one\n");
}

#[test]
fn a_merge_by_rebase_never_takes_back_a_change_of_the_base() {
    let env = TestEnv::new();
    let id = with_change_taken_back(&env);
    insta::assert_snapshot!(env.coppice(&["merge", &id, "--rebase"]).transcript(), @r"
    exit: 1
    -- stderr
    error: the merge into `main` is refused: the commits one by one come to something else than the work as a whole: `page.md`

    hint: `coppice merge [ID1] --squash`, or with `--no-ff`; or `coppice rebase [ID1]`, look again with `coppice diff [ID1]`, then merge
    ");
    assert_eq!(env.git(&["log", "-1", "--format=%s", "main"]), "fixed");
    assert_eq!(merge(&env, &id), json!([]));
    assert_eq!((env.read("page.md"), env.read("new.md")), ("fixed\n".into(), "new\n".into()));
}

#[test]
fn a_resolved_conflict_needs_another_look() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("README.md", "theirs"));
    env.write("README.md", "ours\n");
    env.commit("ours");
    look(&env, &id);
    env.coppice(&["merge", &id]).exits(1).transcript();
    assert_eq!(env.status(&id), "conflict");
    edit(&env, &id, "README.md", "both");
    // Not the person's.
    edit(&env, &id, "page.md", "more");
    assert!(refused(&env, &id).contains("2 files changed after you last looked at the work: `README.md`, `page.md`"));
    assert!(look(&env, &id).contains("+both"));
    assert_eq!(merge(&env, &id), json!([]));
    assert_eq!((env.read("README.md"), env.read("page.md")), ("both\n".into(), "more\n".into()));
}

#[test]
fn what_no_merge_takes_is_not_compared() {
    let env = TestEnv::new();
    let id = with_page(&env, "one");
    look(&env, &id);
    // Ignored files, times and a repository of its own.
    let tree = env.worktree(&id);
    fs::create_dir_all(tree.join("build")).unwrap();
    edit(&env, &id, "build/output", "x");
    edit(&env, &id, ".env", "SECRET=1");
    edit(&env, &id, "page.md", "one");
    env.git_in(&tree.join("build"), &["init", "-q", "nested"]);
    assert_eq!(merge(&env, &id), json!([]));

    // A mode is content.
    let id = with_page(&env, "two");
    look(&env, &id);
    let page = env.worktree(&id).join("page.md");
    fs::set_permissions(&page, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    refused(&env, &id);
}

#[test]
fn a_look_of_an_agent_is_none() {
    let env = TestEnv::new();
    env.configure("sandbox.level = \"off\"");
    let home = env.path("coppice").display().to_string();
    let id = with_page(&env, "one");
    look(&env, &id);
    edit(&env, &id, "page.md", "two");
    // Another session's agent looks at it, and asks for the review to be remembered.
    let program = env!("CARGO_BIN_EXE_coppice");
    let script = format!("COPPICE_HOME='{home}' '{program}' diff {id} >seen.txt");
    let other = env.create_ready(&steps(&[run(&script), say("done")]));
    assert!(fs::read_to_string(env.worktree(&other).join("seen.txt")).unwrap().contains("+two"));
    refused(&env, &id);
}

#[test]
fn a_child_is_brought_to_its_parent_whatever_was_looked_at() {
    let env = TestEnv::new();
    env.configure("[delegation]\nintegrate = \"manual\"");
    let (id, _) = crate::delegate::played(&env, &delegate("general", &steps(&[write("a.txt", "a"), say("done")])));
    let child = crate::delegate::child(&env, &id);
    look(&env, &child);
    look(&env, &id);
    edit(&env, &child, "a.txt", "b");
    env.coppice(&["integrate", &child]).succeeds();
    assert_eq!(fs::read_to_string(env.worktree(&id).join("a.txt")).unwrap(), "b\n");
    // The parent's work is another one than the person saw.
    assert!(refused(&env, &id).contains("`a.txt`"));
    look(&env, &id);
    assert_eq!(merge(&env, &id), json!([]));
}
