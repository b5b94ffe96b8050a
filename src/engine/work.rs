//! Work that served tools ask for, performed where it belongs: in the session's cage, by its language servers, in its
//! repository, or at GitHub.
//!
//! By the time a call comes here it is allowed. Both outcomes are texts for the model.

mod code;
mod command;
mod consent;
mod files;
mod github;
mod history;
mod inside;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::permission::Reach;
use crate::tools::{self, Answer, Work};

use super::delegate::Caller;
use super::shared::Shared;

pub(super) use code::Languages;
pub(super) use consent::{Allowed, Consent, Wider};
pub(super) use history::describe_patch;

/// What the work of one turn shares; it ends with the turn.
#[derive(Default)]
pub(super) struct Bench {
    /// The process inside the session's cage, once a call needed it.
    inside: tokio::sync::Mutex<inside::Place>,
    /// The calls that change the tree or its branch beside that process.
    changing: TaskTracker,
}

impl Bench {
    /// Has the end of the turn wait for a call that changes the tree beside the process in the cage. To be called before
    /// the call begins.
    pub(super) fn enter(&self, work: &Work) -> Option<TaskTrackerToken> {
        use tools::history::Request as R;
        match work {
            Work::History(R::Git { .. } | R::Change(_) | R::Commit { .. }) => Some(self.changing.token()),
            // A push and a look change no file, files and commands are that process's, and an answer of a language server
            // is not waited for.
            Work::History(R::Look(_) | R::Push)
            | Work::Files(_)
            | Work::Command(_)
            | Work::Code(_)
            | Work::GitHub(_) => None,
        }
    }

    /// Ends what works on the tree, and returns when nothing of it writes any more. The calls have been told that nobody
    /// waits for them.
    pub(super) async fn end(&self) {
        self.inside.lock().await.end().await;
        self.changing.close();
        self.changing.wait().await;
    }
}

/// Performs a call.
pub(super) async fn perform(
    shared: &Arc<Shared>,
    caller: &Caller,
    bench: &Arc<Bench>,
    consent: &Consent,
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
        Work::Code(request) => code::perform(shared, caller, consent, request).await,
        Work::History(request) => history::perform(shared, caller, request).await,
        Work::GitHub(request) => github::perform(shared, caller, request).await,
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

#[cfg(test)]
mod tests {
    use futures_util::future::poll_immediate;

    use super::*;
    use crate::tools::history::{Change, Look, Request, Selection};

    #[tokio::test]
    async fn a_turn_without_served_work_waits_for_nothing_at_its_end() {
        let bench = Bench::default();
        assert!(bench.enter(&Work::History(Request::Look(Look::BranchStatus))).is_none());
        let ended = std::pin::pin!(bench.end());
        assert_eq!(poll_immediate(ended).await, Some(()));
    }

    #[tokio::test]
    async fn the_end_of_a_turn_waits_for_a_call_that_changes_the_tree() {
        let bench = Bench::default();
        let call = bench.enter(&Work::History(Request::Change(Change::Stage(Selection::All))));
        let mut ended = std::pin::pin!(bench.end());
        assert_eq!(poll_immediate(&mut ended).await, None);
        drop(call);
        ended.await;
    }
}
