//! GitHub as tools: pull requests and issues of a session's repository.
//!
//! Here a call is read, checked as far as its words go, and shown; the daemon asks GitHub, and no token comes here.

mod context;
mod params;
mod read;
mod rows;
#[cfg(test)]
mod tests;
mod words;

use std::path::Path;

use crate::permission::Reach;

pub use context::{BaseFound, Context};
pub(super) use read::parse;
pub(super) use rows::ROWS;
pub use words::{Draft, comment_body, pull_body, pull_title};

/// A call of this family. Where no pull request is named, that of the session's branch is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    PullContext { base: Option<String> },
    PullRead { reference: Option<String> },
    ReviewContext { reference: Option<String> },
    IssueRead { number: u64, comments: usize },
    IssueList { labels: Vec<String>, assignee: Option<String>, milestone: Option<String> },
    PullCreate { base: String, title: String, body: String, draft: Draft },
    PullUpdate { reference: Option<String>, title: String, body: String },
    PullComment { reference: Option<String>, body: String },
}

impl Request {
    /// No path and no command: what is asked of GitHub is decided about by the tool's name.
    pub(super) fn reach(&self, _tree: &Path) -> Reach {
        Reach::Elsewhere
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::PullContext { .. } => "what a pull request is written from".to_owned(),
            Self::PullRead { reference } => format!("read {}", named(reference.as_deref())),
            Self::ReviewContext { reference } => {
                format!("read {} with its checks and diff", named(reference.as_deref()))
            }
            Self::IssueRead { number, .. } => format!("read issue #{number}"),
            Self::IssueList { .. } => "list open issues".to_owned(),
            Self::PullCreate { base, title, draft: Draft::No, .. } => {
                format!("open a pull request into {base}: {title}")
            }
            Self::PullCreate { base, title, draft: Draft::Yes, .. } => {
                format!("open a draft of a pull request into {base}: {title}")
            }
            Self::PullUpdate { reference, title, .. } => {
                format!("change title and text of {}: {title}", named(reference.as_deref()))
            }
            Self::PullComment { reference, .. } => format!("comment on {}", named(reference.as_deref())),
        }
    }

    /// The whole text that would be published: nobody allows what they have not seen.
    pub(super) fn preview(&self) -> String {
        match self {
            Self::PullCreate { title, body, .. } | Self::PullUpdate { title, body, .. } => format!("{title}\n\n{body}"),
            Self::PullComment { body, .. } => body.clone(),
            Self::PullContext { .. }
            | Self::PullRead { .. }
            | Self::ReviewContext { .. }
            | Self::IssueRead { .. }
            | Self::IssueList { .. } => String::new(),
        }
    }
}

fn named(reference: Option<&str>) -> String {
    match reference {
        Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("pull request #{number}"),
        Some(reference) => format!("pull request {reference}"),
        None => "the pull request of the session's branch".to_owned(),
    }
}
