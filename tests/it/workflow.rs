//! Tasks, reviews, plans and todos as agents keep them and a person decides about them.

use std::fs;

use serde_json::{Value, json};

use crate::delegate::{child, children, get, handoff, parent, played, record};
use crate::env::TestEnv;
use crate::script::{call, delegate, say, steps, write};

#[track_caller]
fn workflow(env: &TestEnv, id: &str) -> Value {
    get(env, &format!("/v1/sessions/{id}/workflow"))
}

fn task(arguments: &Value) -> String {
    call("task_workflow", arguments)
}

/// A task that is done.
fn done(name: &str) -> String {
    steps(&[
        task(&json!({ "action": "create", "task_id": name, "title": format!("Do {name}") })),
        task(&json!({ "action": "complete", "task_id": name, "summary": "did it" })),
    ])
}

/// A plan, shown and handed over. Whoever is told to carry it out ends with this answer.
pub(crate) fn plan(title: &str, answer: &str) -> String {
    let ends = json!({ "question": "Done?", "options": ["Save plan", "Stop"], "purpose": "planner_save_plan" });
    steps(&[format!("@say <<END\n# {title}\n\n1. Do it.\n\n@answer {answer}\nEND"), call("question", &ends)])
}

#[track_caller]
fn planned(env: &TestEnv, script: &str) -> String {
    let id = env.create_with(&["--model", "demo", "--agent", "planner", "--title", "Parser work"], script);
    env.wait_for(&id, "asking");
    id
}

/// Who worked in each turn.
fn agents(env: &TestEnv, id: &str) -> Vec<Value> {
    let started = env.events(id).into_iter().filter(|event| event["type"] == "turn_started");
    started.map(|event| event["agent"]["id"].clone()).collect()
}

#[test]
fn a_person_saves_a_plan_and_no_model_is_asked() {
    let env = TestEnv::new();
    let id = planned(&env, &plan("Rewrite the parser", "applied"));
    let asked = &env.session(&id)["questions"][0];
    assert_eq!(asked["text"], "What should happen with the completed plan?");
    assert_eq!(asked["options"], json!(["Save plan", "Apply plan", "Revise plan", "Stop"]));
    let kept = workflow(&env, &id)["plan"].clone();
    assert_eq!((&kept["title"], &kept["decision"]), (&json!("Rewrite the parser"), &Value::Null));
    assert_eq!((&kept["created_by"], &kept["source"]), (&json!(id), &json!("turn 1")));
    // What was decided about is the same after a restart.
    env.kill_daemon();
    assert_eq!(env.status(&id), "asking");
    let answered = env.coppice(&["answer", &id, "Save plan"]).exits(0).stderr;
    env.wait_for(&id, "ready");
    let path = ".coppice/plans/parser-work-plan.md";
    let told = format!("saved the plan to `{}`\n", env.worktree(&id).join(path).display());
    assert!(answered.ends_with(&told), "{answered}");
    let saved = fs::read_to_string(env.worktree(&id).join(path)).unwrap();
    assert_eq!(saved, "# Rewrite the parser\n\n1. Do it.\n\n@answer applied\n");
    let kept = workflow(&env, &id)["plan"].clone();
    assert_eq!((&kept["decision"], &kept["saved_to"]), (&json!("save"), &json!(path)));
    let said = env.events(&id).into_iter().rfind(|event| event["type"] == "message").unwrap();
    assert_eq!(said["text"], format!("Saved plan to `{path}`."));
    assert_eq!(agents(&env, &id), ["planner"]);
    assert!(!env.repo().join(".coppice").exists(), "the checkout of the user is left alone");
}

