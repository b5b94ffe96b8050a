//! The GitHub of a session's repository: which one it is, and a way to ask it.

use std::sync::Arc;

use crate::git::{Repo, remote};
use crate::github::{Base, Client, GitHubError, Reference, Slug};

use super::super::actor::blocking;
use super::super::fault::Fault;
use super::super::record::Record;
use super::super::shared::Shared;
use super::login;

/// A repository at GitHub and whoever asks about it.
pub(in super::super) struct Forge {
    shared: Arc<Shared>,
    base: Base,
    pub(in super::super) slug: Slug,
    client: Client,
    /// What the session's branch is called there.
    pub(in super::super) head: String,
}

impl Forge {
    /// Finds the GitHub of a session; nothing is asked of it.
    pub(in super::super) async fn of(shared: &Arc<Shared>, record: &Record, repo: &Repo) -> Result<Arc<Self>, Fault> {
        let settings = shared.settings.session(record, repo).await?;
        let base = Base::parse(&settings.config.github_api)?;
        let (of, branch) = (repo.clone(), record.body.branch.clone());
        let (urls, head) = blocking(move || Ok((remote::origin(&of)?, remote::published(&of, &branch)?))).await?;
        let slug = repository(&urls, &base)?;
        let token = login::find(shared, record, &base).await?;
        let client = Client::new(base.clone(), token);
        Ok(Arc::new(Self { shared: Arc::clone(shared), base, slug, client, head }))
    }

    /// The pull request that is meant; that of the session's branch when none is named.
    pub(in super::super) fn reference(&self, named: Option<&str>) -> Result<Reference, Fault> {
        match named {
            Some(text) => Reference::parse(text, &self.slug, &self.base)
                .map_err(|error| Fault::BadPublication { reason: error.to_string() }),
            None => Ok(Reference::Branch { owner: None, name: self.head.clone() }),
        }
    }

    /// Asks GitHub on a thread that may block.
    pub(in super::super) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&Client, &Slug) -> Result<T, GitHubError> + Send + 'static,
    ) -> Result<T, Fault> {
        let forge = Arc::clone(self);
        let answer = tokio::task::spawn_blocking(move || question(&forge.client, &forge.slug)).await?;
        if let Err(GitHubError::BadToken) = &answer {
            self.shared.logins.refused(&self.base);
        }
        Ok(answer?)
    }
}

/// The first address that names a repository of this GitHub.
fn repository(urls: &[String], base: &Base) -> Result<Slug, Fault> {
    let none = |reason: String| Fault::NoForge { reason };
    let slugs: Vec<_> = urls.iter().filter_map(|url| Slug::parse(url)).collect();
    match (slugs.iter().find(|slug| base.serves(slug)), slugs.first(), urls.is_empty()) {
        (Some(slug), _, _) => Ok(slug.clone()),
        (None, Some(slug), _) => {
            Err(none(format!("the remote `origin` is at `{}`, not at `{}`", slug.host, base.login_host())))
        }
        (None, None, true) => Err(none("there is no remote `origin`".to_owned())),
        // The address may hold a password, so it is not shown.
        (None, None, false) => Err(none("the address of the remote `origin` names no repository of a host".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_that_of_origin_however_it_is_written() {
        let check = |urls: &[&str], expected: Result<&str, &str>| {
            let urls: Vec<_> = urls.iter().map(|url| (*url).to_owned()).collect();
            let found = repository(&urls, &Base::parse("https://api.github.com").unwrap());
            let found = found.map(|slug| slug.full_name()).map_err(|fault| fault.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{urls:?}");
        };
        check(&["git@github.com:ada/engine", "/srv/mirror"], Ok("ada/engine"));
        check(&["gh:ada/engine", "https://github.com/ada/engine"], Ok("ada/engine"));
        check(
            &["git@gitlab.com:ada/engine"],
            Err("GitHub cannot be asked: the remote `origin` is at `gitlab.com`, not at `github.com`"),
        );
        check(&[], Err("GitHub cannot be asked: there is no remote `origin`"));
        let local = "GitHub cannot be asked: the address of the remote `origin` names no repository of a host";
        check(&["/srv/engine.git", "/srv/engine.git"], Err(local));
    }
}
