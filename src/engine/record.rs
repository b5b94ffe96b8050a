//! What the engine keeps of a session, a turn and a prompt: the JSON inside the store's rows.
//!
//! Readers are tolerant: a field that an older record lacks takes its default.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::api::handoff::{Handoff, HandoffStatus};
use crate::api::session::{Changes, Response, Status, Summary, TurnError, TurnState, Usage};
use crate::api::workflow::Workflow;
use crate::id::SessionId;
use crate::permission::{Effect, Posture, Reach};
use crate::session::{Open, Phase, Rest, Session, Turn};
use crate::store::{HandoffRow, SessionRow, TurnRow, WorkflowRow};

/// One session as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) id: SessionId,
    pub(super) project: String,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) removed_at: Option<i64>,
    /// What clients are shown; finer than [`State`], which is what a restart needs.
    pub(super) status: Status,
    pub(super) body: Body,
}

impl Record {
    /// A session that is only thought of.
    pub(super) fn imagined(project: String, body: Body) -> Result<Self, getrandom::Error> {
        let id = super::clock::draw_id()?;
        Ok(Self { id, project, created_at: 0, updated_at: 0, removed_at: None, status: Status::Draft, body })
    }
}

/// The part of a session that only the engine reads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    pub(super) title: String,
    pub(super) common_dir: String,
    /// The directory in which it was created, from the root of the work tree; agents are looked for from there upward.
    pub(super) place: String,
    pub(super) backend: String,
    pub(super) model: Option<String>,
    /// The word for how hard the model thinks.
    pub(super) reasoning: Option<String>,
    pub(super) agent: AgentRecord,
    pub(super) posture: PostureRecord,
    pub(super) plan_mode: PlanModeRecord,
    /// What the processes of the last turn could reach.
    pub(super) reach: ReachRecord,
    /// Rules that a person allowed for this session.
    pub(super) grants: Vec<String>,
    /// What makes the session the child of another.
    pub(super) child: Option<ChildRecord>,
    pub(super) base: BaseRecord,
    pub(super) branch: String,
    pub(super) worktree: String,
    pub(super) tree: Tree,
    pub(super) state: State,
    /// The number of the last turn that started.
    pub(super) turns: u32,
    /// The number of the last prompt that was accepted.
    pub(super) prompts: u32,
    /// The numbers of the queued prompts, in the order in which they are sent.
    pub(super) order: Vec<u32>,
    pub(super) usage: Usage,
    pub(super) changes: Changes,
    pub(super) questions: Vec<QuestionRecord>,
    pub(super) approvals: Vec<ApprovalRecord>,
    /// Questions that a turn in progress waits for, or waited for when its daemon ended.
    pub(super) calls: Vec<QuestionCall>,
    /// How many approvals and questions were ever asked; their ids are never used again.
    pub(super) asked: u32,
    pub(super) summary: Option<Summary>,
    pub(super) last_error: Option<TurnError>,
    pub(super) conflicts: Vec<String>,
    /// The last commit of the session's branch that a merge took; a later merge brings what came after it.
    pub(super) merged: Option<String>,
    pub(super) conversation: Option<ConversationRecord>,
    /// Turns that an undo took back and the agent has not been told about.
    pub(super) undone: Option<(u32, u32)>,
    /// A turn that was interrupted and the agent has not been told about.
    pub(super) interrupted: Option<u32>,
    /// The last turn was sent and did not end well: a resume sends its prompt again.
    pub(super) unfinished: bool,
    pub(super) redirect: Option<Redirect>,
    /// The ref that keeps a removed session's work.
    pub(super) salvage: Option<String>,
}

/// Which agent works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AgentRecord {
    /// Empty means the configured default.
    pub(super) id: String,
    pub(super) persona: Option<String>,
    /// Whether the tools of the last turn were held to the definition.
    pub(super) surface: SurfaceHold,
}

/// What happens with calls that no rule decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PostureRecord {
    /// Empty in records of sessions that knew only one.
    pub(super) word: String,
    pub(super) yolo: bool,
}

/// What a session remembers of plan mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PlanModeRecord {
    /// The posture that it had before.
    pub(super) before: Option<String>,
    /// The last turn was told that it makes a plan.
    pub(super) told: bool,
    /// The turn that a person ended with a decision about its plan: nothing of it is left to do.
    pub(super) concluded: Option<u32>,
    /// When its plan was left for later.
    pub(super) kept_at: Option<i64>,
}

