//! Why the engine refuses or fails, and how each reason is told to a client.

use std::path::PathBuf;

use crate::agent::listing::ListError;
use crate::agent::select::SelectError;
use crate::api::error::{Error, ErrorKind, HookChanges, UnseenChanges};
use crate::api::resolution::UnproposedFile;
use crate::api::session::Status;
use crate::backend::failure::Failure;
use crate::backend::spec::Reasoning;
use crate::git::GitError;
use crate::git::oid::InvalidOid;
use crate::github::{BadTokenFile, GitHubError};
use crate::id::{PrefixError, SessionId};
use crate::permission::UnknownWord;
use crate::permission::load::LoadError;
use crate::sandbox::descriptors::explain_exhaustion;
use crate::sandbox::quiesce::QuietError;
use crate::session::{FixObstacle, HOOK_FIX_ROUNDS};
use crate::store::StoreError;

use super::record::Unreadable;

/// How many lines of a hook's output are part of its error.
const HOOK_LINES: usize = 20;

/// Everything that can stop a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    #[error("session `{id}` does not exist any more")]
    SessionGone { id: SessionId },
    #[error("session `{id}` is {}: it cannot {act}", status.as_str())]
    WrongState { id: SessionId, status: Status, act: &'static str, hint: Option<String> },
    #[error("somebody works in session `{id}`: it cannot {act}")]
    Attached { id: SessionId, act: &'static str },
    #[error("session `{id}` cannot be attached to: {reason}")]
    Unattachable { id: SessionId, reason: String, hint: String },
    #[error("{}", .0.message)]
    Unstarted(Failure),
    #[error("nobody works in session `{id}` under this name")]
    NotAttached { id: SessionId },
    #[error("somebody else reads this terminal")]
    OutputTaken,
    #[error("session `{id}` was removed")]
    Removed { id: SessionId },
    #[error("session `{id}` was not removed")]
    NotRemoved { id: SessionId },
    #[error("the prompt is empty")]
    EmptyPrompt,
    #[error("image `{name}`: {reason}")]
    BadImage { name: String, reason: String },
    #[error("no backend is called `{name}`; known are {}", known.join(", "))]
    UnknownBackend { name: String, known: Vec<String> },
    #[error("backend `{backend}` has no model `{model}`; it has {}", known.join(", "))]
    UnknownModel { backend: String, model: String, known: Vec<String> },
    #[error("several backends have a model `{model}`: {}", backends.join(", "))]
    AmbiguousModel { model: String, backends: Vec<String> },
    #[error("{} has no reasoning level `{level}`; it has {}", whose(backend, model.as_deref()), listed(known))]
    NoLevel { backend: String, model: Option<String>, level: &'static str, known: Vec<&'static str> },
    #[error("no reasoning level is called `{level}`; known are {}", Reasoning::ALL.map(Reasoning::as_str).join(", "))]
    UnknownLevel { level: String },
    #[error("approval `{id}` can only be decided once: no rule is offered for calls like it")]
    NothingToSave { id: String },
    #[error(transparent)]
    RuleFile(LoadError),
    #[error("posture {0}")]
    UnknownPosture(#[from] UnknownWord),
    #[error("profile {0}")]
    UnknownProfile(#[source] UnknownWord),
    #[error(transparent)]
    NoBackend(Error),
    #[error("{error}")]
    NoAgent { error: SelectError, known: Vec<String> },
    #[error("agent `{id}` works for other agents only: no person can choose it")]
    NotSelectable { id: String, known: Vec<String> },
    #[error("agent `{agent}` wants a model that is not available: {reason}")]
    AgentModel { agent: String, reason: String },
    #[error(transparent)]
    AgentList(#[from] ListError),
    #[error("backend `{name}` is not installed: there is no `{program}` on PATH")]
    NotInstalled { name: String, program: String, install: Option<String> },
    #[error("session `{id}` has no open approval{}", request.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default())]
    NoApproval { id: SessionId, request: Option<String> },
    #[error("session `{id}` asks {asked} questions, and {given} answers were given")]
    TooManyAnswers { id: SessionId, asked: usize, given: usize },
    #[error("there is no handoff `{id}`")]
    NoHandoff { id: String },
    #[error("no plan `{id}` waits in this project{}", waiting(known))]
    NoPlan { id: String, known: Vec<String> },
    #[error("{reason}")]
    BadDecision { reason: String },
    #[error("the work tree of `{parent}` cannot take the result of `{child}`: {reason}")]
    NotIntegrated { child: SessionId, parent: SessionId, reason: String },
    #[error("the comment cannot be taken: {reason}")]
    BadComment { reason: String },
    #[error("session `{id}` has no comment {comment}")]
    NoComment { id: SessionId, comment: u32 },
    #[error("comment {comment} of session `{id}` was sent and cannot be changed")]
    CommentSent { id: SessionId, comment: u32 },
    #[error("session `{id}` has no comments that wait to be sent")]
    NothingToSend { id: SessionId },
    #[error("session `{id}` has changed nothing: there is nothing to review")]
    NothingToReview { id: SessionId },
    #[error("the focus of a review has at most {limit} characters")]
    LongFocus { limit: usize },
    #[error("the review was not prepared: {}", .0.message)]
    NotReviewed(Failure),
    #[error("session `{id}` has no turn {turn}")]
    NoTurn { id: SessionId, turn: u32 },
    #[error("no prompt {number} waits in session `{id}`")]
    NoPrompt { id: SessionId, number: u32 },
    #[error("prompt {number} of session `{id}` does not wait: its turn is in progress")]
    PromptTaken { id: SessionId, number: u32 },
    #[error("session `{id}` has nothing to resume: the prompt that waited was dropped")]
    NothingToResume { id: SessionId },
    #[error("the undo of session `{id}` to turn {to} had not finished, and has now")]
    UndoCompleted { id: SessionId, to: u32 },
    #[error("session `{id}` has nothing to undo")]
    NothingToUndo {
        id: SessionId,
        /// Its last merge, if that can be taken back.
        merge: Option<String>,
    },
    #[error("session `{id}` has no undo to take back")]
    NothingToRedo { id: SessionId },
    #[error("the undo of session `{id}` to turn {to} did not finish")]
    HalfUndone { id: SessionId, to: u32, source: GitError },
    #[error("session `{id}` started from `{base}`, which is not a branch: there is nothing to merge into")]
    NoTarget { id: SessionId, base: String, branch: String },
    #[error("session `{id}` has changed nothing: there is nothing to merge")]
    NothingToMerge { id: SessionId },
    #[error("session `{id}` is nobody's child: there is no work tree to integrate it into")]
    NotAChild { id: SessionId },
    #[error("no resolution can be proposed for session `{id}`: {}", unproposed(left_out))]
    NothingToPropose { id: SessionId, left_out: Vec<UnproposedFile> },
    #[error(
        "session `{id}` has no proposed resolution `{proposal}`: a later one or a change of its conflict replaced it"
    )]
    NoProposal { id: SessionId, proposal: String },
    #[error("files of session `{id}` changed after the resolution was proposed: {}", files.join(", "))]
    OutdatedProposal { id: SessionId, files: Vec<String> },
    /// What the session's task has answered.
    #[error(transparent)]
    Answered(Error),
    #[error("the merge into `{target}` is refused: {reason}")]
    MergeRefused { target: String, reason: String, hint: String },
    #[error("the merge `{commit}` into `{target}` cannot be undone: {reason}")]
    MergeUndoRefused { commit: String, target: String, reason: String, hint: String },
    #[error("the merge into `{target}` failed; nothing was merged")]
    MergeFailed { id: SessionId, target: String, source: GitError },
    #[error("the hook `{hook}` stopped the merge")]
    HookFailed { id: SessionId, hook: String, output: String, obstacle: FixObstacle },
    #[error("your commit hooks changed the reviewed work: {}", changes.describe())]
    HookChanged {
        id: SessionId,
        style: String,
        /// The changes that the person agreed to, where the hooks made others.
        others: Option<String>,
        changes: Box<HookChanges>,
    },
    #[error("the repository of session `{id}` is no longer at `{}`", path.display())]
    RepositoryGone { id: SessionId, path: PathBuf },
    #[error("`{}` is not the repository of session `{id}`: it has nothing of that session", path.display())]
    RepositoryReplaced { id: SessionId, path: PathBuf },
    #[error("{}", changes.describe())]
    UnseenChanges { changes: Box<UnseenChanges>, hint: String },
    #[error("the repository at `{}` is still there: its sessions belong to it", path.display())]
    NotMoved { path: PathBuf },
    #[error("no session belongs to a repository that was at `{}`", path.display())]
    NothingToRelink { path: PathBuf },
    #[error("`{}` has no branch of a session whose repository is gone", here.display())]
    NotRecognised { here: PathBuf },
    #[error("`{}` is not the repository that was at `{}`: it has none of the commits of its sessions", here.display(), path.display())]
    OtherRepository { here: PathBuf, path: PathBuf },
    #[error("sessions of several repositories that are gone have branches in `{}`: {}", here.display(), places.join(", "))]
    SeveralMoved { here: PathBuf, places: Vec<String> },
    #[error("`{}` is in the data directory of Coppice and belongs to no session", path.display())]
    InDataDirectory { path: PathBuf },
    #[error("`{}` is not an absolute directory", path.display())]
    NotADirectory { path: PathBuf },
    #[error("the text to trust has changed: it is `{found}`, not `{given}`")]
    OtherGrants { given: String, found: String },
    #[error("there is nothing to trust: neither the commit that is checked out nor your local rules grant anything")]
    NothingToTrust,
    #[error("`cwd` is missing: it names the project that the setting is for")]
    NoProject,
    #[error("`{text}` is not a cursor")]
    BadCursor { text: String },
    #[error("the files of a directory or of a session can be listed: name one of the two")]
    WhoseFiles,
    #[error("{reason}")]
    BadRange { reason: &'static str },
    #[error("it cannot be published: {reason}")]
    BadPublication { reason: String },
    #[error("the branch `{branch}` is not at `origin`")]
    NotPushed { id: SessionId, branch: String },
    #[error("GitHub cannot be asked: {reason}")]
    NoForge { reason: String },
    #[error(transparent)]
    TokenFile(#[from] BadTokenFile),
    #[error(transparent)]
    GitHub(#[from] GitHubError),
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    #[error("failed to {act} `{}`", path.display())]
    File { act: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Quiet(#[from] QuietError),
    #[error("the stored commit of a session is damaged")]
    Commit(#[from] InvalidOid),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("database `{}` is sound, and needs no rebuild", path.display())]
    HealthyStore { path: PathBuf },
    #[error(transparent)]
    Record(#[from] Unreadable),
    #[error("the daemon is ending and begins no further turn")]
    Draining,
    #[error("too many requests wait for this session")]
    Overloaded,
    #[error("failed to draw a random id")]
    Random(#[from] getrandom::Error),
    #[error("a task of the daemon ended early")]
    Lost(#[from] tokio::task::JoinError),
}

impl Fault {
    fn kind(&self) -> ErrorKind {
        match self {
            Fault::Prefix(PrefixError::NotFound { .. })
            | Fault::SessionGone { .. }
            | Fault::NoTurn { .. }
            | Fault::NoComment { .. }
            | Fault::NoPrompt { .. }
            | Fault::NoHandoff { .. }
            | Fault::NoPlan { .. }
            | Fault::NotAttached { .. }
            | Fault::NoApproval { .. }
            | Fault::NoProposal { .. }
            | Fault::NothingToRelink { .. }
            | Fault::NotRecognised { .. }
            | Fault::GitHub(GitHubError::NotFound) => ErrorKind::NotFound,
            Fault::Prefix(PrefixError::Ambiguous { .. })
            | Fault::EmptyPrompt
            | Fault::BadImage { .. }
            | Fault::UnknownBackend { .. }
            | Fault::UnknownModel { .. }
            | Fault::AmbiguousModel { .. }
            | Fault::NoLevel { .. }
            | Fault::UnknownLevel { .. }
            | Fault::UnknownPosture(_)
            | Fault::UnknownProfile(_)
            | Fault::RuleFile(_)
            | Fault::NothingToSave { .. }
            | Fault::NoAgent { .. }
            | Fault::NotSelectable { .. }
            | Fault::AgentList(_)
            | Fault::TooManyAnswers { .. }
            | Fault::NotAChild { .. }
            | Fault::BadDecision { .. }
            | Fault::InDataDirectory { .. }
            | Fault::NotADirectory { .. }
            | Fault::OtherRepository { .. }
            | Fault::NoProject
            | Fault::BadComment { .. }
            | Fault::LongFocus { .. }
            | Fault::BadCursor { .. }
            | Fault::BadRange { .. }
            | Fault::WhoseFiles
            | Fault::BadPublication { .. }
            | Fault::Config(_) => ErrorKind::Invalid,
            Fault::WrongState { .. }
            | Fault::Removed { .. }
            | Fault::NotRemoved { .. }
            | Fault::CommentSent { .. }
            | Fault::Attached { .. }
            | Fault::Unattachable { .. }
            | Fault::OutputTaken
            | Fault::PromptTaken { .. }
            | Fault::NothingToTrust
            | Fault::HealthyStore { .. }
            | Fault::NotMoved { .. }
            | Fault::SeveralMoved { .. }
            | Fault::OtherGrants { .. } => ErrorKind::Conflict,
            Fault::NoBackend(error) | Fault::Answered(error) => error.kind,
            Fault::NotInstalled { .. }
            | Fault::AgentModel { .. }
            | Fault::NothingToUndo { .. }
            | Fault::UndoCompleted { .. }
            | Fault::NothingToRedo { .. }
            | Fault::HalfUndone { .. }
            | Fault::NothingToResume { .. }
            | Fault::NoTarget { .. }
            | Fault::NothingToMerge { .. }
            | Fault::NothingToSend { .. }
            | Fault::NothingToPropose { .. }
            | Fault::OutdatedProposal { .. }
            | Fault::NothingToReview { .. }
            | Fault::NotReviewed(_)
            | Fault::MergeRefused { .. }
            | Fault::MergeUndoRefused { .. }
            | Fault::NotIntegrated { .. }
            | Fault::HookFailed { .. }
            | Fault::HookChanged { .. }
            | Fault::UnseenChanges { .. }
            | Fault::Unstarted(_)
            | Fault::RepositoryGone { .. }
            | Fault::RepositoryReplaced { .. }
            | Fault::NotPushed { .. }
            | Fault::NoForge { .. }
            | Fault::TokenFile(_)
            | Fault::GitHub(_)
            | Fault::Quiet(_)
            | Fault::File { .. } => ErrorKind::Failed,
            Fault::Git(error) | Fault::MergeFailed { source: error, .. } => git_kind(error),
            Fault::Store(_) | Fault::Draining | Fault::Overloaded => ErrorKind::Unavailable,
            Fault::Commit(_) | Fault::Record(_) | Fault::Random(_) | Fault::Lost(_) => ErrorKind::Internal,
        }
    }

    fn hint(&self) -> Option<String> {
        let text = |text: &str| Some(text.to_owned());
        match self {
            Fault::Prefix(PrefixError::NotFound { .. }) => text("`coppice list --all` shows all sessions"),
            Fault::Prefix(PrefixError::Ambiguous { .. }) => text("use more characters of the id"),
            Fault::WrongState { hint, .. } => hint.clone(),
            Fault::Attached { id, .. } => Some(format!("leave it with Ctrl+], or end it with `coppice stop {id}`")),
            Fault::Unattachable { hint, .. } => Some(hint.clone()),
            Fault::Unstarted(failure) | Fault::NotReviewed(failure) => {
                Some(failure.hint.clone()).filter(|hint| !hint.is_empty())
            }
            Fault::Removed { id } => Some(format!("`coppice restore {id}` brings it back")),
            Fault::NotRemoved { .. } => {
                text("`coppice list --removed` and `coppice list --all` show what can be restored")
            }
            Fault::EmptyPrompt => text("say what the agent is to do"),
            Fault::UnknownModel { backend, model, known } => Some(match nearest(model, known) {
                Some(meant) => {
                    format!("did you mean `--model {backend}/{meant}`? `coppice models` shows what can be used")
                }
                None => "`coppice models` shows what can be used".to_owned(),
            }),
            Fault::UnknownBackend { name, known } => Some(match nearest(name, known) {
                Some(meant) => format!("did you mean `{meant}`? `coppice models` shows what can be used"),
                None => "`coppice models` shows what can be used".to_owned(),
            }),
            Fault::NoLevel { .. } => text("`coppice models` shows what can be used"),
            Fault::AmbiguousModel { model, backends } => {
                backends.first().map(|backend| format!("name the backend too: `--model {backend}/{model}`"))
            }
            Fault::NoBackend(error) | Fault::Answered(error) => error.hint.clone(),
            Fault::NoAgent { known, .. } | Fault::NotSelectable { known, .. } => {
                Some(format!("`coppice agents` tells about all of them; {} can be chosen", known.join(", ")))
            }
            Fault::AgentModel { .. } => text(
                "name another with `--model`, or let agents work without their own: \
                `coppice config set delegation.strict_models false`",
            ),
            Fault::AgentList(_) => text("`coppice agents check` shows what is wrong"),
            Fault::NotInstalled { install: Some(install), .. } => Some(format!("install it with `{install}`")),
            Fault::NotInstalled { install: None, .. } => {
                text("install it, or correct its `command` in the configuration")
            }
            Fault::NoApproval { id, .. } => Some(format!("`coppice show {id}` lists what is open")),
            Fault::NoPlan { .. } => text("`coppice plan list` shows the plans that wait"),
            Fault::NoComment { id, .. } => Some(format!("`coppice review {id}` lists the comments")),
            Fault::CommentSent { id, .. } => Some(format!("send another: `coppice comment {id} PATH:LINE TEXT`")),
            Fault::NothingToSend { id } => Some(format!("make one with `coppice comment {id} PATH:LINE TEXT`")),
            Fault::NothingToReview { id } => Some(format!("`coppice send {id} \"…\"` gives it work")),
            Fault::NoTurn { id, .. } => Some(format!("`coppice show {id}` lists the turns")),
            Fault::NoPrompt { id, .. } => Some(format!("`coppice queue {id}` lists what waits")),
            Fault::PromptTaken { id, .. } => Some(format!("`coppice stop {id}` stops it")),
            Fault::NothingToResume { id } => Some(format!("`coppice send {id} \"…\"` gives it another prompt")),
            Fault::HalfUndone { id, to, source } => Some(match source.hint() {
                Some(way_out) => format!("{way_out}; {}", half_undone_hint(*id, *to)),
                None => half_undone_hint(*id, *to),
            }),
            Fault::NothingToUndo { id, merge } => {
                merge.as_ref().map(|_| format!("`coppice undo {id} --merge` takes its last merge back"))
            }
            Fault::NothingToRedo { id } => Some(format!(
                "`coppice undo {id} --to N` goes to the files of any turn; `coppice show {id}` lists them; a merge that was \
                 undone comes again with `coppice merge {id}`"
            )),
            Fault::NothingToPropose { id, .. } => Some(format!(
                "edit the files in `coppice shell {id}`, or let the agent: `coppice send {id} 'resolve the conflict'`"
            )),
            Fault::NoProposal { id, .. } | Fault::OutdatedProposal { id, .. } => {
                Some(format!("`coppice resolve {id}` proposes again"))
            }
            Fault::NotAChild { id } => Some(format!("`coppice merge {id}` brings it into its base branch")),
            Fault::NotIntegrated { child, .. } => Some(format!("try `coppice integrate {child}` again")),
            Fault::NoTarget { branch, .. } => Some(format!(
                "check out the branch that you want it in, then run `git merge {branch}`; a session that begins with \
                     `coppice new --base BRANCH` can be merged by coppice"
            )),
            Fault::MergeRefused { hint, .. }
            | Fault::MergeUndoRefused { hint, .. }
            | Fault::UnseenChanges { hint, .. } => Some(hint.clone()),
            Fault::MergeFailed { id, source, .. } => {
                source.hint().or_else(|| Some(format!("fix the cause, then run `coppice merge {id}` again")))
            }
            Fault::HookFailed { id, output, obstacle, .. } => {
                let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
                // A guess from the output: it only adds to the hint.
                let missing = match says(&["not found", "No such file", "Cannot find module", "node_modules"]) {
                    true => "; hooks find ignored files such as `node_modules` only if `worktree.link` names them",
                    false => "",
                };
                let fix = match obstacle {
                    FixObstacle::NotWanted => {
                        format!("fix what the hook reports, or have the agent fix it: `coppice merge {id} --fix-hooks`")
                    }
                    FixObstacle::RoundsUsedUp => {
                        format!(
                            "the agent has tried {HOOK_FIX_ROUNDS} times: fix what the hook reports, then `coppice merge {id}`"
                        )
                    }
                    FixObstacle::PromptsWait => format!(
                        "the agent is not asked while other prompts wait: `coppice resume {id}` sends them, \
                         `coppice queue {id}` lists them"
                    ),
                    FixObstacle::QuestionOpen => {
                        format!("the agent is not asked while it waits for an answer: `coppice answer {id}`")
                    }
                    FixObstacle::DaemonEnds => "the agent is not asked while the daemon ends".to_owned(),
                };
                Some(format!("{fix}; or merge without hooks: `coppice merge {id} --no-verify`{missing}"))
            }
            Fault::HookChanged { id, style, others, changes } => {
                let any = others.as_ref().map(|others| {
                    format!(
                        "these changes are not those of `{others}`; if your hooks make others each time, \
                         `coppice merge {id}{style} --accept-hook-changes` merges with whatever they change, "
                    )
                });
                Some(format!(
                    "{}`coppice merge {id}{style} --accept-hook-changes={}` merges with exactly these changes, \
                     `coppice merge {id}{style} --no-verify` without hooks",
                    any.unwrap_or_default(),
                    changes.id
                ))
            }
            Fault::OtherGrants { .. } => text("run `coppice trust` again and read the difference"),
            Fault::RepositoryGone { .. } => {
                text("if you moved it, `coppice project relink` in its new place makes its sessions usable")
            }
            Fault::UndoCompleted { id, .. } => {
                Some(format!("look at what is left with `coppice diff {id}`, then repeat the command"))
            }
            Fault::InDataDirectory { .. } => text("run the command in your repository"),
            Fault::RepositoryReplaced { path, .. } => Some(format!(
                "if you moved the session's repository, run `coppice project relink` in its new place; if this is a new \
                 clone of it, run `coppice project relink {}` here",
                path.display()
            )),
            Fault::NothingToRelink { .. } | Fault::NotRecognised { .. } => {
                text("`coppice list --all` names the repositories that are gone")
            }
            Fault::SeveralMoved { .. } => text("run `coppice project relink OLD` with the place that this one was at"),
            Fault::OtherRepository { .. } => text("run `coppice project relink OLD` in the place that it was moved to"),
            Fault::NotPushed { id, .. } => Some(format!("`coppice push {id}` brings it there")),
            Fault::NoForge { .. } => text("pull requests need a remote `origin` at GitHub; see `github.api_url`"),
            Fault::TokenFile(_) => text("keep the token in a file of yours with mode 0600"),
            Fault::GitHub(error) => error.hint(),
            Fault::Git(error) => error.hint(),
            Fault::Store(error) => error.hint(),
            Fault::HealthyStore { .. } => {
                text("`--force` rebuilds it all the same, and adds the sessions that only git knows")
            }
            Fault::Quiet(_) => text("try again; `coppice stop` ends what the session runs"),
            Fault::Draining => text(
                "`coppice daemon stop --now` ends the turns that it waits for; then the next command starts another daemon",
            ),
            Fault::SessionGone { .. }
            | Fault::NotAttached { .. }
            | Fault::OutputTaken
            | Fault::BadImage { .. }
            | Fault::UnknownLevel { .. }
            | Fault::UnknownPosture(_)
            | Fault::UnknownProfile(_)
            | Fault::RuleFile(_)
            | Fault::NothingToSave { .. }
            | Fault::TooManyAnswers { .. }
            | Fault::NoHandoff { .. }
            | Fault::BadDecision { .. }
            | Fault::NothingToMerge { .. }
            | Fault::NotADirectory { .. }
            | Fault::NotMoved { .. }
            | Fault::NothingToTrust
            | Fault::NoProject
            | Fault::BadComment { .. }
            | Fault::LongFocus { .. }
            | Fault::BadCursor { .. }
            | Fault::BadRange { .. }
            | Fault::WhoseFiles
            | Fault::BadPublication { .. }
            | Fault::Config(_)
            | Fault::File { .. }
            | Fault::Commit(_)
            | Fault::Record(_)
            | Fault::Overloaded
            | Fault::Random(_)
            | Fault::Lost(_) => None,
        }
    }
}

/// The name that was probably meant.
/// The known name that is most like another one, if it is like it at all.
pub(super) fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    let likeness = |known: &String| strsim::normalized_damerau_levenshtein(known, name);
    known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).filter(|best| likeness(best) > 0.6)
}

/// The end of a hook's output, where the reason is.
pub(super) fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output.trim_end().lines().collect();
    lines[lines.len().saturating_sub(HOOK_LINES)..].join("\n")
}

fn whose(backend: &str, model: Option<&str>) -> String {
    match model {
        Some(model) => format!("model `{model}` of `{backend}`"),
        None => format!("backend `{backend}`"),
    }
}

fn unproposed(files: &[UnproposedFile]) -> String {
    let describe = |file: &UnproposedFile| format!("`{}`: {}", file.path, file.reason);
    files.iter().map(describe).collect::<Vec<_>>().join("; ")
}

fn waiting(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; waiting are {}", known.join(", ")) }
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}

/// What to do about files that an undo left between two turns.
pub(super) fn half_undone_hint(id: SessionId, to: u32) -> String {
    format!("`coppice undo {id} --to {to}` tries again, `coppice undo {id} --redo` restores the files from before it")
}

/// What the user asked for is wrong, or what git tried did not work.
fn git_kind(error: &GitError) -> ErrorKind {
    match error {
        GitError::NotARepository { .. }
        | GitError::NestedGitDirectory { .. }
        | GitError::NoCommits { .. }
        | GitError::UnknownBase { .. }
        | GitError::AmbiguousBase { .. }
        | GitError::NotACommit { .. }
        | GitError::OtherRepository { .. } => ErrorKind::Invalid,
        _ => ErrorKind::Failed,
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let mut error = Error::new(fault.kind(), fault.to_string()).with_causes_of(&fault);
        error.hint = explain_exhaustion(&fault).or_else(|| fault.hint());
        match fault {
            Fault::HookFailed { output, .. } => error.causes.push(last_lines(&output)),
            Fault::HookChanged { changes, .. } => error.hook_changes = Some(changes),
            Fault::UnseenChanges { changes, .. } => error.unseen_changes = Some(changes),
            _ => {}
        }
        error
    }
}
