//! Models that only an agent's own list knows: what `coppice models` shows can be chosen, and what nobody lists is refused when
//! it is named.

use futures_util::future::join_all;

use crate::api::request::Environment;
use crate::backend::login::lists_whole_service;
use crate::backend::registry::Registry;
use crate::backend::spec::Spec;
use crate::config::Config;

use super::choice::{self, Chosen};
use super::fault::{Fault, nearest};
use super::shared::Shared;

/// The name of a model with its backend, where no table knows it but one installed agent lists it. Every other name stays
/// as it is.
pub(super) async fn qualify_model(
    shared: &Shared,
    config: &Config,
    registry: &Registry,
    installed: &(dyn Fn(&Spec) -> bool + Sync),
    env: &Environment,
    name: String,
) -> Result<String, Fault> {
    let is_unknown = |fault: &Fault| matches!(fault, Fault::UnknownBackend { .. });
    let chosen = choice::choose(config, registry, installed, Some(&name));
    match chosen {
        Err(fault) if is_unknown(&fault) && !name.contains('/') => {}
        Err(_) => return Ok(name),
        Ok(chosen) => {
            require_listed(shared, config, &chosen, env).await?;
            return Ok(name);
        }
    }
    let env: Vec<_> = env.clone().into_iter().collect();
    let lists = registry.offered().filter(|spec| installed(spec)).map(|spec| {
        let env = &env;
        async move {
            let found = shared.catalog.look(shared, spec, env).await;
            let program = found.program.as_ref().filter(|_| found.verdict.is_usable())?;
            let offer = shared.catalog.offer(shared, spec, program, found.version, env).await.ok()?;
            let models: Vec<_> = offer.models.into_iter().map(|model| model.id).collect();
            Some((spec.name.clone(), models))
        }
    });
    let lists: Vec<_> = join_all(lists).await.into_iter().flatten().collect();
    let has_it = |models: &[String]| models.contains(&name);
    let mut backends: Vec<_> =
        lists.iter().filter(|(_, models)| has_it(models)).map(|(backend, _)| backend.clone()).collect();
    match (backends.len(), backends.pop()) {
        (1, Some(backend)) => Ok(format!("{backend}/{name}")),
        (_, Some(backend)) => {
            backends.push(backend);
            Err(Fault::AmbiguousModel { model: name, backends })
        }
        (_, None) => match lists.into_iter().find(|(_, models)| nearest(&name, models).is_some()) {
            Some((backend, known)) => Err(Fault::UnknownModel { backend, model: name, known }),
            None => Ok(name),
        },
    }
}

/// Refuses a model that neither a table nor its agent lists. Whatever cannot be asked for, or lists less than it takes, is not
/// in the way.
pub(super) async fn require_listed(
    shared: &Shared,
    config: &Config,
    chosen: &Chosen<'_>,
    env: &Environment,
) -> Result<(), Fault> {
    let Chosen { spec, model: Some(model) } = chosen else { return Ok(()) };
    let in_table = spec.models.known.iter().any(|known| known.id == *model);
    let is_configured = config.backends.get(&spec.name).is_some_and(|backend| !backend.models.is_empty());
    let env: Vec<_> = env.clone().into_iter().collect();
    let is_fallback = spec.models.fallback.as_ref() == Some(model);
    if in_table || is_fallback || is_configured || spec.scripted || !lists_whole_service(spec, &env) {
        return Ok(());
    }
    let found = shared.catalog.look(shared, spec, &env).await;
    let Some(program) = found.program.as_ref().filter(|_| found.verdict.is_usable()) else { return Ok(()) };
    let Ok(offer) = shared.catalog.offer(shared, spec, program, found.version, &env).await else { return Ok(()) };
    let mut known: Vec<_> = offer.models.into_iter().map(|listed| listed.id).collect();
    if known.contains(model) {
        return Ok(());
    }
    known.extend(spec.models.known.iter().map(|known| known.id.clone()));
    Err(Fault::UnknownModel { backend: spec.name.clone(), model: model.clone(), known })
}
