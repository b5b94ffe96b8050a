//! A list to choose from by a few letters: models, levels, agents, sessions, commands.
//!
//! What is chosen for a prompt belongs to whoever the composer writes to.

pub(crate) mod fuzzy;
mod rows;
mod screen;
#[cfg(test)]
mod tests;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Position, Rect};

use super::act::{self, Step};
use super::composer::{self, Target};
use super::model::{Focus, Model, Overlay};
use super::msg::Request;
use super::panel::Look;
use super::{notice, sessions};
use crate::api::permission::SavedPlan;
use crate::api::project::Backend;
use crate::api::session::{QueuedPrompt, Session};
use crate::look::line::one_line;
use fuzzy::Fuzzy;
use rows::{Pick, Row};

pub(crate) use screen::view;

#[derive(Debug)]
pub(crate) struct State {
    kind: Kind,
    rows: Vec<Row>,
    search: Fuzzy,
    query: String,
    /// Which rows match, the best first.
    shown: Vec<usize>,
    /// A place in `shown`.
    cursor: usize,
    /// `BACKEND` or `BACKEND/MODEL`: one session each.
    marked: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Palette,
    Jump,
    Removed,
    /// The first step to a model.
    Backend,
    /// The second, on this backend.
    Model(String),
    Reasoning,
    Agent,
    Posture,
    Plans,
    /// The prompts of a session that wait.
    Queue,
    Login,
}

impl Kind {
    fn takes_marks(&self) -> bool {
        match self {
            Kind::Backend | Kind::Model(_) => true,
            Kind::Palette
            | Kind::Jump
            | Kind::Removed
            | Kind::Reasoning
            | Kind::Agent
            | Kind::Posture
            | Kind::Plans
            | Kind::Queue
            | Kind::Login => false,
        }
    }
}

impl State {
    /// Whether several rows may be marked.
    pub(crate) fn takes_marks(&self) -> bool {
        self.kind.takes_marks()
    }

    fn new(kind: Kind, rows: Vec<Row>) -> State {
        let mut state = State {
            search: Fuzzy::new(rows.iter().map(|row| format!("{} {}", row.label, row.alias)).collect()),
            kind,
            shown: Vec::new(),
            query: String::new(),
            cursor: 0,
            marked: Vec::new(),
            rows,
        };
        state.sift();
        state.cursor = state.rows.iter().position(|row| row.is_current).unwrap_or(0);
        state
    }

    fn sift(&mut self) {
        self.shown = self.search.best(&self.query, self.rows.len());
        if !self.query.is_empty() {
            // Stable: within a rank the better match stays first.
            self.shown.sort_by_key(|index| self.rows[*index].rank(&self.query));
        }
        self.cursor = 0;
    }

    fn current(&self) -> Option<&Row> {
        self.shown.get(self.cursor).and_then(|index| self.rows.get(*index))
    }

    fn is_marked(&self, row: &Row) -> bool {
        row.pick.engine().is_some_and(|engine| self.marked.iter().any(|marked| marked == engine))
    }
}

fn open(model: &mut Model, state: State) -> Vec<Request> {
    model.overlay = Some(Overlay::Picker(Box::new(state)));
    Vec::new()
}

/// Everything that can be done here, with its keys.
pub(crate) fn palette(model: &mut Model) -> Vec<Request> {
    let state = State::new(Kind::Palette, rows::acts(model));
    open(model, state)
}

pub(crate) fn jump(model: &mut Model) -> Vec<Request> {
    let state = State::new(Kind::Jump, rows::sessions(model));
    open(model, state)
}

pub(crate) fn removed(_model: &mut Model) -> Vec<Request> {
    vec![Request::ListRemoved]
}

pub(crate) fn removed_came(model: &mut Model, sessions: Vec<Session>) -> Vec<Request> {
    model.world.know_projects(&sessions);
    if sessions.is_empty() {
        return notice::say(model, "no removed or archived session can be restored".to_owned());
    }
    if !model.can_be_interrupted() {
        // The keys are at something else by then.
        return notice::say(model, "there are sessions to restore: `/restore` lists them".to_owned());
    }
    let state = State::new(Kind::Removed, rows::removed(model, &sessions));
    open(model, state)
}

/// The plans that wait.
pub(crate) fn plans_came(model: &mut Model, plans: Vec<SavedPlan>) -> Vec<Request> {
    if plans.is_empty() {
        return notice::say(model, "no plan waits in this repository".to_owned());
    }
    if !model.can_be_interrupted() {
        return notice::say(model, "plans wait: `/plans` lists them".to_owned());
    }
    let state = State::new(Kind::Plans, rows::plans(model, plans));
    open(model, state)
}

