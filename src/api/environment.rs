//! Which variables of a client's environment the daemon gets: a list of names that a backend may see, what presets list
//! for one backend, what the user's configuration of an agent and `env.pass` name besides, and what the daemon needs for
//! itself; never all of them.
//!
//! What an agent's own program sets for its children is not among them: when coppice is started from inside an agent,
//! it would make the backend believe that it is that agent.

use std::ffi::OsString;

use super::request::Environment;

/// Names that are handed over; a trailing `*` stands for any rest. Programs that mark their children with names of the
/// same beginning as their settings get no `*`.
const ALLOWED: &[&str] = &[
    // The person and the machine.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    // Where programs keep their things.
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    // The way to the network.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    // What the backends log in with and talk to.
    "ANTHROPIC_*",
    "API_TIMEOUT_MS",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_SECURESTORAGE_CONFIG_DIR",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
    "CLAUDE_CODE_CERT_STORE",
    "CLAUDE_CODE_CLIENT_CERT",
    "CLAUDE_CODE_CLIENT_KEY",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
    "CLAUDE_CODE_OAUTH_SCOPES",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_PROXY_RESOLVES_HOSTS",
    "CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
    "OPENAI_*",
    "CODEX_ACCESS_TOKEN",
    "CODEX_API_KEY",
    "CODEX_CA_CERTIFICATE",
    "CODEX_HOME",
    "CODEX_SQLITE_HOME",
    "GEMINI_API_KEY_AUTH_MECHANISM",
    "GEMINI_CLI_CUSTOM_HEADERS",
    "GEMINI_CLI_HOME",
    "GEMINI_CLI_USE_COMPUTE_ADC",
    "GEMINI_DEFAULT_AUTH_TYPE",
    "GEMINI_MODEL",
    "CODE_ASSIST_ENDPOINT",
    "GOOGLE_*",
    "CLOUDSDK_CONFIG",
    "AWS_*",
    "AZURE_*",
    "CLOUD_ML_REGION",
    "VERTEX_*",
    // Toolchains.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOPROXY",
    "GOPRIVATE",
    "GOFLAGS",
    "GOCACHE",
    "GOMODCACHE",
    "NVM_*",
    "NODE_PATH",
    "NODE_OPTIONS",
    "NODE_ENV",
    "NPM_CONFIG_*",
    "npm_config_*",
    "PNPM_HOME",
    "VOLTA_HOME",
    "FNM_*",
    "BUN_INSTALL",
    "DENO_DIR",
    "PYENV_*",
    "VIRTUAL_ENV",
    "CONDA_*",
    "POETRY_HOME",
    "PIP_*",
    "UV_*",
    "PYTHONPATH",
    "JAVA_HOME",
    "GRADLE_USER_HOME",
    "MAVEN_OPTS",
    "SDKMAN_DIR",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "RBENV_*",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_PATH",
    "COMPOSER_HOME",
    "ASDF_*",
    "MISE_*",
    "NIX_*",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    // What the person edits with, which some tools insist on.
    "EDITOR",
    "VISUAL",
    "PAGER",
];

/// What presets of agents log in with and are set up by. The daemon gets it, and each goes only to the backends whose rows
/// list it.
const FOR_PRESETS: &[&str] =
    &["AUGMENT_*", "BAILIAN_*", "COPILOT_*", "DASHSCOPE_*", "GH_TOKEN", "MISTRAL_*", "QWEN_*", "VIBE_*"];

/// What goes along for the daemon itself. It takes these out before a backend's environment is made of the rest.
pub const FOR_DAEMON: &[&str] = &["GITHUB_TOKEN"];

/// Keeps what the daemon and a backend may see, and what the user's configuration names; names and values that are not
/// UTF-8 cannot be handed over.
pub fn capture(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    is_named: impl Fn(&str) -> bool,
) -> Environment {
    variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_listed(name) || is_for_preset(name) || is_named(name))
        .collect()
}

/// Whether every backend may see a variable; keys among these are sorted out for each.
pub fn is_listed(name: &str) -> bool {
    // A provider that a user adds to an agent's own configuration has a key with a name of the user's choice.
    name.ends_with("_API_KEY") || FOR_DAEMON.contains(&name) || matches_any(ALLOWED, name)
}

/// Whether only the backends may see a variable whose rows list it.
pub fn is_for_preset(name: &str) -> bool {
    !is_listed(name) && matches_any(FOR_PRESETS, name)
}

fn matches_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_are_handed_over() {
        for name in [
            "PATH",
            "HOME",
            "LC_ALL",
            "CARGO_HOME",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
            "CLAUDE_CODE_USE_BEDROCK",
            "OPENAI_API_KEY",
            "MY_OWN_API_KEY",
            "CODEX_HOME",
            "GEMINI_API_KEY",
            "GEMINI_CLI_HOME",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GITHUB_TOKEN",
        ] {
            assert!(is_listed(name), "{name}");
        }
        for name in [
            "CLAUDECODE",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_CODE_CHILD_SESSION",
            "CLAUDE_CODE_SSE_PORT",
            "CLAUDE_PROJECT_DIR",
            "CODEX_SANDBOX",
            "CODEX_SANDBOX_NETWORK_DISABLED",
            "CODEX_THREAD_ID",
            "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
            "GEMINI_CLI",
            "GEMINI_CLI_NO_RELAUNCH",
            "GEMINI_CLI_TRUST_WORKSPACE",
            "GEMINI_SANDBOX",
            "SSH_AUTH_SOCK",
            "TMPDIR",
            "GIT_DIR",
            "LD_PRELOAD",
            "COPPICE_HOME",
            "MY_SECRET",
            "GH_TOKEN",
            "COPILOT_MODEL",
            "PATHEXT",
            "",
        ] {
            assert!(!is_listed(name), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_said_in_utf8_is_left_out() {
        use std::os::unix::ffi::OsStringExt;
        let bad = OsString::from_vec(vec![0xff]);
        let captured =
            capture([("HOME".into(), "/home/x".into()), ("LANG".into(), bad.clone()), (bad, "x".into())], |_| false);
        assert_eq!(captured, Environment::from([("HOME".to_owned(), "/home/x".to_owned())]));
    }

    #[test]
    fn a_name_of_the_users_choice_is_handed_over() {
        let variables = || [("MY_SECRET".into(), "s".into()), ("NPM_TOKEN".into(), "t".into())];
        let captured = capture(variables(), |name| name == "MY_SECRET");
        assert_eq!(captured, Environment::from([("MY_SECRET".to_owned(), "s".to_owned())]));
        assert_eq!(capture(variables(), |_| false), Environment::new());
    }
}
