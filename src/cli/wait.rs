//! `coppice wait`: until sessions come to rest.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;

use super::age::parse_duration;
use super::line::{Line, one_line, table};
use super::show::error_hint;
use super::{Context, Exit, Failure, Format, follow, status};
use crate::api::request::EventQuery;
use crate::api::session::{Session, Status};

/// Waits until sessions need somebody or are done.
///
/// Ends with 0 when all of them are done, otherwise with the gravest of 1 (failed), 4 (wants an approval) and
/// 3 (asks something), or with 124 when the time is over.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice wait k3f && coppice merge k3f
  coppice wait --any --timeout 30m k3f q7x b2c")]
pub(super) struct Args {
    /// The sessions' ids, or the beginnings of them.
    #[arg(value_name = "ID", required = true, value_parser = NonEmptyStringValueParser::new())]
    ids: Vec<String>,
    /// Until the first of them comes to rest.
    #[arg(long)]
    any: bool,
    /// At most so long: a number with s, m, h or d.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    format: super::FormatArg,
}

/// How many of the sessions must come to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    All,
    Any,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let until = if args.any { Until::Any } else { Until::All };
    let limit = async {
        match args.timeout {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let sessions = tokio::select! {
        sessions = rest(context, &args.ids, until) => sessions?,
        () = limit => {
            context.output.say(&Line::new().dim("the time is over; the sessions go on"))?;
            return Ok(Exit::TimedOut);
        }
        () = super::interrupted() => return Ok(Exit::Detached),
    };
    match args.format.choice() {
        Format::Json => context.output.json(&sessions)?,
        Format::Human => {
            context.output.lines(&table(&sessions.iter().map(row).collect::<Vec<_>>()))?;
            let failed = sessions.iter().filter(|session| session.status == Status::Failed);
            for hint in failed.filter_map(|session| error_hint(session.last_error.as_ref()?)) {
                context.output.say(&hint)?;
            }
        }
    }
    Ok(verdict(&sessions))
}

/// Looks at the sessions whenever something happened that may have ended their work.
pub(super) async fn rest(context: &Context, ids: &[String], until: Until) -> Result<Vec<Session>, Failure> {
    // The stream begins before the first look, so that nothing between the two is missed.
    let mut stream = context.stream(EventQuery::default()).await?;
    let client = context.client().await?;
    let mut sessions = Vec::new();
    for id in ids {
        sessions.push(client.session(id).await?);
    }
    while !is_over(&sessions, until) {
        let item = stream.next().await?;
        let Some(id) = follow::session_that_may_rest(&item) else { continue };
        // Whoever asks may be the child of one that is waited for.
        let asks = item.fact().is_some_and(|event| follow::asks(&event.payload));
        for session in
            sessions.iter_mut().filter(|session| session.id == id || asks && Exit::of_session(session).is_none())
        {
            *session = client.session(&session.id).await?;
        }
    }
    Ok(sessions)
}

fn is_over(sessions: &[Session], until: Until) -> bool {
    let mut rests = sessions.iter().map(|session| Exit::of_session(session).is_some());
    match until {
        Until::All => rests.all(|rests| rests),
        Until::Any => rests.any(|rests| rests),
    }
}

/// The gravest end; sessions that still work do not count.
fn verdict(sessions: &[Session]) -> Exit {
    let ends: Vec<_> = sessions.iter().filter_map(Exit::of_session).collect();
    let gravest =
        [Exit::Failed, Exit::WaitsForApproval, Exit::WaitsForAnswer].into_iter().find(|end| ends.contains(end));
    gravest.unwrap_or(Exit::Done)
}

pub(super) fn row(session: &Session) -> Vec<Line> {
    let need = status::need(session);
    vec![
        Line::new().strong(&session.id),
        status::word(session.status),
        Line::new().plain(one_line(&session.title)),
        Line::new().plain(need),
    ]
}
