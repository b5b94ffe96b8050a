//! The items of a turn: what the agent did, one JSON object each. Pure; what is unknown has no shape.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::backend::codex::text::script;
use crate::backend::codex::tool_name::from_codex;
use crate::backend::event::{ToolCall, ToolKind, ToolStatus};
use crate::backend::output::bounded;

/// What an item is to the owner of the conversation.
#[derive(Debug, PartialEq)]
pub(super) enum Item {
    Message,
    Tool(ToolCall),
    /// The prompt itself, a thought (it comes as deltas), or something from the future.
    Silent,
}

/// Reads an item as it begins.
pub(super) fn read(item: &Value, cwd: &Path) -> Item {
    let tool = |title: String, kind, input: Value| {
        Item::Tool(ToolCall { call: text(&item["id"]), title, kind, input: Some(input).filter(|v| !v.is_null()) })
    };
    match item["type"].as_str().unwrap_or_default() {
        "agentMessage" => Item::Message,
        "commandExecution" => {
            let command = script(item["command"].as_str().unwrap_or_default());
            let input = json!({"command": command, "cwd": item["cwd"]});
            tool(command, action_kind(&item["commandActions"]), input)
        }
        "fileChange" => {
            let paths = changed_paths(item);
            let names: Vec<_> = paths.iter().map(|path| shown(path, cwd)).collect();
            tool(format!("edit {}", names.join(", ")), change_kind(item), json!({"paths": names}))
        }
        "mcpToolCall" => {
            let title = format!("{}.{}", text(&item["server"]), text(&item["tool"]));
            tool(title, ToolKind::Other, item["arguments"].clone())
        }
        "dynamicToolCall" => tool(from_codex(&text(&item["tool"])), ToolKind::Other, item["arguments"].clone()),
        "webSearch" => {
            tool(format!("search the web: {}", text(&item["query"])), ToolKind::Fetch, json!({"query": item["query"]}))
        }
        "imageView" => {
            let path = PathBuf::from(text(&item["path"]));
            tool(format!("look at {}", shown(&path, cwd)), ToolKind::Read, json!({"path": path}))
        }
        "imageGeneration" => tool("draw an image".to_owned(), ToolKind::Other, Value::Null),
        "contextCompaction" => tool("compact the conversation".to_owned(), ToolKind::Think, Value::Null),
        "collabAgentToolCall" => tool(format!("agent: {}", text(&item["tool"])), ToolKind::Other, Value::Null),
        "sleep" => tool("wait".to_owned(), ToolKind::Other, Value::Null),
        _ => Item::Silent,
    }
}

/// How a tool's item ended, and its whole output.
pub(super) fn read_end(item: &Value) -> (ToolStatus, String) {
    let status = match item["status"].as_str() {
        Some("failed" | "declined") => ToolStatus::Failed,
        // Some items have no status: that they ended is all there is to know.
        Some(_) | None => ToolStatus::Completed,
    };
    let output = match item["type"].as_str().unwrap_or_default() {
        "commandExecution" => match (&item["aggregatedOutput"], item["status"].as_str()) {
            (_, Some("declined")) => "declined".to_owned(),
            (output, _) => bounded(output.as_str().unwrap_or_default()) + &exit_mark(item),
        },
        "fileChange" => diff(item),
        "mcpToolCall" => match item["error"]["message"].as_str() {
            Some(message) => bounded(message),
            None => contents(&item["result"]["content"]),
        },
        "dynamicToolCall" => contents(&item["contentItems"]),
        _ => String::new(),
    };
    (status, output)
}

/// How a command failed; the agent keeps it out of the output.
fn exit_mark(item: &Value) -> String {
    match item["exitCode"].as_i64() {
        Some(0) | None => String::new(),
        Some(code) => format!("[exit status: {code}]"),
    }
}

/// Whether the item is a command, which may outlive its turn.
pub(super) fn is_command(item: &Value) -> bool {
    item["type"] == "commandExecution"
}

/// The files that a patch touches, moved ones under both names.
pub(super) fn changed_paths(item: &Value) -> Vec<PathBuf> {
    let changes = item["changes"].as_array().into_iter().flatten();
    let both =
        |change: &Value| [change["path"].as_str(), change["kind"]["move_path"].as_str()].map(|p| p.map(Into::into));
    changes.flat_map(both).flatten().collect()
}

/// A patch as text. An added file has no diff, only its content.
pub(super) fn diff(item: &Value) -> String {
    let changes = item["changes"].as_array().into_iter().flatten();
    let parts = changes.map(|change| {
        let mark = match change["kind"]["type"].as_str() {
            Some("add") => "+",
            Some("delete") => "-",
            Some(_) | None => "",
        };
        let body = change["diff"].as_str().unwrap_or_default();
        let lines: Vec<String> = body.lines().map(|line| format!("{mark}{line}")).collect();
        format!("{}\n{}", text(&change["path"]), lines.join("\n"))
    });
    bounded(&parts.collect::<Vec<_>>().join("\n"))
}

