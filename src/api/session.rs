//! The session object and its parts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::image::Attached;

/// Everything a client shows of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: String,
    pub title: String,
    pub status: Status,
    /// What has to happen before the session goes on; absent when nothing waits.
    pub waiting_for: Option<WaitingFor>,
    /// How many things a person has to decide or look after here: as many as the inbox lists of this session.
    #[serde(default)]
    pub needs: u32,
    /// What can be done with the session in this state, as command names.
    pub next: Vec<String>,
    pub backend: String,
    pub model: Option<String>,
    pub reasoning: Option<String>,
    pub agent: Option<String>,
    pub persona: Option<String>,
    /// `enforced` when the agent's tools are held to what its definition says, else `advisory`.
    pub surface: String,
    /// `plan`, `attended`, `edits` or `unattended`.
    pub posture: String,
    /// Whether everything goes ahead that no rule forbids or asks about.
    #[serde(default)]
    pub yolo: bool,
    /// `native`, `enforced` or `readonly`: whose tools the agent of the last turn worked with; before the first turn what
    /// the session asked for.
    #[serde(default)]
    pub profile: String,
    /// Whether the agent can change no files.
    #[serde(default)]
    pub read_only: bool,
    /// The file that the plan is written to, while the posture is `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<String>,
    pub sandbox: Sandbox,
    /// The repository's common git directory.
    pub project: String,
    pub base: Base,
    pub branch: String,
    pub worktree: String,
    pub parent: Option<String>,
    pub children: Vec<String>,
    /// The delegation that made this session.
    pub handoff: Option<String>,
    /// What the delegating agent noted about it.
    pub thread_note: Option<String>,
    pub subagent: Option<Subagent>,
    /// How many turns were started.
    pub turns: u32,
    /// The last turn whose work is in the files, while later ones are undone; 0 when all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_to: Option<u32>,
    /// How many prompts wait behind the turn in progress.
    pub queued: u32,
    pub created_at: i64,
    pub updated_at: i64,
    pub removed_at: Option<i64>,
    pub usage: Usage,
    pub changes: Changes,
    pub questions: Vec<Question>,
    pub approvals: Vec<Approval>,
    pub summary: Option<Summary>,
    pub last_error: Option<TurnError>,
    /// Why what the last turn changed is in no commit. The files are in the worktree, and Coppice tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncommitted: Option<TurnError>,
    /// The merge that an undo takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoable_merge: Option<UndoableMerge>,
    /// Files that stopped the last merge or rebase.
    pub conflicts: Vec<String>,
    /// Names those of them that have no marks, as they are: `accept_only` of a merge takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmarked_conflict: Option<String>,
    /// A merge that goes on by itself once the agent has fixed what a commit hook reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_fix: Option<HookFix>,
    /// What changed in submodules: it is kept in `refs/coppice/submodules/ID/work`, and no merge takes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleChanges>,
    /// Warnings of the request that this session answers; the session's events keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A merge that can be taken out of its branch again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UndoableMerge {
    pub commit: String,
    /// The branch that has it.
    pub target: String,
    /// The first fifty of the files that it changed.
    pub files: Vec<String>,
    /// How many files it changed.
    #[serde(default)]
    pub file_count: u32,
}

/// A commit hook that stopped a merge, while the agent fixes what it reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HookFix {
    pub hook: String,
    /// Which turn the agent is at.
    pub round: u32,
    /// How many turns it gets.
    pub rounds: u32,
}

impl Session {
    /// The last turn whose work is in the files.
    pub fn stands_at(&self) -> u32 {
        self.undone_to.unwrap_or(self.turns)
    }
}

/// Where a session stands. The words are the same in every client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Draft,
    Queued,
    Preparing,
    Running,
    Approval,
    Asking,
    Ready,
    Failed,
    Interrupted,
    Integrating,
    Conflict,
    Merged,
    Archived,
}

impl Status {
    pub const ALL: [Status; 13] = [
        Status::Draft,
        Status::Queued,
        Status::Preparing,
        Status::Running,
        Status::Approval,
        Status::Asking,
        Status::Ready,
        Status::Failed,
        Status::Interrupted,
        Status::Integrating,
        Status::Conflict,
        Status::Merged,
        Status::Archived,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Draft => "draft",
            Status::Queued => "queued",
            Status::Preparing => "preparing",
            Status::Running => "running",
            Status::Approval => "approval",
            Status::Asking => "asking",
            Status::Ready => "ready",
            Status::Failed => "failed",
            Status::Interrupted => "interrupted",
            Status::Integrating => "integrating",
            Status::Conflict => "conflict",
            Status::Merged => "merged",
            Status::Archived => "archived",
        }
    }

    /// Whether work goes on without anybody doing anything.
    pub fn is_busy(self) -> bool {
        matches!(self, Status::Queued | Status::Preparing | Status::Running | Status::Integrating)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    Approval,
    Answer,
    /// Child sessions work; nobody has to do anything.
    Children,
}

/// What makes a session the child of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Subagent {
    pub parent_session_id: String,
    pub agent_type: String,
    pub depth: u32,
}

