//! The tools of an external server as they are served: under which names they go, and which are left out. Pure.

use serde_json::{Value, json};

use crate::mcp::{self, Annotations};
use crate::permission::{self, Effect, Subject};

/// The most characters of a tool's own name.
const TOOL_NAME: usize = 64;

/// With a longer name of the server hardly any tool could be served.
const SERVER_NAME: usize = 48;

/// The most bytes of a description; models read all of them in every turn.
const DESCRIPTION: usize = 4096;

/// The most bytes of an input schema; cut it would mean something else.
const SCHEMA: usize = 65_536;

/// One tool of an external server.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalTool {
    /// The name under which it is served.
    pub name: String,
    pub server: String,
    /// The server's own name for it.
    pub tool: String,
    pub description: String,
    pub input_schema: Value,
    /// As the server says, which nobody has to believe.
    pub effect: Effect,
}

impl ExternalTool {
    /// A call of it as the permissions see it.
    pub fn permission(&self) -> permission::Call {
        let Self { server, tool, effect, .. } = self;
        let subject = Subject::Mcp { server: server.clone(), tool: tool.clone(), effect: *effect };
        permission::Call { tool: format!("mcp:{server}:{tool}"), subject }
    }
}

/// Whether a server can have this name. Rules and agents name a tool as `mcp__SERVER__TOOL`, which must mean one tool, and
/// none of our own.
pub fn is_server_name(name: &str) -> bool {
    is_word(name) && name.len() <= SERVER_NAME && !name.contains("__") && !name.ends_with('_') && name != mcp::SERVER
}

/// What is known of a server's tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Catalog {
    pub(super) tools: Vec<ExternalTool>,
    /// Why something is not among them, for a person.
    pub(super) warnings: Vec<String>,
}

impl Catalog {
    /// Takes in a tool as its server describes it, or the reason to leave it out: a served name of more than `longest`
    /// characters, for one.
    pub(super) fn add(&mut self, server: &str, longest: usize, listed: Value) {
        let tool = listed["name"].as_str().unwrap_or_default().to_owned();
        let shown: String = tool.escape_debug().take(TOOL_NAME).collect();
        let offered = match self.tools.iter().any(|other| other.tool == tool) {
            true => Err(LeftOut::Twice),
            false => offer(server, longest, tool, listed),
        };
        match offered {
            Ok(tool) => self.tools.push(tool),
            Err(why) => self.warnings.push(format!("mcp server `{server}`: tool `{shown}` is left out: {why}")),
        }
    }

    pub(super) fn warn(&mut self, server: &str, what: &str) {
        self.warnings.push(format!("mcp server `{server}`: {what}"));
    }
}

/// Why a tool is not served.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum LeftOut {
    #[error("a name has 1 to 64 letters, digits, `_` and `-`")]
    Name,
    #[error("`{name}` has {} characters, {longest} at most: a shorter name of the server helps", name.len())]
    Long { name: String, longest: usize },
    #[error("an earlier one has the same name")]
    Twice,
    #[error("its input schema is not that of an object")]
    Schema,
    #[error("its input schema has {bytes} bytes, {SCHEMA} at most")]
    Large { bytes: usize },
}

fn offer(server: &str, longest: usize, tool: String, mut listed: Value) -> Result<ExternalTool, LeftOut> {
    if !is_word(&tool) || tool.len() > TOOL_NAME {
        return Err(LeftOut::Name);
    }
    let name = format!("mcp__{server}__{tool}");
    if name.len() > longest {
        return Err(LeftOut::Long { name, longest });
    }
    let effect = match Annotations::read(&listed["annotations"]) {
        Annotations::ReadOnly => Effect::Reads,
        Annotations::Additive => Effect::Adds,
        Annotations::Destructive => Effect::Destroys,
    };
    let description = listed["description"].as_str().unwrap_or_default().to_owned();
    Ok(ExternalTool {
        name,
        server: server.to_owned(),
        tool,
        description: mcp::client::cut(description, DESCRIPTION),
        input_schema: schema(listed["inputSchema"].take())?,
        effect,
    })
}

