//! `coppice attach`: the agent's own interface on a session's conversation.

use super::{Context, Exit, Failure, passthrough};
use crate::api::attach::Program;

/// Opens the agent's own interface on the session's conversation, in its worktree.
///
/// Ctrl+] comes back. The agent asks you about its calls there, the sandbox holds it as in a turn, and no turn begins
/// meanwhile. What changed is committed when you leave.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  coppice attach k3f")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    passthrough::run(&args.id.id, Program::Agent, context).await
}