/// The prompts of a session that wait: the one that is chosen is taken back.
pub(crate) fn queue_came(model: &mut Model, session: &str, prompts: Vec<QueuedPrompt>) -> Vec<Request> {
    if prompts.is_empty() {
        return notice::say(model, "no prompt waits".to_owned());
    }
    if !model.can_be_interrupted() {
        return notice::say(model, "prompts wait: `/queue` lists them".to_owned());
    }
    let state = State::new(Kind::Queue, rows::queue(model, session, prompts));
    open(model, state)
}

/// The backend first, then its models.
pub(crate) fn model(model: &mut Model) -> Vec<Request> {
    let state = State::new(Kind::Backend, rows::backends(model));
    open(model, state);
    match model.world.backends {
        Some(_) => Vec::new(),
        None => vec![Request::Backends],
    }
}

/// Shows the backends that were waited for.
pub(crate) fn backends_came(model: &mut Model) -> Vec<Request> {
    let rows = match &model.overlay {
        Some(Overlay::Picker(state)) if state.kind == Kind::Backend => rows::backends(model),
        Some(Overlay::Picker(_) | Overlay::Help(_) | Overlay::Decide(_) | Overlay::Confirm(_) | Overlay::Panel(_))
        | None => {
            return Vec::new();
        }
    };
    if let Some(state) = state(model) {
        let mut fresh = State::new(Kind::Backend, rows);
        fresh.marked.append(&mut state.marked);
        if !state.query.is_empty() {
            fresh.query = std::mem::take(&mut state.query);
            fresh.sift();
        }
        // The cursor stays on its row, which may have come to another place.
        let stood_on = state.current().map(|row| &row.pick);
        let place = |index: &usize| fresh.rows.get(*index).map(|row| &row.pick) == stood_on;
        fresh.cursor = fresh.shown.iter().position(place).unwrap_or(fresh.cursor);
        *state = fresh;
    }
    Vec::new()
}

pub(crate) fn reasoning(model: &mut Model) -> Vec<Request> {
    let state = State::new(Kind::Reasoning, rows::levels(model));
    open(model, state)
}

pub(crate) fn agent(model: &mut Model) -> Vec<Request> {
    let state = State::new(Kind::Agent, rows::agents(model));
    open(model, state)
}

/// Which of the backends to log in to.
pub(crate) fn login(model: &mut Model, backends: &[Backend]) -> Vec<Request> {
    open(model, State::new(Kind::Login, rows::logins(backends)))
}

