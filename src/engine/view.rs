//! Records and core values as clients see them.

use crate::api::event::Engine;
use crate::api::image::Attached;
use crate::api::session::{
    Approval, Base, InboxItem, Question, Sandbox, Session, Status, Subagent, Turn, UndoableMerge, WaitingFor, Wants,
};
use crate::protocol;
use crate::session;
use crate::workflow::PLAN_DECISION;

use super::plan_mode;
use super::record::{
    ApprovalRecord, ChildHold, EngineRecord, HookFixRecord, ImageRecord, QuestionRecord, Record, SurfaceHold, TurnBody,
};
use super::shared::Shared;

/// The session object.
pub(super) fn session(shared: &Shared, record: &Record) -> Session {
    let body = &record.body;
    Session {
        id: record.id.to_string(),
        title: body.title.clone(),
        status: record.status,
        waiting_for: waiting_for(record),
        needs: match record.removed_at {
            Some(_) => 0,
            None => u32::try_from(inbox_items(record).len()).unwrap_or(u32::MAX),
        },
        next: next_names(record),
        backend: body.backend.clone(),
        model: body.model.clone(),
        reasoning: body.reasoning.clone(),
        agent: Some(body.agent.id.clone()).filter(|id| !id.is_empty()),
        persona: body.agent.persona.clone(),
        surface: match body.agent.surface {
            SurfaceHold::Enforced => "enforced".to_owned(),
            SurfaceHold::Advisory => "advisory".to_owned(),
        },
        posture: body.posture.posture().as_str().to_owned(),
        yolo: body.posture.yolo,
        profile: match (body.agent.profile.as_str(), body.profile()) {
            ("", asked) => asked.unwrap_or_default().as_str().to_owned(),
            (used, _) => used.to_owned(),
        },
        read_only: body.agent.read_only,
        plan_file: plan_mode::is_on(record).then(|| plan_mode::file(shared, record).to_string_lossy().into_owned()),
        sandbox: Sandbox {
            level: if body.reach.level.is_empty() { Sandbox::UNKNOWN.to_owned() } else { body.reach.level.clone() },
            enforced: body.reach.enforced,
            note: body.reach.note.clone(),
        },
        project: body.common_dir.clone(),
        base: Base { name: body.base.name.clone(), commit: body.base.commit.clone() },
        branch: body.branch.clone(),
        worktree: body.worktree.clone(),
        parent: body.child.as_ref().map(|child| child.parent.to_string()),
        children: Vec::new(),
        handoff: body.child.as_ref().map(|child| child.handoff.clone()),
        thread_note: body.child.as_ref().and_then(|child| child.note.clone()),
        subagent: body.child.as_ref().map(|child| Subagent {
            parent_session_id: child.parent.to_string(),
            agent_type: body.agent.id.clone(),
            depth: child.depth,
        }),
        turns: body.turns,
        undone_to: body.undone.map(|(first, _)| first.saturating_sub(1)),
        queued: u32::try_from(body.order.len()).unwrap_or(u32::MAX),
        created_at: record.created_at,
        updated_at: record.updated_at,
        removed_at: record.removed_at,
        usage: body.usage.clone(),
        changes: body.changes,
        questions: questions(record),
        approvals: open_approvals(record).map(approval).collect(),
        summary: body.summary.clone(),
        last_error: body.last_error.clone(),
        uncommitted: body.uncommitted().cloned(),
        undoable_merge: undoable_merge(record),
        hook_fix: body.hook_fix.as_ref().map(HookFixRecord::view),
        conflicts: body.conflicts.clone(),
        unmarked_conflict: body.unmarked_conflict.clone().filter(|_| !body.conflicts.is_empty()),
        submodules: body.submodules.clone(),
        warnings: Vec::new(),
    }
}

fn undoable_merge(record: &Record) -> Option<UndoableMerge> {
    let last = record.body.undoable_merge()?;
    let target = last.target.strip_prefix("refs/heads/").unwrap_or(&last.target).to_owned();
    let named = u32::try_from(last.files.len()).unwrap_or(u32::MAX);
    let file_count = last.file_count.max(named);
    Some(UndoableMerge { commit: last.commit.clone(), target, files: last.files.clone(), file_count })
}

