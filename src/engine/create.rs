//! A session comes into being: everything is checked first, then one write makes it a fact, then it begins.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::api;
use crate::api::event::{Payload, PromptAuthor};
use crate::api::permission::SavedPlan;
use crate::api::request::{CreateSession, Environment, Start};
use crate::api::session::{Session, Status};
use crate::backend::registry::Registry;
use crate::backend::spec::{self, Reasoning};
use crate::config::Config;
use crate::config::family::Models;
use crate::config::resolve::Titles;
use crate::git::{Base, Repo};
use crate::id::SessionId;
use crate::permission::Profile;
use crate::protocol::naming;
use crate::store::{Change, Durability, ProjectRow, PromptRow, Write};
use crate::workflow::resume_prompt;

use super::actor::{self, Command, Message, blocking};
use super::agents::{self, Ground, Picked};
use super::choice::{self, Chosen, Wish, resolve_reasoning};
use super::fault::Fault;
use super::image::Picture;
use super::listed_model::{qualify_model, require_listed};
use super::record::{AgentRecord, BaseRecord, Body, EngineRecord, PromptBody, Record, Switch, json};
use super::settings::hex;
use super::shared::{Shared, event};
use super::standing::Standing;
use super::{clock, confine, image, plans, posture, prepare, view};

/// A session that can be created: everything that a client asked for, understood.
pub(super) struct Checked {
    repo: Repo,
    fresh: Fresh,
    plan: Option<SavedPlan>,
    /// What a title is asked for, where nobody chose one.
    untitled: Option<String>,
    warnings: Vec<String>,
    start: Start,
    env: Environment,
}

impl Checked {
    /// Who would work.
    pub(super) fn engine(self) -> api::event::Engine {
        view::engine(self.fresh.body.engine())
    }
}

pub(super) async fn create(shared: &Arc<Shared>, request: CreateSession) -> Result<Session, Fault> {
    let Checked { repo, fresh, plan, untitled, warnings, start, env } = check(shared, request).await?;
    let record = write(shared, &repo, fresh, |_| Ok(Vec::new())).await?;
    if let Some(saved) = plan {
        plans::taken(saved).await;
    }
    warn(shared, record.id, warnings.clone()).await?;
    shared.set_environment(record.id, env);
    if let Some(prompt) = untitled {
        super::naming::ask_title(shared, &record, &prompt);
    }
    let session = match start {
        Start::AsDraft => view::session(shared, &record),
        Start::AtOnce => begin(shared, &record).await?,
    };
    Ok(Session { warnings, ..session })
}

