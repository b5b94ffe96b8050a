//! Every route of the api as a typed call.

use hyper::Method;

use super::ClientError;
use super::connection::{Connection, segment};
use super::environment::find_ssh_agent;
use crate::api::Page;
use crate::api::agent::{
    Agent, AgentDiagnostic, AgentFiles, AgentPlace, AgentQuery, AgentRoles, CheckAgents, SeedAgents, SeededAgents,
    ShowAgent,
};
use crate::api::backend::{BackendCheck, BackendEntry, CheckBackend};
use crate::api::daemon::{DaemonStatus, StopDaemon};
use crate::api::event::{Engine, RawEvent};
use crate::api::handoff::Handoff;
use crate::api::import::{ImportRules, ImportServers, ListRules, ListServers, RuleImport, ServerImport};
use crate::api::permission::{Explanation, ListPlans, SavedPlan};
use crate::api::project::{
    Backend, BackendQuery, Check, ConfigQuery, ConfigValue, Files, FilesQuery, GrantTrust, ListModels, MovedProject,
    Place, Project, Relink, Relinked, RunDoctor, SetConfig, Trust,
};
use crate::api::publish::{CreatePull, Pull, PullQuery, Push, Pushed, UpdatePull};
use crate::api::request::{
    Answer, CreateSession, Decide, DiffQuery, EventQuery, ExplainPermission, ListSessions, ListTurns, Merge, Resume,
    SendPrompt, SetPosture, Undo,
};
use crate::api::resolution::ResolutionProposal;
use crate::api::review::{AddComment, EditComment, LookAt, PrepareReview, Review};
use crate::api::session::{Diff, InboxItem, QueuedPrompt, Session, Turn};
use crate::api::tool::{ToolQuery, ToolSurface};
use crate::api::workflow::Workflow;

/// Stands for an absent query or body.
const NONE: [(); 0] = [];

#[derive(serde::Serialize)]
struct Nothing {}

/// A session is named by its id or by a unique beginning of it.
impl Connection {
    pub async fn daemon(&self) -> Result<DaemonStatus, ClientError> {
        self.get("/v1/daemon", &NONE).await
    }

    /// The reply tells by `draining` whether the daemon is about to end.
    pub async fn stop_daemon(&self, stop: &StopDaemon) -> Result<DaemonStatus, ClientError> {
        self.send(Method::POST, "/v1/daemon/stop", stop).await
    }

    pub async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>, ClientError> {
        self.get("/v1/sessions", list).await
    }

    /// Who would work on a session; nothing is created.
    pub async fn check(&self, create: &CreateSession) -> Result<Engine, ClientError> {
        self.send(Method::POST, "/v1/session-check", create).await
    }

    pub async fn create(&self, create: &CreateSession) -> Result<Session, ClientError> {
        self.send(Method::POST, "/v1/sessions", create).await
    }

    pub async fn session(&self, id: &str) -> Result<Session, ClientError> {
        self.get(&of(id), &NONE).await
    }

    pub async fn turns(&self, id: &str, list: &ListTurns) -> Result<Page<Turn>, ClientError> {
        self.get(&below(id, "turns"), list).await
    }

