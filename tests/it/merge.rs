//! Work and base that do not go together, and the numbers and words of several merges of one session.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{run, say, steps, write};

/// A session that has written another `README.md` than the user has committed meanwhile, and was to be merged.
pub(crate) fn in_conflict(env: &TestEnv, ours: &str) -> String {
    let id = env.create_ready(&write("README.md", "theirs"));
    env.write("README.md", &format!("{ours}\n"));
    env.write("other.txt", "meanwhile\n");
    env.commit("ours");
    env.coppice(&["merge", &id]).exits(1).transcript();
    id
}

fn checkpoints(env: &TestEnv, id: &str) -> Vec<Value> {
    let events = env.events(id).into_iter().filter(|event| event["type"] == "checkpoint");
    events.map(|event| event["changes"].clone()).collect()
}

fn numbers(files: u32, insertions: u32, deletions: u32) -> Value {
    json!({"files": files, "insertions": insertions, "deletions": deletions})
}

#[test]
fn an_agent_resolves_a_conflict_by_editing_files() {
    let env = TestEnv::new();
    let id = in_conflict(&env, "ours");
    let marked = std::fs::read_to_string(env.worktree(&id).join("README.md")).unwrap();
    assert!(marked.contains("<<<<<<< refs/heads/coppice/") && marked.contains(">>>>>>> refs/heads/main"), "{marked}");
    assert!(env.worktree(&id).join("other.txt").exists());

    // Whoever does something else has not resolved it.
    env.coppice(&["send", &id, &write("unrelated.txt", "more")]).succeeds();
    env.wait_for(&id, "conflict");
    assert_eq!(env.session(&id)["conflicts"], json!(["README.md"]));
    for command in ["merge", "rebase"] {
        env.coppice(&[command, &id]).exits(1).transcript();
        assert_eq!(env.status(&id), "conflict");
    }

    env.send_ready(&id, &[], &steps(&[run("printf 'both\\n' > README.md"), say("resolved")]));
    assert_eq!(env.session(&id)["conflicts"], json!([]));
    // The base's own changes are not the session's.
    assert_eq!(env.json(&["diff", &id])["changes"]["files"], 2);
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.read("README.md"), env.read("other.txt")), ("both\n".into(), "meanwhile\n".into()));
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "README.md\nunrelated.txt");
}

#[test]
fn a_person_resolves_a_conflict_in_the_worktree() {
    let env = TestEnv::new();
    let id = in_conflict(&env, "ours");
    std::fs::write(env.worktree(&id).join("README.md"), "by hand\n").unwrap();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.status(&id), env.read("README.md")), ("merged".into(), "by hand\n".into()));
    // Nothing is left of it, which is not the same as nothing was done.
    let told = env.coppice(&["diff", &id]).exits(0).stderr;
    assert!(told.contains("all of it is merged") && told.contains(&format!("coppice diff {id} --turn N")), "{told}");
}

#[test]
fn a_conflict_outlasts_the_archive_and_a_removal() {
    let env = TestEnv::new();
    let id = in_conflict(&env, "ours");
    for (away, back) in [("archive", "resume"), ("rm", "restore")] {
        env.coppice(&[away, &id]).succeeds();
        env.coppice(&[back, &id]).succeeds();
        let session = env.session(&id);
        assert_eq!((&session["status"], &session["conflicts"]), (&json!("conflict"), &json!(["README.md"])), "{away}");
    }
    std::fs::write(env.worktree(&id).join("README.md"), "by hand\n").unwrap();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("README.md"), "by hand\n");
}

#[test]
fn a_conflict_can_be_undone_and_met_again() {
    let env = TestEnv::new();
    let id = in_conflict(&env, "ours");
    env.coppice(&["undo", &id, "--to", "1"]).succeeds();
    assert_eq!(std::fs::read_to_string(env.worktree(&id).join("README.md")).unwrap(), "theirs\n");
    let session = env.session(&id);
    assert_eq!((&session["status"], &session["changes"]["files"]), (&json!("ready"), &json!(1)), "{session:#}");
    env.coppice(&["rebase", &id]).exits(1).transcript();
    assert_eq!((env.status(&id), env.session(&id)["conflicts"].clone()), ("conflict".into(), json!(["README.md"])));
}

