//! The changes of a session: files, lines, comments, and how far the person is with them.
//!
//! Marks and comments are kept by the daemon, so that every face sees the same.

mod comment;
mod item;
mod paint;
mod patch;
mod piece;
mod row;
mod screen;
mod state;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::act::Step;
use super::keymap::{Action, Context};
use super::model::{Focus, Model, View};
use super::msg::{Request, ReviewAct};
use super::{bar, notice};
use crate::api::event::{Event, Payload};
use crate::api::review::Review;
use crate::api::session::Diff;
use crate::look::status::count;
use comment::{Target, Writing};
use item::{Item, Layout};
use patch::Fate;
use screen::Hit;
use state::{Pane, Reading, Way};

pub(crate) use comment::Unsaved;
pub(crate) use state::State;

impl State {
    pub(crate) fn context(&self) -> Context {
        if self.writing.is_some() { Context::Comment } else { Context::Diff }
    }

    fn asked(&self) -> Vec<Request> {
        vec![
            Request::Diff { session: self.session.clone(), turn: self.turn },
            Request::Review(ReviewAct::Read { session: self.session.clone() }),
        ]
    }
}

/// The changed files of a patch, each with what names its part of it: a file counts as looked at while that is the same.
pub(crate) fn digests(patch: &str) -> Vec<(String, String)> {
    patch::read(patch).into_iter().map(|file| (file.path, file.digest)).collect()
}

/// Shows the changes of the session in hand; what was looked at last is where it was.
pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    match model.current_id().map(str::to_owned) {
        Some(id) => open_session(model, id),
        None => notice::say(model, "no session is selected".to_owned()),
    }
}

/// Shows everything that a session changed.
pub(crate) fn open_whole(model: &mut Model, id: String) -> Vec<Request> {
    if model.review.turn.is_some() {
        (model.review.turn, model.review.reading) = (None, Reading::Asked);
    }
    open_session(model, id)
}

fn open_session(model: &mut Model, id: String) -> Vec<Request> {
    if model.review.session != id {
        leave_comment(model);
        let State { unkept, layout, .. } = std::mem::take(&mut model.review);
        model.review = State { unkept, layout, ..State::of(&id) };
    }
    model.view = View::Review(id);
    model.focus = Focus::Main;
    model.review.asked()
}

/// Reads the changes again, where they are looked at.
pub(crate) fn renew(model: &mut Model) -> Vec<Request> {
    match model.view {
        View::Review(_) => model.review.asked(),
        View::Sessions | View::Session(_) | View::Settings => Vec::new(),
    }
}

/// Reads the open changes again after events that change the worktree or send the comments, and when a turn ends: only from
/// then on does showing them count as a review.
pub(crate) fn of_fact(model: &mut Model, event: &Event) -> Vec<Request> {
    let is_shown = matches!(&model.view, View::Review(id) if *id == event.session);
    let changes = matches!(
        event.payload,
        Payload::PromptQueued { .. }
            | Payload::Checkpoint { .. }
            | Payload::TurnCompleted { .. }
            | Payload::TurnFailed { .. }
            | Payload::TurnInterrupted { .. }
            | Payload::Undone { .. }
            | Payload::Integrated { .. }
            | Payload::Conflict { .. }
            | Payload::Detached { .. }
    );
    if is_shown && changes { model.review.asked() } else { Vec::new() }
}

pub(crate) fn diff_came(model: &mut Model, session: &str, turn: Option<u32>, diff: Diff) -> Vec<Request> {
    let state = &mut model.review;
    // What was asked for before the person went on is of no use.
    if state.session == session && state.turn == turn {
        state.take(patch::read(&diff.patch));
    }
    Vec::new()
}

pub(crate) fn review_came(model: &mut Model, session: &str, review: Review) -> Vec<Request> {
    let state = &mut model.review;
    state.unkept.settle(session, &review);
    if state.session == session {
        state.review = review;
        state.built = None;
    }
    Vec::new()
}

