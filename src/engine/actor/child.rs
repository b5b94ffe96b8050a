//! The child's side of a delegation: its handoff follows its state, and its files go home or leave nothing behind.

use std::path::PathBuf;
use std::sync::Arc;

use crate::api::event::Payload;
use crate::api::handoff::{Handoff, Integration as Brought};
use crate::config::Config;
use crate::git::integrate::{self, Outcome as Merged};
use crate::git::removal::Reclaimed;
use crate::git::{self, Oid, Worktree};
use crate::session::{Integration, Outcome, Rest, Session};
use crate::store::{Change, Durability};

use super::super::agents::role::Role;
use super::super::fault::Fault;
use super::super::handoff::{self, EndedBy};
use super::super::record::{ChildAccess, Record, Tree};
use super::super::{clock, confine, delegate, prepare, sweeper, view, workflow};
use super::turn::TurnRun;
use super::{Actor, blocking};

impl Actor {
    /// What the store gets about this child's handoff, if something changed; `None` for sessions that nobody delegated.
    pub(super) fn handoff_changes(&mut self) -> Vec<Change> {
        let Some(before) = &self.handoff else { return Vec::new() };
        let ended = if self.closing.is_some() { EndedBy::Daemon } else { EndedBy::Somebody };
        let after = handoff::follow(before, &self.record, self.state, ended);
        if after == *before && !self.handoff_touched {
            return Vec::new();
        }
        match handoff::changes(&after) {
            Ok(changes) => {
                self.handoff = Some(after);
                self.handoff_touched = true;
                changes.to_vec()
            }
            // Its ids were read from the store, so they can be written there.
            Err(_) => Vec::new(),
        }
    }

    /// Wakes those who wait for the handoff; it is in the store.
    pub(super) fn handoff_stored(&mut self) {
        if let Some(handoff) = self.handoff.as_ref().filter(|_| self.handoff_touched) {
            self.shared.handoffs.tell(&handoff.handoff_id);
        }
        self.handoff_touched = false;
    }

    /// A turn of this child ends: its report is part of the handoff.
    pub(super) fn report(&mut self, outcome: Outcome, turn: &TurnRun) {
        let error = self.turn_error(turn);
        let Some(handoff) = &mut self.handoff else { return };
        handoff.error = match outcome {
            Outcome::Completed | Outcome::Asked | Outcome::Interrupted => None,
            Outcome::Failed => Some(error.message),
        };
        let answer = turn.response.as_ref().map(|response| response.answer.clone());
        handoff.assistant_text = answer.or_else(|| turn.said.clone());
        handoff.plan = turn.plan.clone();
        if let Some(response) = turn.response.as_ref().map(view::response) {
            handoff.questions = response.questions;
            handoff.summary = response.summary.or(handoff.summary.take());
        }
    }

    /// A commit of this child's is there to be brought home, whichever turn it was made for.
    pub(super) fn committed(&mut self, commit: &str) {
        if self.access() != Some(ChildAccess::Write) {
            return;
        }
        if let Some(handoff) = &mut self.handoff {
            handoff.head_sha = Some(commit.to_owned());
            handoff.integration = Brought::Pending {};
            self.handoff_touched = true;
        }
    }

    /// What this child changed is on no branch: its parent learns where it is.
    pub(super) fn not_committed(&mut self, reason: &str) {
        if self.access() != Some(ChildAccess::Write) {
            return;
        }
        if let Some(handoff) = &mut self.handoff {
            let worktree = self.record.body.worktree.clone();
            handoff.integration = Brought::Uncommitted { worktree, reason: reason.to_owned() };
            self.handoff_touched = true;
        }
    }

    /// Nothing in the worktree waits for a commit any more.
    pub(super) fn all_committed(&mut self) {
        let Some(handoff) = &mut self.handoff else { return };
        if let Brought::Uncommitted { .. } = handoff.integration {
            let is_merged = handoff.head_sha == self.record.body.merged;
            handoff.integration = match handoff.head_sha {
                None => Brought::Nothing {},
                Some(_) if is_merged => Brought::Integrated { files: Vec::new() },
                Some(_) => Brought::Pending {},
            };
            self.handoff_touched = true;
        }
    }

