//! Which voice of an agent speaks, and on which model: the call before the persona before the role before what is
//! inherited.
//!
//! Whether a model exists is checked by whoever knows the models.

use super::catalog::{Catalog, LookupError};
use super::{Definition, Persona};

/// What a caller asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// `None` and `default` are the agent of the session.
    pub agent: Option<&'a str>,
    pub persona: Option<&'a str>,
    pub model: Option<&'a str>,
    pub effort: Option<&'a str>,
}

/// What the turn that asks works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inherited<'a> {
    /// The agent of the session.
    pub agent: &'a str,
    pub model: Option<&'a str>,
    pub effort: Option<&'a str>,
}

/// An agent, ready to work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selected<'a> {
    pub definition: &'a Definition,
    pub persona: Option<&'a Persona>,
    pub prompt: &'a str,
    pub model: Option<Choice<'a>>,
    pub effort: Option<Choice<'a>>,
}

/// A value and who chose it: a model that only a file names may be missing on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'a> {
    pub value: &'a str,
    pub by: By,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Call,
    Persona,
    Role,
    Inherited,
}

/// Why nobody was selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error(transparent)]
    Lookup(#[from] LookupError),
    #[error("agent_name requires a non-default agent_type")]
    PersonaWithoutRole,
    #[error("unknown agent_name \"{persona}\" for agent_type \"{agent}\"")]
    UnknownPersona { persona: String, agent: String },
    #[error("agent_type \"{agent}\" requires agent_name selection")]
    MustChoose { agent: String },
}

/// Splits `ID` or `ID:PERSONA`.
pub fn reference(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(agent, persona)| (agent, Some(persona)))
}

/// Finds the agent and everything that follows from the choice of it.
pub fn select<'a>(
    catalog: &'a Catalog,
    wanted: Wanted<'a>,
    inherited: Inherited<'a>,
) -> Result<Selected<'a>, SelectError> {
    let has_role = wanted.agent.is_some_and(|agent| !agent.trim().eq_ignore_ascii_case("default"));
    if !has_role && wanted.persona.is_some() {
        return Err(SelectError::PersonaWithoutRole);
    }
    let definition = catalog.lookup(wanted.agent.unwrap_or(inherited.agent), inherited.agent)?;
    let persona = persona(definition, wanted.persona)?;
    let chain = |call, of_persona, role, inherited| {
        let chosen = [(call, By::Call), (of_persona, By::Persona), (role, By::Role), (inherited, By::Inherited)];
        chosen.into_iter().find_map(|(value, by): (Option<&'a str>, By)| Some(Choice { value: value?, by }))
    };
    Ok(Selected {
        definition,
        persona,
        prompt: persona.map_or(&definition.prompt, |persona| &persona.prompt),
        model: chain(
            wanted.model,
            persona.and_then(|persona| persona.model.as_deref()),
            definition.model.as_deref(),
            inherited.model,
        ),
        effort: chain(
            wanted.effort,
            persona.and_then(|persona| persona.effort.as_deref()),
            definition.effort.as_deref(),
            inherited.effort,
        ),
    })
}

fn persona<'a>(definition: &'a Definition, wanted: Option<&str>) -> Result<Option<&'a Persona>, SelectError> {
    let Some(wanted) = wanted else {
        return match definition.personas.as_slice() {
            _ if !definition.prompt.trim().is_empty() => Ok(None),
            [] => Ok(None),
            [only] => Ok(Some(only)),
            [_, _, ..] => Err(SelectError::MustChoose { agent: definition.id.clone() }),
        };
    };
    let name = wanted.trim().to_lowercase();
    let found = definition.personas.iter().find(|persona| persona.name == name);
    let unknown = || SelectError::UnknownPersona { persona: wanted.to_owned(), agent: definition.id.clone() };
    found.map(Some).ok_or_else(unknown)
}
