//! Makes sessions from what git and the data directory still hold of them, where the store has lost them.
//!
//! What is recovered of one session is a pure function (`recover`). A repository counts only if the person names it, or if
//! its path is the one that the directory of its worktrees is named after: an agent can write a worktree's `.git` file.

mod recover;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::warn;

use crate::api;
use crate::api::event::Payload;
use crate::api::session::Changes;
use crate::api::store::{RebuildRequest, RecoveredSession};
use crate::backend::spec;
use crate::git::traces::{SessionTraces, claimed_repository, find_session_traces, knows_session};
use crate::git::{Repo, removal};
use crate::id::SessionId;
use crate::store::{Change, Durability, ProjectRow, Removed, Write};

use super::actor::blocking;
use super::choice;
use super::create::choose_project_id;
use super::fault::Fault;
use super::record::{EngineRecord, Record, json};
use super::settings::ProjectRecord;
use super::shared::{Shared, event};
use super::{clock, recover as interruption, worktrees};
use recover::{FoundTree, Recovery, SessionPlace, recover_session};

/// What became of the sessions.
pub(super) struct Rebuilt {
    pub(super) repositories: Vec<String>,
    pub(super) carried_over: usize,
    pub(super) recovered: Vec<RecoveredSession>,
    pub(super) skipped: Vec<String>,
}

/// Adds every session that the repositories hold and the store does not know.
pub(super) async fn recover_sessions(shared: &Arc<Shared>, request: &RebuildRequest) -> Result<Rebuilt, Fault> {
    let mut known = BTreeSet::new();
    for removed in [Removed::Without, Removed::Only] {
        known.extend(shared.store.sessions(removed).await?.into_iter().map(|row| row.id));
    }
    let stored = shared.store.projects().await?;
    let (data, request) = (shared.data.clone(), request.clone());
    let (repositories, mut skipped) = blocking(move || Ok(find_repositories(&data, stored, &request))).await?;
    let fallback = default_engine(shared);
    let mut candidates: BTreeMap<SessionId, Vec<Candidate<'_>>> = BTreeMap::new();
    for (project, repo) in &repositories {
        let of = repo.clone();
        match blocking(move || find_session_traces(&of)).await {
            Ok(traces) => {
                for traces in traces.into_iter().filter(|traces| !known.contains(&traces.session)) {
                    let has_worktree = shared.worktrees(project).join(traces.session.as_str()).is_dir();
                    let found = candidates.entry(traces.session).or_default();
                    found.push(Candidate { project, repo, traces, has_worktree });
                }
            }
            Err(fault) => skipped.push(format!("repository `{}`: {fault}", repo.common_dir().display())),
        }
    }
    let mut recovered = Vec::new();
    for (session, mut found) in candidates {
        found.sort_by_key(|candidate| !candidate.has_worktree);
        let mut found = found.into_iter();
        let Some(Candidate { project, repo, traces, .. }) = found.next() else { continue };
        for Candidate { repo: other, .. } in found {
            let (other, repo) = (other.common_dir().display(), repo.common_dir().display());
            skipped.push(format!("session `{session}` of `{other}`: taken from `{repo}`"));
        }
        let place = place_of(shared, project, repo, session, &fallback);
        // Another data directory has its files.
        let is_elsewhere = traces.registered.as_ref().is_some_and(|path| !path.starts_with(&shared.data));
        match recover_session(&traces, &place).filter(|_| !is_elsewhere) {
            Some(mut recovery) => {
                recovery.record.body.changes = count_changes(&recovery.record).await;
                recovered.push(describe(&recovery));
                store_recovery(shared, repo, recovery).await?;
            }
            None => {
                let reason =
                    if is_elsewhere { "another data directory has it" } else { "no branch of yours has its base" };
                skipped.push(format!("session `{session}`: {reason}"));
            }
        }
    }
    let repositories = repositories.values().map(|repo| repo.common_dir().display().to_string()).collect();
    Ok(Rebuilt { repositories, carried_over: known.len(), recovered, skipped })
}

/// A repository that holds something of a session. A copy of a repository holds the same sessions.
struct Candidate<'a> {
    project: &'a str,
    repo: &'a Repo,
    traces: SessionTraces,
    /// The session's files are where this repository's worktrees are.
    has_worktree: bool,
}

/// The repositories by their project, and what could not be found.
fn find_repositories(
    data: &Path,
    stored: Vec<ProjectRow>,
    request: &RebuildRequest,
) -> (BTreeMap<String, Repo>, Vec<String>) {
    let (mut found, mut skipped) = (BTreeMap::new(), Vec::new());
    let project_id = |repo: &Repo| choose_project_id(&stored, repo.common_dir());
    if let Some(repo) = request.here.as_ref().and_then(|here| discover_outside(data, Path::new(here)).ok()) {
        found.insert(project_id(&repo), repo);
    }
    let named = request.repositories.iter().chain(stored.iter().map(|row| &row.common_dir));
    for path in named {
        match discover_outside(data, Path::new(path)) {
            Ok(repo) => drop(found.insert(project_id(&repo), repo)),
            Err(fault) => skipped.push(format!("repository `{path}`: {fault}")),
        }
    }
    for root in entries(&data.join("worktrees")) {
        let project = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if found.contains_key(&project) {
            continue;
        }
        let trees = [entries(&root), entries(&root.join(".trash")), entries(&root.join(".spare"))].concat();
        let is_named_after = |path: &PathBuf| choose_project_id(&stored, path) == project;
        let claimed = trees.iter().filter_map(|tree| claimed_repository(tree)).filter(is_named_after);
        let mut repositories = claimed.filter_map(|path| discover_outside(data, &path).ok());
        if let Some(repo) = repositories.find(|repo| project_id(repo) == project) {
            found.insert(project, repo);
            continue;
        }
        // A repository that was moved has another name than the directory of its worktrees.
        let moved = found.iter().find(|(_, repo)| knows_worktree_in(&root, repo)).map(|(name, _)| name.clone());
        match moved.and_then(|name| found.remove(&name)) {
            Some(repo) => drop(found.insert(project, repo)),
            None if trees.is_empty() => {}
            None => skipped.push(format!("`{}`: its repository is not found; name it", root.display())),
        }
    }
    (found, skipped)
}

