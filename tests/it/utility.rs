//! Questions on the side: none by default, and never in the way of a session when the user wants them.

use std::fs;
use std::path::PathBuf;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use serde_json::json;

use crate::env::TestEnv;
use crate::script::{say, steps, write};

const BOTH: &str = "titles = \"model\"\ncommit.message = \"model\"\nlimits.parallel_turns = 1";

/// A file in the directory of a question; the agent waits until it is there.
const GO: &str = "@wait ../go";

/// A world whose agent counts its prompts, and answers questions on the side by this script.
fn world(settings: &str, aside: &str) -> TestEnv {
    let env = TestEnv::new();
    let command = json!([
        env!("CARGO_BIN_EXE_coppice"),
        "demo-agent",
        "--tally",
        env.path("tally").to_str().unwrap(),
        "--aside",
        aside
    ]);
    // The tally lies beside the agents of all sessions.
    let sandbox = "[sandbox]\nlevel = \"off\"\n";
    env.configure(&format!("{settings}\n{sandbox}[backends.counted]\ntransport = \"acp\"\ncommand = {command}\n"));
    env
}

fn create(env: &TestEnv, prompt: &str) -> String {
    env.create_with(&["--model", "counted"], prompt)
}

/// What the agent was asked, in an order that does not depend on who came first.
fn asked(env: &TestEnv) -> Vec<String> {
    let text = fs::read_to_string(env.path("tally")).unwrap_or_default();
    let mut prompts: Vec<_> = text.lines().map(str::to_owned).collect();
    prompts.sort();
    prompts
}

/// Lets the questions that wait be answered.
fn release(env: &TestEnv) {
    fs::write(env.path("coppice/data/go"), "").unwrap();
}

