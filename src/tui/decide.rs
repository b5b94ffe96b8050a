//! What waits for the person: approvals, questions, plans. A card at the foot of the screen that takes the keys.
//!
//! What was decided is out of sight at once; the daemon's word brings it back if it was not taken.

mod ask;
mod body;
mod card;
mod flow;
mod need;
mod question;
mod sheet;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;

use super::act::Step;
use super::keymap::Context;
use super::model::{Focus as Place, Model, Overlay, View};
use super::msg::Request;
use super::typeahead::TypeaheadGuard;
use super::{notice, sessions};
use crate::api::request::{AllowScope, Decide, DenyScope};
use crate::api::session::Session;
use ask::Ask;
use card::{Card, Keys};
use flow::{close, settled, show, waiting, waiting_at};
use need::{Asked, Need, What};
use question::{Answered, Focus, Picked, Progress};
use sheet::Sheet;
use words::Words;

pub(crate) use body::prepare;
pub(crate) use flow::{Kept, begun, failed, forget, restore, settle, workflow_came};
pub(crate) use question::{Begun, is_plan, letter_of};

/// The rows of the screen that no card takes.
const OTHERS: u16 = 4;

/// The decision in hand.
#[derive(Debug)]
pub(crate) struct State {
    /// The session that it was opened for: a parent, for what its children want.
    home: String,
    need: Need,
    face: Face,
    scroll: usize,
    pub(super) guard: TypeaheadGuard,
}

#[derive(Debug)]
enum Face {
    /// With the words of a refusal, once they are written.
    Card(Option<Words>),
    Asking(Box<Progress>),
}

impl State {
    pub(crate) fn context(&self) -> Context {
        match &self.face {
            Face::Card(None) => Context::Approval,
            Face::Card(Some(_)) => Context::Words,
            Face::Asking(progress) => match progress.focus() {
                Focus::Options => Context::Question,
                Focus::Words => Context::Words,
            },
        }
    }
}

/// Opens what the session in hand waits for.
pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    let Some(id) = model.current_id().map(str::to_owned) else {
        return notice::say(model, "no session is selected".to_owned());
    };
    match waiting_at(model, &id).into_iter().next() {
        Some(need) => show(model, id, need),
        None => notice::say(model, "nothing waits for a decision here".to_owned()),
    }
}

/// Answers as the cursor stands; a call is decided by named keys only.
pub(crate) fn enter(model: &mut Model) -> Vec<Request> {
    let Some(state) = state(model) else { return Vec::new() };
    match &mut state.face {
        Face::Card(None) => look_closer(model),
        Face::Card(Some(words)) => {
            let message = Some(words.text().trim().to_owned()).filter(|text| !text.is_empty());
            decide(model, Decide::Deny { message, scope: DenyScope::Once })
        }
        Face::Asking(progress) if progress.needs_letter() => {
            let letters = progress.spelled_letters();
            notice::say(model, format!("only a letter decides about a plan: {letters}"))
        }
        Face::Asking(_) => answer(model),
    }
}

/// Takes the answer in hand, and sends all of them after the last question.
fn answer(model: &mut Model) -> Vec<Request> {
    let Some(state) = state(model) else { return Vec::new() };
    let Face::Asking(progress) = &mut state.face else { return Vec::new() };
    match progress.enter() {
        Answered::More => {
            state.scroll = 0;
            vec![Request::Save]
        }
        Answered::All(answers) => {
            let session = state.need.session.clone();
            settled(model, Request::Answer { session, answers })
        }
    }
}

/// Opens the session that the card is about; where it is open, shows the next page of the call.
fn look_closer(model: &mut Model) -> Vec<Request> {
    let Need { session, .. } = need_of(model);
    let is_open = matches!(&model.view, View::Session(open) if *open == session);
    if !is_open && model.world.sessions.contains_key(&session) {
        return model.open_session(&session);
    }
    let scroll = |model: &mut Model| state(model).map(|state| state.scroll);
    let before = scroll(model);
    let requests = step(model, Step::PageDown);
    match scroll(model) == before {
        true => notice::say(model, "only the keys on the card decide".to_owned()),
        false => requests,
    }
}

/// One step out: from words to the choices, from the card to the view.
pub(crate) fn leave(model: &mut Model) -> Vec<Request> {
    let Some(state) = state(model) else { return Vec::new() };
    match &mut state.face {
        Face::Card(words) if words.is_some() => *words = None,
        Face::Asking(progress) if progress.focus() == Focus::Words && !progress.question().options.is_empty() => {
            progress.toggle_focus();
        }
        Face::Card(_) | Face::Asking(_) => close(model),
    }
    Vec::new()
}

/// To the list; the answers so far are kept.
pub(crate) fn to_list(model: &mut Model) -> Vec<Request> {
    close(model);
    model.focus = Place::Main;
    let open = model.current_id().map(str::to_owned);
    model.view = View::Sessions;
    open.map(|id| sessions::come_from(model, &id)).unwrap_or_default()
}

