//! Comments on a session's changes, and which files were looked at.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How far a person is with the changes of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Review {
    pub comments: Vec<Comment>,
    pub files: Vec<FileReview>,
}

/// What a person says about one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Comment {
    pub id: u32,
    pub path: String,
    pub line: u32,
    /// `old` or `new`.
    pub side: String,
    pub text: String,
    /// The line as it was when it was commented.
    #[serde(default)]
    pub quote: String,
    pub created_at: i64,
    /// When it went to the agent; absent for a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<i64>,
}

/// A file that was looked at: it counts while its patch has this digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileReview {
    pub path: String,
    pub digest: String,
}
