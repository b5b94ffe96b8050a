//! Searching a transcript: what is there is searched as it came, without being laid out.

use super::entry::{Entry, Place};
use super::layout::Unit;
use super::select::Way;
use super::{Fold, Transcript};
use crate::look::line::Line;
use crate::tui::msg::Request;

/// A word that is looked for; letters match in either case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Needle {
    lower: String,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hits {
    pub(crate) count: usize,
    /// Whether older entries that are not there were left out.
    pub(crate) is_partial: bool,
}

impl Needle {
    pub(crate) fn new(text: &str) -> Option<Needle> {
        (!text.is_empty()).then(|| Needle { lower: text.to_lowercase() })
    }

    fn count(&self, text: &str) -> usize {
        match text.is_ascii() && self.lower.is_ascii() {
            true => text.to_ascii_lowercase().matches(&self.lower).count(),
            false => text.to_lowercase().matches(&self.lower).count(),
        }
    }

    fn is_in(&self, text: &str) -> bool {
        self.count(text) > 0
    }

    /// The parts of a text that match, as bytes from and to. Letters whose other case is longer are not told apart.
    pub(crate) fn parts(&self, text: &str) -> Vec<(usize, usize)> {
        let lower = text.to_lowercase();
        if lower.len() != text.len() {
            return Vec::new();
        }
        let found = lower.match_indices(&self.lower).map(|(from, part)| (from, from + part.len()));
        found.filter(|(from, to)| text.is_char_boundary(*from) && text.is_char_boundary(*to)).collect()
    }
}

impl Transcript {
    pub(crate) fn hits(&self, needle: &Needle) -> Hits {
        let count = self.entries.iter().map(|(place, entry)| {
            let units = self.units(*place, entry);
            units.map(|unit| self.count_in(entry, unit.index, needle)).sum::<usize>()
        });
        Hits { count: count.sum(), is_partial: self.pages.has_older() }
    }

    /// Brings the next match into what is seen, from the one before or from what is seen; at the top, asks for older ones.
    pub(crate) fn next_hit(&mut self, session: &str, needle: &Needle, way: Way, height: u16) -> Vec<Request> {
        let seen = match way {
            Way::Down => self.shown.first().map(|span| (span.unit, span.rows.start)),
            Way::Up => self.shown.last().map(|span| (span.unit, span.rows.end)),
        };
        let Some((unit, row)) = self.found.or(seen) else {
            return Vec::new();
        };
        let is_first = self.found.is_none();
        let in_same = match way {
            Way::Down => self.rows_with(unit, needle).into_iter().find(|at| *at > row || (is_first && *at == row)),
            Way::Up => self.rows_with(unit, needle).into_iter().rfind(|at| *at < row),
        };
        let spot = match in_same {
            Some(row) => Some((unit, row)),
            None => self.unit_with(unit, needle, way).map(|unit| {
                let rows = self.rows_with(unit, needle);
                let row = if way == Way::Down { rows.first() } else { rows.last() };
                (unit, row.copied().unwrap_or(0))
            }),
        };
        match spot {
            Some(spot) => {
                self.found = Some(spot);
                let above = i64::from(height / 3);
                self.show_at_top(spot, height.into());
                if !self.is_following() {
                    self.scroll_by(-above, height.into());
                }
                self.wanted(session)
            }
            None => match way {
                Way::Up => self.older(session),
                Way::Down => Vec::new(),
            },
        }
    }

    /// Forgets which match was shown last.
    pub(crate) fn forget_hit(&mut self) {
        self.found = None;
    }

    fn units(&self, place: Place, entry: &Entry) -> impl DoubleEndedIterator<Item = Unit> + use<> {
        (0..entry.units()).map(move |index| Unit { place, index })
    }

    /// The next unit in whose source the needle is.
    fn unit_with(&self, from: Unit, needle: &Needle, way: Way) -> Option<Unit> {
        let has = |entry: &Entry, unit: &Unit| self.count_in(entry, unit.index, needle) > 0;
        match way {
            Way::Down => self
                .entries
                .range(from.place..)
                .find_map(|(place, entry)| self.units(*place, entry).find(|unit| *unit > from && has(entry, unit))),
            Way::Up => self.entries.range(..=from.place).rev().find_map(|(place, entry)| {
                self.units(*place, entry).rev().find(|unit| *unit < from && has(entry, unit))
            }),
        }
    }

    /// The rows of a unit that match; a card that hides its match is opened.
    fn rows_with(&mut self, unit: Unit, needle: &Needle) -> Vec<usize> {
        let rows = self.matching(unit, needle);
        let entry = self.entries.get(&unit.place).filter(|entry| entry.is_card());
        let is_hiding = entry.is_some_and(|entry| self.count_in(entry, unit.index, needle) > rows.len());
        if !is_hiding || self.look.fold(unit.place) == Fold::Open {
            return rows;
        }
        if !self.look.turned.remove(&unit.place) {
            self.look.turned.insert(unit.place);
        }
        self.layout.forget(unit.place);
        self.matching(unit, needle)
    }

    fn matching(&mut self, unit: Unit, needle: &Needle) -> Vec<usize> {
        self.height(unit);
        let rows = self.layout.rows(unit).unwrap_or_default();
        rows.iter().zip(0..).filter(|(line, _)| needle.is_in(&Line::text(line))).map(|(_, row)| row).collect()
    }

    fn count_in(&self, entry: &Entry, unit: usize, needle: &Needle) -> usize {
        if self.look.hides(entry) {
            return 0;
        }
        let of = |text: &str| needle.count(text);
        match entry {
            Entry::Message(text) | Entry::Thought(text) | Entry::Queued(text) => {
                text.chunks().get(unit).map_or(0, |chunk| of(&chunk.text))
            }
            Entry::Turn(turn) => {
                turn.prompt.as_ref().and_then(|text| text.chunks().get(unit)).map_or(0, |chunk| of(&chunk.text))
            }
            Entry::Tool(tool) => of(&tool.title) + tool.end.as_ref().map_or(0, |(_, output)| of(output)),
            Entry::Delegation(child) => of(&child.agent) + of(&child.label),
            Entry::Todo(steps) | Entry::Tasks(steps) => steps.iter().map(|step| of(&step.text)).sum(),
            Entry::Setup(text) => of(text),
            Entry::Approval(approval) => of(&approval.title),
            Entry::Questions(asked) => {
                let options = |options: &[Box<str>]| options.iter().map(|option| of(option)).sum::<usize>();
                asked.iter().map(|question| of(&question.text) + options(&question.options)).sum()
            }
            Entry::Failure(failure) => of(&failure.message) + failure.hint.as_deref().map_or(0, of),
            Entry::Notice(_, text) => of(text),
        }
    }
}
