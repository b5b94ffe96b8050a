//! Every state meets every event once; the rows say what a reader should know, the loops what must always hold.

use super::*;

const RESTS: [Rest; 8] = [
    Rest::Draft,
    Rest::Ready,
    Rest::Asking,
    Rest::Failed,
    Rest::Interrupted,
    Rest::Conflict,
    Rest::Merged,
    Rest::Archived,
];
const OUTCOMES: [Outcome; 4] = [Outcome::Completed, Outcome::Asked, Outcome::Failed, Outcome::Interrupted];

const WAITS: [Wait; 3] = [Wait::Approval, Wait::Question, Wait::Child];

/// Each one thing, and each two things, that a turn can wait for.
fn waits() -> Vec<Open> {
    let one = WAITS.map(|wait| Open::NONE.with(wait));
    let two = one.iter().flat_map(|open| WAITS.map(|wait| open.with(wait)));
    one.iter().copied().chain(two).collect()
}

fn states() -> Vec<Session> {
    let slots = [Slot::Held, Slot::Free];
    let ends = OUTCOMES.iter().flat_map(|outcome| slots.map(|slot| (*outcome, slot)));
    let mut phases = vec![Phase::Queued, Phase::Preparing, Phase::Working, Phase::Parked, Phase::Returning];
    phases.extend(ends.clone().map(|(outcome, slot)| Phase::Stopping(outcome, slot)));
    phases.extend(ends.map(|(outcome, slot)| Phase::Closing(outcome, slot)));
    let turns = phases.into_iter().flat_map(|phase| {
        // A turn waits exactly while it is parked.
        let open = if phase == Phase::Parked { waits() } else { vec![Open::NONE] };
        open.into_iter()
            .flat_map(move |open| (0..=1).map(move |repairs_left| Session::Turning(Turn { phase, open, repairs_left })))
    });
    let others = |rest: &Rest| [Session::Resting(*rest), Session::Integrating(*rest), Session::Attached(*rest)];
    RESTS.iter().flat_map(others).chain(turns).collect()
}

fn events() -> Vec<Event> {
    let waits = WAITS.iter().flat_map(|wait| [Event::Waits(*wait), Event::Settled(*wait), Event::Withdrawn(*wait)]);
    let others = [
        Event::Begin { repairs: 1 },
        Event::SlotGranted,
        Event::Prepared,
        Event::PrepareFailed,
        Event::Answered(Asks::Nothing),
        Event::Answered(Asks::Questions),
        Event::Refused,
        Event::BackendLost,
        Event::Stop,
        Event::Conclude,
        Event::TimedOut,
        Event::Committed(Standing::Clear),
        Event::Committed(Standing::Conflict),
        Event::Committed(Standing::TreeGone),
        Event::Integrate,
        Event::Integrated(Integration::Merged),
        Event::Integrated(Integration::Rebased),
        Event::Integrated(Integration::Conflict),
        Event::Integrated(Integration::Refused),
        Event::Attach,
        Event::Detach,
        Event::Archive,
        Event::Unarchive(Standing::Clear),
        Event::Unarchive(Standing::Conflict),
        Event::Settle,
        Event::Recover,
    ];
    others.into_iter().chain(waits).collect()
}

/// Calls `check` for each transition that exists.
fn each(mut check: impl FnMut(Session, Event, Session, &[Effect])) {
    for state in states() {
        for event in events() {
            if let Some((next, effects)) = step(state, event) {
                check(state, event, next, &effects);
            }
        }
    }
}

fn holds_slot(session: Session) -> bool {
    match session {
        Session::Resting(_) | Session::Integrating(_) | Session::Attached(_) => false,
        Session::Turning(turn) => match turn.phase {
            Phase::Preparing | Phase::Working => true,
            Phase::Queued | Phase::Parked | Phase::Returning => false,
            Phase::Stopping(_, slot) | Phase::Closing(_, slot) => slot == Slot::Held,
        },
    }
}

