//! A running turn: what the agent says about it, what it asks for on the way, and its end.

use serde_json::{Value, json};
use tracing::debug;

use crate::backend::codex::approval;
use crate::backend::codex::fault::{self, UserConfig};
use crate::backend::codex::settings::Wishes;
use crate::backend::codex::thread::{Effect, Phase, Stop, Thread, answered};
use crate::backend::codex::turn;
use crate::backend::event::Event;

impl Thread {
    pub(super) fn on_notice(&mut self, method: &str, params: &Value) -> Vec<Effect> {
        if method == "thread/closed" {
            return match self.phase {
                Phase::Leaving(_) => self.on_left(),
                Phase::Away | Phase::Gone | Phase::Joining | Phase::Opening(_) | Phase::Held => Vec::new(),
                Phase::Idle | Phase::Turn { .. } | Phase::Cleaning { .. } => self.on_unloaded(),
            };
        }
        match &mut self.phase {
            Phase::Turn { turn, stop, .. } => match method {
                "turn/started" if turn.id.is_none() => {
                    turn.id = params["turn"]["id"].as_str().map(str::to_owned);
                    if *stop == Stop::Wanted { self.interrupt() } else { Vec::new() }
                }
                "turn/completed" if turn.id.is_none() || turn.id.as_deref() == params["turn"]["id"].as_str() => {
                    self.on_turn_end(&params["turn"])
                }
                "serverRequest/resolved" => turn.resolved(&params["requestId"]).map(Effect::Emit).into_iter().collect(),
                _ if turn.owns(params) => turn.notice(method, params).into_iter().map(Effect::Emit).collect(),
                _ => Vec::new(),
            },
            // A command that outlived its turn ends; nobody is shown that any more.
            Phase::Cleaning { running, .. } if method == "item/completed" => {
                running.retain(|call| *call != params["item"]["id"]);
                if running.is_empty() { self.cleaned() } else { Vec::new() }
            }
            Phase::Cleaning { .. } | Phase::Joining | Phase::Opening(_) | Phase::Held => Vec::new(),
            Phase::Idle | Phase::Leaving(_) | Phase::Away | Phase::Gone => Vec::new(),
        }
    }

    pub(super) fn on_asked(&mut self, id: &Value, method: &str, params: &Value) -> Vec<Effect> {
        let refuse = |text: &str| vec![Effect::Answer { id: id.clone(), outcome: Err(text.to_owned()) }];
        let Phase::Turn { turn, stop: Stop::NotAsked, .. } = &mut self.phase else {
            return refuse("the turn is over");
        };
        if let Some(events) = turn.ask(id, method, params) {
            return events.into_iter().map(Effect::Emit).collect();
        }
        match method {
            "item/tool/call" => vec![Effect::Emit(turn.call(id, params))],
            "item/tool/requestUserInput" => vec![answered((id.clone(), approval::no_person(params)))],
            // A form of an MCP server: nobody is there to fill it in.
            "mcpServer/elicitation/request" => vec![answered((id.clone(), json!({"action": "decline"})))],
            other => {
                debug!(method = other, "unknown request refused");
                refuse(&format!("method `{other}` is not supported"))
            }
        }
    }

    pub(super) fn on_turn_end(&mut self, ended: &Value) -> Vec<Effect> {
        let Phase::Turn { turn, stop, .. } = &mut self.phase else { return Vec::new() };
        let running = turn.running();
        let mut effects: Vec<Effect> = turn.abandon().into_iter().map(Effect::Emit).collect();
        // Whatever the agent makes of an interrupt, the person asked for the end of the turn.
        let outcome = match stop {
            Stop::NotAsked => turn::outcome(ended),
            Stop::Wanted | Stop::Asked => Err(fault::interrupted()),
        };
        let was_stopped = outcome.is_err() && (ended["status"] == "interrupted" || self.is_stopping());
        let Wishes { spec, config_file, unset, .. } = &self.wishes;
        let user = UserConfig { spec, effective: &self.user, file: config_file.as_deref(), unset };
        let outcome = outcome.unwrap_or_else(|failure| Event::Failed(fault::name_variables(failure, user)));
        // A command that goes on without its turn would write to a work tree that counts as done.
        if was_stopped || !running.is_empty() {
            effects.extend(self.clean(running, outcome));
        } else {
            effects.extend([Effect::Disarm, Effect::Emit(outcome)]);
            effects.extend(self.rest());
        }
        effects
    }
}
