//! What was said and done in a session, as rows that can be scrolled: built from events, laid out only where it is seen.

use std::collections::HashMap;

use super::msg::{Reach, Request};
use crate::api::event::{Event, Live};
use crate::look::line::Line;

/// The transcripts that were looked at lately.
#[derive(Debug, Default)]
pub(crate) struct Transcripts {
    held: HashMap<String, Transcript>,
}

/// One session's.
#[derive(Debug, Default)]
pub(crate) struct Transcript {}

impl Transcripts {
    pub(crate) fn get(&self, session: &str) -> Option<&Transcript> {
        self.held.get(session)
    }

    pub(crate) fn get_mut(&mut self, session: &str) -> Option<&mut Transcript> {
        self.held.get_mut(session)
    }

    /// Asks for the end of a transcript that is not held.
    pub(crate) fn need(&mut self, _session: &str) -> Vec<Request> {
        Vec::new()
    }

    /// Asks again for what may have been missed while the daemon was away.
    pub(crate) fn renew(&mut self) -> Vec<Request> {
        Vec::new()
    }

    /// Takes a page of older events, or the end of the transcript, and asks for more where more is about to be seen.
    pub(crate) fn page(&mut self, _session: &str, _events: Vec<Event>, _reach: Reach) -> Vec<Request> {
        Vec::new()
    }

    /// Takes a fact, if its transcript is held and has not seen it.
    pub(crate) fn fact(&mut self, _event: &Event) {}

    pub(crate) fn live(&mut self, _record: &Live) {}
}

impl Transcript {
    /// The last rows at this width, for a preview.
    pub(crate) fn tail(&mut self, _width: u16, _rows: u16) -> Vec<Line> {
        Vec::new()
    }
}
