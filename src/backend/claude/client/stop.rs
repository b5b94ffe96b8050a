//! How a conversation ends: what a timer means, the rungs of the stop ladder, and who is told.

use crate::backend::claude::client::{Client, EXIT_LIMIT, Phase, START_LIMIT, TurnStop, failed};
use crate::backend::claude::fault;
use crate::backend::event::Event;
use crate::backend::failure::Failure;
use crate::backend::transport::machine::Effect;
use crate::backend::transport::spawn::Signal;

/// The last thing that was done to end the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    Asked,
    /// `INT`, never `TERM`: the agent ends its commands with the one and orphans them with the other.
    Interrupted,
    Killed,
}

impl Client {
    pub(super) fn on_elapsed(&mut self) -> Vec<Effect> {
        match &mut self.phase {
            Phase::Opening if self.has_output => self.give_up(fault::slow_start(START_LIMIT)),
            // Outside of a stop, only a closed output arms the timer.
            Phase::Opening | Phase::Idle | Phase::Turn { stop: TurnStop::NotAsked, .. } => {
                self.give_up(fault::output_closed())
            }
            Phase::Turn { stop: TurnStop::Asked(failure), .. } => {
                let failure = Some(failure.clone());
                self.stop(Rung::Interrupted, failure)
            }
            Phase::Stopping { rung: Rung::Asked, failure } => {
                let failure = failure.take();
                self.stop(Rung::Interrupted, failure)
            }
            Phase::Stopping { rung: Rung::Interrupted, failure } => {
                let failure = failure.take();
                self.stop(Rung::Killed, failure)
            }
            // Nothing is left to try; the owner of the process keeps looking after it.
            Phase::Stopping { rung: Rung::Killed, .. } => self.on_gone(None, String::new()),
            Phase::Lost => {
                self.phase = Phase::Gone;
                vec![Effect::Signal(Signal::Kill), Effect::Finish]
            }
            Phase::Gone => Vec::new(),
        }
    }

    pub(super) fn on_output_closed(&mut self) -> Vec<Effect> {
        self.has_output = false;
        match self.phase {
            Phase::Lost | Phase::Stopping { .. } | Phase::Gone => Vec::new(),
            Phase::Opening | Phase::Idle | Phase::Turn { .. } => vec![Effect::CloseInput, Effect::Arm(EXIT_LIMIT)],
        }
    }

    /// Ends a process that is of no use any more; whoever waits for it is told why.
    pub(super) fn give_up(&mut self, failure: Failure) -> Vec<Effect> {
        match self.phase {
            Phase::Opening => self.fail_start(Rung::Interrupted, failure),
            Phase::Turn { .. } => self.stop(Rung::Interrupted, Some(failure)),
            Phase::Idle => self.stop(Rung::Interrupted, None),
            Phase::Lost | Phase::Stopping { .. } | Phase::Gone => Vec::new(),
        }
    }

    /// The conversation does not open; that answers the prompt that waits for it.
    pub(super) fn fail_start(&mut self, rung: Rung, failure: Failure) -> Vec<Effect> {
        self.queue.pop_front();
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
        let ladder = self.wishes.stop;
        effects.extend(match rung {
            Rung::Asked => [Effect::CloseInput, Effect::Arm(ladder.cancel)],
            Rung::Interrupted => [Effect::Signal(Signal::Interrupt), Effect::Arm(ladder.terminate)],
            Rung::Killed => [Effect::Signal(Signal::Kill), Effect::Arm(EXIT_LIMIT)],
        });
        effects
    }

    pub(super) fn on_gone(&mut self, status: Option<String>, stderr_tail: String) -> Vec<Effect> {
        let crashed = |during: &str| fault::crashed("the agent", during, status.as_deref(), &stderr_tail);
        let mut events = Vec::new();
        let mut unsent = crashed("before it took the prompt");
        match std::mem::replace(&mut self.phase, Phase::Gone) {
            Phase::Opening => {
                self.queue.pop_front();
                events.push(Event::Failed(crashed("before it was ready")));
            }
            Phase::Turn { mut turn, stop, .. } => {
                let failure = match stop {
                    TurnStop::NotAsked => crashed("in the middle of a turn"),
                    TurnStop::Asked(failure) => failure,
                };
                events.extend(failed(turn.abandon(), failure));
            }
            Phase::Stopping { failure, .. } => {
                unsent = fault::closed();
                events.extend(failure.map(Event::Failed));
            }
            Phase::Idle => {}
            Phase::Lost => return vec![Effect::Finish],
            Phase::Gone => return Vec::new(),
        }
        events.extend(self.queue.drain(..).map(|_| Event::Failed(unsent.clone())));
        events.push(Event::Exited { status: status.clone(), stderr_tail: stderr_tail.clone() });
        let effects = events.into_iter().map(Effect::Emit);
        effects.chain([Effect::Finish]).collect()
    }
}
