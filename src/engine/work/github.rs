//! GitHub for served tools: asked by the daemon, so that no agent sees a token.

mod context;

use std::sync::Arc;

use crate::git::Repo;
use crate::github::envelope::{self, Looked};
use crate::github::{Client, Fields, Filter, GitHubError, NewPull, Slug, Stage};
use crate::tools::Answer;
use crate::tools::github::{Draft, Request};

use super::super::delegate::Caller;
use super::super::fault::Fault;
use super::super::prepare;
use super::super::publish::{self, Forge};
use super::super::shared::Shared;

/// Performs a call.
pub(super) async fn perform(shared: &Arc<Shared>, caller: &Caller, request: Request) -> Result<Answer, String> {
    let repo = prepare::open_repo(&caller.record).await.map_err(told)?;
    let asks = Asks { shared, caller, repo };
    let text = match request {
        Request::PullContext { base } => context::gather(&asks, base).await.map_err(told),
        Request::PullRead { reference } => asks.read(reference).await,
        Request::ReviewContext { reference } => asks.review(reference).await,
        Request::IssueRead { number, comments } => asks.issue(number, comments).await,
        Request::IssueList { labels, assignee, milestone } => asks.issues(Filter { labels, assignee, milestone }).await,
        Request::PullCreate { base, title, body, draft } => {
            let stage = match draft {
                Draft::Yes => Stage::Draft,
                Draft::No => Stage::Ready,
            };
            asks.create(|head| NewPull { base, head, title, body, stage })
                .await
                .map_err(|fault| failed("created", fault))
        }
        Request::PullUpdate { reference, title, body } => {
            let fields = Fields { title: Some(title), body: Some(body) };
            asks.update(reference, fields).await.map_err(|fault| failed("updated", fault))
        }
        Request::PullComment { reference, body } => {
            asks.comment(reference, body).await.map_err(|fault| failed("posted", fault))
        }
    };
    text.map(Answer::from)
}

/// Who asks, and about which repository.
struct Asks<'a> {
    shared: &'a Arc<Shared>,
    caller: &'a Caller,
    repo: Repo,
}

impl Asks<'_> {
    async fn forge(&self) -> Result<Arc<Forge>, Fault> {
        Forge::of(self.shared, &self.caller.record, &self.repo).await
    }

    /// What a pull request is called in the answer.
    fn named(&self, reference: Option<&str>) -> String {
        reference.unwrap_or(&self.caller.record.body.branch).to_owned()
    }

    async fn read(&self, reference: Option<String>) -> Result<String, String> {
        let found = async {
            let forge = self.forge().await?;
            let meant = forge.reference(reference.as_deref())?;
            forge.ask(move |client, slug| client.pull(slug, &meant)).await
        };
        Ok(envelope::pull_read(&self.named(reference.as_deref()), &looked(found.await)?))
    }

    async fn review(&self, reference: Option<String>) -> Result<String, String> {
        let found = async {
            let forge = self.forge().await?;
            let meant = forge.reference(reference.as_deref())?;
            forge.ask(move |client, slug| client.review(slug, &meant)).await
        };
        Ok(envelope::review(&self.named(reference.as_deref()), &looked(found.await)?))
    }

    async fn issue(&self, number: u64, comments: usize) -> Result<String, String> {
        let found = async {
            let question = move |client: &Client, slug: &Slug| {
                let issue = client.issue(slug, number)?;
                let said = match comments.min(usize::try_from(issue.comments).unwrap_or(usize::MAX)) {
                    0 => Vec::new(),
                    count => client.comments(slug, number, count)?,
                };
                Ok((issue, said))
            };
            self.forge().await?.ask(question).await
        };
        Ok(envelope::issue_read(number, &looked(found.await)?))
    }

    async fn issues(&self, filter: Filter) -> Result<String, String> {
        let found = async { self.forge().await?.ask(move |client, slug| client.issues(slug, &filter)).await };
        Ok(envelope::issue_list(&looked(found.await)?))
    }

    async fn create(&self, new: impl FnOnce(String) -> NewPull) -> Result<String, Fault> {
        let forge = self.forge().await?;
        let new = new(forge.head.clone());
        if publish::is_pushed(&self.repo, &new.head).await? == Some(false) {
            return Err(Fault::NotPushed { id: self.caller.record.id, branch: new.head });
        }
        let made = forge.ask(move |client, slug| client.create_pull(slug, &new)).await?;
        Ok(format!("created=true url={} number={}\n", made.url, made.number))
    }

    async fn update(&self, reference: Option<String>, fields: Fields) -> Result<String, Fault> {
        let forge = self.forge().await?;
        let meant = forge.reference(reference.as_deref())?;
        let changed = forge.ask(move |client, slug| {
            let found = client.pull(slug, &meant)?;
            client.update_pull(slug, found.number, &fields)
        });
        let changed = changed.await?;
        Ok(format!("updated=true url={} number={}\n", changed.url, changed.number))
    }

    async fn comment(&self, reference: Option<String>, body: String) -> Result<String, Fault> {
        let forge = self.forge().await?;
        let meant = forge.reference(reference.as_deref())?;
        let posted = forge.ask(move |client, slug| {
            let found = client.pull(slug, &meant)?;
            client.add_comment(slug, found.number, &body)
        });
        Ok(format!("posted=true url={}\n", posted.await?))
    }
}

