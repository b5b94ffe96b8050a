//! What the engine keeps of a session, a turn and a prompt: the JSON inside the store's rows.
//!
//! Readers are tolerant: a field that an older record lacks takes its default.

mod approval;
mod hook_fix;
mod question;
mod state;
mod undo;

use serde::{Deserialize, Serialize};

use crate::api::event::PromptAuthor;
use crate::api::handoff::{Handoff, HandoffStatus};
use crate::api::session::{Changes, Response, Status, SubmoduleChanges, Summary, TurnError, TurnState, Usage};
use crate::api::workflow::Workflow;
use crate::id::SessionId;
use crate::permission::{Posture, Profile};
use crate::session::{Open, Rest, Session};
use crate::store::{HandoffRow, PromptRow, SessionRow, TurnRow, WorkflowRow};

pub(super) use approval::{ApprovalRecord, CallOrigin, CallReach, CallRecord, DecisionRecord};
pub(super) use hook_fix::HookFixRecord;
pub(super) use question::{PlanModeRecord, ProposalRecord, QuestionCall, QuestionRecord};
pub(super) use state::State;
pub(super) use undo::{BeforeUndo, ConflictRecord, MadeMerge, MergedBase, UndoRecord};

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
    /// The word for whose tools it works with; empty asks for nothing beyond what is configured.
    pub(super) profile: String,
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
    /// No agent and no setup command on untrusted content was ever started in the worktree, and none may be starting.
    pub(super) is_untouched: bool,
    pub(super) state: State,
    /// What a person works with in the tree.
    pub(super) attached: Option<String>,
    /// The number of the last turn that started.
    pub(super) turns: u32,
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
    /// Why what a turn changed is in no commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uncommitted: Option<Uncommitted>,
    /// The names of files in conflict, for people.
    pub(super) conflicts: Vec<String>,
    /// The same files as the base was merged into them; it says nothing once there are no names.
    pub(super) conflict_files: Vec<ConflictRecord>,
    /// The id of those without marks that the last merge was refused for.
    pub(super) unmarked_conflict: Option<String>,
    /// The proposed resolution that a person can accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proposal: Option<String>,
    /// A merge that goes on once the agent has fixed what a commit hook reports. It does not outlast the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hook_fix: Option<HookFixRecord>,
    /// What differs in submodules, as it was last kept.
    pub(super) submodules: Vec<SubmoduleChanges>,
    /// What is in the worktree and in no commit, as of the last look.
    pub(super) left_out: Vec<String>,
    /// The last commit of the session's branch that a merge took; a later merge brings what came after it.
    pub(super) merged: Option<String>,
    /// All such commits, the last one included: an undo goes back to an earlier one, and a redo forward again.
    pub(super) merges: Vec<String>,
    /// The number of the last turn whose work a merge took.
    pub(super) merged_turns: u32,
    /// The merges that can be taken back, the last one at the end; none for work that went into a parent.
    pub(super) made_merges: Vec<MadeMerge>,
    pub(super) conversation: Option<ConversationRecord>,
    /// Turns that an undo took back and the agent has not been told about.
    pub(super) undone: Option<(u32, u32)>,
    /// An undo that has begun: until it has ended, the files may be anything between two turns.
    pub(super) undoing: Option<UndoRecord>,
    /// Where the session stood before its last undo, until it goes on.
    pub(super) before_undo: Option<BeforeUndo>,
    /// The last commit of the base branch that was merged into the worktree with conflicts.
    pub(super) merged_base: Option<MergedBase>,
    /// A turn that was interrupted and the agent has not been told about.
    pub(super) interrupted: Option<u32>,
    /// The last turn was sent and did not end well: a resume sends its prompt again.
    pub(super) unfinished: bool,
    /// The number of the last turn when the prompt that a resume would have begun with was dropped.
    pub(super) withdrawn: Option<u32>,
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
    /// The word for whose tools the last turn worked with; empty before the first.
    pub(super) profile: String,
    /// Whether it could change no files in the last turn; before the first, by its definition or its parent.
    pub(super) read_only: bool,
}

/// Work of a turn that is in no commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Uncommitted {
    pub(super) error: TurnError,
    pub(super) cause: UncommittedCause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum UncommittedCause {
    /// Something was in the way, which may go away.
    Failure,
    /// It took longer than somebody wanted to wait.
    GivenUp,
}

/// What happens with calls that no rule decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PostureRecord {
    /// Empty in records of sessions that knew only one.
    pub(super) word: String,
    pub(super) yolo: bool,
}

/// What the processes of a session can reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ReachRecord {
    /// Empty until a turn ran.
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
    /// Hash of what its process was started with, keys included, so never stored; `None` once the login was refused.
    #[serde(skip)]
    pub(super) start_fingerprint: Option<String>,
    /// The sandbox that its process was started in; never stored: it ends with the process.
    #[serde(skip)]
    pub(super) surroundings: std::sync::Arc<super::prepare::launch::Surroundings>,
}

