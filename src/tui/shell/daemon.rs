//! Requests to the daemon, each in a task of its own, so that a slow one holds up nobody.

mod ask;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::sync::mpsc::Sender;
use tokio_util::task::TaskTracker;

use crate::api::error::{Error, ErrorKind};
use crate::api::project::ConfigValue;
use crate::api::request::Environment;
use crate::client::ClientError;
use crate::client::connection::Connection;
use crate::client::environment::capture_environment;
use crate::client::start::Daemon;
use crate::tui::msg::{Msg, Publish, Reply, Request, ReviewAct, Ticket};
use crate::tui::panel::Look;

/// So many events are one page of a transcript.
const PAGE: u32 = 200;

/// Where what is written to the settings waits for its turn; no session is called so.
const SETTINGS: &str = "settings";

/// Behind every event there is.
const END: u64 = i64::MAX as u64;

/// How many connections are kept for the next request.
const SPARE: usize = 4;

/// What requests need from the process.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) daemon: Daemon,
    pub(super) cwd: String,
    /// Which variables of the environment sessions get besides the usual ones.
    pub(super) settings: Arc<[ConfigValue]>,
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
    /// The variables for a session, by the names that the agents' own configuration has now: it may be corrected meanwhile.
    pub(super) fn environment(&self) -> Environment {
        capture_environment(&self.settings)
    }

    pub(super) fn new(daemon: Daemon, cwd: String, path: Option<String>, inbox: Sender<Msg>) -> Desk {
        Desk {
            daemon,
            cwd,
            settings: Arc::default(),
            path,
            inbox,
            spare: Arc::default(),
            acts: TaskTracker::new(),
            lanes: Arc::default(),
        }
    }

    /// Performs a request and sends what came of it.
    pub(super) fn perform(&self, request: Request) {
        let desk = self.clone();
        match kind(&request) {
            Kind::Prompt { session, .. } | Kind::Act { session } => {
                let session = session.to_owned();
                self.act(&session, async move { desk.answer(request).await });
            }
            Kind::Setting { .. } => self.act(SETTINGS, async move { desk.answer(request).await }),
            Kind::Create { .. } => drop(self.acts.spawn(async move { desk.tell(desk.answer(request).await).await })),
            Kind::Read { .. } | Kind::Question => {
                tokio::spawn(async move { desk.tell(desk.answer(request).await).await });
            }
        }
    }

    /// Does something with a session when what was asked for before is done, and sends what came of it.
    pub(super) fn act(&self, session: &str, work: impl Future<Output = Reply> + Send + 'static) {
        let (desk, lane) = (self.clone(), self.lane(session));
        self.acts.spawn(async move {
            let turn = lane.lock().await;
            let reply = work.await;
            // A face that is busy elsewhere must not hold up the next act.
            drop(turn);
            desk.tell(reply).await;
        });
    }

    async fn tell(&self, reply: Reply) {
        // A face that is gone needs no answer.
        self.inbox.send(Msg::Reply(reply)).await.ok();
    }

    /// Waits for acts that are under way, but not for ever.
    pub(super) async fn finish(&self, limit: Duration) {
        self.acts.close();
        tokio::time::timeout(limit, self.acts.wait()).await.ok();
    }

    /// Whoever holds it is the one who acts on the session.
    pub(super) fn lane(&self, session: &str) -> Arc<Mutex<()>> {
        // Nothing can fail while it is held, so it is never poisoned for good.
        let mut lanes = self.lanes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lanes.entry(session.to_owned()).or_default().clone()
    }

    /// The answer to a request, on a connection of its own.
    pub(super) async fn answer(&self, request: Request) -> Reply {
        let doing = doing(&request).to_owned();
        let failed: Box<dyn FnOnce(Error) -> Reply + Send> = match kind(&request) {
            Kind::Create { ticket } | Kind::Prompt { ticket, .. } => {
                Box::new(move |error| Reply::Refused { ticket, error })
            }
            Kind::Read { session } => {
                let session = session.to_owned();
                Box::new(move |error| Reply::Unread { session, error })
            }
            Kind::Setting { key, value } => {
                let (key, value) = (key.to_owned(), value.to_owned());
                Box::new(move |error| Reply::Unset { key, value, error })
            }
            Kind::Act { .. } | Kind::Question => Box::new(move |error| Reply::Failed { doing, error }),
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
        result.await.unwrap_or_else(|error| failed(told(error)))
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

    /// Work that blocks, beside everything else.
    pub(super) fn aside(&self, work: impl FnOnce() -> Msg + Send + 'static) {
        let inbox = self.inbox.clone();
        tokio::task::spawn_blocking(move || inbox.blocking_send(work()).ok());
    }
}

/// An error of the client as the api says errors.
pub(super) fn told(error: ClientError) -> Error {
    match error {
        ClientError::Refused(error) => error,
        error => Error::new(ErrorKind::Unavailable, error.to_string()).with_causes_of(&error),
    }
}

/// How a request is carried out, and what its failure means.
enum Kind<'a> {
    Create {
        ticket: Ticket,
    },
    Prompt {
        ticket: Ticket,
        session: &'a str,
    },
    /// It changes this session, after all that was asked for before; what only reads overtakes.
    Act {
        session: &'a str,
    },
    /// Writes a value; one after the other.
    Setting {
        key: &'a str,
        value: &'a str,
    },
    Read {
        session: &'a str,
    },
    Question,
}

