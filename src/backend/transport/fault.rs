//! What can happen to any process that a conversation is held with, in words for a person.

use crate::backend::failure::{Failure, FailureKind};

/// The process ended by itself; `who` is what a person calls it.
pub(crate) fn crashed(who: &str, during: &str, status: Option<&str>, stderr_tail: &str) -> Failure {
    let status = status.unwrap_or("an unknown status");
    let said = stderr_tail.trim();
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    Failure::new(FailureKind::Crashed, format!("{who} ended {during} with {status}{said}"))
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
