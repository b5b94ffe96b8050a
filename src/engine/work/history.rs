//! Git for served tools: in the repository of the session, by the rules of the `git` room.
//!
//! What looks runs beside everything else. What changes the tree or its branch holds the locks under which children
//! bring their files and sessions are merged; a push holds none, since it waits for another machine.

mod change;
mod look;
mod run;
mod say;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;
use tokio::task::spawn_blocking;

use crate::git::{GitError, Oid, Worktree};
use crate::sandbox::quiesce::run_in_quiet_tree;
use crate::tools::Answer;
use crate::tools::history::{Request, inside};

use super::super::delegate::Caller;
use super::super::fault::Fault;
use super::super::shared::Shared;
use super::super::{clock, prepare};
use change::ChangeContext;

/// Performs a call.
pub(super) async fn perform(shared: &Arc<Shared>, caller: &Caller, request: Request) -> Result<Answer, String> {
    let repo = prepare::open_repo(&caller.record).await.map_err(told)?;
    let tree = prepare::tree_of(&caller.record, &repo).map_err(told)?;
    let floor = floor(caller, &tree).map_err(told)?;
    let (stoppable, _run) = shared.runs.begin(caller.record.id, &tree).map_err(|error| told(error.into()))?;
    let text = match request {
        Request::Look(asked) => blocking(move || look::look(&stoppable, asked, &floor)).await,
        Request::Git { args } => run::git(shared, caller, &tree, &args).await,
        Request::Change(asked) => {
            let saved = format!("refs/coppice/undo/{}/{}", caller.record.id, clock::now());
            let _held = Locks::take(shared, caller).await?;
            let worktree = tree.path.clone();
            let project = shared.settings.record(&caller.record.project).await.map_err(told)?;
            let context = ChangeContext { floor, saved, trusted: project.trusted };
            let changed = run_in_quiet_tree(&worktree, move || change::change(&stoppable, asked, &context)).await;
            changed.map_err(|error| told(error.into()))?
        }
        Request::Commit { message } => {
            let _held = Locks::take(shared, caller).await?;
            change::commit(shared, caller, stoppable, message).await
        }
        Request::Push => change::push(shared, caller, tree).await,
    };
    text.map(Answer::from)
}

/// What a tree is held by while it changes, always taken in this order.
struct Locks {
    _tree: OwnedMutexGuard<()>,
    _repository: OwnedMutexGuard<()>,
}

impl Locks {
    /// Whoever is not waited for any more changes nothing.
    async fn take(shared: &Shared, caller: &Caller) -> Result<Self, String> {
        let take = async {
            let tree = shared.tree_lock(caller.record.id).lock_owned().await;
            let repository = shared.repository(&caller.record.project).lock_owned().await;
            Self { _tree: tree, _repository: repository }
        };
        caller.cancel.run_until_cancelled(take).await.ok_or_else(|| "it was stopped".to_owned())
    }
}

/// The commit that the session's own work begins after: where it started, or its last one that is merged.
fn floor(caller: &Caller, tree: &Worktree) -> Result<Oid, Fault> {
    Ok(caller.record.body.merged.as_deref().map(str::parse).transpose()?.unwrap_or(tree.base))
}

/// Runs what blocks.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    spawn_blocking(work).await.map_err(|error| told(error.into()))?
}

/// A fault in words for a model.
fn told(fault: Fault) -> String {
    prepare::failure(fault).message
}

fn failed(error: GitError) -> String {
    told(error.into())
}

/// Where something is that a model has named.
fn at(tree: &Worktree, path: &str) -> Result<PathBuf, String> {
    inside(path, &tree.path)
}

fn all_at(tree: &Worktree, paths: &[String]) -> Result<Vec<PathBuf>, String> {
    paths.iter().map(|path| at(tree, path)).collect()
}
