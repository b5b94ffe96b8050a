//! Which part of a session's events is there, and what is asked for next.
//!
//! What is held ends with the last fact. It begins somewhere, and after the daemon was away there may be a gap in it.

use super::Transcript;
use crate::api::event::Event;
use crate::tui::msg::{Reach, Request};

/// Older entries are asked for when fewer than that stand above what is seen.
const NEAR: usize = 100;

/// A gap that takes more pages is not filled: it is quicker to begin again at the end.
const FILL: u32 = 4;

#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The first fact that is there.
    oldest: Option<u64>,
    newest: Option<u64>,
    /// How far back it goes; `None` before the first page.
    reach: Option<Reach>,
    is_asked: bool,
    gap: Option<Gap>,
}

/// Facts that came while nobody listened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    /// The last fact before.
    low: u64,
    /// The first one behind, once it is known.
    high: Option<u64>,
    pages: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filling {
    GoesOn,
    /// Too much was missed; nothing is held any more, and the end is asked for again.
    GivenUp,
}

impl Pages {
    pub(super) fn is_loaded(&self) -> bool {
        self.reach.is_some()
    }

    pub(super) fn has_older(&self) -> bool {
        self.reach == Some(Reach::More)
    }
}

impl Transcript {
    /// What has to be asked for, if nothing is on its way.
    pub(super) fn wanted(&mut self, session: &str) -> Vec<Request> {
        if self.pages.is_asked {
            return Vec::new();
        }
        let before = match (self.pages.gap, self.pages.reach) {
            (Some(gap), _) => gap.high,
            (None, None) => None,
            (None, Some(Reach::More)) if !self.has_above(NEAR) => self.pages.oldest,
            (None, Some(Reach::More | Reach::Start)) => return Vec::new(),
        };
        self.pages.is_asked = true;
        vec![Request::Page { session: session.to_owned(), before }]
    }

    /// Asks for older facts, wherever the person looks.
    pub(super) fn older(&mut self, session: &str) -> Vec<Request> {
        if self.pages.is_asked || !self.pages.has_older() || self.pages.gap.is_some() {
            return Vec::new();
        }
        self.pages.is_asked = true;
        vec![Request::Page { session: session.to_owned(), before: self.pages.oldest }]
    }

    /// Asks for the end again: the stream was interrupted, and the block in progress with it.
    pub(super) fn renew(&mut self, session: &str) -> Vec<Request> {
        self.close();
        self.pages.is_asked = false;
        let low = self.pages.gap.map(|gap| gap.low).or(self.pages.newest);
        if self.pages.is_loaded() {
            self.pages.gap = low.map(|low| Gap { low, high: None, pages: 0 });
        }
        self.wanted(session)
    }

    pub(super) fn refused(&mut self) {
        self.pages.is_asked = false;
    }

    pub(super) fn page(&mut self, events: &[Event], reach: Reach) {
        self.pages.is_asked = false;
        let first = events.iter().map(|event| event.seq).min();
        let is_oldest = match (first, self.pages.oldest) {
            (Some(first), Some(oldest)) => first <= oldest,
            (Some(_), None) | (None, _) => true,
        };
        if let Some(gap) = self.pages.gap.take() {
            if self.fill(gap, first, reach) == Filling::GivenUp {
                return;
            }
        } else if is_oldest {
            // Asking again behind a page of which nothing is known would bring the same page.
            self.pages.reach = Some(if first.is_some() { reach } else { Reach::Start });
        }
        for event in events {
            self.note(event.seq);
            self.apply(event);
        }
    }

    /// Remembers that a fact is there.
    pub(super) fn note(&mut self, seq: u64) {
        self.pages.oldest = Some(self.pages.oldest.map_or(seq, |oldest| oldest.min(seq)));
        self.pages.newest = Some(self.pages.newest.map_or(seq, |newest| newest.max(seq)));
    }

    fn fill(&mut self, gap: Gap, first: Option<u64>, reach: Reach) -> Filling {
        let is_closed = reach == Reach::Start || first.is_none_or(|first| first <= gap.low);
        if is_closed {
            return Filling::GoesOn;
        }
        if gap.pages < FILL {
            self.pages.gap = Some(Gap { high: first, pages: gap.pages + 1, ..gap });
            return Filling::GoesOn;
        }
        let look = std::mem::take(&mut self.look);
        *self = Transcript { look, ..Transcript::new(self.zone.clone()) };
        Filling::GivenUp
    }
}
