//! Git as tools: what an agent is told, what waits for a person, and what never runs outside of the cage.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{call, say, steps, write};

/// A world in which a person is asked, with settings for tools.
fn world(tools: &str) -> TestEnv {
    let env = TestEnv::new();
    env.configure(&format!("default.posture = \"attended\"\n[tools]\n{tools}\n"));
    env
}

/// Agents work with served tools.
fn served() -> TestEnv {
    world("profile = \"enforced\"")
}

/// Agents work with their own tools, and are served those that change history.
fn changing() -> TestEnv {
    world("git_mutations = \"allow\"")
}

/// Lets the next calls pass, one after the other.
fn approve(env: &TestEnv, id: &str, titles: &[&str]) {
    for title in titles {
        env.wait_for(id, "approval");
        assert_eq!(env.session(id)["approvals"][0]["title"], *title);
        env.coppice(&["approve", id]).succeeds();
    }
    env.wait_for(id, "ready");
}

fn hook(env: &TestEnv, name: &str, body: &str) {
    let path = env.repo().join(".git/hooks").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn branch(env: &TestEnv, id: &str) -> String {
    env.session(id)["branch"].as_str().unwrap().to_owned()
}

#[test]
fn every_agent_is_told_what_a_commit_message_is_written_from() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[
        write("notes.md", "hello"),
        call("git_commit_context", &json!({})),
        call("git_log_file", &json!({ "path": "src/main.rs" })),
        call("git_push", &json!({})),
    ]));
    let answer = env.last_answer(&id);
    for said in ["staged_empty=true", "detected_style=plain", "## prose", "## untracked\nnotes.md"] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    assert!(answer.contains(&format!("branch={}", branch(&env, &id))), "{answer}");
    for tool in ["git_log_file", "git_push"] {
        assert!(answer.contains(&format!("error: tool `{tool}` is not available")), "{answer}");
    }
}

#[test]
fn history_is_read_without_a_question() {
    let env = served();
    let id = env.create_ready(&steps(&[
        call("list_git_changed_files", &json!({})),
        call("git_branch_status", &json!({})),
        call("git_show_file_at_rev", &json!({ "path": "src/main.rs" })),
        call("git_log_file", &json!({ "path": "src/main.rs" })),
        call("git_blame_lines", &json!({ "path": "src/main.rs", "start": 1, "end": 1 })),
        call("git_diff_files", &json!({})),
        call("git_merge_base", &json!({ "base": "HEAD", "head": "main" })),
        call("git", &json!({ "args": ["log", "-1", "--format=subject: %s"] })),
        call("git_show_file_at_rev", &json!({ "path": "../x" })),
        call("git_show_file_at_rev", &json!({ "path": "src/main.rs", "rev": "--output=x" })),
    ]));
    let answer = env.last_answer(&id);
    let head = env.git(&["rev-parse", "HEAD"]);
    for said in [
        "staged=0 unstaged=0 untracked=0",
        "upstream=none\nahead=0\nbehind=0\ndirty=false",
        "println!",
        "no differences",
        head.trim(),
        "exit=0\n--- stdout ---\nsubject: ",
        "is not a revision",
    ] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
}

#[test]
fn what_is_kept_from_tools_that_read_is_kept_from_git_too() {
    let env = served();
    env.write(".gitignore", ".env.local\n");
    env.write(".env", "TOKEN=committed\n");
    env.commit("a secret that should not be there");
    let blob = env.git(&["rev-parse", "HEAD:.env"]);
    let git = |args: &[&str]| call("git", &json!({ "args": args }));
    let id = env.create_ready(&call("git_branch_status", &json!({})));
    for (name, text) in [(".env", "TOKEN=changed\n"), (".env.local", "TOKEN=ignored\n"), ("plain.txt", "plain=new\n")] {
        fs::write(env.worktree(&id).join(name), text).unwrap();
    }
    let looks = steps(&[
        call("git_diff_files", &json!({})),
        call("git_diff_files", &json!({ "paths": ["."] })),
        call("git_diff_files", &json!({ "paths": [" .env"] })),
        call("git_show_file_at_rev", &json!({ "path": ".env" })),
        call("git_show_file_at_rev", &json!({ "path": " .env " })),
        call("git_show_file_at_rev", &json!({ "path": "src/../.env" })),
        call("git_blame_lines", &json!({ "path": ".env", "start": 1, "end": 1 })),
        git(&["diff"]),
        git(&["log", "-p", "-1"]),
        git(&["show", "HEAD"]),
        git(&["show", "HEAD:.env"]),
        git(&["cat-file", "-p", "HEAD:.env"]),
        git(&["blame", ".env"]),
        git(&["status", "-vv"]),
        git(&["grep", "TOKEN"]),
        git(&["grep", "TOKEN", "HEAD^{tree}"]),
        git(&["show", &blob]),
        git(&["cat-file", "-p", &blob[..12]]),
        git(&["archive", "HEAD", ".env"]),
    ]);
    env.send_ready(&id, &[], &looks);
    let answer = env.last_answer(&id);
    assert!(!answer.contains("TOKEN="), "{answer}");
    for said in [
        "+plain=new",
        "[left out: `.env` differs, and is kept from tools that read files]",
        "Binary files a/.env and b/.env differ",
        "is on the list of secret files, which no tool reads and no command may name",
        "is the content of a file: name it by a commit and a path",
    ] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    assert_eq!(answer.matches("[left out: `.env` differs").count(), 2, "{answer}");
}

