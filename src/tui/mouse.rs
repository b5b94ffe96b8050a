//! Clicks select, the wheel scrolls what it points at.

use crossterm::event::MouseEvent;

use super::model::Model;
use super::msg::Request;

pub(crate) fn update(_model: &mut Model, _mouse: MouseEvent) -> Vec<Request> {
    Vec::new()
}
