//! Children that are not wanted any more, and calls that must not wait for ever.

use serde_json::{Value, json};

use super::{child, handoff, handoffs, parent, played, record, wait_for_handoffs};
use crate::env::TestEnv;
use crate::script::{ask_to_run, call, delegate, hang, say, steps, together, wait_for_file};

#[test]
fn whoever_stops_the_parent_stops_the_children_it_waits_for() {
    let env = TestEnv::new();
    let id = parent(&env, &together(&[delegate("general", &hang()), delegate("general", &ask_to_run("true"))]));
    wait_for_handoffs(&env, &id, "running", 2);
    let [asks] = wait_for_handoffs(&env, &id, "pending_permission", 1).try_into().unwrap();
    env.coppice(&["stop", &id]).succeeds();
    env.wait_for(&id, "interrupted");
    wait_for_handoffs(&env, &id, "cancelled", 2);
    assert!(handoffs(&env, &id).iter().all(|kept| kept["status"] == "cancelled"));
    let resolved = env.events(&asks).into_iter().find(|event| event["type"] == "approval_resolved").unwrap();
    assert_eq!(resolved["outcome"], "cancelled");
    assert_eq!(env.json(&["inbox"]), json!([]));
}

#[test]
fn a_background_child_outlives_the_turn_and_dies_with_the_session() {
    let env = TestEnv::new();
    env.configure("[delegation]\nfacade = \"Agent\"");
    let background = json!({ "subagent_type": "general", "prompt": hang(), "run_in_background": true });
    let id = parent(&env, &steps(&[call("Agent", &background), hang()]));
    wait_for_handoffs(&env, &id, "running", 1);
    env.coppice(&["stop", &id]).succeeds();
    env.wait_for(&id, "interrupted");
    let child = child(&env, &id);
    assert_eq!((env.status(&child), &handoff(&env, &id)["status"]), ("running".to_owned(), &json!("running")));
    env.coppice(&["archive", &id]).succeeds();
    wait_for_handoffs(&env, &id, "cancelled", 1);
    env.wait_for_event(&child, "archived", 0);
    env.agents_end();
}

#[test]
fn another_prompt_that_cuts_in_ends_the_children_too() {
    let env = TestEnv::new();
    let id = parent(&env, &delegate("general", &hang()));
    wait_for_handoffs(&env, &id, "running", 1);
    env.send_ready(&id, &["--now"], &say("instead"));
    assert_eq!(env.last_answer(&id), "instead");
    wait_for_handoffs(&env, &id, "cancelled", 1);
    env.wait_for(&child(&env, &id), "interrupted");
}

#[test]
fn a_child_that_a_person_stops_is_reported_and_its_parent_goes_on() {
    let env = TestEnv::new();
    let id =
        parent(&env, &delegate("general", &steps(&["@say half way".to_owned(), crate::script::run("true"), hang()])));
    let [child] = wait_for_handoffs(&env, &id, "running", 1).try_into().unwrap();
    env.wait_for_event(&child, "tool_finished", 0);
    env.coppice(&["stop", &child]).succeeds();
    env.wait_for(&id, "ready");
    let told = record(&env.last_answer(&id));
    assert_eq!((&told["status"], &told["assistant_text"]), (&json!("failed"), &json!("half way")));
    assert_eq!(told["error"], "The subagent was stopped before it finished.");
    assert_eq!(handoff(&env, &id)["status"], "cancelled");
}

#[test]
fn a_background_child_gets_no_answers_unless_they_may_queue() {
    let env = TestEnv::new();
    let background = |script: &str| {
        call("Agent", &json!({ "subagent_type": "general", "prompt": script, "run_in_background": true }))
    };
    let script = steps(&[ask_to_run("echo ran"), crate::script::question("Which?", &[]), say("end")]);
    env.configure("[delegation]\nfacade = \"Agent\"");
    let (id, _) = played(&env, &background(&script));
    let denied = child(&env, &id);
    env.wait_for(&denied, "ready");
    let answer = env.last_answer(&denied);
    assert!(answer.contains("error: nobody is there to answer a background agent"), "{answer}");
    assert!(!answer.contains("ran\n"), "{answer}");
    env.configure("[delegation]\nfacade = \"Agent\"\nbackground_approvals = \"queue\"");
    let (id, _) = played(&env, &background(&ask_to_run("true")));
    env.wait_for(&child(&env, &id), "approval");
}

#[test]
fn a_call_returns_before_it_is_too_late_and_wait_has_the_result() {
    let env = TestEnv::new();
    env.configure("[delegation]\nmax_block = \"3s\"");
    let go = env.visible_to_agents("go");
    let (id, answer) = played(
        &env,
        &delegate("general", &steps(&[crate::script::write("a.txt", "1"), wait_for_file(&go), say("late")])),
    );
    let told = record(&answer);
    let handoff = told["handoff_id"].as_str().unwrap();
    assert_eq!(told["status"], "running");
    assert_eq!(
        told["hint"],
        format!(
            "The subagent is still working. Call wait with ids [\"{handoff}\"] to collect its result; do not delegate \
             the same task again."
        )
    );
    std::fs::write(go, "").unwrap();
    let child = child(&env, &id);
    // The one id is as good as the other.
    for id_of_it in [handoff, &child] {
        env.send_ready(&id, &[], &call("wait", &json!({ "ids": [id_of_it] })));
        let expected = json!({
            "status": { id_of_it: { "completed": "late\n\nChanged in your work tree: a.txt." } }, "timed_out": false,
        });
        assert_eq!(record(&env.last_answer(&id)), expected);
    }
    assert_eq!(std::fs::read_to_string(env.worktree(&id).join("a.txt")).unwrap(), "1\n");
    let started = |id: &str| env.kinds(id).iter().filter(|kind| *kind == "turn_started").count();
    assert_eq!((started(&child), Value::from(1)), (1, env.session(&child)["turns"].clone()));
}
