//! The block that is being written: it grows with each record, and the fact that stores it takes its place.

use super::Transcript;
use super::entry::{Entry, Place};
use super::text::Text;
use crate::api::event::{Block, Event, Live, Payload};

/// A running call shows the end of what it wrote; more is not kept.
const TOOL_TAIL: usize = 4 * 1024;

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
        match &event.payload {
            Payload::Message { turn, text } => self.settle(event.seq, *turn, &Block::Message, text),
            Payload::Thought { turn, text } => self.settle(event.seq, *turn, &Block::Thought, text),
            payload => {
                if settles(payload) {
                    self.close();
                }
            }
        }
        self.note(event.seq);
        self.apply(event);
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
        let Some(Entry::Message(text) | Entry::Thought(text)) = self.entries.get_mut(&Place::OPEN) else { return };
        let last = text.chunks().len().saturating_sub(1);
        text.push(more);
        self.layout.forget_from(Place::OPEN, last);
    }

    fn grow_tool(&mut self, turn: u32, call: &str, more: &str) {
        let Some(place) = self.joins.call(turn, call) else { return };
        let Some(Entry::Tool(tool)) = self.entries.get_mut(&place) else { return };
        if tool.end.is_some() {
            return;
        }
        tool.live.push_str(more);
        // Cut when it is twice too long, so that most records only append.
        if tool.live.len() > 2 * TOOL_TAIL {
            let from = tool.live.ceil_char_boundary(tool.live.len() - TOOL_TAIL);
            tool.live.drain(..from);
        }
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

/// Whether no block is in progress behind this fact.
pub(super) fn settles(payload: &Payload) -> bool {
    matches!(
        payload,
        Payload::Message { .. }
            | Payload::Thought { .. }
            | Payload::TurnStarted { .. }
            | Payload::TurnCompleted { .. }
            | Payload::TurnFailed { .. }
            | Payload::TurnInterrupted { .. }
    )
}
