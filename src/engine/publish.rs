//! Publishing for people: a session's branch at its remote, and its pull request at GitHub.
//!
//! What may be published is the same for agents and people. Agents come here by their tools only, never by the socket.

mod draft;
mod forge;
mod login;

use crate::api::error::Error;
use crate::api::publish::{
    CheckOutcome, CreatePull, Pull as ApiPull, PullCheck, PullQuery, PullReview, Push, Pushed, UpdatePull,
};
use crate::git::capture::{Stopper, Stops};
use crate::git::{Repo, remote};
use crate::github::{Check, Fields, NewPull, Outcome, Pull, Review, Stage};
use crate::tools::github::{pull_body, pull_title};

use super::Engine;
use super::actor::blocking;
use super::fault::Fault;
use super::prepare;
use super::record::Record;
pub(super) use forge::Forge;
pub(super) use login::Logins;

/// Stops a run of git when nobody waits for it any more.
pub(super) struct StopsWithCaller(Stopper);

impl StopsWithCaller {
    pub(super) fn new(stops: &Stops) -> Self {
        Self(stops.stopper())
    }
}

impl Drop for StopsWithCaller {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Engine {
    /// Pushes a session's branch to `origin`, never by force.
    pub async fn push(&self, id: &str, request: Push) -> Result<Pushed, Error> {
        Ok(self.push_branch(id, request).await?)
    }

    /// Opens a pull request for a session's branch, which must be at `origin`.
    pub async fn create_pull(&self, id: &str, request: CreatePull) -> Result<ApiPull, Error> {
        Ok(self.open_pull(id, request).await?)
    }

    /// Changes title and text of the pull request of a session's branch.
    pub async fn update_pull(&self, id: &str, request: UpdatePull) -> Result<ApiPull, Error> {
        Ok(self.change_pull(id, request).await?)
    }

    /// Reads the pull request of a session's branch.
    pub async fn pull(&self, id: &str, query: PullQuery) -> Result<ApiPull, Error> {
        Ok(self.read_pull(id, query).await?)
    }

    async fn push_branch(&self, id: &str, request: Push) -> Result<Pushed, Fault> {
        let (record, repo) = self.found(id).await?;
        let _going = self.shared.busy();
        let (branch, of) = (record.body.branch.clone(), repo.clone());
        let name = match request.branch {
            Some(name) => fitting(name, &record)?,
            None => blocking(move || remote::published(&of, &branch)).await?,
        };
        let stops = Stops::new();
        let _stops = StopsWithCaller::new(&stops);
        let (branch, to) = (record.body.branch.clone(), name.clone());
        blocking(move || remote::publish(&repo, &branch, &to, request.ssh_agent.as_deref(), &stops)).await?;
        Ok(Pushed { session: record.id.to_string(), remote: "origin".to_owned(), branch: name })
    }

    async fn open_pull(&self, id: &str, request: CreatePull) -> Result<ApiPull, Fault> {
        let (record, repo) = self.found(id).await?;
        let CreatePull { base, title, body, draft } = request;
        let base = self.base_of(&record, &repo, base).await?;
        let title = title.unwrap_or_else(|| draft::title(&record.body.title));
        let title = pull_title(&title).map_err(unfit)?;
        let body = match body {
            Some(body) => body,
            None => draft_body(&record, &repo, &base).await?,
        };
        let body = pull_body(&body).map_err(unfit)?;
        let forge = Forge::of(&self.shared, &record, &repo).await?;
        let head = forge.head.clone();
        if is_pushed(&repo, &head).await? == Some(false) {
            return Err(Fault::NotPushed { id: record.id, branch: head });
        }
        let stage = if draft { Stage::Draft } else { Stage::Ready };
        let new = NewPull { base, head, title, body, stage };
        Ok(shown(forge.ask(move |client, slug| client.create_pull(slug, &new)).await?))
    }

    async fn change_pull(&self, id: &str, request: UpdatePull) -> Result<ApiPull, Fault> {
        let UpdatePull { title, body } = request;
        let title = title.map(|title| pull_title(&title)).transpose().map_err(unfit)?;
        let body = body.map(|body| pull_body(&body)).transpose().map_err(unfit)?;
        if body.as_deref() == Some("") {
            return Err(unfit("the body is empty".to_owned()));
        }
        if title.is_none() && body.is_none() {
            return Err(unfit("there is neither a title nor a body".to_owned()));
        }
        let (record, repo) = self.found(id).await?;
        let forge = Forge::of(&self.shared, &record, &repo).await?;
        let reference = forge.reference(None)?;
        let fields = Fields { title, body };
        let changed = forge.ask(move |client, slug| {
            let found = client.pull(slug, &reference)?;
            client.update_pull(slug, found.number, &fields)
        });
        Ok(shown(changed.await?))
    }

