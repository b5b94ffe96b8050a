//! Recorded conversations: what the agent said goes in, what we say must match the record.

use serde_json::Value;

use super::{Log, POLICY, wishes};
use crate::backend::acp::client::Client;
use crate::backend::acp::handshake::Wishes;
use crate::backend::event::{Block, Command, Decision};
use crate::backend::transport::machine::{Input, Machine};

/// Plays a record and returns the events; every line of the record's client must be one we send too.
#[track_caller]
fn replay(record: &str, wishes: Wishes) -> String {
    let (mut client, effects) = Client::begin(POLICY, wishes);
    let mut log = Log::default();
    log.note(effects);
    let mut expected = Vec::new();
    for line in record.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let message = &entry["msg"];
        if entry["dir"] == "server" {
            log.note(client.step(Input::Line(message.to_string())));
            continue;
        }
        expected.push(label(message));
        let command = match message["method"].as_str() {
            Some("session/prompt") => Some(Command::Prompt { blocks: vec![Block::Text("go".to_owned())] }),
            Some("session/cancel") => Some(Command::Interrupt),
            Some(_) => None,
            None => Some(Command::Decide {
                request: message["id"].to_string(),
                decision: match message["result"]["outcome"]["optionId"].as_str() {
                    Some("proceed_once") => Decision::Once,
                    Some(_) | None => Decision::Deny { message: None },
                },
            }),
        };
        if let Some(command) = command {
            log.note(client.step(Input::Command(command)));
        }
    }
    assert_eq!(log.sent.iter().map(label).collect::<Vec<_>>(), expected);
    log.events
}

/// What identifies a message in a record: its id and its method, or its outcome.
fn label(message: &Value) -> String {
    let what = message["method"].as_str().map_or_else(|| message["result"].to_string(), str::to_owned);
    format!("{} {what}", message["id"])
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/gemini/", $name, ".jsonl"))
    };
}

