//! What the agent asks of us: whether a call may go ahead, and what the served tools say.
//!
//! Only a turn that goes on has somebody who answers; outside of one every question is refused.

use serde_json::Value;
use tracing::debug;

use crate::backend::claude::client::{Client, Phase, TurnStop, emit};
use crate::backend::claude::{control, mcp, permission};
use crate::backend::event::{Decision, ToolOutput};
use crate::backend::transport::machine::Effect;

impl Client {
    pub(super) fn on_asked(&mut self, id: &str, request: Value) -> Vec<Effect> {
        match request["subtype"].as_str().unwrap_or_default() {
            "hook_callback" => {
                let answer = permission::before(&request, self.wishes.purpose, &self.wishes.native);
                vec![Effect::Send(control::success(id, &answer))]
            }
            "can_use_tool" => match &mut self.phase {
                Phase::Turn { turn, stop: TurnStop::NotAsked, .. } => {
                    emit(Some(turn.ask(permission::read(id, request, &self.wishes.cwd))))
                }
                Phase::Turn { stop: TurnStop::Asked(_), .. } | Phase::Opening | Phase::Idle => {
                    vec![Effect::Send(control::success(id, &permission::deny("The turn is over.")))]
                }
                Phase::Lost | Phase::Stopping { .. } | Phase::Gone => Vec::new(),
            },
            "mcp_message" => self.on_mcp(id, &request["message"]),
            other => {
                debug!(subtype = other, "unknown request refused");
                vec![Effect::Send(control::error(id, &format!("request `{other}` is not known")))]
            }
        }
    }

    fn on_mcp(&mut self, id: &str, message: &Value) -> Vec<Effect> {
        match mcp::read(message, &self.wishes.tools) {
            mcp::Asked::Known(reply) => vec![Effect::Send(control::success(id, &reply))],
            mcp::Asked::Withdrawn { id: call, reply } => {
                let mut effects = emit(self.turn().and_then(|turn| turn.withdraw_call(&call)));
                effects.push(Effect::Send(control::success(id, &reply)));
                effects
            }
            mcp::Asked::Call(call) => match &mut self.phase {
                Phase::Turn { turn, stop: TurnStop::NotAsked, .. } => emit(Some(turn.serve(id.to_owned(), call))),
                Phase::Turn { stop: TurnStop::Asked(_), .. } | Phase::Opening | Phase::Idle => {
                    let reply = mcp::result(&call.id, &Err("the turn is over".to_owned()));
                    vec![Effect::Send(control::success(id, &reply))]
                }
                Phase::Lost | Phase::Stopping { .. } | Phase::Gone => Vec::new(),
            },
        }
    }

    pub(super) fn on_decided(&mut self, request: &str, decision: &Decision) -> Vec<Effect> {
        let pending = self.turn().and_then(|turn| turn.take_approval(request));
        let answer = pending.map(|pending| control::success(request, &pending.answer(decision)));
        answer.map(Effect::Send).into_iter().collect()
    }

    pub(super) fn on_served(&mut self, request: &str, outcome: &Result<ToolOutput, String>) -> Vec<Effect> {
        let call = self.turn().and_then(|turn| turn.take_served(request));
        let answer = call.map(|call| control::success(request, &mcp::result(&call.id, outcome)));
        answer.map(Effect::Send).into_iter().collect()
    }
}