#[test]
fn an_undo_in_a_conflict_takes_back_its_resolution_and_a_redo_brings_it_back() {
    let env = TestEnv::new();
    let id = in_conflict(&env, "ours");
    let readme = env.worktree(&id).join("README.md");
    let text = || std::fs::read_to_string(&readme).unwrap();
    fs::write(&readme, "by hand\n").unwrap();
    let told = env.coppice(&["undo", &id]).transcript();
    let kept = env.git(&["for-each-ref", "--format=%(refname)", "refs/coppice/undo/"]).replace(&id, "[ID1]");
    insta::assert_snapshot!(told.replace(&kept, "[SAVED]"), @r"
    exit: 0
    -- stderr
    [ID1] is as turn 1 left it; its changes are now +1 -1
    `coppice undo [ID1] --redo` takes this back
    warning: changes that no turn had committed are kept in `[SAVED]`; `coppice undo [ID1] --redo` brings them back
    warning: the merge of `main` into the worktree is undone too; `coppice merge [ID1]` meets the conflict again
    ");
    assert_eq!((text(), env.status(&id)), ("theirs\n".into(), "ready".into()));

    insta::assert_snapshot!(env.coppice(&["undo", &id, "--redo"]).transcript(), @r"
    exit: 0
    -- stderr
    [ID1] is as before the undo; its changes are now +4 -0
    `coppice undo [ID1] --redo` takes this back
    ");
    assert_eq!((text(), env.status(&id)), ("by hand\n".into(), "conflict".into()));
    // That can be taken back as well, and so on.
    for (expected, status) in [("theirs\n", "ready"), ("by hand\n", "conflict")] {
        env.coppice(&["undo", &id, "--redo"]).succeeds();
        assert_eq!((text(), env.status(&id)), (expected.to_owned(), status.to_owned()));
    }
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("README.md"), "by hand\n");
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "README.md");
}

#[test]
fn an_undo_to_a_turn_with_conflict_marks_is_in_conflict_again() {
    let env = TestEnv::new();
    let id = in_conflict(&env, "ours");
    env.coppice(&["send", &id, &write("unrelated.txt", "more")]).succeeds();
    env.wait_for(&id, "conflict");
    env.send_ready(&id, &[], &steps(&[run("printf 'both\\n' > README.md"), say("resolved")]));
    env.coppice(&["undo", &id]).succeeds();
    assert_eq!((env.status(&id), env.session(&id)["conflicts"].clone()), ("conflict".into(), json!(["README.md"])));
    env.coppice(&["merge", &id]).exits(1).transcript();
    env.coppice(&["undo", &id, "--to", "3"]).succeeds();
    assert_eq!(env.status(&id), "ready");
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("README.md"), "both\n");
}

#[test]
fn a_merge_that_a_filter_fails_says_that_nothing_was_merged() {
    let env = TestEnv::new();
    env.refuse_dat_files();
    let id = env.create_ready(&write("a.txt", "a"));
    fs::write(env.worktree(&id).join("by-hand.dat"), "mine\n").unwrap();
    let main = env.git(&["rev-parse", "main"]);
    let refused = env.coppice(&["merge", &id]).exits(1).stderr;
    assert!(refused.starts_with("error: the merge into `main` failed; nothing was merged\n"), "{refused}");
    assert!(refused.contains("broken") && refused.contains(&format!("run `coppice merge {id}` again")), "{refused}");
    assert_eq!(env.git(&["rev-parse", "main"]), main);
    env.git(&["config", "filter.broken.clean", "cat"]);
    env.coppice(&["merge", &id]).succeeds();
}

#[test]
fn a_daemon_that_dies_leaves_the_conflict_to_the_next() {
    let env = TestEnv::new();
    let id = in_conflict(&env, "ours");
    env.kill_daemon();
    env.coppice(&["merge", &id]).exits(1).transcript();
    assert_eq!(env.status(&id), "conflict");
}

#[test]
fn a_checkpoint_has_the_numbers_of_its_own_turn() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("one.txt", "1"), write("two.txt", "2")]));
    env.send_ready(&id, &[], &write("three.txt", "3"));
    assert_eq!(checkpoints(&env, &id), [numbers(2, 2, 0), numbers(1, 1, 0)]);
    assert_eq!(env.session(&id)["changes"], numbers(3, 3, 0));
    env.write("other.txt", "meanwhile\n");
    env.commit("meanwhile");
    env.coppice(&["rebase", &id]).succeeds();
    env.send_ready(&id, &[], &write("four.txt", "4"));
    assert_eq!(checkpoints(&env, &id).last(), Some(&numbers(1, 1, 0)));
}

#[test]
fn after_a_merge_only_what_came_since_counts() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("one.txt", "1"), "@summary Add one || Adds one".into()]));
    env.send_ready(&id, &[], &steps(&[write("two.txt", "2"), "@summary Add two || Adds two".into()]));
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["log", "-1", "--format=%s", "main"]), "Adds two");
    assert_eq!(env.git(&["log", "-1", "--format=%b", "main"]), "- Add one\n- Add two");

    env.send_ready(&id, &[], &steps(&[write("three.txt", "3"), "@summary Add three || Adds all".into()]));

    assert_eq!(env.session(&id)["changes"], numbers(1, 1, 0));
    assert_eq!(env.json(&["diff", &id])["changes"], numbers(1, 1, 0));
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 0
    -- stderr
    [ID1] merged into main  +1 -0
    ");
    assert_eq!(env.git(&["log", "-1", "--format=%s", "main"]), "Add three");
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "three.txt");
    env.send_ready(&id, &[], &say("nothing to do"));
    assert_eq!(env.session(&id)["changes"]["files"], 0);
}

