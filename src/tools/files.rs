//! Files and searches in a session's work tree: performed inside its cage.

use std::path::Path;

use serde_json::Value;

use super::served::Row;
use crate::permission::Reach;

pub(super) const ROWS: &[Row] = &[];

/// A call of this family.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {}

/// Reads a call; `None` when the tool is of another family.
pub(super) fn parse(_name: &str, _arguments: &Value) -> Option<Result<Request, String>> {
    None
}

impl Request {
    pub(super) fn reach(&self, _tree: &Path) -> Reach {
        match *self {}
    }

    pub(super) fn title(&self) -> String {
        match *self {}
    }

    pub(super) fn preview(&self) -> String {
        match *self {}
    }
}
