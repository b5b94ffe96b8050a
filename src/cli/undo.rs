//! `coppice undo`: the worktree as it was after an earlier turn, or the base branch without a merge.

use super::line::{Line, file_name};
use super::transcript::short;
use super::{Context, Exit, Failure, Format, status};
use crate::api::request::Undo;
use crate::api::session::{Session, Status, UndoableMerge};

/// Takes back what the last turns changed, the merge of the base branch into the worktree after a conflict, or the merge of
/// the session.
///
/// The state before is kept, the conversation is not rewound, and the next prompt tells the agent what was undone.
///
/// Of a merged session, or with `--merge`, the base branch goes back to where it was before the merge. Where it has more commits since, or was
/// pushed, a new commit reverts the merge. Files of your checkout that you have changed stop it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice undo k3f
  coppice undo k3f --to 0
  coppice undo k3f --to 3
  coppice undo k3f --merge
  coppice undo k3f --redo")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// The last turn to keep: 0 is the base, and a turn that was undone brings its work back. When absent, the last turn that changed something is taken back.
    #[arg(long, value_name = "N")]
    to: Option<u32>,
    /// Take the last merge of a session out of its base branch again, also where the session has gone on since.
    #[arg(long, conflicts_with_all = ["to", "redo"])]
    merge: bool,
    /// Take the last undo back: the files are as before it, uncommitted changes and a conflict included.
    #[arg(long, conflicts_with = "to")]
    redo: bool,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let merge = match (args.to, args.redo) {
        (None, false) => shown_merge(client.session(&args.id.id).await?, args.merge)?,
        (Some(_), _) | (None, true) => None,
    };
    let commit = merge.as_ref().map(|merge| merge.commit.clone());
    let undo = Undo { to: args.to, redo: args.redo, merge: commit, ..Undo::default() };
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

/// The merge that is meant: the last one of a merged session, or of one whose merge is asked for.
fn shown_merge(session: Session, is_asked_for: bool) -> Result<Option<UndoableMerge>, Failure> {
    match (session.undoable_merge, session.status) {
        (Some(merge), Status::Merged) => Ok(Some(merge)),
        (Some(merge), _) if is_asked_for => Ok(Some(merge)),
        (None, _) if is_asked_for => {
            let message = format!("session `{}` has no merge that can be taken back now", session.id);
            Err(Failure::new(Exit::Failed, message)
                .hint(format!("`coppice undo {}` takes back its last turn", session.id)))
        }
        // Nothing has changed since: an undo could mean the merge, or the work before it.
        (Some(merge), _) => {
            let (id, commit) = (&session.id, short(&merge.commit));
            let message =
                format!("session `{id}` has changed nothing since its merge {commit} into `{}`", merge.target);
            Err(Failure::new(Exit::Failed, message).hint(format!(
                "`coppice undo {id} --merge` takes the merge back, `coppice undo {id} --to N` only the session's files"
            )))
        }
        (None, _) => Ok(None),
    }
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
        context.output.say(&Line::new().dim(format!("  {}", file_name(file))))?;
    }
    if let more @ 1.. = (merge.file_count as usize).saturating_sub(merge.files.len()) {
        context.output.say(&Line::new().dim(format!("  and {more} more")))?;
    }
    let again = Line::new().dim(format!("`coppice merge {}` merges it again", session.id));
    if session.changes.files > 0 {
        context.output.say(&again)?;
    }
    Ok(())
}
