//! Where a prompt is written.

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::model::Model;
use super::msg::Request;
use super::msg::Ticket;
use crate::api::error::Error;
use crate::api::image::Image;

#[derive(Debug, Default)]
pub(crate) struct State {}

pub(crate) fn new_task(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn reply(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn plan(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn send(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn send_now(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn newline(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn next_agent(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn previous_agent(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn history_back(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn history_forward(model: &mut Model) -> Vec<Request> {
    let _unused = model;
    Vec::new()
}

pub(crate) fn edit(model: &mut Model) -> Vec<Request> {
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

pub(crate) fn taken(_model: &mut Model, _ticket: Ticket, _session: &str) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn refused(_model: &mut Model, _ticket: Ticket, _error: &Error) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn files_came(_model: &mut Model, _session: Option<String>, _files: Vec<String>) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn edited(_model: &mut Model, _text: String) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn image_came(_model: &mut Model, _image: Image) -> Vec<Request> {
    Vec::new()
}

/// How many rows it takes, its border included.
pub(crate) fn height(_model: &Model, _width: u16) -> u16 {
    2
}

pub(crate) fn view(_model: &Model, _frame: &mut Frame, _area: Rect) {}

pub(crate) fn restore(_model: &mut Model, _saved: super::state::Saved) {}

pub(crate) fn saved(_model: &Model) -> super::state::Saved {
    super::state::Saved::default()
}

/// Puts a text into an empty composer, ready to be changed or sent.
pub(crate) fn propose(_model: &mut Model, _text: &str) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn command(_model: &mut Model) -> Vec<Request> {
    Vec::new()
}

pub(crate) fn clear(_model: &mut Model) -> Vec<Request> {
    Vec::new()
}
