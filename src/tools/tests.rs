//! What is advertised, and what becomes of a call.

mod advertised;
mod calls;
mod documents;
mod profiles;
mod registry;

use std::time::Duration;

use jsonschema::is_valid;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::delegation::{Closed, Scope, Shape, When};
use crate::workflow::{ReviewStatus, Start, TodoStatus};

const FACADES: [Facade; 4] = [Facade::Delegate, Facade::Task, Facade::SpawnAgent, Facade::Agent];

const NAMES: [&str; 18] = [
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
    "exit_plan_mode",
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

fn context<'a>(has: &'a dyn Fn(Tool) -> bool, facade: Facade, agents: &'a [Offer]) -> Context<'a> {
    Context {
        has,
        names: &|_| false,
        facade,
        agents,
        delegation: Delegation::Shown,
        todos: Todos::Served,
        skills: Skills::Present,
        planning: Planning::Off,
        profile: Profile::Native,
        access: Access::Write,
        mutations: Mutations::Withheld,
        shell: Shell::Own,
    }
}

fn names(context: &Context<'_>) -> Vec<String> {
    served(context).into_iter().map(|tool| tool.name).collect()
}

/// Every object inside a schema that is a schema itself.
fn schemas(schema: &Value) -> Vec<&Value> {
    let inside = schema["properties"].as_object().into_iter().flat_map(|properties| properties.values());
    let items = schema.get("items");
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    std::iter::once(schema).chain(inside.chain(items).chain(choices).flat_map(schemas)).collect()
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
        let tools = served(&Context { planning: Planning::On, ..context(&|_| true, facade, &agents) });
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
        (
            "question",
            json!({ "question": "q", "options": ["a", { "label": "b", "role": "reject" }, { "label": "c" }] }),
        ),
        ("skill", json!({ "name": "x", "section": "y" })),
    ] {
        let schema = &tools.iter().find(|tool| tool.name == name).unwrap().input_schema;
        assert!(is_valid(schema, &arguments), "{name}: {schema}");
        assert!(parse(name, &arguments).is_ok(), "{name}");
    }
}
