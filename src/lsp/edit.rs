//! Workspace edits: what a server would change, as new texts of whole files.
//!
//! Values in, values out: whoever has read the files before says what was in them, and writes what comes out or nothing.

#[cfg(test)]
mod tests;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::position::{Lines, Range};

/// Why an edit is not made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the server's edit cannot be read: {0}")]
    Shape(String),
    #[error("the edit reaches `{0}`, which is no file")]
    NoFile(String),
    #[error("the edit changes `{}`, which is not there", .0.display())]
    Missing(PathBuf),
    #[error("the edit would create `{}`, which is there", .0.display())]
    Exists(PathBuf),
    #[error("the edit is for version {edit} of `{}`, which is at {known}", path.display())]
    Stale { path: PathBuf, edit: i64, known: String },
    #[error("the edit of `{}` leaves its text at line {line}", path.display())]
    Outside { path: PathBuf, line: u32 },
    #[error("edits of `{}` overlap at line {line}", path.display())]
    Overlap { path: PathBuf, line: u32 },
}

/// What a server wants changed, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Text { path: PathBuf, version: Option<i64>, edits: Vec<TextEdit> },
    Create { path: PathBuf, taken: Taken },
    Rename { from: PathBuf, to: PathBuf, taken: Taken },
    Delete { path: PathBuf, absent: Absent },
}

/// What happens where a file is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Refuse,
    Keep,
    Replace,
}

/// What happens where the file is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absent {
    Refuse,
    Ignore,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    pub range: Range,
    pub new_text: String,
}

/// A file before an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub text: String,
    /// What the server calls this text; none where it reads the file itself.
    pub version: Option<i64>,
}

/// What an edit comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// The files that are different afterwards: their text, or nothing where they are gone.
    pub after: BTreeMap<PathBuf, Option<String>>,
    pub text_edits: usize,
    pub created: Vec<PathBuf>,
    pub renamed: Vec<(PathBuf, PathBuf)>,
    pub deleted: Vec<PathBuf>,
}

impl Edit {
    pub fn read(edit: &Value) -> Result<Self, EditError> {
        wire::read(edit)
    }

    /// Every file that the edit reaches.
    pub fn paths(&self) -> BTreeSet<&Path> {
        let reached = self.steps.iter().flat_map(|step| match step {
            Step::Text { path, .. } | Step::Create { path, .. } | Step::Delete { path, .. } => [Some(path), None],
            Step::Rename { from, to, .. } => [Some(from), Some(to)],
        });
        reached.flatten().map(PathBuf::as_path).collect()
    }

    /// Makes the edit on the files that are there before it.
    pub fn apply(&self, before: &BTreeMap<PathBuf, Document>) -> Result<Applied, EditError> {
        let mut work = Work { before, files: BTreeMap::new(), applied: Applied::default() };
        for step in &self.steps {
            work.take(step)?;
        }
        let Work { files, mut applied, .. } = work;
        let is_same = |path: &Path, text: &Option<String>| text.as_ref() == before.get(path).map(|was| &was.text);
        applied.after = files.into_iter().filter(|(path, text)| !is_same(path, text)).collect();
        Ok(applied)
    }
}

/// An edit that is being made.
struct Work<'a> {
    before: &'a BTreeMap<PathBuf, Document>,
    /// What became of the files so far.
    files: BTreeMap<PathBuf, Option<String>>,
    applied: Applied,
}

impl Work<'_> {
    fn text(&self, path: &Path) -> Option<&str> {
        match self.files.get(path) {
            Some(text) => text.as_deref(),
            None => self.before.get(path).map(|document| document.text.as_str()),
        }
    }

    fn take(&mut self, step: &Step) -> Result<(), EditError> {
        match step {
            Step::Text { path, version, edits } => {
                self.is_current(path, *version)?;
                let text = self.text(path).ok_or_else(|| EditError::Missing(path.clone()))?;
                let text = replaced(path, text, edits)?;
                self.applied.text_edits += edits.len();
                self.files.insert(path.clone(), Some(text));
            }
            Step::Create { path, taken } => match (self.text(path).is_some(), taken) {
                (true, Taken::Refuse) => return Err(EditError::Exists(path.clone())),
                (true, Taken::Keep) => {}
                (true, Taken::Replace) | (false, Taken::Refuse | Taken::Keep | Taken::Replace) => {
                    self.files.insert(path.clone(), Some(String::new()));
                    self.applied.created.push(path.clone());
                }
            },
            Step::Rename { from, to, taken } => {
                let text = self.text(from).ok_or_else(|| EditError::Missing(from.clone()))?.to_owned();
                match (self.text(to).is_some(), taken) {
                    (true, Taken::Refuse) => return Err(EditError::Exists(to.clone())),
                    (true, Taken::Keep) => {}
                    (true, Taken::Replace) | (false, Taken::Refuse | Taken::Keep | Taken::Replace) => {
                        self.files.insert(from.clone(), None);
                        self.files.insert(to.clone(), Some(text));
                        self.applied.renamed.push((from.clone(), to.clone()));
                    }
                }
            }
            Step::Delete { path, absent } => match (self.text(path).is_some(), absent) {
                (true, Absent::Refuse | Absent::Ignore) => {
                    self.files.insert(path.clone(), None);
                    self.applied.deleted.push(path.clone());
                }
                (false, Absent::Ignore) => {}
                (false, Absent::Refuse) => return Err(EditError::Missing(path.clone())),
            },
        }
        Ok(())
    }

    /// A server that means another text than the one that is there must not change it.
    fn is_current(&self, path: &Path, version: Option<i64>) -> Result<(), EditError> {
        let (Some(edit), Some(document)) = (version, self.before.get(path)) else { return Ok(()) };
        match document.version {
            Some(known) if known == edit => Ok(()),
            Some(known) => Err(EditError::Stale { path: path.to_owned(), edit, known: known.to_string() }),
            None => Err(EditError::Stale { path: path.to_owned(), edit, known: "none".to_owned() }),
        }
    }
}

/// The text with all edits made; their ranges are of the text before any of them.
fn replaced(path: &Path, text: &str, edits: &[TextEdit]) -> Result<String, EditError> {
    let lines = Lines::of(text);
    let mut places = Vec::new();
    for edit in edits {
        let Range { start, end } = edit.range;
        let outside = || EditError::Outside { path: path.to_owned(), line: start.line + 1 };
        let from = lines.offset(start).ok_or_else(outside)?;
        // An end below the last line means the end of the text.
        let to = lines.offset(end).unwrap_or(text.len());
        if to < from {
            return Err(outside());
        }
        places.push((from, to, edit));
    }
    // Stable: what is inserted at one place stays in its order, before what replaces the text behind it.
    places.sort_by_key(|(from, to, _)| (*from, *to));
    let (mut result, mut at) = (String::with_capacity(text.len()), 0);
    for (from, to, edit) in places {
        if from < at {
            return Err(EditError::Overlap { path: path.to_owned(), line: edit.range.start.line + 1 });
        }
        result.push_str(&text[at..from]);
        result.push_str(&edit.new_text);
        at = to;
    }
    result.push_str(&text[at..]);
    Ok(result)
}
