//! Delegation as a parent's model and a person meet it: who may hand work to whom, and what comes back.

mod abort;
mod again;
mod facade;
mod family;
mod restart;
mod tree;

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::script::{ask_to_run, call, delegate, fail, question, say, steps, together};

/// Starts a session that delegates.
#[track_caller]
pub(crate) fn parent(env: &TestEnv, script: &str) -> String {
    env.create_with(&["--model", "demo", "--agent", "engineer"], script)
}

/// Lets a parent come to its end; its id and what its calls gave.
#[track_caller]
pub(crate) fn played(env: &TestEnv, script: &str) -> (String, String) {
    let id = parent(env, script);
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    (id, answer)
}

/// The delegations of a session, oldest first.
#[track_caller]
pub(crate) fn handoffs(env: &TestEnv, id: &str) -> Vec<Value> {
    get(env, &format!("/v1/sessions/{id}/handoffs"))["items"].as_array().unwrap().clone()
}

/// What the API says; a daemon is started where none runs.
#[track_caller]
pub(crate) fn get(env: &TestEnv, path: &str) -> Value {
    env.coppice(&["daemon", "start"]).succeeds();
    serde_json::from_str(&crate::http::get(env, path, &[])).unwrap()
}

/// The number of the last event that a session's stream holds.
#[track_caller]
pub(crate) fn last_seq(env: &TestEnv, id: &str) -> u64 {
    env.events(id).last().unwrap()["seq"].as_u64().unwrap()
}

#[track_caller]
pub(crate) fn handoff(env: &TestEnv, id: &str) -> Value {
    let [only] = handoffs(env, id).try_into().unwrap();
    only
}

#[track_caller]
pub(crate) fn children(env: &TestEnv, id: &str) -> Vec<String> {
    let children = env.session(id)["children"].as_array().unwrap().clone();
    children.iter().map(|child| child.as_str().unwrap().to_owned()).collect()
}

#[track_caller]
pub(crate) fn child(env: &TestEnv, id: &str) -> String {
    let [only] = children(env, id).try_into().unwrap();
    only
}

/// Waits until so many delegations of a session have been in a status; the children, in that order.
#[track_caller]
pub(crate) fn wait_for_handoffs(env: &TestEnv, id: &str, status: &str, count: usize) -> Vec<String> {
    let mut stream = env.start(&["events", id, "--follow", "--since", "0", "--json"]);
    let mut found: Vec<String> = Vec::new();
    while found.len() < count {
        stream.line_where(|line| line.contains("\"handoff_updated\""));
        let event: Value = serde_json::from_str(stream.last()).unwrap();
        let child = event["handoff"]["child_session_id"].as_str().unwrap_or_default();
        if event["handoff"]["status"] == status && !found.iter().any(|known| known == child) {
            found.push(child.to_owned());
        }
    }
    found
}

/// An agent of the checkout that works for others.
pub(crate) fn define(env: &TestEnv, name: &str, header: &str) {
    let text = format!("---\ndescription: A test's own\nmode: subagent\n{header}---\nWork.\n");
    env.write(&format!(".coppice/agents/{name}.md"), &text);
}

