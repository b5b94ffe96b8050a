//! What a question on the side may reach: what its program needs, a directory of its own, and the hosts of its model.
//!
//! The question carries text of an agent and of a repository. So nothing of the repository, of its worktrees or of caches
//! that others use is among it, not even to read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::request::Environment;
use crate::backend::failure::Failure;
use crate::backend::spec::{ConfinedBy, Spec};
use crate::backend::transport::spawn::Spawner;
use crate::backend::{Access, Confines, Hosts, Limits};
use crate::config::Config;
use crate::permission::Level;
use crate::sandbox::cage::{Cage, Network};
use crate::sandbox::proxy;

use super::super::fault::Fault;
use super::super::prepare::failure;
use super::super::shared::Shared;
use super::super::spawn::{Kept, Supervised};
use super::registries;
use super::variables::{self, Private};
use super::{backend_environment, backend_paths, create_backend_paths, hosts, listed, no_proxy, places};

/// Everything that the start of a question's program needs to be confined.
pub(in super::super) struct ConfinedQuestion {
    pub(in super::super) confines: Confines,
    pub(in super::super) env: Environment,
    pub(in super::super) spawn: Arc<dyn Spawner>,
}

/// Composes what a question is started with; `scratch` is its own directory, which ends with it. With the `role` of an
/// agent that only reads, it reaches the hosts of its model alone.
pub(in super::super) async fn compose_question(
    shared: &Shared,
    spec: &Spec,
    config: &Config,
    scratch: &Path,
    role: Access,
    env: Environment,
) -> Result<ConfinedQuestion, Failure> {
    let mut env = backend_environment(shared, env, spec).await?;
    // It installs nothing.
    registries::withhold_tokens(&mut env);
    match (config.sandbox.level, spec.confined_by) {
        (Level::Workspace | Level::Restricted, ConfinedBy::Coppice) => {}
        // A program that confines its own commands is given none for a question.
        (Level::Off, _) | (_, ConfinedBy::Agent) => {
            return Ok(ConfinedQuestion { confines: Confines::default(), env, spawn: shared.spawner.clone() });
        }
    }
    let own = [scratch.join("tmp"), scratch.join("caches"), scratch.join("gitconfig")];
    let [temp, caches, git_config] = &own;
    for path in [temp, caches] {
        fs::create_dir_all(path)
            .map_err(|source| failure(Fault::File { act: "create", path: path.clone(), source }))?;
    }
    create_backend_paths(shared, config, spec, &env)?;
    let hosts = hosts(&config.sandbox, spec, role, &env);
    let proxy = match &hosts {
        Some(hosts) => Some(proxy::start(hosts.clone()).await.map_err(no_proxy)?),
        None => None,
    };
    let (hosts, network) = match (hosts, &proxy) {
        (Some(hosts), Some(proxy)) => (Hosts::Only { hosts, proxy: proxy.port() }, Network::Ports(vec![proxy.port()])),
        (Some(_) | None, _) => (Hosts::Any, Network::Open),
    };
    let mut read = places::common(&env);
    read.extend(listed(&config.sandbox, &env));
    read.extend([shared.neutral_dir(), shared.executable.clone()]);
    let mut write = vec![scratch.to_owned(), PathBuf::from("/dev/shm")];
    write.extend(backend_paths(config, spec, &env));
    let cage = Cage { read: read.clone(), write: write.clone(), network, isolation: shared.support.isolation() };
    let spawn = Arc::new(Supervised {
        executable: shared.executable.clone(),
        hold: shared.support.hold(),
        cage: Some(cage),
        worktree: None,
        kept: Kept { _proxy: proxy.map(Arc::new), _servers: None },
    });
    let env = variables::confined(env, &Private { temp, caches, git_config, registries: &Environment::new() });
    let limits = Limits { read, write, hidden: Vec::new(), hosts };
    Ok(ConfinedQuestion { confines: Confines { limits: Some(limits), temp: Some(temp.clone()) }, env, spawn })
}