#[test]
fn a_commit_message_is_not_written_from_a_secret() {
    let env = changing();
    env.write(".gitignore", "/build\n");
    env.commit("nothing is ignored that should be");
    let id = env.create(&steps(&[
        write(".env", "TOKEN=staged"),
        write("a.txt", "one"),
        call("git_stage_files", &json!({ "all": true })),
        call("git_commit_context", &json!({})),
    ]));
    approve(&env, &id, &["stage all changes"]);
    let answer = env.last_answer(&id);
    assert!(answer.contains("A\t.env") && answer.contains("[left out: `.env` differs"), "{answer}");
    assert!(answer.contains("+one") && !answer.contains("TOKEN="), "{answer}");
}

#[test]
fn whoever_only_reads_has_the_part_of_git_that_looks() {
    let env = world("profile = \"readonly\"");
    let id = env.create_ready(&steps(&[
        call("git", &json!({ "args": ["log", "-1", "--format=subject: %s"] })),
        call("git", &json!({ "args": ["reset", "--hard"] })),
    ]));
    let answer = env.last_answer(&id);
    assert!(answer.contains("exit=0\n--- stdout ---\nsubject: "), "{answer}");
    assert!(answer.contains("this agent only reads; report what should change instead"), "{answer}");
}

#[test]
fn what_leads_git_elsewhere_waits_for_a_person() {
    let env = served();
    for args in [
        json!(["-c", "core.pager=cat", "log", "-1", "--format=it ran"]),
        json!(["diff", "--no-index", "/etc/hostname", "src/main.rs"]),
        json!(["-C", "src", "status"]),
        json!(["grep", "--untracked", "--no-exclude-standard", "x"]),
        json!(["diff", "--text"]),
        json!(["reset", "--hard"]),
    ] {
        let id = env.create(&call("git", &json!({ "args": args })));
        env.wait_for(&id, "approval");
        let words: Vec<_> = args.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let approval = env.session(&id)["approvals"][0].clone();
        let title = approval["title"].as_str().unwrap().replace('\'', "");
        assert_eq!(title, format!("git {}", words.join(" ")));
        if words.first() == Some(&"-c") {
            env.coppice(&["approve", &id]).succeeds();
            env.wait_for(&id, "ready");
            assert!(env.last_answer(&id).contains("it ran"), "{}", env.last_answer(&id));
        }
        if words.first() == Some(&"reset") {
            let warnings = approval["warnings"].as_array().unwrap();
            assert_eq!(warnings[0], "DESTRUCTIVE FLAG(S): --hard");
            let will_fail = |line: &Value| line.as_str().unwrap().starts_with("WILL FAIL: ");
            let is_held = support().hold() == Hold::Enforced;
            assert_eq!(warnings.iter().any(will_fail), is_held, "{warnings:?}");
            assert_eq!(env.coppice(&["show", &id]).stdout().contains("WILL FAIL: "), is_held);
        }
    }
}

