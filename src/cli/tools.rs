//! `coppice tools`: what an agent would really get on a backend, and why it would not get the rest.

use super::new::PROFILES;
use super::{Context, Exit, Failure, Format, FormatArg};
use crate::api::tool::ToolQuery;
use crate::look::tool;

/// Lists the tools that an agent would get on a backend: its own that are left, those that are served, and why others
/// are missing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Profiles:
  native    the agent works with its own tools; served are those that it lacks
  enforced  its own tools are off, and served ones take their place
  readonly  the same, with those only that change nothing

Examples:
  coppice tools
  coppice tools --agent reviewer --model codex
  coppice tools --profile enforced --json")]
pub(super) struct Args {
    /// The agent; the configured one when absent.
    #[arg(long, value_name = "AGENT[:PERSONA]")]
    agent: Option<String>,
    /// The backend, installed or not; what a session of the agent would have when absent.
    #[arg(long, value_name = "BACKEND[/MODEL]")]
    model: Option<String>,
    /// As if a session had asked for this profile.
    #[arg(long, value_name = "PROFILE", value_parser = PROFILES)]
    profile: Option<String>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let place = context.backends()?;
    let Args { agent, model, profile, format } = args;
    let query = ToolQuery { cwd: place.cwd, path: place.path, agent, model, profile };
    let surface = context.client().await?.tools(&query).await?;
    match format.choice() {
        Format::Json => context.output.json(&surface)?,
        Format::Human => context.output.lines(&tool::lines(&surface))?,
    }
    Ok(Exit::Done)
}
