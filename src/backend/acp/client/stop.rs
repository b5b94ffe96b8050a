//! How a conversation ends: what a timer means, the rungs of the stop ladder, and who is told.

use crate::backend::acp::client::{Client, EXIT_LIMIT, HANDSHAKE_LIMIT, NOISE_LIMIT, Phase, TurnStop, failed};
use crate::backend::acp::fault;
use crate::backend::event::Event;
use crate::backend::failure::Failure;
use crate::backend::transport::machine::Effect;
use crate::backend::transport::spawn::Signal;

/// The last thing that was done to end the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    Asked,
    Terminated,
    Killed,
}

impl Client {
    pub(super) fn on_elapsed(&mut self) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Handshake { .. } if self.has_output => {
                let limit = if self.noise.is_last { NOISE_LIMIT } else { HANDSHAKE_LIMIT };
                self.give_up(fault::slow_start(limit, self.noise.words().as_deref()))
            }
            // Outside of a stop, only a closed output arms the timer.
            Phase::Handshake { .. } | Phase::Idle | Phase::Turn { stop: TurnStop::NotAsked, .. } => {
                self.give_up(fault::output_closed())
            }
            Phase::Replay { started } => {
                let started = started.clone();
                self.start(started)
            }
            Phase::Turn { stop: TurnStop::Asked, .. } => self.stop(Rung::Terminated, Some(fault::interrupted())),
            Phase::Stopping { rung: Rung::Asked, failure } => {
                let failure = failure.take();
                self.stop(Rung::Terminated, failure)
            }
            Phase::Stopping { rung: Rung::Terminated, failure } => {
                let failure = failure.take();
                self.stop(Rung::Killed, failure)
            }
            // Nothing is left to try; the owner of the process keeps looking after it.
            Phase::Stopping { rung: Rung::Killed, .. } => self.on_gone(None, String::new()),
            Phase::Gone => Vec::new(),
        }
    }

    /// Ends a process that is of no use any more; whoever waits for it is told why.
    pub(super) fn give_up(&mut self, failure: Failure) -> Vec<Effect> {
        match self.phase {
            Phase::Handshake { .. } | Phase::Replay { .. } => self.fail_start(Rung::Terminated, failure),
            Phase::Turn { .. } => self.stop(Rung::Terminated, Some(failure)),
            Phase::Idle => self.stop(Rung::Terminated, None),
            Phase::Stopping { .. } | Phase::Gone => Vec::new(),
        }
    }

    /// The conversation does not open; that answers the prompt that waits for it.
    pub(super) fn fail_start(&mut self, rung: Rung, failure: Failure) -> Vec<Effect> {
        self.queue.pop_front();
        let failure = self.policy.tell(fault::with_words(failure, self.noise.words()));
        let mut effects = vec![Effect::Emit(Event::Failed(failure))];
        effects.extend(self.stop(rung, None));
        effects
    }

    /// Climbs to `rung`; the failure of a running turn is told when the process is really gone, so that nobody looks
    /// at a work tree that is still being written to.
    pub(super) fn stop(&mut self, rung: Rung, failure: Option<Failure>) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(turn) = self.turn() {
            effects.extend(turn.abandon().into_iter().map(Effect::Emit));
        }
        self.phase = Phase::Stopping { rung, failure };
        effects.extend(match rung {
            Rung::Asked => [Effect::CloseInput, Effect::Arm(self.policy.stop.cancel)],
            Rung::Terminated => [Effect::Signal(Signal::Terminate), Effect::Arm(self.policy.stop.terminate)],
            Rung::Killed => [Effect::Signal(Signal::Kill), Effect::Arm(EXIT_LIMIT)],
        });
        effects
    }

    pub(super) fn on_gone(&mut self, status: Option<String>, stderr_tail: String) -> Vec<Effect> {
        let crashed = |during: &str| fault::crashed("the agent", during, status.as_deref(), &stderr_tail);
        let mut events = Vec::new();
        let mut unsent = crashed("before it took the prompt");
        match std::mem::replace(&mut self.phase, Phase::Gone) {
            Phase::Handshake { .. } | Phase::Replay { .. } => {
                self.queue.pop_front();
                let failure = crashed("before the conversation was open");
                events.push(Event::Failed(fault::with_words(failure, self.noise.words())));
            }
            Phase::Turn { mut turn, stop, .. } => {
                let failure = match stop {
                    TurnStop::NotAsked => crashed("in the middle of a turn"),
                    TurnStop::Asked => fault::interrupted(),
                };
                events.extend(failed(turn.abandon(), failure));
            }
            Phase::Stopping { failure, .. } => {
                unsent = fault::closed();
                events.extend(failure.map(Event::Failed));
            }
            Phase::Idle => {}
            Phase::Gone => return Vec::new(),
        }
        events.extend(self.queue.drain(..).map(|_| Event::Failed(unsent.clone())));
        events.push(Event::Exited { status: status.clone(), stderr_tail: stderr_tail.clone() });
        let effects = events.into_iter().map(Effect::Emit);
        effects.chain([Effect::Finish]).collect()
    }
}
