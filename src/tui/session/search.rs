//! The search of a transcript: a row in which it is typed, the matches, the way from one to the next.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use super::{moved, shown};
use crate::look::line::{Line, Tone, one_line};
use crate::look::status::count;
use crate::tui::model::Model;
use crate::tui::msg::Request;
use crate::tui::transcript::{Hits, Needle, Way};

#[derive(Debug, Default)]
pub(super) struct Search {
    text: String,
    stage: Stage,
    hits: Option<Hits>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Typed,
    Kept,
}

impl Search {
    pub(super) fn is_typed(&self) -> bool {
        self.stage == Stage::Typed
    }

    pub(super) fn needle(&self) -> Option<Needle> {
        Needle::new(&self.text)
    }

    /// The row at the foot of the transcript.
    pub(super) fn line(&self) -> Line {
        let cursor = if self.is_typed() { "█" } else { "" };
        let found = match self.hits {
            Some(Hits { count: 0, is_partial: false }) => "nothing".to_owned(),
            Some(Hits { count: found, is_partial: false }) => count(found, "place"),
            Some(Hits { count: found, is_partial: true }) => format!("{} so far", count(found, "place")),
            None => String::new(),
        };
        Line::toned(Tone::Accent, " search: ").plain(one_line(&self.text)).plain(cursor).dim(format!("  {found}"))
    }
}

pub(crate) fn search(model: &mut Model) -> Vec<Request> {
    model.session.search = Some(Search::default());
    Vec::new()
}

/// Keeps what was typed and shows the last match above what is seen.
pub(crate) fn keep_search(model: &mut Model) -> Vec<Request> {
    let Some(search) = model.session.search.as_mut().filter(|search| !search.text.is_empty()) else {
        leave_search(model);
        return Vec::new();
    };
    search.stage = Stage::Kept;
    next(model, Way::Up)
}

pub(crate) fn leave_search(model: &mut Model) {
    model.session.search = None;
    if let Some(transcript) = shown(model) {
        transcript.forget_hit();
    }
}

pub(crate) fn next_match(model: &mut Model) -> Vec<Request> {
    next(model, Way::Down)
}

pub(crate) fn previous_match(model: &mut Model) -> Vec<Request> {
    next(model, Way::Up)
}

pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    let Some(search) = &mut model.session.search else { return Vec::new() };
    let is_chord = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Char('u') if is_chord => search.text.clear(),
        KeyCode::Char(letter) if !is_chord => search.text.push(letter),
        KeyCode::Backspace => {
            let end = search.text.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
            search.text.truncate(end);
        }
        _ => return Vec::new(),
    }
    look(model);
    Vec::new()
}

pub(crate) fn pasted(model: &mut Model, text: &str) -> Vec<Request> {
    if let Some(search) = &mut model.session.search {
        search.text.push_str(&one_line(text));
    }
    look(model);
    Vec::new()
}

fn next(model: &mut Model, way: Way) -> Vec<Request> {
    let Some(needle) = model.session.search.as_ref().and_then(Search::needle) else { return Vec::new() };
    look(model);
    moved(model, |transcript, session, height| transcript.next_hit(session, &needle, way, height))
}

/// Counts what is there.
fn look(model: &mut Model) {
    let needle = model.session.search.as_ref().and_then(Search::needle);
    let hits = needle.and_then(|needle| shown(model).map(|transcript| transcript.hits(&needle)));
    if let Some(search) = &mut model.session.search {
        search.hits = hits;
    }
}
