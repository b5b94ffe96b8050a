//! What all sessions of one daemon share: the store, the slots, the live records, and the doors to the outside.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::event::Payload;
use crate::api::request::Environment;
use crate::backend::Backends;
use crate::backend::transport::spawn::Spawner;
use crate::config::project_env::{ProjectEnv, RegistryTokens, is_passed};
use crate::git::program::{absolute_entries, keep_absolute_entries};
use crate::id::SessionId;
use crate::sandbox::support::Support;
use crate::store::{Change, Durability, NewEvent, SessionRow, Store, StoreError, TurnRow, Write};

use super::actor::Message;
use super::agents::AgentReader;
use super::attach::Terminals;
use super::catalog::Catalog;
use super::clock;
use super::commit_retry::CommitRetries;
use super::confine::{ProjectVariables, cargo_tokens};
use super::external;
use super::handoff::Waiters;
use super::idle_agents::IdleAgents;
use super::live::Lively;
use super::publish::Logins;
use super::settings::SettingsReader;
use super::slots::Slots;
use super::stoppable::StoppableRuns;
use super::sweeper::Sweeper;
use super::utility;
use super::work::Languages;

/// One daemon's common ground; handed around as an `Arc`.
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) slots: Slots,
    /// Agents without a turn.
    pub(super) idle_agents: IdleAgents,
    pub(super) live: Lively,
    /// Where worktrees, trash and the state of backends live.
    pub(super) data: PathBuf,
    pub(super) executable: PathBuf,
    pub(super) settings: SettingsReader,
    pub(super) spawner: Arc<dyn Spawner>,
    pub(super) backends: Backends,
    /// Who works by hand in which session.
    pub(super) terminals: Terminals,
    /// External servers of sessions.
    pub(super) servers: external::Known,
    /// Language servers of work trees.
    pub(super) languages: Languages,
    /// What the kernel gives.
    pub(super) support: Support,
    /// The lane of the questions on the side, which take no slot of a turn.
    pub(super) asides: Semaphore,
    pub(super) catalog: Catalog,
    pub(super) agents: AgentReader,
    /// The backends that a person had checked since the daemon started, and that opened a session then.
    pub(super) checked_backends: Mutex<HashSet<String>>,
    /// What backends see when no client gave them an environment.
    pub(super) own_environment: Environment,
    /// The daemon's whole environment. Only what `env.pass` names leaves it.
    passable_environment: Environment,
    /// Who asks GitHub.
    pub(super) logins: Logins,
    pub(super) sweeper: Sweeper,
    pub(super) commit_retries: CommitRetries,
    /// Runs of git that can be given up.
    pub(super) runs: StoppableRuns,
    /// Those who wait for a child.
    pub(super) handoffs: Waiters,
    /// Held while a review that nobody asked for is looked for and started: two turns that end do not both start one.
    pub(super) reviews: tokio::sync::Mutex<()>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
    /// How many sessions and background jobs have something going on; the daemon ends only when it is none.
    pub(super) active: watch::Sender<usize>,
    actors: Mutex<HashMap<SessionId, mpsc::Sender<Message>>>,
    /// The sessions as they are, where the store has not taken that yet.
    unsaved: Mutex<HashMap<SessionId, UnsavedRows>>,
    environments: Mutex<HashMap<SessionId, Environment>>,
    repositories: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    families: Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>,
    trees: Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>,
    reviewed: Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>,
}

/// What the store has not taken of a session yet.
struct UnsavedRows {
    session: SessionRow,
    turns: BTreeMap<u32, TurnRow>,
}

/// The parts that [`Shared`] is made of.
pub(super) struct Parts {
    pub(super) store: Store,
    pub(super) slots: Slots,
    pub(super) data: PathBuf,
    pub(super) executable: PathBuf,
    pub(super) environment: Environment,
    pub(super) passable_environment: Environment,
    pub(super) support: Support,
    pub(super) settings: SettingsReader,
    pub(super) spawner: Arc<dyn Spawner>,
}

