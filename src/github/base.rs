//! Where the interface of GitHub is: the one place that a token is sent to.

use ureq::http::Uri;

use super::{GitHubError, Slug};

/// The base of all requests, `https://api.github.com` or that of an own installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    scheme: String,
    host: String,
    port: u16,
    /// Without a slash at its end.
    path: String,
}

impl Base {
    /// Reads the configured address. Without encryption it must be of this machine.
    pub fn parse(text: &str) -> Result<Self, GitHubError> {
        let refused = |reason| GitHubError::BadBase { url: text.to_owned(), reason };
        let uri: Uri = text.trim().parse().map_err(|_| refused("it is not a URL"))?;
        let base = Self::of(&uri).ok_or_else(|| refused("it must be `https://HOST` with an optional path"))?;
        match uri.query() {
            Some(_) => Err(refused("it must have no query")),
            None if base.scheme == "http" && !base.is_loopback() => Err(refused("http is for this machine only")),
            None => Ok(base),
        }
    }

    /// Whether repositories of a remote's host are found here. A base on this machine stands for any host.
    pub fn serves(&self, slug: &Slug) -> bool {
        let of_api = self.host.strip_prefix("api.").unwrap_or(&self.host);
        self.is_loopback() || slug.host == self.host || slug.host == of_api
    }

    /// The host whose repositories are found here, as `gh` calls it.
    pub fn login_host(&self) -> &str {
        self.host.strip_prefix("api.").unwrap_or(&self.host)
    }

    /// The whole address of a path that begins with a slash.
    pub(super) fn url(&self, path: &str) -> String {
        let Self { scheme, host, port, path: base } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        match *port == default_port(scheme) {
            true => format!("{scheme}://{host}{base}{path}"),
            false => format!("{scheme}://{host}:{port}{base}{path}"),
        }
    }

    /// Whether an address that an answer names is below this base: only there a token may follow.
    pub(super) fn owns(&self, url: &str) -> bool {
        let Some(other) = url.parse::<Uri>().ok().and_then(|uri| Self::of(&uri)) else { return false };
        let is_below = other.path.strip_prefix(&self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_below && (&other.scheme, &other.host, other.port) == (&self.scheme, &self.host, self.port)
    }

    pub(super) fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    fn of(uri: &Uri) -> Option<Self> {
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
        let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"))?.to_owned();
        let host = authority.host().trim_matches(['[', ']']).to_ascii_lowercase();
        let port = authority.port_u16().unwrap_or(default_port(&scheme));
        (!host.is_empty()).then(|| Self { scheme, host, port, path: uri.path().trim_end_matches('/').to_owned() })
    }
}

fn default_port(scheme: &str) -> u16 {
    if scheme == "http" { 80 } else { 443 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_encrypted_or_on_this_machine() {
        for (text, whole) in [
            ("https://api.github.com", "https://api.github.com/x"),
            ("https://api.github.com/", "https://api.github.com/x"),
            ("https://GHE.corp:8443/api/v3/", "https://ghe.corp:8443/api/v3/x"),
            ("http://127.0.0.1:4000", "http://127.0.0.1:4000/x"),
            ("http://[::1]:4000/", "http://[::1]:4000/x"),
            ("http://localhost", "http://localhost/x"),
        ] {
            assert_eq!(Base::parse(text).unwrap().url("/x"), whole);
        }
        for (text, reason) in [
            ("http://api.github.com", "http is for this machine only"),
            ("http://127.0.0.1.evil.example", "http is for this machine only"),
            ("https://user@api.github.com", "it must be `https://HOST` with an optional path"),
            ("https://api.github.com/?a=b", "it must have no query"),
            ("ftp://api.github.com", "it must be `https://HOST` with an optional path"),
            ("api.github.com", "it must be `https://HOST` with an optional path"),
            ("", "it is not a URL"),
        ] {
            let said = Base::parse(text).unwrap_err().to_string();
            assert_eq!(said, format!("`github.api_url` cannot be `{text}`: {reason}"));
        }
    }

    #[test]
    fn only_addresses_below_the_base_are_its_own() {
        let base = Base::parse("https://ghe.corp/api/v3").unwrap();
        for (url, is_own) in [
            ("https://ghe.corp/api/v3/repos?page=2", true),
            ("https://GHE.corp:443/api/v3/repos", true),
            ("https://ghe.corp/api/v3", true),
            ("https://ghe.corp/api/v33/repos", false),
            ("https://ghe.corp/other", false),
            ("https://ghe.corp:444/api/v3/repos", false),
            ("http://ghe.corp/api/v3/repos", false),
            ("https://ghe.corp.evil/api/v3/repos", false),
            ("https://ghe.corp@evil/api/v3/repos", false),
            ("https://x@ghe.corp/api/v3/repos", false),
            ("/api/v3/repos", false),
            ("", false),
        ] {
            assert_eq!(base.owns(url), is_own, "{url}");
        }
    }

    #[test]
    fn a_remote_belongs_to_the_base_of_its_host() {
        for (base, remote, serves) in [
            ("https://api.github.com", "git@github.com:a/b", true),
            ("https://api.github.com", "git@gitlab.com:a/b", false),
            ("https://ghe.corp/api/v3", "git@ghe.corp:a/b", true),
            ("https://api.corp.ghe.com", "https://corp.ghe.com/a/b", true),
            ("https://ghe.corp/api/v3", "git@github.com:a/b", false),
            ("http://127.0.0.1:4000", "git@github.com:a/b", true),
        ] {
            let slug = Slug::parse(remote).unwrap();
            assert_eq!(Base::parse(base).unwrap().serves(&slug), serves, "{base} {remote}");
        }
    }
}
