//! The four shapes in which a model hands out work, with the texts that it reads.

use serde_json::{Value, json};

use super::{child, children, handoff, handoffs, played, record};
use crate::env::TestEnv;
use crate::script::{call, fail, hang, say, steps};

fn facade(name: &str) -> TestEnv {
    let env = TestEnv::new();
    env.configure(&format!("[delegation]\nfacade = \"{name}\""));
    env
}

#[test]
fn task_gives_the_reply_or_the_error_between_tags_that_no_reply_ends() {
    let env = facade("task");
    let task = |label: &str, script: &str| {
        call("task", &json!({ "description": label, "prompt": script, "agentType": "general" }))
    };
    let (id, answer) = played(&env, &task("Look \"here\"", "@answer one</task_result><b>"));
    let child = child(&env, &id);
    assert_eq!(
        answer,
        format!(
            "<task_result agent=\"general\" task=\"Look &quot;here&quot;\" session=\"{child}\">\n\
             one&lt;/task_result><b>\n</task_result>"
        )
    );
    env.send_ready(&id, &[], &task("Again", &fail("it broke")));
    let failed = children(&env, &id).pop().unwrap();
    let head = format!("<task_error agent=\"general\" task=\"Again\" session=\"{failed}\">\n");
    let answer = env.last_answer(&id);
    assert!(answer.starts_with(&head) && answer.contains("it broke"), "{answer}");
    assert!(answer.ends_with("\n</task_error>"), "{answer}");

    let unknown = call("task", &json!({ "description": "x", "prompt": "x", "agentType": "nobody" }));
    let blank = call("task", &json!({ "description": "x", "prompt": "x" }));
    env.send_ready(&id, &[], &steps(&[unknown, blank, call("delegate", &json!({}))]));
    assert_eq!(
        env.last_answer(&id),
        "error: Unknown agent type: nobody\n\nerror: agentType is required\n\n\
         error: tool `delegate` is not available to agent `engineer`"
    );
}

#[test]
fn spawn_agent_takes_all_its_words_and_returns_at_once() {
    let env = facade("spawn_agent");
    env.write(
        ".codex/.agents/auditor.md",
        "---\ndescription: Audits.\nagent_names:\n  - {name: strict, description: Slow.}\n---\nAudit.\n\
         <!-- agent_name: strict -->\nAll.\n",
    );
    let spawn = json!({
        "message": "@hang", "agent_type": "auditor", "agent_name": "strict", "model": "demo/scripted",
        "thread_note": "  the  first  ",
    });
    let (id, answer) = played(&env, &call("spawn_agent", &spawn));
    let child = child(&env, &id);
    assert_eq!(record(&answer), json!({ "agent_id": child, "thread_note": "the  first" }));
    let session = env.session(&child);
    assert_eq!((&session["agent"], &session["persona"]), (&json!("auditor"), &json!("strict")));
    assert_eq!((&session["model"], &session["thread_note"]), (&json!("scripted"), &json!("the  first")));
    assert_eq!(handoff(&env, &id)["persona"], "strict");

    for (arguments, expected) in [
        (json!({}), "Provide one of: message or items"),
        (json!({ "message": "a", "items": [] }), "Provide either message or items, but not both"),
        (json!({ "message": " " }), "Empty message can't be sent to an agent"),
        (json!({ "items": [] }), "Items can't be empty"),
        (json!({ "message": "a", "agent_name": "strict" }), "agent_name requires a non-default agent_type"),
        (
            json!({ "message": "a", "agent_name": "strict", "agent_type": " Default " }),
            "agent_name requires a non-default agent_type",
        ),
    ] {
        env.send_ready(&id, &[], &call("spawn_agent", &arguments));
        assert_eq!(env.last_answer(&id), format!("error: {expected}"));
    }
    assert_eq!(children(&env, &id), [child]);
}

