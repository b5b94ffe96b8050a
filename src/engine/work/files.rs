//! Work on files, performed in the session's work tree.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::task;

use crate::tools::Answer;
use crate::tools::files::{Request, act};
use crate::tools::inside::root::Root;

use super::super::delegate::Caller;
use super::super::shared::Shared;
use super::Bench;

/// Performs a call.
pub(super) async fn perform(
    _shared: &Arc<Shared>,
    caller: &Caller,
    _bench: &Arc<Bench>,
    request: Request,
) -> Result<Answer, String> {
    let tree = PathBuf::from(&caller.record.body.worktree);
    let work = move || {
        let root = Root::open(&tree, None).map_err(|error| format!("the work tree cannot be opened: {error}"))?;
        act::perform(&root, &request)
    };
    task::spawn_blocking(work).await.map_err(|error| format!("the call broke off: {error}"))?
}
