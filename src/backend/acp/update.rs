//! `session/update`: one notification in, one normalised update out. Pure; what is unknown is `Ignored`.

use serde_json::Value;

use crate::backend::event::{ContextUse, PlanEntry, PlanStatus, ToolKind, ToolStatus, Usage};

/// One update of a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update {
    Message(String),
    Thought(String),
    Tool(ToolUpdate),
    Plan(Vec<PlanEntry>),
    Usage(Usage),
    /// The agent lists its slash commands: the end of what it says by itself after a session opened.
    Commands,
    Ignored,
}

/// What one message says about a tool call; absent members stay as they were.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ToolUpdate {
    pub(crate) call: String,
    pub(crate) title: Option<String>,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) input: Option<Value>,
    /// `None` while the call runs or waits.
    pub(crate) finished: Option<ToolStatus>,
    /// The whole output so far, not a piece of it.
    pub(crate) output: Option<String>,
}

/// Reads the `update` member of a notification.
pub(crate) fn read(update: &Value) -> Update {
    match update["sessionUpdate"].as_str().unwrap_or_default() {
        "agent_message_chunk" => match content_text(&update["content"]) {
            Some(text) if !is_mode_notice(&text) => Update::Message(text),
            Some(_) | None => Update::Ignored,
        },
        "agent_thought_chunk" => content_text(&update["content"]).map_or(Update::Ignored, Update::Thought),
        "tool_call" | "tool_call_update" if update["toolCallId"].is_string() => Update::Tool(read_tool(update)),
        "plan" => Update::Plan(read_plan(&update["entries"])),
        "usage_update" => Update::Usage(read_usage_update(update)),
        "available_commands_update" => Update::Commands,
        _ => Update::Ignored,
    }
}

/// Reads a tool call, from an update or from inside a permission request.
pub(crate) fn read_tool(tool: &Value) -> ToolUpdate {
    ToolUpdate {
        call: tool["toolCallId"].as_str().unwrap_or_default().to_owned(),
        title: tool["title"].as_str().filter(|title| !title.is_empty()).map(str::to_owned),
        kind: tool["kind"].as_str().map(read_kind),
        input: Some(&tool["rawInput"]).filter(|input| !input.is_null()).cloned(),
        finished: match tool["status"].as_str() {
            Some("completed") => Some(ToolStatus::Completed),
            Some("failed") => Some(ToolStatus::Failed),
            Some(_) | None => None,
        },
        output: read_output(tool),
    }
}

/// What the reply to `session/prompt` says about tokens: the shape of Gemini, or that of newer agents.
pub(crate) fn read_usage(result: &Value) -> Option<Usage> {
    let quota = &result["_meta"]["quota"]["token_count"];
    let usage = &result["usage"];
    let count = |old: &str, new: &str| quota[old].as_u64().or_else(|| usage[new].as_u64());
    let input_tokens = count("input_tokens", "inputTokens");
    let output_tokens = count("output_tokens", "outputTokens");
    (input_tokens.is_some() || output_tokens.is_some()).then(|| Usage {
        input_tokens,
        output_tokens,
        ..Usage::default()
    })
}

