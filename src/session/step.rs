//! The transition function.

use super::{
    Asks, Effect, Event, Fact, Integration, Open, Outcome, Phase, Priority, Rest, Session, Slot, Standing, Turn, Wait,
};

/// Advances a session by one event; `None` when the event means nothing in this state.
pub fn step(session: Session, event: Event) -> Option<(Session, Vec<Effect>)> {
    match session {
        Session::Resting(rest) => from_rest(rest, event),
        Session::Integrating(before) => from_integrating(before, event),
        Session::Attached(before) => from_attached(before, event),
        Session::Turning(turn) => from_turn(turn, event),
    }
}

type Next = Option<(Session, Vec<Effect>)>;

fn from_rest(rest: Rest, event: Event) -> Next {
    match event {
        Event::Begin { repairs } => {
            let turn = Turn { phase: Phase::Queued, open: Open::NONE, repairs_left: repairs };
            Some((Session::Turning(turn), vec![Effect::Persist(Fact::Status), Effect::TakeSlot(Priority::Beginning)]))
        }
        Event::Integrate => match rest {
            Rest::Ready | Rest::Asking | Rest::Failed | Rest::Interrupted | Rest::Conflict => {
                Some((Session::Integrating(rest), vec![Effect::Persist(Fact::Status)]))
            }
            Rest::Draft | Rest::Merged | Rest::Archived => None,
        },
        Event::Attach => match rest {
            Rest::Ready | Rest::Asking | Rest::Failed | Rest::Interrupted | Rest::Conflict => {
                Some((Session::Attached(rest), vec![Effect::Persist(Fact::Status)]))
            }
            Rest::Draft | Rest::Merged | Rest::Archived => None,
        },
        Event::Archive => match rest {
            Rest::Archived => None,
            Rest::Draft
            | Rest::Ready
            | Rest::Asking
            | Rest::Failed
            | Rest::Interrupted
            | Rest::Conflict
            | Rest::Merged => settle(Rest::Archived),
        },
        Event::Unarchive(standing) => match rest {
            Rest::Archived => settle(match standing {
                Standing::Clear | Standing::TreeGone => Rest::Ready,
                Standing::Conflict => Rest::Conflict,
            }),
            Rest::Draft
            | Rest::Ready
            | Rest::Asking
            | Rest::Failed
            | Rest::Interrupted
            | Rest::Conflict
            | Rest::Merged => None,
        },
        Event::Settle => match rest {
            Rest::Ready | Rest::Asking | Rest::Failed | Rest::Interrupted | Rest::Conflict => settle(Rest::Ready),
            Rest::Draft | Rest::Merged | Rest::Archived => None,
        },
        Event::Settled(wait) => match rest {
            // An expired one: the decision waits in the record for the resumed turn.
            Rest::Interrupted => Some((Session::Resting(rest), vec![Effect::Persist(Fact::WaitEnded(wait))])),
            Rest::Draft
            | Rest::Ready
            | Rest::Asking
            | Rest::Failed
            | Rest::Conflict
            | Rest::Merged
            | Rest::Archived => None,
        },
        // A wish for a slot that was withdrawn is never granted.
        Event::SlotGranted
        | Event::Prepared
        | Event::PrepareFailed
        | Event::Waits(_)
        | Event::Withdrawn(_)
        | Event::Answered(_)
        | Event::Refused
        | Event::BackendLost
        | Event::Stop
        | Event::Conclude
        | Event::TimedOut
        | Event::Committed(_)
        | Event::Integrated(_)
        | Event::Detach
        | Event::Recover => None,
    }
}

fn settle(rest: Rest) -> Next {
    Some((Session::Resting(rest), vec![Effect::Persist(Fact::Status)]))
}

