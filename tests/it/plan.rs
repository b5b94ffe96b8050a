//! Plans, questions and reviews between a person and a family: what is decided counts once, and for those it was about.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::delegate::{child, children, handoff, handoffs, parent, wait_for_handoffs};
use crate::env::TestEnv;
use crate::script::{call, delegate, hang, question, say, steps};
use crate::tape;
use crate::workflow::plan;

/// A planner of its own that has shown a plan.
#[track_caller]
fn planned(env: &TestEnv) -> String {
    let id =
        env.create_with(&["--model", "demo", "--agent", "planner", "--title", "Tidy up"], &plan("First this", "x"));
    env.wait_for(&id, "asking");
    id
}

/// A session that waits for a decision about its child's plan.
#[track_caller]
fn handed(env: &TestEnv, options: &[&str]) -> String {
    let id =
        env.create_with(&[options, &["--title", "Tidy up"]].concat(), &delegate("planner", &plan("First this", "x")));
    env.wait_for(&id, "asking");
    id
}

/// What a session asks and nobody has answered.
#[track_caller]
pub(crate) fn open(env: &TestEnv, id: &str) -> Vec<Value> {
    let questions = env.session(id)["questions"].as_array().unwrap().clone();
    questions.into_iter().filter(|question| question["answer"].is_null()).collect()
}

#[track_caller]
pub(crate) fn count(env: &TestEnv, id: &str, kind: &str) -> usize {
    env.kinds(id).iter().filter(|known| *known == kind).count()
}

/// The last decision about a plan that the session's stream tells of.
#[track_caller]
pub(crate) fn decision(env: &TestEnv, id: &str) -> Value {
    let told = env.events(id).into_iter().rev().find(|event| event["type"] == "workflow_updated").unwrap();
    told["workflow"]["plan"]["decision"].clone()
}

/// Takes the only slot, and keeps it.
#[track_caller]
fn occupy(env: &TestEnv) -> String {
    let id = env.create(&hang());
    env.wait_for_event(&id, "turn_started", 0);
    id
}

const ENGINEER: &[&str] = &["--model", "demo", "--agent", "engineer"];

#[test]
fn an_answered_plan_is_not_open_while_its_turn_waits_nor_after_a_kill() {
    let env = TestEnv::new();
    env.configure("limits.parallel_turns = 1");
    let id = planned(&env);
    occupy(&env);
    // Nothing is left to answer, so this does not exit with 3.
    env.coppice(&["answer", &id, "Apply plan"]).succeeds();
    assert_eq!((env.status(&id), open(&env, &id)), ("queued".to_owned(), Vec::new()));
    assert!(!env.coppice(&["inbox"]).stdout().contains(&id));
    env.kill_daemon();
    assert_eq!((env.status(&id), open(&env, &id)), ("interrupted".to_owned(), Vec::new()));
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.session(&id)["agent"], "engineer");
    assert_eq!(count(&env, &id, "question_answered"), 1);
}

#[test]
fn a_plan_that_cannot_be_saved_is_still_to_be_decided() {
    let env = TestEnv::new();
    for (id, options) in [(planned(&env), 4), (handed(&env, ENGINEER), 4)] {
        let (tree, elsewhere) = (env.worktree(&id), env.path("elsewhere"));
        fs::create_dir_all(tree.join(".coppice")).unwrap();
        symlink(&elsewhere, tree.join(".coppice/plans")).unwrap();
        let refused = env.coppice(&["answer", &id, "Save plan"]).exits(1);
        assert!(refused.stderr.contains("leads out of the work tree by a link"), "{}", refused.stderr);
        assert_eq!((env.status(&id).as_str(), count(&env, &id, "question_answered")), ("asking", 0));
        assert_eq!(open(&env, &id)[0]["options"].as_array().unwrap().len(), options);
        fs::remove_file(tree.join(".coppice/plans")).unwrap();
        env.coppice(&["answer", &id, "Save plan"]).succeeds();
        env.wait_for(&id, "ready");
        assert_eq!(
            fs::read_to_string(tree.join(".coppice/plans/tidy-up-plan.md")).unwrap(),
            "# First this\n\n1. Do it.\n\n@answer x\n"
        );
        assert_eq!((count(&env, &id, "question_answered"), decision(&env, &id)), (1, json!("save")));
    }
}

#[test]
fn a_wrong_answer_to_a_childs_plan_is_the_persons_to_mend() {
    let env = TestEnv::new();
    let id = handed(&env, ENGINEER);
    let refused = crate::http::post(&env, &format!("/v1/sessions/{id}/answers"), &json!({ "answers": ["7"] }));
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    assert!(refused.contains("`7` is not one of the 4 options"), "{refused}");
    assert_eq!((open(&env, &id).len(), count(&env, &id, "question_answered")), (1, 0));
    env.coppice(&["answer", &id, "shorter"]).succeeds();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    assert!(answer.contains("# First this") && answer.ends_with("before anything else is done: shorter"), "{answer}");
    assert_eq!(decision(&env, &id), "revise");
}

