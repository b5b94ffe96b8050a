//! Which variables belong to the shared process, and which to the commands of one conversation. Pure.
//!
//! The process is shared by all conversations that agree on its variables; the others travel with each thread.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// What the process itself acts on. Where temporary files go decides what its sandbox lets commands write.
const PROCESS: &[&str] = &["HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Ways to the network and to programs: the process needs them, and commands do too. A command would otherwise get the
/// search path of a login shell, which need not be the one that the session was made with.
const SHARED: &[&str] = &["PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// Keys and settings of the agent. They stay out of the commands it runs.
const PRIVATE: &[&str] = &["CODEX_", "OPENAI_", "AZURE_OPENAI_"];

/// What no command is given: keys of any provider, tokens, and the ways to agents that hold keys.
const KEPT_OUT: &[&str] = &[
    "ANTHROPIC_*",
    "CLAUDE_*",
    "GEMINI_*",
    "OPENAI_*",
    "AZURE_OPENAI_*",
    "CODEX_*",
    "GOOGLE_*API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_*",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_*",
    "DOCKER_HOST",
    "*_API_KEY",
    "*_TOKEN",
    "*_SECRET",
    "*_SECRET_*",
    "*_PASSWORD",
    "*_CREDENTIALS",
];

/// The variable that names the agent's home.
pub(super) const HOME_VARIABLE: &str = "CODEX_HOME";

/// An environment, divided.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Environment {
    /// Sorted, so that equal environments are equal keys.
    pub(super) process: Vec<(String, String)>,
    pub(super) commands: Vec<(String, String)>,
}

/// Divides an environment; `named` are the variables that the user's configuration or the backend's own row names,
/// `project_env` those that commands get in any case.
pub(super) fn divide(env: Vec<(String, String)>, named: &[String], project_env: &[String]) -> Environment {
    let mut divided = Environment::default();
    for (name, value) in env {
        let is_shared = SHARED.iter().any(|known| known.eq_ignore_ascii_case(&name));
        let is_private = PRIVATE.iter().any(|prefix| name.starts_with(prefix)) || named.contains(&name);
        let is_process = is_shared || is_private || PROCESS.contains(&name.as_str());
        if is_shared || !is_process || project_env.contains(&name) {
            divided.commands.push((name.clone(), value.clone()));
        }
        if is_process {
            divided.process.push((name, value));
        }
    }
    divided.process.sort();
    divided
}

/// Where the agent keeps its configuration, login and threads; `Named` has to exist, the default one it makes itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Home {
    Named(PathBuf),
    Default(PathBuf),
    Unknown,
}

pub(super) fn home(env: &[(String, String)]) -> Home {
    let get =
        |wanted: &str| env.iter().find(|(name, value)| name == wanted && !value.is_empty()).map(|(_, value)| value);
    match (get(HOME_VARIABLE), get("HOME")) {
        (Some(named), _) => Home::Named(PathBuf::from(named)),
        (None, Some(home)) => Home::Default(PathBuf::from(home).join(".codex")),
        (None, None) => Home::Unknown,
    }
}

impl Home {
    pub(super) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Named(path) | Self::Default(path) => Some(path),
            Self::Unknown => None,
        }
    }
}

/// The directory for temporary files that holds `home`: Codex does not put the helper of its sandbox there, and every
/// command fails while the turn says that all is well.
pub(super) fn unfit(home: &Path, env: &[(String, String)]) -> Option<PathBuf> {
    let named = env.iter().find(|(name, value)| name == "TMPDIR" && !value.is_empty()).map(|(_, value)| value.as_str());
    let temporary = PathBuf::from(named.unwrap_or("/tmp"));
    home.starts_with(&temporary).then_some(temporary)
}

