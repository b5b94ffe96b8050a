//! The tree of sessions around one: who is in it, how each stands, and what one of them may do to another.

use std::sync::Arc;

use futures_util::future::join_all;

use crate::api::event::PromptAuthor;
use crate::api::handoff::{Handoff, HandoffStatus};
use crate::api::request::When;
use crate::api::session::Status;
use crate::delegation::{self, Lifecycle, ListActive, Member};
use crate::id::SessionId;
use crate::session::Session;
use crate::store::SessionRow;

use super::super::actor::{Command, Draft};
use super::super::fault::Fault;
use super::super::prepare::SetupChoice;
use super::super::record::{self, Record, Switch};
use super::super::shared::Shared;
use super::super::{clock, handoff};
use super::{Caller, tell, text};

/// One session of a tree, with the handoff that made it.
struct Relative {
    record: Record,
    handoff: Option<Handoff>,
}

/// The whole tree that a session is part of, parents before children.
async fn relatives(shared: &Shared, of: &Record) -> Result<Vec<Relative>, Fault> {
    let root = of.body.child.as_ref().map_or(of.id, |child| child.root);
    let mut found = Vec::new();
    let mut rows: Vec<SessionRow> = shared.store.session(root).await?.into_iter().collect();
    while let Some(row) = rows.pop() {
        let made = shared.store.handoff_of(row.id).await?;
        let handoff = made.as_ref().map(record::handoff).transpose()?;
        let record = Record::read(row)?;
        let mut children = shared.store.children(record.id).await?;
        children.reverse();
        rows.extend(children);
        found.push(Relative { record, handoff });
    }
    Ok(found)
}

async fn members(shared: &Shared, caller: &Caller) -> Result<(Vec<Relative>, Vec<Member>), String> {
    let family = relatives(shared, &caller.record).await.map_err(text)?;
    let members = family.iter().map(member).collect();
    Ok((family, members))
}

fn member(relative: &Relative) -> Member {
    let Relative { record, handoff } = relative;
    let body = &record.body;
    let seconds = (clock::now() - record.updated_at) / 1000;
    Member {
        id: record.id.to_string(),
        parent: body.child.as_ref().map(|child| child.parent.to_string()),
        depth: body.child.as_ref().map_or(0, |child| child.depth),
        name: Some(body.title.clone()),
        note: body.child.as_ref().and_then(|child| child.note.clone()),
        agent: Some(body.agent.id.clone()).filter(|agent| !agent.is_empty()),
        persona: body.agent.persona.clone(),
        state: state(record, handoff.as_ref()),
        state_seconds: u64::try_from(seconds).ok(),
        model: body.model.clone().unwrap_or_else(|| body.backend.clone()),
        effort: body.reasoning.clone(),
        updated_at: Some(record.updated_at),
    }
}

/// How an agent stands; one that was put away or removed is closed, however it ended.
fn state(record: &Record, handoff: Option<&Handoff>) -> Lifecycle {
    let is_away = record.removed_at.is_some() || record.status == Status::Archived;
    match handoff {
        _ if is_away => Lifecycle::Shutdown,
        Some(handoff) => handoff::core_status(handoff.status).lifecycle(),
        None => Lifecycle::Running,
    }
}

pub(super) async fn lifecycle(shared: &Shared, handoff: &Handoff) -> Lifecycle {
    let session = match handoff.child_session_id.parse::<SessionId>() {
        Ok(id) => shared.store.session(id).await.ok().flatten(),
        Err(_) => None,
    };
    match session.and_then(|row| Record::read(row).ok()) {
        Some(record) => state(&record, Some(handoff)),
        None => Lifecycle::NotFound,
    }
}

/// The handoffs behind some ids, each its own or its child's; `None` where the caller's family has none.
pub(super) async fn handoffs(shared: &Shared, of: &Record, ids: &[String]) -> Result<Vec<Option<Handoff>>, String> {
    let family = relatives(shared, of).await.map_err(text)?;
    let named = |id: &String| {
        let is_meant = |handoff: &&Handoff| handoff.handoff_id == *id || handoff.child_session_id == *id;
        family.iter().filter_map(|relative| relative.handoff.as_ref()).find(is_meant).cloned()
    };
    Ok(ids.iter().map(named).collect())
}

