//! The documents that a server was shown: what it has to be told so that it sees the text that is there.

use std::collections::HashMap;

use serde_json::{Value, json};

/// How many documents are open at a time; the one that was looked at longest ago is closed for another.
const OPEN: usize = 64;

#[derive(Default)]
pub(super) struct Documents {
    open: HashMap<String, Open>,
    /// Counts the looks, to know which was last.
    looks: u64,
}

struct Open {
    version: i64,
    text: String,
    looked: u64,
}

/// What a server is told.
pub(super) type Telling = (&'static str, Value);

/// A document that a server sees as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) version: i64,
    /// Whether the server has to look at it anew.
    pub(super) is_different: bool,
}

impl Documents {
    /// Shows a text, and says what the server is told for it.
    pub(super) fn show(&mut self, uri: &str, language: &str, text: String) -> (Shown, Vec<Telling>) {
        self.looks += 1;
        if let Some(open) = self.open.get_mut(uri) {
            open.looked = self.looks;
            if open.text == text {
                return (Shown { version: open.version, is_different: false }, Vec::new());
            }
            open.version += 1;
            let document = json!({ "uri": uri, "version": open.version });
            // A change without a range is the whole text.
            let change = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
            let save = json!({ "textDocument": { "uri": uri } });
            open.text = text;
            let shown = Shown { version: open.version, is_different: true };
            // What is shown is on the disk: some servers check a file only when it is saved.
            return (shown, vec![("textDocument/didChange", change), ("textDocument/didSave", save)]);
        }
        let mut tellings = Vec::new();
        if self.open.len() >= OPEN {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.looked).map(|(uri, _)| uri.clone());
            tellings.extend(oldest.and_then(|uri| self.close(&uri)));
        }
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        tellings.push(("textDocument/didOpen", json!({ "textDocument": document })));
        self.open.insert(uri.to_owned(), Open { version: 1, text, looked: self.looks });
        (Shown { version: 1, is_different: true }, tellings)
    }

    /// Closes a document; nothing is told about one that is not open.
    pub(super) fn close(&mut self, uri: &str) -> Option<Telling> {
        self.open.remove(uri)?;
        Some(("textDocument/didClose", json!({ "textDocument": { "uri": uri } })))
    }

    /// The documents that are open, by their URIs.
    pub(super) fn open(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }

    pub(super) fn version(&self, uri: &str) -> Option<i64> {
        self.open.get(uri).map(|open| open.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tellings: &[Telling]) -> Vec<&'static str> {
        tellings.iter().map(|(method, _)| *method).collect()
    }

    #[test]
    fn a_document_is_opened_once_and_changed_when_it_differs() {
        let mut documents = Documents::default();
        let (shown, tellings) = documents.show("file:///a", "rust", "1".to_owned());
        assert_eq!((shown, told(&tellings)), (Shown { version: 1, is_different: true }, vec!["textDocument/didOpen"]));
        let (shown, tellings) = documents.show("file:///a", "rust", "1".to_owned());
        assert_eq!((shown, told(&tellings)), (Shown { version: 1, is_different: false }, vec![]));
        let (shown, tellings) = documents.show("file:///a", "rust", "2".to_owned());
        assert_eq!(shown, Shown { version: 2, is_different: true });
        assert_eq!(told(&tellings), ["textDocument/didChange", "textDocument/didSave"]);
        assert_eq!(tellings[0].1["contentChanges"], json!([{ "text": "2" }]));
        assert_eq!(documents.version("file:///a"), Some(2));
        assert_eq!(documents.close("file:///a").map(|(method, _)| method), Some("textDocument/didClose"));
        assert_eq!(documents.close("file:///a"), None);
    }

    #[test]
    fn the_one_looked_at_longest_ago_is_closed_for_another() {
        let mut documents = Documents::default();
        for number in 0..OPEN {
            documents.show(&format!("file:///{number}"), "go", String::new());
        }
        documents.show("file:///0", "go", String::new());
        let (_, tellings) = documents.show("file:///another", "go", String::new());
        assert_eq!(told(&tellings), ["textDocument/didClose", "textDocument/didOpen"]);
        assert_eq!(tellings[0].1["textDocument"]["uri"], "file:///1");
        assert_eq!(documents.open().len(), OPEN);
    }
}
