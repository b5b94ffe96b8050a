//! How turns and conversations end: interrupts, what they leave running, and leaving the shared process.
//!
//! Nothing here signals a process: it belongs to the other conversations too.

use std::time::Duration;

use serde_json::json;

use crate::backend::codex::fault::{self, Refusal};
use crate::backend::codex::settings::Opening;
use crate::backend::codex::thread::{
    Effect, Farewell, Phase, Plan, REPLY_LIMIT, Stop, Tag, Thread, answered, ask, failed,
};
use crate::backend::event::Event;
use crate::backend::failure::{Failure, FailureKind};

/// A thread that is let go unloads within milliseconds; the rest is for a loaded machine.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

impl Thread {
    pub(super) fn on_interrupt(&mut self) -> Vec<Effect> {
        match &self.phase {
            Phase::Joining | Phase::Opening(_) | Phase::Held | Phase::Leaving(_) => {
                let dropped = self.queue.pop_front();
                dropped.map(|_| failed(fault::interrupted())).into_iter().collect()
            }
            Phase::Turn { stop: Stop::NotAsked, .. } => self.interrupt(),
            Phase::Turn { stop: Stop::Wanted | Stop::Asked, .. } | Phase::Cleaning { .. } => Vec::new(),
            Phase::Idle | Phase::Away | Phase::Gone => Vec::new(),
        }
    }

    /// Asks for the end of the turn once: a second interrupt of the same turn gets no reply.
    pub(super) fn interrupt(&mut self) -> Vec<Effect> {
        let patience = self.wishes.patience;
        let Phase::Turn { turn, stop, .. } = &mut self.phase else { return Vec::new() };
        let is_first = *stop == Stop::NotAsked;
        let (answers, events) = turn.withdraw();
        let mut effects: Vec<Effect> = answers.into_iter().map(answered).collect();
        effects.extend(events.into_iter().map(Effect::Emit));
        match &turn.id {
            None => *stop = Stop::Wanted,
            Some(turn) => {
                *stop = Stop::Asked;
                let params = json!({"threadId": self.id, "turnId": turn});
                effects.push(ask(Tag::Interrupt, "turn/interrupt", params, REPLY_LIMIT));
            }
        }
        if is_first {
            effects.push(Effect::Arm(patience));
        }
        effects
    }

    /// Ends the commands that an interrupted turn leaves running: they would go on writing to the work tree. The
    /// reply comes before they are gone, so their own ends are waited for.
    pub(super) fn clean(&mut self, running: Vec<String>, outcome: Event) -> Vec<Effect> {
        let is_empty = running.is_empty();
        self.phase = Phase::Cleaning { running, outcome };
        let params = json!({"threadId": self.id});
        let mut effects = vec![ask(Tag::Clean, "thread/backgroundTerminals/clean", params, REPLY_LIMIT)];
        effects.extend(if is_empty { self.cleaned() } else { vec![Effect::Arm(self.wishes.patience)] });
        effects
    }

    pub(super) fn cleaned(&mut self) -> Vec<Effect> {
        let Phase::Cleaning { outcome, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return Vec::new();
        };
        let mut effects = vec![Effect::Disarm, Effect::Emit(outcome)];
        effects.extend(self.rest());
        effects
    }

    /// Whether a turn runs cannot be known after silence, so the conversation ends then.
    pub(super) fn on_turn_refused(&mut self, refusal: &Refusal) -> Vec<Effect> {
        let failure = if self.is_stopping() { fault::interrupted() } else { self.refused("the turn", refusal) };
        let Some(turn) = self.turn() else { return Vec::new() };
        let mut effects: Vec<Effect> = turn.abandon().into_iter().map(Effect::Emit).collect();
        effects.extend([Effect::Disarm, failed(failure)]);
        let is_lost = match refusal {
            Refusal::Silence => true,
            Refusal::Error(error) => error.message.contains("thread not found"),
        };
        effects.extend(if is_lost { self.leave() } else { self.rest() });
        effects
    }

    pub(super) fn on_close(&mut self) -> Vec<Effect> {
        self.plan = Plan::Close;
        match &self.phase {
            // The thread that is about to open has to be let go again.
            Phase::Opening(Tag::Open(_)) => Vec::new(),
            Phase::Joining | Phase::Held | Phase::Opening(_) | Phase::Away => self.gone(None, String::new()),
            Phase::Idle => self.leave(),
            Phase::Turn { .. } => self.on_interrupt(),
            Phase::Leaving(_) => {
                self.phase = Phase::Leaving(Farewell::ForGood);
                Vec::new()
            }
            Phase::Cleaning { .. } | Phase::Gone => Vec::new(),
        }
    }

    pub(super) fn on_retiring(&mut self) -> Vec<Effect> {
        if self.plan == Plan::Stay {
            self.plan = Plan::Retire;
        }
        if matches!(self.phase, Phase::Idle) { self.rest() } else { Vec::new() }
    }

    /// The agent let go of the thread by itself.
    pub(super) fn on_unloaded(&mut self) -> Vec<Effect> {
        let failure = Failure::new(FailureKind::Crashed, "codex closed the conversation");
        self.on_lost(Some(&failure), None, String::new())
    }

