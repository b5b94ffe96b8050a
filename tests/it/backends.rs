//! Agents beside the built-in ones: presets, what the sandbox refuses them, and `coppice backends`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use coppice::permission::Hold;
use coppice::sandbox::support::support;
use insta::assert_snapshot;
use serde_json::json;

use crate::env::TestEnv;
use crate::script::{say, steps};

/// A program that speaks the protocol of agents.
const AGENT: &str = env!("CARGO_BIN_EXE_coppice");

/// An agent that describes a command once, and asks for permission by the id of the call alone.
const TERSE: &str = r#"#!/bin/sh
reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*) reply "$id" '{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) reply "$id" '{"sessionId":"s"}' ;;
    *'"method":"session/prompt"'*)
        prompt=$id
        update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"Bash","kind":"execute","rawInput":{}}'
        update '{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"command":"echo x > v.txt"}}'
        printf '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s",'
        printf '"toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"yes","kind":"allow_once"}]}}\n' ;;
    *'"outcome"'*)
        text='{\"answer\":\"done\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}'
        update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$text"'"}}'
        reply "$prompt" '{"stopReason":"end_turn"}' ;;
    esac
done
"#;

/// Puts a program on the `PATH`.
fn install(env: &mut TestEnv, name: &str, script: &str) -> PathBuf {
    let bin = env.path("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join(name), script.replace("COPPICE", AGENT)).unwrap();
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    env.set("PATH", &format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    bin.join(name)
}

/// A world with an agent that keeps its things in the home directory.
fn homely(agent: &str) -> TestEnv {
    let mut env = TestEnv::new();
    let script = format!("#!/bin/sh\nmkdir -p \"$HOME/.local/share/homely/log\" || exit 1\n{agent}\n");
    install(&mut env, "homely", &script);
    env.configure("[backends.homely]\ncommand = [\"homely\"]");
    env
}

#[test]
fn an_added_preset_runs_with_its_login_and_keeps_its_state_in_the_session() {
    let mut env = TestEnv::new();
    let script = "#!/bin/sh\ngrep -q secret \"$QWEN_HOME/settings.json\" || exit 8\n\
                  echo state > \"$QWEN_HOME/state\" || exit 9\nexec COPPICE demo-agent\n";
    install(&mut env, "qwen", script);
    let own = env.path("home/.qwen");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("settings.json"), "secret").unwrap();
    env.configure("# mine\n[default]\nreasoning = \"low\"");
    assert!(!env.coppice(&["models"]).stdout.contains("qwen"));
    assert_snapshot!(env.coppice(&["backends", "add", "qwen"]).transcript(), @r"
    exit: 0
    -- stdout
    added qwen to [ROOT]/coppice/config.toml
    log in: qwen
    try: coppice backends check qwen
    ");
    let config = fs::read_to_string(env.path("coppice/config.toml")).unwrap();
    assert!(config.starts_with("# mine\n") && config.contains("[backends.qwen]\ntransport = \"acp\"\n"), "{config}");
    let id = env.create_with(&["--model", "qwen"], &steps(&[say("done")]));
    env.wait_for(&id, "ready");
    let names: Vec<_> = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["settings.json"]);
}

#[test]
fn a_start_that_the_sandbox_refuses_names_the_line_that_opens_the_directory() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = homely("exec COPPICE demo-agent");
    let id = env.create_with(&["--model", "homely"], &steps(&[say("done")]));
    env.wait_for(&id, "failed");
    let failed = env.events(&id).into_iter().rfind(|event| event["type"] == "turn_failed").unwrap();
    let text = failed.to_string();
    assert!(text.contains("\"sandbox\"") && text.contains("/.local"), "{text}");
    let line = "paths = [\"~/.local/share/homely\"]";
    assert!(text.contains(&format!("add `{}` below `[backends.homely]`", line.replace('"', "\\\""))), "{text}");
    env.configure(&format!("[backends.homely]\ncommand = [\"homely\"]\n{line}"));
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    let made = env.path("home/.local/share/homely");
    assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(made.join("log").is_dir());
}

#[test]
fn a_check_opens_a_session_in_the_sandbox_and_says_what_was_refused() {
    if support().hold() == Hold::Advisory {
        return;
    }
    let env = homely(TERSE);
    let check = env.coppice(&["backends", "check", "homely", "--json"]);
    let check: serde_json::Value = serde_json::from_str(&check.exits(1).stdout).unwrap();
    assert_eq!(check["failure"]["kind"], "sandbox", "{check:#}");
    let hint = "add `paths = [\"~/.local/share/homely\"]` below `[backends.homely]` in config.toml, then run `coppice backends check homely`";
    assert_eq!(check["failure"]["hint"], hint);
    let paths = "paths = [\"~/.local/share/homely\"]";
    env.configure(&format!("[backends.homely]\ncommand = [\"homely\"]\n{paths}"));
    let check = env.json(&["backends", "check", "homely", "--prompt", "go"]);
    assert_eq!((&check["failure"], &check["sandbox"]), (&json!(null), &json!("workspace")), "{check:#}");
    assert!(check["reply"].as_str().unwrap().contains("done"), "{check:#}");
    assert_eq!(env.coppice(&["backends", "check", "nobody"]).exits(2).stdout, "");
}

#[test]
fn the_list_tells_presets_from_backends() {
    let mut env = TestEnv::new();
    let program = install(&mut env, "vibe-acp", "#!/bin/sh\necho vibe 3.0.2\n");
    env.configure("[backends.vibe]\ntransport = \"acp\"");
    let entries = env.json(&["backends", "list"]);
    let entry = |name: &str| {
        let found = entries.as_array().unwrap().iter().find(|entry| entry["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {entries:#}")).clone()
    };
    let vibe = entry("vibe");
    assert_eq!((&vibe["origin"], &vibe["version"]), (&json!("added_preset"), &json!("3.0.2")));
    assert_eq!(vibe["program"], program.to_str().unwrap());
    assert_eq!(
        (entry("claude")["origin"].clone(), entry("qwen")["origin"].clone()),
        (json!("built_in"), json!("preset"))
    );
    let refused = env.coppice(&["backends", "add", "nobody"]).exits(2);
    assert!(refused.stderr.starts_with("error: no preset `nobody`; there are opencode, qwen, "), "{}", refused.stderr);
}

#[test]
fn a_request_by_id_alone_shows_the_command_that_was_described_before() {
    let mut env = TestEnv::new();
    install(&mut env, "terse", TERSE);
    env.configure("[backends.terse]\ntransport = \"acp\"\ncommand = [\"terse\"]");
    let id = env.create_with(&["--model", "terse", "--posture", "attended"], "go");
    env.wait_for(&id, "approval");
    let request = env.wait_for_event(&id, "approval_requested", 0);
    assert_eq!(request["approval"]["title"], "echo x > v.txt", "{request:#}");
    env.coppice(&["approve", &id]).succeeds();
    env.wait_for(&id, "ready");
}
