//! A proposed resolution of a conflict: kept until the session leaves the conflict, applied when a person accepts it.

use tracing::warn;

use crate::api::event::Payload;
use crate::git::integrate::Outcome;
use crate::git::resolution::{self, proposal_ref};
use crate::git::{Oid, Worktree};
use crate::store::Durability;

use super::super::fault::Fault;
use super::super::resolution::{ProposalCommand, require_conflict};
use super::super::{crash, prepare};
use super::Actor;
use super::tree::blocking;

impl Actor {
    pub(super) async fn resolve(&mut self, command: ProposalCommand) -> Result<(), Fault> {
        require_conflict(&self.record, self.state, "be resolved")?;
        match command {
            ProposalCommand::Keep(proposal) => self.keep_proposal(proposal).await,
            ProposalCommand::Accept(proposal) => self.accept_proposal(proposal).await,
        }
    }

    /// Keeps a proposal in the place of an earlier one. A record whose ref is missing names nothing.
    async fn keep_proposal(&mut self, proposal: Oid) -> Result<(), Fault> {
        let before = self.record.body.proposal.replace(proposal.to_string());
        let kept = self.unsaved.len();
        if let Err(error) = self.persist(Durability::Full, Vec::new()).await {
            self.record.body.proposal = before;
            self.forget_refused(kept);
            return Err(error.into());
        }
        crash::point();
        let (repo, id) = (self.tree().await?.repo, self.id);
        blocking(move || resolution::keep_proposal(&repo, id, proposal)).await
    }

    async fn accept_proposal(&mut self, asked: String) -> Result<(), Fault> {
        let id = self.id;
        let (tree, name) = (self.tree().await?, proposal_ref(id));
        let repo = tree.repo.clone();
        let kept = blocking(move || repo.find_ref(&name)).await?;
        let proposal =
            kept.filter(|kept| kept.to_string() == asked && self.record.body.proposal.as_ref() == Some(&asked));
        let Some(proposal) = proposal else { return Err(Fault::NoProposal { id, proposal: asked }) };
        let applied = {
            // The files of a child that are on their way are there before.
            let lock = self.shared.tree_lock(id);
            let _held = lock.lock().await;
            // A daemon that dies in the middle of it finds a journal, and takes it back.
            let apply = move |tree: Worktree| resolution::apply_proposal(&tree, proposal);
            self.shared.in_stoppable_tree(id, &tree, apply).await?
        };
        match applied {
            Outcome::Integrated { .. } | Outcome::Nothing => {}
            Outcome::Conflict { files } | Outcome::Changed { files } | Outcome::Refused { files } => {
                let files = files.iter().map(|path| path.display().to_string()).collect();
                return Err(Fault::OutdatedProposal { id, files });
            }
        }
        crash::point();
        let message = format!("Resolve the conflict with {}", self.record.body.base.name);
        if let Err(fault) = self.commit_beside_turns(message).await {
            // The files are as they were accepted, and the next merge commits them.
            let message = format!("the resolution is not committed: {}", prepare::failure(fault).message);
            self.staged.push(Payload::Warning { message });
            self.persist(Durability::Normal, Vec::new()).await?;
        }
        self.settle_conflict().await;
        Ok(())
    }

    /// Forgets the proposal of a conflict that is gone, with the write that follows.
    pub(super) fn take_stale_proposal(&mut self) -> Option<String> {
        let body = &mut self.record.body;
        body.proposal.take_if(|_| body.conflicts.is_empty())
    }

    /// Deletes the ref of a proposal that the record does not name any more.
    pub(super) async fn delete_proposal(&self) {
        let (id, repo) = (self.id, prepare::open_repo(&self.record).await);
        let deleted = match repo {
            Ok(repo) => blocking(move || resolution::forget_proposal(&repo, id)).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = deleted {
            warn!(session = %id, %fault, "the ref of a proposed resolution stays");
        }
    }
}
