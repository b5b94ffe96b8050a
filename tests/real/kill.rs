//! `kill -9` of an agent or of the daemon in the middle of a turn: nothing is left running, and the conversation goes on.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::agent::{Agent, for_each_agent};
use crate::gate::{Gate, HOLD};
use crate::model::script::{Step, answer, shell, write};
use crate::stage::Stage;

for_each_agent!(
    a_killed_agent_fails_its_turn_and_comes_back,
    a_killed_daemon_interrupts_the_turn_and_resumes_with_the_context,
    a_killed_daemon_restores_a_conversation_at_rest,
    a_lost_conversation_is_replayed,
);

fn a_killed_agent_fails_its_turn_and_comes_back(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([write("half.txt", "half\n"), shell(HOLD), answer("back")]);
    let id = stage.begin(agent, "the long task");
    stage.wait_for_event(&id, "tool_finished", 0);
    let gate = Gate::pass(&stage, &id);
    for process in processes_of(&stage, agent) {
        kill_process(process, Signal::KILL).ok();
    }
    stage.rests(&id, "failed");
    gate.assert_command_ends();
    assert_eq!(stage.session(&id)["last_error"]["kind"], "crashed");

    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "back");
    assert!(model.calls().last().unwrap().mentions("the long task"));
    assert_eq!(fs::read_to_string(stage.worktree(&id).join("half.txt")).unwrap(), "half\n");
}

/// The turn that ran is interrupted, not repeated; the next one knows of it.
fn a_killed_daemon_interrupts_the_turn_and_resumes_with_the_context(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([answer("the first word"), Step::Hang]);
    let id = stage.begin(agent, "the first task");
    stage.rests(&id, "ready");
    stage.coppice(&["send", &id, "the second task"]).succeeds();
    model.wait_for_call(2);
    stage.kill_daemon();
    assert_eq!(stage.survivors(), Vec::<String>::new());
    assert_eq!(stage.status(&id), "interrupted");
    assert_eq!(model.calls().len(), 2, "nothing is sent again by itself");

    model.clear().plays([answer("the third word")]);
    stage.send(&id, "the third task", "ready");
    assert_eq!(stage.last_answer(&id), "the third word");
    let calls = model.calls();
    assert_eq!(calls.len(), 3);
    for known in ["the first task", "the first word", "the third task"] {
        assert!(calls[2].mentions(known), "{known}: {}", calls[2].request.body);
    }
}

/// A restored context needs no second copy of itself.
fn a_killed_daemon_restores_a_conversation_at_rest(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([answer("the first word"), answer("the second word")]);
    let id = stage.begin(agent, "the first task");
    stage.rests(&id, "ready");
    stage.kill_daemon();
    stage.send(&id, "the second task", "ready");
    let calls = model.calls();
    assert_eq!(calls.len(), 2);
    let body = calls[1].request.body.to_string();
    for known in ["the first task", "the first word", "the second task"] {
        assert_eq!(body.matches(known).count(), 1, "{known}: {body}");
    }
    assert_eq!(stage.deliveries(&id), ["bootstrap_full", "delta_only"]);
}

/// Without its context an agent gets the rules and the record again.
fn a_lost_conversation_is_replayed(agent: Agent) {
    let stage = Stage::new();
    let model = stage.model(agent);
    model.plays([answer("the first word"), answer("the second word")]);
    let id = stage.begin(agent, "the first task");
    stage.rests(&id, "ready");
    stage.kill_daemon();
    let forgotten = forget(&stage.path(""));
    assert!(forgotten > 0, "no conversation was kept");
    stage.send(&id, "the second task", "ready");
    assert_eq!(stage.last_answer(&id), "the second word");
    assert_eq!(stage.deliveries(&id), ["bootstrap_full", "bootstrap_with_replay"]);
    let calls = model.calls();
    assert_eq!(calls.len(), 2);
    for known in ["Git is read-only for you", "the first task", "the first word", "the second task"] {
        assert!(calls[1].mentions(known), "{known}");
    }
}

/// One process serves every Codex session; its end is not theirs.
#[test]
fn a_killed_codex_interrupts_and_restores_every_thread() {
    let stage = Stage::new();
    let model = stage.model(Agent::Codex);
    model.plays([shell(HOLD), shell(HOLD)]);
    let ids = ["the red task", "the blue task"].map(|task| stage.begin(Agent::Codex, task));
    let gates = ids.each_ref().map(|id| Gate::pass(&stage, id));
    let servers = processes_of(&stage, Agent::Codex);
    assert_eq!(servers.len(), 1, "the sessions share one process");
    kill_process(servers[0], Signal::KILL).unwrap();
    for (id, gate) in ids.iter().zip(&gates) {
        stage.rests(id, "failed");
        gate.assert_command_ends();
    }

    model.plays([answer("on"), answer("on")]);
    for id in &ids {
        stage.coppice(&["resume", id]).succeeds();
    }
    for (id, task) in ids.iter().zip(["the red task", "the blue task"]) {
        stage.rests(id, "ready");
        let knows = |call: &crate::model::call::Call| call.mentions(task);
        assert!(model.calls()[2..].iter().any(knows), "{task}");
    }
}

/// Stopping one session says nothing to the others of the same process.
#[test]
fn a_stopped_codex_session_leaves_the_others_alone() {
    let stage = Stage::new();
    let model = stage.model(Agent::Codex);
    model.plays([shell(HOLD)]);
    let stopped = stage.begin(Agent::Codex, "the red task");
    let gate = Gate::pass(&stage, &stopped);
    model.plays([Step::Held(Box::new(answer("unharmed")))]);
    let other = stage.begin(Agent::Codex, "the blue task");
    model.wait_for_call(2);
    stage.coppice(&["stop", &stopped]).succeeds();
    stage.rests(&stopped, "interrupted");
    gate.assert_command_ends();
    model.release();
    stage.rests(&other, "ready");
    assert_eq!(stage.last_answer(&other), "unharmed");
}

/// The agent's own processes, without the supervisor above and the commands below them.
pub(crate) fn processes_of(stage: &Stage, agent: Agent) -> Vec<Pid> {
    let is_agent = |command: &str| {
        let program = command.split_whitespace().next().unwrap_or_default();
        let program = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match agent {
            Agent::Claude => ["claude", "claude.exe"].contains(&program),
            Agent::Codex => program == "codex" && command.contains("app-server"),
            Agent::Gemini => command.contains("--acp") && program == "node",
        }
    };
    stage.processes().into_iter().filter(|process| is_agent(&process.command)).map(|process| process.pid).collect()
}

/// Removes every conversation that an agent keeps below a directory; how many there were.
fn forget(directory: &Path) -> usize {
    let mut forgotten = 0;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            forgotten += forget(&path);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            fs::remove_file(path).unwrap();
            forgotten += 1;
        }
    }
    forgotten
}
