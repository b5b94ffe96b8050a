//! What is advertised, and what becomes of a call.

use std::time::Duration;

use jsonschema::is_valid;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::delegation::{Closed, Scope, Shape, When};
use crate::workflow::{ReviewStatus, Start, TodoStatus};

const FACADES: [Facade; 4] = [Facade::Delegate, Facade::Task, Facade::SpawnAgent, Facade::Agent];

const NAMES: [&str; 17] = [
    "delegate",
    "task",
    "spawn_agent",
    "Agent",
    "wait",
    "send_input",
    "close_agent",
    "resume_agent",
    "set_thread_note",
    "list_active_agents",
    "list_agents",
    "task_workflow",
    "task_review",
    "todo_write",
    "question",
    "skill",
    "search_skills",
];

fn offer(id: &str, personas: &[&str]) -> Offer {
    Offer {
        id: id.into(),
        description: format!("What {id} is for."),
        personas: personas.iter().map(|&p| p.into()).collect(),
    }
}

fn context<'a>(has: &'a dyn Fn(&str) -> bool, facade: Facade, agents: &'a [Offer]) -> Context<'a> {
    Context { has, facade, agents, delegation: Delegation::Shown, todos: Todos::Served, skills: Skills::Present }
}

fn names(context: &Context<'_>) -> Vec<String> {
    served(context).into_iter().map(|tool| tool.name).collect()
}

/// Every object inside a schema that is a schema itself.
fn schemas(schema: &Value) -> Vec<&Value> {
    let inside = schema["properties"].as_object().into_iter().flat_map(|properties| properties.values());
    let items = schema.get("items");
    std::iter::once(schema).chain(inside.chain(items).flat_map(schemas)).collect()
}

mod advertised {
    use super::*;

