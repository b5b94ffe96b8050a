//! The configuration in force: read anew whenever it matters, so that an edit counts from the next prompt on.
//!
//! What the repository's own file grants counts only when the user trusts exactly that text. Only the files of the user
//! are ever written: the one for all projects and the one for each.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::backend::registry::{Configured, Registry};
use crate::backend::spec::Transport;
use crate::config::{self, Config, GrantText, LayerKind, Origin, Trust};
use crate::git::{Oid, Repo};
use crate::permission::load;
use crate::permission::rule::RuleFile;
use crate::store::{ProjectRow, Store};

use super::fault::Fault;
use super::record::Record;
use super::rules;
use super::timing::Limits;

/// The repository's own file, as it is in a commit.
const REPOSITORY_FILE: &str = ".coppice/config.toml";
/// Which ignored files of the checkout come along, as it is in a commit.
const INCLUDE_FILE: &str = ".worktreeinclude";

/// Reads configuration for one daemon, and writes what the user changes through it.
pub(super) struct SettingsReader {
    pub(super) user_file: PathBuf,
    pub(super) data: PathBuf,
    pub(super) executable: PathBuf,
    /// The user's home directory, which `~` stands for in rules.
    pub(super) home: String,
    pub(super) store: Store,
    /// Held from the reading to the writing of a file, so that two changes at once are both in it.
    pub(super) writing: Mutex<()>,
}

/// A file that is the user's own.
#[derive(Debug, Clone, Copy)]
pub(super) enum OwnFile<'a> {
    User,
    /// What the user says about one project.
    Project(&'a str),
}

/// The settings of one project at one commit.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) config: Config,
    pub(super) trust: Trust,
    pub(super) include: Option<String>,
    /// Whether the repository names files to bring along, trusted or not.
    pub(super) brings: bool,
    /// The repository's own rules about calls.
    pub(super) rules: Option<RuleFile>,
    pub(super) grants: Option<GrantText>,
    pub(super) trusted: Option<Trusted>,
}

/// What is kept of a project besides its place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ProjectRecord {
    pub(super) trusted: Option<Trusted>,
}

/// The text that the user agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trusted {
    pub(super) hash: String,
    pub(super) text: String,
    /// The branches that were checked out when they did, by full names.
    #[serde(default)]
    pub(super) branches: Vec<String>,
}

impl Settings {
    /// Whether something that the repository asks for waits for trust. What only makes it stricter counts at once.
    pub(super) fn is_held_back(&self) -> bool {
        let is_untrusted = |ignored: &config::resolve::Ignored| ignored.reason == config::resolve::Reason::Untrusted;
        let allows = self.rules.as_ref().is_some_and(|rules| !rules.allow.is_empty());
        let brings = self.brings;
        self.trust == Trust::Untrusted && (allows || brings || self.config.ignored.iter().any(is_untrusted))
    }
}

impl SettingsReader {
    /// The user's own settings.
    pub(super) fn user(&self) -> Result<Config, Fault> {
        read_user_config(&self.user_file)
    }

    /// The settings of a session.
    pub(super) async fn session(&self, record: &Record, repo: &Repo) -> Result<Settings, Fault> {
        self.project(&record.project, repo, record.body.rules_commit().parse()?).await
    }

    /// The settings of a project, with the repository's files as they are in `commit`.
    pub(super) async fn project(&self, project: &str, repo: &Repo, commit: Oid) -> Result<Settings, Fault> {
        let trusted = self.record(project).await?.trusted;
        let (from_commit, include, rules) = {
            let repo = repo.clone();
            tokio::task::spawn_blocking(move || {
                Ok::<_, crate::git::GitError>((
                    repo.file_at(&commit, REPOSITORY_FILE)?,
                    repo.file_at(&commit, INCLUDE_FILE)?,
                    repo.file_at(&commit, rules::SHARED_FILE)?,
                ))
            })
            .await??
        };
        let include = include.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let rules =
            rules.map(|bytes| load::rule_file(rules::SHARED_FILE, &String::from_utf8_lossy(&bytes), &self.home));
        let rules = rules.transpose()?;
        let repository = from_commit.map(|bytes| {
            let label = format!("{REPOSITORY_FILE} of the repository");
            config::parse(&String::from_utf8_lossy(&bytes), &Origin { label, kind: LayerKind::Repository })
        });
        let repository = repository.transpose()?;
        let grants = {
            let allows = rules.as_ref().map(|rules| load::grants(&rules.allow)).unwrap_or_default();
            config::grants(repository.as_ref(), include.as_deref(), &allows)
        };
        let trust = match (&grants, &trusted) {
            // The text itself: a short name of it could be that of another text too.
            (Some(grants), Some(trusted)) if grants.as_str() == trusted.text => Trust::Trusted,
            (Some(_) | None, Some(_) | None) => Trust::Untrusted,
        };
        let layers = [self.layer(OwnFile::User)?, repository, self.layer(OwnFile::Project(project))?];
        let layers: Vec<_> = layers.into_iter().flatten().collect();
        let brings = include.as_deref().is_some_and(|text| text.lines().any(|line| !line.trim().is_empty()));
        let include = include.filter(|_| trust == Trust::Trusted);
        Ok(Settings { config: config::resolve(&layers, trust), trust, include, brings, rules, grants, trusted })
    }

