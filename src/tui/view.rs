//! The screen as a function of the model: where everything stands, and who draws it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

use super::model::{Model, Overlay, View};
use super::{
    bar, composer, confirm, decide, help, notice, panel, picker, review, session, sessions, settings, theme, typeahead,
};
use crate::look::status::Signs;

/// Narrower than this, a view has one pane.
pub(crate) const WIDE: u16 = 110;

/// The parts of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) top: Rect,
    pub(crate) main: Rect,
    /// A line of news, when there are some.
    pub(crate) notice: Rect,
    /// The composer, or what is to be decided.
    pub(crate) dock: Rect,
    pub(crate) keys: Rect,
}

/// Where everything stands on a screen of the model's size.
pub(crate) fn parts(model: &Model) -> Parts {
    let area = Rect::new(0, 0, model.size.width, model.size.height);
    let room = area.height.saturating_sub(4);
    let dock = match (&model.overlay, &model.view) {
        (Some(Overlay::Decide(_)), _) => decide::height(model, area.width).min(room),
        (_, View::Sessions | View::Session(_)) => composer::height(model, area.width).min(room),
        (_, View::Review(_) | View::Settings) => 0,
    };
    let notice = notice::height(model, area.width).min(room.saturating_sub(dock));
    let [top, main, notice, dock, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(notice),
        Constraint::Length(dock),
        Constraint::Length(1),
    ])
    .areas(area);
    Parts { top, main, notice, dock, keys }
}

/// Brings what is about to be seen into shape: rows are wrapped for the width they have.
pub(crate) fn prepare(model: &mut Model) {
    typeahead::note_drawing(model);
    decide::prepare(model);
    let parts = parts(model);
    match &model.view {
        View::Sessions => sessions::prepare(model, parts.main),
        View::Session(_) => session::prepare(model, parts.main),
        View::Review(_) => review::prepare(model, parts.main),
        View::Settings => {}
    }
}

pub(crate) fn view(model: &Model, frame: &mut Frame) {
    let parts = parts(model);
    bar::top(model, frame, parts.top);
    match &model.view {
        View::Sessions => sessions::view(model, frame, parts.main),
        View::Session(_) => session::view(model, frame, parts.main),
        View::Review(_) => review::view(model, frame, parts.main),
        View::Settings => settings::view(model, frame, parts.main),
    }
    notice::view(model, frame, parts.notice);
    match (&model.overlay, &model.view) {
        (Some(Overlay::Decide(state)), _) => decide::view(model, state, frame, parts.dock),
        (_, View::Sessions | View::Session(_)) => composer::view(model, frame, parts.dock),
        (_, View::Review(_) | View::Settings) => {}
    }
    bar::keys(model, frame, parts.keys);
    match &model.overlay {
        Some(Overlay::Help(state)) => help::view(model, state, frame, frame.area()),
        Some(Overlay::Picker(state)) => picker::view(model, state, frame, frame.area()),
        Some(Overlay::Confirm(state)) => confirm::view(model, state, frame, frame.area()),
        Some(Overlay::Panel(state)) => panel::view(model, state, frame, frame.area()),
        Some(Overlay::Decide(_)) | None => {}
    }
    match model.signs {
        Signs::Unicode => {}
        Signs::Ascii => theme::in_letters(frame.buffer_mut()),
    }
}
