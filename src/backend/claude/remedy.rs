//! What a person does about a refused login of Claude: what the program logs in with decides what helps. Pure.

use std::path::Path;

use crate::backend::claude::argv::KEY_VARIABLE;
use crate::backend::remedy::{LoginRemedy, cloud_keys, value};
use crate::backend::spec::Spec;

/// For a login of the program's own.
const LOGIN: &str = "run `claude auth login` (with `--sso` where the organisation asks for it), check it with \
    `claude auth status`, then run `coppice resume`";

/// Variables with a key or a token, in the order in which the program prefers them. What a helper prints comes after the
/// first two, the login of the program itself after all.
const KEYS: &[&str] = &["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"];
const TOKEN: &str = "CLAUDE_CODE_OAUTH_TOKEN";

/// What the program was started with, and who set it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoginSources<'a> {
    /// The whole environment of the program.
    pub(crate) env: &'a [(String, String)],
    /// The backend, and what its configuration sets of it.
    pub(crate) spec: &'a Spec,
    /// What `env` of the user's settings sets of it, and their file.
    pub(crate) settings_env: &'a [(String, String)],
    pub(crate) settings_file: &'a Path,
}

pub(crate) fn find_remedy(sources: LoginSources<'_>) -> LoginRemedy {
    let LoginSources { env, spec, settings_env, settings_file } = sources;
    let is_set = |name: &str| value(env, name).is_some();
    if let Some(remedy) = LoginRemedy::of_cloud(env, spec) {
        let key = cloud_keys(env).iter().find(|name| value(settings_env, name).is_some());
        return key.map_or(remedy, |name| replace_key(name, sources));
    }
    if let Some(name) = KEYS.iter().find(|name| is_set(name)) {
        return replace_key(name, sources);
    }
    if is_set(KEY_VARIABLE) {
        let file = settings_file.display();
        return LoginRemedy::new(format!(
            "the service refuses the key that `apiKeyHelper` of `{file}` prints: correct it, then run `coppice resume`"
        ));
    }
    if is_set(TOKEN) { replace_key(TOKEN, sources) } else { LoginRemedy::of_backend(LOGIN) }
}

/// How a key is replaced where it is set.
fn replace_key(name: &str, sources: LoginSources<'_>) -> LoginRemedy {
    let LoginSources { spec, settings_env, settings_file, .. } = sources;
    if let Some(remedy) = LoginRemedy::of_backend_variables(spec, &[name]) {
        return remedy;
    }
    if value(settings_env, name).is_some() {
        let file = settings_file.display();
        return LoginRemedy::new(format!("correct `{name}` in `env` of `{file}`, then run `coppice resume`"));
    }
    LoginRemedy::new(format!(
        "run `export {name}=…` with a valid key, or `unset {name}` to use the login of `claude auth login`; then run \
         `coppice resume`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::claude;
    use crate::backend::failure::LoginCommand;

    #[test]
    fn what_the_program_logs_in_with_decides_what_helps() {
        let pairs = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect::<Vec<_>>();
        for (shell, settings, backend, expected) in [
            (&["PATH"][..], &[][..], &[][..], "run `claude auth login` (with `--sso`"),
            (&["ANTHROPIC_API_KEY"], &[], &[], "run `export ANTHROPIC_API_KEY=…` with a valid key, or `unset"),
            (&["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"], &[], &[], "run `export ANTHROPIC_AUTH_TOKEN=…`"),
            (&["CLAUDE_CODE_OAUTH_TOKEN"], &[], &[], "run `export CLAUDE_CODE_OAUTH_TOKEN=…`"),
            (&[KEY_VARIABLE, "CLAUDE_CODE_OAUTH_TOKEN"], &[], &[], "the service refuses the key that `apiKeyHelper`"),
            (
                &[],
                &["ANTHROPIC_AUTH_TOKEN"],
                &[],
                "correct `ANTHROPIC_AUTH_TOKEN` in `env` of `/h/settings.json`, then",
            ),
            (
                &[],
                &[],
                &["ANTHROPIC_API_KEY"],
                "correct `ANTHROPIC_API_KEY` below `[backends.claude.env]` in config.toml",
            ),
            (&["ANTHROPIC_API_KEY", "CLAUDE_CODE_USE_BEDROCK"], &[], &[], "renew your login to AWS"),
            (
                &["CLAUDE_CODE_USE_FOUNDRY"],
                &["ANTHROPIC_FOUNDRY_API_KEY"],
                &[],
                "correct `ANTHROPIC_FOUNDRY_API_KEY` in `env` of `/h/settings.json`, then",
            ),
        ] {
            let (settings_env, backend_env) = (pairs(settings), pairs(backend));
            let env = [pairs(shell), settings_env.clone(), backend_env.clone()].concat();
            let settings_file = Path::new("/h/settings.json");
            let spec = Spec { env: backend_env, ..claude::spec() };
            let sources = LoginSources { env: &env, spec: &spec, settings_env: &settings_env, settings_file };
            let remedy = find_remedy(sources);
            assert!(remedy.hint.starts_with(expected), "{}", remedy.hint);
            assert!(remedy.hint.ends_with("`coppice resume`"), "{}", remedy.hint);
            assert_eq!(remedy.command == LoginCommand::Backend, expected.starts_with("run `claude auth login`"));
        }
    }
}
