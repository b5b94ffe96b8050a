//! `coppice undo`: the worktree as it was after an earlier turn.

use super::line::Line;
use super::{Context, Exit, Failure, Format, status};
use crate::api::request::Undo;

/// Takes back what the last turns changed, or the merge of the base branch into the worktree after a conflict.
///
/// The state before is kept, the conversation is not rewound, and the next prompt tells the agent what was undone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice undo k3f
  coppice undo k3f --to 0
  coppice undo k3f --to 3
  coppice undo k3f --redo")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// The last turn to keep: 0 is the base, and a turn that was undone brings its work back. When absent, the last turn that changed something is taken back.
    #[arg(long, value_name = "N")]
    to: Option<u32>,
    /// Take the last undo back: the files are as before it, uncommitted changes and a conflict included.
    #[arg(long, conflicts_with = "to")]
    redo: bool,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let session = context.client().await?.undo(&args.id.id, &Undo { to: args.to, redo: args.redo }).await?;
    match args.format.choice() {
        Format::Json => context.output.json(&session)?,
        Format::Human => {
            let left = match session.changes.files {
                0 => Line::new().dim("no changes remain"),
                _ => Line::new().dim("its changes are now ").then(status::changes(session.changes)),
            };
            let id = &session.id;
            let files = match (args.redo, session.stands_at()) {
                (true, _) => " is as before the undo; ".to_owned(),
                (false, 0) => " is as its base; ".to_owned(),
                (false, turn) => format!(" is as turn {turn} left it; "),
            };
            context.output.say(&Line::new().strong(id).plain(files).then(left))?;
            context.output.say(&Line::new().dim(format!("`coppice undo {id} --redo` takes this back")))?;
            context.output.warn(&session.warnings)?;
        }
    }
    Ok(Exit::Done)
}
