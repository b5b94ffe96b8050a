//! What a client asks for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::image::Image;

/// Variables of the client's environment that a backend may see; kept in memory only.
pub type Environment = BTreeMap<String, String>;

/// `POST /v1/sessions`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSession {
    /// A directory inside the repository, normally the client's own.
    pub cwd: String,
    /// The first prompt; it may be empty where a plan says what to do.
    pub prompt: String,
    /// The id of a plan that waits and is carried out, before what the prompt says.
    #[serde(default)]
    pub plan: Option<String>,
    #[serde(default)]
    pub images: Vec<Image>,
    #[serde(default)]
    pub start: Start,
    /// `BACKEND` or `BACKEND/MODEL`.
    #[serde(default)]
    pub model: Option<String>,
    /// `low`, `medium`, `high` or `xhigh`; the configured level when absent.
    #[serde(default)]
    pub reasoning: Option<String>,
    /// `AGENT` or `AGENT:PERSONA`; the configured one when absent.
    #[serde(default)]
    pub agent: Option<String>,
    /// `plan`, `attended`, `edits` or `unattended`; the configured one when absent.
    #[serde(default)]
    pub posture: Option<String>,
    /// Whether everything goes ahead that no rule forbids or asks about.
    #[serde(default)]
    pub yolo: bool,
    /// `native`, `enforced` or `readonly`: whose tools the agent works with. It counts where it is tighter than what is
    /// configured and what the agent's file says.
    #[serde(default)]
    pub profile: Option<String>,
    /// A branch, tag or commit; the current branch when absent.
    #[serde(default)]
    pub base: Option<String>,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub env: Environment,
}

/// Whether a created session begins to work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    #[default]
    AtOnce,
    AsDraft,
}

/// `GET /v1/sessions`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ListSessions {
    /// Only sessions of the repository that holds this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Only removed sessions that can still be restored.
    #[serde(default)]
    pub removed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// `GET /v1/sessions/{id}/turns`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ListTurns {
    /// With the agent's last message as it came.
    #[serde(default)]
    pub raw: bool,
}

/// `POST /v1/sessions/{id}/prompts`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendPrompt {
    pub text: String,
    #[serde(default)]
    pub images: Vec<Image>,
    /// `BACKEND` or `BACKEND/MODEL` that works from this prompt on; the session's own when absent.
    #[serde(default)]
    pub model: Option<String>,
    /// `low`, `medium`, `high` or `xhigh` from this prompt on; the session's own when absent.
    #[serde(default)]
    pub reasoning: Option<String>,
    /// `AGENT` or `AGENT:PERSONA` from this prompt on; the session's own when absent.
    #[serde(default)]
    pub agent: Option<String>,
    /// `plan`, `attended`, `edits` or `unattended` from here on; the session's own when absent.
    #[serde(default)]
    pub posture: Option<String>,
    /// Whether everything goes ahead that no rule forbids or asks about.
    #[serde(default)]
    pub yolo: Option<bool>,
    /// Handoffs whose results go with the prompt.
    #[serde(default)]
    pub with: Vec<String>,
    #[serde(default)]
    pub when: When,
    /// Replaces the captured environment when present.
    #[serde(default)]
    pub env: Option<Environment>,
}

/// When a prompt is sent if a turn is in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// After the turns that are queued already.
    #[default]
    InOrder,
    /// The turn in progress is interrupted, and this prompt is next.
    Now,
}

/// `POST /v1/sessions/{id}/answers`: answers to the open questions, in their order, from the first unanswered one on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub answers: Vec<String>,
}

/// `POST /v1/sessions/{id}/approvals/{request}`; the request may be `oldest`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
pub enum Decide {
    Allow {
        #[serde(default)]
        scope: AllowScope,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        #[serde(default)]
        scope: DenyScope,
    },
}

/// How far a consent goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowScope {
    #[default]
    Once,
    /// Calls that the saved rules match go ahead until the session ends.
    Session,
    /// The same, and the rules are written to the user's own file of the repository.
    Always,
}

/// How far a refusal goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DenyScope {
    #[default]
    Once,
    /// The rules are written to the user's own file of the repository.
    Never,
}