/// What the processes of a session can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ReachRecord {
    /// Empty in records of sessions that were never held.
    pub(super) level: String,
    pub(super) enforced: bool,
    /// Why it is not enforced.
    pub(super) note: Option<String>,
}

impl PostureRecord {
    pub(super) fn posture(&self) -> Posture {
        self.word.parse().unwrap_or(Posture::Attended)
    }
}

/// How far an agent is held to its tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SurfaceHold {
    #[default]
    Enforced,
    Advisory,
}

/// What a child session keeps of the delegation that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChildRecord {
    pub(super) handoff: String,
    #[serde(with = "as_text")]
    pub(super) parent: SessionId,
    /// The session at the top of the family, whose tasks and plan are everybody's.
    #[serde(with = "as_text")]
    pub(super) root: SessionId,
    pub(super) depth: u32,
    /// The commit whose files say the rules. The child's own base holds what an agent wrote.
    pub(super) rules: String,
    pub(super) access: ChildAccess,
    pub(super) hold: ChildHold,
    pub(super) timeout_ms: u64,
    pub(super) note: Option<String>,
    /// The definition that the child was made with; later edits are for later children.
    pub(super) definition: DefinitionRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChildAccess {
    ReadOnly,
    Write,
}

/// How a child is bound to its parent's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChildHold {
    Foreground,
    Background,
}

/// The text of a definition and how to read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DefinitionRecord {
    pub(super) scope: String,
    pub(super) format: String,
    pub(super) path: String,
    pub(super) text: String,
}

/// A question in the middle of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QuestionCall {
    pub(super) id: String,
    /// The backend's own name for the call.
    pub(super) request: String,
    pub(super) text: String,
    pub(super) options: Vec<String>,
    pub(super) multiple: bool,
    /// The handoff whose plan is decided with the answer. Only the engine sets it: a model names no purpose of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<String>,
    /// The plan of a session in plan mode that is decided with the answer, as it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proposal: Option<ProposalRecord>,
    pub(super) asked_at: i64,
    /// Identifies the call: an answer to an expired question is used once for the first identical one.
    pub(super) call_hash: String,
    pub(super) expired: bool,
    /// What the model is told; it stays here until the call is answered with it.
    pub(super) answer: Option<String>,
}

/// A plan that a person was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProposalRecord {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) markdown: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BaseRecord {
    pub(super) name: String,
    /// The full ref that the session is merged into.
    pub(super) branch: Option<String>,
    pub(super) commit: String,
}

/// Whether the session has a worktree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tree {
    /// Never made.
    #[default]
    Absent,
    /// Moved to the trash after a merge, an archive or a removal; it comes back from there or from its salvage ref.
    Away,
    /// Being made; a daemon that finds it so finishes or repeats it.
    Creating,
    /// Made, but files or the setup command of the project are not through.
    Unprepared,
    Ready,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QuestionRecord {
    pub(super) text: String,
    pub(super) options: Vec<String>,
    pub(super) answer: Option<String>,
    /// What the question is for, where the engine itself acts on the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) purpose: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ApprovalRecord {
    pub(super) id: String,
    /// The backend's own name for the request.
    pub(super) request: String,
    pub(super) tool: String,
    pub(super) title: String,
    pub(super) preview: Option<String>,
    /// The verdict: why a person is asked, by which step and rule.
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) layer: String,
    #[serde(default)]
    pub(super) rule: Option<String>,
    /// The rules that a wider consent saves.
    #[serde(default)]
    pub(super) saves: Vec<String>,
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    /// What the call is, to be judged again when something was allowed.
    #[serde(default)]
    pub(super) call: Option<CallRecord>,
    pub(super) requested_at: i64,
    /// Identifies the call: a decision on an expired approval is used once for the first identical one.
    pub(super) call_hash: String,
    pub(super) expired: bool,
    pub(super) decision: Option<DecisionRecord>,
}

/// A call as it was asked about, by its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallRecord {
    pub(super) tool: String,
    pub(super) reach: CallReach,
    /// Who makes it.
    #[serde(default)]
    pub(super) origin: CallOrigin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallReach {
    Paths(Vec<PathBuf>),
    Command { text: String, cwd: PathBuf },
    Url(String),
    Mcp { server: String, tool: String, effect: CallEffect },
    Elsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallEffect {
    Reads,
    Adds,
    Destroys,
}

impl From<Reach> for CallReach {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::Paths(paths) => Self::Paths(paths),
            Reach::Command { text, cwd } => Self::Command { text, cwd },
            Reach::Url(url) => Self::Url(url),
            Reach::Mcp { server, tool, effect } => {
                let effect = match effect {
                    Effect::Reads => CallEffect::Reads,
                    Effect::Adds => CallEffect::Adds,
                    Effect::Destroys => CallEffect::Destroys,
                };
                Self::Mcp { server, tool, effect }
            }
            Reach::Elsewhere => Self::Elsewhere,
        }
    }
}

