//! `coppice resolve`: what a model proposes for a conflict, and the person's consent to exactly that.

use super::diff::patch_line;
use super::line::{Line, Tone, one_line};
use super::output::Sink;
use super::status::{self, count};
use super::{Context, Exit, Failure, Format, ask};
use crate::api::resolution::{ProposedFile, ResolutionProposal};
use crate::api::session::{Session, Status};

/// Asks the session's model to resolve a conflict, and shows what it proposes.
///
/// The model sees the marked regions of all text files in conflict and can do nothing but answer. Nothing changes until you
/// accept the proposal. Binary files, deleted files and large files are listed and left alone.
///
/// A proposal is for the files as they are: once one of them changes, it cannot be accepted any more.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice resolve k3f
  coppice resolve k3f --accept $(coppice resolve k3f --json | jq -r .id)")]
pub(super) struct ResolveArgs {
    #[command(flatten)]
    id: super::IdArg,
    /// Apply this proposal, without a question.
    #[arg(long, value_name = "PROPOSAL")]
    accept: Option<String>,
    #[command(flatten)]
    format: super::FormatArg,
}

pub(super) async fn run(args: ResolveArgs, context: &mut Context) -> Result<Exit, Failure> {
    let (client, format) = (context.client().await?, args.format.choice());
    if let Some(proposal) = args.accept {
        return tell(format, context, &client.accept_resolution(&args.id.id, &proposal).await?);
    }
    let proposal = client.propose_resolution(&args.id.id).await?;
    if format == Format::Json {
        context.output.json(&proposal)?;
        return Ok(Exit::Done);
    }
    match context.output.data_sink() {
        Sink::Terminal => context.output.lines(&proposal.patch.lines().map(patch_line).collect::<Vec<_>>())?,
        Sink::Other => context.output.bytes(proposal.patch.as_bytes())?,
    }
    context.output.say_all(&summary(&proposal))?;
    match ask::is_possible() {
        ask::Possible::No => {
            let accept = format!("coppice resolve {} --accept {}", proposal.session, proposal.id);
            context.output.say(&Line::toned(Tone::Accent, "hint:").plain(format!(" `{accept}` applies it")))?;
            Ok(Exit::WaitsForApproval)
        }
        ask::Possible::Yes => match ask::line(context, Line::new().strong("apply this? [y/N] ")).await?.as_deref() {
            Some("y" | "Y" | "yes") => {
                tell(format, context, &client.accept_resolution(&proposal.session, &proposal.id).await?)
            }
            Some(_) | None => {
                context.output.say(&Line::new().dim("nothing was changed"))?;
                Ok(Exit::Done)
            }
        },
    }
}

fn summary(proposal: &ResolutionProposal) -> Vec<Line> {
    let proposed = |file: &ProposedFile| {
        let regions = count(file.regions as usize, "region");
        Line::new().plain(format!("  {}", one_line(&file.path))).dim(format!("  {regions}"))
    };
    let mut lines = vec![Line::new().plain("proposal ").strong(&proposal.id)];
    lines.extend(proposal.files.iter().map(proposed));
    lines.extend(proposal.left_out.iter().map(|file| {
        Line::toned(Tone::Warn, "  not proposed: ")
            .plain(one_line(&file.path))
            .dim(format!("  {}", one_line(&file.reason)))
    }));
    lines
}

fn tell(format: Format, context: &mut Context, session: &Session) -> Result<Exit, Failure> {
    match format {
        Format::Json => context.output.json(session)?,
        Format::Human => {
            let head = Line::new().strong(&session.id).plain(" the proposal is applied, ");
            context.output.say(&head.then(status::word(session.status)))?;
            if session.status == Status::Conflict {
                let files = session.conflicts.iter().map(|file| one_line(file)).collect::<Vec<_>>().join(", ");
                context.output.say(&Line::new().plain(format!("still in conflict: {files}")))?;
            }
            context.output.warn(&session.warnings)?;
        }
    }
    Ok(Exit::Done)
}