    /// What the end of a turn means for the family.
    pub(super) async fn after_turn(&mut self, outcome: Outcome, turn: &TurnOver) {
        match outcome {
            Outcome::Completed => {
                if let Some(role) = turn.role.as_ref().filter(|_| self.record.body.child.is_none()) {
                    let (agent, config) = (role.id.clone(), turn.config.clone());
                    let review =
                        workflow::after_turn(self.shared.clone(), self.record.clone(), agent, turn.number, config);
                    self.shared.tasks.spawn(review);
                }
            }
            Outcome::Asked => {}
            Outcome::Failed | Outcome::Interrupted => {
                self.stop_children(turn.number);
                self.end_unfinished().await;
            }
        }
        self.retire_child(outcome).await;
        self.drop_spent_snapshot().await;
    }

    /// Nothing of a child that was cut short goes on working: its agent may have left processes behind. One that is to
    /// hear something else at once keeps its conversation.
    async fn end_unfinished(&mut self) {
        if self.record.body.child.is_some() && !self.go_on {
            self.end_conversation().await;
        }
    }

    /// The branch of a child keeps what it started from. A writer that never began starts from the snapshot when it is
    /// resumed; a reader takes another one.
    async fn drop_spent_snapshot(&self) {
        if self.record.body.tree != Tree::Absent || self.access() == Some(ChildAccess::ReadOnly) {
            self.drop_snapshot().await;
        }
    }

    pub(super) async fn drop_snapshot(&self) {
        let Some(child) = &self.record.body.child else { return };
        let (tree, handoff) = (self.tree().await, child.handoff.clone());
        if let Ok(tree) = tree {
            // A ref too many does no harm, and the next turn tries again.
            blocking(move || git::handoff::drop_snapshot(&tree.repo, &handoff)).await.ok();
        }
    }

    /// Children that a turn waits for do not outlive it. A daemon that ends has told each of them itself.
    pub(super) fn stop_children(&self, turn: u32) {
        if self.closing.is_none() {
            self.shared.tasks.spawn(delegate::stop_children(self.shared.clone(), self.id, turn));
        }
    }

    /// How far this child may go; `None` for sessions that nobody delegated.
    pub(super) fn access(&self) -> Option<ChildAccess> {
        self.record.body.child.as_ref().map(|child| child.access)
    }

    /// Gives another note to a child.
    pub(super) async fn note(&mut self, note: Option<String>) -> Result<(), Fault> {
        let id = self.id;
        let child = self.record.body.child.as_mut().ok_or(Fault::NotAChild { id })?;
        child.note = note;
        Ok(self.persist(Durability::Full, Vec::new()).await?)
    }

    /// A child that only reads leaves nothing behind once it has reported; one that changed nothing gives its tree back.
    /// What could not be committed is counted nowhere, so its tree stays.
    pub(super) async fn retire_child(&mut self, outcome: Outcome) {
        let rests = match self.state {
            Session::Resting(Rest::Ready | Rest::Failed | Rest::Interrupted) => self.record.body.order.is_empty(),
            Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => false,
        };
        if !rests || self.closing.is_some() {
            return;
        }
        let body = &self.record.body;
        let is_unchanged = outcome == Outcome::Completed && body.changes.files == 0 && !body.is_uncommitted();
        let done = match self.access() {
            Some(ChildAccess::ReadOnly) => self.reclaim().await,
            Some(ChildAccess::Write) if is_unchanged => self.give_tree_back().await,
            Some(ChildAccess::Write) | None => return,
        };
        if let Err(fault) = done {
            let message = format!("the child's worktree stays in its place: {}", prepare::failure(fault).message);
            // Whoever reads the log of a store that refuses this learns of it there.
            self.shared.note(self.id, &[Payload::Warning { message }]).await.ok();
        }
    }

    /// A child that only reads has nothing to commit. What it changed all the same is kept aside, and its tree is as it
    /// was.
    pub(super) async fn tidy_child(&mut self) -> Result<(), Fault> {
        let tree = self.tree().await?;
        let aside = format!("refs/coppice/undo/{}/{}", self.id, clock::now());
        let name = aside.clone();
        let tidy = move |tree: Worktree| git::handoff::tidy(&tree, &name);
        if self.shared.in_stoppable_tree(self.id, &tree, tidy).await?.is_some() {
            let message = format!("the child may only read and changed files all the same; they are kept in `{aside}`");
            self.staged.push(Payload::Warning { message });
        }
        Ok(())
    }