/// Finds out whether a session can be created as it is asked for; creates nothing.
pub(super) async fn check(shared: &Arc<Shared>, request: CreateSession) -> Result<Checked, Fault> {
    let received = clock::now();
    let CreateSession {
        cwd,
        prompt,
        plan,
        images,
        start,
        model,
        reasoning,
        agent,
        posture,
        yolo,
        profile,
        base,
        title,
        env,
    } = request;
    if prompt.trim().is_empty() && plan.is_none() {
        return Err(Fault::EmptyPrompt);
    }
    let images = image::read(images)?;
    let posture = posture::parse(posture.as_deref())?;
    let profile = profile.map(|word| word.parse::<Profile>().map_err(Fault::UnknownProfile)).transpose()?;
    let here = Standing::find(shared, PathBuf::from(cwd)).await?;
    let is_named = base.is_some();
    let base = here.base(base).await?;
    let is_detached = !is_named && base.branch.is_none();
    let ground = Ground::of_standing(&here, base.commit);
    let place = here.place().to_string_lossy().into_owned();
    let repo = here.repo;
    let checked = repo.clone();
    blocking(move || checked.check_namespace()).await?;
    let project = project_id(shared, &repo).await?;
    let plan = match plan {
        Some(id) => Some(plans::find(shared, &project, &id).await?),
        None => None,
    };
    let settings = shared.settings.project(&project, &repo, base.commit).await?;
    let registry = shared.settings.registry(&settings.config);
    let path = env.get("PATH").or_else(|| shared.own_environment.get("PATH")).map(std::ffi::OsString::from);
    let installed = |spec: &spec::Spec| spec::resolve(spec, path.as_deref(), &shared.neutral_dir()).is_ok();
    let agents = agents::read(shared, ground).await?;
    let picked = agents::pick(&agents, agent.as_deref(), &settings.config.default_agent)?;
    let model = match model {
        Some(model) => Some(qualify_model(shared, &settings.config, &registry, &installed, &env, model).await?),
        None => None,
    };
    let routed = route(&settings.config, &registry, &installed, model.as_deref(), &picked)?;
    let routed = keep_listed(shared, &settings.config, routed, model.as_deref(), &picked, &env).await?;
    let Routed { chosen, warning } = routed;
    let (Chosen { spec: backend, model }, missing_default) = match chosen {
        Some(chosen) => (chosen, None),
        None => (
            choice::choose(&settings.config, &registry, &installed, None)?,
            choice::describe_missing_default(&settings.config, &registry, &installed),
        ),
    };
    let title = title.filter(|title| !title.trim().is_empty());
    let title = title.or_else(|| plan.as_ref().map(|(_, plan)| plan.title.clone()));
    // A title that a person chose is nobody else's business.
    let untitled = (title.is_none() && settings.config.titles == Titles::Model).then(|| prompt.clone());
    let title = title.unwrap_or_else(|| naming::title_from(&prompt));
    let wish = wish(reasoning, picked.effort.as_deref(), &settings.config)?;
    let reasoning = resolve_reasoning(backend, model.as_deref(), wish)?;
    let reasoning = reasoning.map(|level| level.as_str().to_owned());
    let agent =
        AgentRecord { id: picked.id, persona: picked.persona, read_only: picked.read_only, ..AgentRecord::default() };
    let reach = confine::reach(shared, backend, settings.config.sandbox.level);
    let posture = posture::initial(posture, yolo, &settings.config, settings.trust, reach.hold());
    let body = Body {
        title,
        place,
        backend: backend.name.clone(),
        model,
        reasoning,
        agent,
        posture,
        profile: profile.map(|profile| profile.as_str().to_owned()).unwrap_or_default(),
        reach,
        ..Body::default()
    };
    let text = plan.as_ref().map_or_else(|| prompt.clone(), |(_, plan)| resume_prompt(plan, &prompt));
    let fresh = Fresh { at: received, base, body, text, context: None, images, author: PromptAuthor::Person };
    let detached = is_detached.then(|| detached_warning(&fresh.base.name));
    let warnings = detached.into_iter().chain(warning).chain(missing_default).chain(picked.warnings).collect();
    let plan = plan.map(|(saved, _)| saved);
    Ok(Checked { repo, fresh, plan, untitled, warnings, start, env })
}

/// A session that is about to be made.
pub(super) struct Fresh {
    pub(super) at: i64,
    pub(super) base: Base,
    pub(super) body: Body,
    /// The first prompt, and what goes before it.
    pub(super) text: String,
    pub(super) context: Option<String>,
    pub(super) images: Vec<Picture>,
    pub(super) author: PromptAuthor,
}

/// Makes the session a fact, together with what else becomes one.
pub(super) async fn write(
    shared: &Shared,
    repo: &Repo,
    fresh: Fresh,
    also: impl FnOnce(&Record) -> Result<Vec<Change>, Fault>,
) -> Result<Record, Fault> {
    let Fresh { at: now, base, body, text, context, images, author } = fresh;
    let id = free_id(shared).await?;
    let project = project_id(shared, repo).await?;
    let branch = format!("coppice/{id}/{}", naming::slug_from(&body.title));
    let common_dir = repo.common_dir().to_string_lossy().into_owned();
    let body = Body {
        common_dir: common_dir.clone(),
        base: BaseRecord { name: base.name, branch: base.branch, commit: base.commit.to_string() },
        branch: branch.clone(),
        worktree: shared.worktrees(&project).join(id.as_str()).to_string_lossy().into_owned(),
        prompts: 1,
        order: vec![1],
        is_untouched: true,
        ..body
    };
    let record = Record {
        id,
        project: project.clone(),
        created_at: now,
        updated_at: now,
        removed_at: None,
        status: Status::Draft,
        body,
    };
    let known = shared.settings.record(&project).await?;
    let created = Payload::SessionCreated {
        title: record.body.title.clone(),
        backend: record.body.backend.clone(),
        model: record.body.model.clone(),
        base: api::session::Base { name: record.body.base.name.clone(), commit: record.body.base.commit.clone() },
        branch,
        agent: Some(record.body.agent.id.clone()).filter(|id| !id.is_empty()),
        parent: record.body.child.as_ref().map(|child| child.parent.to_string()),
    };
    let images = image::store(shared.images_dir(id), 1, images).await?;
    let queued = Payload::PromptQueued { number: 1, text: text.clone(), images: view::attached(&images), author };
    let prompt = PromptBody { text, images, context, switch: Switch::default(), author };
    let mut changes = vec![
        Change::Project(ProjectRow { id: project, common_dir, record: json(&known) }),
        Change::Session(record.row()),
        event(id, &created),
        Change::Prompt(PromptRow { session: id, number: 1, at: now, body: json(&prompt), turn: None }),
        event(id, &queued),
    ];
    changes.extend(also(&record)?);
    if let Err(error) = shared.store.write(Write { durability: Durability::Full, changes }).await {
        // The session does not exist, and its images are nobody's.
        tokio::fs::remove_dir_all(shared.session_dir(id)).await.ok();
        return Err(error.into());
    }
    Ok(record)
}

