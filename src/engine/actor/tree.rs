//! What happens to a session's files: a checkpoint after each turn, and the way back to one.
//!
//! It happens while the session is at rest or its turn closes, inside the session's own task, so that nothing else
//! touches the tree meanwhile.

use std::collections::BTreeSet;
use std::mem;
use std::path::{Path, PathBuf};

use tracing::warn;

use crate::api::event::Payload;
use crate::api::session::{Changes, TurnError, TurnState};
use crate::backend::failure::{Failure, FailureKind};
use crate::git::diff::{self, CommitChanges, FileChange};
use crate::git::history::{self, Checkpoint, Recorded};
use crate::git::{self, GitError, Oid, Worktree};
use crate::protocol::naming;
use crate::sandbox::quiesce;
use crate::session::{Rest, Session, Standing};
use crate::store::{Change, Durability, Write};

use super::super::crash;
use super::super::fault::{Fault, half_undone_hint};
use super::super::prepare;
use super::super::record::{BeforeUndo, ChildAccess, Tree, TurnBody, UndoRecord};
use super::super::shown_work::current_turn;
use super::{Actor, Command};

impl Actor {
    /// Ends what the turn left running behind the agent's back. The agent itself stays for the next turn.
    pub(super) async fn end_leftovers(&mut self) {
        if let Err(error) = quiesce::end_orphans(Path::new(&self.record.body.worktree)).await {
            let message = format!("processes that the turn started may still run: {error}");
            warn!(session = %self.id, message, "leftovers");
            self.staged.push(Payload::Warning { message });
        }
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
        let Some(Kept { recorded, files, own, uncounted }) = kept else { return Ok(()) };
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
    fn warn_of_uncounted(&mut self, uncounted: Option<GitError>) {
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

    /// Puts the files back to where they were after a turn. What is there now is kept under a ref.
    pub(super) async fn undo(&mut self, to: Option<u32>) -> Result<(), Fault> {
        if !self.can_undo() {
            return Err(self.wrong_state("be undone"));
        }
        let rows = self.shared.store.turns(self.id).await?;
        let mut turns = Vec::new();
        for row in &rows {
            turns.push((row.number, TurnBody::read(row)?, row.raw.clone()));
        }
        let to = match (to, last_change(&turns)) {
            (Some(to), _) => to,
            (None, None) => return Err(Fault::NothingToUndo { id: self.id }),
            (None, Some((_, turn))) if self.is_base_merged_since(turn).await? => current_turn(&self.record.body),
            (None, Some((number, _))) => standing_before(&turns, number),
        };
        if to > self.record.body.turns {
            return Err(Fault::NoTurn { id: self.id, turn: to });
        }
        let asked = to;
        let to = last_restorable(&turns, asked);
        let brings_back = turns.iter().any(|(number, turn, _)| *number == to && turn.undone);
        let standing = turns.iter().rev().filter(|(number, turn, _)| *number <= to && (brings_back || !turn.undone));
        let kept = standing.filter_map(|(_, turn, _)| turn.checkpoint.clone()).next();
        let target: Oid = kept.unwrap_or_else(|| self.record.body.base.commit.clone()).parse()?;
        self.keep_submodules().await;
        self.warn_of_submodules("are not undone");
        let tree = self.tree().await?;
        let saved = self.undo_ref();
        let before = match (&self.record.body.undoing, &self.record.body.before_undo) {
            // What an undo that did not finish has left is not worth going back to.
            (Some(_), Some(before)) => before.clone(),
            (_, _) => self.before_undo(&turns, &saved),
        };
        let old_base = self.record.body.base.commit.clone();
        let earlier = self.begin_undo(to, &saved, before).await?;
        crash::point();
        let (name, branch) = (saved.clone(), self.record.body.base.branch.clone());
        let merged = self.record.body.merged.as_deref().map(str::parse::<Oid>).transpose()?;
        // Until the reset begins, it can be given up; after that, only the count of lines.
        let whole = tree.clone();
        let undo = move |stoppable: Worktree| {
            let before = history::snapshot_before_reset(&stoppable, &target, &name, "before an undo")?;
            crash::point();
            history::reset_after_snapshot(&stoppable, &target, &name)?;
            crash::point();
            let unsaved = diff::commit_changes(&stoppable, &before.before, before.commit)?.files.len();
            let tree = whole;
            let left_out = before.left_out;
            // A base that was brought in after the turn is not below its commit.
            let base = match branch {
                Some(branch) => git::merge::left_base(&tree, &branch, target)?.unwrap_or(tree.base),
                None => tree.base,
            };
            let merged = match merged {
                Some(merged) if history::holds(&tree.repo, &target, &merged)? => Some(merged),
                Some(_) | None => None,
            };
            let changes = diff::commit_changes(&stoppable, &merged.unwrap_or(base), target)?;
            Ok((changes, base, merged, unsaved, left_out))
        };
        let undone = self.shared.in_stoppable_tree(self.id, &tree, undo).await;
        let (CommitChanges { files, uncounted }, base, merged, unsaved, left_out) = match undone {
            Ok(undone) => undone,
            Err(fault) => return Err(self.end_failed_undo(to, fault, earlier).await),
        };
        if let Some(UndoRecord { saved, .. }) = earlier.undoing {
            let message = format!("an undo before this one did not finish; the state before it is kept in `{saved}`");
            self.staged.push(Payload::Warning { message });
        }
        if to < asked {
            let message = format!(
                "the files are as after turn {to}: what turn {} changed was never committed on its own",
                to + 1
            );
            self.staged.push(Payload::Warning { message });
        }
        self.record.body.undoing = None;
        self.warn_of_uncounted(uncounted);
        self.set_left_out(&left_out);
        self.warn_of_left_out("not undone");
        if unsaved > 0 {
            let message = format!(
                "changes that no turn had committed are kept in `{saved}`; `coppice undo {} --redo` brings them back",
                self.id
            );
            self.staged.push(Payload::Warning { message });
        }
        let body = &mut self.record.body;
        (body.base.commit, body.merged) = (base.to_string(), merged.map(|merged| merged.to_string()));
        if body
            .merged_base
            .as_ref()
            .is_some_and(|merged| merged.commit == old_base && merged.commit != body.base.commit)
        {
            let message = format!(
                "the merge of `{}` into the worktree is undone too; `coppice merge {}` meets the conflict again",
                body.base.name, self.id
            );
            self.staged.push(Payload::Warning { message });
        }
        self.record.body.changes = changes(diff::total(&files));
        self.record.body.undone = undone_range(&turns, to);
        let standing = self.find_conflicts_again().await;
        self.staged.push(Payload::Undone { to, commit: target.to_string(), saved });
        self.end_undo(turns, |number| number > to, standing).await
    }

    /// Stores where the session stands after its files have changed, and which turns' work they do not hold.
    pub(super) async fn end_undo(
        &mut self,
        turns: Vec<(u32, TurnBody, Option<String>)>,
        is_undone: impl Fn(u32) -> bool,
        standing: Standing,
    ) -> Result<(), Fault> {
        let mut rewritten = Vec::new();
        for (number, mut turn, raw) in turns {
            if turn.undone != is_undone(number) {
                turn.undone = is_undone(number);
                rewritten.push(Change::Turn(turn.row(self.id, number, raw)));
            }
        }
        self.state = Session::Resting(match standing {
            Standing::Clear => Rest::Ready,
            Standing::Conflict => Rest::Conflict,
            Standing::TreeGone => Rest::Failed,
        });
        (self.record.body.last_error, self.record.body.uncommitted) = (None, None);
        self.persist(Durability::Full, rewritten).await?;
        Ok(())
    }

    pub(super) fn can_undo(&self) -> bool {
        match self.state {
            Session::Resting(Rest::Ready | Rest::Asking | Rest::Failed | Rest::Interrupted | Rest::Conflict) => true,
            Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => false,
        }
    }

    /// Stores that the files are about to change, before they do: a daemon that dies must not leave them as they are then
    /// for the work of a turn. Returns an earlier undo that did not finish.
    pub(super) async fn begin_undo(&mut self, to: u32, saved: &str, before: BeforeUndo) -> Result<BegunUndo, Fault> {
        let id = self.id;
        let body = &mut self.record.body;
        // What an undo that did not finish has left is not worth naming.
        let saved = body.undoing.as_ref().map_or(saved, |earlier| &earlier.saved).to_owned();
        let begun = UndoRecord { to, saved: saved.clone() };
        let error = TurnError {
            kind: TurnError::UNFINISHED_UNDO.to_owned(),
            message: format!("the undo to turn {to} did not finish; the state before it is kept in `{saved}`"),
            hint: Some(half_undone_hint(id, to)),
            ..TurnError::default()
        };
        let before = BegunUndo {
            undoing: body.undoing.replace(begun),
            before_undo: body.before_undo.replace(before),
            last_error: body.last_error.replace(error),
        };
        let kept = self.unsaved.len();
        if let Err(error) = self.persist(Durability::Full, Vec::new()).await {
            self.forget_refused(kept);
            self.restore_before_undo(before);
            return Err(error.into());
        }
        Ok(before)
    }

    /// Tells why an undo failed. One that has changed nothing has not begun.
    pub(super) async fn end_failed_undo(&mut self, to: u32, fault: Fault, before: BegunUndo) -> Fault {
        let fault = match fault {
            Fault::Git(GitError::HalfReset { saved, source }) => {
                let saved = self.record.body.undoing.as_ref().map_or(saved, |begun| begun.saved.clone());
                return Fault::HalfUndone { id: self.id, to, source: GitError::HalfReset { saved, source } };
            }
            fault => fault,
        };
        self.restore_before_undo(before);
        match self.persist(Durability::Full, Vec::new()).await {
            Ok(()) => fault,
            Err(error) => error.into(),
        }
    }

    fn restore_before_undo(&mut self, before: BegunUndo) {
        let BegunUndo { undoing, before_undo, last_error } = before;
        let body = &mut self.record.body;
        (body.undoing, body.before_undo, body.last_error) = (undoing, before_undo, last_error);
    }

    /// Completes an undo that failed or was cut off, before something is done with the files.
    pub(super) async fn finish_undo(&mut self, command: &Command) -> Result<(), Fault> {
        let to = match &self.record.body.undoing {
            Some(begun) if self.can_undo() => begun.to,
            Some(_) | None => return Ok(()),
        };
        match command {
            Command::Start
            | Command::Send { .. }
            | Command::SendReview
            | Command::Answer { .. }
            | Command::Resume(_)
            | Command::Merge(_)
            | Command::Rebase
            | Command::Integrate
            | Command::Attach(_)
            | Command::Archive => self.undo(Some(to)).await,
            // What is removed is saved as it is.
            Command::Remove
            | Command::Restore
            | Command::DropPrompt { .. }
            | Command::Decide { .. }
            | Command::Stop
            | Command::Abort { .. }
            | Command::Undo { .. }
            | Command::Redo
            | Command::Relink { .. }
            | Command::SetPosture { .. }
            | Command::Note { .. }
            | Command::Recount { .. }
            | Command::CommitAgain
            | Command::Retitle { .. }
            | Command::Reword { .. } => Ok(()),
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
        let Some(row) = self.shared.store.turn(self.id, turn).await? else { return Ok(()) };
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
        let Some(Kept { recorded, files, own, uncounted }) = kept else { return Ok(None) };
        self.warn_of_uncounted(uncounted);
        let commit = recorded.commit.to_string();
        self.record.body.changes = changes(diff::total(&files));
        self.committed(&commit);
        if let Some(row) = self.shared.store.turn(self.id, turn).await? {
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
                let tree = self.tree().await?;
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

/// What an undo replaces in the record while it goes on.
pub(super) struct BegunUndo {
    undoing: Option<UndoRecord>,
    before_undo: Option<BeforeUndo>,
    last_error: Option<TurnError>,
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

/// The last turn that changed something and still counts.
fn last_change(turns: &[(u32, TurnBody, Option<String>)]) -> Option<(u32, &TurnBody)> {
    let changed = |turn: &TurnBody| (turn.checkpoint.is_some() || turn.checkpoint_failed) && !turn.undone;
    turns.iter().rev().find(|(_, turn, _)| changed(turn)).map(|(number, turn, _)| (*number, turn))
}

/// The turn whose files a turn began with: the last one before it that counts.
fn standing_before(turns: &[(u32, TurnBody, Option<String>)], number: u32) -> u32 {
    let earlier = turns.iter().rev().filter(|(earlier, turn, _)| *earlier < number && !turn.undone);
    earlier.map(|(earlier, ..)| *earlier).next().unwrap_or_default()
}

/// The last turn up to `to` after which the files are known: a turn whose checkpoint failed left no state of its own.
fn last_restorable(turns: &[(u32, TurnBody, Option<String>)], to: u32) -> u32 {
    let before = turns.iter().rev().filter(|(number, ..)| *number <= to);
    let since_checkpoint = before.take_while(|(_, turn, _)| turn.checkpoint.is_none());
    let failed = since_checkpoint.filter(|(_, turn, _)| turn.checkpoint_failed);
    failed.last().map_or(to, |(number, ..)| number - 1)
}

/// The turns that the agent still believes in and that do not count after an undo to `to`.
fn undone_range(turns: &[(u32, TurnBody, Option<String>)], to: u32) -> Option<(u32, u32)> {
    let told = |turn: &TurnBody| turn.state != TurnState::Running;
    let gone: Vec<u32> =
        turns.iter().filter(|(number, turn, _)| *number > to && told(turn)).map(|(number, ..)| *number).collect();
    Some((*gone.first()?, *gone.last()?))
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