/// What can be done with a session in its state.
pub(super) fn next_names(record: &Record) -> Vec<String> {
    next(record).into_iter().map(str::to_owned).collect()
}

/// What a session wants of a person, if it wants something.
pub(super) fn inbox_items(record: &Record) -> Vec<InboxItem> {
    let child = record.body.child.as_ref();
    let item = |since, wants| InboxItem {
        session: record.id.to_string(),
        project: record.body.common_dir.clone(),
        title: record.body.title.clone(),
        since,
        parent: child.map(|child| child.parent.to_string()),
        agent: child.map(|_| record.body.agent.id.clone()),
        wants,
    };
    let approvals =
        open_approvals(record).map(|open| item(open.requested_at, Wants::Approval { approval: approval(open) }));
    let rest = match record.status {
        Status::Asking => Some(Wants::Answer { questions: questions(record) }),
        Status::Conflict => Some(Wants::Resolution { files: record.body.conflicts.clone() }),
        // Whoever delegated is told, and decides.
        Status::Failed if is_foreground(record) => None,
        Status::Failed => record.body.last_error.clone().map(|error| Wants::Attention { error }),
        Status::Interrupted if record.body.calls.iter().any(|call| call.answer.is_none()) => {
            Some(Wants::Answer { questions: questions(record) })
        }
        Status::Draft
        | Status::Queued
        | Status::Preparing
        | Status::Running
        | Status::Approval
        | Status::Ready
        | Status::Interrupted
        | Status::Integrating
        | Status::Merged
        | Status::Archived => None,
    };
    approvals.chain(rest.map(|wants| item(record.updated_at, wants))).collect()
}

fn is_foreground(record: &Record) -> bool {
    record.body.child.as_ref().is_some_and(|child| child.hold == ChildHold::Foreground)
}

/// One turn of a session.
pub(super) fn turn(number: u32, body: TurnBody, raw: Option<String>) -> Turn {
    let TurnBody {
        state,
        prompt,
        author: _,
        images,
        backend,
        model,
        agent,
        started_at,
        ended_at,
        response,
        error,
        checkpoint,
        checkpoint_failed: _,
        undone,
        usage,
    } = body;
    Turn {
        number,
        state,
        prompt,
        images: attached(&images),
        backend,
        model,
        agent,
        started_at,
        ended_at,
        response,
        error,
        checkpoint,
        undone,
        usage,
        raw,
    }
}

pub(super) fn engine(engine: EngineRecord) -> Engine {
    let EngineRecord { backend, model, reasoning } = engine;
    Engine { backend, model, reasoning }
}

/// The images of a prompt, numbered as their placeholders are.
pub(super) fn attached(images: &[ImageRecord]) -> Vec<Attached> {
    let numbered = images.iter().zip(1..);
    let attached = numbered.map(|(image, number)| Attached {
        number,
        name: image.name.clone(),
        media_type: image.media_type.clone(),
        bytes: image.bytes,
    });
    attached.collect()
}

/// The validated response as it is stored and shown.
pub(super) fn response(response: &protocol::Response) -> crate::api::session::Response {
    use crate::api::session::{AskedQuestion, Response, Summary};
    Response {
        answer: response.answer.clone(),
        questions: response
            .questions
            .iter()
            .map(|asked| AskedQuestion { text: asked.text.clone(), options: asked.options.clone() })
            .collect(),
        summary: response
            .summary
            .as_ref()
            .map(|summary| Summary { turn: summary.turn.clone(), session: summary.session.clone() }),
    }
}

pub(super) fn approval(record: &ApprovalRecord) -> Approval {
    Approval {
        id: record.id.clone(),
        tool: record.tool.clone(),
        title: record.title.clone(),
        preview: record.preview.clone(),
        reason: record.reason.clone(),
        layer: record.layer.clone(),
        rule: record.rule.clone(),
        saves: record.saves.clone(),
        warnings: record.warnings.clone(),
        requested_at: record.requested_at,
        expired: record.expired,
        session: None,
        agent: None,
    }
}

pub(super) fn open_approvals(record: &Record) -> impl Iterator<Item = &ApprovalRecord> {
    record.body.approvals.iter().filter(|approval| approval.decision.is_none())
}

