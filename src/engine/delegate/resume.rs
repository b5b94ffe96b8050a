//! A family after a restart: children first, then the parent with what became of each.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::api::handoff::{Handoff, HandoffStatus, Integration};
use crate::api::session::TurnState;
use crate::config::family::Integrate;
use crate::delegation;
use crate::id::SessionId;
use crate::session::{Rest, Session};

use super::super::actor::Command;
use super::super::fault::Fault;
use super::super::prepare::SetupChoice;
use super::super::record::{Record, TurnBody};
use super::super::shared::Shared;
use super::super::{handoff, prepare};
use super::tell;

/// Lets the children of a session that were interrupted together with it go on, the deepest first, and brings home what
/// was done when the daemon ended. Those in the background are somebody's decision of their own. A parent that is not
/// interrupted itself leaves its children alone.
pub(in super::super) async fn resume_children(shared: &Arc<Shared>, parent: SessionId) -> Result<(), Fault> {
    let Some(row) = shared.store.session(parent).await? else { return Ok(()) };
    let record = Record::read(row)?;
    match record.found() {
        Session::Resting(Rest::Interrupted | Rest::Failed) => {}
        Session::Resting(_) | Session::Turning(_) | Session::Integrating(_) | Session::Attached(_) => return Ok(()),
    }
    let repo = prepare::open_repo(&record).await?;
    let wanted = shared.settings.session(&record, &repo).await?.config.delegation.integrate;
    for handoff in unfinished(shared, &record).await?.iter().filter(|handoff| !handoff.background) {
        let Ok(child) = handoff.child_session_id.parse::<SessionId>() else { continue };
        let is_pending = handoff.integration == Integration::Pending {};
        match handoff.status {
            HandoffStatus::Interrupted => {
                if let Some(environment) = shared.environment(parent) {
                    shared.set_environment(child, environment);
                }
                Box::pin(resume_children(shared, child)).await?;
                // One that cannot be resumed says so in its own state; the others go on.
                tell(shared, child, Command::Resume(SetupChoice::Run)).await.ok();
            }
            // What stands in the way is in the handoff.
            HandoffStatus::Completed if is_pending && wanted == Integrate::Auto => {
                tell(shared, child, Command::Integrate).await.ok();
            }
            HandoffStatus::Completed
            | HandoffStatus::Queued
            | HandoffStatus::Running
            | HandoffStatus::PendingPermission
            | HandoffStatus::PendingQuestion
            | HandoffStatus::Failed
            | HandoffStatus::Cancelled
            | HandoffStatus::TimedOut => {}
        }
    }
    Ok(())
}

/// The turns that tried the same prompt, this one the last: its children may be those of an earlier one.
pub(super) async fn attempts(shared: &Shared, parent: SessionId, turn: u32) -> Result<RangeInclusive<u32>, Fault> {
    let read = async |number| Ok::<_, Fault>(shared.turn(parent, number).await?.map(|row| TurnBody::read(&row)));
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

/// The handoffs of all attempts at the task of the last turn.
async fn unfinished(shared: &Shared, parent: &Record) -> Result<Vec<Handoff>, Fault> {
    let attempts = attempts(shared, parent.id, parent.body.turns).await?;
    let asked = handoff::of_parent(shared, parent.id).await?;
    Ok(asked.into_iter().filter(|handoff| attempts.contains(&handoff.parent_turn_id)).collect())
}

/// What became of the handoffs of a task that was interrupted, for the model that goes on with it.
pub(in super::super) async fn of_unfinished(shared: &Shared, parent: &Record) -> Result<Option<String>, Fault> {
    let told: Vec<_> = unfinished(shared, parent).await?.iter().map(told).collect();
    if told.is_empty() {
        return Ok(None);
    }
    let head = "You had delegated work in the interrupted turn. Do not delegate it again: `wait` collects what is not \
                done yet, and brings changes that are not in your work tree.";
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
