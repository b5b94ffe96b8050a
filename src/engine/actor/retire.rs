//! The end of a session's worktree: archive, removal, and the way back.
//!
//! The tree is moved out of sight at once; saving, recycling and deleting follow behind, by the sweeper.

use std::path::Path;

use crate::api::event::Payload;
use crate::api::session::Changes;
use crate::git::{self, Worktree};
use crate::sandbox::quiesce;
use crate::session::Event;
use crate::store::Durability;

use super::super::fault::Fault;
use super::super::record::Tree;
use super::super::stoppable::GivenUp;
use super::super::{clock, crash, delegate, prepare, sweeper};
use super::Actor;
use super::tree::blocking;

impl Actor {
    pub(super) async fn archive(&mut self) -> Result<(), Fault> {
        let before = self.state;
        if crate::session::step(before, Event::Archive).is_none() {
            return Err(self.wrong_state("be archived"));
        }
        self.staged.push(Payload::Archived {});
        let kept = self.unsaved.len();
        if let Err(error) = self.try_step(Event::Archive).await {
            self.state = before;
            self.forget_refused(kept);
            return Err(error.into());
        }
        self.close_family();
        self.drop_snapshot().await;
        if let Err(fault) = self.give_tree_back().await {
            self.warn_of_kept_tree(fault);
        }
        self.tell_uncommitted().await
    }

    /// Says why the worktree of an ended session is where it was. The session has ended all the same.
    fn warn_of_kept_tree(&mut self, fault: Fault) {
        let (path, reason) = (&self.record.body.worktree, prepare::failure(fault).message);
        let message = format!("the worktree stays in `{path}` until the daemon starts again: {reason}");
        self.staged.push(Payload::Warning { message });
    }

    /// Says that changed files of submodules, and what cannot be committed, are on no branch.
    async fn tell_uncommitted(&mut self) -> Result<(), Fault> {
        self.warn_of_submodules("are on no branch");
        self.warn_of_left_out("on no branch");
        Ok(self.persist(Durability::Normal, Vec::new()).await?)
    }

    /// Children do not outlive their parent's place among the sessions, background ones included.
    fn close_family(&self) {
        self.shared.tasks.spawn(delegate::close_family(self.shared.clone(), self.id));
    }

    /// Moves the session and its tree out of sight at once; everything slow follows behind.
    pub(super) async fn remove(&mut self) -> Result<(), Fault> {
        if self.state.is_turning() {
            return Err(self.wrong_state("be removed"));
        }
        let before = (self.record.removed_at, self.record.body.salvage.clone());
        self.record.removed_at = Some(clock::now());
        let salvage = match self.record.body.tree {
            Tree::Absent => None,
            Tree::Away | Tree::Creating | Tree::Unprepared | Tree::Ready => {
                Some(git::removal::salvage_ref(self.id.as_str()))
            }
        };
        self.record.body.salvage = salvage.clone();
        self.staged.push(Payload::Removed { salvage });
        let kept = self.unsaved.len();
        if let Err(error) = self.persist(Durability::Full, Vec::new()).await {
            (self.record.removed_at, self.record.body.salvage) = before;
            self.forget_refused(kept);
            return Err(error.into());
        }
        crash::point();
        self.shared.forget_environment(self.id);
        self.shared.terminals.forget(self.id);
        self.close_family();
        self.drop_snapshot().await;
        if let Err(fault) = self.give_tree_back().await {
            self.warn_of_kept_tree(fault);
        } else if let Err(fault) = sweeper::drop_branch(&self.shared, &self.record).await {
            let (branch, reason) = (&self.record.body.branch, prepare::failure(fault).message);
            self.staged.push(Payload::Warning { message: format!("the branch `{branch}` stays: {reason}") });
        }
        self.tell_uncommitted().await
    }

    /// Brings back what was removed or archived; nothing begins by itself.
    pub(super) async fn restore(&mut self) -> Result<(), Fault> {
        if self.record.removed_at.is_none() {
            return self.unarchive().await;
        }
        self.bring_tree_back().await?;
        (self.record.removed_at, self.record.body.salvage) = (None, None);
        self.staged.push(Payload::Restored {});
        self.persist(Durability::Full, Vec::new()).await?;
        Ok(())
    }