fn from_integrating(before: Rest, event: Event) -> Next {
    match event {
        Event::Integrated(Integration::Merged) => settle(Rest::Merged),
        Event::Integrated(Integration::Rebased) => settle(Rest::Ready),
        Event::Integrated(Integration::Conflict) => settle(Rest::Conflict),
        Event::Integrated(Integration::Refused) | Event::Recover => settle(before),
        Event::SlotGranted
        | Event::Begin { .. }
        | Event::Prepared
        | Event::PrepareFailed
        | Event::Waits(_)
        | Event::Settled(_)
        | Event::Withdrawn(_)
        | Event::Answered(_)
        | Event::Refused
        | Event::BackendLost
        | Event::Stop
        | Event::Conclude
        | Event::TimedOut
        | Event::Committed(_)
        | Event::Integrate
        | Event::Attach
        | Event::Detach
        | Event::Archive
        | Event::Unarchive(_)
        | Event::Settle => None,
    }
}

/// Prompts wait in the queue meanwhile; nothing but the person's own end of it leads out.
fn from_attached(before: Rest, event: Event) -> Next {
    match event {
        Event::Detach | Event::Recover => Some((Session::Resting(before), vec![Effect::Persist(Fact::Detached)])),
        Event::SlotGranted
        | Event::Begin { .. }
        | Event::Prepared
        | Event::PrepareFailed
        | Event::Waits(_)
        | Event::Settled(_)
        | Event::Withdrawn(_)
        | Event::Answered(_)
        | Event::Refused
        | Event::BackendLost
        | Event::Stop
        | Event::Conclude
        | Event::TimedOut
        | Event::Committed(_)
        | Event::Integrate
        | Event::Integrated(_)
        | Event::Attach
        | Event::Archive
        | Event::Unarchive(_)
        | Event::Settle => None,
    }
}

fn from_turn(turn: Turn, event: Event) -> Next {
    match event {
        Event::Recover => Some(recover(turn)),
        Event::Stop => stop(turn, Outcome::Interrupted),
        Event::Conclude => stop(turn, Outcome::Completed),
        Event::TimedOut => stop(turn, Outcome::Failed),
        Event::Begin { .. }
        | Event::Integrate
        | Event::Integrated(_)
        | Event::Attach
        | Event::Detach
        | Event::Archive
        | Event::Unarchive(_)
        | Event::Settle => None,
        Event::SlotGranted => slot_granted(turn),
        Event::Prepared => prepared(turn),
        Event::PrepareFailed => prepare_failed(turn),
        Event::Waits(wait) => waits(turn, wait),
        Event::Settled(wait) => settled(turn, wait),
        Event::Withdrawn(wait) => withdrawn(turn, wait),
        Event::Answered(asks) => answered(turn, asks),
        Event::Refused => refused(turn),
        Event::BackendLost => backend_lost(turn),
        Event::Committed(standing) => committed(turn, standing),
    }
}

fn slot_granted(turn: Turn) -> Next {
    match turn.phase {
        Phase::Queued => Some((turn.to(Phase::Preparing), vec![Effect::Persist(Fact::Status), Effect::Prepare])),
        Phase::Returning => Some((turn.to(Phase::Working), vec![Effect::Persist(Fact::Status), Effect::Deliver])),
        Phase::Preparing | Phase::Working | Phase::Parked | Phase::Stopping(..) | Phase::Closing(..) => None,
    }
}

fn prepared(turn: Turn) -> Next {
    match turn.phase {
        Phase::Preparing => {
            Some((turn.to(Phase::Working), vec![Effect::Persist(Fact::TurnStarted), Effect::SendPrompt]))
        }
        Phase::Stopping(outcome, slot) => Some(commit(turn, outcome, slot)),
        Phase::Queued | Phase::Working | Phase::Parked | Phase::Returning | Phase::Closing(..) => None,
    }
}

fn prepare_failed(turn: Turn) -> Next {
    match turn.phase {
        Phase::Preparing => Some(end(Outcome::Failed, Slot::Held)),
        // Nothing was sent, so there is nothing to commit.
        Phase::Stopping(outcome, slot) => Some(end(outcome, slot)),
        Phase::Queued | Phase::Working | Phase::Parked | Phase::Returning | Phase::Closing(..) => None,
    }
}

