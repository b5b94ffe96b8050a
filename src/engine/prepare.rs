//! What must be there before a prompt can be sent: the worktree, its files, the setup command, the backend.
//!
//! It runs beside the session's task, which may abort it at any moment; what is half done is finished by the next one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::api::event::{Live, Payload};
use crate::backend::event::{Event as BackendEvent, Started};
use crate::backend::failure::{Failure, FailureKind};
use crate::backend::{self, Conversation, Launch, spec};
use crate::config::Trust;
use crate::git::include::{self, Include, IncludeFile};
use crate::git::worktree::{Health, Method, New, Progress};
use crate::git::{self, GitError, Repo, Worktree};
use crate::protocol::prompt::{self, Delivery, Note, PastTurn, Profile, Transcript, TurnEnd};
use crate::sandbox::command::{self, Limits};
use crate::sandbox::launch::Spawn;

use super::clock;
use super::fault::Fault;
use super::record::{ConversationRecord, Record, Tree, TurnBody};
use super::settings::{self, Settings};
use super::shared::Shared;

/// How long a setup command may take.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// How much of a setup command's output is kept for its error.
const SETUP_KEEP: usize = 4 * 1024;
/// How many lines of a command may wait to be stored.
const LINES_AHEAD: usize = 4096;
/// How much of the past is told to a backend that lost it, in bytes.
const REPLAY_LIMIT: usize = 64 * 1024;

/// What to prepare.
pub(super) struct Plan {
    pub(super) record: Record,
    pub(super) task: String,
    /// A conversation that is still open.
    pub(super) conversation: Option<Conversation>,
}

/// Everything a prompt needs.
pub(super) struct Prepared {
    pub(super) conversation: Conversation,
    pub(super) conversation_record: ConversationRecord,
    pub(super) exec_at: i64,
    pub(super) delivery: &'static str,
    pub(super) prompt: String,
}

/// Why it did not work, and how far the worktree is.
pub(super) struct Unprepared {
    pub(super) tree: Option<Tree>,
    pub(super) failure: Failure,
}

impl Unprepared {
    pub(super) fn aborted() -> Self {
        Self { tree: None, failure: Failure::new(FailureKind::Cancelled, "the preparation was stopped") }
    }
}

impl From<Fault> for Unprepared {
    fn from(fault: Fault) -> Self {
        Self { tree: None, failure: failure(fault) }
    }
}

/// Prepares a turn.
pub(super) async fn run(shared: Arc<Shared>, plan: Plan, abort: CancellationToken) -> Result<Prepared, Unprepared> {
    let Plan { record, task, conversation } = plan;
    let repo = open_repo(&record).await?;
    let settings = shared.settings.session(&record, &repo).await?;
    let tree = worktree(&shared, &record, &repo).await?;
    let tree = match record.body.tree {
        Tree::Ready => tree,
        Tree::Absent | Tree::Creating | Tree::Unprepared => {
            let unprepared = |failure| Unprepared { tree: Some(Tree::Unprepared), failure };
            tokio::select! {
                () = abort.cancelled() => return Err(Unprepared { tree: Some(Tree::Unprepared), ..Unprepared::aborted() }),
                done = furnish(&shared, &record, &tree, &settings) => done.map_err(unprepared)?,
            }
            tree
        }
    };
    let unprepared = |failure| Unprepared { tree: Some(Tree::Ready), failure };
    tokio::select! {
        () = abort.cancelled() => Err(Unprepared { tree: Some(Tree::Ready), ..Unprepared::aborted() }),
        prepared = converse(&shared, &record, &settings, &tree, &task, conversation) => prepared.map_err(unprepared),
    }
}

/// The repository of a session.
pub(super) async fn open_repo(record: &Record) -> Result<Repo, Fault> {
    let common_dir = PathBuf::from(&record.body.common_dir);
    Ok(tokio::task::spawn_blocking(move || Repo::discover(&common_dir)).await??)
}