    /// Ends the conversation. Prompts that wait are told so.
    pub(super) fn leave(&mut self) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.queue.drain(..).map(|_| failed(fault::closed())).collect();
        if self.id.is_empty() {
            effects.extend(self.gone(None, String::new()));
            return effects;
        }
        effects.extend(self.let_go(Farewell::ForGood));
        effects
    }

    pub(super) fn let_go(&mut self, farewell: Farewell) -> Vec<Effect> {
        self.phase = Phase::Leaving(farewell);
        let params = json!({"threadId": self.id});
        vec![
            ask(Tag::Clean, "thread/backgroundTerminals/clean", params.clone(), REPLY_LIMIT),
            ask(Tag::Unsubscribe, "thread/unsubscribe", params, REPLY_LIMIT),
            Effect::Arm(LEAVE_LIMIT),
        ]
    }

    /// The thread is let go. A conversation that is to go on parts from the process, and looks for the next one when
    /// a prompt asks for it: until then it costs nothing.
    pub(super) fn on_left(&mut self) -> Vec<Effect> {
        if matches!(self.phase, Phase::Leaving(Farewell::ForGood)) {
            return self.gone(None, String::new());
        }
        self.phase = Phase::Away;
        self.plan = Plan::Stay;
        let mut effects = vec![Effect::Disarm, Effect::Part];
        if !self.queue.is_empty() {
            effects.extend(self.rejoin());
        }
        effects
    }

    /// Goes on with the thread in another process.
    pub(super) fn rejoin(&mut self) -> Vec<Effect> {
        self.wishes.resume = Some(self.id.clone());
        self.tries = 0;
        self.phase = Phase::Joining;
        vec![Effect::Join]
    }

    /// The conversation does not open; that answers the prompt that waits for it.
    pub(super) fn fail_start(&mut self, failure: Failure) -> Vec<Effect> {
        let mut effects = self.not_open(failure);
        effects.extend(self.leave());
        effects
    }

    /// Whoever waits for the conversation is told; one that was open before owes nothing when no prompt waits.
    fn not_open(&mut self, failure: Failure) -> Vec<Effect> {
        let is_awaited = self.queue.pop_front().is_some() || !self.has_started;
        is_awaited.then(|| failed(failure)).into_iter().collect()
    }

    pub(super) fn on_elapsed(&mut self) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Held => self.open(Opening::Resume),
            // The turn does not end, so nobody can say what still runs: the conversation is of no use any more.
            Phase::Turn { turn, .. } => {
                let mut effects: Vec<Effect> = turn.abandon().into_iter().map(Effect::Emit).collect();
                effects.extend([Effect::Suspect, failed(fault::interrupted())]);
                effects.extend(self.leave());
                effects
            }
            Phase::Cleaning { .. } => {
                let mut effects = vec![Effect::Suspect];
                effects.extend(self.cleaned());
                effects
            }
            Phase::Leaving(_) => self.on_left(),
            Phase::Joining | Phase::Opening(_) | Phase::Idle | Phase::Away | Phase::Gone => Vec::new(),
        }
    }

    pub(super) fn on_lost(
        &mut self,
        failure: Option<&Failure>,
        status: Option<String>,
        stderr_tail: String,
    ) -> Vec<Effect> {
        let crashed = |during: &str| {
            failure.cloned().unwrap_or_else(|| fault::crashed("codex", during, status.as_deref(), &stderr_tail))
        };
        let unsent = crashed("before it took the prompt");
        let mut effects = Vec::new();
        match std::mem::replace(&mut self.phase, Phase::Gone) {
            Phase::Gone => return Vec::new(),
            // It was about to part from the process anyway.
            Phase::Leaving(Farewell::ForNow) => {
                self.phase = Phase::Leaving(Farewell::ForNow);
                return self.on_left();
            }
            Phase::Away => {
                self.phase = Phase::Away;
                return Vec::new();
            }
            Phase::Joining | Phase::Opening(_) | Phase::Held => {
                effects.extend(self.not_open(crashed("before the conversation was open")));
            }
            Phase::Turn { mut turn, stop, .. } => {
                effects.extend(turn.abandon().into_iter().map(Effect::Emit));
                effects.push(failed(match stop {
                    Stop::NotAsked => crashed("in the middle of a turn"),
                    Stop::Wanted | Stop::Asked => fault::interrupted(),
                }));
            }
            Phase::Cleaning { outcome, .. } => effects.push(Effect::Emit(outcome)),
            Phase::Idle | Phase::Leaving(Farewell::ForGood) => {}
        }
        effects.extend(self.queue.drain(..).map(|_| failed(unsent.clone())));
        effects.extend(self.gone(status, stderr_tail));
        effects
    }

    pub(super) fn gone(&mut self, status: Option<String>, stderr_tail: String) -> Vec<Effect> {
        self.phase = Phase::Gone;
        let mut effects: Vec<Effect> = self.queue.drain(..).map(|_| failed(fault::closed())).collect();
        effects.extend([Effect::Emit(Event::Exited { status, stderr_tail }), Effect::Finish]);
        effects
    }
}
