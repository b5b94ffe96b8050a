//! What bad input gets: the whole message of every case, its exit code, and nothing created.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::env::TestEnv;
use crate::script::{ask, fail, hang, say, steps, wait_for_file, write};

/// That a refused command left neither a session nor a branch behind.
#[track_caller]
fn assert_nothing_created(env: &TestEnv) {
    assert_eq!(env.json(&["list", "--all"]), serde_json::json!([]));
    assert_eq!(env.git(&["for-each-ref", "refs/heads/coppice", "refs/coppice"]), "");
}

/// Puts a program in front of everything else on `PATH`.
fn shadow(env: &mut TestEnv, name: &str, script: &str) {
    let directory = env.path("bin");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(directory.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    env.set("PATH", &format!("{}:{path}", directory.display()));
}

#[test]
fn a_directory_that_is_no_repository() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice_in(&env.path("home"), &["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: `[ROOT]/home` is not in a git repository

    hint: go to a repository, or make one with `git init`
    ");
    assert_nothing_created(&env);
}

#[test]
fn a_repository_without_commits() {
    let env = TestEnv::new();
    let empty = env.path("empty");
    fs::create_dir(&empty).unwrap();
    env.git_in(&empty, &["init", "-q", "-b", "main"]);
    assert_snapshot!(env.coppice_in(&empty, &["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: the repository at `[ROOT]/empty` has no commits

    hint: make a first commit: `git commit --allow-empty -m start`
    ");
}

#[test]
fn a_detached_head_has_no_branch_to_merge_into() {
    let env = TestEnv::new();
    env.git(&["checkout", "-q", "--detach"]);
    let id = env.create_ready(&write("file.txt", "one"));
    assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` started from `6b64463e`, which is not a branch: there is nothing to merge into

    hint: check out the branch that you want it in, then run `git merge coppice/[ID1]/write-file-txt-one`; a session that begins with `coppice new --base BRANCH` can be merged by coppice
    ");
    assert_eq!(env.status(&id), "ready");
    let branch = env.session(&id)["branch"].as_str().unwrap().to_owned();
    env.git(&["merge", "--quiet", &branch]);
    assert_eq!(env.read("file.txt"), "one\n");
}

#[test]
fn a_session_without_a_worktree_has_nothing_to_merge() {
    let env = TestEnv::new();
    let id = env.create_with(&["--draft", "--model", "demo"], &say("hi"));
    assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` has changed nothing: there is nothing to merge
    ");
}

#[test]
fn a_process_in_a_sandbox_is_told_why_coppice_does_not_work_there() {
    let mut env = TestEnv::new();
    env.set("COPPICE_SESSION", "abcdefgh");
    env.set("COPPICE_WORKTREE", "/worktrees/abcdefgh");
    env.set("COPPICE_HOME", "/proc/none");
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 6
    -- stderr
    error: this process runs in the sandbox of session `abcdefgh`, where coppice commands do not work

    hint: run the command in a terminal of your own; in `coppice shell`, Ctrl+] brings you back to it
    ");
}

#[test]
fn a_bare_repository_works() {
    let env = TestEnv::new();
    let bare = env.path("bare.git");
    env.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let output = env.coppice_in(&bare, &["new", "--model", "demo", &write("file.txt", "one")]);
    let id = output.stdout().trim().to_owned();
    env.wait_for(&id, "ready");
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git_in(&bare, &["show", "main:file.txt"]), "one");
}

#[test]
fn an_unknown_base() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "--base", "mian", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: no branch, tag or commit is named `mian`

    hint: `git branch --all` and `git tag` list the names
    ");
    assert_nothing_created(&env);
}

#[test]
fn an_unknown_backend_or_model() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["new", "--model", "demmo", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: no backend is called `demmo`; known are claude, codex, gemini, forgetful, missing, demo

    hint: did you mean `demo`? `coppice models` shows what can be used
    ");
    assert_snapshot!(env.coppice(&["new", "--model", "demo/nothing", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: backend `demo` has no model `nothing`; it has scripted, scripted-small

    hint: `coppice models` shows what can be used
    ");
    assert_nothing_created(&env);
}

#[test]
fn a_directory_before_a_command_is_where_it_works() {
    let env = TestEnv::new();
    let outside = env.path("home");
    let repo = env.repo().to_str().unwrap().to_owned();
    let id = env.coppice_in(&outside, &[&repo, "new", "--model", "demo", &say("hi")]).stdout().trim().to_owned();
    assert_eq!(env.session(&id)["project"], env.repo().join(".git").to_str().unwrap());
    for word in ["agent", "/nowhere"] {
        let refused = env.coppice(&[word, "list"]).exits(2).stderr;
        assert!(refused.starts_with(&format!("error: `{word}` is neither a command nor a directory")), "{refused}");
    }
}

#[test]
fn several_models_get_a_session_each_or_nothing_is_created() {
    let env = TestEnv::new();
    let several = ["new", "--model", "demo", "--model", "demo/nothing", "hi"];
    assert_snapshot!(env.coppice(&several).transcript(), @r"
    exit: 2
    -- stderr
    error: backend `demo` has no model `nothing`; it has scripted, scripted-small

    hint: `coppice models` shows what can be used
    ");
    assert_snapshot!(env.coppice(&["run", "--model", "demo", "--model", "forgetful", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: expected one --model, but got `demo` and `forgetful`

    hint: `coppice new` makes a session for each of several models
    ");
    let planned = ["new", "--model", "demo", "--model", "forgetful", "--plan-resume", "import"];
    assert_snapshot!(env.coppice(&planned).transcript(), @r"
    exit: 2
    -- stderr
    error: a plan is carried out once, and several models are named

    hint: name one --model, or give the task as PROMPT
    ");
    assert_nothing_created(&env);

    let ids = env.coppice(&["new", "--model", "demo", "--model", "forgetful", &write("file.txt", "one")]).stdout();
    let ids: Vec<_> = ids.lines().collect();
    assert_eq!(ids.iter().map(|id| env.session(id)["backend"].clone()).collect::<Vec<_>>(), ["demo", "forgetful"]);
    ids.iter().for_each(|id| env.wait_for(id, "ready"));

    let drafts = env.json(&["new", "--draft", "--model", "demo/scripted", "--model", "demo/scripted-small", "hi"]);
    let models: Vec<_> = drafts.as_array().unwrap().iter().map(|session| session["model"].clone()).collect();
    assert_eq!(models, ["scripted", "scripted-small"]);
    assert!(env.json(&["new", "--draft", "--model", "demo", "hi"]).is_object());
}

#[test]
fn an_option_that_does_not_exist() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["new", "--reasoning", "extreme", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: invalid value 'extreme' for '--reasoning <LEVEL>'
      [possible values: low, medium, high, xhigh]

    For more information, try '--help'.
    ");
    assert_snapshot!(env.coppice(&["new", "--thinking", "hard", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: unexpected argument '--thinking' found

      tip: to pass '--thinking' as a value, use '-- --thinking'

    Usage: coppice new [OPTIONS] <PROMPT|->

    For more information, try '--help'.
    ");
    assert_snapshot!(env.coppice(&["frobnicate"]).transcript(), @r"
    exit: 2
    -- stderr
    error: `frobnicate` is neither a command nor a directory (No such file or directory (os error 2))

    hint: `coppice --help` lists the commands
    ");
    assert_snapshot!(env.coppice(&["wait", "abc", "--timeout", "soon"]).transcript(), @r"
    exit: 2
    -- stderr
    error: invalid value 'soon' for '--timeout <DURATION>': `soon` is not a duration: expected a number with s, m, h or d, such as `90s` or `15m`

    For more information, try '--help'.
    ");
}

#[test]
fn an_empty_prompt() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["new", "--model", "demo", " \n"]).transcript(), @r#"
    exit: 2
    -- stderr
    error: the prompt from the PROMPT argument is empty

    hint: say what the agent shall do, for example "fix the failing test"
    "#);
    assert_snapshot!(env.coppice_with_input(&["new", "--model", "demo", "-"], b"").transcript(), @r#"
    exit: 2
    -- stderr
    error: the prompt from stdin is empty

    hint: say what the agent shall do, for example "fix the failing test"
    "#);
    assert_nothing_created(&env);
}

#[test]
fn a_prompt_that_is_not_utf8() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice_with_input(&["new", "--model", "demo", "-"], b"caf\xe9").transcript(), @r"
    exit: 2
    -- stderr
    error: the prompt from stdin is not UTF-8: byte 3 is wrong

    hint: convert it first, for example with `iconv -t UTF-8`
    ");
    assert_nothing_created(&env);
}

#[test]
fn a_directory_whose_name_no_request_can_hold() {
    let env = TestEnv::new();
    for name in [b"two\nlines".as_slice(), b"caf\xe9"] {
        let directory = env.path(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&directory).unwrap();
        env.git_in(&directory, &["init", "-q"]);
        let refused = env.coppice_in(&directory, &["new", "--model", "demo", "hi"]).exits(2).stderr;
        assert!(refused.contains("hint: rename the directory"), "{refused}");
        // Neither helps a link to it.
        let link = env.path("link");
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        env.coppice_in(&link, &["list"]).exits(2).transcript();
        fs::remove_file(&link).unwrap();
    }
    assert_nothing_created(&env);
}

#[test]
fn a_huge_prompt() {
    let env = TestEnv::new();
    let prompt = vec![b'x'; 32 << 20];
    assert_snapshot!(env.coppice_with_input(&["new", "--model", "demo", "-"], &prompt).transcript(), @r"
    exit: 2
    -- stderr
    error: the prompt from stdin is longer than 10000000 bytes

    hint: put long material into a file of the repository and name the file in the prompt
    ");
    assert_nothing_created(&env);
}

#[test]
fn a_broken_configuration() {
    let env = TestEnv::new();
    let config = env.path("coppice/config.toml");
    fs::write(&config, "[limits]\nparallel_turns = \n").unwrap();
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/config.toml:2:18: not valid TOML: string values must be quoted, expected literal string
    ");
    fs::write(&config, "[limits]\nparalel_turns = 4\n").unwrap();
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/config.toml:2: unknown key `limits.paralel_turns`, the nearest known key is `limits.parallel_turns`
    ");
    fs::write(&config, "[limits]\nturn_timeout = \"soon\"\n").unwrap();
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/config.toml:2: `limits.turn_timeout` must be a duration such as `90s`, `10m`, `4h` or `30d`, not `soon`
    ");
}

#[test]
fn a_broken_configuration_of_the_repository() {
    let env = TestEnv::new();
    env.write(".coppice/config.toml", "[worktree]\ncopy = \"not a list\"\n");
    env.commit("broken");
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 2
    -- stderr
    error: .coppice/config.toml of the repository:2: `worktree.copy` must be a list of relative paths inside the repository, not `not a list`
    ");
    assert_nothing_created(&env);
}

#[test]
fn an_agent_that_is_not_installed() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["new", "--model", "missing", "hi"]).transcript(), @r"
    exit: 1
    -- stderr
    error: backend `missing` is not installed: there is no `no-such-agent` on PATH

    hint: install it, or correct its `command` in the configuration
    ");
    assert_nothing_created(&env);
}

#[test]
fn an_agent_that_ends_at_once() {
    let mut env = TestEnv::new();
    shadow(&mut env, "no-such-agent", "echo 'this agent needs a licence' >&2; exit 3");
    let text = env.coppice(&["run", "--model", "missing", "hi"]).exits(1).transcript();
    let id = env.json(&["list"])[0]["id"].as_str().unwrap().to_owned();
    assert_snapshot!(text.replace(&id, "[ID]"), @r"
    exit: 1
    -- stderr
    session [ID] from main
    preparing: worktree (checkout)
    failed: the agent ended before the conversation was open with exit status 3: this agent needs a licence
    hint: run `coppice resume [ID]` to go on with the conversation
    ");
}

#[test]
fn a_git_that_is_too_old() {
    let mut env = TestEnv::new();
    shadow(&mut env, "git", "echo git version 2.30.2");
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 1
    -- stderr
    error: git 2.30 is too old: at least 2.41 is needed

    hint: install git 2.41 or later
    ");
}

#[test]
fn no_git_at_all() {
    let mut env = TestEnv::new();
    env.set("PATH", env.path("bin").to_str().unwrap());
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 1
    -- stderr
    error: the `git` program is not on PATH

    hint: install git 2.41 or later
    ");
    env.unset("PATH");
}

#[test]
fn no_git_identity() {
    let env = TestEnv::new();
    fs::write(env.path("home/.gitconfig"), "").unwrap();
    let id = env.create(&write("file.txt", "one"));
    env.wait_for(&id, "ready");
    assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r#"
    exit: 1
    -- stderr
    error: the merge into `main` failed; nothing was merged
      caused by: no git identity is configured: run `git config --global user.name "Your Name"` and `git config --global user.email you@example.com`

    hint: fix the cause, then run `coppice merge [ID1]` again
    "#);
}

#[test]
fn a_branch_that_blocks_the_namespace() {
    let env = TestEnv::new();
    env.git(&["branch", "coppice"]);
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 1
    -- stderr
    error: the branch `coppice` takes the place of the branches below `coppice/`

    hint: rename it: `git branch --move coppice coppice-old`
    ");
    env.git(&["branch", "-D", "-q", "coppice"]);
    assert_nothing_created(&env);
}

#[test]
fn a_database_of_a_newer_version() {
    let env = TestEnv::new();
    env.coppice(&["list"]).succeeds();
    env.kill_daemon();
    database(&env).pragma_update(None, "user_version", 999).unwrap();
    let shown = env.coppice(&["list"]).transcript().replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
    assert_snapshot!(shown, @r"
    exit: 6
    -- stderr
    error: the daemon did not start: database `[ROOT]/coppice/data/coppice.db` has schema 999, written by a newer coppice: this one ([VERSION]) knows 3

    hint: use the newer coppice that wrote it, or another COPPICE_HOME
    ");
}

#[test]
fn a_database_that_another_program_holds() {
    let env = TestEnv::new();
    env.coppice(&["list"]).succeeds();
    env.kill_daemon();
    let holder = database(&env);
    holder.pragma_update(None, "locking_mode", "EXCLUSIVE").unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 6
    -- stderr
    error: the daemon did not start: database `[ROOT]/coppice/data/coppice.db` is locked by another process

    hint: close the program that holds it and try again
    ");
}

#[test]
fn a_database_that_is_not_one() {
    let env = TestEnv::new();
    env.coppice(&["list"]).succeeds();
    env.kill_daemon();
    let path = database(&env).path().unwrap().to_owned();
    fs::write(&path, "this is not a database, but long enough to be taken for one".repeat(100)).unwrap();
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 6
    -- stderr
    error: the daemon did not start: database `[ROOT]/coppice/data/coppice.db` is damaged (file is not a database); branches and checkpoints of sessions are in their repositories

    hint: put a backup in its place, or run `coppice store rebuild`, which recovers the sessions from git
    ");
}

/// The store's database, opened past the store.
fn database(env: &TestEnv) -> rusqlite::Connection {
    let entries = fs::read_dir(env.path("coppice/data")).unwrap().map(|entry| entry.unwrap().path());
    let path = entries.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "db"));
    rusqlite::Connection::open(path.expect("a database")).unwrap()
}

#[test]
fn removed_sessions_are_forgotten_when_time_has_passed_and_not_when_the_clock_says_so() {
    let env = TestEnv::new();
    let remove = || {
        let id = env.create_ready(&say("done"));
        env.coppice(&["rm", &id]).succeeds();
        env.wait_for_event(&id, "saved", 0);
        env.end_daemon(&[]);
        id
    };
    let removed = || env.json(&["list", "--removed"]).as_array().unwrap().len();
    remove();
    let day: i64 = 24 * 60 * 60 * 1000;
    database(&env).execute("UPDATE sessions SET removed_at = removed_at - ?1", [40 * day]).unwrap();
    remove();
    assert_eq!(removed(), 2);
    env.end_daemon(&[]);
    let file = env.path("coppice/data/removed.json");
    let mut kept: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    kept["passed_ms"] = (40 * day).into();
    fs::write(&file, kept.to_string()).unwrap();
    remove();
    assert_eq!(removed(), 1);
}

#[test]
fn a_home_that_cannot_be_used() {
    let mut env = TestEnv::new();
    // The permissions of a directory do not bind root; nobody can make one here.
    env.set("COPPICE_HOME", "/proc/coppice");
    assert_snapshot!(env.coppice(&["new", "--model", "demo", "hi"]).transcript(), @r"
    exit: 1
    -- stderr
    error: failed to prepare the directory `/proc/coppice/run`
      caused by: No such file or directory (os error 2)

    hint: set COPPICE_HOME to a directory that only you can write
    ");
    env.set("COPPICE_HOME", "own");
    assert_snapshot!(env.coppice(&["list"]).transcript(), @r"
    exit: 1
    -- stderr
    error: COPPICE_HOME is the relative path `own`, which means another directory wherever it is used

    hint: set COPPICE_HOME to an absolute path outside of your repositories
    ");
    assert!(!env.repo().join("own").exists());
    env.unset("COPPICE_HOME");
}

/// What `coppice` writes to stderr, and its exit code, with the mounts that a script makes for it alone; `None` where nothing
/// can be mounted.
fn run_with_mounts(env: &TestEnv, home: Option<&Path>, mounts: &str, arguments: &[&str]) -> Option<(i32, String)> {
    let program = env.to_start(arguments);
    let inside = |script: &str| {
        let mut command = Command::new("unshare");
        let user: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["--map-root-user"] };
        command.args(user).args(["--mount", "sh", "-c", script, "sh"]).arg(program.get_program()).args(arguments);
        command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env_remove("COPPICE_HOME").envs(home.map(|home| ("COPPICE_HOME", home)));
        command.current_dir(env.repo()).output().unwrap()
    };
    if !inside(mounts).status.success() {
        return None;
    }
    let output = inside(&format!("{mounts} && exec \"$@\""));
    let stderr = String::from_utf8(output.stderr).unwrap();
    Some((output.status.code().unwrap(), stderr.replace(env.path("").to_str().unwrap(), "[ROOT]/")))
}

#[test]
fn a_home_on_a_read_only_disk_is_named() {
    let env = TestEnv::new();
    let home = env.path("home").display().to_string();
    let mounts = format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}'");
    let inner = env.path("home/inner");
    for (set, directory) in [(None, "home/.local/share/coppice/run"), (Some(&*inner), "home/inner/run")] {
        for arguments in [&["list"][..], &["new", "--model", "demo", "hi"], &["doctor"]] {
            let Some((code, stderr)) = run_with_mounts(&env, set, &mounts, arguments) else { return };
            let expected = format!(
                "error: failed to prepare the directory `[ROOT]/{directory}`\n  caused by: Read-only file system \
                 (os error 30)\n\nhint: set COPPICE_HOME to a directory that only you can write\n"
            );
            assert_eq!((code, stderr), (1, expected), "{arguments:?}");
        }
    }
    // The hint, followed.
    let own = env.path("coppice");
    let waits = ["run", "--model", "demo", "hi"];
    let Some((code, stderr)) = run_with_mounts(&env, Some(&own), &mounts, &waits) else { return };
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn a_home_on_a_full_disk_is_named() {
    let env = TestEnv::new();
    let home = env.path("full");
    fs::create_dir(&home).unwrap();
    let shown = home.display();
    let fill = format!("{{ head -c 1M /dev/zero > '{shown}/filler'; test -s '{shown}/filler'; }} 2> /dev/null");
    let mounts = format!("mount -t tmpfs -o size=64k,mode=700 full '{shown}' && {fill}");
    for arguments in [&["list"][..], &["new", "--model", "demo", "hi"]] {
        let Some((code, stderr)) = run_with_mounts(&env, Some(&home), &mounts, arguments) else { return };
        assert_eq!(code, 6, "{stderr}");
        let (path, hint) = ("`[ROOT]/full/data/", "hint: free some disk space and try again\n");
        let is_told = stderr.starts_with("error: the daemon did not start: failed to ") && stderr.contains(path);
        assert!(is_told && stderr.contains("No space left on device") && stderr.ends_with(hint), "{stderr}");
    }
}

#[test]
fn a_session_that_does_not_exist() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["show", "zzzz"]).transcript(), @r"
    exit: 5
    -- stderr
    error: no session matches `zzzz`

    hint: `coppice list --all` shows all sessions
    ");
    assert_snapshot!(env.coppice(&["show", "NOT AN ID"]).transcript(), @r"
    exit: 5
    -- stderr
    error: no session matches `NOT AN ID`

    hint: `coppice list --all` shows all sessions
    ");
}

#[test]
fn a_prefix_that_fits_several() {
    let env = TestEnv::new();
    // Thirty-three ids over thirty-two letters: two of them begin alike.
    let ids: Vec<_> = (0..33).map(|_| env.create_with(&["--model", "demo", "--draft"], "hi")).collect();
    let shared = ids.iter().find(|id| ids.iter().filter(|other| other[..1] == id[..1]).count() > 1).unwrap();
    let output = env.coppice(&["show", &shared[..1]]).exits(2);
    assert!(output.stderr.contains(&format!("`{}`", &shared[..1])), "{}", output.stderr);
}

#[test]
fn commands_that_a_state_does_not_allow() {
    let env = TestEnv::new();
    let id = env.create_ready(&say("hi"));
    assert_snapshot!(env.coppice(&["answer", &id, "yes"]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` asks nothing: it is ready

    hint: `coppice inbox` shows what waits for you
    ");
    assert_snapshot!(env.coppice(&["approve", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` waits for no approval: it is ready

    hint: `coppice inbox` shows what waits for you
    ");
    assert_snapshot!(env.coppice(&["stop", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` is ready: it cannot be stopped

    hint: possible are `coppice diff [ID1]`, `coppice send [ID1]`, `coppice archive [ID1]`, `coppice rm [ID1]`
    ");
    assert_snapshot!(env.coppice(&["resume", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` is ready: it cannot be resumed

    hint: possible are `coppice diff [ID1]`, `coppice send [ID1]`, `coppice archive [ID1]`, `coppice rm [ID1]`
    ");
    assert_snapshot!(env.coppice(&["restore", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` was not removed

    hint: `coppice list --removed` and `coppice list --all` show what can be restored
    ");
    assert_snapshot!(env.coppice(&["merge", &id]).transcript(), @r"
    exit: 1
    -- stderr
    error: session `[ID1]` has changed nothing: there is nothing to merge
    ");
    assert_snapshot!(env.coppice(&["events"]).transcript(), @r"
    exit: 2
    -- stderr
    error: no session is named

    hint: `coppice events ID` shows one, `coppice events --all` every one
    ");
    assert_snapshot!(env.coppice(&["undo", &id, "--to", "7"]).transcript(), @r"
    exit: 5
    -- stderr
    error: session `[ID1]` has no turn 7

    hint: `coppice show [ID1]` lists the turns
    ");
    assert_snapshot!(env.coppice(&["diff", &id, "--turn", "7"]).transcript(), @r"
    exit: 5
    -- stderr
    error: session `[ID1]` has no turn 7

    hint: `coppice show [ID1]` lists the turns
    ");
}

#[test]
fn answers_that_do_not_fit() {
    let env = TestEnv::new();
    let id = env.create(&ask("Which?", &["red", "green"]));
    env.wait_for(&id, "asking");
    assert_snapshot!(env.coppice(&["answer", &id, "red", "green"]).transcript(), @r"
    exit: 2
    -- stderr
    error: got 2 answers for 1 open question

    hint: put an answer of several words into quotes
    ");
    assert_snapshot!(env.coppice(&["answer", &id, " "]).transcript(), @r"
    exit: 2
    -- stderr
    error: an answer is empty

    hint: say something, or pick an option by its number
    ");
    assert_eq!(env.status(&id), "asking");
}

#[test]
fn a_wait_that_takes_too_long() {
    let env = TestEnv::new();
    let id = env.create(&crate::script::hang());
    assert_snapshot!(env.coppice(&["wait", &id, "--timeout", "1s"]).exits(124).transcript(), @r"
    exit: 124
    -- stderr
    the time is over; the sessions go on
    ");
    env.coppice(&["stop", &id]).succeeds();
}

#[test]
fn data_goes_to_stdout_and_talk_to_stderr() {
    let env = TestEnv::new();
    let output = env.coppice(&["new", "--model", "demo", &say("hi")]);
    assert_eq!(output.stdout.lines().count(), 1, "{}", output.stdout);
    let id = output.stdout().trim().to_owned();
    env.wait_for(&id, "ready");
    assert!(env.coppice(&["diff", &id]).stdout().is_empty());
}

#[test]
fn configuration_says_where_a_value_came_from() {
    let env = TestEnv::new();
    env.configure("[limits]\nparallel_turns = 3\n");
    assert_eq!(env.coppice(&["config", "get", "limits.parallel_turns"]).stdout(), "3\n");
    env.coppice(&["config", "set", "limits.parallel_turns", "5"]).succeeds();
    assert_eq!(env.coppice(&["config", "get", "limits.parallel_turns"]).stdout(), "5\n");
    assert_snapshot!(env.coppice(&["config", "set", "limits.paralel_turns", "5"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/config.toml: unknown key `limits.paralel_turns`, the nearest known key is `limits.parallel_turns`
    ");
    assert_snapshot!(env.coppice(&["config", "set", "limits.parallel_turns", "many"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/config.toml: `limits.parallel_turns` must be a whole number from 0 to 1024, not `many`
    ");
}

#[test]
fn shells_and_readers_are_helped() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(env.coppice(&["completions", shell]).stdout().contains("coppice"), "{shell}");
    }
    assert!(env.coppice(&["help", "merge"]).stdout().contains("Examples:"));
}

#[test]
fn a_misspelt_command_with_arguments_is_recognised() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.coppice(&["nwe", "fix the test"]).transcript(), @r"
    exit: 2
    -- stderr
    error: `nwe` is not a command

    hint: did you mean `coppice new`?
    ");
    insta::assert_snapshot!(env.coppice(&["frobnicate", "cyk", "--now"]).transcript(), @r"
    exit: 2
    -- stderr
    error: `frobnicate` is not a command

    hint: `coppice --help` lists the commands
    ");
}

#[test]
fn words_of_other_programs_are_commands_too() {
    let env = TestEnv::new();
    let id = env.create(&hang());
    env.wait_for_event(&id, "turn_started", 0);
    for list in ["ls", "ps", "status"] {
        assert!(env.coppice(&[list]).stdout().contains(&id), "{list}");
    }
    assert!(env.coppice(&["log", &id]).stdout().contains("turn_started"));
    env.coppice(&["kill", &id]).succeeds();
    env.wait_for(&id, "interrupted");
}

#[test]
fn what_was_archived_is_restored_with_its_files() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("kept.txt", "kept"), say("done")]));
    env.coppice(&["archive", &id]).succeeds();
    env.wait_for(&id, "archived");
    let restored = env.coppice(&["restore", &id]);
    assert_snapshot!(restored.transcript(), @r"
    exit: 0
    -- stderr
    [ID1] restored, ready
    ");
    assert_eq!(fs::read_to_string(env.worktree(&id).join("kept.txt")).unwrap(), "kept\n");
    assert_eq!(env.session(&id)["turns"], 1);
}

#[test]
fn the_next_commands_of_a_session_can_be_pasted() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[write("a.txt", "a"), say("done")]));
    let show = env.coppice(&["show", &id]).stdout();
    let lines: Vec<_> = show.lines().map(|line| line.trim_start_matches("next").trim()).collect();
    for command in ["diff", "send", "merge", "archive", "rm"] {
        assert!(lines.contains(&format!("coppice {command} {id}").as_str()), "{show}");
    }
}

#[test]
fn a_turn_that_failed_is_shown_so_while_the_database_takes_nothing() {
    let env = TestEnv::new();
    let go = env.visible_to_agents("go");
    let id = env.create(&steps(&[wait_for_file(&go), fail("it broke")]));
    env.wait_for_event(&id, "turn_started", 0);
    let holder = database(&env);
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    fs::write(&go, "").unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while env.session(&id)["status"] != "failed" {
        assert!(Instant::now() < deadline, "{:#}", env.session(&id));
    }
    holder.execute_batch("ROLLBACK").unwrap();
    env.wait_for(&id, "failed");
}
