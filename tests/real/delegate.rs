//! A session hands work to others on other programs: each child in a worktree of its own, its change in the parent's.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::agent::{Agent, for_each_agent};
use crate::gate::{Gate, HOLD};
use crate::kill::processes_of;
use crate::model::script::{Step, answer, changed, read, serve, serve_all, shell, write};
use crate::stage::Stage;
use crate::user;

/// What only the parent is told.
const TASK: &str = "have the work of three done";

/// A command that only somebody else ends.
const ENDLESS: &str = "tail -f /dev/null";

for_each_agent!(
    two_children_on_two_other_programs_bring_their_changes,
    a_child_waits_for_a_person_and_goes_on,
    a_reader_works_on_the_same_program_and_leaves_nothing,
    a_stopped_parent_stops_its_child,
    a_killed_daemon_loses_no_handoff,
);

/// Both run at once where the program calls tools at once, and both changes are in the parent's work tree.
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

/// What a child wants is given at the child or at its parent, and the same handoff goes on.
fn a_child_waits_for_a_person_and_goes_on(agent: Agent) {
    let (stage, parent) = (Stage::new(), others(agent)[0]);
    define(&stage, "painter", agent, "");
    stage.commit("an agent");
    let question = |text: &str| serve("question", json!({"question": text, "options": ["red", "green", "blue"]}));
    let paint = shell("echo out > painted.txt");
    stage.model(agent).plays([question("Which wall?"), question("Which door?"), paint, answer("the house is done")]);
    stage.model(parent).plays([serve("delegate", delegate("painter", "paint it")), answer("it is painted")]);
    // The child does what its parent may do.
    let options = ["--agent", "engineer", "--posture", "attended"];
    let id = stage.begin_with(parent, &options, "have it painted");

    waits(&stage, &id, 3, "Which wall?");
    let child = only_child(&stage, &id);
    stage.coppice(&["answer", &child, "2"]).succeeds();
    waits(&stage, &id, 3, "Which door?");
    stage.coppice(&["answer", &id, "3"]).succeeds();
    waits(&stage, &id, 4, "painted.txt");
    assert!(!stage.worktree(&child).join("painted.txt").exists());
    stage.coppice(&["approve", &id]).succeeds();
    stage.rests(&id, "ready");

    assert_eq!(fs::read_to_string(stage.worktree(&id).join("painted.txt")).unwrap(), "out\n");
    let calls = stage.model(agent).calls();
    assert_eq!(calls.len(), 4, "each answer is told once, in the turn that asked");
    assert!(calls[1].mentions("green") && calls[2].mentions("blue"));
    assert!(stage.model(parent).calls()[1].mentions("the house is done"));
    let states: Vec<_> = states(&stage, &id).into_iter().map(|state| state.1).collect();
    for state in ["running", "pending_question", "pending_permission", "completed"] {
        assert!(states.contains(&state.to_owned()), "{state}: {states:?}");
    }
}

/// A child works on its parent's program unless its agent says otherwise; one that only reads sees the files
/// as they are and leaves nothing behind, whatever its model tries.
fn a_reader_works_on_the_same_program_and_leaves_nothing(agent: Agent) {
    let (stage, words) = (Stage::new(), ["the word is heron", "the word is egret"]);
    let known = |word: &str| write("known.txt", &format!("{word}\n"));
    let tries =
        |say: &str| [write("made.txt", "made\n"), shell("echo made > shell.txt"), read("known.txt"), answer(say)];
    let order = serve("delegate", delegate("explore", "find the word"));
    stage
        .model(agent)
        .plays_to(TASK, [known(words[0]), order, changed("found it", "Add a word")])
        .plays(tries("it is a bird"));
    let id = stage.begin_with(agent, &["--agent", "engineer"], TASK);
    stage.rests(&id, "ready");
    let child = only_child(&stage, &id);
    fs::write(stage.worktree(&id).join("known.txt"), words[1]).unwrap();
    stage.model(agent).plays(tries("it is another bird"));
    stage.send(&child, "find it again", "ready");

    let calls = stage.model(agent).calls();
    let (parents, childs): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.mentions(TASK));
    assert_eq!((parents.len(), childs.len()), (3, 8));
    assert!(parents[2].mentions("it is a bird"));
    assert!(childs[3].mentions(words[0]) && !childs[3].mentions(words[1]) && childs[7].mentions(words[1]));
    assert!(childs.iter().all(|call| call.model() == agent.model()));
    let tree = stage.worktree(&id);
    assert!(!tree.join("made.txt").exists() && !tree.join("shell.txt").exists());
    // A daemon ends when everybody in it has tidied up.
    stage.end_daemon(&[]);
    let (refs, trees) = (stage.git(&["for-each-ref"]), stage.git(&["worktree", "list"]));
    let mut left = refs.lines().chain(trees.lines()).filter(|line| line.contains(&child) && !line.contains("/.spare/"));
    assert_eq!(left.next(), None);
}

