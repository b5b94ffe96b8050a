//! The user of a test: settings of their own for each program, as somebody has who uses all three by hand.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agent::Agent;

/// The user's configuration of Coppice: Claude tries a failing model call once more instead of three minutes long.
pub(crate) const COPPICE: &str = r#"
[backends.claude.env]
CLAUDE_CODE_MAX_RETRIES = "1"
"#;

/// The user's Codex leads to the model server; their own MCP server would leave a trace if it ran.
const CODEX: &str = r#"# kept by hand
model = "gpt-5.5"
model_provider = "scripted"

[model_providers.scripted]
name = "Scripted"
base_url = "URL/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 1

[mcp_servers.own]
command = "touch"
args = ["HOME/mcp-of-codex-ran"]

[projects."/somewhere/else"]
trust_level = "trusted"
"#;

const CLAUDE: &str = r#"{
  "model": "claude-haiku-4-5-20251001",
  "permissions": { "allow": ["Bash(*)"] },
  "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": "touch HOME/hook-of-claude-ran" }] }] }
}
"#;

const CLAUDE_STATE: &str = r#"{
  "numStartups": 7,
  "mcpServers": { "own": { "command": "touch", "args": ["HOME/mcp-of-claude-ran"] } }
}
"#;

const GEMINI: &str = r#"{
  "model": { "name": "gemini-2.5-flash" },
  "mcpServers": { "own": { "command": "touch", "args": ["HOME/mcp-of-gemini-ran"] } }
}
"#;

/// The files, from the home directory.
const FILES: &[(&str, &str)] = &[
    (".codex/config.toml", CODEX),
    (".codex/AGENTS.md", "User of Codex: be brief.\n"),
    (".claude/settings.json", CLAUDE),
    (".claude/CLAUDE.md", "User of Claude: be brief.\n"),
    (".claude.json", CLAUDE_STATE),
    (".gemini/settings.json", GEMINI),
    (".gemini/GEMINI.md", "User of Gemini: be brief.\n"),
    (".gemini/trustedFolders.json", "{}\n"),
];

/// The model that the settings name.
pub(crate) fn model(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "claude-haiku-4-5-20251001",
        Agent::Codex => "gpt-5.5",
        Agent::Gemini => "gemini-2.5-flash",
    }
}

/// What the settings tell the program in every project.
pub(crate) fn instructions(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "User of Claude: be brief.",
        Agent::Codex => "User of Codex: be brief.",
        Agent::Gemini => "User of Gemini: be brief.",
    }
}

/// Names of what would lie in the home if something of the user's own had run.
pub(crate) const TRACES: &[&str] =
    &["mcp-of-codex-ran", "mcp-of-claude-ran", "hook-of-claude-ran", "mcp-of-gemini-ran"];

/// Writes the settings into a home.
pub(crate) fn write(home: &Path, codex_url: &str) {
    for (path, text) in FILES {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.replace("HOME", home.to_str().unwrap()).replace("URL", codex_url)).unwrap();
    }
}

/// Every file of the settings and its bytes.
pub(crate) fn files(home: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    FILES.iter().map(|(path, _)| home.join(path)).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}
