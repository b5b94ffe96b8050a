//! What agents do in a worktree: files, commands, and what needs a person's word.

use std::fs;

use serde_json::json;

use crate::agent::{Agent, for_each_agent};
use crate::gate::{Gate, HOLD};
use crate::model::script::{answer, changed, shell, shell_beyond, write};
use crate::stage::Stage;
use crate::user;

for_each_agent!(
    files_and_commands_change_the_worktree_only,
    an_output_line_of_six_megabytes_is_read,
    an_answer_of_six_megabytes_is_read,
    a_stop_in_the_middle_of_a_command_leaves_no_process,
    a_command_beyond_the_worktree_changes_nothing_there,
    without_a_sandbox_a_call_beyond_the_worktree_is_asked_about,
);

fn files_and_commands_change_the_worktree_only(agent: Agent) {
    let stage = Stage::new();
    let steps =
        [shell("echo by-command > command.txt"), write("tool.txt", "by tool\n"), changed("done", "Add two files")];
    stage.model(agent).plays(steps);
    let id = stage.begin(agent, "add two files");
    stage.rests(&id, "ready");

    let tree = stage.worktree(&id);
    assert_eq!(fs::read_to_string(tree.join("command.txt")).unwrap(), "by-command\n");
    assert_eq!(fs::read_to_string(tree.join("tool.txt")).unwrap(), "by tool\n");
    let branch = stage.session(&id)["branch"].as_str().unwrap().to_owned();
    assert_eq!(stage.git(&["diff", "--name-only", "main", &branch]), "command.txt\ntool.txt");
    assert_eq!(stage.git(&["log", "-1", "--format=%s", &branch]), "Add two files");
    assert_eq!(stage.git(&["status", "--porcelain"]), "");

    let finished = stage.of_kind(&id, "tool_finished");
    assert_eq!(finished.len(), 2, "{finished:#?}");
    assert!(finished.iter().all(|event| event["ok"] == true), "{finished:#?}");
    assert_eq!(stage.of_kind(&id, "approval_requested").len(), 0, "inside the worktree nobody is asked");
    assert_eq!(stage.model(agent).calls().len(), 3);
}

fn an_output_line_of_six_megabytes_is_read(agent: Agent) {
    let stage = Stage::new();
    let bytes = match agent {
        Agent::Claude | Agent::Codex => 6_000_000,
        // It hands the whole output to the model, whose context ends before.
        Agent::Gemini => 3_000_000,
    };
    let command = format!("yes 'no line ends in here' | tr '\\n' ' ' | head -c {bytes}");
    stage.model(agent).plays([shell(&command), answer("long")]);
    let id = stage.begin(agent, "print a lot");
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "long");
    let finished = stage.of_kind(&id, "tool_finished");
    let output = finished[0]["output"].as_str().unwrap();
    assert!(output.len() < 1_000_000, "{} bytes are kept", output.len());
}

fn an_answer_of_six_megabytes_is_read(agent: Agent) {
    let stage = Stage::new();
    // No part of it comes twice: programs take repetition for a model that is stuck.
    let long: String = (0..800_000).map(|number| format!("{number:07} ")).collect();
    stage.model(agent).plays([answer(&long)]);
    let id = stage.begin(agent, "say a lot");
    stage.rests(&id, "ready");
    assert!(stage.last_answer(&id) == long, "the answer is whole");
}

fn a_stop_in_the_middle_of_a_command_leaves_no_process(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([shell(HOLD), answer("back")]);
    let id = stage.begin(agent, "run for ever");
    let gate = Gate::pass(&stage, &id);
    // A command that runs is shown; the word of its start may come a moment after the start.
    stage.wait_for_event(&id, "tool_started", 0);
    stage.coppice(&["stop", &id]).succeeds();
    stage.rests(&id, "interrupted");
    gate.assert_command_ends();

    stage.send(&id, "go on", "ready");
    assert_eq!(stage.last_answer(&id), "back");
    assert!(model.calls().last().unwrap().mentions("run for ever"), "the conversation lives on");
}

/// In the cage nobody needs to be asked. Codex alone can ask to leave its sandbox, and stays in it all the same.
fn a_command_beyond_the_worktree_changes_nothing_there(agent: Agent) {
    let stage = Stage::new();
    let outside = stage.path("outside.txt");
    stage.model(agent).plays([shell_beyond(&format!("echo out > {}", outside.display())), answer("tried")]);
    let id = stage.begin(agent, "write elsewhere");
    if agent == Agent::Codex {
        stage.rests(&id, "approval");
        stage.coppice(&["approve", &id]).succeeds();
    }
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "tried");
    assert!(!outside.exists());
}

fn without_a_sandbox_a_call_beyond_the_worktree_is_asked_about(agent: Agent) {
    let stage = Stage::new();
    stage.configure(&format!("{}\n[sandbox]\nlevel = \"off\"\n", user::COPPICE));
    let model = stage.model(agent);
    let outside = stage.path("outside.txt");
    let command = format!("echo out > {}", outside.display());
    model.plays([shell_beyond(&command), answer("not done"), shell_beyond(&command), answer("done")]);
    let id = stage.begin(agent, "write elsewhere");
    stage.rests(&id, "approval");
    let session = stage.session(&id);
    assert_eq!((&session["posture"], &session["sandbox"]["enforced"]), (&json!("attended"), &json!(false)));
    let approval = &session["approvals"][0];
    assert!(approval.to_string().contains("outside.txt"), "{approval:#}");
    assert!(!outside.exists());

    stage.coppice(&["deny", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "not done");
    assert!(!outside.exists());

    stage.send(&id, "try again", "approval");
    stage.coppice(&["approve", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "done");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "out\n");
    assert_eq!(model.calls().len(), 4);
}

/// A write with the agent's own tool is no way around the cage.
#[test]
fn a_file_beyond_the_worktree_is_refused() {
    // Gemini's tool refuses such a path by itself.
    for agent in [Agent::Claude, Agent::Codex] {
        let stage = Stage::new();
        let outside = stage.path("outside.txt");
        stage.model(agent).plays([write(outside.to_str().unwrap(), "out\n"), answer("tried"), answer("tried")]);
        let id = stage.begin(agent, "write elsewhere");
        stage.rests(&id, "ready");
        assert!(!outside.exists(), "{}", agent.name());
    }
}

/// Some models of Codex have one tool, which runs code that calls the others; a session sees no difference.
#[test]
fn a_codex_model_that_writes_code_works_the_same() {
    let stage = Stage::new();
    let model = stage.model(Agent::Codex);
    let beyond = format!("echo out > {}", stage.path("outside.txt").display());
    model.plays([shell("echo by-command > command.txt"), write("tool.txt", "by tool\n"), shell_beyond(&beyond)]);
    model.plays([changed("done", "Add two files")]);
    let id = stage.create_with(&["--model", "codex/gpt-6.1-sol"], "add two files");
    stage.rests(&id, "approval");
    stage.coppice(&["approve", &id]).succeeds();
    stage.rests(&id, "ready");
    let tree = stage.worktree(&id);
    assert_eq!(fs::read_to_string(tree.join("command.txt")).unwrap(), "by-command\n");
    assert_eq!(fs::read_to_string(tree.join("tool.txt")).unwrap(), "by tool\n");
    assert!(!stage.path("outside.txt").exists());
    assert!(model.calls().iter().all(|call| call.schema().is_some()), "the schema goes with every call");
}
