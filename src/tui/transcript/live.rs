//! The block that is being written: it grows with each record, and the fact that stores it takes its place.

use super::Transcript;
use super::entry::{Entry, Place};
use super::text::Text;
use crate::api::event::{Block, Event, Live, Payload};

/// A running call shows the end of what it wrote; more is not kept.
const TOOL_TAIL: usize = 4 * 1024;

/// So much of what an agent writes is kept where nobody looks; the fact that stores it brings the whole.
const TEXT_TAIL: usize = 256 * 1024;

/// A block in progress that stands in no transcript: nobody looks at its session, or its call is not known there.
#[derive(Debug)]
pub(super) struct Begun {
    turn: u32,
    block: Block,
    pub(super) text: String,
}

impl Begun {
    pub(super) fn new(turn: u32, block: &Block, text: &str) -> Begun {
        let mut begun = Begun { turn, block: block.clone(), text: String::new() };
        begun.push(text);
        begun
    }

    pub(super) fn is(&self, turn: u32, block: &Block) -> bool {
        self.turn == turn && self.block == *block
    }

    pub(super) fn push(&mut self, more: &str) {
        self.text.push_str(more);
        let tail = match self.block {
            Block::Tool { .. } => TOOL_TAIL,
            Block::Message | Block::Thought => TEXT_TAIL,
        };
        keep_tail(&mut self.text, tail);
    }

    /// Whether nothing of it is in progress behind this fact.
    pub(super) fn is_ended_by(&self, payload: &Payload) -> bool {
        match (&self.block, Ends::of(payload)) {
            (_, Ends::All) => true,
            (Block::Tool { call }, Ends::Call(ended)) => call == ended,
            (Block::Message | Block::Thought, Ends::Text { .. }) => true,
            (Block::Message | Block::Thought, Ends::Call(_)) | (Block::Tool { .. }, Ends::Text { .. }) => false,
            (_, Ends::Nothing) => false,
        }
    }

    /// All of it, as if it was written at once.
    pub(super) fn record(&self, session: &str) -> Live {
        let Begun { turn, block, text } = self;
        Live::Delta { session: session.to_owned(), turn: *turn, block: block.clone(), text: text.clone() }
    }
}

/// A block in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    turn: u32,
    block: Block,
}

impl Transcript {
    pub(super) fn live(&mut self, record: &Live) {
        match record {
            Live::InProgress { turn, block, text, .. } => {
                self.close();
                self.grow(*turn, block, text);
            }
            Live::Delta { turn, block, text, .. } => self.grow(*turn, block, text),
            Live::Progress { .. } | Live::Status { .. } | Live::SubagentEvent { .. } => {}
        }
    }

    /// Takes a fact of the stream, which comes behind the records that it settles.
    pub(super) fn fact(&mut self, event: &Event) {
        match Ends::of(&event.payload) {
            Ends::Text { turn, block, stored } => self.settle(event.seq, turn, &block, stored),
            Ends::All => self.close(),
            Ends::Call(_) | Ends::Nothing => {}
        }
        self.note(event.seq);
        self.apply(event);
    }

    /// Whether what a record brings can be shown: a call only where its card stands.
    pub(super) fn has_place(&self, record: &Live) -> bool {
        match record {
            Live::InProgress { turn, block: Block::Tool { call }, .. }
            | Live::Delta { turn, block: Block::Tool { call }, .. } => self.joins.call(*turn, call).is_some(),
            Live::InProgress { block: Block::Message | Block::Thought, .. }
            | Live::Delta { block: Block::Message | Block::Thought, .. }
            | Live::Progress { .. }
            | Live::Status { .. }
            | Live::SubagentEvent { .. } => true,
        }
    }

    /// Forgets the block in progress.
    pub(super) fn close(&mut self) {
        self.open = None;
        self.remove(Place::OPEN);
    }