/// The record of a delegation as a model reads it.
#[track_caller]
pub(crate) fn record(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn work_goes_to_those_who_work_for_others_whoever_asks() {
    let env = TestEnv::new();
    let script =
        steps(&[delegate("builder", &say("x")), delegate("general", &say("one")), delegate("reviewer", &say("two"))]);
    for agent in ["engineer", "orchestrator"] {
        let id = env.create_with(&["--model", "demo", "--agent", agent], &script);
        env.wait_for(&id, "ready");
        let answer = env.last_answer(&id);
        let [refused, general, reviewer] = answer.split("\n\n").collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(refused, "error: agent \"builder\" is not delegatable (mode: primary)");
        let told = [general, reviewer].map(|text| record(text)["assistant_text"].clone());
        assert_eq!(told, ["one", "two"]);
        assert_eq!(children(&env, &id).len(), 2);
    }
}

#[test]
fn a_child_is_a_session_in_a_worktree_of_its_own_and_its_record_is_kept() {
    let env = TestEnv::new();
    let (id, answer) = played(&env, &delegate("general", &steps(&[crate::script::write("a.txt", "1"), say("did it")])));
    let child = child(&env, &id);
    let session = env.session(&child);
    assert_eq!((&session["parent"], &session["agent"]), (&json!(id), &json!("general")));
    assert_eq!(session["subagent"], json!({ "parent_session_id": id, "agent_type": "general", "depth": 1 }));
    assert!(session["title"].as_str().unwrap().ends_with(" (@general subagent)"), "{session:#}");
    assert_ne!(env.worktree(&child), env.worktree(&id));
    assert_ne!(session["branch"], env.session(&id)["branch"]);

    let kept = handoff(&env, &id);
    assert_eq!((&kept["status"], &kept["child_session_id"]), (&json!("completed"), &json!(child)));
    assert_eq!((&kept["handoff_id"], &session["handoff"]), (&session["handoff"], &kept["handoff_id"]));
    assert_eq!((&kept["parent_turn_id"], &kept["child_turn_id"], &kept["depth"]), (&json!(1), &json!(1), &json!(1)));
    let told = record(&answer);
    for field in ["handoff_id", "child_session_id", "child_agent_id", "status", "assistant_text", "branch", "base_sha"]
    {
        assert_eq!(told[field], kept[field], "{field}");
    }
    env.kill_daemon();
    assert_eq!(handoff(&env, &id), kept);
}

#[test]
fn a_child_completes_fails_or_waits_for_a_person_who_answers_it_there() {
    let env = TestEnv::new();
    let scripts = [
        say("done"),
        fail("it broke"),
        steps(&[ask_to_run("true"), say("ran it")]),
        question("Which colour?", &["red", "green"]),
    ];
    let id = parent(&env, &together(&scripts.map(|script| delegate("general", &script))));
    let of =
        |child: &str| handoffs(&env, &id).into_iter().find(|kept| kept["child_session_id"] == json!(child)).unwrap();
    let [runs] = wait_for_handoffs(&env, &id, "pending_permission", 1).try_into().unwrap();
    let (kept, wanted) = (of(&runs), of(&runs)["pending_permission"].clone());
    assert_eq!((&kept["status"], &wanted["tool_name"]), (&json!("pending_permission"), &json!("execute")));
    assert_eq!((&wanted["kind"], &wanted["command"]), (&json!("execution"), &json!("true")), "{wanted:#}");
    assert_eq!(wanted["working_directory"], env.session(&runs)["worktree"]);
    let asked = env.session(&runs)["approvals"][0]["reason"].clone();
    assert_eq!((&wanted["reason"], &asked), (&asked, &json!("the call does not say what it is about")), "{wanted:#}");
    let [asks] = wait_for_handoffs(&env, &id, "pending_question", 1).try_into().unwrap();
    let (kept, wanted) = (of(&asks), of(&asks)["pending_question"].clone());
    assert_eq!((&kept["status"], &wanted["question"]), (&json!("pending_question"), &json!("Which colour?")));
    assert_eq!((&wanted["tool_name"], &wanted["options"]), (&json!("question"), &json!(["red", "green"])));

    env.coppice(&["approve", &runs]).succeeds();
    env.coppice(&["answer", &asks, "2"]).succeeds();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    let [completed, failed, ran, asked] = answer.split("\n\n").map(record).collect::<Vec<_>>().try_into().unwrap();
    for (told, text) in [(completed, "done"), (ran, "ran it"), (asked, "green")] {
        assert_eq!((&told["status"], &told["assistant_text"]), (&json!("completed"), &json!(text)));
        assert_eq!((&told["pending_permission"], &told["pending_question"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(failed["status"], "failed");
    assert!(failed["error"].as_str().unwrap().contains("it broke"), "{failed:#}");
}

#[test]
fn a_childs_question_is_answered_at_the_parent_and_the_call_goes_on() {
    let env = TestEnv::new();
    let id = parent(&env, &delegate("general", &question("Which colour?", &["red", "green"])));
    drop(env.coppice(&["wait", &id, "--timeout", "30s"]).exits(3));
    let session = env.session(&id);
    assert_eq!((&session["status"], &session["waiting_for"]), (&json!("running"), &json!("answer")));
    assert_eq!(session["questions"][0]["text"], "Which colour?");
    env.coppice(&["answer", &id, "green"]).succeeds();
    env.wait_for(&id, "ready");
    let told = record(&env.last_answer(&id));
    assert_eq!((&told["status"], &told["assistant_text"]), (&json!("completed"), &json!("green")));
    assert_eq!(env.session(&child(&env, &id))["turns"], 1);
}

#[test]
fn answers_at_the_parent_reach_the_child_that_asked() {
    let env = TestEnv::new();
    let ask = |what: &str| delegate("general", &question(what, &[]));
    let id = parent(&env, &together(&[ask("Which colour?"), ask("Which shape?")]));
    wait_for_handoffs(&env, &id, "pending_question", 2);
    let asked = env.session(&id)["questions"].clone();
    let answers = [0, 1].map(|at| format!("about {}", asked[at]["text"].as_str().unwrap()));
    env.coppice(&["answer", &id, &answers[0], &answers[1]]).succeeds();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    let told: Vec<_> = answer.split("\n\n").map(|text| record(text)["assistant_text"].clone()).collect();
    assert_eq!(told, ["about Which colour?", "about Which shape?"]);
}

#[test]
fn a_family_needs_no_more_slots_than_one() {
    let env = TestEnv::new();
    env.configure("[limits]\nparallel_turns = 1");
    let both = together(&[delegate("general", &say("one")), delegate("general", &say("two"))]);
    let (_, answer) = played(&env, &delegate("orchestrator", &both));
    let middle = record(&answer)["assistant_text"].as_str().unwrap().to_owned();
    let told: Vec<_> = middle.split("\n\n").map(|text| record(text)["assistant_text"].clone()).collect();
    assert_eq!(told, ["one", "two"]);
}

#[test]
fn a_child_whose_turn_ended_with_questions_completes_with_the_turn_that_answers_them() {
    let env = TestEnv::new();
    let script = steps(&[crate::script::ask("Which?", &["red", "green"]), "@then".to_owned(), say("took it")]);
    let id = parent(&env, &delegate("general", &script));
    drop(env.coppice(&["wait", &id, "--timeout", "30s"]).exits(3));
    env.coppice(&["answer", &id, "red"]).succeeds();
    env.wait_for(&id, "ready");
    let told = record(&env.last_answer(&id));
    assert_eq!((&told["status"], &told["assistant_text"]), (&json!("completed"), &json!("took it")));
    assert_eq!(told["child_turn_id"], 2);
}

#[test]
fn a_child_works_with_its_own_model_else_with_its_parents() {
    let env = TestEnv::new();
    define(&env, "own", "model: forgetful\n");
    define(&env, "away", "model: no-such-model\n");
    let script = together(&[delegate("own", "@answer a"), delegate("general", "@echo-model"), delegate("away", "x")]);
    let id = env.create_with(&["--model", "demo/scripted", "--agent", "engineer"], &script);
    env.wait_for(&id, "ready");
    let route = |agent: &str| {
        let kept = handoffs(&env, &id).into_iter().find(|kept| kept["child_agent_id"] == agent).unwrap();
        (kept["backend"].clone(), kept["model"].clone())
    };
    assert_eq!(route("own").0, "forgetful");
    assert_eq!(route("general"), (json!("demo"), json!("scripted")));
    assert_eq!(route("away"), route("general"));
    let warning = env.events(&id).into_iter().find(|event| event["type"] == "warning").unwrap();
    let said = warning["message"].as_str().unwrap();
    assert!(said.starts_with("agent `away` works with its parent's model: "), "{said}");
    env.configure("[delegation]\nstrict_models = true");
    env.send_ready(&id, &[], &delegate("away", "x"));
    let refused = env.last_answer(&id);
    assert!(refused.starts_with("error: ") && refused.contains("no-such-model"), "{refused}");
    assert_eq!(children(&env, &id).len(), 3);
}

#[test]
fn a_model_or_effort_that_is_not_there_is_refused_before_anything_starts() {
    let env = TestEnv::new();
    let program = env!("CARGO_BIN_EXE_coppice");
    env.configure(&format!(
        "[delegation]\nfacade = \"spawn_agent\"\n[backends.listed]\ntransport = \"acp\"\n\
         command = [\"{program}\", \"demo-agent\"]\nmodels = [\"small\", \"large\"]\n"
    ));
    let spawn =
        |key: &str, value: &str| call("spawn_agent", &json!({ "message": "x", "agent_type": "general", key: value }));
    let wrong = [spawn("model", "listed/none"), spawn("reasoning_effort", "most")];
    let (id, answer) = played(&env, &steps(&wrong));
    assert_eq!(
        answer,
        "error: unknown model \"listed/none\" for spawn_agent. Available models: small, large\n\n\
         error: reasoning_effort most is not supported for model \"demo\". Supported efforts: none"
    );
    assert_eq!((children(&env, &id), handoffs(&env, &id)), (Vec::new(), Vec::new()));
    assert_eq!(env.git(&["for-each-ref", "refs/coppice"]), "");
}

#[test]
fn a_read_only_agent_is_held_to_reading_and_any_other_inherits() {
    let env = TestEnv::new();
    define(&env, "reads", "read_only: true\n");
    define(&env, "free", "");
    env.write(".coppice/agents/lead.md", "---\ndescription: Looks on\nmode: all\nread_only: true\n---\nLead.\n");
    let script = together(&[delegate("reads", "@native"), delegate("free", "@native")]);
    for (agent, expected) in [("engineer", [true, false]), ("lead", [true, true])] {
        let id = env.create_with(&["--model", "demo", "--agent", agent], &script);
        env.wait_for(&id, "ready");
        let reads_only = |text: &str| record(text)["assistant_text"].as_str().unwrap().ends_with("; read-only");
        let answer = env.last_answer(&id);
        assert_eq!(answer.split("\n\n").map(reads_only).collect::<Vec<_>>(), expected, "{agent}: {answer}");
        let children = answer.split("\n\n").map(|text| record(text)["child_session_id"].as_str().unwrap().to_owned());
        let shown: Vec<_> = children.map(|child| env.session(&child)["read_only"] == true).collect();
        assert_eq!(shown, expected, "{agent}");
        assert_eq!(env.coppice(&["show", &id]).stdout().contains("lead, read-only"), agent == "lead");
    }
}

#[test]
fn the_tool_is_gone_when_nobody_works_for_others() {
    let env = TestEnv::new();
    let (_, answer) = played(&env, "@tools");
    assert!(answer.contains("delegate"), "{answer}");
    let listed = env.json(&["agents", "list"]);
    for agent in listed.as_array().unwrap() {
        let name = agent["id"].as_str().unwrap();
        env.write(&format!(".coppice/agents/{name}.md"), "---\ndescription: x\nmode: primary\n---\nx\n");
    }
    let (_, answer) = played(&env, &steps(&["@tools".to_owned(), delegate("general", "x")]));
    let (tools, refused) = answer.split_once("\n\n").unwrap();
    assert!(!tools.contains("delegate"), "{tools}");
    assert_eq!(refused, "error: tool `delegate` is not available to agent `engineer`");
}

#[test]
fn a_child_hands_nothing_on_also_when_its_file_allows_it() {
    let env = TestEnv::new();
    define(&env, "eager", "AllowTools: [read, question, delegate, task, spawn_agent, Agent, wait]\n");
    let script = steps(&["@tools".to_owned(), delegate("general", "x")]);
    let (id, answer) = played(&env, &steps(&[delegate("general", &script), delegate("eager", &script)]));
    for told in answer.split("\n\n").map(record) {
        let said = told["assistant_text"].as_str().unwrap();
        let (tools, refused) = said.split_once("\n\n").unwrap();
        assert!(["delegate", "wait", "send_input"].iter().all(|tool| !tools.contains(tool)), "{tools}");
        assert_eq!(refused, "error: Agent depth limit reached. Solve the task yourself.");
    }
    assert!(children(&env, &id).iter().all(|child| children(&env, child).is_empty()));
}

#[test]
fn an_orchestrator_hands_on_once_more() {
    let env = TestEnv::new();
    let deepest = delegate("orchestrator", &delegate("general", "x"));
    let (id, answer) = played(&env, &delegate("orchestrator", &deepest));
    let middle = record(record(&answer)["assistant_text"].as_str().unwrap());
    assert_eq!((&middle["depth"], &middle["status"]), (&json!(2), &json!("completed")));
    assert_eq!(middle["assistant_text"], "error: Agent depth limit reached. Solve the task yourself.");
    let below = child(&env, &child(&env, &id));
    assert!(children(&env, &below).is_empty());
}

#[test]
fn calls_of_one_turn_run_together_and_a_full_house_says_so() {
    let env = TestEnv::new();
    env.configure("[delegation]\nmax_children = 3");
    let go = env.visible_to_agents("go");
    let calls =
        [1, 2, 3, 4].map(|n| delegate("general", &steps(&[crate::script::wait_for_file(&go), say(&n.to_string())])));
    let id = parent(&env, &together(&calls));
    wait_for_handoffs(&env, &id, "running", 3);
    std::fs::write(go, "").unwrap();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    let (refused, done): (Vec<_>, Vec<_>) = answer.split("\n\n").partition(|text| text.starts_with("error: "));
    assert_eq!(
        refused,
        [
            "error: at most 3 background subagents may run concurrently (current: 3); wait for one to finish or close one, \
          then try again"
        ]
    );
    let times = |key: &str| done.iter().map(|text| record(text)[key].as_i64().unwrap()).collect::<Vec<_>>();
    assert!(times("started_at").iter().max() < times("finished_at").iter().min());
}

#[test]
fn a_child_that_takes_too_long_is_ended() {
    let env = TestEnv::new();
    define(&env, "slow", "timeout: 1s\n");
    let script = steps(&[crate::script::stray("stray.pid"), crate::script::hang()]);
    let (id, answer) = played(&env, &delegate("slow", &script));
    let told = record(&answer);
    assert_eq!((&told["status"], &told["error"]), (&json!("failed"), &json!("Subagent timeout")));
    let kept = handoff(&env, &id);
    assert_eq!((&kept["status"], &kept["error"]), (&json!("timed_out"), &json!("Subagent timeout")));
    env.wait_for_ends("stray");
    let child = child(&env, &id);
    assert_eq!(env.status(&child), "failed");
    assert!(env.worktree(&child).exists(), "what it did is kept");
}

#[test]
fn a_child_ends_at_its_last_step() {
    let env = TestEnv::new();
    define(&env, "short", "maxSteps: 2\n");
    let script = steps(&["@say looked around", "@read README.md", "@read README.md", "@read README.md", "@hang"]);
    let (id, answer) = played(&env, &delegate("short", &script));
    let told = record(&answer);
    assert_eq!((&told["status"], &told["assistant_text"]), (&json!("failed"), &json!("looked around")));
    assert_eq!(told["error"], "the agent may make 2 tool calls in a turn and wanted another");
    assert_eq!(env.session(&child(&env, &id))["last_error"]["kind"], "step_limit");
    let (_, answer) = played(&env, &delegate("short", &steps(&["@read README.md", "@read README.md"])));
    assert_eq!(record(&answer)["status"], "completed");
    // Two of the built-in agents have a limit.
    for (agent, limit) in [("explore", 15), ("general", 20)] {
        let reads = |count: usize| delegate(agent, &steps(&vec!["@read README.md"; count]));
        let (_, answer) = played(&env, &reads(limit));
        assert_eq!(record(&answer)["status"], "completed", "{agent}");
        let (_, answer) = played(&env, &reads(limit + 1));
        let expected = format!("the agent may make {limit} tool calls in a turn and wanted another");
        assert_eq!(record(&answer)["error"], expected, "{agent}");
    }
}
