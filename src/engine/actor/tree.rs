//! What happens to a session's files at the end of a turn: they are committed to its branch as a checkpoint.
//!
//! It happens while the session is at rest or its turn closes, inside the session's own task, so that nothing else
//! touches the tree meanwhile.

use std::collections::BTreeSet;
use std::mem;
use std::path::{Path, PathBuf};

use tracing::warn;

use crate::api::event::Payload;
use crate::api::session::Changes;
use crate::backend::failure::{Failure, FailureKind};
use crate::git::diff::{self, CommitChanges, FileChange};
use crate::git::history::{self, Checkpoint, Recorded};
use crate::git::worktree::Health;
use crate::git::{self, GitError, Oid, Repo, Worktree};
use crate::protocol::naming;
use crate::sandbox::quiesce;
use crate::session::Session;
use crate::store::{Change, Durability, Write};

use super::super::fault::Fault;
use super::super::prepare;
use super::super::record::{ChildAccess, Tree, TurnBody};
use super::super::resolution::ProposalCommand;
use super::{Actor, Command};

/// What a command does with the session's files.
pub(super) enum FileUse {
    /// It works on, or puts them away, as they are.
    Continue,
    /// It brings them together with another branch.
    Integrate,
    /// It puts them back to an earlier state.
    Reset,
    /// Nothing that depends on their state; what is removed is saved as it is.
    Nothing,
}

impl Command {
    pub(super) fn file_use(&self) -> FileUse {
        match self {
            Self::Start
            | Self::Send { .. }
            | Self::SendReview
            | Self::Answer { .. }
            | Self::Resume(_)
            | Self::Attach(_)
            | Self::Archive => FileUse::Continue,
            Self::Merge(_) | Self::Rebase | Self::Integrate | Self::Resolution(ProposalCommand::Accept(_)) => {
                FileUse::Integrate
            }
            Self::Undo(_) | Self::Redo => FileUse::Reset,
            Self::Remove
            | Self::Restore
            | Self::Resolution(ProposalCommand::Keep(_))
            | Self::DropPrompt { .. }
            | Self::Decide { .. }
            | Self::Stop
            | Self::Abort { .. }
            | Self::Relink { .. }
            | Self::SetPosture { .. }
            | Self::Note { .. }
            | Self::Recount { .. }
            | Self::CommitAgain
            | Self::Retitle { .. }
            | Self::Reword { .. } => FileUse::Nothing,
        }
    }
}

impl Actor {
    /// Ends what the turn left running behind the agent's back. The agent itself stays for the next turn.
    pub(super) async fn end_leftovers(&mut self) {
        if let Err(error) = quiesce::end_orphans(Path::new(&self.record.body.worktree)).await {
            let message = format!("processes that the turn started may still run: {error}");
            warn!(session = %self.id, message, "leftovers");
            self.staged.push(Payload::Warning { message });
        }
    }

    /// Brings back what somebody removed by hand of the worktree or the branch, before a command works on the files. A turn
    /// does the same when it begins.
    pub(super) async fn mend_tree(&mut self, command: &Command) -> Result<(), Fault> {
        match command.file_use() {
            FileUse::Integrate | FileUse::Reset => {}
            FileUse::Continue | FileUse::Nothing => return Ok(()),
        }
        let (Session::Resting(_), Tree::Ready) = (self.state, self.record.body.tree) else { return Ok(()) };
        let tree = self.tree().await?;
        let looked_at = tree.clone();
        if blocking(move || looked_at.health()).await? == Health::Sound {
            return Ok(());
        }
        let lock = self.shared.tree_lock(self.id);
        let _held = lock.lock().await;
        let warnings = prepare::mend(&self.record, &tree).await?;
        self.staged.extend(warnings.into_iter().map(|message| Payload::Warning { message }));
        Ok(())
    }

    /// Whether somebody removed the worktree while the turn worked in it; the turn has failed then.
    pub(super) fn lost_tree(&mut self) -> bool {
        let path = Path::new(&self.record.body.worktree);
        let is_gone = match self.record.body.tree {
            Tree::Ready => !path.symlink_metadata().is_ok_and(|found| found.is_dir()),
            Tree::Absent | Tree::Away | Tree::Creating | Tree::Unprepared => false,
        };
        if is_gone && let Some(turn) = &mut self.turn {
            let message = format!("the worktree `{}` was removed during the turn", path.display());
            let hint = "run `coppice resume`: the worktree comes back as it was at the last checkpoint";
            turn.failure.get_or_insert_with(|| Failure::new(FailureKind::Setup, message).with_hint(hint));
        }
        is_gone
    }

    /// Puts what the turn changed onto the session's branch. A failure is a warning: the files are where they were.
    pub(super) async fn commit(&mut self) {
        if let Tree::Absent | Tree::Away | Tree::Creating = self.record.body.tree {
            return;
        }
        let done = match self.access() {
            Some(ChildAccess::ReadOnly) => self.tidy_child().await,
            Some(ChildAccess::Write) | None => self.checkpoint().await,
        };
        self.keep_submodules().await;
        if let Err(fault) = done {
            self.keep_uncommitted(fault).await;
        }
    }

