//! The agents and skills of a project and its user: read anew whenever they matter, so that an edit counts from the next
//! prompt on.
//!
//! Nothing watches the files. What was read is kept as long as no file has changed since.

mod files;
mod list;
pub(super) mod pick;
pub(super) mod role;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::catalog::Catalog;
use crate::agent::parse::FileText;
use crate::agent::skill::{self, Skill, SkillError};
use crate::agent::{Definition, Diagnostic, Severity, Source, builtin};
use crate::api::request::Environment;
use crate::git::Repo;

use super::clock;
use super::fault::Fault;
use super::record::{DefinitionRecord, Record};
use super::shared::Shared;
use super::standing::Standing;
pub(super) use files::Ground;
use files::{Content, Homes, Kind, Listed};
pub(super) use pick::{Picked, pick};

/// A file that was touched so shortly before it was read may change again without another time.
const FRESH_MS: i64 = 100;

/// How many projects are kept in mind.
const KEPT: usize = 32;

/// Reads agents for one daemon.
pub(super) struct AgentReader {
    homes: Homes,
    kept: Mutex<HashMap<PathBuf, Kept>>,
}

/// What was read, and the files as they were then.
type Kept = (Vec<Listed>, Arc<Agents>);

/// The agents and skills of one place at one moment.
#[derive(Debug, Default)]
pub(super) struct Agents {
    pub(super) catalog: Catalog,
    pub(super) skills: Vec<Skill>,
    /// The files that should be skills and are none.
    broken_skills: Vec<(String, Diagnostic)>,
    files: BTreeMap<String, FileText>,
}

impl AgentReader {
    /// `own` is the directory of the user's configuration.
    pub(super) fn new(own: &Path, environment: &Environment) -> Self {
        let named = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = named("HOME");
        let config = named("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        Self { homes: Homes { own: own.to_owned(), config, home }, kept: Mutex::default() }
    }

    /// Where the user's own skills are, with the files that they name.
    pub(super) fn skill_directories(&self) -> Vec<PathBuf> {
        self.homes.skill_directories().map(|(_, path)| path).collect()
    }

    /// Everything that a ground has, as it is at this moment.
    pub(super) fn read(&self, ground: &Ground) -> Result<Arc<Agents>, Fault> {
        let listed = files::list(&self.homes, ground)?;
        let key = match ground {
            Ground::Nowhere => PathBuf::new(),
            Ground::Checkout { root, place } => root.join(place),
            Ground::Commit { repo, place, .. } => repo.common_dir().join(place),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, agents)) = kept.get(&key)
            && *known == listed
        {
            return Ok(agents.clone());
        }
        let agents = Arc::new(Agents::of(&listed));
        if kept.len() >= KEPT {
            kept.clear();
        }
        match listed.iter().all(is_settled) {
            true => kept.insert(key, (listed, agents.clone())),
            false => kept.remove(&key),
        };
        Ok(agents)
    }
}

impl Agents {
    fn of(listed: &[Listed]) -> Self {
        let mut agents = Self::default();
        let (mut files, mut unread, mut skills) = (builtin::files().collect::<Vec<_>>(), Vec::new(), Vec::new());
        for file in listed {
            let Listed { scope, level, ref path, ref stem, .. } = *file;
            match (file.kind, file.read()) {
                (Kind::Agent(format), read) => {
                    let text = read.as_deref().unwrap_or_default().to_owned();
                    let file = FileText { scope, level, format, path: path.clone(), stem: stem.clone(), text };
                    match read {
                        Ok(_) => files.push(file),
                        Err(problem) => unread.push((file, problem)),
                    }
                }
                (Kind::Skill(layout), Ok(text)) => match skill::parse(path, stem, layout, &text) {
                    Ok(skill) => skills.push(skill),
                    Err(error) => agents.refuse_skill(path, &error.to_string(), line_of(&error)),
                },
                (Kind::Skill(_), Err(problem)) => agents.refuse_skill(path, &problem, None),
            }
        }
        agents.files = files.iter().map(|file| (file.path.clone(), file.clone())).collect();
        agents.catalog = Catalog::build_with(files, unread);
        agents.skills = skill::merged(skills);
        agents
    }

    fn refuse_skill(&mut self, path: &str, problem: &str, line: Option<u32>) {
        let (severity, code, message) = (Severity::Error, "broken_skill", problem.to_owned());
        self.broken_skills.push((path.to_owned(), Diagnostic { severity, code, message, line }));
    }

    /// The text of a definition, for a session that keeps to it.
    pub(super) fn keep(&self, definition: &Definition) -> DefinitionRecord {
        let Source { scope, format, path, .. } = &definition.source;
        let text = self.files.get(path).map(|file| file.text.clone()).unwrap_or_default();
        DefinitionRecord { scope: scope.to_string(), format: format.to_string(), path: path.clone(), text }
    }
}

impl Ground {
    /// Where the files of a session's project are.
    pub(super) fn of_session(record: &Record, repo: &Repo) -> Result<Self, Fault> {
        let place = PathBuf::from(&record.body.place);
        Ok(match repo.checkout() {
            Some(root) => Self::Checkout { root: root.to_owned(), place },
            None => Self::Commit { repo: repo.clone(), commit: record.body.rules_commit().parse()?, place },
        })
    }

    /// Where the files are that count for a session which is begun here, from `commit`.
    pub(super) fn of_standing(here: &Standing, commit: crate::git::Oid) -> Self {
        let place = here.place();
        match here.repo.checkout() {
            Some(root) => Self::Checkout { root: root.to_owned(), place },
            None => Self::Commit { repo: here.repo.clone(), commit, place },
        }
    }
}

/// The agents of a ground.
pub(super) async fn read(shared: &Arc<Shared>, ground: Ground) -> Result<Arc<Agents>, Fault> {
    let shared = shared.clone();
    tokio::task::spawn_blocking(move || shared.agents.read(&ground)).await?
}

fn is_settled(file: &Listed) -> bool {
    match &file.content {
        Content::OnDisk(_, stamp) => clock::now().saturating_sub(stamp.touched_at()) > FRESH_MS,
        Content::Known(_) => true,
    }
}

/// Where in its file a skill is wrong.
fn line_of(error: &SkillError) -> Option<u32> {
    match error {
        SkillError::Header { line, .. } => Some(*line),
        SkillError::Name { .. } | SkillError::Description { .. } => None,
    }
}
