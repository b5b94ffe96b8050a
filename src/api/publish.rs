//! What leaves the machine: pushes and pull requests.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `POST /v1/sessions/{id}/push`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Push {
    /// What the branch is called at `origin`; as before, or by its own name, when absent.
    #[serde(default)]
    pub branch: Option<String>,
    /// Socket of the ssh agent that holds the person's keys. That of the daemon's own environment when absent.
    #[serde(default)]
    pub ssh_agent: Option<String>,
}

/// A branch that is at its remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pushed {
    pub session: String,
    pub remote: String,
    /// What it is called there.
    pub branch: String,
}

/// `POST /v1/sessions/{id}/pr`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePull {
    /// The branch to merge into; that which the session started from, or the remote's own choice, when absent.
    #[serde(default)]
    pub base: Option<String>,
    /// The session's title when absent.
    #[serde(default)]
    pub title: Option<String>,
    /// The session's summary when absent.
    #[serde(default)]
    pub body: Option<String>,
    #[serde(default)]
    pub draft: bool,
}

/// `PATCH /v1/sessions/{id}/pr`; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdatePull {
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub body: Option<String>,
}

/// `GET /v1/sessions/{id}/pr`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct PullQuery {
    /// Read its checks and its diff too.
    #[serde(default)]
    pub review: bool,
}

/// A pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pull {
    pub number: u64,
    pub url: String,
    pub title: String,
    pub body: String,
    /// `open`, `closed` or `merged`.
    pub state: String,
    pub draft: bool,
    pub author: String,
    pub base: String,
    pub head: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<PullReview>,
}

/// What a review begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PullReview {
    /// Those that fail first; absent when they cannot be read.
    pub checks: Option<Vec<PullCheck>>,
    /// The first 64 KiB; absent when it cannot be read.
    pub diff: Option<String>,
    pub diff_truncated: bool,
    /// Why something is absent.
    pub warnings: Vec<String>,
}

/// A check of the last commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PullCheck {
    pub name: String,
    /// GitHub's word, in upper case.
    pub state: String,
    pub outcome: CheckOutcome,
    pub url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Failing,
    Pending,
    Other,
    Passing,
}
