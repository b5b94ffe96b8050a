//! Why a turn ended without a response: a kind to branch on, a message and one hint for the person.

use std::fmt;

use crate::backend::remedy::LoginRemedy;

/// The kinds of failure; every client and the store use the same words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    Auth,
    RateLimit {
        /// Milliseconds since the epoch, when the backend tells.
        resets_at: Option<i64>,
    },
    Quota,
    Model,
    Context,
    Transport,
    Protocol,
    Timeout,
    /// The agent made as many tool calls as its definition allows.
    StepLimit,
    Crashed,
    Cancelled,
    Setup,
    Hook,
    Git,
    Sandbox,
    Store,
}

impl FailureKind {
    /// The kind as it is stored and shown.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit { .. } => "rate_limit",
            Self::Quota => "quota",
            Self::Model => "model",
            Self::Context => "context",
            Self::Transport => "transport",
            Self::Protocol => "protocol",
            Self::Timeout => "timeout",
            Self::StepLimit => "step_limit",
            Self::Crashed => "crashed",
            Self::Cancelled => "cancelled",
            Self::Setup => "setup",
            Self::Hook => "hook",
            Self::Git => "git",
            Self::Sandbox => "sandbox",
            Self::Store => "store",
        }
    }

    /// What a person can do about it when the failure itself knows nothing better.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Auth => "log in with the backend's own command, then run `coppice resume`",
            Self::RateLimit { .. } => "wait until the limit resets, then run `coppice resume`",
            Self::Quota => "the account has no quota left: add some, or use another backend with `--model`",
            Self::Model => "choose one of `coppice models`, then run `coppice send --model BACKEND/MODEL \"…\"`",
            Self::Context => "the conversation is too long for the model: start a session with a summary of it",
            Self::Transport => "the backend could not reach its service: check the network, then run `coppice resume`",
            Self::Protocol => "the raw reply is in `coppice show --raw`; send the prompt again to retry",
            Self::StepLimit => "raise the limit in the agent's file, or run `coppice resume`",
            Self::Timeout => "raise `limits.turn_timeout` or `limits.stall_timeout`, or run `coppice resume`",
            Self::Crashed => "run `coppice resume` to go on with the conversation",
            Self::Cancelled => "run `coppice resume`, or send another prompt",
            Self::Setup => "fix the cause and run `coppice resume`",
            Self::Hook => "fix what the hook complains about, then run `coppice resume`",
            Self::Git => "the repository is as it was before: fix the cause and run `coppice resume`",
            Self::Sandbox => {
                "run `coppice doctor` to see what the machine lacks, or go without the sandbox by `level = \"off\"` below \
                 `[sandbox]` in config.toml; then run `coppice resume`"
            }
            Self::Store => "check free space and permissions of the data directory, then run `coppice resume`",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One failure, ready to be stored and shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    pub hint: String,
    /// What logs a person in, where the kind is `auth`.
    pub login: LoginCommand,
}

/// The command that helps against a login that is missing or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LoginCommand {
    /// The backend's own.
    #[default]
    Backend,
    Other(&'static str),
    /// None does: something has to be corrected.
    None,
}

impl Failure {
    /// A failure with the hint of its kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let hint = kind.hint().to_owned();
        Self { kind, message: message.into(), hint, login: LoginCommand::Backend }
    }

    /// The same failure with advice about the login.
    pub(crate) fn with_remedy(self, remedy: &LoginRemedy) -> Self {
        Self { hint: remedy.hint.clone(), login: remedy.command.clone(), ..self }
    }

    /// The same failure with a hint that knows more than its kind.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }
}
