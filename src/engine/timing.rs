//! The clocks of a turn and of an idle backend. Both clocks of a turn stand still while it waits for a person or for children.

use std::time::Duration;

use tokio::time::Instant;

use crate::session::{Phase, Session, Turn};

/// The limits of one session's project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) turn: Duration,
    pub(super) stall: Duration,
    pub(super) idle: Duration,
}

/// How long the turn worked, and when the backend was last heard.
#[derive(Debug, Default)]
pub(super) struct Timing {
    limits: Option<Limits>,
    /// What is left of the turn's time while its clock stands still.
    left: Duration,
    /// When the clock started to run.
    since: Option<Instant>,
    heard: Option<Instant>,
    tools: u32,
    /// When a store that refused writes is asked again.
    pub(super) retry: Option<(Instant, Duration)>,
}

/// Which time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    Retry,
    Turn(Duration),
    Stall(Duration),
    Idle,
}

impl Timing {
    /// A turn begins.
    pub(super) fn begin(&mut self, limits: Limits) {
        *self = Self { limits: Some(limits), left: limits.turn, retry: self.retry, ..Self::default() };
    }

    /// Follows the machine: the clock runs while the backend works and asks nobody.
    pub(super) fn follow(&mut self, session: Session, now: Instant) {
        let works = matches!(session, Session::Turning(Turn { phase: Phase::Working, .. }));
        match (works, self.since) {
            (true, None) => (self.since, self.heard) = (Some(now), Some(now)),
            (false, Some(since)) => {
                self.left = self.left.saturating_sub(now.duration_since(since));
                self.since = None;
                self.heard = Some(now);
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// The backend said something.
    pub(super) fn hear(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    pub(super) fn tool_started(&mut self) {
        self.tools += 1;
    }

    pub(super) fn tool_finished(&mut self) {
        self.tools = self.tools.saturating_sub(1);
    }

    /// When the next thing is due.
    pub(super) fn due(&self, session: Session, conversing: bool) -> Option<Instant> {
        let retry = self.retry.map(|(at, _)| at);
        [retry, self.turn_end(), self.stall_end(), self.idle_end(session, conversing)].into_iter().flatten().min()
    }

    /// What is due at `now`, the gravest first.
    pub(super) fn overdue(&self, session: Session, conversing: bool, now: Instant) -> Option<Overdue> {
        let past = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if past(self.retry.map(|(at, _)| at)) {
            return Some(Overdue::Retry);
        }
        let limits = self.limits?;
        if past(self.turn_end()) {
            return Some(Overdue::Turn(limits.turn));
        }
        if past(self.stall_end()) {
            return Some(Overdue::Stall(limits.stall));
        }
        past(self.idle_end(session, conversing)).then_some(Overdue::Idle)
    }

    fn turn_end(&self) -> Option<Instant> {
        Some(self.since? + self.left)
    }

    fn stall_end(&self) -> Option<Instant> {
        let stall = self.limits?.stall;
        let runs = self.since.is_some() && self.tools == 0;
        if runs { Some(self.heard? + stall) } else { None }
    }

    fn idle_end(&self, session: Session, conversing: bool) -> Option<Instant> {
        let idle = self.limits?.idle;
        if conversing && !session.is_turning() { Some(self.heard? + idle) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Open, Rest};

    const WORKING: Session = Session::Turning(Turn { phase: Phase::Working, open: Open::NONE, repairs_left: 0 });
    const PARKED: Session = Session::Turning(Turn {
        phase: Phase::Parked,
        open: Open { approvals: 1, questions: 0, children: 0 },
        repairs_left: 0,
    });
    const READY: Session = Session::Resting(Rest::Ready);

    fn limits() -> Limits {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Limits { turn: minutes(60), stall: minutes(10), idle: minutes(5) }
    }

    #[tokio::test(start_paused = true)]
    async fn both_clocks_stand_still_while_a_person_is_asked() {
        let mut timing = Timing::default();
        let start = Instant::now();
        let after = |minutes: u64| start + Duration::from_secs(60 * minutes);
        timing.begin(limits());
        timing.follow(WORKING, start);
        assert_eq!(timing.due(WORKING, true), Some(after(10)));
        timing.follow(PARKED, after(8));
        assert_eq!(timing.due(PARKED, true), None);
        timing.follow(WORKING, after(500));
        timing.tool_started();
        // Eight minutes are used up; no tool stalls.
        assert_eq!(timing.due(WORKING, true), Some(after(552)));
        assert_eq!(timing.overdue(WORKING, true, after(552)), Some(Overdue::Turn(limits().turn)));
        timing.tool_finished();
        timing.hear(after(520));
        assert_eq!(timing.overdue(WORKING, true, after(530)), Some(Overdue::Stall(limits().stall)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_backend_is_due_after_its_last_word() {
        let mut timing = Timing::default();
        let start = Instant::now();
        timing.begin(limits());
        timing.follow(WORKING, start);
        timing.follow(READY, start);
        let end = start + limits().idle;
        assert_eq!((timing.due(READY, true), timing.due(READY, false)), (Some(end), None));
        assert_eq!(timing.overdue(READY, true, end), Some(Overdue::Idle));
    }
}
