//! Which login and settings of the user a program finds when it starts. A process keeps what it found, so a turn after
//! a change needs another one. Tokens that programs renew by themselves do not count as a change.

use sha2::{Digest, Sha256};

use crate::backend::spec::{Spec, Transport};
use crate::backend::{claude, codex, gemini};

/// Hashes the login and the settings that a program with this environment would find; reads files. The hash is made from
/// keys, so it stays in memory.
pub(crate) fn fingerprint_login(spec: &Spec, env: impl IntoIterator<Item = (impl ToString, impl ToString)>) -> String {
    let is_set = |name: &String| spec.env.iter().any(|(known, _)| known == name);
    let session = env.into_iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let env: Vec<(String, String)> = session.filter(|(name, _)| !is_set(name)).chain(spec.env.iter().cloned()).collect();
    let found = match spec.transport {
        Transport::Claude => claude::describe_login(&env),
        Transport::Codex => codex::describe_login(&env),
        Transport::Gemini => gemini::describe_login(&env),
        // It keeps its login where nobody else looks for it.
        Transport::Acp => String::new(),
    };
    Sha256::digest(found).iter().map(|byte| format!("{byte:02x}")).collect()
}