/// What questions keep on the disk while they are asked.
fn scratch(env: &TestEnv) -> Vec<PathBuf> {
    let entries = fs::read_dir(env.path("coppice/data/utility")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn checkpoint(env: &TestEnv, id: &str) -> String {
    let turns = env.json(&["show", id, "--raw"]);
    turns[0]["checkpoint"].as_str().unwrap_or_else(|| panic!("{turns:#}")).to_owned()
}

fn message(env: &TestEnv, commit: &str) -> String {
    env.git(&["show", "--no-patch", "--format=%B", commit])
}

fn count(env: &TestEnv, id: &str, kind: &str) -> usize {
    env.kinds(id).iter().filter(|known| *known == kind).count()
}

/// A prompt with a title of its own, a change and a summary.
fn work(file: &str) -> String {
    steps(&["Change a file", &write(file, "one"), &say("done"), &format!("@summary Add {file}")])
}

#[test]
fn by_default_a_turn_costs_one_model_call() {
    let env = world("", "@answer Never asked");
    let id = create(&env, &work("a.txt"));
    env.wait_for(&id, "ready");
    env.coppice(&["send", &id, &work("b.txt")]).succeeds();
    env.wait_for(&id, "ready");
    env.coppice(&["daemon", "stop"]).succeeds();
    assert_eq!(asked(&env), ["turn", "turn"]);
    assert_eq!(env.session(&id)["title"], "Change a file");
    assert_eq!(message(&env, &checkpoint(&env, &id)), format!("Add a.txt\n\nCoppice-Session: {id}"));
}

#[test]
fn a_model_names_the_session_behind_its_work() {
    // What the agent asks to do on the side is denied, and what it says before the response does not count.
    let refused = "@permission Delete everything\n@begin\n@write evil.txt x\n@raw {\"answer\":\"Evil\"}\n@end";
    let aside = format!("{GO}\n@raw {{\"answer\":\"Teach the parser\"}}\n{refused}");
    let env = world("titles = \"model\"\nlimits.parallel_turns = 1", &aside);
    let id = create(&env, &work("a.txt"));
    // The only slot is the session's, and the question has not been answered.
    env.wait_for(&id, "ready");
    assert_eq!(env.session(&id)["title"], "Change a file");
    release(&env);
    env.wait_for_event(&id, "title_changed", 0);

    let session = env.session(&id);
    assert_eq!(session["title"], "Teach the parser");
    assert_eq!(session["branch"], format!("coppice/{id}/change-a-file"));
    assert_eq!(asked(&env), ["aside", "turn"]);
    assert_eq!(scratch(&env), Vec::<PathBuf>::new());
    assert_eq!(fs::read_dir(env.path("coppice/data/neutral")).unwrap().count(), 0);
    assert_eq!((count(&env, &id, "approval_requested"), count(&env, &id, "turn_started")), (0, 1));
    env.kill_daemon();
    assert_eq!(env.session(&id)["title"], "Teach the parser");
}

#[test]
fn a_title_that_a_person_gave_is_not_asked_for() {
    let env = world("titles = \"model\"", "@answer Another title");
    let id = env.create_with(&["--model", "counted", "--title", "Mine"], &work("a.txt"));
    env.wait_for(&id, "ready");
    env.coppice(&["daemon", "stop"]).succeeds();
    assert_eq!(asked(&env), ["turn"]);
    assert_eq!(env.session(&id)["title"], "Mine");
}

#[test]
fn a_model_words_the_checkpoint_behind_the_turn() {
    let env = world("commit.message = \"model\"", &format!("{GO}\n@answer Teach the parser"));
    let id = create(&env, &work("a.txt"));
    env.wait_for(&id, "ready");
    let before = checkpoint(&env, &id);
    assert_eq!(message(&env, &before), format!("Add a.txt\n\nCoppice-Session: {id}"));
    release(&env);
    let reworded = env.wait_for_event(&id, "reworded", 0);

    let after = checkpoint(&env, &id);
    assert_eq!((&reworded["commit"], &reworded["was"], &reworded["turn"]), (&json!(after), &json!(before), &json!(1)));
    assert_eq!(message(&env, &after), format!("Teach the parser\n\nCoppice-Session: {id}"));
    let tree = env.worktree(&id);
    assert_eq!(env.git_in(&tree, &["rev-parse", "HEAD"]), after);
    assert_eq!(env.git_in(&tree, &["status", "--porcelain"]), "");
    assert_eq!(env.git(&["rev-parse", &format!("refs/coppice/checkpoints/{id}/1")]), after);
    assert_eq!(asked(&env), ["aside", "turn"]);
    assert_eq!(scratch(&env), Vec::<PathBuf>::new());

    // The session goes on as if nothing had happened.
    env.coppice(&["send", &id, &say("nothing to do")]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(count(&env, &id, "checkpoint"), 1);
    env.coppice(&["undo", &id]).succeeds();
    assert!(!tree.join("a.txt").exists());
}

#[test]
fn a_session_that_went_on_keeps_its_words() {
    let env = world("commit.message = \"model\"", &format!("{GO}\n@answer Teach the parser"));
    let id = create(&env, &work("a.txt"));
    env.wait_for(&id, "ready");
    let first = checkpoint(&env, &id);
    env.coppice(&["send", &id, &work("b.txt")]).succeeds();
    env.wait_for(&id, "ready");
    release(&env);
    let reworded = env.wait_for_event(&id, "reworded", 0);
    assert_eq!(reworded["turn"], 2);
    assert_eq!(checkpoint(&env, &id), first);
    assert_eq!(env.git(&["rev-parse", &format!("coppice/{id}/change-a-file^")]), first);
    assert_eq!(message(&env, &first), format!("Add a.txt\n\nCoppice-Session: {id}"));
}

#[test]
fn a_question_that_fails_changes_nothing() {
    let failures = [
        "@crash",
        "@fail 429 too many",
        "@invalid",
        "@raw {\"answer\":\"one\"} and more",
        "@answer <<END\nTwo lines\nare no name\nEND",
        "@ask Which?",
    ];
    for failure in failures {
        // The process of the turn goes soon, too: what is left then is the daemon.
        let env = world(&format!("{BOTH}\nlimits.backend_idle = \"1s\""), failure);
        let id = create(&env, &work("a.txt"));
        env.wait_for(&id, "ready");
        env.agents_end();
        let session = env.session(&id);
        assert_eq!((&session["title"], &session["status"]), (&json!("Change a file"), &json!("ready")), "{failure}");
        assert_eq!((count(&env, &id, "title_changed"), count(&env, &id, "reworded")), (0, 0), "{failure}");
        assert_eq!(message(&env, &checkpoint(&env, &id)), format!("Add a.txt\n\nCoppice-Session: {id}"));
        assert!(asked(&env).contains(&"aside".to_owned()), "{failure}");
        // The last thing a question does is to clear up; a daemon that ends waits for it.
        env.coppice(&["daemon", "stop"]).succeeds();
        assert_eq!(scratch(&env), Vec::<PathBuf>::new(), "{failure}");
    }
}

#[test]
fn the_program_of_a_question_reaches_nothing_of_the_repository_and_of_its_user() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = TestEnv::new();
    let (own, repo) = (env.path("own"), env.repo());
    fs::create_dir(&own).unwrap();
    let places = [env.path("home"), repo.clone(), repo.join(".git/hooks"), env.path("coppice/data")];
    let touch: String = places.iter().map(|place| format!("touch '{}/owned'; ", place.display())).collect();
    let aside = format!(
        "@run {touch}cat '{0}/README.md' '{0}/.git/HEAD' > '{1}/read'; echo ran > '{1}/ran'\n@answer Teach the parser",
        repo.display(),
        own.display()
    );
    let command = json!([env!("CARGO_BIN_EXE_coppice"), "demo-agent", "--aside", aside]);
    let paths = json!([own.to_str().unwrap()]);
    env.configure(&format!(
        "titles = \"model\"\n[backends.hostile]\ntransport = \"acp\"\ncommand = {command}\npaths = {paths}\n"
    ));
    let id = env.create_with(&["--model", "hostile"], &work("a.txt"));
    env.wait_for_event(&id, "title_changed", 0);
    assert_eq!(env.session(&id)["title"], "Teach the parser");
    assert_eq!(fs::read_to_string(own.join("ran")).unwrap(), "ran\n");
    assert_eq!(fs::read_to_string(own.join("read")).unwrap(), "");
    for place in places {
        assert!(place.exists() && !place.join("owned").exists(), "it wrote into {}", place.display());
    }
    env.wait_for(&id, "ready");
}

#[test]
fn a_daemon_that_dies_before_the_answer_loses_nothing() {
    let env = world(BOTH, &format!("{GO}\n@answer Teach the parser"));
    let id = create(&env, &work("a.txt"));
    env.wait_for(&id, "ready");
    let before = (env.session(&id)["title"].clone(), checkpoint(&env, &id));
    env.kill_daemon();
    assert_eq!(env.survivors(), Vec::<String>::new());

    assert_eq!((env.session(&id)["title"].clone(), checkpoint(&env, &id)), before);
    assert_eq!(scratch(&env), Vec::<PathBuf>::new());
    assert_eq!(env.status(&id), "ready");
    release(&env);
    env.coppice(&["send", &id, &work("b.txt")]).succeeds();
    env.wait_for_event(&id, "reworded", 0);
    assert_eq!(checkpoint(&env, &id), before.1);
}