/// Who works, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EngineRecord {
    pub(super) backend: String,
    pub(super) model: Option<String>,
    pub(super) reasoning: Option<String>,
}

/// One turn as it is stored, beside its raw text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TurnBody {
    pub(super) state: TurnState,
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) author: PromptAuthor,
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
    /// What it changed could not be committed when it ended. The commit of a later turn may hold it.
    #[serde(default)]
    pub(super) checkpoint_failed: bool,
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
    #[serde(default)]
    pub(super) author: PromptAuthor,
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
    pub(super) what: &'static str,
    pub(super) id: SessionId,
    pub(super) source: serde_json::Error,
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
        let found = self.body.state.found(Open::NONE);
        // An attempt to merge that came to nothing makes nothing younger.
        let is_attempt = match (found, session) {
            (_, Session::Integrating(_)) => true,
            (Session::Integrating(before), Session::Resting(rest)) => before == rest,
            (_, Session::Resting(_) | Session::Turning(_) | Session::Attached(_)) => false,
        };
        self.body.state = State::of(session);
        self.status = super::view::status(session.status());
        if !is_attempt {
            self.updated_at = now;
        }
    }

    /// Whether a person was asked something that has outlived its daemon: it waits since then, not since the restart.
    pub(super) fn outlives(&self) -> bool {
        let approvals = self.body.approvals.iter().any(|approval| approval.expired && approval.decision.is_none());
        approvals || self.body.calls.iter().any(|call| call.expired && call.answer.is_none())
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

    /// Whose tools it asked for. A word of a later version is taken for the tightest that is known.
    pub(super) fn profile(&self) -> Option<Profile> {
        let word = Some(self.profile.as_str()).filter(|word| !word.is_empty());
        word.map(|word| word.parse().unwrap_or(Profile::ReadOnly))
    }

    /// The commit whose files say the rules. A child's own base holds what an agent wrote.
    pub(super) fn rules_commit(&self) -> &str {
        self.child.as_ref().map_or(&self.base.commit, |child| &child.rules)
    }

    /// Drops the error of a checkpoint that failed, once everything is committed.
    pub(super) fn forget_uncommitted(&mut self) {
        self.uncommitted = None;
        self.last_error.take_if(|error| error.kind == TurnError::UNCOMMITTED);
    }

    /// Why what the last turn changed could not be committed. Older versions stored it as the last error alone.
    pub(super) fn uncommitted(&self) -> Option<&TurnError> {
        let last = self.last_error.as_ref().filter(|error| error.kind == TurnError::UNCOMMITTED);
        self.uncommitted.as_ref().map(|uncommitted| &uncommitted.error).or(last)
    }

    /// Whether it is tried again to commit it, without anybody asking for that.
    pub(super) fn is_to_be_committed_again(&self) -> bool {
        self.uncommitted.as_ref().is_some_and(|uncommitted| match uncommitted.cause {
            UncommittedCause::Failure => true,
            UncommittedCause::GivenUp => false,
        })
    }

    pub(super) fn is_uncommitted(&self) -> bool {
        self.uncommitted().is_some()
    }

    /// The commits of the session's branch that merges took, the last one at the end.
    pub(super) fn merges(&self) -> Vec<String> {
        // A record of an older version has the last one only.
        if self.merges.is_empty() { self.merged.iter().cloned().collect() } else { self.merges.clone() }
    }

    /// The merge that an undo takes back: nothing has changed since.
    pub(super) fn undoable_merge(&self) -> Option<&MadeMerge> {
        let is_last_change = match self.state.found(Open::NONE) {
            Session::Resting(Rest::Merged) => true,
            Session::Resting(Rest::Ready | Rest::Asking | Rest::Failed | Rest::Interrupted) => {
                self.changes.files == 0 && !self.is_uncommitted()
            }
            Session::Resting(Rest::Draft | Rest::Conflict | Rest::Archived)
            | Session::Turning(_)
            | Session::Integrating(_)
            | Session::Attached(_) => false,
        };
        self.made_merges.last().filter(|_| is_last_change)
    }

    /// The commit that the session's work is measured from: its base, or what a merge has already taken.
    pub(super) fn measured_from(&self) -> &str {
        match (&self.base.branch, &self.merged) {
            (Some(_), Some(merged)) => merged,
            // What a child's parent has taken, the child has still made.
            (None, _) | (_, None) => &self.base.commit,
        }
    }

    /// Lets somebody else work.
    pub(super) fn set_engine(&mut self, engine: EngineRecord) {
        EngineRecord { backend: self.backend, model: self.model, reasoning: self.reasoning } = engine;
    }

    /// Whether the last turn is not to be repeated and nothing waits that could follow it.
    pub(super) fn has_nothing_to_resume(&self) -> bool {
        !self.unfinished && self.order.is_empty() && self.withdrawn == Some(self.turns)
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

impl PromptBody {
    pub(super) fn read(row: &PromptRow) -> Result<Self, Unreadable> {
        serde_json::from_str(&row.body).map_err(|source| Unreadable { what: "prompt", id: row.session, source })
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