/// What a command does, as far as the agent could parse it.
fn action_kind(actions: &Value) -> ToolKind {
    let kinds = actions.as_array().into_iter().flatten().map(|action| action["type"].as_str());
    let mut kinds = kinds.map(|kind| match kind {
        Some("read") => ToolKind::Read,
        Some("search" | "listFiles") => ToolKind::Search,
        Some(_) | None => ToolKind::Execute,
    });
    let first = kinds.next().unwrap_or(ToolKind::Execute);
    if kinds.all(|kind| kind == first) { first } else { ToolKind::Execute }
}

fn change_kind(item: &Value) -> ToolKind {
    let mut changes = item["changes"].as_array().into_iter().flatten().peekable();
    let is_some = changes.peek().is_some();
    if is_some && changes.all(|change| change["kind"]["type"] == "delete") { ToolKind::Delete } else { ToolKind::Edit }
}

/// The text parts of a tool's result.
fn contents(parts: &Value) -> String {
    let texts = parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    bounded(&texts.collect::<Vec<_>>().join("\n"))
}

fn shown(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).to_string_lossy().into_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(item: Value, title: &str, kind: ToolKind) {
        let Item::Tool(call) = read(&item, Path::new("/tree")) else { panic!("no tool: {item}") };
        assert_eq!((call.title.as_str(), call.kind), (title, kind));
    }

    #[test]
    fn titles_are_for_people() {
        let command = |actions: Value| json!({"type": "commandExecution", "command": "/bin/bash -lc 'cat a; ls'", "commandActions": actions});
        check(command(json!([{"type": "read"}])), "cat a; ls", ToolKind::Read);
        check(command(json!([{"type": "search"}, {"type": "listFiles"}])), "cat a; ls", ToolKind::Search);
        check(command(json!([{"type": "read"}, {"type": "unknown"}])), "cat a; ls", ToolKind::Execute);
        check(command(json!(null)), "cat a; ls", ToolKind::Execute);
        let change = |changes: Value| json!({"type": "fileChange", "changes": changes});
        check(
            change(
                json!([{"path": "/tree/a.rs", "kind": {"type": "update", "move_path": "/tree/b.rs"}}, {"path": "/etc/x", "kind": {"type": "add"}}]),
            ),
            "edit a.rs, b.rs, /etc/x",
            ToolKind::Edit,
        );
        check(change(json!([{"path": "/tree/a.rs", "kind": {"type": "delete"}}])), "edit a.rs", ToolKind::Delete);
        check(change(json!([])), "edit ", ToolKind::Edit);
        check(json!({"type": "mcpToolCall", "server": "s", "tool": "t"}), "s.t", ToolKind::Other);
        check(json!({"type": "webSearch", "query": "rust"}), "search the web: rust", ToolKind::Fetch);
        check(json!({"type": "imageView", "path": "/tree/p.png"}), "look at p.png", ToolKind::Read);
        check(json!({"type": "contextCompaction"}), "compact the conversation", ToolKind::Think);
    }

    #[test]
    fn the_unknown_is_silent() {
        for item in [json!({"type": "fromTheFuture"}), json!({"type": "userMessage"}), json!(7), Value::Null] {
            assert_eq!(read(&item, Path::new("/")), Item::Silent);
        }
        assert_eq!(read(&json!({"type": "agentMessage"}), Path::new("/")), Item::Message);
    }

    #[test]
    fn an_end_carries_the_output() {
        let check =
            |item: Value, status, output: &str| assert_eq!(read_end(&item), (status, output.to_owned()), "{item}");
        let command = |status: &str, output: Value| json!({"type": "commandExecution", "status": status, "aggregatedOutput": output});
        check(command("completed", json!("hi\n")), ToolStatus::Completed, "hi\n");
        check(command("failed", json!("no\n")), ToolStatus::Failed, "no\n");
        check(command("declined", Value::Null), ToolStatus::Failed, "declined");
        let mut broken = command("failed", json!("no\n"));
        broken["exitCode"] = json!(3);
        check(broken, ToolStatus::Failed, "no\n[exit status: 3]");
        let mcp = json!({"type": "mcpToolCall", "status": "failed", "error": {"message": "timed out"}, "result": null});
        check(mcp, ToolStatus::Failed, "timed out");
        // An `isError` result has no error member.
        let refused =
            json!({"type": "mcpToolCall", "status": "failed", "error": null, "result": {"content": [{"text": "bad"}]}});
        check(refused, ToolStatus::Failed, "bad");
        check(
            json!({"type": "dynamicToolCall", "status": "completed", "contentItems": [{"text": "a"}, {"text": "b"}]}),
            ToolStatus::Completed,
            "a\nb",
        );
        check(json!({"type": "imageView"}), ToolStatus::Completed, "");
    }

    #[test]
    fn output_of_megabytes_is_bounded() {
        let item = json!({"type": "commandExecution", "status": "completed", "aggregatedOutput": "x".repeat(1 << 20)});
        assert!(read_end(&item).1.len() < 70_000);
    }

    #[test]
    fn an_added_file_reads_like_a_diff() {
        let item = json!({"changes": [{"path": "/t/a", "kind": {"type": "add"}, "diff": "one\ntwo\n"},
            {"path": "/t/b", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-x\n+y\n"}]});
        assert_eq!(diff(&item), "/t/a\n+one\n+two\n/t/b\n@@ -1 +1 @@\n-x\n+y");
    }
}
