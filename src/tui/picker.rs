//! A list to choose from by a few letters: models, levels, agents, sessions, commands.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::act::Step;
use super::model::Model;
use super::msg::Request;
use crate::api::session::Session;

#[derive(Debug)]
pub(crate) struct State {}

pub(crate) fn palette(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn jump(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn removed(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn model(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn reasoning(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn agent(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn posture(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn choose(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn mark(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn leave(model: &mut Model) -> Vec<Request> {
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

pub(crate) fn view(_model: &Model, _state: &State, _frame: &mut Frame, _area: Rect) {}

pub(crate) fn removed_came(_model: &mut Model, _sessions: Vec<Session>) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn backends_came(_model: &mut Model) -> Vec<Request> {
    Vec::new()
}
