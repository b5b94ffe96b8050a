//! The tools that a role is served, with what decides about them.

use crate::agent::{Definition, skill};
use crate::backend::spec::{self, Spec};
use crate::backend::{NativeTool, ServedTool};
use crate::config::{Config, family};
use crate::tool::Tool;
use crate::tools::{self, AdvertisedTool};

use super::{Role, facade};

impl Role {
    /// Those that it could hand work to, in the order in which a model reads them.
    pub(in super::super) fn offers(&self) -> Vec<tools::Offer> {
        self.agents.catalog.delegatable().map(offer).collect()
    }

    /// What decides which tools it is served.
    pub(in super::super) fn context<'a>(
        &self,
        has: &'a dyn Fn(Tool) -> bool,
        names: &'a dyn Fn(Tool) -> bool,
        offers: &'a [tools::Offer],
        config: &Config,
        spec: &Spec,
    ) -> tools::Context<'a> {
        tools::Context {
            has,
            names,
            facade: facade(config),
            agents: offers,
            delegation: self.delegation,
            todos: match spec.todos {
                spec::Todos::Native => tools::Todos::Native,
                spec::Todos::Served => tools::Todos::Served,
            },
            skills: if skill::loaded_by_models(&self.agents.skills).next().is_none() {
                tools::Skills::Absent
            } else {
                tools::Skills::Present
            },
            planning: self.planning,
            profile: self.profile,
            access: self.native.access.into(),
            mutations: match config.tools.git_mutations {
                family::GitMutations::Allow => tools::Mutations::Served,
                family::GitMutations::Deny => tools::Mutations::Withheld,
            },
            shell: match spec.has(&self.native, NativeTool::Bash) {
                true => tools::Shell::Own,
                false => tools::Shell::Absent,
            },
        }
    }

    pub(super) fn serves(&self, config: &Config, spec: &Spec) -> Vec<AdvertisedTool> {
        let (offers, has) = (self.offers(), |tool| self.surface.has(tool));
        let names = |tool| self.surface.named.contains(&tool);
        let external = self.external.iter().map(|tool| AdvertisedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            effect: tool.effect,
        });
        tools::served(&self.context(&has, &names, &offers, config, spec)).into_iter().chain(external).collect()
    }

    /// The served tools as a backend takes them.
    pub(in super::super::super) fn carried(&self) -> Vec<ServedTool> {
        let carried = |tool: &AdvertisedTool| ServedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            effect: tool.effect,
        };
        self.served.iter().map(carried).collect()
    }
}

fn offer(agent: &Definition) -> tools::Offer {
    let mut personas: Vec<_> = agent.personas.iter().map(|persona| persona.name.clone()).collect();
    personas.sort();
    tools::Offer { id: agent.id.clone(), description: agent.description.clone(), personas }
}
