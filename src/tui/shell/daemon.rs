//! Requests to the daemon, each in a task of its own, so that a slow one holds up nobody.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::sync::mpsc::Sender;
use tokio_util::task::TaskTracker;

use crate::api::agent::AgentPlace;
use crate::api::error::{Error, ErrorKind};
use crate::api::event::{Event, RawEvent};
use crate::api::project::{
    BackendQuery, ConfigQuery, ConfigScope, DoctorQuery, Files, FilesQuery, GrantTrust, Place, Project, SetConfig,
};
use crate::api::request::{
    Answer, CreateSession, DiffQuery, Environment, EventQuery, ListSessions, Merge, Resume, SendPrompt, Undo,
};
use crate::api::review::{AddComment, EditComment, LookAt};
use crate::api::session::{Session, Status};
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::client::start::Daemon;
use crate::tui::msg::{Msg, Reach, Reply, Request, ReviewAct, Scope};
use crate::tui::world::Repository;

/// So many events are one page of a transcript.
const PAGE: u32 = 200;

/// Behind every event there is.
const END: u64 = i64::MAX as u64;

/// How many connections are kept for the next request.
const SPARE: usize = 4;

/// What requests need from the process.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) daemon: Daemon,
    pub(super) cwd: String,
    pub(super) env: Environment,
    pub(super) path: Option<String>,
    inbox: Sender<Msg>,
    spare: Arc<Mutex<Vec<Connection>>>,
    /// Acts that are under way.
    acts: TaskTracker,
    /// Acts on one session go out one after the other, in the order of the keys.
    lanes: Arc<std::sync::Mutex<HashMap<String, Arc<Mutex<()>>>>>,
}

/// Sessions that are read at this moment, and whether they have to be read again afterwards.
#[derive(Default)]
pub(super) struct Reading {
    under_way: HashMap<String, Again>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

impl Reading {
    /// Whether this read goes out; one that is under way is repeated when it is back.
    pub(super) fn begins(&mut self, session: &str) -> bool {
        match self.under_way.get_mut(session) {
            Some(again) => {
                *again = Again::Yes;
                false
            }
            None => self.under_way.insert(session.to_owned(), Again::No).is_none(),
        }
    }

    /// A read is back; `true` when another has to follow.
    pub(super) fn ends(&mut self, session: &str) -> bool {
        self.under_way.remove(session) == Some(Again::Yes)
    }

    /// Reads that were lost with the daemon never come back.
    pub(super) fn clear(&mut self) {
        self.under_way.clear();
    }
}

impl Desk {
    pub(super) fn new(daemon: Daemon, cwd: String, env: Environment, path: Option<String>, inbox: Sender<Msg>) -> Desk {
        Desk { daemon, cwd, env, path, inbox, spare: Arc::default(), acts: TaskTracker::new(), lanes: Arc::default() }
    }

    /// Performs a request and sends what came of it.
    pub(super) fn perform(&self, request: Request) {
        let desk = self.clone();
        let lane = acts_on(&request).map(|session| self.lane(session));
        let is_act = lane.is_some() || matches!(request, Request::Create { .. });
        let work = async move {
            let _turn = match &lane {
                Some(lane) => Some(lane.lock().await),
                None => None,
            };
            let reply = desk.answer(request).await;
            // A face that is gone needs no answer.
            desk.inbox.send(Msg::Reply(reply)).await.ok();
        };
        match is_act {
            true => drop(self.acts.spawn(work)),
            false => drop(tokio::spawn(work)),
        }
    }

    /// Waits for acts that are under way, but not for ever.
    pub(super) async fn finish(&self, limit: Duration) {
        self.acts.close();
        tokio::time::timeout(limit, self.acts.wait()).await.ok();
    }

    fn lane(&self, session: &str) -> Arc<Mutex<()>> {
        // Nothing can fail while it is held, so it is never poisoned for good.
        let mut lanes = self.lanes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lanes.entry(session.to_owned()).or_default().clone()
    }

    /// The answer to a request, on a connection of its own.
    pub(super) async fn answer(&self, request: Request) -> Reply {
        let doing = doing(&request);
        let ticket = match &request {
            Request::Create { ticket, .. } | Request::Prompt { ticket, .. } => Some(*ticket),
            _ => None,
        };
        let result = async {
            let connection = match self.spare().await {
                Some(connection) => connection,
                None => self.daemon.connect().await?,
            };
            let reply = self.ask(&connection, request).await?;
            let mut spare = self.spare.lock().await;
            if spare.len() < SPARE {
                spare.push(connection);
            }
            Ok(reply)
        };
        match (result.await, ticket) {
            (Ok(reply), _) => reply,
            (Err(error), Some(ticket)) => Reply::Refused { ticket, error: told(error) },
            (Err(error), None) => Reply::Failed { doing: doing.to_owned(), error: told(error) },
        }
    }

