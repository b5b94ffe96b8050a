//! One session: its transcript, its cards, its state.

mod child;
mod header;
mod panel;
mod search;
#[cfg(test)]
mod tests;
mod view;

use ratatui::layout::Rect;

use super::act::Step;
use super::keymap::{Action, Context};
use super::model::{Model, View};
use super::msg::Request;
use super::transcript::{Click, Transcript, Way};
use super::{bar, composer, decide, notice, sessions, update};
use crate::api::session::WaitingFor;

pub(crate) use search::{keep_search, leave_search, next_match, pasted, previous_match, search, typed};
pub(crate) use view::{prepare, view};

#[derive(Debug, Default)]
pub(crate) struct State {
    search: Option<search::Search>,
    panel: panel::Panel,
    /// Where the transcript was seen last, and how far it can be moved at once.
    body: Rect,
}

impl State {
    pub(crate) fn context(&self) -> Context {
        match &self.search {
            Some(search) if search.is_typed() => Context::Search,
            Some(_) | None => Context::Session,
        }
    }
}

/// Goes into the selected child, opens the selected card, or decides what waits.
pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    let Some(transcript) = shown(model) else { return Vec::new() };
    if let Some(child) = transcript.child().map(|child| child.child.to_string()) {
        return match model.world.sessions.contains_key(&child) {
            true => model.open_session(&child),
            false => notice::say(model, format!("session `{child}` is not there any more")),
        };
    }
    if transcript.is_selected() {
        transcript.turn();
        return Vec::new();
    }
    match model.current().and_then(|session| session.waiting_for) {
        Some(WaitingFor::Approval | WaitingFor::Answer) => decide::open(model),
        Some(WaitingFor::Children) | None => match bar::key(model, Context::Session, Action::PreviousCard) {
            Some(key) => notice::say(model, format!("nothing is selected: {key} selects a card")),
            None => Vec::new(),
        },
    }
}

/// The session above, or the list.
pub(crate) fn parent(model: &mut Model) -> Vec<Request> {
    let parent = model.current().and_then(|session| session.parent.clone());
    match (&model.view, parent) {
        (View::Session(_), Some(parent)) if model.world.sessions.contains_key(&parent) => model.open_session(&parent),
        (View::Session(_), _) => to_list(model),
        (View::Sessions | View::Review(_) | View::Settings, _) => update::back(model),
    }
}

/// Leaves the matches of a search, or the session.
pub(crate) fn leave(model: &mut Model) -> Vec<Request> {
    match model.session.search {
        Some(_) => leave_search(model),
        None => return to_list(model),
    }
    Vec::new()
}

/// To the list, where the session that was open stands under the cursor.
fn to_list(model: &mut Model) -> Vec<Request> {
    let open = model.current_id().map(str::to_owned);
    let mut requests = update::show(model, View::Sessions);
    requests.extend(open.map(|id| sessions::come_from(model, &id)).unwrap_or_default());
    requests
}

/// Opens the file that the selected card is about.
pub(crate) fn edit(model: &mut Model) -> Vec<Request> {
    let (file, is_selected) = match shown(model) {
        Some(transcript) => (transcript.file(), transcript.is_selected()),
        None => (None, false),
    };
    match (file, model.current_id().map(str::to_owned)) {
        (Some((path, line)), Some(session)) => vec![Request::Edit { session, path, line }],
        (_, _) if is_selected => notice::say(model, "this card names no file".to_owned()),
        (_, _) => notice::say(model, "no card here names a file".to_owned()),
    }
}

/// Copies the selected card, or what the agent said last.
pub(crate) fn copy(model: &mut Model) -> Vec<Request> {
    let text = shown(model).and_then(|transcript| transcript.card_text().or_else(|| transcript.answer()));
    match text {
        Some(text) => vec![Request::Copy(text)],
        None => notice::say(model, "there is nothing to copy".to_owned()),
    }
}