    /// What is kept of a project.
    pub(super) async fn record(&self, project: &str) -> Result<ProjectRecord, Fault> {
        let rows = self.store.projects().await?;
        let row = rows.into_iter().find(|row| row.id == project);
        Ok(row.map(|ProjectRow { record, .. }| serde_json::from_str(&record).unwrap_or_default()).unwrap_or_default())
    }

    /// The backends of a configuration.
    pub(super) fn registry(&self, config: &Config) -> Registry {
        let configured = config.backends.iter().map(|(name, backend)| Configured {
            name: name.clone(),
            // The only one that a configuration can name.
            transport: backend.transport.as_ref().map(|_| Transport::Acp),
            command: backend.command.clone(),
            env: backend.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            models: backend.models.clone(),
        });
        Registry::new(&self.executable, configured.collect())
    }

    /// Sets one key of a file, or takes it out; comments and order stay as their owner wrote them.
    pub(super) fn change(&self, file: OwnFile<'_>, key: &str, value: Option<&str>) -> Result<(), Fault> {
        self.change_all(file, &[(key.to_owned(), value.map(str::to_owned))])
    }

    /// The same for several keys, all of them or none.
    pub(super) fn change_all(&self, file: OwnFile<'_>, changes: &[(String, Option<String>)]) -> Result<(), Fault> {
        let _held = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (path, origin) = self.whereabouts(file);
        let fail = |act, source| Fault::File { act, path: path.clone(), source };
        let old = read(&path)?.unwrap_or_default();
        let mut new = old.clone();
        for (key, value) in changes {
            new = match value {
                Some(value) => config::set_key(&new, &origin, key, value)?,
                None => config::unset_key(&new, &origin, key)?,
            };
        }
        if new == old {
            return Ok(());
        }
        let dir = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(dir).map_err(|error| fail("create the directory of", error))?;
        let whole = tempfile::NamedTempFile::new_in(dir).map_err(|error| fail("write", error))?;
        std::fs::write(whole.path(), new).map_err(|error| fail("write", error))?;
        whole.persist(&path).map_err(|error| fail("write", error.error))?;
        Ok(())
    }

    fn layer(&self, file: OwnFile<'_>) -> Result<Option<config::Layer>, Fault> {
        let (path, origin) = self.whereabouts(file);
        read_layer(&path, &origin)
    }

    fn whereabouts(&self, file: OwnFile<'_>) -> (PathBuf, Origin) {
        let (path, kind) = match file {
            OwnFile::User => (self.user_file.clone(), LayerKind::User),
            OwnFile::Project(project) => {
                (self.data.join("projects").join(project).join("config.toml"), LayerKind::Project)
            }
        };
        let origin = origin_of(&path, kind);
        (path, origin)
    }
}

/// The user's own settings, by their file.
pub(super) fn read_user_config(path: &Path) -> Result<Config, Fault> {
    let layer = read_layer(path, &origin_of(path, LayerKind::User))?;
    Ok(config::resolve(layer.as_slice(), Trust::Untrusted))
}

fn read_layer(path: &Path, origin: &Origin) -> Result<Option<config::Layer>, Fault> {
    Ok(read(path)?.map(|text| config::parse(&text, origin)).transpose()?)
}

fn origin_of(path: &Path, kind: LayerKind) -> Origin {
    Origin { label: path.display().to_string(), kind }
}

/// The text of a file that need not be there.
fn read(path: &Path) -> Result<Option<String>, Fault> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Fault::File { act: "read", path: path.to_owned(), source }),
    }
}

/// The time limits of a configuration.
pub(super) fn limits(config: &Config) -> Limits {
    let config::resolve::Limits { turn_timeout, stall_timeout, backend_idle, .. } = config.limits;
    Limits { turn: turn_timeout, stall: stall_timeout, idle: backend_idle }
}

/// How many turns may run at once.
pub(super) fn parallel_turns(config: &Config) -> usize {
    match config.limits.parallel_turns {
        0 => std::thread::available_parallelism().map_or(4, |cores| cores.get().max(4)),
        some => some as usize,
    }
}

/// How long a removed session can be restored.
pub(super) fn keep_removed(config: &Config) -> Duration {
    config.keep_removed
}

/// Names a text.
pub(super) fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// The first 64 bits of a digest, in hexadecimal.
pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}
