//! A better name for what the session has: taken when it still fits, dropped without a word when it does not.

use crate::api::event::Payload;
use crate::config::resolve::CommitMessage;
use crate::git::history::{self, Checkpoint};
use crate::session::{Outcome, Rest, Session};
use crate::store::{Change, Durability};

use super::super::crash;
use super::super::fault::Fault;
use super::super::naming::Unworded;
use super::super::record::{Tree, TurnBody};
use super::Actor;
use super::tree::blocking;
use super::turn::TurnRun;

impl Actor {
    /// The checkpoint of a turn that ends, if a model is to word it. One that the next turn is about to bury is not worth
    /// the question.
    pub(super) fn unworded(&self, outcome: Outcome, turn: &TurnRun) -> Option<Unworded> {
        match (turn.wording, outcome) {
            (CommitMessage::Model, Outcome::Completed | Outcome::Asked) if !self.follows => {}
            (CommitMessage::Model | CommitMessage::Summary, _) => return None,
        }
        let summary = turn.response.as_ref().and_then(|response| response.summary.as_ref());
        let summary = summary.map(|summary| summary.turn.clone()).unwrap_or_default();
        Some(Unworded { turn: turn.number, commit: turn.checkpoint.clone()?, summary })
    }

    /// Gives the session another title, unless it has got one since `from`. Its branch keeps its name.
    pub(super) async fn retitle(&mut self, from: &str, to: String) -> Result<(), Fault> {
        if self.record.body.title != from || to == from {
            return Ok(());
        }
        self.record.body.title = to.clone();
        self.staged.push(Payload::TitleChanged { title: to });
        Ok(self.persist(Durability::Normal, Vec::new()).await?)
    }

    /// Gives the checkpoint of a turn another message, unless the session or its branch has gone on.
    pub(super) async fn reword(&mut self, turn: u32, commit: String, message: String) -> Result<(), Fault> {
        let is_open = match self.state {
            Session::Resting(Rest::Ready | Rest::Asking | Rest::Failed | Rest::Interrupted | Rest::Conflict) => true,
            Session::Resting(Rest::Draft | Rest::Merged | Rest::Archived)
            | Session::Turning(_)
            | Session::Integrating(_)
            | Session::Attached(_) => false,
        };
        // What a merge took is in other people's history.
        let is_merged = self.record.body.merged.as_deref() == Some(&commit);
        if !is_open || is_merged || self.record.body.tree != Tree::Ready {
            return Ok(());
        }
        let Some(row) = self.shared.turn(self.id, turn).await? else { return Ok(()) };
        let mut body = TurnBody::read(&row)?;
        if body.checkpoint.as_deref() != Some(&commit) {
            return Ok(());
        }
        let tree = self.tree().await?;
        let (session, old) = (self.id, commit.parse()?);
        let lock = self.shared.repository(&self.record.project);
        let reworded = {
            // Whoever makes a worktree holds it for long: a better message is not worth the wait.
            let Ok(_held) = lock.try_lock() else { return Ok(()) };
            blocking(move || history::reword(&tree, &old, Checkpoint { session, turn, message: &message })).await?
        };
        let Some(reworded) = reworded else { return Ok(()) };
        // A daemon that dies here leaves the turn with the commit as it was: the same tree, kept by the branch's log.
        crash::point();
        body.checkpoint = Some(reworded.to_string());
        self.staged.push(Payload::Reworded { turn, commit: reworded.to_string(), was: commit });
        Ok(self.persist(Durability::Normal, vec![Change::Turn(body.row(self.id, turn, row.raw))]).await?)
    }
}
