//! Which card is selected, what is shown of it, and what can be taken from it.

use std::ops::Bound;

use super::entry::{Delegation, Entry, Place, Tool};
use super::layout::Unit;
use super::scroll::{Scroll, Span};
use super::{Fold, Thoughts, Transcript};
use crate::api::handoff::HandoffStatus;
use crate::look::card;
use crate::look::line::Line;
use crate::tui::msg::Request;

/// Names in a call's input under which backends tell the file, and where in it.
const PATHS: [&str; 6] = ["path", "file_path", "filePath", "notebook_path", "file", "filename"];
const LINES: [&str; 4] = ["line", "offset", "start_line", "line_number"];

/// A row that is seen.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) part: Part<'a>,
    pub(crate) is_selected: bool,
}

#[derive(Debug)]
pub(crate) enum Part<'a> {
    Line(&'a Line),
    /// How much of a card is not seen.
    Folded(&'a Line),
    /// A child, which is drawn as it stands at this moment.
    Child(&'a Delegation),
}

/// The way to another card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Up,
    Down,
}

/// What a click did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Click {
    /// It was selected before.
    Again,
    Selected,
    Nothing,
}

impl Transcript {
    /// Lays out what is about to be seen.
    pub(crate) fn prepare(&mut self, width: u16, height: u16) {
        self.shown = self.frame(width, height.into());
    }

