//! A session hands work to others on other programs: each child in a worktree of its own, its change in the parent's.

use std::fs;

use serde_json::{Value, json};

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{Step, answer, changed, serve, serve_all, shell_beyond, write};
use crate::stage::Stage;

for_each_agent!(
    two_children_on_two_other_programs_bring_their_changes,
    a_childs_question_is_answered_at_the_child,
    a_childs_approval_is_given_at_the_child,
    a_child_that_takes_too_long_is_ended,
);

/// R47, R54: both run at once where the program calls tools at once, and both changes are in the parent's work tree.
fn two_children_on_two_other_programs_bring_their_changes(agent: Agent) {
    let stage = Stage::new();
    let [first, second] = others(agent);
    for (name, child) in [("first", first), ("second", second)] {
        define(&stage, name, child, "");
        let file = write(&format!("{name}.txt"), &format!("by {name}\n"));
        let words = changed(&format!("the word of {name}"), &format!("Add {name}.txt"));
        stage.model(child).plays([Step::Held(Box::new(file)), words]);
    }
    stage.commit("agents");
    let order = |name: &str| ("delegate", delegate(name, &format!("add {name}.txt")));
    stage.model(agent).plays([serve_all([order("first"), order("second")]), changed("both are done", "Add two files")]);
    let id = stage.begin_with(agent, &["--agent", "engineer"], "have two files added");
    stage.model(first).wait_for_call(1);
    match agent {
        // The first answers only after the second has begun.
        Agent::Claude | Agent::Codex => drop(stage.model(second).wait_for_call(1)),
        // It calls one tool after the other, whatever the model asks for.
        Agent::Gemini => {}
    }
    stage.model(first).release();
    stage.model(second).release();
    stage.rests(&id, "ready");

    assert_eq!(stage.last_answer(&id), "both are done");
    let tree = stage.worktree(&id);
    for name in ["first", "second"] {
        assert_eq!(fs::read_to_string(tree.join(format!("{name}.txt"))).unwrap(), format!("by {name}\n"));
        assert!(stage.model(agent).calls()[1].mentions(&format!("the word of {name}")), "{name}");
    }
    for (child, name) in [(first, "first"), (second, "second")] {
        let calls = stage.model(child).calls();
        assert_eq!(calls.len(), 2, "{}", child.name());
        assert!(calls[0].mentions(&format!("add {name}.txt")));
        let served = child.dialect().served("delegate");
        assert!(!calls[0].offered().contains(&served), "a child hands nothing on");
    }
    assert_eq!(stage.model(agent).calls().len(), 2);
    assert_eq!(stage.git(&["status", "--porcelain"]), "", "the user's checkout is as it was");
    stage.assert_only_the_asked_ran();
}

/// R49: the served tool waits for a person, and the same handoff goes on.
fn a_childs_question_is_answered_at_the_child(agent: Agent) {
    let (stage, parent) = (Stage::new(), others(agent)[0]);
    define(&stage, "asker", agent, "");
    stage.commit("an agent");
    let question = json!({"question": "Which colour?", "options": ["red", "green"]});
    stage.model(agent).plays([serve("question", question), answer("painted")]);
    stage.model(parent).plays([serve("delegate", delegate("asker", "paint it")), answer("it is painted")]);
    let id = stage.begin_with(parent, &["--agent", "engineer"], "have it painted");
    stage.model(agent).wait_for_call(1);
    let child = only_child(&stage, &id);
    stage.wait_for(&child, "asking");
    stage.coppice(&["answer", &child, "2"]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "it is painted");
    assert!(stage.model(agent).calls()[1].mentions("green"));
    assert!(stage.model(parent).calls()[1].mentions("painted"));
}

/// R49: a call beyond the worktree waits for a person, and the parent waits with it.
fn a_childs_approval_is_given_at_the_child(agent: Agent) {
    let (stage, parent) = (Stage::new(), others(agent)[1]);
    define(&stage, "reacher", agent, "");
    stage.commit("an agent");
    let outside = stage.path("outside.txt");
    let command = format!("echo out > {}", outside.display());
    stage.model(agent).plays([shell_beyond(&command), answer("reached")]);
    stage.model(parent).plays([serve("delegate", delegate("reacher", "reach out")), answer("it was reached")]);
    let id = stage.begin_with(parent, &["--agent", "engineer"], "have it reached");
    stage.model(agent).wait_for_call(1);
    let child = only_child(&stage, &id);
    stage.wait_for(&child, "approval");
    assert!(!outside.exists());
    stage.coppice(&["approve", &child]).succeeds();
    stage.rests(&id, "ready");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "out\n");
    assert!(stage.model(parent).calls()[1].mentions("reached"));
}

/// R55: the parent reads that the time is over, and nothing of the child is left running.
fn a_child_that_takes_too_long_is_ended(agent: Agent) {
    let (stage, parent) = (Stage::new(), others(agent)[0]);
    define(&stage, "sleeper", agent, "timeout: 2s\n");
    stage.commit("an agent");
    stage.model(agent).always(Step::Hang);
    stage.model(parent).plays([serve("delegate", delegate("sleeper", "sleep")), answer("it slept")]);
    let id = stage.begin_with(parent, &["--agent", "engineer"], "have somebody sleep");
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "it slept");
    let told = &stage.model(parent).calls()[1];
    assert!(told.mentions("Subagent timeout"), "{:#}", told.request.body["input"]);
}

/// The two programs that are not this one.
fn others(agent: Agent) -> [Agent; 2] {
    match agent {
        Agent::Claude => [Agent::Codex, Agent::Gemini],
        Agent::Codex => [Agent::Gemini, Agent::Claude],
        Agent::Gemini => [Agent::Claude, Agent::Codex],
    }
}

/// Writes an agent of the repository that works on a program.
fn define(stage: &Stage, name: &str, agent: Agent, more: &str) {
    let model = agent.choice();
    let text =
        format!("---\ndescription: Does what it is told\nmode: subagent\nmodel: {model}\n{more}---\nDo as told.\n");
    stage.write(&format!(".coppice/agents/{name}.md"), &text);
}

/// The arguments of a handoff.
fn delegate(name: &str, task: &str) -> Value {
    json!({"agent_id": name, "task": task, "context_summary": "Nothing else is known."})
}

/// The one session that another has started.
#[track_caller]
fn only_child(stage: &Stage, parent: &str) -> String {
    let session = stage.session(parent);
    let children = session["children"].as_array().expect("children");
    assert_eq!(children.len(), 1, "{session:#}");
    children[0].as_str().expect("an id").to_owned()
}
