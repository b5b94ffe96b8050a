//! The one shape of a refusal: what happened, which value, what to do about it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every reply that is not a success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    pub error: Error,
}

/// A refusal or failure, ready to be shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub kind: ErrorKind,
    /// What happened, with the value in backticks; no full stop.
    pub message: String,
    /// Why, outermost cause first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// One thing to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What commit hooks would add to a merge, when that is why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_changes: Option<Box<HookChanges>>,
    /// What changed after a person looked at the work, when that is why a merge or a rebase was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_changes: Option<Box<UnseenChanges>>,
}

/// Changes of commit hooks that a person can agree to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HookChanges {
    /// Names exactly these changes: `accept_only` of a merge takes it.
    pub id: String,
    pub files: Vec<HookFileChange>,
    /// The beginning of the patch.
    #[serde(default)]
    pub patch: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HookFileChange {
    pub path: String,
    /// `added`, `changed` or `deleted`.
    pub kind: String,
    pub insertions: u32,
    pub deletions: u32,
}

/// Files that changed after a person looked at a session's work, although no turn ended since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnseenChanges {
    /// Names exactly the work that was refused: `accept_only` of a merge takes it.
    #[serde(default)]
    pub id: String,
    /// How many files changed; 0 when that is not known any more.
    pub count: u32,
    /// The first of them.
    pub files: Vec<String>,
}

/// How many files a sentence names.
const NAMED: usize = 12;

impl HookChanges {
    /// The files in one line, as far as a line can name them.
    pub fn describe(&self) -> String {
        let file = |file: &HookFileChange| {
            let HookFileChange { path, kind, insertions, deletions } = file;
            format!("{kind} `{path}` (+{insertions} -{deletions})")
        };
        join_names(self.files.iter().map(file), self.files.len())
    }
}

impl UnseenChanges {
    pub fn new(id: String, mut files: Vec<String>) -> Self {
        let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
        files.truncate(NAMED);
        Self { id, count, files }
    }

    /// The changes in one line, as far as a line can name the files.
    pub fn describe(&self) -> String {
        let names = || join_names(self.files.iter().map(|path| format!("`{path}`")), self.count as usize);
        match self.count {
            0 => "the work changed after you last looked at it".to_owned(),
            1 => format!("1 file changed after you last looked at the work: {}", names()),
            count => format!("{count} files changed after you last looked at the work: {}", names()),
        }
    }
}

fn join_names(names: impl Iterator<Item = String>, total: usize) -> String {
    let named: Vec<_> = names.take(NAMED).collect();
    match total.saturating_sub(named.len()) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// What a caller can choose to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request itself is wrong: another value is needed.
    Invalid,
    /// The thing that was named does not exist.
    NotFound,
    /// It exists, but its state does not allow this.
    Conflict,
    /// This caller may not do it.
    Forbidden,
    /// It was tried and did not work.
    Failed,
    /// The daemon is draining, or its storage does not accept writes.
    Unavailable,
    /// A bug of ours.
    Internal,
}

impl Error {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), hint: None, hook_changes: None, unseen_changes: None }
    }

    /// The same error with one thing to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same error with the chain of sources below it.
    pub fn with_causes_of(mut self, error: &(dyn std::error::Error + 'static)) -> Self {
        self.causes = std::iter::successors(error.source(), |cause| cause.source()).map(ToString::to_string).collect();
        self
    }
}
