//! Things of a repository or of the user: trust and configuration.

use std::path::PathBuf;

use crate::api::error::Error;
use crate::api::project::{
    ConfigQuery, ConfigScope, ConfigValue, GrantTrust, Place, SetConfig, Trust as TrustView, TrustState,
};
use crate::config::{self, Config, Source, Trust, Value, key};
use crate::git::repo::Base;
use crate::git::{GitError, Repo};
use crate::permission::load;
use crate::store::{Change, Durability, ProjectRow, Write};

use super::actor::blocking;
use super::create::project_id;
use super::fault::Fault;
use super::import::HIDDEN;
use super::record::json;
use super::rules::{Files, LocalRules};
use super::settings::{self, OwnFile, ProjectRecord, Settings, Trusted};
use super::standing::Standing;
use super::{Engine, trusted_branch};

impl Engine {
    /// What the repository asks to be trusted with, and whether it is.
    pub async fn trust(&self, place: Place) -> Result<TrustView, Error> {
        let (repo, base, settings) = self.place(place.cwd).await?;
        Ok(self.trust_view(&repo, &base, &settings).await?)
    }

    /// Trusts exactly the text with this hash.
    pub async fn grant(&self, request: GrantTrust) -> Result<TrustView, Error> {
        let GrantTrust { cwd, hash } = request;
        Ok(self.store_grant(cwd, hash).await?)
    }

    /// Every effective value and where it came from.
    pub async fn config(&self, query: ConfigQuery) -> Result<Vec<ConfigValue>, Error> {
        Ok(config_values(&self.config_at(query).await?))
    }

    /// Writes or takes out one key of a file of the user's, which keeps its comments and order.
    pub async fn set_config(&self, request: SetConfig) -> Result<ConfigValue, Error> {
        Ok(self.write_config(request).await?)
    }

    /// The settings in force at a directory; outside of a repository they are the user's.
    pub(super) async fn config_at(&self, query: ConfigQuery) -> Result<Config, Fault> {
        match query.cwd {
            None => self.shared.settings.user(),
            Some(cwd) => match self.place(cwd).await {
                Ok((_, _, settings)) => Ok(settings.config),
                Err(
                    Fault::InDataDirectory { .. }
                    | Fault::Git(GitError::NotARepository { .. } | GitError::NoCommits { .. }),
                ) => self.shared.settings.user(),
                Err(fault) => Err(fault),
            },
        }
    }

    /// The repository of a directory, what is checked out there, and the settings of that commit.
    async fn place(&self, cwd: String) -> Result<(Repo, Base, Settings), Fault> {
        let here = Standing::find(&self.shared, PathBuf::from(cwd)).await?;
        let base = here.base(None).await?;
        let project = project_id(&self.shared, &here.repo).await?;
        let settings = self.shared.settings.project(&project, &here.repo, base.commit).await?;
        Ok((here.repo, base, settings))
    }

    async fn store_grant(&self, cwd: String, hash: String) -> Result<TrustView, Fault> {
        let (repo, base, mut settings) = self.place(cwd).await?;
        let project = project_id(&self.shared, &repo).await?;
        let files = Files::of(&self.shared, &project, &repo);
        let asked = AskedTrust::new(&settings, &files)?;
        let (found, committed) = (settings::hash(&asked.text()), settings::hash(&asked.committed));
        if hash != found && hash != committed {
            if asked.state(&settings) == TrustState::NothingToTrust {
                return Err(Fault::NothingToTrust);
            }
            return Err(Fault::OtherGrants { given: hash, found });
        }
        let agrees_to_local = hash == found && !asked.local.pending.is_empty();
        if agrees_to_local {
            files.agree(&asked.local.pending)?;
        }
        // Consent to rules of the user's own file says nothing about the branch that is checked out.
        let is_about_local_alone = agrees_to_local && settings.trust == Trust::Trusted;
        if settings.grants.is_some() && !is_about_local_alone {
            let mut branches = settings.trusted.take().map(|trusted| trusted.branches).unwrap_or_default();
            let is_new = |branch: &String| trusted_branch::is_trustworthy(branch) && !branches.contains(branch);
            let here = base.branch.clone().filter(is_new);
            branches.extend(here);
            let trusted = Some(Trusted { hash: committed, text: asked.committed, branches });
            let record = json(&ProjectRecord { trusted: trusted.clone() });
            let common_dir = repo.common_dir().to_string_lossy().into_owned();
            let changes = vec![Change::Project(ProjectRow { id: project, common_dir, record })];
            self.shared.store.write(Write { durability: Durability::Full, changes }).await?;
            (settings.trusted, settings.trust) = (trusted, Trust::Trusted);
        }
        self.trust_view(&repo, &base, &settings).await
    }

