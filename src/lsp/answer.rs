//! What servers answer, read: each answer has several shapes, and what fits none is left out.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::position::Range;
use super::uri;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    pub path: PathBuf,
    pub range: Range,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub kind: &'static str,
    pub path: PathBuf,
    /// From zero; none where the server knows only the file.
    pub line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub range: Range,
    /// From 1, an error, to 4, a hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub message: String,
    /// What the server wants back with a question about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// How a place uses what is named there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Unknown,
    Read,
    Write,
}

/// One function of a call hierarchy.
#[derive(Debug, Clone, PartialEq)]
pub struct Callable {
    pub name: String,
    pub kind: &'static str,
    pub location: Location,
    /// The item as the server knows it.
    pub raw: Value,
}

/// A change that a server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    pub title: String,
    pub kind: Option<String>,
    pub is_preferred: bool,
    pub edit: Option<Value>,
    pub has_command: bool,
    pub raw: Value,
}

/// One place, several, or links to them.
pub fn locations(answer: &Value) -> Vec<Location> {
    let location = |value: &Value| {
        let linked = value.get("targetUri").map(|uri| (uri, value.get("targetSelectionRange")));
        let (uri, range) = linked.or_else(|| Some((value.get("uri")?, value.get("range"))))?;
        Some(Location { path: uri::path(uri.as_str()?)?, range: Range::deserialize(range?).ok()? })
    };
    each(answer).filter_map(location).collect()
}

pub fn symbols(answer: &Value) -> Vec<Symbol> {
    let symbol = |value: &Value| {
        let place = value.get("location")?;
        let range = place.get("range").and_then(|range| Range::deserialize(range).ok());
        Some(Symbol {
            name: value.get("name")?.as_str()?.to_owned(),
            kind: kind(value),
            path: uri::path(place.get("uri")?.as_str()?)?,
            line: range.map(|range| range.start.line),
        })
    };
    each(answer).filter_map(symbol).collect()
}

pub fn diagnostics(list: &Value) -> Vec<Diagnostic> {
    each(list).filter_map(|value| Diagnostic::deserialize(value).ok()).collect()
}

/// The diagnostics of a report that was asked for; none when it says only that nothing changed.
pub fn report(answer: &Value) -> Option<Vec<Diagnostic>> {
    answer.get("items").map(diagnostics)
}

pub fn highlights(answer: &Value) -> Vec<(Range, Use)> {
    let highlight = |value: &Value| {
        let used = match value.get("kind").and_then(Value::as_u64) {
            Some(2) => Use::Read,
            Some(3) => Use::Write,
            Some(_) | None => Use::Unknown,
        };
        Some((Range::deserialize(value.get("range")?).ok()?, used))
    };
    each(answer).filter_map(highlight).collect()
}

pub fn callables(answer: &Value) -> Vec<Callable> {
    each(answer).filter_map(callable).collect()
}

/// The other ends of calls: `end` is `from` for those who call and `to` for those who are called.
pub fn calls(answer: &Value, end: &str) -> Vec<Callable> {
    each(answer).filter_map(|call| callable(call.get(end)?)).collect()
}

fn callable(value: &Value) -> Option<Callable> {
    let range = value.get("selectionRange").or_else(|| value.get("range"))?;
    Some(Callable {
        name: value.get("name")?.as_str()?.to_owned(),
        kind: kind(value),
        location: Location { path: uri::path(value.get("uri")?.as_str()?)?, range: Range::deserialize(range).ok()? },
        raw: value.clone(),
    })
}

/// The actions that can be chosen. One that the server only shows as disabled is none.
pub fn actions(answer: &Value) -> Vec<Action> {
    each(answer).filter(|value| value.get("disabled").is_none_or(Value::is_null)).filter_map(action).collect()
}

pub fn action(value: &Value) -> Option<Action> {
    Some(Action {
        title: value.get("title")?.as_str()?.to_owned(),
        kind: value.get("kind").and_then(Value::as_str).map(str::to_owned),
        is_preferred: value.get("isPreferred").and_then(Value::as_bool).unwrap_or_default(),
        edit: value.get("edit").filter(|edit| !edit.is_null()).cloned(),
        has_command: value.get("command").is_some_and(|command| !command.is_null()),
        raw: value.clone(),
    })
}

/// The elements of a list; one value is a list of one, and `null` of none.
fn each(answer: &Value) -> impl Iterator<Item = &Value> {
    match answer {
        Value::Null => [].iter(),
        Value::Array(values) => values.iter(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => std::slice::from_ref(answer).iter(),
    }
}

fn kind(value: &Value) -> &'static str {
    let number = value.get("kind").and_then(Value::as_u64).unwrap_or_default();
    let at = usize::try_from(number).unwrap_or_default().checked_sub(1);
    at.and_then(|at| KINDS.get(at)).copied().unwrap_or("symbol")
}

/// The kinds of symbols, by their numbers from one.
const KINDS: &[&str] = &[
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum member",
    "struct",
    "event",
    "operator",
    "type parameter",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn range(line: u32) -> Value {
        json!({ "start": { "line": line, "character": 1 }, "end": { "line": line, "character": 3 } })
    }

    #[test]
    fn places_come_alone_in_lists_and_as_links() {
        let lines = |answer: Value| locations(&answer).iter().map(|found| found.range.start.line).collect::<Vec<_>>();
        let plain = json!({ "uri": "file:///a", "range": range(1) });
        let link = json!({ "targetUri": "file:///b", "targetRange": range(9), "targetSelectionRange": range(2) });
        assert!(lines(Value::Null).is_empty());
        assert_eq!(lines(plain.clone()), [1]);
        assert_eq!(lines(json!([plain, link, { "uri": "zip:/x", "range": range(3) }, 7, {}])), [1, 2]);
    }

    #[test]
    fn symbols_have_names_for_their_kinds() {
        let symbol = |kind: Value, range: Value| json!({ "name": "n", "kind": kind, "location": { "uri": "file:///a", "range": range } });
        let found = symbols(&json!([
            symbol(json!(1), range(4)),
            symbol(json!(26), range(5)),
            symbol(json!(27), Value::Null),
            symbol(json!("x"), range(0)),
            { "name": "n", "kind": 5 },
        ]));
        let told: Vec<_> = found.iter().map(|symbol| (symbol.kind, symbol.line)).collect();
        assert_eq!(told, [("file", Some(4)), ("type parameter", Some(5)), ("symbol", None), ("symbol", Some(0))]);
    }

    #[test]
    fn actions_that_cannot_be_chosen_are_left_out() {
        let found = actions(&json!([
            { "title": "a", "kind": "quickfix", "isPreferred": true, "edit": {} },
            { "title": "b", "command": "run" },
            { "title": "c", "disabled": { "reason": "no" } },
        ]));
        let told: Vec<_> = found.iter().map(|a| (a.title.as_str(), a.edit.is_some(), a.has_command)).collect();
        assert_eq!(told, [("a", true, false), ("b", false, true)]);
    }

    #[test]
    fn a_report_without_changes_has_no_list() {
        assert_eq!(report(&json!({ "kind": "unchanged", "resultId": "1" })), None);
        let one = json!({ "kind": "full", "items": [{ "range": range(1), "message": "m" }, { "message": "nowhere" }] });
        assert_eq!(report(&one).unwrap().len(), 1);
    }
}
