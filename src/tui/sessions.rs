//! All sessions of the repository: the ones that need the person first.

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
        Context::Sessions
    }

    /// The id of the session under the cursor.
    pub(crate) fn selected(&self) -> Option<&str> {
        None
    }
}

pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn filter(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn keep_filter(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn toggle_tree(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn toggle_resting(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn next_need(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

/// Puts the cursor on a session, and takes the filter away where it would hide it.
pub(crate) fn reveal(_model: &mut Model, _id: &str) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn settle(model: &mut Model) -> Vec<Request> {
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

pub(crate) fn clear_filter(_model: &mut Model) {}

pub(crate) fn prepare(_model: &mut Model, _area: Rect) {}

pub(crate) fn view(_model: &Model, _frame: &mut Frame, _area: Rect) {}
