//! Commands and pages of the web, performed in the session's cage.

use std::sync::Arc;

use crate::tools::Answer;
use crate::tools::command::Request;

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
