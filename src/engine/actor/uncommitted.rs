//! Work of a turn that is in no commit, because something is in the way of git: every view shows it, and it is tried
//! again.

use tracing::warn;

use crate::api::event::Payload;
use crate::api::session::TurnError;
use crate::git::diff::{self, CommitChanges, Target};
use crate::git::{GitError, Worktree};
use crate::session::Session;
use crate::store::Durability;

use super::super::fault::Fault;
use super::super::prepare::failure;
use super::super::record::{ChildAccess, Tree, Uncommitted, UncommittedCause};
use super::tree::{blocking, changes};
use super::{Actor, TurnRun};

impl Actor {
    /// Says why a checkpoint failed, and counts the files instead.
    pub(super) async fn keep_uncommitted(&mut self, fault: Fault) {
        let cause = uncommitted_cause(&fault);
        self.note_uncommitted(&failure(fault).message, cause);
        self.count_uncommitted().await;
    }

    /// Says that the turn's files are in no commit, and why.
    fn note_uncommitted(&mut self, reason: &str, cause: UncommittedCause) {
        self.not_committed(reason);
        if let Some(turn) = &mut self.turn {
            turn.checkpoint_failed = true;
        }
        let (id, worktree) = (self.id, &self.record.body.worktree);
        let message = format!("what the turn changed could not be committed: {reason}");
        warn!(session = %id, message, "no checkpoint");
        let way_out = match cause {
            UncommittedCause::Failure => {
                format!(
                    "once the cause is gone, Coppice commits them within two minutes, and `coppice merge {id}` at once"
                )
            }
            UncommittedCause::GivenUp => format!("`coppice merge {id}` and the next prompt commit them"),
        };
        let error = TurnError {
            kind: TurnError::UNCOMMITTED.to_owned(),
            message: message.clone(),
            hint: Some(format!("the changed files are in {worktree}: {way_out}")),
            ..TurnError::default()
        };
        let message = format!("{message}; the files are in {worktree}");
        self.staged.push(Payload::Warning { message });
        self.record.body.uncommitted = Some(Uncommitted { error: error.clone(), cause });
        self.record.body.last_error = Some(error);
    }

    /// Counts what is in no commit, where that takes nobody's patience.
    async fn count_uncommitted(&mut self) {
        if !self.record.body.is_to_be_committed_again() {
            return;
        }
        let count = async {
            let (tree, from) = (self.tree().await?, self.record.body.measured_from().parse()?);
            let count = move |tree: Worktree| diff::changes(&tree, &from, Target::WorkTree);
            self.shared.in_stoppable_tree(self.id, &tree, count).await
        };
        match count.await {
            Ok(total) => self.record.body.changes = changes(total),
            Err(fault) => warn!(session = %self.id, %fault, "what is not committed is not counted"),
        }
    }

    /// Counts the files of the session's branch, where nothing is to be committed. What was counted before may be gone
    /// without having been committed, for example together with its worktree.
    pub(super) async fn count_committed(&mut self, tree: Worktree) {
        let count = async {
            let from = self.record.body.measured_from().parse()?;
            let read = move || {
                let tip = tree.repo.find_ref(&tree.branch_ref())?;
                let tip = tip.ok_or_else(|| GitError::BranchMissing { branch: tree.branch.clone() })?;
                diff::commit_changes(&tree, &from, tip)
            };
            blocking(read).await
        };
        match count.await {
            Ok(CommitChanges { files, .. }) => self.record.body.changes = changes(diff::total(&files)),
            Err(fault) => warn!(session = %self.id, %fault, "what is committed is not counted"),
        }
    }

    /// Says so of a turn that ends before its files could be committed.
    pub(super) fn note_cut_off(&mut self) {
        let is_settled = |turn: &TurnRun| turn.started.is_none() || turn.checkpoint.is_some() || turn.checkpoint_failed;
        let may_write = self.access() != Some(ChildAccess::ReadOnly);
        if let Tree::Ready = self.record.body.tree
            && may_write
            && !self.turn.as_ref().is_none_or(is_settled)
        {
            self.note_uncommitted("the turn was cut off", UncommittedCause::Failure);
        }
    }

    /// Tries again to commit what the last turn changed, if that is still to be done.
    pub(super) async fn commit_again(&mut self) -> Result<(), Fault> {
        match (self.state, self.record.body.tree) {
            (Session::Resting(_), Tree::Ready) if self.record.body.is_to_be_committed_again() => {
                let committed = self.commit_leftovers().await;
                if let (Err(fault), Some(uncommitted)) = (&committed, &mut self.record.body.uncommitted) {
                    uncommitted.cause = uncommitted_cause(fault);
                }
                // A try that fails like the last one is no news.
                if committed.is_ok() || !self.record.body.is_to_be_committed_again() {
                    self.persist(Durability::Normal, Vec::new()).await?;
                }
                committed.map(drop)
            }
            // The end of the turn commits it as well, and what is removed is saved as it is.
            (Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) | Session::Attached(_), _) => Ok(()),
        }
    }
}

fn uncommitted_cause(fault: &Fault) -> UncommittedCause {
    let is_given_up = matches!(fault, Fault::Git(GitError::Stopped { .. }));
    if is_given_up { UncommittedCause::GivenUp } else { UncommittedCause::Failure }
}
