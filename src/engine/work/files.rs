//! Work on files, performed in the session's cage.

use std::sync::Arc;

use crate::tools::Answer;
use crate::tools::files::Request;
use crate::tools::inside;

use super::super::delegate::Caller;
use super::super::prepare;
use super::super::shared::Shared;
use super::Bench;

/// Performs a call.
pub(super) async fn perform(
    shared: &Arc<Shared>,
    caller: &Caller,
    bench: &Arc<Bench>,
    request: Request,
) -> Result<Answer, String> {
    let request = match request {
        Request::Grep(_) | Request::ApplyDiff { .. } => {
            let judge = prepare::judge_of(shared, &caller.record).await;
            let judge = judge.map_err(|fault| format!("the rules cannot be read: {fault}"))?;
            request.keeping(judge.kept(&caller.role), judge.tree())?
        }
        Request::ReadFile { .. }
        | Request::ReadManyFiles { .. }
        | Request::WriteFile { .. }
        | Request::EditFile { .. }
        | Request::Mkdir { .. }
        | Request::CopyFile { .. }
        | Request::MoveFile { .. }
        | Request::DeleteFile { .. }
        | Request::ListDir { .. }
        | Request::Glob { .. } => request,
    };
    super::inside::perform(shared, caller, bench, inside::Request::Files(request)).await
}
