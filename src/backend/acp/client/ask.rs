//! What the agent asks of us: whether a call may go ahead. Only a turn that goes on has somebody who answers.

use serde_json::{Value, json};
use tracing::debug;

use crate::backend::acp::client::{Client, Phase, TurnStop};
use crate::backend::acp::permission;
use crate::backend::acp::policy::{Asks, Starts};
use crate::backend::event::Decision;
use crate::backend::transport::jsonrpc::{self, METHOD_NOT_FOUND};
use crate::backend::transport::machine::Effect;

impl Client {
    pub(super) fn on_request(&mut self, id: Value, method: &str, params: &Value) -> Vec<Effect> {
        if method != "session/request_permission" {
            debug!(method, "unknown request refused");
            let text = format!("method `{method}` not found");
            return vec![Effect::Send(jsonrpc::error(&id, METHOD_NOT_FOUND, &text, json!({"method": method})))];
        }
        match &mut self.phase {
            Phase::Turn { turn, stop: TurnStop::NotAsked, .. } => {
                let pending = permission::read(id, &turn.complete(params), &self.session.cwd, &self.policy);
                match self.policy.asks {
                    Asks::Owner => turn.ask(pending).into_iter().map(Effect::Emit).collect(),
                    Asks::Nobody => {
                        let refusal = pending.answer(&Decision::Deny { message: None });
                        vec![Effect::Send(jsonrpc::response(&pending.id, refusal))]
                    }
                }
            }
            Phase::Turn { stop: TurnStop::Asked, .. }
            | Phase::Handshake { .. }
            | Phase::Replay { .. }
            | Phase::Idle => {
                vec![Effect::Send(jsonrpc::response(&id, permission::cancelled()))]
            }
            Phase::Stopping { .. } | Phase::Gone => Vec::new(),
        }
    }

    pub(super) fn on_decision(&mut self, request: &str, decision: &Decision) -> Vec<Effect> {
        let starts = self.policy.starts;
        let Some(turn) = self.turn() else { return Vec::new() };
        let Some(pending) = turn.take_pending(request) else { return Vec::new() };
        let mut effects = vec![Effect::Send(jsonrpc::response(&pending.id, pending.answer(decision)))];
        match (starts, decision) {
            (Starts::Approval, Decision::Once) => {
                effects.extend(turn.begin(pending.approval).into_iter().map(Effect::Emit));
            }
            (Starts::Update, Decision::Once) | (_, Decision::Deny { message: None }) => {}
            (_, Decision::Deny { message: Some(message) }) => turn.refuse(pending.approval, message.clone()),
        }
        effects
    }
}
