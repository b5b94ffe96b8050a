//! Taking an undo back: files, branch, conflicts and turns stand where they stood before it, uncommitted work included.

use crate::api::event::Payload;
use crate::git::{Worktree, history};
use crate::session::{Rest, Session, Standing};

use super::super::clock;
use super::super::fault::Fault;
use super::super::record::{BeforeUndo, TurnBody};
use super::super::shown_work::current_turn;
use super::Actor;
use super::tree::blocking;

impl Actor {
    /// Takes the last undo back, unless the session has gone on since. What is there now is kept, so that this can be taken
    /// back as well.
    pub(super) async fn redo(&mut self) -> Result<(), Fault> {
        let nothing = Fault::NothingToRedo { id: self.id };
        if !self.can_undo() {
            let is_merged = self.state == Session::Resting(Rest::Merged);
            return Err(if is_merged { nothing } else { self.wrong_state("be undone") });
        }
        let Some(before) = self.record.body.before_undo.clone() else { return Err(nothing) };
        let tree = self.tree().await?;
        let (repo, name) = (tree.repo.clone(), before.saved.clone());
        let Some(snapshot) = blocking(move || repo.find_ref(&name)).await? else { return Err(nothing) };
        let mut turns = Vec::new();
        for row in self.shared.turns(self.id).await? {
            turns.push((row.number, TurnBody::read(&row)?, row.raw));
        }
        self.keep_submodules().await;
        self.warn_of_submodules("are not undone");
        let saved = self.undo_ref();
        let now = self.before_undo(&turns, &saved);
        // A redo that is cut off goes back to where it began.
        let stands_at = current_turn(&self.record.body);
        let earlier = self.begin_undo(stands_at, &saved, before.clone()).await?;
        let name = saved.clone();
        let restore = move |tree: Worktree| {
            let recorded = history::snapshot_before_reset(&tree, &snapshot, &name, "before a redo")?;
            Ok((history::restore_snapshot(&tree, &snapshot, &name)?, recorded.left_out))
        };
        let (tip, left_out) = match self.shared.in_stoppable_tree(self.id, &tree, restore).await {
            Ok(restored) => restored,
            Err(fault) => return Err(self.end_failed_undo(stands_at, fault, earlier).await),
        };
        self.set_left_out(&left_out);
        self.warn_of_left_out("not undone");
        let BeforeUndo { saved: _, base, merged, conflicts, conflict_files, changes, undone, undone_turns } = before;
        let body = &mut self.record.body;
        (body.undoing, body.before_undo) = (None, Some(now));
        (body.base.commit, body.merged, body.changes, body.undone) = (base, merged, changes, undone);
        (body.conflicts, body.conflict_files) = (conflicts, conflict_files);
        let standing = if body.conflicts.is_empty() { Standing::Clear } else { Standing::Conflict };
        self.staged.push(Payload::Undone { to: current_turn(body), commit: tip.to_string(), saved });
        self.end_undo(turns, |number| undone_turns.contains(&number), standing).await
    }

    /// A ref for the state before an undo.
    pub(super) fn undo_ref(&self) -> String {
        format!("refs/coppice/undo/{}/{}", self.id, clock::now())
    }

    /// Where the session stands, with its files in a ref.
    pub(super) fn before_undo(&self, turns: &[(u32, TurnBody, Option<String>)], saved: &str) -> BeforeUndo {
        let body = &self.record.body;
        BeforeUndo {
            saved: saved.to_owned(),
            base: body.base.commit.clone(),
            merged: body.merged.clone(),
            conflicts: body.conflicts.clone(),
            conflict_files: body.conflict_files.clone(),
            changes: body.changes,
            undone: body.undone,
            undone_turns: turns.iter().filter(|(_, turn, _)| turn.undone).map(|(number, ..)| *number).collect(),
        }
    }

    /// Whether the base branch came into the worktree after a turn had ended, so that an undo takes that back first.
    pub(super) async fn is_base_merged_since(&self, turn: &TurnBody) -> Result<bool, Fault> {
        let body = &self.record.body;
        let merged = body.merged_base.as_ref().filter(|merged| merged.commit == body.base.commit);
        let (Some(merged), Some(checkpoint)) = (merged, &turn.checkpoint) else { return Ok(false) };
        let (merged, checkpoint) = (merged.commit.parse()?, checkpoint.parse()?);
        let repo = self.tree().await?.repo;
        blocking(move || Ok(!history::holds(&repo, &checkpoint, &merged)?)).await
    }
}
