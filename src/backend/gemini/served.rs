//! How served tools reach the model: as tools that the CLI discovers by a command of our settings.
//!
//! The CLI starts no MCP server in a work tree that it does not trust, and trusting it would run what the repository
//! brings. Commands of our own settings it takes all the same: one prints the list, the other is started for each call
//! and posts it to the door.

use std::path::Path;

use serde_json::{Value, json};

use crate::backend::ServedTool;
use crate::backend::agent_dir::{AgentDir, PRIVATE, PROGRAM};
use crate::backend::door::Entrance;
use crate::backend::gemini::call;
use crate::backend::gemini::home::{HomeError, put};

/// What the CLI puts before the name of a tool that it discovers.
pub(super) const PREFIX: &str = "discovered_tool_";

/// The tools of one conversation and the way to them.
#[derive(Debug)]
pub(super) struct Served<'a> {
    pub(super) tools: &'a [ServedTool],
    pub(super) entrance: Entrance,
}

/// The commands that the settings name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commands {
    /// Words for a shell's rules of quoting.
    pub(super) discovery: String,
    /// A program, which gets the name of a tool.
    pub(super) call: String,
}

impl Served<'_> {
    /// The names that the model knows.
    pub(super) fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| format!("{PREFIX}{}", tool.name)).collect()
    }

    /// Writes what the commands need below `home`, readable by nobody else: the token is in it.
    pub(super) fn furnish(&self, home: &AgentDir) -> Result<Commands, HomeError> {
        let Entrance { url, token, bridge } = &self.entrance;
        let declared: Vec<Value> = self.tools.iter().map(declare).collect();
        let program = bridge.first().map(String::as_str).unwrap_or_default();
        let list = put(home, "tools.json", PRIVATE, &Value::Array(declared).to_string())?;
        let door = call::Door { url: url.clone(), token: token.clone() };
        let door = put(home, "door.json", PRIVATE, &door.text())?;
        let call = put(home, "call", PROGRAM, &script(program, &door))?;
        let discovery = format!("cat {}", quoted(&list.to_string_lossy()));
        Ok(Commands { discovery, call: call.to_string_lossy().into_owned() })
    }
}

fn declare(tool: &ServedTool) -> Value {
    json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema})
}

/// The CLI starts a call by one word, so the rest of the command line is in a script.
fn script(program: &str, door: &Path) -> String {
    format!("#!/bin/sh\nexec {} {} {} \"$1\"\n", quoted(program), call::ENTRY, quoted(&door.to_string_lossy()))
}

/// One word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::permission::Effect;

    #[test]
    fn the_commands_are_complete_and_nobody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let own = AgentDir::below(dir.path(), "it's home");
        let home = own.path();
        let tool = ServedTool {
            name: "delegate".to_owned(),
            description: "Hands work over".to_owned(),
            input_schema: json!({"type": "object"}),
            effect: Effect::Adds,
        };
        let entrance = Entrance {
            url: "http://127.0.0.1:1/mcp".to_owned(),
            token: "secret".to_owned(),
            bridge: vec!["/opt/my coppice".to_owned(), "mcp".to_owned()],
        };
        let served = Served { tools: std::slice::from_ref(&tool), entrance };
        assert_eq!(served.names(), ["discovered_tool_delegate"]);
        for _ in 0..2 {
            let commands = served.furnish(&own).unwrap();
            let place = home.to_string_lossy().replace('\'', r"'\''");
            assert_eq!(commands.discovery, format!("cat '{place}/tools.json'"));
            assert_eq!(commands.call, home.join("call").to_string_lossy());
            let list: Value = serde_json::from_slice(&fs::read(home.join("tools.json")).unwrap()).unwrap();
            let declared = json!([{"name": "delegate", "description": "Hands work over",
                "parametersJsonSchema": {"type": "object"}}]);
            assert_eq!(list, declared);
            let script = fs::read_to_string(home.join("call")).unwrap();
            assert_eq!(script, format!("#!/bin/sh\nexec '/opt/my coppice' gemini-call '{place}/door.json' \"$1\"\n"));
            for (name, mode) in [("tools.json", 0o600), ("door.json", 0o600), ("call", 0o700)] {
                assert_eq!(fs::metadata(home.join(name)).unwrap().permissions().mode() & 0o777, mode, "{name}");
            }
        }
    }
}