pub(crate) fn newline(model: &mut Model) -> Vec<Request> {
    with_words(model, Words::newline)
}

pub(crate) fn allow_once(model: &mut Model) -> Vec<Request> {
    decide(model, Decide::Allow { scope: AllowScope::Once })
}

pub(crate) fn allow_session(model: &mut Model) -> Vec<Request> {
    saving(model, Decide::Allow { scope: AllowScope::Session })
}

pub(crate) fn allow_always(model: &mut Model) -> Vec<Request> {
    saving(model, Decide::Allow { scope: AllowScope::Always })
}

/// Asks for a word why; nothing is refused before it is given or left out.
pub(crate) fn refuse(model: &mut Model) -> Vec<Request> {
    if let Some(State { face: Face::Card(words), .. }) = state(model) {
        words.get_or_insert_default();
    }
    Vec::new()
}

pub(crate) fn refuse_always(model: &mut Model) -> Vec<Request> {
    saving(model, Decide::Deny { message: None, scope: DenyScope::Never })
}

/// The next that waits, over all sessions; where several answers are asked for, the key marks one.
pub(crate) fn next_request(model: &mut Model) -> Vec<Request> {
    if let Some(State { face: Face::Asking(progress), .. }) = state(model)
        && progress.question().multiple
    {
        progress.mark();
        return Vec::new();
    }
    let here = need_of(model);
    let all = waiting(model);
    let at = all.iter().position(|need| *need == here).map_or(0, |at| at + 1);
    match all.iter().cycle().skip(at).take(all.len()).find(|need| **need != here).cloned() {
        None => notice::say(model, "nothing else waits for you".to_owned()),
        Some(next) => {
            close(model);
            // Whoever reads one session while deciding wants to read the other one too.
            let mut requests = match &model.view {
                View::Session(open) | View::Review(open) if *open != next.session => model.open_session(&next.session),
                View::Sessions => sessions::reveal(model, &next.session),
                View::Session(_) | View::Review(_) | View::Settings => Vec::new(),
            };
            requests.extend(show(model, next.session.clone(), next));
            requests
        }
    }
}

pub(crate) fn toggle_focus(model: &mut Model) -> Vec<Request> {
    if let Some(State { face: Face::Asking(progress), .. }) = state(model) {
        progress.toggle_focus();
    }
    Vec::new()
}

/// Whether Enter answers the question on the screen.
pub(crate) fn takes_enter(model: &Model) -> bool {
    match &model.overlay {
        Some(Overlay::Decide(state)) => !matches!(&state.face, Face::Asking(progress) if progress.needs_letter()),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => false,
    }
}

/// Which of all that wait is the first at a session, from 1 on, and how many there are.
pub(crate) fn place_of_first(model: &Model, session: &str) -> Option<(usize, usize)> {
    waiting_at(model, session).first().map(|need| place_of(model, need))
}

/// Which of all that wait this is, from 1 on, and how many there are: as many as the first line of the screen counts.
fn place_of(model: &Model, need: &Need) -> (usize, usize) {
    let all = waiting(model);
    let at = all.iter().position(|other| other == need).unwrap_or(0);
    // That line counts what stopped too.
    let decided_here = |session: &&Session| session.waiting_for.is_some();
    let stopped = model.world.sessions.values().filter(|session| !decided_here(session));
    let stopped: usize = stopped.map(|session| session.needs as usize).sum();
    (at + 1, all.len() + stopped)
}

/// Whether a turn waits for the answers to the questions on the screen.
pub(crate) fn holds_turn(model: &Model) -> bool {
    match &model.overlay {
        Some(Overlay::Decide(state)) => matches!(&state.face, Face::Asking(progress) if progress.holds_turn()),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => false,
    }
}

/// Ends the turn without a reply; questions that ended it themselves are put off, and the answers so far are kept.
pub(crate) fn end_turn(model: &mut Model) -> Vec<Request> {
    if matches!(state(model), Some(State { face: Face::Asking(progress), .. }) if !progress.holds_turn()) {
        close(model);
        return notice::say(model, "the turn is over; the questions wait, the answers are kept".to_owned());
    }
    let Some(Overlay::Decide(state)) = model.overlay.take() else {
        return Vec::new();
    };
    model.decisions.progress.remove(&state.need);
    vec![Request::Stop(state.need.session)]
}

pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    let Some(state) = state(model) else { return Vec::new() };
    match &mut state.face {
        Face::Card(None) => {}
        Face::Card(Some(words)) => words.typed(key),
        Face::Asking(progress) => match (progress.focus(), key.code) {
            (Focus::Words, KeyCode::Up) if progress.words().is_at_top() => progress.up(),
            (Focus::Words, KeyCode::Down) if progress.words().is_at_bottom() => progress.down(),
            (Focus::Words, _) => {
                progress.words_mut().typed(key);
                return vec![Request::Save];
            }
            (Focus::Options, KeyCode::Char(typed)) => match typed.to_digit(10) {
                Some(digit) if progress.pick(digit as usize) == Picked::Nothing => {
                    return notice::say(model, format!("there is no option {digit}"));
                }
                Some(_) => {}
                None => {
                    let picked = progress.pick_letter(typed);
                    if picked == Picked::Something && progress.is_plan() {
                        return answer(model);
                    }
                }
            },
            (Focus::Options, _) => {}
        },
    }
    Vec::new()
}

