//! Exit codes: part of the stable contract with scripts, so each has a name and is decided in one place.

use std::process::ExitCode;

use crate::api::error::ErrorKind;
use crate::api::session::{Session, Status, WaitingFor};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Done,
    /// The turn or the operation failed.
    Failed,
    Usage,
    WaitsForAnswer,
    WaitsForApproval,
    NotFound,
    DaemonUnreachable,
    /// A bug of ours.
    Internal,
    TimedOut,
    /// The person left; the work goes on.
    Detached,
}

impl Exit {
    pub(super) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::WaitsForAnswer => 3,
            Exit::WaitsForApproval => 4,
            Exit::NotFound => 5,
            Exit::DaemonUnreachable => 6,
            Exit::Internal => 70,
            Exit::TimedOut => 124,
            Exit::Detached => 130,
        }
    }

    /// Where following a session ends; `None` while it goes on by itself.
    pub(super) fn of_session(session: &Session) -> Option<Exit> {
        match session.status {
            // A child that the turn waits for may wait for somebody itself.
            Status::Running => match session.waiting_for {
                Some(WaitingFor::Approval) => Some(Exit::WaitsForApproval),
                Some(WaitingFor::Answer) => Some(Exit::WaitsForAnswer),
                Some(WaitingFor::Children) | None => None,
            },
            Status::Queued | Status::Preparing | Status::Integrating => None,
            Status::Draft | Status::Ready | Status::Merged | Status::Archived => Some(Exit::Done),
            Status::Failed | Status::Interrupted | Status::Conflict => Some(Exit::Failed),
            Status::Asking => Some(Exit::WaitsForAnswer),
            Status::Approval => Some(Exit::WaitsForApproval),
        }
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Invalid => Exit::Usage,
            ErrorKind::NotFound => Exit::NotFound,
            ErrorKind::Conflict | ErrorKind::Forbidden | ErrorKind::Failed | ErrorKind::Unavailable => Exit::Failed,
            ErrorKind::Internal => Exit::Internal,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::sample::session;

    #[test]
    fn every_status_has_one_end() {
        let ends: Vec<_> = Status::ALL
            .into_iter()
            .map(|status| (status.as_str(), Exit::of_session(&session(status)).map(Exit::code)))
            .collect();
        assert_eq!(
            ends,
            [
                ("draft", Some(0)),
                ("queued", None),
                ("preparing", None),
                ("running", None),
                ("approval", Some(4)),
                ("asking", Some(3)),
                ("ready", Some(0)),
                ("failed", Some(1)),
                ("interrupted", Some(1)),
                ("integrating", None),
                ("conflict", Some(1)),
                ("merged", Some(0)),
                ("archived", Some(0)),
            ]
        );
    }

    #[test]
    fn a_turn_that_waits_for_children_waits_for_what_they_wait_for() {
        for (waiting_for, code) in
            [(WaitingFor::Children, None), (WaitingFor::Answer, Some(3)), (WaitingFor::Approval, Some(4))]
        {
            let parent = Session { waiting_for: Some(waiting_for), ..session(Status::Running) };
            assert_eq!(Exit::of_session(&parent).map(Exit::code), code, "{waiting_for:?}");
        }
    }

    #[test]
    fn a_session_goes_on_exactly_while_it_is_busy() {
        for status in Status::ALL {
            assert_eq!(Exit::of_session(&session(status)).is_none(), status.is_busy(), "{status:?}");
        }
    }
}
