//! Calls that a person must decide: asked, taken back, decided, and remembered across a restart.

use sha2::{Digest, Sha256};

use crate::api::event::Payload;
use crate::backend::event::{ApprovalRequest, Command as BackendCommand, Decision};
use crate::session::Event;
use crate::store::Durability;

use super::super::record::{ApprovalRecord, DecisionRecord};
use super::super::settings::hex;
use super::super::{clock, view};
use super::Actor;
use super::turn::tool_name;

impl Actor {
    pub(super) async fn approval_asked(&mut self, request: ApprovalRequest) {
        let Some(turn) = &mut self.turn else { return };
        let number = turn.number;
        let ended = turn.blocks.interlude();
        self.store_blocks(number, ended).await;
        if self.turn.is_none() {
            return; // The store refused, and the turn is over.
        }
        let call_hash = call_hash(&request);
        if let Some(decision) = self.carried(&call_hash) {
            return self.decide_at_once(request.request, decision).await;
        }
        let id = self.approval_id();
        self.record.body.approvals.push(ApprovalRecord {
            id,
            request: request.request,
            tool: tool_name(request.kind).to_owned(),
            title: request.title,
            preview: (!request.preview.is_empty()).then_some(request.preview),
            requested_at: clock::now(),
            call_hash,
            expired: false,
            decision: None,
        });
        if let Some(asked) = self.record.body.approvals.last() {
            self.staged.push(Payload::ApprovalRequested { turn: number, approval: view::approval(asked) });
        }
        self.step(Event::ApprovalAsked).await;
    }

    /// Approvals are numbered within their session: short enough to type. No number comes twice, so that a decision
    /// never meets another call than the one that was looked at.
    fn approval_id(&mut self) -> String {
        self.record.body.asked += 1;
        self.record.body.asked.to_string()
    }

    /// A decision on the same call that could not be delivered before; it is used once.
    fn carried(&mut self, call_hash: &str) -> Option<DecisionRecord> {
        let approvals = &mut self.record.body.approvals;
        let at =
            approvals.iter().position(|old| old.expired && old.decision.is_some() && old.call_hash == call_hash)?;
        approvals.remove(at).decision
    }

    async fn decide_at_once(&mut self, request: String, decision: DecisionRecord) {
        if let Err(error) = self.persist(Durability::Normal, Vec::new()).await {
            return self.give_up(&error).await;
        }
        self.tell_backend(BackendCommand::Decide { request, decision: backend_decision(decision) }).await;
    }

    pub(super) async fn approval_gone(&mut self, request: &str) {
        let approvals = &mut self.record.body.approvals;
        let Some(at) = approvals.iter().position(|open| open.request == request && !open.expired) else { return };
        let gone = approvals.remove(at);
        if gone.decision.is_none() {
            let outcome = "cancelled".to_owned();
            self.staged.push(Payload::ApprovalResolved { approval: gone.id, outcome, message: None });
            self.step(Event::ApprovalGone).await;
        }
    }
}

/// The backend's form of a stored decision.
pub(super) fn backend_decision(decision: DecisionRecord) -> Decision {
    match decision {
        DecisionRecord::Allow => Decision::Once,
        DecisionRecord::Deny { message } => Decision::Deny { message },
    }
}

/// Names a call by what it would do, so that the same call is known again after a restart.
fn call_hash(request: &ApprovalRequest) -> String {
    let input = request.input.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [tool_name(request.kind), &request.title, &input, &request.preview] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}