    /// A connection of an earlier request whose daemon is still there.
    async fn spare(&self) -> Option<Connection> {
        let mut spare = self.spare.lock().await;
        while let Some(connection) = spare.pop() {
            if connection.is_open().await {
                return Some(connection);
            }
        }
        None
    }

    async fn ask(&self, to: &Connection, request: Request) -> Result<Reply, ClientError> {
        let session = |session: Session| Reply::Session(Box::new(session));
        let done =
            |said: &str, session: Session| Reply::Done { said: said.to_owned(), session: Some(Box::new(session)) };
        // What stopped at a conflict is told by the fact of it.
        let came = |said: &str, after: Session| match after.status {
            Status::Conflict => session(after),
            _ => done(said, after),
        };
        Ok(match request {
            Request::List => Reply::Sessions(self.sessions(to, ListSessions::default()).await?),
            Request::ListRemoved => {
                let removed = ListSessions { removed: true, ..ListSessions::default() };
                Reply::Removed(self.sessions(to, removed).await?)
            }
            Request::Read(id) => match to.session(&id).await {
                Ok(found) => session(found),
                Err(ClientError::Refused(Error { kind: ErrorKind::NotFound, .. })) => Reply::Gone(id),
                Err(error) => return Err(error),
            },
            Request::Page { session, before } => self.page(to, session, before).await?,
            Request::Create { ticket, create } => {
                let create = CreateSession { cwd: self.cwd.clone(), env: self.env.clone(), ..*create };
                Reply::Taken { ticket, session: Box::new(to.create(&create).await?) }
            }
            Request::Prompt { ticket, session, prompt } => {
                let prompt = SendPrompt { env: Some(self.env.clone()), ..*prompt };
                Reply::Taken { ticket, session: Box::new(to.prompt(&session, &prompt).await?) }
            }
            Request::Answer { session: id, answers } => done("answered", to.answer(&id, &Answer { answers }).await?),
            Request::Decide { session: id, request, decision } => session(to.decide(&id, &request, &decision).await?),
            Request::Stop(id) => done("stopped", to.stop(&id).await?),
            Request::Resume(id) => done("goes on", to.resume(&id, &Resume { env: Some(self.env.clone()) }).await?),
            Request::Merge { session: id, style } => came("merged", to.merge(&id, &Merge { style }).await?),
            Request::Rebase(id) => came("rebased", to.rebase(&id).await?),
            Request::Integrate(id) => done("brought into the parent", to.integrate(&id).await?),
            Request::Undo { session: id, to: turn } => done("taken back", to.undo(&id, &Undo { to: turn }).await?),
            Request::Archive(id) => done("archived", to.archive(&id).await?),
            Request::Remove(id) => done("removed; `/restore` brings it back", to.remove(&id).await?),
            Request::Restore(id) => done("restored", to.restore(&id).await?),
            Request::SetPosture { session: id, posture } => session(to.set_posture(&id, &posture).await?),
            Request::Diff { session, turn } => {
                let diff = Box::new(to.diff(&session, &DiffQuery { turn }).await?);
                Reply::Diff { session, turn, diff }
            }
            Request::Backends => {
                let query =
                    BackendQuery { cwd: Some(self.cwd.clone()), path: self.path.clone(), ..BackendQuery::default() };
                Reply::Backends(to.models(&query).await?.items)
            }
            Request::Agents => Reply::Agents(to.agent_files(&AgentPlace { cwd: Some(self.cwd.clone()) }).await?),
            Request::Config => Reply::Config(self.config(to).await?),
            Request::Trust => Reply::Trust(Box::new(to.trust(&Place { cwd: self.cwd.clone() }).await?)),
            Request::GrantTrust { hash } => {
                to.grant_trust(&GrantTrust { cwd: self.cwd.clone(), hash }).await?;
                Reply::Done { said: "trusted".to_owned(), session: None }
            }
            Request::Doctor => {
                let query = DoctorQuery { cwd: Some(self.cwd.clone()), path: self.path.clone() };
                Reply::Doctor(to.doctor(&query).await?.items)
            }
            Request::Workflow(id) => {
                let workflow = Box::new(to.workflow(&id).await?);
                Reply::Workflow { session: id, workflow }
            }
            Request::Repository => {
                let Project { project, name, branch, ahead, behind, has_commits, .. } =
                    to.project(&Place { cwd: self.cwd.clone() }).await?;
                let (ahead, behind) = (ahead.unwrap_or_default(), behind.unwrap_or_default());
                Reply::Repository(Repository { project, name, branch, ahead, behind, has_commits })
            }
            Request::SetConfig { key, value, scope } => {
                let scope = match scope {
                    Scope::User => ConfigScope::User,
                    Scope::Project => ConfigScope::Project,
                };
                let said = match value {
                    Some(_) => format!("`{key}` is set"),
                    None => format!("`{key}` is back to the value below"),
                };
                to.set_config(&SetConfig { key, value, scope, cwd: Some(self.cwd.clone()) }).await?;
                Reply::Done { said, session: None }
            }
            Request::Files { session } => {
                let cwd = session.is_none().then(|| self.cwd.clone());
                let Files { paths, .. } = to.files(&FilesQuery { cwd, session: session.clone() }).await?;
                Reply::Files { session, files: paths }
            }
            Request::Review(act) => review(to, act).await?,
            Request::Drop { session: id, number } => done("taken back", to.drop_prompt(&id, number).await?),
            Request::Edit { .. }
            | Request::EditText { .. }
            | Request::Copy(_)
            | Request::TakeImage { .. }
            | Request::ReadImage { .. }
            | Request::Attach { .. }
            | Request::Run(_)
            | Request::Demo
            | Request::Notify(_)
            | Request::Recall
            | Request::Save
            | Request::Redraw
            | Request::Suspend
            | Request::Quit => Reply::Back,
        })
    }

