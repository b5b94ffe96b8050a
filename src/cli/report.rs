//! Failures as a person reads them: what happened, why, and at most one thing to do about it.

use std::error::Error;
use std::{io, iter};

use super::diff::patch_line;
use super::exit::Exit;
use super::line::{Line, Tone, one_line};
use crate::api;
use crate::client::ClientError;
use crate::paths::PathsError;

/// `coppice shell` sets both in the shell that it opens.
const SESSION_ENV: &str = "COPPICE_SESSION";
const WORKTREE_ENV: &str = "COPPICE_WORKTREE";

/// Why a command ends early.
#[derive(Debug)]
pub(super) enum Failure {
    /// Whoever read our output has gone: nobody is left to be told, and nothing is wrong.
    PipeClosed,
    Told(Report),
}

/// A failure that is told on stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) exit: Exit,
    pub(super) message: String,
    /// Outermost first.
    pub(super) causes: Vec<String>,
    /// What the message is about, such as a patch.
    pub(super) details: Vec<Line>,
    pub(super) hint: Option<String>,
}

impl Failure {
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure::Told(Report { exit, message: message.into(), causes: Vec::new(), details: Vec::new(), hint: None })
    }

    /// The command line does not make sense.
    pub(super) fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// An act did not work, with the chain of sources of `error`, itself included.
    pub(super) fn because(message: impl Into<String>, error: &(dyn Error + 'static)) -> Failure {
        let causes = iter::successors(Some(error), |&cause| cause.source()).map(ToString::to_string).collect();
        Failure::Told(Report { exit: Exit::Failed, message: message.into(), causes, details: Vec::new(), hint: None })
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Failure {
        match self {
            Failure::PipeClosed => Failure::PipeClosed,
            Failure::Told(report) => Failure::Told(Report { hint: Some(hint.into()), ..report }),
        }
    }
}

impl From<api::error::Error> for Failure {
    fn from(error: api::error::Error) -> Failure {
        let api::error::Error { kind, message, causes, hint, hook_changes, unseen_changes: _ } = error;
        let patch = hook_changes.map(|changes| changes.patch).unwrap_or_default();
        let details = patch.lines().map(|line| Line::new().plain("  ").then(patch_line(line))).collect();
        Failure::Told(Report { exit: kind.into(), message, causes, details, hint })
    }
}

/// Why no daemon can be reached, where that is because the process runs in a session's sandbox.
fn unreachable_from_session(error: &ClientError) -> Option<Report> {
    match error {
        ClientError::Unreachable { .. }
        | ClientError::NotStarted { .. }
        | ClientError::Start { .. }
        | ClientError::Paths(PathsError::Foreign { .. } | PathsError::Directory { .. }) => {}
        ClientError::Refused(_)
        | ClientError::TooOld { .. }
        | ClientError::TooNew { .. }
        | ClientError::Lost { .. }
        | ClientError::LostAct { .. }
        | ClientError::Silent { .. }
        | ClientError::OutOfReach { .. }
        | ClientError::NotASocket { .. }
        | ClientError::Foreign { .. }
        | ClientError::Stopped
        | ClientError::Malformed { .. }
        | ClientError::Request { .. }
        | ClientError::Paths(PathsError::NoHome | PathsError::RelativeHome { .. }) => return None,
    }
    let (session, _) = std::env::var(SESSION_ENV).ok().zip(std::env::var_os(WORKTREE_ENV))?;
    let message = format!(
        "this process runs in the sandbox of session `{}`, where coppice commands do not work",
        one_line(&session)
    );
    let hint = "run the command in a terminal of your own; in `coppice shell`, Ctrl+] brings you back to it";
    let (exit, hint) = (Exit::DaemonUnreachable, Some(hint.to_owned()));
    Some(Report { exit, message, causes: Vec::new(), details: Vec::new(), hint })
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        if let Some(report) = unreachable_from_session(&error) {
            return Failure::Told(report);
        }
        let exit = match &error {
            ClientError::Refused(_) => Exit::Failed,
            ClientError::Unreachable { .. }
            | ClientError::NotStarted { .. }
            | ClientError::Start { .. }
            | ClientError::TooOld { .. }
            | ClientError::TooNew { .. }
            | ClientError::Lost { .. }
            | ClientError::LostAct { .. }
            | ClientError::Silent { .. }
            | ClientError::OutOfReach { .. }
            | ClientError::NotASocket { .. }
            | ClientError::Foreign { .. }
            | ClientError::Stopped => Exit::DaemonUnreachable,
            ClientError::Malformed { .. } => Exit::Internal,
            ClientError::Request { .. } => Exit::Usage,
            ClientError::Paths(_) => Exit::Failed,
        };
        let hint = match &error {
            ClientError::Refused(refusal) => return refusal.clone().into(),
            ClientError::Unreachable { .. } => "`coppice daemon start` starts it",
            ClientError::NotStarted { hint: Some(hint), .. } => hint,
            ClientError::NotStarted { hint: None, .. } | ClientError::Lost { .. } => {
                "`coppice daemon logs` shows what it said last"
            }
            ClientError::LostAct { session, .. } => &format!(
                "`coppice show {session}` shows whether it was done; `coppice daemon logs` shows what the daemon said last"
            ),
            ClientError::Start { .. } => "check that the program may be run and that its directories can be written",
            ClientError::TooOld { .. } => {
                "wait until the turns have ended, or stop it with `coppice daemon stop --now`"
            }
            ClientError::TooNew { .. } => "use the newer program, or stop the daemon with `coppice daemon stop`",
            ClientError::Silent { pid: Some(pid) } => &format!(
                "`kill -CONT {pid}` continues a daemon that was suspended; `coppice daemon stop --force` kills it, and no work is lost"
            ),
            ClientError::Silent { pid: None } => "`coppice daemon stop --force` kills it, and no work is lost",
            ClientError::OutOfReach { .. } => {
                "try again in a moment, when it may listen again; `coppice daemon stop` ends it"
            }
            ClientError::NotASocket { .. } => {
                "move it away and try again; a daemon that runs listens there again by itself"
            }
            ClientError::Foreign { .. } => "end that program, or name another directory with COPPICE_HOME",
            ClientError::Stopped => "the next command starts it again",
            ClientError::Malformed { .. } => "this is a bug: please report it with the output of `coppice daemon logs`",
            ClientError::Request { .. } => "`coppice list` shows the sessions",
            ClientError::Paths(PathsError::NoHome) => "set HOME, or COPPICE_HOME to a directory of your own",
            ClientError::Paths(PathsError::RelativeHome { .. }) => {
                "set COPPICE_HOME to an absolute path outside of your repositories"
            }
            ClientError::Paths(PathsError::Foreign { .. } | PathsError::Directory { .. }) => {
                "set COPPICE_HOME to a directory that only you can write"
            }
        };
        let causes = iter::successors(error.source(), |&cause| cause.source()).map(ToString::to_string).collect();
        let (message, hint) = (error.to_string(), Some(hint.to_owned()));
        Failure::Told(Report { exit, message, causes, details: Vec::new(), hint })
    }
}

