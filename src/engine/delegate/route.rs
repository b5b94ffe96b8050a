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
    decide(&settings.config, &registry, &installed, selected, parent)
}

fn decide(
    config: &Config,
    registry: &Registry,
    installed: &dyn Fn(&Spec) -> bool,
    selected: &Selected<'_>,
    parent: &EngineRecord,
) -> Result<Routed, String> {
    let agent = &selected.definition.id;
    let own = selected.model.filter(|choice| choice.by != By::Inherited);
    let mut warning = None;
    let chosen = match own.filter(|choice| !choice.value.eq_ignore_ascii_case("inherit")) {
        None => None,
        Some(Choice { value, by: By::Call }) => Some(choice::route(config, registry, installed, value)?),
        Some(Choice { value, by: By::Persona | By::Role | By::Inherited }) => {
            match (choice::choose(config, registry, installed, Some(value)), config.delegation.models) {
                (Ok(chosen), _) => Some(chosen),
                (Err(fault), Models::Strict) => return Err(text(fault)),
                (Err(fault), Models::Inherit) => {
                    warning = Some(format!("agent `{agent}` works with its parent's model: {}", text(fault)));
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
