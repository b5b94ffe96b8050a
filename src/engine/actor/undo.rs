//! Undoing turns: the files go back to where they were after one, and what was there is kept under a ref.

use crate::api::event::Payload;
use crate::api::session::{TurnError, TurnState};
use crate::git::diff::{self, CommitChanges, Target};
use crate::git::{self, GitError, Oid, Worktree, history};
use crate::sandbox::quiesce::QuietError;
use crate::session::{Rest, Session, Standing};
use crate::store::{Change, Durability};

use super::super::crash;
use super::super::fault::{Fault, half_undone_hint};
use super::super::record::{BeforeUndo, TurnBody, UndoRecord};
use super::super::shown_work::current_turn;
use super::tree::{FileUse, changes};
use super::{Actor, Command};

/// What an undo replaces in the record while it goes on.
pub(super) struct BegunUndo {
    undoing: Option<UndoRecord>,
    before_undo: Option<BeforeUndo>,
    last_error: Option<TurnError>,
}

impl Actor {
    /// Puts the files back to where they were after a turn. What is there now is kept under a ref.
    pub(super) async fn undo(&mut self, to: Option<u32>) -> Result<(), Fault> {
        if !self.can_undo() {
            let is_merged = self.state == Session::Resting(Rest::Merged);
            return Err(if is_merged { self.nothing_to_undo() } else { self.wrong_state("be undone") });
        }
        let rows = self.shared.turns(self.id).await?;
        let mut turns = Vec::new();
        for row in &rows {
            turns.push((row.number, TurnBody::read(row)?, row.raw.clone()));
        }
        let to = match (to, cut_off_turn(&turns), last_change(&turns)) {
            (Some(to), _, _) => to,
            (None, Some(number), _) if self.has_uncommitted_files().await? => standing_before(&turns, number),
            (None, _, None) => return Err(self.nothing_to_undo()),
            (None, _, Some((_, turn))) if self.is_base_merged_since(turn).await? => current_turn(&self.record.body),
            (None, _, Some((number, _))) => standing_before(&turns, number),
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
        let merges = self.record.body.merges();
        // Until the reset begins, it can be given up; after that, only the count of lines.
        let whole = tree.clone();
        let undo = move |stoppable: Worktree| {
            let before = history::snapshot_before_reset(&stoppable, &target, &name, "before an undo")?;
            crash::point();
            history::reset_after_snapshot(&stoppable, &target, &name)?;
            crash::point();
            let describe = || {
                let unsaved = diff::commit_changes(&stoppable, &before.before, before.commit)?.files.len();
                let tree = whole;
                // A base that was brought in after the turn is not below its commit.
                let base = match branch {
                    Some(branch) => git::merge::left_base(&tree, &branch, target)?.unwrap_or(tree.base),
                    None => tree.base,
                };
                let merged = last_merge(&tree, target, base, &merges)?;
                let changes = diff::commit_changes(&stoppable, &merged.unwrap_or(base), target)?;
                Ok((changes, base, merged, unsaved, before.left_out))
            };
            // The files have changed: the undo is to be completed, and did not fail to begin.
            describe().map_err(|source| GitError::HalfReset { saved: name, source: Box::new(source) })
        };
        let undone = self.shared.in_stoppable_tree(self.id, &tree, undo).await;
        let (CommitChanges { files, uncounted }, base, merged, unsaved, left_out) = match undone {
            Ok(undone) => undone,
            Err(fault) => return Err(self.end_failed_undo(to, fault, earlier).await),
        };
        let was_unfinished = earlier.undoing.is_some();
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
            let way_back = match was_unfinished {
                true => format!("`git checkout {saved} -- FILE` brings one back"),
                false => format!("`coppice undo {} --redo` brings them back", self.id),
            };
            let message = format!("changes that no turn had committed are kept in `{saved}`; {way_back}");
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

    fn nothing_to_undo(&self) -> Fault {
        let merge = self.record.body.undoable_merge().map(|merge| merge.commit.clone());
        Fault::NothingToUndo { id: self.id, merge }
    }

    /// Whether files differ from the last commit of the session's branch.
    pub(super) async fn has_uncommitted_files(&self) -> Result<bool, Fault> {
        let tree = self.tree().await?;
        let count = move |tree: Worktree| match tree.repo.find_ref(&tree.branch_ref())? {
            Some(tip) => Ok(diff::changes(&tree, &tip, Target::WorkTree)?.files > 0),
            None => Ok(false),
        };
        self.shared.in_stoppable_tree(self.id, &tree, count).await
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
            self.restore_before_undo(before);
            self.forget_refused(kept);
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
            // Git may have changed the files by then.
            Fault::Quiet(QuietError::Disturbed { .. } | QuietError::Lost(_)) => return fault,
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
        match command.file_use() {
            FileUse::Continue => self.undo(Some(to)).await,
            // Whoever looked at the work before has seen more than is left.
            FileUse::Integrate => {
                self.undo(Some(to)).await?;
                Err(Fault::UndoCompleted { id: self.id, to })
            }
            FileUse::Reset | FileUse::Nothing => Ok(()),
        }
    }
}

/// The last of the merged commits that a commit holds, unless the base came in after it.
fn last_merge(tree: &Worktree, commit: Oid, base: Oid, merges: &[String]) -> Result<Option<Oid>, GitError> {
    for merged in merges.iter().rev().filter_map(|merged| merged.parse().ok()) {
        if history::holds(&tree.repo, &commit, &merged)? && history::holds(&tree.repo, &merged, &base)? {
            return Ok(Some(merged));
        }
    }
    Ok(None)
}

/// The last turn, if its daemon died before its files were committed.
fn cut_off_turn(turns: &[(u32, TurnBody, Option<String>)]) -> Option<u32> {
    let (number, turn, _) = turns.last()?;
    let is_open = turn.checkpoint.is_none() && !turn.checkpoint_failed && !turn.undone;
    (is_open && turn.state == TurnState::Interrupted).then_some(*number)
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
    let has_ended = |turn: &TurnBody| turn.state != TurnState::Running;
    let gone: Vec<u32> =
        turns.iter().filter(|(number, turn, _)| *number > to && has_ended(turn)).map(|(number, ..)| *number).collect();
    Some((*gone.first()?, *gone.last()?))
}
