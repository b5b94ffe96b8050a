//! What is stored of an undo, and of a base branch that came into a worktree with conflicts.

use serde::{Deserialize, Serialize};

use crate::api::session::Changes;

/// An undo that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct UndoRecord {
    /// The last turn that it keeps.
    pub(in crate::engine) to: u32,
    /// The ref that keeps the state before it.
    pub(in crate::engine) saved: String,
}

/// Where a session stood before an undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct BeforeUndo {
    /// The ref that keeps the files; the branch stood at the parent of its commit.
    pub(in crate::engine) saved: String,
    pub(in crate::engine) base: String,
    pub(in crate::engine) merged: Option<String>,
    pub(in crate::engine) conflicts: Vec<String>,
    pub(in crate::engine) conflict_files: Vec<ConflictRecord>,
    pub(in crate::engine) changes: Changes,
    pub(in crate::engine) undone: Option<(u32, u32)>,
    /// The numbers of the turns whose work was not in the files.
    pub(in crate::engine) undone_turns: Vec<u32>,
}

/// A merge of a session's work, for whoever takes it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct MadeMerge {
    /// Full ref name of the branch.
    pub(in crate::engine) target: String,
    /// Where the branch was before.
    pub(in crate::engine) before: String,
    pub(in crate::engine) commit: String,
    /// The first of the files that it changed.
    pub(in crate::engine) files: Vec<String>,
    /// How many it changed; 0 in records that do not say.
    #[serde(default)]
    pub(in crate::engine) file_count: u32,
    /// What the session changed, and what of it was merged already.
    pub(in crate::engine) changes: Changes,
    pub(in crate::engine) merged: Option<String>,
    pub(in crate::engine) merged_turns: u32,
}

/// A base branch that was merged into a session's worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct MergedBase {
    pub(in crate::engine) commit: String,
    /// The files in conflict, as the merge wrote them.
    pub(in crate::engine) files: Vec<ConflictRecord>,
}

/// A file in conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct ConflictRecord {
    /// In bytes, because a path need not be UTF-8.
    pub(in crate::engine) path: Vec<u8>,
    /// The id of what the merge left there; none as long as no merge has written it.
    pub(in crate::engine) content: Option<String>,
}
