//! A family after a restart: children first, then the parent with what became of each.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::api::handoff::{Handoff, HandoffStatus};
use crate::api::session::TurnState;
use crate::delegation;
use crate::id::SessionId;

use super::super::actor::Command;
use super::super::fault::Fault;
use super::super::handoff;
use super::super::record::TurnBody;
use super::super::shared::Shared;
use super::tell;

/// Resumes the children of a session that were interrupted together with it, the deepest first. Those in the background
/// are somebody's decision of their own.
pub(in super::super) async fn resume_children(shared: &Arc<Shared>, parent: SessionId) -> Result<(), Fault> {
    let asked = handoff::of_parent(shared, parent).await?;
    let interrupted = |handoff: &&Handoff| handoff.status == HandoffStatus::Interrupted && !handoff.background;
    for handoff in asked.iter().filter(interrupted) {
        let Ok(child) = handoff.child_session_id.parse::<SessionId>() else { continue };
        if let Some(environment) = shared.environment(parent) {
            // Whoever resumes a family lends all of it the same environment.
            shared.set_environment(child, environment);
        }
        Box::pin(resume_children(shared, child)).await?;
        // One that cannot be resumed says so in its own state; the others go on.
        tell(shared, child, Command::Resume).await.ok();
    }
    Ok(())
}

/// The turns that tried the same prompt, this one the last: its children may be those of an earlier one.
pub(super) async fn attempts(shared: &Shared, parent: SessionId, turn: u32) -> Result<RangeInclusive<u32>, Fault> {
    let read = async |number| Ok::<_, Fault>(shared.store.turn(parent, number).await?.map(|row| TurnBody::read(&row)));
    let mut first = turn;
    let Some(last) = read(turn).await?.transpose()? else { return Ok(turn..=turn) };
    while let Some(before) = first.checked_sub(1) {
        let Some(body) = read(before).await?.transpose()? else { break };
        let is_open = match body.state {
            TurnState::Failed | TurnState::Interrupted => true,
            TurnState::Running | TurnState::Completed => false,
        };
        if !is_open || body.prompt != last.prompt {
            break;
        }
        first = before;
    }
    Ok(first..=turn)
}

/// What became of the handoffs of a turn that was interrupted, for the model that goes on with it.
pub(in super::super) async fn of_turn(shared: &Shared, parent: SessionId, turn: u32) -> Result<Option<String>, Fault> {
    let attempts = attempts(shared, parent, turn).await?;
    let asked = handoff::of_parent(shared, parent).await?;
    let told: Vec<_> = asked.iter().filter(|handoff| attempts.contains(&handoff.parent_turn_id)).map(told).collect();
    if told.is_empty() {
        return Ok(None);
    }
    let head = "You had delegated work in the interrupted turn. Do not delegate it again: `wait` collects what is not \
                done yet.";
    Ok(Some(format!("{head}\n\n{}", told.join("\n\n"))))
}

/// One handoff in words: who it was, how it stands, and what it reported.
pub(in super::super) fn told(handoff: &Handoff) -> String {
    let Handoff { handoff_id, child_session_id, child_agent_id, label, status, .. } = handoff;
    let head = format!(
        "Handoff {handoff_id} (agent {child_agent_id}, session {child_session_id}), {label}: {}",
        status.as_str()
    );
    let files = handoff::files(handoff);
    let reply = match delegation::reply(&handoff::report(handoff, files.as_deref())) {
        Ok(text) | Err(text) => text,
    };
    if status.is_final() && !reply.trim().is_empty() { format!("{head}\n{reply}") } else { head }
}
