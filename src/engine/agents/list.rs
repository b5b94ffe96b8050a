//! Agents as clients ask for them: the catalog, one agent as it would work, a check of files, and our own as copies.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::catalog::Entry;
use crate::agent::directory::{AGENTS, SkillLayout};
use crate::agent::listing::{self, Detail};
use crate::agent::parse::{self, FileText};
use crate::agent::{self, Definition, Diagnostic, Format, Scope, Severity, builtin, directory, skill, surface};
use crate::api::agent::{
    Agent, AgentDiagnostic, AgentFile, AgentFiles, AgentOnBackend, AgentPersona, AgentPlace, AgentQuery, AgentRoles,
    AgentSource, AgentText, CheckAgents, SeedAgents, SeededAgents, ShowAgent, SkillFile,
};
use crate::api::error::Error;
use crate::backend::spec::{self, Spec};
use crate::backend::{Access, NativeTool};
use crate::config::Config;
use crate::git::GitError;
use crate::tool::Tool;

use super::super::Engine;
use super::super::create::project_id;
use super::super::fault::Fault;
use super::super::standing::Standing;
use super::{Agents, Ground, pick, role};

impl Engine {
    /// What the tool `list_agents` tells a model.
    pub async fn agents(&self, query: AgentQuery) -> Result<AgentRoles, Error> {
        let AgentQuery { cwd, agent, expanded } = query;
        let detail = if expanded { Detail::Expanded } else { Detail::Brief };
        let (agents, _) = self.agents_at(cwd).await?;
        let mut told = listing::list_agents(&agents.catalog, agent.as_deref(), detail).map_err(Fault::from)?;
        let agents = told["agents"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(AgentRoles { agents })
    }

    /// Every file and what became of it.
    pub async fn agent_files(&self, place: AgentPlace) -> Result<AgentFiles, Error> {
        let (agents, _) = self.agents_at(place.cwd).await?;
        let skill = |skill: &skill::Skill| SkillFile {
            name: skill.name.clone(),
            description: skill.description.clone(),
            path: skill.path.clone(),
        };
        Ok(AgentFiles {
            agents: agents.catalog.entries().iter().map(file).collect(),
            skills: agents.skills.iter().map(skill).collect(),
            diagnostics: agents.broken_skills.iter().map(|(path, said)| diagnostic(path, said)).collect(),
        })
    }

    /// One agent as it would work on each backend.
    pub async fn agent(&self, name: &str, query: ShowAgent) -> Result<Agent, Error> {
        Ok(self.show_agent(name, query).await?)
    }

    /// What is wrong with files.
    pub fn check_agents(&self, check: CheckAgents) -> Vec<AgentDiagnostic> {
        check.files.iter().flat_map(checked).collect()
    }

    /// Copies our own agents into the user's directory, all of them or none.
    pub async fn seed_agents(&self, SeedAgents {}: SeedAgents) -> Result<SeededAgents, Error> {
        let directory = self.shared.agents.homes.own.join("agents");
        Ok(tokio::task::spawn_blocking(move || seed(&directory)).await.map_err(Fault::from)??)
    }

    /// The agents and the settings at a directory; outside of a repository they are the user's.
    pub(super) async fn agents_at(&self, cwd: Option<String>) -> Result<(Arc<Agents>, Config), Fault> {
        let here = match cwd {
            Some(cwd) => self.standing(PathBuf::from(cwd)).await?,
            None => None,
        };
        let (ground, config) = match here {
            Some((here, commit)) => {
                let project = project_id(&self.shared, &here.repo).await?;
                let settings = self.shared.settings.project(&project, &here.repo, commit).await?;
                (Ground::of_standing(&here, commit), settings.config)
            }
            None => (Ground::Nowhere, self.shared.settings.user()?),
        };
        Ok((super::read(&self.shared, ground).await?, config))
    }

    async fn standing(&self, cwd: PathBuf) -> Result<Option<(Standing, crate::git::Oid)>, Fault> {
        let found = async {
            let here = Standing::find(&self.shared, cwd).await?;
            let commit = here.base(None).await?.commit;
            Ok((here, commit))
        };
        match found.await {
            Ok(found) => Ok(Some(found)),
            Err(Fault::Git(GitError::NotARepository { .. } | GitError::NoCommits { .. })) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    async fn show_agent(&self, name: &str, query: ShowAgent) -> Result<Agent, Fault> {
        let ShowAgent { cwd, path, backend } = query;
        let (agents, config) = self.agents_at(cwd).await?;
        let found = pick::find(&agents, Some(name), &config.default_agent)?;
        let entries = agents.catalog.entries();
        let entry = entries.iter().find(|entry| entry.definition() == Some(found.definition));
        let registry = self.shared.settings.registry(&config);
        let path = path.map(OsString::from).or_else(|| self.shared.own_environment.get("PATH").map(OsString::from));
        let installed = |spec: &&Spec| spec::resolve(spec, path.as_deref(), &self.shared.neutral_dir()).is_ok();
        let specs: Vec<&Spec> = match &backend {
            Some(name) => {
                let known = registry.all().map(|spec| spec.name.clone()).collect();
                let unknown = || Fault::UnknownBackend { name: name.clone(), known };
                vec![registry.get(name).ok_or_else(unknown)?]
            }
            None => registry.offered().filter(installed).collect(),
        };
        let on = |spec: &&Spec| on_backend(&role::would_be(&found, &agents, &config, spec, None), spec);
        Ok(Agent {
            file: entry.map(file).unwrap_or_default(),
            persona: found.persona.map(|persona| persona.name.clone()),
            prompt: found.prompt.trim().to_owned(),
            model: found.model.map(|choice| choice.value.to_owned()),
            reasoning_effort: found.effort.map(|choice| choice.value.to_owned()),
            tools: role::surface(found.definition, &config, &[]).names(),
            backends: specs.iter().map(on).collect(),
        })
    }
}

fn on_backend(role: &role::Role, spec: &Spec) -> AgentOnBackend {
    let words = |tools: &std::collections::BTreeSet<NativeTool>| {
        let kept = NativeTool::ALL.into_iter().filter(|tool| tools.contains(tool) && spec.has(&role.native, *tool));
        kept.map(|tool| tool.tool().name().to_owned()).collect()
    };
    AgentOnBackend {
        backend: spec.name.clone(),
        served: role.served.iter().map(|tool| tool.name.clone()).collect(),
        native: role.native.tools.as_ref().map(words),
        access: match role.native.access {
            Access::Write => "write",
            Access::ReadOnly => "read_only",
        }
        .to_owned(),
        problem: role.unheld.clone(),
    }
}

fn file(entry: &Entry) -> AgentFile {
    let source = entry.source();
    let mut diagnostics: Vec<_> = entry.diagnostics().iter().map(|said| diagnostic(&source.path, said)).collect();
    let shared = AgentFile {
        id: entry.ids().first().map(|id| (*id).to_owned()).unwrap_or_default(),
        source: AgentSource {
            scope: source.scope.to_string(),
            format: source.format.to_string(),
            path: source.path.clone(),
            sha256: source.sha256.clone(),
        },
        shadowed_by: entry.shadowed_by.clone(),
        ..AgentFile::default()
    };
    let Some(definition) = entry.definition() else {
        return AgentFile { broken: true, diagnostics, ..shared };
    };
    diagnostics.extend(unknown_tools(definition).map(|said| diagnostic(&source.path, &said)));
    let persona = |persona: &agent::Persona| AgentPersona {
        name: persona.name.clone(),
        description: persona.description.clone(),
        model: persona.model.clone(),
        reasoning_effort: persona.effort.clone(),
    };
    AgentFile {
        display_name: definition.display_name.clone(),
        description: definition.description.clone(),
        mode: Some(definition.mode.to_string()),
        hidden: definition.hidden,
        model: definition.model.clone(),
        reasoning_effort: definition.effort.clone(),
        allow_list: definition.tools.allow.clone(),
        deny_list: Some(definition.tools.deny.clone()).filter(|deny| !deny.is_empty()),
        read_only: definition.access == agent::Access::ReadOnly,
        max_steps: definition.max_steps,
        personas: definition.personas.iter().map(persona).collect(),
        diagnostics,
        ..shared
    }
}

fn unknown_tools(definition: &Definition) -> impl Iterator<Item = Diagnostic> {
    let warnings = surface::resolve(definition, Tool::all(), &[]).warnings;
    let said = |message| Diagnostic { severity: Severity::Warning, code: "unknown_tool", message, line: None };
    warnings.into_iter().map(said)
}

fn diagnostic(path: &str, said: &Diagnostic) -> AgentDiagnostic {
    AgentDiagnostic {
        path: path.to_owned(),
        line: said.line,
        severity: said.severity.to_string(),
        code: said.code.to_owned(),
        message: said.message.clone(),
    }
}

/// What is wrong with one file that a client read.
fn checked(file: &AgentText) -> Vec<AgentDiagnostic> {
    let AgentText { path, text } = file;
    let (place, name) = (Path::new(path), Path::new(path).file_name().and_then(|name| name.to_str()));
    let parent = place.parent().unwrap_or(place);
    if name == Some("SKILL.md") {
        let directory = parent.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let said =
            |message: String, line| Diagnostic { severity: Severity::Error, code: "broken_skill", message, line };
        return match skill::parse(path, directory, SkillLayout::Directories, text) {
            Ok(_) => Vec::new(),
            Err(error) => vec![diagnostic(path, &said(error.to_string(), super::line_of(&error)))],
        };
    }
    let stem = name.and_then(directory::stem).or(name).unwrap_or_default().to_owned();
    let (path, text) = (path.clone(), text.clone());
    let file = FileText { scope: Scope::Project, level: 0, format: format_in(parent), path, stem, text };
    match parse::parse(&file) {
        Ok(definition) => {
            let said = definition.diagnostics.iter().cloned().chain(unknown_tools(&definition));
            said.map(|said| diagnostic(&file.path, &said)).collect()
        }
        Err(broken) => broken.diagnostics.iter().map(|said| diagnostic(&file.path, said)).collect(),
    }
}

/// How files of a directory are read; one that nobody knows is read as our own.
fn format_in(directory: &Path) -> Format {
    let known = AGENTS.iter().filter(|known| directory.ends_with(known.path));
    known.max_by_key(|known| known.path.len()).map_or(Format::Unified, |known| known.format)
}

fn seed(directory: &Path) -> Result<SeededAgents, Fault> {
    let file = |act, path: &Path| {
        let path = path.to_owned();
        move |source| Fault::File { act, path, source }
    };
    let named = directory.display().to_string();
    std::fs::create_dir_all(directory).map_err(file("create", directory))?;
    let entries = std::fs::read_dir(directory).map_err(file("read", directory))?;
    let names: Vec<_> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let wanted = builtin::to_seed(&names);
    let mut written = Vec::new();
    for embedded in wanted {
        let path = directory.join(embedded.file_name);
        match std::fs::File::options().write(true).create_new(true).open(&path) {
            Ok(mut whole) => whole.write_all(embedded.text.as_bytes()).map_err(file("write", &path))?,
            // Somebody was faster; what is there stays.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(file("write", &path)(error)),
        }
        written.push(embedded.file_name.to_owned());
    }
    let ours = builtin::FILES.iter().map(|embedded| embedded.file_name);
    let existing = ours.filter(|name| names.contains(name)).map(str::to_owned).collect();
    Ok(SeededAgents { directory: named, written, existing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_says_how_a_file_is_read() {
        for (directory, format) in [
            ("/r/.coppice/agents", Format::Unified),
            ("/r/.kodacode/agents", Format::Koda),
            ("/h/.config/kodacode/agents", Format::Koda),
            (".codex/.agents", Format::Template),
            ("/r/.agents/agents", Format::Task),
            ("/r/.claude/agents", Format::Claude),
            ("/r/.yottacode/agents", Format::Yotta),
            ("/somewhere", Format::Unified),
        ] {
            assert_eq!(format_in(Path::new(directory)), format, "{directory}");
        }
    }

    #[test]
    fn copies_are_made_all_or_none_and_never_over_a_file() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("agents");
        let seeded = seed(&directory).unwrap();
        assert_eq!((seeded.written.len(), seeded.existing.len()), (builtin::FILES.len(), 0));
        for embedded in builtin::FILES {
            assert_eq!(std::fs::read_to_string(directory.join(embedded.file_name)).unwrap(), embedded.text);
            std::fs::remove_file(directory.join(embedded.file_name)).unwrap();
        }
        std::fs::write(directory.join("planner.md"), "mine").unwrap();
        let seeded = seed(&directory).unwrap();
        assert_eq!((seeded.written, seeded.existing), (vec![], vec!["planner.md".to_owned()]));
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
        assert_eq!(std::fs::read_to_string(directory.join("planner.md")).unwrap(), "mine");
    }
}