    #[test]
    fn every_agent_takes_the_schemas() {
        let agents = [offer("general", &[]), offer("auditor", &["strict"])];
        for facade in FACADES {
            for tool in served(&context(&|_| true, facade, &agents)) {
                jsonschema::meta::validate(&tool.input_schema).unwrap();
                assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
                for schema in schemas(&tool.input_schema) {
                    let object = schema.as_object().unwrap();
                    for (keyword, value) in object {
                        let known = match keyword.as_str() {
                            "type" => value.is_string(),
                            "description" => value.is_string(),
                            "enum" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
                            "properties" => value.is_object(),
                            "required" => value.is_array(),
                            "additionalProperties" => value == false,
                            "items" => value.is_object(),
                            _ => false,
                        };
                        assert!(known, "{}: {keyword}: {value}", tool.name);
                    }
                    assert!(object.contains_key("type"), "{}: {schema}", tool.name);
                    if object["type"] == "object" {
                        assert_eq!(object["additionalProperties"], false, "{}", tool.name);
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_tool_needs_is_required() {
        let agents = [offer("general", &[])];
        let required = |facade, name: &str| {
            let tools = served(&context(&|_| true, facade, &agents));
            tools.into_iter().find(|tool| tool.name == name).unwrap().input_schema["required"].clone()
        };
        for (facade, name, expected) in [
            (Facade::Delegate, "delegate", json!(["agent_id", "task", "context_summary"])),
            (Facade::Task, "task", json!(["description", "prompt", "agentType"])),
            (Facade::SpawnAgent, "spawn_agent", Value::Null),
            (Facade::Agent, "Agent", json!(["subagent_type", "prompt"])),
            (Facade::Delegate, "wait", json!(["ids"])),
            (Facade::Delegate, "send_input", json!(["id"])),
            (Facade::Delegate, "task_workflow", json!(["action"])),
            (Facade::Delegate, "task_review", json!(["action"])),
            (Facade::Delegate, "todo_write", json!(["todos"])),
            (Facade::Delegate, "question", json!(["question"])),
            (Facade::Delegate, "list_agents", Value::Null),
        ] {
            assert_eq!(required(facade, name), expected, "{name}");
        }
    }

    #[test]
    fn r36_a_tool_outside_the_surface_is_not_advertised() {
        let agents = [offer("general", &[])];
        let all = names(&context(&|_| true, Facade::Delegate, &agents));
        assert_eq!(all.len(), 14);
        assert_eq!(names(&context(&|_| false, Facade::Delegate, &agents)), [""; 0]);
        for name in &all {
            let canonical = if name == "todo_write" { "todo" } else { name };
            let without = |tool: &str| tool != canonical;
            let context = context(&without, Facade::Delegate, &agents);
            let expected: Vec<_> = all.iter().filter(|other| *other != name).cloned().collect();
            assert_eq!(names(&context), expected);
            assert!(!is_served(&context, name));
        }
    }

    #[test]
    fn r36_what_is_served_is_what_is_advertised() {
        let agents = [offer("general", &[])];
        for facade in FACADES {
            for (delegation, todos, skills) in [
                (Delegation::Shown, Todos::Served, Skills::Present),
                (Delegation::Hidden, Todos::Native, Skills::Absent),
            ] {
                let context = Context { delegation, todos, skills, ..context(&|_| true, facade, &agents) };
                let advertised = names(&context);
                for name in NAMES.iter().chain(&["bash", ""]) {
                    assert_eq!(is_served(&context, name), advertised.iter().any(|tool| tool == name), "{name}");
                }
            }
        }
    }

    #[test]
    fn r51_the_agent_is_one_of_the_resolved_ones() {
        let agents = [offer("general", &[]), offer("auditor", &["strict", "fast"])];
        let voices = json!(["general", "auditor", "auditor:strict", "auditor:fast"]);
        for (facade, parameter, expected) in [
            (Facade::Delegate, "agent_id", &voices),
            (Facade::Task, "agentType", &voices),
            (Facade::SpawnAgent, "agent_type", &json!(["general", "auditor"])),
            (Facade::Agent, "subagent_type", &voices),
        ] {
            let tools = served(&context(&|_| true, facade, &agents));
            let tool = &tools[0];
            assert_eq!(tool.name, facade.name());
            assert_eq!(&tool.input_schema["properties"][parameter]["enum"], expected);
            assert!(
                tool.description.ends_with(
                    "Agents:\n- general: What general is for.\n- auditor [strict, fast]: What auditor is for."
                )
            );
        }
    }

    #[test]
    fn r51_without_an_agent_there_is_nothing_to_delegate_to() {
        for facade in FACADES {
            let context = context(&|_| true, facade, &[]);
            assert!(!is_served(&context, facade.name()));
            // Children of earlier turns can still be collected.
            assert!(is_served(&context, "wait"));
        }
    }

    #[test]
    fn r52_a_child_sees_no_delegation_whatever_its_surface_says() {
        let agents = [offer("general", &[])];
        for facade in FACADES {
            let context = Context { delegation: Delegation::Hidden, ..context(&|_| true, facade, &agents) };
            for name in NAMES.iter().filter(|name| FACADES.iter().any(|facade| facade.name() == **name)) {
                assert!(!is_served(&context, name));
            }
            assert!(!is_served(&context, "wait") && !is_served(&context, "close_agent"));
            assert!(is_served(&context, "list_agents") && is_served(&context, "list_active_agents"));
        }
    }

    #[test]
    fn one_facade_per_session() {
        let agents = [offer("general", &[])];
        for facade in FACADES {
            let context = context(&|_| true, facade, &agents);
            let shown: Vec<_> = FACADES.iter().filter(|other| is_served(&context, other.name())).collect();
            assert_eq!(shown, [&facade]);
        }
    }

    #[test]
    fn todos_and_skills_are_served_where_they_are_of_use() {
        let context = context(&|_| true, Facade::Delegate, &[]);
        assert!(!is_served(&Context { todos: Todos::Native, ..context }, "todo_write"));
        for name in ["skill", "search_skills"] {
            assert!(is_served(&context, name));
            assert!(!is_served(&Context { skills: Skills::Absent, ..context }, name));
        }
    }

    #[test]
    fn the_roster_stays_short() {
        let agents: Vec<_> =
            (0..15).map(|n| Offer { description: "many\nwords ".repeat(20), ..offer(&format!("a{n}"), &[]) }).collect();
        let tools = served(&context(&|_| true, Facade::Task, &agents));
        let (_, roster) = tools[0].description.split_once("Agents:\n").unwrap();
        let lines: Vec<_> = roster.lines().collect();
        assert_eq!(lines.len(), 13);
        assert_eq!(lines[12], "- and 3 more: `list_agents` tells about them");
        let described = lines[0].strip_prefix("- a0: ").unwrap();
        assert!(described.chars().count() == 120 && described.ends_with('…'), "{described}");
        assert_eq!(tools[0].input_schema["properties"]["agentType"]["enum"].as_array().unwrap().len(), 15);
    }
}

mod calls {
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
    fn delegate_says_what_is_missing() {
        let full = json!({ "agent_id": "a", "task": "t", "context_summary": "c" });
        for key in ["agent_id", "task", "context_summary"] {
            for blank in [json!(null), json!(" \n")] {
                let mut arguments = full.clone();
                arguments[key] = blank;
                refuses("delegate", arguments, &format!("{key} is required"));
            }
        }
        let mut long = full.clone();
        long["context_summary"] = json!("ä".repeat(2000));
        assert!(parse("delegate", &long).is_ok());
        long["context_summary"] = json!("ä".repeat(2001));
        refuses("delegate", long, "context_summary exceeds maximum length: maximum 2000 characters");
    }

    #[test]
    fn a_persona_comes_with_its_agent() {
        let strict = Some("strict".to_owned());
        for (name, arguments, facade) in [
            (
                "delegate",
                json!({ "agent_id": "auditor:strict", "task": "t", "context_summary": "c" }),
                Facade::Delegate,
            ),
            ("task", json!({ "agentType": "auditor: strict", "prompt": "t", "description": "d" }), Facade::Task),
            ("Agent", json!({ "subagent_type": "auditor:strict", "prompt": "t" }), Facade::Agent),
            (
                "spawn_agent",
                json!({ "agent_type": "auditor", "agent_name": "strict", "message": "t" }),
                Facade::SpawnAgent,
            ),
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
    fn r61_spawn_agent_takes_role_persona_model_effort_and_note() {
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
    fn r61_a_message_comes_whole_or_in_pieces() {
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
    fn r67_agent_waits_or_runs_in_the_background() {
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
    fn r62_wait_keeps_within_its_bounds() {
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
    fn r63_send_input_queues_or_interrupts() {
        for (interrupt, when) in
            [(json!(null), When::NextTurn), (json!(false), When::NextTurn), (json!(true), When::Now)]
        {
            check(
                "send_input",
                json!({ "id": "abc", "message": " more ", "interrupt": interrupt }),
                Request::SendInput(Input { id: "abc".into(), text: " more ".into(), when }),
            );
        }
        refuses("send_input", json!({ "message": "m" }), "id is required");
    }

    #[test]
    fn r64_close_and_resume_name_one_agent() {
        check("close_agent", json!({ "id": " abc" }), Request::CloseAgent { id: "abc".into() });
        check("resume_agent", json!({ "id": "abc" }), Request::ResumeAgent { id: "abc".into() });
        for name in ["close_agent", "resume_agent"] {
            refuses(name, json!({}), "id is required");
        }
    }

    #[test]
    fn r65_list_active_agents_knows_three_scopes() {
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
    fn r66_a_blank_note_clears() {
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
    fn r98_r99_tasks_and_reviews_are_read_by_their_room() {
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
    fn r100_todos_are_the_whole_list() {
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
                options: vec!["a".into(), "b".into()],
                choice: Choice::Several,
                purpose: Some("planner_save_plan".into()),
            }),
        );
        check(
            "question",
            json!({ "question": "Why?" }),
            Request::Question(Question { text: "Why?".into(), options: vec![], choice: Choice::One, purpose: None }),
        );
        refuses("question", json!({ "options": ["a"] }), "question failed: question is required.");
        refuses(
            "question",
            json!({ "question": "q", "options": ["a", " "] }),
            "question failed: an option must not be blank.",
        );
    }

    #[test]
    fn skills_are_named_with_or_without_the_sign() {
        check("skill", json!({ "name": "$tidy" }), Request::Skill { name: "tidy".into() });
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
                json!({ "name": "x", "section": "y" }),
                "skill: `section`: unknown field `section`, expected `name`",
            ),
            (
                "todo_write",
                json!({ "todos": [{ "content": "a", "status": "done" }] }),
                "todo_write: `todos[0].status`: unknown variant `done`, expected one of `pending`, `in_progress`, \
                 `completed`, `skipped`",
            ),
            ("question", json!({ "question": "q", "options": [1] }), "question: `options[0]`: expected a string"),
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
}

/// Any JSON, with the keys and words that the tools know more often than not.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "action",
        "task_id",
        "title",
        "status",
        "in_progress",
        "list",
        "update",
        "complete",
        "ids",
        "id",
        "timeout_ms",
        "message",
        "items",
        "type",
        "text",
        "agent_id",
        "task",
        "context_summary",
        "prompt",
        "agentType",
        "todos",
        "content",
        "question",
        "options",
        "label",
        "scope",
        "review",
        "name",
        "a:b",
        ":",
        "",
        "\u{0}é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        let key = word.clone().prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_call_makes_it_panic(name in prop::sample::select(NAMES.to_vec()), arguments in any_json()) {
        parse(name, &arguments).ok();
    }

    /// What is read without complaint fits the schema, but for `null`s and what only the words say.
    #[test]
    fn what_is_read_has_no_unknown_properties(name in prop::sample::select(NAMES.to_vec()), arguments in any_json()) {
        let agents = [offer("general", &[])];
        let facade = FACADES.into_iter().find(|facade| facade.name() == name).unwrap_or(Facade::Delegate);
        let tools = served(&context(&|_| true, facade, &agents));
        let schema = &tools.iter().find(|tool| tool.name == name).unwrap().input_schema;
        if parse(name, &arguments).is_ok() && let Some(given) = arguments.as_object() {
            let known = schema["properties"].as_object().unwrap();
            prop_assert!(given.keys().all(|key| known.contains_key(key)));
        }
    }
}

#[test]
fn a_call_that_fits_its_schema_is_read() {
    let agents = [offer("general", &[])];
    let tools = served(&context(&|_| true, Facade::Delegate, &agents));
    for (name, arguments) in [
        ("delegate", json!({ "agent_id": "general", "task": "t", "context_summary": "c" })),
        ("wait", json!({ "ids": ["a"], "timeout_ms": 20_000 })),
        ("list_active_agents", json!({ "scope": "all" })),
        ("task_workflow", json!({ "action": "list" })),
        ("task_review", json!({ "action": "list" })),
        ("todo_write", json!({ "todos": [{ "content": "a", "status": "pending" }] })),
        ("question", json!({ "question": "q", "options": ["a"] })),
    ] {
        let schema = &tools.iter().find(|tool| tool.name == name).unwrap().input_schema;
        assert!(is_valid(schema, &arguments), "{name}: {schema}");
        assert!(parse(name, &arguments).is_ok(), "{name}");
    }
}
