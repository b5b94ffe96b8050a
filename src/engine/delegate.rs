//! What a served call does: children are made, waited for, sent input and closed; agents, tasks and skills are told.
//!
//! It runs beside the caller's own task and knows it by its record. Every answer is a text for the model, an error as
//! well: a delegation that is refused never fails the turn.

mod family;
mod resume;
mod reviewed_work;
mod route;
mod spawn;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::listing;
use crate::agent::skill::{self, loaded_by_models};
use crate::api;
use crate::api::handoff::{Handoff, HandoffStatus, Integration};
use crate::api::session::Session;
use crate::config::Config;
use crate::config::family::{Integrate, PlannerApproval};
use crate::delegation::{self, Facade, Hold, Order};
use crate::id::SessionId;
use crate::tools::{Answer, Detail, Request};

use super::actor::{self, Command};
use super::agents::role::Role;
use super::agents::{self, Agents, Ground};
use super::fault::Fault;
use super::record::{ChildHold, Record};
use super::shared::Shared;
use super::work::Wider;
use super::{handoff, prepare, workflow};
pub(super) use family::{close_family, refuse_while_parent_works, stop_children};
pub(super) use resume::{of_unfinished, resume_children, told};
pub(super) use reviewed_work::{PATCH_BYTES, describe_requests, describe_work, list_files};
pub(super) use spawn::{Wish, child};

/// Who calls, as it was when its turn began.
pub(super) struct Caller {
    pub(super) record: Record,
    pub(super) turn: u32,
    pub(super) role: Arc<Role>,
    pub(super) config: Arc<Config>,
    /// How long a call may stay open.
    pub(super) hold: Duration,
    /// The call is not waited for any more.
    pub(super) cancel: CancellationToken,
}

/// What became of a call.
pub(super) struct News {
    pub(super) request: String,
    pub(super) what: What,
}

pub(super) enum What {
    /// It waits for a child.
    Waits,
    Done(Result<Answer, String>),
    /// A child has made a plan, and a person decides what happens with it before the model reads it.
    Plan(Box<Handoff>),
    /// A call that was allowed reaches more than it named, and is decided about once more.
    Wider(Box<Wider>),
}

/// Performs a call and tells its caller what became of it; one that is gone needs no answer.
pub(super) async fn perform(
    shared: Arc<Shared>,
    caller: Caller,
    request: String,
    asked: Request,
    news: mpsc::Sender<News>,
) {
    let line = Line { request, news };
    let done = match asked {
        Request::Delegate(order) => match delegate(&shared, &caller, &order, &line).await {
            Ok(Delegated::Plan(handoff)) => return line.send(What::Plan(handoff)).await,
            Ok(Delegated::Text(text)) => Ok(text),
            Err(text) => Err(text),
        },
        Request::Wait(asked) => wait::wait(&shared, &caller, &asked, &line).await,
        Request::SendInput(input) => family::send_input(&shared, &caller, input).await,
        Request::CloseAgent { id } => family::close(&shared, &caller, &id).await,
        Request::ListActiveAgents(asked) => family::list(&shared, &caller, asked).await,
        Request::SetThreadNote { id, note } => family::set_note(&shared, &caller, &id, note).await,
        Request::ResumeAgent { id } => family::reopen(&shared, &caller, &id).await,
        Request::ListAgents { agent, detail } => list_agents(&shared, &caller, agent.as_deref(), detail).await,
        Request::TaskWorkflow(change) => workflow::change(&shared, &caller.record, &change).await,
        Request::TaskReview(change) => workflow::review(&shared, &caller.record, &change).await,
        Request::Skill { name, section } => load_skill(&shared, &caller, &name, section.as_deref()).await,
        Request::SearchSkills { query } => search_skills(&shared, &caller, &query).await,
        // The session's own task answers these.
        Request::Question(_) | Request::TodoWrite(_) | Request::ExitPlanMode | Request::Work(_) => {
            Err("this tool is not performed here".to_owned())
        }
    };
    line.send(What::Done(done.map(Answer::from))).await;
}

/// The way back to the caller.
struct Line {
    request: String,
    news: mpsc::Sender<News>,
}

impl Line {
    async fn send(&self, what: What) {
        // A caller whose turn is over has dropped the other end.
        self.news.send(News { request: self.request.clone(), what }).await.ok();
    }
}

enum Delegated {
    Text(String),
    Plan(Box<Handoff>),
}

