//! The list of a turn.

use super::*;

fn todo(content: &str, status: TodoStatus) -> Todo {
    Todo { content: content.into(), status }
}

#[test]
fn at_most_one_is_in_progress() {
    let list = vec![todo("a", TodoStatus::InProgress), todo("b", TodoStatus::Pending)];
    assert_eq!(todos(list.clone()), Ok(list.clone()));
    assert_eq!(todo_text(&list), "Todos updated: 2 of 2 open.");
    assert_eq!(todos(vec![]), Ok(vec![]));
    assert_eq!(todo_text(&[]), "Todos cleared.");
    let many = vec![todo("a", TodoStatus::InProgress); 3];
    assert_eq!(todos(many).unwrap_err(), "todo_write: at most one todo can be in_progress, not 3");
}