#[test]
fn what_a_stopped_turn_left_in_the_files_counts() {
    let env = TestEnv::new();
    for end in ["stop", "kill"] {
        let id = env.create(&steps(&[write("half.txt", "half"), "@hang".into()]));
        env.wait_for_event(&id, "tool_finished", 0);
        match end {
            "stop" => env.coppice(&["stop", &id]).succeeds(),
            _ => env.kill_daemon(),
        }
        let session = env.session(&id);
        assert_eq!((&session["status"], &session["changes"]), (&json!("interrupted"), &numbers(1, 1, 0)), "{end}");
        assert!(session["next"].as_array().unwrap().contains(&json!("merge")), "{end}");
    }
}

/// A hook that waits until a pipe is written to: the first of two, or the second where `meanwhile.txt` is there.
fn waiting_hook(env: &TestEnv) -> [PathBuf; 2] {
    let hooks = env.repo().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let (hook, pipes) = (hooks.join("pre-commit"), ["first", "second"].map(|name| hooks.join(name)));
    for pipe in &pipes {
        mknodat(CWD, pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }
    let script =
        "#!/bin/sh\ncase $(echo *) in *meanwhile.txt*) read line < HERE/second ;; *) read line < HERE/first ;; esac\n";
    fs::write(&hook, script.replace("HERE", hooks.to_str().unwrap())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    pipes
}

/// Waits until the hook has begun; it goes on when the file is written to.
fn begun(pipe: &Path) -> File {
    OpenOptions::new().write(true).open(pipe).unwrap()
}

#[test]
fn the_hooks_of_a_merge_hold_nobody_up_and_a_person_can_stop_them() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    let [first, _] = waiting_hook(&env);
    let merging = env.start(&["merge", &id]);
    let hook = begun(&first);
    // Another session of the repository gets its tree meanwhile, and gives it back.
    let other = env.create_ready(&say("done"));
    env.coppice(&["archive", &other]).succeeds();
    assert_eq!((env.status(&id), env.session(&id)["next"].clone()), ("integrating".into(), json!(["wait", "stop"])));
    env.coppice(&["stop", &id]).succeeds();
    let (code, said) = merging.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it was stopped"), "{said}");
    drop(hook);
    assert_eq!((env.status(&id), env.git(&["log", "--format=%s", "main"])), ("ready".into(), "begin".into()));
    fs::remove_file(env.repo().join(".git/hooks/pre-commit")).unwrap();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("a.txt"), "a\n");
}

#[test]
fn ctrl_c_stops_a_merge_whose_hooks_run() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    let [first, _] = waiting_hook(&env);
    let merging = env.start(&["merge", &id]);
    let hook = begun(&first);
    merging.signal(Signal::INT);
    let (code, said) = merging.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("stopping the merge; press Ctrl-C again to leave it to the daemon\nerror: "), "{said}");
    assert!(said.contains("it was stopped"), "{said}");
    drop(hook);
    assert_eq!((env.status(&id), env.git(&["log", "--format=%s", "main"])), ("ready".into(), "begin".into()));
}

#[test]
fn a_target_that_moves_while_the_hooks_run_is_merged_into_again() {
    let env = TestEnv::new();
    let id = env.create_ready(&write("a.txt", "a"));
    let [first, second] = waiting_hook(&env);
    let merging = env.start(&["merge", &id]);
    let mut hook = begun(&first);
    env.write("meanwhile.txt", "meanwhile\n");
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--no-verify", "-m", "meanwhile"]);
    hook.write_all(b"go\n").unwrap();
    drop(hook);
    // What is merged was looked at by the hook as it is.
    begun(&second).write_all(b"go\n").unwrap();
    let (code, said) = merging.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((env.read("a.txt"), env.read("meanwhile.txt")), ("a\n".into(), "meanwhile\n".into()));
    assert_eq!(env.git(&["log", "--format=%s", "-1", "--skip=1", "main"]), "meanwhile");
}