async fn begin(shared: &Arc<Shared>, record: &Record) -> Result<Session, Fault> {
    let (reply, answer) = oneshot::channel();
    actor::deliver(shared, record.id, Message::Command(Command::Start, reply));
    match answer.await {
        Ok(Ok(session)) => Ok(session),
        // The session exists and its prompt is stored: whatever happened shows in its status.
        Ok(Err(_)) | Err(_) => Ok(view::session(shared, record)),
    }
}

async fn free_id(shared: &Shared) -> Result<SessionId, Fault> {
    loop {
        let id = clock::draw_id()?;
        if shared.store.session(id).await?.is_none() {
            return Ok(id);
        }
    }
}

/// Names a repository by its common directory. One that was moved keeps the name that it had in its first place.
pub(super) async fn project_id(shared: &Shared, repo: &Repo) -> Result<String, Fault> {
    Ok(choose_project_id(&shared.store.projects().await?, repo.common_dir()))
}

/// The name of a repository among those that are known.
pub(super) fn choose_project_id(known: &[ProjectRow], common_dir: &Path) -> String {
    let common_dir = common_dir.to_string_lossy();
    let is_taken = |id: &str| known.iter().any(|row| row.id == id && row.common_dir != common_dir);
    let mut name = common_dir.to_string();
    let mut own = hex(&Sha256::digest(&name));
    // Another repository lies where a moved one was: nothing of that one's trust and settings is its own.
    while is_taken(&own) {
        name.push('\n');
        own = hex(&Sha256::digest(&name));
    }
    let mut here: Vec<_> = known.iter().filter(|row| row.common_dir == common_dir).map(|row| row.id.clone()).collect();
    here.sort();
    match here.contains(&own) {
        true => own,
        false => here.into_iter().next().unwrap_or(own),
    }
}

/// What a prompt wants changed about who works.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    pub(super) model: Option<String>,
    pub(super) reasoning: Option<String>,
    /// `AGENT` or `AGENT:PERSONA`.
    pub(super) agent: Option<String>,
}

/// What changes with a prompt about who works in its session, once it is known to be possible.
pub(super) async fn switch(
    shared: &Arc<Shared>,
    id: SessionId,
    wishes: Wishes,
    env: Option<&Environment>,
) -> Result<Switch, Fault> {
    let Wishes { model, reasoning, agent } = wishes;
    if model.is_none() && reasoning.is_none() && agent.is_none() {
        return Ok(Switch::default());
    }
    let row = shared.store.session(id).await?.ok_or(Fault::SessionGone { id })?;
    let record = Record::read(row)?;
    let repo = prepare::open_repo(&record).await?;
    let settings = shared.settings.session(&record, &repo).await?;
    let config = &settings.config;
    let registry = shared.settings.registry(config);
    let captured = shared.environment(id);
    let env = env.or(captured.as_ref()).unwrap_or(&shared.own_environment);
    let path = env.get("PATH").map(std::ffi::OsString::from);
    let installed = |spec: &spec::Spec| spec::resolve(spec, path.as_deref(), &shared.neutral_dir()).is_ok();
    let picked = match &agent {
        Some(agent) => {
            let agents = agents::read(shared, Ground::of_session(&record, &repo)?).await?;
            Some(agents::pick(&agents, Some(agent), &config.default_agent)?)
        }
        None => None,
    };
    let model = match model {
        Some(model) => Some(qualify_model(shared, config, &registry, &installed, env, model).await?),
        None => None,
    };
    let routed = match (&picked, model.as_deref()) {
        (Some(picked), model) => {
            let routed = route(config, &registry, &installed, model, picked)?;
            keep_listed(shared, config, routed, model, picked, env).await?
        }
        (None, Some(model)) => Routed::plain(choice::choose(config, &registry, &installed, Some(model))?),
        (None, None) => Routed { chosen: None, warning: None },
    };
    let EngineRecord { backend, model: current, .. } = record.body.engine();
    let present = current.map_or_else(|| backend.clone(), |model| format!("{backend}/{model}"));
    let effort = picked.as_ref().and_then(|picked| picked.effort.as_deref());
    let level = match (reasoning, effort.and_then(choice::effort).flatten()) {
        (None, None) => None,
        (reasoning, _) => {
            let chosen = match routed.chosen.clone() {
                Some(chosen) => chosen,
                None => choice::choose(config, &registry, &installed, Some(&present))?,
            };
            resolve_reasoning(chosen.spec, chosen.model.as_deref(), wish(reasoning, effort, config)?)?
        }
    };
    let warnings = picked.iter().flat_map(|picked| picked.warnings.iter().cloned());
    warn(shared, id, routed.warning.into_iter().chain(warnings)).await?;
    Ok(Switch {
        backend: routed.chosen.map(|chosen| (chosen.spec.name.clone(), chosen.model)),
        reasoning: level.map(|level| level.as_str().to_owned()),
        agent: picked.map(|picked| (picked.id, picked.persona)),
    })
}

