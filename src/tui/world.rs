//! What is known of the daemon: the sessions of the repository, what they do at this moment, agents, backends, settings.
//!
//! All of it comes from replies and from the stream; nothing here is decided by the face.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::api::agent::{AgentFile, SkillFile};
use crate::api::event::{Block, Event, Live, Payload};
use crate::api::project::{Backend, ConfigValue};
use crate::api::session::{Session, WaitingFor};
use crate::look::line::{cut, one_line};

/// The last words of an agent are this long in a row.
const SNIPPET: usize = 120;

#[derive(Debug, Default)]
pub(crate) struct World {
    /// A directory inside the repository.
    pub(crate) cwd: String,
    pub(crate) repository: Repository,
    pub(crate) link: Link,
    /// Whether the sessions were listed once; before that an empty list says nothing.
    pub(crate) is_listed: bool,
    pub(crate) sessions: BTreeMap<String, Session>,
    /// Other paths by which sessions know this repository: it was moved, and a link leads here.
    pub(crate) former_projects: HashSet<String>,
    /// Ids of sessions that belong to other repositories; the stream tells of all.
    pub(crate) elsewhere: HashSet<String>,
    /// When a session that was removed changed last, so that a late reading does not bring it back.
    pub(crate) removed: HashMap<String, i64>,
    pub(crate) activity: HashMap<String, Activity>,
    /// `None` until they were asked for.
    pub(crate) backends: Option<Vec<Backend>>,
    /// How many MCP servers of the agent programs can be imported; asked for where there are no sessions.
    pub(crate) importable_servers: Option<usize>,
    pub(crate) agents: Vec<AgentFile>,
    pub(crate) skills: Vec<SkillFile>,
    pub(crate) config: Vec<ConfigValue>,
}

/// The repository that the face looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Repository {
    /// Its common git directory, as sessions name it.
    pub(crate) project: String,
    pub(crate) name: String,
    pub(crate) branch: Option<String>,
    pub(crate) ahead: u32,
    pub(crate) behind: u32,
    /// Without one, no session can start.
    pub(crate) has_commits: bool,
}

/// The way to the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Link {
    #[default]
    Connecting,
    Connected,
    /// Since when, and why.
    Lost {
        since: i64,
        reason: String,
    },
    /// Somebody ended it on purpose: only an act of the person starts another.
    Stopped,
    /// It is there and says nothing, since then.
    Silent {
        since: i64,
    },
}

/// What a session does at this moment, in the words of its stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// The call that runs, as its card says it.
    pub(crate) tool: Option<String>,
    /// Which tool that is, in the word of its event.
    pub(crate) kind: String,
    /// How many calls the turn made.
    pub(crate) tools: u32,
    /// The last words of the agent, on one line.
    pub(crate) snippet: String,
    /// Since when this is so.
    pub(crate) since: i64,
    /// How far a long preparation is.
    pub(crate) progress: Option<(u64, u64)>,
    /// Why the backend tries again, until it gets on.
    pub(crate) retry: Option<String>,
}

impl World {
    /// Whether a session is known to be of another repository.
    pub(crate) fn is_elsewhere(&self, id: &str) -> bool {
        self.elsewhere.contains(id)
    }

    /// Takes the list of the repository's sessions; what was read meanwhile and is newer stays. Returns the known ones
    /// that it does not hold: they are gone, or came after it was made, and whoever reads them again knows.
    #[must_use]
    pub(crate) fn list(&mut self, sessions: Vec<Session>) -> Vec<String> {
        let mut missing: HashSet<String> = self.sessions.keys().cloned().collect();
        self.know_projects(&sessions);
        for session in sessions {
            missing.remove(&session.id);
            self.elsewhere.remove(&session.id);
            self.take(session);
        }
        let mut missing = Vec::from_iter(missing);
        missing.sort();
        missing
    }

    /// Remembers by which paths sessions of this repository know it.
    pub(crate) fn know_projects(&mut self, sessions: &[Session]) {
        let former = sessions.iter().filter(|session| session.project != self.repository.project);
        self.former_projects.extend(former.map(|session| session.project.clone()));
    }

    /// Takes a session as it is; one of another repository is only remembered as such, and an older reading counts for
    /// nothing.
    pub(crate) fn take(&mut self, session: Session) {
        let is_older = self.sessions.get(&session.id).is_some_and(|known| known.updated_at > session.updated_at);
        let was_removed = self.removed.get(&session.id).is_some_and(|at| *at > session.updated_at);
        let is_here = session.project == self.repository.project || self.former_projects.contains(&session.project);
        if !is_here && !self.repository.project.is_empty() {
            self.activity.remove(&session.id);
            self.elsewhere.insert(session.id);
        } else if session.removed_at.is_some() {
            self.sessions.remove(&session.id);
            self.activity.remove(&session.id);
            self.removed.insert(session.id, session.updated_at);
        } else if !is_older && !was_removed {
            self.sessions.insert(session.id.clone(), session);
        }
    }

