//! Which tools a turn has, and schemas that every agent takes.

use super::*;
use crate::tool::ToolName;

#[test]
fn every_agent_takes_the_schemas() {
    let agents = [offer("general", &[]), offer("auditor", &["strict"])];
    for facade in FACADES {
        for tool in served(&Context { planning: Planning::On, ..context(&|_| true, facade, &agents) }) {
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
                        "default" => !value.is_null(),
                        // Two kinds of one thing; what may be absent is said by `required`.
                        "anyOf" => value.as_array().is_some_and(|all| all.len() > 1),
                        _ => false,
                    };
                    assert!(known, "{}: {keyword}: {value}", tool.name);
                }
                assert!(object.contains_key("type") != object.contains_key("anyOf"), "{}: {schema}", tool.name);
                if object.get("type") == Some(&json!("object")) {
                    assert!(object.contains_key("properties"), "{}", tool.name);
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
        (Facade::Delegate, "question", json!(["question", "options"])),
        (Facade::Delegate, "list_agents", Value::Null),
    ] {
        assert_eq!(required(facade, name), expected, "{name}");
    }
}

#[test]
fn a_tool_outside_the_surface_is_not_advertised() {
    let agents = [offer("general", &[])];
    let all = names(&context(&|_| true, Facade::Delegate, &agents));
    assert_eq!(all.first().map(String::as_str), Some("delegate"));
    assert_eq!(names(&context(&|_| false, Facade::Delegate, &agents)), [""; 0]);
    for name in &all {
        let canonical = ToolName::read(name);
        let without = |tool: Tool| ToolName::Known(tool) != canonical;
        let context = context(&without, Facade::Delegate, &agents);
        let expected: Vec<_> = all.iter().filter(|other| ToolName::read(other) != canonical).cloned().collect();
        assert_eq!(names(&context), expected);
        assert!(!is_served(&context, name));
    }
}

#[test]
fn what_is_served_is_what_is_advertised() {
    let agents = [offer("general", &[])];
    for facade in FACADES {
        for (delegation, todos, skills, planning) in [
            (Delegation::Shown, Todos::Served, Skills::Present, Planning::On),
            (Delegation::Hidden, Todos::Native, Skills::Absent, Planning::Off),
        ] {
            let context = Context { delegation, todos, skills, planning, ..context(&|_| true, facade, &agents) };
            let advertised = names(&context);
            for name in NAMES.iter().chain(&["bash", ""]) {
                assert_eq!(is_served(&context, name), advertised.iter().any(|tool| tool == name), "{name}");
            }
        }
    }
}

#[test]
fn the_agent_is_one_of_the_resolved_ones() {
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
            tool.description
                .ends_with("Agents:\n- general: What general is for.\n- auditor [strict, fast]: What auditor is for.")
        );
    }
}

#[test]
fn without_an_agent_there_is_nothing_to_delegate_to() {
    for facade in FACADES {
        let context = context(&|_| true, facade, &[]);
        assert!(!is_served(&context, facade.name()));
        // Children of earlier turns can still be collected.
        assert!(is_served(&context, "wait"));
    }
}

#[test]
fn a_child_sees_no_delegation_whatever_its_surface_says() {
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
fn the_way_out_of_plan_mode_is_listed_only_there() {
    for surface in [&|_: Tool| true, &|_: Tool| false] as [&dyn Fn(Tool) -> bool; 2] {
        let context = context(surface, Facade::Delegate, &[]);
        assert!(!is_served(&context, "exit_plan_mode"));
        let planning = Context { planning: Planning::On, ..context };
        assert!(is_served(&planning, "exit_plan_mode"));
        assert!(names(&planning).contains(&"exit_plan_mode".to_owned()));
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
