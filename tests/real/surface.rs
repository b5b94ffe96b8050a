//! Which tools a model is offered, and what it can do with those that it is not.

use std::fs;

use serde_json::Value;

use crate::agent::{Agent, for_each_agent};
use crate::model::call::Call;
use crate::model::script::{answer, read, shell, write};
use crate::stage::Stage;

for_each_agent!(
    no_model_is_offered_agents_of_its_programs_own,
    a_reader_changes_nothing_however_it_tries,
    an_agent_without_tools_has_none,
);

/// A child is a session of Coppice: agents, timers, dialogs and modes of the program itself are off. Another agent has
/// other tools in the same conversation.
fn no_model_is_offered_agents_of_its_programs_own(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).plays([answer("first"), answer("second"), answer("third")]);
    let id = stage.begin(agent, "look around");
    stage.rests(&id, "ready");
    stage.coppice(&["send", &id, "--agent", "engineer", "once more"]).succeeds();
    stage.rests(&id, "ready");
    // A conversation that comes back is launched again.
    stage.kill_daemon();
    stage.send(&id, "the last time", "ready");
    let calls = stage.model(agent).calls();
    assert_eq!(calls.len(), 3);
    let delegate = agent.dialect().served("delegate");
    for (call, has_delegate) in calls.iter().zip([false, true, true]) {
        assert!(call.mentions("look around"));
        let offered = call.offered();
        assert_eq!(offered.contains(&delegate), has_delegate, "{offered:?}");
        assert!(offered.contains(&agent.dialect().served("question")), "{offered:?}");
        assert_none_of(call, agents_of(agent));
    }
}

/// What writes is not offered, and a call of it does nothing. What git says is read by served tools.
fn a_reader_changes_nothing_however_it_tries(agent: Agent) {
    let stage = Stage::new();
    stage.write("known.txt", "the word is heron\n");
    stage.commit("a file to read");
    let tries = || [write("made.txt", "made\n"), shell("echo made > shell.txt"), read("known.txt"), answer("looked")];
    stage.model(agent).plays(tries()).plays(tries());
    let id = stage.begin_with(agent, &["--agent", "reviewer"], "look at it");
    stage.rests(&id, "ready");
    stage.kill_daemon();
    stage.send(&id, "look again", "ready");

    let tree = stage.worktree(&id);
    assert!(!tree.join("made.txt").exists() && !tree.join("shell.txt").exists());
    assert_eq!(stage.git_in(&tree, &["status", "--porcelain"]), "");
    assert_eq!(stage.of_kind(&id, "approval_requested"), Vec::<Value>::new(), "nobody is asked for what cannot be");
    let calls = stage.model(agent).calls();
    assert_eq!(calls.len(), 8);
    assert!(calls[3].mentions("the word is heron"), "reading works");
    for call in &calls {
        assert_none_of(call, writers_of(agent));
        assert_none_of(call, agents_of(agent));
        let offered = call.offered();
        let git = ["git_diff_files", "git_show_file_at_rev", "git_branch_status"];
        assert!(git.iter().all(|tool| offered.contains(&agent.dialect().served(tool))), "{offered:?}");
    }
}

/// An empty list is no tools, not all of them.
fn an_agent_without_tools_has_none(agent: Agent) {
    let stage = Stage::new();
    stage.write(".coppice/agents/mute.md", "---\ndescription: Only talks\nmode: all\nAllowTools: []\n---\nTalk.\n");
    stage.commit("an agent");
    stage.model(agent).plays([shell("echo made > shell.txt"), answer("said")]);
    let id = stage.begin_with(agent, &["--agent", "mute"], "talk");
    stage.rests(&id, "ready");
    assert!(!stage.worktree(&id).join("shell.txt").exists());
    let mut offered = stage.model(agent).calls()[0].offered();
    offered.retain(|name| !remains_of(agent).contains(&name.as_str()));
    assert_eq!(offered, Vec::<String>::new());
}

/// Where a surface cannot be kept, nothing runs that is wider.
#[test]
fn codex_refuses_to_edit_without_a_shell() {
    let stage = Stage::new();
    let agent = "---\ndescription: Edits\nmode: all\nAllowTools: [read, write]\n---\nEdit.\n";
    stage.write(".coppice/agents/editor.md", agent);
    stage.commit("an agent");
    let id = stage.begin_with(Agent::Codex, &["--agent", "editor"], "edit");
    stage.rests(&id, "failed");
    let session = stage.session(&id);
    assert!(session["last_error"].to_string().contains("surface_not_enforceable"), "{session:#}");
    assert_eq!(stage.model(Agent::Codex).calls().len(), 0);
    // Another backend can.
    stage.model(Agent::Claude).plays([write("made.txt", "made\n"), answer("done")]);
    let id = stage.begin_with(Agent::Claude, &["--agent", "editor"], "edit");
    stage.rests(&id, "ready");
    assert_eq!(fs::read_to_string(stage.worktree(&id).join("made.txt")).unwrap(), "made\n");
    assert_none_of(&stage.model(Agent::Claude).calls()[0], &["Bash", "WebFetch"]);
}

#[track_caller]
fn assert_none_of(call: &Call, names: &[&str]) {
    let offered = call.offered();
    let wrong: Vec<_> = names.iter().filter(|name| offered.iter().any(|known| known == *name)).collect();
    assert!(wrong.is_empty(), "{wrong:?} of {offered:?}");
}

/// Tools that start agents, wait, ask a person or change how the program works.
fn agents_of(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &[
            "Agent",
            "AskUserQuestion",
            "CronCreate",
            "EnterPlanMode",
            "EnterWorktree",
            "ExitPlanMode",
            "ScheduleWakeup",
            "SendMessage",
            "Skill",
            "Task",
            "Workflow",
        ],
        // Some names for the same things are ours as well.
        Agent::Codex => &["request_user_input", "sleep", "spawn_agent", "tool_search", "wait_agent"],
        Agent::Gemini => &["activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode", "invoke_agent"],
    }
}

/// Tools that change files. Codex keeps its own, in a sandbox that writes nothing.
fn writers_of(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["Bash", "Edit", "NotebookEdit", "Write"],
        Agent::Codex => &[],
        Agent::Gemini => &["replace", "run_shell_command", "write_file"],
    }
}

/// What no setting takes away: the way to the response, and a patch tool that the sandbox holds.
fn remains_of(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["StructuredOutput"],
        Agent::Codex => &["apply_patch"],
        Agent::Gemini => &[],
    }
}