/// Drops what commands never get, and what the user's own policy keeps away from them: what is set per thread would
/// undo it. What the configuration names in `env` stays.
pub(super) fn permitted(
    commands: &[(String, String)],
    policy: &Value,
    project_env: &[String],
) -> Vec<(String, String)> {
    let own = policy["exclude"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let patterns: Vec<&str> = KEPT_OUT.iter().copied().chain(own).collect();
    let is_excluded = |name: &str| patterns.iter().any(|pattern| matches(pattern, name));
    commands.iter().filter(|(name, _)| project_env.contains(name) || !is_excluded(name)).cloned().collect()
}

/// Whether a name fits a pattern with stars, whatever its case.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_lowercase(), name.to_ascii_lowercase());
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let Some((last, middle)) = parts.split_last() else { return true };
    for part in middle {
        let Some(place) = left.find(part) else { return false };
        left = &left[place + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pairs(names: &[&str]) -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), "v".to_owned())).collect()
    }

    #[test]
    fn keys_stay_with_the_process_and_the_rest_goes_to_commands() {
        let env = pairs(&["PATH", "HOME", "CARGO_HOME", "OPENAI_API_KEY", "https_proxy", "MY_KEY", "LANG"]);
        let divided = divide(env, &["MY_KEY".to_owned()], &[]);
        assert_eq!(divided.process, pairs(&["HOME", "MY_KEY", "OPENAI_API_KEY", "PATH", "https_proxy"]));
        assert_eq!(divided.commands, pairs(&["PATH", "CARGO_HOME", "https_proxy", "LANG"]));
    }

    #[test]
    fn the_order_of_variables_makes_no_other_key() {
        let one = divide(pairs(&["PATH", "HOME"]), &[], &[]);
        assert_eq!(one, divide(pairs(&["HOME", "PATH"]), &[], &[]));
    }

    #[test]
    fn the_home_is_the_named_one_or_the_default() {
        let env =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect::<Vec<_>>();
        assert_eq!(home(&env(&[("HOME", "/h"), ("CODEX_HOME", "/c")])), Home::Named("/c".into()));
        assert_eq!(home(&env(&[("HOME", "/h"), ("CODEX_HOME", "")])), Home::Default("/h/.codex".into()));
        assert_eq!(home(&[]), Home::Unknown);
    }

    #[test]
    fn a_home_among_temporary_files_is_unfit() {
        let env = |dir: &str| vec![("TMPDIR".to_owned(), dir.to_owned())];
        assert_eq!(unfit(Path::new("/tmp/h/.codex"), &[]), Some("/tmp".into()));
        assert_eq!(unfit(Path::new("/tmp/h/.codex"), &env("/var/tmp")), None);
        assert_eq!(unfit(Path::new("/var/tmp/h"), &env("/var/tmp")), Some("/var/tmp".into()));
        assert_eq!(unfit(Path::new("/tmpfs/h"), &env("")), None);
    }

    #[test]
    fn what_the_user_keeps_from_commands_is_kept_from_them() {
        let policy = json!({"exclude": ["AWS_*", "*private*", "EXACT"]});
        let env = pairs(&["AWS_REGION", "MY_PRIVATE_X", "exact", "EXACTLY", "AW", "PATH2"]);
        assert_eq!(permitted(&env, &policy, &[]), pairs(&["EXACTLY", "AW", "PATH2"]));
        assert_eq!(permitted(&env, &Value::Null, &[]), env);
    }

    #[test]
    fn no_command_is_given_a_key_or_the_way_to_one() {
        let keys = pairs(&[
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENAI_API_KEY",
            "OPENAI_API_KEY",
            "CODEX_HOME",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "npm_token",
            "CLIENT_SECRET",
            "AWS_SECRET_ACCESS_KEY",
            "PGX_PASSWORD",
        ]);
        assert_eq!(permitted(&keys, &Value::Null, &[]), []);
        let plain = pairs(&["LANG", "CARGO_HOME", "GOOGLE_CLOUD_PROJECT", "AWS_REGION", "TOKENIZERS_PARALLELISM"]);
        assert_eq!(permitted(&plain, &Value::Null, &[]), plain);
    }

    #[test]
    fn a_key_that_the_configuration_names_reaches_commands() {
        let named = ["OPENAI_API_KEY", "DB_PASSWORD"].map(str::to_owned);
        let divided = divide(pairs(&["OPENAI_API_KEY", "DB_PASSWORD", "NPM_TOKEN"]), &[], &named);
        assert_eq!(divided.process, pairs(&["OPENAI_API_KEY"]));
        let policy = json!({"exclude": ["DB_*"]});
        assert_eq!(permitted(&divided.commands, &policy, &named), pairs(&["OPENAI_API_KEY", "DB_PASSWORD"]));
    }
}