/// A program that waits for a served call can be stopped, its child ends with it, and its conversation goes on.
fn a_stopped_parent_stops_its_child(agent: Agent) {
    let (stage, helper) = (Stage::new(), others(agent)[1]);
    define(&stage, "holder", helper, "");
    stage.commit("an agent");
    stage.model(helper).plays([shell(HOLD)]);
    stage
        .model(agent)
        .plays_to("leave the holder be", [answer("gone on")])
        .plays([serve("delegate", delegate("holder", "hold on"))]);
    let id = stage.begin_with(agent, &["--agent", "engineer"], "have somebody hold on");
    stage.model(helper).wait_for_call(1);
    let child = only_child(&stage, &id);
    let gate = Gate::pass(&stage, &child);
    stage.coppice(&["stop", &id]).succeeds();
    stage.rests(&id, "interrupted");
    gate.assert_command_ends();
    stage.rests(&child, "interrupted");
    assert_eq!(last_states(&stage, &id).into_values().collect::<Vec<_>>(), ["cancelled"]);

    stage.send(&id, "leave the holder be", "ready");
    assert_eq!(stage.last_answer(&id), "gone on");
    // A busy program may have gone back to its model before it read that it is to stop; that call reaches nobody.
    let calls = stage.model(agent).calls();
    let went_on: Vec<_> = calls.iter().filter(|call| call.mentions("leave the holder be")).collect();
    assert_eq!((went_on.len(), stage.model(helper).calls().len()), (1, 1));
    assert!(went_on[0].mentions("have somebody hold on"));
}

/// The parent reads that the time is over, and nothing of the children is left running.
#[test]
fn children_that_take_too_long_are_ended() {
    let stage = Stage::new();
    for agent in Agent::ALL {
        define(&stage, agent.name(), agent, "timeout: 5s\n");
        stage.model(agent).always(shell(ENDLESS));
    }
    stage.commit("agents");
    let orders = Agent::ALL.map(|agent| ("delegate", delegate(agent.name(), "work for ever")));
    stage.model(Agent::Claude).plays_to(TASK, [serve_all(orders), answer("all are late")]);
    let id = stage.begin_with(Agent::Claude, &["--agent", "engineer"], TASK);
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "all are late");
    let calls = stage.model(Agent::Claude).calls();
    let told = calls.iter().rfind(|call| call.mentions(TASK)).unwrap().request.body.to_string();
    assert_eq!(told.matches("Subagent timeout").count(), 3, "{told}");
    stage.wait_for_ends(ENDLESS);
    stage.wait_for_ends("--acp");
    assert_eq!(processes_of(&stage, Agent::Claude).len(), 1, "only the parent's own");
    let ends: Vec<_> = last_states(&stage, &id).into_values().collect();
    assert_eq!(ends, ["timed_out"; 3]);
}