    /// Forgets a session that is not there any more.
    pub(crate) fn forget(&mut self, id: &str) {
        self.sessions.remove(id);
        self.activity.remove(id);
    }

    /// The value of a setting in force.
    pub(crate) fn setting(&self, key: &str) -> Option<&serde_json::Value> {
        self.config.iter().find(|value| value.key == key).map(|value| &value.value)
    }

    pub(crate) fn text_setting(&self, key: &str) -> Option<&str> {
        self.setting(key).and_then(serde_json::Value::as_str).filter(|text| !text.is_empty())
    }

    /// Agents that a person can choose: those that lead a session and are not hidden, in the order of their names.
    pub(crate) fn selectable_agents(&self) -> Vec<&AgentFile> {
        let leads = |agent: &&AgentFile| matches!(agent.mode.as_deref(), Some("primary" | "all"));
        let is_used = |agent: &&AgentFile| !agent.hidden && !agent.broken && agent.shadowed_by.is_none();
        self.agents.iter().filter(leads).filter(is_used).collect()
    }

    /// Whether a session waits for the person, or shows that one of its children does.
    pub(crate) fn needs_you(session: &Session) -> bool {
        session.needs > 0 || matches!(session.waiting_for, Some(WaitingFor::Approval | WaitingFor::Answer))
    }

    /// Takes from the last facts of a session that works what it does, where nobody has seen that begin.
    pub(crate) fn catch_up(&mut self, session: &str, facts: &[Event]) {
        let works = self.sessions.get(session).is_some_and(|session| session.status.is_busy());
        if !works || self.activity.contains_key(session) {
            return;
        }
        let begun = facts.iter().rposition(|fact| matches!(fact.payload, Payload::TurnStarted { .. }));
        for fact in &facts[begun.unwrap_or(0)..] {
            // It was read just now.
            self.fact(fact);
        }
    }

    /// Takes what a fact says about the moment; `true` when the session object has to be read again.
    ///
    /// Only a fact that tells what the agent does makes an activity: of a session without one it is known that it runs,
    /// and nothing more.
    pub(crate) fn fact(&mut self, event: &Event) -> Stale {
        match &event.payload {
            Payload::TurnStarted { .. } => {
                *self.activity_of(&event.session) = Activity { since: event.at, ..Activity::default() }
            }
            Payload::ToolStarted { title, tool, .. } => {
                let activity = self.activity_of(&event.session);
                activity.tool = Some(one_line(title));
                activity.kind.clone_from(tool);
                activity.retry = None;
                activity.tools += 1;
                activity.since = event.at;
                return Stale::No;
            }
            Payload::ToolFinished { .. } => {
                let activity = self.activity_of(&event.session);
                activity.tool = None;
                activity.since = event.at;
                return Stale::No;
            }
            Payload::Message { text, .. } => {
                let activity = self.activity_of(&event.session);
                activity.snippet = snippet(text);
                activity.retry = None;
                return Stale::No;
            }
            Payload::Retry { reason, .. } => {
                let activity = self.activity_of(&event.session);
                activity.retry = Some(one_line(reason));
                activity.since = event.at;
                return Stale::No;
            }
            Payload::Thought { .. } => {
                self.activity_of(&event.session).retry = None;
                return Stale::No;
            }
            Payload::SetupOutput { .. } | Payload::SubagentEvent { .. } => return Stale::No,
            Payload::TurnCompleted { .. } | Payload::TurnFailed { .. } | Payload::TurnInterrupted { .. } => {
                let activity = self.activity_of(&event.session);
                activity.tool = None;
                activity.progress = None;
                activity.retry = None;
                activity.since = event.at;
            }
            Payload::Preparing { .. } => {
                let activity = self.activity_of(&event.session);
                activity.progress = None;
                activity.since = event.at;
            }
            Payload::SessionCreated { .. }
            | Payload::TitleChanged { .. }
            | Payload::PromptQueued { .. }
            | Payload::PromptDropped { .. }
            | Payload::Switched { .. }
            | Payload::ApprovalRequested { .. }
            | Payload::ApprovalResolved { .. }
            | Payload::QuestionAsked { .. }
            | Payload::QuestionAnswered { .. }
            | Payload::QuestionGone { .. }
            | Payload::HandoffUpdated { .. }
            | Payload::WorkflowUpdated { .. }
            | Payload::PlanUpdated { .. }
            | Payload::Usage { .. }
            | Payload::Checkpoint { .. }
            | Payload::Reworded { .. }
            | Payload::Undone { .. }
            | Payload::Integrated { .. }
            | Payload::Merged { .. }
            | Payload::MergeUndone { .. }
            | Payload::HookFixStarted { .. }
            | Payload::HookFixStopped { .. }
            | Payload::Conflict { .. }
            | Payload::Archived {}
            | Payload::Removed { .. }
            | Payload::Saved { .. }
            | Payload::Restored {}
            | Payload::PostureChanged { .. }
            | Payload::Attached { .. }
            | Payload::Detached { .. }
            | Payload::Warning { .. } => {}
        }
        Stale::Yes
    }