/// The agent that an id means, in the caller's family.
async fn find(shared: &Shared, caller: &Caller, id: &str) -> Result<(SessionId, Handoff), String> {
    let found = handoffs(shared, &caller.record, &[id.to_owned()]).await?.into_iter().next().flatten();
    let Some(handoff) = found else {
        let is_id = id.parse::<SessionId>().is_ok() || id.starts_with("h_");
        return Err(match is_id {
            true => delegation::not_found(id),
            false => delegation::invalid_id(id, "expected a session or a handoff"),
        });
    };
    let child = handoff.child_session_id.parse().map_err(|_| delegation::not_found(id))?;
    Ok((child, handoff))
}

/// The same, for those who want something of it: a root reaches everybody, a child those below it only.
async fn reach(shared: &Shared, caller: &Caller, id: &str) -> Result<(SessionId, Handoff), String> {
    let (child, handoff) = find(shared, caller, id).await?;
    let (_, members) = members(shared, caller).await?;
    delegation::close_order(caller.record.id.as_str(), child.as_str(), &members)
        .map_err(|refusal| refusal.replace("to close", "to reach"))?;
    Ok((child, handoff))
}

pub(super) async fn list(shared: &Shared, caller: &Caller, asked: ListActive) -> Result<String, String> {
    let (_, members) = members(shared, caller).await?;
    Ok(delegation::list_text(asked, caller.record.id.as_str(), &members))
}

pub(super) async fn send_input(
    shared: &Arc<Shared>,
    caller: &Caller,
    input: delegation::Input,
) -> Result<String, String> {
    let (child, handoff) = reach(shared, caller, &input.id).await?;
    if lifecycle(shared, &handoff).await == Lifecycle::Shutdown {
        return Err(delegation::is_closed(&input.id));
    }
    let when = match input.when {
        delegation::When::NextTurn => When::InOrder,
        delegation::When::Now => When::Now,
    };
    let draft = Box::new(Draft {
        text: input.text,
        images: Vec::new(),
        switch: Switch::default(),
        context: None,
        author: PromptAuthor::ParentAgent,
    });
    let session = tell(shared, child, Command::Send { draft, when }).await?;
    let submission = format!("{child}-{}", session.turns + session.queued);
    Ok(serde_json::json!({ "submission_id": submission }).to_string())
}

pub(super) async fn set_note(
    shared: &Arc<Shared>,
    caller: &Caller,
    id: &str,
    note: Option<String>,
) -> Result<String, String> {
    let (child, _) = reach(shared, caller, id).await?;
    let note = note.map(|note| delegation::one_line(&note)).filter(|note| !note.is_empty());
    let session = tell(shared, child, Command::Note { note }).await?;
    Ok(serde_json::json!({ "thread_note": session.thread_note }).to_string())
}

/// Opens an agent again that was closed or interrupted; one that is at work goes on.
pub(super) async fn reopen(shared: &Arc<Shared>, caller: &Caller, id: &str) -> Result<String, String> {
    let (child, handoff) = reach(shared, caller, id).await?;
    let state = lifecycle(shared, &handoff).await;
    let wanted = state == Lifecycle::Shutdown || handoff.status == HandoffStatus::Interrupted;
    if wanted {
        tell(shared, child, Command::Resume(SetupChoice::Run)).await?;
    }
    let (_, handoff) = find(shared, caller, id).await?;
    let state = lifecycle(shared, &handoff).await;
    Ok(serde_json::json!({ "status": state.word() }).to_string())
}