#[test]
fn what_is_staged_is_committed_on_the_branch_of_the_session() {
    let env = changing();
    let before = env.git(&["rev-parse", "HEAD"]);
    let id = env.create(&steps(&[
        write("a.txt", "one"),
        write("b.txt", "two"),
        call("git_stage_files", &json!({ "paths": ["a.txt"] })),
        call("git_commit_apply", &json!({ "message": "ends with a period." })),
        call("git_commit_apply", &json!({ "message": "feat: add a" })),
        call("git_commit_apply", &json!({ "message": "feat: add nothing" })),
    ]));
    approve(&env, &id, &["stage a.txt", "commit: feat: add a", "commit: feat: add nothing"]);
    let answer = env.last_answer(&id);
    for said in [
        "staged 1 file(s)\n",
        "committed=false reason=validation\nmessage must not end with a period",
        "committed=true sha=",
        "## untracked\nb.txt",
        "committed=false reason=staged_empty",
    ] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    // What the turn left is committed after it, and the user's own checkout has heard of nothing.
    let subjects = env.git(&["log", "--format=%s", "-2", &branch(&env, &id)]);
    assert!(subjects.ends_with("\nfeat: add a"), "{subjects}");
    assert_eq!(env.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_hook_refuses_in_its_own_words_and_from_inside_the_cage() {
    let env = changing();
    let planted = env.path("planted");
    hook(&env, "pre-commit", &format!("echo 'lint: a.txt:1'; touch '{}'; exit 3", planted.display()));
    let id = env.create(&steps(&[
        write("a.txt", "one"),
        call("git_stage_files", &json!({ "all": true })),
        call("git_commit", &json!({ "message": "add a" })),
    ]));
    approve(&env, &id, &["stage all changes", "commit: add a"]);
    let answer = env.last_answer(&id);
    assert!(answer.contains("committed=false reason=hook_error hook=pre-commit\nlint: a.txt:1\n"), "{answer}");
    assert!(
        answer.contains("\nhint: fix what the hook reports, stage the files with git_stage_files, and"),
        "{answer}"
    );
    assert_eq!(planted.exists(), support().hold() == Hold::Advisory, "a hook is in the cage");
}

#[test]
fn branches_pushes_and_the_way_back_stay_with_the_session() {
    let env = changing();
    env.write("more.txt", "before the session");
    env.commit("more");
    let remote = env.path("remote.git");
    env.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    env.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let id = env.create(&steps(&[
        call("git_create_branch", &json!({ "name": "main" })),
        call("git_create_branch", &json!({ "name": "beside" })),
        write("a.txt", "one"),
        call("git_checkpoint", &json!({})),
        call("git_push", &json!({})),
        call("rollback", &json!({})),
        call("rollback", &json!({})),
    ]));
    let back = "roll back to HEAD~1, discarding what is not committed";
    approve(
        &env,
        &id,
        &[
            "create branch main from HEAD",
            "create branch beside from HEAD",
            "commit all changes: checkpoint",
            "push the branch of the session",
            back,
            back,
        ],
    );
    let (answer, branch) = (env.last_answer(&id), branch(&env, &id));
    let head = env.git(&["rev-parse", "HEAD"]);
    for said in [
        "created=false reason=branch_exists",
        &format!("created=true branch=beside from={}", head.trim()),
        &format!("pushed=true branch={branch} set_upstream=true"),
        &format!("rolled_back=true target={}", head.trim()),
        "rolled_back=false reason=not_of_session",
    ] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    assert_eq!(env.git(&["rev-parse", &branch]), head);
    assert!(!env.worktree(&id).join("a.txt").exists());
    let pushed = env.git_in(&remote, &["log", "-1", "--format=%s", &branch]);
    assert_eq!(pushed, "checkpoint");
    assert_eq!(env.git(&["symbolic-ref", "--short", "HEAD"]), "main");
}

#[test]
fn nothing_is_pushed_from_a_detached_head() {
    let env = changing();
    let id = env.create(&say("ready"));
    env.wait_for(&id, "ready");
    env.git_in(&env.worktree(&id), &["checkout", "--quiet", "--detach"]);
    env.coppice(&["send", &id, &call("git_push", &json!({}))]).succeeds();
    approve(&env, &id, &["push the branch of the session"]);
    let answer = env.last_answer(&id);
    assert!(answer.contains("pushed=false reason=detached_head"), "{answer}");
}

#[test]
fn what_git_says_is_cut_and_the_cut_is_told() {
    let env = served();
    env.write("big.txt", &"x".repeat(1_500_000));
    env.commit("big");
    let missing: Vec<String> = (0..900).map(|n| format!("{n:0>120}")).collect();
    let words: Vec<&str> =
        ["ls-files", "--error-unmatch", "--"].into_iter().chain(missing.iter().map(String::as_str)).collect();
    let id = env.create(&steps(&[
        call("git", &json!({ "args": ["show", "HEAD:big.txt"] })),
        call("git", &json!({ "args": words })),
        call("git_show_file_at_rev", &json!({ "path": "big.txt" })),
    ]));
    // So many words are more than the rules read.
    env.wait_for(&id, "approval");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    for (limit, count) in [(1024 * 1024, 2), (64 * 1024, 1)] {
        let mark = format!("…[truncated] the first {limit} bytes are shown");
        assert_eq!(answer.matches(&mark).count(), count, "{mark}: {} bytes", answer.len());
    }
    assert!(answer.len() < 2 * 1024 * 1024 + 100_000, "{} bytes", answer.len());
}
