//! Calls of the tools for GitHub, read and checked. What would change something and is not right says so in the envelope
//! of its tool, before anybody is asked.

use serde_json::Value;

use super::super::parse::read;
use super::params::{self, Reference};
use super::{Draft, Request, comment_body, pull_body, pull_title};

const COMMENTS: usize = 20;
/// More comments than these fill a context and say nothing.
const MOST_COMMENTS: usize = 500;

/// Reads a call; `None` when the tool is of another family.
pub(in super::super) fn parse(name: &str, arguments: &Value) -> Option<Result<Request, String>> {
    Some(match name {
        "gh_pr_context" => {
            read(name, arguments).map(|given: params::PullContext| Request::PullContext { base: said(given.base) })
        }
        "gh_pr_read" => read(name, arguments)
            .map(|given: params::OnePull| Request::PullRead { reference: reference(given.reference) }),
        "gh_pr_review_context" => read(name, arguments)
            .map(|given: params::OnePull| Request::ReviewContext { reference: reference(given.reference) }),
        "gh_issue_read" => read(name, arguments).and_then(issue_read),
        "gh_issue_list" => read(name, arguments).and_then(issue_list),
        "gh_pr_create" => read(name, arguments).and_then(|given| invalid("created", create(given))),
        "gh_pr_update" => read(name, arguments).and_then(|given| invalid("updated", update(given))),
        "gh_pr_add_comment" => read(name, arguments).and_then(|given| invalid("posted", comment(given))),
        _ => return None,
    })
}

fn issue_read(given: params::IssueRead) -> Result<Request, String> {
    let number = given.number.filter(|number| *number > 0).ok_or("gh_issue_read: `number` is required")?;
    let comments = match given.max_comments.unwrap_or(0) {
        0 => COMMENTS,
        -1 => 0,
        count => match usize::try_from(count) {
            Ok(count) => count.min(MOST_COMMENTS),
            Err(_) => {
                return Err(format!("gh_issue_read: `max_comments` cannot be {count}: 0 means 20, -1 means none"));
            }
        },
    };
    Ok(Request::IssueRead { number, comments })
}

fn issue_list(given: params::IssueList) -> Result<Request, String> {
    let labels: Vec<_> = given.labels.unwrap_or_default().into_iter().filter_map(|label| said(Some(label))).collect();
    // A comma parts labels on the wire, so none can have one.
    if let Some(label) = labels.iter().find(|label| label.contains(',')) {
        return Err(format!("gh_issue_list: `{label}` is not one label: give each as an entry of `labels`"));
    }
    Ok(Request::IssueList { labels, assignee: said(given.assignee), milestone: said(given.milestone) })
}

fn create(given: params::PullCreate) -> Result<Request, String> {
    let base = said(given.base).ok_or("`base` is required")?;
    let title = pull_title(&given.title.ok_or("`title` is required")?)?;
    let body = given_body(given.body)?;
    let draft = if given.draft == Some(true) { Draft::Yes } else { Draft::No };
    Ok(Request::PullCreate { base, title, body, draft })
}

fn update(given: params::PullUpdate) -> Result<Request, String> {
    let title = pull_title(&given.title.ok_or("`title` is required")?)?;
    let body = given_body(given.body)?;
    Ok(Request::PullUpdate { reference: reference(given.reference), title, body })
}

/// The text of a pull request that an agent writes: it says something.
fn given_body(given: Option<String>) -> Result<String, String> {
    let body = pull_body(&given.ok_or("`body` is required")?)?;
    if body.is_empty() { Err("the body is empty".to_owned()) } else { Ok(body) }
}

fn comment(given: params::PullComment) -> Result<Request, String> {
    let body = comment_body(&given.body.ok_or("`body` is required")?)?;
    Ok(Request::PullComment { reference: reference(given.reference), body })
}

/// A refusal in the envelope of a tool, whose first word is `done`.
fn invalid(done: &str, read: Result<Request, String>) -> Result<Request, String> {
    read.map_err(|reason| format!("{done}=false reason=validation\n{reason}"))
}

fn reference(given: Option<Reference>) -> Option<String> {
    match given? {
        Reference::Number(number) => Some(number.to_string()),
        Reference::Text(text) => said(Some(text)),
    }
}

fn said(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}