    pub async fn prompt(&self, id: &str, prompt: &SendPrompt) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "prompts"), prompt).await
    }

    pub async fn answer(&self, id: &str, answer: &Answer) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "answers"), answer).await
    }

    /// `request` is the approval's id, or `oldest`.
    pub async fn decide(&self, id: &str, request: &str, decision: &Decide) -> Result<Session, ClientError> {
        let path = format!("{}/{}", below(id, "approvals"), segment(request));
        self.send(Method::POST, &path, decision).await
    }

    pub async fn set_posture(&self, id: &str, posture: &SetPosture) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "posture"), posture).await
    }

    /// The prompts that no turn has begun with, the next one first.
    pub async fn queue(&self, id: &str) -> Result<Page<QueuedPrompt>, ClientError> {
        self.get(&below(id, "queue"), &NONE).await
    }

    pub async fn drop_prompt(&self, id: &str, number: u32) -> Result<Session, ClientError> {
        self.send(Method::DELETE, &below(id, &format!("queue/{number}")), &Nothing {}).await
    }

    pub async fn stop(&self, id: &str) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "stop"), &Nothing {}).await
    }

    pub async fn resume(&self, id: &str, resume: &Resume) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "resume"), resume).await
    }

    pub async fn diff(&self, id: &str, query: &DiffQuery) -> Result<Diff, ClientError> {
        self.get(&below(id, "diff"), query).await
    }

    pub async fn undo(&self, id: &str, undo: &Undo) -> Result<Session, ClientError> {
        let undo = Undo { ssh_agent: find_ssh_agent(), ..undo.clone() };
        self.send(Method::POST, &below(id, "undo"), &undo).await
    }

    pub async fn merge(&self, id: &str, merge: &Merge) -> Result<Session, ClientError> {
        let merge = Merge { ssh_agent: find_ssh_agent(), ..merge.clone() };
        self.send(Method::POST, &below(id, "merge"), &merge).await
    }

    pub async fn rebase(&self, id: &str) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "rebase"), &Nothing {}).await
    }

    /// What the session's model proposes for its conflict.
    pub async fn propose_resolution(&self, id: &str) -> Result<ResolutionProposal, ClientError> {
        self.send(Method::POST, &below(id, "resolutions"), &Nothing {}).await
    }

    pub async fn accept_resolution(&self, id: &str, proposal: &str) -> Result<Session, ClientError> {
        let path = format!("{}/{}", below(id, "resolutions"), segment(proposal));
        self.send(Method::POST, &path, &Nothing {}).await
    }

    /// Pushes the session's branch to `origin`.
    pub async fn push(&self, id: &str, push: &Push) -> Result<Pushed, ClientError> {
        let push = Push { ssh_agent: find_ssh_agent(), ..push.clone() };
        self.send(Method::POST, &below(id, "push"), &push).await
    }

    pub async fn create_pull(&self, id: &str, create: &CreatePull) -> Result<Pull, ClientError> {
        self.send(Method::POST, &below(id, "pr"), create).await
    }

    pub async fn update_pull(&self, id: &str, update: &UpdatePull) -> Result<Pull, ClientError> {
        self.send(Method::PATCH, &below(id, "pr"), update).await
    }

    /// The pull request of the session's branch.
    pub async fn pull(&self, id: &str, query: &PullQuery) -> Result<Pull, ClientError> {
        self.get(&below(id, "pr"), query).await
    }

    /// Brings a child's result into its parent's work tree.
    pub async fn integrate(&self, id: &str) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "integrate"), &Nothing {}).await
    }

    pub async fn handoffs(&self, id: &str) -> Result<Page<Handoff>, ClientError> {
        self.get(&below(id, "handoffs"), &NONE).await
    }

    pub async fn workflow(&self, id: &str) -> Result<Workflow, ClientError> {
        self.get(&below(id, "workflow"), &NONE).await
    }

    pub async fn review(&self, id: &str) -> Result<Review, ClientError> {
        self.get(&below(id, "review"), &NONE).await
    }

    /// The newest comment of the reply is this one.
    pub async fn comment(&self, id: &str, comment: &AddComment) -> Result<Review, ClientError> {
        self.send(Method::POST, &below(id, "review/comments"), comment).await
    }

    pub async fn edit_comment(&self, id: &str, comment: u32, edit: &EditComment) -> Result<Review, ClientError> {
        self.send(Method::PUT, &below(id, &format!("review/comments/{comment}")), edit).await
    }

    pub async fn drop_comment(&self, id: &str, comment: u32) -> Result<Review, ClientError> {
        self.send(Method::DELETE, &below(id, &format!("review/comments/{comment}")), &Nothing {}).await
    }

    pub async fn look_at(&self, id: &str, look: &LookAt) -> Result<Review, ClientError> {
        self.send(Method::PUT, &below(id, "review/files"), look).await
    }

    /// Has a model prepare the review; whoever drops the call gives it up.
    pub async fn prepare_review(&self, id: &str, prepare: &PrepareReview) -> Result<Review, ClientError> {
        self.send(Method::POST, &below(id, "review/prepare"), prepare).await
    }

    /// All comments that were not sent, as one prompt.
    pub async fn send_review(&self, id: &str) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "review/send"), &Nothing {}).await
    }

    pub async fn archive(&self, id: &str) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "archive"), &Nothing {}).await
    }

    pub async fn remove(&self, id: &str) -> Result<Session, ClientError> {
        self.send(Method::DELETE, &of(id), &Nothing {}).await
    }

    pub async fn restore(&self, id: &str) -> Result<Session, ClientError> {
        self.send(Method::POST, &below(id, "restore"), &Nothing {}).await
    }

    pub async fn inbox(&self) -> Result<Page<InboxItem>, ClientError> {
        self.get("/v1/inbox", &NONE).await
    }

    pub async fn events(&self, query: &EventQuery) -> Result<Page<RawEvent>, ClientError> {
        self.get("/v1/events", query).await
    }

    /// What would happen with a call, and why; nothing is run.
    pub async fn explain(&self, call: &ExplainPermission) -> Result<Explanation, ClientError> {
        self.send(Method::POST, "/v1/permissions/explain", call).await
    }

    pub async fn plans(&self, list: &ListPlans) -> Result<Page<SavedPlan>, ClientError> {
        self.get("/v1/plans", list).await
    }

    /// The repository around a directory, and what is checked out there.
    pub async fn project(&self, place: &Place) -> Result<Project, ClientError> {
        self.get("/v1/project", place).await
    }

    /// The former places of the repository around a directory, as far as sessions name them.
    pub async fn moved_projects(&self, place: &Place) -> Result<Page<MovedProject>, ClientError> {
        self.get("/v1/project/moved", place).await
    }

    /// Links the sessions of a repository that was moved to its new place.
    pub async fn relink(&self, relink: &Relink) -> Result<Relinked, ClientError> {
        self.send(Method::POST, "/v1/project/relink", relink).await
    }

    /// The files of a work tree that git does not ignore.
    pub async fn files(&self, query: &FilesQuery) -> Result<Files, ClientError> {
        self.get("/v1/files", query).await
    }

    pub async fn trust(&self, place: &Place) -> Result<Trust, ClientError> {
        self.get("/v1/trust", place).await
    }

    pub async fn grant_trust(&self, grant: &GrantTrust) -> Result<Trust, ClientError> {
        self.send(Method::POST, "/v1/trust", grant).await
    }

    pub async fn config(&self, query: &ConfigQuery) -> Result<Page<ConfigValue>, ClientError> {
        self.get("/v1/config", query).await
    }

    pub async fn set_config(&self, set: &SetConfig) -> Result<ConfigValue, ClientError> {
        self.send(Method::PUT, "/v1/config", set).await
    }

    /// The MCP servers of the agent programs that can be imported.
    pub async fn importable_servers(&self, list: &ListServers) -> Result<ServerImport, ClientError> {
        self.send(Method::POST, "/v1/import/servers/list", list).await
    }

    pub async fn import_servers(&self, import: &ImportServers) -> Result<ServerImport, ClientError> {
        self.send(Method::POST, "/v1/import/servers", import).await
    }

    /// The rules of an agent program's settings that can be imported.
    pub async fn importable_rules(&self, list: &ListRules) -> Result<RuleImport, ClientError> {
        self.send(Method::POST, "/v1/import/rules/list", list).await
    }

    pub async fn import_rules(&self, import: &ImportRules) -> Result<RuleImport, ClientError> {
        self.send(Method::POST, "/v1/import/rules", import).await
    }

    pub async fn backends(&self, query: &BackendQuery) -> Result<Page<BackendEntry>, ClientError> {
        self.get("/v1/backends", query).await
    }

    pub async fn check_backend(&self, request: &CheckBackend) -> Result<BackendCheck, ClientError> {
        self.send(Method::POST, "/v1/backends/check", request).await
    }

    pub async fn models(&self, query: &BackendQuery) -> Result<Page<Backend>, ClientError> {
        self.get("/v1/models", query).await
    }

    pub async fn list_models(&self, request: &ListModels) -> Result<Page<Backend>, ClientError> {
        self.send(Method::POST, "/v1/models", request).await
    }

    pub async fn agents(&self, query: &AgentQuery) -> Result<AgentRoles, ClientError> {
        self.get("/v1/agents", query).await
    }

    pub async fn agent_files(&self, place: &AgentPlace) -> Result<AgentFiles, ClientError> {
        self.get("/v1/agent-files", place).await
    }

    /// `agent` is `AGENT` or `AGENT:PERSONA`.
    pub async fn agent(&self, agent: &str, show: &ShowAgent) -> Result<Agent, ClientError> {
        self.get(&format!("/v1/agents/{}", segment(agent)), show).await
    }

    pub async fn tools(&self, query: &ToolQuery) -> Result<ToolSurface, ClientError> {
        self.get("/v1/tools", query).await
    }

    pub async fn check_agents(&self, check: &CheckAgents) -> Result<Page<AgentDiagnostic>, ClientError> {
        self.send(Method::POST, "/v1/agents/check", check).await
    }

    pub async fn seed_agents(&self) -> Result<SeededAgents, ClientError> {
        self.send(Method::POST, "/v1/agents/seed", &SeedAgents {}).await
    }

    pub async fn doctor(&self, request: &RunDoctor) -> Result<Page<Check>, ClientError> {
        self.send(Method::POST, "/v1/doctor", request).await
    }
}

fn of(id: &str) -> String {
    format!("/v1/sessions/{}", segment(id))
}

fn below(id: &str, part: &str) -> String {
    format!("{}/{part}", of(id))
}
