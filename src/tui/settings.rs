//! What can be set, for the person or for the project.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::act::Step;
use super::keymap::Context;
use super::model::Model;
use super::msg::Request;
use crate::api::project::Check;

#[derive(Debug, Default)]
pub(crate) struct State {}

impl State {
    pub(crate) fn context(&self) -> Context {
        Context::Settings
    }
}

pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn edit(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn keep_edit(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn reset(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn switch_scope(model: &mut Model) -> Vec<Request> {
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

pub(crate) fn checks_came(_model: &mut Model, _checks: Vec<Check>) -> Vec<Request> {
    Vec::new()
}

/// Theme and keys as the settings in force say.
pub(crate) fn apply(_model: &mut Model) {}

pub(crate) fn leave_edit(_model: &mut Model) {}

pub(crate) fn view(_model: &Model, _frame: &mut Frame, _area: Rect) {}

pub(crate) fn look_around(_model: &mut Model, _variable: impl Fn(&str) -> Option<String>) {}
