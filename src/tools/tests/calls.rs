//! What becomes of a call, right or wrong.

use super::*;

fn order(facade: Facade, agent: &str, prompt: &str, label: &str) -> Order {
    Order {
        facade,
        agent: agent.into(),
        persona: None,
        prompt: prompt.into(),
        context: None,
        label: label.into(),
        sources: vec![],
        model: None,
        effort: None,
        note: None,
        hold: Hold::Foreground,
        timeout: None,
    }
}

#[track_caller]
fn check(name: &str, arguments: Value, expected: Request) {
    assert_eq!(parse(name, &arguments), Ok(expected));
}

#[track_caller]
fn refuses(name: &str, arguments: Value, expected: &str) {
    assert_eq!(parse(name, &arguments), Err(expected.to_owned()));
}

#[test]
fn delegate_reads_its_parameters() {
    check(
        "delegate",
        json!({ "agent_id": " planner ", "task": "Plan it.\n", "context_summary": "We know.", "source_handoff_ids": ["h_1", " "] }),
        Request::Delegate(Order {
            context: Some("We know.".into()),
            sources: vec!["h_1".into()],
            ..order(Facade::Delegate, "planner", "Plan it.\n", "Plan it.")
        }),
    );
}

#[test]
fn exit_plan_mode_takes_nothing() {
    check("exit_plan_mode", json!({}), Request::ExitPlanMode);
    check("exit_plan_mode", json!(null), Request::ExitPlanMode);
    assert!(parse("exit_plan_mode", &json!({ "plan": "# Mine" })).unwrap_err().starts_with("exit_plan_mode: "));
}

#[test]
fn delegate_says_what_is_missing() {
    let full = json!({ "agent_id": "a", "task": "t", "context_summary": "c" });
    for key in ["agent_id", "task", "context_summary"] {
        for blank in [json!(null), json!(" \n")] {
            let mut arguments = full.clone();
            arguments[key] = blank;
            refuses("delegate", arguments, &format!("{key} is required"));
        }
    }
    let mut long = full;
    long["context_summary"] = json!("ä".repeat(2000));
    assert!(parse("delegate", &long).is_ok());
    long["context_summary"] = json!("ä".repeat(2001));
    refuses("delegate", long, "context_summary exceeds maximum length: maximum 2000 characters");
}

#[test]
fn a_persona_comes_with_its_agent() {
    let strict = Some("strict".to_owned());
    for (name, arguments, facade) in [
        ("delegate", json!({ "agent_id": "auditor:strict", "task": "t", "context_summary": "c" }), Facade::Delegate),
        ("task", json!({ "agentType": "auditor: strict", "prompt": "t", "description": "d" }), Facade::Task),
        ("Agent", json!({ "subagent_type": "auditor:strict", "prompt": "t" }), Facade::Agent),
        ("spawn_agent", json!({ "agent_type": "auditor", "agent_name": "strict", "message": "t" }), Facade::SpawnAgent),
    ] {
        let Ok(Request::Delegate(order)) = parse(name, &arguments) else { panic!("{name}") };
        assert_eq!((order.facade, order.agent.as_str(), order.persona), (facade, "auditor", strict.clone()));
    }
}

#[test]
fn task_reads_its_parameters() {
    let full = json!({ "description": "Find it", "prompt": "Where?", "agentType": "explore" });
    check("task", full.clone(), Request::Delegate(order(Facade::Task, "explore", "Where?", "Find it")));
    for key in ["description", "prompt", "agentType"] {
        let mut arguments = full.clone();
        arguments.as_object_mut().unwrap().remove(key);
        refuses("task", arguments, &format!("{key} is required"));
    }
}