/// The repository around a directory, unless it lies where agents can make one.
fn discover_outside(data: &Path, directory: &Path) -> Result<Repo, Fault> {
    let is_inside = |path: &Path| match (path.canonicalize(), data.canonicalize()) {
        (Ok(path), Ok(data)) => path.starts_with(data),
        (_, _) => false,
    };
    let inside = |path: &Path| Fault::InDataDirectory { path: path.to_owned() };
    if is_inside(directory) {
        return Err(inside(directory));
    }
    let repo = Repo::discover(directory)?;
    if is_inside(repo.common_dir()) { Err(inside(repo.common_dir())) } else { Ok(repo) }
}

/// Whether a repository has something of a session whose worktree lies in `root`.
fn knows_worktree_in(root: &Path, repo: &Repo) -> bool {
    let session = |tree: &PathBuf| tree.file_name()?.to_str()?.parse::<SessionId>().ok();
    entries(root).iter().filter_map(session).any(|id| knows_session(repo, id).unwrap_or_default())
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// What a recovered session changes, as far as that can be counted.
async fn count_changes(record: &Record) -> Changes {
    match interruption::count(record).await {
        Ok(counted) => counted.unwrap_or_default(),
        Err(fault) => {
            warn!(session = %record.id, %fault, "what a recovered session changes is not counted");
            Changes::default()
        }
    }
}

/// What the data directory says about a session.
fn place_of(shared: &Shared, project: &str, repo: &Repo, session: SessionId, fallback: &EngineRecord) -> SessionPlace {
    let root = shared.worktrees(project);
    let worktree = root.join(session.as_str());
    let is_trashed = || removal::pending(&root).iter().any(|pending| pending.session == Some(session));
    let tree = match worktrees::find_all(&shared.data).iter().any(|found| found.path == worktree) {
        true => FoundTree::InPlace,
        false if is_trashed() => FoundTree::InTrash,
        false => FoundTree::Gone,
    };
    let states = entries(&shared.session_dir(session).join("state"));
    let backends = states.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    SessionPlace {
        project: project.to_owned(),
        common_dir: repo.common_dir().to_string_lossy().into_owned(),
        worktree: worktree.to_string_lossy().into_owned(),
        tree,
        backends: backends.collect(),
        fallback: fallback.clone(),
        now: clock::now(),
    }
}

/// Who would work on a new session of the user.
fn default_engine(shared: &Shared) -> EngineRecord {
    let Ok(config) = shared.settings.user() else { return EngineRecord::default() };
    let registry = shared.settings.registry(&config);
    let path = shared.own_environment.get("PATH").map(std::ffi::OsString::from);
    let installed = |spec: &spec::Spec| spec::resolve(spec, path.as_deref(), &shared.neutral_dir()).is_ok();
    choice::choose(&config, &registry, &installed, None).map_or_else(
        |_| EngineRecord::default(),
        |chosen| EngineRecord { backend: chosen.spec.name.clone(), model: chosen.model, reasoning: None },
    )
}

async fn store_recovery(shared: &Shared, repo: &Repo, recovery: Recovery) -> Result<(), Fault> {
    let Recovery { record, turns, uncertain } = recovery;
    let common_dir = repo.common_dir().to_string_lossy().into_owned();
    let body = &record.body;
    let created = Payload::SessionCreated {
        title: body.title.clone(),
        backend: body.backend.clone(),
        model: body.model.clone(),
        base: api::session::Base { name: body.base.name.clone(), commit: body.base.commit.clone() },
        branch: body.branch.clone(),
        agent: None,
        parent: None,
    };
    let assumed = if uncertain.is_empty() { String::new() } else { format!("; assumed: {}", uncertain.join(", ")) };
    let message =
        format!("recovered from git after its record was lost: prompts and transcript are not known{assumed}");
    let known = shared.settings.record(&record.project).await.unwrap_or(ProjectRecord::default());
    let mut changes = vec![
        Change::Project(ProjectRow { id: record.project.clone(), common_dir, record: json(&known) }),
        Change::Session(record.row()),
        event(record.id, &created),
        event(record.id, &Payload::Warning { message }),
    ];
    changes.extend((1..).zip(turns).map(|(number, turn)| Change::Turn(turn.row(record.id, number, None))));
    shared.store.write(Write { durability: Durability::Full, changes }).await?;
    Ok(())
}

fn describe(recovery: &Recovery) -> RecoveredSession {
    let Recovery { record, uncertain, .. } = recovery;
    let state = if record.removed_at.is_some() { "removed" } else { record.status.as_str() };
    RecoveredSession {
        id: record.id.to_string(),
        title: record.body.title.clone(),
        branch: record.body.branch.clone(),
        base: record.body.base.name.clone(),
        state: state.to_owned(),
        turns: record.body.turns,
        uncertain: uncertain.iter().map(ToString::to_string).collect(),
    }
}
