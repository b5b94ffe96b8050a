//! How a child stands, in every vocabulary.

use super::*;

#[test]
fn a_child_has_one_status() {
    for (child, expected) in [
        (Child::Queued, Status::Queued),
        (Child::Preparing, Status::Queued),
        (Child::Running, Status::Running),
        (Child::Approval, Status::PendingPermission),
        (Child::AskingInTurn, Status::PendingQuestion),
        (Child::AskingAtRest, Status::PendingQuestion),
        (Child::Ready, Status::Completed),
        (Child::Failed(Cause::Other), Status::Failed),
        (Child::Stopped, Status::Cancelled),
        (Child::DaemonEnded, Status::Interrupted),
    ] {
        assert_eq!(of_child(child), expected);
    }
}

#[test]
fn a_child_out_of_time_has_timed_out() {
    let status = of_child(Child::Failed(Cause::Timeout));
    assert_eq!((status, status.told(), status.error()), (Status::TimedOut, Status::Failed, Some("Subagent timeout")));
}

#[test]
fn a_child_out_of_steps_has_failed() {
    assert_eq!(of_child(Child::Failed(Cause::StepLimit)), Status::Failed);
    for (limit, taken, expected) in
        [(None, u32::MAX, false), (Some(3), 3, false), (Some(3), 4, true), (Some(0), 1, true)]
    {
        assert_eq!(is_out_of_steps(limit, taken), expected);
    }
    let report = Report { status: Status::Failed, error: Some(STEP_LIMIT), text: Some("so far"), ..super::report() };
    assert_eq!(reply(&report), Err("step_limit\n\nIts last words:\nso far".to_owned()));
}

#[test]
fn the_life_of_an_agent_has_six_words() {
    for (status, word, is_final) in [
        (Status::Queued, "pending_init", false),
        (Status::Running, "running", false),
        (Status::PendingPermission, "running", false),
        (Status::PendingQuestion, "running", false),
        (Status::Completed, "completed", true),
        (Status::Failed, "errored", true),
        (Status::TimedOut, "errored", true),
        (Status::Interrupted, "errored", true),
        (Status::Cancelled, "shutdown", true),
    ] {
        assert_eq!((status.lifecycle().word(), status.is_final()), (word, is_final));
    }
    assert!(Lifecycle::NotFound.is_final() && Lifecycle::NotFound.word() == "not_found");
}

#[test]
fn every_status_is_found_by_its_word() {
    for status in STATUSES {
        assert_eq!(Status::from_word(status.word()), Some(status));
    }
    assert_eq!(Status::from_word("done"), None);
}