/// Writes a hook of the user's.
pub(crate) fn hook(env: &TestEnv, path: &str, script: &str) {
    let path = env.repo().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_hooks_add_is_listed_and_merged_only_with_consent() {
    let env = TestEnv::new();
    // The user's hook runs code of the repository, which is the agent's to write.
    hook(&env, ".git/hooks/pre-commit", "sh ./lint.sh");
    let lint = "printf 'echo x > evil.txt; echo y > lib.rs; git add evil.txt lib.rs' > lint.sh";
    let id = env.create_ready(&steps(&[run(lint), write("lib.rs", "x"), say("done")]));
    let refused = env.coppice(&["merge", &id]);
    let accept = refused.stderr.split_once("--accept-hook-changes=").unwrap().1.split('`').next().unwrap().to_owned();
    insta::assert_snapshot!(refused.transcript().replace(&accept, "[HASH]"), @r"
    exit: 1
    -- stderr
    error: your commit hooks changed the reviewed work: added `evil.txt` (+1 -0), changed `lib.rs` (+1 -1)

      diff --git a/evil.txt b/evil.txt
      new file mode 100644
      index 0000000..587be6b
      --- /dev/null
      +++ b/evil.txt
      @@ -0,0 +1 @@
      +x
      diff --git a/lib.rs b/lib.rs
      index 587be6b..975fbec 100644
      --- a/lib.rs
      +++ b/lib.rs
      @@ -1 +1 @@
      -x
      +y

    hint: `coppice merge [ID1] --accept-hook-changes=[COMMIT]` merges with exactly these changes, `coppice merge [ID1] --no-verify` without hooks
    ");
    assert_eq!(env.git(&["log", "--format=%s", "main"]), "begin");
    let body = env.coppice(&["merge", &id, "--accept-hook-changes=000000000000"]).exits(1).stderr;
    assert!(body.contains("`evil.txt`"), "{body}");
    let any = format!("`coppice merge {id} --accept-hook-changes` merges with whatever they change");
    assert!(body.contains("not those of `000000000000`") && body.contains(&any), "{body}");

    // The hint followed literally works.
    let flag = format!("--accept-hook-changes={accept}");
    let merged = env.json(&["merge", &id, &flag]);
    let warning = "the commit holds changes of your commit hooks: added `evil.txt` (+1 -0), changed `lib.rs` (+1 -1)";
    assert_eq!(merged["warnings"], json!([warning]));
    assert_eq!(merged["changes"], numbers(3, 3, 0));
    assert_eq!(env.read("evil.txt"), "x\n");
}

#[test]
fn a_merge_without_hooks_takes_the_reviewed_work_alone() {
    let env = TestEnv::new();
    hook(&env, ".git/hooks/pre-commit", "echo x > evil.txt; git add evil.txt");
    let id = env.create_ready(&write("a.txt", "a"));
    env.coppice(&["merge", &id]).exits(1).transcript();
    env.coppice(&["merge", &id, "--no-verify"]).succeeds();
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "a.txt");
}

/// A hook of the repository, behind the wrappers that husky keeps out of git.
pub(crate) fn husky(env: &TestEnv, script: &str) {
    hook(env, ".husky/pre-commit", script);
    env.commit("husky");
    env.write(".husky/_/.gitignore", "*");
    env.write(
        ".husky/_/h",
        "n=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\nexit $?\n",
    );
    for name in ["pre-commit", "commit-msg"] {
        hook(env, &format!(".husky/_/{name}"), ". \"$(dirname \"$0\")/h\"");
    }
    env.git(&["config", "core.hooksPath", ".husky/_"]);
}

#[test]
fn a_failing_husky_hook_stops_the_merge_with_the_end_of_its_output() {
    let env = TestEnv::new();
    husky(&env, "seq 1 40; echo 'lint failed' >&2; exit 3");
    let id = env.create_ready(&write("a.txt", "a"));
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: the hook `pre-commit` stopped the merge
      caused by:
        23
        24
        25
        26
        27
        28
        29
        30
        31
        32
        33
        34
        35
        36
        37
        38
        39
        40
        lint failed
        (exit status 3)

    hint: fix what the hook reports, or have the agent fix it: `coppice merge [ID1] --fix-hooks`; or merge without hooks: `coppice merge [ID1] --no-verify`
    ");
    assert_eq!((env.status(&id), env.git(&["log", "--format=%s", "-1", "main"])), ("ready".into(), "husky".into()));
    env.coppice(&["merge", &id, "--no-verify"]).succeeds();
    assert_eq!(env.read("a.txt"), "a\n");
}

#[test]
fn a_hook_without_its_interpreter_says_which_one_is_missing() {
    let env = TestEnv::new();
    hook(&env, ".git/hooks/pre-commit", "");
    fs::write(env.repo().join(".git/hooks/pre-commit"), "#!/nowhere/node --strict\n").unwrap();
    let id = env.create_ready(&write("a.txt", "a"));
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: the hook `pre-commit` stopped the merge
      caused by: its interpreter `/nowhere/node` was not found in the sandbox

    hint: fix what the hook reports, or have the agent fix it: `coppice merge [ID1] --fix-hooks`; or merge without hooks: `coppice merge [ID1] --no-verify`; hooks find ignored files such as `node_modules` only if `worktree.link` names them
    ");
}

#[test]
fn a_hook_finds_what_the_project_links() {
    let env = TestEnv::new();
    env.configure("[worktree]\nlink = [\"node_modules\"]\n");
    env.write(".gitignore", "/node_modules\n");
    env.commit("ignore");
    env.write("node_modules/tool", "exit 0\n");
    hook(&env, ".git/hooks/pre-commit", "sh node_modules/tool");
    let id = env.create_ready(&write("a.txt", "a"));
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "a.txt");
}

