//! What an error of Codex means: a code to branch on where there is one, the text where there is none.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::backend::failure::{Failure, FailureKind};
use crate::backend::remedy::LoginRemedy;
use crate::backend::spec::Spec;
pub(super) use crate::backend::transport::fault::{SLOW_START, closed, crashed, interrupted};
use crate::backend::transport::jsonrpc::RpcError;
use crate::config::agent_variables::is_aws_provider;

/// What a person does when nobody is logged in.
pub(super) const LOGIN: &str = "run `codex login`, or `codex login --with-api-key` with a key on stdin (one in the \
                                environment is not used), then `coppice resume`";

/// How Codex says that the variable with the key of a model provider is not there.
const UNSET: &str = "Missing environment variable";

/// How Codex says that a service knows who asks and does not let them.
const FORBIDDEN: &str = "status 403";

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    Error(RpcError),
    /// No reply within the time: a malformed line is not even refused.
    Silence,
}

/// How Codex says that it has no key at all: what prints one failed, or there is no login to AWS. The service is not asked.
const NO_KEY: &[&str] = &["provider auth command", "failed to load AWS credentials"];

/// What is known about the user's configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct UserConfig<'a> {
    /// The backend, with the variables that the configuration of Coppice sets.
    pub(super) spec: &'a Spec,
    /// As Codex reads it.
    pub(super) effective: &'a Value,
    pub(super) file: Option<&'a Path>,
    /// Variables that it names and that are not set.
    pub(super) unset: &'a [String],
}

/// The failure that the error of a turn stands for.
pub(super) fn classify(error: &Value) -> Failure {
    let message = error["message"].as_str().unwrap_or_default();
    let (name, status) = read_info(&error["codexErrorInfo"]);
    let kind = match (name, status) {
        ("unauthorized", _) | (_, Some(401 | 403)) => return not_logged_in(message),
        ("usageLimitExceeded", _) if message.to_lowercase().contains("quota") => FailureKind::Quota,
        ("usageLimitExceeded" | "rateLimitExceeded", _) | (_, Some(429)) => FailureKind::RateLimit { resets_at: None },
        ("sessionBudgetExceeded", _) => FailureKind::Quota,
        ("modelNotFound", _) => FailureKind::Model,
        ("cyberPolicy" | "misalignmentPolicyViolation" | "tooManyDenials", _) => FailureKind::Model,
        ("contextWindowExceeded", _) => FailureKind::Context,
        ("sandboxError", _) => FailureKind::Sandbox,
        ("serverOverloaded" | "internalServerError" | "flexUnavailable" | "policyCapacityUnavailable", _) => {
            FailureKind::Transport
        }
        ("httpConnectionFailed" | "responseStreamConnectionFailed", _) => FailureKind::Transport,
        ("responseStreamDisconnected" | "responseTooManyFailedAttempts", _) => FailureKind::Transport,
        _ => return classify_text(message),
    };
    Failure::new(kind, said(message))
}

/// The failure that a refused request stands for.
pub(super) fn refused(what: &str, refusal: &Refusal, config_file: Option<&Path>) -> Failure {
    match refusal {
        Refusal::Silence => Failure::new(FailureKind::Timeout, format!("codex did not answer {what}")),
        Refusal::Error(error) if error.data["input_error_code"] == "input_too_large" => {
            Failure::new(FailureKind::Context, said(&error.message)).with_hint("send a shorter prompt")
        }
        // The text of a broken configuration names file, line and column.
        Refusal::Error(error) if error.message.contains("failed to load configuration") => {
            Failure::new(FailureKind::Setup, said(&error.message)).with_hint(correct(config_file))
        }
        Refusal::Error(error) => {
            Failure::new(FailureKind::Protocol, format!("codex refuses {what}: {}", said(&error.message)))
        }
    }
}

