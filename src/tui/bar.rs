//! The first line of the screen and the last: where one is, what it costs, which keys count.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::model::Model;

pub(crate) fn top(_model: &Model, _frame: &mut Frame, _area: Rect) {}

pub(crate) fn keys(_model: &Model, _frame: &mut Frame, _area: Rect) {}
