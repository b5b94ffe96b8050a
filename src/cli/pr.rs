//! `coppice pr`: the pull request of a session's branch at GitHub.

use super::line::Line;
use super::{Context, Exit, Failure, Format, FormatArg, IdArg};
use crate::api::publish::{CreatePull, Pull, PullQuery, UpdatePull};
use crate::look::pull;

/// Opens, changes and reads the pull request of a session's branch at GitHub.
///
/// The login is GITHUB_TOKEN of the shell that the session was created in, that of `gh`, or the file `github-token` beside
/// config.toml. No agent sees it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice push k3f && coppice pr create k3f --draft
  coppice pr update k3f --title \"Fix the pump\"
  coppice pr review k3f")]
pub(super) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    Create(CreateArgs),
    Update(UpdateArgs),
    /// Shows the pull request.
    Show(ReadArgs),
    /// Shows the pull request with its checks and its diff.
    Review(ReadArgs),
}

/// Opens a pull request; the branch must be pushed.
#[derive(Debug, clap::Args)]
struct CreateArgs {
    #[command(flatten)]
    id: IdArg,
    /// The branch to merge into; the one that the session started from unless said otherwise.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// One line of at most 72 characters; the session's title unless said otherwise.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The session's summary and its commits unless said otherwise.
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Open it as a draft.
    #[arg(long)]
    draft: bool,
    #[command(flatten)]
    format: FormatArg,
}

/// Changes title and text of the pull request.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true).args(["title", "body"])))]
struct UpdateArgs {
    #[command(flatten)]
    id: IdArg,
    /// One line of at most 72 characters.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The whole text, which takes the place of the one that is there.
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    #[command(flatten)]
    format: FormatArg,
}

#[derive(Debug, clap::Args)]
struct ReadArgs {
    #[command(flatten)]
    id: IdArg,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let client = context.client().await?;
    match args.act {
        Act::Create(CreateArgs { id, base, title, body, draft, format }) => {
            let pull = client.create_pull(&id.id, &CreatePull { base, title, body, draft }).await?;
            changed(&pull, format, context)
        }
        Act::Update(UpdateArgs { id, title, body, format }) => {
            let pull = client.update_pull(&id.id, &UpdatePull { title, body }).await?;
            changed(&pull, format, context)
        }
        Act::Show(ReadArgs { id, format }) => {
            let pull = client.pull(&id.id, &PullQuery { review: false }).await?;
            shown(&pull, format, context)
        }
        Act::Review(ReadArgs { id, format }) => {
            let pull = client.pull(&id.id, &PullQuery { review: true }).await?;
            shown(&pull, format, context)
        }
    }
}

/// The address alone: it is what scripts and people want of a pull request that they have just written.
fn changed(pull: &Pull, format: FormatArg, context: &mut Context) -> Result<Exit, Failure> {
    match format.choice() {
        Format::Json => context.output.json(pull)?,
        Format::Human => context.output.lines([&Line::new().plain(&pull.url)])?,
    }
    Ok(Exit::Done)
}

fn shown(pull: &Pull, format: FormatArg, context: &mut Context) -> Result<Exit, Failure> {
    match format.choice() {
        Format::Json => context.output.json(pull)?,
        Format::Human => context.output.lines(&pull::lines(pull))?,
    }
    Ok(Exit::Done)
}
