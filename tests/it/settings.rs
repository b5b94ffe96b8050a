//! Settings through the public edge: who may set what for whom, and that it stays.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::say;

/// The value and the origin of a setting as it holds in a directory.
#[track_caller]
fn effective(env: &TestEnv, directory: &Path, key: &str) -> (Value, String) {
    let told = env.coppice_in(directory, &["config", "get", key, "--json"]).stdout();
    let setting: Value = serde_json::from_str(&told).unwrap();
    (setting["value"].clone(), setting["origin"].as_str().unwrap().to_owned())
}

/// The only file of the only project that has settings of its own.
#[track_caller]
fn project_file(env: &TestEnv) -> PathBuf {
    let projects = fs::read_dir(env.path("coppice/data/projects")).unwrap();
    let files = projects.map(|entry| entry.unwrap().path().join("config.toml")).filter(|path| path.exists());
    let [file] = files.collect::<Vec<_>>().try_into().unwrap();
    file
}

/// A second repository with one commit.
fn other_repository(env: &TestEnv) -> PathBuf {
    let other = env.path("other");
    fs::create_dir(&other).unwrap();
    env.git_in(&other, &["init", "--quiet"]);
    env.git_in(&other, &["commit", "--quiet", "--allow-empty", "--message", "first"]);
    other
}

#[test]
fn settings_persist_per_project() {
    let env = TestEnv::new();
    let other = other_repository(&env);
    env.coppice(&["config", "set", "default.reasoning", "low"]).succeeds();
    env.coppice(&["config", "set", "default.reasoning", "high", "--project"]).succeeds();
    env.coppice(&["config", "set", "theme", "plain", "--project"]).succeeds();
    env.end_daemon(&[]);
    let file = project_file(&env);
    assert_eq!(effective(&env, &env.repo(), "default.reasoning"), (json!("high"), format!("{}:3", file.display())));
    assert_eq!(effective(&env, &env.repo().join("src"), "theme").0, "plain");
    assert_eq!(effective(&env, &other, "default.reasoning").0, "low");
    assert_eq!(effective(&env, &other, "theme"), (json!("auto"), "default".to_owned()));
    assert!(!env.repo().join(".coppice").exists(), "the checkout of the user is left alone");

    let overruled = env.coppice(&["config", "set", "default.reasoning", "medium"]).exits(0).stderr;
    assert!(overruled.contains("warning: in this repository `default.reasoning` stays `high`: "), "{overruled}");
    env.coppice(&["config", "set", "default.reasoning", "low"]).succeeds();
    env.coppice(&["config", "unset", "default.reasoning", "--project"]).succeeds();
    assert_eq!(effective(&env, &env.repo(), "default.reasoning").0, "low");
    assert_eq!(fs::read_to_string(file).unwrap(), "theme = \"plain\"\n");
}

#[test]
fn what_a_person_says_about_a_project_stands_above_the_repository_and_below_flags() {
    let env = TestEnv::new();
    let style = || effective(&env, &env.repo(), "merge.style");
    assert_eq!(style(), (json!("squash"), "default".to_owned()));
    env.coppice(&["config", "set", "merge.style", "no-ff"]).succeeds();
    assert_eq!(style().0, "no-ff");
    env.write(".coppice/config.toml", "[merge]\nstyle = \"squash\"\n");
    env.commit("settings");
    assert_eq!(style(), (json!("squash"), ".coppice/config.toml of the repository:2".to_owned()));
    env.coppice(&["config", "set", "--project", "merge.style", "rebase"]).succeeds();
    assert_eq!(style().0, "rebase");
    env.coppice(&["config", "set", "--project", "default.model", "demo/scripted-small"]).succeeds();
    let model = |options: &[&str]| {
        let id = env.create_with(options, &say("done"));
        env.wait_for(&id, "ready");
        env.session(&id)["model"].clone()
    };
    assert_eq!(model(&[]), "scripted-small");
    assert_eq!(model(&["--model", "demo/scripted"]), "scripted");
}

#[test]
fn a_file_keeps_its_face_through_a_change() {
    let env = TestEnv::new();
    env.coppice(&["config", "set", "--project", "merge.style", "rebase"]).succeeds();
    let file = project_file(&env);
    let text =
        "# Mine.\n\n[keys]  # by hand\nnew = \"Ctrl+N\"\n\n# How it goes in.\n[merge]\nstyle = 'rebase' # always\n";
    fs::write(&file, text).unwrap();
    env.coppice(&["config", "set", "--project", "merge.style", "squash"]).succeeds();
    assert_eq!(fs::read_to_string(&file).unwrap(), text.replace("'rebase'", "\"squash\""));
    env.coppice(&["config", "set", "--project", "keys.quit", "[\"q\", \"ctrl+q\"]"]).succeeds();
    env.coppice(&["config", "unset", "--project", "merge.style"]).succeeds();
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "# Mine.\n\n[keys]  # by hand\nnew = \"Ctrl+N\"\nquit = [\"q\", \"ctrl+q\"]\n\n# How it goes in.\n[merge]\n"
    );
}

