//! News: a line on the screen for what was done or failed, and a word to the person who looks elsewhere.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::model::Model;
use super::msg::Request;
use crate::api::error::Error;
use crate::api::event::Event;

#[derive(Debug, Default)]
pub(crate) struct State {}

/// A word to a person who may look elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) session: String,
}

pub(crate) fn say(_model: &mut Model, _text: String) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn fail(_model: &mut Model, _doing: &str, _error: &Error) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn of_fact(_model: &mut Model, _event: &Event) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn expire(_model: &mut Model) {}

pub(crate) fn is_shown(_model: &Model) -> bool {
    false
}

pub(crate) fn view(_model: &Model, _frame: &mut Frame, _area: Rect) {}

pub(crate) fn bytes(_news: &Notice, _world: &super::world::World, _in_tmux: bool) -> Vec<u8> {
    Vec::new()
}

pub(crate) fn command(_world: &super::world::World) -> Vec<String> {
    Vec::new()
}
