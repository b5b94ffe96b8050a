//! One session: its transcript, its cards, its state.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::act::Step;
use super::keymap::Context;
use super::model::Model;
use super::msg::Request;

#[derive(Debug, Default)]
pub(crate) struct State {}

impl State {
    pub(crate) fn context(&self) -> Context {
        Context::Session
    }
}

pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn parent(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn edit(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn copy(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn drop_queued(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn login(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn next_card(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn previous_card(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn expand(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn expand_all(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn reuse(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn search(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn keep_search(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn next_match(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn previous_match(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn toggle_thoughts(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn toggle_summary(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn typed(_model: &mut Model, _key: KeyEvent) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn pasted(_model: &mut Model, _text: &str) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn step(_model: &mut Model, _step: Step) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn leave_search(_model: &mut Model) {}

pub(crate) fn prepare(_model: &mut Model, _area: Rect) {}

pub(crate) fn view(_model: &Model, _frame: &mut Frame, _area: Rect) {}

/// Moves what is seen by so many rows, down where the number is positive.
pub(crate) fn scroll(_model: &mut Model, _rows: i32) -> Vec<Request> {
    Vec::new()
}
