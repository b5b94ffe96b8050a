//! Agents that work with served tools only: none of their own is offered, and none does anything when it is called.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{Step, answer, read, serve, shell, write};
use crate::stage::Stage;

for_each_agent!(enforced_leaves_no_tool_of_the_programs_own, readonly_leaves_none_and_serves_nothing_that_writes,);

fn enforced_leaves_no_tool_of_the_programs_own(agent: Agent) {
    let ours = serve("run_bash", json!({"command": "cp known.txt served.txt"}));
    let (stage, id) = tried(agent, "enforced", ours);
    assert_eq!(fs::read_to_string(stage.worktree(&id).join("served.txt")).unwrap(), "the word is heron\n");
    // A conversation that comes back is launched again.
    stage.kill_daemon();
    stage.send(&id, "and again", "ready");
    let told = assert_offered(&stage, agent, "enforced");
    assert!(["run_bash", "fetch_url", "question"].iter().all(|name| told.contains(*name)), "{told:?}");
    assert!(!told.contains("git_commit"), "{told:?}");
    let session = stage.session(&id);
    assert_eq!((&session["profile"], &session["surface"]), (&json!("enforced"), &json!("enforced")));
}

fn readonly_leaves_none_and_serves_nothing_that_writes(agent: Agent) {
    let ours = serve("run_bash", json!({"command": "cp known.txt served.txt"}));
    let (stage, id) = tried(agent, "readonly", ours);
    assert!(!stage.worktree(&id).join("served.txt").exists());
    let told = assert_offered(&stage, agent, "readonly");
    assert!(told.contains("fetch_url"), "{told:?}");
    for name in ["write_file", "edit_file", "run_bash", "run_tests", "git_commit"] {
        assert!(!told.contains(name), "{told:?}");
    }
}

/// A session whose model tries tools of its program, then one of ours.
#[track_caller]
fn tried(agent: Agent, profile: &str, ours: Step) -> (Stage, String) {
    let stage = Stage::new();
    stage.write("known.txt", "the word is heron\n");
    stage.commit("a file to read");
    let tries = [write("made.txt", "made\n"), shell("echo made > shell.txt"), read("known.txt"), ours, answer("tried")];
    stage.model(agent).plays(tries).plays([answer("once more")]);
    let id = stage.begin_with(agent, &["--profile", profile], "try it");
    stage.rests(&id, "ready");
    let tree = stage.worktree(&id);
    assert!(!tree.join("made.txt").exists() && !tree.join("shell.txt").exists());
    assert_eq!(stage.of_kind(&id, "approval_requested"), Vec::<Value>::new(), "nobody is asked for what cannot be");
    let calls = stage.model(agent).calls();
    assert!(calls.iter().all(|call| !call.mentions("the word is heron")), "no tool of the program's own reads");
    assert!(calls[0].mentions("use the ones that are served to you instead"), "the model is told");
    (stage, id)
}

/// Requires that a model was offered what `coppice tools` tells, and nothing of its program's own but what does nothing.
#[track_caller]
fn assert_offered(stage: &Stage, agent: Agent, profile: &str) -> BTreeSet<String> {
    let surface = stage.json(&["tools", "--model", agent.name(), "--profile", profile]);
    let served = surface["served"].as_array().unwrap().iter();
    let told: BTreeSet<String> = served.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    let expected: BTreeSet<String> = told.iter().map(|name| agent.dialect().served(name)).collect();
    for call in stage.model(agent).calls() {
        let offered = call.offered().into_iter().filter(|name| !inert(agent).contains(&name.as_str()));
        assert_eq!(offered.collect::<BTreeSet<_>>(), expected);
    }
    told
}

/// What no profile takes away: the way to the response, a list of todos, and a patch tool that its sandbox holds.
fn inert(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["StructuredOutput", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TodoWrite"],
        Agent::Codex => &["apply_patch", "update_plan"],
        Agent::Gemini => &[],
    }
}