/// Begins the words of the card on the screen: an answer of the person's own, or why a call is refused.
pub(crate) fn write(model: &mut Model, text: &str) -> Vec<Request> {
    match state(model).map(|state| &mut state.face) {
        Some(Face::Card(words)) => drop(words.get_or_insert_default()),
        Some(Face::Asking(progress)) if progress.focus() == Focus::Options => progress.toggle_focus(),
        Some(Face::Asking(_)) | None => {}
    }
    pasted(model, text)
}

pub(crate) fn pasted(model: &mut Model, text: &str) -> Vec<Request> {
    with_words(model, |words| words.paste(text));
    vec![Request::Save]
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let furthest = match &model.overlay {
        Some(Overlay::Decide(state)) => sheet(model, state).rows(model.size.width, room(model)).furthest,
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => {
            return Vec::new();
        }
    };
    let Some(state) = state(model) else { return Vec::new() };
    let from = state.scroll.min(furthest);
    match (&mut state.face, step) {
        (Face::Asking(progress), Step::Up) => progress.up(),
        (Face::Asking(progress), Step::Down) => progress.down(),
        (Face::Asking(progress), Step::Left) => progress.earlier(),
        (Face::Asking(progress), Step::Right) => progress.later(),
        (Face::Card(_) | Face::Asking(_), step) => state.scroll = step.moved(from, furthest),
    }
    Vec::new()
}

/// How many rows it takes.
pub(crate) fn height(model: &Model, width: u16) -> u16 {
    match &model.overlay {
        Some(Overlay::Decide(state)) => {
            let rows = sheet(model, state).rows(width, room(model));
            u16::try_from(rows.lines.len()).unwrap_or(u16::MAX)
        }
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => 0,
    }
}

pub(crate) fn view(model: &Model, state: &State, frame: &mut Frame, area: Rect) {
    sheet(model, state).view(model, frame, area);
}

fn room(model: &Model) -> u16 {
    model.size.height.saturating_sub(OTHERS)
}

fn sheet(model: &Model, state: &State) -> Sheet {
    let session = model.world.sessions.get(&state.need.session);
    let (keymap, now, scroll) = (&model.keymap, model.now, state.scroll);
    let body = body::of(model, state);
    let is_ready = state.guard.is_ready(now, model.patience);
    match &state.face {
        Face::Card(words) => match need::approval(&model.world, &state.need) {
            Some(approval) => {
                let place = place_of(model, &state.need);
                let keys = if is_ready { Keys::Count } else { Keys::Soon };
                Card { approval, body, session, keymap, place, now, scroll, words: words.as_ref(), keys }.sheet()
            }
            None => Sheet::default(),
        },
        Face::Asking(progress) => {
            let keys = if is_ready { Keys::Count } else { Keys::Soon };
            Ask { progress, body, session, keymap, now, scroll, keys }.sheet()
        }
    }
}

fn state(model: &mut Model) -> Option<&mut State> {
    match &mut model.overlay {
        Some(Overlay::Decide(state)) => Some(state),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => None,
    }
}

fn need_of(model: &Model) -> Need {
    match &model.overlay {
        Some(Overlay::Decide(state)) => state.need.clone(),
        Some(Overlay::Help(_) | Overlay::Picker(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => {
            Need { session: String::new(), what: What::Questions(Asked::default()) }
        }
    }
}

/// Decides in a way that saves rules, where there are any to save.
fn saving(model: &mut Model, decision: Decide) -> Vec<Request> {
    match need::approval(&model.world, &need_of(model)) {
        Some(approval) if approval.saves.is_empty() => {
            notice::say(model, "this call can only be decided once: no rule would cover it and no other".to_owned())
        }
        Some(_) => decide(model, decision),
        None => Vec::new(),
    }
}

fn decide(model: &mut Model, decision: Decide) -> Vec<Request> {
    let Need { session, what } = need_of(model);
    match what {
        What::Approval(request) => settled(model, Request::Decide { session, request, decision }),
        What::Questions(_) => Vec::new(),
    }
}

fn with_words(model: &mut Model, act: impl FnOnce(&mut Words)) -> Vec<Request> {
    match state(model).map(|state| &mut state.face) {
        Some(Face::Card(Some(words))) => act(words),
        Some(Face::Asking(progress)) if progress.focus() == Focus::Words => act(progress.words_mut()),
        Some(Face::Card(None) | Face::Asking(_)) | None => {}
    }
    Vec::new()
}
