//! `coppice integrate`: a child's result comes into its parent's work tree, or nothing happens at all.

use super::line::{Line, Tone, one_line};
use super::{Context, Exit, Failure, Format};
use crate::api::handoff::{Handoff, Integration};

/// Brings what a child session changed into its parent's work tree.
///
/// All of it or nothing: where a file does not fit, or changed meanwhile, nothing is written and the files are named.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice integrate q7x")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    let session = client.integrate(&args.id.id).await?;
    let handoffs = match &session.parent {
        Some(parent) => client.handoffs(parent).await?.items,
        None => Vec::new(),
    };
    let handoff = handoffs.into_iter().find(|handoff| handoff.child_session_id == session.id);
    match (args.format.choice(), &handoff) {
        (Format::Json, Some(handoff)) => context.output.json(handoff)?,
        (Format::Json, None) => context.output.json(&session)?,
        (Format::Human, Some(handoff)) => context.output.say_all(&lines(handoff))?,
        (Format::Human, None) => context.output.say(&Line::new().strong(&session.id).plain(" integrated"))?,
    }
    if args.format.choice() == Format::Human {
        context.output.warn(&session.warnings)?;
    }
    Ok(handoff.map_or(Exit::Done, |handoff| verdict(&handoff.integration)))
}

fn verdict(integration: &Integration) -> Exit {
    match integration {
        Integration::Nothing {} | Integration::Integrated { .. } => Exit::Done,
        Integration::Pending {}
        | Integration::Uncommitted { .. }
        | Integration::Conflict { .. }
        | Integration::Changed { .. } => Exit::Failed,
    }
}

fn lines(handoff: &Handoff) -> Vec<Line> {
    let parent = &handoff.parent_session_id;
    let (outcome, files) = match &handoff.integration {
        Integration::Nothing {} => (Line::new().dim("changed nothing"), &[][..]),
        Integration::Pending {} => (Line::toned(Tone::Warn, "is not integrated"), &[][..]),
        Integration::Uncommitted { worktree, reason } => {
            let why = format!(" ({}); its changes are in {}", one_line(reason), one_line(worktree));
            (Line::toned(Tone::Bad, "could not be committed").plain(why), &[][..])
        }
        Integration::Integrated { files } => {
            (Line::toned(Tone::Good, format!("integrated into {parent}")), files.as_slice())
        }
        Integration::Conflict { files } => {
            (Line::toned(Tone::Bad, "conflict").plain(format!("; nothing was written to {parent}")), files.as_slice())
        }
        Integration::Changed { files } => {
            let why = format!("; files of {parent} changed meanwhile, and nothing was written");
            (Line::toned(Tone::Bad, "refused").plain(why), files.as_slice())
        }
    };
    let head = Line::new().strong(&handoff.child_session_id).plain(" ").then(outcome);
    let files = files.iter().map(|file| Line::new().plain(format!("  {}", one_line(file))));
    std::iter::once(head).chain(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::sample;

    fn text(integration: Integration) -> String {
        let lines = lines(&Handoff { integration, ..sample::handoff() });
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_outcome_names_the_files() {
        let files = vec!["a.rs".to_owned(), "b.rs".to_owned()];
        insta::assert_snapshot!(text(Integration::Integrated { files: files.clone() }), @r"
        efgh3456 integrated into abcd2345
          a.rs
          b.rs
        ");
        insta::assert_snapshot!(text(Integration::Conflict { files: files.clone() }), @r"
        efgh3456 conflict; nothing was written to abcd2345
          a.rs
          b.rs
        ");
        insta::assert_snapshot!(text(Integration::Changed { files }), @r"
        efgh3456 refused; files of abcd2345 changed meanwhile, and nothing was written
          a.rs
          b.rs
        ");
        let (worktree, reason) = ("/trees/efgh3456".to_owned(), "git add failed".to_owned());
        insta::assert_snapshot!(
            text(Integration::Uncommitted { worktree, reason }),
            @"efgh3456 could not be committed (git add failed); its changes are in /trees/efgh3456"
        );
        insta::assert_snapshot!(text(Integration::Nothing {}), @"efgh3456 changed nothing");
    }

    #[test]
    fn what_did_not_come_home_is_a_failure() {
        for (integration, code) in [
            (Integration::Nothing {}, 0),
            (Integration::Integrated { files: vec![] }, 0),
            (Integration::Pending {}, 1),
            (Integration::Conflict { files: vec![] }, 1),
            (Integration::Changed { files: vec![] }, 1),
        ] {
            assert_eq!(verdict(&integration).code(), code, "{integration:?}");
        }
    }
}
