//! Random walks through the client: whatever happens in whatever order, everybody is told once and nothing dangles.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{POLICY, wishes};
use crate::backend::acp::client::Client;
use crate::backend::acp::handshake::Wishes;
use crate::backend::acp::policy::{Asks, Policy};
use crate::backend::event::{Block, Command, Decision, Event};
use crate::backend::promise;
use crate::backend::transport::machine::{Effect, Input, Machine};

#[derive(Debug, Clone, Copy)]
enum Move {
    Prompt,
    Interrupt,
    Close,
    Decide,
    Reply,
    Refuse,
    RefuseHistory,
    Noise,
    AskForLogin,
    Text,
    Tool,
    ToolEnd,
    Permission,
    Commands,
    Elapsed,
    OutputClosed,
    Stuck,
    Gone,
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        // Weighted towards the good days, or no walk would come far.
        8 => Just(Move::Reply),
        4 => prop::sample::select(vec![Move::Prompt, Move::Text, Move::Tool, Move::Permission]),
        3 => prop::sample::select(vec![Move::ToolEnd, Move::Decide, Move::Interrupt, Move::Commands]),
        1 => prop::sample::select(vec![
            Move::Refuse, Move::RefuseHistory, Move::Noise, Move::AskForLogin, Move::Close, Move::Elapsed, Move::OutputClosed, Move::Stuck, Move::Gone,
        ]),
    ]
}

fn input(step: Move, last_request: &Value) -> Input {
    let message = |message: Value| Input::Line(message.to_string());
    let update =
        |update: Value| message(json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}));
    let reply = json!({"protocolVersion": 1, "sessionId": "s", "stopReason": "end_turn",
        "agentCapabilities": {"loadSession": true}});
    match step {
        Move::Prompt => Input::Command(Command::Prompt { blocks: vec![Block::Text("go".to_owned())] }),
        Move::Interrupt => Input::Command(Command::Interrupt),
        Move::Close => Input::Command(Command::Close),
        Move::Decide => Input::Command(Command::Decide { request: "0".to_owned(), decision: Decision::Once }),
        Move::Reply => message(json!({"id": last_request, "result": reply})),
        Move::Refuse => message(json!({"id": last_request, "error": {"code": -32603, "message": "no"}})),
        Move::RefuseHistory => message(json!({"id": last_request, "error": {"code": 400, "message": "no"}})),
        Move::Noise => Input::Line("Please visit this page".to_owned()),
        Move::AskForLogin => message(json!({"id": last_request, "error": {"code": -32000, "message": "log in"}})),
        Move::Text => update(json!({"sessionUpdate": "agent_message_chunk", "content": {"text": "words"}})),
        Move::Tool => update(json!({"sessionUpdate": "tool_call", "toolCallId": "c"})),
        Move::ToolEnd => update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"})),
        Move::Permission => {
            message(json!({"id": 0, "method": "session/request_permission", "params": {"sessionId": "s",
            "options": [{"optionId": "a", "kind": "allow_once"}], "toolCall": {"toolCallId": "d"}}}))
        }
        Move::Commands => update(json!({"sessionUpdate": "available_commands_update"})),
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
    assert!(matches!(events.first(), Some(Event::Started(_) | Event::Failed(_) | Event::Exited { .. })), "{events:?}");
    assert_eq!(
        effects.iter().position(|effect| *effect == Effect::Finish),
        Some(effects.len() - 1),
        "work after the end"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn every_walk_ends_well(
        moves in prop::collection::vec(any_move(), 0..40),
        has_past in any::<bool>(),
        is_fragile in any::<bool>(),
        asks in prop::sample::select(vec![Asks::Owner, Asks::Nobody]),
    ) {
        let resume = has_past.then(|| "s".to_owned());
        let policy = Policy { spoiled: is_fragile.then(Arc::default), asks, ..POLICY };
        let (mut client, mut effects) = Client::begin(policy, Wishes { resume, ..wishes() });
        let mut prompts = 0;
        for step in moves.into_iter().chain([Move::Gone]) {
            if effects.last() == Some(&Effect::Finish) {
                break;
            }
            prompts += usize::from(matches!(step, Move::Prompt));
            let mut requests = effects.iter().filter_map(|effect| match effect {
                Effect::Send(line) => serde_json::from_str::<Value>(line).ok().filter(|sent| sent["method"].is_string()),
                _ => None,
            });
            let last_request = requests.rfind(|sent| !sent["id"].is_null()).map(|sent| sent["id"].clone());
            effects.extend(client.step(input(step, &last_request.unwrap_or_default())));
        }
        check(&effects, prompts);
    }
}