/// Gemini reports a change of mode inside the message text, where it would spoil the response.
fn is_mode_notice(text: &str) -> bool {
    let mode = text.strip_prefix("[MODE_UPDATE] ");
    mode.is_some_and(|mode| !mode.is_empty() && mode.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

fn content_text(content: &Value) -> Option<String> {
    content["text"].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

pub(crate) fn read_kind(kind: &str) -> ToolKind {
    match kind {
        "read" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "delete" => ToolKind::Delete,
        "move" => ToolKind::Move,
        "search" => ToolKind::Search,
        "execute" => ToolKind::Execute,
        "think" => ToolKind::Think,
        "fetch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// The content of a call as text; some agents put it into `rawOutput` instead.
fn read_output(tool: &Value) -> Option<String> {
    let content = tool["content"].as_array().map(|parts| {
        let texts: Vec<String> = parts.iter().filter_map(part_text).collect();
        texts.join("\n")
    });
    let raw = &tool["rawOutput"];
    let raw = raw.as_str().or_else(|| raw["output"].as_str()).or_else(|| raw["formatted_output"].as_str());
    match (content, raw) {
        (Some(text), _) if !text.is_empty() => Some(text),
        (_, Some(raw)) => Some(raw.to_owned()),
        (content, None) => content,
    }
}

fn part_text(part: &Value) -> Option<String> {
    match part["type"].as_str()? {
        "content" => content_text(&part["content"]),
        "diff" => Some(diff_text(
            part["path"].as_str()?,
            part["oldText"].as_str().unwrap_or_default(),
            part["newText"].as_str().unwrap_or_default(),
        )),
        _ => None,
    }
}

/// The changed middle of a file as removed and added lines.
fn diff_text(path: &str, old: &str, new: &str) -> String {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let after = old[before..].iter().rev().zip(new[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    let removed = old[before..old.len() - after].iter().map(|line| format!("-{line}"));
    let added = new[before..new.len() - after].iter().map(|line| format!("+{line}"));
    let header = format!("{path}:{}", before + 1);
    std::iter::once(header).chain(removed).chain(added).collect::<Vec<_>>().join("\n")
}

fn read_plan(entries: &Value) -> Vec<PlanEntry> {
    let entries = entries.as_array().into_iter().flatten();
    let read = |entry: &Value| {
        let status = match entry["status"].as_str() {
            Some("completed") => PlanStatus::Completed,
            Some("in_progress") => PlanStatus::InProgress,
            Some(_) | None => PlanStatus::Pending,
        };
        Some(PlanEntry { text: entry["content"].as_str()?.to_owned(), status })
    };
    entries.filter_map(read).collect()
}

fn read_usage_update(update: &Value) -> Usage {
    let context = update["used"].as_u64().zip(update["size"].as_u64());
    let cost = &update["cost"];
    Usage {
        cost_usd: cost["amount"].as_f64().filter(|_| cost["currency"].as_str() == Some("USD")),
        context: context.map(|(used, size)| ContextUse { used, size }),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(update: Value, expected: Update) {
        assert_eq!(read(&update), expected);
    }

    fn chunk(kind: &str, text: &str) -> Value {
        json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn text_comes_through_and_mode_notices_do_not() {
        check(chunk("agent_message_chunk", "Hello "), Update::Message("Hello ".to_owned()));
        check(chunk("agent_thought_chunk", "hm"), Update::Thought("hm".to_owned()));
        check(chunk("agent_message_chunk", "[MODE_UPDATE] autoEdit"), Update::Ignored);
        check(
            chunk("agent_message_chunk", "[MODE_UPDATE] is a notice"),
            Update::Message("[MODE_UPDATE] is a notice".to_owned()),
        );
    }

    #[test]
    fn the_unknown_is_ignored() {
        check(chunk("user_message_chunk", "mine"), Update::Ignored);
        check(chunk("from_the_future", "x"), Update::Ignored);
        check(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": ""}}),
            Update::Ignored,
        );
        check(json!({"sessionUpdate": "tool_call"}), Update::Ignored);
        check(json!("odd"), Update::Ignored);
        check(Value::Null, Update::Ignored);
    }

    #[test]
    fn a_tool_call_tells_what_it_knows() {
        check(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "status": "in_progress", "title": "ls", "kind": "execute",
                   "rawInput": {"command": "ls"}, "content": [], "locations": []}),
            Update::Tool(ToolUpdate {
                call: "c".to_owned(),
                title: Some("ls".to_owned()),
                kind: Some(ToolKind::Execute),
                input: Some(json!({"command": "ls"})),
                finished: None,
                output: Some(String::new()),
            }),
        );
        check(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed", "kind": "odd",
                   "rawOutput": {"output": "no"}}),
            Update::Tool(ToolUpdate {
                call: "c".to_owned(),
                kind: Some(ToolKind::Other),
                finished: Some(ToolStatus::Failed),
                output: Some("no".to_owned()),
                ..ToolUpdate::default()
            }),
        );
    }

    #[test]
    fn a_diff_shows_its_changed_middle() {
        assert_eq!(diff_text("a", "one\ntwo\nthree\n", "one\nTWO\n2\nthree\n"), "a:2\n-two\n+TWO\n+2");
        assert_eq!(diff_text("a", "", "x\n"), "a:1\n+x");
        assert_eq!(diff_text("a", "x\nx\n", "x\n"), "a:2\n-x");
        assert_eq!(diff_text("a", "same", "same"), "a:2");
    }

    #[test]
    fn plans_and_usage_are_normalised() {
        let entry = |text: &str, status| PlanEntry { text: text.to_owned(), status };
        check(
            json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "completed", "priority": "high"},
                   {"content": "b", "status": "in_progress"}, {"content": "c"}, {"odd": 1}]}),
            Update::Plan(vec![
                entry("a", PlanStatus::Completed),
                entry("b", PlanStatus::InProgress),
                entry("c", PlanStatus::Pending),
            ]),
        );
        check(
            json!({"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": {"amount": 0.5, "currency": "USD"}}),
            Update::Usage(Usage {
                cost_usd: Some(0.5),
                context: Some(ContextUse { used: 5, size: 9 }),
                ..Usage::default()
            }),
        );
        let tokens = |input, output| Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
        let quota = json!({"_meta": {"quota": {"token_count": {"input_tokens": 1, "output_tokens": 2}}}});
        assert_eq!(read_usage(&quota), Some(tokens(Some(1), Some(2))));
        let usage = json!({"usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}});
        assert_eq!(read_usage(&usage), Some(tokens(Some(3), Some(4))));
        assert_eq!(read_usage(&json!({"stopReason": "end_turn"})), None);
    }
}
