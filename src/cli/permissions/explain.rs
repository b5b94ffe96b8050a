//! `coppice permissions explain`: the verdict about one call, the step and the rule that gave it, and the files behind it.

use crate::api::request::ExplainPermission;
use crate::cli::{Context, Exit, Failure, Format, FormatArg, posture};
use crate::look::verdict;

/// Says whether a call would go ahead, be asked about or be denied, and why. Nothing is run.
///
/// A call is named as in a rule, such as `Bash`, `Edit` or `MCP`, or as an agent names its tool. A command of several
/// words is one argument.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  coppice permissions explain Bash \"cargo test && git push\"
  coppice permissions explain Edit src/main.rs --posture plan
  coppice permissions explain mcp:github:create_issue --session k3f")]
pub(in crate::cli) struct Args {
    /// A tool in any spelling, `mcp:SERVER:TOOL`, or the word of a rule.
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Paths, a command or a URL.
    #[arg(value_name = "ARG")]
    arguments: Vec<String>,
    /// The session that makes the call; one that begins here when absent.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The agent that makes the call.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    posture: posture::PostureArg,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    let Args { tool, arguments, session, agent, posture: posture::PostureArg { posture, yolo }, format } = args;
    let cwd = context.cwd()?;
    let call = ExplainPermission { cwd, session, agent, posture, yolo, tool, arguments };
    let explanation = context.client().await?.explain(&call).await?;
    match format.choice() {
        Format::Json => context.output.json(&explanation)?,
        Format::Human => context.output.lines(&verdict::lines(&explanation))?,
    }
    Ok(Exit::Done)
}