    fn grow(&mut self, turn: u32, block: &Block, more: &str) {
        let entry = match block {
            Block::Message => Entry::Message,
            Block::Thought => Entry::Thought,
            Block::Tool { call } => return self.grow_tool(turn, call, more),
        };
        let open = Open { turn, block: block.clone() };
        if self.open.as_ref() != Some(&open) {
            self.remove(Place::OPEN);
            self.open = Some(open);
            self.put(Place::OPEN, entry(Text::default()));
        }
        let Some(Entry::Message(text) | Entry::Thought(text)) = self.entries.get_mut(&Place::OPEN) else {
            return;
        };
        let last = text.chunks().len().saturating_sub(1);
        text.push(more);
        self.layout.forget_from(Place::OPEN, last);
    }

    fn grow_tool(&mut self, turn: u32, call: &str, more: &str) {
        let Some(place) = self.joins.call(turn, call) else {
            return;
        };
        let Some(Entry::Tool(tool)) = self.entries.get_mut(&place) else {
            return;
        };
        if tool.end.is_some() {
            return;
        }
        tool.live.push_str(more);
        keep_tail(&mut tool.live, TOOL_TAIL);
        self.layout.forget(place);
    }

    /// What was streamed moves to the place of the fact; only what is missing is added, so nothing that is seen jumps.
    fn settle(&mut self, seq: u64, turn: u32, block: &Block, stored: &str) {
        let is_this = self.open.as_ref().is_some_and(|open| open.turn == turn && open.block == *block);
        if !is_this {
            return;
        }
        let place = Place::of(seq);
        let streamed = match self.entries.get(&Place::OPEN) {
            Some(Entry::Message(text) | Entry::Thought(text)) => text.missing(stored).is_some(),
            Some(_) | None => false,
        };
        if streamed && !self.entries.contains_key(&place) {
            self.moved(Place::OPEN, place);
        }
        self.close();
    }
}

/// What is not in progress behind a fact.
enum Ends<'a> {
    /// A text, which is stored by it.
    Text {
        turn: u32,
        block: Block,
        stored: &'a str,
    },
    /// This call.
    Call(&'a str),
    All,
    Nothing,
}

impl Ends<'_> {
    fn of(payload: &Payload) -> Ends<'_> {
        match payload {
            Payload::Message { turn, text } => Ends::Text { turn: *turn, block: Block::Message, stored: text },
            Payload::Thought { turn, text } => Ends::Text { turn: *turn, block: Block::Thought, stored: text },
            Payload::ToolFinished { call, .. } => Ends::Call(call),
            Payload::TurnStarted { .. }
            | Payload::TurnCompleted { .. }
            | Payload::TurnFailed { .. }
            | Payload::TurnInterrupted { .. }
            | Payload::Archived {}
            | Payload::Removed { .. } => Ends::All,
            Payload::SessionCreated { .. }
            | Payload::TitleChanged { .. }
            | Payload::PromptQueued { .. }
            | Payload::PromptDropped { .. }
            | Payload::Preparing { .. }
            | Payload::SetupOutput { .. }
            | Payload::Switched { .. }
            | Payload::ToolStarted { .. }
            | Payload::ApprovalRequested { .. }
            | Payload::ApprovalResolved { .. }
            | Payload::QuestionAsked { .. }
            | Payload::QuestionAnswered { .. }
            | Payload::QuestionGone { .. }
            | Payload::HandoffUpdated { .. }
            | Payload::SubagentEvent { .. }
            | Payload::WorkflowUpdated { .. }
            | Payload::PlanUpdated { .. }
            | Payload::Usage { .. }
            | Payload::Retry { .. }
            | Payload::Checkpoint { .. }
            | Payload::Reworded { .. }
            | Payload::Undone { .. }
            | Payload::Integrated { .. }
            | Payload::Merged { .. }
            | Payload::MergeUndone { .. }
            | Payload::HookFixStarted { .. }
            | Payload::HookFixStopped { .. }
            | Payload::Conflict { .. }
            | Payload::Saved { .. }
            | Payload::Restored {}
            | Payload::PostureChanged { .. }
            | Payload::Attached { .. }
            | Payload::Detached { .. }
            | Payload::Warning { .. } => Ends::Nothing,
        }
    }
}

/// Keeps the end of a text. It is cut when it is twice too long, so that most records only append.
fn keep_tail(text: &mut String, tail: usize) {
    if text.len() > 2 * tail {
        text.drain(..text.ceil_char_boundary(text.len() - tail));
    }
}