impl From<CallReach> for Reach {
    fn from(reach: CallReach) -> Self {
        match reach {
            CallReach::Paths(paths) => Self::Paths(paths),
            CallReach::Command { text, cwd } => Self::Command { text, cwd },
            CallReach::Url(url) => Self::Url(url),
            CallReach::Mcp { server, tool, effect } => {
                let effect = match effect {
                    CallEffect::Reads => Effect::Reads,
                    CallEffect::Adds => Effect::Adds,
                    CallEffect::Destroys => Effect::Destroys,
                };
                Self::Mcp { server, tool, effect }
            }
            CallReach::Elsewhere => Self::Elsewhere,
        }
    }
}

/// Who performs a call once it is allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallOrigin {
    #[default]
    Backend,
    /// One of the tools that Coppice serves.
    Served,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(super) enum DecisionRecord {
    Allow,
    Deny { message: Option<String> },
}

/// A conversation in which the model has heard the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ConversationRecord {
    pub(super) id: String,
    /// Hash of the rules that the conversation was told; another hash means another bootstrap.
    pub(super) marker: String,
    /// Hash of the role that it was told; another one is told with the next prompt.
    pub(super) role: String,
    /// Hash of the tools that were served to it.
    pub(super) served: String,
    /// Hash of what the agent was left of its own tools.
    pub(super) native: String,
    /// Hash of its posture and of what its processes could reach.
    pub(super) confined: String,
    /// With whom it is, and what was asked of them.
    pub(super) engine: EngineRecord,
    /// The model that the backend says it uses.
    pub(super) model: Option<String>,
}

/// Who works, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EngineRecord {
    pub(super) backend: String,
    pub(super) model: Option<String>,
    pub(super) reasoning: Option<String>,
}

/// The stored form of the state machine's state: all that a restart needs of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    #[default]
    Draft,
    Ready,
    Asking,
    Failed,
    Interrupted,
    Conflict,
    Merged,
    Archived,
    /// A turn is in progress and was not sent.
    Waiting,
    /// A turn is in progress and was sent.
    Turning,
    IntegratingReady,
    IntegratingAsking,
    IntegratingFailed,
    IntegratingInterrupted,
    IntegratingConflict,
}

impl State {
    pub(super) fn of(session: Session) -> Self {
        match session {
            Session::Resting(rest) => match rest {
                Rest::Draft => State::Draft,
                Rest::Ready => State::Ready,
                Rest::Asking => State::Asking,
                Rest::Failed => State::Failed,
                Rest::Interrupted => State::Interrupted,
                Rest::Conflict => State::Conflict,
                Rest::Merged => State::Merged,
                Rest::Archived => State::Archived,
            },
            Session::Integrating(before) => match before {
                Rest::Asking => State::IntegratingAsking,
                Rest::Failed => State::IntegratingFailed,
                Rest::Interrupted => State::IntegratingInterrupted,
                Rest::Conflict => State::IntegratingConflict,
                // The other three cannot be integrated; ready is the harmless reading.
                Rest::Ready | Rest::Draft | Rest::Merged | Rest::Archived => State::IntegratingReady,
            },
            Session::Turning(turn) => match turn.phase {
                Phase::Queued | Phase::Preparing => State::Waiting,
                Phase::Working | Phase::Parked | Phase::Returning | Phase::Stopping(..) | Phase::Closing(..) => {
                    State::Turning
                }
            },
        }
    }

    /// The state as a daemon that just started finds it, before it recovers.
    pub(super) fn found(self, open: Open) -> Session {
        match self {
            State::Draft => Session::Resting(Rest::Draft),
            State::Ready => Session::Resting(Rest::Ready),
            State::Asking => Session::Resting(Rest::Asking),
            State::Failed => Session::Resting(Rest::Failed),
            State::Interrupted => Session::Resting(Rest::Interrupted),
            State::Conflict => Session::Resting(Rest::Conflict),
            State::Merged => Session::Resting(Rest::Merged),
            State::Archived => Session::Resting(Rest::Archived),
            State::Waiting => Session::Turning(Turn { phase: Phase::Queued, open: Open::NONE, repairs_left: 0 }),
            State::Turning => Session::Turning(Turn { phase: Phase::Parked, open, repairs_left: 0 }),
            State::IntegratingReady => Session::Integrating(Rest::Ready),
            State::IntegratingAsking => Session::Integrating(Rest::Asking),
            State::IntegratingFailed => Session::Integrating(Rest::Failed),
            State::IntegratingInterrupted => Session::Integrating(Rest::Interrupted),
            State::IntegratingConflict => Session::Integrating(Rest::Conflict),
        }
    }
}

