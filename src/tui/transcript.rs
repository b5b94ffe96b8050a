//! What was said and done in a session, as rows that can be scrolled: built from events, laid out only where it is seen.
//!
//! Facts may come by a page, by the stream or by both; the transcript is the same.

mod entry;
mod find;
mod join;
mod lay;
mod layout;
mod live;
mod pages;
mod scroll;
mod select;
mod talk;
#[cfg(test)]
mod tests;
mod text;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use jiff::tz::TimeZone;

use super::msg::{Reach, Request};
use crate::api::event::{Event, Live};
use crate::look::card::Fold;
use crate::look::line::Line;
use entry::{Entry, Place};

pub(crate) use entry::Delegation;
pub(crate) use find::{Hits, Needle};
pub(crate) use select::{Click, Part, Way};

/// So many transcripts are held; the one that was not looked at for longest makes room.
const HELD: usize = 8;

/// The transcripts that were looked at lately.
#[derive(Debug, Default)]
pub(crate) struct Transcripts {
    held: HashMap<String, Transcript>,
    /// The one that was looked at last comes last.
    order: VecDeque<String>,
    /// The one that a view shows, or showed last: it never makes room.
    shown: Option<String>,
    /// Blocks in progress that stand in no transcript yet: whoever opens one sees what was written before.
    begun: HashMap<String, live::Begun>,
    zone: Option<TimeZone>,
}

/// One session's.
#[derive(Debug)]
pub(crate) struct Transcript {
    entries: BTreeMap<Place, Entry>,
    joins: join::Joins,
    open: Option<live::Open>,
    pages: pages::Pages,
    layout: layout::Layout,
    scroll: scroll::Scroll,
    /// What is seen, as it was prepared last.
    shown: Vec<scroll::Span>,
    selected: Option<Place>,
    /// The match that was shown last.
    found: Option<scroll::Spot>,
    look: Look,
    zone: TimeZone,
}

/// How the person wants to see it.
#[derive(Debug)]
struct Look {
    thoughts: Thoughts,
    fold: Fold,
    /// Cards that are folded otherwise than the rest.
    turned: HashSet<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thoughts {
    Hidden,
    Shown,
}

impl Transcripts {
    /// Times are told on the clock of `zone`.
    pub(crate) fn set_zone(&mut self, zone: TimeZone) {
        self.zone = Some(zone);
    }

    pub(crate) fn get(&self, session: &str) -> Option<&Transcript> {
        self.held.get(session)
    }

    pub(crate) fn get_mut(&mut self, session: &str) -> Option<&mut Transcript> {
        self.held.get_mut(session)
    }

    /// Holds the transcript of a view for as long as no other is shown; what could not be read is asked for again.
    pub(crate) fn show(&mut self, session: &str) -> Vec<Request> {
        self.shown = Some(session.to_owned());
        self.need(session)
    }

    /// Holds a transcript, and asks for its end when it is not there.
    pub(crate) fn need(&mut self, session: &str) -> Vec<Request> {
        self.order.retain(|held| held != session);
        self.order.push_back(session.to_owned());
        let oldest = self.order.iter().position(|held| Some(held) != self.shown.as_ref());
        if self.order.len() > HELD
            && let Some(oldest) = oldest.and_then(|at| self.order.remove(at))
        {
            self.held.remove(&oldest);
        }
        if let Some(transcript) = self.held.get_mut(session) {
            return transcript.wanted(session);
        }
        let mut transcript = Transcript::new(self.zone.clone().unwrap_or(TimeZone::UTC));
        let requests = transcript.wanted(session);
        self.held.insert(session.to_owned(), transcript);
        self.hand_over(session);
        requests
    }

    /// Asks again for what may have been missed while the daemon was away.
    pub(crate) fn renew(&mut self) -> Vec<Request> {
        self.begun.clear();
        let sessions = self.order.iter();
        sessions.filter_map(|id| self.held.get_mut(id).map(|transcript| transcript.renew(id))).flatten().collect()
    }

