//! The role of a turn: who works, in which words, and with which tools. Worked out anew for each turn; nothing that a
//! running turn has grows by it.
//!
//! A child keeps the definition that it was made with. Everybody else has what the files say at this moment.

pub(in super::super) mod native;
mod served;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::agent::parse::{self, FileText};
use crate::agent::select;
use crate::agent::skill::{self, SkillMention};
use crate::agent::surface::{self, Surface};
use crate::agent::{self, Definition, Format, Scope};
use crate::api::event::AgentUse;
use crate::api::event::PromptAuthor;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::Spec;
use crate::backend::{Access, Native};
use crate::config::{Config, family};
use crate::delegation::{self, DelegationTool, Facade, Standing};
use crate::permission::compact::CompactPermission;
use crate::permission::{AgentWord, Effect, Profile};
use crate::protocol::prompt;
use crate::tool::Tool;
use crate::tools::external::ExternalTool;
use crate::tools::{self, AdvertisedTool};

use super::super::plan_mode;
use super::super::prepare::failure;
use super::super::record::{AgentRecord, ChildAccess, DefinitionRecord, Record, SurfaceHold};
use super::super::settings::Settings;
use super::super::shared::Shared;
use super::{Agents, Ground, pick};

/// Who works in a turn.
#[derive(Debug, Clone)]
pub(in super::super) struct Role {
    pub(in super::super) id: String,
    pub(in super::super) persona: Option<String>,
    /// Names the text of the definition.
    pub(in super::super) sha256: String,
    pub(in super::super) prompt: String,
    pub(in super::super) surface: Surface,
    pub(in super::super) served: Vec<AdvertisedTool>,
    /// Those of them that are tools of external servers.
    pub(in super::super) external: Vec<ExternalTool>,
    pub(in super::super) native: Native,
    /// Whose tools it works with.
    pub(in super::super) profile: Profile,
    delegation: tools::Delegation,
    /// What children may not exceed: a role that has no tool to write with may still hand writing to others.
    pub(in super::super) bound: Access,
    pub(in super::super) hold: SurfaceHold,
    /// Why the backend cannot be held to it, where it cannot.
    pub(in super::super) unheld: Option<String>,
    /// Whether the turn writes a plan.
    pub(in super::super) planning: tools::Planning,
    pub(in super::super) max_steps: Option<u32>,
    pub(in super::super) permission: Option<CompactPermission>,
    /// How far that map is believed.
    pub(in super::super) word: AgentWord,
    /// What the turn was worked out from: whom it can hand work to, and which skills it can load.
    pub(in super::super) agents: Arc<Agents>,
    note: Option<String>,
}

/// Works out the role of a session's next turn on a backend. `who` is the agent after all switches.
pub(in super::super) async fn resolve(
    shared: &Arc<Shared>,
    record: &Record,
    who: &AgentRecord,
    settings: &Settings,
    spec: &Spec,
    external: Vec<ExternalTool>,
) -> Result<Role, Failure> {
    let repo = super::super::prepare::open_repo(record).await.map_err(failure)?;
    let ground = Ground::of_session(record, &repo).map_err(failure)?;
    let agents = super::read(shared, ground).await.map_err(failure)?;
    let child = record.body.child.as_ref();
    let kept = child.map(|child| definition(&child.definition)).filter(|kept| is_of(kept, who));
    let part = match kept {
        Some(kept) => Part::kept(kept.map_err(|message| Failure::new(FailureKind::Setup, message))?, who)?,
        None => Part::read(&agents, who, &settings.config).map_err(failure)?,
    };
    let session = Session {
        depth: child.map_or(0, |child| child.depth),
        access: match child.map(|child| child.access) {
            Some(ChildAccess::ReadOnly) => Access::ReadOnly,
            Some(ChildAccess::Write) | None => Access::Write,
        },
        planning: if plan_mode::is_on(record) { tools::Planning::On } else { tools::Planning::Off },
        profile: record.body.profile(),
        external,
    };
    let note = child.and_then(|child| child.note.clone());
    let mut role = assemble(part, session, agents, note, &settings.config, spec);
    if let Some(home) = shared.own_environment.get("HOME") {
        role.permission = role.permission.map(|map| map.at_home(home));
    }
    held(role, settings.config.tools.surface)
}

/// A definition and the voice of it that speaks.
struct Part {
    definition: Definition,
    persona: Option<String>,
    prompt: String,
}

/// Where a session stands in its family.
struct Session {
    depth: u32,
    access: Access,
    planning: tools::Planning,
    /// Whose tools it asked for.
    profile: Option<Profile>,
    /// What the external servers have for it.
    external: Vec<ExternalTool>,
}

impl Part {
    fn read(agents: &Agents, who: &AgentRecord, config: &Config) -> Result<Self, super::super::fault::Fault> {
        let named = match (&who.persona, who.id.as_str()) {
            (_, "") => None,
            (None, id) => Some(id.to_owned()),
            (Some(persona), id) => Some(format!("{id}:{persona}")),
        };
        let found = pick::find(agents, named.as_deref(), &config.default_agent)?;
        Ok(Self::selected(&found))
    }

