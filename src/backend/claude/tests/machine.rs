//! Written conversations: every trap of the pipe that no record shows.

mod stop;

use serde_json::{Value, json};

use super::{Log, answered, delegate, ready, wishes};
use crate::backend::claude::client::{Client, Wishes};
use crate::backend::event::{Block, Command, Decision};
use crate::backend::transport::machine::{Effect, Input, Machine};

/// A client that is being talked to.
struct Talk {
    client: Client,
    log: Log,
}

impl Talk {
    fn begin(wishes: Wishes) -> Self {
        let (client, effects) = Client::begin(wishes, None);
        let mut log = Log::default();
        log.note(effects);
        Self { client, log }
    }

    /// A conversation in the middle of its first turn.
    fn in_turn(wishes: Wishes) -> Self {
        let mut talk = Self::begin(wishes);
        talk.text(&ready());
        talk.prompt();
        talk.line(json!({"type": "system", "subtype": "init", "tools": ["Bash"]}));
        talk.log = Log::default();
        talk
    }

    fn step(&mut self, input: Input) {
        let effects = self.client.step(input);
        self.log.note(effects);
    }

    fn text(&mut self, line: &str) {
        self.step(Input::Line(line.to_owned()));
    }

    fn line(&mut self, line: Value) {
        self.text(&line.to_string());
    }

    fn ask(&mut self, id: &str, request: Value) {
        self.line(json!({"type": "control_request", "request_id": id, "request": request}));
    }

    fn tell(&mut self, command: Command) {
        self.step(Input::Command(command));
    }

    fn prompt(&mut self) {
        self.tell(Command::Prompt { blocks: vec![Block::Text("go".to_owned())] });
    }

    fn gone(&mut self, status: &str) {
        self.step(Input::Gone { status: Some(status.to_owned()), stderr_tail: "last words".to_owned() });
    }

    /// What was sent since the last look, by kind.
    fn sent(&mut self) -> Vec<String> {
        let kind = |line: Value| match line["type"].as_str().unwrap() {
            "control_request" => line["request"]["subtype"].as_str().unwrap().to_owned(),
            "control_response" => format!("{} {}", line["response"]["request_id"], line["response"]["response"]),
            other => other.to_owned(),
        };
        std::mem::take(&mut self.log.sent).into_iter().map(kind).collect()
    }

    fn events(&mut self) -> String {
        std::mem::take(&mut self.log.events)
    }

    fn other(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.log.other)
    }
}

fn tool_use(id: &str, name: &str, input: Value) -> Value {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    json!({"type": "assistant", "message": {"id": "m", "model": "x", "content": [block]}, "parent_tool_use_id": null})
}

fn asked(call: &str) -> Value {
    json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "make"}, "tool_use_id": call})
}

fn success() -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "stop_reason": "end_turn"})
}

