//! The health of the shared process: silence, weight, idleness, and the rungs on which it is ended.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::backend::codex::fault::{self, Refusal};
use crate::backend::codex::hub::{Asked, Effect, Hub, START_LIMIT, State};
use crate::backend::codex::thread;
use crate::backend::failure::Failure;
use crate::backend::transport::spawn::Signal;

/// How long a process stays that no conversation uses: a title or the next prompt saves a start within that time, and
/// nobody pays its 95 MB for longer.
const IDLE_LIMIT: Duration = Duration::from_secs(30);

/// Fifty threads at work stay below a third of this; a process beyond it has kept what it should not.
const WEIGHT_LIMIT: u64 = 1 << 30;

/// How long a healthy process may take to answer the simplest question.
const PROBE_LIMIT: Duration = Duration::from_secs(15);

/// How long a process may live on after it closed its output, or after `KILL`.
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// The last thing that was done to end the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    Asked,
    Terminated,
    Killed,
}

impl Hub {
    /// Finds out whether the process answers anybody. One request without a reply proves nothing: malformed ones get
    /// none.
    pub(super) fn probe(&mut self, now: Instant) -> Vec<Effect> {
        let is_probing = self.pending.values().any(|pending| pending.purpose == Asked::Probe);
        if is_probing || !matches!(self.state, State::Ready(_)) {
            return Vec::new();
        }
        vec![self.request(Asked::Probe, "thread/loaded/list", json!({"limit": 1}), now + PROBE_LIMIT)]
    }

    pub(super) fn on_elapsed(&mut self, now: Instant) -> Vec<Effect> {
        if let State::Stopping { rung, until, .. } = &self.state {
            let (rung, is_due) = (*rung, *until <= now);
            return match rung {
                _ if !is_due => Vec::new(),
                Rung::Asked => self.climb(Rung::Terminated, now),
                Rung::Terminated => self.climb(Rung::Killed, now),
                // Nothing is left to try; the owner of the process keeps looking after it.
                Rung::Killed => self.on_gone(&None, ""),
            };
        }
        let late: Vec<_> = self.pending.extract_if(.., |_, pending| pending.until <= now).collect();
        let mut effects = Vec::new();
        for (_, pending) in late {
            match pending.purpose {
                Asked::Initialize => return self.fail_start(&Refusal::Silence, now),
                Asked::Probe => return self.on_hung(now),
                Asked::Nobody => effects.extend(self.probe(now)),
                Asked::Member(member, tag) => {
                    let reply = thread::Input::Replied { tag, outcome: Err(Refusal::Silence) };
                    effects.push(Effect::Deliver(member, reply));
                    effects.extend(self.probe(now));
                }
            }
        }
        if self.idle_until.is_some_and(|until| until <= now) {
            effects.push(Effect::Unlist);
            effects.extend(self.end(None, Rung::Asked, now));
        }
        effects
    }

    /// A member is gone: the last one leaves an idle process behind.
    pub(super) fn on_left(&mut self, now: Instant) -> Vec<Effect> {
        if !self.members.is_empty() || !matches!(self.state, State::Ready(_)) {
            return Vec::new();
        }
        if self.is_retired {
            return self.end(None, Rung::Asked, now);
        }
        self.idle_until = Some(now + IDLE_LIMIT);
        Vec::new()
    }

    /// A process that grew too large is replaced.
    pub(super) fn on_weight(&mut self, bytes: u64, now: Instant) -> Vec<Effect> {
        if bytes <= WEIGHT_LIMIT || self.is_retired {
            return Vec::new();
        }
        info!(bytes, members = self.members.len(), "codex grew too large and is replaced");
        self.retire(now)
    }

    /// A retired process takes nobody in; it ends when the last conversation has left it, which each does when its turn
    /// is over.
    pub(super) fn retire(&mut self, now: Instant) -> Vec<Effect> {
        if std::mem::replace(&mut self.is_retired, true) {
            return Vec::new();
        }
        let mut effects = vec![Effect::Unlist];
        effects.extend(self.members.iter().map(|member| Effect::Deliver(*member, thread::Input::Retiring)));
        effects.extend(self.on_left(now));
        effects
    }

    pub(super) fn on_hung(&mut self, now: Instant) -> Vec<Effect> {
        warn!(members = self.members.len(), "codex does not answer and is ended");
        let mut effects = vec![Effect::Unlist];
        effects.extend(self.end(Some(fault::hung()), Rung::Terminated, now));
        effects
    }

    pub(super) fn fail_start(&mut self, refusal: &Refusal, now: Instant) -> Vec<Effect> {
        let failure = match refusal {
            Refusal::Silence => fault::slow_start(START_LIMIT),
            Refusal::Error(_) => fault::refused("the handshake", refusal, None),
        };
        let mut effects = vec![Effect::Unlist];
        effects.extend(self.end(Some(failure), Rung::Terminated, now));
        effects
    }

    pub(super) fn on_output_closed(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects = vec![Effect::Unlist];
        effects.extend(self.end(None, Rung::Asked, now));
        // Its exit usually follows at once.
        if let State::Stopping { until, .. } = &mut self.state {
            *until = (*until).min(now + EXIT_LIMIT);
        }
        effects
    }

    fn end(&mut self, failure: Option<Failure>, rung: Rung, now: Instant) -> Vec<Effect> {
        match &self.state {
            State::Stopping { .. } | State::Gone => return Vec::new(),
            State::Starting | State::Ready(_) => {}
        }
        self.state = State::Stopping { rung, until: now, failure };
        self.climb(rung, now)
    }

    fn climb(&mut self, to: Rung, now: Instant) -> Vec<Effect> {
        let State::Stopping { rung, until, .. } = &mut self.state else { return Vec::new() };
        *rung = to;
        match to {
            // The end of its input is the end of the process, even in the middle of a turn.
            Rung::Asked => {
                *until = now + self.stop.cancel;
                vec![Effect::CloseInput]
            }
            Rung::Terminated => {
                *until = now + self.stop.terminate;
                vec![Effect::Signal(Signal::Terminate)]
            }
            Rung::Killed => {
                *until = now + EXIT_LIMIT;
                vec![Effect::Signal(Signal::Kill)]
            }
        }
    }

    pub(super) fn on_gone(&mut self, status: &Option<String>, stderr_tail: &str) -> Vec<Effect> {
        let failure = match std::mem::replace(&mut self.state, State::Gone) {
            State::Stopping { failure, .. } => failure,
            State::Starting | State::Ready(_) => None,
            State::Gone => return Vec::new(),
        };
        let mut effects = vec![Effect::Unlist];
        let lost = |member| {
            let (failure, status) = (failure.clone(), status.clone());
            Effect::Deliver(member, thread::Input::Lost { failure, status, stderr_tail: stderr_tail.to_owned() })
        };
        effects.extend(self.members.drain(..).map(lost));
        // A process that was given up may still speak; nobody listens any more.
        self.pending.clear();
        self.threads.clear();
        self.held.clear();
        effects.push(Effect::Finish);
        effects
    }
}
