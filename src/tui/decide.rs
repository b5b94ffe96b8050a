//! What waits for the person: approvals, questions, plans.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::act::Step;
use super::keymap::Context;
use super::model::Model;
use super::msg::Request;

#[derive(Debug)]
pub(crate) struct State {}

impl State {
    pub(crate) fn context(&self) -> Context {
        Context::Approval
    }
}

pub(crate) fn open(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn enter(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn leave(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn newline(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn allow_once(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn allow_session(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn allow_always(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn refuse(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn refuse_always(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn next_request(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn toggle_focus(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn end_turn(model: &mut Model) -> Vec<Request> {
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

/// Keeps an open decision about what still waits, or closes it.
pub(crate) fn settle(_model: &mut Model) {}

/// How many rows it takes.
pub(crate) fn height(_model: &Model, _width: u16) -> u16 {
    8
}

pub(crate) fn view(_model: &Model, _state: &State, _frame: &mut Frame, _area: Rect) {}