    async fn checkpoint(&mut self) -> Result<(), Fault> {
        let Some(turn) = &self.turn else { return Ok(()) };
        let (number, session) = (turn.number, self.id);
        let summary = turn.response.as_ref().and_then(|response| response.summary.as_ref());
        let message = naming::commit_message(summary, &self.record.body.title, number);
        let tree = self.tree().await?;
        let from = self.record.body.measured_from().parse()?;
        let checkpoint = move |tree: Worktree| {
            let about = Checkpoint { session, turn: number, message: &message };
            Kept::count(&tree, from, history::checkpoint(&tree, about)?)
        };
        let (kept, left_out) = self.shared.in_stoppable_tree(self.id, &tree, checkpoint).await?;
        self.record.body.forget_uncommitted();
        self.all_committed();
        self.note_left_out(&left_out);
        let Some(Kept { recorded, files, own, uncounted }) = kept else {
            self.count_committed(tree).await;
            return Ok(());
        };
        self.warn_of_uncounted(uncounted);
        self.record.body.changes = changes(diff::total(&files));
        let commit = recorded.commit.to_string();
        self.committed(&commit);
        if let Some(turn) = &mut self.turn {
            turn.checkpoint = Some(commit.clone());
        }
        self.staged.push(Payload::Checkpoint { turn: number, commit, changes: own });
        self.warn_of_attributes(&files);
        Ok(())
    }

    /// Says that files are listed without their lines.
    pub(super) fn warn_of_uncounted(&mut self, uncounted: Option<GitError>) {
        if let Some(error) = uncounted {
            let message = format!("the changed lines could not be counted: {error}");
            self.staged.push(Payload::Warning { message });
        }
    }

    /// Warns of what a checkpoint changes beyond its files.
    fn warn_of_attributes(&mut self, files: &[FileChange]) {
        if diff::touches_attributes(files) {
            let message = "the session changes `.gitattributes`, which can change how files are checked out";
            self.staged.push(Payload::Warning { message: message.to_owned() });
        }
    }

    /// What was changed in the tree since the last checkpoint, by hand or by a turn that did not end, belongs to the
    /// last turn; how much that is, if anything.
    pub(super) async fn commit_leftovers(&mut self) -> Result<Option<Changes>, Fault> {
        let turn = self.record.body.turns;
        let message = naming::commit_message(self.summary().as_ref(), &self.record.body.title, turn);
        Ok(self.commit_beside_turns(message).await?.map(|(_, changes)| changes))
    }

    /// Stores that no commit of its own holds what the last turn changed.
    pub(super) async fn note_failed_checkpoint(&mut self) -> Result<(), Fault> {
        let turn = self.record.body.turns;
        let Some(row) = self.shared.turn(self.id, turn).await? else { return Ok(()) };
        let body = TurnBody { checkpoint_failed: true, ..TurnBody::read(&row)? };
        self.persist(Durability::Normal, vec![Change::Turn(body.row(self.id, turn, row.raw))]).await?;
        Ok(())
    }

    /// Commits what changed while no turn ran; the commit and what is in it, if something had.
    pub(super) async fn commit_beside_turns(&mut self, message: String) -> Result<Option<(String, Changes)>, Fault> {
        self.keep_submodules().await;
        let tree = self.tree().await?;
        let (session, turn) = (self.id, self.record.body.turns);
        let from = self.record.body.measured_from().parse()?;
        let checkpoint = move |tree: Worktree| {
            Kept::count(&tree, from, history::checkpoint(&tree, Checkpoint { session, turn, message: &message })?)
        };
        let (kept, left_out) = self.shared.in_stoppable_tree(self.id, &tree, checkpoint).await?;
        self.record.body.forget_uncommitted();
        self.all_committed();
        self.note_left_out(&left_out);
        let Some(Kept { recorded, files, own, uncounted }) = kept else {
            self.count_committed(tree).await;
            return Ok(None);
        };
        self.warn_of_uncounted(uncounted);
        let commit = recorded.commit.to_string();
        self.record.body.changes = changes(diff::total(&files));
        self.committed(&commit);
        if let Some(row) = self.shared.turn(self.id, turn).await? {
            let mut body = TurnBody::read(&row)?;
            body.checkpoint = Some(commit.clone());
            self.staged.push(Payload::Checkpoint { turn, commit: commit.clone(), changes: own });
            self.warn_of_attributes(&files);
            self.persist(Durability::Normal, vec![Change::Turn(body.row(self.id, turn, row.raw))]).await?;
        }
        Ok(Some((commit, own)))
    }

    /// Takes the count of the files as a cut-off turn left them, unless the session has gone on. That is no news of the
    /// session's own, so it is not younger for it.
    pub(super) async fn recount(&mut self, turn: u32, was: Changes, now: Changes) -> Result<(), Fault> {
        let has_gone_on = match self.state {
            Session::Resting(_) => self.record.body.turns != turn || self.record.body.changes != was,
            Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => true,
        };
        if !has_gone_on && was != now {
            self.record.body.changes = now;
            let changes = vec![Change::Session(self.record.row())];
            self.shared.store.write(Write { durability: Durability::Normal, changes }).await?;
        }
        Ok(())
    }

