//! A question of the face itself before something that cannot be taken back with a key.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::act::Step;
use super::model::Model;
use super::msg::Request;
use crate::api::project::Trust;

#[derive(Debug)]
pub(crate) struct State {}

pub(crate) fn merge(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn undo(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn remove(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn yolo(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn agree(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn typed(_model: &mut Model, _key: KeyEvent) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn step(_model: &mut Model, _step: Step) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn trust_came(_model: &mut Model, _trust: Trust) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn view(_model: &Model, _state: &State, _frame: &mut Frame, _area: Rect) {}
