//! `coppice undo`: the worktree as it was after an earlier turn, or the base branch without a merge.

use super::line::Line;
use super::transcript::short;
use super::{Context, Exit, Failure, Format, status};
use crate::api::request::Undo;
use crate::api::session::{Session, UndoableMerge};

/// Takes back what the last turns changed, the merge of the base branch into the worktree after a conflict, or the merge of
/// the session.
///
/// The state before is kept, the conversation is not rewound, and the next prompt tells the agent what was undone.
///
/// Of a merged session, the base branch goes back to where it was before the merge. Where it has more commits since, or was
/// pushed, a new commit reverts the merge. Files of your checkout that you have changed stop it.
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
    let client = context.client().await?;
    let merge = match (args.to, args.redo) {
        (None, false) => client.session(&args.id.id).await?.undoable_merge,
        (Some(_), _) | (None, true) => None,
    };
    let undo = Undo { to: args.to, redo: args.redo, ..Undo::default() };
    let session = client.undo(&args.id.id, &undo).await?;
    match args.format.choice() {
        Format::Json => context.output.json(&session)?,
        Format::Human => {
            match merge {
                Some(merge) => say_merge_undone(context, &session, &merge)?,
                None => say_undone(context, &session, args.redo)?,
            }
            context.output.warn(&session.warnings)?;
        }
    }
    Ok(Exit::Done)
}

fn say_undone(context: &mut Context, session: &Session, redo: bool) -> Result<(), Failure> {
    let left = match session.changes.files {
        0 => Line::new().dim("no changes remain"),
        _ => Line::new().dim("its changes are now ").then(status::changes(session.changes)),
    };
    let id = &session.id;
    let files = match (redo, session.stands_at()) {
        (true, _) => " is as before the undo; ".to_owned(),
        (false, 0) => " is as its base; ".to_owned(),
        (false, turn) => format!(" is as turn {turn} left it; "),
    };
    context.output.say(&Line::new().strong(id).plain(files).then(left))?;
    context.output.say(&Line::new().dim(format!("`coppice undo {id} --redo` takes this back")))?;
    Ok(())
}

fn say_merge_undone(context: &mut Context, session: &Session, merge: &UndoableMerge) -> Result<(), Failure> {
    let commit = short(&merge.commit);
    let line =
        Line::new().strong(&session.id).plain(format!(": `{}` is without the merge {commit} again; ", merge.target));
    let left = match session.changes.files {
        0 => Line::new().dim("nothing is left to merge"),
        _ => Line::new().dim("to merge: ").then(status::changes(session.changes)),
    };
    context.output.say(&line.then(left))?;
    for file in &merge.files {
        context.output.say(&Line::new().dim(format!("  {file}")))?;
    }
    let again = Line::new().dim(format!("`coppice merge {}` merges it again", session.id));
    if session.changes.files > 0 {
        context.output.say(&again)?;
    }
    Ok(())
}