/// A model prepared the review: its findings are drafts now.
pub(crate) fn prepared_came(model: &mut Model, session: &str, review: Review) -> Vec<Request> {
    let prepared = review.prepared.clone();
    let mut requests = review_came(model, session, review);
    let Some(prepared) = prepared else { return requests };
    let words = if prepared.text.is_empty() { "" } else { "; `/prepared` shows what is said besides" };
    let found = count(prepared.findings as usize, "suggested comment");
    requests.extend(notice::say(model, format!("the review of {session} is prepared: {found}{words}")));
    requests
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let state = settled(model);
    let (at, count) = match state.pane {
        Pane::Files => (state.file, state.files.len()),
        Pane::Lines => (state.cursor, state.items.len()),
    };
    // A page keeps one row of what was seen.
    let page = state.page.saturating_sub(1).max(1);
    let inside = match (state.pane, step) {
        (Pane::Lines, Step::Up) => state.scroll(Way::Back, 1),
        (Pane::Lines, Step::Down) => state.scroll(Way::Forward, 1),
        (Pane::Lines, Step::PageUp) => state.scroll(Way::Back, page),
        (Pane::Lines, Step::PageDown) => state.scroll(Way::Forward, page),
        (Pane::Lines, Step::Top | Step::Bottom | Step::Left | Step::Right) | (Pane::Files, _) => false,
    };
    if inside {
        return Vec::new();
    }
    let to = match step {
        Step::Up => at.saturating_sub(1),
        Step::Down => at + 1,
        Step::PageUp => at.saturating_sub(page),
        Step::PageDown => at + page,
        Step::Top => 0,
        Step::Bottom => count,
        Step::Left => {
            state.pane = Pane::Files;
            at
        }
        Step::Right => {
            state.pane = Pane::Lines;
            return Vec::new();
        }
    };
    let to = to.min(count.saturating_sub(1));
    match state.pane {
        Pane::Files if step != Step::Left && to != state.file => state.show(to),
        Pane::Files => {}
        Pane::Lines => state.cursor = to,
    }
    Vec::new()
}

/// A click selects a file or a line; on the line in hand it begins a comment.
pub(crate) fn clicked(model: &mut Model, area: Rect, at: Position) -> Vec<Request> {
    let state = &mut model.review;
    if state.writing.is_some() {
        return Vec::new();
    }
    match screen::hit(state, area, at) {
        Some(Hit::File(file)) => {
            state.pane = Pane::Files;
            if file != state.file {
                state.show(file);
            }
        }
        Some(Hit::Item(item)) if state.pane == Pane::Lines && item == state.cursor => return comment(model),
        Some(Hit::Item(item)) => (state.pane, state.cursor) = (Pane::Lines, item),
        None => {}
    }
    Vec::new()
}

/// Shows a long line to its end, or its beginning again.
pub(crate) fn expand(model: &mut Model) -> Vec<Request> {
    match settled(model).unfold() {
        true => Vec::new(),
        false => notice::say(model, "the line is shown to its end".to_owned()),
    }
}

pub(crate) fn next_file(model: &mut Model) -> Vec<Request> {
    let state = &mut model.review;
    if state.file + 1 < state.files.len() {
        state.show(state.file + 1);
    }
    Vec::new()
}

pub(crate) fn previous_file(model: &mut Model) -> Vec<Request> {
    let state = &mut model.review;
    if state.file > 0 {
        state.show(state.file - 1);
    }
    Vec::new()
}

/// The next change, in the next file where this one has no more.
pub(crate) fn next_hunk(model: &mut Model) -> Vec<Request> {
    let state = settled(model);
    state.pane = Pane::Lines;
    match state.change(Way::Forward) {
        Some(at) => state.cursor = at,
        None => return next_file(model),
    }
    Vec::new()
}

pub(crate) fn previous_hunk(model: &mut Model) -> Vec<Request> {
    let state = settled(model);
    state.pane = Pane::Lines;
    if let Some(at) = state.change(Way::Back) {
        state.cursor = at;
    } else if state.file > 0 {
        state.show(state.file - 1);
        let state = settled(model);
        state.cursor = state.items.len();
        state.cursor = state.change(Way::Back).unwrap_or_default();
    }
    Vec::new()
}

