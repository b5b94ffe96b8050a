//! A launch as a whole: what the process is given, and what is left of it, in temp dirs and without a process.

mod run;

use std::fs;
use std::path::Path;

use super::*;

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn wishes(env: Vec<(String, String)>, tree: &Path, resume: Option<String>) -> Wishes {
    Wishes {
        purpose: Purpose::Session,
        native: Native::default(),
        env,
        tree: tree.to_owned(),
        resume,
        tools: Vec::new(),
        entrance: None,
        spec: spec(),
    }
}

#[test]
fn a_named_model_and_our_policy_are_on_the_command_line() {
    let command = spec().command;
    let argv = arguments(&command, Some("flash"), Path::new("/home/policy.toml"));
    let expected = ["gemini", "--acp", "-m", "flash", "--policy", "/home/policy.toml", "--approval-mode", "default"];
    assert_eq!(argv, expected);
    let unnamed = arguments(&command, None, Path::new("/home/policy.toml"));
    assert_eq!(unnamed[..3], ["gemini", "--acp", "--policy"]);
}

#[test]
fn neither_the_session_nor_the_login_undoes_the_safe_start() {
    let env = vec![pair("PATH", "/bin"), pair("GEMINI_CLI_TRUST_WORKSPACE", "true"), pair("GEMINI_CLI_HOME", "/mine")];
    let all = environment(env, vec![pair("GEMINI_API_KEY", "k"), pair("NO_BROWSER", "")], Path::new("/ours"));
    let expected = [
        pair("PATH", "/bin"),
        pair("GEMINI_API_KEY", "k"),
        pair("GEMINI_CLI_HOME", "/ours"),
        pair("GEMINI_CLI_TRUST_WORKSPACE", "false"),
        pair("GEMINI_CLI_NO_RELAUNCH", "true"),
        pair("NO_BROWSER", "true"),
    ];
    assert_eq!(all, expected);
}

#[test]
fn the_users_files_are_where_their_cli_looks() {
    for (env, expected) in [
        (vec![pair("HOME", "/home/me")], "/home/me/.gemini"),
        (vec![pair("HOME", "/home/me"), pair("GEMINI_CLI_HOME", "/other")], "/other/.gemini"),
        (vec![pair("HOME", "/home/me"), pair("GEMINI_CLI_HOME", "")], "/home/me/.gemini"),
    ] {
        assert_eq!(users_dir(&env), Path::new(expected));
    }
}

#[test]
fn a_start_leaves_the_users_home_and_the_work_tree_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (tree, user, home) = (dir.path().join("tree"), dir.path().join("user"), AgentDir::below(dir.path(), "home"));
    fs::create_dir_all(tree.join(".gemini")).unwrap();
    fs::create_dir_all(user.join(".gemini")).unwrap();
    fs::write(tree.join("GEMINI.md"), "be kind").unwrap();
    fs::write(tree.join(".env"), "GEMINI_API_KEY=theirs\n").unwrap();
    fs::write(tree.join(".gemini/settings.json"), "{\"hooks\": {}}").unwrap();
    fs::write(user.join(".gemini/settings.json"), "{\"ui\": {}}").unwrap();
    let env = vec![pair("HOME", user.to_str().unwrap()), pair("GEMINI_API_KEY", "mine")];
    let before = listing(&tree) + &listing(&user);
    let furnished = furnish(&home, wishes(env, &tree, None)).unwrap();
    assert_eq!(listing(&tree) + &listing(&user), before);
    assert!(furnished.env.contains(&pair("GEMINI_API_KEY", "mine")));
    assert!(fs::read_to_string(home.path().join(".gemini/GEMINI.md")).unwrap().contains("be kind"));
    assert_eq!(furnished.policy, home.path().join("policy.toml"));
}

#[test]
fn a_spoiled_conversation_is_not_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let home = AgentDir::below(dir.path(), "home");
    let resume = |id: &str| {
        let id = Some(id.to_owned());
        furnish(&home, wishes(Vec::new(), dir.path(), id)).unwrap().resume
    };
    assert_eq!(resume("one").as_deref(), Some("one"));
    journal::spoil(&home, "one").unwrap();
    assert_eq!(resume("one"), None);
    assert_eq!(resume("two").as_deref(), Some("two"));
}

/// Every file with its text.
fn listing(dir: &Path) -> String {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let text = |path: &PathBuf| {
        if path.is_dir() {
            listing(path)
        } else {
            format!("{} {}\n", path.display(), fs::read_to_string(path).unwrap())
        }
    };
    entries.iter().map(text).collect()
}
