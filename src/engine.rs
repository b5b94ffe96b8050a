//! The engine: one task per session that has something going on, and the facade that the server calls.
//!
//! The only room that sees all adapters. It performs what the state machine asks for, and it writes down what must
//! survive before anything outside can see it. Reads come from the store, so that they never wait for a session.

mod actor;
mod agents;
mod attach;
mod backend_check;
mod backends;
mod blocks;
mod catalog;
mod choice;
mod clock;
mod commit_retry;
mod confine;
mod crash;
mod create;
mod delegate;
mod doctor;
mod events;
mod explain;
mod external;
mod family;
mod fault;
mod files;
mod handoff;
mod hooks;
mod idle_agents;
mod image;
mod import;
mod judge;
mod links;
mod listed_model;
mod live;
mod mark;
mod naming;
mod offline;
mod output_quota;
mod place;
mod plan_mode;
mod plans;
mod posture;
mod prepare;
mod prepared_review;
mod project;
mod publish;
mod query;
mod queue;
mod rebuild;
mod record;
mod recover;
mod relink;
mod resolution;
mod retention;
mod review;
mod rules;
mod settings;
mod shared;
mod shown_work;
mod slots;
mod spawn;
mod standing;
mod stoppable;
mod sweeper;
mod timing;
mod trusted_branch;
mod utility;
mod verify;
mod view;
mod work;
mod workflow;
mod worktrees;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{oneshot, watch};

use crate::api::error::Error;
use crate::api::event::PromptAuthor;
use crate::api::request::{Answer, CreateSession, Decide, Merge, Resume, SendPrompt, SetPosture, Undo};
use crate::api::session::{Session, Status};
use crate::id::{self, SessionId};
use crate::sandbox::quiesce;
use crate::sandbox::support::Support;
use crate::store::{Removed, Store, StoreError};

use actor::{Command, Draft, Message};
pub use attach::{Asker, Output};
pub use events::Feed;
use fault::Fault;
pub use live::{Marked, Watch};
pub use offline::{back_up_store, diagnose_offline, rebuild_store, verify_store};
use prepare::SetupChoice;
use settings::SettingsReader;
use shared::{Parts, Shared};
use slots::Slots;
use stoppable::GivenUp;

/// The store's file in the data directory.
const DATABASE: &str = "coppice.db";

/// Where a daemon works, and with what.
#[derive(Debug, Clone)]
pub struct Options {
    /// The store, the worktrees, the state of backends.
    pub data: PathBuf,
    /// The user's configuration file.
    pub config: PathBuf,
    /// Our own program, for supervisors and the demo agent.
    pub executable: PathBuf,
    /// What backends see when no client gave them an environment.
    pub environment: BTreeMap<String, String>,
    /// The daemon's whole environment, of which the configuration may pass variables on.
    pub passable_environment: BTreeMap<String, String>,
    /// How processes can be confined here.
    pub support: Support,
}

impl Options {
    /// Confines every run of git in a session's worktree that this process starts from here on, and marks all that it starts.
    pub fn prepare_process(&self) {
        mark::mark_all(&self.data);
        confine::confine_git(self);
    }
}

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("failed to create the data directory `{}`", path.display())]
    Directory { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("failed to recover the sessions: {0}")]
    Recover(Error),
}

/// A handle on the engine; cheap to clone.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