#[test]
fn spawn_agent_takes_role_persona_model_effort_and_note() {
    check(
        "spawn_agent",
        json!({
            "message": "Do it.", "agent_type": "worker", "agent_name": "fast", "model": "m",
            "reasoning_effort": "low", "thread_note": " mine ",
        }),
        Request::Delegate(Order {
            persona: Some("fast".into()),
            model: Some("m".into()),
            effort: Some("low".into()),
            note: Some("mine".into()),
            hold: Hold::Detached,
            ..order(Facade::SpawnAgent, "worker", "Do it.", "Do it.")
        }),
    );
    check(
        "spawn_agent",
        json!({ "message": "Do it.", "items": null, "thread_note": " " }),
        Request::Delegate(Order {
            note: Some(String::new()),
            hold: Hold::Detached,
            ..order(Facade::SpawnAgent, "default", "Do it.", "Do it.")
        }),
    );
}

#[test]
fn a_message_comes_whole_or_in_pieces() {
    for name in ["spawn_agent", "send_input"] {
        for (message, expected) in [
            (json!({ "message": "a", "items": [] }), "Provide either message or items, but not both"),
            (json!({}), "Provide one of: message or items"),
            (json!({ "message": " " }), "Empty message can't be sent to an agent"),
            (json!({ "items": [] }), "Items can't be empty"),
            (json!({ "items": [{ "type": "text", "text": "" }] }), "Empty message can't be sent to an agent"),
            (json!({ "items": [{ "type": "text" }] }), "an item of type text needs text"),
            (json!({ "items": [{ "type": "mention", "name": "x" }] }), "an item of type mention needs path"),
            (json!({ "items": [{ "type": "skill", "path": "x" }] }), "an item of type skill needs name"),
        ] {
            let mut arguments = message;
            if name == "send_input" {
                arguments["id"] = json!("abc");
            }
            refuses(name, arguments, expected);
        }
    }
    let items = json!([
        { "type": "text", "text": "Look:" }, { "type": "local_image", "path": "a.png" },
        { "type": "mention", "name": "lib", "path": "src/lib.rs" }, { "type": "skill", "name": "$tidy" },
    ]);
    let text = "Look:\nImage: `a.png`\nSee `src/lib.rs`\n$tidy".to_owned();
    check(
        "send_input",
        json!({ "id": "abc", "items": items }),
        Request::SendInput(Input { id: "abc".into(), text, when: When::NextTurn }),
    );
}

#[test]
fn agent_waits_or_runs_in_the_background() {
    let with = |extra: Value| {
        let mut arguments = json!({ "subagent_type": "general", "prompt": "Do it." });
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        parse("Agent", &arguments)
    };
    let plain = order(Facade::Agent, "general", "Do it.", "Do it.");
    assert_eq!(with(json!({})), Ok(Request::Delegate(plain.clone())));
    assert_eq!(with(json!({ "description": "" })), Ok(Request::Delegate(plain.clone())));
    assert_eq!(
        with(json!({ "description": "work", "run_in_background": true })),
        Ok(Request::Delegate(Order { label: "work".into(), hold: Hold::Background, ..plain }))
    );
    refuses("Agent", json!({ "prompt": "p" }), "Agent: subagent_type is required");
    refuses("Agent", json!({ "subagent_type": "general" }), "Agent: prompt is required");
}

#[test]
fn wait_keeps_within_its_bounds() {
    for (timeout, expected) in [
        (json!(null), 300_000),
        (json!(1), 10_000),
        (json!(10_000), 10_000),
        (json!(60_000.0), 60_000),
        (json!(1_800_000), 1_800_000),
        (json!(9e300), 1_800_000),
        (json!(u64::MAX), 1_800_000),
    ] {
        check(
            "wait",
            json!({ "ids": ["a", "b ", "a", ""], "timeout_ms": timeout }),
            Request::Wait(Wait { ids: vec!["a".into(), "b".into()], timeout: Duration::from_millis(expected) }),
        );
    }
    for timeout in [json!(0), json!(-1), json!(-1e300), json!(i64::MIN)] {
        refuses("wait", json!({ "ids": ["a"], "timeout_ms": timeout }), "timeout_ms must be greater than zero");
    }
    for ids in [json!([]), json!(null), json!([" "])] {
        refuses("wait", json!({ "ids": ids }), "ids must be non-empty");
    }
}

