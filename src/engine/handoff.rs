//! Handoffs: the record of each delegation, written together with the child's own state, and those who wait for it.
//!
//! The child's task is the only writer. Whoever waits is woken after the commit, so what it reads survives anything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::api;
use crate::api::event::Payload;
use crate::api::handoff::{Handoff, HandoffStatus, Integration, PendingPermission, PendingQuestion};
use crate::delegation::{self, Cause, Child, Report, Status, Watched};
use crate::id::SessionId;
use crate::session::{Phase, Rest, Session};
use crate::store::{Change, HandoffRow};

use super::fault::Fault;
use super::record::{self, ApprovalRecord, CallReach, Record, json};
use super::shared::{Shared, event};
use super::{clock, view};

/// Those who wait for a handoff; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Waiters {
    changed: Arc<Mutex<HashMap<String, watch::Sender<()>>>>,
}

impl Waiters {
    /// Every change of a handoff from this moment on.
    pub(super) fn watch(&self, handoff: &str) -> watch::Receiver<()> {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.retain(|_, sender| sender.receiver_count() > 0);
        changed.entry(handoff.to_owned()).or_default().subscribe()
    }

    /// A change was committed.
    pub(super) fn tell(&self, handoff: &str) {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = changed.get(handoff) {
            sender.send_replace(());
        }
    }
}

/// The handoff as it is stored.
pub(super) fn row(handoff: &Handoff) -> Result<HandoffRow, Fault> {
    let id = |text: &str| text.parse::<SessionId>().map_err(|_| Fault::NoHandoff { id: handoff.handoff_id.clone() });
    Ok(HandoffRow {
        id: handoff.handoff_id.clone(),
        parent: id(&handoff.parent_session_id)?,
        child: id(&handoff.child_session_id)?,
        status: handoff.status.as_str().to_owned(),
        created_at: handoff.started_at,
        updated_at: clock::now(),
        record: json(handoff),
    })
}

/// One handoff, by its own id or by its child's.
pub(super) async fn find(shared: &Shared, id: &str) -> Result<Option<Handoff>, Fault> {
    let row = match id.parse::<SessionId>() {
        Ok(child) => shared.store.handoff_of(child).await?,
        Err(_) => shared.store.handoff(id.to_owned()).await?,
    };
    Ok(row.as_ref().map(record::handoff).transpose()?)
}

/// The handoffs that a session asked for, oldest first.
pub(super) async fn of_parent(shared: &Shared, parent: SessionId) -> Result<Vec<Handoff>, Fault> {
    Ok(shared.store.handoffs(parent).await?.iter().map(record::handoff).collect::<Result<_, _>>()?)
}

/// What the store gets for a handoff that changed: its row, and the fact on the parent's stream.
pub(super) fn changes(handoff: &Handoff) -> Result<[Change; 2], Fault> {
    let row = row(handoff)?;
    let (text, is_final) = (line(handoff), handoff.status.is_final());
    let told = Payload::HandoffUpdated { handoff: Box::new(handoff.clone()), text, is_final };
    let told = event(row.parent, &told);
    Ok([Change::Handoff(row), told])
}

fn line(handoff: &Handoff) -> String {
    let lasted = handoff.finished_at.and_then(|end| u64::try_from(end - handoff.started_at).ok());
    delegation::watch_line(&Watched {
        agent: &handoff.child_agent_id,
        persona: handoff.persona.as_deref(),
        id: &handoff.child_session_id,
        state: core_status(handoff.status).lifecycle(),
        lasted: lasted.map(Duration::from_millis),
        text: handoff.error.as_deref().or(handoff.assistant_text.as_deref()).unwrap_or_default(),
    })
}

/// Who ended a turn that did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndedBy {
    Somebody,
    Daemon,
}

/// The handoff of a child that is in this state. What an earlier turn reported stays until the next one reports.
pub(super) fn follow(before: &Handoff, record: &Record, state: Session, ended: EndedBy) -> Handoff {
    let mut handoff = before.clone();
    let body = &record.body;
    // What ended a turn is known when it ends. A child at rest afterwards says nothing more about that.
    let is_told = before.status.is_final() && before.child_turn_id == Some(record.body.turns);
    let rests = state == Session::Resting(Rest::Interrupted) && record.status == api::session::Status::Interrupted;
    if let Some(child) = stands(before, record, state, ended).filter(|_| !(is_told && rests)) {
        handoff.status = status_of(delegation::of_child(child));
    }
    handoff.child_turn_id = (body.turns > 0).then_some(body.turns);
    handoff.backend = body.backend.clone();
    handoff.model = body.model.clone();
    handoff.usage = body.usage.clone();
    handoff.diffstat = body.changes;
    handoff.thread_note = body.child.as_ref().and_then(|child| child.note.clone());
    handoff.pending_permission = view::open_approvals(record).next().map(|open| permission(open, &body.worktree));
    handoff.pending_question = question(record);
    if !handoff.status.is_final() {
        handoff.finished_at = None;
    } else if handoff.finished_at.is_none() {
        handoff.finished_at = Some(clock::now());
    }
    handoff
}

