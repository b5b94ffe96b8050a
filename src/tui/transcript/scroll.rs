//! What part of a transcript is seen. The place that is read is held by an anchor, so that whatever comes above or
//! below does not move it; only units that are seen, or passed by, are laid out.

use std::ops::{Bound, Range};

use super::entry::{Entry, Place};
use super::layout::Unit;
use super::{Look, Thoughts, Transcript, lay};

/// What is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Scroll {
    /// The end, whatever is added.
    #[default]
    Follow,
    /// The beginning, also when older entries come.
    Start,
    At(Anchor),
}

/// The row at the top of what is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anchor {
    unit: Unit,
    row: usize,
    /// How many rows the unit had then: at another width the row is as far into it as it was.
    of: usize,
}

/// Rows of a unit that are seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) unit: Unit,
    pub(super) rows: Range<usize>,
}

/// A row by its unit and its number in it.
pub(super) type Spot = (Unit, usize);

impl Transcript {
    /// What is seen in so many rows of this width, from the top down.
    pub(super) fn frame(&mut self, width: u16, height: usize) -> Vec<Span> {
        self.layout.begin(width);
        let Some((unit, row)) = self.top(height) else {
            return Vec::new();
        };
        self.spans(unit, row, height)
    }

    /// The last rows, and nothing of where the person looks.
    pub(super) fn last_rows(&mut self, width: u16, height: usize) -> Vec<Span> {
        self.layout.begin(width);
        let Some((unit, row)) = self.bottom(height) else {
            return Vec::new();
        };
        self.spans(unit, row, height)
    }

    /// Moves by rows, up when negative. The end is followed once it is reached.
    pub(super) fn scroll_by(&mut self, rows: i64, height: usize) {
        let (Some(top), Some(bottom)) = (self.top(height), self.bottom(height)) else {
            return;
        };
        let steps = usize::try_from(rows.unsigned_abs()).unwrap_or(usize::MAX);
        let spot = if rows < 0 { self.up(top, steps) } else { self.down(top, steps) };
        self.look_at(spot, bottom);
    }

    /// Brings a row to the top, or as far up as the end allows.
    pub(super) fn show_at_top(&mut self, spot: Spot, height: usize) {
        if let Some(bottom) = self.bottom(height) {
            self.look_at(spot, bottom);
        }
    }

    /// Stays where it is: whoever has selected something reads, and what comes must not carry it away.
    pub(super) fn hold(&mut self, height: u16) {
        if self.scroll == Scroll::Follow
            && let Some((unit, row)) = self.top(height.into())
        {
            self.scroll = Scroll::At(Anchor { unit, row, of: self.height(unit) });
        }
    }

    fn look_at(&mut self, (unit, row): Spot, bottom: Spot) {
        self.scroll = match (unit, row) >= bottom {
            true => Scroll::Follow,
            false => Scroll::At(Anchor { unit, row, of: self.height(unit) }),
        };
    }

    /// What the reader's place is called after an entry has moved.
    pub(super) fn moved(&mut self, from: Place, to: Place) {
        if let Scroll::At(anchor) = &mut self.scroll
            && anchor.unit.place == from
        {
            anchor.unit.place = to;
        }
        if self.selected == Some(from) {
            self.selected = Some(to);
        }
        if self.look.turned.remove(&from) {
            self.look.turned.insert(to);
        }
        self.layout.forget(from);
    }

    /// Whether so many entries stand above what is seen.
    pub(super) fn has_above(&self, entries: usize) -> bool {
        let from = match self.scroll {
            Scroll::Follow => None,
            Scroll::Start => return false,
            Scroll::At(anchor) => Some(anchor.unit.place),
        };
        let above = match from {
            Some(place) => self.entries.range(..place),
            None => self.entries.range(..),
        };
        above.rev().take(entries).count() == entries
    }

    /// How many rows a unit has.
    pub(super) fn height(&mut self, unit: Unit) -> usize {
        let Some(entry) = self.entries.get(&unit.place) else {
            return 0;
        };
        let (look, joins) = (&self.look, &self.joins);
        if look.hides(entry) {
            return 0;
        }
        let zone = &self.zone;
        self.layout.height(unit, |width| {
            let about = lay::About { fold: look.fold(unit.place), joins, zone };
            lay::rows(entry, unit.index, &about, width)
        })
    }

