//! Tasks, reviews, todos and plans: rows of what goes in and what comes out.

mod plan_mode;
mod plans;
mod reviews;
mod tasks;
mod todo_lists;

use proptest::prelude::*;

use super::*;

fn task(id: &str, parent: Option<&str>, status: TaskStatus) -> Task {
    Task {
        id: id.into(),
        parent: parent.map(str::to_owned),
        title: format!("Title of {id}"),
        kind: None,
        status,
        notes: None,
        progress: None,
        block_reason: None,
        summary: None,
        reviews: vec![],
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The fields of a call, written as `key=value` words.
fn fields(words: &str) -> Fields {
    let mut fields = Fields::default();
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or(("action", word));
        let field = match key {
            "action" => &mut fields.action,
            "task_id" => &mut fields.task_id,
            "parent_task_id" => &mut fields.parent_task_id,
            "title" => &mut fields.title,
            "kind" => &mut fields.kind,
            "status" => &mut fields.status,
            "notes" => &mut fields.notes,
            "progress" => &mut fields.progress,
            "block_reason" => &mut fields.block_reason,
            "summary" => &mut fields.summary,
            other => panic!("{other}"),
        };
        *field = some(value);
    }
    fields
}

/// Applies calls one after the other; the first that is refused gives its text.
fn run(calls: &[&str]) -> Result<Tasks, String> {
    calls.iter().try_fold(Tasks::default(), |tasks, call| {
        let change = Change::read(fields(call))?;
        tasks.apply(&change).map(|(tasks, _)| tasks)
    })
}

#[track_caller]
fn check(calls: &[&str], expected: &[(&str, TaskStatus)]) {
    let tasks = run(calls).unwrap();
    let seen: Vec<_> = tasks.list.iter().map(|task| (task.id.as_str(), task.status)).collect();
    assert_eq!(seen, expected);
}

#[track_caller]
fn refuses(calls: &[&str], expected: &str) {
    assert_eq!(run(calls).unwrap_err(), format!("task_workflow: {expected}"));
}