#[test]
fn every_act_tells_its_own_warnings() {
    let env = TestEnv::new();
    env.write(".coppice/config.toml", "[worktree]\nteardown = \"exit 7\"\n");
    env.commit("a teardown command");
    env.trust();
    let warning = "warning: the teardown command `exit 7` failed:";
    for act in ["merge", "archive", "rm"] {
        let id = env.create_ready(&write(&format!("{act}.txt"), "x"));
        let told = env.coppice(&[act, &id]).exits(0).stderr;
        assert!(told.contains(warning), "{act}: {told}");
    }
    let id = env.create_ready(&write("json.txt", "x"));
    let answer = env.json(&["rm", &id]);
    assert!(answer["warnings"][0].as_str().unwrap().contains("`exit 7` failed"), "{answer}");
    // It belongs to the act, not to the session.
    assert_eq!(env.json(&["restore", &id]).get("warnings"), None);
}

#[test]
fn no_control_character_of_an_agent_reaches_the_log() {
    let env = TestEnv::new();
    let hostile = "@summary Add\u{1b}[2J one\u{9b}31m || Adds\u{1b}]0;owned\u{7} it\u{202e}all";
    let id = env.create_ready(&steps(&[write("one.txt", "1"), hostile.into()]));
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    env.coppice(&["merge", &id]).succeeds();
    for name in [branch.as_str(), "main"] {
        let log = env.git(&["log", "--format=%B", name]);
        assert!(log.contains("one") && !log.contains(|c: char| c.is_control() && c != '\n'), "{log:?}");
        assert!(!log.contains('\u{202e}'), "{log:?}");
    }
}

/// A user's repository with the submodule `libs/lib`, which holds `lib.c`.
pub(crate) fn with_submodule(env: &TestEnv) {
    let library = env.path("library");
    fs::create_dir(&library).unwrap();
    env.git_in(&library, &["init", "-q", "-b", "main"]);
    fs::write(library.join("lib.c"), "int lib;\n").unwrap();
    env.git_in(&library, &["add", "-A"]);
    env.git_in(&library, &["commit", "-q", "-m", "library"]);
    let from = library.to_str().unwrap();
    env.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "libs/lib"]);
    env.commit("a submodule");
}

#[test]
fn work_in_a_submodule_is_there_shown_kept_and_never_merged_unseen() {
    let env = TestEnv::new();
    with_submodule(&env);
    let id = env.create_ready(&steps(&[
        run("grep -q lib libs/lib/lib.c && echo 'int more;' >> libs/lib/lib.c && echo new > libs/lib/new.c"),
        write("own.txt", "own"),
        say("done"),
    ]));
    let kept = format!("refs/coppice/submodules/{id}/work");
    assert_eq!(env.git(&["show", &format!("{kept}:libs/lib/lib.c")]), "int lib;\nint more;");
    let diff = env.json(&["diff", &id]);
    assert_eq!((&diff["changes"]["files"], &diff["submodules"][0]["count"]), (&json!(1), &json!(2)), "{diff:#}");
    assert_eq!(env.session(&id)["submodules"][0]["path"], "libs/lib");
    insta::assert_snapshot!(env.coppice(&["diff", &id, "--stat"]).transcript(), @r"
    exit: 0
    -- stdout
    A  own.txt  +1 -0
    -- stderr
    submodule libs/lib  2 files, kept and not merged
      M  lib.c  +1 -0
      A  new.c  +1 -0
    ");
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 0
    -- stderr
    [ID1] merged into main  +1 -0
    warning: changed files in submodules are not merged: `libs/lib/lib.c`, `libs/lib/new.c`; they are kept, and `git archive refs/coppice/submodules/[ID1]/work | tar -x` in your checkout puts them there
    ");
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "own.txt");

    // The way out that the warning names works.
    env.git(&["-c", &format!("alias.take=!git archive {kept} | tar -x"), "take"]);
    assert_eq!(env.read("libs/lib/new.c"), "new\n");
}

