//! Random walks through a conversation: whatever happens in whatever order, everybody is told once and nothing dangles.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{message, opened, prompt, ready, wishes};
use crate::backend::codex::fault::Refusal;
use crate::backend::codex::settings::Wishes;
use crate::backend::codex::thread::{Effect, Input, Tag, Thread};
use crate::backend::event::{Command, Decision, Event};
use crate::backend::promise;
use crate::backend::transport::jsonrpc::RpcError;

#[derive(Debug, Clone, Copy)]
enum Move {
    Ready,
    Prompt,
    NoImage,
    Interrupt,
    Close,
    Decide,
    ToolResult,
    Reply,
    Refuse,
    Silence,
    TurnStarted,
    TurnCompleted,
    TurnInterrupted,
    TurnFailed,
    Text,
    Tool,
    ToolEnd,
    Ask,
    Call,
    Resolved,
    Closed,
    Retiring,
    Elapsed,
    Lost,
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        // Weighted towards the good days, or no walk would come far.
        8 => prop::sample::select(vec![Move::Ready, Move::Reply, Move::Reply]),
        5 => prop::sample::select(vec![Move::Prompt, Move::TurnStarted, Move::Text, Move::Tool, Move::Ask, Move::Call]),
        3 => prop::sample::select(vec![
            Move::ToolEnd, Move::Decide, Move::ToolResult, Move::Interrupt, Move::TurnCompleted, Move::TurnInterrupted,
            Move::TurnFailed, Move::Resolved,
        ]),
        1 => prop::sample::select(vec![
            Move::NoImage, Move::Refuse, Move::Silence, Move::Close, Move::Closed, Move::Retiring, Move::Elapsed,
            Move::Lost,
        ]),
    ]
}

/// The turn that a walk is in, by its number.
fn input(step: Move, tag: Option<Tag>, turns: usize) -> Option<Input> {
    let turn = format!("u{turns}");
    let notice = |method: &str, mut params: Value| {
        params["threadId"] = json!("t");
        params["turnId"] = json!(turn);
        Some(Input::Notified { method: method.to_owned(), params })
    };
    let end = |status: &str| {
        notice("turn/completed", json!({"turn": {"id": turn, "status": status, "items": message("done")}}))
    };
    let item = |stage: &str| notice(stage, json!({"item": {"type": "commandExecution", "id": "c", "command": "ls"}}));
    let replied = |outcome| tag.map(|tag| Input::Replied { tag, outcome });
    let mut result = opened("t");
    result["turn"] = json!({"id": turn});
    result["config"] = json!({});
    let asked = |id: u64, method: &str| {
        Some(Input::Asked { id: json!(id), method: method.to_owned(), params: json!({"threadId": "t", "itemId": "c"}) })
    };
    match step {
        Move::Ready => Some(ready()),
        Move::Prompt => Some(prompt("go")),
        Move::NoImage => Some(Input::NoImage("/x".into())),
        Move::Interrupt => Some(Input::Command(Command::Interrupt)),
        Move::Close => Some(Input::Command(Command::Close)),
        Move::Decide => Some(Input::Command(Command::Decide { request: "0".to_owned(), decision: Decision::Once })),
        Move::ToolResult => {
            Some(Input::Command(Command::ToolResult { request: "1".to_owned(), outcome: Ok(String::new().into()) }))
        }
        Move::Reply => replied(Ok(result)),
        Move::Refuse => {
            replied(Err(Refusal::Error(RpcError { code: -32600, message: "no".to_owned(), data: Value::Null })))
        }
        Move::Silence => replied(Err(Refusal::Silence)),
        Move::TurnStarted => notice("turn/started", json!({"turn": {"id": turn}})),
        Move::TurnCompleted => end("completed"),
        Move::TurnInterrupted => end("interrupted"),
        Move::TurnFailed => end("failed"),
        Move::Text => notice("item/agentMessage/delta", json!({"itemId": "m", "delta": "words"})),
        Move::Tool => item("item/started"),
        Move::ToolEnd => item("item/completed"),
        Move::Ask => asked(0, "item/commandExecution/requestApproval"),
        Move::Call => asked(1, "item/tool/call"),
        Move::Resolved => notice("serverRequest/resolved", json!({"requestId": 0})),
        Move::Closed => notice("thread/closed", json!({})),
        Move::Retiring => Some(Input::Retiring),
        Move::Elapsed => Some(Input::Elapsed),
        Move::Lost => Some(Input::Lost { failure: None, status: None, stderr_tail: String::new() }),
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
    let finish = effects.iter().position(|effect| *effect == Effect::Finish);
    assert_eq!(finish, Some(effects.len() - 1), "work after the end");
    let mut open = 0i32;
    for effect in effects {
        match effect {
            Effect::Ask { tag: Tag::Turn(_), .. } => open += 1,
            Effect::Emit(Event::Final { .. } | Event::Failed(_)) => open = 0,
            _ => {}
        }
        assert!(open <= 1, "a second turn beside one that runs");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn every_walk_ends_well(moves in prop::collection::vec(any_move(), 0..60), has_past in any::<bool>()) {
        let resume = has_past.then(|| "t".to_owned());
        let mut thread = Thread::new(Wishes { resume, ..wishes() });
        let mut effects = Vec::new();
        let mut prompts = 0;
        for step in moves.into_iter().chain([Move::Lost, Move::Close]) {
            if effects.last() == Some(&Effect::Finish) {
                break;
            }
            let asked = effects.iter().rev().find_map(|effect| match effect {
                Effect::Ask { tag: Tag::Interrupt | Tag::Clean, .. } => None,
                Effect::Ask { tag, .. } => Some(*tag),
                _ => None,
            });
            let turns = effects.iter().filter(|effect| matches!(effect, Effect::Ask { tag: Tag::Turn(_), .. })).count();
            let Some(input) = input(step, asked, turns) else { continue };
            prompts += usize::from(matches!(step, Move::Prompt | Move::NoImage));
            effects.extend(thread.step(input));
        }
        check(&effects, prompts);
    }
}
