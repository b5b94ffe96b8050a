//! What trust covers: on which branches a setup command runs with the user's rights.

use std::fs;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use serde_json::json;

use crate::env::TestEnv;
use crate::script::{call, run, say, steps, write};

/// A repository whose setup command runs a script of its own, which the user trusts on `main`.
fn env_with_setup() -> TestEnv {
    let env = TestEnv::new();
    env.write(".coppice/config.toml", "[worktree]\nsetup = \"sh setup.sh\"\n");
    env.write("setup.sh", &plant(&env, "main"));
    env.commit("a setup command");
    env.trust();
    env
}

/// A script that writes a file outside of every worktree.
fn plant(env: &TestEnv, name: &str) -> String {
    format!("echo x > '{}'; true\n", env.path("home").join(name).display())
}

fn is_planted(env: &TestEnv, name: &str) -> bool {
    env.path("home").join(name).exists()
}

#[test]
fn a_setup_command_runs_outside_of_the_sandbox_on_trusted_branches_alone() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = env_with_setup();
    let id = env.create_ready(&write("setup.sh", plant(&env, "agent").trim()));
    assert!(is_planted(&env, "main"));

    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    let next = env.create_with(&["--model", "demo", "--base", &branch], &say("done"));
    env.wait_for(&next, "ready");
    assert!(!is_planted(&env, "agent"), "it ran the work of an agent");
    let how = env.events(&next).into_iter().find(|event| event["step"] == "setup").unwrap();
    assert_eq!(how["how"], "in the sandbox");

    // A branch that was fetched from somebody.
    env.git(&["switch", "-q", "-c", "theirs"]);
    env.write("setup.sh", &plant(&env, "theirs"));
    env.commit("a gift");
    for base in ["theirs", "HEAD"] {
        let id = env.create_with(&["--model", "demo", "--base", base], &say("done"));
        env.wait_for(&id, "ready");
        assert!(!is_planted(&env, "theirs"), "it ran the work of a stranger");
    }
    assert_eq!(env.json(&["trust"])["branches"], serde_json::json!(["main"]));
    env.trust();
    assert_eq!(env.json(&["trust"])["branches"], serde_json::json!(["main", "theirs"]));
    env.create_ready(&say("done"));
    assert!(is_planted(&env, "theirs"));
}

#[test]
fn a_session_gives_its_own_commit_no_branch_that_is_trusted() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = env_with_setup();
    env.configure("[tools]\ngit_mutations = \"allow\"\n");
    // A clone in which the default branch was never checked out, and one trusted branch is gone.
    env.git(&["switch", "-q", "-c", "gone"]);
    env.trust();
    env.git(&["switch", "-q", "-c", "work"]);
    env.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    env.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    env.git(&["branch", "-q", "-D", "main", "gone"]);
    let names = ["main", "master", "gone", "later"];
    let branches: Vec<_> = names.map(|name| call("git_create_branch", &json!({ "name": name }))).into();
    let work = [
        write("setup.sh", plant(&env, "agent").trim()),
        call("git_stage_files", &json!({ "all": true })),
        call("git_commit", &json!({ "message": "a setup command of an agent" })),
    ];
    let id = env.create_with(&["--model", "demo", "--yolo"], &steps(&[work.to_vec(), branches].concat()));
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert_eq!(answer.matches("created=false reason=branch_reserved").count(), 3, "{answer}");
    assert_eq!(env.git(&["branch", "--format=%(refname:short)", "--list", "[!c]*"]), "later\nwork");
    // What the remote calls its head may change.
    env.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/later"]);
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    for base in ["later", &branch] {
        let next = env.create_with(&["--model", "demo", "--base", base], &say("done"));
        env.wait_for(&next, "ready");
        assert_eq!(setups(&env, &next), ["in the sandbox"], "{base}");
        assert!(!is_planted(&env, "agent"), "it ran the work of an agent");
    }
}

/// A setup command that the sandbox makes fail.
const NEEDS_HOME: &str = "[worktree]\nlink = [\"node_modules\"]\nsetup = \"touch $HOME/by-setup\"\n";