#[test]
fn keys_reach_the_faces_in_one_spelling_whatever_their_action_is_called() {
    let env = TestEnv::new();
    env.configure("[keys]\nnew = \"Ctrl+N\"\nno-such-action = [\"shift+g\", \"space\"]\n");
    let told = env.json(&["config"]);
    let keys = told.as_array().unwrap().iter().filter(|value| value["key"].as_str().unwrap().starts_with("keys."));
    let keys: Vec<_> = keys.map(|value| (value["key"].clone(), value["value"].clone())).collect();
    assert_eq!(keys, [(json!("keys.new"), json!(["ctrl+n"])), (json!("keys.no-such-action"), json!(["G", "space"]))]);
    let unset = env.coppice(&["config", "unset", "keys.new"]);
    assert_snapshot!(unset.transcript(), @r"
    exit: 0
    -- stderr
    keys.new is not set
    ");
}

#[test]
fn what_may_not_be_set_there_says_why() {
    let env = TestEnv::new();
    assert_snapshot!(env.coppice(&["config", "set", "--project", "limits.parallel_turns", "9"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/data/projects/[PROJECT]/config.toml: `limits.parallel_turns` holds for the whole machine and cannot be set for a project
    ");
    assert_snapshot!(env.coppice(&["config", "unset", "--project", "daemon.idle_exit"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/data/projects/[PROJECT]/config.toml: `daemon.idle_exit` holds for the whole machine and cannot be set for a project
    ");
    assert_snapshot!(env.coppice(&["config", "set", "theme", "pink"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/config.toml: `theme` must be one of `auto`, `dark`, `light`, `plain`, `mono`, not `pink`
    ");
    assert_snapshot!(env.coppice(&["config", "set", "keys.new", "ctrl+foo"]).transcript(), @r"
    exit: 2
    -- stderr
    error: [ROOT]/coppice/config.toml: `keys.new` must be a key such as `g`, `ctrl+n`, `alt+enter` or `space`, or a list of keys, not `ctrl+foo`
    ");
    let nowhere = env.path("nowhere");
    fs::create_dir(&nowhere).unwrap();
    assert_snapshot!(env.coppice_in(&nowhere, &["config", "set", "--project", "theme", "dark"]).transcript(), @r"
    exit: 2
    -- stderr
    error: `[ROOT]/nowhere` is not in a git repository

    hint: go to a repository, or make one with `git init`
    ");
    assert!(!env.path("coppice/data/projects").exists());

    env.write(".coppice/config.toml", "[notify]\ncommand = [\"touch\", \"/tmp/evil\"]\n");
    env.commit("settings");
    assert_snapshot!(env.coppice(&["config", "get", "notify.command"]).transcript(), @r"
    exit: 2
    -- stderr
    error: .coppice/config.toml of the repository:2: `notify.command` is for each person to choose and cannot be set by a repository
    ");
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let env = TestEnv::new();
    env.coppice(&["daemon", "start"]).succeeds();
    let running: Vec<_> = ('a'..='h')
        .map(|letter| env.start(&["config", "set", "--project", &format!("keys.act-{letter}"), &letter.to_string()]))
        .collect();
    for set in running {
        assert_eq!(set.end().0, Some(0));
    }
    let kept = fs::read_to_string(project_file(&env)).unwrap();
    assert_eq!(kept.matches("act-").count(), 8, "{kept}");
}

#[test]
fn a_model_that_nobody_knows_is_warned_about_when_it_is_set() {
    let env = TestEnv::new();
    let said = env.coppice(&["config", "set", "default.model", "dmeo"]).exits(0).stderr;
    assert!(said.contains("warning:") && said.contains("`dmeo`") && said.contains("demo"), "{said}");
    let said = env.coppice(&["config", "set", "default.model", "demo"]).exits(0).stderr;
    assert!(!said.contains("warning:"), "{said}");
}

#[test]
fn values_of_environment_variables_are_not_shown() {
    let env = TestEnv::new();
    env.configure(
        "[mcp.servers.db]\ncommand = [\"db-mcp\"]\nenv = { DB_URL = \"hidden-1\" }\n[env]\nset = { A = \"hidden-2\" }\n\
         [backends.demo.env]\nB = \"hidden-3\"\n",
    );
    let said = env.coppice(&["config", "set", "mcp.servers.db.env", "{ DB_URL = \"hidden-4\" }"]).exits(0).transcript();
    assert!(said.contains("DB_URL") && !said.contains("hidden"), "{said}");
    assert_eq!(effective(&env, &env.repo(), "mcp.servers.db.env").0, json!({ "DB_URL": "…" }));
    for format in [&["config"][..], &["config", "--json"]] {
        let told = env.coppice(format).stdout();
        assert!(["DB_URL", "env.set", "backends.demo.env"].iter().all(|name| told.contains(name)), "{told}");
        assert!(!told.contains("hidden-"), "{told}");
    }
}
