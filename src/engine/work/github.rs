//! GitHub for served tools: asked by the daemon, so that no agent sees a token.

use std::sync::Arc;

use crate::tools::Answer;
use crate::tools::github::Request;

use super::super::delegate::Caller;
use super::super::shared::Shared;
use super::Bench;

/// Performs a call.
pub(super) async fn perform(
    _shared: &Arc<Shared>,
    _caller: &Caller,
    _bench: &Arc<Bench>,
    request: Request,
) -> Result<Answer, String> {
    match request {}
}