#[test]
fn a_missing_login_is_found_before_a_model_call() {
    let mut talk = Talk::begin(wishes());
    talk.prompt();
    talk.text(&answered("initialize", json!({"account": {"tokenSource": "none", "apiProvider": "firstParty"}})));
    talk.gone("exit status 0");
    assert_eq!(talk.sent(), ["initialize"]);
    insta::assert_snapshot!(talk.events(), @r#"
    failed auth "the agent is not logged in" (log in)
    exited Some("exit status 0") "last words"
    "#);
}

#[test]
fn a_schema_that_was_dropped_fails_the_turn() {
    let mut talk = Talk::begin(Wishes { has_schema: true, ..wishes() });
    talk.text(&ready());
    talk.prompt();
    talk.line(json!({"type": "system", "subtype": "init", "tools": ["Bash", "Read"], "mcp_servers": []}));
    assert_eq!(talk.sent(), ["initialize", "user", "interrupt"]);
    talk.line(success());
    insta::assert_snapshot!(talk.events(), @r#"
    started fresh-id restored=false models=opus
    failed protocol "the agent did not take the schema of the response" (run `coppice doctor`, install a version of the agent that was tested, then run `coppice resume`)
    "#);
}

#[test]
fn tools_that_were_not_taken_fail_the_turn() {
    for (servers, expected) in [
        (json!([{"name": "coppice", "status": "connected"}]), ""),
        (json!([{"name": "coppice", "status": "failed"}]), "their server is `failed`"),
        (json!([{"name": "other", "status": "connected"}]), "their server is `missing`"),
        (Value::Null, "their server is `missing`"),
    ] {
        let mut talk = Talk::begin(Wishes { tools: vec![delegate()], ..wishes() });
        talk.text(&ready());
        talk.prompt();
        talk.events();
        talk.line(json!({"type": "system", "subtype": "init", "tools": [], "mcp_servers": servers}));
        talk.line(success());
        let events = talk.events();
        assert_eq!(events.contains("failed protocol"), !expected.is_empty(), "{events}");
        assert!(events.contains(expected), "{events}");
    }
}

#[test]
fn a_refused_key_stops_at_once_and_a_token_gets_a_second_try() {
    let retry = |attempt: u64| {
        json!({"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10, "retry_delay_ms": 500,
            "error_status": 401, "error": "authentication_failed"})
    };
    let aborted = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "terminal_reason": "aborted_streaming"});
    let mut talk = Talk::in_turn(wishes());
    talk.line(retry(1));
    assert_eq!(talk.sent(), ["interrupt"]);
    assert_eq!(talk.other(), [Effect::Arm(super::STOP.cancel)]);
    talk.line(aborted.clone());
    insta::assert_snapshot!(talk.events(), @r#"failed auth "the service refused the login of the agent (status 401)" (log in)"#);
    talk.prompt();
    assert_eq!(talk.sent(), ["user"], "the conversation lives on");

    let mut talk = Talk::begin(wishes());
    talk.text(&answered("initialize", json!({"account": {"tokenSource": "claude.ai", "apiProvider": "firstParty"}})));
    talk.prompt();
    talk.sent();
    talk.line(retry(1));
    assert_eq!(talk.sent(), [""; 0]);
    talk.line(retry(2));
    assert_eq!(talk.sent(), ["interrupt"]);
    talk.line(aborted);
    insta::assert_snapshot!(talk.events(), @r#"
    started fresh-id restored=false models=
    retry "the model call failed (401, authentication_failed); attempt 1 of 10 in 1 s"
    failed auth "the service refused the login of the agent (status 401)" (log in)
    "#);
}

#[test]
fn other_failures_of_the_service_are_tried_again_in_sight() {
    let mut talk = Talk::in_turn(wishes());
    talk.line(json!({"type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10,
        "retry_delay_ms": 1200.5, "error_status": 529, "error": "overloaded"}));
    assert_eq!(talk.sent(), [""; 0]);
    insta::assert_snapshot!(talk.events(), @r#"retry "the model call failed (529, overloaded); attempt 2 of 10 in 2 s""#);
}

#[test]
fn several_questions_wait_and_are_answered_in_any_order() {
    let mut talk = Talk::in_turn(wishes());
    for (call, id) in [("c1", "q1"), ("c2", "q2"), ("c3", "q3")] {
        talk.line(tool_use(call, "Bash", json!({"command": "make"})));
        talk.ask(id, asked(call));
    }
    talk.tell(Command::Decide { request: "q2".to_owned(), decision: Decision::Once });
    talk.line(json!({"type": "control_cancel_request", "request_id": "q3"}));
    talk.tell(Command::Decide { request: "q3".to_owned(), decision: Decision::Once });
    let message = Some("not that".to_owned());
    talk.tell(Command::Decide { request: "q1".to_owned(), decision: Decision::Deny { message } });
    assert_eq!(
        talk.sent(),
        [
            r#""q2" {"behavior":"allow","updatedInput":{"command":"make"}}"#,
            r#""q1" {"behavior":"deny","message":"not that"}"#
        ]
    );
    talk.line(success());
    insta::assert_snapshot!(talk.events(), @r#"
    tool started "make" Execute
    approval "make" Execute "make" Command { text: "make", cwd: "/repo" }
    tool started "make" Execute
    approval "make" Execute "make" Command { text: "make", cwd: "/repo" }
    tool started "make" Execute
    approval "make" Execute "make" Command { text: "make", cwd: "/repo" }
    approval gone
    tool finished Unfinished ""
    tool finished Unfinished ""
    tool finished Unfinished ""
    final "done" EndTurn
    "#);
}

#[test]
fn a_prompt_never_steers_the_turn_before_it() {
    let mut talk = Talk::in_turn(wishes());
    talk.prompt();
    talk.line(tool_use("c1", "Bash", json!({"command": "sleep"})));
    assert_eq!(talk.sent(), [""; 0]);
    talk.line(success());
    assert_eq!(talk.sent(), ["user"]);
}

#[test]
fn noise_lines_after_the_result_and_the_unknown_disturb_nothing() {
    let mut talk = Talk::in_turn(wishes());
    for line in ["", "Warning: not JSON", "{\"half\": ", "[]", "null", r#"{"type":"from_the_future"}"#] {
        talk.text(line);
    }
    talk.line(success());
    talk.line(json!({"type": "system", "subtype": "task_notification"}));
    talk.line(success());
    talk.line(tool_use("late", "Bash", json!({})));
    talk.prompt();
    talk.line(success());
    insta::assert_snapshot!(talk.events(), @r#"
    final "done" EndTurn
    final "done" EndTurn
    "#);
}

#[test]
fn unknown_requests_are_refused_and_questions_at_rest_are_denied() {
    let mut talk = Talk::begin(wishes());
    talk.text(&ready());
    talk.sent();
    talk.ask("a", json!({"subtype": "from_the_future"}));
    assert_eq!(talk.log.sent[0]["response"]["subtype"], "error");
    talk.sent();
    talk.ask("b", asked("c"));
    talk.ask(
        "c",
        json!({"subtype": "mcp_message", "message": {"id": 5, "method": "tools/call", "params": {"name": "x"}}}),
    );
    let sent = talk.sent();
    assert_eq!(sent[0], r#""b" {"behavior":"deny","message":"The turn is over."}"#);
    assert!(sent[1].contains(r#""isError":true"#), "{sent:?}");
}

#[test]
fn a_served_call_may_be_answered_late_or_withdrawn() {
    let call = |id: u64| {
        let params = json!({"name": "delegate", "arguments": {"task": "t"}});
        json!({"subtype": "mcp_message", "message": {"id": id, "method": "tools/call", "params": params}})
    };
    let mut talk = Talk::in_turn(wishes());
    talk.ask("s1", call(1));
    talk.ask("s2", call(2));
    talk.ask("s3", call(3));
    talk.line(json!({"type": "control_cancel_request", "request_id": "s1"}));
    let cancelled = json!({"method": "notifications/cancelled", "params": {"requestId": 2}});
    talk.ask("n", json!({"subtype": "mcp_message", "message": cancelled}));
    for request in ["s1", "s2"] {
        talk.tell(Command::ToolResult { request: request.to_owned(), outcome: Ok("late".to_owned().into()) });
    }
    assert_eq!(talk.sent(), [r#""n" {"mcp_response":{"jsonrpc":"2.0","id":0,"result":{}}}"#]);
    talk.line(success());
    insta::assert_snapshot!(talk.events(), @r#"
    tool requested delegate {"task":"t"}
    tool requested delegate {"task":"t"}
    tool requested delegate {"task":"t"}
    tool request gone
    tool request gone
    tool request gone
    final "done" EndTurn
    "#);
}

#[test]
fn tasks_are_a_plan_and_no_tool_calls() {
    let mut talk = Talk::in_turn(wishes());
    talk.line(tool_use("t1", "TaskCreate", json!({"subject": "Build it"})));
    talk.line(
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
        "tool_use_result": {"task": {"id": "1", "subject": "Build it"}}}),
    );
    insta::assert_snapshot!(talk.events(), @r#"plan [PlanEntry { text: "Build it", status: Pending }]"#);
}

#[test]
fn parallel_calls_are_told_apart_by_their_ids() {
    let mut talk = Talk::in_turn(wishes());
    talk.line(tool_use("c1", "Read", json!({"file_path": "/repo/one"})));
    talk.line(tool_use("c2", "Read", json!({"file_path": "/repo/two"})));
    for (call, output) in [("c2", "second"), ("c1", "first"), ("c1", "again"), ("other", "x")] {
        let block = json!({"type": "tool_result", "tool_use_id": call, "content": output});
        talk.line(json!({"type": "user", "message": {"content": [block]}}));
    }
    insta::assert_snapshot!(talk.events(), @r#"
    tool started "Read one" Read
    tool started "Read two" Read
    tool finished Completed "second"
    tool finished Completed "first"
    "#);
}

#[test]
fn a_line_of_six_megabytes_is_cut_to_size() {
    let mut talk = Talk::in_turn(wishes());
    talk.line(tool_use("c1", "Bash", json!({"command": "cat big"})));
    let output = "x".repeat(6 * 1024 * 1024);
    let block = json!({"type": "tool_result", "tool_use_id": "c1", "content": output, "is_error": false});
    talk.line(json!({"type": "user", "message": {"content": [block]}, "tool_use_result": {"stdout": output}}));
    let events = talk.events();
    assert!(events.len() < 80 * 1024 && events.contains("bytes left out"), "{}", events.len());
}
