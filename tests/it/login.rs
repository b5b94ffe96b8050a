//! A key or setting that was replaced reaches the agent, although a process with the old one is still open.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::env::TestEnv;
use crate::script::fail;

/// Puts into the answer when the agent's process was started.
const STARTED: &str = "@report cut -d' ' -f22 /proc/$PPID/stat";

/// Puts a key of the environment into the answer.
const KEY: &str = "@env MY_OWN_API_KEY";

#[test]
fn a_replaced_key_arrives_with_a_prompt_that_hands_over_the_environment() {
    let mut env = TestEnv::new();
    env.set("MY_OWN_API_KEY", "first");
    let id = env.create_ready(KEY);
    assert!(env.last_answer(&id).contains("first"), "{}", env.last_answer(&id));

    env.set("MY_OWN_API_KEY", "second");
    env.send_ready(&id, &[], KEY);
    assert!(env.last_answer(&id).contains("first"), "only `--env` hands it over: {}", env.last_answer(&id));
    env.send_ready(&id, &["--env"], KEY);
    assert!(env.last_answer(&id).contains("second"), "{}", env.last_answer(&id));
    assert_eq!(env.deliveries(&id), ["bootstrap_full", "delta_only", "delta_only"]);
}

#[test]
fn resume_hands_over_the_present_environment() {
    let mut env = TestEnv::new();
    env.set("MY_OWN_API_KEY", "first");
    let id = env.create(&format!("@wait go\n{KEY}"));
    env.wait_for_event(&id, "turn_started", 0);
    env.coppice(&["stop", &id]).succeeds();
    env.wait_for(&id, "interrupted");
    std::fs::write(env.worktree(&id).join("go"), "").unwrap();
    env.set("MY_OWN_API_KEY", "second");
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert!(env.last_answer(&id).contains("second"), "{}", env.last_answer(&id));
}

#[test]
fn changed_settings_of_a_backend_reach_an_open_session() {
    let env = TestEnv::new();
    let id = env.create_with(&["--model", "forgetful"], KEY);
    env.wait_for(&id, "ready");
    env.configure("[backends.forgetful.env]\nMY_OWN_API_KEY = \"configured\"\n");
    env.send_ready(&id, &[], KEY);
    assert!(env.last_answer(&id).contains("configured"), "{}", env.last_answer(&id));
}

#[test]
fn a_process_whose_login_was_refused_gets_no_other_turn() {
    let env = TestEnv::new();
    let id = env.create_ready(STARTED);
    let first = env.last_answer(&id);
    env.send_ready(&id, &[], STARTED);
    assert_eq!(env.last_answer(&id), first, "an open process takes the next turn");

    for (failure, is_same) in [("500 out of order", true), ("401 key refused", false)] {
        env.coppice(&["send", &id, &fail(failure)]).succeeds();
        env.wait_for(&id, "failed");
        env.send_ready(&id, &[], STARTED);
        assert_eq!(env.last_answer(&id) == first, is_same, "after `{failure}`");
    }
}

#[test]
fn a_variable_that_the_configuration_of_one_agent_names_reaches_no_other() {
    let mut env = TestEnv::new();
    let directory = env.path("home/.codex");
    std::fs::create_dir_all(&directory).unwrap();
    let config = "[model_providers.own]\nenv_key = \"OWN_PROVIDER_SECRET\"\n";
    std::fs::write(directory.join("config.toml"), config).unwrap();
    env.set("OWN_PROVIDER_SECRET", "hush");
    let id = env.create_ready("@env OWN_PROVIDER_SECRET\n@report env");
    let answer = env.last_answer(&id);
    assert!(answer.contains("OWN_PROVIDER_SECRET is not set") && !answer.contains("hush"), "{answer}");
}

/// An agent whose service says in the middle of a turn that its login has run out.
const EXPIRING: &str = r#"#!/bin/sh
reply() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
say() {
    printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    printf '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"
}
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"method":"initialize"'*) reply "$id" '"result":{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*) reply "$id" '"result":{"sessionId":"s"}' ;;
    *'"method":"session/prompt"'*)
        if grep -q renewed "$QWEN_HOME/oauth_creds.json"; then
            say '{\"answer\":\"all of it\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}'
            reply "$id" '"result":{"stopReason":"end_turn"}'
        else
            echo half > half.txt
            say 'Half of it is there.'
            reply "$id" '"error":{"code":401,"message":"the token has expired"}'
        fi ;;
    esac
done
"#;

#[test]
fn a_login_that_runs_out_in_the_middle_of_a_turn_is_renewed_as_the_hint_says() {
    let env = TestEnv::new();
    let program = env.path("expiring");
    fs::write(&program, EXPIRING).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    env.configure(&format!("[backends.qwen]\ncommand = [\"{}\"]", program.display()));
    let login = env.path("home/.qwen/oauth_creds.json");
    fs::create_dir(login.parent().unwrap()).unwrap();
    fs::write(&login, "old").unwrap();
    let id = env.create_with(&["--model", "qwen"], "go");
    env.wait_for(&id, "failed");
    let error = env.session(&id)["last_error"].clone();
    assert_eq!((&error["kind"], &error["message"]), (&json!("auth"), &json!("the token has expired")));
    assert_eq!(error["command"], "qwen", "{error:#}");
    let hint = format!("run `qwen`, or `export OPENAI_API_KEY=…` with a valid key; then run `coppice resume {id}`");
    assert_eq!(error["hint"], hint);
    let shown = env.coppice(&["show", &id]).stdout();
    assert!(shown.contains("auth: the token has expired"), "{shown}");
    assert!(env.events(&id).iter().any(|event| event["text"] == "Half of it is there."), "{:#?}", env.events(&id));

    fs::write(&login, "renewed").unwrap();
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "ready");
    assert_eq!(env.last_answer(&id), "all of it");
    assert_eq!(fs::read_to_string(env.worktree(&id).join("half.txt")).unwrap(), "half\n");
}

#[test]
fn a_service_out_of_reach_is_told_with_the_proxy_of_the_shell_that_asked() {
    let mut env = TestEnv::new();
    env.set("HTTPS_PROXY", "http://me:secret@127.0.0.1:1");
    let id = env.create(&fail("500 fetch failed"));
    env.wait_for(&id, "failed");
    let hint = |env: &TestEnv| env.session(&id)["last_error"]["hint"].as_str().unwrap().replace(&id, "ID");
    let expected = "the backend could not reach its service: check the network and the proxy `http://127.0.0.1:1` that \
                    `HTTPS_PROXY` names, then run `coppice resume ID`";
    assert_eq!(hint(&env), expected);
    env.unset("HTTPS_PROXY");
    env.coppice(&["resume", &id]).succeeds();
    env.wait_for(&id, "failed");
    let expected = "the backend could not reach its service: check the network, then run `coppice resume ID`";
    assert_eq!(hint(&env), expected);
}