fn waits(turn: Turn, wait: Wait) -> Next {
    let waiting = Turn { open: turn.open.with(wait), ..turn };
    let began = Effect::Persist(Fact::WaitBegan(wait));
    match turn.phase {
        Phase::Working => Some((waiting.to(Phase::Parked), vec![began, Effect::ReleaseSlot])),
        Phase::Parked => Some((Session::Turning(waiting), vec![began])),
        // The model waits for this one as well, so what is there for the others needs no slot.
        Phase::Returning => Some((waiting.to(Phase::Parked), vec![began, Effect::LeaveQueue, Effect::Deliver])),
        Phase::Queued | Phase::Preparing | Phase::Stopping(..) | Phase::Closing(..) => None,
    }
}

/// The last answer goes to the backend only while the turn holds a slot: after it the model goes on. The others go at
/// once, because a turn that held a slot for them could starve the children it waits for.
fn settled(turn: Turn, wait: Wait) -> Next {
    let (next, mut effects) = withdrawn(turn, wait)?;
    if let Session::Turning(Turn { phase: Phase::Parked, .. }) = next {
        effects.push(Effect::Deliver);
    }
    Some((next, effects))
}

fn withdrawn(turn: Turn, wait: Wait) -> Next {
    let less = Turn { open: turn.open.without(wait)?, ..turn };
    let ended = Effect::Persist(Fact::WaitEnded(wait));
    match turn.phase {
        Phase::Parked if less.open == Open::NONE => {
            Some((less.to(Phase::Returning), vec![ended, Effect::TakeSlot(Priority::Returning)]))
        }
        Phase::Parked => Some((Session::Turning(less), vec![ended])),
        Phase::Queued
        | Phase::Preparing
        | Phase::Working
        | Phase::Returning
        | Phase::Stopping(..)
        | Phase::Closing(..) => None,
    }
}

fn answered(turn: Turn, asks: Asks) -> Next {
    let outcome = match asks {
        Asks::Nothing => Outcome::Completed,
        Asks::Questions => Outcome::Asked,
    };
    match turn.phase {
        Phase::Working | Phase::Parked | Phase::Returning => Some(close(turn, outcome)),
        Phase::Stopping(outcome, slot) => Some(commit(turn, outcome, slot)),
        Phase::Queued | Phase::Preparing | Phase::Closing(..) => None,
    }
}

fn refused(turn: Turn) -> Next {
    match turn.phase {
        Phase::Working | Phase::Parked | Phase::Returning => match turn.repairs_left.checked_sub(1) {
            Some(repairs_left) => Some((
                Session::Turning(Turn { repairs_left, ..turn }),
                vec![Effect::Persist(Fact::ResponseRefused), Effect::SendRepair],
            )),
            None => Some(close(turn, Outcome::Failed)),
        },
        Phase::Stopping(outcome, slot) => Some(commit(turn, outcome, slot)),
        Phase::Queued | Phase::Preparing | Phase::Closing(..) => None,
    }
}

fn backend_lost(turn: Turn) -> Next {
    match turn.phase {
        Phase::Preparing => Some(end(Outcome::Failed, Slot::Held)),
        Phase::Working | Phase::Parked | Phase::Returning => Some(close(turn, Outcome::Failed)),
        Phase::Stopping(outcome, slot) => Some(commit(turn, outcome, slot)),
        Phase::Queued | Phase::Closing(..) => None,
    }
}