/// The worktree of a session, wherever it stands.
pub(super) fn tree_of(record: &Record, repo: &Repo) -> Result<Worktree, Fault> {
    let path = PathBuf::from(&record.body.worktree);
    Ok(git::worktree::open(repo, &path, &record.body.branch, record.body.base.commit.parse()?))
}

/// Makes the worktree, finishes it, brings it back or mends it, as needed.
async fn worktree(shared: &Arc<Shared>, record: &Record, repo: &Repo) -> Result<Worktree, Fault> {
    let tree = tree_of(record, repo)?;
    if let Tree::Ready | Tree::Unprepared = record.body.tree {
        return mend(shared, record, tree).await;
    }
    let lock = shared.repository(&record.project);
    let _held = lock.lock().await;
    let root = shared.worktrees(&record.project);
    let (id, live, repo) = (record.id, shared.live.clone(), repo.clone());
    let slug = record.body.branch.rsplit('/').next().unwrap_or("session").to_owned();
    let has_past = record.body.turns > 0;
    let (tree, how) = tokio::task::spawn_blocking(move || {
        if has_past {
            git::removal::restore(&tree, &root)?;
            return Ok((tree, "restored"));
        }
        match git::worktree::finish_interrupted(&tree) {
            Ok(()) => return Ok((tree, "finished")),
            Err(GitError::BranchMissing { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut progress = |Progress { done, total, .. }: Progress| {
            live.show(Live::Progress {
                session: id.to_string(),
                step: "worktree".to_owned(),
                done: done as u64,
                total: total as u64,
            });
        };
        let new = New { root: &root, id, slug: &slug, base: tree.base };
        let created = git::worktree::create(&repo, new, &mut progress)?;
        let how = match created.method {
            Method::Spare => "spare",
            Method::Populated => "populated",
            Method::Checkout => "checkout",
        };
        Ok::<_, GitError>((created.worktree, how))
    })
    .await??;
    note(shared, record, Payload::Preparing { step: "worktree".to_owned(), how: Some(how.to_owned()) }).await?;
    Ok(tree)
}

/// Looks whether somebody removed part of the worktree by hand, and brings it back.
async fn mend(shared: &Shared, record: &Record, tree: Worktree) -> Result<Worktree, Fault> {
    let (tree, mended) = tokio::task::spawn_blocking(move || {
        let repaired = tree.repair()?;
        Ok::<_, GitError>((tree, repaired.mended))
    })
    .await??;
    for health in mended {
        let message = match health {
            Health::Sound => continue,
            Health::TreeMissing => "the worktree was gone and is back as it was at the last checkpoint",
            Health::AdminMissing => "git had forgotten the worktree; it is registered again",
            Health::GitFileChanged => "the worktree's `.git` file had been changed; it is as it was",
            Health::BranchMissing => "the session's branch was gone and is back at the last checkpoint",
        };
        note(shared, record, Payload::Warning { message: message.to_owned() }).await?;
    }
    Ok(tree)
}

/// Brings files along and runs the setup command, as far as the project is trusted with them.
async fn furnish(shared: &Shared, record: &Record, tree: &Worktree, settings: &Settings) -> Result<(), Failure> {
    let wanted = &settings.config.worktree;
    if settings.grants.is_some() && settings.trust == Trust::Untrusted {
        let message = "what the repository asks to bring along or to run is ignored: `coppice trust` shows it";
        note(shared, record, Payload::Warning { message: message.to_owned() }).await.map_err(failure)?;
    }
    if !wanted.copy.is_empty() || !wanted.link.is_empty() || settings.include.is_some() {
        let (tree, copy, link) = (tree.clone(), wanted.copy.clone(), wanted.link.clone());
        let file = match settings.include {
            Some(_) => IncludeFile::Honoured,
            None => IncludeFile::Ignored,
        };
        let placed =
            tokio::task::spawn_blocking(move || include::place(&tree, Include { copy: &copy, link: &link, file }));
        let placed = placed.await.map_err(|error| failure(error.into()))?.map_err(|error| failure(error.into()))?;
        let how = Some(format!("{} files", placed.files.len()));
        note(shared, record, Payload::Preparing { step: "files".to_owned(), how }).await.map_err(failure)?;
        for message in placed.warnings {
            note(shared, record, Payload::Warning { message }).await.map_err(failure)?;
        }
    }
    match &wanted.setup {
        Some(command) => setup(shared, record, tree, command).await,
        None => Ok(()),
    }
}

async fn setup(shared: &Shared, record: &Record, tree: &Worktree, command: &str) -> Result<(), Failure> {
    let step = Payload::Preparing { step: "setup".to_owned(), how: None };
    note(shared, record, step).await.map_err(failure)?;
    let finished = run_command(shared, record, tree, command).await?;
    match finished.is_success() {
        true => Ok(()),
        false => {
            let end = finished.describe();
            let message = format!("the setup command `{command}` failed ({end}): {}", finished.output.trim_end());
            Err(Failure::new(FailureKind::Setup, message))
        }
    }
}

/// Runs a command of the project in the worktree; its output is part of the transcript.
pub(super) async fn run_command(
    shared: &Shared,
    record: &Record,
    tree: &Worktree,
    command: &str,
) -> Result<command::Finished, Failure> {
    let mut env = environment(shared, record);
    env.insert("COPPICE_SESSION".to_owned(), record.id.to_string());
    env.insert("COPPICE_WORKTREE".to_owned(), tree.path.display().to_string());
    if let Some(checkout) = tree.repo.checkout() {
        env.insert("COPPICE_CHECKOUT".to_owned(), checkout.display().to_string());
    }
    let spawn = Spawn {
        executable: shared.executable.clone(),
        argv: ["/bin/sh", "-c", command].map(str::to_owned).to_vec(),
        env: env.into_iter().collect(),
        cwd: tree.path.clone(),
    };
    let (lines, mut spoken) = tokio::sync::mpsc::channel::<String>(LINES_AHEAD);
    let mut on_line = move |line: &str| {
        // A command that talks faster than the disk writes is heard with gaps; its last words are kept apart.
        lines.try_send(line.to_owned()).ok();
    };
    let limits = Limits { timeout: SETUP_TIMEOUT, keep: SETUP_KEEP };
    let store = async {
        while let Some(mut text) = spoken.recv().await {
            while let Ok(line) = spoken.try_recv() {
                text.push('\n');
                text.push_str(&line);
            }
            let output = Payload::SetupOutput { command: command.to_owned(), text, exit: None };
            note(shared, record, output).await?;
        }
        Ok::<_, Fault>(())
    };
    let running = async {
        let finished = command::run(spawn, limits, &mut on_line).await;
        drop(on_line);
        finished
    };
    let (finished, stored) = tokio::join!(running, store);
    stored.map_err(failure)?;
    let finished = finished.map_err(|error| Failure::new(FailureKind::Setup, chain(&error)))?;
    let exit = Some(finished.code());
    let last = Payload::SetupOutput { command: command.to_owned(), text: String::new(), exit };
    note(shared, record, last).await.map_err(failure)?;
    Ok(finished)
}

/// Opens or continues the conversation and builds the prompt that fits what it knows.
async fn converse(
    shared: &Shared,
    record: &Record,
    settings: &Settings,
    tree: &Worktree,
    task: &str,
    open: Option<Conversation>,
) -> Result<Prepared, Failure> {
    let marker = settings::hash(&prompt::preamble(Profile::SessionTurn));
    let known = record.body.conversation.as_ref().filter(|known| known.marker == marker);
    let (conversation, id, exec_at, has_context) = match (open, known) {
        (Some(open), Some(known)) => (open, known.id.clone(), clock::now(), true),
        (Some(_) | None, known) => {
            let resume = known.map(|known| known.id.clone());
            let (conversation, started) = launch(shared, record, settings, tree, resume).await?;
            let Started { conversation: id, restored, exec_at_ms, .. } = started;
            (conversation, id, exec_at_ms, restored)
        }
    };
    let transcript = match has_context {
        true => None,
        false => Some(transcript(shared, record).await.map_err(failure)?).filter(|past| !past.turns.is_empty()),
    };
    let (name, delivery) = match &transcript {
        None if has_context => ("delta_only", Delivery::DeltaOnly),
        None => ("bootstrap_full", Delivery::BootstrapFull),
        Some(transcript) => {
            ("bootstrap_with_replay", Delivery::BootstrapWithReplay { transcript, limit: REPLAY_LIMIT })
        }
    };
    let body = &record.body;
    let undone = body.undone.map(|(first, last)| Note::Undone { first, last });
    let interrupted = body.interrupted.map(|turn| Note::Interrupted { turn });
    let notes: Vec<_> = undone.into_iter().chain(interrupted).collect();
    let prompt = prompt::render(Profile::SessionTurn, delivery, &notes, task);
    let conversation_record = ConversationRecord { id, marker };
    Ok(Prepared { conversation, conversation_record, exec_at, delivery: name, prompt })
}

async fn launch(
    shared: &Shared,
    record: &Record,
    settings: &Settings,
    tree: &Worktree,
    resume: Option<String>,
) -> Result<(Conversation, Started), Failure> {
    let registry = shared.settings.registry(&settings.config);
    let spec = registry.get(&record.body.backend).cloned().ok_or_else(|| {
        let message = format!("backend `{}` is not configured any more", record.body.backend);
        Failure::new(FailureKind::Setup, message)
    })?;
    let env = environment(shared, record);
    let path = env.get("PATH").map(std::ffi::OsString::from);
    let program = spec::resolve(&spec, path.as_deref(), &tree.path)
        .map_err(|error| Failure::new(FailureKind::Setup, error.to_string()))?;
    let state_dir = shared.state_dir(record.id);
    std::fs::create_dir_all(&state_dir)
        .map_err(|source| failure(Fault::File { act: "create", path: state_dir.clone(), source }))?;
    let mut argv = spec.command.clone();
    if let Some(first) = argv.first_mut() {
        *first = program.to_string_lossy().into_owned();
    }
    let mut conversation = backend::start(Launch {
        spec,
        argv,
        cwd: tree.path.clone(),
        env: env.into_iter().collect(),
        resume,
        model: record.body.model.clone(),
        mode: None,
        state_dir,
        spawn: shared.spawner.clone(),
    });
    loop {
        match conversation.events.recv().await {
            Some(BackendEvent::Started(started)) => return Ok((conversation, started)),
            Some(BackendEvent::Failed(failure)) => return Err(failure),
            Some(BackendEvent::Exited { stderr_tail, .. }) => {
                let message = format!("the backend ended before it was ready: {}", stderr_tail.trim_end());
                return Err(Failure::new(FailureKind::Crashed, message));
            }
            // Nothing else means anything before the start.
            Some(_) => {}
            None => return Err(Failure::new(FailureKind::Crashed, "the backend ended before it was ready")),
        }
    }
}

/// What the session's processes see: the client's environment, or the daemon's own after a restart.
fn environment(shared: &Shared, record: &Record) -> BTreeMap<String, String> {
    shared.environment(record.id).unwrap_or_else(|| shared.own_environment.clone())
}

/// The past of a session for a backend that lost it.
async fn transcript(shared: &Shared, record: &Record) -> Result<Transcript, Fault> {
    let rows = shared.store.turns(record.id).await?;
    let turns: Result<Vec<_>, Fault> = rows
        .iter()
        .map(|row| {
            let TurnBody { state, prompt, response, undone, .. } = TurnBody::read(row)?;
            let end = match state {
                _ if undone => TurnEnd::Undone,
                crate::api::session::TurnState::Completed => TurnEnd::Completed,
                crate::api::session::TurnState::Failed => TurnEnd::Failed,
                crate::api::session::TurnState::Interrupted | crate::api::session::TurnState::Running => {
                    TurnEnd::Interrupted
                }
            };
            let answer = response.map(|response| response.answer).unwrap_or_default();
            Ok(PastTurn { number: row.number, prompt, answer, end })
        })
        .collect();
    let summary = record.body.summary.as_ref().map(|summary| summary.session.clone());
    Ok(Transcript { summary, turns: turns? })
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

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