#[test]
fn a_plan_is_revised_by_the_planner_and_applied_by_an_engineer() {
    let env = TestEnv::new();
    let second = plan("Second", "x").replace("END", "SECOND");
    let id = planned(&env, &plan("First", "x").replace("@answer x", &second));
    env.coppice(&["answer", &id, "Revise plan: shorter"]).succeeds();
    env.wait_for(&id, "asking");
    let kept = workflow(&env, &id)["plan"].clone();
    assert_eq!(
        (&kept["title"], &kept["source"], &kept["decision"]),
        (&json!("Second"), &json!("turn 2"), &Value::Null)
    );
    let queued = env.events(&id).into_iter().rfind(|event| event["type"] == "prompt_queued").unwrap();
    assert!(queued["text"].as_str().unwrap().contains("shorter"), "{queued:#}");
    assert_eq!(queued["author"], "coppice");
    let refused = env.coppice(&["answer", &id, "7"]).exits(2);
    assert!(refused.stderr.contains("`7` is not one of the 4 options"), "{}", refused.stderr);
    env.coppice(&["answer", &id, "2"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(agents(&env, &id), ["planner", "planner", "engineer"]);
    assert_eq!(
        (&env.session(&id)["agent"], &workflow(&env, &id)["plan"]["decision"]),
        (&json!("engineer"), &json!("apply"))
    );
}

#[test]
fn a_plan_that_is_stopped_is_neither_saved_nor_applied() {
    let env = TestEnv::new();
    let id = planned(&env, &plan("First", "x"));
    env.coppice(&["answer", &id, "stop"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(agents(&env, &id), ["planner"]);
    assert!(!env.worktree(&id).join(".coppice").exists());
    let said = env.events(&id).into_iter().rfind(|event| event["type"] == "message").unwrap();
    assert_eq!(said["text"], "Stopped. The plan was not saved or applied.");

    let ends = |options: Value| {
        call("question", &json!({ "question": "Done?", "options": options, "purpose": "planner_save_plan" }))
    };
    let script = steps(&[ends(json!(["a", "b"])), "@say # Shown".to_owned(), ends(json!(["a"])), say("x")]);
    let id = env.create_with(&["--model", "demo", "--agent", "planner"], &script);
    env.wait_for(&id, "ready");
    let outputs: Vec<_> =
        env.events(&id).iter().filter_map(|event| event["output"].as_str().map(str::to_owned)).collect();
    assert_eq!(
        outputs,
        [
            "error: question failed: show the complete plan as text first, then ask again.",
            "error: question failed: planner_save_plan requires exactly two options: one that accepts the plan and one \
             that revises it."
        ]
    );
    env.configure("[workflow]\nplanner_approval = false");
    let id = env.create_with(&["--model", "demo", "--agent", "planner"], &plan("A plan", "x"));
    env.wait_for(&id, "ready");
}

#[test]
fn an_answer_of_a_planner_that_hands_no_plan_over_is_an_answer() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "demo", "--agent", "planner"], &say("# Where auth is\n\nIn `src/auth.rs`."));
    env.wait_for(&id, "ready");
    assert_eq!((&env.session(&id)["questions"], &workflow(&env, &id)["plan"]), (&json!([]), &Value::Null));
    // Nor does it hold up whoever asked.
    let (id, answer) = played(&env, &delegate("planner", &say("In `src/auth.rs`.")));
    let told = record(&answer);
    assert_eq!((&told["assistant_text"], &told["plan"]), (&json!("In `src/auth.rs`."), &Value::Null));
    assert_eq!(workflow(&env, &id)["plan"], Value::Null);
}

#[test]
fn the_plan_of_a_delegated_planner_is_decided_about_at_its_parent() {
    let env = TestEnv::new();
    let id = parent(&env, &delegate("planner", &steps(&[plan("Rewrite it", "x"), say("It is short.")])));
    env.wait_for(&id, "asking");
    let child = child(&env, &id);
    assert_eq!(env.status(&child), "ready");
    assert!(!env.kinds(&child).contains(&"question_asked".to_owned()));
    let asked = &env.session(&id)["questions"][0];
    assert_eq!(asked["text"], "What should happen with the completed plan? (Rewrite it)");
    assert_eq!(asked["options"], json!(["Save plan", "Apply plan", "Revise plan", "Stop"]));
    env.coppice(&["answer", &id, "Apply plan"]).succeeds();
    env.wait_for(&id, "ready");
    let answer = env.last_answer(&id);
    let (told, decision) = answer.split_once("\n\n").unwrap();
    let told = record(told);
    assert_eq!((&told["status"], decision), (&json!("completed"), "The user wants the plan applied. Carry it out."));
    assert!(told["plan"].as_str().unwrap().starts_with("# Rewrite it\n"), "{told:#}");
    assert_eq!(agents(&env, &id), ["engineer"]);
    let kept = workflow(&env, &id)["plan"].clone();
    assert_eq!((&kept["decision"], &kept["source"]), (&json!("apply"), &handoff(&env, &id)["handoff_id"]));
}

#[test]
fn a_review_starts_by_itself_only_when_all_work_is_done_and_some_not_reviewed() {
    let env = TestEnv::new();
    // Whether a review began is known when the daemon has ended.
    let reviews = |id: &str| {
        env.end_daemon(&[]);
        children(&env, id).len()
    };
    for mode in ["off", "manual"] {
        env.configure(&format!("[workflow]\nreview_mode = \"{mode}\""));
        let (id, _) = played(&env, &done("a"));
        assert_eq!(reviews(&id), 0, "{mode}");
    }
    env.configure("[workflow]\nreview_mode = \"auto\"\nreview_model = \"demo/scripted-small\"");
    let (id, _) = played(&env, &say("nothing to review"));
    assert_eq!(reviews(&id), 0, "no tasks");
    env.send_ready(&id, &[], &steps(&[done("a"), task(&json!({ "action": "create", "title": "Open" }))]));
    assert_eq!(reviews(&id), 0, "an open task");
    let open = workflow(&env, &id)["tasks"][1]["task_id"].clone();
    let close = task(&json!({ "action": "complete", "task_id": open, "summary": "s" }));
    env.coppice(&["send", &id, &steps(&[close, crate::script::fail("broke")])]).succeeds();
    env.wait_for(&id, "failed");
    assert_eq!(reviews(&id), 0, "a failed turn");
    env.send_ready(&id, &["--agent", "builder"], &say("x"));
    assert_eq!(reviews(&id), 0, "another agent");
    env.send_ready(&id, &["--agent", "engineer"], &say("x"));
    let [review] = crate::delegate::wait_for_handoffs(&env, &id, "queued", 1).try_into().unwrap();
    drop(env.coppice(&["wait", &review, "--timeout", "30s"]));
    let kept = handoff(&env, &id);
    assert_eq!((&kept["child_agent_id"], &kept["background"]), (&json!("reviewer"), &json!(true)));
    assert_eq!((&kept["backend"], &kept["model"]), (&json!("demo"), &json!("scripted-small")));
    assert_eq!(env.session(&id)["model"], Value::Null, "the session's own model is as it was");
    assert_eq!(reviews(&id), 1, "it does not start itself again");
}

#[test]
fn a_review_begins_with_the_changes_and_what_was_asked_for() {
    let env = crate::tape::taped();
    env.coppice(&["config", "set", "tools.surface", "advisory"]).succeeds();
    env.write("notes.txt", "before\n");
    env.commit("notes");
    env.coppice(&["config", "set", "workflow.review_mode", "auto"]).succeeds();
    let id = env.create_with(
        &["--model", "taped", "--agent", "engineer"],
        &steps(&[write("notes.txt", "after"), write(".env", "KEY=secret"), write("fresh.txt", "fresh"), done("a")]),
    );
    let [review] = crate::delegate::wait_for_handoffs(&env, &id, "completed", 1).try_into().unwrap();
    let prompt = crate::tape::texts(&env).into_iter().find(|text| text.contains("Review what was done")).unwrap();
    let base = env.session(&id)["base"]["commit"].as_str().unwrap().to_owned();
    for told in [
        "> The tasks of the session:\n> a [completed] Do a",
        &format!("> The work under review is everything since commit `{base}`."),
        "> Changed files (2 files, +2 -1):\n> A fresh.txt +1 -0\n> M notes.txt +1 -1\n",
        "> -before\n> +after\n",
        "> What the work was asked for, oldest prompt first:\n> 1. @write notes.txt",
    ] {
        assert!(prompt.contains(told), "{told}\n---\n{prompt}");
    }
    assert!(!prompt.contains("+KEY=secret"), "{prompt}");
    assert_eq!(env.session(&review)["agent"], "reviewer");
    let author =
        |id: &str| env.events(id).into_iter().find(|event| event["type"] == "prompt_queued").unwrap()["author"].clone();
    assert_eq!((author(&review), author(&id)), (json!("coppice"), Value::Null));
}

#[test]
fn a_session_that_is_handed_to_a_reviewer_says_what_it_has_done() {
    let env = crate::tape::taped();
    env.coppice(&["config", "set", "tools.surface", "advisory"]).succeeds();
    let id = env.create_with(&["--model", "taped"], &steps(&[write("fresh.txt", "fresh"), say("done")]));
    env.wait_for(&id, "ready");
    env.send_ready(&id, &["--agent", "reviewer"], &say("fine"));
    env.send_ready(&id, &[], &say("still fine"));
    let told: Vec<_> = crate::tape::texts(&env).iter().map(|prompt| prompt.contains("> A fresh.txt +1 -0")).collect();
    assert_eq!(told, [false, true, false]);
}

#[test]
fn a_reviewer_looks_at_the_changes_with_tools_of_its_own() {
    let env = TestEnv::new();
    env.write("notes.txt", "before\n");
    env.commit("notes");
    let looks = steps(&[
        "@tools".to_owned(),
        call("git_diff_files", &json!({ "base": "main" })),
        call("git_show_file_at_rev", &json!({ "path": "notes.txt", "rev": "main" })),
        call("git_branch_status", &json!({})),
    ]);
    let (_, answer) = played(&env, &steps(&[write("notes.txt", "after"), delegate("reviewer", &looks)]));
    let said = record(answer.split("\n\n").last().unwrap())["assistant_text"].as_str().unwrap().to_owned();
    for expected in ["git_diff_files", "-before\n+after", "\n\nbefore\n", "dirty=false"] {
        assert!(said.contains(expected), "{expected}\n---\n{said}");
    }
    // What is told is what it has.
    let surface = env.json(&["tools", "--model", "demo", "--agent", "reviewer"]);
    let listed = |list: &str, name: &str| {
        surface[list].as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned().unwrap_or_default()
    };
    for name in ["git_diff_files", "git_show_file_at_rev", "git_branch_status", "list_git_changed_files"] {
        assert_eq!(listed("served", name)["approval"], "allow", "{name}");
    }
    assert_eq!(listed("missing", "git_blame_lines")["reason"], "surface");
    let builder = env.json(&["tools", "--model", "demo"]);
    let missing = builder["missing"].as_array().unwrap().iter().find(|tool| tool["name"] == "git_diff_files").unwrap();
    assert_eq!(missing["why"], "the agent runs git in its shell; listing this tool in `AllowTools` serves it");
}

#[test]
fn a_review_starts_by_itself_in_one_of_eight_cases() {
    let env = TestEnv::new();
    env.configure("[workflow]\nreview_mode = \"auto\"");
    for case in 0..8 {
        let (is_completed, all_completed, is_unreviewed) = (case & 1 != 0, case & 2 != 0, case & 4 != 0);
        let review = |name: &str| {
            let outcome =
                json!({ "action": "review", "task_id": name, "review_status": "pass", "review_summary": "s" });
            call("task_review", &outcome)
        };
        let other = match all_completed {
            true => done("b"),
            false => task(&json!({ "action": "create", "task_id": "b", "title": "Do b" })),
        };
        let reviews = if is_unreviewed { review("b") } else { steps(&[review("a"), review("b")]) };
        let end = if is_completed { say("done") } else { crate::script::fail("broke") };
        let id = parent(&env, &steps(&[done("a"), other, delegate("reviewer", &reviews), end]));
        env.wait_for(&id, if is_completed { "ready" } else { "failed" });
        // Whether a review began is known when the daemon has ended.
        env.end_daemon(&[]);
        let begun = children(&env, &id).len() - 1;
        assert_eq!(begun, usize::from(case == 7), "case {case:03b}");
    }
}

#[test]
fn tasks_follow_their_rules_and_outlive_the_daemon() {
    let env = TestEnv::new();
    let (id, answer) = played(
        &env,
        &steps(&[
            task(
                &json!({ "action": "create", "task_id": "epic", "title": "All of it", "kind": "epic", "status": "in_progress" }),
            ),
            task(
                &json!({ "action": "create", "task_id": "one", "title": "One", "parent_task_id": "epic", "status": "in_progress" }),
            ),
            task(&json!({ "action": "create", "task_id": "two", "title": "Two", "status": "in_progress" })),
            task(&json!({ "action": "complete", "task_id": "epic", "summary": "s" })),
            task(&json!({ "action": "update", "task_id": "one", "status": "blocked", "progress": "no key" })),
            task(&json!({ "action": "update", "task_id": "one", "status": "completed", "notes": "got one" })),
            task(&json!({ "action": "complete", "task_id": "epic", "summary": "all" })),
            task(&json!({ "action": "create", "title": "Late", "parent_task_id": "epic" })),
            task(&json!({ "action": "update", "task_id": "none", "progress": "p" })),
            task(&json!({ "action": "create" })),
            task(&json!({ "action": "update", "task_id": "one" })),
            task(&json!({ "action": "block", "task_id": "one" })),
            task(&json!({ "action": "complete", "task_id": "one" })),
            task(&json!({ "action": "review" })),
            task(&json!({ "action": "create", "title": "x", "status": "completed" })),
            call("task_review", &json!({ "action": "list" })),
        ]),
    );
    let errors: Vec<_> = answer.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    assert_eq!(
        errors,
        [
            "task_workflow: one is already in progress. Update, block, or complete it first.",
            "task_workflow: complete child tasks before completing the parent.",
            "task_workflow: parent task is complete. Use a pending parent_task_id or omit parent_task_id.",
            "task_workflow: task none not found. Use list, then retry with an existing task_id.",
            "task_workflow: create needs title.",
            "task_workflow: update needs status, progress, or notes.",
            "task_workflow: block needs block_reason.",
            "task_workflow: complete needs task_id and summary.",
            "task_workflow: action must be list, create, update, block, or complete. Use task_review for reviews.",
            "task_workflow: status must be pending or in_progress. Use complete to finish or block to block.",
            "tool `task_review` is not available to agent `engineer`",
        ]
    );
    let kept = workflow(&env, &id);
    let one = &kept["tasks"][1];
    assert_eq!(
        (&one["status"], &one["block_reason"], &one["summary"]),
        (&json!("completed"), &Value::Null, &json!("got one"))
    );
    assert_eq!(kept["tasks"].as_array().unwrap().len(), 2);
    env.kill_daemon();
    env.send_ready(&id, &[], &task(&json!({ "action": "list" })));
    assert!(env.last_answer(&id).contains("All of it"));
    assert_eq!(workflow(&env, &id), kept);
}

#[test]
fn a_delegated_reviewer_records_outcomes_on_its_parents_tasks() {
    let env = TestEnv::new();
    let review = |status: &str, summary: &str| {
        call(
            "task_review",
            &json!({ "action": "review", "task_id": "a", "review_status": status, "review_summary": summary }),
        )
    };
    let script = steps(&[
        call("task_review", &json!({ "action": "list" })),
        review("concern", "no test"),
        review("pass", "it has one"),
        review("fine", "x"),
        task(&json!({ "action": "list" })),
    ]);
    let (id, answer) = played(&env, &steps(&[done("a"), delegate("reviewer", &script)]));
    let told = answer.split("\n\n").last().unwrap();
    let said = record(told)["assistant_text"].as_str().unwrap().to_owned();
    assert!(said.contains("Do a") && said.contains("Recorded concern for a."), "{said}");
    assert!(
        said.contains("error: task_review failed: review_status must be pass, concern, fail, or accepted."),
        "{said}"
    );
    assert!(said.ends_with("error: tool `task_workflow` is not available to agent `reviewer`"), "{said}");
    let (child, kept) = (child(&env, &id), workflow(&env, &id));
    assert_eq!(kept["tasks"][0]["status"], "completed");
    assert_eq!(
        kept["tasks"][0]["reviews"],
        json!([
            { "status": "concern", "summary": "no test", "by": child },
            { "status": "pass", "summary": "it has one", "by": child },
        ])
    );
    // The family has one list, whoever of it is asked.
    assert_eq!(workflow(&env, &child), kept);
}

#[test]
fn todos_are_replaced_as_a_whole() {
    let env = TestEnv::new();
    let todo = |todos: Value| call("todo_write", &json!({ "todos": todos }));
    let item = |content: &str, status: &str| json!({ "content": content, "status": status });
    let id = env.create_ready(&steps(&[
        todo(json!([item("a", "in_progress"), item("b", "pending")])),
        todo(json!([item("b", "in_progress"), item("c", "in_progress")])),
        todo(json!([item("b", "completed")])),
        todo(json!([])),
    ]));
    let errors: Vec<_> =
        env.last_answer(&id).lines().filter(|line| line.starts_with("error: ")).map(str::to_owned).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let plans = env.events(&id).into_iter().filter(|event| event["type"] == "plan_updated");
    let plans: Vec<_> = plans.map(|event| event["entries"].clone()).collect();
    let expected =
        [json!([item("a", "in_progress"), item("b", "pending")]), json!([item("b", "completed")]), json!([])];
    assert_eq!(plans, expected);
    assert!(!env.kinds(&id).contains(&"approval_requested".to_owned()));
    // By this name a face knows that the list has a card of its own.
    let calls = env.events(&id).into_iter().filter(|event| event["type"] == "tool_started");
    assert!(calls.map(|event| event["title"].clone()).all(|title| title == "todo_write"));
    assert_eq!(workflow(&env, &id), json!({ "tasks": [], "plan": null }));
}

#[test]
fn what_an_answer_means_is_shown_and_told_back() {
    let env = TestEnv::new();
    let options = json!([{ "label": "Ship it", "role": "approve" }, { "label": "Drop it", "role": "reject" }, "Wait"]);
    let id = env.create(&call("question", &json!({ "question": "And then?", "options": options })));
    env.wait_for(&id, "asking");
    let asked = env.session(&id)["questions"][0].clone();
    assert_eq!(asked["options"], json!(["Ship it (approve)", "Drop it (reject)", "Wait"]));
    env.coppice(&["answer", &id, "2"]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "Drop it (reject)");
}

#[test]
fn skills_are_found_by_their_words_and_read_by_their_name() {
    let env = TestEnv::new();
    env.write(
        ".coppice/skills/pdf/SKILL.md",
        "---\ndescription: Makes PDFs\n---\nUse the tool.\n# Fonts\nEmbed them.\n",
    );
    let id = env.create_ready(&steps(&[
        call("search_skills", &json!({ "query": "pdf" })),
        call("skill", &json!({ "name": "$pdf" })),
        call("skill", &json!({ "name": "pdf", "section": "fonts" })),
        call("skill", &json!({ "name": "pdf", "section": "Colours" })),
        call("skill", &json!({ "name": "none" })),
    ]));
    let answer = env.last_answer(&id);
    assert!(answer.contains("Makes PDFs") && answer.contains("Use the tool."), "{answer}");
    assert_eq!(answer.matches("Use the tool.").count(), 1, "{answer}");
    assert_eq!(answer.matches("# Fonts\nEmbed them.").count(), 2, "{answer}");
    assert!(answer.contains("error: skill `pdf` has no section `Colours`; there are Fonts"), "{answer}");
    assert!(answer.ends_with("error: no skill is called `none`; there are pdf"), "{answer}");
}
