//! Which hosts an agent cannot do without, and how its processes are told of the only way to them. Pure.

use crate::backend::spec::{Spec, Transport};
use crate::backend::{Confines, Hosts};

/// The hosts without which the agent of a backend cannot think, each with its port where that is not the usual one: those
/// of its service, and the one that the user leads it to instead.
pub fn model_hosts(spec: &Spec, env: &[(String, String)]) -> Vec<String> {
    let set = env.iter().chain(&spec.env).filter(|(name, _)| leads(spec.transport, name));
    let mut hosts = spec.hosts.clone();
    for host in set.filter_map(|(_, url)| host(url)) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// Whether a variable leads an agent to another service.
fn leads(transport: Transport, name: &str) -> bool {
    match transport {
        Transport::Claude => matches!(
            name,
            "ANTHROPIC_BASE_URL"
                | "ANTHROPIC_AWS_BASE_URL"
                | "ANTHROPIC_BEDROCK_BASE_URL"
                | "ANTHROPIC_BEDROCK_MANTLE_BASE_URL"
                | "ANTHROPIC_FOUNDRY_BASE_URL"
                | "ANTHROPIC_VERTEX_BASE_URL"
        ),
        Transport::Codex => name == "OPENAI_BASE_URL",
        Transport::Gemini => {
            matches!(name, "CODE_ASSIST_ENDPOINT" | "GOOGLE_GEMINI_BASE_URL" | "GOOGLE_VERTEX_BASE_URL")
        }
        // Nothing is known about the agent, and this is how most of them call it.
        Transport::Acp => name.ends_with("_BASE_URL"),
    }
}

/// The host of an address.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let host = authority.strip_suffix(usual).unwrap_or(&authority);
    (!host.is_empty() && !host.starts_with(':')).then(|| host.to_owned())
}

impl Confines {
    /// What a process is told about its limits; `door` is the address that it reaches without the proxy.
    pub(crate) fn variables(&self, door: Option<&str>) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        let mut set = |name: &str, value: &str| variables.push((name.to_owned(), value.to_owned()));
        // A command that only reads must not want to write the index, which lies outside of the work tree.
        set("GIT_OPTIONAL_LOCKS", "0");
        if let Some(temp) = &self.temp {
            set("TMPDIR", &temp.to_string_lossy());
        }
        if let Some(Hosts::Only { proxy, .. }) = self.limits.as_ref().map(|limits| &limits.hosts) {
            let proxy = format!("http://127.0.0.1:{proxy}");
            for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
                set(name, &proxy);
            }
            // Nothing else is reached directly, a service on the own machine neither.
            let door = door.and_then(host).unwrap_or_default();
            for name in ["NO_PROXY", "no_proxy"] {
                set(name, &door);
            }
            // One of the user's own would be asked first.
            for name in ["ALL_PROXY", "all_proxy"] {
                set(name, "");
            }
        }
        variables
    }

    /// An environment with what the process is told about its limits.
    pub(crate) fn tell(&self, env: Vec<(String, String)>, door: Option<&str>) -> Vec<(String, String)> {
        let own = self.variables(door);
        let others = env.into_iter().filter(|(name, _)| own.iter().all(|(known, _)| known != name));
        let others: Vec<_> = others.collect();
        others.into_iter().chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::*;
    use crate::backend::{Limits, claude, gemini, registry};

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_service_of_the_users_own_is_among_the_hosts() {
        let hosts = |spec: &Spec, env: &[(String, String)]| model_hosts(spec, env).split_off(spec.hosts.len());
        let claude = claude::spec();
        assert_eq!(model_hosts(&claude, &[]), claude.hosts);
        assert_eq!(hosts(&claude, &[pair("ANTHROPIC_BASE_URL", "https://proxy.corp:8443/v1")]), ["proxy.corp:8443"]);
        assert_eq!(hosts(&claude, &[pair("ANTHROPIC_BASE_URL", "https://api.anthropic.com")]), [""; 0]);
        assert_eq!(hosts(&claude, &[pair("GOOGLE_GEMINI_BASE_URL", "https://a.b")]), [""; 0]);
        let gemini = Spec { env: vec![pair("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:8080")], ..gemini::spec() };
        assert_eq!(hosts(&gemini, &[]), ["127.0.0.1:8080"]);
        let other = registry::from_config("other", vec!["other".to_owned()], Vec::new(), Vec::new());
        assert_eq!(hosts(&other, &[pair("MY_BASE_URL", "https://a.b"), pair("PATH", "/bin")]), ["a.b"]);
    }

    #[test]
    fn a_host_is_read_out_of_an_address() {
        for (url, expected) in [
            ("https://api.example.com/v1", Some("api.example.com")),
            ("HTTPS://API.example.com:443", Some("api.example.com")),
            ("http://user:pass@host:80?x", Some("host")),
            ("http://[::1]:8080/", Some("[::1]:8080")),
            ("https://", None),
            ("https://:443/", None),
            ("ftp://host", None),
            ("host:80", None),
            ("", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_process_is_told_of_its_limits_and_only_of_those() {
        let lines = |confines: &Confines, door: Option<&str>| {
            let env =
                vec![pair("PATH", "/bin"), pair("TMPDIR", "/users"), pair("NO_PROXY", "*"), pair("ALL_PROXY", "x")];
            let env = confines.tell(env, door);
            env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        let free = lines(&Confines::default(), None);
        assert_eq!(free, "PATH=/bin TMPDIR=/users NO_PROXY=* ALL_PROXY=x GIT_OPTIONAL_LOCKS=0");
        let temp = Some(PathBuf::from(Path::new("/own")));
        let open = Confines { limits: Some(Limits::default()), temp };
        assert_eq!(lines(&open, None), "PATH=/bin NO_PROXY=* ALL_PROXY=x GIT_OPTIONAL_LOCKS=0 TMPDIR=/own");
        let hosts = Hosts::Only { hosts: Vec::new(), proxy: 99 };
        let only = Confines { limits: Some(Limits { hosts, ..Limits::default() }), temp: None };
        let proxied = "PATH=/bin TMPDIR=/users GIT_OPTIONAL_LOCKS=0 HTTP_PROXY=http://127.0.0.1:99 \
             HTTPS_PROXY=http://127.0.0.1:99 http_proxy=http://127.0.0.1:99 https_proxy=http://127.0.0.1:99";
        assert_eq!(lines(&only, None), format!("{proxied} NO_PROXY= no_proxy= ALL_PROXY= all_proxy="));
        let door = Some("http://127.0.0.1:7/mcp");
        let expected = format!("{proxied} NO_PROXY=127.0.0.1:7 no_proxy=127.0.0.1:7 ALL_PROXY= all_proxy=");
        assert_eq!(lines(&only, door), expected);
    }

    proptest! {
        #[test]
        fn no_address_breaks_the_reader(url in "(https?://|[a-z@:/?#\\[\\].]|\\PC){0,24}") {
            if let Some(host) = host(&url) {
                prop_assert!(!host.is_empty() && !host.contains(['/', '@', '?', '#']));
            }
        }
    }
}
