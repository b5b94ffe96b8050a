//! `coppice events`: the durable facts, as they were stored.

use clap::builder::NonEmptyStringValueParser;
use jiff::tz::TimeZone;

use super::line::Line;
use super::transcript::Teller;
use super::{Context, Exit, Failure, Format};
use crate::api::event::Event;
use crate::api::request::EventQuery;
use crate::client::events::Item;

/// How many events one request brings.
const PAGE: u32 = 1000;

/// Shows what happened in a session, or in all of them: a line for each event, and a card below each tool call that ended.
///
/// Events are numbered over all sessions; `--since` continues behind the last number that was seen, and nothing is missed or
/// shown twice. What happens in the children of a session is shown with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice events k3f
  coppice events --all --follow --json | jq -c 'select(.type == \"turn_failed\")'
  coppice events k3f --last 20 --follow
  coppice events k3f --since 1200")]
pub(super) struct Args {
    /// The session's id, or the beginning of it.
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: Option<String>,
    /// The events of every session.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Without what happens in the session's children.
    #[arg(long, conflicts_with = "all")]
    alone: bool,
    /// Go on with events as they happen, until Ctrl-C.
    #[arg(long)]
    follow: bool,
    /// Only events after this number.
    #[arg(long, value_name = "N")]
    since: Option<u64>,
    /// Only the last N events.
    #[arg(long, value_name = "N", conflicts_with = "since", value_parser = clap::value_parser!(u32).range(1..))]
    last: Option<u32>,
    /// Print one event per line as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let format = if args.json { Format::Json } else { Format::Human };
    let session = match (&args.id, args.all) {
        (Some(id), _) => Some(context.client().await?.session(id).await?.id),
        (None, true) => None,
        (None, false) => {
            return Err(Failure::usage("no session is named")
                .hint("`coppice events ID` shows one, `coppice events --all` every one"));
        }
    };
    let family = args.alone.then_some(false);
    let query = EventQuery { session: session.clone(), family, ..EventQuery::default() };
    let teller = &mut Teller::default();
    let since = match args.last {
        Some(count) => Some(last(context, &query, count, format, teller).await?),
        None => args.since.or(Some(0)),
    };
    let query = EventQuery { since, ..query };
    if !args.follow {
        if args.last.is_none() {
            history(context, query, format, teller).await?;
        }
        return Ok(Exit::Done);
    }
    tokio::select! {
        ended = follow(context, query, format, teller) => ended,
        () = super::interrupted() => match session {
            Some(id) => super::detach(&id, context),
            None => Ok(Exit::Detached),
        },
    }
}

async fn history(context: &mut Context, query: EventQuery, format: Format, teller: &mut Teller) -> Result<(), Failure> {
    let client = context.client().await?;
    let mut query = EventQuery { limit: Some(PAGE), ..query };
    loop {
        let page = client.events(&query).await?;
        for event in &page.items {
            show(event.get(), format, teller, context)?;
        }
        match page.next.and_then(|next| next.parse().ok()) {
            Some(next) => query.since = Some(next),
            None => return Ok(()),
        }
    }
}

/// Shows the last `count` events; the number of the last one, behind which a stream goes on.
async fn last(
    context: &mut Context,
    query: &EventQuery,
    count: u32,
    format: Format,
    teller: &mut Teller,
) -> Result<u64, Failure> {
    let client = context.client().await?;
    let (mut before, mut left, mut pages) = (u64::MAX, count, Vec::new());
    while left > 0 {
        let query = EventQuery { before: Some(before), limit: Some(left.min(PAGE)), ..query.clone() };
        let page = client.events(&query).await?;
        left = left.saturating_sub(u32::try_from(page.items.len()).unwrap_or(u32::MAX));
        pages.push(page.items);
        match page.next.and_then(|next| next.parse().ok()) {
            Some(next) => before = next,
            None => break,
        }
    }
    let mut seen = 0;
    for event in pages.iter().rev().flatten() {
        show(event.get(), format, teller, context)?;
        seen = number(event.get());
    }
    Ok(seen)
}

async fn follow(
    context: &mut Context,
    query: EventQuery,
    format: Format,
    teller: &mut Teller,
) -> Result<Exit, Failure> {
    let mut stream = context.stream(query).await?;
    loop {
        match stream.next().await? {
            Item::Fact { text, .. } => show(&text, format, teller, context)?,
            Item::Live(_) => {}
        }
    }
}

/// The number of an event of any version.
fn number(text: &str) -> u64 {
    #[derive(serde::Deserialize)]
    struct Numbered {
        seq: u64,
    }
    serde_json::from_str::<Numbered>(text).map_or(0, |event| event.seq)
}

fn show(text: &str, format: Format, teller: &mut Teller, context: &mut Context) -> Result<(), Failure> {
    match format {
        Format::Json => context.output.record(text),
        Format::Human => {
            let lines = match serde_json::from_str::<Event>(text) {
                Ok(event) => teller.lines(&event, &TimeZone::system()),
                // A type of a later version still has its own words.
                Err(_) => vec![Line::new().plain(text)],
            };
            context.output.rows(&lines)
        }
    }
}
