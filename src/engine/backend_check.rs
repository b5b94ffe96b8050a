//! The agents that are known by name, and a trial of one: it is started in the sandbox of a question and opens a session.

use std::sync::PoisonError;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use crate::api::backend::{BackendCheck, BackendEntry, BackendFailure, BackendOrigin, CheckBackend};
use crate::api::error::Error;
use crate::api::project::{BackendQuery, ConfigQuery};
use crate::backend::event::{Command, Decision, Event, Started};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::preset;
use crate::backend::spec::{Spec, Version, Versions};
use crate::backend::{Access, Conversation};
use crate::config::Config;

use super::Engine;
use super::confine;
use super::fault::Fault;
use super::prepare::launch::Surroundings;
use super::utility::{close, launch_question, make_scratch, say};

/// How long a trial may take as a whole.
const PATIENCE: Duration = Duration::from_secs(120);

/// Any version will do.
const ANY_VERSION: Versions = Versions { minimum: Version(0, 0, 0), tested: Version(u32::MAX, 0, 0) };

/// What an agent did before it failed or was done.
#[derive(Debug, Default)]
struct Trial {
    started: Option<Started>,
    reply: Option<String>,
}

impl Engine {
    /// Every backend that has a name here: built in, configured, or a preset that can be added.
    pub async fn known_backends(&self, query: BackendQuery) -> Result<Vec<BackendEntry>, Error> {
        let config = self.config_at(ConfigQuery { cwd: query.cwd }).await?;
        let env = self.surrounding_environment(query.path);
        let rows = known(&self.shared.settings.registry(&config), &config);
        let entries = rows.into_iter().map(|(spec, origin)| {
            let env = &env;
            async move {
                let asked = Spec { versions: spec.versions.clone().or(Some(ANY_VERSION)), ..spec.clone() };
                let spec = match origin {
                    // The program may be a launcher, whose version is not the agent's.
                    BackendOrigin::Configured => &spec,
                    BackendOrigin::BuiltIn | BackendOrigin::Preset | BackendOrigin::AddedPreset => &asked,
                };
                let found = self.shared.catalog.look(&self.shared, spec, env).await;
                BackendEntry {
                    name: spec.name.clone(),
                    origin,
                    program: found.program.map(|program| program.display().to_string()),
                    version: found.version.map(|version| version.to_string()),
                    install: spec.install.clone(),
                    login: spec.login.clone(),
                }
            }
        });
        Ok(join_all(entries).await)
    }

    /// Starts a backend in the sandbox, has it open a session, and sends the prompt if there is one.
    pub async fn check_backend(&self, request: CheckBackend) -> Result<BackendCheck, Error> {
        let CheckBackend { name, cwd, environment, prompt } = request;
        let config = self.config_at(ConfigQuery { cwd }).await?;
        let rows = known(&self.shared.settings.registry(&config), &config);
        let Some((spec, _)) = rows.iter().find(|(spec, _)| spec.name == name).cloned() else {
            let known = rows.into_iter().map(|(spec, _)| spec.name).collect();
            return Err(Fault::UnknownBackend { name, known }.into());
        };
        let environment = self.accept_environment(environment);
        let mut trial = Trial::default();
        let outcome = self.try_backend(spec, &config, environment, prompt, &mut trial).await;
        if outcome.is_ok() {
            self.shared.checked_backends.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        }
        let info = trial.started.as_ref().map(|started| started.info.clone()).unwrap_or_default();
        let again = format!("`coppice backends check {name}`");
        let text = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(BackendCheck {
            name,
            sandbox: config.sandbox.level.as_str().to_owned(),
            agent: text(info.name),
            version: text(info.version),
            models: trial.started.map_or(0, |started| u32::try_from(started.models.len()).unwrap_or(u32::MAX)),
            reply: trial.reply,
            failure: outcome.err().map(|Failure { kind, message, hint, login: _ }| BackendFailure {
                kind: kind.as_str().to_owned(),
                message,
                // There is no session to go on with.
                hint: hint.replace("`coppice resume`", &again),
            }),
        })
    }