fn waits_for_slot(session: Session) -> bool {
    matches!(session, Session::Turning(Turn { phase: Phase::Queued | Phase::Returning, .. }))
}

fn count(effects: &[Effect], wanted: impl Fn(&Effect) -> bool) -> usize {
    effects.iter().filter(|effect| wanted(effect)).count()
}

#[test]
fn what_the_outside_sees_is_persisted_first() {
    each(|state, event, _, effects| {
        let acts = |effect: &Effect| matches!(effect, Effect::SendPrompt | Effect::SendRepair | Effect::Deliver);
        let Some(act) = effects.iter().position(acts) else { return };
        let persisted = effects.iter().position(|effect| matches!(effect, Effect::Persist(_)));
        assert!(persisted.is_some_and(|at| at < act), "{state:?} + {event:?}: {effects:?}");
    });
}

#[test]
fn a_change_of_state_that_a_restart_must_know_is_persisted() {
    each(|state, event, next, effects| {
        if state.status() != next.status() {
            let persists = count(effects, |effect| matches!(effect, Effect::Persist(_)));
            assert!(persists > 0, "{state:?} + {event:?} → {next:?}: {effects:?}");
        }
    });
}

#[test]
fn slots_are_taken_and_given_back_exactly_once() {
    each(|state, event, next, effects| {
        if event == Event::Recover {
            return; // The slots died with the daemon.
        }
        let granted = usize::from(event == Event::SlotGranted);
        let released = count(effects, |effect| *effect == Effect::ReleaseSlot);
        let before = usize::from(holds_slot(state)) + granted;
        assert_eq!(before, usize::from(holds_slot(next)) + released, "{state:?} + {event:?} → {next:?}: {effects:?}");
    });
}

#[test]
fn a_wish_for_a_slot_is_made_granted_or_withdrawn() {
    each(|state, event, next, effects| {
        if event == Event::Recover {
            return;
        }
        let taken = count(effects, |effect| matches!(effect, Effect::TakeSlot(_)));
        let left = count(effects, |effect| *effect == Effect::LeaveQueue) + usize::from(event == Event::SlotGranted);
        let before = usize::from(waits_for_slot(state)) + taken;
        assert_eq!(before, usize::from(waits_for_slot(next)) + left, "{state:?} + {event:?} → {next:?}: {effects:?}");
    });
}

#[test]
fn a_session_at_rest_turns_only_when_a_prompt_begins() {
    each(|state, event, next, _| {
        if !state.is_turning() && next.is_turning() {
            assert!(matches!(event, Event::Begin { .. }), "{state:?} + {event:?} → {next:?}");
        }
    });
}

#[test]
fn a_turn_ends_with_exactly_one_fact_and_a_look_at_the_queue() {
    each(|state, event, next, effects| {
        let ended = count(effects, |effect| matches!(effect, Effect::Persist(Fact::TurnEnded(_))));
        assert_eq!(ended, usize::from(state.is_turning() && !next.is_turning()), "{state:?} + {event:?}: {effects:?}");
        let looked = count(effects, |effect| matches!(effect, Effect::Next(_)));
        // Nothing resumes by itself after a restart.
        assert_eq!(looked, ended * usize::from(event != Event::Recover), "{state:?} + {event:?}: {effects:?}");
    });
}

#[test]
fn an_effect_never_follows_the_end() {
    each(|state, event, next, effects| {
        if state.is_turning() && !next.is_turning() {
            let acts = |effect: &Effect| {
                matches!(
                    effect,
                    Effect::SendPrompt | Effect::SendRepair | Effect::Deliver | Effect::Prepare | Effect::Commit
                )
            };
            assert_eq!(count(effects, acts), 0, "{state:?} + {event:?}: {effects:?}");
        }
    });
}

#[test]
fn a_restart_leaves_nothing_in_progress() {
    for state in states() {
        let next = step(state, Event::Recover).map_or(state, |(next, _)| next);
        assert!(matches!(next, Session::Resting(_)), "{state:?} → {next:?}");
    }
}

