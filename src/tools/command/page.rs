//! One page of the web, as text.
//!
//! Each connection is looked at before it is made, also those that a redirect leads to, and goes to exactly the addresses
//! that were looked at. Behind a proxy the names are the proxy's to find; an address in the place of a name is not.

use std::io::{self, Read};
use std::net::IpAddr;
use std::time::Duration;

use ureq::http::Uri;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectionDetails, Connector, DefaultConnector};
use ureq::{Agent, Proxy, ResponseExt};

/// How long a page may take as a whole.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a page may be somewhere else.
const REDIRECTS: u32 = 5;

/// Types that are text although they do not say so.
const TEXTS: &[&str] = &[
    "application/json",
    "application/ld+json",
    "application/x-ndjson",
    "application/xml",
    "application/javascript",
    "application/ecmascript",
    "application/x-javascript",
    "application/typescript",
    "application/graphql",
    "application/sql",
    "application/toml",
    "application/yaml",
    "application/x-yaml",
    "application/x-sh",
    "application/x-www-form-urlencoded",
    "image/svg+xml",
];

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) content_type: String,
    /// Where it was in the end.
    pub(super) url: String,
    pub(super) text: String,
    pub(super) is_cut: bool,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("`{host}` is an address of the own machine or network")]
    Inward { host: String },
    #[error("`{url}` leads on more than {REDIRECTS} times")]
    Redirects { url: String },
    #[error("failed to fetch `{url}`: {source}")]
    Failed { url: String, source: Box<ureq::Error> },
    #[error("failed to read `{url}`: {source}")]
    Broken { url: String, source: io::Error },
    #[error("`{url}` is `{content_type}`, and only text is read")]
    Binary { url: String, content_type: String },
}

/// Which addresses may be connected to.
pub(super) type Allowed = fn(IpAddr) -> bool;

/// Fetches a page, at most `max_bytes` of it, through the proxy of the environment if there is one.
pub(super) fn fetch(url: &str, max_bytes: u32, allowed: Allowed) -> Result<Page, PageError> {
    fetch_through(Proxy::try_from_env(), url, max_bytes, allowed)
}

fn fetch_through(proxy: Option<Proxy>, url: &str, max_bytes: u32, allowed: Allowed) -> Result<Page, PageError> {
    let ground = if proxy.is_some() { Ground::Proxied } else { Ground::Open };
    let config = Agent::config_builder()
        .proxy(proxy)
        .max_redirects(REDIRECTS)
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .user_agent(concat!("coppice/", env!("CARGO_PKG_VERSION")))
        .build();
    let gate = Gate { ground, allowed }.chain(DefaultConnector::new());
    let agent = Agent::with_parts(config, gate, DefaultResolver::default());
    let mut response = agent.get(url).call().map_err(|error| failed(error, url))?;
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (content_type, encoding) = (header("content-type").unwrap_or_default(), header("content-encoding"));
    let (status, url) = (response.status().as_u16(), response.get_uri().to_string());
    let is_packed = encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity"));
    if is_packed || !may_be_text(&content_type) {
        return Err(PageError::Binary { url, content_type });
    }
    let mut bytes = Vec::new();
    let room = u64::from(max_bytes) + 1;
    let read = response.body_mut().as_reader().take(room).read_to_end(&mut bytes);
    read.map_err(|source| PageError::Broken { url: url.clone(), source })?;
    let is_cut = bytes.len() as u64 == room;
    if is_cut {
        bytes.pop();
    }
    match decoded(&bytes, &content_type) {
        Some(text) => Ok(Page { status, content_type, url, text, is_cut }),
        None => Err(PageError::Binary { url, content_type }),
    }
}

fn failed(error: ureq::Error, url: &str) -> PageError {
    let url = url.to_owned();
    match error {
        ureq::Error::Other(cause) => match cause.downcast::<PageError>() {
            Ok(refused) => *refused,
            Err(cause) => PageError::Failed { url, source: Box::new(ureq::Error::Other(cause)) },
        },
        ureq::Error::TooManyRedirects => PageError::Redirects { url },
        error => PageError::Failed { url, source: Box::new(error) },
    }
}

/// Looks at each connection before anything is sent.
#[derive(Debug)]
struct Gate {
    ground: Ground,
    allowed: Allowed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    Open,
    /// A proxy makes the connections.
    Proxied,
}

impl Connector for Gate {
    type Out = ();

    fn connect(&self, details: &ConnectionDetails<'_>, _chained: Option<()>) -> Result<Option<()>, ureq::Error> {
        let is_open = match (self.ground, details.config.proxy()) {
            // This is the connection to the proxy itself.
            (Ground::Proxied, None) => true,
            (Ground::Proxied, Some(proxy)) if !proxy.is_no_proxy(details.uri) => self.may_name(details.uri),
            (Ground::Open | Ground::Proxied, _) => details.addrs.iter().all(|address| (self.allowed)(address.ip())),
        };
        match is_open {
            true => Ok(None),
            false => {
                let host = details.uri.host().unwrap_or_default().to_owned();
                Err(ureq::Error::Other(Box::new(PageError::Inward { host })))
            }
        }
    }
}

impl Gate {
    /// Whether a host may be asked of a proxy.
    fn may_name(&self, uri: &Uri) -> bool {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
        match host.parse() {
            Ok(address) => (self.allowed)(address),
            // Some take `2130706433` and `0x7f.1` for addresses; no name of the world ends like them.
            Err(_) => {
                let last = host.rsplit('.').next().unwrap_or_default();
                last != "localhost" && !last.starts_with(|first: char| first.is_ascii_digit())
            }
        }
    }
}

/// Whether a type is one of texts; nobody knows about one that is not told.
fn may_be_text(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.is_empty()
        || kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || TEXTS.contains(&kind.as_str())
}

/// The text of a page, whose last character may be cut apart; none of one that is no text, whatever its type says.
fn decoded(bytes: &[u8], content_type: &str) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    let content_type = content_type.to_ascii_lowercase();
    let is_latin = ["charset=iso-8859-1", "charset=latin1", "charset=windows-1252"];
    if is_latin.iter().any(|charset| content_type.replace('"', "").contains(charset)) {
        return Some(bytes.iter().map(|byte| char::from(*byte)).collect());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(error) if error.error_len().is_none() => {
            Some(String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned())
        }
        // A type that promises text has a charset that nobody here knows.
        Err(_) if !content_type.is_empty() => Some(String::from_utf8_lossy(bytes).into_owned()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests;