#[test]
fn a_simple_turn_ends_with_its_text() {
    insta::assert_snapshot!(replay(fixture!("simple-turn"), wishes()), @r#"
    started gemini-cli restored=false models=auto,gemini-2.5-pro mode=default modes=default,autoEdit
    thought "**Plan**\nThink first."
    text "Hello "
    text "wor"
    text "ld"
    usage Some(123) Some(45)
    final "Hello world" EndTurn
    "#);
}

#[test]
fn an_asked_call_begins_with_its_first_update_and_ends_the_message_before_it() {
    insta::assert_snapshot!(replay(fixture!("permission-allow"), wishes()), @r#"
    started gemini-cli restored=false models=auto,gemini-2.5-pro mode=default modes=default,autoEdit
    text "Running."
    approval 0 "echo out; touch made.txt" Execute "echo out; touch made.txt\n(Make a file)"
    tool started "echo out; touch made.txt" Execute
    tool finished Completed "out"
    approval 1 "Writing to new.txt" Edit "--- new.txt\n+++ new.txt\n@@ -0,0 +1,1 @@\n+hello"
    tool started "Writing to new.txt" Edit
    tool finished Completed "/repo/new.txt:1\n+hello"
    approval 2 "a.txt: two => TWO" Edit "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO"
    tool started "a.txt: two => TWO" Edit
    tool finished Completed "/repo/a.txt:2\n-two\n+TWO"
    text "All done"
    usage Some(400) Some(40)
    final "All done" EndTurn
    "#);
}

#[test]
fn a_rejected_call_leaves_nothing_open() {
    insta::assert_snapshot!(replay(fixture!("permission-reject"), wishes()), @r#"
    started gemini-cli restored=false models=auto,gemini-2.5-pro mode=default modes=default,autoEdit
    approval 0 "touch no.txt" Execute "touch no.txt"
    text "Understood"
    usage Some(200) Some(20)
    final "Understood" EndTurn
    "#);
}

#[test]
fn a_cancel_answers_the_open_permission_and_the_next_turn_works() {
    insta::assert_snapshot!(replay(fixture!("cancel"), wishes()), @r#"
    started gemini-cli restored=false models=auto,gemini-2.5-pro mode=default modes=default,autoEdit
    text "part1 "
    text "part2 "
    failed cancelled "the turn was interrupted"
    approval 0 "sleep 30; echo x" Execute "sleep 30; echo x"
    tool started "sleep 30; echo x" Execute
    tool finished Completed "Command cancelled by user."
    failed cancelled "the turn was interrupted"
    approval 1 "touch q" Execute "touch q"
    approval gone 1
    failed cancelled "the turn was interrupted"
    text "still alive"
    usage Some(100) Some(10)
    final "still alive" EndTurn
    "#);
}

#[test]
fn replayed_history_is_swallowed() {
    let resume = Some("fa664a0e-02dc-4ab6-be19-ffe22130ec3c".to_owned());
    insta::assert_snapshot!(replay(fixture!("load-replays-history"), Wishes { resume, ..wishes() }), @r#"
    started gemini-cli restored=true models=auto,gemini-2.5-pro mode=default modes=default,autoEdit
    text "second answer"
    usage Some(100) Some(10)
    final "second answer" EndTurn
    "#);
}

#[test]
fn a_cut_stream_is_no_success() {
    insta::assert_snapshot!(replay(fixture!("stream-cut"), wishes()), @r#"
    started gemini-cli restored=false models=auto,gemini-2.5-pro mode=default modes=default,autoEdit
    text "partial "
    text "text"
    text "partial "
    text "text"
    text "partial "
    text "text"
    text "partial "
    text "text"
    usage Some(0) Some(0)
    failed transport "the agent ended the turn without a complete model call: its stream was cut"
    "#);
}

#[test]
fn an_error_fails_the_turn_and_not_the_conversation() {
    insta::assert_snapshot!(replay(fixture!("error-then-next-turn"), wishes()), @r#"
    started gemini-cli restored=false models=auto,gemini-2.5-pro mode=default modes=default,autoEdit
    failed auth "API key not valid. Please pass a valid API key."
    text "next turn works"
    usage Some(100) Some(10)
    final "next turn works" EndTurn
    "#);
}

#[test]
fn errors_of_the_service_find_their_kind() {
    insta::assert_snapshot!(replay(fixture!("service-errors"), wishes()), @r#"
    started gemini-cli restored=false models=auto,gemini-2.5-pro mode=default modes=default,autoEdit
    failed rate_limit "scripted error"
    failed transport "scripted error"
    failed model "models/nope is not found"
    failed transport "exception TypeError: fetch failed sending request"
    failed auth "API key not valid. Please pass a valid API key."
    "#);
}

#[test]
fn a_served_tool_is_allowed_once_and_never_for_good() {
    let events = replay(fixture!("mcp-tool-call"), wishes());
    let approvals = events.lines().filter(|line| line.starts_with("approval")).count();
    assert_eq!(approvals, 2, "{events}");
    assert!(events.contains("tool finished Completed \"echo:{\\\"text\\\": \\\"hi\\\"}\""), "{events}");
    assert!(events.contains("tool finished Failed"), "{events}");
    assert!(events.ends_with("final \"done\" EndTurn\n"), "{events}");
}

#[test]
fn a_missing_login_is_an_auth_failure() {
    insta::assert_snapshot!(replay(fixture!("not-logged-in"), wishes()), @r#"failed auth "Gemini API key is missing or not configured.""#);
    insta::assert_snapshot!(replay(fixture!("codex-acp-auth-required"), wishes()), @r#"failed auth "Authentication required""#);
}

#[test]
fn models_and_modes_come_from_config_options_too() {
    insta::assert_snapshot!(replay(fixture!("opencode-config-options"), wishes()), @r#"started OpenCode restored=false models=opencode/big-pickle,opencode/ling-3.0-flash-fin-free mode=build modes=build,plan"#);
}
