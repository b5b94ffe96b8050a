//! What a person says about a session's changes and which files they have looked at; also the form in which it is stored.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/sessions/{id}/review`, and the reply to every change of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SessionReview)]
pub struct Review {
    /// Oldest first.
    pub comments: Vec<Comment>,
    /// The files that were looked at, by path.
    pub files: Vec<FileReview>,
    /// What a model said when it was last asked to prepare the review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepared: Option<PreparedReview>,
}

/// A review that a model prepared: its findings are drafts among the comments, until the person drops or sends them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PreparedReview {
    /// What it was to look at, if anything in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// How many of its findings became drafts.
    pub findings: u32,
    /// What it said besides; empty when nothing, and cut when it is long.
    pub text: String,
    pub prepared_at: i64,
}

/// Something said about one line of the changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Comment {
    /// Counted from 1 in each session; never given twice.
    pub id: u32,
    pub path: String,
    /// Counted from 1.
    pub line: u32,
    pub side: Side,
    pub text: String,
    /// The line as it was when it was commented on; a long one is cut, and it is empty when nobody knew it.
    pub quote: String,
    pub created_at: i64,
    /// When the agent was told; until then it is a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<i64>,
    /// A model wrote it when it prepared the review, and no person has changed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suggested: bool,
}

/// Which file the number of a line counts in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The one before the changes.
    Old,
    /// The one with them.
    #[default]
    New,
}

/// A file that was looked at: it counts as such while its patch has this digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileReview {
    pub path: String,
    /// Whatever the client made of the patch; it is only compared.
    pub digest: String,
}

/// `POST /v1/sessions/{id}/review/comments`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddComment {
    pub path: String,
    pub line: u32,
    #[serde(default)]
    pub side: Side,
    pub text: String,
    #[serde(default)]
    pub quote: String,
}

/// `POST /v1/sessions/{id}/review/prepare`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PrepareReview {
    /// What the model is to look at above all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
}

/// `PUT /v1/sessions/{id}/review/comments/{comment}`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditComment {
    pub text: String,
}

/// `PUT /v1/sessions/{id}/review/files`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LookAt {
    pub path: String,
    /// Absent when the file is to count as not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}