    async fn trust_view(&self, repo: &Repo, base: &Base, settings: &Settings) -> Result<TrustView, Fault> {
        let project = project_id(&self.shared, repo).await?;
        let asked = AskedTrust::new(settings, &Files::of(&self.shared, &project, repo))?;
        let (state, text) = (asked.state(settings), asked.text());
        let grants = (state != TrustState::NothingToTrust).then_some(text);
        let difference = match (state, &grants) {
            (TrustState::Changed, Some(grants)) => Some(difference(&asked.agreed_text(settings), grants)),
            (TrustState::Changed | TrustState::Trusted | TrustState::Untrusted | TrustState::NothingToTrust, _) => None,
        };
        let (of, trusted) = (repo.clone(), settings.trusted.clone());
        let branches = match settings.grants {
            Some(_) => blocking(move || trusted_branch::list_branches(&of, trusted.as_ref())).await?,
            // There is no setup command to run on any.
            None => Vec::new(),
        };
        let can_add = |branch: &&String| trusted_branch::is_trustworthy(branch) && !branches.contains(branch);
        let addable = base.branch.as_ref().filter(can_add).filter(|_| settings.grants.is_some());
        Ok(TrustView {
            project: repo.common_dir().display().to_string(),
            state,
            commit: base.commit.to_string(),
            hash: grants.as_deref().map(settings::hash),
            grants,
            difference,
            branches: trusted_branch::short_names(&branches),
            addable_branch: addable.map(|_| base.name.clone()),
        })
    }

    async fn write_config(&self, request: SetConfig) -> Result<ConfigValue, Fault> {
        let SetConfig { key, value, scope, cwd } = request;
        let settings = &self.shared.settings;
        match scope {
            ConfigScope::User => {
                settings.change(OwnFile::User, &key, value.as_deref())?;
                self.shared.slots.resize(settings::parallel_turns(&settings.user()?));
            }
            ConfigScope::Project => {
                let here = Standing::find(&self.shared, PathBuf::from(cwd.clone().ok_or(Fault::NoProject)?)).await?;
                let project = project_id(&self.shared, &here.repo).await?;
                settings.change(OwnFile::Project(&project), &key, value.as_deref())?;
            }
        }
        let values = config_values(&self.config_at(ConfigQuery { cwd }).await?);
        let effective = values.into_iter().find(|value| value.key == key);
        Ok(effective.unwrap_or_else(|| {
            let about = about(&key);
            ConfigValue { key, value: serde_json::Value::Null, origin: "default".to_owned(), about, ignored: None }
        }))
    }
}

/// What a person is asked to trust: what the repository's files grant in a commit, and what the user's own file for the
/// repository allows, which somebody else may have written.
struct AskedTrust {
    committed: String,
    local: LocalRules,
}

impl AskedTrust {
    fn new(settings: &Settings, files: &Files) -> Result<Self, Fault> {
        let committed = settings.grants.as_ref().map(|grants| grants.as_str().to_owned()).unwrap_or_default();
        Ok(Self { committed, local: files.local_rules()? })
    }

    fn text(&self) -> String {
        let local = [self.local.agreed(), &self.local.pending].concat();
        self.committed.clone() + &config::local_grants(&load::grants(&local))
    }

    /// The text that the person agreed to before.
    fn agreed_text(&self, settings: &Settings) -> String {
        let committed = settings.trusted.as_ref().map(|trusted| trusted.text.clone()).unwrap_or_default();
        committed + &config::local_grants(&load::grants(self.local.agreed()))
    }

    fn state(&self, settings: &Settings) -> TrustState {
        let is_committed_trusted = self.committed.is_empty() || settings.trust == Trust::Trusted;
        let was_trusted = settings.trusted.is_some() || self.committed.is_empty() && !self.local.agreed().is_empty();
        match (self.text().is_empty(), is_committed_trusted && self.local.pending.is_empty(), was_trusted) {
            (true, _, _) => TrustState::NothingToTrust,
            (false, true, _) => TrustState::Trusted,
            (false, false, true) => TrustState::Changed,
            (false, false, false) => TrustState::Untrusted,
        }
    }
}

/// The lines that went and came; the text has one line for each thing granted, so no context is needed.
fn difference(old: &str, new: &str) -> String {
    let gone = old.lines().filter(|line| !new.lines().any(|other| other == *line)).map(|line| format!("-{line}\n"));
    let came = new.lines().filter(|line| !old.lines().any(|other| other == *line)).map(|line| format!("+{line}\n"));
    gone.chain(came).collect()
}

fn config_values(config: &Config) -> Vec<ConfigValue> {
    let value = |setting: &config::Setting| ConfigValue {
        key: setting.key.clone(),
        value: json_value(&setting.value),
        origin: match &setting.source {
            Source::Default => "default".to_owned(),
            Source::Layer { place, .. } => place.to_string(),
        },
        about: about(&setting.key),
        ignored: config.ignored.iter().find(|ignored| ignored.key == setting.key).map(ToString::to_string),
    };
    config.settings.iter().map(value).collect()
}

fn about(key: &str) -> String {
    key::find(key).map(|key| key.doc).unwrap_or_default().to_owned()
}

fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => text.clone().into(),
        Value::Count(count) => (*count).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::Duration(_) => value.to_string().trim_matches('"').into(),
        Value::List(items) => items.clone().into(),
        // Any of them may be a key, whatever its name is; they stay in the file.
        Value::Variables(variables) => variables.keys().map(|name| (name.clone(), HIDDEN)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_grant_shows_what_went_and_what_came() {
        assert_eq!(difference("a = 1\nb = 2\n", "a = 1\nb = 3\n"), "-b = 2\n+b = 3\n");
    }
}