fn kind(request: &Request) -> Kind<'_> {
    match request {
        Request::Create { ticket, .. } => Kind::Create { ticket: *ticket },
        Request::Prompt { ticket, session, .. } => Kind::Prompt { ticket: *ticket, session },
        Request::Publish(publish) => Kind::Act { session: publish.session() },
        Request::Answer { session, .. }
        | Request::Decide { session, .. }
        | Request::Merge { session, .. }
        | Request::AcceptResolution { session, .. }
        | Request::Undo { session, .. }
        | Request::SetPosture { session, .. }
        | Request::Drop { session, .. }
        | Request::Stop(session)
        | Request::Resume(session)
        | Request::Rebase(session)
        | Request::Redo(session)
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
        ) => Kind::Act { session },
        Request::SetConfig { key, value: Some(value), .. } => Kind::Setting { key, value },
        Request::SetConfig { value: None, .. } | Request::GrantTrust { .. } => Kind::Act { session: SETTINGS },
        Request::Read(session) => Kind::Read { session },
        Request::List
        | Request::ListRemoved
        | Request::FindMoved
        | Request::Page { .. }
        | Request::Diff { .. }
        | Request::ProposeResolution(_)
        // What is prepared takes minutes, and changes nothing that another act could meet.
        | Request::Review(ReviewAct::Read { .. } | ReviewAct::Prepare { .. })
        | Request::Files { .. }
        | Request::Workflow(_)
        | Request::Backends
        | Request::ImportableServers
        | Request::Agents
        | Request::Config
        | Request::Trust
        | Request::Look(_)
        | Request::Plans
        | Request::Queue(_)
        | Request::Doctor
        | Request::Repository
        | Request::Edit { .. }
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
        | Request::Quit => Kind::Question,
    }
}