/// What a look came to. Only what went wrong in one request is an error: the rest is a state that a model can go by.
fn looked<T>(result: Result<T, Fault>) -> Result<Looked<T>, String> {
    match result {
        Ok(found) => Ok(Looked::Found(found)),
        Err(Fault::GitHub(GitHubError::NotFound)) => Ok(Looked::NotFound),
        Err(fault) if is_unavailable(&fault) => Ok(Looked::Unavailable(told(fault))),
        Err(fault) => Err(told(fault)),
    }
}

fn is_unavailable(fault: &Fault) -> bool {
    let is_silent = matches!(fault, Fault::GitHub(error) if error.is_unavailable());
    is_silent || matches!(fault, Fault::NoForge { .. } | Fault::TokenFile(_))
}

/// A change that did not happen, in the envelope of its tool.
fn failed(done: &str, fault: Fault) -> String {
    let is_unfit = matches!(fault, Fault::BadPublication { .. } | Fault::NotPushed { .. });
    let reason = match (&fault, is_unfit, is_unavailable(&fault)) {
        (Fault::GitHub(GitHubError::NotFound), _, _) => "not_found",
        (_, true, _) => "validation",
        (_, false, true) => "gh_unavailable",
        (_, false, false) => "gh_error",
    };
    let hint = match (done, reason) {
        ("updated", "not_found") => {
            "\nhint=give the number of a pull request as `ref`, or open one with `gh_pr_create`"
        }
        _ => "",
    };
    format!("{done}=false reason={reason}\n{}{hint}", told(fault))
}

/// A fault with its causes, on one line.
fn told(fault: Fault) -> String {
    let error = crate::api::error::Error::from(fault);
    let causes: String = error.causes.iter().map(|cause| format!(": {cause}")).collect();
    format!("{}{causes}", error.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_did_not_happen_says_which_kind_of_reason() {
        let forge = || Fault::NoForge { reason: "there is no remote `origin`".to_owned() };
        for (fault, expected) in [
            (Fault::GitHub(GitHubError::NotFound), "not_found"),
            (Fault::GitHub(GitHubError::NoLogin), "gh_unavailable"),
            (Fault::GitHub(GitHubError::TimedOut), "gh_unavailable"),
            (forge(), "gh_unavailable"),
            (Fault::GitHub(GitHubError::Refused { message: "no".to_owned() }), "gh_error"),
            (Fault::BadPublication { reason: "x".to_owned() }, "validation"),
        ] {
            let text = failed("created", fault);
            assert!(text.starts_with(&format!("created=false reason={expected}\n")), "{text}");
        }
        assert_eq!(
            failed("posted", forge()),
            "posted=false reason=gh_unavailable\nGitHub cannot be asked: there is no remote `origin`"
        );
    }

    #[test]
    fn a_look_without_github_is_a_state_and_not_an_error() {
        let of = |fault| looked::<()>(Err(fault));
        assert!(matches!(of(Fault::GitHub(GitHubError::NoLogin)), Ok(Looked::Unavailable(_))));
        assert!(matches!(of(Fault::GitHub(GitHubError::NotFound)), Ok(Looked::NotFound)));
        let limited = GitHubError::RateLimited { reset: Some(1_700_000_000), after: None };
        assert!(matches!(of(Fault::GitHub(limited)), Ok(Looked::Unavailable(text)) if text.contains("22:13:20")));
        let forbidden = GitHubError::Forbidden { message: "no".to_owned() };
        assert_eq!(of(Fault::GitHub(forbidden)).unwrap_err(), "GitHub does not allow it: no");
    }
}
