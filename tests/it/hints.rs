//! What a failed turn advises, done as it says: whoever follows a hint literally goes on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::env::TestEnv;
use crate::script::say;

/// An agent that fails with the error in a file, and works where that holds none.
const FAILING: &str = r#"#!/bin/sh
reply() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
say() {
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    printf '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"
}
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    error=$(cat 'FILE')
    case $line in
    *'"method":"initialize"'*) reply "$id" '"result":{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) reply "$id" '"result":{"sessionId":"s"}' ;;
    *'"method":"session/prompt"'*)
        if [ "$error" != none ]; then
            reply "$id" "\"error\":$error"
        else
            say '{\"answer\":\"done\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}'
            reply "$id" '"result":{"stopReason":"end_turn"}'
        fi ;;
    esac
done
"#;

/// A world with that agent, and the file of its error.
fn world() -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    let program = env.path("failing");
    let file = env.visible_to_agents("error");
    fs::write(&program, FAILING.replace("FILE", file.to_str().unwrap())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    env.configure(&format!("[backends.failing]\ncommand = [\"{}\"]", program.display()));
    (env, file)
}

/// The commands between backticks, with what a person puts into their places.
fn commands(hint: &str) -> Vec<Vec<String>> {
    let script = say("gone on");
    let words = |command: &str| {
        let words = command.strip_prefix("coppice ")?.split_whitespace();
        let put = |word: &str| match word {
            "BACKEND/MODEL" => "demo".to_owned(),
            "\"…\"" => script.clone(),
            word => word.to_owned(),
        };
        Some(words.map(put).collect())
    };
    hint.split('`').skip(1).step_by(2).filter_map(words).collect()
}

#[test]
fn every_command_of_a_hint_works_as_it_stands() {
    let (env, file) = world();
    for (error, kind) in [
        (r#"{"code":429,"message":"too many requests"}"#, "rate_limit"),
        (r#"{"code":402,"message":"no credit left"}"#, "quota"),
        (r#"{"code":500,"message":"fetch failed"}"#, "transport"),
        (r#"{"code":-32603,"message":"model x is not found"}"#, "model"),
        (r#"{"code":-32603,"message":"it broke"}"#, "protocol"),
        (r#"{"code":400,"message":"prompt is too long"}"#, "context"),
    ] {
        fs::write(&file, error).unwrap();
        let id = env.create_with(&["--model", "failing"], "go");
        env.wait_for(&id, "failed");
        let failure = env.session(&id)["last_error"].clone();
        assert_eq!(failure["kind"], kind, "{failure:#}");
        let hint = failure["hint"].as_str().unwrap();
        fs::write(&file, "none").unwrap();
        let commands = commands(hint);
        for command in &commands {
            let output = env.coppice(&command.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(output.status.success(), "{kind}: `{command:?}` of `{hint}`: {}{}", output.stdout, output.stderr);
        }
        if commands.iter().any(|command| command[0] == "resume" || command[0] == "send") {
            env.wait_for(&id, "ready");
        }
    }
}

#[test]
fn what_a_limit_advises_lets_the_session_go_on() {
    let env = TestEnv::new();
    env.write(".coppice/agents/brief.md", "---\ndescription: x\nmaxSteps: 1\n---\nBe brief.\n");
    let two = "@run true\n@run true\n@answer done";
    let id = env.create_with(&["--model", "demo", "--agent", "brief"], two);
    env.wait_for(&id, "failed");
    let error: Value = env.session(&id)["last_error"].clone();
    assert_eq!(
        (&error["kind"], error["hint"].as_str().unwrap().contains("agent's file")),
        (&"step_limit".into(), true)
    );
    env.write(".coppice/agents/brief.md", "---\ndescription: x\nmaxSteps: 9\n---\nBe brief.\n");
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");

    env.coppice(&["config", "set", "limits.turn_timeout", "1s"]).succeeds();
    let id = env.create("@hang");
    env.wait_for(&id, "failed");
    let error = env.session(&id)["last_error"].clone();
    assert_eq!(
        (&error["kind"], error["hint"].as_str().unwrap().contains("limits.turn_timeout")),
        (&"timeout".into(), true)
    );
    env.coppice(&["config", "set", "limits.turn_timeout", "1h"]).succeeds();
    env.send_ready(&id, &[], &say("done"));
}
