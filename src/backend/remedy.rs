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

/// A cloud whose models a program uses.
struct Cloud {
    /// Variables that lead a program to it.
    switches: &'static [&'static str],
    /// Variables with its keys.
    keys: &'static [&'static str],
    hint: &'static str,
    command: LoginCommand,
}

const AWS: Cloud = Cloud {
    switches: &["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_ANTHROPIC_AWS"],
    keys: &["AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
    hint: "renew your login to AWS: run `aws sso login`, or correct `~/.aws/credentials` or your `AWS_…` variables; then run \
           `coppice resume`",
    command: LoginCommand::None,
};

const CLOUDS: &[Cloud] = &[
    AWS,
    Cloud {
        switches: &["CLAUDE_CODE_USE_VERTEX", "GOOGLE_GENAI_USE_VERTEXAI"],
        keys: &["GOOGLE_APPLICATION_CREDENTIALS"],
        hint: "renew your login to Google Cloud: run `gcloud auth application-default login`, or correct the file that \
               GOOGLE_APPLICATION_CREDENTIALS names; then run `coppice resume`",
        command: LoginCommand::Other("gcloud auth application-default login"),
    },
    // The files of `az login` stay out of reach of the sandbox.
    Cloud {
        switches: &["CLAUDE_CODE_USE_FOUNDRY"],
        keys: &["ANTHROPIC_FOUNDRY_API_KEY"],
        hint: "run `export ANTHROPIC_FOUNDRY_API_KEY=…` with a valid key of your resource in Azure, then `coppice resume`",
        command: LoginCommand::None,
    },
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
    pub(crate) fn of_cloud(env: &[(String, String)], spec: &Spec) -> Option<Self> {
        Some(find_cloud(env)?.remedy(spec))
    }

    /// The advice for a program that uses AWS by its own configuration.
    pub(crate) fn of_aws(spec: &Spec) -> Self {
        AWS.remedy(spec)
    }

    /// The advice for variables that the configuration sets for the backend, which are stronger than those of a shell;
    /// `None` where it sets none of these.
    pub(crate) fn of_backend_variables(spec: &Spec, names: &[&str]) -> Option<Self> {
        let set: Vec<_> = names.iter().filter(|name| value(&spec.env, name).is_some()).collect();
        let names: Vec<_> = set.iter().map(|name| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| {
            let (names, backend) = (names.join(", "), &spec.name);
            Self::new(format!(
                "correct {names} below `[backends.{backend}.env]` in config.toml, then run `coppice resume`"
            ))
        })
    }

    /// The advice for an agent about which nothing but its row is known; `None` where that says nothing either.
    pub(crate) fn of_agent(spec: &Spec) -> Option<Self> {
        match (&spec.login, &spec.key) {
            (_, Some(key)) if value(&spec.env, key).is_some() => Self::of_backend_variables(spec, &[key]),
            (Some(login), Some(key)) => Some(Self::of_backend(format!(
                "run `{login}`, or `export {key}=…` with a valid key; then run `coppice resume`"
            ))),
            (Some(login), None) => Some(Self::of_backend(format!("run `{login}`, then run `coppice resume`"))),
            (None, Some(key)) => Some(Self::of_variable(key, spec)),
            (None, None) => None,
        }
    }

    /// The advice for a key in a variable.
    pub(crate) fn of_variable(name: &str, spec: &Spec) -> Self {
        Self::of_backend_variables(spec, &[name])
            .unwrap_or_else(|| Self::new(format!("run `export {name}=…` with a valid key, then `coppice resume`")))
    }
}

impl Cloud {
    fn remedy(&self, spec: &Spec) -> LoginRemedy {
        let usual = || LoginRemedy { hint: self.hint.to_owned(), command: self.command.clone() };
        LoginRemedy::of_backend_variables(spec, self.keys).unwrap_or_else(usual)
    }
}

/// The cloud that a program with this environment uses.
fn find_cloud(env: &[(String, String)]) -> Option<&'static Cloud> {
    CLOUDS.iter().find(|cloud| is_on(env, cloud.switches))
}