impl Engine {
    /// Opens the store, settles what the last daemon left behind, and is ready for requests.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let data = options.data.clone();
        std::fs::create_dir_all(&data).map_err(|source| StartError::Directory { path: data.clone(), source })?;
        let store = Store::open_beside(&data.join(DATABASE), worktrees::find_all(&data).len())?;
        let shared = assemble(options, store);
        if let Err(error) = quiesce::adopt_orphans() {
            tracing::warn!(%error, "processes that lose their supervisor cannot be found");
        }
        // Nothing of the last daemon's may still write where this one works.
        mark::end_all(&shared.data).await;
        quiesce::wait_for_orphaned_supervisors().await;
        let cut_off = recover::all(&shared).await.map_err(|fault| StartError::Recover(fault.into()))?;
        sweeper::complete_all(&shared).await.map_err(|fault| StartError::Recover(fault.into()))?;
        utility::clear(&shared.data);
        sweeper::start(&shared);
        recover::count_files(&shared, cut_off).await;
        commit_retry::schedule_all(&shared).await;
        Ok(Self { shared })
    }

    /// Creates a session and, unless it is a draft, begins its first turn.
    pub async fn create(&self, request: CreateSession) -> Result<Session, Error> {
        self.refuse_while_draining()?;
        Ok(create::create(&self.shared, request).await?)
    }

    /// Who would work on a session, or why it cannot be created; nothing is.
    pub async fn check(&self, request: CreateSession) -> Result<crate::api::event::Engine, Error> {
        self.refuse_while_draining()?;
        Ok(create::check(&self.shared, request).await?.engine())
    }

    pub async fn send(&self, id: &str, request: SendPrompt) -> Result<Session, Error> {
        self.refuse_while_draining()?;
        let SendPrompt { text, images, model, reasoning, agent, posture, yolo, with, when, env } = request;
        let images = image::read(images)?;
        let id = self.find(id).await?;
        let posture = posture::parse(posture.as_deref())?;
        let wishes = create::Wishes { model, reasoning, agent };
        let switch = create::switch(&self.shared, id, wishes, env.as_ref()).await?;
        if let Some(env) = env {
            self.shared.set_environment(id, env);
        }
        let context = self.results(&with).await?;
        if posture.is_some() || yolo.is_some() {
            self.tell(id, Command::SetPosture { posture, yolo }).await?;
        }
        let draft = Box::new(Draft { text, images, switch, context, author: PromptAuthor::Person });
        self.tell(id, Command::Send { draft, when }).await
    }

    pub async fn answer(&self, id: &str, request: Answer) -> Result<Session, Error> {
        self.refuse_while_draining()?;
        let id = self.find(id).await?;
        // A child's question can be answered at its parent.
        for (asker, answers) in self.answerers(id, request.answers).await? {
            self.tell(asker, Command::Answer { answers }).await?;
        }
        self.session(id.as_str()).await
    }

    pub async fn decide(&self, id: &str, request: &str, decide: Decide) -> Result<Session, Error> {
        let id = self.find(id).await?;
        // A child's approval can be decided at its parent.
        let (asker, request) = self.decider(id, request).await?;
        self.tell(asker, Command::Decide { request, decide }).await?;
        self.session(id.as_str()).await
    }

    /// Changes what a session may do by itself, in the middle of a turn too. Its children follow.
    pub async fn set_posture(&self, id: &str, request: SetPosture) -> Result<Session, Error> {
        let posture = posture::parse(request.posture.as_deref())?;
        self.tell(self.find(id).await?, Command::SetPosture { posture, yolo: request.yolo }).await
    }

    /// Ends the turn in progress, or what a person works with.
    pub async fn stop(&self, id: &str) -> Result<Session, Error> {
        self.tell(self.find(id).await?, Command::Stop).await
    }

    pub async fn resume(&self, id: &str, request: Resume) -> Result<Session, Error> {
        self.refuse_while_draining()?;
        let id = self.find(id).await?;
        if let Some(env) = request.env {
            self.shared.set_environment(id, env);
        }
        // Children go on with a parent that was cut short, not with one that refuses to be resumed.
        if matches!(self.session(id.as_str()).await?.status, Status::Interrupted | Status::Failed) {
            delegate::resume_children(&self.shared, id).await.map_err(Error::from)?;
        }
        let setup = if request.skip_setup { SetupChoice::Skip } else { SetupChoice::Run };
        self.tell(id, Command::Resume(setup)).await
    }

    pub async fn undo(&self, id: &str, request: Undo) -> Result<Session, Error> {
        self.tell(self.find(id).await?, if request.redo { Command::Redo } else { Command::Undo(request) }).await
    }

    pub async fn merge(&self, id: &str, request: Merge) -> Result<Session, Error> {
        self.tell(self.find(id).await?, Command::Merge(request)).await
    }

    pub async fn rebase(&self, id: &str) -> Result<Session, Error> {
        self.tell(self.find(id).await?, Command::Rebase).await
    }

    pub async fn archive(&self, id: &str) -> Result<Session, Error> {
        self.tell(self.find(id).await?, Command::Archive).await
    }

    pub async fn remove(&self, id: &str) -> Result<Session, Error> {
        self.tell(self.find(id).await?, Command::Remove).await
    }

    pub async fn restore(&self, id: &str) -> Result<Session, Error> {
        self.tell(self.find(id).await?, Command::Restore).await
    }

    /// Brings a child's files into its parent's work tree. While the parent works, only the parent's own call may.
    pub async fn integrate(&self, id: &str) -> Result<Session, Error> {
        let id = self.find(id).await?;
        delegate::refuse_while_parent_works(&self.shared, id).await?;
        self.tell(id, Command::Integrate).await
    }

    /// The results of handoffs, to go with a prompt.
    async fn results(&self, handoffs: &[String]) -> Result<Option<String>, Fault> {
        let mut told = Vec::new();
        for id in handoffs {
            let found = handoff::find(&self.shared, id).await?;
            told.push(delegate::told(&found.ok_or_else(|| Fault::NoHandoff { id: id.clone() })?));
        }
        Ok((!told.is_empty()).then(|| told.join("\n\n")))
    }

    /// What is going on, and every change of it: the turns that hold a slot, and the sessions that are active.
    pub fn busy(&self) -> (watch::Receiver<usize>, watch::Receiver<usize>) {
        (self.shared.slots.held(), self.shared.active.subscribe())
    }

    /// Begins no further turn.
    pub fn drain(&self) {
        self.shared.slots.drain();
    }

    /// Stops every turn, stores the outcome and closes the store. Nothing works afterwards.
    pub async fn shut_down(&self) {
        self.drain();
        self.shared.runs.give_up_until(GivenUp::All, self.end_sessions()).await;
        if let Err(fault) = sweeper::retire_unused_spares(&self.shared).await {
            tracing::warn!(%fault, "a spare worktree stays");
        }
        quiesce::end_adopted().await;
        self.shared.store.close().await;
    }

    /// Ends whatever did not end with [`Engine::shut_down`].
    pub async fn end_leftovers(&self) {
        mark::end_all(&self.shared.data).await;
    }

    /// Stops every turn and waits until no task is left.
    async fn end_sessions(&self) {
        let sessions: Vec<_> = self.shared.actors().keys().copied().collect();
        let mut ends = Vec::new();
        for id in sessions {
            let (done, ended) = oneshot::channel();
            actor::deliver(&self.shared, id, Message::Shutdown(done));
            ends.push(ended);
        }
        for ended in ends {
            // An error means that the task is gone, which is what is wanted.
            ended.await.ok();
        }
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// A prompt that cannot begin is not taken: it would wait for a person after the restart.
    fn refuse_while_draining(&self) -> Result<(), Fault> {
        if self.shared.slots.is_draining() { Err(Fault::Draining) } else { Ok(()) }
    }

    async fn tell(&self, id: SessionId, command: Command) -> Result<Session, Error> {
        let answer = actor::ask(&self.shared, id, command).await;
        let session = answer.unwrap_or_else(|_| Err(Fault::Draining.into()))?;
        Ok(self.in_family(session).await?)
    }

    /// The session that a whole id or a unique prefix names, removed ones included.
    async fn find(&self, prefix: &str) -> Result<SessionId, Error> {
        Ok(find(&self.shared, prefix).await?)
    }
}

