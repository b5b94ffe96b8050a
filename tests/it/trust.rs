//! What trust covers: on which branches a setup command runs with the user's rights.

use coppice::permission::Hold;
use coppice::sandbox::support::support;

use crate::env::TestEnv;
use crate::script::{say, write};

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