/// The variables with the keys of the cloud that a program with this environment uses; none while it uses none.
pub(crate) fn cloud_keys(env: &[(String, String)]) -> &'static [&'static str] {
    find_cloud(env).map_or(&[], |cloud| cloud.keys)
}

/// A failure to reach a service, with the proxy that the environment names, or the configuration of the backend.
pub(crate) fn explain_transport_failure(failure: Failure, spec: &Spec, env: &[(String, String)]) -> Failure {
    let in_row =
        |name: &&str| Some((format!("below `[backends.{}.env]` in config.toml ", spec.name), value(&spec.env, name)?));
    let find = |name: &'static str| {
        let (place, proxy) = in_row(&name).or_else(|| Some((String::new(), value(env, name)?)))?;
        Some((name, place, without_login(proxy)))
    };
    let Some((name, place, proxy)) = PROXIES.iter().copied().find_map(find) else { return failure };
    failure.with_hint(format!(
        "the backend could not reach its service: check the network and the proxy `{proxy}` that `{name}` {place}names, \
         then run `coppice resume`"
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
    use crate::backend::registry;

    /// A backend whose configuration sets these variables.
    fn row(env: &[(&str, &str)]) -> Spec {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        registry::from_config("mine", vec!["mine".to_owned()], env, Vec::new())
    }

    #[test]
    fn what_the_configuration_sets_is_corrected_there() {
        let correct = |name: &str| {
            format!("correct `{name}` below `[backends.mine.env]` in config.toml, then run `coppice resume`")
        };
        let pair = |name: &str| vec![(name.to_owned(), "1".to_owned())];
        let set = |name: &'static str| row(&[(name, "x")]);
        for (switch, key) in [
            ("CLAUDE_CODE_USE_BEDROCK", "AWS_ACCESS_KEY_ID"),
            ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_APPLICATION_CREDENTIALS"),
            ("CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_API_KEY"),
        ] {
            assert_eq!(LoginRemedy::of_cloud(&pair(switch), &set(key)).unwrap(), LoginRemedy::new(correct(key)));
        }
        let agent = Spec { login: Some("mine login".to_owned()), key: Some("MY_KEY".to_owned()), ..set("MY_KEY") };
        assert_eq!(LoginRemedy::of_agent(&agent).unwrap(), LoginRemedy::new(correct("MY_KEY")));
        assert_eq!(LoginRemedy::of_variable("MY_KEY", &agent).hint, correct("MY_KEY"));
        let failure = Failure::new(FailureKind::Transport, "no");
        let hint = explain_transport_failure(failure, &set("HTTPS_PROXY"), &pair("HTTPS_PROXY")).hint;
        let named = "the proxy `x` that `HTTPS_PROXY` below `[backends.mine.env]` in config.toml names, then run";
        assert!(hint.contains(named), "{hint}");
    }

    #[test]
    fn the_cloud_in_use_has_its_own_login() {
        for (switch, expected) in [
            ("CLAUDE_CODE_USE_BEDROCK=1", Some("aws sso login")),
            ("CLAUDE_CODE_USE_BEDROCK=0", None),
            ("CLAUDE_CODE_USE_VERTEX=true", Some("gcloud auth application-default login")),
            ("GOOGLE_GENAI_USE_VERTEXAI=true", Some("gcloud auth application-default login")),
            ("CLAUDE_CODE_USE_FOUNDRY=1", Some("export ANTHROPIC_FOUNDRY_API_KEY=…")),
            ("PATH=/bin", None),
        ] {
            let (name, value) = switch.split_once('=').unwrap();
            let remedy = LoginRemedy::of_cloud(&[(name.to_owned(), value.to_owned())], &row(&[]));
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
            explain_transport_failure(Failure::new(FailureKind::Transport, "no"), &row(&[]), &env).hint
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
