//! Git for served tools: in the repository of the session, by the rules of the `git` room.

use std::sync::Arc;

use crate::tools::Answer;
use crate::tools::history::Request;

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