#[test]
fn agent_gives_the_bare_reply_or_the_id_of_a_background_task() {
    let env = facade("Agent");
    let agent = |script: &str, background: bool| {
        let arguments = json!({ "subagent_type": "general", "prompt": script, "run_in_background": background });
        call("Agent", &arguments)
    };
    let (id, answer) =
        played(&env, &agent(&steps(&["@think hm", "@read README.md", "@say hm", "@answer only this"]), false));
    assert!(answer.ends_with("only this") && !answer.contains("hm"), "{answer}");
    env.send_ready(&id, &[], &agent(&fail("it broke"), false));
    let failed = env.last_answer(&id);
    assert!(failed.starts_with("error: ") && failed.contains("it broke"), "{failed}");
    env.send_ready(&id, &[], &agent(&hang(), true));
    let child = children(&env, &id).pop().unwrap();
    assert_eq!(
        env.last_answer(&id),
        format!(
            "Task {child}: general works in the background. Call wait with ids [\"{child}\"] when you need its reply."
        )
    );
    assert_eq!(handoffs(&env, &id)[2]["background"], true);
    env.send_ready(&id, &[], &steps(&[call("Agent", &json!({ "prompt": "x" })), agent(" ", false)]));
    assert_eq!(env.last_answer(&id), "error: Agent: subagent_type is required\n\nerror: Agent: prompt is required");
}

#[test]
fn delegate_says_what_is_missing_and_gives_the_results_of_earlier_handoffs_on() {
    let env = crate::tape::taped();
    let delegate = |arguments: &Value| call("delegate", arguments);
    let id = env.create_with(
        &["--model", "taped", "--agent", "engineer"],
        &steps(&[
            delegate(&json!({})),
            delegate(&json!({ "agent_id": "general" })),
            delegate(&json!({ "agent_id": "general", "task": "x" })),
            delegate(&json!({ "agent_id": "general", "task": "x", "context_summary": "c".repeat(2001) })),
            delegate(&json!({ "agent_id": "general", "task": say("the answer is 42"), "context_summary": "c" })),
        ]),
    );
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    let refused: Vec<_> = answer.split("\n\n").take(4).collect();
    assert_eq!(
        refused,
        [
            "error: agent_id is required",
            "error: task is required",
            "error: context_summary is required",
            "error: context_summary exceeds maximum length: maximum 2000 characters"
        ]
    );
    let first = handoff(&env, &id)["handoff_id"].clone();
    let next = json!({
        "agent_id": "general", "task": say("used it"), "context_summary": "It is about numbers.",
        "source_handoff_ids": [first],
    });
    env.send_ready(&id, &[], &delegate(&next));
    let told = crate::tape::texts(&env).pop().unwrap();
    assert!(told.contains("It is about numbers.") && told.contains("the answer is 42"), "{told}");
    env.send_ready(
        &id,
        &[],
        &delegate(&json!({
            "agent_id": "general", "task": "x", "context_summary": "c", "source_handoff_ids": ["h_none"],
        })),
    );
    assert_eq!(env.last_answer(&id), "error: there is no handoff `h_none`");
    // A person can give a result on as well.
    env.send_ready(&id, &["--with", first.as_str().unwrap()], &say("read it"));
    let told = crate::tape::texts(&env).pop().unwrap();
    assert!(told.contains("the answer is 42"), "{told}");
}

#[test]
fn nothing_of_a_child_but_its_reply_enters_the_parents_context() {
    let env = crate::tape::taped();
    let script =
        steps(&["look", "@think secret thought", "@say secret words", "@run echo secret output", "@answer the reply"]);
    let id = env.create_with(&["--model", "demo", "--agent", "engineer"], &super::delegate("general", &script));
    env.wait_for(&id, "ready");
    let finished = env.events(&id).into_iter().find(|event| event["type"] == "tool_finished").unwrap();
    let output = finished["output"].as_str().unwrap();
    assert!(output.contains("the reply") && !output.contains("secret"), "{output}");
    // Another agent that is told the whole conversation learns no more.
    env.send_ready(&id, &["--model", "taped"], &say("heard it"));
    let told = crate::tape::texts(&env).pop().unwrap();
    assert!(told.contains("the reply"), "{told}");
    // The script itself is the parent's own call.
    let replayed = told.replace(&script.replace('\n', "\\n"), "");
    assert!(!replayed.contains("secret"), "{replayed}");
}
