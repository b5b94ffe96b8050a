//! Which login and settings of the user a program finds when it starts. A process keeps what it found, so a turn after
//! a change needs another one. Tokens that programs renew by themselves do not count as a change.

use sha2::{Digest, Sha256};

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

/// Why a program could not read the user's configuration, with its place; reads files.
pub(crate) fn find_config_error(spec: &Spec, env: &[(String, String)]) -> Option<String> {
    match spec.transport {
        Transport::Codex => codex::find_config_error(&with_own(spec, env)),
        Transport::Claude | Transport::Gemini | Transport::Acp => None,
    }
}

/// The environment with what the backend's row sets, which is stronger.
pub(super) fn with_own(spec: &Spec, env: &[(String, String)]) -> Vec<(String, String)> {
    let is_set = |name: &String| spec.env.iter().any(|(known, _)| known == name);
    env.iter().filter(|(name, _)| !is_set(name)).chain(&spec.env).cloned().collect()
}