    /// Removes worktree, branch and refs of a child that only read. Its next turn starts from a fresh snapshot.
    async fn reclaim(&mut self) -> Result<(), Fault> {
        if self.record.body.tree == Tree::Absent {
            return Ok(());
        }
        self.end_processes().await?;
        let tree = self.tree().await?;
        let root = self.shared.worktrees(&self.record.project);
        let lock = self.shared.repository(&self.record.project);
        let handoff = self.record.body.child.as_ref().map(|child| child.handoff.clone()).unwrap_or_default();
        let reuse = confine::tree_reuse(&self.shared.support, &self.record.body.reach);
        sweeper::discard_files(&self.shared, &self.record, confine::caches_dir(&self.shared, self.id)).await;
        let tree_lock = self.shared.tree_lock(self.id);
        let became = {
            // The sweeper must not save what is on its way through the trash.
            let _tree = tree_lock.lock().await;
            let (tree, _run) = self.shared.runs.begin(self.id, &tree)?;
            blocking(move || git::removal::reclaim(&tree, &root, &handoff, reuse, || lock.blocking_lock())).await?
        };
        match became {
            Reclaimed::Spare | Reclaimed::Trash | Reclaimed::Gone => {}
            Reclaimed::Kept => {
                let message = "the child's worktree holds something that is kept nowhere else, so it stays".to_owned();
                self.staged.push(Payload::Warning { message });
                return Ok(self.persist(Durability::Normal, Vec::new()).await?);
            }
        }
        self.record.body.tree = Tree::Absent;
        self.record.body.conversation = None;
        self.persist(Durability::Normal, Vec::new()).await?;
        self.shared.sweeper.wake();
        Ok(())
    }

    /// Starts from the parent's work tree as it is, where an earlier tree of this child is gone.
    pub(super) async fn fresh_snapshot(&mut self) -> Result<(), Fault> {
        let Some(child) = self.record.body.child.clone() else { return Ok(()) };
        if self.record.body.tree != Tree::Absent || child.access != ChildAccess::ReadOnly || self.record.body.turns == 0
        {
            return Ok(());
        }
        let parent = self.parent(&child.parent).await?;
        let repo = prepare::open_repo(&parent).await?;
        let tree = prepare::tree_of(&parent, &repo)?;
        let lock = self.shared.tree_lock(parent.id);
        let _held = lock.lock().await;
        let snapshot = move |tree: Worktree| git::handoff::snapshot(&tree, &child.handoff, git::handoff::Ignored::Left);
        let recorded = self.shared.in_stoppable_tree(self.id, &tree, snapshot).await?;
        self.record.body.base.commit = recorded.commit.to_string();
        if let Some(handoff) = &mut self.handoff {
            handoff.base_sha = recorded.commit.to_string();
        }
        Ok(())
    }

    async fn parent(&self, id: &crate::id::SessionId) -> Result<Record, Fault> {
        let row = self.shared.store.session(*id).await?.ok_or(Fault::SessionGone { id: *id })?;
        Ok(Record::read(row)?)
    }

    /// Brings this child's files into its parent's work tree, all of them or none.
    pub(super) async fn integrate_into_parent(&mut self) -> Result<(), Fault> {
        let Some(child) = self.record.body.child.clone() else { return Err(Fault::NotAChild { id: self.id }) };
        if child.access == ChildAccess::ReadOnly {
            let reason = "the child only reads".to_owned();
            return Err(Fault::NotIntegrated { child: self.id, parent: child.parent, reason });
        }
        let parent = self.parent(&child.parent).await?;
        self.integrate("be integrated").await?;
        let result = match self.try_integrate(&parent).await {
            Ok(merged) => self.brought(merged, &parent),
            Err(fault) => (Integration::Refused, Err(fault)),
        };
        if let (_, Ok(())) = &result
            && let Some(Brought::Integrated { files }) = self.handoff.as_ref().map(|handoff| &handoff.integration)
            && !files.is_empty()
        {
            let commit = self.record.body.merged.clone().unwrap_or_default();
            let fact = Payload::Integrated { commit, style: "child".to_owned(), files: files.clone() };
            self.shared.note(parent.id, &[fact]).await?;
        }
        if result.1.is_ok() {
            self.warn_of_submodules("are not brought into the parent");
            self.warn_of_left_out("not brought into the parent");
        }
        self.integrated(result).await
    }

