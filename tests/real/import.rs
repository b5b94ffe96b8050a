//! MCP servers that a person configured for Claude and Codex, taken over by name and called by each program in a turn.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, serve};
use crate::stage::Stage;

for_each_agent!(imported_servers_answer_the_program);

/// A server with one tool, which says the word of its environment.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(expr "$line" : '{"jsonrpc":"2.0","id":\([0-9]*\)') || continue
  case $line in
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
  *'"method":"tools/list"'*) result='{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
  *) result='{"content":[{"type":"text","text":"the word is '$WORD'"}]}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

fn imported_servers_answer_the_program(agent: Agent) {
    let mut stage = Stage::new();
    fs::create_dir_all(stage.path("home/tools")).unwrap();
    let [marsh, cliff] = ["marsh", "cliff"].map(|name| stage.path(format!("home/tools/{name}-mcp")));
    for server in [&marsh, &cliff] {
        fs::write(server, SERVER).unwrap();
        fs::set_permissions(server, fs::Permissions::from_mode(0o755)).unwrap();
    }

    let read = |path: &str| fs::read_to_string(stage.path("home").join(path)).unwrap();
    let mut of_claude: Value = serde_json::from_str(&read(".claude.json")).unwrap();
    of_claude["mcpServers"]["marsh"] = json!({"command": marsh, "args": [], "env": {"WORD": "heron"}});
    let of_codex = format!(
        "{}\n[mcp_servers.cliff]\ncommand = \"{}\"\nenv = {{ WORD = \"osprey\" }}\n",
        read(".codex/config.toml"),
        cliff.display()
    );
    stage.settle(".claude.json", &of_claude.to_string());
    stage.settle(".codex/config.toml", &of_codex);
    let listed = stage.coppice(&["mcp", "import"]).stdout();
    assert!(listed.contains("marsh") && listed.contains("cliff") && listed.contains("own"), "{listed}");
    stage.coppice(&["mcp", "import", "marsh", "cliff"]).succeeds();
    for name in ["marsh", "cliff"] {
        stage.coppice(&["config", "set", &format!("mcp.servers.{name}.trust"), "true"]).succeeds();
    }

    // Codex keeps names that begin with `mcp__` for servers of its own.
    let prefix = if agent == Agent::Codex { "external" } else { "mcp" };
    let look = |server: &str| serve(&format!("{prefix}__{server}__look"), json!({}));
    stage.model(agent).plays([look("marsh"), look("cliff"), answer("seen")]);
    let id = stage.begin(agent, "look at both");
    stage.rests(&id, "ready");
    assert_eq!(stage.last_answer(&id), "seen");
    let calls = stage.model(agent).calls();
    let last = calls.last().unwrap();
    for said in ["the word is heron", "the word is osprey"] {
        assert!(last.mentions(said), "{said}: {}", last.request.body);
    }
    // The servers that nobody chose did not run, and the programs' own files are as they were.
    stage.assert_only_the_asked_ran();
    stage.assert_settings_untouched();
}
