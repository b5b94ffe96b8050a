//! The changes of a session: files, lines, comments.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::act::Step;
use super::keymap::Context;
use super::model::Model;
use super::msg::Request;
use crate::api::review::Review;
use crate::api::session::Diff;

#[derive(Debug, Default)]
pub(crate) struct State {}

impl State {
    pub(crate) fn context(&self) -> Context {
        Context::Diff
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

pub(crate) fn copy(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn newline(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn next_file(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn previous_file(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn next_hunk(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn previous_hunk(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn switch_layout(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn earlier_turn(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn later_turn(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn comment(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn drop_comment(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn keep_comment(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn send(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn mark(model: &mut Model) -> Vec<Request> {
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

pub(crate) fn diff_came(_model: &mut Model, _session: &str, _turn: Option<u32>, _diff: Diff) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn review_came(_model: &mut Model, _session: &str, _review: Review) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn leave_comment(_model: &mut Model) {}

pub(crate) fn prepare(_model: &mut Model, _area: Rect) {}

pub(crate) fn view(_model: &Model, _frame: &mut Frame, _area: Rect) {}