/// One turn as it is stored, beside its raw text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TurnBody {
    pub(super) state: TurnState,
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) images: Vec<ImageRecord>,
    #[serde(default)]
    pub(super) backend: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) agent: Option<crate::api::event::AgentUse>,
    pub(super) started_at: i64,
    pub(super) ended_at: Option<i64>,
    pub(super) response: Option<Response>,
    pub(super) error: Option<TurnError>,
    pub(super) checkpoint: Option<String>,
    #[serde(default)]
    pub(super) undone: bool,
    #[serde(default)]
    pub(super) usage: Usage,
}

/// One accepted prompt as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PromptBody {
    pub(super) text: String,
    #[serde(default)]
    pub(super) images: Vec<ImageRecord>,
    #[serde(default)]
    pub(super) switch: Switch,
    /// What goes before the text: the results of earlier handoffs, a summary of the parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) context: Option<String>,
}

/// What changes with a prompt about who works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Switch {
    /// A backend and its model.
    pub(super) backend: Option<(String, Option<String>)>,
    pub(super) reasoning: Option<String>,
    /// An agent and its persona.
    pub(super) agent: Option<(String, Option<String>)>,
}

/// Who works on the prompts that waited when another was sent elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Redirect {
    /// The number of the last of them.
    pub(super) last: u32,
    pub(super) switch: Switch,
}

/// One image of a prompt: a file among the session's images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ImageRecord {
    pub(super) file: String,
    pub(super) name: Option<String>,
    pub(super) media_type: String,
    pub(super) bytes: u64,
}

/// A row whose text is not a record: the database was changed by something else.
#[derive(Debug, thiserror::Error)]
#[error("the stored {what} of session `{id}` cannot be read")]
pub(super) struct Unreadable {
    what: &'static str,
    id: SessionId,
    source: serde_json::Error,
}

impl Record {
    pub(super) fn read(row: SessionRow) -> Result<Self, Unreadable> {
        let SessionRow { id, project, parent: _, status, created_at, updated_at, removed_at, record } = row;
        let body: Body = serde_json::from_str(&record).map_err(|source| Unreadable { what: "record", id, source })?;
        // A word of a later version is shown as what the state means to this one.
        let known = Status::ALL.into_iter().find(|known| known.as_str() == status);
        let status = known.unwrap_or_else(|| super::view::status(body.state.found(Open::NONE).status()));
        Ok(Self { id, project, created_at, updated_at, removed_at, status, body })
    }

    pub(super) fn row(&self) -> SessionRow {
        SessionRow {
            id: self.id,
            project: self.project.clone(),
            parent: self.body.child.as_ref().map(|child| child.parent),
            status: self.status.as_str().to_owned(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            removed_at: self.removed_at,
            record: json(&self.body),
        }
    }

    /// Takes over the state of the machine.
    pub(super) fn settle(&mut self, session: Session, now: i64) {
        self.body.state = State::of(session);
        self.status = super::view::status(session.status());
        self.updated_at = now;
    }

    /// The state machine as it was stored.
    pub(super) fn found(&self) -> Session {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let approvals = self.body.approvals.iter().filter(|approval| approval.decision.is_none()).count();
        let questions = self.body.calls.iter().filter(|call| call.answer.is_none()).count();
        let open = Open { approvals: count(approvals), questions: count(questions), children: 0 };
        self.body.state.found(open)
    }
}

impl Body {
    /// Who works.
    pub(super) fn engine(&self) -> EngineRecord {
        EngineRecord { backend: self.backend.clone(), model: self.model.clone(), reasoning: self.reasoning.clone() }
    }

    /// The commit whose files say the rules. A child's own base holds what an agent wrote.
    pub(super) fn rules_commit(&self) -> &str {
        self.child.as_ref().map_or(&self.base.commit, |child| &child.rules)
    }

