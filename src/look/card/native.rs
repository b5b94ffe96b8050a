//! The own tools of the agents, by their names or by the kind that a backend tells. What the input does not say is
//! read from the title, because some agents tell nothing else.

use serde_json::Value;

use super::call::{Call, Shape, Told};
use super::change::Piece;
use crate::look::line::columns_of;
use crate::look::status::count;

/// Words before the object of a title.
const TITLE_VERBS: &[&str] =
    &["read ", "look at ", "edit ", "write ", "writing to ", "append to ", "delete ", "move ", "run ", "fetch "];

pub(super) fn read(name: &str, told: Told<'_>) -> Option<Call> {
    let input = told.input;
    Some(match name {
        "execute" | "Bash" | "bash" | "command_execution" | "run_shell_command" | "shell" => command("Bash", told),
        // A command that only reads is a command all the same.
        "read" | "search" if input.command().is_some() => command("Bash", told),
        "read" | "Read" | "NotebookRead" => reading(told),
        "edit" | "Edit" | "MultiEdit" | "NotebookEdit" | "replace" | "file_change" => changing(told),
        "write" | "Write" => writing(told),
        "delete" | "Delete" => Call::new("Delete", object(told), Shape::Confirmed),
        "move" | "Move" => Call::new("Move", object(told), Shape::Confirmed),
        "list" | "LS" | "list_directory" => Call::new("List", told.path().unwrap_or(told.title), Shape::Entries),
        "search" => searching(told),
        "Glob" => glob(told),
        "Grep" | "grep_search" | "search_file_content" => grep(told),
        "fetch" | "web_fetch" | "WebFetch" => fetching(told),
        "web_search" | "WebSearch" | "google_web_search" => web_search(told),
        "think" | "Think" => Call::new("Think", told.title, Shape::Text),
        "TodoWrite" | "todo_write" | "write_todos" => {
            let steps = input.items(&["todos", "entries"]).map(|steps| count(steps.len(), "step"));
            Call::maybe("Todo", steps, Shape::Confirmed)
        }
        "Task" | "Agent" | "agent" | "task" | "delegate" | "spawn_agent" => delegating(told),
        "question" | "AskUserQuestion" => Call::maybe("Ask", question(told), Shape::Text),
        "Skill" | "skill" => Call::maybe("Skill", skill(told), Shape::Text),
        _ if name.starts_with("Skill ") => Call::maybe("Skill", input.text(&["skill"]), Shape::Text),
        _ => return None,
    })
}

pub(super) fn command(verb: &str, told: Told<'_>) -> Call {
    match told.input.command() {
        Some(command) => Call::new(verb, command.clone(), Shape::Command(Some(command))),
        None => Call::new(verb, object(told), Shape::Command(None)),
    }
}

pub(super) fn reading(told: Told<'_>) -> Call {
    let place = object(told);
    let [offset, limit] = [&["offset"], &["limit"]].map(|names| told.input.number(names));
    let place = match (offset, limit) {
        (None, None) => place,
        (Some(offset), None) => format!("{place} @ L{offset}"),
        (offset, Some(limit)) => format!("{place} @ L{}+{limit}", offset.unwrap_or(1)),
    };
    Call::new("Read", place, Shape::Read)
}

pub(super) fn writing(told: Told<'_>) -> Call {
    let bytes = told.input.text(&["content", "new_source"]).map(str::len);
    Call::new("Write", object(told), Shape::Written(bytes))
}

/// Some part of a file, or all of it: the kind is the same, the call is not.
fn changing(told: Told<'_>) -> Call {
    let starts = |word: &str| told.title.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let is_whole = told.input.text(&["content"]).is_some() || starts("write ") || starts("writing to ");
    match (is_whole, starts("delete ")) {
        (true, _) => writing(told),
        (false, true) => Call::new("Delete", object(told), Shape::Confirmed),
        (false, false) => editing(told),
    }
}

pub(super) fn editing(told: Told<'_>) -> Call {
    let input = told.input;
    let pieces: Vec<Piece> = match input.items(&["edits"]) {
        Some(edits) => edits.iter().filter_map(piece).collect(),
        None => input.0.and_then(piece).into_iter().collect(),
    };
    // `path: old words => other words`, from agents that tell no input.
    let titled = told.title.split_once(": ").filter(|(_, words)| words.contains(" => ")).map(|(path, _)| path);
    let place = match titled.filter(|_| told.path().is_none()) {
        Some(path) => path.to_owned(),
        None => object(told),
    };
    let is_all = input.is_set(&["replace_all", "all"]) || input.text(&["mode", "scope"]) == Some("all");
    let scope = match (is_all, pieces.len()) {
        (true, _) => ", all",
        (false, 1) => ", single",
        (false, _) => "",
    };
    Call::new("Edit", format!("{place}{scope}"), Shape::Change { path: place, pieces })
}

