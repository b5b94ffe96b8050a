//! What a person does about a login that is missing or refused, as far as it is not the backend's own: keys in variables and
//! logins of clouds. Pure.

use crate::backend::failure::{Failure, LoginCommand};
use crate::backend::spec::Spec;

/// Advice about a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginRemedy {
    pub(crate) hint: String,
    pub(crate) command: LoginCommand,
}

/// The switches of the clouds, and the advice for each.
const CLOUDS: &[(&[&str], &str, LoginCommand)] = &[
    (
        &["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_ANTHROPIC_AWS"],
        "renew your login to AWS: run `aws sso login`, or correct `~/.aws/credentials` or your `AWS_…` variables; then run \
         `coppice resume`",
        LoginCommand::None,
    ),
    (
        &["CLAUDE_CODE_USE_VERTEX", "GOOGLE_GENAI_USE_VERTEXAI"],
        "renew your login to Google Cloud: run `gcloud auth application-default login`, or correct the file that \
         GOOGLE_APPLICATION_CREDENTIALS names; then run `coppice resume`",
        LoginCommand::Other("gcloud auth application-default login"),
    ),
    (
        &["CLAUDE_CODE_USE_FOUNDRY"],
        "renew your login to Azure: run `az login`, or correct your `ANTHROPIC_FOUNDRY_…` and `AZURE_…` variables; then run \
         `coppice resume`",
        LoginCommand::Other("az login"),
    ),
];

/// The variables that name a proxy, the one that counts for services first.
const PROXIES: &[&str] = &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"];

/// How the libraries of the clouds say that there is no login or that it has run out; the service is not even asked then.
const NO_LOGIN: &[&str] = &[
    "could not load credentials from any providers",
    "could not load the default credentials",
    "could not refresh access token",
    "invalid_grant",
    "invalid_rapt",
    "aws sso login",
    "sso session",
];

impl LoginRemedy {
    /// A hint without a command that logs in.
    pub(crate) fn new(hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), command: LoginCommand::None }
    }

    /// A hint beside the backend's own command.
    pub(crate) fn of_backend(hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), command: LoginCommand::Backend }
    }

    /// The advice for the cloud that a program with this environment uses; `None` while it uses none.
    pub(crate) fn of_cloud(env: &[(String, String)]) -> Option<Self> {
        let (_, hint, command) = CLOUDS.iter().find(|(switches, ..)| is_on(env, switches))?;
        Some(Self { hint: (*hint).to_owned(), command: command.clone() })
    }

    /// The advice for an agent about which nothing but its row is known; `None` where that says nothing either.
    pub(crate) fn of_agent(spec: &Spec) -> Option<Self> {
        match (&spec.login, &spec.key) {
            (Some(login), Some(key)) => Some(Self::of_backend(format!(
                "run `{login}`, or `export {key}=…` with a valid key; then run `coppice resume`"
            ))),
            (Some(login), None) => Some(Self::of_backend(format!("run `{login}`, then run `coppice resume`"))),
            (None, Some(key)) => Some(Self::of_variable(key)),
            (None, None) => None,
        }
    }

    /// The advice for a key in a variable of the user's shell.
    pub(crate) fn of_variable(name: &str) -> Self {
        Self::new(format!("run `export {name}=…` with a valid key, then `coppice resume`"))
    }
}

/// A failure to reach a service, with the proxy that the environment names.
pub(crate) fn explain_transport_failure(failure: Failure, env: &[(String, String)]) -> Failure {
    let Some((name, proxy)) = PROXIES.iter().find_map(|name| Some((name, value(env, name)?))) else { return failure };
    let proxy = without_login(proxy);
    failure.with_hint(format!(
        "the backend could not reach its service: check the network and the proxy `{proxy}` that `{name}` names, then run \
         `coppice resume`"
    ))
}

/// An address without the name and password that it may hold.
fn without_login(address: &str) -> String {
    let (scheme, rest) =
        address.split_once("://").map_or(("", address), |(_, rest)| (&address[..address.len() - rest.len()], rest));
    format!("{scheme}{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host))
}

/// Whether a program says that its login to a cloud is missing or has run out.
pub(crate) fn lacks_cloud_login(message: &str) -> bool {
    let message = message.to_lowercase();
    NO_LOGIN.iter().any(|words| message.contains(words))
}

/// Whether one of these variables is set to something that means yes.
pub(crate) fn is_on(env: &[(String, String)], switches: &[&str]) -> bool {
    switches.iter().any(|switch| value(env, switch).is_some_and(|value| !matches!(value, "0" | "false")))
}

/// The value of a variable, unless it is empty.
pub(crate) fn value<'a>(env: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = env.iter().rev().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::failure::FailureKind;

    #[test]
    fn the_cloud_in_use_has_its_own_login() {
        for (switch, expected) in [
            ("CLAUDE_CODE_USE_BEDROCK=1", Some("aws sso login")),
            ("CLAUDE_CODE_USE_BEDROCK=0", None),
            ("CLAUDE_CODE_USE_VERTEX=true", Some("gcloud auth application-default login")),
            ("GOOGLE_GENAI_USE_VERTEXAI=true", Some("gcloud auth application-default login")),
            ("CLAUDE_CODE_USE_FOUNDRY=1", Some("az login")),
            ("PATH=/bin", None),
        ] {
            let (name, value) = switch.split_once('=').unwrap();
            let remedy = LoginRemedy::of_cloud(&[(name.to_owned(), value.to_owned())]);
            assert_eq!(remedy.is_some(), expected.is_some(), "{switch}");
            if let (Some(remedy), Some(command)) = (remedy, expected) {
                assert!(remedy.hint.contains(command) && remedy.hint.ends_with("`coppice resume`"), "{}", remedy.hint);
            }
        }
    }

    #[test]
    fn a_service_out_of_reach_is_told_with_the_proxy() {
        let hint = |variables: &[(&str, &str)]| {
            let env: Vec<_> = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            explain_transport_failure(Failure::new(FailureKind::Transport, "no"), &env).hint
        };
        let named = |proxy: &str| {
            let check = "the backend could not reach its service: check the network";
            format!("{check} and the proxy {proxy} names, then run `coppice resume`")
        };
        assert_eq!(hint(&[("HTTPS_PROXY", "")]), FailureKind::Transport.hint());
        for (variables, expected) in [
            ([("http_proxy", "http://a:1"), ("HTTPS_PROXY", "http://b:2")], "`http://b:2` that `HTTPS_PROXY`"),
            (
                [("HTTP_PROXY", "http://a:1"), ("ALL_PROXY", "socks5://me:p@ss@b:2/")],
                "`socks5://b:2/` that `ALL_PROXY`",
            ),
            ([("https_proxy", "me:pass@proxy:1"), ("NO_PROXY", "*")], "`proxy:1` that `https_proxy`"),
        ] {
            assert_eq!(hint(&variables), named(expected));
        }
    }

    #[test]
    fn a_missing_login_of_a_cloud_is_known_by_its_words() {
        for message in [
            "API Error: Could not load credentials from any providers",
            "Could not load the default credentials. Browse to https://cloud.google.com/docs",
            "API Error: invalid_grant",
            "Token is expired. To refresh this SSO session run 'aws sso login' with the corresponding profile.",
        ] {
            assert!(lacks_cloud_login(message), "{message}");
        }
        for message in ["API Error: 400 nope", "fetch failed", ""] {
            assert!(!lacks_cloud_login(message), "{message}");
        }
    }
}
