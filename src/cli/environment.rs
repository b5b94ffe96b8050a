//! Which variables of the caller's environment a backend may see: a list of names, never the whole environment.
//!
//! Variables that an agent's own program sets for its children are refused whatever the list says: when coppice is started from inside an
//! agent, they would make the backend believe that it is that agent.

use crate::api::request::Environment;

/// Names that are handed over; a trailing `*` stands for any rest.
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
    "CLAUDE_CONFIG_DIR",
    "OPENAI_*",
    "GEMINI_API_KEY",
    "GEMINI_MODEL",
    "GOOGLE_*",
    "AWS_*",
    "AZURE_*",
    "CLOUD_ML_REGION",
    "VERTEX_*",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
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
    "PIP_INDEX_URL",
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

/// Marks of an agent that may be our own parent.
const REFUSED: &[&str] = &["CLAUDECODE", "CLAUDE_CODE_*", "CODEX_*", "GEMINI_CLI_*"];

/// Keeps what a backend may see; names and values that are not UTF-8 cannot be handed over and are left out.
pub(super) fn capture(variables: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>) -> Environment {
    variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_allowed(name))
        .collect()
}

fn is_allowed(name: &str) -> bool {
    let matches = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    };
    ALLOWED.iter().any(matches) && !REFUSED.iter().any(matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_are_handed_over() {
        for name in ["PATH", "HOME", "LC_ALL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "CARGO_HOME"] {
            assert!(is_allowed(name), "{name}");
        }
        for name in [
            "CLAUDECODE",
            "CLAUDE_CODE_ENTRYPOINT",
            "CODEX_HOME",
            "CODEX_SANDBOX",
            "GEMINI_CLI_NO_RELAUNCH",
            "GEMINI_CLI_HOME",
            "SSH_AUTH_SOCK",
            "TMPDIR",
            "GIT_DIR",
            "LD_PRELOAD",
            "COPPICE_HOME",
            "MY_SECRET",
            "PATHEXT",
            "",
        ] {
            assert!(!is_allowed(name), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_said_in_utf8_is_left_out() {
        use std::os::unix::ffi::OsStringExt;
        let bad = std::ffi::OsString::from_vec(vec![0xff]);
        let captured = capture([("HOME".into(), "/home/x".into()), ("LANG".into(), bad.clone()), (bad, "x".into())]);
        assert_eq!(captured, Environment::from([("HOME".to_owned(), "/home/x".to_owned())]));
    }
}