/// What a request does, for the sentence that tells that it failed.
fn doing(request: &Request) -> &'static str {
    match request {
        Request::List | Request::ListRemoved | Request::FindMoved | Request::Read(_) => "read the sessions",
        Request::Page { .. } => "read the transcript",
        Request::Create { .. } => "start the task",
        Request::Prompt { .. } => "send the prompt",
        Request::Answer { .. } => "answer",
        Request::Decide { .. } => "decide",
        Request::Stop(_) => "stop the turn",
        Request::Resume(_) => "resume the session",
        Request::Merge { .. } => "merge",
        Request::Rebase(_) => "rebase",
        Request::ProposeResolution(_) => "propose a resolution",
        Request::AcceptResolution { .. } => "resolve the conflict",
        Request::Integrate(_) => "bring the result into the parent",
        Request::Undo { .. } => "undo",
        Request::Redo(_) => "take back the undo",
        Request::Archive(_) => "archive the session",
        Request::Remove(_) => "remove the session",
        Request::Restore(_) => "restore the session",
        Request::SetPosture { .. } => "change the posture",
        Request::Drop { .. } => "take back the prompt",
        Request::Diff { .. } => "read the changes",
        Request::Review(ReviewAct::Read { .. }) => "read the comments",
        Request::Review(ReviewAct::Send { .. }) => "send the comments",
        Request::Review(ReviewAct::Prepare { .. }) => "prepare the review",
        Request::Review(_) => "keep the comment",
        Request::Files { .. } => "list the files",
        Request::Backends => "look for agents",
        Request::ImportableServers => "look for MCP servers",
        Request::Agents => "read the agents",
        Request::Config => "read the settings",
        Request::SetConfig { .. } => "change the setting",
        Request::Trust | Request::GrantTrust { .. } => "trust the repository",
        Request::Publish(Publish::Push { .. }) => "push the branch",
        Request::Publish(Publish::Create { .. }) => "open the pull request",
        Request::Publish(Publish::Update { .. }) => "change the pull request",
        Request::Look(Look::Pull { .. }) => "read the pull request",
        Request::Look(Look::Plan(_)) | Request::Plans => "read the plans",
        Request::Look(Look::Explain { .. }) => "ask the rules",
        Request::Look(Look::Tools { .. }) => "list the tools",
        Request::Look(Look::Raw(_)) => "read the response",
        Request::Look(Look::Prepared(_)) => "read the prepared review",
        Request::Queue(_) => "read the queue",
        Request::Doctor => "examine the machine",
        Request::Workflow(_) => "read the plan",
        Request::Repository => "look at the repository",
        Request::Edit { .. } | Request::EditText { .. } => "open the editor",
        Request::Copy(_) => "copy",
        Request::TakeImage { .. } | Request::ReadImage { .. } => "take the image",
        Request::Attach { .. } | Request::Detach => "attach",
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
    use crate::client::start::Absent;
    use crate::paths::{Paths, Surroundings};

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

    #[tokio::test]
    async fn a_failure_says_what_it_is_about() {
        let root = tempfile::tempdir().unwrap();
        let around = Surroundings { coppice_home: Some(root.path().as_os_str().to_owned()), ..Surroundings::default() };
        let daemon = Daemon { paths: Paths::compute(&around).unwrap(), absent: Absent::Fail };
        let (inbox, _keep) = tokio::sync::mpsc::channel(1);
        let desk = Desk::new(daemon, "/".into(), None, inbox);
        let told = async |request| match desk.answer(request).await {
            Reply::Unread { session, .. } => format!("unread {session}"),
            Reply::Refused { ticket, .. } => format!("refused {ticket}"),
            Reply::Unset { key, value, .. } => format!("{key} is not {value}"),
            Reply::Failed { doing, .. } => doing,
            other => panic!("{other:?}"),
        };
        let prompt = Request::Prompt { ticket: 7, session: "a".into(), prompt: Box::default() };
        let setting =
            Request::SetConfig { key: "theme".into(), value: Some("loud".into()), scope: crate::tui::msg::Scope::User };
        for (request, expected) in [
            // Only this one is read again: what others have under way comes back by itself.
            (Request::Read("a".into()), "unread a"),
            (prompt, "refused 7"),
            (setting, "theme is not loud"),
            (
                Request::Merge {
                    session: "a".into(),
                    style: None,
                    hooks: Default::default(),
                    unseen: Default::default(),
                },
                "merge",
            ),
            (Request::List, "read the sessions"),
        ] {
            assert_eq!(told(request).await, expected);
        }
    }
}