    /// All sessions of the repository that a list asks for.
    async fn sessions(&self, to: &Connection, list: ListSessions) -> Result<Vec<Session>, ClientError> {
        let mut sessions = Vec::new();
        let mut list = ListSessions { cwd: Some(self.cwd.clone()), ..list };
        loop {
            let page = to.sessions(&list).await?;
            sessions.extend(page.items);
            match page.next {
                Some(cursor) => list.cursor = Some(cursor),
                None => return Ok(sessions),
            }
        }
    }

    async fn config(&self, to: &Connection) -> Result<Vec<crate::api::project::ConfigValue>, ClientError> {
        Ok(to.config(&ConfigQuery { cwd: Some(self.cwd.clone()) }).await?.items)
    }

    async fn page(&self, to: &Connection, session: String, before: Option<u64>) -> Result<Reply, ClientError> {
        let query = EventQuery {
            session: Some(session.clone()),
            family: Some(false),
            before: Some(before.unwrap_or(END)),
            limit: Some(PAGE),
            ..EventQuery::default()
        };
        let page = to.events(&query).await?;
        let reach = if page.next.is_some() { Reach::More } else { Reach::Start };
        let known = |event: &RawEvent| serde_json::from_str::<Event>(event.get()).ok();
        Ok(Reply::Page { session, events: page.items.iter().filter_map(known).collect(), reach })
    }