fn env_with_failing_setup() -> TestEnv {
    let env = TestEnv::new();
    env.write(".coppice/config.toml", NEEDS_HOME);
    env.write(".gitignore", "/node_modules\n");
    env.commit("a setup command that writes into the home directory");
    env.write("node_modules/tool", "\n");
    env.trust();
    env
}

fn failure(env: &TestEnv, id: &str) -> String {
    env.wait_for(id, "failed");
    let error = &env.session(id)["last_error"];
    let message = error["message"].as_str().unwrap();
    // What the command itself says depends on the layers of the sandbox.
    let head = message.split_once("): ").map_or(message, |(head, _)| head);
    let worktree = env.worktree(id).display().to_string();
    let said = format!("{head})\nhint: {}", error["hint"].as_str().unwrap());
    said.replace(&worktree, "[WORKTREE]").replace(id, "[ID]")
}

/// Runs the command that a hint names.
fn follow_hint(env: &TestEnv, command: &str) {
    for part in command.split(" && ") {
        let words: Vec<_> = part.split(' ').collect();
        match words[0] {
            "git" => drop(env.git(&words[1..])),
            _ => env.coppice(&words[1..]).succeeds(),
        }
    }
}

/// A session on a branch that nobody trusts, whose setup command runs `script` there.
fn create_on_untrusted_branch(env: &TestEnv, script: &str) -> String {
    env.git(&["switch", "-q", "-c", "theirs"]);
    env.write("setup.sh", script);
    env.commit("a setup command of a stranger");
    env.git(&["switch", "-q", "main"]);
    env.create_with(&["--model", "demo", "--base", "theirs"], &say("done"))
}

/// How each setup of a session ran.
fn setups(env: &TestEnv, id: &str) -> Vec<serde_json::Value> {
    env.events(id).into_iter().filter(|event| event["step"] == "setup").map(|event| event["how"].clone()).collect()
}

