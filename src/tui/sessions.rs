//! All sessions of the repository: the ones that need the person first, and a look at the one under the cursor.
//!
//! The order is made when sessions change, lines only for the rows that are seen.

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use self::order::{Choice, Resting, Row, Shape};
use self::sift::{Filter, Stage};
use super::act::Step;
use super::keymap::Context;
use super::model::{Model, View};
use super::msg::Request;
use super::world::World;
use super::{decide, notice, welcome};
use crate::api::session::WaitingFor;

mod order;
mod pane;
mod preview;
mod row;
mod sift;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use pane::{Hit, hit, prepare, scroll_list, scroll_preview, view};
pub(crate) use words::changes;

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The session under the cursor; it stays there wherever its row goes.
    cursor: Option<String>,
    rows: Vec<Row>,
    shape: Shape,
    resting: Resting,
    folded: HashSet<String>,
    /// Gets the cursor as soon as it is listed.
    expected: Option<String>,
    filter: Option<Filter>,
    pane: pane::State,
    /// What is seen where there are no sessions.
    pub(super) welcome: welcome::State,
}

impl State {
    pub(crate) fn context(&self) -> Context {
        match &self.filter {
            Some(Filter { stage: Stage::Typed, .. }) => Context::Filter,
            Some(Filter { stage: Stage::Kept, .. }) | None => Context::Sessions,
        }
    }

    /// The id of the session under the cursor.
    pub(crate) fn selected(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    fn has(&self, id: &str) -> bool {
        self.rows.iter().any(|row| row.id() == Some(id))
    }

    /// The row of the cursor.
    fn index(&self) -> Option<usize> {
        self.rows.iter().position(|row| row.id().is_some() && row.id() == self.selected())
    }

    /// The session row nearest to this one, those below first.
    fn nearest(&self, index: usize) -> Option<&str> {
        let index = index.min(self.rows.len());
        let below = self.rows[index..].iter().find_map(Row::id);
        below.or_else(|| self.rows[..index].iter().rev().find_map(Row::id))
    }
}

/// Decides what waits, or goes into the session.
pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    if welcome::is_shown(model) {
        return welcome::choose(model);
    }
    let Some(session) = model.current() else { return Vec::new() };
    match session.waiting_for {
        Some(WaitingFor::Approval | WaitingFor::Answer) => decide::open(model),
        Some(WaitingFor::Children) | None => {
            let id = session.id.clone();
            model.open_session(&id)
        }
    }
}

pub(crate) fn filter(model: &mut Model) -> Vec<Request> {
    if welcome::is_shown(model) {
        return Vec::new();
    }
    let from = model.sessions.cursor.clone();
    let filter = model.sessions.filter.get_or_insert_with(|| Filter { from, ..Filter::default() });
    filter.stage = Stage::Typed;
    settle(model)
}

/// Ends the typing; what it found stays.
pub(crate) fn keep_filter(model: &mut Model) -> Vec<Request> {
    match &mut model.sessions.filter {
        Some(filter) if !filter.text.is_empty() => filter.stage = Stage::Kept,
        Some(_) | None => model.sessions.filter = None,
    }
    settle(model)
}

pub(crate) fn clear_filter(model: &mut Model) -> Vec<Request> {
    if let Some(Filter { from: Some(from), .. }) = model.sessions.filter.take()
        && model.sessions.cursor.is_none()
    {
        model.sessions.cursor = Some(from);
    }
    settle(model)
}

pub(crate) fn toggle_tree(model: &mut Model) -> Vec<Request> {
    model.sessions.shape = match model.sessions.shape {
        Shape::Tree => Shape::Flat,
        Shape::Flat => Shape::Tree,
    };
    settle(model)
}

pub(crate) fn toggle_resting(model: &mut Model) -> Vec<Request> {
    model.sessions.resting = match model.sessions.resting {
        Resting::Hidden => Resting::Shown,
        Resting::Shown => Resting::Hidden,
    };
    settle_keeping(model, None)
}

