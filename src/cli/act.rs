//! The commands that do one thing to one session and need nothing else: `stop`, `resume`, `archive`, `rm`, `restore`.

use super::line::Line;
use super::{Context, Exit, Failure, Format, status};
use crate::api::request::Resume;
use crate::api::session::{Session, Status};

/// What every one of them takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    #[command(flatten)]
    format: super::FormatArg,
}

#[derive(Debug, clap::Args)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    session: Args,
    /// Go on without the project's setup command (`worktree.setup`), for example after it failed.
    #[arg(long)]
    skip_setup: bool,
}

pub(super) async fn stop(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.stop(&args.id.id).await?;
    let next = match session.status == Status::Interrupted {
        true => format!("; `coppice resume {}` goes on", session.id),
        false => String::new(),
    };
    tell(args.format, context, &session, status::word(session.status).dim(next))
}

pub(super) async fn resume(args: ResumeArgs, context: &mut Context) -> Result<Exit, Failure> {
    let ResumeArgs { session: Args { id, format }, skip_setup } = args;
    let request = Resume { env: Some(context.environment()), skip_setup };
    let session = context.client().await?.resume(&id.id, &request).await?;
    tell(format, context, &session, status::word(session.status))
}

pub(super) async fn archive(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.archive(&args.id.id).await?;
    let kept = status::word(session.status).dim("; its branch and its transcript stay");
    tell(args.format, context, &session, kept)
}

pub(super) async fn rm(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.remove(&args.id.id).await?;
    let kept = format!("removed; `coppice restore {}` brings it back", session.id);
    tell(args.format, context, &session, Line::new().plain(kept))
}

pub(super) async fn restore(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.restore(&args.id.id).await?;
    tell(args.format, context, &session, Line::new().plain("restored, ").then(status::word(session.status)))
}

fn tell(format: super::FormatArg, context: &mut Context, session: &Session, outcome: Line) -> Result<Exit, Failure> {
    match format.choice() {
        Format::Json => context.output.json(session)?,
        Format::Human => {
            context.output.say(&Line::new().strong(&session.id).plain(" ").then(outcome))?;
            context.output.warn(&session.warnings)?;
        }
    }
    Ok(Exit::Done)
}
