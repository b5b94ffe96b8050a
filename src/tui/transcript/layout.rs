//! The rows that were laid out lately. A unit that is not here is laid out when it is about to be seen.

use std::collections::HashMap;

use super::entry::Place;
use crate::look::line::Line;

/// More units than that are not kept, except those that are seen.
const KEPT: usize = 256;

/// A part of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Unit {
    pub(super) place: Place,
    pub(super) index: usize,
}

#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) width: u16,
    laid: HashMap<Unit, Laid>,
    frame: u64,
    /// How many units were laid out so far.
    pub(super) work: u64,
}

#[derive(Debug)]
struct Laid {
    rows: Vec<Line>,
    /// The frame that asked for it last.
    used: u64,
}

impl Layout {
    /// The rows of a unit, if they are there.
    pub(super) fn rows(&self, unit: Unit) -> Option<&[Line]> {
        self.laid.get(&unit).map(|laid| laid.rows.as_slice())
    }

    /// How many rows a unit has, laid out by `lay` when it is not.
    pub(super) fn height(&mut self, unit: Unit, lay: impl FnOnce(u16) -> Vec<Line>) -> usize {
        let (frame, width) = (self.frame, self.width);
        let work = &mut self.work;
        let laid = self.laid.entry(unit).or_insert_with(|| {
            *work += 1;
            Laid { rows: lay(width), used: frame }
        });
        laid.used = frame;
        laid.rows.len()
    }

    /// Begins a frame of this width; what was not seen for some frames makes room.
    pub(super) fn begin(&mut self, width: u16) {
        if self.width != width {
            self.width = width;
            self.laid.clear();
        }
        self.frame += 1;
        if self.laid.len() > KEPT {
            let frame = self.frame;
            self.laid.retain(|_, laid| laid.used + 2 > frame);
        }
    }

    /// Forgets the rows of an entry.
    pub(super) fn forget(&mut self, place: Place) {
        self.forget_from(place, 0);
    }

    /// Forgets the rows of an entry from one of its units on.
    pub(super) fn forget_from(&mut self, place: Place, from: usize) {
        self.laid.retain(|unit, _| unit.place != place || unit.index < from);
    }

    pub(super) fn forget_all(&mut self) {
        self.laid.clear();
    }
}