fn piece(edit: &Value) -> Option<Piece> {
    let text = |names: [&str; 2]| names.iter().find_map(|name| edit[*name].as_str());
    let (old, new) = (text(["old_string", "old"]), text(["new_string", "new"]));
    (old.is_some() || new.is_some()).then(|| Piece::swap(old.unwrap_or_default(), new.unwrap_or_default()))
}

/// Names of files, or words in them: only the pattern tells which.
fn searching(told: Told<'_>) -> Call {
    let Some(pattern) = pattern(told) else { return Call::new("List", object(told), Shape::Entries) };
    let is_glob = pattern.starts_with('*') || pattern.contains("/*") || pattern.contains("**");
    let has_own = told.input.text(&["output_mode", "glob", "type"]).is_some();
    if is_glob && !has_own { glob(told) } else { grep(told) }
}

pub(super) fn glob(told: Told<'_>) -> Call {
    let argument = pattern(told).map(|pattern| match root(told) {
        Some(root) => format!("{pattern} in {root}"),
        None => pattern.to_owned(),
    });
    Call::maybe("Glob", argument, Shape::Matches)
}

pub(super) fn grep(told: Told<'_>) -> Call {
    let argument = pattern(told).map(|pattern| format!("\"{pattern}\" in {}", root(told).unwrap_or(".")));
    Call::maybe("Grep", argument, Shape::Matches)
}

/// The pattern, from the input or from a title such as `'words' within src`.
fn pattern(told: Told<'_>) -> Option<&str> {
    let quoted = || {
        let inner = told.title.strip_prefix('\'')?;
        let end = inner.rfind("' ").or_else(|| inner.rfind('\''))?;
        Some(&inner[..end]).filter(|pattern| !pattern.is_empty())
    };
    told.input.text(&["pattern", "query", "regex"]).or_else(quoted)
}

fn root(told: Told<'_>) -> Option<&str> {
    let titled = || told.title.strip_prefix('\'')?.rsplit_once(" within ").map(|(_, root)| root);
    // Served tools and agents do not agree on what the place of a search is called.
    told.input.text(&["cwd", "root"]).or_else(|| told.path()).or_else(titled)
}

pub(super) fn fetching(told: Told<'_>) -> Call {
    match told.input.text(&["url"]) {
        Some(url) => Call::new("Fetch", url, Shape::Fetched),
        None if told.input.text(&["query"]).is_some() => web_search(told),
        None => Call::new("Fetch", object(told), Shape::Fetched),
    }
}

fn web_search(told: Told<'_>) -> Call {
    Call::maybe("Search", told.input.text(&["query"]).map(|query| format!("\"{query}\"")), Shape::Text)
}

fn delegating(told: Told<'_>) -> Call {
    let input = told.input;
    let agent = input.text(&["agent_id", "subagent_type", "agentType", "agent_type"]);
    let whole = input.text(&["task", "prompt", "message"]).map(str::to_owned);
    let task = input.text(&["description", "task", "prompt", "message"]);
    let task = task.and_then(|task| task.lines().find(|line| !line.trim().is_empty()));
    let argument = match (agent, task) {
        (Some(agent), Some(task)) => Some(format!("{agent}: {task}")),
        (agent, task) => agent.or(task).map(str::to_owned),
    };
    Call::maybe("Delegate", argument, Shape::Delegated(whole))
}

fn skill(told: Told<'_>) -> Option<String> {
    let name = told.input.text(&["skill", "name"])?;
    let section = told.input.text(&["section"]).map(|section| format!(": {section}")).unwrap_or_default();
    Some(format!("{name}{section}"))
}

fn question(told: Told<'_>) -> Option<&str> {
    let first = told.input.items(&["questions"]).and_then(|questions| questions.first()?["question"].as_str());
    told.input.text(&["question", "text"]).or(first)
}

/// What a call is about: its files, or what its title says behind the verb.
pub(super) fn object(told: Told<'_>) -> String {
    if let Some(paths) = told.input.texts(&["paths", "files"]).filter(|paths| !paths.is_empty()) {
        let names = paths.join(", ");
        // More names than fit on a row say less than their number.
        return if paths.len() > 1 && columns_of(&names) > 60 { count(paths.len(), "file") } else { names };
    }
    if let Some(path) = told.path() {
        return path.to_owned();
    }
    let verb = |verb: &&&str| told.title.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb));
    let rest = TITLE_VERBS.iter().find(verb).map_or(told.title, |verb| &told.title[verb.len()..]);
    match rest.trim().trim_matches('`') {
        "" => "…".to_owned(),
        rest => rest.to_owned(),
    }
}