/// Puts together what the sessions share; nothing is started yet.
fn assemble(options: Options, store: Store) -> Arc<Shared> {
    let Options { data, config, executable, environment, passable_environment, support } = options;
    let settings = SettingsReader {
        user_file: config,
        data: data.clone(),
        // A backend is started by its path, which means nothing once the file was replaced; supervisors are not.
        executable: std::env::current_exe().unwrap_or_else(|_| executable.clone()),
        home: environment.get("HOME").cloned().unwrap_or_default(),
        store: store.clone(),
        writing: std::sync::Mutex::default(),
    };
    // A broken file is told to whoever asks for something; the daemon itself must run to be asked.
    let slots = Slots::new(settings.user().map_or(4, |config| settings::parallel_turns(&config)));
    let spawner = Arc::new(spawn::Supervised {
        executable: executable.clone(),
        hold: crate::permission::Hold::Advisory,
        cage: None,
        worktree: None,
        kept: spawn::Kept::default(),
    });
    Shared::new(Parts { store, slots, data, executable, environment, passable_environment, support, settings, spawner })
}

async fn find(shared: &Shared, prefix: &str) -> Result<SessionId, Fault> {
    if let Ok(id) = prefix.parse::<SessionId>()
        && shared.store.session(id).await?.is_some()
    {
        return Ok(id);
    }
    let there = shared.store.sessions(Removed::Without).await?;
    let there = id::match_prefix(prefix, there.iter().map(|row| row.id));
    match there {
        Err(id::PrefixError::NotFound { .. }) => {
            let removed = shared.store.sessions(Removed::Only).await?;
            Ok(id::match_prefix(prefix, removed.iter().map(|row| row.id))?)
        }
        found => Ok(found?),
    }
}