/// Errors without a code: the raw reply of the service, or a sentence.
fn classify_text(message: &str) -> Failure {
    let body: Value = serde_json::from_str(message).unwrap_or_default();
    let inner = body["error"]["message"].as_str().map_or_else(|| said(message), str::to_owned);
    if body["error"]["code"] == "invalid_json_schema" || message.contains("invalid_json_schema") {
        let text = format!("the service refuses the schema of the response: {inner}");
        return Failure::new(FailureKind::Protocol, text).with_hint(FailureKind::Model.hint());
    }
    let says = |words: &str| message.contains(words);
    let kind = match () {
        () if says(UNSET) => FailureKind::Setup,
        () if NO_KEY.iter().any(|words| says(words)) => return not_logged_in(&inner),
        () if says("stream disconnected") || says("idle timeout") => FailureKind::Transport,
        () if says("max_output_tokens") => FailureKind::Context,
        () if says("content_filter") => FailureKind::Model,
        () if says("does not exist") || says("model_not_found") || says("is not supported") => FailureKind::Model,
        () => FailureKind::Protocol,
    };
    Failure::new(kind, inner)
}

/// The same failure, for a model provider of the user's own: with the variables that its key and its headers are in, and who
/// says so. A header that is not sent at all is the more likely reason of a refusal. What the configuration of Coppice sets
/// is corrected there, and a provider that takes no login of Codex gets no advice about one.
pub(super) fn name_variables(failure: Failure, user: UserConfig<'_>) -> Failure {
    let name = user.effective["model_provider"].as_str().unwrap_or_default();
    let provider = &user.effective["model_providers"][name];
    let key = provider["env_key"].as_str();
    let headers = provider["env_http_headers"].as_object().into_iter().flatten();
    let headers: Vec<&str> = headers.filter_map(|(_, variable)| variable.as_str()).collect();
    let file = user.file.map_or_else(|| "config.toml".to_owned(), |path| path.display().to_string());
    let source = |what: &str| format!("`{file}` takes {what} of the model provider `{name}` from");
    if let Some(key) = key.filter(|_| failure.message.contains(UNSET)) {
        let message = format!("{} the variable `{key}`, which is not set", source("the key"));
        let hint = LoginRemedy::of_backend_variables(user.spec, &[key])
            .map_or_else(|| format!("run `export {key}=…`, then `coppice resume`"), |remedy| remedy.hint);
        return Failure { message, ..failure }.with_hint(hint);
    }
    if failure.kind != FailureKind::Auth {
        return failure;
    }
    let variables: Vec<&str> = key.into_iter().chain(headers.iter().copied()).collect();
    if let Some(remedy) = LoginRemedy::of_backend_variables(user.spec, &variables) {
        return failure.with_remedy(&remedy);
    }
    let is_unset = |variable: &&str| user.unset.iter().any(|unset| unset == variable);
    let missing: Vec<&str> = headers.iter().copied().filter(is_unset).collect();
    let is_forbidden = failure.message.contains(FORBIDDEN);
    let hint = match (missing.as_slice(), key, headers.as_slice()) {
        ([_, ..], _, _) => {
            let unset = if missing.len() == 1 { "which is not set" } else { "which are not set" };
            let export = export(&missing);
            format!("{} {}, {unset}: run {export}, then `coppice resume`", source("headers"), listed(&missing))
        }
        ([], Some(key), [_, ..]) if is_forbidden => {
            let (source, headers) = (source("the key"), listed(&headers));
            format!(
                "{source} the variable `{key}` and headers from {headers}: run {} with valid values, then `coppice resume`",
                export(&variables)
            )
        }
        ([], Some(key), _) => {
            format!("{} the variable `{key}`: {}", source("the key"), LoginRemedy::of_variable(key, user.spec).hint)
        }
        ([], None, [_, ..]) => {
            let export = export(&headers);
            format!("{} {}: run {export} with valid values, then `coppice resume`", source("headers"), listed(&headers))
        }
        ([], None, []) => match find_other_remedy(name, provider, &file, user.spec) {
            Some(remedy) => return failure.with_remedy(&remedy),
            None => return failure,
        },
    };
    failure.with_remedy(&LoginRemedy::new(hint))
}

