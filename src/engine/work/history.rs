//! Git for served tools: in the repository of the session, by the rules of the `git` room.
//!
//! What looks runs beside everything else. What changes the tree or its branch holds the lock under which children bring
//! their files, and its processes are stopped, which also keeps merges out. An agent decides how long that takes, so no other
//! session waits for it: the repository is locked for new branches alone. A push holds nothing, since it waits for another
//! machine.

mod change;
mod look;
mod run;
mod say;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::spawn_blocking;

use crate::git::{GitError, Oid, Worktree};
use crate::sandbox::quiesce::run_in_quiet_tree;
use crate::tools::Answer;
use crate::tools::history::{Change, Request, inside};

use super::super::delegate::Caller;
use super::super::fault::Fault;
use super::super::shared::Shared;
use super::super::{clock, prepare};
use change::ChangeContext;
pub(in super::super) use say::patch as describe_patch;

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
            let _tree = take_lock(shared.tree_lock(caller.record.id), caller).await?;
            let project = shared.settings.record(&caller.record.project).await.map_err(told)?;
            let context = ChangeContext { floor, saved, trusted: project.trusted };
            let worktree = tree.path.clone();
            match asked {
                Change::CreateBranch { .. } => {
                    let _repository = take_lock(shared.repository(&caller.record.project), caller).await?;
                    blocking(move || change::change(&stoppable, asked, &context)).await
                }
                Change::Stage(_) | Change::Unstage { .. } | Change::Checkpoint { .. } | Change::Rollback { .. } => {
                    let changed = run_in_quiet_tree(&worktree, move || change::change(&stoppable, asked, &context));
                    changed.await.map_err(|error| told(error.into()))?
                }
            }
        }
        Request::Commit { message } => {
            let _tree = take_lock(shared.tree_lock(caller.record.id), caller).await?;
            change::commit(shared, caller, stoppable, message).await
        }
        Request::Push => change::push(shared, caller, tree).await,
    };
    text.map(Answer::from)
}

/// Whoever is not waited for any more changes nothing.
async fn take_lock(lock: Arc<Mutex<()>>, caller: &Caller) -> Result<OwnedMutexGuard<()>, String> {
    caller.cancel.run_until_cancelled(lock.lock_owned()).await.ok_or_else(|| "it was stopped".to_owned())
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
