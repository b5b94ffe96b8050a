//! What changes a session's index, branch or files, or a remote: allowed by a person, told in flags that a model can
//! branch on.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::git::capture::Stops;
use crate::git::commit::{CommitPlan, Outcome};
use crate::git::push::Pushed;
use crate::git::{GitError, Oid, Repo, Worktree, branch, commit, look, push, status};
use crate::github::{GitHubError, Pull, Reference};
use crate::protocol::naming;
use crate::sandbox::quiesce::run_in_quiet_tree;
use crate::tools::history::{Change, Selection};

use super::super::super::delegate::Caller;
use super::super::super::fault::Fault;
use super::super::super::publish::Forge;
use super::super::super::settings::Trusted;
use super::super::super::shared::Shared;
use super::super::super::{hooks, prepare, trusted_branch};
use super::{all_at, blocking, failed, say, told};

/// How long GitHub is waited for after a push.
const PULL_TIME: Duration = Duration::from_secs(5);

/// What a change goes by beside its arguments.
pub(super) struct ChangeContext {
    /// Where the session's own work begins.
    pub(super) floor: Oid,
    /// The ref under which a rollback keeps what it discards.
    pub(super) saved: String,
    /// What the user agreed to, with the branches that they trust.
    pub(super) trusted: Option<Trusted>,
}

/// Performs a call that runs no hook; blocks.
pub(super) fn change(tree: &Worktree, asked: Change, context: &ChangeContext) -> Result<String, String> {
    let ChangeContext { floor, saved, trusted } = context;
    match asked {
        Change::Stage(Selection::All) => {
            let selected = commit::stage_all(tree).map_err(failed)?;
            Ok(format!("staged all changes{}", say::left_out_of(&selected.left_out)))
        }
        Change::Stage(Selection::Paths(paths)) => {
            let selected = commit::stage_paths(tree, &all_at(tree, &paths)?).map_err(failed)?;
            match selected.unmatched.as_slice() {
                [] => Ok(say::selected(&selected)),
                [first, ..] => Err(format!(
                    "nothing was staged: `{}` is not there, is ignored, or has no changes",
                    first.display()
                )),
            }
        }
        Change::Unstage { paths } => {
            let files = commit::unstage(tree, &all_at(tree, &paths)?).map_err(failed)?;
            Ok(format!("unstaged {files} {}", say::plural(files)))
        }
        Change::CreateBranch { name, start } => {
            let made = look::revision(tree, &start).and_then(|at| {
                let reserved = trusted_branch::reserved_names(&tree.repo, trusted.as_ref())?;
                branch::create(tree, &name, &at, &reserved).map(|()| at)
            });
            made.map(|at| format!("created=true branch={name} from={at}")).map_err(|error| refused("created", error))
        }
        Change::Checkpoint { message } => match commit::commit_all(tree, &naming::strip_own_trailers(&message)) {
            Ok(Some(recorded)) => {
                Ok(format!("committed=true sha={}{}", recorded.commit, say::left_out_of(&recorded.left_out)))
            }
            Ok(None) => Err("committed=false reason=nothing_to_commit".to_owned()),
            Err(error) => Err(refused("committed", error)),
        },
        Change::Rollback { target } => {
            let gone =
                look::revision(tree, &target).and_then(|at| branch::roll_back(tree, &at, floor, saved).map(|()| at));
            gone.map(|at| format!("rolled_back=true target={at} saved={saved}"))
                .map_err(|error| refused("rolled_back", error))
        }
    }
}

/// Commits what is staged; the user's hooks run in the session's cage, and end when nobody waits for them.
pub(super) async fn commit(
    shared: &Arc<Shared>,
    caller: &Caller,
    tree: Worktree,
    message: String,
) -> Result<String, String> {
    let run = hooks::runner(shared, &caller.record, &tree.repo, &caller.config, &caller.cancel);
    let message = naming::strip_own_trailers(&message);
    let (place, worktree) = (tree.clone(), tree.path.clone());
    let planned = blocking(move || {
        commit::plan_commit(&place, &message, &mut |hook| run(hook)).map_err(|error| refused("committed", error))
    });
    let outcome = match planned.await? {
        CommitPlan::Ended(outcome) => outcome,
        CommitPlan::Ready(planned) => {
            let place = tree.clone();
            let finished = run_in_quiet_tree(&worktree, move || commit::finish_commit(&place, planned)).await;
            finished.map_err(|error| told(error.into()))?.map_err(|error| refused("committed", error))?
        }
    };
    match outcome {
        Outcome::Committed { commit, skipped_hooks } => {
            let left = blocking(move || status::read(&tree).map_err(failed)).await?;
            Ok(say::committed(&commit, &skipped_hooks, &left))
        }
        Outcome::NothingStaged => {
            Err("committed=false reason=staged_empty\nstage something with git_stage_files first".to_owned())
        }
        Outcome::HookFailed { hook, output } => {
            let next = "hint: fix what the hook reports, stage the files with git_stage_files, and commit again";
            Err(format!("committed=false reason=hook_error hook={}\n{}\n{next}", hook.name(), output.trim_end()))
        }
    }
}

