//! What the installed agents tell about themselves: version and models. Asked when somebody wants to know, and kept.
//!
//! Nothing here can stop a session: each question has a time limit, and whoever asks is told what the built-in table
//! says where the agent itself cannot be asked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use crate::backend::discovery::{Discovery, Found, Surroundings};
use crate::backend::event::{Event, Model};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::login::fingerprint_login;
use crate::backend::spec::{Spec, Version};
use crate::backend::transport::spawn::Spawner;
use crate::backend::{Launch, Purpose};

use super::confine;
use super::shared::Shared;

/// Long enough for a program on Node to start on a loaded machine.
const LIMIT: Duration = Duration::from_secs(20);

/// What an account may use changes seldom, and a person who waits for it asks again.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// What agents told, for one daemon.
pub(super) struct Catalog {
    discovery: Discovery,
    offers: Mutex<HashMap<Key, Slot>>,
}

/// The models of an agent in its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) models: Vec<Model>,
    /// The one it takes when none is named.
    pub(super) default: Option<String>,
}

/// One program in one version, with all that a configuration changes in how it is started.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    program: PathBuf,
    version: Option<Version>,
    command: Vec<String>,
    env: Vec<(String, String)>,
    /// A hash, as the settings hold keys.
    login: String,
}

/// Held while its agent is asked: who comes second waits for that answer instead of starting another process.
type Slot = Arc<tokio::sync::Mutex<Option<(Instant, Offer)>>>;

impl Catalog {
    pub(super) fn new(spawn: Arc<dyn Spawner>) -> Self {
        Self { discovery: Discovery::new(spawn), offers: Mutex::default() }
    }

    /// Looks for the program of a backend and judges its version.
    pub(super) async fn look(&self, shared: &Shared, spec: &Spec, env: &[(String, String)]) -> Found {
        let mut env = env.to_vec();
        let state = shared.survey_dir(&spec.name);
        env.extend(spec.state_variables(&state));
        env.extend(spec.env.iter().cloned());
        let neutral = shared.neutral_dir();
        // Without its directory the program does not start, and what it then says is told.
        [&state, &neutral].into_iter().try_for_each(std::fs::create_dir_all).ok();
        self.discovery.look(spec, Surroundings { env: &env, cwd: &neutral }).await
    }

    /// The models that an agent offers, or why it does not tell.
    pub(super) async fn offer(
        &self,
        shared: &Shared,
        spec: &Spec,
        program: &Path,
        version: Option<Version>,
        env: &[(String, String)],
    ) -> Result<Offer, Failure> {
        let key = Key {
            program: program.to_owned(),
            version,
            command: spec.command.clone(),
            env: spec.env.clone(),
            login: fingerprint(spec, env).await,
        };
        let slot = self.slot(key);
        let mut kept = slot.lock().await;
        if let Some((_, offer)) = kept.as_ref().filter(|(at, _)| at.elapsed() < LIFETIME) {
            return Ok(offer.clone());
        }
        let asked = tokio::time::timeout(LIMIT, ask(shared, spec, program, env)).await;
        let late = || format!("it did not answer within {} seconds", LIMIT.as_secs());
        let offer = asked.unwrap_or_else(|_| Err(Failure::new(FailureKind::Timeout, late())))?;
        *kept = Some((Instant::now(), offer.clone()));
        Ok(offer)
    }

    /// The place for an answer. Answers that are too old go, as every change of a login begins another one.
    fn slot(&self, key: Key) -> Slot {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |kept: &Option<(Instant, Offer)>| kept.as_ref().is_some_and(|(at, _)| at.elapsed() < LIFETIME);
        // Somebody waits for one that is held.
        offers.retain(|_, slot| slot.try_lock().map_or(true, |kept| is_fresh(&kept)));
        offers.entry(key).or_default().clone()
    }
}

/// Hashes the login and the settings that an agent finds: they may name its models.
async fn fingerprint(spec: &Spec, env: &[(String, String)]) -> String {
    let (spec, env) = (spec.clone(), env.to_vec());
    // A hash that fails is the same one each time.
    tokio::task::spawn_blocking(move || fingerprint_login(&spec, &env)).await.unwrap_or_default()
}

/// Opens a conversation that takes no prompt, and closes it as soon as it has begun.
async fn ask(shared: &Shared, spec: &Spec, program: &Path, env: &[(String, String)]) -> Result<Offer, Failure> {
    let (state_dir, neutral_dir) = (shared.survey_dir(&spec.name), shared.neutral_dir());
    for path in [&state_dir, &neutral_dir] {
        std::fs::create_dir_all(path).map_err(|error| {
            Failure::new(FailureKind::Setup, format!("failed to create `{}`: {error}", path.display()))
        })?;
    }
    let env = env.iter().cloned().collect();
    let env = confine::backend_environment(shared, env, spec).await?;
    let mut argv = spec.command.clone();
    if let Some(first) = argv.first_mut() {
        *first = program.to_string_lossy().into_owned();
    }
    debug!(backend = spec.name, "asking for the models");
    let mut conversation = shared.backends.start(Launch {
        spec: spec.clone(),
        argv,
        cwd: neutral_dir.clone(),
        env: env.into_iter().collect(),
        project_env: Vec::new(),
        purpose: Purpose::Survey,
        resume: None,
        model: None,
        reasoning: None,
        mode: None,
        rules: None,
        instructions: None,
        schema: None,
        roots: Vec::new(),
        tools: Vec::new(),
        native: crate::backend::Native::default(),
        posture: crate::permission::Posture::Plan,
        plan_file: None,
        confines: crate::backend::Confines::default(),
        state_dir,
        login_dir: shared.login_dir(&spec.name),
        neutral_dir,
        bridge: Vec::new(),
        spawn: shared.spawner.clone(),
    });
    // The conversation ends with the last hold on it, when this returns or is given up.
    loop {
        match conversation.events.recv().await {
            Some(Event::Started(started)) if started.models.is_empty() => {
                return Err(Failure::new(FailureKind::Protocol, "it lists none"));
            }
            Some(Event::Started(started)) => {
                let marked = started.models.iter().find(|model| model.is_default).map(|model| model.id.clone());
                return Ok(Offer { models: started.models, default: started.model.or(marked) });
            }
            Some(Event::Failed(failure)) => return Err(failure),
            Some(Event::Exited { .. }) | None => {
                return Err(Failure::new(FailureKind::Crashed, "it ended before it was ready"));
            }
            // Nothing else means anything before the start.
            Some(_) => {}
        }
    }
}
