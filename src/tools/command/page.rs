//! One page of the web, as text.
//!
//! Each connection is looked at before it is made, and goes to exactly the addresses that were looked at. Behind a proxy
//! the names are the proxy's to find; an address in the place of a name is not. The rules saw the address that was asked
//! for: a redirect is followed on the same host and told where it leads to another.

mod redirect;

use std::io::{self, Read};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ureq::http::{Response, Uri};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectionDetails, Connector, DefaultConnector};
use ureq::{Agent, Body, Proxy, ProxyProtocol};

/// How long a page may take as a whole.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a page may be somewhere else.
const REDIRECTS: u32 = 5;

/// The variables that name a proxy, in their order.
const PROXIES: &[&str] = &["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

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
    /// Where it is instead, on another host.
    pub(super) redirect: Option<String>,
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
    #[error(
        "the proxy does not lead to `{url}`: at `restricted`, and for agents that only read, it leads to the hosts of \
         `sandbox.hosts` alone"
    )]
    Closed { url: String },
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
    fetch_through(proxy(|name| std::env::var(name).ok()), url, max_bytes, allowed)
}

/// The proxy that the environment names. One that speaks SOCKS is none: it would be passed by, with all that it was to
/// look at.
fn proxy(variable: impl Fn(&str) -> Option<String>) -> Option<Proxy> {
    let is_spoken = |proxy: &Proxy| matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https);
    let mut named = PROXIES.iter().filter_map(|name| Proxy::new(&variable(name)?).ok());
    let found = named.find(is_spoken)?;
    let Some(excepted) = variable("NO_PROXY").or_else(|| variable("no_proxy")) else { return Some(found) };
    let mut builder = Proxy::builder(found.protocol()).host(found.host()).port(found.port());
    if let Some(name) = found.username() {
        builder = builder.username(name);
    }
    if let Some(password) = found.password() {
        builder = builder.password(password);
    }
    excepted.split(',').fold(builder, |builder, host| builder.no_proxy(host.trim())).build().ok()
}

fn fetch_through(proxy: Option<Proxy>, url: &str, max_bytes: u32, allowed: Allowed) -> Result<Page, PageError> {
    let ground = if proxy.is_some() { Ground::Proxied } else { Ground::Open };
    let config = Agent::config_builder()
        .proxy(proxy)
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("coppice/", env!("CARGO_PKG_VERSION")))
        .build();
    let gate = Gate { ground, allowed }.chain(DefaultConnector::new());
    let agent = Agent::with_parts(config, gate, DefaultResolver::default());
    let until = Instant::now() + PATIENCE;
    let (mut url, mut hops) = (url.to_owned(), 0);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let request = agent.get(&url).config().timeout_global(Some(left)).build();
        let response = request.call().map_err(|error| failed(error, &url))?;
        match redirect::of(&url, response.status().as_u16(), header(&response, "location").as_deref()) {
            redirect::Leads::Nowhere => return read(response, url, max_bytes),
            redirect::Leads::On(_) if hops == REDIRECTS => return Err(PageError::Redirects { url }),
            redirect::Leads::On(next) => (url, hops) = (next, hops + 1),
            redirect::Leads::Elsewhere(to) => {
                let content_type = header(&response, "content-type").unwrap_or_default();
                let (status, text) = (response.status().as_u16(), String::new());
                return Ok(Page { status, content_type, url, redirect: Some(to), text, is_cut: false });
            }
        }
    }
}

fn header(response: &Response<Body>, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn read(mut response: Response<Body>, url: String, max_bytes: u32) -> Result<Page, PageError> {
    let content_type = header(&response, "content-type").unwrap_or_default();
    let encoding = header(&response, "content-encoding");
    let status = response.status().as_u16();
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
        Some(text) => Ok(Page { status, content_type, url, redirect: None, text, is_cut }),
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
        // Other programs' proxies say the same to what they do not carry.
        ureq::Error::ConnectProxyFailed(said) if said.contains("403") => PageError::Closed { url },
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
