//! `coppice pr`: the pull request of a session's branch at GitHub.

use super::line::{Line, Tone};
use super::{Context, Exit, Failure, Format, FormatArg, IdArg};
use crate::api::publish::{CheckOutcome, CreatePull, Pull, PullQuery, PullReview, UpdatePull};

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
        Format::Human => context.output.lines(&lines(pull))?,
    }
    Ok(Exit::Done)
}

fn lines(pull: &Pull) -> Vec<Line> {
    let draft = if pull.draft { ", draft" } else { "" };
    let tone = match pull.state.as_str() {
        "open" => Tone::Good,
        _ => Tone::Dim,
    };
    let mut lines = vec![
        Line::new().strong(format!("#{}", pull.number)).plain(" ").plain(&pull.title),
        Line::new().with(tone, format!("{}{draft}", pull.state)).plain(format!("  {} into {}", pull.head, pull.base)),
        Line::new().plain(&pull.url),
    ];
    if !pull.body.is_empty() {
        lines.push(Line::new());
        lines.extend(pull.body.lines().map(|line| Line::new().plain(line)));
    }
    lines.extend(pull.review.iter().flat_map(reviewed));
    lines
}

fn reviewed(review: &PullReview) -> Vec<Line> {
    let mut lines: Vec<_> = review.warnings.iter().map(|text| Line::new().with(Tone::Bad, text)).collect();
    if !lines.is_empty() {
        lines.insert(0, Line::new());
    }
    let checks = review.checks.as_deref().unwrap_or_default();
    if !checks.is_empty() {
        lines.push(Line::new());
    }
    for check in checks {
        let tone = match check.outcome {
            CheckOutcome::Failing => Tone::Bad,
            CheckOutcome::Pending | CheckOutcome::Other => Tone::Dim,
            CheckOutcome::Passing => Tone::Good,
        };
        lines.push(Line::new().with(tone, check.state.to_lowercase()).plain("  ").plain(&check.name));
    }
    if let Some(diff) = &review.diff {
        lines.push(Line::new());
        lines.extend(diff.lines().map(|line| Line::new().plain(line)));
    }
    if review.diff_truncated {
        lines.push(Line::new().with(Tone::Dim, "… the rest of the diff is not shown"));
    }
    lines
}
