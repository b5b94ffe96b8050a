//! Recorded conversations of the real program, one per lesson.

use serde_json::Value;

use super::{Log, delegate, ready, wishes};
use crate::backend::claude::client::{Client, Wishes};
use crate::backend::event::{Block, Command, Decision};
use crate::backend::transport::machine::{Input, Machine};

/// Plays a record and returns the events; every line of the record's client must be one we send too.
#[track_caller]
fn replay(record: &str, wishes: Wishes) -> String {
    let (mut client, effects) = Client::begin(wishes, None);
    let mut log = Log::default();
    log.note(effects);
    let mut expected = Vec::new();
    let has_start = record.contains(r#""request_id":"initialize""#);
    if !has_start {
        expected.push("initialize".to_owned());
        log.note(client.step(Input::Line(ready())));
    }
    for line in record.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let message = &entry["msg"];
        if entry["dir"] == "server" {
            log.note(client.step(Input::Line(message.to_string())));
            continue;
        }
        expected.push(label(message));
        if let Some(command) = command(message) {
            log.note(client.step(Input::Command(command)));
        }
    }
    assert_eq!(log.sent.iter().map(label).collect::<Vec<_>>(), expected);
    log.events
}

/// What the owner of a conversation did to make the recorded client say this.
fn command(message: &Value) -> Option<Command> {
    let response = &message["response"]["response"];
    let request = message["response"]["request_id"].as_str().unwrap_or_default().to_owned();
    match message["type"].as_str()? {
        "user" => Some(Command::Prompt { blocks: vec![Block::Text("go".to_owned())] }),
        "control_request" if message["request"]["subtype"] == "interrupt" => Some(Command::Interrupt),
        "control_request" => None,
        _ if response["behavior"] == "allow" => Some(Command::Decide { request, decision: Decision::Once }),
        _ if response["behavior"] == "deny" => {
            let message = response["message"].as_str().map(str::to_owned);
            Some(Command::Decide { request, decision: Decision::Deny { message } })
        }
        _ => {
            let text = response["mcp_response"]["result"]["content"][0]["text"].as_str()?.to_owned();
            Some(Command::ToolResult { request, outcome: Ok(text.into()) })
        }
    }
}

/// What identifies a message of the client in a record: whom it answers and how, or what it asks.
fn label(message: &Value) -> String {
    match message["type"].as_str().unwrap_or_default() {
        "control_request" => message["request"]["subtype"].as_str().unwrap_or_default().to_owned(),
        "control_response" => {
            let response = &message["response"]["response"];
            let id = &message["response"]["request_id"];
            format!("{id} {} {} {}", response["behavior"], response["message"], response["updatedInput"])
        }
        other => other.to_owned(),
    }
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/claude/", $name, ".jsonl"))
    };
}

