//! `coppice merge` and `coppice rebase`: a session's work and its base come together. Your branch moves only when they do;
//! else the base comes into the session, with marks.

mod hook_fix;

use std::future;
use std::pin::pin;

use super::line::{Line, Tone};
use super::transcript::short;
use super::{Context, Exit, Failure, Format, follow, status};
use crate::api::request::{Merge, MergeHooks, MergeStyle, MergeUnseen};
use crate::api::session::{Session, Status};

/// Merges a session's work into its base branch.
///
/// Squash by default: one commit with the session's title and summary. Your checkout moves only when nothing of yours would
/// be lost; otherwise the merge is refused. At a conflict your branch stays as it is: it comes into the session's worktree,
/// with marks where both changed the same, for the agent or you to edit.
///
/// Your `pre-commit` and `commit-msg` hooks run in a sandbox. A merge that they change is refused until you accept the
/// changes. `prepare-commit-msg`, `pre-merge-commit` and the `post-` hooks do not run.
///
/// With `--fix-hooks`, the agent is asked to fix what a failing hook reports, and the merge is tried again once its turn is
/// done, for at most two turns. You agree that these fixes are merged without a look at them. The merge stops when the turn
/// fails, asks something or changes nothing, when you send something else or stop the session, and wherever a merge asks for
/// your consent. Ctrl-C leaves the agent working and the merge to the daemon.
///
/// If you looked at the work with `coppice diff` and it changed afterwards although no turn ran, the merge is refused until
/// you look again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice merge k3f
  coppice merge k3f --rebase
  coppice merge k3f --fix-hooks")]
pub(super) struct MergeArgs {
    #[command(flatten)]
    id: super::IdArg,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    hooks: HookArgs,
    /// Merge although files changed after you last looked at the work, or are in conflict without marks; with an ID, exactly
    /// what the refusal named. It can be repeated.
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    accept_unseen_changes: Vec<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct StyleArgs {
    /// One commit with everything.
    #[arg(long)]
    squash: bool,
    /// A merge commit; the session's own commits stay.
    #[arg(long)]
    no_ff: bool,
    /// The session's commits on top of the base branch.
    #[arg(long)]
    rebase: bool,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct HookArgs {
    /// Commit what your hooks change beyond the session's work; with an ID, exactly the changes that the refusal showed.
    #[arg(long, value_name = "ID", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    accept_hook_changes: Option<String>,
    /// Have the agent fix what a failing hook reports, and merge the fixes unseen.
    #[arg(long)]
    fix_hooks: bool,
    /// Run no commit hooks.
    #[arg(long)]
    no_verify: bool,
}

impl HookArgs {
    fn choice(self) -> MergeHooks {
        match self {
            HookArgs { no_verify: true, .. } => MergeHooks::Skip,
            HookArgs { fix_hooks: true, .. } => MergeHooks::Fix,
            HookArgs { accept_hook_changes: None, .. } => MergeHooks::Check,
            HookArgs { accept_hook_changes: Some(id), .. } if id.is_empty() => MergeHooks::AcceptChanges,
            HookArgs { accept_hook_changes: Some(id), .. } => MergeHooks::AcceptOnly(id),
        }
    }
}

/// Moves a session's branch onto the tip of its base branch.
///
/// Where its commits do not fit one by one, the base is merged into it instead, with marks where both changed the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice rebase k3f && coppice merge k3f")]
pub(super) struct RebaseArgs {
    #[command(flatten)]
    id: super::IdArg,
    #[command(flatten)]
    format: super::FormatArg,
}

impl StyleArgs {
    /// The chosen style; the configured one when none is chosen.
    fn choice(&self) -> Option<MergeStyle> {
        match self {
            StyleArgs { squash: true, .. } => Some(MergeStyle::Squash),
            StyleArgs { no_ff: true, .. } => Some(MergeStyle::NoFf),
            StyleArgs { rebase: true, .. } => Some(MergeStyle::Rebase),
            StyleArgs { squash: false, no_ff: false, rebase: false } => None,
        }
    }
}

pub(super) async fn merge(args: MergeArgs, context: &mut Context) -> Result<Exit, Failure> {
    let unseen = match args.accept_unseen_changes {
        ids if ids.is_empty() => MergeUnseen::Refuse,
        ids if ids.iter().any(String::is_empty) => MergeUnseen::Accept,
        ids => MergeUnseen::AcceptOnly(ids),
    };
    let request = Merge { style: args.style.choice(), hooks: args.hooks.choice(), unseen, ..Merge::default() };
    // The stream begins before the merge, so that nothing of what follows is missed.
    let stream = match &request.hooks {
        MergeHooks::Fix => Some(hook_fix::watch(&args.id.id, context).await?),
        MergeHooks::Check | MergeHooks::AcceptChanges | MergeHooks::AcceptOnly(_) | MergeHooks::Skip => None,
    };
    let Some(session) = merge_or_stop(&args.id.id, &request, context).await? else { return Ok(Exit::Detached) };
    if let (Some(stream), Some(_)) = (stream, &session.hook_fix) {
        return hook_fix::follow(stream, &session.id, args.format, context).await;
    }
    tell(args.format, context, &session, &format!("merged into {}", session.base.name))
}

/// Waits for a merge. The first Ctrl-C stops it, as far as that is still possible; after the second the daemon finishes
/// it alone, and nothing is returned.
async fn merge_or_stop(id: &str, request: &Merge, context: &mut Context) -> Result<Option<Session>, Failure> {
    let client = context.client().await?;
    let mut merging = pin!(client.merge(id, request));
    tokio::select! {
        biased;
        done = &mut merging => return Ok(Some(done?)),
        () = super::interrupted() => {}
    }
    context.output.say(&Line::new().plain("stopping the merge; press Ctrl-C again to leave it to the daemon"))?;
    // The first connection waits for the answer to the merge, which tells whether the stop came in time.
    let second = context.client().await?;
    let stop = async {
        second.stop(id).await.ok();
        future::pending::<()>().await
    };
    tokio::select! {
        biased;
        done = &mut merging => return Ok(Some(done?)),
        () = super::interrupted() => {}
        () = stop => {}
    }
    let outcome =
        Line::new().plain("the merge goes on in the daemon. ").with(Tone::Accent, format!("coppice show {id}"));
    context.output.say(&outcome.plain(" tells its outcome"))?;
    Ok(None)
}

pub(super) async fn rebase(args: RebaseArgs, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.rebase(&args.id.id).await?;
    let onto = format!("rebased onto {} at {}", session.base.name, short(&session.base.commit));
    tell(args.format, context, &session, &onto)
}

fn tell(format: super::FormatArg, context: &mut Context, session: &Session, done: &str) -> Result<Exit, Failure> {
    let conflicts = session.status == Status::Conflict;
    match format.choice() {
        Format::Json => context.output.json(session)?,
        Format::Human if conflicts => {
            context.output.say_all(&follow::closing(session, context.now()))?;
            context.output.warn(&session.warnings)?;
        }
        Format::Human => {
            let head = Line::new().strong(&session.id).plain(" ").with(Tone::Good, done);
            context.output.say(&head.plain("  ").then(status::changes(session.changes)))?;
            context.output.warn(&session.warnings)?;
        }
    }
    Ok(if conflicts { Exit::Failed } else { Exit::Done })
}