    /// Takes a page of older events, or the end of the transcript, and asks for more where more is about to be seen.
    pub(crate) fn page(&mut self, session: &str, events: Vec<Event>, reach: Reach) -> Vec<Request> {
        let Some(transcript) = self.held.get_mut(session) else {
            return Vec::new();
        };
        transcript.page(&events, reach);
        let requests = transcript.wanted(session);
        self.hand_over(session);
        requests
    }

    /// A page could not be read: it is asked for again when it is wanted again.
    pub(crate) fn refused(&mut self) {
        self.held.values_mut().for_each(Transcript::refused);
    }

    /// Takes a fact of the stream.
    pub(crate) fn fact(&mut self, event: &Event) {
        if self.begun.get(&event.session).is_some_and(|begun| begun.is_ended_by(&event.payload)) {
            self.begun.remove(&event.session);
        }
        if let Some(transcript) = self.held.get_mut(&event.session) {
            transcript.fact(event);
        }
    }

    pub(crate) fn live(&mut self, record: &Live) {
        if let Some(transcript) = self.held.get_mut(record.session()).filter(|held| held.has_place(record)) {
            return transcript.live(record);
        }
        match record {
            Live::InProgress { session, turn, block, text } => {
                self.begun.insert(session.clone(), live::Begun::new(*turn, block, text));
            }
            Live::Delta { session, turn, block, text } => match self.begun.get_mut(session) {
                Some(begun) if begun.is(*turn, block) => begun.push(text),
                Some(_) | None => {
                    self.begun.insert(session.clone(), live::Begun::new(*turn, block, text));
                }
            },
            Live::Progress { .. } | Live::Status { .. } | Live::SubagentEvent { .. } => {}
        }
    }

    /// Puts a block that began before into its transcript, once it has a place there.
    fn hand_over(&mut self, session: &str) {
        let (Some(transcript), Some(begun)) = (self.held.get_mut(session), self.begun.get(session)) else {
            return;
        };
        let record = begun.record(session);
        if transcript.has_place(&record) {
            transcript.live(&record);
            self.begun.remove(session);
        }
    }
}

impl Transcript {
    fn new(zone: TimeZone) -> Transcript {
        Transcript {
            entries: BTreeMap::new(),
            joins: join::Joins::default(),
            open: None,
            pages: pages::Pages::default(),
            layout: layout::Layout::default(),
            scroll: scroll::Scroll::default(),
            shown: Vec::new(),
            selected: None,
            found: None,
            look: Look::default(),
            zone,
        }
    }

    /// The last rows at this width, for a preview.
    pub(crate) fn tail(&mut self, width: u16, rows: u16) -> Vec<Line> {
        let spans = self.last_rows(width, rows.into());
        let rows = spans.iter().filter_map(|span| self.layout.rows(span.unit)?.get(span.rows.clone()));
        rows.flatten().cloned().collect()
    }

    /// Whether anything came.
    pub(crate) fn is_loaded(&self) -> bool {
        self.pages.is_loaded()
    }

    fn put(&mut self, place: Place, entry: Entry) {
        self.layout.forget(place);
        self.entries.insert(place, entry);
    }

    /// Puts an entry where none is.
    fn add(&mut self, place: Place, entry: impl FnOnce() -> Entry) {
        if !self.entries.contains_key(&place) {
            self.put(place, entry());
        }
    }

    fn remove(&mut self, place: Place) {
        if self.entries.remove(&place).is_some() {
            self.layout.forget(place);
        }
    }

    /// An entry that is about to change.
    fn entry_mut(&mut self, place: Place) -> Option<&mut Entry> {
        self.layout.forget(place);
        self.entries.get_mut(&place)
    }
}

impl Default for Look {
    fn default() -> Look {
        Look { thoughts: Thoughts::Hidden, fold: Fold::Folded, turned: HashSet::new() }
    }
}

impl Look {
    fn fold(&self, place: Place) -> Fold {
        match (self.fold, self.turned.contains(&place)) {
            (Fold::Folded, true) | (Fold::Open, false) => Fold::Open,
            (Fold::Folded, false) | (Fold::Open, true) => Fold::Folded,
        }
    }
}