/// The backend under the cursor, where one is chosen.
pub(crate) fn backend_under_cursor(model: &Model) -> Option<&str> {
    match &model.overlay {
        Some(Overlay::Picker(state)) => state.current()?.pick.backend(),
        Some(Overlay::Help(_) | Overlay::Decide(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => None,
    }
}

pub(crate) fn posture(model: &mut Model) -> Vec<Request> {
    let state = State::new(Kind::Posture, rows::postures(model));
    open(model, state)
}

/// Takes what is marked, else the row under the cursor.
pub(crate) fn choose(model: &mut Model) -> Vec<Request> {
    let Some(state) = state(model) else { return Vec::new() };
    if !state.marked.is_empty() {
        let marked = std::mem::take(&mut state.marked);
        model.close_overlay();
        return composer::choose_models(model, marked);
    }
    let Some(pick) = state.current().map(|row| row.pick.clone()) else { return Vec::new() };
    model.close_overlay();
    match pick {
        Pick::Act(action) => {
            if composer::leaves(action) {
                model.focus = Focus::Main;
            }
            act::perform(model, action)
        }
        Pick::Session(id) => model.open_session(&id),
        Pick::Removed(id) => {
            sessions::expect(model, &id);
            vec![Request::Restore(id)]
        }
        Pick::Backend(name) => {
            let rows = rows::models(model, &name);
            if rows.is_empty() {
                return composer::choose_models(model, vec![name]);
            }
            open(model, State::new(Kind::Model(name), rows))
        }
        Pick::Model(engine) => composer::choose_models(model, vec![engine]),
        Pick::Reasoning(level) => composer::choose_reasoning(model, level),
        Pick::Agent(agent) => composer::choose_agent(model, agent),
        Pick::Posture(posture) => composer::choose_posture(model, posture),
        Pick::Plan(plan) => vec![Request::Look(Look::Plan(plan))],
        Pick::Prompt { session, number, text } => composer::recall(model, session, number, text),
        Pick::Broken(why) => notice::warn(model, &why),
        Pick::Login(command) => vec![Request::Run(command)],
    }
}

/// Goes to the models of the backend under the cursor; what is marked stays.
fn enter(model: &mut Model) -> Vec<Request> {
    let Some(state) = state(model) else { return Vec::new() };
    let Some(Pick::Backend(name)) = state.current().map(|row| row.pick.clone()) else { return Vec::new() };
    let marked = state.marked.clone();
    match rows::models(model, &name) {
        rows if rows.is_empty() => notice::say(model, format!("`{}` tells of no models", one_line(&name))),
        rows => open(model, State { marked, ..State::new(Kind::Model(name), rows) }),
    }
}

/// Marks the row under the cursor, or takes the mark away.
pub(crate) fn mark(model: &mut Model) -> Vec<Request> {
    let target = composer::target(model);
    let Some(state) = state(model).filter(|state| state.kind.takes_marks()) else { return Vec::new() };
    if target != Target::Task {
        return notice::say(model, "several agents at once are for a task of its own: one session each".to_owned());
    }
    let Some(engine) = state.current().and_then(|row| row.pick.engine()).map(ToOwned::to_owned) else {
        return Vec::new();
    };
    match state.marked.iter().position(|marked| *marked == engine) {
        Some(place) => drop(state.marked.remove(place)),
        None => state.marked.push(engine),
    }
    step(model, Step::Down)
}

/// A click selects a row; on the one in hand it is Enter.
pub(crate) fn clicked(model: &mut Model, at: Position) -> Vec<Request> {
    let area = Rect::new(0, 0, model.size.width, model.size.height);
    let Some(state) = state(model) else { return Vec::new() };
    match screen::hit(state, area, at) {
        Some(place) if place == state.cursor => choose(model),
        Some(place) => {
            state.cursor = place;
            Vec::new()
        }
        None => Vec::new(),
    }
}

/// Goes back a step, or away.
pub(crate) fn leave(model: &mut Model) -> Vec<Request> {
    let Some(before) = state(model) else { return Vec::new() };
    let Kind::Model(backend) = &before.kind else {
        model.close_overlay();
        return Vec::new();
    };
    let (backend, marked) = (backend.clone(), before.marked.clone());
    let mut state = State { marked, ..State::new(Kind::Backend, rows::backends(model)) };
    let came_from = state.rows.iter().position(|row| row.pick == Pick::Backend(backend.clone()));
    state.cursor = came_from.unwrap_or(0);
    open(model, state)
}

pub(crate) fn typed(model: &mut Model, key: KeyEvent) -> Vec<Request> {
    let Some(state) = state(model) else { return Vec::new() };
    match (key.code, key.modifiers) {
        (KeyCode::Char(' '), KeyModifiers::NONE) if state.query.is_empty() => return mark(model),
        (KeyCode::Char(letter), KeyModifiers::NONE | KeyModifiers::SHIFT) => state.query.push(letter),
        (KeyCode::Char('u'), KeyModifiers::CONTROL) => state.query.clear(),
        (KeyCode::Char('w'), KeyModifiers::CONTROL) => {
            let kept = state.query.trim_end().rfind(' ').map_or(0, |blank| blank + 1);
            state.query.truncate(kept);
        }
        (KeyCode::Backspace, _) if state.query.is_empty() => return leave(model),
        (KeyCode::Backspace, _) => drop(state.query.pop()),
        (KeyCode::Right, KeyModifiers::NONE) if state.kind == Kind::Backend => return enter(model),
        (KeyCode::Left, KeyModifiers::NONE) if matches!(state.kind, Kind::Model(_)) => return leave(model),
        (KeyCode::PageUp, _) => return step(model, Step::PageUp),
        (KeyCode::PageDown, _) => return step(model, Step::PageDown),
        (KeyCode::Home, _) => return step(model, Step::Top),
        (KeyCode::End, _) => return step(model, Step::Bottom),
        _ => return Vec::new(),
    }
    state.sift();
    Vec::new()
}

pub(crate) fn pasted(model: &mut Model, text: &str) -> Vec<Request> {
    if let Some(state) = state(model) {
        state.query.push_str(&one_line(text));
        state.sift();
    }
    Vec::new()
}

pub(crate) fn step(model: &mut Model, step: Step) -> Vec<Request> {
    let Some(state) = state(model).filter(|state| !state.shown.is_empty()) else { return Vec::new() };
    let count = state.shown.len();
    state.cursor = match step {
        Step::Up => (state.cursor + count - 1) % count,
        Step::Down => (state.cursor + 1) % count,
        step => step.moved(state.cursor, count - 1),
    };
    Vec::new()
}

fn state(model: &mut Model) -> Option<&mut State> {
    match &mut model.overlay {
        Some(Overlay::Picker(state)) => Some(state),
        Some(Overlay::Help(_) | Overlay::Decide(_) | Overlay::Confirm(_) | Overlay::Panel(_)) | None => None,
    }
}