/// A schema that models take: one without a type would fail the whole turn of some.
fn schema(listed: Value) -> Result<Value, LeftOut> {
    let Value::Object(mut schema) = listed else { return Err(LeftOut::Schema) };
    if schema.entry("type").or_insert_with(|| json!("object")) != "object" {
        return Err(LeftOut::Schema);
    }
    let schema = Value::Object(schema);
    let bytes = schema.to_string().len();
    if bytes > SCHEMA { Err(LeftOut::Large { bytes }) } else { Ok(schema) }
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tool::ToolName;

    fn listed(name: &str) -> Value {
        json!({"name": name, "description": "Does it", "inputSchema": {"type": "object"}})
    }

    fn catalog(listed: impl IntoIterator<Item = Value>) -> Catalog {
        let mut catalog = Catalog::default();
        listed.into_iter().for_each(|tool| catalog.add("docs", 64, tool));
        catalog
    }

    #[test]
    fn a_tool_is_served_under_the_name_that_rules_know() {
        let found = catalog([listed("search")]);
        let expected = ExternalTool {
            name: "mcp__docs__search".to_owned(),
            server: "docs".to_owned(),
            tool: "search".to_owned(),
            description: "Does it".to_owned(),
            input_schema: json!({"type": "object"}),
            effect: Effect::Destroys,
        };
        let subject = Subject::Mcp { server: "docs".into(), tool: "search".into(), effect: Effect::Destroys };
        assert_eq!(expected.permission(), permission::Call { tool: "mcp:docs:search".to_owned(), subject });
        assert_eq!(found, Catalog { tools: vec![expected], warnings: vec![] });
    }

    #[test]
    fn hints_say_what_a_tool_does_and_silence_is_the_worst() {
        for (annotations, expected) in [
            (Value::Null, Effect::Destroys),
            (json!({"destructiveHint": true}), Effect::Destroys),
            (json!({"destructiveHint": false}), Effect::Adds),
            (json!({"readOnlyHint": true}), Effect::Reads),
        ] {
            let mut tool = listed("t");
            tool["annotations"] = annotations;
            assert_eq!(catalog([tool]).tools[0].effect, expected);
        }
    }

    #[test]
    fn servers_have_names_that_cannot_be_mistaken() {
        for name in ["docs", "a", "my-server_2", "_x", &"x".repeat(48)] {
            assert!(is_server_name(name), "{name}");
        }
        for name in ["", "coppice", "a__b", "a_", "a b", "a/b", "ä", &"x".repeat(49)] {
            assert!(!is_server_name(name), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_served_is_left_out_with_a_warning() {
        let with = |schema: Value| json!({"name": "t", "inputSchema": schema});
        let large = with(json!({"type": "object", "description": "x".repeat(SCHEMA)}));
        for (tool, warning) in [
            (listed("a.b"), "tool `a.b` is left out: a name has 1 to 64 letters, digits, `_` and `-`"),
            (json!({"name": 7}), "tool `` is left out: a name has 1 to 64 letters, digits, `_` and `-`"),
            (json!(null), "tool `` is left out: a name has 1 to 64 letters, digits, `_` and `-`"),
            (listed("\u{1b}[2J"), r"tool `\u{1b}[2J` is left out: a name has 1 to 64 letters, digits, `_` and `-`"),
            (with(json!(null)), "tool `t` is left out: its input schema is not that of an object"),
            (with(json!(true)), "tool `t` is left out: its input schema is not that of an object"),
            (with(json!({"type": "array"})), "tool `t` is left out: its input schema is not that of an object"),
            (large, "tool `t` is left out: its input schema has 65570 bytes, 65536 at most"),
        ] {
            let warnings = vec![format!("mcp server `docs`: {warning}")];
            assert_eq!(catalog([tool]), Catalog { tools: vec![], warnings });
        }
        let served = |length: usize| catalog([listed(&"x".repeat(length))]);
        assert_eq!(served(53).tools[0].name.len(), 64);
        let long = format!("mcp__docs__{}", "x".repeat(54));
        let warning = format!(
            "mcp server `docs`: tool `{}` is left out: `{long}` has 65 characters, 64 at most: a shorter name \
             of the server helps",
            "x".repeat(54)
        );
        assert_eq!(served(54).warnings, [warning]);
        let twice = catalog([listed("t"), listed("t")]);
        assert_eq!(twice.tools.len(), 1);
        assert_eq!(twice.warnings, ["mcp server `docs`: tool `t` is left out: an earlier one has the same name"]);
    }

    #[test]
    fn schemas_pass_through_and_descriptions_are_bounded() {
        let schema = json!({"properties": {"q": {"type": "string"}}, "required": ["q"], "x-own": [1]});
        let mut expected = schema.clone();
        expected["type"] = json!("object");
        let tool = json!({"name": "t", "description": "d".repeat(DESCRIPTION + 1), "inputSchema": schema});
        let found = &catalog([tool]).tools[0];
        assert_eq!(found.input_schema, expected);
        assert_eq!(found.description.len(), DESCRIPTION);
    }

    proptest! {
        #[test]
        fn a_served_name_means_one_tool(server in "[A-Za-z0-9_-]{1,20}", name in "[A-Za-z0-9_-]{1,30}") {
            prop_assume!(is_server_name(&server));
            let mut catalog = Catalog::default();
            catalog.add(&server, 64, listed(&name));
            let served = &catalog.tools[0];
            prop_assert_eq!(ToolName::read(&served.name).canonical(), served.permission().tool);
        }
    }
}
