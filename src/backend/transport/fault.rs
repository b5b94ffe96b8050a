//! What can happen to any process that a conversation is held with, in words for a person.

use crate::backend::failure::{Failure, FailureKind};

/// How a line begins that says why a program ends.
const ERROR: &str = "error:";

/// What a person does about an agent that is not ready in time.
pub(crate) const SLOW_START: &str =
    "run the agent by hand, do what it waits for, such as a login or an update, then run `coppice resume`";

/// The process ended by itself; `who` is what a person calls it.
pub(crate) fn crashed(who: &str, during: &str, status: Option<&str>, stderr_tail: &str) -> Failure {
    let status = status.unwrap_or("an unknown status");
    let said = put_error_first(stderr_tail.trim());
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    Failure::new(FailureKind::Crashed, format!("{who} ended {during} with {status}{said}"))
}

/// The last error of a program with its causes, then what it wrote before: warnings come first in time, and a person often
/// sees one line only.
fn put_error_first(said: &str) -> String {
    let mut start = 0;
    let mut error_at = None;
    for line in said.split_inclusive('\n') {
        if line.get(..ERROR.len()).is_some_and(|word| word.eq_ignore_ascii_case(ERROR)) {
            error_at = Some(start);
        }
        start += line.len();
    }
    let (before, error) = said.split_at(error_at.unwrap_or_default());
    [error, before].map(str::trim_end).join("\n").trim_end().to_owned()
}

/// The agent lives but says nothing any more.
pub(crate) fn output_closed() -> Failure {
    Failure::new(FailureKind::Crashed, "the agent closed its output")
}

/// The agent lives but takes nothing any more.
pub(crate) fn input_stuck() -> Failure {
    Failure::new(FailureKind::Transport, "the agent does not read its input")
}

/// The conversation ended while a prompt waited.
pub(crate) fn closed() -> Failure {
    Failure::new(FailureKind::Cancelled, "the conversation was closed before it took the prompt")
}

/// A person ended the turn.
pub(crate) fn interrupted() -> Failure {
    Failure::new(FailureKind::Cancelled, "the turn was interrupted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_comes_before_the_warnings() {
        for (stderr, expected) in [
            ("", "agent ended early with exit status 1"),
            ("no reason\n", "agent ended early with exit status 1: no reason"),
            ("WARNING: a\nb\n", "agent ended early with exit status 1: WARNING: a\nb"),
            (
                "WARNING: a\nError: full\n  caused by: b\n",
                "agent ended early with exit status 1: Error: full\n  caused by: b\nWARNING: a",
            ),
            ("error: one\nerror: two\n", "agent ended early with exit status 1: error: two\nerror: one"),
            ("é Error: inside\n", "agent ended early with exit status 1: é Error: inside"),
        ] {
            assert_eq!(crashed("agent", "early", Some("exit status 1"), stderr).message, expected);
        }
    }
}
