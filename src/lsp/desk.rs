//! What a client knows about its server from what the server says by itself, and what it answers to its questions.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::answer::{self, Diagnostic};
use super::uri;
use crate::mcp::jsonrpc::METHOD_NOT_FOUND;

/// How many files a server may publish diagnostics for; those that nobody opened go first.
const PUBLISHED: usize = 4096;

/// How many bytes all diagnostics together may have; what is beyond is not kept.
const PUBLISHED_BYTES: usize = 16 << 20;

/// How much work goes on at a time, how many methods are registered, and how many settings are asked for at once.
const MANY: usize = 1024;

/// The longest token, method or name of a document.
const LONGEST: usize = 4096;

/// What the server has told so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Known {
    /// The last diagnostics of each document, by its URI.
    pub(super) published: HashMap<String, Published>,
    /// Work that has begun and not ended, by its token.
    pub(super) working: BTreeSet<String>,
    /// Whether there was ever any.
    pub(super) has_worked: bool,
    /// Methods that were registered after the start, each with its id: some register one anew before they take it back.
    registered: BTreeSet<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Published {
    pub(super) version: Option<i64>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// How often the server has spoken about the document since it was changed.
    pub(super) times: u64,
    /// Whether nothing changed anywhere since.
    pub(super) is_fresh: bool,
    /// About how much the diagnostics take.
    bytes: usize,
}

impl Known {
    /// Takes in what the server tells without a question.
    pub(super) fn heard(&mut self, method: &str, params: &Value) {
        match method {
            "textDocument/publishDiagnostics" => self.on_diagnostics(params),
            "$/progress" => self.on_progress(params),
            _ => {}
        }
    }

    /// Whether a method was registered after the start.
    pub(super) fn has_registered(&self, method: &str) -> bool {
        self.registered.iter().any(|(known, _)| known == method)
    }

    /// How many registrations there are.
    pub(super) fn registrations(&self) -> usize {
        self.registered.len()
    }

    /// The answer to a question of the server: a result, or the code and the words of a refusal.
    pub(super) fn asked(&mut self, method: &str, params: &Value) -> Result<Value, (i64, &'static str)> {
        match method {
            // We have no settings of our own; a server goes on with its defaults.
            "workspace/configuration" => {
                let items = params.get("items").and_then(Value::as_array).map_or(0, Vec::len);
                Ok(Value::Array(vec![Value::Null; items.min(MANY)]))
            }
            "client/registerCapability" => {
                for (method, id) in registrations(params, "registrations") {
                    if method.len().max(id.len()) <= LONGEST && self.registered.len() < MANY {
                        self.registered.insert((method, id));
                    }
                }
                Ok(Value::Null)
            }
            "client/unregisterCapability" => {
                // The misspelling is the protocol's.
                for registration in registrations(params, "unregisterations") {
                    self.registered.remove(&registration);
                }
                Ok(Value::Null)
            }
            "workspace/applyEdit" => {
                Ok(json!({ "applied": false, "failureReason": "edits are made only where they were asked for" }))
            }
            "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => Ok(Value::Null),
            _ => Err((METHOD_NOT_FOUND, "this client does not do that")),
        }
    }

    /// A document has another text: what was said about it is about the old one, and what was said about others may be.
    pub(super) fn changed(&mut self, uri: &str) {
        self.published.remove(uri);
        self.files_changed();
    }

    /// Something is different somewhere: what was said about any document may be old.
    pub(super) fn files_changed(&mut self) {
        self.published.values_mut().for_each(|published| published.is_fresh = false);
    }

    fn on_diagnostics(&mut self, params: &Value) {
        let Some(uri) = params.get("uri").and_then(Value::as_str).map(uri::plain) else { return };
        if uri.len() > LONGEST || self.published.len() >= PUBLISHED && !self.published.contains_key(&uri) {
            return;
        }
        let version = params.get("version").and_then(Value::as_i64);
        let mut diagnostics = params.get("diagnostics").map(answer::diagnostics).unwrap_or_default();
        let times = self.published.get(&uri).map_or(0, |earlier| earlier.times) + 1;
        let others = self.published.iter().filter(|(known, _)| **known != uri);
        let room = PUBLISHED_BYTES.saturating_sub(others.map(|(_, published)| published.bytes).sum());
        let sizes = diagnostics.iter().scan(0, |sum, one| {
            *sum += size(one);
            Some(*sum)
        });
        let fitting: Vec<usize> = sizes.take_while(|sum| *sum <= room).collect();
        diagnostics.truncate(fitting.len());
        let bytes = fitting.last().copied().unwrap_or_default();
        self.published.insert(uri, Published { version, diagnostics, times, is_fresh: true, bytes });
    }

    fn on_progress(&mut self, params: &Value) {
        let Some(token) = params.get("token").map(Value::to_string) else { return };
        match params.pointer("/value/kind").and_then(Value::as_str) {
            Some("begin") => {
                self.has_worked = true;
                keep(&mut self.working, token);
            }
            Some("end") => {
                self.working.remove(&token);
            }
            Some(_) | None => {}
        }
    }
}

/// Keeps a word of the server, as long as it is not too long and there are not too many.
fn keep(words: &mut BTreeSet<String>, word: String) {
    if word.len() <= LONGEST && words.len() < MANY {
        words.insert(word);
    }
}

