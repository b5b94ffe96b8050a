//! Random walks through the client: whatever happens in whatever order, everybody is told once and nothing dangles.

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{delegate, ready, wishes};
use crate::backend::claude::argv::Begin;
use crate::backend::claude::client::{Client, Opening, Wishes};
use crate::backend::event::{Block, Command, Decision, Event};
use crate::backend::promise;
use crate::backend::transport::machine::{Effect, Input, Machine};

#[derive(Debug, Clone, Copy)]
enum Move {
    Prompt,
    Interrupt,
    Close,
    Decide,
    ToolResult,
    Ready,
    LoggedOut,
    Init,
    Text,
    Tool,
    ToolEnd,
    Permission,
    Served,
    Withdraw,
    AuthRetry,
    Result,
    ErrorResult,
    Unsolicited,
    Elapsed,
    OutputClosed,
    Stuck,
    Gone,
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        // Weighted towards the good days, or no walk would come far.
        6 => prop::sample::select(vec![Move::Ready, Move::Init, Move::Result, Move::Prompt]),
        4 => prop::sample::select(vec![Move::Text, Move::Tool, Move::Permission, Move::Served]),
        3 => prop::sample::select(vec![
            Move::ToolEnd, Move::Decide, Move::ToolResult, Move::Withdraw, Move::Interrupt, Move::Unsolicited,
        ]),
        1 => prop::sample::select(vec![
            Move::LoggedOut, Move::AuthRetry, Move::ErrorResult, Move::Close, Move::Elapsed, Move::OutputClosed,
            Move::Stuck, Move::Gone,
        ]),
    ]
}

fn input(step: Move) -> Input {
    let line = |line: Value| Input::Line(line.to_string());
    let asked =
        |id: &str, request: Value| line(json!({"type": "control_request", "request_id": id, "request": request}));
    let assistant = |block: Value| line(json!({"type": "assistant", "message": {"id": "m", "content": [block]}}));
    match step {
        Move::Prompt => Input::Command(Command::Prompt { blocks: vec![Block::Text("go".to_owned())] }),
        Move::Interrupt => Input::Command(Command::Interrupt),
        Move::Close => Input::Command(Command::Close),
        Move::Decide => Input::Command(Command::Decide { request: "q".to_owned(), decision: Decision::Once }),
        Move::ToolResult => {
            Input::Command(Command::ToolResult { request: "s".to_owned(), outcome: Ok(String::new().into()) })
        }
        Move::Ready => Input::Line(ready()),
        Move::LoggedOut => line(json!({"type": "control_response",
            "response": {"subtype": "success", "request_id": "initialize", "response": {"account": {"tokenSource": "none"}}}})),
        Move::Init => line(json!({"type": "system", "subtype": "init", "tools": ["StructuredOutput"],
            "mcp_servers": [{"name": "coppice", "status": "connected"}]})),
        Move::Text => assistant(json!({"type": "text", "text": "words"})),
        Move::Tool => assistant(json!({"type": "tool_use", "id": "c", "name": "Bash", "input": {}})),
        Move::ToolEnd => line(json!({"type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}})),
        Move::Permission => asked("q", json!({"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "c"})),
        Move::Served => {
            asked("s", json!({"subtype": "mcp_message", "message": {"id": 1, "method": "tools/call", "params": {}}}))
        }
        Move::Withdraw => line(json!({"type": "control_cancel_request", "request_id": "q"})),
        Move::AuthRetry => line(json!({"type": "system", "subtype": "api_retry", "attempt": 1,
            "error": "authentication_failed"})),
        Move::Result => line(json!({"type": "result", "subtype": "success", "is_error": false, "result": "x"})),
        Move::ErrorResult => line(json!({"type": "result", "subtype": "error_during_execution", "is_error": true})),
        Move::Unsolicited => line(json!({"type": "result", "subtype": "success", "is_error": false,
            "origin": {"kind": "task-notification"}})),
        Move::Elapsed => Input::Elapsed,
        Move::OutputClosed => Input::OutputClosed,
        Move::Stuck => Input::Stuck,
        Move::Gone => Input::Gone { status: None, stderr_tail: String::new() },
    }
}

/// What must hold at the end of every walk.
fn check(effects: &[Effect], prompts: usize) {
    let events: Vec<&Event> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Emit(event) => Some(event),
            _ => None,
        })
        .collect();
    promise::check(&events, prompts);
    assert_eq!(
        effects.iter().position(|effect| *effect == Effect::Finish),
        Some(effects.len() - 1),
        "work after the end"
    );
    questions_are_settled(effects);
}

/// Every question was answered once or taken back once, and before its turn was over.
fn questions_are_settled(effects: &[Effect]) {
    let mut open = 0i64;
    for effect in effects {
        match effect {
            Effect::Emit(Event::Approval(_) | Event::ToolRequested(_)) => open += 1,
            Effect::Emit(Event::ApprovalGone { .. } | Event::ToolRequestGone { .. }) => open -= 1,
            Effect::Send(line) if line.contains("updatedInput") || line.contains(r#""isError":false"#) => open -= 1,
            Effect::Emit(Event::Final { .. } | Event::Failed(_)) => assert_eq!(open, 0, "a question outlives its turn"),
            _ => {}
        }
        assert!(open >= 0, "settled twice");
    }
    assert_eq!(open, 0, "a question dangles");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn every_walk_ends_well(moves in prop::collection::vec(any_move(), 0..50), has_past in any::<bool>()) {
        let begin = if has_past { Begin::Resume("old-id".to_owned()) } else { wishes().begin };
        let wishes = Wishes { begin, has_schema: true, tools: vec![delegate()], ..wishes() };
        let (opening, mut opened) = oneshot::channel();
        let (mut client, mut effects) = Client::begin(wishes, Some(opening));
        let mut prompts = 0;
        for step in moves.into_iter().chain([Move::Gone]) {
            if effects.last() == Some(&Effect::Finish) {
                break;
            }
            prompts += usize::from(matches!(step, Move::Prompt));
            effects.extend(client.step(input(step)));
        }
        if opened.try_recv() == Ok(Opening::Lost) {
            // Another process tells the rest.
            let is_told = |effect: &Effect| matches!(effect, Effect::Emit(Event::Started(_) | Event::Exited { .. }));
            prop_assert!(has_past && effects.last() == Some(&Effect::Finish));
            prop_assert!(!effects.iter().any(is_told), "told too early");
        } else {
            check(&effects, prompts);
        }
    }
}