    async fn try_backend(
        &self,
        spec: Spec,
        config: &Config,
        env: crate::api::request::Environment,
        prompt: Option<String>,
        trial: &mut Trial,
    ) -> Result<(), Failure> {
        let shared = &self.shared;
        let scratch = make_scratch(&shared.data)?;
        let confined = confine::compose_question(shared, &spec, config, scratch.path(), Access::Write, env).await?;
        let launch = launch_question(shared, spec, None, confined, None, scratch.path())?;
        let surroundings = Surroundings::new(&launch, config);
        let mut conversation = shared.backends.start(launch);
        let late = || Failure::new(FailureKind::Timeout, format!("no answer within {} seconds", PATIENCE.as_secs()));
        let outcome = tokio::select! {
            () = shared.stop.cancelled() => Err(Failure::new(FailureKind::Cancelled, "the daemon ended")),
            outcome = timeout(PATIENCE, converse(&mut conversation, prompt, trial)) => outcome.unwrap_or_else(|_| Err(late())),
        };
        close(conversation).await;
        outcome.map_err(|failure| surroundings.explain(failure))
    }
}

/// The backends of a configuration that think, and the presets that it does not name.
fn known(registry: &crate::backend::registry::Registry, config: &Config) -> Vec<(Spec, BackendOrigin)> {
    let presets = preset::specs();
    let is_preset = |spec: &Spec| presets.iter().any(|row| row.name == spec.name);
    let origin = |spec: &Spec| match config.backends.contains_key(&spec.name) {
        true if is_preset(spec) => BackendOrigin::AddedPreset,
        true if !spec.vendors.is_empty() => BackendOrigin::BuiltIn,
        true => BackendOrigin::Configured,
        false => BackendOrigin::BuiltIn,
    };
    let mut rows: Vec<_> = registry.offered().map(|spec| (spec.clone(), origin(spec))).collect();
    let others: Vec<_> = presets.into_iter().filter(|row| registry.get(&row.name).is_none()).collect();
    rows.extend(others.into_iter().map(|row| (row, BackendOrigin::Preset)));
    rows
}

/// Waits until the session is open, and for the answer to the prompt. Whatever the agent asks to do is denied.
async fn converse(conversation: &mut Conversation, prompt: Option<String>, trial: &mut Trial) -> Result<(), Failure> {
    let Conversation { commands, events } = conversation;
    let mut prompt = prompt;
    while let Some(event) = events.recv().await {
        match event {
            Event::Started(started) => {
                trial.started = Some(started);
                match prompt.take() {
                    // A conversation that takes nothing any more says why by its next event.
                    Some(text) => drop(commands.send(say(text)).await),
                    None => return Ok(()),
                }
            }
            Event::Approval(request) => {
                let decision = Decision::Deny { message: Some("answer without tools".to_owned()) };
                commands.send(Command::Decide { request: request.request, decision }).await.ok();
            }
            Event::ToolRequested(request) => {
                let outcome = Err(format!("no tool is called `{}`", request.tool));
                commands.send(Command::ToolResult { request: request.request, outcome }).await.ok();
            }
            Event::Final { text, .. } => {
                trial.reply = Some(text);
                return Ok(());
            }
            Event::Failed(failure) => return Err(failure),
            Event::Exited { stderr_tail, .. } => {
                let message = format!("the agent ended before it was ready: {}", stderr_tail.trim_end());
                return Err(Failure::new(FailureKind::Crashed, message));
            }
            Event::Text { .. }
            | Event::Thought { .. }
            | Event::ToolStarted(_)
            | Event::ToolOutput { .. }
            | Event::ToolFinished { .. }
            | Event::ApprovalGone { .. }
            | Event::ToolRequestGone { .. }
            | Event::Plan(_)
            | Event::Usage(_)
            | Event::Retry { .. } => {}
        }
    }
    Err(Failure::new(FailureKind::Crashed, "the agent went away"))
}