/// Takes back the prompt that would be sent last; its words are written again.
pub(crate) fn drop_queued(model: &mut Model) -> Vec<Request> {
    let last = shown(model).and_then(|transcript| {
        let number = transcript.waiting().pop()?;
        Some((number, transcript.prompt(number).unwrap_or_default().to_owned()))
    });
    match (last, model.current_id().map(str::to_owned)) {
        (Some((number, text)), Some(session)) => composer::recall(model, session, number, text),
        (_, _) => notice::say(model, "no prompt waits".to_owned()),
    }
}

pub(crate) fn next_card(model: &mut Model) -> Vec<Request> {
    moved(model, |transcript, session, height| transcript.select(session, Way::Down, height))
}

pub(crate) fn previous_card(model: &mut Model) -> Vec<Request> {
    moved(model, |transcript, session, height| transcript.select(session, Way::Up, height))
}

/// Shows all of the selected card, or less; of the last one that is seen when none is selected.
pub(crate) fn expand(model: &mut Model) -> Vec<Request> {
    moved(model, |transcript, session, height| {
        let requests = match transcript.is_selected() {
            true => Vec::new(),
            false => transcript.select(session, Way::Up, height),
        };
        transcript.turn();
        requests
    })
}

pub(crate) fn expand_all(model: &mut Model) -> Vec<Request> {
    if let Some(transcript) = shown(model) {
        transcript.turn_all();
    }
    Vec::new()
}

/// Sends the result of the selected child with the next prompt; without one it goes on with the session, as in the list.
pub(crate) fn reuse(model: &mut Model) -> Vec<Request> {
    match shown(model).and_then(|transcript| transcript.reusable().map(str::to_owned)) {
        Some(handoff) => composer::with_handoff(model, handoff),
        None => composer::resume(model),
    }
}

pub(crate) fn toggle_thoughts(model: &mut Model) -> Vec<Request> {
    if let Some(transcript) = shown(model) {
        transcript.toggle_thoughts();
    }
    Vec::new()
}

pub(crate) fn toggle_summary(model: &mut Model) -> Vec<Request> {
    model.session.panel.toggle();
    Vec::new()
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let page = i32::from(model.session.body.height.saturating_sub(2).max(1));
    match step {
        Step::Up => scroll(model, -1),
        Step::Down => scroll(model, 1),
        Step::PageUp => scroll(model, -page),
        Step::PageDown => scroll(model, page),
        Step::Top => moved(model, |transcript, session, _| transcript.rewind(session)),
        Step::Bottom => moved(model, |transcript, _, _| {
            transcript.follow();
            Vec::new()
        }),
        Step::Left | Step::Right => Vec::new(),
    }
}

/// Moves what is seen of the open transcript by so many rows, up when negative.
pub(crate) fn scroll(model: &mut Model, rows: i32) -> Vec<Request> {
    moved(model, |transcript, session, height| transcript.scroll(session, rows.into(), height))
}

/// Selects the card in a row of the screen; once more goes into it.
pub(crate) fn click(model: &mut Model, row: u16) -> Vec<Request> {
    let body = model.session.body;
    if !(body.top()..body.bottom()).contains(&row) {
        return Vec::new();
    }
    match shown(model).map(|transcript| transcript.click((row - body.top()).into(), body.height)) {
        Some(Click::Again) => open(model),
        Some(Click::Selected | Click::Nothing) | None => Vec::new(),
    }
}

/// The transcript that is seen.
fn shown(model: &mut Model) -> Option<&mut Transcript> {
    let View::Session(id) = &model.view else { return None };
    model.transcripts.get_mut(id)
}

/// Does something with the transcript that is seen, its session and how many rows of it are seen.
fn moved(model: &mut Model, act: impl FnOnce(&mut Transcript, &str, u16) -> Vec<Request>) -> Vec<Request> {
    let View::Session(id) = &model.view else { return Vec::new() };
    let height = model.session.body.height;
    model.transcripts.get_mut(id).map(|transcript| act(transcript, id, height)).unwrap_or_default()
}
