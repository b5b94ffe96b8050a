//! What an agent asks of the tasks, read from the loose fields of a call.

use super::{Change, Start};

/// A call of `task_workflow` as it came: values without the space around them, blank ones absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    pub action: Option<String>,
    pub task_id: Option<String>,
    pub parent_task_id: Option<String>,
    pub title: Option<String>,
    pub kind: Option<String>,
    pub status: Option<String>,
    pub notes: Option<String>,
    pub progress: Option<String>,
    pub block_reason: Option<String>,
    pub summary: Option<String>,
}

impl Change {
    /// Reads a call; what is wrong with it is said in words that let the model try again.
    pub fn read(fields: Fields) -> Result<Self, String> {
        read(fields).map_err(|text| format!("task_workflow: {text}"))
    }
}

fn read(fields: Fields) -> Result<Change, String> {
    match fields.action.as_deref() {
        Some("list") => list(&fields),
        Some("create") => create(fields),
        Some("update") => update(fields),
        Some("block") => block(fields),
        Some("complete") => complete(fields),
        Some(_) | None => {
            Err("action must be list, create, update, block, or complete. Use task_review for reviews.".to_owned())
        }
    }
}

fn list(fields: &Fields) -> Result<Change, String> {
    refuse_others(fields, "list", &[])?;
    Ok(Change::List)
}

fn create(fields: Fields) -> Result<Change, String> {
    refuse_others(&fields, "create", &["task_id", "parent_task_id", "title", "kind", "status", "notes"])?;
    let title = fields.title.ok_or("create needs title.")?;
    let start = fields.status.as_deref().map_or(Ok(Start::Pending), start)?;
    if fields.task_id.is_some() && fields.task_id == fields.parent_task_id {
        return Err("a task cannot be its own parent. Omit parent_task_id or name another task.".to_owned());
    }
    let (id, parent) = (fields.task_id, fields.parent_task_id);
    Ok(Change::Create { id, parent, title, kind: fields.kind, start, notes: fields.notes })
}

fn update(fields: Fields) -> Result<Change, String> {
    match fields.status.as_deref() {
        // Models say what the task is; what they mean is the action of that name.
        Some("blocked") => {
            refuse_others(&fields, "update", &["task_id", "status", "block_reason", "progress", "notes"])?;
            let Fields { task_id, block_reason, progress, notes, .. } = fields;
            let (reason, progress, notes) = first_of(block_reason, progress, notes);
            let id = task_id.ok_or(NEEDS_ID)?;
            Ok(Change::Block { id, reason: reason.ok_or(NEEDS_REASON)?, progress, notes })
        }
        Some("complete" | "completed") => {
            refuse_others(&fields, "update", &["task_id", "status", "summary", "progress", "notes"])?;
            let Fields { task_id, summary, progress, notes, .. } = fields;
            let (summary, progress, notes) = first_of(summary, progress, notes);
            let id = task_id.ok_or(NEEDS_ID)?;
            Ok(Change::Complete { id, summary: summary.ok_or(NEEDS_SUMMARY)?, progress, notes })
        }
        Some(_) | None => {
            refuse_others(&fields, "update", &["task_id", "status", "progress", "notes"])?;
            let Fields { task_id, status, progress, notes, .. } = fields;
            let id = task_id.ok_or(NEEDS_ID)?;
            let start = status.as_deref().map(start).transpose()?;
            if start.is_none() && progress.is_none() && notes.is_none() {
                return Err("update needs status, progress, or notes.".to_owned());
            }
            Ok(Change::Update { id, start, progress, notes })
        }
    }
}

fn block(mut fields: Fields) -> Result<Change, String> {
    fields.status.take_if(|status| status == "blocked");
    refuse_others(&fields, "block", &["task_id", "block_reason", "notes"])?;
    let id = fields.task_id.ok_or(NEEDS_ID)?;
    let reason = fields.block_reason.ok_or(NEEDS_REASON)?;
    Ok(Change::Block { id, reason, progress: None, notes: fields.notes })
}

fn complete(mut fields: Fields) -> Result<Change, String> {
    fields.status.take_if(|status| status == "complete" || status == "completed");
    refuse_others(&fields, "complete", &["task_id", "summary"])?;
    match (fields.task_id, fields.summary) {
        (Some(id), Some(summary)) => Ok(Change::Complete { id, summary, progress: None, notes: None }),
        (Some(_), None) | (None, Some(_)) | (None, None) => Err(NEEDS_SUMMARY.to_owned()),
    }
}

const NEEDS_ID: &str = "this action needs task_id.";
const NEEDS_REASON: &str = "block needs block_reason.";
const NEEDS_SUMMARY: &str = "complete needs task_id and summary.";

fn start(status: &str) -> Result<Start, String> {
    match status {
        "pending" => Ok(Start::Pending),
        "in_progress" => Ok(Start::InProgress),
        _ => Err("status must be pending or in_progress. Use complete to finish or block to block.".to_owned()),
    }
}

/// The first text there is; the ones after it keep their own place.
fn first_of(
    own: Option<String>,
    progress: Option<String>,
    notes: Option<String>,
) -> (Option<String>, Option<String>, Option<String>) {
    match (own, progress, notes) {
        (Some(own), progress, notes) => (Some(own), progress, notes),
        (None, Some(progress), notes) => (Some(progress), None, notes),
        (None, None, notes) => (notes, None, None),
    }
}

/// A value in a field that the action does not take would be lost without a word.
fn refuse_others(fields: &Fields, action: &str, taken: &[&str]) -> Result<(), String> {
    let given = [
        ("task_id", &fields.task_id),
        ("parent_task_id", &fields.parent_task_id),
        ("title", &fields.title),
        ("kind", &fields.kind),
        ("status", &fields.status),
        ("notes", &fields.notes),
        ("progress", &fields.progress),
        ("block_reason", &fields.block_reason),
        ("summary", &fields.summary),
    ];
    let others: Vec<_> =
        given.iter().filter(|(name, value)| value.is_some() && !taken.contains(name)).map(|(name, _)| *name).collect();
    match others.as_slice() {
        [] => Ok(()),
        others => Err(format!("{action} does not take {}.", others.join(", "))),
    }
}
