//! The tools of `coppice mcp`: what they are called, what they take. The parameters are those of the command line.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::{Annotations, Tool};

/// Whether the other side may decide what an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decisions {
    Allowed,
    Kept,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// What is to be done.
    pub(super) prompt: String,
    /// `BACKEND` or `BACKEND/MODEL`.
    pub(super) model: Option<String>,
    /// `low`, `medium`, `high` or `xhigh`.
    pub(super) reasoning: Option<String>,
    /// `AGENT` or `AGENT:PERSONA`.
    pub(super) agent: Option<String>,
    /// `plan`, `attended`, `edits` or `unattended`, and none that is wider than what is configured.
    pub(super) posture: Option<String>,
    /// The branch, tag or commit to start from; the current branch when absent.
    pub(super) base: Option<String>,
    /// A title instead of one made from the prompt.
    pub(super) title: Option<String>,
    /// Create it without starting it.
    #[serde(default)]
    pub(super) draft: bool,
    /// A directory inside the repository; the server's own when absent.
    pub(super) cwd: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// The sessions of every repository.
    #[serde(default)]
    pub(super) all: bool,
    /// Removed sessions that can be restored.
    #[serde(default)]
    pub(super) removed: bool,
    /// At most so many sessions.
    pub(super) limit: Option<u32>,
    /// A directory inside the repository; the server's own when absent.
    pub(super) cwd: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Show {
    /// The session's id, or the beginning of it.
    pub(super) id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// The sessions' ids, or the beginnings of them.
    pub(super) ids: Vec<String>,
    /// Until the first of them comes to rest.
    #[serde(default)]
    pub(super) any: bool,
    /// At most so long: a number with s, m, h or d.
    pub(super) timeout: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    /// The session's id, or the beginning of it.
    pub(super) id: String,
    pub(super) prompt: String,
    /// `BACKEND` or `BACKEND/MODEL` that works from this prompt on.
    pub(super) model: Option<String>,
    /// `low`, `medium`, `high` or `xhigh` from this prompt on.
    pub(super) reasoning: Option<String>,
    /// `AGENT` or `AGENT:PERSONA` from this prompt on.
    pub(super) agent: Option<String>,
    /// Handoffs whose results go with the prompt.
    #[serde(default)]
    pub(super) with: Vec<String>,
    /// Interrupt the turn in progress, then send.
    #[serde(default)]
    pub(super) now: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// The session's id, or the beginning of it.
    pub(super) id: String,
    /// One for each open question, in their order; a number picks the option in that place.
    pub(super) answers: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Diff {
    /// The session's id, or the beginning of it.
    pub(super) id: String,
    /// Only what this turn changed.
    pub(super) turn: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Approve {
    /// The session's id, or the beginning of it.
    pub(super) id: String,
    /// Which request, as `show` names it; the oldest when absent.
    pub(super) request: Option<String>,
    /// How far the consent goes.
    #[serde(default)]
    pub(super) scope: AllowScope,
}

/// The rules that the wider ones save are in what `show` says of the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum AllowScope {
    #[default]
    Once,
    Session,
    Always,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Deny {
    /// The session's id, or the beginning of it.
    pub(super) id: String,
    /// Which request, as `show` names it; the oldest when absent.
    pub(super) request: Option<String>,
    /// What the agent is told.
    pub(super) message: Option<String>,
    /// How far the refusal goes.
    #[serde(default)]
    pub(super) scope: DenyScope,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum DenyScope {
    #[default]
    Once,
    Never,
}

/// Every tool that the other side may use.
pub(super) fn list(decisions: Decisions) -> Vec<Tool> {
    let mut tools = vec![
        tool::<New>("new", "Creates a session in its own worktree and starts it.", Annotations::Additive),
        tool::<List>("list", "Lists sessions, those that need somebody first.", Annotations::ReadOnly),
        tool::<Show>(
            "show",
            "Shows one session: where it stands, what it answered, what it waits for.",
            Annotations::ReadOnly,
        ),
        tool::<Wait>("wait", "Waits until sessions need somebody or are done.", Annotations::ReadOnly),
        tool::<Send>(
            "send",
            "Sends another prompt to a session; while a turn runs it waits in line.",
            Annotations::Additive,
        ),
        tool::<Answer>(
            "answer",
            "Answers the questions of a session; when all are answered, it goes on.",
            Annotations::Additive,
        ),
        tool::<Diff>("diff", "The patch of a session, uncommitted work included.", Annotations::ReadOnly),
    ];
    match decisions {
        Decisions::Allowed => tools.extend([
            tool::<Approve>("approve", "Allows the call that a session waits with.", Annotations::Destructive),
            tool::<Deny>(
                "deny",
                "Denies the call that a session waits with; the agent is told and goes on.",
                Annotations::Additive,
            ),
        ]),
        Decisions::Kept => {}
    }
    tools
}

fn tool<T: JsonSchema>(name: &str, description: &str, annotations: Annotations) -> Tool {
    let mut input_schema = schemars::schema_for!(T).to_value();
    if let Value::Object(schema) = &mut input_schema {
        // What only names the schema is of no use to a model.
        schema.retain(|key, _| key != "$schema" && key != "title");
    }
    Tool { name: name.to_owned(), description: description.to_owned(), input_schema, annotations: Some(annotations) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(decisions: Decisions) -> String {
        list(decisions).iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn decisions_stay_with_the_person_unless_the_configuration_says_otherwise() {
        assert_eq!(names(Decisions::Kept), "new list show wait send answer diff");
        assert_eq!(names(Decisions::Allowed), "new list show wait send answer diff approve deny");
    }

    #[test]
    fn a_decision_is_for_once_unless_it_says_more() {
        let approve = |value| serde_json::from_value::<Approve>(value).map(|approve| approve.scope).ok();
        assert_eq!(approve(json!({"id": "k3f"})), Some(AllowScope::Once));
        assert_eq!(approve(json!({"id": "k3f", "scope": "always"})), Some(AllowScope::Always));
        assert_eq!(approve(json!({"id": "k3f", "scope": "forever"})), None);
        let deny = |value| serde_json::from_value::<Deny>(value).map(|deny| deny.scope).ok();
        assert_eq!(deny(json!({"id": "k3f"})), Some(DenyScope::Once));
        assert_eq!(deny(json!({"id": "k3f", "scope": "never"})), Some(DenyScope::Never));
    }

    #[test]
    fn nobody_but_a_person_lets_everything_go_ahead() {
        let new = |value| serde_json::from_value::<New>(value).is_ok();
        assert!(new(json!({"prompt": "x", "posture": "plan"})));
        assert!(!new(json!({"prompt": "x", "yolo": true})));
        for tool in list(Decisions::Allowed) {
            assert_eq!(tool.input_schema["properties"].get("yolo"), None, "{}", tool.name);
        }
    }

    #[test]
    fn a_schema_names_every_parameter_and_no_other() {
        let show = &list(Decisions::Kept)[2].input_schema;
        let id = json!({"type": "string", "description": "The session's id, or the beginning of it."});
        let expected =
            json!({"type": "object", "properties": {"id": id}, "required": ["id"], "additionalProperties": false});
        assert_eq!(*show, expected);
    }
}