/// The warnings of a session that say what is not committed.
fn not_committed(env: &TestEnv, id: &str) -> Vec<String> {
    let events = env.events(id);
    let warnings = events.iter().filter(|event| event["type"] == "warning");
    let messages = warnings.filter_map(|event| Some(event["message"].as_str()?.to_owned()));
    messages.filter(|message| message.starts_with("not committed")).collect()
}

#[test]
fn every_act_names_what_is_in_no_commit() {
    let env = TestEnv::new();
    // Nothing else: there is nothing to commit, and still something to tell, once.
    let id = env.create_ready(&steps(&[run("git init -q nested && echo inside > nested/inside"), say("done")]));
    let told = ["not committed, because they are repositories of their own or unreadable: `nested`; the \
         worktree that holds them is never deleted"];
    assert_eq!(not_committed(&env, &id), told);
    env.send_ready(&id, &[], &say("done"));
    assert_eq!(not_committed(&env, &id), told);
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: the merge into `main` is refused: nothing else changed, and these are not merged, because they are repositories of their own or unreadable: `nested`; the worktree that holds them is never deleted

    hint: copy them from the worktree; `coppice show` names it
    ");

    env.send_ready(&id, &[], &steps(&[run("git init -q other && echo x > other/x"), say("done")]));
    assert_eq!(not_committed(&env, &id).len(), 2);
    env.send_ready(&id, &[], &steps(&[write("own.txt", "own"), say("done")]));
    assert_eq!(not_committed(&env, &id).len(), 2);
    insta::assert_snapshot!(env.coppice(&["undo", &id]).transcript(), @r"
    exit: 0
    -- stderr
    [ID1] is as turn 3 left it; no changes remain
    `coppice undo [ID1] --redo` takes this back
    warning: not undone, because they are repositories of their own or unreadable: `nested`, `other`; the worktree that holds them is never deleted
    ");
    assert!(env.worktree(&id).join("other/x").exists());
    env.send_ready(&id, &[], &steps(&[write("own.txt", "own"), say("done")]));
    insta::assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 0
    -- stderr
    [ID1] merged into main  +1 -0
    warning: not merged, because they are repositories of their own or unreadable: `nested`, `other`; the worktree that holds them is never deleted
    ");
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "own.txt");
}

#[test]
fn a_removed_session_keeps_what_is_in_no_commit() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("own.txt", "own"), say("done")]));
    // Nobody has committed since.
    let notes = env.worktree(&id).join("sub/.git/notes.txt");
    fs::create_dir_all(notes.parent().unwrap()).unwrap();
    fs::write(&notes, "notes\n").unwrap();
    env.coppice(&["rm", &id]).succeeds();
    let warning = env.wait_for_event(&id, "warning", 0);
    assert!(warning["message"].as_str().unwrap().contains("sub/.git"), "{warning}");
    env.coppice(&["restore", &id]).succeeds();
    assert_eq!(fs::read_to_string(notes).unwrap(), "notes\n");
}

#[test]
fn a_file_in_the_place_of_a_submodule_is_work_like_any_other() {
    let env = TestEnv::new();
    with_submodule(&env);
    let id = env.create_ready(&steps(&[run("rm -rf libs/lib && echo important > libs/lib"), say("done")]));
    let diff = env.coppice(&["diff", &id]).stdout();
    assert!(diff.contains("-Subproject commit ") && diff.contains("+important"), "{diff}");
    // Git would delete the user's submodule with changes that are committed nowhere.
    let said = env.coppice(&["merge", &id]).exits(1).stderr;
    assert!(said.contains("would be replaced, with all that is in them: `libs/lib`"), "{said}");
    assert_eq!(env.read("libs/lib/lib.c"), "int lib;\n");
    env.git(&["submodule", "--quiet", "deinit", "libs/lib"]);
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.git(&["show", "main:libs/lib"]), env.read("libs/lib")), ("important".into(), "important\n".into()));
}

#[test]
fn a_removed_session_comes_back_with_the_files_of_its_submodules() {
    let env = TestEnv::new();
    with_submodule(&env);
    let id = env.create_ready(&steps(&[run("echo new > libs/lib/new.c; rm libs/lib/lib.c"), say("done")]));
    let told = env.coppice(&["merge", &id]).exits(1).stderr;
    assert!(told.contains("are all that changed") && told.contains("`libs/lib/lib.c`"), "{told}");
    let told = env.coppice(&["undo", &id, "--to", "0"]).exits(0).stderr;
    assert!(told.contains("changed files in submodules are not undone"), "{told}");
    let told = env.coppice(&["rm", &id]).exits(0).stderr;
    assert!(told.contains("changed files in submodules are on no branch"), "{told}");
    env.wait_for_event(&id, "saved", 0);
    env.coppice(&["restore", &id]).succeeds();
    let sub = env.worktree(&id).join("libs/lib");
    assert_eq!(fs::read_to_string(sub.join("new.c")).unwrap(), "new\n");
    assert!(!sub.join("lib.c").exists());
    // Nobody else finds them.
    let look = "test -f libs/lib/lib.c && test ! -e libs/lib/new.c && echo fine > fine.txt";
    let other = env.create_ready(&steps(&[run(look), say("done")]));
    assert!(env.worktree(&other).join("fine.txt").exists());
}

