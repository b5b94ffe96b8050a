//! Events: durable, numbered facts, and the unnumbered records that only a live stream carries.
//!
//! A fact is stored as the text of its payload and streamed as it was stored; readers skip types that they do not know.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::handoff::{Handoff, Origin};
use super::image::Attached;
use super::permission::AutoApproval;
use super::session::{Approval, AskedQuestion, Base, Changes, Response, TurnError, Usage};
use super::workflow::Workflow;

/// The type of a stream's messages that carry [`Live`] records; those with events have none.
pub const LIVE: &str = "live";

/// The type of the last message of a daemon that ends: there is no use in looking for it.
pub const GOODBYE: &str = "goodbye";

/// The type of events and live records that are wrapped for the stream of a session above.
const SUBAGENT_EVENT: &str = "subagent_event";

/// One durable fact as a client sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    pub seq: u64,
    pub session: String,
    pub at: i64,
    #[serde(default = "one")]
    pub v: u16,
    #[serde(flatten)]
    pub payload: Payload,
}

fn one() -> u16 {
    1
}

/// What happened. Each variant carries its own version in the envelope's `v`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Payload {
    SessionCreated {
        title: String,
        backend: String,
        model: Option<String>,
        base: Base,
        branch: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// The session that delegated, for a child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
    },
    TitleChanged {
        title: String,
    },
    PromptQueued {
        number: u32,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Attached>,
        #[serde(default, skip_serializing_if = "PromptAuthor::is_person")]
        author: PromptAuthor,
    },
    /// A queued prompt that is never sent.
    PromptDropped {
        number: u32,
    },
    Preparing {
        /// `worktree`, `files`, `setup` or `backend`.
        step: String,
        /// How the step was done, where there is a choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<String>,
    },
    SetupOutput {
        command: String,
        text: String,
        /// Set on the last record of the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
    },
    /// From this turn on somebody else works, or thinks harder.
    Switched {
        turn: u32,
        from: Engine,
        to: Engine,
    },
    TurnStarted {
        turn: u32,
        /// Which queued prompt the turn carries.
        prompt: u32,
        /// `bootstrap_full`, `delta_only` or `bootstrap_with_replay`.
        delivery: String,
        /// When the backend's own program began to run.
        exec_at: i64,
        /// Who works, and the text that defines it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentUse>,
    },
    Message {
        turn: u32,
        text: String,
    },
    Thought {
        turn: u32,
        text: String,
    },
    ToolStarted {
        turn: u32,
        call: String,
        tool: String,
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        input: Option<serde_json::Value>,
        /// What let it pass, where that is known before it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auto: Option<AutoApproval>,
    },
    ToolFinished {
        turn: u32,
        call: String,
        tool: String,
        title: String,
        ok: bool,
        /// Bounded; a mark at its end says when something was cut.
        output: String,
        /// What let it pass although its tool is one that is asked about; absent when a person did, and for calls
        /// that nobody has to allow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auto: Option<AutoApproval>,
    },
    ApprovalRequested {
        turn: u32,
        approval: Approval,
    },
    ApprovalResolved {
        approval: String,
        /// `allowed`, `denied`, `cancelled` or `expired`.
        outcome: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    QuestionAsked {
        turn: u32,
        questions: Vec<AskedQuestion>,
        /// The number of a question that a turn in progress waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    QuestionAnswered {
        index: u32,
        answer: String,
        /// Set as in the question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// A question of a turn in progress that nobody answers any more.
    QuestionGone {
        call: String,
        /// `cancelled` or `expired`.
        outcome: String,
    },
    /// A delegation of this session began, moved on or ended.
    HandoffUpdated {
        handoff: Box<Handoff>,
        /// The same in one line.
        #[serde(default)]
        text: String,
        /// Whether the child has come to an end.
        #[serde(default)]
        is_final: bool,
    },
    /// What happened in a descendant, on the stream of this session. It is wrapped when it is read and never stored.
    SubagentEvent {
        #[serde(flatten)]
        origin: Origin,
        #[schema(no_recursion)]
        event: Box<Event>,
    },
    /// The tasks or the plan of this session changed.
    WorkflowUpdated {
        workflow: Workflow,
    },
    PlanUpdated {
        turn: u32,
        entries: Vec<PlanEntry>,
    },
    Usage {
        turn: u32,
        usage: Usage,
    },
    Retry {
        turn: u32,
        reason: String,
    },
    Checkpoint {
        turn: u32,
        commit: String,
        changes: Changes,
    },
    /// The checkpoint of a turn has another message, and so another name.
    Reworded {
        turn: u32,
        commit: String,
        was: String,
    },
    TurnCompleted {
        turn: u32,
        response: Response,
    },
    TurnFailed {
        turn: u32,
        error: TurnError,
    },
    TurnInterrupted {
        turn: u32,
        reason: String,
    },
    Undone {
        /// The last turn that still counts; 0 is the base.
        to: u32,
        commit: String,
        /// Where the state before the undo is kept.
        saved: String,
    },
    Integrated {
        commit: String,
        style: String,
        /// The files of the parent's work tree that a child's result changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },
    Merged {
        commit: String,
        target: String,
        style: String,
    },
    /// A merge was taken out of its branch again.
    MergeUndone {
        /// The merge that was undone.
        commit: String,
        target: String,
        /// The commit that reverts it; absent when the branch went back to where it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reverted_by: Option<String>,
    },
    /// A commit hook stopped a merge. The agent is asked to fix what it reports, and the merge is tried again afterwards.
    HookFixStarted {
        hook: String,
        /// The end of what it printed.
        output: String,
        round: u32,
        rounds: u32,
    },
    /// That merge is not tried again by itself: why, and what a person can do.
    HookFixStopped {
        reason: String,
        /// What was behind it, such as the end of what a hook printed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        causes: Vec<String>,
        hint: String,
    },
    Conflict {
        files: Vec<String>,
        with: String,
    },
    Archived {},
    Removed {
        /// The ref that keeps what was not merged.
        salvage: Option<String>,
    },
    /// What a tree held when it was given back can be reached from a ref.
    Saved {
        reference: String,
        commit: String,
    },
    Restored {},
    PostureChanged {
        posture: String,
        yolo: bool,
    },
    /// A person works in the worktree; no turn starts meanwhile.
    Attached {
        /// `agent` or `shell`.
        program: String,
    },
    /// The person left. What the agent was told there is in its conversation and not in the transcript.
    Detached {
        program: String,
        /// What changed in the files, where something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// Absent when nobody could look: the daemon ended first, or the files could not be committed. They are
        /// committed with what comes next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<Changes>,
    },
    Warning {
        message: String,
    },
}

/// Who works, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Engine {
    pub backend: String,
    pub model: Option<String>,
    pub reasoning: Option<String>,
}

/// The agent of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentUse {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Names the text of the definition.
    pub sha256: String,
}

