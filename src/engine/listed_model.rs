//! A model that only an agent's own list knows: found by its name, so that what `coppice models` shows can be chosen.

use futures_util::future::join_all;

use crate::api::request::Environment;
use crate::backend::registry::Registry;
use crate::backend::spec::Spec;
use crate::config::Config;

use super::choice;
use super::fault::Fault;
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
    if name.contains('/') || !chosen.is_err_and(|fault| is_unknown(&fault)) {
        return Ok(name);
    }
    let env: Vec<_> = env.clone().into_iter().collect();
    let lists = registry.offered().filter(|spec| installed(spec)).map(|spec| {
        let (env, name) = (&env, &name);
        async move {
            let found = shared.catalog.look(shared, spec, env).await;
            let program = found.program.as_ref().filter(|_| found.verdict.is_usable())?;
            let offer = shared.catalog.offer(shared, spec, program, found.version, env).await.ok()?;
            offer.models.iter().any(|model| model.id == *name).then(|| spec.name.clone())
        }
    });
    let mut backends: Vec<_> = join_all(lists).await.into_iter().flatten().collect();
    match (backends.len(), backends.pop()) {
        (1, Some(backend)) => Ok(format!("{backend}/{name}")),
        (_, Some(backend)) => {
            backends.push(backend);
            Err(Fault::AmbiguousModel { model: name, backends })
        }
        (_, None) => Ok(name),
    }
}