impl Shared {
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        let Parts { store, slots, data, executable, mut environment, passable_environment, support, settings, spawner } =
            parts;
        let logins = Logins::new(&mut environment);
        drop_relative_search_paths(&mut environment);
        let live = Lively::new(store.committed());
        let own = settings.user_file.parent().unwrap_or(&settings.user_file);
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        Arc::new(Self {
            store,
            slots,
            idle_agents: IdleAgents::default(),
            live,
            data,
            executable,
            agents: AgentReader::new(own, &environment),
            settings,
            checked_backends: Mutex::default(),
            catalog: Catalog::new(spawner.clone()),
            spawner,
            backends: Backends::default(),
            terminals: Terminals::default(),
            servers: external::Known::default(),
            languages: Languages::new(&tasks, &stop),
            support,
            asides: Semaphore::new(utility::LANE),
            own_environment: environment,
            passable_environment,
            logins,
            sweeper: Sweeper::default(),
            commit_retries: CommitRetries::default(),
            runs: StoppableRuns::default(),
            handoffs: Waiters::default(),
            reviews: tokio::sync::Mutex::default(),
            tasks,
            stop,
            active: watch::Sender::new(0),
            actors: Mutex::default(),
            unsaved: Mutex::default(),
            environments: Mutex::default(),
            repositories: Mutex::default(),
            families: Mutex::default(),
            trees: Mutex::default(),
            reviewed: Mutex::default(),
        })
    }

    /// Where the worktrees of a project live.
    pub(super) fn worktrees(&self, project: &str) -> PathBuf {
        self.data.join("worktrees").join(project)
    }

    /// Where everything of one session lives that is neither in the store nor in its tree.
    pub(super) fn session_dir(&self, session: SessionId) -> PathBuf {
        self.data.join("sessions").join(session.as_str())
    }

    /// Where one session's backend keeps its own state; each backend has its own.
    pub(super) fn state_dir(&self, session: SessionId, backend: &str) -> PathBuf {
        self.session_dir(session).join("state").join(backend)
    }

    /// Where the images of a session's prompts are.
    pub(super) fn images_dir(&self, session: SessionId) -> PathBuf {
        self.session_dir(session).join("images")
    }

    /// Where a backend's process stands that must not stand in a work tree.
    pub(super) fn neutral_dir(&self) -> PathBuf {
        self.data.join("neutral")
    }

    /// Where the sessions of a backend share a login.
    pub(super) fn login_dir(&self, backend: &str) -> PathBuf {
        self.data.join("login").join(backend)
    }

    /// Where a backend that is only asked what it offers keeps its state.
    pub(super) fn survey_dir(&self, backend: &str) -> PathBuf {
        self.data.join("survey").join(backend)
    }

    /// The lock under which worktrees and branches of a repository are made, moved and removed.
    pub(super) fn repository(&self, project: &str) -> Arc<tokio::sync::Mutex<()>> {
        lock(&self.repositories).entry(project.to_owned()).or_default().clone()
    }

    /// The lock under which a session's children are counted and made, and its tasks are changed.
    pub(super) fn family_lock(&self, session: SessionId) -> Arc<tokio::sync::Mutex<()>> {
        held(&self.families, session)
    }

    /// The lock under which the results of children are brought into a session's work tree, and a person takes it.
    pub(super) fn tree_lock(&self, session: SessionId) -> Arc<tokio::sync::Mutex<()>> {
        held(&self.trees, session)
    }

    /// The lock under which what a person says about a session's changes is read and written.
    pub(super) fn review_lock(&self, session: SessionId) -> Arc<tokio::sync::Mutex<()>> {
        held(&self.reviewed, session)
    }

    /// The environment captured from the client, while this daemon lives.
    pub(super) fn environment(&self, session: SessionId) -> Option<Environment> {
        lock(&self.environments).get(&session).cloned()
    }

    /// The variables of a project for a session: what the configuration sets, over what it passes of the environment.
    pub(super) fn project_variables(&self, session: SessionId, env: &ProjectEnv) -> ProjectVariables {
        let captured = self.environment(session);
        let variables = captured.as_ref().unwrap_or(&self.passable_environment);
        let passed = variables.iter().filter(|(name, _)| is_passed(&env.pass, name) && !env.set.contains_key(*name));
        let mut passed: Environment = passed.map(|(name, value)| (name.clone(), value.clone())).collect();
        match env.registry_tokens {
            RegistryTokens::Passed => passed.extend(cargo_tokens(variables)),
            RegistryTokens::Withheld => {}
        }
        ProjectVariables { passed, set: env.set.clone() }
    }

    pub(super) fn set_environment(&self, session: SessionId, mut environment: Environment) {
        // What is for the daemon alone leaves here, so that no process of the session can see it.
        self.logins.take(session, &mut environment);
        drop_relative_search_paths(&mut environment);
        lock(&self.environments).insert(session, environment);
    }

    pub(super) fn forget_environment(&self, session: SessionId) {
        lock(&self.environments).remove(&session);
        self.logins.forget(session);
    }

    /// Shows a session and its turns as they are, although the store refused that.
    pub(super) fn show_unsaved(&self, session: SessionRow, changes: &[Change]) {
        let turns = changes.iter().filter_map(|change| match change {
            Change::Turn(row) => Some((row.number, row.clone())),
            Change::Event(_)
            | Change::Project(_)
            | Change::Session(_)
            | Change::Prompt(_)
            | Change::TakePrompt { .. }
            | Change::DropPrompt { .. }
            | Change::Handoff(_)
            | Change::Workflow(_)
            | Change::Review(_)
            | Change::DeleteSession(_) => None,
        });
        let turns = turns.collect();
        lock(&self.unsaved).insert(session.id, UnsavedRows { session, turns });
    }

    /// What is stored of a session is how it is.
    pub(super) fn forget_unsaved(&self, session: SessionId) {
        lock(&self.unsaved).remove(&session);
    }

    /// A stored session as it is by now.
    pub(super) fn latest_row(&self, stored: SessionRow) -> SessionRow {
        lock(&self.unsaved).get(&stored.id).map_or(stored, |unsaved| unsaved.session.clone())
    }

    /// The turns of a session in their order, as they are by now.
    pub(super) async fn turns(&self, session: SessionId) -> Result<Vec<TurnRow>, StoreError> {
        // Taken first: rows that are stored meanwhile are the same.
        let unsaved = lock(&self.unsaved).get(&session).map(|unsaved| unsaved.turns.clone());
        let stored = self.store.turns(session).await?;
        let mut turns: BTreeMap<u32, TurnRow> = stored.into_iter().map(|row| (row.number, row)).collect();
        turns.extend(unsaved.unwrap_or_default());
        Ok(turns.into_values().collect())
    }

    /// One turn of a session, as it is by now.
    pub(super) async fn turn(&self, session: SessionId, number: u32) -> Result<Option<TurnRow>, StoreError> {
        let unsaved = lock(&self.unsaved).get(&session).and_then(|unsaved| unsaved.turns.get(&number).cloned());
        match unsaved {
            Some(row) => Ok(Some(row)),
            None => self.store.turn(session, number).await,
        }
    }

    /// The tasks of the sessions that have one.
    pub(super) fn actors(&self) -> MutexGuard<'_, HashMap<SessionId, mpsc::Sender<Message>>> {
        lock(&self.actors)
    }

    /// Counts something that goes on, until the guard is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> Going {
        self.active.send_modify(|count| *count += 1);
        Going { shared: self.clone() }
    }

    /// Stores facts that change nothing about the session itself.
    pub(super) async fn note(&self, session: SessionId, payloads: &[Payload]) -> Result<(), StoreError> {
        let changes = payloads.iter().map(|payload| event(session, payload)).collect();
        self.store.write(Write { durability: Durability::Normal, changes }).await.map(drop)
    }
}

