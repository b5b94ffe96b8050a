//! The list that an agent shows for one turn.

use super::{Todo, TodoStatus};

/// The list as it replaces the one before; an empty one clears it.
pub fn todos(list: Vec<Todo>) -> Result<Vec<Todo>, String> {
    match list.iter().filter(|todo| todo.status == TodoStatus::InProgress).count() {
        0 | 1 => Ok(list),
        many => Err(format!("todo_write: at most one todo can be in_progress, not {many}")),
    }
}

/// What the agent is told.
pub fn todo_text(list: &[Todo]) -> String {
    let is_open = |todo: &&Todo| match todo.status {
        TodoStatus::Pending | TodoStatus::InProgress => true,
        TodoStatus::Completed | TodoStatus::Skipped => false,
    };
    match list.len() {
        0 => "Todos cleared.".to_owned(),
        total => format!("Todos updated: {} of {total} open.", list.iter().filter(is_open).count()),
    }
}

impl TodoStatus {
    /// The word that agents and people read.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Skipped => "skipped",
        }
    }
}