/// One line of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEntry {
    pub content: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// A payload split into what the store keeps apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub kind: &'static str,
    pub version: u16,
    /// The payload's own fields as one JSON object.
    pub text: String,
}

/// Who wrote a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptAuthor {
    #[default]
    Person,
    /// The agent of the parent session.
    ParentAgent,
    Coppice,
}

impl PromptAuthor {
    fn is_person(&self) -> bool {
        *self == Self::Person
    }
}

impl Payload {
    /// The text of a warning.
    pub fn warning(&self) -> Option<&str> {
        if let Payload::Warning { message: text } | Payload::HookFixStopped { reason: text, .. } = self {
            return Some(text);
        }
        None
    }

    /// The type's name on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Payload::SessionCreated { .. } => "session_created",
            Payload::TitleChanged { .. } => "title_changed",
            Payload::PromptQueued { .. } => "prompt_queued",
            Payload::PromptDropped { .. } => "prompt_dropped",
            Payload::Preparing { .. } => "preparing",
            Payload::SetupOutput { .. } => "setup_output",
            Payload::Switched { .. } => "switched",
            Payload::TurnStarted { .. } => "turn_started",
            Payload::Message { .. } => "message",
            Payload::Thought { .. } => "thought",
            Payload::ToolStarted { .. } => "tool_started",
            Payload::ToolFinished { .. } => "tool_finished",
            Payload::ApprovalRequested { .. } => "approval_requested",
            Payload::ApprovalResolved { .. } => "approval_resolved",
            Payload::QuestionAsked { .. } => "question_asked",
            Payload::QuestionAnswered { .. } => "question_answered",
            Payload::QuestionGone { .. } => "question_gone",
            Payload::HandoffUpdated { .. } => "handoff_updated",
            Payload::SubagentEvent { .. } => SUBAGENT_EVENT,
            Payload::WorkflowUpdated { .. } => "workflow_updated",
            Payload::PlanUpdated { .. } => "plan_updated",
            Payload::Usage { .. } => "usage",
            Payload::Retry { .. } => "retry",
            Payload::Checkpoint { .. } => "checkpoint",
            Payload::Reworded { .. } => "reworded",
            Payload::TurnCompleted { .. } => "turn_completed",
            Payload::TurnFailed { .. } => "turn_failed",
            Payload::TurnInterrupted { .. } => "turn_interrupted",
            Payload::Undone { .. } => "undone",
            Payload::Integrated { .. } => "integrated",
            Payload::Merged { .. } => "merged",
            Payload::MergeUndone { .. } => "merge_undone",
            Payload::HookFixStarted { .. } => "hook_fix_started",
            Payload::HookFixStopped { .. } => "hook_fix_stopped",
            Payload::Conflict { .. } => "conflict",
            Payload::Archived {} => "archived",
            Payload::Removed { .. } => "removed",
            Payload::Saved { .. } => "saved",
            Payload::Restored {} => "restored",
            Payload::PostureChanged { .. } => "posture_changed",
            Payload::Attached { .. } => "attached",
            Payload::Detached { .. } => "detached",
            Payload::Warning { .. } => "warning",
        }
    }

    /// Splits the payload for the store.
    pub fn encode(&self) -> Encoded {
        let mut fields = match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(fields)) => fields,
            // Every variant is a struct of plain values, which always makes an object.
            Ok(_) | Err(_) => serde_json::Map::new(),
        };
        fields.shift_remove("type");
        Encoded { kind: self.kind(), version: 1, text: serde_json::Value::Object(fields).to_string() }
    }
}