    async fn read_pull(&self, id: &str, query: PullQuery) -> Result<ApiPull, Fault> {
        let (record, repo) = self.found(id).await?;
        let forge = Forge::of(&self.shared, &record, &repo).await?;
        let reference = forge.reference(None)?;
        match query.review {
            false => Ok(shown(forge.ask(move |client, slug| client.pull(slug, &reference)).await?)),
            true => Ok(reviewed(forge.ask(move |client, slug| client.review(slug, &reference)).await?)),
        }
    }

    async fn found(&self, id: &str) -> Result<(Record, Repo), Fault> {
        let record = self.record(id).await?;
        let repo = prepare::open_repo(&record).await?;
        Ok((record, repo))
    }

    /// The branch to merge into: the wanted one, that which the session started from, or the remote's own choice.
    async fn base_of(&self, record: &Record, repo: &Repo, wanted: Option<String>) -> Result<String, Fault> {
        let started = record.body.base.branch.as_deref().and_then(|name| name.strip_prefix("refs/heads/"));
        let wanted = wanted.or_else(|| started.filter(|name| !name.starts_with("coppice/")).map(str::to_owned));
        let repo = repo.clone();
        let found = blocking(move || remote::pull_base(&repo, wanted.as_deref())).await?;
        let found = found.ok_or_else(|| unfit("there is no branch to merge into: name one".to_owned()))?;
        match remote::is_branch_name(&found.name) {
            true => Ok(found.name),
            false => Err(unfit(format!("`{}` is not a name for a branch", found.name))),
        }
    }
}

/// Whether `origin` has a branch; none when it cannot be asked.
pub(super) async fn is_pushed(repo: &Repo, name: &str) -> Result<Option<bool>, Fault> {
    let stops = Stops::new();
    let _stops = StopsWithCaller::new(&stops);
    let (repo, name) = (repo.clone(), name.to_owned());
    blocking(move || remote::is_pushed(&repo, &name, &stops)).await
}

fn unfit(reason: String) -> Fault {
    Fault::BadPublication { reason }
}

/// A name for a branch at the remote. What work is merged into is not where it is pushed.
fn fitting(name: String, record: &Record) -> Result<String, Fault> {
    if !remote::is_branch_name(&name) {
        return Err(unfit(format!("`{name}` is not a name for a branch")));
    }
    match name == record.body.base.name {
        true => {
            Err(unfit(format!("`{name}` is the branch that the session started from: open a pull request into it")))
        }
        false => Ok(name),
    }
}

async fn draft_body(record: &Record, repo: &Repo, base: &str) -> Result<String, Fault> {
    let summary = record.body.summary.as_ref().map_or("", |summary| summary.session.as_str());
    let (repo, branch, base) = (repo.clone(), format!("refs/heads/{}", record.body.branch), base.to_owned());
    let commits = blocking(move || {
        let base = remote::pull_base(&repo, Some(&base))?.and_then(|base| base.commit);
        match base.zip(repo.find_ref(&branch)?) {
            Some((base, head)) => remote::commits(&repo, base, head),
            None => Ok(String::new()),
        }
    });
    Ok(draft::body(summary, &commits.await?))
}

fn shown(pull: Pull) -> ApiPull {
    let Pull { number, title, body, url, state, is_draft, author, base, head, .. } = pull;
    ApiPull { number, url, title, body, state, draft: is_draft, author, base, head, review: None }
}

fn reviewed(review: Review) -> ApiPull {
    let Review { pull, checks, diff } = review;
    let mut warnings = Vec::new();
    let checks = checks.map_err(|reason| warnings.push(format!("the checks cannot be read: {reason}"))).ok();
    let diff = diff.map_err(|reason| warnings.push(format!("the diff cannot be read: {reason}"))).ok();
    let mut checks = checks.map(|checks| checks.into_iter().map(check).collect::<Vec<_>>());
    if let Some(checks) = &mut checks {
        checks.sort_by_key(|check| check.outcome);
    }
    let diff_truncated = diff.as_ref().is_some_and(|diff| diff.is_cut);
    let review = PullReview { checks, diff: diff.map(|diff| diff.text), diff_truncated, warnings };
    ApiPull { review: Some(review), ..shown(pull) }
}

fn check(check: Check) -> PullCheck {
    let outcome = match check.outcome() {
        Outcome::Failing => CheckOutcome::Failing,
        Outcome::Pending => CheckOutcome::Pending,
        Outcome::Passing => CheckOutcome::Passing,
        Outcome::Other => CheckOutcome::Other,
    };
    PullCheck { name: check.name, state: check.state, outcome, url: check.url }
}