    fn spans(&mut self, mut unit: Unit, mut row: usize, height: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut left = height;
        loop {
            let end = self.height(unit).min(row + left);
            if end > row {
                left -= end - row;
                spans.push(Span { unit, rows: row..end });
            }
            match self.next(unit) {
                Some(following) if left > 0 => (unit, row) = (following, 0),
                Some(_) | None => return spans,
            }
        }
    }

    /// The first row that is seen.
    pub(super) fn top(&mut self, height: usize) -> Option<Spot> {
        let first = self.first()?;
        let spot = match self.scroll {
            Scroll::Follow => return self.bottom(height),
            Scroll::Start => (first, 0),
            Scroll::At(anchor) => self.found(anchor)?,
        };
        // Where less than a screen is left, the end stands at the foot of it.
        let bottom = self.bottom(height)?;
        Some(spot.min(bottom))
    }

    /// Where an anchor points to in what is there.
    fn found(&mut self, anchor: Anchor) -> Option<Spot> {
        let Anchor { unit: Unit { place, index }, row, of } = anchor;
        let (at, entry) = match self.entries.range(place..).next() {
            Some(found) => found,
            None => self.entries.last_key_value()?,
        };
        if *at != place {
            return Some((Unit { place: *at, index: 0 }, 0));
        }
        let unit = Unit { place, index: index.min(entry.units() - 1) };
        let height = self.height(unit);
        let row = if of == height || of == 0 { row } else { row * height / of };
        Some((unit, row.min(height.saturating_sub(1))))
    }

    /// The row from which on the rest fills the height.
    fn bottom(&mut self, height: usize) -> Option<Spot> {
        let mut unit = self.last()?;
        let mut left = height;
        loop {
            let rows = self.height(unit);
            if rows >= left {
                return Some((unit, rows - left));
            }
            left -= rows;
            match self.previous(unit) {
                Some(before) => unit = before,
                None => return Some((unit, 0)),
            }
        }
    }

    fn up(&mut self, (mut unit, mut row): Spot, mut steps: usize) -> Spot {
        while steps > row {
            let Some(before) = self.previous(unit) else {
                return (unit, 0);
            };
            steps -= row;
            unit = before;
            row = self.height(unit);
        }
        (unit, row - steps)
    }

    fn down(&mut self, (mut unit, mut row): Spot, mut steps: usize) -> Spot {
        loop {
            let rows = self.height(unit);
            if row + steps < rows {
                return (unit, row + steps);
            }
            let Some(following) = self.next(unit) else {
                return (unit, rows.saturating_sub(1));
            };
            steps -= rows - row;
            (unit, row) = (following, 0);
        }
    }

    fn first(&self) -> Option<Unit> {
        self.entries.first_key_value().map(|(place, _)| Unit { place: *place, index: 0 })
    }

    fn last(&self) -> Option<Unit> {
        self.entries.last_key_value().map(|(place, entry)| Unit { place: *place, index: entry.units() - 1 })
    }

    fn next(&self, unit: Unit) -> Option<Unit> {
        let units = self.entries.get(&unit.place).map_or(0, Entry::units);
        if unit.index + 1 < units {
            return Some(Unit { index: unit.index + 1, ..unit });
        }
        let behind = (Bound::Excluded(unit.place), Bound::Unbounded);
        self.entries.range(behind).next().map(|(place, _)| Unit { place: *place, index: 0 })
    }

    fn previous(&self, unit: Unit) -> Option<Unit> {
        if unit.index > 0 {
            return Some(Unit { index: unit.index - 1, ..unit });
        }
        let before = self.entries.range(..unit.place).next_back();
        before.map(|(place, entry)| Unit { place: *place, index: entry.units() - 1 })
    }
}

impl Look {
    pub(super) fn hides(&self, entry: &Entry) -> bool {
        match entry {
            Entry::Thought(_) => self.thoughts == Thoughts::Hidden,
            Entry::Message(text) => text.is_blank(),
            Entry::Turn(_)
            | Entry::Tool(_)
            | Entry::Delegation(_)
            | Entry::Todo(_)
            | Entry::Tasks(_)
            | Entry::Setup(_)
            | Entry::Approval(_)
            | Entry::Questions(_)
            | Entry::Failure(_)
            | Entry::Notice(..)
            | Entry::Queued(_) => false,
        }
    }
}
