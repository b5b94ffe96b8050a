//! What must be there before a prompt can be sent: the worktree, its files, the setup command, the backend.
//!
//! It runs beside the session's task, which may abort it at any moment; what is half done is finished by the next one.

mod converse;
mod furnish;
pub(super) mod launch;
mod repository;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::api::environment::is_listed;
use crate::api::event::{AgentUse, Live, Payload};
use crate::api::request::Environment;
use crate::backend::Conversation;
use crate::backend::event::Block;
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::spec::{ResolveError, Spec};
use crate::git::integrate::{self, Recovered};
use crate::git::stop::stop_signal;
use crate::git::worktree::{Health, Method, New, Phase, Progress};
use crate::git::{self, GitError, Repo, Worktree};

use crate::sandbox::quiesce;
use crate::tools::external::ExternalTool;

use super::actor::in_quiet_tree;
use super::agents::role::{self, Role};
use super::external::Servers;
use super::fault::Fault;
use super::judge::Judge;
use super::record::{
    AgentRecord, ConversationRecord, EngineRecord, PromptBody, ReachRecord, Record, SurfaceHold, Tree,
};
use super::settings::Settings;
use super::shared::Shared;
use super::stoppable::GivenUp;
use super::{links, plan_mode};
pub(super) use converse::{close, look};
use converse::{converse, usable};
use furnish::furnish;
pub(super) use furnish::{SetupChoice, run_command};
pub(super) use launch::{Start, access, furnished, plan_file};
pub(super) use repository::{is_repository_lost, open_repo};

/// What to prepare.
pub(super) struct Plan {
    pub(super) record: Record,
    /// Who works in this turn.
    pub(super) engine: EngineRecord,
    pub(super) task: PromptBody,
    /// A conversation that is still open.
    pub(super) open: Option<(Conversation, ConversationRecord)>,
    pub(super) setup: SetupChoice,
}

/// Everything a prompt needs.
pub(super) struct Prepared {
    pub(super) conversation: Conversation,
    pub(super) conversation_record: ConversationRecord,
    pub(super) exec_at: i64,
    pub(super) engine: EngineRecord,
    /// Who works, and with which tools.
    pub(super) role: Box<Role>,
    /// Who decides about its calls.
    pub(super) judge: Box<Judge>,
    /// The external servers that its tools are of.
    pub(super) servers: Option<Arc<Servers>>,
    /// What its processes can reach.
    pub(super) reach: ReachRecord,
    pub(super) agent: Option<AgentUse>,
    pub(super) delivery: Told,
    pub(super) blocks: Vec<Block>,
}

/// Who else takes part in a turn.
struct Company {
    judge: Box<Judge>,
    servers: Option<Arc<Servers>>,
}

/// What the backend's context holds before the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing, and there is nothing to tell.
    Nothing,
    /// The rules and all turns so far.
    Everything,
    /// Nothing; the past is told again.
    Replayed,
}

impl Told {
    /// The delivery as it is stored and shown.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Told::Nothing => "bootstrap_full",
            Told::Everything => "delta_only",
            Told::Replayed => "bootstrap_with_replay",
        }
    }
}

/// Why it did not work, and how far the worktree is.
pub(super) struct Unprepared {
    pub(super) tree: Option<Tree>,
    /// As in the session's record.
    pub(super) is_untouched: bool,
    pub(super) failure: Failure,
}

impl Unprepared {
    pub(super) fn aborted() -> Self {
        let failure = Failure::new(FailureKind::Cancelled, "the preparation was stopped");
        Self { tree: None, is_untouched: false, failure }
    }
}

impl From<Fault> for Unprepared {
    fn from(fault: Fault) -> Self {
        Self { tree: None, is_untouched: false, failure: failure(fault) }
    }
}

