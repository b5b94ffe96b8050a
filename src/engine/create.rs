//! A session comes into being: everything is checked first, then one write makes it a fact, then it begins.

use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

use crate::api;
use crate::api::event::Payload;
use crate::api::request::{CreateSession, Start};
use crate::api::session::{Session, Status};
use crate::backend::registry::Registry;
use crate::backend::spec::{self, Spec};
use crate::config::Config;
use crate::config::resolve::Titles;
use crate::git::{Base, Repo};
use crate::protocol::naming;
use crate::store::{Change, Durability, ProjectRow, PromptRow, Write};

use super::actor::{self, Command, Message, blocking};
use super::fault::Fault;
use super::record::{BaseRecord, Body, PromptBody, Record, json};
use super::settings::hex;
use super::shared::{Shared, event};
use super::standing::Standing;
use super::{clock, view};

pub(super) async fn create(shared: &Arc<Shared>, request: CreateSession) -> Result<Session, Fault> {
    let received = clock::now();
    let CreateSession { cwd, prompt, start, model, base, title, env } = request;
    if prompt.trim().is_empty() {
        return Err(Fault::EmptyPrompt);
    }
    let here = Standing::find(shared, PathBuf::from(cwd)).await?;
    let base = here.base(base).await?;
    let repo = here.repo;
    let checked = repo.clone();
    blocking(move || checked.check_namespace()).await?;
    let project = project_id(&repo);
    let settings = shared.settings.project(&project, &repo, base.commit).await?;
    let registry = shared.settings.registry(&settings.config);
    let (backend, model) = choose(&settings.config, &registry, model.as_deref())?;
    let path = env.get("PATH").or_else(|| shared.own_environment.get("PATH")).map(std::ffi::OsString::from);
    spec::resolve(backend, path.as_deref(), repo.common_dir())?;
    let title = title.filter(|title| !title.trim().is_empty());
    // A title that a person chose is nobody else's business.
    let asks = (title.is_none() && settings.config.titles == Titles::Model).then(|| prompt.clone());
    let title = title.unwrap_or_else(|| naming::title_from(&prompt));
    let body = Body { title, backend: backend.name.clone(), model, ..Body::default() };
    let record = write(shared, received, &repo, base, body, prompt).await?;
    shared.set_environment(record.id, env);
    if let Some(prompt) = asks {
        super::naming::ask_title(shared, &record, &prompt);
    }
    match start {
        Start::AsDraft => Ok(view::session(&record)),
        Start::AtOnce => begin(shared, &record).await,
    }
}

/// Makes the session a fact.
async fn write(
    shared: &Shared,
    now: i64,
    repo: &Repo,
    base: Base,
    body: Body,
    prompt: String,
) -> Result<Record, Fault> {
    let id = free_id(shared).await?;
    let project = project_id(repo);
    let branch = format!("coppice/{id}/{}", naming::slug_from(&body.title));
    let common_dir = repo.common_dir().to_string_lossy().into_owned();
    let body = Body {
        common_dir: common_dir.clone(),
        base: BaseRecord { name: base.name, branch: base.branch, commit: base.commit.to_string() },
        branch: branch.clone(),
        worktree: shared.worktrees(&project).join(id.as_str()).to_string_lossy().into_owned(),
        prompts: 1,
        order: vec![1],
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
    };
    let queued = Payload::PromptQueued { number: 1, text: prompt.clone() };
    let changes = vec![
        Change::Project(ProjectRow { id: project, common_dir, record: json(&known) }),
        Change::Session(record.row()),
        event(id, &created),
        Change::Prompt(PromptRow {
            session: id,
            number: 1,
            at: now,
            body: json(&PromptBody { text: prompt }),
            turn: None,
        }),
        event(id, &queued),
    ];
    shared.store.write(Write { durability: Durability::Full, changes }).await?;
    Ok(record)
}

async fn begin(shared: &Arc<Shared>, record: &Record) -> Result<Session, Fault> {
    let (reply, answer) = oneshot::channel();
    actor::deliver(shared, record.id, Message::Command(Command::Start, reply));
    match answer.await {
        Ok(Ok(session)) => Ok(session),
        // The session exists and its prompt is stored: whatever happened shows in its status.
        Ok(Err(_)) | Err(_) => Ok(view::session(record)),
    }
}

async fn free_id(shared: &Shared) -> Result<crate::id::SessionId, Fault> {
    loop {
        let id = clock::draw_id()?;
        if shared.store.session(id).await?.is_none() {
            return Ok(id);
        }
    }
}

/// Names a repository by its common directory.
pub(super) fn project_id(repo: &Repo) -> String {
    use std::os::unix::ffi::OsStrExt;
    hex(&Sha256::digest(repo.common_dir().as_os_str().as_bytes()))
}

/// The backend and model that a request means: named, or the default, or the first that is offered.
fn choose<'a>(
    config: &Config,
    registry: &'a Registry,
    wanted: Option<&str>,
) -> Result<(&'a Spec, Option<String>), Fault> {
    let name = wanted.unwrap_or(&config.default_model);
    let (backend, model) = match name.split_once('/') {
        Some((backend, model)) => (backend, Some(model)),
        None => (name, None),
    };
    let found = match (registry.get(backend), wanted) {
        (Some(spec), _) => Some((spec, model)),
        (None, Some(_)) => None,
        // A default that is gone falls back to the first backend there is.
        (None, None) => registry.offered().next().map(|spec| (spec, None)),
    };
    let known = || registry.all().map(|spec| spec.name.clone()).collect();
    let (spec, model) = found.ok_or_else(|| match wanted {
        Some(_) => Fault::UnknownBackend { name: backend.to_owned(), known: known() },
        None => Fault::NoBackend,
    })?;
    match model {
        Some(model) if !spec.models.known.is_empty() && !spec.models.known.iter().any(|known| known.id == model) => {
            let known = spec.models.known.iter().map(|known| known.id.clone()).collect();
            Err(Fault::UnknownModel { backend: spec.name.clone(), model: model.to_owned(), known })
        }
        model => Ok((spec, model.map(str::to_owned))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::backend::registry;

    #[track_caller]
    fn check(wanted: Option<&str>, expected: Result<(&str, Option<&str>), &str>) {
        let mine = registry::from_config("mine", vec!["mine".into()], Vec::new(), vec!["a".into(), "b".into()]);
        let registry = Registry::new(Path::new("/coppice"), vec![mine]);
        let chosen = choose(&Config::default(), &registry, wanted).map_err(|fault| fault.to_string());
        let chosen = chosen.as_ref().map(|(spec, model)| (spec.name.as_str(), model.as_deref()));
        assert_eq!(chosen.map_err(String::as_str), expected);
    }

    #[test]
    fn a_model_is_named_or_the_first_one_is_taken() {
        check(Some("mine"), Ok(("mine", None)));
        check(Some("mine/b"), Ok(("mine", Some("b"))));
        check(Some("demo"), Ok(("demo", None)));
        check(None, Ok(("mine", None)));
        check(Some("mine/c"), Err("backend `mine` has no model `c`; it has a, b"));
        check(Some("other"), Err("no backend is called `other`; known are mine, demo"));
    }

    #[test]
    fn without_a_backend_the_scripted_one_is_not_taken_by_itself() {
        let registry = Registry::new(Path::new("/coppice"), Vec::new());
        assert!(matches!(choose(&Config::default(), &registry, None), Err(Fault::NoBackend)));
    }
}