#[test]
fn two_turns_with_tools_and_a_response() {
    let wishes = Wishes { has_schema: true, tools: vec![delegate()], ..wishes() };
    insta::assert_snapshot!(replay(fixture!("two-turns"), wishes), @r#"
    started fresh-id restored=false models=claude-opus-4-8[1m]
    thought "plan"
    text "Editing."
    tool started "Write src.txt" Edit
    tool finished Completed "File created successfully at: /repo/src.txt (file state is current in your context — no need to Read it back)"
    tool started "cargo --version" Execute
    approval "cargo --version" Execute "cargo --version\n(run)" Command { text: "cargo --version", cwd: "/repo" }
    tool finished Failed "Exit code 127\n/bin/bash: line 1: cargo: command not found"
    tool started "delegate" Other
    tool requested delegate {"task":"write tests"}
    tool finished Completed "child finished: 3 tests added"
    text "Finished"
    text "."
    text "{\"answer\": \"All done\", \"questions\": [], \"summary\": {\"turn\": \"t\", \"session\": \"s\"}}"
    usage Some(40) Some(80) 0.00220 Some((30, 200000))
    final "{\"answer\":\"All done\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}" EndTurn
    text "{\"answer\": \"turn two\", \"questions\": [], \"summary\": {\"turn\": \"t\", \"session\": \"s\"}}"
    usage Some(10) Some(20) 0.00055 Some((30, 200000))
    final "{\"answer\":\"turn two\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}" EndTurn
    "#);
}

#[test]
fn an_allowed_call_runs() {
    insta::assert_snapshot!(replay(fixture!("approval-allow"), wishes()), @r#"
    started fresh-id restored=false models=opus
    text "I will write."
    tool started "Write new.txt" Edit
    approval "Write new.txt" Edit "--- new.txt\n+++ new.txt\n@@ @@\n+hi" Paths(["/repo/new.txt"])
    tool finished Completed "File created successfully at: /repo/new.txt (file state is current in your context — no need to Read it back)"
    tool started "touch made && echo done" Execute
    approval "touch made && echo done" Execute "touch made && echo done\n(run)" Command { text: "touch made && echo done", cwd: "/repo" }
    tool finished Completed "done"
    text "all done"
    usage Some(30) Some(60) 0.00099 None
    final "all done" EndTurn
    "#);
}

#[test]
fn a_denied_call_fails_with_the_reason() {
    insta::assert_snapshot!(replay(fixture!("approval-deny"), wishes()), @r#"
    started fresh-id restored=false models=opus
    tool started "rm -rf build" Execute
    approval "rm -rf build" Execute "rm -rf build\n(run)" Command { text: "rm -rf build", cwd: "/repo" }
    tool finished Failed "The user refused: do not delete build."
    text "understood, not deleting"
    usage Some(20) Some(40) 0.00066 None
    final "understood, not deleting" EndTurn
    "#);
}

#[test]
fn an_interrupt_ends_the_turn_and_not_the_conversation() {
    insta::assert_snapshot!(replay(fixture!("interrupt"), wishes()), @r#"
    started fresh-id restored=false models=opus
    text "word "
    text "word "
    text "word "
    text "word "
    text "word "
    usage Some(0) Some(0) 0.00000 None
    failed cancelled "the turn was interrupted" (run `coppice resume`, or send another prompt)
    text "second t"
    text "urn answ"
    text "er"
    usage Some(10) Some(20) 0.00033 Some((30, 200000))
    final "second turn answer" EndTurn
    "#);
    insta::assert_snapshot!(replay(fixture!("interrupt-during-tool"), wishes()), @r#"
    started fresh-id restored=false models=opus
    tool started "sleep 33.3; echo finished" Execute
    tool finished Unfinished ""
    usage Some(10) Some(20) 0.00033 Some((30, 200000))
    failed cancelled "the turn was interrupted" (run `coppice resume`, or send another prompt)
    text "second t"
    text "urn answ"
    text "er"
    usage Some(10) Some(20) 0.00033 Some((30, 200000))
    final "second turn answer" EndTurn
    "#);
}

#[test]
fn a_served_tool_is_asked_for_over_the_pipe() {
    let wishes = Wishes { tools: vec![delegate()], ..wishes() };
    insta::assert_snapshot!(replay(fixture!("served-tool"), wishes), @r#"
    started fresh-id restored=false models=claude-opus-4-8[1m]
    tool started "delegate" Other
    tool requested delegate {"task":"t"}
    tool finished Completed "child finished"
    text "fin"
    usage Some(20) Some(40) 0.00066 None
    final "fin" EndTurn
    "#);
}

#[test]
fn a_limit_says_when_it_resets() {
    insta::assert_snapshot!(replay(fixture!("rate-limit"), wishes()), @r#"
    started fresh-id restored=false models=opus
    usage Some(0) Some(0) 0.00000 None
    failed rate_limit "You've hit your session limit · resets 12:35am (UTC)" (wait until the limit resets, then run `coppice resume`)
    "#);
}

#[test]
fn a_turn_that_nobody_asked_for_answers_no_prompt() {
    insta::assert_snapshot!(replay(fixture!("unsolicited-turn"), wishes()), @r#"
    started fresh-id restored=false models=opus
    tool started "sleep 3; echo bgdone" Execute
    tool finished Completed "Command running in background with ID: bdpkf2brc. Output is being written to: /scratch/claude-0/{WORKTREE_SLUG}/92950a89-2c4d-46a2-b36b-ff74aa781420/tasks/bdpkf2brc.output. You will be notified when it completes. To check interim output, use Read on that file path."
    text "started it"
    usage Some(20) Some(40) 0.00066 None
    final "started it" EndTurn
    usage Some(10) Some(20) 0.00033 None
    "#);
}

#[test]
fn what_an_inner_agent_does_stays_inside_its_call() {
    insta::assert_snapshot!(replay(fixture!("subagent"), wishes()), @r#"
    started fresh-id restored=false models=opus
    text "delegati"
    text "ng"
    tool started "Agent" Other
    tool finished Completed "sub answer\nagentId: a50ca94f8275e0921 (use SendMessage with to: 'a50ca94f8275e0921', summary: '<5-10 word recap>' to continue this agent)\n<usage>subagent_tokens: 30\ntool_uses: 1\nduration_ms: 308</usage>"
    text "final"
    usage Some(20) Some(40) 0.00132 Some((30, 200000))
    final "final" EndTurn
    "#);
}

#[test]
fn a_cut_stream_is_followed_by_the_whole_message() {
    insta::assert_snapshot!(replay(fixture!("stream-cut"), wishes()), @r#"
    started fresh-id restored=false models=opus
    text "This is "
    text "a long t"
    text "ext that"
    text "recovered answer"
    usage Some(0) Some(0) 0.00005 Some((11, 200000))
    final "recovered answer" EndTurn
    "#);
}

#[test]
fn a_stream_that_is_always_cut_is_a_transport_failure() {
    insta::assert_snapshot!(replay(fixture!("stream-cut-repeated"), wishes()), @r#"
    started fresh-id restored=false models=opus
    retry "the model call failed (no connection); attempt 1 of 10 in 1 s"
    retry "the model call failed (no connection); attempt 2 of 10 in 2 s"
    retry "the model call failed (no connection); attempt 3 of 10 in 3 s"
    retry "the model call failed (no connection); attempt 4 of 10 in 5 s"
    retry "the model call failed (no connection); attempt 5 of 10 in 10 s"
    retry "the model call failed (no connection); attempt 6 of 10 in 19 s"
    retry "the model call failed (no connection); attempt 7 of 10 in 37 s"
    retry "the model call failed (no connection); attempt 8 of 10 in 39 s"
    retry "the model call failed (no connection); attempt 9 of 10 in 36 s"
    retry "the model call failed (no connection); attempt 10 of 10 in 39 s"
    usage Some(0) Some(0) 0.00000 None
    failed transport "API Error: Unable to connect to API (ECONNRESET)" (the backend could not reach its service: check the network, then run `coppice resume`)
    "#);
}

#[test]
fn a_success_without_a_response_is_left_to_the_parser() {
    insta::assert_snapshot!(replay(fixture!("plain-text"), Wishes { has_schema: true, ..wishes() }), @r#"
    started fresh-id restored=false models=opus
    text "just prose, no tool"
    text "just prose, no tool"
    usage Some(20) Some(40) 0.00066 None
    final "just prose, no tool" EndTurn
    "#);
}

#[test]
fn a_broken_response_is_left_to_the_parser() {
    insta::assert_snapshot!(replay(fixture!("broken-response"), Wishes { has_schema: true, ..wishes() }), @r#"
    started fresh-id restored=false models=opus
    text "{\"answer\":5,\"extra\":1}"
    text "{\"answer\":5,\"extra\":1}"
    text "{\"answer\":5,\"extra\":1}"
    text "{\"answer\":5,\"extra\":1}"
    text "{\"answer\":5,\"extra\":1}"
    usage Some(40) Some(80) 0.00132 None
    final "{\"answer\":5,\"extra\":1}" Other("error_max_structured_output_retries")
    "#);
}

#[test]
fn a_response_that_was_mended_is_the_one_that_counts() {
    insta::assert_snapshot!(replay(fixture!("response-retry"), Wishes { has_schema: true, ..wishes() }), @r#"
    started fresh-id restored=false models=opus
    text "{\"answer\":5,\"extra\":1}"
    text "{\"answer\":\"All done\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}"
    usage Some(20) Some(40) 0.00066 None
    final "{\"answer\":\"All done\",\"questions\":[],\"summary\":{\"turn\":\"t\",\"session\":\"s\"}}" EndTurn
    "#);
}

#[test]
fn an_edit_ends_with_its_diff() {
    insta::assert_snapshot!(replay(fixture!("edit"), wishes()), @r#"
    started fresh-id restored=false models=opus
    tool started "Read a.txt" Read
    tool finished Completed "1\thello\n2\t"
    tool started "Edit a.txt" Edit
    tool finished Completed "-hello\n+bye"
    text "edited"
    usage Some(30) Some(60) 0.00099 None
    final "edited" EndTurn
    "#);
}

#[test]
fn what_the_agent_refuses_by_itself_fails_the_call() {
    insta::assert_snapshot!(replay(fixture!("refused-tools"), wishes()), @r#"
    started fresh-id restored=false models=opus
    tool started "Search `hello`" Search
    tool finished Completed "Found 1 file\na.txt"
    tool started "Search `*.txt`" Search
    tool finished Completed "a.txt"
    tool started "Read a.txt" Read
    tool finished Completed "1\thello\n2\t"
    tool started "Read /etc/hostname" Read
    tool finished Failed "Claude requested permissions to read from /etc/hostname, but you haven't granted it yet."
    tool started "ls" Execute
    tool finished Failed "<tool_use_error>Error: No such tool available: Bash. Bash exists but is not enabled in this context. Use one of the available tools instead.</tool_use_error>"
    tool started "Write zz" Edit
    tool finished Failed "<tool_use_error>Error: No such tool available: Write. Write exists but is not enabled in this context. Use one of the available tools instead.</tool_use_error>"
    text "fin"
    usage Some(70) Some(140) 0.00231 None
    final "fin" EndTurn
    "#);
}
