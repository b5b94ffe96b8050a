//! What a conversation costs, wherever the agent tells a sum.

use serde_json::json;

use super::{Talk, prompt, wishes};
use crate::backend::acp::handshake::Wishes;
use crate::backend::event::Event;
use crate::backend::transport::machine::{Effect, Input, Machine};

#[test]
fn a_restored_conversation_does_not_pay_for_its_past_again() {
    let wishes = Wishes { resume: Some("s".to_owned()), ..wishes() };
    for phase in ["handshake", "replay", "idle", "turn"] {
        let mut talk = Talk::begin(wishes.clone());
        let told = |talk: &mut Talk, now: &str, total: f64| {
            if now == phase {
                let cost = json!({"amount": total, "currency": "USD"});
                talk.update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": cost}));
            }
        };
        talk.reply(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}));
        told(&mut talk, "handshake", 5.0);
        talk.reply(json!({}));
        told(&mut talk, "replay", 5.0);
        talk.input(Input::Elapsed);
        told(&mut talk, "idle", 5.0);
        talk.input(prompt("go"));
        told(&mut talk, "turn", 5.0);
        let cost = json!({"amount": 5.25, "currency": "USD"});
        let update = json!({"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": cost});
        let line = json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}).to_string();
        let effects = talk.client.step(Input::Line(line));
        let [Effect::Emit(Event::Usage(usage))] = &effects[..] else { panic!("{phase}: {effects:?}") };
        assert_eq!(usage.cost_usd, Some(0.25), "{phase}");
    }
}