    /// Lets somebody else work.
    pub(super) fn set_engine(&mut self, engine: EngineRecord) {
        EngineRecord { backend: self.backend, model: self.model, reasoning: self.reasoning } = engine;
    }

    /// A queued prompt with whom it goes to.
    pub(super) fn redirected(&self, number: u32, prompt: PromptBody) -> PromptBody {
        match &self.redirect {
            Some(redirect) if number <= redirect.last => PromptBody { switch: redirect.switch.clone(), ..prompt },
            Some(_) | None => prompt,
        }
    }
}

impl Switch {
    /// Who works once the switch is made.
    pub(super) fn apply(&self, mut engine: EngineRecord) -> EngineRecord {
        if let Some((backend, model)) = self.backend.clone() {
            (engine.backend, engine.model) = (backend, model);
        }
        engine.reasoning = self.reasoning.clone().or(engine.reasoning);
        engine
    }
}

impl TurnBody {
    pub(super) fn read(row: &TurnRow) -> Result<Self, Unreadable> {
        serde_json::from_str(&row.record).map_err(|source| Unreadable { what: "turn", id: row.session, source })
    }

    pub(super) fn row(&self, session: SessionId, number: u32, raw: Option<String>) -> TurnRow {
        TurnRow { session, number, record: json(self), raw }
    }
}

/// The handoff that a row holds.
pub(super) fn handoff(row: &HandoffRow) -> Result<Handoff, Unreadable> {
    serde_json::from_str(&row.record).map_err(|source| Unreadable { what: "handoff", id: row.child, source })
}

/// How the handoff of a row stands; `None` for a word of a later version.
pub(super) fn handoff_status(row: &HandoffRow) -> Option<HandoffStatus> {
    serde_json::from_value(row.status.as_str().into()).ok()
}

/// The tasks and the plan that a row holds.
pub(super) fn workflow(row: &WorkflowRow) -> Result<Workflow, Unreadable> {
    serde_json::from_str(&row.record).map_err(|source| Unreadable { what: "workflow", id: row.session, source })
}

/// A session's id as the text it is.
mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::id::SessionId;

    pub(super) fn serialize<S: Serializer>(id: &SessionId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(id.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SessionId, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// Records hold plain values with string keys, which always serialise.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Slot;

    #[test]
    fn a_state_is_found_again_as_far_as_a_restart_needs_it() {
        for rest in [Rest::Draft, Rest::Ready, Rest::Asking, Rest::Failed, Rest::Interrupted, Rest::Conflict] {
            assert_eq!(State::of(Session::Resting(rest)).found(Open::NONE), Session::Resting(rest));
        }
        for before in [Rest::Ready, Rest::Asking, Rest::Failed, Rest::Interrupted, Rest::Conflict] {
            assert_eq!(State::of(Session::Integrating(before)).found(Open::NONE), Session::Integrating(before));
        }
        let closing = Phase::Closing(crate::session::Outcome::Completed, Slot::Held);
        for phase in [Phase::Queued, Phase::Preparing, Phase::Working, Phase::Parked, Phase::Returning, closing] {
            let turn = Session::Turning(Turn { phase, open: Open::NONE, repairs_left: 1 });
            assert!(State::of(turn).found(Open { approvals: 2, ..Open::NONE }).is_turning());
        }
    }

    #[test]
    fn a_switch_changes_what_it_names() {
        let engine = |backend: &str, model: Option<&str>, reasoning: Option<&str>| EngineRecord {
            backend: backend.to_owned(),
            model: model.map(str::to_owned),
            reasoning: reasoning.map(str::to_owned),
        };
        let before = engine("a", Some("m"), Some("low"));
        for (backend, reasoning, expected) in [
            (None, None, before.clone()),
            (Some(("a", None)), None, engine("a", None, Some("low"))),
            (Some(("b", Some("n"))), None, engine("b", Some("n"), Some("low"))),
            (None, Some("high"), engine("a", Some("m"), Some("high"))),
        ] {
            let backend =
                backend.map(|(name, model): (&str, Option<&str>)| (name.to_owned(), model.map(str::to_owned)));
            let switch = Switch { backend, reasoning: reasoning.map(str::to_owned), agent: None };
            assert_eq!(switch.apply(before.clone()), expected);
        }
    }

    #[test]
    fn a_record_without_later_fields_still_reads() {
        let body: Body = serde_json::from_str(r#"{"title":"x","unknown":1}"#).unwrap();
        assert_eq!(body, Body { title: "x".into(), ..Body::default() });
    }
}
