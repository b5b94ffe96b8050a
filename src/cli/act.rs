//! The commands that do one thing to a session and need nothing else: `stop`, `resume`, `archive`, `rm`, `restore`.

use clap::builder::NonEmptyStringValueParser;

use super::line::Line;
use super::{Context, Exit, Failure, Format, status};
use crate::api::request::Resume;
use crate::api::session::{Session, Status};
use crate::client::ClientError;

/// What every one of them takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    #[command(flatten)]
    format: super::FormatArg,
}

/// What those take that do the same to several sessions.
#[derive(Debug, clap::Args)]
pub(super) struct SeveralArgs {
    /// The ids of the sessions, or the beginnings of them.
    #[arg(value_name = "ID", required = true, value_parser = NonEmptyStringValueParser::new())]
    ids: Vec<String>,
    /// Print JSON instead of text, one line for each session.
    #[arg(long)]
    json: bool,
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
    let request = Resume { env: Some(context.environment().await?), skip_setup };
    let session = context.client().await?.resume(&id.id, &request).await?;
    tell(format, context, &session, status::word(session.status))
}

pub(super) async fn archive(args: SeveralArgs, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let mut exit = Exit::Done;
    for id in &args.ids {
        let told = client.archive(id).await.map(|session| {
            let kept = status::word(session.status).dim("; its branch and its transcript stay");
            (session, kept)
        });
        exit = tell_one_of_several(&args, context, exit, told)?;
    }
    Ok(exit)
}

pub(super) async fn rm(args: SeveralArgs, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let mut exit = Exit::Done;
    for id in &args.ids {
        let told = client.remove(id).await.map(|session| {
            let kept = Line::new().plain(format!("removed; `coppice restore {}` brings it back", session.id));
            (session, kept)
        });
        exit = tell_one_of_several(&args, context, exit, told)?;
    }
    Ok(exit)
}

/// Tells what came of one session. The exit code is that of the first failure.
fn tell_one_of_several(
    args: &SeveralArgs,
    context: &mut Context,
    exit: Exit,
    told: Result<(Session, Line), ClientError>,
) -> Result<Exit, Failure> {
    let failed = match told.map_err(Failure::from) {
        Ok((session, outcome)) => {
            tell(super::FormatArg { json: args.json }, context, &session, outcome)?;
            return Ok(exit);
        }
        Err(Failure::Told(report)) => {
            context.output.say_all(&report.lines())?;
            report.exit
        }
        Err(Failure::PipeClosed) => return Err(Failure::PipeClosed),
    };
    Ok(if exit == Exit::Done { failed } else { exit })
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
