//! How much of its output a turn may store: an agent that never stops talking must not fill the disk.
//!
//! Pure. Only what the agent says and does is counted. The end of the turn, its response, questions, approvals and
//! checkpoints are always stored, and so is the end of a call whose beginning is.

use std::collections::HashSet;

use crate::api::event::Payload;

/// How many events of output a turn stores: several thousand tool calls.
const MAX_EVENTS: u64 = 20_000;

/// How many bytes they may have together.
const MAX_BYTES: u64 = 64 << 20;

/// Stands for the output of a call that ended after the cut.
const NOT_STORED: &str = "[not stored]";

/// The output of one turn so far.
#[derive(Debug, Default)]
pub(super) struct OutputQuota {
    stored: OutputVolume,
    left_out: OutputVolume,
    /// A stored event says that output is left out.
    is_cut_told: bool,
    /// Calls whose beginning is stored and whose end is not.
    open_calls: HashSet<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct OutputVolume {
    events: u64,
    bytes: u64,
}

impl OutputQuota {
    /// What is stored of a fact about the turn: the fact itself, nothing, or, once, that further output is left out.
    pub(super) fn admit(&mut self, mut payload: Payload) -> Option<Payload> {
        let Some((turn, bytes)) = measure_output(&payload) else { return Some(payload) };
        let has_room = self.stored.events < MAX_EVENTS && self.stored.bytes + bytes <= MAX_BYTES;
        if self.left_out.events == 0 && has_room {
            self.stored.add(bytes);
            if let Payload::ToolStarted { call, .. } = &payload {
                self.open_calls.insert(call.clone());
            } else if let Payload::ToolFinished { call, .. } = &payload {
                self.open_calls.remove(call);
            }
            return Some(payload);
        }
        self.left_out.add(bytes);
        if let Payload::ToolFinished { call, output, .. } = &mut payload
            && self.open_calls.remove(call)
        {
            *output = NOT_STORED.to_owned();
            return Some(payload);
        }
        let message = || format!("turn {turn} has stored {}: its further output is not stored", self.stored.describe());
        let notice = (!self.is_cut_told).then(|| Payload::Warning { message: message() });
        self.is_cut_told = true;
        notice
    }

    /// How much of the turn is left out, if something is.
    pub(super) fn describe_left_out(&self, turn: u32) -> Option<Payload> {
        let message = || format!("turn {turn}: {} were not stored", self.left_out.describe());
        (self.left_out.events > 0).then(|| Payload::Warning { message: message() })
    }
}

impl OutputVolume {
    fn add(&mut self, bytes: u64) {
        self.events += 1;
        self.bytes += bytes;
    }

    fn describe(self) -> String {
        format!("{} events of output ({} KiB)", self.events, self.bytes.div_ceil(1024))
    }
}

/// The turn and the size of what an agent says or does; `None` for a fact that is always stored.
fn measure_output(payload: &Payload) -> Option<(u32, u64)> {
    let (turn, bytes) = match payload {
        Payload::Message { turn, text } | Payload::Thought { turn, text } => (turn, text.len()),
        Payload::ToolStarted { turn, title, input, .. } => {
            (turn, title.len() + input.as_ref().map_or(0, |input| input.to_string().len()))
        }
        Payload::ToolFinished { turn, title, output, .. } => (turn, title.len() + output.len()),
        Payload::PlanUpdated { turn, entries } => (turn, entries.iter().map(|entry| entry.content.len()).sum()),
        Payload::Retry { turn, reason } => (turn, reason.len()),
        Payload::Usage { turn, .. } => (turn, 0),
        Payload::SessionCreated { .. }
        | Payload::TitleChanged { .. }
        | Payload::PromptQueued { .. }
        | Payload::PromptDropped { .. }
        | Payload::Preparing { .. }
        | Payload::SetupOutput { .. }
        | Payload::Switched { .. }
        | Payload::TurnStarted { .. }
        | Payload::ApprovalRequested { .. }
        | Payload::ApprovalResolved { .. }
        | Payload::QuestionAsked { .. }
        | Payload::QuestionAnswered { .. }
        | Payload::QuestionGone { .. }
        | Payload::HandoffUpdated { .. }
        | Payload::SubagentEvent { .. }
        | Payload::WorkflowUpdated { .. }
        | Payload::Checkpoint { .. }
        | Payload::Reworded { .. }
        | Payload::TurnCompleted { .. }
        | Payload::TurnFailed { .. }
        | Payload::TurnInterrupted { .. }
        | Payload::Undone { .. }
        | Payload::Integrated { .. }
        | Payload::Merged { .. }
        | Payload::MergeUndone { .. }
        | Payload::HookFixStarted { .. }
        | Payload::HookFixStopped { .. }
        | Payload::Conflict { .. }
        | Payload::Archived {}
        | Payload::Removed { .. }
        | Payload::Saved { .. }
        | Payload::Restored {}
        | Payload::PostureChanged { .. }
        | Payload::Attached { .. }
        | Payload::Detached { .. }
        | Payload::Warning { .. } => return None,
    };
    Some((*turn, u64::try_from(bytes).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: u64) -> Payload {
        Payload::Message { turn: 3, text: "x".repeat(usize::try_from(bytes).unwrap()) }
    }

    fn started(call: &str) -> Payload {
        let (tool, title) = ("read".to_owned(), String::new());
        Payload::ToolStarted { turn: 3, call: call.to_owned(), tool, title, input: None, auto: None }
    }

    fn finished(call: &str, output: &str) -> Payload {
        let (call, tool, title, output) = (call.to_owned(), "read".to_owned(), String::new(), output.to_owned());
        Payload::ToolFinished { turn: 3, call, tool, title, ok: true, output, auto: None }
    }

    fn warning(message: &str) -> Payload {
        Payload::Warning { message: message.to_owned() }
    }

    #[test]
    fn a_turn_stores_so_many_bytes_then_says_so_once_and_ends_the_calls_that_it_began() {
        let mut quota = OutputQuota::default();
        let interrupted = || Payload::TurnInterrupted { turn: 3, reason: "stopped".to_owned() };
        let cut = warning("turn 3 has stored 5 events of output (65536 KiB): its further output is not stored");
        for (payload, expected) in [
            (started("a"), Some(started("a"))),
            (started("b"), Some(started("b"))),
            (message(MAX_BYTES - 4), Some(message(MAX_BYTES - 4))),
            (finished("a", "two"), Some(finished("a", "two"))),
            (message(1), Some(message(1))),
            (finished("b", "long"), Some(finished("b", NOT_STORED))),
            (started("c"), Some(cut)),
            (finished("c", "long"), None),
            // What would have room: nothing is stored out of the middle.
            (message(0), None),
            (warning("of the engine"), Some(warning("of the engine"))),
            (interrupted(), Some(interrupted())),
        ] {
            let name = payload.kind();
            assert!(quota.admit(payload) == expected, "{name}");
        }
        let left_out = warning("turn 3: 4 events of output (1 KiB) were not stored");
        assert_eq!(quota.describe_left_out(3), Some(left_out));
    }

    #[test]
    fn a_turn_stores_so_many_events() {
        let mut quota = OutputQuota::default();
        assert!((0..MAX_EVENTS).all(|_| quota.admit(message(1)) == Some(message(1))));
        assert_eq!(quota.describe_left_out(3), None);
        let cut = warning("turn 3 has stored 20000 events of output (20 KiB): its further output is not stored");
        assert_eq!(quota.admit(message(1)), Some(cut));
        assert_eq!(quota.admit(message(1)), None);
    }
}