/// About how much a diagnostic takes.
fn size(diagnostic: &Diagnostic) -> usize {
    let Diagnostic { range: _, severity: _, code, source, message, data } = diagnostic;
    let value = |value: &Option<Value>| value.as_ref().map_or(0, weight);
    size_of::<Diagnostic>() + message.len() + source.as_ref().map_or(0, String::len) + value(code) + value(data)
}

fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| 2 * size_of::<String>() + name.len() + weight(value)).sum()
        }
    };
    size_of::<Value>() + inside
}

fn registrations(params: &Value, list: &str) -> Vec<(String, String)> {
    let list = params.get(list).and_then(Value::as_array).into_iter().flatten();
    let word = |one: &Value, name: &str| one.get(name).and_then(Value::as_str).map(str::to_owned);
    list.filter_map(|one| Some((word(one, "method")?, word(one, "id").unwrap_or_default()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_of_a_server_are_answered() {
        let mut known = Known::default();
        let mut asked = |method, params| known.asked(method, &params);
        assert_eq!(asked("workspace/configuration", json!({ "items": [{}, {}] })), Ok(json!([null, null])));
        assert_eq!(asked("window/workDoneProgress/create", json!({ "token": 1 })), Ok(Value::Null));
        let register = json!({ "registrations": [{ "id": "1", "method": "textDocument/rename" }] });
        assert_eq!(asked("client/registerCapability", register), Ok(Value::Null));
        let edit = asked("workspace/applyEdit", json!({ "edit": { "changes": {} } })).unwrap();
        assert_eq!(edit["applied"], false);
        assert_eq!(asked("workspace/execute", json!({})).unwrap_err().0, METHOD_NOT_FOUND);
        assert!(known.has_registered("textDocument/rename"));
        // Registered anew, it is there although the first is taken back.
        let again = json!({ "registrations": [{ "id": "2", "method": "textDocument/rename" }] });
        assert_eq!(known.asked("client/registerCapability", &again), Ok(Value::Null));
        for (id, is_left) in [("1", true), ("2", false)] {
            let gone = json!({ "unregisterations": [{ "id": id, "method": "textDocument/rename" }] });
            assert_eq!(known.asked("client/unregisterCapability", &gone), Ok(Value::Null));
            assert_eq!(known.has_registered("textDocument/rename"), is_left);
        }
    }

    #[test]
    fn what_a_server_tells_is_kept_up_to_a_bound() {
        let mut known = Known::default();
        for at in 0..=MANY {
            known.heard("$/progress", &json!({ "token": at, "value": { "kind": "begin" } }));
            let register =
                json!({ "registrations": [{ "method": format!("m{at}") }, { "method": "x".repeat(LONGEST + 1) }] });
            known.asked("client/registerCapability", &register).unwrap();
        }
        assert_eq!((known.working.len(), known.registered.len()), (MANY, MANY));
        let many = known.asked("workspace/configuration", &json!({ "items": vec![json!({}); MANY + 1] })).unwrap();
        assert_eq!(many.as_array().unwrap().len(), MANY);
        let place = json!({ "line": 0, "character": 0 });
        let one = json!({ "range": { "start": place, "end": place }, "message": "x".repeat(1 << 20), "data": ["y"] });
        let say = |uri: &str, count: usize| json!({ "uri": uri, "diagnostics": vec![one.clone(); count] });
        let count = |known: &Known, uri: &str| known.published[uri].diagnostics.len();
        for (uri, given, kept) in [
            ("file:///a", 10, 10),
            ("file:///b", 10, 5),
            ("file:///c", 1, 0),
            ("file:///a", 0, 0),
            ("file:///b", 20, 15),
        ] {
            known.heard("textDocument/publishDiagnostics", &say(uri, given));
            assert_eq!(count(&known, uri), kept, "{uri}");
        }
        let total: usize = known.published.values().map(|published| published.bytes).sum();
        assert!(total <= PUBLISHED_BYTES);
        known.heard("textDocument/publishDiagnostics", &say(&format!("file:///{}", "x".repeat(LONGEST)), 1));
        assert_eq!(known.published.len(), 3);
    }

    #[test]
    fn work_is_known_by_its_token() {
        let mut known = Known::default();
        for (token, kind, busy) in
            [(json!(1), "begin", 1), (json!("1"), "begin", 2), (json!(1), "report", 2), (json!(1), "end", 1)]
        {
            known.heard("$/progress", &json!({ "token": token, "value": { "kind": kind } }));
            assert_eq!(known.working.len(), busy);
        }
        assert!(known.has_worked);
    }

    #[test]
    fn diagnostics_are_of_the_text_that_is_there() {
        let mut known = Known::default();
        let say = json!({ "uri": "file:///a/@b", "version": 2, "diagnostics": [] });
        known.heard("textDocument/publishDiagnostics", &say);
        known.heard("textDocument/publishDiagnostics", &say);
        assert_eq!(known.published["file:///a/%40b"].times, 2);
        known.changed("file:///a/%40b");
        assert!(known.published.is_empty());
        known.heard("textDocument/publishDiagnostics", &json!({ "diagnostics": 7 }));
        known.heard("window/logMessage", &json!({}));
        assert_eq!(known, Known::default());
    }
}
