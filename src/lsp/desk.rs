//! What a client knows about its server from what the server says by itself, and what it answers to its questions.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::answer::{self, Diagnostic};
use super::uri;
use crate::mcp::jsonrpc::METHOD_NOT_FOUND;

/// How many files a server may publish diagnostics for; those that nobody opened go first.
const PUBLISHED: usize = 4096;

/// What the server has told so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Known {
    /// The last diagnostics of each document, by its URI.
    pub(super) published: HashMap<String, Published>,
    /// Work that has begun and not ended, by its token.
    pub(super) working: BTreeSet<String>,
    /// Whether there was ever any.
    pub(super) has_worked: bool,
    /// Methods that were registered after the start.
    pub(super) registered: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Published {
    pub(super) version: Option<i64>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// How often the server has spoken about the document since it was changed.
    pub(super) times: u64,
    /// Whether nothing changed anywhere since.
    pub(super) is_fresh: bool,
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

    /// The answer to a question of the server: a result, or the code and the words of a refusal.
    pub(super) fn asked(&mut self, method: &str, params: &Value) -> Result<Value, (i64, &'static str)> {
        match method {
            // We have no settings of our own; a server goes on with its defaults.
            "workspace/configuration" => {
                let items = params.get("items").and_then(Value::as_array).map_or(0, Vec::len);
                Ok(Value::Array(vec![Value::Null; items]))
            }
            "client/registerCapability" => {
                self.registered.extend(methods(params, "registrations"));
                Ok(Value::Null)
            }
            "client/unregisterCapability" => {
                // The misspelling is the protocol's.
                for method in methods(params, "unregisterations") {
                    self.registered.remove(&method);
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
        if self.published.len() >= PUBLISHED && !self.published.contains_key(&uri) {
            return;
        }
        let version = params.get("version").and_then(Value::as_i64);
        let diagnostics = params.get("diagnostics").map(answer::diagnostics).unwrap_or_default();
        let times = self.published.get(&uri).map_or(0, |earlier| earlier.times) + 1;
        self.published.insert(uri, Published { version, diagnostics, times, is_fresh: true });
    }

    fn on_progress(&mut self, params: &Value) {
        let Some(token) = params.get("token").map(Value::to_string) else { return };
        match params.pointer("/value/kind").and_then(Value::as_str) {
            Some("begin") => {
                self.has_worked = true;
                self.working.insert(token);
            }
            Some("end") => {
                self.working.remove(&token);
            }
            Some(_) | None => {}
        }
    }
}

fn methods(params: &Value, list: &str) -> Vec<String> {
    let list = params.get(list).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|one| one.get("method")?.as_str().map(str::to_owned)).collect()
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
        assert!(known.registered.contains("textDocument/rename"));
        let gone = json!({ "unregisterations": [{ "id": "1", "method": "textDocument/rename" }] });
        assert_eq!(known.asked("client/unregisterCapability", &gone), Ok(Value::Null));
        assert!(known.registered.is_empty());
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
