//! What the environment of a confined process says: caches that it may write, no way to the user's agents and keys of
//! other services. Pure.

use std::path::Path;

use crate::api::request::Environment;

use super::registries;

/// Ways to helpers of the user's own, which answer whoever asks.
const HELPERS: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DOCKER_HOST",
    "KUBECONFIG",
];

/// Variables that name a cache, and its place below the directory of caches.
const CACHES: &[(&str, &str)] = &[
    ("XDG_CACHE_HOME", "xdg"),
    ("CARGO_HOME", "cargo"),
    ("PIP_CACHE_DIR", "pip"),
    ("UV_CACHE_DIR", "uv"),
    ("npm_config_cache", "npm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("GOCACHE", "go-build"),
    ("GOMODCACHE", "go-mod"),
    ("GRADLE_USER_HOME", "gradle"),
    ("DENO_DIR", "deno"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("CCACHE_DIR", "ccache"),
];

/// Where things of a session are that its processes must find.
pub(super) struct Private<'a> {
    pub(super) temp: &'a Path,
    pub(super) caches: &'a Path,
    /// The user's name and address for git, and nothing else of their configuration.
    pub(super) git_config: &'a Path,
    /// Variables that lead to the user's settings for registries.
    pub(super) registries: &'a Environment,
}

/// The environment of a confined session.
pub(super) fn confined(mut env: Environment, private: &Private<'_>) -> Environment {
    for name in HELPERS {
        env.remove(*name);
    }
    // Some tools read these names in any case.
    env.retain(|name, _| !is_replaced(name));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    env.extend(CACHES.iter().map(|(name, place)| ((*name).to_owned(), text(&private.caches.join(place)))));
    env.extend(private.registries.clone());
    env.insert("TMPDIR".to_owned(), text(private.temp));
    env.insert("GIT_CONFIG_GLOBAL".to_owned(), text(private.git_config));
    // A look at the state of files would refresh an index that cannot be written.
    env.insert("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned());
    env
}

/// Whether a session has a directory or a copy of its own where this variable leads.
fn is_replaced(name: &str) -> bool {
    CACHES.iter().any(|(cache, _)| cache.eq_ignore_ascii_case(name)) || registries::names_settings(name)
}

/// Variables of a project, as its configuration chooses them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct ProjectVariables {
    pub(in super::super) passed: Environment,
    pub(in super::super) set: Environment,
}

impl ProjectVariables {
    /// All of them. The caches and copies of a session replace those of the user's environment, unless the configuration sets one.
    pub(super) fn chosen(self) -> Environment {
        let passed = self.passed.into_iter().filter(|(name, _)| !is_replaced(name));
        passed.chain(self.set).collect()
    }
}

/// How the names of keys end, or what is in them.
const SECRETS: &[&str] = &["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSPHRASE", "_CREDENTIALS", "_KEY_ID"];
/// How variables begin that belong to one service, keys or not.
const SERVICES: &[&str] = &[
    "ANTHROPIC_",
    "AWS_",
    "AZURE_",
    "CLAUDE_",
    "CLOUDSDK_",
    "CODEX_",
    "CODE_ASSIST_",
    "GEMINI_",
    "GOOGLE_",
    "OPENAI_",
    "VERTEX_",
];

/// Drops keys, but for what begins with one of `own`: `PREFIX`, or `PREFIX if SWITCH` where a variable switches it on.
pub(super) fn without_secrets(env: Environment, own: &[String]) -> Environment {
    let is_on = |switch: &str| env.get(switch).is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    let own: Vec<String> = own
        .iter()
        .filter_map(|word| match word.split_once(" if ") {
            Some((prefix, switch)) => is_on(switch).then(|| prefix.to_owned()),
            None => Some(word.clone()),
        })
        .collect();
    let is_own = |name: &str| own.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let is_secret = |name: &str| {
        SERVICES.iter().any(|prefix| name.starts_with(prefix))
            || SECRETS.iter().any(|ending| name.to_ascii_uppercase().ends_with(ending))
            || name.to_ascii_uppercase().contains("_SECRET_")
    };
    env.into_iter().filter(|(name, _)| is_own(name) || !is_secret(name)).collect()
}

/// A configuration of git with the user's identity, and the addresses that replace others. Only those on the web: a
/// session has no key for ssh, so it would lose what everybody can read.
pub(super) fn git_config(identity: Option<(&str, &str)>, url_rewrites: &[(String, String)]) -> String {
    let quoted = |text: &str| {
        let escaped: String = text.chars().filter(|c| !c.is_control()).flat_map(escape).collect();
        format!("\"{escaped}\"")
    };
    let user =
        identity.map(|(name, email)| format!("[user]\n\tname = {}\n\temail = {}\n", quoted(name), quoted(email)));
    let web = url_rewrites.iter().filter(|(base, _)| base.starts_with("https://") || base.starts_with("http://"));
    let urls = web.map(|(base, replaced)| {
        let base = registries::without_logins(base);
        format!("[url {}]\n\tinsteadOf = {}\n", quoted(&base), quoted(replaced))
    });
    user.into_iter().chain(urls).collect()
}

fn escape(c: char) -> impl Iterator<Item = char> {
    let mark = matches!(c, '"' | '\\').then_some('\\');
    mark.into_iter().chain([c])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn caches_move_and_helpers_are_out_of_reach() {
        let registries = env(&[("npm_config_userconfig", "/s/npmrc")]);
        let private = Private {
            temp: Path::new("/s/tmp"),
            caches: Path::new("/p"),
            git_config: Path::new("/s/gitconfig"),
            registries: &registries,
        };
        let given = env(&[
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("CARGO_HOME", "/home/u/.cargo"),
            ("LANG", "C"),
            ("NPM_CONFIG_CACHE", "/n"),
            ("NPM_CONFIG_USERCONFIG", "/home/u/.npmrc"),
        ]);
        let found = confined(given, &private);
        for (name, expected) in [
            ("CARGO_HOME", Some("/p/cargo")),
            ("npm_config_cache", Some("/p/npm")),
            ("NPM_CONFIG_CACHE", None),
            ("NPM_CONFIG_USERCONFIG", None),
            ("npm_config_userconfig", Some("/s/npmrc")),
            ("TMPDIR", Some("/s/tmp")),
            ("GIT_CONFIG_GLOBAL", Some("/s/gitconfig")),
            ("LANG", Some("C")),
            ("SSH_AUTH_SOCK", None),
        ] {
            assert_eq!(found.get(name).map(String::as_str), expected, "{name}");
        }
    }

    #[test]
    fn keys_stay_behind_unless_the_agent_lives_by_them() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let given = env(&[
            ("ANTHROPIC_API_KEY", "a"),
            ("AWS_PROFILE", "p"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("CLAUDE_CODE_USE_BEDROCK", "1"),
            ("NPM_TOKEN", "n"),
            ("OPENAI_API_KEY", "o"),
            ("PATH", "/bin"),
            ("db_password", "d"),
        ]);
        let kept = |own: &[&str]| without_secrets(given.clone(), &words(own)).into_keys().collect::<Vec<_>>().join(" ");
        assert_eq!(kept(&[]), "PATH");
        assert_eq!(kept(&["ANTHROPIC_"]), "ANTHROPIC_API_KEY PATH");
        assert_eq!(kept(&["AWS_ if CLAUDE_CODE_USE_BEDROCK"]), "AWS_PROFILE AWS_SECRET_ACCESS_KEY PATH");
        assert_eq!(kept(&["AWS_ if CLAUDE_CODE_USE_VERTEX", "OPENAI_"]), "OPENAI_API_KEY PATH");
    }

    #[test]
    fn an_identity_cannot_add_settings() {
        let text = git_config(Some(("A \"B\"\n[core]\n\tfsmonitor = evil", "a\\b@c")), &[]);
        assert_eq!(text, "[user]\n\tname = \"A \\\"B\\\"[core]fsmonitor = evil\"\n\temail = \"a\\\\b@c\"\n");
        assert_eq!(git_config(None, &[]), "");
    }

    #[test]
    fn addresses_on_the_web_are_replaced_without_their_logins() {
        for (base, expected) in [
            ("https://mirror/", "[url \"https://mirror/\"]\n\tinsteadOf = \"https://h/\"\n"),
            ("https://oauth2:t0k@h/", "[url \"https://h/\"]\n\tinsteadOf = \"https://h/\"\n"),
            ("https://x\"]\n[core]\n", "[url \"https://x\\\"][core]\"]\n\tinsteadOf = \"https://h/\"\n"),
            ("ssh://git@h/", ""),
            ("git@h:", ""),
        ] {
            assert_eq!(git_config(None, &[(base.to_owned(), "https://h/".to_owned())]), expected, "{base}");
        }
    }
}