/// Where a child stands; `None` when its state says nothing about what it was asked for.
fn stands(before: &Handoff, record: &Record, state: Session, ended: EndedBy) -> Option<Child> {
    Some(match state {
        // Another prompt follows at once.
        Session::Resting(_) if record.status == crate::api::session::Status::Queued => Child::Queued,
        Session::Resting(rest) => match rest {
            Rest::Draft => Child::Queued,
            Rest::Ready => Child::Ready,
            Rest::Asking => Child::AskingAtRest,
            Rest::Failed => Child::Failed(match record.body.last_error.as_ref().map(|error| error.kind.as_str()) {
                Some("timeout") => Cause::Timeout,
                Some(delegation::STEP_LIMIT) => Cause::StepLimit,
                Some(_) | None => Cause::Other,
            }),
            Rest::Interrupted => match ended {
                EndedBy::Somebody => Child::Stopped,
                EndedBy::Daemon => Child::DaemonEnded,
            },
            // A turn that left an earlier conflict where it was is over all the same.
            Rest::Conflict if !before.status.is_final() => Child::Ready,
            Rest::Conflict | Rest::Merged | Rest::Archived => return None,
        },
        Session::Integrating(_) | Session::Attached(_) => return None,
        Session::Turning(turn) => match turn.phase {
            Phase::Queued => Child::Queued,
            Phase::Preparing => Child::Preparing,
            Phase::Working | Phase::Parked | Phase::Returning if turn.open.approvals > 0 => Child::Approval,
            Phase::Working | Phase::Parked | Phase::Returning if turn.open.questions > 0 => Child::AskingInTurn,
            Phase::Working | Phase::Parked | Phase::Returning | Phase::Stopping(..) | Phase::Closing(..) => {
                Child::Running
            }
        },
    })
}

fn permission(open: &ApprovalRecord, worktree: &str) -> PendingPermission {
    let (kind, command, path) = match open.call.as_ref().map(|call| &call.reach) {
        Some(CallReach::Command { text, .. }) => ("execution", Some(text.clone()), None),
        Some(CallReach::Url(url)) => ("network", None, Some(url.clone())),
        Some(CallReach::Paths(paths)) => ("path", None, paths.first().map(|path| path.display().to_string())),
        Some(CallReach::Mcp { .. } | CallReach::Elsewhere) | None => match open.tool.as_str() {
            "execute" => ("execution", Some(open.title.clone()), None),
            "fetch" => ("network", None, Some(open.title.clone())),
            _ => ("path", None, Some(open.title.clone())),
        },
    };
    PendingPermission {
        request_id: open.id.clone(),
        kind: kind.to_owned(),
        tool_name: open.tool.clone(),
        reason: open.reason.clone(),
        command,
        path,
        working_directory: worktree.to_owned(),
    }
}

fn question(record: &Record) -> Option<PendingQuestion> {
    let call = record.body.calls.iter().find(|call| call.answer.is_none());
    let call = call.map(|call| (call.id.clone(), "question", &call.text, &call.options));
    let asked = record.body.questions.iter().zip(1u32..).find(|(asked, _)| asked.answer.is_none());
    let asked = asked.map(|(asked, number)| (number.to_string(), "response", &asked.text, &asked.options));
    let (request_id, tool_name, question, options) = call.or(asked)?;
    Some(PendingQuestion {
        request_id,
        tool_name: tool_name.to_owned(),
        question: question.clone(),
        options: options.clone(),
    })
}

/// What the parent's model is told, beside the record itself.
pub(super) fn report<'a>(handoff: &'a Handoff, files: Option<&'a str>) -> Report<'a> {
    Report {
        handoff: &handoff.handoff_id,
        session: &handoff.child_session_id,
        agent: &handoff.child_agent_id,
        label: &handoff.label,
        status: core_status(handoff.status),
        text: handoff.plan.as_deref().or(handoff.assistant_text.as_deref()),
        error: handoff.error.as_deref(),
        files,
    }
}

/// One sentence on what became of the child's files; none when it changed nothing.
pub(super) fn files(handoff: &Handoff) -> Option<String> {
    let (child, branch) = (&handoff.child_session_id, &handoff.branch);
    match &handoff.integration {
        Integration::Nothing {} => None,
        Integration::Integrated { files } if files.is_empty() => None,
        Integration::Pending {} => {
            Some(format!("Its changes are on the branch `{branch}`; `coppice integrate {child}` brings them here."))
        }
        Integration::Uncommitted { worktree, reason } => Some(format!(
            "Its changes could not be committed ({reason}), so nothing was written here. They are in `{worktree}`; \
             `coppice integrate {child}` commits and brings them once the cause is fixed."
        )),
        Integration::Integrated { files } => Some(format!("Changed in your work tree: {}.", files.join(", "))),
        Integration::Conflict { files } => Some(format!(
            "Its changes conflict with yours in {}. Nothing was written; they stay on the branch `{branch}`.",
            files.join(", ")
        )),
        Integration::Changed { files } => Some(format!(
            "Your work tree changed meanwhile in {}. Nothing was written; its changes stay on the branch `{branch}`.",
            files.join(", ")
        )),
    }
}

pub(super) fn core_status(status: HandoffStatus) -> Status {
    match status {
        HandoffStatus::Queued => Status::Queued,
        HandoffStatus::Running => Status::Running,
        HandoffStatus::PendingPermission => Status::PendingPermission,
        HandoffStatus::PendingQuestion => Status::PendingQuestion,
        HandoffStatus::Completed => Status::Completed,
        HandoffStatus::Failed => Status::Failed,
        HandoffStatus::Cancelled => Status::Cancelled,
        HandoffStatus::TimedOut => Status::TimedOut,
        HandoffStatus::Interrupted => Status::Interrupted,
    }
}

fn status_of(status: Status) -> HandoffStatus {
    match status {
        Status::Queued => HandoffStatus::Queued,
        Status::Running => HandoffStatus::Running,
        Status::PendingPermission => HandoffStatus::PendingPermission,
        Status::PendingQuestion => HandoffStatus::PendingQuestion,
        Status::Completed => HandoffStatus::Completed,
        Status::Failed => HandoffStatus::Failed,
        Status::Cancelled => HandoffStatus::Cancelled,
        Status::TimedOut => HandoffStatus::TimedOut,
        Status::Interrupted => HandoffStatus::Interrupted,
    }
}
