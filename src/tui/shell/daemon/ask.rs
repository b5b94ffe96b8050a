//! Requests in the words of the API, and its answers in those of the face.

use super::super::look;
use super::{Desk, END, PAGE};
use crate::api::agent::AgentPlace;
use crate::api::error::{Error, ErrorKind};
use crate::api::event::{Event, RawEvent};
use crate::api::import::{ImportState, ListServers};
use crate::api::project::{
    ConfigQuery, ConfigScope, ConfigValue, Files, FilesQuery, GrantTrust, ListModels, Place, Project, RunDoctor,
    SetConfig,
};
use crate::api::request::{
    Answer, CreateSession, DiffQuery, EventQuery, ListSessions, Merge, Resume, SendPrompt, Undo,
};
use crate::api::review::{AddComment, EditComment, LookAt, PrepareReview};
use crate::api::session::{Session, Status};
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::look::line::Line;
use crate::look::moved::moved_here;
use crate::tui::msg::{Reach, Reply, Request, ReviewAct, Scope};
use crate::tui::world::Repository;

impl Desk {
    pub(super) async fn ask(&self, to: &Connection, request: Request) -> Result<Reply, ClientError> {
        Ok(match request {
            Request::List => Reply::Sessions(self.sessions(to, self.here()).await?),
            Request::ListRemoved => {
                let archived = self.sessions(to, self.here()).await?;
                let archived = archived.into_iter().filter(|session| session.status == Status::Archived);
                let removed = self.sessions(to, ListSessions { removed: true, ..self.here() }).await?;
                Reply::Removed(removed.into_iter().chain(archived).collect())
            }
            Request::FindMoved => {
                let moved = to.moved_projects(&self.place()).await?.items;
                Reply::Moved(moved_here(&moved).iter().map(Line::text).collect())
            }
            Request::Read(id) => read(to, id).await?,
            Request::Page { session, before } => self.page(to, session, before).await?,
            Request::Create { ticket, create } => {
                let create = CreateSession { cwd: self.cwd.clone(), env: self.environment(), ..*create };
                Reply::Taken { ticket, session: Box::new(to.create(&create).await?) }
            }
            Request::Prompt { ticket, session, prompt } => {
                let prompt = SendPrompt { env: Some(self.environment()), ..*prompt };
                Reply::Taken { ticket, session: Box::new(to.prompt(&session, &prompt).await?) }
            }
            Request::Answer { session, answers } => done("answered", to.answer(&session, &Answer { answers }).await?),
            Request::Decide { session, request, decision } => known(to.decide(&session, &request, &decision).await?),
            Request::Stop(id) => done("stopped", to.stop(&id).await?),
            Request::Resume(id) => {
                done("goes on", to.resume(&id, &Resume { env: Some(self.environment()), ..Resume::default() }).await?)
            }
            Request::Merge { session, style, hooks, unseen } => {
                let merge = Merge { style, hooks, unseen: unseen.clone(), ..Merge::default() };
                match to.merge(&session, &merge).await {
                    Err(ClientError::Refused(Error { hook_changes: Some(changes), .. })) => {
                        Reply::HookChanges { session, style, unseen, changes: *changes }
                    }
                    Ok(session) if session.hook_fix.is_some() => {
                        done("a commit hook stopped the merge; the agent is asked to fix that", session)
                    }
                    merged => match came("merged", session, merged)? {
                        Reply::Done { session: Some(session), .. } => Reply::Merged(session),
                        reply => reply,
                    },
                }
            }
            Request::Rebase(session) => {
                let rebased = to.rebase(&session).await;
                came("rebased", session, rebased)?
            }
            Request::ProposeResolution(session) => Reply::Resolution(Box::new(to.propose_resolution(&session).await?)),
            Request::AcceptResolution { session, proposal } => {
                done("the proposal is applied", to.accept_resolution(&session, &proposal).await?)
            }
            Request::Integrate(id) => done("brought into the parent", to.integrate(&id).await?),
            Request::Undo { session, to: turn, merge } => {
                let is_merge = merge.is_some();
                let session = to.undo(&session, &Undo { to: turn, merge, ..Undo::default() }).await?;
                let said = match (is_merge, session.stands_at()) {
                    (true, _) => format!("the merge is out of `{}` again", session.base.name),
                    (false, 0) => "the files are as on the base; `/undo redo` takes this back".to_owned(),
                    (false, turn) => format!("the files are as after turn {turn}; `/undo redo` takes this back"),
                };
                done(&said, session)
            }
            Request::Redo(session) => {
                let session = to.undo(&session, &Undo { redo: true, ..Undo::default() }).await?;
                done("the files are as before the undo", session)
            }
            Request::Archive(id) => Reply::Archived(Box::new(to.archive(&id).await?)),
            Request::Remove(id) => done("removed; `/restore` brings it back", to.remove(&id).await?),
            Request::Restore(id) => done("restored", to.restore(&id).await?),
            Request::SetPosture { session, posture } => known(to.set_posture(&session, &posture).await?),
            Request::Drop { session, number } => done("taken back", to.drop_prompt(&session, number).await?),
            Request::Diff { session, turn } => {
                let diff = Box::new(to.diff(&session, &DiffQuery { turn, review: true }).await?);
                Reply::Diff { session, turn, diff }
            }
            Request::Review(act) => review(to, act).await?,
            Request::Workflow(session) => {
                let workflow = Box::new(to.workflow(&session).await?);
                Reply::Workflow { session, workflow }
            }
            Request::Files { session } => self.files(to, session).await?,
            Request::Backends => Reply::Backends(to.list_models(&self.model_request()).await?.items),
            Request::ImportableServers => {
                let found = to
                    .importable_servers(&ListServers { cwd: Some(self.cwd.clone()), environment: self.environment() })
                    .await?;
                let ready = found.servers.iter().filter(|server| server.state == ImportState::Ready);
                Reply::ImportableServers(ready.count())
            }
            Request::Agents => Reply::Agents(to.agent_files(&AgentPlace { cwd: Some(self.cwd.clone()) }).await?),
            Request::Config => Reply::Config(self.config(to).await?),
            Request::SetConfig { key, value, scope } => self.set_config(to, key, value, scope).await?,
            Request::Trust => Reply::Trust(Box::new(to.trust(&self.place()).await?)),
            Request::GrantTrust { hash } => {
                to.grant_trust(&GrantTrust { cwd: self.cwd.clone(), hash }).await?;
                Reply::Done { said: "trusted".to_owned(), session: None }
            }
            Request::Publish(act) => look::publish(to, act).await?,
            Request::Look(look) => self.look(to, look).await?,
            Request::Plans => self.plans(to).await?,
            Request::Queue(session) => {
                let prompts = to.queue(&session).await?.items;
                Reply::Queue { session, prompts }
            }
            Request::Doctor => {
                let request = RunDoctor { cwd: Some(self.cwd.clone()), environment: self.environment() };
                Reply::Doctor(to.doctor(&request).await?.items)
            }
            Request::Repository => repository(to.project(&self.place()).await?),
            Request::Edit { .. }
            | Request::EditText { .. }
            | Request::Copy(_)
            | Request::TakeImage { .. }
            | Request::ReadImage { .. }
            | Request::Attach { .. }
            | Request::Detach
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

    fn place(&self) -> Place {
        Place { cwd: self.cwd.clone() }
    }

    fn model_request(&self) -> ListModels {
        ListModels { cwd: Some(self.cwd.clone()), environment: self.environment(), ..ListModels::default() }
    }

    async fn files(&self, to: &Connection, session: Option<String>) -> Result<Reply, ClientError> {
        let cwd = session.is_none().then(|| self.cwd.clone());
        let Files { paths, .. } = to.files(&FilesQuery { cwd, session: session.clone() }).await?;
        Ok(Reply::Files { session, files: paths })
    }

    async fn set_config(
        &self,
        to: &Connection,
        key: String,
        value: Option<String>,
        scope: Scope,
    ) -> Result<Reply, ClientError> {
        let scope = match scope {
            Scope::User => ConfigScope::User,
            Scope::Project => ConfigScope::Project,
        };
        let said = match value {
            Some(_) => format!("`{key}` is set"),
            None => format!("`{key}` is back to the value below"),
        };
        to.set_config(&SetConfig { key, value, scope, cwd: Some(self.cwd.clone()) }).await?;
        Ok(Reply::Done { said, session: None })
    }

    /// All sessions of the repository that a list asks for.
    /// Sessions of the repository at hand.
    fn here(&self) -> ListSessions {
        ListSessions { cwd: Some(self.cwd.clone()), ..ListSessions::default() }
    }

    async fn sessions(&self, to: &Connection, mut list: ListSessions) -> Result<Vec<Session>, ClientError> {
        let mut sessions = Vec::new();
        loop {
            let page = to.sessions(&list).await?;
            sessions.extend(page.items);
            match page.next {
                Some(cursor) => list.cursor = Some(cursor),
                None => return Ok(sessions),
            }
        }
    }

    async fn config(&self, to: &Connection) -> Result<Vec<ConfigValue>, ClientError> {
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
}

fn known(session: Session) -> Reply {
    Reply::Session(Box::new(session))
}

fn done(said: &str, session: Session) -> Reply {
    Reply::Done { said: said.to_owned(), session: Some(Box::new(session)) }
}

/// The reply to a merge or a rebase. A conflict arrives as an event; work that changed after the review becomes a question.
fn came(said: &str, id: String, result: Result<Session, ClientError>) -> Result<Reply, ClientError> {
    let session = match result {
        Err(ClientError::Refused(Error { unseen_changes: Some(changes), .. })) => {
            return Ok(Reply::UnseenChanges { session: id, changes: *changes });
        }
        result => result?,
    };
    Ok(match session.status {
        Status::Conflict => known(session),
        Status::Draft
        | Status::Queued
        | Status::Preparing
        | Status::Running
        | Status::Approval
        | Status::Asking
        | Status::Ready
        | Status::Failed
        | Status::Interrupted
        | Status::Integrating
        | Status::Merged
        | Status::Archived => done(said, session),
    })
}

async fn read(to: &Connection, id: String) -> Result<Reply, ClientError> {
    match to.session(&id).await {
        Ok(found) => Ok(known(found)),
        Err(ClientError::Refused(Error { kind: ErrorKind::NotFound, .. })) => Ok(Reply::Gone(id)),
        Err(error) => Err(error),
    }
}

fn repository(project: Project) -> Reply {
    let Project { project, name, branch, ahead, behind, has_commits, .. } = project;
    let (ahead, behind) = (ahead.unwrap_or_default(), behind.unwrap_or_default());
    Reply::Repository(Repository { project, name, branch, ahead, behind, has_commits })
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
        ReviewAct::Prepare { session, focus } => {
            let review = to.prepare_review(&session, &PrepareReview { focus: Some(focus) }).await?;
            return Ok(Reply::Prepared { session, review });
        }
        ReviewAct::Send { session } => {
            let session = to.send_review(&session).await?;
            return Ok(Reply::Done { said: "the comments are sent".to_owned(), session: Some(Box::new(session)) });
        }
    };
    Ok(Reply::Review { session, review })
}