/// Something that keeps the daemon alive while it goes on.
pub(super) struct Going {
    shared: Arc<Shared>,
}

impl Drop for Going {
    fn drop(&mut self) {
        self.shared.active.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// A payload as a change of the store, at this moment.
pub(super) fn event(session: SessionId, payload: &Payload) -> Change {
    let encoded = payload.encode();
    Change::Event(NewEvent {
        session,
        at: clock::now(),
        kind: encoded.kind,
        version: encoded.version,
        payload: encoded.text,
    })
}

/// Drops the entries of search paths that depend on the current directory, which for many programs is a worktree.
pub(super) fn drop_relative_search_paths(environment: &mut Environment) {
    if let Some(path) = environment.get_mut("PATH") {
        *path = keep_absolute_entries(OsStr::new(path)).to_string_lossy().into_owned();
    }
    if let Some(libraries) = environment.get_mut("LD_LIBRARY_PATH") {
        *libraries = absolute_entries(OsStr::new(libraries)).to_string_lossy().into_owned();
    }
    // An empty one is the current directory to some programs.
    environment.retain(|name, value| name != "LD_LIBRARY_PATH" || !value.is_empty());
}

/// The lock of one session; locks that nobody holds are forgotten on the way.
fn held(
    locks: &Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>,
    session: SessionId,
) -> Arc<tokio::sync::Mutex<()>> {
    let mut locks = lock(locks);
    locks.retain(|id, held| *id == session || Arc::strong_count(held) > 1);
    locks.entry(session).or_default().clone()
}

/// What a thread that panicked left is as good as before: nobody leaves these half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