    /// The part of a child that keeps to its definition.
    fn kept(definition: Definition, who: &AgentRecord) -> Result<Self, Failure> {
        let persona = match &who.persona {
            Some(name) => {
                let gone = || Failure::new(FailureKind::Setup, format!("agent `{}` has no persona `{name}`", who.id));
                Some(definition.personas.iter().find(|persona| persona.name == *name).ok_or_else(gone)?.clone())
            }
            None => None,
        };
        let prompt = persona.as_ref().map_or(&definition.prompt, |persona| &persona.prompt).clone();
        Ok(Self { persona: persona.map(|persona| persona.name), prompt, definition })
    }

    fn selected(found: &select::Selected<'_>) -> Self {
        Self {
            definition: found.definition.clone(),
            persona: found.persona.map(|persona| persona.name.clone()),
            prompt: found.prompt.to_owned(),
        }
    }
}

/// Reads a definition that a child keeps.
pub(in super::super) fn definition(kept: &DefinitionRecord) -> Result<Definition, String> {
    let DefinitionRecord { scope, format, path, text } = kept;
    let stem = path.rsplit('/').next().and_then(agent::directory::stem).unwrap_or(path);
    let stem = stem.trim_start_matches("builtin:").to_owned();
    let scopes = [Scope::BuiltIn, Scope::User, Scope::Project, Scope::ProjectNested];
    let scope = scopes.into_iter().find(|known| known.to_string() == *scope).unwrap_or(Scope::Project);
    let formats = [Format::Unified, Format::Koda, Format::Template, Format::Task, Format::Claude, Format::Yotta];
    let unknown = || format!("the kept definition `{path}` has the unknown format `{format}`");
    let format = formats.into_iter().find(|known| known.to_string() == *format).ok_or_else(unknown)?;
    let file = FileText { scope, level: 0, format, path: path.clone(), stem, text: text.clone() };
    parse::parse(&file).map_err(|broken| format!("the kept definition `{path}` is broken: {}", broken.message()))
}

/// Whether a kept definition is that of the agent that works; a person may have chosen another one since.
fn is_of(kept: &Result<Definition, String>, who: &AgentRecord) -> bool {
    match kept {
        Ok(kept) => kept.id == who.id,
        Err(_) => true,
    }
}

/// The role that an agent would have in a session of a person, whether its backend can be held to it or not.
pub(super) fn would_be(
    found: &select::Selected<'_>,
    agents: &Arc<Agents>,
    config: &Config,
    spec: &Spec,
    profile: Option<Profile>,
) -> Role {
    let (planning, external) = (tools::Planning::Off, Vec::new());
    let session = Session { depth: 0, access: Access::Write, planning, profile, external };
    assemble(Part::selected(found), session, agents.clone(), None, config, spec)
}

/// The tools of an agent, before anything is said about where it works.
pub(in super::super) fn surface(definition: &Definition, config: &Config, external: &[ExternalTool]) -> Surface {
    let external: Vec<_> = external.iter().map(|tool| tool.name.clone()).collect();
    surface::resolve(definition, available(config), &external)
}

/// Refuses a role that its backend cannot be held to, unless that was agreed to.
fn held(role: Role, wanted: family::Surface) -> Result<Role, Failure> {
    match (&role.unheld, wanted) {
        (None, _) | (Some(_), family::Surface::Advisory) => Ok(role),
        (Some(reason), family::Surface::Enforced) => Err(not_enforceable(&role.id, reason)),
    }
}