/// How far the operating system holds the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sandbox {
    /// `off`, `workspace` or `restricted`; `unknown` until a turn ran.
    pub level: String,
    pub enforced: bool,
    /// Why it is not enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Sandbox {
    /// The level of a session without a turn.
    pub const UNKNOWN: &str = "unknown";

    /// Whether a turn ran that shows how far the agent is held.
    pub fn is_known(&self) -> bool {
        self.level != Self::UNKNOWN
    }
}

/// Where the session's branch began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Base {
    /// The branch, tag or commit as the user knows it.
    pub name: String,
    pub commit: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Absent when the backend does not tell.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Adds what was spent on top; a cost that is told once is not lost to one that is not.
    pub fn add(&mut self, more: &Usage) {
        self.input_tokens += more.input_tokens;
        self.output_tokens += more.output_tokens;
        self.cost_usd = match (self.cost_usd, more.cost_usd) {
            (Some(before), Some(more)) => Some(before + more),
            (before, more) => more.or(before),
        };
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changes {
    pub files: u32,
    pub insertions: u32,
    pub deletions: u32,
}

/// A question of the agent; `answer` is set once it was given and until all are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    pub text: String,
    pub options: Vec<String>,
    pub answer: Option<String>,
    /// Set for a question that a turn in progress waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Several of the options may be chosen.
    #[serde(default)]
    pub multiple: bool,
    /// The daemon restarted since: answering resumes the session.
    #[serde(default)]
    pub expired: bool,
    /// The child that asks, where the question is shown at its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// `planner_plan_decision` where the answer decides what happens with a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

/// A call of the agent that a person must allow or deny.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    pub id: String,
    pub tool: String,
    pub title: String,
    /// What would happen: the command, the diff, the address.
    pub preview: Option<String>,
    /// Why a person is asked.
    #[serde(default)]
    pub reason: String,
    /// The step that decided so, and its rule.
    #[serde(default)]
    pub layer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The exact rules that allowing it for the session or always saves; without any, it can only be allowed once.
    #[serde(default)]
    pub saves: Vec<String>,
    /// What a person should look at twice.
    #[serde(default)]
    pub warnings: Vec<String>,
    pub requested_at: i64,
    /// The daemon restarted since: answering resumes the session and the decision is used once for the same call.
    pub expired: bool,
    /// The child that asks, where the approval is shown at its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The child's agent, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Summary {
    pub turn: String,
    pub session: String,
}

/// Why a turn failed, and what helps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnError {
    pub kind: String,
    pub message: String,
    pub hint: Option<String>,
    /// The exact command that makes it work again, to be run in a terminal: how to log in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// When a limit ends, where the backend told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<i64>,
}

impl TurnError {
    /// The kind of an error after a turn: what it changed could not be committed.
    pub const UNCOMMITTED: &'static str = "uncommitted";
    /// The kind of an error after an undo: the files are not as they were after any turn.
    pub const UNFINISHED_UNDO: &'static str = "unfinished_undo";
}

/// The structured response that ends a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Response {
    pub answer: String,
    pub questions: Vec<AskedQuestion>,
    pub summary: Option<Summary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AskedQuestion {
    pub text: String,
    pub options: Vec<String>,
}

/// A prompt that was accepted and that no turn has begun with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuedPrompt {
    pub number: u32,
    pub text: String,
    /// What goes with the prompt, in the order of the placeholders.
    pub images: Vec<Attached>,
    pub queued_at: i64,
}

/// One prompt and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Turn {
    pub number: u32,
    pub state: TurnState,
    pub prompt: String,
    /// What went with the prompt, in the order of the placeholders.
    pub images: Vec<Attached>,
    /// The backend that worked, and with which model as far as it is known.
    pub backend: String,
    pub model: Option<String>,
    /// The agent that worked, and the text that defined it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<super::event::AgentUse>,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    pub response: Option<Response>,
    pub error: Option<TurnError>,
    /// The commit on the session branch that holds what the turn changed.
    pub checkpoint: Option<String>,
    pub undone: bool,
    /// What the turn cost, repairs included.
    pub usage: Usage,
    /// The agent's last message as it came; present only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    Running,
    Completed,
    Failed,
    Interrupted,
}

/// A difference between two states of a session's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Diff {
    pub changes: Changes,
    pub files: Vec<FileChange>,
    /// The unified patch; bytes that are not UTF-8 are replaced.
    pub patch: String,
    /// What changed in submodules since the session began; it is in neither of the other fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleChanges>,
}

/// Changed files of one submodule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmoduleChanges {
    pub path: String,
    /// How many files changed.
    pub count: u32,
    /// The first of them, by their paths in the submodule.
    pub files: Vec<FileChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChange {
    pub path: String,
    /// `A`, `M`, `D`, `R` or `T`, as git says it.
    pub status: String,
    /// Absent for binary files.
    pub insertions: Option<u32>,
    pub deletions: Option<u32>,
    /// The name before a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// One thing that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InboxItem {
    pub session: String,
    /// The git directory of its repository.
    #[serde(default)]
    pub project: String,
    pub title: String,
    pub since: i64,
    /// The session that delegated, for a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The child's agent, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(flatten)]
    pub wants: Wants,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Wants {
    Approval { approval: Approval },
    Answer { questions: Vec<Question> },
    Resolution { files: Vec<String> },
    Attention { error: TurnError },
}
