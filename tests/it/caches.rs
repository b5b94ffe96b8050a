//! Caches of build tools and temporary files: each session has its own, and commit hooks use none of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use coppice::permission::Hold;
use coppice::sandbox::support::support;

use crate::env::TestEnv;
use crate::script::{run, say, steps, write};

/// Every variable that names a directory which tools write and run things from.
const VARIABLES: &str = "XDG_CACHE_HOME CARGO_HOME PIP_CACHE_DIR UV_CACHE_DIR npm_config_cache YARN_CACHE_FOLDER GOCACHE \
                         GOMODCACHE GRADLE_USER_HOME DENO_DIR BUN_INSTALL_CACHE_DIR CCACHE_DIR TMPDIR";

/// A shell command for each of these directories, `$at`.
fn in_each(command: &str) -> String {
    format!("for name in {VARIABLES}; do at=$(printenv $name) || exit 1; {command}; done")
}

#[test]
fn no_session_finds_what_another_one_cached() {
    let env = TestEnv::new();
    let plant = run(&in_each("mkdir -p \"$at\"; echo planted > \"$at/config.toml\""));
    let look = format!("@report {}", in_each("cat \"$at/config.toml\" 2>/dev/null"));
    let hostile = env.create_ready(&steps(&[plant, say("done")]));
    env.send_ready(&hostile, &[], &look);
    let kept = env.last_answer(&hostile).matches("planted").count();
    assert_eq!(kept, VARIABLES.split_whitespace().count(), "a session keeps its own between turns");
    let caches = env.path("coppice/data/sessions").join(&hostile).join("caches/cargo/config.toml");
    assert!(caches.exists());
    let other = env.create_ready(&steps(&[look, format!("@report cat '{}'; true", caches.display())]));
    assert!(!env.last_answer(&other).contains("planted"), "{}", env.last_answer(&other));
}

#[test]
fn a_commit_hook_finds_nothing_that_the_session_cached() {
    let env = TestEnv::new();
    let hook = env.repo().join(".git/hooks/pre-commit");
    let check = in_each("test ! -e \"$at/planted\" && mkdir -p \"$at\" && touch \"$at/own\" || exit 1");
    fs::write(&hook, format!("#!/bin/sh\n{check}\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let plant = run(&in_each("mkdir -p \"$at\"; touch \"$at/planted\""));
    let id = env.create_ready(&steps(&[plant, write("made.txt", "made"), say("done")]));
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!(env.git(&["show", "main:made.txt"]), "made");
}

#[test]
fn crates_of_the_user_are_there_to_read_and_cannot_be_changed() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = TestEnv::new();
    env.write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"itoa\"\nversion = \"1.0.0\"\n");
    env.commit("a dependency");
    let registry = env.path("home/.cargo/registry");
    let files = ["index/r/.cache/it/oa/itoa", "cache/r/itoa-1.0.0.crate", "src/r/itoa-1.0.0/lib.rs"];
    for file in files {
        fs::create_dir_all(registry.join(file).parent().unwrap()).unwrap();
        fs::write(registry.join(file), "of the user\n").unwrap();
    }
    let each =
        |command: &str| format!("cd \"$CARGO_HOME/registry\"; for file in {}; do {command}; done", files.join(" "));
    let id = env.create_ready(&steps(&[
        format!("@report {}", each("cat $file; echo x 2>/dev/null > $file")),
        format!("@report {}", each("touch ${file%/*}/../new && echo new")),
        run(&each("rm -rf ${file%/*}; mkdir -p ${file%/*}; echo poisoned > $file")),
        format!("@report {}", each("cat $file")),
    ]));
    let answer = env.last_answer(&id);
    for (text, count) in [("of the user", 3), ("new", 3), ("poisoned", 3)] {
        assert_eq!(answer.matches(text).count(), count, "{text}: {answer}");
    }
    for file in files {
        assert_eq!(fs::read_to_string(registry.join(file)).unwrap(), "of the user\n");
    }
}

#[test]
fn the_caches_of_a_session_go_with_its_worktree() {
    let env = TestEnv::new();
    let id = env.create_ready(&steps(&[run("echo x > \"$CARGO_HOME/x\""), say("done")]));
    let caches = env.path("coppice/data/sessions").join(&id).join("caches");
    assert!(caches.join("cargo/x").exists());
    env.coppice(&["archive", &id]).succeeds();
    env.wait_for_event(&id, "saved", 0);
    assert!(!caches.exists());
}

#[test]
fn settings_of_cargo_come_without_the_secrets_in_them() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = TestEnv::new();
    let own = env.path("home/.cargo/config.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    let copy = env.path("coppice/data/.cargo/config.toml");
    let look = format!("@report cat '{}' '{}'; true", own.display(), copy.display());
    let settings = "[alias]\nours = \"test\"\n";
    fs::write(&own, settings).unwrap();
    let id = env.create_ready(&look);
    assert_eq!(env.last_answer(&id).matches("ours").count(), 2, "{}", env.last_answer(&id));
    let secrets = "[registries.x]\n\"token\" = \"hush\"\n[http]\nproxy = \"http://me:hush@proxy\"\n# token: hush\n";
    fs::write(&own, format!("{settings}{secrets}")).unwrap();
    let id = env.create_ready(&look);
    let answer = env.last_answer(&id);
    assert_eq!((answer.matches("ours").count(), answer.matches("hush").count()), (1, 0), "{answer}");
}
