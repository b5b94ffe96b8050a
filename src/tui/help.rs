//! Every key of a view, from the keymap itself.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::act::Step;
use super::keymap::Context;
use super::model::Model;
use super::msg::Request;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) context: Context,
}

impl State {
    pub(crate) fn of(context: Context) -> State {
        State { context }
    }
}

pub(crate) fn step(_model: &mut Model, _step: Step) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn view(_model: &Model, _state: &State, _frame: &mut Frame, _area: Rect) {}