#[test]
fn send_input_queues_or_interrupts() {
    for (interrupt, when) in [(json!(null), When::NextTurn), (json!(false), When::NextTurn), (json!(true), When::Now)] {
        check(
            "send_input",
            json!({ "id": "abc", "message": " more ", "interrupt": interrupt }),
            Request::SendInput(Input { id: "abc".into(), text: " more ".into(), when }),
        );
    }
    refuses("send_input", json!({ "message": "m" }), "id is required");
}

#[test]
fn close_and_resume_name_one_agent() {
    check("close_agent", json!({ "id": " abc" }), Request::CloseAgent { id: "abc".into() });
    check("resume_agent", json!({ "id": "abc" }), Request::ResumeAgent { id: "abc".into() });
    for name in ["close_agent", "resume_agent"] {
        refuses(name, json!({}), "id is required");
    }
}

#[test]
fn list_active_agents_knows_three_scopes() {
    let ask = |scope, shape, closed| Request::ListActiveAgents(ListActive { scope, shape, closed });
    check("list_active_agents", Value::Null, ask(Scope::Children, Shape::Flat, Closed::Hidden));
    check(
        "list_active_agents",
        json!({ "scope": "descendants", "include_tree": true }),
        ask(Scope::Descendants, Shape::Tree, Closed::Hidden),
    );
    check(
        "list_active_agents",
        json!({ "scope": "all", "include_closed": true }),
        ask(Scope::All, Shape::Flat, Closed::Shown),
    );
    refuses(
        "list_active_agents",
        json!({ "scope": "mine" }),
        "unsupported scope \"mine\"; expected one of: children, descendants, all",
    );
}

#[test]
fn a_blank_note_clears() {
    for (note, expected) in [(json!(" x "), Some("x")), (json!(" "), None), (json!(null), None)] {
        let note_of = |note: Option<&str>| Request::SetThreadNote { id: "a".into(), note: note.map(str::to_owned) };
        check("set_thread_note", json!({ "id": "a", "note": note }), note_of(expected));
    }
}

#[test]
fn list_agents_filters_and_expands() {
    check("list_agents", json!({}), Request::ListAgents { agent: None, detail: Detail::Brief });
    check(
        "list_agents",
        json!({ "agent_type": "worker", "expanded": true }),
        Request::ListAgents { agent: Some("worker".into()), detail: Detail::Expanded },
    );
}

#[test]
fn tasks_and_reviews_are_read_by_their_room() {
    check(
        "task_workflow",
        json!({ "action": "create", "title": " Do it ", "status": "in_progress", "notes": "" }),
        Request::TaskWorkflow(Change::Create {
            id: None,
            parent: None,
            title: "Do it".into(),
            kind: None,
            start: Start::InProgress,
            notes: None,
        }),
    );
    refuses(
        "task_workflow",
        json!({ "action": "review" }),
        "task_workflow: action must be list, create, update, block, or complete. Use task_review for reviews.",
    );
    check(
        "task_review",
        json!({ "action": "review", "task_id": "t1", "review_status": "pass", "review_summary": "Good." }),
        Request::TaskReview(ReviewChange::Record {
            id: "t1".into(),
            status: ReviewStatus::Pass,
            summary: "Good.".into(),
        }),
    );
    refuses(
        "task_review",
        json!({ "action": "review", "task_id": "t1", "review_status": "great", "review_summary": "s" }),
        "task_review failed: review_status must be pass, concern, fail, or accepted.",
    );
}

#[test]
fn todos_are_the_whole_list() {
    let todo = |content: &str, status| Todo { content: content.into(), status };
    check(
        "todo_write",
        json!({ "todos": [{ "content": "a", "status": "in_progress" }, { "content": "b", "status": "skipped" }] }),
        Request::TodoWrite(vec![todo("a", TodoStatus::InProgress), todo("b", TodoStatus::Skipped)]),
    );
    check("todo_write", json!({ "todos": [] }), Request::TodoWrite(vec![]));
    refuses("todo_write", json!({}), "todo_write: todos is required; an empty list clears it");
    refuses(
        "todo_write",
        json!({ "todos": [{ "content": "a", "status": "in_progress" }, { "content": "b", "status": "in_progress" }] }),
        "todo_write: at most one todo can be in_progress, not 2",
    );
    refuses("todo_write", json!({ "todos": [{ "status": "pending" }] }), "todo_write: every todo needs content");
    refuses("todo_write", json!({ "todos": [{ "content": "a" }] }), "todo_write: every todo needs a status");
}