#[test]
fn every_state_can_come_to_rest() {
    for state in states() {
        let mut seen = vec![state];
        let mut at = 0;
        while let Some(state) = seen.get(at).copied() {
            at += 1;
            for event in events().into_iter().filter(|event| *event != Event::Recover) {
                if let Some((next, _)) = step(state, event)
                    && !seen.contains(&next)
                    && seen.len() < 500
                {
                    seen.push(next);
                }
            }
        }
        assert!(seen.iter().any(|state| matches!(state, Session::Resting(_))), "{state:?} never rests");
    }
}

#[test]
fn every_status_says_what_a_person_can_do() {
    for state in states() {
        assert!(!state.status().next().is_empty(), "{state:?}");
    }
}

#[track_caller]
fn check(from: Session, events: &[Event], expected: &[Status]) {
    let mut state = from;
    let seen: Vec<_> = events
        .iter()
        .map(|event| {
            state = step(state, *event).map_or(state, |(next, _)| next);
            state.status()
        })
        .collect();
    assert_eq!(seen, expected);
}

const READY: Session = Session::Resting(Rest::Ready);
const BEGIN: Event = Event::Begin { repairs: 1 };

#[test]
fn a_turn_goes_from_the_queue_to_ready() {
    check(
        Session::Resting(Rest::Draft),
        &[
            BEGIN,
            Event::SlotGranted,
            Event::Prepared,
            Event::Answered(Asks::Nothing),
            Event::Committed(Standing::Clear),
        ],
        &[Status::Queued, Status::Preparing, Status::Running, Status::Running, Status::Ready],
    );
}

#[test]
fn a_conflict_lasts_until_a_turn_has_resolved_it() {
    let turn = |standing| {
        [BEGIN, Event::SlotGranted, Event::Prepared, Event::Answered(Asks::Nothing), Event::Committed(standing)]
    };
    let seen = |end| [Status::Queued, Status::Preparing, Status::Running, Status::Running, end];
    check(Session::Resting(Rest::Conflict), &turn(Standing::Conflict), &seen(Status::Conflict));
    check(Session::Resting(Rest::Conflict), &turn(Standing::Clear), &seen(Status::Ready));
}

#[test]
fn a_turn_whose_worktree_is_gone_has_failed_whatever_it_answered() {
    for answer in [Asks::Nothing, Asks::Questions] {
        check(
            READY,
            &[
                BEGIN,
                Event::SlotGranted,
                Event::Prepared,
                Event::Answered(answer),
                Event::Committed(Standing::TreeGone),
            ],
            &[Status::Queued, Status::Preparing, Status::Running, Status::Running, Status::Failed],
        );
    }
}

#[test]
fn questions_leave_the_session_asking() {
    check(
        READY,
        &[
            BEGIN,
            Event::SlotGranted,
            Event::Prepared,
            Event::Answered(Asks::Questions),
            Event::Committed(Standing::Clear),
        ],
        &[Status::Queued, Status::Preparing, Status::Running, Status::Running, Status::Asking],
    );
}

const WORKING: Session = Session::Turning(Turn { phase: Phase::Working, open: Open::NONE, repairs_left: 1 });

#[test]
fn a_call_that_waits_gives_the_slot_back_and_takes_one_again() {
    for (wait, status) in
        [(Wait::Approval, Status::Approval), (Wait::Question, Status::Asking), (Wait::Child, Status::Running)]
    {
        let (parked, effects) = step(WORKING, Event::Waits(wait)).unwrap();
        assert_eq!(effects, [Effect::Persist(Fact::WaitBegan(wait)), Effect::ReleaseSlot]);
        assert_eq!(parked.status(), status);
        let (returning, effects) = step(parked, Event::Settled(wait)).unwrap();
        assert_eq!(effects, [Effect::Persist(Fact::WaitEnded(wait)), Effect::TakeSlot(Priority::Returning)]);
        let (working, effects) = step(returning, Event::SlotGranted).unwrap();
        assert_eq!(effects, [Effect::Persist(Fact::Status), Effect::Deliver]);
        assert_eq!(working, WORKING);
    }
}