#[test]
fn a_setup_that_fails_on_an_untrusted_branch_works_in_a_new_session_after_the_hint() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = env_with_failing_setup();
    let id = create_on_untrusted_branch(&env, "");
    let said = failure(&env, &id);
    let hash = env.json(&["trust"])["hash"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(said.replace(&hash, "[HASH]"), @r"
    the setup command `touch $HOME/by-setup` failed in the sandbox, because `theirs` is not on a trusted branch (exit status 1)
    hint: to run it outside of the sandbox, trust the branch with `git switch theirs && coppice trust --hash [HASH]` and create the session again; `coppice resume [ID] --skip-setup` goes on without it
    ");
    let command = said.split('`').find(|text| text.starts_with("git switch")).unwrap();
    follow_hint(&env, command);
    env.coppice(&["resume", &id]).succeeds();
    insta::assert_snapshot!(failure(&env, &id), @r"
    the setup command `touch $HOME/by-setup` failed in the sandbox, because an agent or an earlier setup may have changed this worktree (exit status 1)
    hint: allow what it needs in `sandbox.caches`, `sandbox.read` or `sandbox.hosts` and run `coppice resume [ID]`; `coppice resume [ID] --skip-setup` goes on without it, for example after you ran it yourself in `coppice shell [ID]`
    ");
    assert!(!is_planted(&env, "by-setup"), "it ran on what an untrusted setup left");
    let next = env.create_with(&["--model", "demo", "--base", "theirs"], &say("done"));
    env.wait_for(&next, "ready");
    assert!(is_planted(&env, "by-setup"));
}

#[test]
fn no_setup_runs_unconfined_where_an_untrusted_one_was_stopped() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = env_with_setup();
    // The first run writes what the second one runs, and waits until somebody stops it.
    let script = format!(
        "test -e payload && exec sh payload\nprintf %s '{}' > payload\nmkfifo never\necho written\ncat never\n",
        plant(&env, "payload").trim().replace('\'', "\"")
    );
    let id = create_on_untrusted_branch(&env, &script);
    env.wait_for_event(&id, "setup_output", 0);
    env.coppice(&["stop", &id]).succeeds();
    env.git(&["switch", "-q", "theirs"]);
    env.trust();
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(setups(&env, &id), ["in the sandbox", "in the sandbox"]);
    assert!(!is_planted(&env, "payload"), "it ran what an untrusted setup wrote");
}

#[test]
fn a_continued_session_goes_on_without_a_setup_that_the_sandbox_refuses() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = env_with_failing_setup();
    let id = env.create_ready(&steps(&[run("echo x > a.txt"), say("done")]));
    env.coppice(&["merge", &id]).succeeds();
    std::fs::remove_file(env.path("home").join("by-setup")).unwrap();
    env.coppice(&["send", &id, &write("b.txt", "b")]).succeeds();
    insta::assert_snapshot!(failure(&env, &id), @r"
    the setup command `touch $HOME/by-setup` failed in the sandbox, because an agent or an earlier setup may have changed this worktree (exit status 1)
    hint: allow what it needs in `sandbox.caches`, `sandbox.read` or `sandbox.hosts` and run `coppice resume [ID]`; `coppice resume [ID] --skip-setup` goes on without it, for example after you ran it yourself in `coppice shell [ID]`
    ");
    env.coppice(&["resume", &id]).succeeds();
    failure(&env, &id);
    env.coppice(&["resume", &id, "--skip-setup"]).succeeds();
    env.wait_for(&id, "ready");
    assert!(!is_planted(&env, "by-setup"));
    assert!(env.worktree(&id).join("b.txt").exists());
    let warnings = env.events(&id).into_iter().filter_map(|event| event["message"].as_str().map(str::to_owned));
    let warnings: Vec<_> = warnings.filter(|text| text.contains("worktree") || text.contains("skipped")).collect();
    assert_eq!(warnings, ["the setup command `touch $HOME/by-setup` was skipped"]);
}

#[test]
fn no_commit_message_chooses_the_attributes_of_a_session() {
    let env = TestEnv::new();
    let id = env.create_ready(&write(".gitattributes", "README.md text eol=crlf"));
    let planted = env.git(&["rev-parse", &format!("refs/coppice/checkpoints/{id}/1")]);
    let trailer = format!("Coppice-Attributes: {planted}");
    let withdraw = [run("rm .gitattributes; echo x > f"), format!("@summary Add f || {trailer}")];
    env.send_ready(&id, &[], &steps(&withdraw));
    env.coppice(&["merge", &id]).succeeds();
    let log = env.git(&["log", "--format=%B", "main"]);
    assert!(log.contains("- Add f") && !log.contains("Coppice-Attributes"), "{log}");
    // The line comes from elsewhere as well: a commit of the agent's own, a pull request.
    env.git(&["commit", "--quiet", "--allow-empty", "--message", "work", "--message", &trailer]);
    let next = env.create_ready(&say("done"));
    let checked_out = std::fs::read_to_string(env.worktree(&next).join("README.md")).unwrap();
    assert_eq!(checked_out, env.read("README.md"));
}

#[test]
fn a_hash_is_refused_in_plain_words_where_there_is_nothing_to_trust() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.coppice(&["trust", "--hash", "0a1b"]).transcript(), @r"
    exit: 1
    -- stderr
    error: there is nothing to trust: neither the commit that is checked out nor your local rules grant anything
    ");
}

#[test]
fn a_repository_that_an_agent_made_is_never_discovered() {
    let env = TestEnv::new();
    let make = "git init -q made && cd made && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m made";
    let id = env.create_ready(&steps(&[run(make), say("done")]));
    let made = env.worktree(&id).join("made");
    assert!(env.coppice_in(&made, &["list"]).exits(0).stdout.contains(&id), "the session's own repository counts");
    let root = env.worktree(&id).parent().unwrap().to_owned();
    env.coppice(&["rm", &id]).succeeds();
    env.wait_for_event(&id, "saved", 0);
    let trashed = root.join(".trash");
    let kept =
        fs::read_dir(&trashed).unwrap().flatten().map(|entry| entry.path().join("made")).find(|made| made.is_dir());
    let kept = kept.expect("a tree with a repository in it is kept");
    for arguments in [&["new", "--model", "demo", "hi"][..], &["trust"], &["permissions"]] {
        let refused = env.coppice_in(&kept, arguments);
        assert_ne!(refused.status.code(), Some(0), "{arguments:?}");
        assert!(refused.stderr.contains("is in the data directory of Coppice"), "{arguments:?}: {}", refused.stderr);
    }
}