/// The handoffs survive, nothing runs by itself or twice, and the parent gets what its children do once it goes on.
fn a_killed_daemon_loses_no_handoff(agent: Agent) {
    let stage = Stage::new();
    for child in Agent::ALL {
        define(&stage, child.name(), child, "");
        stage.model(child).always(Step::Hang);
    }
    stage.commit("agents");
    let parent = stage.model(agent);
    // One program calls one tool after the other, so its model starts the children first and waits then.
    match agent {
        Agent::Claude | Agent::Codex => {
            let orders = Agent::ALL.map(|child| ("delegate", delegate(child.name(), &task(child))));
            parent.plays_to(TASK, [serve_all(orders)]);
        }
        Agent::Gemini => {
            stage.configure(&format!("{}\n[delegation]\nfacade = \"spawn_agent\"\n", user::COPPICE));
            let orders = Agent::ALL.map(|child| ("spawn_agent", spawn(child.name(), &task(child))));
            parent.plays_to(TASK, [serve_all(orders), Step::Held(Box::new(shell("true")))]);
        }
    }
    let id = stage.begin_with(agent, &["--agent", "engineer"], TASK);
    for child in Agent::ALL {
        stage.model(child).wait_for(|call| call.mentions(&task(child)) && !call.mentions(TASK));
    }
    if agent == Agent::Gemini {
        let ids: Vec<_> = last_states(&stage, &id).into_keys().collect();
        parent.plays_to(TASK, [serve("wait", json!({"ids": ids}))]);
        parent.release();
        let mut stream = stage.start(&["events", &id, "--follow", "--alone", "--since", "0", "--json"]);
        stream.line_where(|line| line.contains("\"tool_started\"") && line.contains(&ids[0]));
    }
    let heard = |agent: Agent| stage.model(agent).calls().len();
    let before = Agent::ALL.map(heard);
    stage.kill_daemon();

    assert_eq!(stage.status(&id), "interrupted");
    let handoffs = last_states(&stage, &id);
    assert_eq!(handoffs.values().collect::<Vec<_>>(), ["interrupted"; 3]);
    assert_eq!(Agent::ALL.map(heard), before, "nothing goes on by itself");

    for child in Agent::ALL {
        let file = write(&format!("{}.txt", child.name()), "made\n");
        let done = changed(&format!("the word of {}", child.name()), "Add a file");
        stage.model(child).clear().plays([file, done]);
    }
    let waits = handoffs.keys().map(|handoff| serve("wait", json!({"ids": [handoff]})));
    parent.plays_to(TASK, waits.chain([changed("all is done", "Add files")]));
    stage.coppice(&["resume", &id]).succeeds();
    stage.rests(&id, "ready");

    assert_eq!(stage.last_answer(&id), "all is done");
    assert_eq!(last_states(&stage, &id).values().collect::<Vec<_>>(), ["completed"; 3]);
    let tree = stage.worktree(&id);
    let calls = parent.calls();
    let (first, last) = (&calls[before[agent as usize]..], calls.last().unwrap());
    let woken = first.iter().find(|call| call.mentions(TASK)).unwrap();
    assert!(woken.mentions("Do not delegate it again"), "{}", woken.request.body);
    for child in Agent::ALL {
        assert_eq!(fs::read_to_string(tree.join(format!("{}.txt", child.name()))).unwrap(), "made\n");
        assert!(last.mentions(&format!("the word of {}", child.name())), "{}", last.request.body);
    }
    let expected = Agent::ALL.map(|child| before[child as usize] + 2 + if child == agent { 4 } else { 0 });
    assert_eq!(Agent::ALL.map(heard), expected, "nobody is asked twice");
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

/// The arguments of the call that does not wait.
fn spawn(name: &str, task: &str) -> Value {
    json!({"agent_type": name, "message": task})
}

/// What one child of three is told.
fn task(child: Agent) -> String {
    format!("add the file of {}", child.name())
}

/// Waits until a session or one of its children wants somebody, with this exit code and for this reason.
#[track_caller]
fn waits(stage: &Stage, id: &str, code: i32, reason: &str) {
    drop(stage.coppice(&["wait", id, "--timeout", "50s"]).exits(code));
    let session = stage.session(id);
    assert!(session.to_string().contains(reason), "{reason}: {session:#}");
}

/// Every handoff of a session and every state it had, in order.
#[track_caller]
fn states(stage: &Stage, parent: &str) -> Vec<(String, String)> {
    let updates = stage.of_kind(parent, "handoff_updated").into_iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    updates.map(|event| (text(&event["handoff"]["handoff_id"]), text(&event["handoff"]["status"]))).collect()
}

/// How each handoff of a session stands.
#[track_caller]
fn last_states(stage: &Stage, parent: &str) -> BTreeMap<String, String> {
    states(stage, parent).into_iter().collect()
}