/// Only writing to our own output makes bare io errors here; everything else names what it tried.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::PipeClosed,
            _ => Failure::because("failed to write the output", &error),
        }
    }
}

impl Report {
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = vec![Line::toned(Tone::Bad, "error:").plain(format!(" {}", indent_rest(&self.message)))];
        for cause in &self.causes {
            let head = Line::new().dim("  caused by:");
            match cause.contains('\n') {
                true => lines.extend(
                    std::iter::once(head).chain(cause.lines().map(|line| Line::new().plain(format!("    {line}")))),
                ),
                false => lines.push(head.plain(format!(" {cause}"))),
            }
        }
        if !self.details.is_empty() {
            lines.extend(std::iter::once(Line::new()).chain(self.details.iter().cloned()));
        }
        if let Some(hint) = &self.hint {
            lines.push(Line::new());
            lines.push(Line::toned(Tone::Accent, "hint:").plain(format!(" {}", indent_rest(hint))));
        }
        lines
    }
}

/// A text whose further lines cannot be taken for lines of ours: a name of a file in it may have line breaks.
pub(super) fn indent_rest(text: &str) -> String {
    text.replace('\n', "\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::error::ErrorKind;

    fn text(failure: Failure) -> String {
        match failure {
            Failure::PipeClosed => "(quiet)".to_owned(),
            Failure::Told(report) => {
                report.lines().iter().map(Line::text).collect::<Vec<_>>().join("\n")
                    + &format!("\n[{}]", report.exit.code())
            }
        }
    }

    #[test]
    fn a_refusal_shows_causes_and_one_hint() {
        let error = api::error::Error {
            kind: ErrorKind::NotFound,
            message: "no session matches `zz`".into(),
            causes: vec!["the list is empty".into()],
            hint: Some("`coppice list` shows the sessions".into()),
            hook_changes: None,
            unseen_changes: None,
        };
        insta::assert_snapshot!(text(error.into()), @r"
        error: no session matches `zz`
          caused by: the list is empty

        hint: `coppice list` shows the sessions
        [5]
        ");
    }

    #[test]
    fn a_closed_pipe_is_told_to_nobody() {
        assert_eq!(text(io::Error::from(io::ErrorKind::BrokenPipe).into()), "(quiet)");
        assert_eq!(
            text(io::Error::other("no space left").into()),
            "error: failed to write the output\n  caused by: no space left\n[1]"
        );
    }
}