/// What can be done with the session, the most likely first.
fn next(record: &Record) -> Vec<&'static str> {
    if record.removed_at.is_some() {
        return vec!["restore"];
    }
    if record.body.attached.is_some() {
        return vec!["stop", "send"];
    }
    let always = core_status(record.status).next().iter().copied();
    let is_empty = record.body.changes.files == 0;
    let is_child = record.body.child.is_some();
    // Offering what is bound to be refused helps nobody.
    let fits = |name: &&str| match *name {
        "merge" => (!is_empty || record.body.is_uncommitted()) && record.body.base.branch.is_some(),
        "undo" if record.status == Status::Merged => record.body.undoable_merge().is_some(),
        "undo" => !is_empty || record.body.undoable_merge().is_some(),
        // The base of a child is a snapshot, not a branch; its work goes home to its parent.
        "rebase" => !is_child,
        "resume" => !record.body.has_nothing_to_resume(),
        _ => true,
    };
    let home: &[&str] = if is_child && !is_empty && goes_home(record.status) { &["integrate"] } else { &[] };
    let expired = open_approvals(record).any(|approval| approval.expired);
    let decide: &[&str] = if expired && record.status == Status::Interrupted { &["approve", "deny"] } else { &[] };
    decide.iter().chain(home).copied().chain(always.filter(fits)).collect()
}

/// Whether a child in this state can bring its work home.
fn goes_home(status: Status) -> bool {
    match status {
        Status::Ready | Status::Asking | Status::Failed | Status::Interrupted | Status::Conflict => true,
        Status::Draft
        | Status::Queued
        | Status::Preparing
        | Status::Running
        | Status::Approval
        | Status::Integrating
        | Status::Merged
        | Status::Archived => false,
    }
}

/// What the session asks: first what a turn waits for, then what the last turn ended with.
pub(super) fn questions(record: &Record) -> Vec<Question> {
    let calls = record.body.calls.iter().filter(|call| call.answer.is_none()).map(|call| Question {
        text: call.text.clone(),
        options: call.options.clone(),
        answer: None,
        call: Some(call.id.clone()),
        multiple: call.multiple,
        expired: call.expired,
        session: None,
        purpose: (call.plan.is_some() || call.proposal.is_some()).then(|| PLAN_DECISION.to_owned()),
    });
    calls.chain(record.body.questions.iter().map(question)).collect()
}

fn question(record: &QuestionRecord) -> Question {
    Question {
        text: record.text.clone(),
        options: record.options.clone(),
        answer: record.answer.clone(),
        call: None,
        multiple: false,
        expired: false,
        session: None,
        purpose: record.purpose.clone(),
    }
}

fn waiting_for(record: &Record) -> Option<WaitingFor> {
    match record.status {
        Status::Asking => Some(WaitingFor::Answer),
        _ if open_approvals(record).next().is_some() => Some(WaitingFor::Approval),
        _ => None,
    }
}

/// The state machine's word as clients spell it.
pub(super) fn status(status: session::Status) -> Status {
    match status {
        session::Status::Draft => Status::Draft,
        session::Status::Queued => Status::Queued,
        session::Status::Preparing => Status::Preparing,
        session::Status::Running => Status::Running,
        session::Status::Approval => Status::Approval,
        session::Status::Asking => Status::Asking,
        session::Status::Ready => Status::Ready,
        session::Status::Failed => Status::Failed,
        session::Status::Interrupted => Status::Interrupted,
        session::Status::Integrating => Status::Integrating,
        session::Status::Conflict => Status::Conflict,
        session::Status::Merged => Status::Merged,
        session::Status::Archived => Status::Archived,
    }
}

fn core_status(status: Status) -> session::Status {
    match status {
        Status::Draft => session::Status::Draft,
        Status::Queued => session::Status::Queued,
        Status::Preparing => session::Status::Preparing,
        Status::Running => session::Status::Running,
        Status::Approval => session::Status::Approval,
        Status::Asking => session::Status::Asking,
        Status::Ready => session::Status::Ready,
        Status::Failed => session::Status::Failed,
        Status::Interrupted => session::Status::Interrupted,
        Status::Integrating => session::Status::Integrating,
        Status::Conflict => session::Status::Conflict,
        Status::Merged => session::Status::Merged,
        Status::Archived => session::Status::Archived,
    }
}