    pub(super) async fn unarchive(&mut self) -> Result<(), Fault> {
        self.bring_tree_back().await?;
        let standing = self.standing().await;
        let body = &mut self.record.body;
        if body.merged.is_some() && body.merged_turns == body.turns {
            // As after the next prompt: what was merged is told by the merge.
            body.changes = Changes::default();
        }
        self.step(Event::Unarchive(standing)).await;
        Ok(())
    }

    /// Fetches the tree from the trash or from what was saved of it; the next turn furnishes it.
    pub(super) async fn bring_tree_back(&mut self) -> Result<(), Fault> {
        if self.record.body.tree == Tree::Away {
            let tree = self.tree().await?;
            let root = self.shared.worktrees(&self.record.project);
            // The sweeper may be saving it.
            let tree_lock = self.shared.tree_lock(self.id);
            let _tree = self.shared.runs.give_up_until(GivenUp::OfSession(self.id), tree_lock.lock()).await;
            let repository = self.shared.repository(&self.record.project).lock_owned().await;
            blocking(move || {
                let mut registering = prepare::Registering(Some(repository));
                git::removal::restore(&tree, &root, &mut |progress| registering.follow(progress.phase))
            })
            .await?;
            self.record.body.tree = Tree::Unprepared;
            self.fill_submodules().await?;
        }
        Ok(())
    }

    /// Ends the backend and waits until its processes are gone: nothing may write into a tree that is put away.
    pub(super) async fn end_conversation(&mut self) {
        if let Some(conversation) = self.conversation.take() {
            prepare::close(conversation).await;
        }
    }

    /// Ends everything that runs in the worktree, the agent and language servers politely, and waits until it is gone.
    pub(super) async fn end_processes(&mut self) -> Result<(), Fault> {
        self.end_conversation().await;
        let worktree = Path::new(&self.record.body.worktree);
        self.shared.languages.end(worktree).await;
        Ok(quiesce::end_processes(worktree).await?)
    }

    /// The same at the end of a turn, which no failure holds up.
    pub(super) async fn end_wider_processes(&mut self) {
        if let Err(fault) = self.end_processes().await {
            let message = format!("processes that can write the worktree may still run: {fault}");
            self.staged.push(Payload::Warning { message });
        }
    }

    /// Moves the tree to the trash and lets the sweeper save, recycle or delete it.
    pub(super) async fn give_tree_back(&mut self) -> Result<(), Fault> {
        self.end_processes().await?;
        let is_there = Path::new(&self.record.body.worktree).exists();
        match self.record.body.tree {
            Tree::Absent => return Ok(()),
            // A daemon that died while it brought the tree back says so, although the files are there.
            Tree::Away if !is_there => return Ok(()),
            Tree::Away | Tree::Creating | Tree::Unprepared | Tree::Ready => {}
        }
        let tree = self.tree().await?;
        self.tear_down(&tree).await;
        self.keep_submodules().await;
        let root = self.shared.worktrees(&self.record.project);
        let lock = self.shared.repository(&self.record.project);
        // The sweeper looks into the trash meanwhile.
        let tree_lock = self.shared.tree_lock(self.id);
        {
            let _tree = tree_lock.lock().await;
            let _held = lock.lock().await;
            let state = self.record.body.tree;
            blocking(move || sweeper::trash_tree(state, &tree, &root)).await?;
        }
        crash::point();
        self.record.body.tree = Tree::Away;
        self.persist(Durability::Normal, Vec::new()).await?;
        self.shared.sweeper.wake();
        Ok(())
    }

    /// Runs the project's teardown command. Its failure is a warning: the tree goes all the same.
    async fn tear_down(&mut self, tree: &Worktree) {
        if self.record.body.child.is_some() {
            return;
        }
        let Ok(settings) = self.shared.settings.session(&self.record, &tree.repo).await else { return };
        let (level, env) = (settings.config.sandbox.level, settings.config.env);
        let Some(command) = settings.config.worktree.teardown.filter(|_| tree.path.is_dir()) else { return };
        let problem = match prepare::run_command(&self.shared, &self.record, tree, level, &env, &command).await {
            Ok(finished) if finished.is_success() => return,
            Ok(finished) => finished.describe(),
            Err(failure) => failure.message,
        };
        self.staged.push(Payload::Warning { message: format!("the teardown command `{command}` failed: {problem}") });
    }
}