    async fn try_integrate(&mut self, parent: &Record) -> Result<Merged, Fault> {
        self.commit_leftovers().await?;
        let tree = self.tree().await?;
        let (target, base) = self.way_home(parent).await?;
        let lock = self.shared.tree_lock(parent.id);
        let _held = lock.lock().await;
        // A person takes the tree under the same lock: whoever is not there yet comes after these files.
        if self.parent(&parent.id).await?.body.attached.is_some() {
            let reason = "a person works in it".to_owned();
            return Err(Fault::NotIntegrated { child: self.id, parent: parent.id, reason });
        }
        let integrate = move |target: Worktree| {
            let head = tree.repo.find_ref(&tree.branch_ref())?.unwrap_or(tree.base);
            Ok((integrate::integrate(&target, integrate::Child { base, head })?, head))
        };
        let (merged, head) = self.shared.in_stoppable_tree(self.id, &target, integrate).await?;
        if let Merged::Integrated { .. } | Merged::Nothing = merged {
            self.record.body.merged = Some(head.to_string());
        }
        Ok(merged)
    }

    /// The parent's work tree, and what this child's work is measured from there.
    async fn way_home(&self, parent: &Record) -> Result<(Worktree, Oid), Fault> {
        let repo = prepare::open_repo(parent).await?;
        let target = prepare::tree_of(parent, &repo)?;
        if let Tree::Absent | Tree::Away | Tree::Creating = parent.body.tree {
            let reason = "it has no work tree; `coppice resume` brings it back".to_owned();
            return Err(Fault::NotIntegrated { child: self.id, parent: parent.id, reason });
        }
        let base: Oid = match &self.record.body.merged {
            Some(merged) => merged.parse()?,
            None => self.record.body.base.commit.parse()?,
        };
        Ok((target, base))
    }

    /// The files in which this child is still in conflict with the work tree of its parent, both as they are.
    pub(super) async fn unresolved_with_parent(&self, files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Fault> {
        let Some(child) = &self.record.body.child else { return Ok(files) };
        let parent = self.parent(&child.parent).await?;
        let (target, base) = self.way_home(&parent).await?;
        let tree = self.tree().await?;
        let lock = self.shared.tree_lock(parent.id);
        let _held = lock.lock().await;
        let compare = move |target: Worktree| {
            let head = tree.repo.find_ref(&tree.branch_ref())?.unwrap_or(tree.base);
            integrate::conflicts(&target, integrate::Child { base, head })
        };
        self.shared.in_stoppable_tree(self.id, &target, compare).await
    }

    fn brought(&mut self, merged: Merged, parent: &Record) -> (Integration, Result<(), Fault>) {
        let names = |files: &[PathBuf]| files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let (brought, integration, result) = match merged {
            Merged::Integrated { files } => {
                self.record.body.conflicts.clear();
                let files = files.iter().map(|file| file.path.display().to_string()).collect();
                (Brought::Integrated { files }, Integration::Merged, Ok(()))
            }
            Merged::Nothing => {
                self.record.body.conflicts.clear();
                (Brought::Integrated { files: Vec::new() }, Integration::Merged, Ok(()))
            }
            Merged::Conflict { files } => {
                let files = names(&files);
                self.record.body.conflicts.clone_from(&files);
                let with = format!("the work tree of {}", parent.id);
                self.staged.push(Payload::Conflict { files: files.clone(), with });
                (Brought::Conflict { files }, Integration::Conflict, Ok(()))
            }
            Merged::Changed { files } | Merged::Refused { files } => {
                let files = names(&files);
                let reason = format!("{} are not as they were; nothing was written", files.join(", "));
                let fault = Fault::NotIntegrated { child: self.id, parent: parent.id, reason };
                (Brought::Changed { files }, Integration::Refused, Err(fault))
            }
        };
        if let Some(handoff) = &mut self.handoff {
            handoff.integration = brought;
            self.handoff_touched = true;
        }
        (integration, result)
    }
}

/// A turn that is over, as far as the family is concerned.
pub(super) struct TurnOver {
    pub(super) number: u32,
    pub(super) role: Option<Arc<Role>>,
    pub(super) config: Arc<Config>,
}

/// The handoff of a child, when its task begins.
pub(super) async fn load(shared: &super::super::shared::Shared, record: &Record) -> Result<Option<Handoff>, Fault> {
    match &record.body.child {
        Some(child) => handoff::find(shared, &child.handoff).await,
        None => Ok(None),
    }
}