/// Pushes the branch that is checked out, and tells its pull request where there is one.
pub(super) async fn push(shared: &Arc<Shared>, caller: &Caller, tree: Worktree) -> Result<String, String> {
    let environment = prepare::environment(shared, &caller.record);
    let stops = Stops::new();
    let stopper = stops.stopper();
    let (base, repo) = (caller.record.body.base.name.clone(), tree.repo.clone());
    let pushing = blocking(move || {
        let environment = environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        push::push(&tree, &base, environment, &stops).map_err(|error| refused("pushed", error))
    });
    tokio::pin!(pushing);
    let pushed = tokio::select! {
        outcome = &mut pushing => outcome?,
        () = caller.cancel.cancelled() => {
            stopper.stop();
            pushing.await?
        }
    };
    let asked = timeout(PULL_TIME, pull(shared, caller, &repo, &pushed));
    let found = caller.cancel.run_until_cancelled(asked).await;
    // The branch is at its remote, whatever GitHub says.
    let found = match found.and_then(Result::ok) {
        Some(Ok(pull)) => say::PullOfBranch::Open(Box::new(pull)),
        Some(Err(Fault::GitHub(GitHubError::NotFound))) => say::PullOfBranch::Absent,
        Some(Err(_)) | None => say::PullOfBranch::Unknown,
    };
    Ok(say::pushed(&pushed, &found))
}

/// The pull request of a branch that was pushed.
async fn pull(shared: &Arc<Shared>, caller: &Caller, repo: &Repo, pushed: &Pushed) -> Result<Pull, Fault> {
    let forge = Forge::of(shared, &caller.record, repo).await?;
    let meant = Reference::Branch { owner: None, name: pushed.branch.clone() };
    forge.ask(move |client, slug| client.pull(slug, &meant)).await
}

/// Why git did not do it: a flag, a reason to branch on, and the whole of it.
fn refused(flag: &str, error: GitError) -> String {
    let reason = match &error {
        GitError::BranchTaken { .. } => "branch_exists",
        GitError::BranchOfRemote { .. } | GitError::BranchReserved { .. } => "branch_reserved",
        GitError::UnknownBase { .. } => "unknown_revision",
        GitError::NotOfSession { .. } => "not_of_session",
        GitError::Detached { .. } => "detached_head",
        GitError::CannotBeSaved { .. } => "unsaved_files",
        GitError::NotARepository { .. }
        | GitError::NestedGitDirectory { .. }
        | GitError::ProgramMissing
        | GitError::ProgramTooOld { .. }
        | GitError::NoCommits { .. }
        | GitError::ForeignOwner { .. }
        | GitError::Unsupported { .. }
        | GitError::OtherRepository { .. }
        | GitError::AmbiguousBase { .. }
        | GitError::NotACommit { .. }
        | GitError::NamespaceTaken { .. }
        | GitError::PathTaken { .. }
        | GitError::InvalidBranch { .. }
        | GitError::NotSaved { .. }
        | GitError::NothingSaved { .. }
        | GitError::NoIdentity
        | GitError::TreeMissing { .. }
        | GitError::BranchMissing { .. }
        | GitError::RefMoved { .. }
        | GitError::MoveUnderWay { .. }
        | GitError::HalfReset { .. }
        | GitError::HalfMoved { .. }
        | GitError::HookStopped { .. }
        | GitError::IndexLocked { .. }
        | GitError::BranchLocked { .. }
        | GitError::InvalidPattern { .. }
        | GitError::NoRemote { .. }
        | GitError::Refused { .. }
        | GitError::Stopped { .. }
        | GitError::TimedOut { .. }
        | GitError::NotRegular { .. }
        | GitError::Spawn { .. }
        | GitError::Failed { .. }
        | GitError::Unreadable { .. }
        | GitError::Io { .. }
        | GitError::Library { .. } => "git_error",
    };
    format!("{flag}=false reason={reason}\n{}", failed(error))
}