fn committed(turn: Turn, standing: Standing) -> Next {
    match turn.phase {
        Phase::Closing(outcome, slot) => {
            let outcome = match (outcome, standing) {
                // The response is about files that do not exist.
                (Outcome::Completed | Outcome::Asked, Standing::TreeGone) => Outcome::Failed,
                (Outcome::Failed | Outcome::Interrupted, Standing::TreeGone)
                | (
                    Outcome::Completed | Outcome::Asked | Outcome::Failed | Outcome::Interrupted,
                    Standing::Clear | Standing::Conflict,
                ) => outcome,
            };
            let (rest, effects) = end(outcome, slot);
            Some(match (rest, standing) {
                (Session::Resting(Rest::Ready), Standing::Conflict) => (Session::Resting(Rest::Conflict), effects),
                (rest, Standing::Clear | Standing::Conflict | Standing::TreeGone) => (rest, effects),
            })
        }
        Phase::Queued | Phase::Preparing | Phase::Working | Phase::Parked | Phase::Returning | Phase::Stopping(..) => {
            None
        }
    }
}

fn commit(turn: Turn, outcome: Outcome, slot: Slot) -> (Session, Vec<Effect>) {
    (turn.to(Phase::Closing(outcome, slot)), vec![Effect::Commit])
}

/// The backend is done: nothing can be delivered any more, and its work goes onto the branch.
fn close(turn: Turn, outcome: Outcome) -> (Session, Vec<Effect>) {
    let slot = turn.slot();
    let mut effects = turn.cancel_waits();
    if turn.phase == Phase::Returning {
        effects.push(Effect::LeaveQueue);
    }
    effects.push(Effect::Commit);
    (Turn { open: Open::NONE, ..turn }.to(Phase::Closing(outcome, slot)), effects)
}

fn end(outcome: Outcome, slot: Slot) -> (Session, Vec<Effect>) {
    let rest = match outcome {
        Outcome::Completed => Rest::Ready,
        Outcome::Asked => Rest::Asking,
        Outcome::Failed => Rest::Failed,
        Outcome::Interrupted => Rest::Interrupted,
    };
    let mut effects = vec![Effect::Persist(Fact::TurnEnded(outcome))];
    if slot == Slot::Held {
        effects.push(Effect::ReleaseSlot);
    }
    effects.push(Effect::Next(outcome));
    (Session::Resting(rest), effects)
}

fn stop(turn: Turn, outcome: Outcome) -> Next {
    match turn.phase {
        Phase::Queued => {
            let (rest, mut effects) = end(outcome, Slot::Free);
            effects.insert(1, Effect::LeaveQueue);
            Some((rest, effects))
        }
        Phase::Preparing => Some((
            turn.to(Phase::Stopping(outcome, Slot::Held)),
            vec![Effect::Persist(Fact::Status), Effect::AbortPreparation],
        )),
        Phase::Working | Phase::Parked | Phase::Returning => {
            let slot = turn.slot();
            let mut effects = turn.cancel_waits();
            if turn.phase == Phase::Returning {
                effects.push(Effect::LeaveQueue);
            }
            effects.push(Effect::Interrupt);
            Some((Turn { open: Open::NONE, ..turn }.to(Phase::Stopping(outcome, slot)), effects))
        }
        Phase::Stopping(..) | Phase::Closing(..) => None,
    }
}

/// Nothing resumes by itself: whatever was in progress is interrupted, and what a person was asked waits as expired.
fn recover(turn: Turn) -> (Session, Vec<Effect>) {
    let mut effects = Vec::new();
    if turn.open.total() > 0 {
        effects.push(Effect::Persist(Fact::WaitsExpired));
    }
    effects.push(Effect::Persist(Fact::TurnEnded(Outcome::Interrupted)));
    (Session::Resting(Rest::Interrupted), effects)
}

impl Turn {
    fn to(self, phase: Phase) -> Session {
        Session::Turning(Turn { phase, ..self })
    }

    fn slot(self) -> Slot {
        match self.phase {
            Phase::Preparing | Phase::Working => Slot::Held,
            Phase::Queued | Phase::Parked | Phase::Returning => Slot::Free,
            Phase::Stopping(_, slot) | Phase::Closing(_, slot) => slot,
        }
    }

    fn cancel_waits(self) -> Vec<Effect> {
        match self.open {
            Open::NONE => Vec::new(),
            Open { .. } => vec![Effect::Persist(Fact::WaitsCancelled)],
        }
    }
}