#[test]
fn a_question_has_options_of_two_kinds() {
    check(
        "question",
        json!({
            "question": "Which?", "options": ["a", { "label": "b", "role": "reject" }], "multiple": true,
            "purpose": "planner_save_plan",
        }),
        Request::Question(Question {
            text: "Which?".into(),
            options: vec![
                Alternative { label: "a".into(), role: None },
                Alternative { label: "b".into(), role: Some(Consent::Reject) },
            ],
            choice: Choice::Several,
            purpose: Some("planner_save_plan".into()),
        }),
    );
    check(
        "question",
        json!({ "question": "Why?" }),
        Request::Question(Question { text: "Why?".into(), options: vec![], choice: Choice::One, purpose: None }),
    );
    let parsed =
        parse("question", &json!({ "question": "q", "options": [{ "label": "Go", "role": "approve" }, "No"] }));
    let Ok(Request::Question(question)) = parsed else { panic!("{parsed:?}") };
    assert_eq!(question.options.iter().map(Alternative::shown).collect::<Vec<_>>(), ["Go (approve)", "No"]);
    refuses("question", json!({ "options": ["a"] }), "question failed: question is required.");
    refuses(
        "question",
        json!({ "question": "q", "options": ["a", " "] }),
        "question failed: an option must not be blank.",
    );
}

#[test]
fn skills_are_named_with_or_without_the_sign() {
    check("skill", json!({ "name": "$tidy" }), Request::Skill { name: "tidy".into(), section: None });
    let section = Some("Usage".into());
    check("skill", json!({ "name": "tidy", "section": " Usage" }), Request::Skill { name: "tidy".into(), section });
    check("search_skills", json!({ "query": "x" }), Request::SearchSkills { query: "x".into() });
    refuses("skill", json!({}), "skill: name is required");
    refuses("search_skills", json!({ "query": "" }), "search_skills: query is required");
}

#[test]
fn what_does_not_fit_is_named() {
    for (name, arguments, expected) in [
        ("bash", json!({}), "unknown tool `bash`"),
        ("wait", json!([["a"]]), "wait: arguments must be an object"),
        ("skill", json!("x"), "skill: arguments must be an object"),
        ("skill", json!({ "name": 3 }), "skill: `name`: invalid type: integer `3`, expected a string"),
        (
            "skill",
            json!({ "name": "x", "part": "y" }),
            "skill: `part`: unknown field `part`, expected `name` or `section`",
        ),
        (
            "todo_write",
            json!({ "todos": [{ "content": "a", "status": "done" }] }),
            "todo_write: `todos[0].status`: unknown variant `done`, expected one of `pending`, `in_progress`, \
             `completed`, `skipped`",
        ),
        (
            "question",
            json!({ "question": "q", "options": [{ "label": "a", "role": "maybe" }] }),
            "question: `options[0]`: expected a string, or an object with a label and the role approve or reject",
        ),
    ] {
        refuses(name, arguments, expected);
    }
}

#[test]
fn a_call_waits_for_a_child_a_person_or_nothing() {
    let delegate = |hold| Request::Delegate(Order { hold, ..order(Facade::Agent, "a", "p", "l") });
    let question = parse("question", &json!({ "question": "q" })).unwrap();
    for (request, expected) in [
        (delegate(Hold::Foreground), Waits::Child),
        (delegate(Hold::Detached), Waits::Nothing),
        (delegate(Hold::Background), Waits::Nothing),
        (parse("wait", &json!({ "ids": ["a"] })).unwrap(), Waits::Child),
        (question, Waits::Person),
        (Request::TodoWrite(vec![]), Waits::Nothing),
        (Request::CloseAgent { id: "a".into() }, Waits::Nothing),
    ] {
        assert_eq!(request.waits_for(), expected, "{request:?}");
    }
}