pub(crate) fn switch_layout(model: &mut Model) -> Vec<Request> {
    if screen::layout(Layout::Split, model.size.width) == Layout::Unified {
        return notice::say(model, "side by side needs a wider screen".to_owned());
    }
    let state = &mut model.review;
    state.layout = match state.layout {
        Layout::Unified => Layout::Split,
        Layout::Split => Layout::Unified,
    };
    Vec::new()
}

/// From all turns to the last one, then back.
pub(crate) fn earlier_turn(model: &mut Model) -> Vec<Request> {
    let last = turns(model);
    match model.review.turn {
        None if last == 0 => Vec::new(),
        None => show_turn(model, Some(last)),
        Some(turn) if turn > 1 => show_turn(model, Some(turn - 1)),
        Some(_) => Vec::new(),
    }
}

/// Behind the last turn are all of them together.
pub(crate) fn later_turn(model: &mut Model) -> Vec<Request> {
    let last = turns(model);
    match model.review.turn {
        None => Vec::new(),
        Some(turn) if turn < last => show_turn(model, Some(turn + 1)),
        Some(_) => show_turn(model, None),
    }
}

fn turns(model: &Model) -> u32 {
    model.world.sessions.get(&model.review.session).map_or(0, |session| session.turns)
}

fn show_turn(model: &mut Model, turn: Option<u32>) -> Vec<Request> {
    let state = &mut model.review;
    (state.turn, state.reading) = (turn, Reading::Asked);
    vec![Request::Diff { session: state.session.clone(), turn }]
}

/// Begins a comment on the line, or goes on with the draft under the cursor; from the list, goes into the file.
pub(crate) fn comment(model: &mut Model) -> Vec<Request> {
    let state = settled(model);
    if state.pane == Pane::Files {
        state.pane = Pane::Lines;
        return Vec::new();
    }
    let (target, text) = match state.item() {
        Some(Item::Comment(id)) => match state.comment() {
            Some(comment) if comment.sent_at.is_none() => (Some(Target::Comment(*id)), comment.text.clone()),
            Some(_) | None => return notice::say(model, "the agent has this comment already".to_owned()),
        },
        Some(Item::Folded { .. }) => return expand(model),
        Some(_) | None => (state.target(), String::new()),
    };
    let Some(target) = target else {
        return notice::say(model, "comments stand on lines of the file".to_owned());
    };
    let unkept = state.unkept.take(&state.session, &target);
    state.writing = Some(unkept.unwrap_or_else(|| Writing::new(target, &text)));
    Vec::new()
}

pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    if let Some(writing) = &mut model.review.writing {
        writing.typed(key);
    }
    vec![Request::Save]
}

pub(crate) fn pasted(model: &mut Model, text: &str) -> Vec<Request> {
    if let Some(writing) = &mut model.review.writing {
        writing.paste(text);
    }
    vec![Request::Save]
}

pub(crate) fn newline(model: &mut Model) -> Vec<Request> {
    if let Some(writing) = &mut model.review.writing {
        writing.newline();
    }
    Vec::new()
}

/// The words that the daemon does not have, those in the box included, by their places.
pub(crate) fn unsaved(model: &Model) -> BTreeMap<String, Unsaved> {
    let state = &model.review;
    let mut unsaved = state.unkept.unsaved();
    let written = state.writing.iter().map(|writing| Unsaved::of(&state.session, writing));
    unsaved.extend(written.filter(|unsaved| !unsaved.is_blank()).map(|unsaved| (unsaved.place(), unsaved)));
    unsaved
}

/// Brings words back; they are there when a comment is begun in their place.
pub(crate) fn restore(model: &mut Model, comments: &BTreeMap<String, Unsaved>) {
    comments.values().for_each(|unsaved| model.review.unkept.restore(unsaved));
}

/// Lets go of words that another face is done with.
pub(crate) fn forget(model: &mut Model, places: &BTreeSet<String>) {
    model.review.unkept.forget(places);
}

