//! What an agent would really get on a backend, and why it would not get the rest: `coppice tools`.

use std::ffi::OsString;

use crate::agent::Definition;
use crate::agent::surface;
use crate::api::error::Error;
use crate::api::tool::{MissingTool, ToolQuery, ToolRow, ToolSurface};
use crate::backend::spec::{self, NativeTools, Spec};
use crate::backend::{Access, NativeTool};
use crate::config::confine::Hints;
use crate::config::{Config, family};
use crate::permission::compact::{Action, glob};
use crate::permission::{Effect, Profile};
use crate::tool::{Tool, ToolName};
use crate::tools::survey::{Missing, Surveyed, survey};

use super::super::Engine;
use super::super::choice;
use super::super::fault::Fault;
use super::pick;
use super::role::{self, Role};

/// The family of what agents bring along.
const OWN: &str = "native";

impl Engine {
    /// The tools of an agent on a backend.
    pub async fn tools(&self, query: ToolQuery) -> Result<ToolSurface, Error> {
        Ok(self.surveyed(query).await?)
    }

    async fn surveyed(&self, query: ToolQuery) -> Result<ToolSurface, Fault> {
        let ToolQuery { cwd, path, agent, model, profile } = query;
        let wanted = profile.map(|word| word.parse::<Profile>().map_err(Fault::UnknownProfile)).transpose()?;
        let (agents, config) = self.agents_at(cwd).await?;
        let found = pick::find(&agents, agent.as_deref(), &config.default_agent)?;
        let registry = self.shared.settings.registry(&config);
        let path = path.map(OsString::from).or_else(|| self.shared.own_environment.get("PATH").map(OsString::from));
        let installed = |spec: &Spec| spec::resolve(spec, path.as_deref(), &self.shared.neutral_dir()).is_ok();
        let chosen = match (model, found.model.as_ref()) {
            (Some(model), _) => choice::choose(&config, &registry, &|_| true, Some(&model))?,
            (None, Some(own)) => choice::choose(&config, &registry, &installed, Some(own.value))
                .or_else(|_| choice::choose(&config, &registry, &installed, None))?,
            (None, None) => choice::choose(&config, &registry, &installed, None)?,
        };
        let role = role::would_be(&found, &agents, &config, chosen.spec, wanted);
        let mut surface = told(&role, &config, chosen.spec);
        let external = external(found.definition, &config);
        match role.profile {
            Profile::Native | Profile::Enforced => surface.served.extend(external),
            Profile::ReadOnly => surface.missing.extend(external.into_iter().map(uncertain)),
        }
        Ok(surface)
    }
}

/// A role as a list for people.
fn told(role: &Role, config: &Config, spec: &Spec) -> ToolSurface {
    let offers = role.offers();
    let has = |tool| role.surface.has(tool);
    let names = |tool| role.surface.named.contains(&tool);
    let surveyed = survey(&role.context(&has, &names, &offers, config, spec));
    let (native, own) = of_its_own(role, config, spec);
    let missing = surveyed.iter().filter_map(|one| Some(left_out(one, one.missing?)));
    ToolSurface {
        agent: role.id.clone(),
        persona: role.persona.clone(),
        backend: spec.name.clone(),
        profile: role.profile.as_str().to_owned(),
        access: match role.native.access {
            Access::Write => "write",
            Access::ReadOnly => "read_only",
        }
        .to_owned(),
        problem: role.unheld.clone(),
        note: note(role, spec).map(str::to_owned),
        native,
        served: surveyed.iter().filter(|one| one.missing.is_none()).map(served).collect(),
        missing: own.into_iter().chain(missing).collect(),
    }
}

/// The tools of configured servers that the agent's file lets through. A server tells their names when a session starts it, so
/// that only those are known here which the file names; `*` stands for the others.
fn external(definition: &Definition, config: &Config) -> Vec<ToolRow> {
    let named = definition.tools.allow.iter().flatten().filter(|item| !glob::is_pattern(item));
    let named: Vec<_> = named.map(|item| ToolName::read(item).canonical().into_owned()).collect();
    let offered = config.mcp_servers.iter().flat_map(|(server, settings)| {
        let prefix = format!("mcp:{server}:");
        let tools = named.iter().filter_map(|name| name.strip_prefix(&prefix)).chain(["*"]);
        let tools: Vec<_> = tools.map(|tool| (format!("mcp__{server}__{tool}"), settings.hints)).collect();
        tools
    });
    let offered: Vec<_> = offered.collect();
    let names: Vec<_> = offered.iter().map(|(name, _)| name.clone()).collect();
    let surface = surface::resolve(definition, [], &names);
    let row = |(name, hints): (String, Hints)| ToolRow {
        name,
        family: "mcp".to_owned(),
        approval: match hints {
            Hints::Believed => "varies",
            Hints::Ignored => "ask",
        }
        .to_owned(),
        effect: "destroys".to_owned(),
    };
    offered.into_iter().filter(|(name, _)| surface.contains(name)).map(row).collect()
}

/// A tool of a server, for an agent that gets those that only read: which these are, the server says when it runs.
fn uncertain(row: ToolRow) -> MissingTool {
    MissingTool {
        name: row.name,
        family: row.family,
        reason: Missing::ReadOnly.as_str().to_owned(),
        why: "served if its server says that it only reads".to_owned(),
    }
}

