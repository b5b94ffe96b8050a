//! What GitHub answers, as far as anybody here reads it. Fields that are missing are empty.

use serde::Deserialize;

use super::Cut;

/// A pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "PullWire")]
pub struct Pull {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub url: String,
    /// `open`, `closed` or `merged`.
    pub state: String,
    pub is_draft: bool,
    pub author: String,
    pub base: String,
    pub head: String,
    pub head_commit: String,
    pub labels: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
    /// Lines added and removed and files changed; only told of one pull request, not in lists.
    pub size: Option<(u64, u64, u64)>,
}

/// Everything that a review of a pull request begins with.
#[derive(Debug)]
pub struct Review {
    pub pull: Pull,
    /// Or why they are not known.
    pub checks: Result<Vec<Check>, String>,
    pub diff: Result<Cut, String>,
}

/// A check of a commit, of either kind that GitHub has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    /// How it ended or how it stands, as GitHub's word in upper case.
    pub state: String,
    pub url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Failing,
    Pending,
    Passing,
    /// A word that says none of these.
    Other,
}

/// An issue, or a pull request seen as one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "IssueWire")]
pub struct Issue {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub url: String,
    pub state: String,
    pub author: String,
    pub labels: Vec<String>,
    pub assignees: Vec<String>,
    pub milestone: Option<String>,
    pub comments: u64,
    pub created_at: String,
    pub updated_at: String,
    pub is_pull: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "CommentWire")]
pub struct Comment {
    pub author: String,
    pub created_at: String,
    pub body: String,
    pub url: String,
}

impl Check {
    /// What its word means.
    pub fn outcome(&self) -> Outcome {
        match self.state.as_str() {
            "FAILURE" | "CANCELLED" | "TIMED_OUT" | "ACTION_REQUIRED" | "ERROR" => Outcome::Failing,
            "QUEUED" | "IN_PROGRESS" | "WAITING" | "REQUESTED" | "PENDING" | "EXPECTED" => Outcome::Pending,
            "SUCCESS" | "NEUTRAL" | "SKIPPED" => Outcome::Passing,
            _ => Outcome::Other,
        }
    }
}

/// A page of check runs.
#[derive(Deserialize)]
pub(super) struct CheckRuns {
    #[serde(default)]
    check_runs: Vec<RunWire>,
}

/// The statuses of a commit, the older kind of checks.
#[derive(Deserialize)]
pub(super) struct Statuses {
    #[serde(default)]
    statuses: Vec<StatusWire>,
}

/// A milestone: filters want its number, people know its title.
#[derive(Deserialize)]
pub(super) struct Milestone {
    pub(super) number: u64,
    pub(super) title: String,
}

/// What comes back from something that was made.
#[derive(Deserialize)]
pub(super) struct Made {
    #[serde(default)]
    pub(super) html_url: String,
}

#[derive(Deserialize)]
struct PullWire {
    number: u64,
    title: Option<String>,
    body: Option<String>,
    html_url: Option<String>,
    state: Option<String>,
    draft: Option<bool>,
    merged_at: Option<String>,
    user: Option<User>,
    base: Option<End>,
    head: Option<End>,
    #[serde(default)]
    labels: Vec<Label>,
    created_at: Option<String>,
    updated_at: Option<String>,
    additions: Option<u64>,
    deletions: Option<u64>,
    changed_files: Option<u64>,
}

#[derive(Deserialize)]
struct IssueWire {
    number: u64,
    title: Option<String>,
    body: Option<String>,
    html_url: Option<String>,
    state: Option<String>,
    user: Option<User>,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    assignees: Vec<User>,
    milestone: Option<MilestoneWire>,
    #[serde(default)]
    comments: u64,
    created_at: Option<String>,
    updated_at: Option<String>,
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct CommentWire {
    user: Option<User>,
    created_at: Option<String>,
    body: Option<String>,
    html_url: Option<String>,
}

#[derive(Deserialize)]
struct RunWire {
    name: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    html_url: Option<String>,
}

#[derive(Deserialize)]
struct StatusWire {
    context: Option<String>,
    state: Option<String>,
    target_url: Option<String>,
}

/// An account that was deleted is null and has no name.
#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct End {
    #[serde(rename = "ref")]
    name: Option<String>,
    sha: Option<String>,
}

#[derive(Deserialize)]
struct Label {
    name: Option<String>,
}

#[derive(Deserialize)]
struct MilestoneWire {
    title: Option<String>,
}

impl From<PullWire> for Pull {
    fn from(wire: PullWire) -> Self {
        let size = wire.additions.zip(wire.deletions).zip(wire.changed_files);
        let (base, _) = ends(wire.base);
        let (head, head_commit) = ends(wire.head);
        Self {
            number: wire.number,
            title: wire.title.unwrap_or_default(),
            body: wire.body.unwrap_or_default(),
            url: wire.html_url.unwrap_or_default(),
            state: match wire.merged_at {
                Some(_) => "merged".to_owned(),
                None => wire.state.unwrap_or_default(),
            },
            is_draft: wire.draft.unwrap_or_default(),
            author: login(wire.user),
            base,
            head,
            head_commit,
            labels: names(wire.labels),
            created_at: wire.created_at.unwrap_or_default(),
            updated_at: wire.updated_at.unwrap_or_default(),
            size: size.map(|((added, removed), files)| (added, removed, files)),
        }
    }
}

impl From<IssueWire> for Issue {
    fn from(wire: IssueWire) -> Self {
        Self {
            number: wire.number,
            title: wire.title.unwrap_or_default(),
            body: wire.body.unwrap_or_default(),
            url: wire.html_url.unwrap_or_default(),
            state: wire.state.unwrap_or_default(),
            author: login(wire.user),
            labels: names(wire.labels),
            assignees: wire.assignees.into_iter().map(|user| user.login).collect(),
            milestone: wire.milestone.and_then(|milestone| milestone.title),
            comments: wire.comments,
            created_at: wire.created_at.unwrap_or_default(),
            updated_at: wire.updated_at.unwrap_or_default(),
            is_pull: wire.pull_request.is_some(),
        }
    }
}

impl From<CommentWire> for Comment {
    fn from(wire: CommentWire) -> Self {
        Self {
            author: login(wire.user),
            created_at: wire.created_at.unwrap_or_default(),
            body: wire.body.unwrap_or_default(),
            url: wire.html_url.unwrap_or_default(),
        }
    }
}

impl CheckRuns {
    pub(super) fn checks(self) -> Vec<Check> {
        let check = |run: RunWire| Check {
            name: run.name.unwrap_or_default(),
            state: run.conclusion.or(run.status).unwrap_or_default().to_ascii_uppercase(),
            url: run.html_url.unwrap_or_default(),
        };
        self.check_runs.into_iter().map(check).collect()
    }
}

impl Statuses {
    pub(super) fn checks(self) -> Vec<Check> {
        let check = |status: StatusWire| Check {
            name: status.context.unwrap_or_default(),
            state: status.state.unwrap_or_default().to_ascii_uppercase(),
            url: status.target_url.unwrap_or_default(),
        };
        self.statuses.into_iter().map(check).collect()
    }
}

fn login(user: Option<User>) -> String {
    user.map_or_else(|| "ghost".to_owned(), |user| user.login)
}

fn ends(end: Option<End>) -> (String, String) {
    end.map(|end| (end.name.unwrap_or_default(), end.sha.unwrap_or_default())).unwrap_or_default()
}

fn names(labels: Vec<Label>) -> Vec<String> {
    labels.into_iter().filter_map(|label| label.name).collect()
}
