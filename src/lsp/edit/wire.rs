//! Workspace edits as servers send them: `documentChanges` where there are some, else `changes`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::{Absent, Edit, EditError, Step, Taken, TextEdit};
use crate::lsp::uri;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceEdit {
    changes: Option<BTreeMap<String, Vec<TextEdit>>>,
    document_changes: Option<Vec<DocumentChange>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum DocumentChange {
    File(FileChange),
    Text(TextDocumentEdit),
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum FileChange {
    Create {
        uri: String,
        #[serde(default)]
        options: Options,
    },
    Rename {
        #[serde(rename = "oldUri")]
        from: String,
        #[serde(rename = "newUri")]
        to: String,
        #[serde(default)]
        options: Options,
    },
    Delete {
        uri: String,
        #[serde(default)]
        options: Options,
    },
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Options {
    overwrite: bool,
    ignore_if_exists: bool,
    ignore_if_not_exists: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextDocumentEdit {
    text_document: Identified,
    edits: Vec<TextEdit>,
}

#[derive(Deserialize)]
struct Identified {
    uri: String,
    version: Option<i64>,
}

pub(super) fn read(edit: &Value) -> Result<Edit, EditError> {
    let edit = WorkspaceEdit::deserialize(edit).map_err(|error| EditError::Shape(error.to_string()))?;
    let steps = match (edit.document_changes, edit.changes) {
        (Some(changes), _) => changes.into_iter().map(step).collect::<Result<_, _>>()?,
        (None, changes) => {
            let text = |(uri, edits): (String, _)| Ok(Step::Text { path: path(&uri)?, version: None, edits });
            changes.unwrap_or_default().into_iter().map(text).collect::<Result<_, EditError>>()?
        }
    };
    Ok(Edit { steps })
}

fn step(change: DocumentChange) -> Result<Step, EditError> {
    Ok(match change {
        DocumentChange::Text(TextDocumentEdit { text_document, edits }) => {
            Step::Text { path: path(&text_document.uri)?, version: text_document.version, edits }
        }
        DocumentChange::File(FileChange::Create { uri, options }) => {
            Step::Create { path: path(&uri)?, taken: options.taken() }
        }
        DocumentChange::File(FileChange::Rename { from, to, options }) => {
            Step::Rename { from: path(&from)?, to: path(&to)?, taken: options.taken() }
        }
        DocumentChange::File(FileChange::Delete { uri, options }) => {
            let absent = if options.ignore_if_not_exists { Absent::Ignore } else { Absent::Refuse };
            Step::Delete { path: path(&uri)?, absent }
        }
    })
}

impl Options {
    fn taken(&self) -> Taken {
        match (self.overwrite, self.ignore_if_exists) {
            (true, _) => Taken::Replace,
            (false, true) => Taken::Keep,
            (false, false) => Taken::Refuse,
        }
    }
}

fn path(uri: &str) -> Result<PathBuf, EditError> {
    uri::path(uri).ok_or_else(|| EditError::NoFile(uri.to_owned()))
}