/// Prepares a turn.
pub(super) async fn run(shared: Arc<Shared>, mut plan: Plan, abort: CancellationToken) -> Result<Prepared, Unprepared> {
    let is_untouched = plan.record.body.is_untouched;
    let early = |failure| Unprepared { tree: None, is_untouched, failure };
    let early_fault = |fault| early(failure(fault));
    tokio::select! {
        () = abort.cancelled() => {}
        () = shared.idle_agents.make_room() => {}
    }
    let repo = open_repo(&plan.record).await.map_err(early_fault)?;
    let settings = Arc::new(shared.settings.session(&plan.record, &repo).await.map_err(early_fault)?);
    let mut role = role(&shared, &plan, &settings, Vec::new()).await.map_err(early)?;
    // Who is to work is looked at meanwhile: the first look at a program takes a moment.
    let (tree, usable) =
        tokio::join!(worktree(&shared, &plan.record, &repo, &abort), usable(&shared, &plan, &settings));
    let tree = match tree {
        Ok(tree) => tree,
        Err(fault) if abort.is_cancelled() => {
            let message = format!("the worktree is not made: {}", failure(fault).message);
            note(&shared, &plan.record, Payload::Warning { message }).await?;
            return Err(Unprepared { is_untouched, ..Unprepared::aborted() });
        }
        Err(fault) => return Err(early_fault(fault)),
    };
    let tree = match plan.record.body.tree {
        Tree::Ready => tree,
        Tree::Absent | Tree::Away | Tree::Creating | Tree::Unprepared => {
            let furnished = tokio::select! {
                () = abort.cancelled() => Err(Unprepared::aborted().failure),
                furnished = furnish(&shared, &mut plan.record, &tree, &settings, plan.setup) => furnished,
            };
            // Looked at afterwards: a setup command that was stopped or failed may have written into the worktree.
            let is_untouched = plan.record.body.is_untouched;
            furnished.map_err(|failure| Unprepared { tree: Some(Tree::Unprepared), is_untouched, failure })?;
            tree
        }
    };
    let unprepared = |failure| Unprepared { tree: Some(Tree::Ready), is_untouched: false, failure };
    usable.map_err(unprepared)?;
    let (servers, warnings) = Servers::of(&shared, &plan.record, &repo, &settings).await;
    for message in warnings {
        note(&shared, &plan.record, Payload::Warning { message }).await?;
    }
    if let Some(servers) = &servers {
        role = self::role(&shared, &plan, &settings, servers.tools()).await.map_err(unprepared)?;
    }
    let judge = judge(&shared, &plan.record, repo, &settings).await?;
    tokio::select! {
        () = abort.cancelled() => Err(Unprepared { tree: Some(Tree::Ready), ..Unprepared::aborted() }),
        prepared = converse(&shared, plan, role, &settings, &tree, Company { judge, servers }) => prepared.map_err(unprepared),
    }
}

/// Who decides about the calls of the turn.
pub(super) async fn judge(
    shared: &Arc<Shared>,
    record: &Record,
    repo: Repo,
    settings: &Arc<Settings>,
) -> Result<Box<Judge>, Fault> {
    let (shared, record, settings) = (Arc::clone(shared), record.clone(), Arc::clone(settings));
    let judge = tokio::task::spawn_blocking(move || {
        let plan = plan_mode::is_on(&record).then(|| links::real(&plan_mode::file(&shared, &record)));
        Judge::new(&shared, &record, &repo, settings, plan)
    });
    Ok(Box::new(judge.await??))
}

/// The same for a call beside the turn's task, by the rules as they are at this moment.
pub(super) async fn judge_of(shared: &Arc<Shared>, record: &Record) -> Result<Box<Judge>, Fault> {
    let repo = open_repo(record).await?;
    let settings = Arc::new(shared.settings.session(record, &repo).await?);
    judge(shared, record, repo, &settings).await
}

/// Who works in the turn. A backend that cannot be held to the agent's tools is told once.
async fn role(
    shared: &Arc<Shared>,
    plan: &Plan,
    settings: &Settings,
    external: Vec<ExternalTool>,
) -> Result<Role, Failure> {
    let Plan { record, engine, task, .. } = plan;
    let registry = shared.settings.registry(&settings.config);
    let spec = registry.get(&engine.backend).ok_or_else(|| unconfigured(&engine.backend))?;
    let who = match task.switch.agent.clone() {
        Some((id, persona)) => AgentRecord { id, persona, ..record.body.agent.clone() },
        None => record.body.agent.clone(),
    };
    let role = role::resolve(shared, record, &who, settings, spec, external).await?;
    if let (Some(reason), SurfaceHold::Enforced) = (&role.unheld, record.body.agent.surface) {
        let message = format!("agent `{}` is not kept to its tools: {reason}", role.id);
        note(shared, record, Payload::Warning { message }).await.map_err(failure)?;
    }
    Ok(role)
}

