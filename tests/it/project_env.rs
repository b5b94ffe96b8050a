//! Variables of a project: `env.pass` and `env.set` reach agents and their commands, and nothing else does.

use crate::env::TestEnv;

/// Shows each variable, or that there is none.
const REPORT: &str = "@report for name in DATABASE_URL RUST_LOG RUST_SEED MY_TOKEN CI OTHER; do \
                      echo \"$name=$(printenv $name || echo none);\"; done";

fn environment() -> TestEnv {
    let mut env = TestEnv::new();
    for (name, value) in [("DATABASE_URL", "db"), ("RUST_LOG", "info"), ("MY_TOKEN", "secret"), ("OTHER", "x")] {
        env.set(name, value);
    }
    env
}

fn check(env: &TestEnv, id: &str, expected: &str) {
    let answer = env.last_answer(id);
    let found = answer.lines().filter_map(|line| line.trim().strip_suffix(';')).collect::<Vec<_>>().join(" ");
    assert_eq!(found, expected, "{answer}");
}

#[test]
fn a_command_gets_what_is_passed_and_what_is_set_and_nothing_else() {
    let mut env = environment();
    env.configure(
        "[env]\npass = [\"DATABASE_URL\", \"RUST_*\", \"MY_TOKEN\"]\n[env.set]\nCI = \"1\"\nRUST_SEED = \"7\"\n",
    );
    env.set("RUST_SEED", "replaced");
    let id = env.create_ready(REPORT);
    check(&env, &id, "DATABASE_URL=db RUST_LOG=info RUST_SEED=7 MY_TOKEN=secret CI=1 OTHER=none");
    // Another value counts from the next prompt on: the agent's process is started again.
    env.configure("[env]\npass = [\"OTHER\"]\nset = { CI = \"2\" }\n");
    env.send_ready(&id, &["--env"], REPORT);
    check(&env, &id, "DATABASE_URL=none RUST_LOG=none RUST_SEED=none MY_TOKEN=none CI=2 OTHER=x");
}

#[test]
fn the_environment_of_a_new_daemon_is_filtered_the_same_way() {
    let env = environment();
    env.configure("[env]\npass = [\"DATABASE_URL\"]\n");
    let id = env.create_ready(REPORT);
    env.end_daemon(&[]);
    env.send_ready(&id, &[], REPORT);
    check(&env, &id, "DATABASE_URL=db RUST_LOG=none RUST_SEED=none MY_TOKEN=none CI=none OTHER=none");
}

#[test]
fn a_repository_passes_and_sets_nothing_before_it_is_trusted() {
    let env = environment();
    env.write(".coppice/config.toml", "[env]\npass = [\"MY_TOKEN\"]\nset = { CI = \"1\" }\n");
    env.commit("settings");
    let id = env.create_ready(REPORT);
    check(&env, &id, "DATABASE_URL=none RUST_LOG=none RUST_SEED=none MY_TOKEN=none CI=none OTHER=none");
    env.trust();
    let id = env.create_ready(REPORT);
    check(&env, &id, "DATABASE_URL=none RUST_LOG=none RUST_SEED=none MY_TOKEN=secret CI=1 OTHER=none");
}

#[test]
fn a_reserved_name_is_refused_with_its_reason() {
    let env = TestEnv::new();
    for (key, value) in [("env.pass", "[\"GIT_*\"]"), ("env.pass", "LD_PRELOAD"), ("env.set", "{ PATH = \"/x\" }")] {
        let refused = env.coppice(&["config", "set", key, value]).transcript();
        assert!(refused.contains("none of them reserved"), "{refused}");
    }
}
