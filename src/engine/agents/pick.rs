//! Which agent a person means, and what it wants of the session. Pure.

use crate::agent::Access;
use crate::agent::select::{self, By, Inherited, Selected, Wanted};
use crate::agent::surface;
use crate::tool::Tool;

use super::super::fault::Fault;
use super::Agents;

/// An agent that a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Picked {
    pub(in super::super) id: String,
    pub(in super::super) persona: Option<String>,
    /// What the persona or the agent's file wants.
    pub(in super::super) model: Option<String>,
    pub(in super::super) effort: Option<String>,
    pub(in super::super) read_only: bool,
    /// What the author of the file should know.
    pub(in super::super) warnings: Vec<String>,
}

/// Finds the agent that `AGENT` or `AGENT:PERSONA` means; without one it is the configured default.
pub(in super::super) fn pick(agents: &Agents, wanted: Option<&str>, default: &str) -> Result<Picked, Fault> {
    let Selected { definition, persona, model, effort, .. } = find(agents, wanted, default)?;
    if !definition.mode.is_selectable() {
        return Err(Fault::NotSelectable { id: definition.id.clone(), known: known(agents) });
    }
    let own = |choice: Option<select::Choice<'_>>| {
        let choice = choice.filter(|choice| matches!(choice.by, By::Persona | By::Role) && choice.value != "inherit");
        choice.map(|choice| choice.value.to_owned())
    };
    Ok(Picked {
        id: definition.id.clone(),
        persona: persona.map(|persona| persona.name.clone()),
        model: own(model),
        effort: own(effort),
        read_only: definition.access == Access::ReadOnly,
        warnings: surface::resolve(definition, Tool::all(), &[]).warnings,
    })
}

/// Finds an agent, whoever may choose it.
pub(in super::super) fn find<'a>(
    agents: &'a Agents,
    wanted: Option<&'a str>,
    default: &'a str,
) -> Result<Selected<'a>, Fault> {
    let (standard, standard_persona) = select::reference(default);
    let (agent, persona) = match wanted.map(select::reference) {
        Some((agent, persona)) => (agent, persona),
        None => (standard, standard_persona),
    };
    let wanted = Wanted { agent: Some(agent), persona, ..Wanted::default() };
    let inherited = Inherited { agent: standard, model: None, effort: None };
    select::select(&agents.catalog, wanted, inherited).map_err(|error| Fault::NoAgent { error, known: known(agents) })
}

/// The agents that a person can choose.
fn known(agents: &Agents) -> Vec<String> {
    agents.catalog.selectable().map(|agent| agent.id.clone()).collect()
}
