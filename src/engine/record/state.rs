//! Where a session stands, as it is stored.

use serde::{Deserialize, Serialize};

use crate::session::{Open, Phase, Rest, Session, Turn};

/// The stored form of the state machine's state: all that a restart needs of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum State {
    #[default]
    Draft,
    Ready,
    Asking,
    Failed,
    Interrupted,
    Conflict,
    Merged,
    Archived,
    /// A turn is in progress and was not sent.
    Waiting,
    /// A turn is in progress and was sent.
    Turning,
    IntegratingReady,
    IntegratingAsking,
    IntegratingFailed,
    IntegratingInterrupted,
    IntegratingConflict,
    AttachedReady,
    AttachedAsking,
    AttachedFailed,
    AttachedInterrupted,
    AttachedConflict,
}

impl State {
    pub(in super::super) fn of(session: Session) -> Self {
        match session {
            Session::Resting(rest) => match rest {
                Rest::Draft => State::Draft,
                Rest::Ready => State::Ready,
                Rest::Asking => State::Asking,
                Rest::Failed => State::Failed,
                Rest::Interrupted => State::Interrupted,
                Rest::Conflict => State::Conflict,
                Rest::Merged => State::Merged,
                Rest::Archived => State::Archived,
            },
            Session::Integrating(before) => match before {
                Rest::Asking => State::IntegratingAsking,
                Rest::Failed => State::IntegratingFailed,
                Rest::Interrupted => State::IntegratingInterrupted,
                Rest::Conflict => State::IntegratingConflict,
                // The other three cannot be integrated; ready is the harmless reading.
                Rest::Ready | Rest::Draft | Rest::Merged | Rest::Archived => State::IntegratingReady,
            },
            Session::Attached(before) => match before {
                Rest::Asking => State::AttachedAsking,
                Rest::Failed => State::AttachedFailed,
                Rest::Interrupted => State::AttachedInterrupted,
                Rest::Conflict => State::AttachedConflict,
                // Nobody works in the trees of the other three.
                Rest::Ready | Rest::Draft | Rest::Merged | Rest::Archived => State::AttachedReady,
            },
            Session::Turning(turn) => match turn.phase {
                Phase::Queued | Phase::Preparing => State::Waiting,
                Phase::Working | Phase::Parked | Phase::Returning | Phase::Stopping(..) | Phase::Closing(..) => {
                    State::Turning
                }
            },
        }
    }

    /// The state as a daemon that just started finds it, before it recovers.
    pub(in super::super) fn found(self, open: Open) -> Session {
        match self {
            State::Draft => Session::Resting(Rest::Draft),
            State::Ready => Session::Resting(Rest::Ready),
            State::Asking => Session::Resting(Rest::Asking),
            State::Failed => Session::Resting(Rest::Failed),
            State::Interrupted => Session::Resting(Rest::Interrupted),
            State::Conflict => Session::Resting(Rest::Conflict),
            State::Merged => Session::Resting(Rest::Merged),
            State::Archived => Session::Resting(Rest::Archived),
            State::Waiting => Session::Turning(Turn { phase: Phase::Queued, open: Open::NONE, repairs_left: 0 }),
            State::Turning => Session::Turning(Turn { phase: Phase::Parked, open, repairs_left: 0 }),
            State::IntegratingReady => Session::Integrating(Rest::Ready),
            State::IntegratingAsking => Session::Integrating(Rest::Asking),
            State::IntegratingFailed => Session::Integrating(Rest::Failed),
            State::IntegratingInterrupted => Session::Integrating(Rest::Interrupted),
            State::IntegratingConflict => Session::Integrating(Rest::Conflict),
            State::AttachedReady => Session::Attached(Rest::Ready),
            State::AttachedAsking => Session::Attached(Rest::Asking),
            State::AttachedFailed => Session::Attached(Rest::Failed),
            State::AttachedInterrupted => Session::Attached(Rest::Interrupted),
            State::AttachedConflict => Session::Attached(Rest::Conflict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Outcome, Slot};

    #[test]
    fn a_state_is_found_again_as_far_as_a_restart_needs_it() {
        for rest in [Rest::Draft, Rest::Ready, Rest::Asking, Rest::Failed, Rest::Interrupted, Rest::Conflict] {
            assert_eq!(State::of(Session::Resting(rest)).found(Open::NONE), Session::Resting(rest));
        }
        for before in [Rest::Ready, Rest::Asking, Rest::Failed, Rest::Interrupted, Rest::Conflict] {
            assert_eq!(State::of(Session::Integrating(before)).found(Open::NONE), Session::Integrating(before));
            assert_eq!(State::of(Session::Attached(before)).found(Open::NONE), Session::Attached(before));
        }
        let closing = Phase::Closing(Outcome::Completed, Slot::Held);
        for phase in [Phase::Queued, Phase::Preparing, Phase::Working, Phase::Parked, Phase::Returning, closing] {
            let turn = Session::Turning(Turn { phase, open: Open::NONE, repairs_left: 1 });
            assert!(State::of(turn).found(Open { approvals: 2, ..Open::NONE }).is_turning());
        }
    }
}
