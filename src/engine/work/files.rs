//! Work on files, performed in the session's cage.

use std::sync::Arc;

use crate::tools::Answer;
use crate::tools::files::Request;
use crate::tools::inside;

use super::super::delegate::Caller;
use super::super::shared::Shared;
use super::Bench;

/// Performs a call.
pub(super) async fn perform(
    shared: &Arc<Shared>,
    caller: &Caller,
    bench: &Arc<Bench>,
    request: Request,
) -> Result<Answer, String> {
    super::inside::perform(shared, caller, bench, inside::Request::Files(request)).await
}