async fn delegate(shared: &Arc<Shared>, caller: &Caller, order: &Order, line: &Line) -> Result<Delegated, String> {
    let wish = Wish::called(caller, order);
    let made = child(shared, &wish).await?;
    if caller.cancel.is_cancelled() {
        // Its turn ended while the child was made: nobody owns it.
        family::stop(shared, &made.child_session_id, "the turn that asked for it was stopped").await;
        return Err("the turn was stopped".to_owned());
    }
    if order.hold != Hold::Foreground || made.background {
        return Ok(Delegated::Text(match order.facade {
            Facade::SpawnAgent => delegation::spawn_text(&made.child_session_id, made.thread_note.as_deref()),
            Facade::Agent | Facade::Delegate | Facade::Task => {
                delegation::background_text(&made.child_agent_id, &made.child_session_id)
            }
        }));
    }
    line.send(What::Waits).await;
    let hold = delegation::hold(caller.config.delegation.max_block, caller.hold);
    let ended = wait::until_final(shared, &made.handoff_id, hold, &caller.cancel).await?;
    let ended = bring_home(shared, caller, ended).await;
    if ended.child_agent_id == workflow::PLANNER
        && ended.plan.is_some()
        && ended.status == HandoffStatus::Completed
        && caller.config.workflow.planner_approval == PlannerApproval::Person
    {
        return Ok(Delegated::Plan(Box::new(ended)));
    }
    result(order.facade, &ended).map(Delegated::Text)
}

/// What the model reads about a handoff.
pub(super) fn result(facade: Facade, handoff: &Handoff) -> Result<String, String> {
    let files = handoff::files(handoff);
    let mut record = serde_json::to_value(handoff).unwrap_or_default();
    if let (Some(files), Some(record)) = (&files, record.as_object_mut()) {
        record.insert("files".to_owned(), serde_json::json!(files));
    }
    delegation::result(facade, &handoff::report(handoff, files.as_deref()), &record)
}

/// Brings the files of a child that is done into the caller's work tree, if that is wanted. It happens inside the call
/// that reports the end, so that the model learns of both together.
async fn bring_home(shared: &Arc<Shared>, caller: &Caller, ended: Handoff) -> Handoff {
    let wanted = ended.status == HandoffStatus::Completed
        && ended.integration == Integration::Pending {}
        && !ended.background
        && caller.config.delegation.integrate == Integrate::Auto;
    let is_own = ended.parent_session_id == caller.record.id.as_str();
    if !wanted || !is_own {
        return ended;
    }
    if let Ok(child) = ended.child_session_id.parse::<SessionId>() {
        // What stands in the way is in the handoff.
        tell(shared, child, Command::Integrate).await.ok();
    }
    match handoff::find(shared, &ended.handoff_id).await {
        Ok(Some(handoff)) => handoff,
        Ok(None) | Err(_) => ended,
    }
}

async fn list_agents(
    shared: &Arc<Shared>,
    caller: &Caller,
    agent: Option<&str>,
    detail: Detail,
) -> Result<String, String> {
    let detail = match detail {
        Detail::Brief => crate::agent::listing::Detail::Brief,
        Detail::Expanded => crate::agent::listing::Detail::Expanded,
    };
    let known = known(shared, &caller.record).await.map_err(text)?;
    let listed = listing::list_agents(&known.catalog, agent, detail).map_err(|error| error.to_string())?;
    Ok(listed.to_string())
}

/// The agents and skills that count for a session.
async fn known(shared: &Arc<Shared>, record: &Record) -> Result<Arc<Agents>, Fault> {
    let repo = prepare::open_repo(record).await?;
    agents::read(shared, Ground::of_session(record, &repo)?).await
}

/// `skill`: the text of one, or a part of it.
async fn load_skill(
    shared: &Arc<Shared>,
    caller: &Caller,
    name: &str,
    section: Option<&str>,
) -> Result<String, String> {
    let known = known(shared, &caller.record).await.map_err(text)?;
    let Some(skill) = loaded_by_models(&known.skills).find(|skill| skill.name == name) else {
        let names: Vec<_> = loaded_by_models(&known.skills).map(|skill| skill.name.as_str()).collect();
        return Err(format!("no skill is called `{name}`; there are {}", names.join(", ")));
    };
    match section {
        None => Ok(skill.text.clone()),
        Some(section) => skill.section(section).map(str::to_owned).map_err(|error| error.to_string()),
    }
}

/// `search_skills`: those that a few words are about.
async fn search_skills(shared: &Arc<Shared>, caller: &Caller, query: &str) -> Result<String, String> {
    let known = known(shared, &caller.record).await.map_err(text)?;
    let found = skill::search(query, &known.skills);
    match found.is_empty() {
        true => Ok(format!("No skill is about `{query}`.")),
        false => Ok(skill::short_list(found)),
    }
}

/// Asks a session's task for something.
pub(super) async fn tell(shared: &Arc<Shared>, id: SessionId, command: Command) -> Result<Session, String> {
    match actor::ask(shared, id, command).await {
        Ok(Ok(session)) => Ok(session),
        Ok(Err(error)) => Err(error.message),
        Err(_) => Err("the daemon ends".to_owned()),
    }
}

/// A fault in words for a model.
pub(super) fn text(fault: Fault) -> String {
    let error = api::error::Error::from(fault);
    [&[error.message][..], &error.causes].concat().join(": ")
}

/// How a child of this kind of call is bound to the turn that makes it.
fn bound(hold: Hold) -> ChildHold {
    match hold {
        Hold::Foreground | Hold::Detached => ChildHold::Foreground,
        Hold::Background => ChildHold::Background,
    }
}