/// Joins an envelope and a stored payload into the event's JSON, without reading the payload.
pub fn compose(seq: u64, session: &str, at: i64, kind: &str, version: u16, payload: &str) -> String {
    let fields = payload.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    let comma = if fields.trim().is_empty() { "" } else { "," };
    format!(r#"{{"seq":{seq},"session":"{session}","at":{at},"type":"{kind}","v":{version}{comma}{fields}}}"#)
}

/// Wraps the JSON of a descendant's event for the stream of `session`, without reading it.
pub fn wrap(seq: u64, session: &str, at: i64, origin: &Origin, event: &str) -> String {
    // Plain values always have a text.
    let origin = serde_json::to_string(origin).unwrap_or_default();
    let payload = format!(r#"{},"event":{event}}}"#, origin.strip_suffix('}').unwrap_or_default());
    compose(seq, session, at, SUBAGENT_EVENT, 1, &payload)
}

/// An event whose payload is left as text: what a list of events holds, types unknown to this version included.
pub type RawEvent = Box<RawValue>;

/// What a live stream carries besides events: never stored, never numbered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Live {
    /// The block in progress when the stream began: everything that deltas carried so far.
    InProgress { session: String, turn: u32, block: Block, text: String },
    /// More text of the block in progress.
    Delta { session: String, turn: u32, block: Block, text: String },
    /// How far a long step is.
    Progress { session: String, step: String, done: u64, total: u64 },
    /// The session object changed without a fact of its own, or the stream begins.
    Status { session: String, status: super::session::Status },
    /// A record of a descendant, on the stream of `session`.
    SubagentEvent {
        session: String,
        #[serde(flatten)]
        origin: Origin,
        #[schema(no_recursion)]
        event: Box<Live>,
    },
}

impl Live {
    /// The session whose record it is.
    pub fn session(&self) -> &str {
        match self {
            Live::InProgress { session, .. }
            | Live::Delta { session, .. }
            | Live::Progress { session, .. }
            | Live::Status { session, .. }
            | Live::SubagentEvent { session, .. } => session,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    Message,
    Thought,
    Tool { call: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_payload_reads_back_as_the_event() {
        let payload = Payload::TurnInterrupted { turn: 2, reason: "stopped by the user".into() };
        let Encoded { kind, version, text } = payload.encode();
        assert_eq!(text, r#"{"turn":2,"reason":"stopped by the user"}"#);
        let line = compose(7, "abcdefgh", 1_700, kind, version, &text);
        assert_eq!(
            serde_json::from_str::<Event>(&line).unwrap(),
            Event { seq: 7, session: "abcdefgh".into(), at: 1_700, v: 1, payload }
        );
    }

    #[test]
    fn an_empty_payload_leaves_no_comma_behind() {
        let Encoded { kind, version, text } = Payload::Archived {}.encode();
        assert_eq!(
            compose(1, "abcdefgh", 2, kind, version, &text),
            r#"{"seq":1,"session":"abcdefgh","at":2,"type":"archived","v":1}"#
        );
    }

    #[test]
    fn a_wrapped_event_reads_back_with_its_origin() {
        let origin = Origin {
            agent_type: "explore".into(),
            session_id: "childaaa".into(),
            handoff_id: "h_1".into(),
            depth: 2,
            label: "look at `a}`".into(),
            path: vec!["childaaa".into(), "grandaaa".into()],
        };
        let base = compose(7, "grandaaa", 1_700, "archived", 1, "{}");
        let line = wrap(7, "parentaa", 1_700, &origin, &base);
        assert_eq!(
            line,
            r#"{"seq":7,"session":"parentaa","at":1700,"type":"subagent_event","v":1,"agentType":"explore","sessionId":"childaaa","handoffId":"h_1","depth":2,"label":"look at `a}`","path":["childaaa","grandaaa"],"event":{"seq":7,"session":"grandaaa","at":1700,"type":"archived","v":1}}"#
        );
        let event = Box::new(serde_json::from_str(&base).unwrap());
        let payload = Payload::SubagentEvent { origin: origin.clone(), event };
        assert_eq!(
            serde_json::from_str::<Event>(&line).unwrap(),
            Event { seq: 7, session: "parentaa".into(), at: 1_700, v: 1, payload }
        );
        let delta = Live::Delta { session: "grandaaa".into(), turn: 1, block: Block::Message, text: "hm".into() };
        let record = Live::SubagentEvent { session: "parentaa".into(), origin, event: Box::new(delta) };
        let text = serde_json::to_string(&record).unwrap();
        assert!(text.starts_with(r#"{"type":"subagent_event","session":"parentaa","agentType":"explore""#), "{text}");
        assert_eq!(serde_json::from_str::<Live>(&text).unwrap(), record);
    }

    #[test]
    fn the_name_of_a_type_is_its_tag() {
        for payload in [
            Payload::Warning { message: "x".into() },
            Payload::Restored {},
            Payload::PromptDropped { number: 2 },
            Payload::Attached { program: "shell".into() },
            Payload::Detached { program: "shell".into(), commit: None, changes: None },
            Payload::Conflict { files: vec![], with: "main".into() },
            Payload::PromptQueued { number: 1, text: "x".into(), images: vec![], author: PromptAuthor::Person },
        ] {
            assert_eq!(serde_json::to_value(&payload).unwrap()["type"], payload.kind());
        }
    }
}
