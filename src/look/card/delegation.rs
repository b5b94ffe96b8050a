//! A delegation on a card: the task, and what came of it. Whoever called was told a record; people read the reply in it.

use serde_json::Value;

use super::body::{record, text};
use crate::look::line::{Line, Tone, columns_of, one_line};
use crate::look::status::count;

/// So many lines of a task are shown above its outcome.
const TASK_LINES: usize = 4;

/// A task of one line that is no wider is whole in the header.
const HEADER: usize = 60;

/// The task, where the header cannot show all of it.
pub(super) fn task(task: Option<&str>) -> Vec<Line> {
    let lines = text(task.unwrap_or_default().trim());
    match lines.as_slice() {
        [] => Vec::new(),
        [one] if columns_of(&one.text()) <= HEADER => Vec::new(),
        [..] => {
            let more = lines.len().saturating_sub(TASK_LINES);
            let more = (more > 0).then(|| Line::new().dim(format!("…{} of the task", count(more, "more line"))));
            lines.iter().take(TASK_LINES).map(|line| Line::new().dim(line.text())).chain(more).collect()
        }
    }
}

/// The task and the outcome, and how it stands.
pub(super) fn ended(wanted: Option<&str>, output: &str) -> (Vec<Line>, Option<Line>) {
    let (reply, footer) = match record(output) {
        Some(record) => outcome(&record),
        None => (text(untagged(output)), None),
    };
    let mut body = task(wanted);
    if !body.is_empty() && !reply.is_empty() {
        body.push(Line::new());
    }
    body.extend(reply);
    (body, footer)
}

fn outcome(record: &Value) -> (Vec<Line>, Option<Line>) {
    let said = |name: &str| record[name].as_str().filter(|text| !text.trim().is_empty());
    // `wait` tells of several agents, by their ids.
    if let Some(agents) = record["status"].as_object() {
        let footer = match record["timed_out"].as_bool() {
            Some(true) => "none is done yet".to_owned(),
            Some(false) | None => format!("{} done", count(agents.len(), "agent")),
        };
        let body = agents.iter().flat_map(|(id, state)| awaited(id, state)).collect();
        return (body, Some(Line::new().dim(footer)));
    }
    let Some(status) = said("status") else {
        let footer = said("agent_id").or(said("handoff_id")).map(|id| format!("`{}` works", one_line(id)));
        return (said("thread_note").map(text).unwrap_or_default(), footer.map(|footer| Line::new().dim(footer)));
    };
    let reply = said("assistant_text").or(said("hint")).map(text).unwrap_or_default();
    let error = said("error").map(|error| Line::toned(Tone::Bad, one_line(error)));
    let word = one_line(status).replace('_', " ");
    let footer = match status {
        "completed" => Line::toned(Tone::Good, word),
        "failed" | "timed_out" => Line::toned(Tone::Bad, format!("✗ {word}")),
        _ => Line::new().dim(word),
    };
    (reply.into_iter().chain(error).collect(), Some(footer.dim(changes(&record["diffstat"]))))
}

/// ` · +3 −1 in 2 files`
fn changes(diffstat: &Value) -> String {
    let number = |name: &str| diffstat[name].as_u64().unwrap_or(0);
    match usize::try_from(number("files")) {
        Ok(files @ 1..) => {
            format!(" · +{} −{} in {}", number("insertions"), number("deletions"), count(files, "file"))
        }
        Ok(0) | Err(_) => String::new(),
    }
}

/// One of the agents that were waited for: a word, or a word with the reply.
fn awaited(id: &str, state: &Value) -> Vec<Line> {
    let (word, reply) = match state.as_object().and_then(|state| state.iter().next()) {
        Some((word, reply)) => (word.as_str(), reply.as_str().unwrap_or_default()),
        None => (state.as_str().unwrap_or_default(), ""),
    };
    let head = Line::new().strong(one_line(id)).plain(format!(" {}", one_line(word).replace('_', " ")));
    std::iter::once(head).chain(text(reply)).collect()
}

/// A reply between the tags that the `task` tool puts around it.
fn untagged(output: &str) -> &str {
    let whole = output.trim();
    let inner = || {
        let (head, rest) = whole.strip_prefix("<task_")?.split_once(">\n")?;
        let name = head.split_whitespace().next()?;
        rest.strip_suffix(&format!("\n</task_{name}>"))
    };
    inner().unwrap_or(whole)
}
