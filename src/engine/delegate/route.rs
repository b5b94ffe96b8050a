//! Which backend and model a child works with: the call, its own definition, its parent.
//!
//! What a call names and is not there is refused. What only a file names falls back to the parent's, with a warning,
//! unless the configuration is strict.

use crate::agent::select::{By, Choice, Selected};
use crate::backend::registry::Registry;
use crate::backend::spec::{self, Reasoning, Spec};
use crate::config::Config;
use crate::config::family::Models;
use crate::git::Repo;

use super::super::choice::{self, Chosen};
use super::super::fault::Fault;
use super::super::listed_model::require_listed;
use super::super::prepare;
use super::super::record::EngineRecord;
use super::super::shared::Shared;
use super::spawn::Wish;
use super::text;

/// Who works for the child.
#[derive(Debug)]
pub(super) struct Routed {
    pub(super) engine: EngineRecord,
    /// What the definition wanted and did not get.
    pub(super) warning: Option<String>,
}

pub(super) async fn route(
    shared: &Shared,
    wish: &Wish,
    repo: &Repo,
    selected: &Selected<'_>,
    parent: &EngineRecord,
) -> Result<Routed, String> {
    let settings = shared.settings.session(&wish.parent, repo).await.map_err(text)?;
    let registry = shared.settings.registry(&settings.config);
    let environment = prepare::environment(shared, &wish.parent);
    let path = environment.get("PATH").map(std::ffi::OsString::from);
    let installed = |spec: &Spec| spec::resolve(spec, path.as_deref(), &shared.neutral_dir()).is_ok();
    let config = &settings.config;
    let routed = decide(config, &registry, &installed, selected, parent)?;
    let (Some(own), None) = (own_model(selected), &routed.warning) else { return Ok(routed) };
    let Some(spec) = registry.get(&routed.engine.backend) else { return Ok(routed) };
    let chosen = Chosen { spec, model: routed.engine.model.clone() };
    let Err(fault) = require_listed(shared, config, &chosen, &environment).await else { return Ok(routed) };
    match (own.by, fault) {
        (By::Call, Fault::UnknownModel { known, .. }) => Err(choice::unknown_child_model(own.value, &known)),
        (By::Call | By::Persona | By::Role | By::Inherited, fault) => {
            let warning = do_without(config, &selected.definition.id, fault)?;
            let inherited = Selected { model: None, ..*selected };
            let routed = decide(config, &registry, &installed, &inherited, parent)?;
            Ok(Routed { warning: Some(warning), ..routed })
        }
    }
}

/// The model that the child does not take over from its parent.
fn own_model<'a>(selected: &Selected<'a>) -> Option<Choice<'a>> {
    let own = selected.model.filter(|choice| choice.by != By::Inherited);
    own.filter(|choice| !choice.value.eq_ignore_ascii_case("inherit"))
}

/// The warning about a model that is not there, or the refusal where the configuration is strict.
fn do_without(config: &Config, agent: &str, fault: Fault) -> Result<String, String> {
    match config.delegation.models {
        Models::Strict => Err(text(fault)),
        Models::Inherit => Ok(format!("agent `{agent}` works with its parent's model: {}", text(fault))),
    }
}

fn decide(
    config: &Config,
    registry: &Registry,
    installed: &dyn Fn(&Spec) -> bool,
    selected: &Selected<'_>,
    parent: &EngineRecord,
) -> Result<Routed, String> {
    let agent = &selected.definition.id;
    let mut warning = None;
    let chosen = match own_model(selected) {
        None => None,
        Some(Choice { value, by: By::Call }) => Some(choice::route(config, registry, installed, value)?),
        Some(Choice { value, by: By::Persona | By::Role | By::Inherited }) => {
            match choice::choose(config, registry, installed, Some(value)) {
                Ok(chosen) => Some(chosen),
                Err(fault) => {
                    warning = Some(do_without(config, agent, fault)?);
                    None
                }
            }
        }
    };
    let (backend, model) = match chosen {
        Some(Chosen { spec, model }) => (spec.name.clone(), model),
        None => (parent.backend.clone(), parent.model.clone()),
    };
    let reasoning = match (registry.get(&backend), selected.effort) {
        (Some(spec), Some(effort)) => reasoning(spec, model.as_deref(), effort)?,
        (None, _) | (_, None) => None,
    };
    Ok(Routed { engine: EngineRecord { backend, model, reasoning }, warning })
}

/// A level that a call names is granted or refused; any other counts as far as the model can think so hard.
fn reasoning(spec: &Spec, model: Option<&str>, effort: Choice<'_>) -> Result<Option<String>, String> {
    let Choice { value, by } = effort;
    match by {
        By::Call => {
            let level = choice::route_effort(spec, model, value)?;
            Ok(level.map(|level| level.as_str().to_owned()))
        }
        By::Persona | By::Role | By::Inherited => {
            let level = choice::effort(value).flatten();
            Ok(choice::possible(spec, model, level.map(Reasoning::as_str)))
        }
    }
}