pub(super) fn unconfigured(backend: &str) -> Failure {
    let hint = format!(
        "add `[backends.{backend}]` to config.toml again, then run `coppice resume`; or use another backend with `--model`"
    );
    Failure::new(FailureKind::Setup, format!("backend `{backend}` is not configured any more")).with_hint(hint)
}

/// The worktree of a session, wherever it stands.
pub(super) fn tree_of(record: &Record, repo: &Repo) -> Result<Worktree, Fault> {
    let path = PathBuf::from(&record.body.worktree);
    let (base, attributes) = (record.body.base.commit.parse()?, record.body.rules_commit().parse()?);
    Ok(git::worktree::open(repo, &path, &record.body.branch, base, attributes))
}

/// Makes the worktree, finishes it, brings it back or mends it, as needed. A filter or a hook of the user's that never ends
/// can be stopped while it is made.
async fn worktree(
    shared: &Arc<Shared>,
    record: &Record,
    repo: &Repo,
    abort: &CancellationToken,
) -> Result<Worktree, Fault> {
    let whole = tree_of(record, repo)?;
    if let Tree::Ready | Tree::Unprepared = record.body.tree {
        return mend_and_note(shared, record, whole).await;
    }
    // The sweeper may be saving the tree that is brought back.
    let (tree_lock, repository_lock) = (shared.tree_lock(record.id), shared.repository(&record.project));
    let (_tree, repository) = tokio::select! {
        held = async {
            let tree = shared.runs.give_up_until(GivenUp::OfSession(record.id), tree_lock.lock()).await;
            (tree, repository_lock.lock_owned().await)
        } => held,
        () = abort.cancelled() => return Err(GitError::Stopped { verb: "worktree add" }.into()),
    };
    let root = shared.worktrees(&record.project);
    let (stop, signal) = stop_signal().map_err(|source| GitError::Spawn { verb: "worktree add", source })?;
    let (id, live, repo) = (record.id, shared.live.clone(), repo.stopped_by(signal));
    let tree = tree_of(record, &repo)?;
    let slug = record.body.branch.rsplit('/').next().unwrap_or("session").to_owned();
    let (place, away) = (record.body.tree, whole.clone());
    let mut making = tokio::task::spawn_blocking(move || {
        let mut registering = Registering(Some(repository));
        let mut progress = |Progress { phase, done, total }: Progress| {
            registering.follow(phase);
            live.show(Live::Progress {
                session: id.to_string(),
                step: "worktree".to_owned(),
                done: done as u64,
                total: total as u64,
            });
        };
        if place == Tree::Away {
            git::removal::restore(&away, &root, &mut progress)?;
            return Ok("restored");
        }
        match git::worktree::finish_interrupted(&tree, &mut progress) {
            Ok(()) => return Ok("finished"),
            Err(GitError::BranchMissing { .. }) => {}
            Err(error) => return Err(error),
        }
        let new = New { root: &root, id, slug: &slug, base: tree.base, attributes: tree.attributes };
        let created = git::worktree::create(&repo, new, &mut progress)?;
        Ok::<_, GitError>(match created.method {
            Method::Spare => "spare",
            Method::Populated => "populated",
            Method::Checkout => "checkout",
        })
    });
    let made = tokio::select! {
        biased;
        made = &mut making => made,
        () = abort.cancelled() => {
            drop(stop);
            making.await
        }
    };
    let how = made??;
    note(shared, record, Payload::Preparing { step: "worktree".to_owned(), how: Some(how.to_owned()) }).await?;
    Ok(whole)
}

/// The lock of a repository while a worktree is registered in it. Filters and hooks of the user decide how long the files
/// take, so nobody else waits for these.
pub(super) struct Registering(pub(super) Option<OwnedMutexGuard<()>>);

impl Registering {
    /// Lets the others go on once the worktree is registered.
    pub(super) fn follow(&mut self, phase: Phase) {
        match phase {
            Phase::Registering => {}
            Phase::Planning | Phase::Copying | Phase::CheckingOut => self.0 = None,
        }
    }
}