/// Hands the comment to the daemon; the words are held until it is among the comments.
pub(crate) fn keep_comment(model: &mut Model) -> Vec<Request> {
    let state = &mut model.review;
    let Some(writing) = state.writing.take() else { return Vec::new() };
    let act = writing.act(&state.session);
    state.unkept.put(&state.session, writing);
    act.map(Request::Review).into_iter().collect()
}

/// Closes the box; the words are there when it is opened on the same line again.
pub(crate) fn leave_comment(model: &mut Model) {
    let state = &mut model.review;
    if let Some(writing) = state.writing.take() {
        state.unkept.put(&state.session, writing);
    }
}

pub(crate) fn drop_comment(model: &mut Model) -> Vec<Request> {
    let state = settled(model);
    match state.comment().map(|comment| comment.id) {
        Some(comment) => vec![Request::Review(ReviewAct::Drop { session: state.session.clone(), comment })],
        None => notice::say(model, "no comment is here".to_owned()),
    }
}

/// All drafts go to the agent as one prompt.
pub(crate) fn send(model: &mut Model) -> Vec<Request> {
    match model.review.drafts() {
        0 => notice::say(model, "there is no comment to send".to_owned()),
        _ => vec![Request::Review(ReviewAct::Send { session: model.review.session.clone() })],
    }
}

/// Marks the file as looked at and goes on to the next that is not, or takes the mark away.
pub(crate) fn mark(model: &mut Model) -> Vec<Request> {
    let state = &mut model.review;
    if state.turn.is_some() {
        // The mark is about all changes to the file, and those are not on the screen.
        return notice::say(model, "files are marked where all turns are shown".to_owned());
    }
    let Some((path, digest)) = state.toggle_mark() else { return Vec::new() };
    if let (Some(next), true) = (state.next_unseen(), digest.is_some()) {
        state.show(next);
    }
    vec![Request::Review(ReviewAct::Mark { session: state.session.clone(), path, digest })]
}

/// Opens the file at the line.
pub(crate) fn edit(model: &mut Model) -> Vec<Request> {
    let state = settled(model);
    match state.file() {
        Some(file) if file.fate == Fate::Deleted => notice::say(model, "the file is deleted".to_owned()),
        Some(file) => {
            vec![Request::Edit { session: state.session.clone(), path: file.path.clone(), line: state.place() }]
        }
        None => Vec::new(),
    }
}

/// Copies the line or the comment under the cursor, a whole hunk from its head, the name of a file from the list.
pub(crate) fn copy(model: &mut Model) -> Vec<Request> {
    let state = settled(model);
    let Some(file) = state.file() else { return Vec::new() };
    let text = match (state.pane, state.item()) {
        (Pane::Files, _) | (Pane::Lines, Some(Item::Note(_)) | None) => file.path.clone(),
        (Pane::Lines, Some(Item::Hunk(hunk))) => file.hunks[*hunk].written(),
        (Pane::Lines, Some(Item::Comment(_))) => {
            state.comment().map(|comment| comment.text.clone()).unwrap_or_default()
        }
        (
            Pane::Lines,
            Some(item @ (Item::Line { .. } | Item::Beside { .. } | Item::Folded { .. } | Item::Piece { .. })),
        ) => item.line().map(|(hunk, line)| file.hunks[hunk].lines[line].text.clone()).unwrap_or_default(),
    };
    vec![Request::Copy(text)]
}

/// The state with the items that its screen shows.
fn settled(model: &mut Model) -> &mut State {
    let layout = screen::layout(model.review.layout, model.size.width);
    model.review.settle(layout);
    &mut model.review
}

pub(crate) fn prepare(model: &mut Model, area: Rect) {
    let unfold = bar::key(model, Context::Diff, Action::Expand).unwrap_or_default();
    screen::prepare(&mut model.review, area, &unfold);
}

pub(crate) fn view(model: &Model, frame: &mut Frame, area: Rect) {
    screen::view(model, frame, area);
}
