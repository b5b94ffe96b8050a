//! `coppice push`: a session's branch goes to the remote `origin`.

use super::line::{Line, Tone};
use super::{Context, Exit, Failure, Format};
use crate::api::publish::Push;

/// Pushes a session's branch to `origin`.
///
/// Nothing is forced and no hook runs. Work of a turn in progress is not part of it: the last checkpoint is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice push k3f
  coppice push k3f --branch fix/pump && coppice pr create k3f")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
    /// What the branch is called at `origin`; its own name unless said otherwise, and then as before.
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let pushed = context.client().await?.push(&args.id.id, &Push { branch: args.branch, ..Push::default() }).await?;
    match args.format.choice() {
        Format::Json => context.output.json(&pushed)?,
        Format::Human => {
            let head = Line::new().strong(&pushed.session).plain(" ").with(Tone::Good, "pushed to ");
            context.output.say(&head.plain(format!("{}/{}", pushed.remote, pushed.branch)))?;
        }
    }
    Ok(Exit::Done)
}