/// What helps against the refusal of a provider that takes no variables; `None` where the login of Codex counts, which is so
/// only for the service of OpenAI and for providers that ask for it.
fn find_other_remedy(name: &str, provider: &Value, file: &str, spec: &Spec) -> Option<LoginRemedy> {
    let is_set = |key: &str| !provider[key].is_null();
    let correct = |key: &str| {
        LoginRemedy::new(format!(
            "correct `{key}` of the model provider `{name}` in `{file}`, then run `coppice resume`"
        ))
    };
    if let Some(command) = provider["auth"]["command"].as_str() {
        return Some(LoginRemedy::new(format!(
            "`{file}` takes the key of the model provider `{name}` from what `{command}` prints: correct that, then run \
             `coppice resume`"
        )));
    }
    if is_aws_provider(name) {
        return Some(LoginRemedy::of_aws(spec));
    }
    match () {
        () if name.is_empty() || name == "openai" => None,
        () if is_set("experimental_bearer_token") => Some(correct("experimental_bearer_token")),
        () if provider["requires_openai_auth"] == true => None,
        () if is_set("http_headers") => Some(correct("http_headers")),
        () => Some(LoginRemedy::new(format!(
            "the model provider `{name}` of `{file}` has no key: name the variable that holds it by `env_key`, export that \
             variable, then run `coppice resume`"
        ))),
    }
}

/// Variables in a sentence.
fn listed(variables: &[&str]) -> String {
    let names: Vec<_> = variables.iter().map(|name| format!("`{name}`")).collect();
    let noun = if names.len() == 1 { "the variable" } else { "the variables" };
    format!("{noun} {}", names.join(", "))
}

/// The command that sets variables.
fn export(variables: &[&str]) -> String {
    let set: Vec<_> = variables.iter().map(|name| format!("{name}=…")).collect();
    format!("`export {}`", set.join(" "))
}

/// The configuration is refused, in the words of a request that does not name its place.
pub(super) fn refused_config(refusal: &Refusal, config_file: Option<&Path>) -> Failure {
    match refusal {
        Refusal::Silence => refused("to tell its configuration", refusal, config_file),
        Refusal::Error(error) => Failure::new(FailureKind::Setup, said(&error.message)).with_hint(correct(config_file)),
    }
}

/// The configuration is a pipe, a directory or closed to its owner.
pub(super) fn unreadable_config(path: &Path, error: &io::Error) -> Failure {
    Failure::new(FailureKind::Setup, format!("{}: {error}", path.display())).with_hint(correct(Some(path)))
}

/// What a person does about a configuration that Codex refuses.
fn correct(config_file: Option<&Path>) -> String {
    let what =
        config_file.map_or_else(|| "the configuration of codex".to_owned(), |path| format!("`{}`", path.display()));
    format!("correct {what}, then run `coppice resume`")
}

/// The name and the HTTP status of a `codexErrorInfo`: a string, or an object with one key.
fn read_info(info: &Value) -> (&str, Option<u64>) {
    match info {
        Value::Object(one) => {
            one.iter().next().map_or(("", None), |(name, value)| (name.as_str(), value["httpStatusCode"].as_u64()))
        }
        other => (other.as_str().unwrap_or_default(), None),
    }
}

fn said(message: &str) -> String {
    if message.trim().is_empty() { "codex gave no reason".to_owned() } else { message.trim().to_owned() }
}

/// Nobody is logged in, or the login is not accepted.
pub(super) fn not_logged_in(message: &str) -> Failure {
    Failure::new(FailureKind::Auth, said(message)).with_hint(LOGIN)
}

/// The task that owns the process dropped the conversation.
pub(super) fn cut_off() -> Failure {
    Failure::new(FailureKind::Crashed, "the conversation lost its way to codex")
}

/// The agent ended the turn and nobody asked for it.
pub(super) fn cancelled() -> Failure {
    Failure::new(FailureKind::Cancelled, "codex cancelled the turn")
}

pub(super) fn slow_start(limit: Duration) -> Failure {
    let text = format!("codex did not start within {} seconds", limit.as_secs());
    Failure::new(FailureKind::Timeout, text).with_hint(SLOW_START)
}

/// The shared process runs but answers nobody.
pub(super) fn hung() -> Failure {
    Failure::new(FailureKind::Crashed, "codex stopped answering and was ended")
}

/// The session opened in another place or another sandbox than it was asked to.
pub(super) fn opened_wrongly(what: &str, asked: &str, got: &str) -> Failure {
    Failure::new(
        FailureKind::Sandbox,
        format!("codex opened the conversation with {what} `{got}`, asked for `{asked}`"),
    )
}

/// Commands cannot be confined on this machine; none is run then.
pub(super) fn no_sandbox(said: &str) -> Failure {
    let reason = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason").trim();
    let hint = "install bubblewrap and allow user namespaces, or set `level = \"off\"` below `[sandbox]` in config.toml; then run \
                `coppice resume`";
    Failure::new(FailureKind::Sandbox, format!("codex cannot make a sandbox for commands: {reason}")).with_hint(hint)
}