    /// Takes the repository's new place, and makes the worktree and the repository know each other there. That is no news
    /// of the session's own, so it is not younger for it.
    pub(super) async fn relink(&mut self, common_dir: String) -> Result<(), Fault> {
        self.record.body.common_dir = common_dir;
        let changes = vec![Change::Session(self.record.row())];
        self.shared.store.write(Write { durability: Durability::Full, changes }).await?;
        match self.record.body.tree {
            Tree::Ready | Tree::Unprepared => {
                // Not `self.tree()`: a new clone knows nothing of the session until this has happened.
                let common_dir = PathBuf::from(&self.record.body.common_dir);
                let repo = blocking(move || Repo::discover(&common_dir)).await?;
                let tree = prepare::tree_of(&self.record, &repo)?;
                in_quiet_tree(&tree.path.clone(), move || git::worktree::link_again(&tree)).await
            }
            Tree::Absent | Tree::Away | Tree::Creating => Ok(()),
        }
    }

    pub(super) fn summary(&self) -> Option<crate::protocol::Summary> {
        let summary = self.record.body.summary.as_ref()?;
        Some(crate::protocol::Summary { turn: summary.turn.clone(), session: summary.session.clone() })
    }

    /// The session's worktree.
    pub(super) async fn tree(&self) -> Result<Worktree, Fault> {
        let repo = prepare::open_repo(&self.record).await?;
        prepare::tree_of(&self.record, &repo)
    }
}

/// A checkpoint and its numbers.
struct Kept {
    recorded: Recorded,
    /// What the session changed as a whole.
    files: Vec<FileChange>,
    /// What the checkpoint itself changed.
    own: Changes,
    /// Why the changed lines are not known.
    uncounted: Option<GitError>,
}

impl Kept {
    /// Counts a checkpoint, if it changed something; and what it left out. The checkpoint is made, so a count that is
    /// given up is no failure.
    fn count(tree: &Worktree, from: Oid, recorded: Option<Recorded>) -> Result<(Option<Self>, Vec<PathBuf>), GitError> {
        let Some(mut recorded) = recorded else { return Ok((None, Vec::new())) };
        let left_out = mem::take(&mut recorded.left_out);
        if recorded.is_empty() {
            return Ok((None, left_out));
        }
        let CommitChanges { files, uncounted } = diff::commit_changes(tree, &from, recorded.commit)?;
        let (own, uncounted) = match recorded.before == from {
            true => (diff::total(&files), uncounted),
            false => {
                let own = diff::commit_changes(tree, &recorded.before, recorded.commit)?;
                (diff::total(&own.files), uncounted.or(own.uncounted))
            }
        };
        Ok((Some(Self { recorded, files, own: changes(own), uncounted }), left_out))
    }
}

/// Runs git in a worktree while no process of its session runs there. What is stopped meanwhile includes the agent, so
/// the work is short, and starts nothing that waits for the worktree.
pub(in super::super) async fn in_quiet_tree<T: Send + 'static>(
    worktree: &Path,
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, Fault> {
    Ok(quiesce::run_in_quiet_tree(worktree, work).await??)
}

/// The same for the worktrees of several sessions, whatever their tasks do meanwhile. Whoever calls this may hold locks of
/// the engine; whoever has made a tree quiet takes none, so no two tasks wait for each other.
pub(super) async fn in_quiet_trees<T: Send + 'static>(
    worktrees: &BTreeSet<PathBuf>,
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, Fault> {
    Ok(quiesce::run_in_quiet_trees(worktrees, work).await??)
}

/// Runs git where it may block.
pub(in super::super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, Fault> {
    Ok(tokio::task::spawn_blocking(work).await??)
}

pub(in super::super) fn changes(total: diff::Changes) -> Changes {
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Changes {
        files: u32::try_from(total.files).unwrap_or(u32::MAX),
        insertions: count(total.insertions),
        deletions: count(total.deletions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::stop::stop_signal;
    use crate::git::testkit::{Sandbox, write};

    #[test]
    fn a_checkpoint_is_not_lost_when_its_count_is_given_up() {
        let sandbox = Sandbox::new();
        let tree = sandbox.session("abcdefgh");
        write(&tree.path.join("work"), "work\n");
        let about = Checkpoint { session: "abcdefgh".parse().unwrap(), turn: 1, message: "" };
        let recorded = history::checkpoint(&tree, about).unwrap();
        let (guard, stop) = stop_signal().unwrap();
        drop(guard);
        let stopped = Worktree { repo: tree.repo.stopped_by(stop), ..tree.clone() };
        let (kept, left_out) = Kept::count(&stopped, tree.base, recorded).unwrap();
        let Kept { recorded, files, own, uncounted } = kept.unwrap();
        assert_eq!(recorded.commit, sandbox.oid(&tree.branch));
        assert_eq!((own, files.len()), (Changes { files: 1, insertions: 0, deletions: 0 }, 1));
        assert_eq!(uncounted.unwrap().to_string(), "`git diff-tree` was stopped");
        assert_eq!(left_out, Vec::<PathBuf>::new());
    }
}