/// Where a session of an agent works.
struct Routed<'a> {
    /// What a person or the agent's file wants; `None` leaves it to what holds without them.
    chosen: Option<Chosen<'a>>,
    warning: Option<String>,
}

impl<'a> Routed<'a> {
    fn plain(chosen: Chosen<'a>) -> Self {
        Self { chosen: Some(chosen), warning: None }
    }
}

/// A person's word counts before the persona's and the file's. What only a file wants and this machine does not have is
/// done without, or refused, as configured.
fn route<'a>(
    config: &Config,
    registry: &'a Registry,
    installed: &dyn Fn(&spec::Spec) -> bool,
    wanted: Option<&str>,
    picked: &Picked,
) -> Result<Routed<'a>, Fault> {
    let (name, agent) = match (wanted, &picked.model) {
        (Some(name), _) => return Ok(Routed::plain(choice::choose(config, registry, installed, Some(name))?)),
        (None, Some(name)) => (name, &picked.id),
        (None, None) => return Ok(Routed { chosen: None, warning: None }),
    };
    match choice::choose(config, registry, installed, Some(name)) {
        Ok(chosen) => Ok(Routed::plain(chosen)),
        Err(fault) => do_without(config, agent, name, &fault),
    }
}

/// The same, without a model of the agent's file that its backend does not list. One that a person wants is checked already.
async fn keep_listed<'a>(
    shared: &Shared,
    config: &Config,
    routed: Routed<'a>,
    wanted: Option<&str>,
    picked: &Picked,
    env: &Environment,
) -> Result<Routed<'a>, Fault> {
    let (None, Some(chosen), Some(name)) = (wanted, &routed.chosen, &picked.model) else { return Ok(routed) };
    match require_listed(shared, config, chosen, env).await {
        Ok(()) => Ok(routed),
        Err(fault) => do_without(config, &picked.id, name, &fault),
    }
}

/// What becomes of a session whose agent wants a model that is not there.
fn do_without<'a>(config: &Config, agent: &str, model: &str, fault: &Fault) -> Result<Routed<'a>, Fault> {
    match config.delegation.models {
        Models::Strict => Err(Fault::AgentModel { agent: agent.to_owned(), reason: fault.to_string() }),
        Models::Inherit => {
            let warning = format!("agent `{agent}` wants the model `{model}` and works without it: {fault}");
            Ok(Routed { chosen: None, warning: Some(warning) })
        }
    }
}

/// What a person should know who stands on no branch, as a rebase, a bisection or jj leave it.
fn detached_warning(commit: &str) -> String {
    format!(
        "HEAD is detached at `{commit}`, so `coppice merge` has no branch to merge this session into; `--base BRANCH` starts \
         one from a branch"
    )
}

/// Tells what a person should know about a choice that was made for them.
async fn warn(shared: &Shared, id: SessionId, messages: impl IntoIterator<Item = String>) -> Result<(), Fault> {
    let warnings: Vec<_> = messages.into_iter().map(|message| Payload::Warning { message }).collect();
    if !warnings.is_empty() {
        shared.note(id, &warnings).await?;
    }
    Ok(())
}

/// Who asks for a level: a person, an agent's file, or a setting.
fn wish(wanted: Option<String>, of_agent: Option<&str>, config: &Config) -> Result<Option<Wish>, Fault> {
    match (wanted, of_agent.and_then(choice::effort)) {
        (Some(level), _) => Ok(Some(Wish::Explicit(Reasoning::parse(&level).ok_or(Fault::UnknownLevel { level })?))),
        (None, Some(level)) => Ok(level.map(Wish::Default)),
        (None, None) => Ok(config.default_reasoning.as_deref().and_then(Reasoning::parse).map(Wish::Default)),
    }
}
