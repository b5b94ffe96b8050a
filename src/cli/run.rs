//! `coppice run`: a session that is followed until it needs somebody or is done.

use super::follow::{self, Follower, Piece};
use super::line::Line;
use super::new::SessionOptions;
use super::output::Output;
use super::prompt::TaskArg;
use super::{Context, Exit, Failure, Format};
use crate::api::request::{EventQuery, Start};
use crate::api::session::Session;
use crate::client::events::Item;

/// Creates a session and follows it: the answer goes to stdout as it grows, everything else to stderr.
///
/// Ends with 0 when the turn is done, 1 when it failed, 3 when the agent asks something, 4 when it wants an approval.
/// Ctrl-C leaves the session working.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "coppice run [OPTIONS] <PROMPT|->",
    after_help = "\
Examples:
  coppice run \"explain how the parser recovers from errors\" > answer.md
  coppice run --model gemini \"fix the failing test\"
  coppice run --json \"add a changelog\" | jq -c 'select(.type == \"tool_started\") | .title'"
)]
pub(super) struct Args {
    #[command(flatten)]
    task: TaskArg,
    #[command(flatten)]
    options: SessionOptions,
    /// Print one event per line as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let format = if args.json { Format::Json } else { Format::Human };
    let request = args.options.request(args.task.read()?, Start::AtOnce, context).await?;
    let session = context.client().await?.create(&request).await?;
    context.output.say(&Line::new().dim(format!("session {} from {}", session.id, session.base.name)))?;
    let rested = tokio::select! {
        rested = follow(context, &session.id, format) => Some(rested?),
        () = super::interrupted() => None,
    };
    match rested {
        Some((session, exit)) => {
            context.output.say_all(&follow::closing(&session, context.now()))?;
            Ok(exit)
        }
        None => super::detach(&session.id, context),
    }
}

/// Shows the session's stream from its beginning until it comes to rest.
async fn follow(context: &mut Context, id: &str, format: Format) -> Result<(Session, Exit), Failure> {
    let client = context.client().await?;
    let query = EventQuery { session: Some(id.to_owned()), since: Some(0), ..EventQuery::default() };
    let mut stream = context.stream(query).await?;
    let mut follower = Follower::default();
    loop {
        let item = stream.next().await?;
        match (format, &item) {
            (Format::Json, Item::Fact { text, .. }) => context.output.record(text)?,
            (Format::Json, Item::Live(_)) => {}
            (Format::Human, _) => {
                follower.item(&item).into_iter().try_for_each(|piece| print(piece, &mut context.output))?
            }
        }
        if follow::session_that_may_rest(&item).is_some() {
            let session = client.session(id).await?;
            if let Some(exit) = Exit::of_session(&session) {
                return Ok((session, exit));
            }
        }
    }
}

fn print(piece: Piece, output: &mut Output) -> Result<(), Failure> {
    match piece {
        Piece::Answer(text) => output.text(&text),
        Piece::Talk(line) => output.say(&line),
        Piece::Progress(line) => output.passing(&[line]),
    }
}
