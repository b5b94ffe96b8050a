//! `coppice undo`: the worktree as it was after an earlier turn.

use super::line::Line;
use super::{Context, Exit, Failure, Format, status};
use crate::api::request::Undo;
use crate::api::session::Session;

/// Takes back what the last turns changed.
///
/// The state before is kept, the conversation is not rewound, and the next prompt tells the agent what was undone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice undo k3f
  coppice undo k3f --to 0
  coppice undo k3f --to 3")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// The last turn to keep: 0 is the base, and a turn that was undone brings its work back. When absent, the last turn that changed something is taken back.
    #[arg(long, value_name = "N")]
    to: Option<u32>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.undo(&args.id.id, &Undo { to: args.to }).await?;
    match args.format.choice() {
        Format::Json => context.output.json(&session)?,
        Format::Human => {
            let left = match session.changes.files {
                0 => Line::new().dim("nothing is left of its changes"),
                _ => Line::new().dim("left are ").then(status::changes(session.changes)),
            };
            let Session { id, turns, .. } = &session;
            let (done, back) = match args.to {
                Some(to) if to == *turns && session.undone_to.is_none() => {
                    (format!(" is as turn {turns} left it, "), String::new())
                }
                Some(_) | None => (" undone, ".to_owned(), format!("`coppice undo {id} --to {turns}` takes it back")),
            };
            context.output.say(&Line::new().strong(id).plain(done).then(left))?;
            if !back.is_empty() {
                context.output.say(&Line::new().dim(back))?;
            }
            context.output.warn(&session.warnings)?;
        }
    }
    Ok(Exit::Done)
}
