//! Which login and settings of the user a program finds when it starts. A process keeps what it found, so a turn after
//! a change needs another one. Tokens that programs renew by themselves do not count as a change.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::backend::failure::Failure;
use crate::backend::hosts::model_hosts;
use crate::backend::remedy::{cloud_keys, value};
use crate::backend::spec::{Spec, Transport};
use crate::backend::user_login::describe_cloud_login;
use crate::backend::{claude, codex, gemini, state};

/// Hashes the login and the settings that a program with this environment would find; reads files. The hash is made from
/// keys, so it stays in memory.
pub(crate) fn fingerprint_login(spec: &Spec, env: &[(String, String)]) -> String {
    let env = with_own(spec, env);
    let found = match spec.transport {
        Transport::Claude => claude::describe_login(&env),
        Transport::Codex => codex::describe_login(&env),
        Transport::Gemini => gemini::describe_login(&env),
        // What it keeps elsewhere, nobody looks for.
        Transport::Acp => state::describe_copied(spec, &env),
    };
    Sha256::digest(found + &describe_cloud_login(spec, &env)).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The variables that the user's own configuration of a program names, and that it has to see; reads files.
pub(crate) fn named_variables(spec: &Spec, env: &[(String, String)]) -> Vec<String> {
    match spec.transport {
        Transport::Codex => codex::named_variables(&with_own(spec, env)),
        // It gets a copy of the same configuration.
        Transport::Acp if codex::shares_home(spec) => codex::named_variables(&with_own(spec, env)),
        Transport::Claude | Transport::Gemini | Transport::Acp => Vec::new(),
    }
}

/// The names under which a program looks for instructions at the top of a work tree; the first that is there counts. Reads
/// files.
pub(crate) fn instruction_files(spec: &Spec, env: &[(String, String)]) -> Vec<String> {
    let file = &spec.instructions.file;
    match spec.transport {
        Transport::Codex => codex::instruction_files(file, &with_own(spec, env)),
        Transport::Claude | Transport::Gemini | Transport::Acp => vec![file.clone()],
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

/// A failed login in the light of settings that cannot be read, which may hold it, and with the name of an agent about
/// which nothing else is known.
pub(crate) fn explain_auth_failure(failure: Failure, spec: &Spec, env: &[(String, String)]) -> Failure {
    let failure = match spec.command.first().filter(|_| failure.hint == failure.kind.hint()) {
        Some(program) => failure.with_hint(format!(
            "log in with `{program}` itself, or set its key below `[backends.{}.env]` in config.toml; then run \
             `coppice resume`",
            spec.name
        )),
        None => failure,
    };
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

/// A model that the user's own settings of a program choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelSetting {
    pub(crate) name: String,
    /// The variable, or the key and its file, as it stands in a sentence.
    pub(crate) source: String,
}

impl ModelSetting {
    pub(super) fn of_variable(env: &[(String, String)], variable: &str) -> Option<Self> {
        let name = value(env, variable)?.to_owned();
        Some(Self { name, source: format!("the variable `{variable}`") })
    }

    pub(super) fn of_file(name: Option<&str>, key: &str, file: &Path) -> Option<Self> {
        Some(Self { name: name?.to_owned(), source: format!("`{key}` of `{}`", file.display()) })
    }
}

/// Finds the model that a program takes when nobody names one, as far as the user chose it; reads files.
pub(crate) fn find_model_setting(spec: &Spec, env: &[(String, String)]) -> Option<ModelSetting> {
    let env = with_own(spec, env);
    match spec.transport {
        Transport::Claude => claude::find_model_setting(&env),
        Transport::Codex => codex::find_model_setting(&env),
        Transport::Gemini => gemini::find_model_setting(&env),
        Transport::Acp => None,
    }
}

/// Whether a program's list of models is that of the service it asks: not where the user leads it to another service, or
/// settings choose a model by themselves. Reads files.
pub(crate) fn lists_whole_service(spec: &Spec, env: &[(String, String)]) -> bool {
    let env = with_own(spec, env);
    let is_led_elsewhere = model_hosts(spec, &env) != spec.hosts || !cloud_keys(&env).is_empty();
    let lists_all = match spec.transport {
        // It takes short names and older models that it does not list.
        Transport::Claude => false,
        Transport::Codex => !codex::names_provider(&env),
        Transport::Gemini | Transport::Acp => true,
    };
    lists_all && !is_led_elsewhere && find_model_setting(spec, &env).is_none()
}

/// A model that was refused, in the light of the settings that name it.
pub(crate) fn explain_model_failure(failure: Failure, spec: &Spec, env: &[(String, String)]) -> Failure {
    let Some(ModelSetting { source, .. }) = find_model_setting(spec, env) else { return failure };
    let hint = format!("the model comes from {source}: correct it and run `coppice resume`, or {}", failure.hint);
    failure.with_hint(hint)
}

/// The environment with what the backend's row sets, which is stronger.
pub(crate) fn with_own(spec: &Spec, env: &[(String, String)]) -> Vec<(String, String)> {
    let is_set = |name: &String| spec.env.iter().any(|(known, _)| known == name);
    env.iter().filter(|(name, _)| !is_set(name)).chain(&spec.env).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::backend::failure::FailureKind;
    use crate::backend::preset;

    #[test]
    fn another_login_of_a_preset_or_a_cloud_counts_and_a_renewed_token_does_not() {
        let home = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let token = home.path().join("token").display().to_string();
        let (bedrock, vertex) = ("CLAUDE_CODE_USE_BEDROCK", "GOOGLE_GENAI_USE_VERTEXAI");
        let pairs = [
            ("HOME", home.path().to_str().unwrap()),
            (bedrock, "1"),
            (vertex, "true"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", &token),
        ];
        let env: Vec<_> = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let opencode = preset::specs().into_iter().find(|row| row.name == "opencode").unwrap();
        for (spec, file, counts) in [
            (opencode, ".local/share/opencode/auth.json", true),
            (claude::spec(), ".aws/credentials", true),
            (claude::spec(), ".aws/config", true),
            (claude::spec(), ".aws/sso/cache/a.json", false),
            (claude::spec(), "token", false),
            (gemini::spec(), ".config/gcloud/application_default_credentials.json", true),
            (codex::spec(), ".config/gcloud/other.json", false),
        ] {
            put(file, "one");
            let before = fingerprint_login(&spec, &env);
            assert_eq!(fingerprint_login(&spec, &env), before, "{file}");
            put(file, "another");
            assert_eq!(fingerprint_login(&spec, &env) != before, counts, "{file}");
        }
    }

    #[test]
    fn codex_looks_for_instructions_under_the_names_of_the_users_configuration_too() {
        let home = tempfile::tempdir().unwrap();
        let env = [("HOME".to_owned(), home.path().display().to_string())];
        assert_eq!(instruction_files(&claude::spec(), &env), ["CLAUDE.md"]);
        assert_eq!(instruction_files(&codex::spec(), &env), ["AGENTS.override.md", "AGENTS.md"]);
        fs::create_dir(home.path().join(".codex")).unwrap();
        let config = "project_doc_fallback_filenames = [\"TEAM.md\", \"\", 3]\n";
        fs::write(home.path().join(".codex/config.toml"), config).unwrap();
        assert_eq!(instruction_files(&codex::spec(), &env), ["AGENTS.override.md", "AGENTS.md", "TEAM.md"]);
    }

    #[test]
    fn a_refused_model_is_traced_to_the_settings_that_name_it() {
        let home = tempfile::tempdir().unwrap();
        let shown = home.path().display().to_string();
        let hint = |spec: &Spec, variables: &[(&str, &str)]| {
            let pairs = [("HOME", shown.as_str())].into_iter().chain(variables.iter().copied());
            let env: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let failure = Failure::new(FailureKind::Model, "no such model").with_hint("choose one");
            explain_model_failure(failure, spec, &env).hint.replace(&shown, "~")
        };
        let (claude, codex, gemini) = (claude::spec(), codex::spec(), gemini::spec());
        for spec in [&claude, &codex, &gemini] {
            assert_eq!(hint(spec, &[]), "choose one");
        }
        for (path, text) in [
            (".claude/settings.json", r#"{"model": "a", /* mine */ }"#),
            (".codex/config.toml", "model = \"b\"\n"),
            (".gemini/settings.json", r#"{"model": {"name": "c"}}"#),
        ] {
            let path = home.path().join(path);
            fs::create_dir(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let hints = [
            hint(&claude, &[]),
            hint(&claude, &[("ANTHROPIC_MODEL", "d")]),
            hint(&codex, &[]),
            hint(&gemini, &[]),
            hint(&gemini, &[("GEMINI_MODEL", "e")]),
        ];
        insta::assert_snapshot!(hints.join("\n"), @r"
        the model comes from `model` of `~/.claude/settings.json`: correct it and run `coppice resume`, or choose one
        the model comes from the variable `ANTHROPIC_MODEL`: correct it and run `coppice resume`, or choose one
        the model comes from `model` of `~/.codex/config.toml`: correct it and run `coppice resume`, or choose one
        the model comes from `model.name` of `~/.gemini/settings.json`: correct it and run `coppice resume`, or choose one
        the model comes from the variable `GEMINI_MODEL`: correct it and run `coppice resume`, or choose one
        ");
        let env_of_settings = r#"{"env": {"ANTHROPIC_MODEL": "f"}, "model": "a"}"#;
        fs::write(home.path().join(".claude/settings.json"), env_of_settings).unwrap();
        let expected = "the model comes from `env.ANTHROPIC_MODEL` of `~/.claude/settings.json`: correct it";
        assert!(hint(&claude, &[("ANTHROPIC_MODEL", "d")]).starts_with(expected));
    }
}