#[test]
fn a_turn_that_still_waits_for_a_child_holds_no_slot() {
    let (one, _) = step(WORKING, Event::Waits(Wait::Child)).unwrap();
    let (two, _) = step(one, Event::Waits(Wait::Child)).unwrap();
    let (left, effects) = step(two, Event::Settled(Wait::Child)).unwrap();
    assert_eq!((left, effects), (one, vec![Effect::Persist(Fact::WaitEnded(Wait::Child)), Effect::Deliver]));
    // A call that comes while the last result waits for a slot.
    let (returning, _) = step(one, Event::Settled(Wait::Child)).unwrap();
    let (parked, effects) = step(returning, Event::Waits(Wait::Approval)).unwrap();
    assert!(effects.ends_with(&[Effect::LeaveQueue, Effect::Deliver]));
    assert_eq!(parked.status(), Status::Approval);
}

#[test]
fn a_turn_waits_exactly_while_it_is_parked() {
    each(|state, event, next, _| {
        if let Session::Turning(turn) = next {
            assert_eq!(turn.open.total() > 0, turn.phase == Phase::Parked, "{state:?} + {event:?} → {next:?}");
        }
    });
}

#[test]
fn one_repair_is_tried_and_then_the_turn_fails() {
    check(
        READY,
        &[
            BEGIN,
            Event::SlotGranted,
            Event::Prepared,
            Event::Refused,
            Event::Refused,
            Event::Committed(Standing::Clear),
        ],
        &[Status::Queued, Status::Preparing, Status::Running, Status::Running, Status::Running, Status::Failed],
    );
}

#[test]
fn an_answer_that_crosses_a_stop_does_not_complete_the_turn() {
    check(
        READY,
        &[
            BEGIN,
            Event::SlotGranted,
            Event::Prepared,
            Event::Stop,
            Event::Answered(Asks::Nothing),
            Event::Committed(Standing::Clear),
        ],
        &[Status::Queued, Status::Preparing, Status::Running, Status::Running, Status::Running, Status::Interrupted],
    );
}

#[test]
fn a_refused_merge_changes_nothing() {
    check(
        Session::Resting(Rest::Asking),
        &[Event::Integrate, Event::Integrated(Integration::Refused)],
        &[Status::Integrating, Status::Asking],
    );
}

#[test]
fn an_archived_session_comes_back_with_its_conflict() {
    for (standing, status) in [(Standing::Clear, Status::Ready), (Standing::Conflict, Status::Conflict)] {
        check(Session::Resting(Rest::Archived), &[Event::Unarchive(standing)], &[status]);
    }
}

#[test]
fn a_merge_cannot_start_while_a_turn_runs() {
    assert_eq!(step(WORKING, Event::Integrate), None);
    assert_eq!(step(WORKING, Event::Archive), None);
}

#[test]
fn while_a_person_works_in_the_tree_nothing_else_begins() {
    for rest in [Rest::Ready, Rest::Asking, Rest::Failed, Rest::Interrupted, Rest::Conflict] {
        let (attached, effects) = step(Session::Resting(rest), Event::Attach).unwrap();
        assert_eq!((attached, effects), (Session::Attached(rest), vec![Effect::Persist(Fact::Status)]));
        let (left, effects) = step(attached, Event::Detach).unwrap();
        assert_eq!((left, effects), (Session::Resting(rest), vec![Effect::Persist(Fact::Detached)]));
        let others = events().into_iter().filter(|event| !matches!(event, Event::Detach | Event::Recover));
        for event in others {
            assert_eq!(step(attached, event), None, "{event:?}");
        }
    }
    for state in [WORKING, Session::Integrating(Rest::Ready), Session::Resting(Rest::Draft)] {
        assert_eq!(step(state, Event::Attach), None, "{state:?}");
    }
}
