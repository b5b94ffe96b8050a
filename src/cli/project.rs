//! `coppice project`: what concerns a repository as a whole.

use std::path::{Path, PathBuf, absolute};

use super::line::{Line, one_line};
use super::status::count;
use super::{Context, Exit, Failure, Format};
use crate::api::project::Relink;
use crate::look::moved::checkout;

/// Looks after the repositories that have sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice project relink
  coppice project relink ~/src/old-name ~/src/new-name")]
pub(super) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    Relink(RelinkArgs),
}

/// Links the sessions of a repository that was moved to its new place.
///
/// Without OLD, they are the sessions whose branches the repository has and whose own repository is gone.
#[derive(Debug, clap::Args)]
struct RelinkArgs {
    /// Where the repository was.
    #[arg(value_name = "OLD")]
    old: Option<PathBuf>,
    /// Where it is; the current directory when absent.
    #[arg(value_name = "NEW")]
    new: Option<PathBuf>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    match args.act {
        Act::Relink(args) => relink(args, context).await,
    }
}

async fn relink(args: RelinkArgs, context: &mut Context) -> Result<Exit, Failure> {
    let cwd = match &args.new {
        Some(new) => whole(new)?,
        None => context.cwd()?,
    };
    let from = args.old.as_deref().map(whole).transpose()?;
    let relinked = context.client().await?.relink(&Relink { cwd, from }).await?;
    match args.format.choice() {
        Format::Json => context.output.json(&relinked)?,
        Format::Human => {
            let new = one_line(checkout(&relinked.project));
            for moved in &relinked.moved {
                let (sessions, old) = (count(moved.sessions as usize, "session"), one_line(checkout(&moved.project)));
                context.output.say(&Line::new().plain(format!("{sessions} of `{old}` relinked to `{new}`")))?;
            }
        }
    }
    Ok(Exit::Done)
}

/// The whole path; what it names need not exist.
fn whole(path: &Path) -> Result<String, Failure> {
    let path = absolute(path).map_err(|error| Failure::because("failed to read the path", &error))?;
    Ok(path.to_string_lossy().trim_end_matches('/').to_owned())
}
