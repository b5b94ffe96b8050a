//! Work that served tools ask for, performed where it belongs: in the session's cage, by its language servers, in its
//! repository, or at GitHub.
//!
//! By the time a call comes here it is allowed. Both outcomes are texts for the model.

mod code;
mod command;
mod files;
mod github;
mod history;
mod inside;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::permission::Reach;
use crate::tools::{self, Answer, Work};

use super::delegate::Caller;
use super::shared::Shared;

pub(super) use code::Languages;

/// What the work of one turn shares; it ends with the turn.
#[derive(Default)]
pub(super) struct Bench {
    /// The process inside the session's cage, once a call needed it.
    inside: tokio::sync::Mutex<Option<Arc<inside::Inside>>>,
}

/// Performs a call.
pub(super) async fn perform(
    shared: &Arc<Shared>,
    caller: &Caller,
    bench: &Arc<Bench>,
    work: Work,
) -> Result<Answer, String> {
    match work {
        Work::Files(request) => {
            let written = written(caller, &request);
            let mut answer = files::perform(shared, caller, bench, request).await?;
            if let Some(found) = code::after_write(shared, caller, &written).await {
                answer.text.push_str("\n\n");
                answer.text.push_str(&found);
            }
            Ok(answer)
        }
        Work::Command(request) => command::perform(shared, caller, bench, request).await,
        Work::Code(request) => code::perform(shared, caller, bench, request).await,
        Work::History(request) => history::perform(shared, caller, bench, request).await,
        Work::GitHub(request) => github::perform(shared, caller, bench, request).await,
    }
}

/// The files whose text a call changes.
fn written(caller: &Caller, request: &tools::files::Request) -> Vec<PathBuf> {
    use tools::files::Request as R;
    match request {
        R::WriteFile { .. } | R::EditFile { .. } | R::ApplyDiff { .. } | R::CopyFile { .. } | R::MoveFile { .. } => {
            match Work::Files(request.clone()).reach(Path::new(&caller.record.body.worktree)) {
                Reach::Paths(paths) => paths,
                Reach::Command { .. } | Reach::Url(_) | Reach::Mcp { .. } | Reach::Elsewhere => Vec::new(),
            }
        }
        R::ReadFile { .. }
        | R::ReadManyFiles { .. }
        | R::Mkdir { .. }
        | R::DeleteFile { .. }
        | R::ListDir { .. }
        | R::Glob { .. }
        | R::Grep(_) => Vec::new(),
    }
}