pub(super) fn no_directory(what: &str, path: &Path) -> Failure {
    Failure::new(FailureKind::Setup, format!("{what} `{}` is not a directory", path.display()))
}

/// Codex refuses to keep the helper of its sandbox among temporary files, and no command works without it.
pub(super) fn unfit_home(home: &Path, temporary: &Path) -> Failure {
    let (home, temporary) = (home.display(), temporary.display());
    let text = format!("codex cannot run commands with its home `{home}` below the temporary directory `{temporary}`");
    Failure::new(FailureKind::Sandbox, text)
        .with_hint("run `export CODEX_HOME=…` with a directory elsewhere, then `coppice resume`")
}

/// Codex keeps its conversations there, and ends without.
pub(super) fn unwritable_home(home: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull => "free some space on that disk, then run `coppice resume`",
        _ => "make that directory writable, or `export CODEX_HOME=…` with another one; then run `coppice resume`",
    };
    Failure::new(FailureKind::Setup, format!("codex cannot write in its home `{}`: {error}", home.display()))
        .with_hint(hint)
}

/// Where its settings are is told by the environment alone.
pub(super) fn no_home() -> Failure {
    Failure::new(FailureKind::Setup, "neither CODEX_HOME nor HOME is set")
}

/// Without a file of its own the interface would write into the user's settings.
pub(super) fn no_layer(home: &Path, error: &io::Error) -> Failure {
    Failure::new(FailureKind::Setup, format!("cannot write in the home of codex `{}`: {error}", home.display()))
        .with_hint("`coppice shell` opens a shell in the worktree")
}