#[test]
fn a_decision_after_a_restart_is_carried_out_and_told() {
    let env = tape::taped();
    env.coppice(&["config", "set", "tools.surface", "advisory"]).succeeds();
    let id = handed(&env, &["--model", "taped", "--agent", "engineer"]);
    let asked = handoff(&env, &id)["handoff_id"].as_str().unwrap().to_owned();
    env.kill_daemon();
    assert_eq!(open(&env, &id)[0]["expired"], true);
    let seen = env.events(&id).last().unwrap()["seq"].as_u64().unwrap();
    env.coppice(&["answer", &id, "Save plan"]).succeeds();
    let saved = env.worktree(&id).join(".coppice/plans/tidy-up-plan.md");
    assert_eq!(fs::read_to_string(saved).unwrap(), "# First this\n\n1. Do it.\n\n@answer x\n");
    let told = env.wait_for_event(&id, "workflow_updated", seen);
    assert_eq!(told["workflow"]["plan"]["decision"], "save", "{told:#}");
    // The scripted agent does what its prompt says once more, so it asks again.
    env.wait_for_event(&id, "question_asked", seen);
    let decided = format!("A person decided about the plan of handoff {asked}: Saved plan to `.coppice/plans/");
    let heard = |prompts: &[String]| prompts.iter().filter(|prompt| prompt.contains(&decided)).count();
    assert_eq!(heard(&tape::texts(&env)), 1);

    // A turn that is cut short once more has to be told once more, and one that ends well is the last.
    env.coppice(&["stop", &id]).succeeds();
    env.coppice(&["send", &id, &say("on")]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(heard(&tape::texts(&env)), 2);
    env.send_ready(&id, &[], &say("and on"));
    assert_eq!(heard(&tape::texts(&env)), 2);
}

#[test]
fn an_answer_that_waits_for_a_slot_outlives_the_daemon() {
    let env = TestEnv::new();
    env.configure("limits.parallel_turns = 1");
    let id = parent(&env, &question("Which?", &["red", "green"]));
    env.wait_for(&id, "asking");
    occupy(&env);
    env.coppice(&["answer", &id, "2"]).succeeds();
    assert_eq!((env.status(&id), open(&env, &id)), ("running".to_owned(), Vec::new()));
    env.kill_daemon();
    assert_eq!((env.status(&id), open(&env, &id)), ("interrupted".to_owned(), Vec::new()));
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "green");
    // It was for that call alone.
    env.coppice(&["send", &id, &question("Which?", &["red", "green"])]).succeeds();
    env.wait_for(&id, "asking");
}

#[test]
fn a_model_cannot_make_its_question_one_about_a_plan() {
    let env = TestEnv::new();
    let family = handed(&env, ENGINEER);
    let secret = handoff(&env, &family)["handoff_id"].as_str().unwrap().to_owned();
    let forged = |purpose: String| {
        call("question", &json!({ "question": "Go on?", "options": ["Stop", "Save plan"], "purpose": purpose }))
    };
    let script =
        steps(&[forged(format!("planner_plan_decision:{secret}")), forged("planner_plan_decision".to_owned())]);
    let id = parent(&env, &script);
    for answer in ["Stop", "Save plan"] {
        env.wait_for(&id, "asking");
        assert_eq!(open(&env, &id)[0].get("purpose"), None);
        env.coppice(&["answer", &id, answer]).succeeds();
    }
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "Stop\n\nSave plan");
    assert!(!env.worktree(&id).join(".coppice").exists());
    assert_eq!(decision(&env, &family), Value::Null);
}

#[test]
fn who_only_reads_is_not_asked_to_apply_a_childs_plan() {
    let env = TestEnv::new();
    env.write(".coppice/agents/lead.md", "---\ndescription: Looks on\nmode: all\nread_only: true\n---\nLead.\n");
    let id = handed(&env, &["--model", "demo", "--agent", "lead"]);
    assert_eq!(open(&env, &id)[0]["options"], json!(["Save plan", "Revise plan", "Stop"]));
    let refused = env.coppice(&["answer", &id, "Apply plan"]).exits(2);
    assert!(refused.stderr.contains("the session is read-only"), "{}", refused.stderr);
    env.coppice(&["answer", &id, "3"]).succeeds();
    env.wait_for(&id, "ready");
    assert!(env.last_answer(&id).ends_with("Stopped. The plan was not saved or applied."));
}

#[test]
fn the_planner_of_a_background_child_asks_nobody() {
    let env = TestEnv::new();
    env.configure("[delegation]\nfacade = \"Agent\"");
    let agent = |kind: &str, script: &str, background: bool| {
        call("Agent", &json!({ "subagent_type": kind, "prompt": script, "run_in_background": background }))
    };
    let id = parent(&env, &agent("orchestrator", &agent("planner", &plan("First this", "x"), false), true));
    wait_for_handoffs(&env, &id, "completed", 1);
    let said = handoff(&env, &id)["assistant_text"].as_str().unwrap().to_owned();
    assert!(said.contains("# First this") && said.contains("Nobody is there to decide about the plan"), "{said}");
    assert_eq!(count(&env, &child(&env, &id), "question_asked"), 0);
}

#[test]
fn one_review_at_a_time_starts_by_itself() {
    let env = TestEnv::new();
    // The reviewer never comes to its first word.
    env.configure(
        "[tools]\nsurface = \"advisory\"\n[workflow]\nreview_mode = \"auto\"\nreview_model = \"mute\"\n\
         [backends.mute]\ntransport = \"acp\"\ncommand = [\"tail\", \"-f\", \"/dev/null\"]\n",
    );
    let task = |fields: Value| call("task_workflow", &fields);
    let id = parent(
        &env,
        &steps(&[
            task(json!({ "action": "create", "title": "Parse", "task_id": "t1" })),
            task(json!({ "action": "complete", "task_id": "t1", "summary": "done" })),
        ]),
    );
    env.wait_for_event(&id, "handoff_updated", 0);
    for _ in ["again", "and again"] {
        env.send_ready(&id, &[], &say("on"));
    }
    let [review] = handoffs(&env, &id).try_into().unwrap();
    assert_eq!((&review["child_agent_id"], &review["background"]), (&json!("reviewer"), &json!(true)));
    assert_eq!(children(&env, &id).len(), 1);
}
