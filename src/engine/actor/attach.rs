//! A person in the session's worktree: the lease from the moment it is asked for to the commit of what they changed.
//!
//! The lease is written down before anything starts, so that a daemon that finds it knows that a person was there.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tracing::{info, warn};

use crate::api::attach::Left;
use crate::api::event::Payload;
use crate::api::session::Changes;
use crate::session::{self, Event, Session};
use crate::store::Durability;

use super::super::attach::{self, Terminal, Visit};
use super::super::fault::Fault;
use super::super::prepare;
use super::super::record::ChildAccess;
use super::{Actor, Command};

/// A program that a person works with.
pub(super) struct Guest {
    terminal: Arc<Terminal>,
    task: JoinHandle<i32>,
}

impl Guest {
    /// Waits for its end. Cancelling the wait loses nothing.
    pub(super) async fn left(&mut self) -> i32 {
        // A task that was torn down tells nothing about its program.
        (&mut self.task).await.unwrap_or(-1)
    }
}

impl Actor {
    /// Lets a person into the worktree.
    pub(super) async fn attach(&mut self, visit: Visit) -> Result<(), Fault> {
        let before = self.state;
        match before {
            Session::Attached(_) => return Err(self.attached("take another person")),
            Session::Turning(_) => {
                let hint = Some(format!("`coppice stop {}` ends its turn", self.id));
                return Err(Fault::WrongState { id: self.id, status: self.record.status, act: "be attached to", hint });
            }
            Session::Resting(_) | Session::Integrating(_) => {}
        }
        if session::step(before, Event::Attach).is_none() {
            return Err(self.wrong_state("be attached to"));
        }
        attach::refuse(&self.shared, &self.record, visit.program).await?;
        // Two processes must not write to one conversation.
        self.end_conversation().await;
        self.record.body.is_untouched = false;
        self.record.body.attached = Some(visit.program.as_str().to_owned());
        self.staged.push(Payload::Attached { program: visit.program.as_str().to_owned() });
        let kept = self.unsaved.len();
        let leased = {
            // The files of a child that are on their way are there before the person is.
            let lock = self.shared.tree_lock(self.id);
            let _held = lock.lock().await;
            self.try_step(Event::Attach).await
        };
        if let Err(error) = leased {
            // Nobody works where nobody is known to.
            (self.state, self.record.body.attached) = (before, None);
            self.forget_refused(kept);
            return Err(error.into());
        }
        info!(session = %self.id, program = visit.program.as_str(), "attached");
        let running = match attach::start(&self.shared, &self.record, &visit).await {
            Ok(running) => running,
            Err(fault) => {
                self.release(None, Some(Changes::default())).await;
                return Err(fault);
            }
        };
        let (screen, host) = running.divide();
        let terminal = self.shared.terminals.open(self.id, visit.token, screen);
        let task = tokio::spawn(terminal.clone().follow(host));
        self.guest = Some(Guest { terminal, task });
        Ok(())
    }

    /// The program ended: what was changed by hand goes onto the session's branch, and prompts that waited begin.
    pub(super) async fn guest_left(&mut self, exit: i32) {
        let Some(guest) = self.guest.take() else { return };
        let (commit, changes) = match self.keep_by_hand().await {
            Ok(Some((commit, changes))) => (Some(commit), Some(changes)),
            Ok(None) => (None, Some(Changes::default())),
            Err(fault) => {
                let message = format!("what was changed by hand is not committed: {}", prepare::failure(fault).message);
                warn!(session = %self.id, message, "no checkpoint");
                self.staged.push(Payload::Warning { message });
                (None, None)
            }
        };
        info!(session = %self.id, exit, "detached");
        self.release(commit.clone(), changes).await;
        self.settle_conflict().await;
        guest.terminal.tell(Left { exit, commit, changes: changes.unwrap_or_default() });
        // What follows is not what they wanted stopped.
        self.answer_stops();
        if std::mem::take(&mut self.go_on) {
            self.start().await;
        }
    }

    /// Asks the person's program to end.
    pub(super) fn ask_guest_to_leave(&self) {
        if let Some(guest) = &self.guest {
            guest.terminal.end();
        }
    }

    /// Refuses what cannot be done to a tree that a person works in.
    pub(super) fn refuse_while_attached(&self, command: &Command) -> Result<(), Fault> {
        let Session::Attached(_) = self.state else { return Ok(()) };
        let act = match command {
            Command::Resume(_) => "be resumed",
            Command::Undo { .. } | Command::Redo => "be undone",
            Command::Merge { .. } => "be merged",
            Command::Rebase => "be rebased",
            Command::Resolution(_) => "be resolved",
            Command::Integrate => "be integrated",
            Command::Archive => "be archived",
            Command::Remove => "be removed",
            // What becomes of its family ends nobody's terminal.
            Command::Abort { .. } => "be stopped",
            // The answer to a call of a turn that was cut goes to the turn that follows at once.
            Command::Decide { .. } => "take a decision",
            Command::Answer { .. } if !self.record.body.calls.is_empty() => "take an answer",
            Command::Start
            | Command::Send { .. }
            | Command::SendReview
            | Command::DropPrompt { .. }
            | Command::Answer { .. }
            | Command::SetPosture { .. }
            | Command::Stop
            | Command::Note { .. }
            | Command::Attach(_)
            | Command::Restore
            | Command::Relink { .. }
            | Command::Retitle { .. }
            | Command::Recount { .. }
            | Command::CommitAgain
            | Command::Reword { .. } => return Ok(()),
        };
        Err(self.attached(act))
    }

    fn attached(&self, act: &'static str) -> Fault {
        Fault::Attached { id: self.id, act }
    }

    async fn keep_by_hand(&mut self) -> Result<Option<(String, Changes)>, Fault> {
        // Whoever only reads cannot have changed anything.
        if self.access() == Some(ChildAccess::ReadOnly) {
            return Ok(None);
        }
        let title = &self.record.body.title;
        self.commit_beside_turns(format!("Work by hand on {title}")).await
    }

    /// Gives the lease back.
    async fn release(&mut self, commit: Option<String>, changes: Option<Changes>) {
        let program = self.record.body.attached.take().unwrap_or_default();
        self.staged.push(Payload::Detached { program, commit, changes });
        self.follows = self.go_on && !self.record.body.order.is_empty() && self.closing.is_none();
        self.step(Event::Detach).await;
    }

    /// A prompt came while a person works in the tree: it begins when they leave, and the session says so.
    pub(super) async fn begin_after_guest(&mut self) {
        self.go_on = true;
        if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
            self.give_up(&error).await;
        }
    }
}