/// Codex goes on without an image that it cannot read, so a missing one is refused before.
pub(super) fn no_image(path: &Path) -> Failure {
    Failure::new(FailureKind::Setup, format!("image `{}` cannot be read", path.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::codex;

    #[track_caller]
    fn check(info: Value, message: &str, kind: &str, text: &str) {
        let failure = classify(&json!({"message": message, "codexErrorInfo": info}));
        assert_eq!((failure.kind.as_str(), failure.message.as_str()), (kind, text));
        assert!(!failure.hint.is_empty());
    }

    #[test]
    fn every_error_of_the_service_finds_its_kind() {
        check(
            json!({"httpConnectionFailed": {"httpStatusCode": 401}}),
            "unexpected status 401",
            "auth",
            "unexpected status 401",
        );
        check(json!("unauthorized"), "no", "auth", "no");
        check(json!("internalServerError"), "high demand", "transport", "high demand");
        check(
            json!({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}),
            "last status: 429",
            "rate_limit",
            "last status: 429",
        );
        check(json!("usageLimitExceeded"), "You've hit your usage limit", "rate_limit", "You've hit your usage limit");
        check(json!("usageLimitExceeded"), "Quota exceeded.", "quota", "Quota exceeded.");
        check(json!("modelNotFound"), "The model `x` does not exist", "model", "The model `x` does not exist");
        check(json!("contextWindowExceeded"), "too long", "context", "too long");
        check(json!("serverOverloaded"), "at capacity", "transport", "at capacity");
        check(json!({"httpConnectionFailed": {"httpStatusCode": null}}), "refused", "transport", "refused");
        check(json!({"responseStreamDisconnected": {"httpStatusCode": null}}), "cut", "transport", "cut");
        check(json!("sandboxError"), "denied", "sandbox", "denied");
        check(json!("cyberPolicy"), "refused", "model", "refused");
        let cut = "stream disconnected before completion: Transport error";
        check(json!("other"), cut, "transport", cut);
        let incomplete = "Incomplete response returned, reason: max_output_tokens";
        check(json!("other"), incomplete, "context", incomplete);
        let unset = "Missing environment variable: `FAKE_API_KEY`.";
        check(json!("other"), unset, "setup", unset);
        check(json!({"fromTheFuture": {}}), "", "protocol", "codex gave no reason");
        check(Value::Null, "it broke", "protocol", "it broke");
    }

    #[test]
    fn a_key_of_the_users_own_provider_is_named_with_the_file_that_asks_for_it() {
        let user = json!({"model_provider": "x", "model_providers": {"x": {"env_key": "X_KEY"}}});
        let file = Some(Path::new("/c/config.toml"));
        let named = |message: &str, info: Value, user: &Value| {
            let user = UserConfig { spec: &codex::spec(), effective: user, file, unset: &[] };
            let failure = name_variables(classify(&json!({"message": message, "codexErrorInfo": info})), user);
            (failure.kind.as_str(), failure.message, failure.hint)
        };
        let source = "`/c/config.toml` takes the key of the model provider `x` from the variable `X_KEY`";
        let unset = named("Missing environment variable: `X_KEY`.", json!("other"), &user);
        let hint = "run `export X_KEY=…`, then `coppice resume`".to_owned();
        assert_eq!(unset, ("setup", format!("{source}, which is not set"), hint));
        let refused = named("no", json!("unauthorized"), &user);
        let hint = format!("{source}: run `export X_KEY=…` with a valid key, then `coppice resume`");
        assert_eq!(refused, ("auth", "no".to_owned(), hint));
        let account = named("no", json!("unauthorized"), &json!({"model_provider": null}));
        assert_eq!(account, ("auth", "no".to_owned(), LOGIN.to_owned()));
        assert_eq!(named("busy", json!("serverOverloaded"), &user).2, FailureKind::Transport.hint());
    }

    #[test]
    fn a_refusal_names_the_headers_that_are_missing_before_the_key() {
        let headers = json!({"X-Org": "X_ORG", "X-Team": "X_TEAM"});
        let provider = |provider: Value| json!({"model_provider": "x", "model_providers": {"x": provider}});
        let both = provider(json!({"env_key": "X_KEY", "env_http_headers": headers}));
        let alone = provider(json!({"env_http_headers": {"X-Team": "X_TEAM"}}));
        let file = Some(Path::new("/c/config.toml"));
        let hint = |status: u64, effective: &Value, unset: &[&str]| {
            let info = json!({"httpConnectionFailed": {"httpStatusCode": status}});
            let message = format!("unexpected status {status}: no");
            let unset: Vec<_> = unset.iter().map(|&name| name.to_owned()).collect();
            let user = UserConfig { spec: &codex::spec(), effective, file, unset: &unset };
            name_variables(classify(&json!({"message": message, "codexErrorInfo": info})), user).hint
        };
        let hints = [
            hint(403, &both, &["X_TEAM", "OTHER"]),
            hint(401, &both, &["X_ORG", "X_TEAM"]),
            hint(403, &both, &[]),
            hint(401, &both, &[]),
            hint(403, &alone, &[]),
            hint(403, &alone, &["X_TEAM"]),
        ];
        insta::assert_snapshot!(hints.join("\n"), @r"
        `/c/config.toml` takes headers of the model provider `x` from the variable `X_TEAM`, which is not set: run `export X_TEAM=…`, then `coppice resume`
        `/c/config.toml` takes headers of the model provider `x` from the variables `X_ORG`, `X_TEAM`, which are not set: run `export X_ORG=… X_TEAM=…`, then `coppice resume`
        `/c/config.toml` takes the key of the model provider `x` from the variable `X_KEY` and headers from the variables `X_ORG`, `X_TEAM`: run `export X_KEY=… X_ORG=… X_TEAM=…` with valid values, then `coppice resume`
        `/c/config.toml` takes the key of the model provider `x` from the variable `X_KEY`: run `export X_KEY=…` with a valid key, then `coppice resume`
        `/c/config.toml` takes headers of the model provider `x` from the variable `X_TEAM`: run `export X_TEAM=…` with valid values, then `coppice resume`
        `/c/config.toml` takes headers of the model provider `x` from the variable `X_TEAM`, which is not set: run `export X_TEAM=…`, then `coppice resume`
        ");
    }

    #[test]
    fn a_provider_that_takes_no_login_of_codex_gets_no_advice_about_one() {
        let hint = |name: &str, provider: Value, message: &str, env: &[&str]| {
            let env = env.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
            let (spec, effective) =
                (Spec { env, ..codex::spec() }, json!({"model_provider": name, "model_providers": {name: provider}}));
            let user = UserConfig { spec: &spec, effective: &effective, file: Some(Path::new("/c")), unset: &[] };
            let info = if message == REFUSED {
                json!({"httpConnectionFailed": {"httpStatusCode": 401}})
            } else {
                json!("other")
            };
            let failure = name_variables(classify(&json!({"message": message, "codexErrorInfo": info})), user);
            assert_eq!(failure.kind, FailureKind::Auth, "{message}");
            failure.hint
        };
        const REFUSED: &str = "unexpected status 401 Unauthorized: no";
        let aws = "stream disconnected before completion: failed to load AWS credentials: the credential provider was not enabled";
        let command = "provider auth command `key` exited with status exit status: 1";
        let hints = [
            hint("x", json!({"auth": {"command": "key"}}), command, &[]),
            hint("amazon-bedrock", json!({"auth": null}), aws, &[]),
            hint("amazon-bedrock", json!({"auth": null}), aws, &["AWS_ACCESS_KEY_ID", "AWS_REGION"]),
            hint("x", json!({"env_key": "X_KEY"}), REFUSED, &["X_KEY"]),
            hint("x", json!({"experimental_bearer_token": "t"}), REFUSED, &[]),
            hint("x", json!({"http_headers": {"A": "b"}}), REFUSED, &[]),
            hint("x", json!({}), REFUSED, &[]),
            hint("x", json!({"requires_openai_auth": true}), REFUSED, &[]),
        ];
        insta::assert_snapshot!(hints.join("\n"), @r"
        `/c` takes the key of the model provider `x` from what `key` prints: correct that, then run `coppice resume`
        renew your login to AWS: run `aws sso login`, or correct `~/.aws/credentials` or your `AWS_…` variables; then run `coppice resume`
        correct `AWS_ACCESS_KEY_ID` below `[backends.codex.env]` in config.toml, then run `coppice resume`
        correct `X_KEY` below `[backends.codex.env]` in config.toml, then run `coppice resume`
        correct `experimental_bearer_token` of the model provider `x` in `/c`, then run `coppice resume`
        correct `http_headers` of the model provider `x` in `/c`, then run `coppice resume`
        the model provider `x` of `/c` has no key: name the variable that holds it by `env_key`, export that variable, then run `coppice resume`
        run `codex login`, or `codex login --with-api-key` with a key on stdin (one in the environment is not used), then `coppice resume`
        ");
    }

    #[test]
    fn a_home_that_cannot_be_written_is_named() {
        let told = |kind: io::ErrorKind| {
            let Failure { kind, message, hint, .. } = unwritable_home(Path::new("/c"), &kind.into());
            format!("{kind}: {message} | {hint}")
        };
        insta::assert_snapshot!([told(io::ErrorKind::PermissionDenied), told(io::ErrorKind::StorageFull)].join("\n"), @r"
        setup: codex cannot write in its home `/c`: permission denied | make that directory writable, or `export CODEX_HOME=…` with another one; then run `coppice resume`
        setup: codex cannot write in its home `/c`: no storage space | free some space on that disk, then run `coppice resume`
        ");
    }

    #[test]
    fn a_refused_schema_is_found_inside_the_raw_reply() {
        let body = json!({"error": {"message": "Invalid schema", "code": "invalid_json_schema"}}).to_string();
        check(json!("other"), &body, "protocol", "the service refuses the schema of the response: Invalid schema");
        let other = json!({"error": {"message": "bad thing"}}).to_string();
        check(json!("other"), &other, "protocol", "bad thing");
    }

    #[test]
    fn a_refused_request_says_what_was_asked() {
        let error = |message: &str, data| Refusal::Error(RpcError { code: -32600, message: message.to_owned(), data });
        let kind = |refusal| refused("a turn", &refusal, None).kind;
        assert_eq!(kind(Refusal::Silence), FailureKind::Timeout);
        assert_eq!(kind(error("too large", json!({"input_error_code": "input_too_large"}))), FailureKind::Context);
        assert_eq!(refused("a turn", &error("no", Value::Null), None).message, "codex refuses a turn: no");
        let broken = error("failed to load configuration: x:1:2", Value::Null);
        for (file, expected) in [
            (Some(Path::new("/c/config.toml")), "correct `/c/config.toml`, then run `coppice resume`"),
            (None, "correct the configuration of codex, then run `coppice resume`"),
        ] {
            for failure in [refused("a turn", &broken, file), refused_config(&broken, file)] {
                assert_eq!((failure.kind, failure.hint.as_str()), (FailureKind::Setup, expected));
            }
        }
    }
}