    /// Takes a live record.
    pub(crate) fn live(&mut self, record: &Live) -> Stale {
        match record {
            Live::InProgress { block: Block::Message, text, .. } => {
                let activity = self.activity_of(record.session());
                activity.retry = None;
                activity.snippet = snippet(text);
            }
            Live::Delta { block: Block::Message, text, .. } => {
                let activity = self.activity_of(record.session());
                activity.retry = None;
                activity.snippet = snippet(&format!("{}{text}", activity.snippet));
            }
            Live::InProgress { block: Block::Thought, .. } | Live::Delta { block: Block::Thought, .. } => {
                self.activity_of(record.session()).retry = None;
            }
            // The output of a call says that it runs, and not which call it is.
            Live::InProgress { block: Block::Tool { .. }, session, .. }
            | Live::Delta { block: Block::Tool { .. }, session, .. } => {
                if let Some(activity) = self.activity.get_mut(session) {
                    activity.retry = None;
                }
            }
            Live::Progress { done, total, .. } => self.activity_of(record.session()).progress = Some((*done, *total)),
            Live::Status { session, status } => {
                let known = self.sessions.get(session).map(|session| session.status);
                return if known == Some(*status) { Stale::No } else { Stale::Yes };
            }
            Live::SubagentEvent { .. } => {}
        }
        Stale::No
    }

    fn activity_of(&mut self, session: &str) -> &mut Activity {
        self.activity.entry(session.to_owned()).or_default()
    }
}

/// Whether the session object has to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    Yes,
    No,
}

/// The end of a text on one line.
fn snippet(text: &str) -> String {
    let tail: Vec<char> = text.chars().rev().take(SNIPPET).collect();
    let line: String = tail.into_iter().rev().map(|c| if c == '\n' { ' ' } else { c }).collect();
    cut(&crate::look::line::visible(line.trim_start()), SNIPPET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::session::Status;
    use crate::look::sample;

    fn session(id: &str, updated_at: i64) -> Session {
        Session { id: id.to_owned(), updated_at, ..sample::session(Status::Ready) }
    }

    fn known(world: &World) -> Vec<(&str, i64)> {
        world.sessions.iter().map(|(id, session)| (id.as_str(), session.updated_at)).collect()
    }

    #[test]
    fn a_late_list_takes_nothing_away() {
        let mut world = World::default();
        assert!(world.list(vec![session("a", 1), session("b", 1)]).is_empty());
        // A list is made; then one session changes, one is removed, one comes; then the list arrives.
        let late = vec![session("a", 1), session("b", 1)];
        world.take(session("a", 2));
        world.take(Session { removed_at: Some(2), ..session("b", 2) });
        world.take(session("c", 2));
        assert_eq!(world.list(late), ["c"]);
        assert_eq!(known(&world), [("a", 2), ("c", 2)]);
        // What is restored is there again, and what is gone goes when it is read.
        world.take(session("b", 3));
        world.forget("c");
        assert_eq!(known(&world), [("a", 2), ("b", 3)]);
    }

    #[test]
    fn sessions_that_know_the_repository_by_an_older_path_are_shown() {
        let at = |id: &str, project: &str| Session { project: project.to_owned(), ..session(id, 1) };
        let mut world = World::default();
        world.repository.project = "/new/app/.git".to_owned();
        // The stream tells of all sessions, perhaps before the list is there.
        world.take(at("a", "/old/app/.git"));
        assert!(world.is_elsewhere("a"));
        assert!(world.list(vec![at("a", "/old/app/.git"), at("b", "/new/app/.git")]).is_empty());
        world.take(Session { updated_at: 2, ..at("a", "/old/app/.git") });
        world.take(at("c", "/other/.git"));
        assert_eq!(known(&world), [("a", 2), ("b", 1)]);
        assert!(!world.is_elsewhere("a") && world.is_elsewhere("c"));
    }

    #[test]
    fn what_a_session_does_is_found_out_once_from_what_came_before() {
        let fact = |payload| Event { seq: 1, session: "a".to_owned(), at: 5, v: 1, payload };
        let begun =
            || fact(Payload::TurnStarted { turn: 1, prompt: 1, delivery: String::new(), exec_at: 0, agent: None });
        let call = |title: &str| {
            let (call, tool, title) = ("c".to_owned(), "execute".to_owned(), title.to_owned());
            fact(Payload::ToolStarted { turn: 1, call, tool, title, input: None, auto: None })
        };
        let tool = |world: &World| world.activity.get("a").and_then(|activity| activity.tool.clone());
        let mut world = World::default();
        world.take(session("a", 1));
        world.catch_up("a", &[begun(), call("make")]);
        assert_eq!(tool(&world), None, "nothing runs");
        world.take(Session { status: Status::Running, ..session("a", 2) });
        world.catch_up("a", &[call("of another turn"), begun(), call("make")]);
        assert_eq!((tool(&world).as_deref(), world.activity["a"].tools), (Some("make"), 1));
        world.catch_up("a", &[begun(), call("older")]);
        assert_eq!(tool(&world).as_deref(), Some("make"));
    }
}
