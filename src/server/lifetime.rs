//! When the daemon ends: a pure machine over signals, requests, clients and work.
//!
//! The first TERM drains: no further turn begins, those that run may end. The second ends them. HUP never does more than
//! drain. Without clients and work a deadline is armed; nothing looks at the clock before that.

use crate::api::daemon::StopHow;

/// What the engine is busy with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Turns that run without waiting for a person.
    pub running_turns: u32,
    /// Turns that are queued or wait, and background work. An agent that is kept for the next prompt is neither.
    pub pending: u32,
}

/// Everything that can change the daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// How many connections are open.
    Clients(u32),
    Load(Load),
    Terminate,
    HangUp,
    Stop(StopHow),
    /// The armed deadline has passed.
    Deadline,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Nothing,
    /// Begin no further turn.
    Drain,
    /// Interrupt the turns that still run, close everything and end.
    Exit,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lifetime {
    phase: Phase,
    clients: u32,
    load: Load,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Serving,
    Draining,
    Ended,
}

impl Lifetime {
    /// Takes one event in and says what follows from it.
    pub fn step(&mut self, event: Event) -> Action {
        match event {
            Event::Clients(clients) => self.clients = clients,
            Event::Load(load) => self.load = load,
            Event::Terminate | Event::HangUp | Event::Stop(_) | Event::Deadline => {}
        }
        let wanted = match (self.phase, event) {
            (Phase::Serving, Event::Terminate | Event::HangUp | Event::Stop(StopHow::Drain)) => Phase::Draining,
            (Phase::Serving, Event::Stop(StopHow::IfIdle)) if self.load.running_turns == 0 => Phase::Ended,
            (Phase::Serving, Event::Deadline) if self.is_idle() => Phase::Ended,
            (Phase::Draining, Event::Terminate) => Phase::Ended,
            (Phase::Serving | Phase::Draining, Event::Stop(StopHow::Now)) => Phase::Ended,
            (
                Phase::Serving | Phase::Draining | Phase::Ended,
                Event::Clients(_)
                | Event::Load(_)
                | Event::Terminate
                | Event::HangUp
                | Event::Stop(_)
                | Event::Deadline,
            ) => self.phase,
        };
        match wanted {
            Phase::Draining if self.load.running_turns == 0 => self.enter(Phase::Ended),
            Phase::Serving | Phase::Draining | Phase::Ended => self.enter(wanted),
        }
    }

    fn enter(&mut self, wanted: Phase) -> Action {
        let before = std::mem::replace(&mut self.phase, wanted);
        match wanted {
            Phase::Draining if before != wanted => Action::Drain,
            Phase::Ended if before != wanted => Action::Exit,
            Phase::Serving | Phase::Draining | Phase::Ended => Action::Nothing,
        }
    }

    /// Whether a deadline for the idle exit is to be armed.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Serving && self.clients == 0 && self.load == Load::default()
    }

    pub fn is_draining(&self) -> bool {
        self.phase != Phase::Serving
    }

    pub fn running_turns(&self) -> u32 {
        self.load.running_turns
    }

    /// How many connections are open.
    pub fn clients(&self) -> u32 {
        self.clients
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Event = Event::Load(Load { running_turns: 1, pending: 0 });
    const WAITING: Event = Event::Load(Load { running_turns: 0, pending: 1 });
    const QUIET: Event = Event::Load(Load { running_turns: 0, pending: 0 });

    #[track_caller]
    fn check(steps: &[(Event, Action)]) -> Lifetime {
        let mut life = Lifetime::default();
        for (number, (event, expected)) in steps.iter().enumerate() {
            assert_eq!(life.step(*event), *expected, "step {number}: {event:?}");
        }
        life
    }

    #[test]
    fn the_first_signal_drains_and_the_second_ends() {
        use Action as A;
        check(&[
            (BUSY, A::Nothing),
            (Event::Terminate, A::Drain),
            (BUSY, A::Nothing),
            (Event::Terminate, A::Exit),
            (Event::Terminate, A::Nothing),
            (QUIET, A::Nothing),
        ]);
        check(&[(BUSY, A::Nothing), (Event::Terminate, A::Drain), (QUIET, A::Exit), (QUIET, A::Nothing)]);
        check(&[(Event::Terminate, A::Exit)]);
    }

    #[test]
    fn turns_that_wait_for_a_person_do_not_hold_up_the_end() {
        check(&[(WAITING, Action::Nothing), (Event::Terminate, Action::Exit)]);
    }

    #[test]
    fn a_hang_up_never_forces() {
        use Action as A;
        check(&[(BUSY, A::Nothing), (Event::HangUp, A::Drain), (Event::HangUp, A::Nothing), (QUIET, A::Exit)]);
        check(&[(BUSY, A::Nothing), (Event::Terminate, A::Drain), (Event::HangUp, A::Nothing), (QUIET, A::Exit)]);
    }

    #[test]
    fn a_request_says_how_patient_the_stop_is() {
        use Action as A;
        check(&[(BUSY, A::Nothing), (Event::Stop(StopHow::Drain), A::Drain), (Event::Stop(StopHow::Now), A::Exit)]);
        check(&[(BUSY, A::Nothing), (Event::Stop(StopHow::Now), A::Exit)]);
        let life = check(&[(BUSY, A::Nothing), (Event::Stop(StopHow::IfIdle), A::Nothing), (QUIET, A::Nothing)]);
        assert!(!life.is_draining());
        check(&[(WAITING, A::Nothing), (Event::Stop(StopHow::IfIdle), A::Exit)]);
    }

    #[test]
    fn the_deadline_counts_only_without_clients_and_work() {
        use Action as A;
        assert!(Lifetime::default().is_idle());
        for (steps, is_idle) in [
            (vec![Event::Clients(1)], false),
            (vec![Event::Clients(2), Event::Clients(0)], true),
            (vec![BUSY], false),
            (vec![WAITING], false),
            (vec![WAITING, QUIET], true),
            (vec![Event::Clients(1), BUSY, Event::Clients(0)], false),
        ] {
            let mut life = Lifetime::default();
            steps.iter().for_each(|event| assert_eq!(life.step(*event), A::Nothing));
            assert_eq!(life.is_idle(), is_idle, "{steps:?}");
            assert_eq!(life.step(Event::Deadline), if is_idle { A::Exit } else { A::Nothing }, "{steps:?}");
        }
    }

    /// Every state meets every event: an ended daemon does nothing, and only TERM or a request ends a turn.
    #[test]
    fn no_state_surprises() {
        let events = [
            Event::Clients(0),
            Event::Clients(2),
            BUSY,
            WAITING,
            QUIET,
            Event::Terminate,
            Event::HangUp,
            Event::Stop(StopHow::Drain),
            Event::Stop(StopHow::Now),
            Event::Stop(StopHow::IfIdle),
            Event::Deadline,
        ];
        for phase in [Phase::Serving, Phase::Draining, Phase::Ended] {
            for running_turns in [0, 1] {
                for event in events {
                    let mut life = Lifetime { phase, clients: 1, load: Load { running_turns, pending: 0 } };
                    let action = life.step(event);
                    if phase == Phase::Ended {
                        assert_eq!(action, Action::Nothing, "{event:?}");
                    }
                    if action == Action::Exit && life.load.running_turns > 0 {
                        assert!(matches!(event, Event::Terminate | Event::Stop(StopHow::Now)), "{phase:?} {event:?}");
                    }
                }
            }
        }
    }
}
