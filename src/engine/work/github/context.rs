//! What a pull request is written from: the branch, its base and its remote, and whether GitHub can be asked.

use crate::git::remote::{self, Found, PullBase};
use crate::git::{GitError, Repo};
use crate::tools::github::{BaseFound, Context};

use super::super::super::actor::blocking;
use super::super::super::fault::Fault;
use super::super::super::publish;
use super::{Asks, is_unavailable, told};

/// Gathers it. GitHub itself is not asked: that there is a login is enough to say that it can be.
pub(super) async fn gather(asks: &Asks<'_>, wanted: Option<String>) -> Result<String, Fault> {
    let branch = asks.caller.record.body.branch.clone();
    let (head, unavailable) = match asks.forge().await {
        Ok(forge) => (forge.head.clone(), None),
        Err(fault) if is_unavailable(&fault) => (branch.clone(), Some(told(fault))),
        Err(fault) => return Err(fault),
    };
    let is_pushed = publish::is_pushed(&asks.repo, &head).await?;
    let repo = asks.repo.clone();
    let read = blocking(move || compare(&repo, &branch, wanted.as_deref())).await?;
    Ok(Context { is_pushed, unavailable, ..read }.text())
}

fn compare(repo: &Repo, branch: &str, wanted: Option<&str>) -> Result<Context, GitError> {
    let mut context = Context { branch: branch.to_owned(), ..Context::default() };
    let head = repo.find_ref(&format!("refs/heads/{branch}"))?;
    let base = remote::pull_base(repo, wanted)?;
    let commit = base.as_ref().and_then(|base| base.commit);
    if let Some((base, head)) = commit.zip(head) {
        context.ahead = Some(remote::ahead(repo, base, head)?);
        context.stat = remote::stat(repo, base, head)?;
        context.commits = remote::commits(repo, base, head)?;
    }
    if let Some(commit) = commit.or(head) {
        context.template = remote::template(repo, commit)?.unwrap_or_default();
    }
    context.base = match base {
        Some(PullBase { name, found: Found::Explicit, .. }) => BaseFound::Explicit(name),
        Some(PullBase { name, found: Found::OriginHead, .. }) => BaseFound::OriginHead(name),
        Some(PullBase { name, found: Found::Fallback, .. }) => BaseFound::Fallback(name),
        None => BaseFound::Unresolved,
    };
    Ok(context)
}