    /// Work that blocks, beside everything else.
    pub(super) fn aside(&self, work: impl FnOnce() -> Msg + Send + 'static) {
        let inbox = self.inbox.clone();
        tokio::task::spawn_blocking(move || inbox.blocking_send(work()).ok());
    }
}

async fn review(to: &Connection, act: ReviewAct) -> Result<Reply, ClientError> {
    let (session, review) = match act {
        ReviewAct::Read { session } => {
            let review = to.review(&session).await?;
            (session, review)
        }
        ReviewAct::Comment { session, path, line, side, quote, text } => {
            let review = to.comment(&session, &AddComment { path, line, side, text, quote }).await?;
            (session, review)
        }
        ReviewAct::Reword { session, comment, text } => {
            let review = to.edit_comment(&session, comment, &EditComment { text }).await?;
            (session, review)
        }
        ReviewAct::Drop { session, comment } => {
            let review = to.drop_comment(&session, comment).await?;
            (session, review)
        }
        ReviewAct::Mark { session, path, digest } => {
            let review = to.look_at(&session, &LookAt { path, digest }).await?;
            (session, review)
        }
        ReviewAct::Send { session } => {
            let session = to.send_review(&session).await?;
            return Ok(Reply::Done { said: "the comments are sent".to_owned(), session: Some(Box::new(session)) });
        }
    };
    Ok(Reply::Review { session, review })
}

/// An error of the client as the api says errors.
pub(super) fn told(error: ClientError) -> Error {
    match error {
        ClientError::Refused(error) => error,
        error => Error::new(ErrorKind::Unavailable, error.to_string()).with_causes_of(&error),
    }
}

/// The session that a request changes; what only reads overtakes.
fn acts_on(request: &Request) -> Option<&str> {
    match request {
        Request::Prompt { session, .. }
        | Request::Answer { session, .. }
        | Request::Decide { session, .. }
        | Request::Merge { session, .. }
        | Request::Undo { session, .. }
        | Request::SetPosture { session, .. }
        | Request::Drop { session, .. }
        | Request::Stop(session)
        | Request::Resume(session)
        | Request::Rebase(session)
        | Request::Integrate(session)
        | Request::Archive(session)
        | Request::Remove(session)
        | Request::Restore(session)
        | Request::Review(
            ReviewAct::Comment { session, .. }
            | ReviewAct::Reword { session, .. }
            | ReviewAct::Drop { session, .. }
            | ReviewAct::Mark { session, .. }
            | ReviewAct::Send { session },
        ) => Some(session),
        Request::SetConfig { .. } | Request::GrantTrust { .. } => Some("settings"),
        Request::List
        | Request::ListRemoved
        | Request::Read(_)
        | Request::Page { .. }
        | Request::Create { .. }
        | Request::Diff { .. }
        | Request::Review(ReviewAct::Read { .. })
        | Request::Files { .. }
        | Request::Workflow(_)
        | Request::Backends
        | Request::Agents
        | Request::Config
        | Request::Trust
        | Request::Doctor
        | Request::Repository
        | Request::Edit { .. }
        | Request::EditText { .. }
        | Request::Copy(_)
        | Request::TakeImage { .. }
        | Request::ReadImage { .. }
        | Request::Attach { .. }
        | Request::Run(_)
        | Request::Demo
        | Request::Notify(_)
        | Request::Recall
        | Request::Save
        | Request::Redraw
        | Request::Suspend
        | Request::Quit => None,
    }
}

/// What a request does, for the sentence that tells that it failed.
fn doing(request: &Request) -> &'static str {
    match request {
        Request::List | Request::ListRemoved | Request::Read(_) => "read the sessions",
        Request::Page { .. } => "read the transcript",
        Request::Create { .. } => "start the task",
        Request::Prompt { .. } => "send the prompt",
        Request::Answer { .. } => "answer",
        Request::Decide { .. } => "decide",
        Request::Stop(_) => "stop the turn",
        Request::Resume(_) => "resume the session",
        Request::Merge { .. } => "merge",
        Request::Rebase(_) => "rebase",
        Request::Integrate(_) => "bring the result into the parent",
        Request::Undo { .. } => "take back the turn",
        Request::Archive(_) => "archive the session",
        Request::Remove(_) => "remove the session",
        Request::Restore(_) => "restore the session",
        Request::SetPosture { .. } => "change the posture",
        Request::Drop { .. } => "take back the prompt",
        Request::Diff { .. } => "read the changes",
        Request::Review(ReviewAct::Read { .. }) => "read the comments",
        Request::Review(ReviewAct::Send { .. }) => "send the comments",
        Request::Review(_) => "keep the comment",
        Request::Files { .. } => "list the files",
        Request::Backends => "look for agents",
        Request::Agents => "read the agents",
        Request::Config => "read the settings",
        Request::SetConfig { .. } => "change the setting",
        Request::Trust | Request::GrantTrust { .. } => "trust the repository",
        Request::Doctor => "examine the machine",
        Request::Workflow(_) => "read the plan",
        Request::Repository => "look at the repository",
        Request::Edit { .. } | Request::EditText { .. } => "open the editor",
        Request::Copy(_) => "copy",
        Request::TakeImage { .. } | Request::ReadImage { .. } => "take the image",
        Request::Attach { .. } => "attach",
        Request::Run(_) => "run the command",
        Request::Demo => "start the tour",
        Request::Notify(_) => "tell the news",
        Request::Recall | Request::Save => "keep the draft",
        Request::Redraw => "draw",
        Request::Suspend => "go to the background",
        Request::Quit => "leave",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_being_read_is_read_once_more_afterwards() {
        let mut reading = Reading::default();
        assert!(reading.begins("a"));
        assert!(!reading.begins("a"));
        assert!(!reading.begins("a"));
        assert!(reading.begins("b"));
        assert!(reading.ends("a"));
        assert!(!reading.ends("b"));
        assert!(reading.begins("a"));
        reading.clear();
        assert!(reading.begins("a"));
    }
}