/// Closes an agent and everybody below it, the leaves first.
pub(super) async fn close(shared: &Arc<Shared>, caller: &Caller, id: &str) -> Result<String, String> {
    let target = match find(shared, caller, id).await {
        Ok((child, _)) => child.to_string(),
        Err(_) if id == caller.record.id.as_str() => id.to_owned(),
        Err(error) => return Err(error),
    };
    let (family, members) = members(shared, caller).await?;
    let order = delegation::close_order(caller.record.id.as_str(), &target, &members)?;
    let attached = family.iter().filter(|relative| relative.record.body.attached.is_some());
    if let Some(attached) =
        attached.map(|relative| relative.record.id.as_str()).find(|id| order.iter().any(|at| at == id))
    {
        return Err(delegation::has_person(attached));
    }
    let last = members.iter().find(|member| member.id == target).map_or(Lifecycle::NotFound, |member| member.state);
    for id in order {
        shut(shared, &id, "closed by its parent").await;
    }
    Ok(serde_json::json!({ "status": last.word() }).to_string())
}

/// Stops what an agent does and puts it away; its work stays on its branch.
async fn shut(shared: &Arc<Shared>, id: &str, reason: &str) {
    stop(shared, id, reason).await;
    if let Ok(id) = id.parse::<SessionId>() {
        // One that is put away already is what is wanted.
        tell(shared, id, Command::Archive).await.ok();
    }
}

/// Stops what a session does, if it does anything; it rests when this returns.
pub(super) async fn stop(shared: &Arc<Shared>, id: &str, reason: &str) {
    if let Ok(id) = id.parse::<SessionId>() {
        // One that is at rest needs no stop, and one in which a person works is not stopped.
        tell(shared, id, Command::Abort { reason: reason.to_owned() }).await.ok();
    }
}

/// Stops the children that belong to a turn which did not come to its end.
pub(in super::super) async fn stop_children(shared: Arc<Shared>, parent: SessionId, turn: u32) {
    let Ok(asked) = handoff::of_parent(&shared, parent).await else { return };
    // Those of a turn that this one takes up again are its own.
    let turns = super::resume::attempts(&shared, parent, turn).await.unwrap_or(turn..=turn);
    let belongs = |handoff: &Handoff| turns.contains(&handoff.parent_turn_id) && !handoff.background;
    let running = asked.iter().filter(|handoff| belongs(handoff) && !handoff.status.is_final());
    let reason = "the turn that asked for it was stopped";
    join_all(running.map(|handoff| stop(&shared, &handoff.child_session_id, reason))).await;
}

/// A work tree is nobody else's while its session works in it.
pub(in super::super) async fn refuse_while_parent_works(shared: &Shared, child: SessionId) -> Result<(), Fault> {
    let row = shared.store.session(child).await?.ok_or(Fault::SessionGone { id: child })?;
    let record = Record::read(row)?;
    let parent = record.body.child.as_ref().map(|child| child.parent).ok_or(Fault::NotAChild { id: child })?;
    let row = shared.store.session(parent).await?.ok_or(Fault::SessionGone { id: parent })?;
    let record = Record::read(row)?;
    let reason = match record.found() {
        // Whether a person works in it, the child's own task sees under the lock of the tree.
        Session::Resting(_) | Session::Integrating(_) | Session::Attached(_) => return Ok(()),
        Session::Turning(_) => "a turn is in progress in it".to_owned(),
    };
    Err(Fault::NotIntegrated { child, parent, reason })
}

/// Closes all children of a session that is put away or removed, background ones as well.
pub(in super::super) async fn close_family(shared: Arc<Shared>, parent: SessionId) {
    let Ok(Some(row)) = shared.store.session(parent).await else { return };
    let Ok(record) = Record::read(row) else { return };
    let Ok(family) = relatives(&shared, &record).await else { return };
    let members: Vec<_> = family.iter().map(member).collect();
    let own = members.iter().filter(|member| member.parent.as_deref() == Some(parent.as_str()));
    for child in own {
        let order = delegation::close_order(parent.as_str(), &child.id, &members).unwrap_or_default();
        for id in order {
            shut(&shared, &id, "its parent was put away").await;
        }
    }
}
