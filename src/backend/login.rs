//! Which login and settings of the user a program finds when it starts. A process keeps what it found, so a turn after
//! a change needs another one. Tokens that programs renew by themselves do not count as a change.

use sha2::{Digest, Sha256};

use crate::backend::failure::Failure;
use crate::backend::spec::{Spec, Transport};
use crate::backend::{claude, codex, gemini};

/// Hashes the login and the settings that a program with this environment would find; reads files. The hash is made from
/// keys, so it stays in memory.
pub(crate) fn fingerprint_login(spec: &Spec, env: &[(String, String)]) -> String {
    let env = with_own(spec, env);
    let found = match spec.transport {
        Transport::Claude => claude::describe_login(&env),
        Transport::Codex => codex::describe_login(&env),
        Transport::Gemini => gemini::describe_login(&env),
        // It keeps its login where nobody else looks for it.
        Transport::Acp => String::new(),
    };
    Sha256::digest(found).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The variables that the user's own configuration of a program names, and that it has to see; reads files.
pub(crate) fn named_variables(spec: &Spec, env: &[(String, String)]) -> Vec<String> {
    match spec.transport {
        Transport::Codex => codex::named_variables(&with_own(spec, env)),
        Transport::Claude | Transport::Gemini | Transport::Acp => Vec::new(),
    }
}

/// A file of the user's own configuration that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError {
    /// Its path, the line and column where there is one, and why.
    pub(crate) message: String,
    pub(crate) effect: ConfigErrorEffect,
}

/// What becomes of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigErrorEffect {
    /// The program refuses to work.
    Refused,
    /// They work without the login and the model that it may name.
    Ignored,
}

/// Whether a program does not even begin a conversation with a configuration that it does not like, so that asking it for
/// its models tells.
pub(crate) fn checks_config(spec: &Spec) -> bool {
    match spec.transport {
        Transport::Codex => true,
        Transport::Claude | Transport::Gemini | Transport::Acp => false,
    }
}

/// Why a program could not read the user's configuration; reads files.
pub(crate) fn find_config_error(spec: &Spec, env: &[(String, String)]) -> Option<ConfigError> {
    let env = with_own(spec, env);
    let (message, effect) = match spec.transport {
        Transport::Claude => (claude::find_settings_error(&env)?, ConfigErrorEffect::Ignored),
        Transport::Codex => (codex::find_config_error(&env)?, ConfigErrorEffect::Refused),
        Transport::Gemini => (gemini::find_settings_error(&env)?, ConfigErrorEffect::Ignored),
        Transport::Acp => return None,
    };
    Some(ConfigError { message, effect })
}

/// A failed login in the light of settings that cannot be read, which may hold it.
pub(crate) fn explain_auth_failure(failure: Failure, spec: &Spec, env: &[(String, String)]) -> Failure {
    match find_config_error(spec, env) {
        Some(ConfigError { message, effect: ConfigErrorEffect::Ignored }) => Failure {
            message: format!("{}; {message}, so its settings are not used", failure.message),
            hint: format!(
                "correct that file if your login is in it, and run `coppice resume`; otherwise {}",
                failure.hint
            ),
            ..failure
        },
        Some(ConfigError { effect: ConfigErrorEffect::Refused, .. }) | None => failure,
    }
}

/// The environment with what the backend's row sets, which is stronger.
pub(super) fn with_own(spec: &Spec, env: &[(String, String)]) -> Vec<(String, String)> {
    let is_set = |name: &String| spec.env.iter().any(|(known, _)| known == name);
    env.iter().filter(|(name, _)| !is_set(name)).chain(&spec.env).cloned().collect()
}