/// `POST /v1/sessions/{id}/posture`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPosture {
    /// `plan`, `attended`, `edits` or `unattended`; the session's own when absent.
    #[serde(default)]
    pub posture: Option<String>,
    #[serde(default)]
    pub yolo: Option<bool>,
}

/// `POST /v1/permissions/explain`: what would happen with a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainPermission {
    /// A directory inside the repository.
    pub cwd: String,
    /// The session that makes the call; a fresh one of the repository when absent.
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub posture: Option<String>,
    #[serde(default)]
    pub yolo: bool,
    /// A tool in any spelling, `mcp:SERVER:TOOL`, or a prefix of a rule such as `Bash`.
    pub tool: String,
    /// Paths, a command, a URL.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// `POST /v1/sessions/{id}/resume`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    #[serde(default)]
    pub env: Option<Environment>,
    /// Go on without the project's setup command, which has failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_setup: bool,
}

/// `GET /v1/sessions/{id}/diff`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    /// Only what this turn changed; the whole session when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// A person is shown the whole work. If it changes before another turn ends, a merge is refused until they look
    /// again. Ignored together with `turn`, while a turn runs, and in requests of an agent's process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
}

/// `POST /v1/sessions/{id}/undo`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The last turn to keep; 0 is the base. Absent: everything but the last turn that changed something, or the merge of
    /// the base branch into the worktree if that came after it.
    #[serde(default)]
    pub to: Option<u32>,
    /// Takes this merge out of its branch instead: the commit of `undoable_merge`, as the session shows it. `to` is ignored
    /// then, and any other commit is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// Takes the last undo back instead; `to` is ignored then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redo: bool,
    /// Socket of the ssh agent that signs a commit which reverts a merge; that of the daemon when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_agent: Option<String>,
}

/// `POST /v1/sessions/{id}/merge`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Merge {
    /// The configured style when absent.
    #[serde(default)]
    pub style: Option<MergeStyle>,
    #[serde(default)]
    pub hooks: MergeHooks,
    #[serde(default)]
    pub unseen: MergeUnseen,
    /// Socket of the ssh agent that holds the person's keys. That of the daemon's own environment when absent.
    #[serde(default)]
    pub ssh_agent: Option<String>,
}

/// What a merge does with work that changed after a person looked at it, although no turn ended since, and with files in
/// conflict that have no marks and nobody has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeUnseen {
    /// It is refused: with `unseen_changes` in the error, or with the session's `unmarked_conflict`.
    #[default]
    Refuse,
    /// The work is merged as it is, whatever that is.
    Accept,
    /// What these ids name is merged: those of refusals. Anything else is refused again.
    AcceptOnly(Vec<String>),
}

impl MergeUnseen {
    /// Whether the person agrees to what this id names.
    pub fn accepts(&self, id: &str) -> bool {
        match self {
            Self::Refuse => false,
            Self::Accept => true,
            Self::AcceptOnly(ids) => ids.iter().any(|accepted| accepted == id),
        }
    }
}

/// What a merge does with your commit hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeHooks {
    /// They run, and a merge that they change is refused with `hook_changes` in the error.
    #[default]
    Check,
    /// They run, and whatever they change is committed.
    AcceptChanges,
    /// They run, and the changes with this id, from a refusal, are committed. Other changes are refused again.
    AcceptOnly(String),
    /// They run. When one stops the merge, the agent is asked to fix what it reports, and the merge is tried again once that
    /// turn is done, for at most two turns. The agent's fixes are merged without a look at them; whatever else a merge asks
    /// a person about still stops it. The answer has `hook_fix` while that goes on.
    Fix,
    /// They do not run.
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeStyle {
    Squash,
    NoFf,
    Rebase,
}

/// `GET /v1/events` and `GET /v1/events/stream`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct EventQuery {
    /// One session; all of them when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// `false` leaves out what happens in the descendants of the session, which otherwise comes as `subagent_event`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<bool>,
    /// Only events after this sequence number. A stream also takes it from `Last-Event-ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The last events before this sequence number, oldest first, instead of the first ones; `next` of the reply is
    /// the number for the page further back, and is absent where the beginning is reached. Any number behind the newest
    /// event reads the end. A stream does not take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
