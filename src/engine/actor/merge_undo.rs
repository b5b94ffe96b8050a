//! Taking back the merge of a session: its branch has the work again, and the base branch does not.
//!
//! Nothing is stored before the base branch moves: as long as the session counts as merged, the same undo can be repeated,
//! and finds the merge gone.

use tracing::warn;

use crate::api::event::Payload;
use crate::api::session::Changes;
use crate::git::merge::{self, MergedCommit, PlannedTakeBack, Refusal, Revert};
use crate::git::{Oid, Worktree, history};
use crate::session::{Rest, Session};
use crate::store::Durability;

use super::super::crash;
use super::super::fault::Fault;
use super::super::record::MadeMerge;
use super::Actor;
use super::conflict::short;
use super::integrate::refusal_hint;
use super::tree::{blocking, in_quiet_trees};

/// How often the undo is planned again because the branch moved meanwhile.
const ATTEMPTS: usize = 3;

/// How many of a merge's files are named to whoever is about to take it back.
const NAMED_FILES: usize = 50;

/// A merge that is not in its branch any more.
struct UndoneMerge {
    revert: Option<Revert>,
    /// The session's branch, if the base branch has it although the changes are gone.
    held_tip: Option<Oid>,
}

impl Actor {
    /// A merge as it is stored, so that it can be taken back. Called before the record counts the work as merged.
    pub(super) async fn describe_merge(&self, target: &str, (before, commit): (Oid, Oid)) -> MadeMerge {
        let body = &self.record.body;
        let files = match self.tree().await {
            Ok(tree) => blocking(move || merge::changed_files(&tree, before, commit)).await,
            Err(fault) => Err(fault),
        };
        // The branch has moved: what cannot be listed must not fail the merge.
        let files = files.unwrap_or_else(|fault| {
            warn!(session = %self.id, %fault, "the files of a merge are not listed");
            Vec::new()
        });
        MadeMerge {
            target: target.to_owned(),
            before: before.to_string(),
            commit: commit.to_string(),
            file_count: u32::try_from(files.len()).unwrap_or(u32::MAX),
            files: files.iter().take(NAMED_FILES).map(|path| path.display().to_string()).collect(),
            changes: body.changes,
            merged: body.merged.clone(),
            merged_turns: body.merged_turns,
        }
    }

    /// Takes the last merge out of its branch, if that is the one which a person was shown. The session goes on as before
    /// the merge.
    pub(super) async fn undo_merge(&mut self, shown: &str, ssh_agent: Option<String>) -> Result<(), Fault> {
        let Some(last) = self.record.body.undoable_merge().cloned() else { return Err(self.wrong_state("be undone")) };
        if last.commit != shown {
            let reason = format!("the last merge of the session is {}", abbreviate(&last.commit));
            let asked = MadeMerge { commit: shown.to_owned(), ..last };
            return Err(self.merge_undo_refused(&asked, reason, format!("`coppice show {}` shows it", self.id)));
        }
        // An agent's process may have written after the last turn: what a person wants to be rid of is there then.
        let has_gone_on = self.state != Session::Resting(Rest::Merged);
        if has_gone_on && self.has_uncommitted_files().await? {
            let reason = "files have changed since the last turn".to_owned();
            let hint = format!(
                "`coppice diff {0}` shows them, `coppice undo {0} --to {1}` takes them back",
                self.id, self.record.body.turns
            );
            return Err(self.merge_undo_refused(&last, reason, hint));
        }
        if let Some(before) = self.record.body.before_undo.as_ref().filter(|_| has_gone_on) {
            let message =
                format!("the undo before it can no longer be taken back; what it undid is kept in `{}`", before.saved);
            self.staged.push(Payload::Warning { message });
        }
        // First, because a session that goes on needs its files.
        self.bring_tree_back().await?;
        let undone = match self.take_merge_back(&last, ssh_agent).await {
            Ok(undone) => undone,
            Err(fault) if self.state == Session::Resting(Rest::Merged) => {
                self.give_tree_back().await?;
                return Err(fault);
            }
            Err(fault) => return Err(fault),
        };
        crash::point();
        let name = short(&last.target).to_owned();
        if let Some(Revert { commit, holder }) = &undone.revert {
            let merge = abbreviate(&last.commit);
            let reason = match holder {
                Some(holder) => format!("`{holder}` has the merge {merge} too"),
                None => format!("`{name}` has more commits since the merge {merge}"),
            };
            let message = format!("{reason}: the commit {} reverts it", abbreviate(&commit.to_string()));
            self.staged.push(Payload::Warning { message });
        }
        let reverted_by = undone.revert.map(|revert| revert.commit.to_string());
        let body = &mut self.record.body;
        // What an undo of turns kept is measured from the merge.
        body.before_undo = None;
        body.made_merges.pop();
        match undone.held_tip {
            // Git takes the commits for merged, whatever became of their changes.
            Some(_) => {
                body.changes = Changes::default();
                let message = format!(
                    "`{name}` still has the session's commits in its history: another merge brings only what comes after \
                     them{}",
                    match &reverted_by {
                        Some(revert) => format!("; `git revert {}` brings the rest", abbreviate(revert)),
                        None => String::new(),
                    }
                );
                self.staged.push(Payload::Warning { message });
            }
            None => {
                body.merges = body.merges();
                body.merges.pop();
                (body.merged, body.merged_turns, body.changes) = (last.merged, last.merged_turns, last.changes);
            }
        }
        self.staged.push(Payload::MergeUndone { commit: last.commit, target: name, reverted_by });
        if self.state == Session::Resting(Rest::Merged) {
            self.state = Session::Resting(Rest::Ready);
        }
        self.persist(Durability::Full, Vec::new()).await?;
        Ok(())
    }