/// Goes to the next session that waits for the person, around and around.
pub(crate) fn next_need(model: &mut Model) -> Vec<Request> {
    let needs = order::needs(&model.world.sessions);
    let here = model.current_id().and_then(|id| needs.iter().position(|need| *need == id));
    let Some(next) = needs.get(here.map_or(0, |here| (here + 1) % needs.len())).map(|id| (*id).to_owned()) else {
        return notice::say(model, "nothing needs you".to_owned());
    };
    let mut requests = reveal(model, &next);
    match model.view {
        View::Sessions => {}
        View::Session(_) | View::Review(_) | View::Settings => requests.extend(model.open_session(&next)),
    }
    requests
}

/// Puts the cursor on a session, and takes the filter away where it would hide it.
pub(crate) fn reveal(model: &mut Model, id: &str) -> Vec<Request> {
    let mut requests = Vec::new();
    if !model.sessions.has(id) {
        requests.extend(clear_filter(model));
    }
    requests.extend(select(model, id));
    requests
}

/// Puts the cursor on the session that was open, or on the nearest one above it that is listed.
pub(crate) fn come_from(model: &mut Model, id: &str) -> Vec<Request> {
    let mut requests = Vec::new();
    let is_known = model.world.sessions.contains_key(id);
    if is_known && !model.sessions.has(id) {
        requests.extend(clear_filter(model));
    }
    let above = |id: &String| model.world.sessions.get(id)?.parent.clone();
    // No chain is longer than there are sessions; one that is goes around.
    let mut chain = std::iter::successors(Some(id.to_owned()), above).take(model.world.sessions.len());
    let listed = chain.find(|id| model.sessions.has(id));
    requests.extend(listed.map(|id| select(model, &id)).unwrap_or_default());
    requests
}

/// Puts the cursor on the row of a session.
pub(crate) fn select(model: &mut Model, id: &str) -> Vec<Request> {
    model.sessions.pane.follow();
    model.sessions.expected = None;
    if model.sessions.selected() == Some(id) {
        return Vec::new();
    }
    model.sessions.pane.forget_preview();
    let left = model.sessions.cursor.replace(id.to_owned());
    let mut requests = model.transcripts.need(id);
    // A row that rests was there only as long as the cursor stood on it.
    let rests = left.and_then(|left| model.world.sessions.get(&left)).is_some_and(order::is_resting);
    if rests && model.sessions.resting == Resting::Hidden {
        requests.extend(settle(model));
    }
    requests
}

/// Puts the cursor on a session that is about to be listed, unless it is moved before.
pub(crate) fn expect(model: &mut Model, id: &str) {
    model.sessions.expected = Some(id.to_owned());
}

/// Makes the list fit to the sessions as they are. What comes to rest under the cursor stays in sight until the cursor
/// leaves it: it is what the next key is about.
pub(crate) fn settle(model: &mut Model) -> Vec<Request> {
    let kept = model.sessions.cursor.clone().filter(|id| model.sessions.has(id));
    settle_keeping(model, kept)
}

fn settle_keeping(model: &mut Model, kept: Option<String>) -> Vec<Request> {
    let Model { sessions: state, world, transcripts, .. } = model;
    let text = state.filter.as_ref().map(|filter| filter.text.as_str()).filter(|text| !text.trim().is_empty());
    let matching = text.map(|text| sift::matching(&world.sessions, text));
    let (shape, resting) = (state.shape, state.resting);
    let choice = Choice { shape, resting, folded: &state.folded, kept: kept.as_deref(), matching: matching.as_ref() };
    let rows = order::rows(&world.sessions, &choice);
    let before = state.index();
    state.rows = rows;
    if let Some(expected) = state.expected.clone().filter(|id| state.has(id)) {
        return select(model, &expected);
    }
    if let Some(after) = state.index() {
        state.pane.moved(before.unwrap_or(after), after);
        return Vec::new();
    }
    let from = state.filter.as_ref().and_then(|filter| filter.from.clone()).filter(|from| state.has(from));
    // A child that goes is found again at its parent: the row that moves up to its place is about something else.
    let parent = |id: &String| world.sessions.get(id)?.parent.clone();
    let mut above = std::iter::successors(state.cursor.clone(), parent).skip(1).take(world.sessions.len());
    let above = above.find(|id| state.has(id));
    state.cursor = from.or(above).or_else(|| state.nearest(before.unwrap_or(0)).map(str::to_owned));
    state.pane.forget_preview();
    state.cursor.as_deref().map_or_else(Vec::new, |id| transcripts.need(id))
}

pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    let Some(Filter { text, stage: Stage::Typed, .. }) = &mut model.sessions.filter else {
        return welcome::typed(model, key);
    };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('u') if is_control => text.clear(),
        KeyCode::Char('w') if is_control => {
            let kept = text.trim_end().rfind(' ').map_or(0, |space| space + 1);
            text.truncate(kept);
        }
        KeyCode::Char(letter) if !is_control => text.push(letter),
        KeyCode::Backspace => {
            text.pop();
        }
        KeyCode::Up => return step(model, Step::Up),
        KeyCode::Down => return step(model, Step::Down),
        _ => return Vec::new(),
    }
    settle(model)
}

pub(crate) fn pasted(model: &mut Model, text: &str) -> Vec<Request> {
    if let Some(filter) = &mut model.sessions.filter {
        filter.text.extend(text.chars().filter(|letter| !letter.is_control()));
    }
    settle(model)
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    if welcome::is_shown(model) {
        return welcome::step(model, step);
    }
    let state = &model.sessions;
    let Some(index) = state.index() else { return Vec::new() };
    let page = state.pane.page();
    let above = |index: usize| state.rows[..index].iter().rev().find_map(Row::id);
    let below = |index: usize| state.rows[index + 1..].iter().find_map(Row::id);
    let target = match step {
        Step::Up => above(index),
        Step::Down => below(index),
        Step::PageUp => state.nearest(index.saturating_sub(page)),
        Step::PageDown => state.nearest((index + page).min(state.rows.len() - 1)),
        Step::Top => state.nearest(0),
        Step::Bottom => above(state.rows.len()),
        Step::Left => return fold(model, index),
        Step::Right => return unfold(model, index),
    };
    match target.map(str::to_owned) {
        Some(id) => select(model, &id),
        None => Vec::new(),
    }
}

/// Folds the children of the row, or goes to its parent where there are none to fold.
fn fold(model: &mut Model, index: usize) -> Vec<Request> {
    let Row::Session(place) = &model.sessions.rows[index] else { return Vec::new() };
    let (id, depth) = (place.id.clone(), place.branches.len());
    if depth_at(model, index + 1) > depth && model.sessions.folded.insert(id) {
        return settle(model);
    }
    let rows = &model.sessions.rows[..index];
    let parent = rows.iter().rev().find_map(|row| match row {
        Row::Session(place) if place.branches.len() < depth => Some(place.id.clone()),
        Row::Session(_) | Row::Heading(_) => None,
    });
    parent.map_or_else(Vec::new, |parent| select(model, &parent))
}

/// Unfolds the children of the row, or goes into the session, whatever it waits for.
fn unfold(model: &mut Model, index: usize) -> Vec<Request> {
    let Row::Session(place) = &model.sessions.rows[index] else { return Vec::new() };
    let id = place.id.clone();
    match model.sessions.folded.remove(&id) {
        true => settle(model),
        false => model.open_session(&id),
    }
}

/// How deep the session of a row stands; 0 for roots, headings and rows that are not there.
fn depth_at(model: &Model, index: usize) -> usize {
    match model.sessions.rows.get(index) {
        Some(Row::Session(place)) => place.branches.len(),
        Some(Row::Heading(_)) | None => 0,
    }
}

/// How many things wait for the person: as many as the inbox lists of this repository.
pub(crate) fn waiting(world: &World) -> usize {
    world.sessions.values().map(|session| session.needs as usize).sum()
}