#[test]
fn a_worktree_deleted_by_hand_comes_back_with_its_submodules() {
    let env = TestEnv::new();
    with_submodule(&env);
    let id = env.create_ready(&steps(&[run("echo new > libs/lib/new.c"), say("done")]));
    fs::remove_dir_all(env.worktree(&id)).unwrap();
    env.send_ready(&id, &[], &say("done"));
    let sub = env.worktree(&id).join("libs/lib");
    assert_eq!(fs::read_to_string(sub.join("new.c")).unwrap(), "new\n");
    assert!(sub.join("lib.c").exists());
    assert_eq!(env.session(&id)["submodules"][0]["count"], 1);
}

#[test]
fn a_submodule_that_the_user_does_not_have_is_named() {
    let env = TestEnv::new();
    with_submodule(&env);
    fs::remove_dir_all(env.repo().join(".git/modules")).unwrap();
    fs::remove_dir_all(env.repo().join("libs/lib")).unwrap();
    let id = env.create_ready(&write("libs/lib/stray.c", "stray"));
    let warned = env.events(&id).into_iter().filter(|event| event["type"] == "warning");
    let warned: Vec<_> = warned.map(|event| event["message"].as_str().unwrap().to_owned()).collect();
    assert!(warned.iter().any(|text| text.contains("the submodule `libs/lib` is empty")), "{warned:?}");
    assert_eq!(env.git(&["show", &format!("refs/coppice/submodules/{id}/work:libs/lib/stray.c")]), "stray");
}

#[test]
fn an_agent_that_locks_what_is_in_the_git_directory_delays_no_merge() {
    let env = TestEnv::new();
    // With a filter, the daemon moves the files itself. A daemon that was killed has left the beginning of a move.
    env.git(&["config", "filter.unused.smudge", "cat"]);
    let records = env.repo().join(".git/coppice-move");
    fs::create_dir(&records).unwrap();
    let program = env!("CARGO_BIN_EXE_coppice");
    let holder = "mkdir -p build; (flock -x 9 && touch build/locked; exec sleep 600)";
    let script = format!("{holder} 9<'{}' </dev/null >/dev/null 2>&1 & exec '{program}' demo-agent", records.display());
    env.configure(&format!("[backends.holder]\ntransport = \"acp\"\ncommand = [\"sh\", \"-c\", '''{script}''']"));
    let wait = run("until test -e build/locked; do :; done");
    let id = env.create_with(&["--model", "holder"], &steps(&[wait, write("a.txt", "a"), say("done")]));
    env.wait_for(&id, "ready");
    assert!(fs::File::open(&records).unwrap().try_lock().is_err(), "the agent has no lock");
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("a.txt"), "a\n");
}

#[test]
fn consent_to_a_conflict_without_marks_accepts_nothing_else() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[run("printf 'session\\0' > image"), say("done")]));
    env.write("image", "user\0");
    env.commit("meanwhile");
    env.coppice(&["diff", &id]).succeeds();
    env.coppice(&["merge", &id]).exits(1).transcript();
    let accept = |id: &Value| format!("--accept-unseen-changes={}", id.as_str().unwrap());
    let conflict = accept(&env.session(&id)["unmarked_conflict"]);
    // Written after the last look, and not part of the conflict.
    fs::write(env.worktree(&id).join("evil.txt"), "evil\n").unwrap();
    let refused = env.coppice(&["merge", &id, &conflict]).exits(1).stderr;
    assert!(refused.contains("1 file changed after you last looked at the work: `evil.txt`"), "{refused}");
    assert!(refused.contains(&format!("`coppice merge {id} {conflict} --accept-unseen-changes=")), "{refused}");
    assert_eq!(env.read("image"), "user\0");
    // Consent to one state is none to the next.
    let (_, hinted) = refused.rsplit_once(' ').unwrap();
    let hinted = hinted.trim_end().trim_end_matches('`').to_owned();
    fs::write(env.worktree(&id).join("evil.txt"), "worse\n").unwrap();
    env.coppice(&["merge", &id, &conflict, &hinted]).exits(1).transcript();
    // Nor is consent to the rest one to the conflict.
    fs::write(env.worktree(&id).join("evil.txt"), "evil\n").unwrap();
    env.coppice(&["merge", &id, &hinted]).exits(1).transcript();
    assert_eq!(env.status(&id), "conflict");
    env.coppice(&["merge", &id, &conflict, &hinted]).succeeds();
    assert_eq!((env.read("image"), env.read("evil.txt")), ("session\0".into(), "evil\n".into()));
}

