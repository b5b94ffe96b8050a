//! Work and base that do not go together.

use serde_json::json;

use crate::env::TestEnv;
use crate::script::{run, say, steps, write};

/// A session that has written another `README.md` than the user has committed meanwhile, and was to be merged.
fn in_conflict(env: &TestEnv) -> String {
    let id = env.create_ready(&write("README.md", "theirs"));
    env.write("README.md", "ours\n");
    env.write("other.txt", "meanwhile\n");
    env.commit("ours");
    env.coppice(&["merge", &id]).exits(1).transcript();
    id
}

#[test]
fn an_agent_resolves_a_conflict_by_editing_files() {
    let env = TestEnv::new();
    let id = in_conflict(&env);
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
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.read("README.md"), env.read("other.txt")), ("both\n".into(), "meanwhile\n".into()));
    assert_eq!(env.git(&["show", "--format=", "--name-only", "main"]), "README.md\nunrelated.txt");
}

#[test]
fn a_person_resolves_a_conflict_in_the_worktree() {
    let env = TestEnv::new();
    let id = in_conflict(&env);
    std::fs::write(env.worktree(&id).join("README.md"), "by hand\n").unwrap();
    env.coppice(&["merge", &id]).succeeds();
    assert_eq!((env.status(&id), env.read("README.md")), ("merged".into(), "by hand\n".into()));
}

#[test]
fn a_daemon_that_dies_leaves_the_conflict_to_the_next() {
    let env = TestEnv::new();
    let id = in_conflict(&env);
    env.kill_daemon();
    env.coppice(&["merge", &id]).exits(1).transcript();
    assert_eq!(env.status(&id), "conflict");
}
