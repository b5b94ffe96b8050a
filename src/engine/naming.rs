//! Names that a small model is asked for, behind the work: the title of a session, the message of a checkpoint.
//!
//! Both have their name before anybody is asked. What comes back goes through the session's own task, which takes it if
//! it still fits; whatever goes wrong on the way leaves the name as it is.

use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::debug;

use crate::api;
use crate::backend::failure::Failure;
use crate::git::diff::{self, Target};
use crate::git::{Oid, history};
use crate::id::SessionId;
use crate::protocol::naming;
use crate::protocol::prompt::{self, Work};

use super::actor::{self, Command, Message, blocking};
use super::fault::Fault;
use super::prepare;
use super::record::Record;
use super::shared::Shared;
use super::utility::{self, QuestionTerms, Utility};

/// A change of more lines is told by its table of files alone.
const PATCH_LINES: u64 = 5_000;

/// Upper bound of the patch text in a question, however long its lines are.
const PATCH_BYTES: usize = 1 << 20;

/// The checkpoint that wants a message.
pub(super) struct Unworded {
    pub(super) turn: u32,
    pub(super) commit: String,
    /// What the agent said about it.
    pub(super) summary: String,
}

/// Why a name stays as it is.
#[derive(Debug, thiserror::Error)]
enum Unnamed {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error(transparent)]
    Failure(#[from] Failure),
    #[error("what the model said does not fit")]
    Unfit,
    #[error("backend `{name}` is not configured any more")]
    NoBackend { name: String },
    #[error("the session did not take it: {0}")]
    Refused(api::error::Error),
    #[error("the session's task is gone")]
    Gone,
}

/// Asks for the title of a session that begins with this prompt.
pub(super) fn ask_title(shared: &Arc<Shared>, record: &Record, text: &str) {
    let (aside, task) = (Aside::new(shared, record), prompt::title(text));
    begin(shared, record.id, async move {
        let to = naming::title_told(&aside.ask(task).await?).ok_or(Unnamed::Unfit)?;
        aside.tell(Command::Retitle { from: aside.record.body.title.clone(), to }).await
    });
}

/// Asks for the message of a checkpoint that was just made.
pub(super) fn ask_message(shared: &Arc<Shared>, record: &Record, unworded: Unworded) {
    let aside = Aside::new(shared, record);
    begin(shared, record.id, async move {
        let task = describe(&aside.record, &unworded).await?;
        let message = naming::message_told(&aside.ask(task).await?).ok_or(Unnamed::Unfit)?;
        let Unworded { turn, commit, .. } = unworded;
        aside.tell(Command::Reword { turn, commit, message }).await
    });
}

/// Works behind everything else. A daemon that is about to end asks nobody.
fn begin(shared: &Arc<Shared>, id: SessionId, work: impl Future<Output = Result<(), Unnamed>> + Send + 'static) {
    if shared.slots.is_draining() {
        return;
    }
    let going = shared.busy();
    shared.tasks.spawn(async move {
        if let Err(error) = work.await {
            debug!(session = %id, %error, "the name stays as it is");
        }
        drop(going);
    });
}

/// A question about one session, as it was when somebody thought of it.
struct Aside {
    shared: Arc<Shared>,
    record: Record,
}

impl Aside {
    fn new(shared: &Arc<Shared>, record: &Record) -> Self {
        Self { shared: shared.clone(), record: record.clone() }
    }

    /// Asks the small model of the session's backend; the one of the session where the backend has no small one.
    async fn ask(&self, task: String) -> Result<String, Unnamed> {
        let Self { shared, record } = self;
        let repo = prepare::open_repo(record).await?;
        let config = shared.settings.session(record, &repo).await?.config;
        let registry = shared.settings.registry(&config);
        let name = &record.body.backend;
        let spec = registry.get(name).cloned().ok_or_else(|| Unnamed::NoBackend { name: name.clone() })?;
        let model = spec.models.small.clone().or_else(|| record.body.model.clone());
        let env = prepare::captured_environment(shared, record);
        let reasoning = model.as_deref().and_then(|model| utility::least_reasoning(&spec, model));
        let terms = QuestionTerms::new(task, config.repair);
        let stop = shared.stop.clone();
        let question = Utility { spec, config, model, reasoning, env, terms, stop };
        Ok(utility::ask(shared, question).await?.answer)
    }

    async fn tell(&self, command: Command) -> Result<(), Unnamed> {
        let (reply, answer) = oneshot::channel();
        actor::deliver(&self.shared, self.record.id, Message::Command(command, reply));
        match answer.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Unnamed::Refused(error)),
            Err(_) => Err(Unnamed::Gone),
        }
    }
}

/// The task that tells a model what a checkpoint changed.
async fn describe(record: &Record, unworded: &Unworded) -> Result<String, Unnamed> {
    let repo = prepare::open_repo(record).await?;
    let tree = prepare::tree_of(record, &repo)?;
    let commit: Oid = unworded.commit.parse().map_err(Fault::from)?;
    let (stat, patch) = blocking(move || {
        let line = history::line(&tree.repo, &tree.base, &commit)?;
        let before = line.iter().rev().nth(1).unwrap_or(&tree.base);
        let to = Target::Commit(commit);
        let diff::Changes { insertions, deletions, .. } = diff::changes(&tree, before, to)?;
        let patch = match insertions + deletions <= PATCH_LINES {
            true => diff::patch(&tree, before, to, PATCH_BYTES)?.bytes,
            false => Vec::new(),
        };
        Ok((diff::stat(&tree, before, to)?, patch))
    })
    .await?;
    let (stat, patch) = (String::from_utf8_lossy(&stat), String::from_utf8_lossy(&patch));
    Ok(prompt::message(Work { summary: &unworded.summary, stat: &stat, patch: &patch }))
}