#[test]
fn a_conflict_without_marks_is_merged_only_after_a_decision() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[run("printf 'session\\0' > image"), say("done")]));
    env.write("image", "user\0");
    env.commit("meanwhile");
    env.coppice(&["merge", &id]).exits(1).transcript();
    assert_eq!((env.status(&id), env.session(&id)["conflicts"].clone()), ("conflict".into(), json!(["image"])));
    // Neither a second merge nor a turn that does something else resolves it, also with another daemon.
    env.kill_daemon();
    let said = env.coppice(&["merge", &id]).exits(1).stderr;
    let unmarked = env.session(&id)["unmarked_conflict"].as_str().unwrap().to_owned();
    let accept = format!("--accept-unseen-changes={unmarked}");
    let hint = format!("or merge exactly these versions with `coppice merge {id} {accept}`");
    let what = "no marks show the conflict in `image` (the session's version)";
    assert!(said.contains(what) && said.contains(&hint), "{said}");
    env.coppice(&["send", &id, &write("more.txt", "more")]).succeeds();
    env.wait_for(&id, "conflict");
    env.coppice(&["merge", &id]).exits(1).transcript();
    assert_eq!(env.read("image"), "user\0");

    let merged = env.json(&["merge", &id, &accept]);
    assert_eq!(merged["warnings"], json!(["merged in spite of the conflict: `image` (the session's version)"]));
    assert_eq!(env.read("image"), "session\0");

    let id = env.create_ready(&steps(&[run("printf 'again\\0' > image"), say("done")]));
    env.write("image", "user again\0");
    env.commit("meanwhile");
    env.coppice(&["merge", &id]).exits(1).transcript();
    fs::write(env.worktree(&id).join("image"), "both\0").unwrap();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("image"), "both\0");
}

#[test]
fn a_conflict_about_a_deleted_file_says_whose_version_is_there() {
    let env = TestEnv::new();
    for name in ["by-session.txt", "by-user.txt"] {
        env.write(name, "first\n");
    }
    env.commit("two files");
    let id = env.create_ready(&steps(&[run("rm by-session.txt; echo session > by-user.txt"), say("done")]));
    env.write("by-session.txt", "user\n");
    fs::remove_file(env.repo().join("by-user.txt")).unwrap();
    env.commit("meanwhile");
    let told =
        "`by-session.txt` (the version of `main`; the session deleted it), `by-user.txt` (the session's version)";
    let said = env.coppice(&["merge", &id]).exits(1).stderr;
    assert!(said.contains(&format!("no marks show the conflict in {told}:")), "{said}");
    let accept = env.session(&id)["unmarked_conflict"].as_str().unwrap().to_owned();
    let merged = env.json(&["merge", &id, &format!("--accept-unseen-changes={accept}")]);
    assert_eq!(merged["warnings"], json!([format!("merged in spite of the conflict: {told}")]));
    assert_eq!((env.read("by-session.txt"), env.read("by-user.txt")), ("user\n".into(), "session\n".into()));
}

#[test]
fn a_merge_driver_of_the_user_writes_its_result_and_nothing_else() {
    let env = TestEnv::new();
    let ran = env.path("ran");
    let driver = format!("cat %B >> %A; touch '{}' 2>/dev/null; exit 0", ran.display());
    env.git(&["config", "merge.both.driver", &driver]);
    env.write(".gitattributes", "*.list merge=both\n");
    env.write("a.list", "first\n");
    env.commit("a list");
    let id = env.create_ready(&steps(&[write("a.list", "session"), say("done")]));
    env.write("a.list", "user\n");
    env.commit("meanwhile");
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.read("a.list"), "user\nsession\n");
    assert_eq!(ran.exists(), support().hold() == Hold::Advisory);
}

#[test]
fn a_merge_says_what_changed_after_the_last_turn() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("page.md", "one line"), say("Done.")]));
    std::fs::write(env.worktree(&id).join("by-hand.md"), "late\n").unwrap();
    let said = env.coppice(&["merge", &id]);
    assert!(
        said.transcript().contains("1 file that changed after the last turn is part of this merge"),
        "{}",
        said.transcript()
    );
    assert_eq!(env.read("by-hand.md"), "late\n");
}