/// What the agent keeps of its own tools, and why it does not keep the others. Where the backend cannot be held, it keeps
/// them all.
fn of_its_own(role: &Role, config: &Config, spec: &Spec) -> (Vec<String>, Vec<MissingTool>) {
    let (mut left, mut missing) = (Vec::new(), Vec::new());
    for native in NativeTool::ALL {
        let tool = native.tool();
        if spec.has(&role.native, native) || role.unheld.is_some() {
            left.push(tool.name().to_owned());
            continue;
        }
        let (reason, why) = absent(role, config, tool);
        let (name, family) = (tool.name().to_owned(), OWN.to_owned());
        missing.push(MissingTool { name, family, reason: reason.to_owned(), why });
    }
    (left, missing)
}

/// Why a tool of the agent's own is off.
fn absent(role: &Role, config: &Config, tool: Tool) -> (&'static str, String) {
    if tool == Tool::WebSearch && config.tools.web_search == family::WebSearch::Off {
        return ("web_search", "`tools.web_search = true` allows it".to_owned());
    }
    let profile = role.profile;
    match (role.surface.has(tool), profile) {
        (false, _) => (Missing::Surface.as_str(), Missing::Surface.why().to_owned()),
        (true, Profile::Enforced | Profile::ReadOnly) => {
            (Missing::Native.as_str(), format!("off in `{}`, where served tools take its place", profile.as_str()))
        }
        (true, Profile::Native) => (Missing::ReadOnly.as_str(), Missing::ReadOnly.why().to_owned()),
    }
}

/// What no setting takes away.
fn note(role: &Role, spec: &Spec) -> Option<&'static str> {
    match (spec.native_tools, role.native.changes_files()) {
        (NativeTools::Sandboxed, false) => {
            Some("the backend still offers its tool for patches, in a sandbox that writes nothing")
        }
        (NativeTools::Sandboxed, true) | (NativeTools::Removable | NativeTools::Fixed, _) => None,
    }
}

fn served(one: &Surveyed) -> ToolRow {
    let approval = match one.usual {
        Some(Action::Allow) => "allow",
        Some(Action::Ask) => "ask",
        Some(Action::Deny) => "deny",
        None => "varies",
    };
    let effect = match one.effect {
        Effect::Reads => "reads",
        Effect::Adds => "adds",
        Effect::Destroys => "destroys",
    };
    ToolRow {
        name: one.name.to_owned(),
        family: one.family.as_str().to_owned(),
        approval: approval.to_owned(),
        effect: effect.to_owned(),
    }
}

fn left_out(one: &Surveyed, missing: Missing) -> MissingTool {
    MissingTool {
        name: one.name.to_owned(),
        family: one.family.as_str().to_owned(),
        reason: missing.as_str().to_owned(),
        why: missing.why().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::agent::builtin;
    use crate::agent::catalog::Catalog;
    use crate::backend::registry;
    use crate::backend::spec::Todos;

    fn surface(agent: &str, profile: Profile, native_tools: NativeTools) -> ToolSurface {
        let catalog = Catalog::build(builtin::files().collect());
        let agents = Arc::new(super::super::Agents { catalog, ..super::super::Agents::default() });
        let spec = Spec { native_tools, todos: Todos::Native, ..registry::demo(Path::new("/coppice")) };
        let config = Config::default();
        let found = pick::find(&agents, Some(agent), "builder").unwrap();
        told(&role::would_be(&found, &agents, &config, &spec, Some(profile)), &config, &spec)
    }

    fn reason<'a>(surface: &'a ToolSurface, family: &str, name: &str) -> Option<&'a str> {
        let missing = surface.missing.iter().find(|tool| tool.family == family && tool.name == name);
        missing.map(|tool| tool.reason.as_str())
    }

    #[test]
    fn every_tool_is_there_or_has_a_reason() {
        for (agent, profile, native_tools, name, expected) in [
            ("builder", Profile::Native, NativeTools::Removable, "bash", None),
            ("builder", Profile::Native, NativeTools::Removable, "web_search", Some("web_search")),
            ("builder", Profile::Enforced, NativeTools::Removable, "bash", Some("profile")),
            ("builder", Profile::Enforced, NativeTools::Sandboxed, "patch", Some("profile")),
            ("builder", Profile::Enforced, NativeTools::Removable, "todo", None),
            ("builder", Profile::Enforced, NativeTools::Fixed, "bash", None),
            ("reviewer", Profile::Native, NativeTools::Removable, "write", Some("surface")),
        ] {
            let surface = surface(agent, profile, native_tools);
            assert_eq!(reason(&surface, OWN, name), expected, "{agent} {profile:?} {native_tools:?} {name}");
            assert_eq!(surface.native.iter().any(|left| left == name), expected.is_none());
            assert_eq!(surface.problem.is_some(), native_tools == NativeTools::Fixed);
        }
        let builder = surface("builder", Profile::Native, NativeTools::Sandboxed);
        assert_eq!((reason(&builder, "session", "todo_write"), &builder.note), (Some("todos"), &None));
        assert_eq!(reason(&builder, "session", "skill"), Some("skills"));
        let held = surface("builder", Profile::Enforced, NativeTools::Sandboxed);
        assert!(held.note.is_some() && held.problem.is_none());
    }
}
