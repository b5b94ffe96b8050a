//! What the person types, while the face has the terminal.

use std::collections::VecDeque;
use std::io;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;

mod spelling;

/// The reader of the terminal. There is none while another program has it.
#[derive(Default)]
pub(super) struct Keys {
    reader: Option<EventStream>,
    /// What was typed for the face while it was read by somebody else.
    ahead: VecDeque<Event>,
}

impl Keys {
    /// The next thing that the terminal tells, or nothing when it is gone.
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        if let Some(event) = self.ahead.pop_front() {
            return Some(Ok(event));
        }
        self.reader.get_or_insert_with(EventStream::new).next().await
    }

    /// Takes nothing from the terminal until the next call of `next`.
    ///
    /// A new reader waits for the one before it, so this one has to be gone before the next one begins.
    pub(super) fn pause(&mut self) {
        self.reader = None;
    }
    /// Takes what was typed for the face, as the terminal spelled it; it comes before all that follows.
    pub(super) fn put_ahead(&mut self, typed: &[u8]) {
        self.ahead.extend(spelling::events(typed));
    }
}
