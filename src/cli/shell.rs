//! `coppice shell`: a shell in a session's worktree.

use super::{Context, Exit, Failure, passthrough};
use crate::api::attach::Program;

/// Opens your shell in the session's worktree, in the sandbox that its agent has.
///
/// Ctrl+] comes back, and so does the end of the shell. No turn begins meanwhile. What changed is committed when you
/// leave.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  coppice shell k3f")]
pub(super) struct Args {
    #[command(flatten)]
    id: super::IdArg,
}

pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Failure> {
    passthrough::run(&args.id.id, Program::Shell, context).await
}
