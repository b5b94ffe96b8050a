//! Each program by hand over its own protocol: one turn that runs a command, writes a file and answers.
//!
//! It shows that the model servers are understood, and records which kinds of messages a program sends.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agent::{Agent, for_each_agent};
use crate::model::script::{answer, shell, write};
use crate::peer::Peer;
use crate::stage::Stage;

for_each_agent!(one_turn_by_hand);

fn one_turn_by_hand(agent: Agent) {
    let stage = Stage::new();
    stage.model(agent).plays([
        shell("echo from-the-shell > shell.txt"),
        write("tool.txt", "by tool\n"),
        answer("done"),
    ]);
    let (peer, end) = turn(agent, &stage, Care::Taken);
    match agent {
        Agent::Claude => assert_eq!(end["structured_output"]["answer"], "done", "{end:#}"),
        Agent::Codex => assert_eq!(end["params"]["turn"]["status"], "completed", "{end:#}"),
        Agent::Gemini => assert_eq!(end["result"]["stopReason"], "end_turn", "{end:#}"),
    }
    let repo = stage.repo();
    assert_eq!(fs::read_to_string(repo.join("shell.txt")).unwrap(), "from-the-shell\n");
    assert_eq!(fs::read_to_string(repo.join("tool.txt")).unwrap(), "by tool\n");
    let calls = stage.model(agent).calls();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0].model(), agent.model());
    assert!(calls[0].texts().iter().any(|text| text.contains("go ahead")), "{:?}", calls[0].texts());
    assert_eq!(calls[0].schema().is_some(), agent.has_schema());
    assert_eq!(stage.strangers(), Vec::<String>::new());
    record(agent, &peer.kinds(|line| kinds(agent, line)));
}

/// How a program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// So that the repository has no say.
    Taken,
    /// The way a person starts it who trusts the repository.
    Forgotten,
}

/// Runs one turn in the user's checkout, allowing whatever is asked; the message that ended it.
pub(crate) fn turn(agent: Agent, stage: &Stage, care: Care) -> (Peer, Value) {
    match agent {
        Agent::Claude => claude(stage, care),
        Agent::Codex => codex(stage, care),
        Agent::Gemini => gemini(stage, care),
    }
}

fn claude(stage: &Stage, care: Care) -> (Peer, Value) {
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]});
    let mut command = stage.program(&Agent::Claude.program());
    command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
    command.args(["--include-partial-messages", "--model", Agent::Claude.model()]);
    command.args(["--permission-mode", "acceptEdits", "--permission-prompt-tool", "stdio"]);
    command.arg("--json-schema").arg(schema.to_string());
    if care == Care::Taken {
        command.args(["--strict-mcp-config", "--setting-sources", ""]);
    }
    command.env("CLAUDE_CONFIG_DIR", stage.path("claude-state")).env("DISABLE_AUTOUPDATER", "1");
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    let mut peer = Peer::spawn(command);
    peer.send(&json!({"type": "user", "message": {"role": "user", "content": "go ahead"}}));
    let end = peer.until(
        |line| line["type"] == "result",
        |line| {
            let input = &line["request"]["input"];
            (line["request"]["subtype"] == "can_use_tool").then(|| {
                let allow = json!({"behavior": "allow", "updatedInput": input});
                let reply = json!({"subtype": "success", "request_id": line["request_id"], "response": allow});
                json!({"type": "control_response", "response": reply})
            })
        },
    );
    (peer, end)
}

fn codex(stage: &Stage, care: Care) -> (Peer, Value) {
    let mut command = stage.program(&Agent::Codex.program());
    command.args(["app-server", "--disable", "plugins", "--disable", "apps"]);
    if care == Care::Forgotten {
        // What it writes down there must not count as the user's own settings.
        command.env("CODEX_HOME", stage.copy_of("home/.codex"));
    }
    let mut peer = Peer::spawn(command);
    let client = json!({"name": "canary", "title": "Canary", "version": "1"});
    peer.call("initialize", json!({"clientInfo": client, "capabilities": {"experimentalApi": true}}));
    let repo = stage.repo();
    let config = match care {
        Care::Taken => json!({
            "projects": {repo.to_str().unwrap(): {"trust_level": "untrusted"}},
            "mcp_servers": {"own": {"enabled": false}},
        }),
        Care::Forgotten => json!({}),
    };
    let thread = peer.call(
        "thread/start",
        json!({
            "cwd": repo,
            "model": Agent::Codex.model(),
            "approvalPolicy": "on-request",
            "sandbox": "workspace-write",
            "config": config,
        }),
    );
    let input = json!([{"type": "text", "text": "go ahead"}]);
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
    let thread = &thread["thread"]["id"];
    peer.call("turn/start", json!({"threadId": thread, "input": input, "outputSchema": schema}));
    let end = peer.until(|line| line["method"] == "turn/completed", |_| None);
    (peer, end)
}

fn gemini(stage: &Stage, care: Care) -> (Peer, Value) {
    let mut command = stage.program(&Agent::Gemini.program());
    command.args(["--acp", "-m", Agent::Gemini.model()]);
    let settings = stage.path("gemini-state/.gemini/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(settings, r#"{"privacy": {"usageStatisticsEnabled": false}}"#).unwrap();
    command.env("GEMINI_CLI_HOME", stage.path("gemini-state")).env("GEMINI_CLI_NO_RELAUNCH", "true");
    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    if care == Care::Taken {
        command.current_dir(stage.path("gemini-state"));
    }
    let mut peer = Peer::spawn(command);
    let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    peer.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}));
    let session = peer.call("session/new", json!({"cwd": stage.repo(), "mcpServers": []}));
    let prompt = json!([{"type": "text", "text": "go ahead"}]);
    let id = peer.ask("session/prompt", json!({"sessionId": session["sessionId"], "prompt": prompt}));
    let end = peer.until(
        |line| line["id"] == id && line["method"].is_null(),
        |line| {
            (line["method"] == "session/request_permission").then(|| {
                let once = json!({"outcome": {"outcome": "selected", "optionId": "proceed_once"}});
                json!({"jsonrpc": "2.0", "id": line["id"], "result": once})
            })
        },
    );
    (peer, end)
}

/// What a line is, in the words of its protocol.
fn kinds(agent: Agent, line: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let joined = |parts: &[&Value]| parts.iter().filter_map(|part| word(part)).collect::<Vec<_>>().join(" ");
    let kind = match agent {
        Agent::Claude => {
            joined(&[&line["type"], &line["subtype"], &line["event"]["type"], &line["request"]["subtype"]])
        }
        Agent::Codex => joined(&[&line["method"], &line["params"]["item"]["type"]]),
        Agent::Gemini => joined(&[&line["method"], &line["params"]["update"]["sessionUpdate"]]),
    };
    Some(kind).filter(|kind| !kind.is_empty()).into_iter().collect()
}

/// Leaves the kinds where the canary looks for them, when it asks.
fn record(agent: Agent, kinds: &BTreeSet<String>) {
    let Some(directory) = std::env::var_os("COPPICE_REAL_RECORD").map(PathBuf::from) else { return };
    let lines: String = kinds.iter().map(|kind| format!("{kind}\n")).collect();
    fs::write(directory.join(format!("{}.events", agent.name())), lines).unwrap();
}