fn assemble(
    part: Part,
    session: Session,
    agents: Arc<Agents>,
    note: Option<String>,
    config: &Config,
    spec: &Spec,
) -> Role {
    let Part { definition, persona, prompt } = part;
    let surface = surface(&definition, config, &session.external);
    let standing = Standing {
        depth: session.depth,
        agent: &definition.id,
        tool: if surface.has(Tool::Delegate) { DelegationTool::InSurface } else { DelegationTool::Absent },
        max_depth: config.delegation.max_depth,
        nested_agents: &config.delegation.nested_agents,
        active_children: 0,
        max_children: config.delegation.max_children as usize,
    };
    let (surface, delegation) = match delegation::may_delegate(&standing) {
        true => (surface, tools::Delegation::Shown),
        false => (surface.without_delegation(), tools::Delegation::Hidden),
    };
    let profile = Profile::tightest(config.tools.profile, definition.profile, session.profile);
    let bound = match (definition.access, session.access, profile) {
        (agent::Access::Inherit, Access::Write, Profile::Native | Profile::Enforced) => Access::Write,
        (agent::Access::ReadOnly, ..) | (_, Access::ReadOnly, _) | (.., Profile::ReadOnly) => Access::ReadOnly,
    };
    let surface = match bound {
        Access::Write => surface,
        Access::ReadOnly => surface.with_reading_of_shell(&definition),
    };
    let access = if surface.is_mutating() { bound } else { Access::ReadOnly };
    let (native, unheld) = native::left(&surface, access, profile, config, spec);
    let hold = if unheld.is_none() { SurfaceHold::Enforced } else { SurfaceHold::Advisory };
    // Who only reads has no plan file to write, and says its plan.
    let writes =
        access == Access::Write && [Tool::Write, Tool::Edit, Tool::Patch].iter().any(|tool| surface.has(*tool));
    let planning = if writes { session.planning } else { tools::Planning::Off };
    let mut external = session.external;
    external
        .retain(|tool| surface.contains(&tool.name) && (profile != Profile::ReadOnly || tool.effect == Effect::Reads));
    // Nobody carries out what is only planned.
    let bound = match session.planning {
        tools::Planning::On => Access::ReadOnly,
        tools::Planning::Off => bound,
    };
    let mut role = Role {
        id: definition.id,
        persona,
        sha256: definition.source.sha256,
        prompt,
        surface,
        served: Vec::new(),
        external,
        native,
        profile,
        delegation,
        bound,
        hold,
        unheld,
        planning,
        max_steps: definition.max_steps,
        word: word(&definition.source.scope),
        permission: definition.permission,
        agents,
        note,
    };
    role.served = role.serves(config, spec);
    role
}

/// What a repository brings can forbid something to its agents, and allow nothing.
pub(in super::super) fn word(scope: &Scope) -> AgentWord {
    match scope {
        Scope::BuiltIn | Scope::User => AgentWord::Counts,
        Scope::Project | Scope::ProjectNested => AgentWord::OnlyTightens,
    }
}

/// The tools that a turn can have: all that are known, without what the configuration leaves out.
fn available(config: &Config) -> impl Iterator<Item = Tool> {
    let has_web_search = config.tools.web_search == family::WebSearch::On;
    Tool::all().filter(move |tool| has_web_search || *tool != Tool::WebSearch)
}

fn not_enforceable(agent: &str, reason: &str) -> Failure {
    let message = format!("surface_not_enforceable: agent `{agent}` cannot be kept to its tools: {reason}");
    Failure::new(FailureKind::Setup, message)
        .with_hint("choose another backend or agent, or accept it: `coppice config set tools.surface advisory`")
}

/// The tool that models delegate with, as it is configured.
pub(in super::super) fn facade(config: &Config) -> Facade {
    match config.delegation.facade {
        family::Facade::Delegate => Facade::Delegate,
        family::Facade::Task => Facade::Task,
        family::Facade::SpawnAgent => Facade::SpawnAgent,
        family::Facade::Agent => Facade::Agent,
    }
}

impl Role {
    /// The role as its turn remembers it.
    pub(in super::super) fn agent_use(&self) -> AgentUse {
        AgentUse { id: self.id.clone(), persona: self.persona.clone(), sha256: self.sha256.clone() }
    }

    /// The role as its session remembers it.
    pub(in super::super) fn record(&self) -> AgentRecord {
        let profile = self.profile.as_str().to_owned();
        let read_only = self.native.access == Access::ReadOnly;
        AgentRecord { id: self.id.clone(), persona: self.persona.clone(), surface: self.hold, profile, read_only }
    }

    /// What the model is told of the role.
    pub(in super::super) fn told(&self) -> Told {
        let agent = self.persona.as_ref().map_or(self.id.clone(), |persona| format!("{}:{persona}", self.id));
        let skills = match self.surface.has(Tool::Skill) {
            true => skill::short_list(skill::loaded_by_models(&self.agents.skills)),
            false => String::new(),
        };
        let tools = match self.profile {
            Profile::Native => prompt::Tools::Own,
            Profile::Enforced | Profile::ReadOnly => prompt::Tools::Served,
        };
        Told { agent, prompt: self.prompt.clone(), note: self.note.clone(), skills, tools }
    }

    /// The skills that a prompt names, as far as its author may load them.
    pub(in super::super) fn find_skill_mentions<'a>(
        &'a self,
        prompt: &'a str,
        author: PromptAuthor,
    ) -> Vec<SkillMention<'a>> {
        let skills = &self.agents.skills;
        match author {
            PromptAuthor::Person => skill::find_mentions(prompt, skills.iter()),
            PromptAuthor::ParentAgent => skill::find_mentions(prompt, skill::loaded_by_models(skills)),
            // It holds what agents and programs said.
            PromptAuthor::Coppice => Vec::new(),
        }
    }

    pub(in super::super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

/// The words for a role.
pub(in super::super) struct Told {
    agent: String,
    prompt: String,
    note: Option<String>,
    skills: String,
    tools: prompt::Tools,
}

impl Told {
    pub(in super::super) fn as_role(&self) -> prompt::Role<'_> {
        let Self { agent, prompt, note, skills, tools } = self;
        prompt::Role { agent, prompt, note: note.as_deref(), skills, tools: *tools }
    }
}
