//! What a transcript is made of. Entries hold what came, as compactly as it can be shown again; no rows.

use super::text::Text;
use crate::api::event::PromptAuthor;
use crate::api::handoff::HandoffStatus;
use crate::api::permission::AutoApproval;
use crate::api::session::Changes;
use crate::look::card::Outcome;
use crate::look::line::{Line, Tone};

/// Where an entry stands: at the fact that made it. What has no fact yet stands behind all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) seq: u64,
    pub(super) part: u32,
}

impl Place {
    /// The block that is being written.
    pub(super) const OPEN: Place = Place { seq: u64::MAX, part: 0 };

    /// The todo list of the turn in progress.
    pub(super) const TODO: Place = Place { seq: u64::MAX, part: 1 };

    pub(super) fn of(seq: u64) -> Place {
        Place { seq, part: 1 }
    }

    /// Just before what the fact itself shows.
    pub(super) fn before(seq: u64) -> Place {
        Place { seq, part: 0 }
    }

    /// A prompt that waits.
    pub(super) fn queued(number: u32) -> Place {
        Place { seq: u64::MAX, part: number.saturating_add(2) }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entry {
    Turn(Turn),
    Message(Text),
    Thought(Text),
    Tool(Box<Tool>),
    Delegation(Box<Delegation>),
    Todo(Vec<Step>),
    Tasks(Vec<Step>),
    /// What a command that prepares the worktree wrote.
    Setup(Box<str>),
    Approval(Box<Approval>),
    Questions(Vec<Asked>),
    Failure(Box<Failure>),
    /// One line.
    Notice(Tone, Box<str>),
    Queued(Text),
}

/// A prompt and who works on it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) at: i64,
    pub(super) agent: Option<Box<str>>,
    /// Absent while the fact that brought it is not there.
    pub(super) prompt: Option<Text>,
    pub(super) author: PromptAuthor,
}

/// A call, from its beginning to its end as far as they are known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tool {
    pub(super) turn: u32,
    pub(super) tool: Box<str>,
    pub(super) title: Box<str>,
    /// JSON, as text: few calls are seen, and values take several times the room.
    pub(super) input: Option<Box<str>>,
    pub(super) end: Option<(Outcome, Box<str>)>,
    /// What let it pass without a person.
    pub(super) auto: Option<Box<AutoApproval>>,
    /// The last of what it wrote, while it runs.
    pub(super) live: String,
}

/// A handoff as its parent shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Delegation {
    /// The fact that says so; an older one changes nothing.
    pub(crate) seq: u64,
    pub(crate) handoff: Box<str>,
    pub(crate) child: Box<str>,
    pub(crate) agent: Box<str>,
    pub(crate) label: Box<str>,
    pub(crate) backend: Box<str>,
    pub(crate) status: HandoffStatus,
    /// What a person must decide about.
    pub(crate) wants: Option<Box<str>>,
    pub(crate) error: Option<Box<str>>,
    pub(crate) answer: Option<Box<str>>,
    pub(crate) changes: Changes,
}

/// One line of a todo list or of the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) mark: Mark,
    pub(super) text: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Open,
    Active,
    Blocked,
    Done,
}

impl Mark {
    pub(super) fn parse(status: &str) -> Mark {
        match status {
            "completed" => Mark::Done,
            "in_progress" => Mark::Active,
            "blocked" => Mark::Blocked,
            _ => Mark::Open,
        }
    }

    pub(super) fn line(self) -> Line {
        match self {
            Mark::Open => Line::toned(Tone::Plain, "[ ]"),
            Mark::Active => Line::toned(Tone::Accent, "[>]"),
            Mark::Blocked => Line::toned(Tone::Warn, "[!]"),
            Mark::Done => Line::toned(Tone::Good, "[x]"),
        }
    }
}

/// A call that a person was asked about, and what was said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Approval {
    pub(super) title: Box<str>,
    pub(super) outcome: Option<Box<str>>,
    pub(super) message: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) text: Box<str>,
    pub(super) options: Vec<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) message: Box<str>,
    pub(super) hint: Option<Box<str>>,
    pub(super) command: Option<Box<str>>,
    pub(super) resets_at: Option<i64>,
}

impl Entry {
    /// How many parts are laid out apart.
    pub(super) fn units(&self) -> usize {
        match self {
            Entry::Turn(Turn { prompt: Some(text), .. })
            | Entry::Message(text)
            | Entry::Thought(text)
            | Entry::Queued(text) => text.chunks().len().max(1),
            Entry::Turn(_)
            | Entry::Tool(_)
            | Entry::Delegation(_)
            | Entry::Todo(_)
            | Entry::Tasks(_)
            | Entry::Setup(_)
            | Entry::Approval(_)
            | Entry::Questions(_)
            | Entry::Failure(_)
            | Entry::Notice(..) => 1,
        }
    }

    /// Whether it can be selected.
    pub(super) fn is_card(&self) -> bool {
        match self {
            Entry::Tool(_) | Entry::Delegation(_) | Entry::Todo(_) | Entry::Tasks(_) | Entry::Setup(_) => true,
            Entry::Turn(_)
            | Entry::Message(_)
            | Entry::Thought(_)
            | Entry::Approval(_)
            | Entry::Questions(_)
            | Entry::Failure(_)
            | Entry::Notice(..)
            | Entry::Queued(_) => false,
        }
    }
}