/// Brings back what somebody removed of the worktree by hand, and stores what that was.
pub(super) async fn mend_and_note(shared: &Shared, record: &Record, tree: Worktree) -> Result<Worktree, Fault> {
    let warnings = mend(record, &tree).await?;
    for message in warnings {
        note(shared, record, Payload::Warning { message }).await?;
    }
    Ok(tree)
}

/// Looks whether somebody removed part of the worktree by hand, and brings it back; what to say about it.
pub(super) async fn mend(record: &Record, tree: &Worktree) -> Result<Vec<String>, Fault> {
    let (session, mended_tree) = (record.id, tree.clone());
    let (mended, mut warnings) = in_quiet_tree(&tree.path, move || {
        let mended = mended_tree.repair()?.mended;
        let is_new = mended.contains(&Health::TreeMissing);
        let warnings = if is_new { git::submodule::fill_or_warn(&mended_tree, session) } else { Vec::new() };
        Ok((mended, warnings))
    })
    .await?;
    if mended.contains(&Health::TreeMissing) {
        // What was started in the old directory cannot reach the new one.
        quiesce::end_processes(&tree.path).await?;
    }
    for health in mended {
        let message = match health {
            Health::Sound => continue,
            Health::TreeMissing => "the worktree was gone and is back as it was at the last checkpoint",
            Health::AdminMissing => "git had forgotten the worktree; it is registered again",
            Health::GitFileChanged => "the worktree's `.git` file had been changed; it is as it was",
            Health::BranchMissing => "the session's branch was gone and is back at the last checkpoint",
        };
        warnings.push(message.to_owned());
    }
    Ok(warnings)
}

/// Puts a work tree back that a daemon was filling with a child's files when it ended: all of them or none.
pub(super) async fn undo_integration(shared: &Shared, record: &Record) -> Result<(), Fault> {
    if !integrate::is_pending(Path::new(&record.body.worktree)) {
        return Ok(());
    }
    let repo = open_repo(record).await?;
    let tree = tree_of(record, &repo)?;
    let lock = shared.tree_lock(record.id);
    let _held = lock.lock().await;
    let undone = in_quiet_tree(&tree.path.clone(), move || integrate::recover(&tree)).await?;
    let message = match undone {
        Recovered::Nothing => return Ok(()),
        Recovered::Undone { saved } if saved.is_empty() => {
            "the daemon ended while it brought files into the work tree; the work tree is as it was before".to_owned()
        }
        Recovered::Undone { saved } => {
            let saved: Vec<_> = saved.iter().map(ToString::to_string).collect();
            format!(
                "the daemon ended while it brought files into the work tree; the work tree is as it was before, and what \
                 was written since is kept in {}",
                saved.join(", ")
            )
        }
    };
    note(shared, record, Payload::Warning { message }).await
}

/// What the session's processes see, whatever they are: the client's environment, or the daemon's own after a restart.
pub(super) fn environment(shared: &Shared, record: &Record) -> Environment {
    let mut env = captured_environment(shared, record);
    env.retain(|name, _| is_listed(name));
    env
}

/// The same with the variables that the configuration of one agent names: only that agent may see them.
pub(super) fn captured_environment(shared: &Shared, record: &Record) -> Environment {
    shared.environment(record.id).unwrap_or_else(|| shared.own_environment.clone())
}

async fn note(shared: &Shared, record: &Record, payload: Payload) -> Result<(), Fault> {
    Ok(shared.note(record.id, &[payload]).await?)
}

/// A fault as the reason of a failed turn.
pub(super) fn failure(fault: Fault) -> Failure {
    let kind = match &fault {
        Fault::Git(_) => FailureKind::Git,
        Fault::Store(_) => FailureKind::Store,
        _ => FailureKind::Setup,
    };
    let error = crate::api::error::Error::from(fault);
    let failure = Failure::new(kind, [&[error.message][..], &error.causes].concat().join(": "));
    match error.hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// A program that is not there, as the reason of a failed turn.
pub(super) fn not_found(spec: &Spec, error: &ResolveError) -> Failure {
    let hint = match &spec.install {
        Some(install) => format!("run `{install}`, then `coppice resume`"),
        None => format!(
            "install it, or correct `command` below `[backends.{}]` in config.toml; then run `coppice resume`",
            spec.name
        ),
    };
    Failure::new(FailureKind::Setup, error.to_string()).with_hint(hint)
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