    /// What was laid out, from the top down.
    pub(crate) fn shown(&self) -> impl Iterator<Item = Row<'_>> {
        self.shown.iter().flat_map(|span| self.rows_of(span))
    }

    fn rows_of(&self, span: &Span) -> impl Iterator<Item = Row<'_>> {
        let place = span.unit.place;
        let all = self.layout.rows(span.unit).unwrap_or_default();
        let (child, folded) = match self.entries.get(&place) {
            Some(Entry::Delegation(delegation)) => (Some(&**delegation), None),
            Some(Entry::Tool(_) | Entry::Todo(_) | Entry::Tasks(_)) => {
                (None, card::counting_row(all, self.look.fold(place)))
            }
            Some(
                Entry::Turn(_)
                | Entry::Message(_)
                | Entry::Thought(_)
                | Entry::Setup(_)
                | Entry::Approval(_)
                | Entry::Questions(_)
                | Entry::Failure(_)
                | Entry::Notice(..)
                | Entry::Queued(_),
            )
            | None => (None, None),
        };
        let is_selected = self.selected == Some(place);
        let rows = all.get(span.rows.clone()).unwrap_or_default();
        rows.iter().zip(span.rows.start..).map(move |(line, row)| {
            let part = match child {
                Some(child) => Part::Child(child),
                None if folded == Some(row) => Part::Folded(line),
                None => Part::Line(line),
            };
            Row { part, is_selected }
        })
    }

    /// Scrolls by rows, up when negative, and asks for what comes near.
    pub(crate) fn scroll(&mut self, session: &str, rows: i64, height: u16) -> Vec<Request> {
        self.scroll_by(rows, height.into());
        self.wanted(session)
    }

    /// Looks at the beginning, and asks for all that is older.
    pub(crate) fn rewind(&mut self, session: &str) -> Vec<Request> {
        self.scroll = Scroll::Start;
        self.wanted(session)
    }

    pub(crate) fn follow(&mut self) {
        self.scroll = Scroll::Follow;
        self.selected = None;
    }

    /// Whether the end is looked at, whatever is added.
    pub(crate) fn is_following(&self) -> bool {
        self.scroll == Scroll::Follow
    }

    /// Selects the next card, the first of those that are seen when none is.
    pub(crate) fn select(&mut self, session: &str, way: Way, height: u16) -> Vec<Request> {
        let is_card = |(_, entry): &(&Place, &Entry)| entry.is_card();
        let found = match (way, self.selected) {
            (Way::Down, Some(at)) => {
                let behind = (Bound::Excluded(at), Bound::Unbounded);
                self.entries.range(behind).find(is_card)
            }
            (Way::Up, Some(at)) => self.entries.range(..at).rfind(is_card),
            (Way::Down, None) => {
                self.shown.first().and_then(|span| self.entries.range(span.unit.place..).find(is_card))
            }
            (Way::Up, None) => self.shown.last().and_then(|span| self.entries.range(..=span.unit.place).rfind(is_card)),
        };
        match found.map(|(place, _)| *place) {
            Some(place) => {
                self.hold(height);
                self.selected = Some(place);
                self.reveal(place, height);
                self.wanted(session)
            }
            None if way == Way::Up => self.older(session),
            None => Vec::new(),
        }
    }

    /// Selects the card of a row of what is seen.
    pub(crate) fn click(&mut self, row: usize, height: u16) -> Click {
        let mut above = 0;
        let hit = self.shown.iter().find(|span| {
            above += span.rows.len();
            row < above
        });
        let place = hit.map(|span| span.unit.place);
        let card = place.filter(|place| self.entries.get(place).is_some_and(Entry::is_card));
        let before = std::mem::replace(&mut self.selected, card);
        if card.is_some() {
            self.hold(height);
        }
        match card {
            Some(_) if before == card => Click::Again,
            Some(_) => Click::Selected,
            None => Click::Nothing,
        }
    }

    pub(crate) fn is_selected(&self) -> bool {
        self.selected_entry().is_some()
    }

    /// The child whose row is selected.
    pub(crate) fn child(&self) -> Option<&Delegation> {
        match self.selected_entry() {
            Some(Entry::Delegation(delegation)) => Some(delegation),
            Some(_) | None => None,
        }
    }

    /// The handoff whose result can be used again: that of the selected child, once it is complete.
    pub(crate) fn reusable(&self) -> Option<&str> {
        self.child().filter(|child| child.status == HandoffStatus::Completed).map(|child| &*child.handoff)
    }

    /// Shows all of the selected card, or less.
    pub(crate) fn turn(&mut self) {
        let Some(place) = self.selected else { return };
        if !self.look.turned.remove(&place) {
            self.look.turned.insert(place);
        }
        self.layout.forget(place);
    }

    /// Shows all of every card, or less.
    pub(crate) fn turn_all(&mut self) {
        self.look.fold = match self.look.fold {
            Fold::Folded => Fold::Open,
            Fold::Open => Fold::Folded,
        };
        self.look.turned.clear();
        self.layout.forget_all();
    }

    pub(crate) fn toggle_thoughts(&mut self) -> Thoughts {
        self.look.thoughts = match self.look.thoughts {
            Thoughts::Hidden => Thoughts::Shown,
            Thoughts::Shown => Thoughts::Hidden,
        };
        self.look.thoughts
    }

    /// The selected card as text.
    pub(crate) fn card_text(&self) -> Option<String> {
        match self.selected_entry()? {
            Entry::Tool(tool) => Some(match &tool.end {
                Some((_, output)) if !output.trim().is_empty() => {
                    format!("{}\n{output}", tool.title)
                }
                Some(_) | None => tool.title.to_string(),
            }),
            Entry::Delegation(child) => Some(child.answer.as_deref().unwrap_or(&child.label).to_owned()),
            Entry::Todo(steps) | Entry::Tasks(steps) => {
                Some(steps.iter().map(|step| format!("{} {}\n", step.mark.line().text(), step.text)).collect())
            }
            Entry::Setup(text) => Some(text.to_string()),
            Entry::Turn(_)
            | Entry::Message(_)
            | Entry::Thought(_)
            | Entry::Approval(_)
            | Entry::Questions(_)
            | Entry::Failure(_)
            | Entry::Notice(..)
            | Entry::Queued(_) => None,
        }
    }

    /// What the agent said last.
    pub(crate) fn answer(&self) -> Option<String> {
        self.entries.values().rev().find_map(|entry| match entry {
            Entry::Message(text) => (!text.is_blank()).then(|| text.whole()),
            Entry::Turn(_)
            | Entry::Thought(_)
            | Entry::Tool(_)
            | Entry::Delegation(_)
            | Entry::Todo(_)
            | Entry::Tasks(_)
            | Entry::Setup(_)
            | Entry::Approval(_)
            | Entry::Questions(_)
            | Entry::Failure(_)
            | Entry::Notice(..)
            | Entry::Queued(_) => None,
        })
    }

    /// The file that the selected card is about, and the line; the last one that was worked on when none is selected.
    pub(crate) fn file(&self) -> Option<(String, Option<u32>)> {
        let of = |entry: &Entry| match entry {
            Entry::Tool(tool) => file(tool),
            Entry::Turn(_)
            | Entry::Message(_)
            | Entry::Thought(_)
            | Entry::Delegation(_)
            | Entry::Todo(_)
            | Entry::Tasks(_)
            | Entry::Setup(_)
            | Entry::Approval(_)
            | Entry::Questions(_)
            | Entry::Failure(_)
            | Entry::Notice(..)
            | Entry::Queued(_) => None,
        };
        match self.selected_entry() {
            Some(entry) => of(entry),
            None => self.entries.values().rev().find_map(of),
        }
    }

    fn selected_entry(&self) -> Option<&Entry> {
        self.selected.and_then(|place| self.entries.get(&place))
    }

    /// Scrolls as little as needed to see the beginning of an entry.
    pub(super) fn reveal(&mut self, place: Place, height: u16) {
        let is_seen =
            self.shown.iter().any(|span| span.unit.place == place && span.unit.index == 0 && span.rows.start == 0);
        if !is_seen {
            self.show_at_top((Unit { place, index: 0 }, 0), height.into());
            self.shown = self.frame(self.layout.width, height.into());
        }
    }
}

fn file(tool: &Tool) -> Option<(String, Option<u32>)> {
    let input: serde_json::Value = serde_json::from_str(tool.input.as_deref()?).ok()?;
    // Some backends tell several changes at once; the first is as good as any.
    let input = match input.get("changes").and_then(|changes| changes.get(0)) {
        Some(change) => change,
        None => &input,
    };
    let path = PATHS.iter().find_map(|name| input.get(name)?.as_str())?;
    let line = LINES.iter().find_map(|name| input.get(name)?.as_u64());
    Some((path.to_owned(), line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0)))
}
