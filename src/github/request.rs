//! What is asked of GitHub, as values: method, path, query and body of each request.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Slug;

/// What stays as it is in a path or a query; a slash does not.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The most that one page holds.
pub(super) const PAGE: usize = 100;

/// One request, without the base it goes to and the token it carries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) method: Method,
    /// From the base on, with the query.
    pub(super) path: String,
    pub(super) body: Option<Value>,
    pub(super) accept: Accept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
    Patch,
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accept {
    Json,
    Diff,
}

/// A pull request that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    pub base: String,
    /// The branch with the work, at the same repository.
    pub head: String,
    pub title: String,
    pub body: String,
    pub stage: Stage,
}

/// Whether a pull request asks to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Draft,
    Ready,
}

/// What changes about a pull request; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    pub title: Option<String>,
    pub body: Option<String>,
}

/// Which open issues are listed: those that fit all of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub labels: Vec<String>,
    pub assignee: Option<String>,
    /// Its number, `*` or `none`.
    pub milestone: Option<String>,
}

impl Request {
    fn get(slug: &Slug, below: &str, query: &[(&str, &str)]) -> Self {
        let pairs: Vec<_> = query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
        let path = format!("{}{below}{query}", repository(slug));
        Self { method: Method::Get, path, body: None, accept: Accept::Json }
    }

    fn send(method: Method, slug: &Slug, below: &str, body: Value) -> Self {
        let path = format!("{}{below}", repository(slug));
        Self { method, path, body: Some(body), accept: Accept::Json }
    }

    pub(super) fn pull(slug: &Slug, number: u64) -> Self {
        Self::get(slug, &format!("/pulls/{number}"), &[])
    }

    pub(super) fn diff(slug: &Slug, number: u64) -> Self {
        Self { accept: Accept::Diff, ..Self::pull(slug, number) }
    }

    /// The pull requests of a branch, the latest first.
    pub(super) fn pulls_of(slug: &Slug, owner: &str, branch: &str) -> Self {
        let head = format!("{owner}:{branch}");
        Self::get(slug, "/pulls", &[("head", &head), ("state", "all"), ("per_page", "30")])
    }

    pub(super) fn create_pull(slug: &Slug, new: &NewPull) -> Self {
        let NewPull { base, head, title, body, stage } = new;
        let draft = *stage == Stage::Draft;
        let body = json!({ "title": title, "body": body, "head": head, "base": base, "draft": draft });
        Self::send(Method::Post, slug, "/pulls", body)
    }

    pub(super) fn update_pull(slug: &Slug, number: u64, fields: &Fields) -> Self {
        let named = [("title", &fields.title), ("body", &fields.body)];
        let given = named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), json!(text.as_ref()?))));
        Self::send(Method::Patch, slug, &format!("/pulls/{number}"), Value::Object(given.collect()))
    }

    /// A comment on a pull request as a whole.
    pub(super) fn add_comment(slug: &Slug, number: u64, text: &str) -> Self {
        Self::send(Method::Post, slug, &format!("/issues/{number}/comments"), json!({ "body": text }))
    }

    pub(super) fn check_runs(slug: &Slug, commit: &str) -> Self {
        let below = format!("/commits/{}/check-runs", encoded(commit));
        Self::get(slug, &below, &[("filter", "latest"), ("per_page", &PAGE.to_string())])
    }

    pub(super) fn statuses(slug: &Slug, commit: &str) -> Self {
        Self::get(slug, &format!("/commits/{}/status", encoded(commit)), &[("per_page", &PAGE.to_string())])
    }

    pub(super) fn issue(slug: &Slug, number: u64) -> Self {
        Self::get(slug, &format!("/issues/{number}"), &[])
    }

    pub(super) fn comments(slug: &Slug, number: u64, count: usize) -> Self {
        let page = count.clamp(1, PAGE).to_string();
        Self::get(slug, &format!("/issues/{number}/comments"), &[("per_page", &page)])
    }

    pub(super) fn issues(slug: &Slug, filter: &Filter) -> Self {
        let labels = filter.labels.join(",");
        let mut query = vec![("state", "open")];
        query.extend((!labels.is_empty()).then_some(("labels", labels.as_str())));
        query.extend(filter.assignee.as_deref().map(|login| ("assignee", login)));
        query.extend(filter.milestone.as_deref().map(|number| ("milestone", number)));
        query.push(("per_page", "100"));
        Self::get(slug, "/issues", &query)
    }

    pub(super) fn milestones(slug: &Slug) -> Self {
        Self::get(slug, "/milestones", &[("state", "all"), ("per_page", &PAGE.to_string())])
    }
}

fn repository(slug: &Slug) -> String {
    format!("/repos/{}/{}", slug.owner, slug.name)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}