    async fn take_merge_back(&self, last: &MadeMerge, ssh_agent: Option<String>) -> Result<UndoneMerge, Fault> {
        let MadeMerge { target, before, commit, .. } = last;
        let merged = MergedCommit { target: target.clone(), before: before.parse()?, commit: commit.parse()? };
        let tree = self.tree().await?;
        let mut left = ATTEMPTS;
        loop {
            let (place, asked, socket) = (tree.clone(), merged.clone(), ssh_agent.clone());
            let planned = blocking(move || merge::plan_take_back(&place, &asked, socket.as_deref())).await?;
            let (planned, revert) = match planned {
                PlannedTakeBack::Ready { planned, revert } => (planned, revert),
                PlannedTakeBack::Gone => return self.undone_merge(&tree, target, None).await,
                PlannedTakeBack::Conflict { files } => {
                    let files: Vec<_> = files.iter().map(|path| format!("`{}`", path.display())).collect();
                    let reason = format!("later commits changed the same lines: {}", files.join(", "));
                    return Err(self.merge_undo_refused(
                        last,
                        reason,
                        format!("`git revert {commit}` lets you resolve it"),
                    ));
                }
                PlannedTakeBack::Refused(refusal) => return Err(self.refuse_merge_undo(last, &refusal)),
            };
            let lock = self.shared.repository(&self.record.project);
            let _held = lock.lock().await;
            let (place, asked) = (tree.clone(), planned.clone());
            let shown = blocking(move || Ok(merge::session_worktrees(&place, &asked))).await?;
            let (place, quiet) = (tree.clone(), shown.clone());
            match in_quiet_trees(&shown, move || merge::move_branch(&place, &planned, &quiet)).await? {
                Ok(_) => return self.undone_merge(&tree, target, revert).await,
                Err(Refusal::TargetMoved { .. }) if left > 0 => left -= 1,
                Err(refusal) => return Err(self.refuse_merge_undo(last, &refusal)),
            }
        }
    }

    async fn undone_merge(&self, tree: &Worktree, target: &str, revert: Option<Revert>) -> Result<UndoneMerge, Fault> {
        let (place, target) = (tree.clone(), target.to_owned());
        let find = move || {
            let tips = (place.repo.find_ref(&target)?, place.repo.find_ref(&place.branch_ref())?);
            let (Some(base), Some(own)) = tips else { return Ok(None) };
            Ok(history::holds(&place.repo, &base, &own)?.then_some(own))
        };
        Ok(UndoneMerge { revert, held_tip: blocking(find).await? })
    }

    fn refuse_merge_undo(&self, last: &MadeMerge, refusal: &Refusal) -> Fault {
        self.merge_undo_refused(last, refusal.to_string(), refusal_hint(refusal, &self.record, "undo"))
    }

    fn merge_undo_refused(&self, last: &MadeMerge, reason: String, hint: String) -> Fault {
        Fault::MergeUndoRefused {
            commit: abbreviate(&last.commit).to_owned(),
            target: short(&last.target).to_owned(),
            reason,
            hint,
        }
    }
}

/// As much of a commit's id as people are shown.
fn abbreviate(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
