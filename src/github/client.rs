//! The client: sends requests with the token, follows pages, and reads refusals.
//!
//! Redirects are followed by hand, and only below the base: a token goes nowhere else.

use std::io::{self, Read};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::{HeaderMap, Response};
use ureq::{Agent, Body};

use super::answer::{CheckRuns, Made, Milestone, Statuses};
use super::request::{Accept, Method, PAGE, Request};
use super::{Base, Check, Comment, Fields, Filter, GitHubError, Issue, NewPull, Pull, Reference, Review, Slug, Token};

/// How much of a diff is read.
pub const DIFF_LIMIT: usize = 64 * 1024;

/// How much of an answer is read.
const ANSWER_LIMIT: u64 = 8 * 1024 * 1024;
/// How much of a refusal is read and told.
const REFUSAL_LIMIT: u64 = 64 * 1024;
const WORDS: usize = 1000;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a request is sent on.
const REDIRECTS: usize = 3;
/// More pages are nobody's question.
const PAGES: usize = 10;

/// The version of the interface that the requests are written for.
const VERSION: &str = "2022-11-28";

/// Asks one GitHub in the name of one login.
pub struct Client {
    agent: Agent,
    base: Base,
    token: Token,
}

/// A text, or the beginning of a longer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub text: String,
    pub is_cut: bool,
}

impl Client {
    pub fn new(base: Base, token: Token) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .user_agent(concat!("coppice/", env!("CARGO_PKG_VERSION")));
        // What stays on this machine needs no proxy, and no proxy needs to see it.
        let config = if base.is_loopback() { config.proxy(None) } else { config };
        Self { agent: config.build().into(), base, token }
    }

    /// The pull request that a reference names, in one request. Of several for a branch the open one counts, then the
    /// latest.
    pub fn pull(&self, slug: &Slug, reference: &Reference) -> Result<Pull, GitHubError> {
        match reference {
            Reference::Number(number) => self.json(&Request::pull(slug, *number)),
            Reference::Branch { owner, name } => {
                let owner = owner.as_deref().unwrap_or(&slug.owner);
                let found: Vec<Pull> = self.json(&Request::pulls_of(slug, owner, name))?;
                let at = found.iter().position(|pull| pull.state == "open").unwrap_or(0);
                found.into_iter().nth(at).ok_or(GitHubError::NotFound)
            }
        }
    }

    pub fn create_pull(&self, slug: &Slug, new: &NewPull) -> Result<Pull, GitHubError> {
        self.json(&Request::create_pull(slug, new))
    }

    pub fn update_pull(&self, slug: &Slug, number: u64, fields: &Fields) -> Result<Pull, GitHubError> {
        self.json(&Request::update_pull(slug, number, fields))
    }

    /// Adds a comment to a pull request as a whole; its address.
    pub fn add_comment(&self, slug: &Slug, number: u64, text: &str) -> Result<String, GitHubError> {
        let made: Made = self.json(&Request::add_comment(slug, number, text))?;
        Ok(made.html_url)
    }

    /// A pull request with its checks and its diff. What is missing of these does not keep back the rest.
    pub fn review(&self, slug: &Slug, reference: &Reference) -> Result<Review, GitHubError> {
        let pull = self.pull(slug, reference)?;
        let checks = self.checks(slug, &pull.head_commit).map_err(|error| error.to_string());
        let diff = self.diff(slug, pull.number).map_err(|error| error.to_string());
        Ok(Review { pull, checks, diff })
    }

    pub fn issue(&self, slug: &Slug, number: u64) -> Result<Issue, GitHubError> {
        self.json(&Request::issue(slug, number))
    }

    /// The first comments of an issue, oldest first.
    pub fn comments(&self, slug: &Slug, number: u64, count: usize) -> Result<Vec<Comment>, GitHubError> {
        let pages = count.div_ceil(PAGE).clamp(1, PAGES);
        let found: Vec<Vec<Comment>> = self.pages(&Request::comments(slug, number, count), pages)?;
        Ok(found.into_iter().flatten().take(count).collect())
    }

    /// The first page of the open issues that fit, and whether there are more. A milestone is named by title or number.
    pub fn issues(&self, slug: &Slug, filter: &Filter) -> Result<(Vec<Issue>, bool), GitHubError> {
        let mut filter = filter.clone();
        if let Some(title) = filter.milestone.take_if(|name| !is_milestone_number(name)) {
            let pages: Vec<Vec<Milestone>> = self.pages(&Request::milestones(slug), PAGES)?;
            let known = pages.into_iter().flatten().find(|milestone| milestone.title == title);
            filter.milestone = Some(known.ok_or(GitHubError::NotFound)?.number.to_string());
        }
        let answer = self.send(&Request::issues(slug, &filter))?;
        let has_more = self.next(&answer).is_some();
        let found: Vec<Issue> = parse(answer)?;
        // The interface lists pull requests among the issues.
        Ok((found.into_iter().filter(|issue| !issue.is_pull).collect(), has_more))
    }

    fn checks(&self, slug: &Slug, commit: &str) -> Result<Vec<Check>, GitHubError> {
        let runs: Vec<CheckRuns> = self.pages(&Request::check_runs(slug, commit), PAGES)?;
        let statuses: Vec<Statuses> = self.pages(&Request::statuses(slug, commit), PAGES)?;
        let runs = runs.into_iter().flat_map(CheckRuns::checks);
        Ok(runs.chain(statuses.into_iter().flat_map(Statuses::checks)).collect())
    }

    fn diff(&self, slug: &Slug, number: u64) -> Result<Cut, GitHubError> {
        let answer = self.send(&Request::diff(slug, number))?;
        let mut bytes = Vec::new();
        let mut reader = answer.into_body().into_reader().take(DIFF_LIMIT as u64 + 1);
        reader.read_to_end(&mut bytes).map_err(broken_off)?;
        Ok(cut(bytes, DIFF_LIMIT))
    }

    fn json<T: DeserializeOwned>(&self, request: &Request) -> Result<T, GitHubError> {
        parse(self.send(request)?)
    }

    /// Follows the pages of a list, each as it is.
    fn pages<T: DeserializeOwned>(&self, request: &Request, most: usize) -> Result<Vec<T>, GitHubError> {
        let mut answer = self.send(request)?;
        let mut pages = Vec::new();
        loop {
            let next = self.next(&answer).filter(|_| pages.len() + 1 < most);
            pages.push(parse(answer)?);
            let Some(next) = next else { return Ok(pages) };
            answer = self.fetch(&next, request)?;
        }
    }

    /// The address of the page after this one.
    fn next(&self, answer: &Response<Body>) -> Option<String> {
        next_page(answer.headers().get("link")?.to_str().ok()?).filter(|url| self.base.owns(url))
    }

    fn send(&self, request: &Request) -> Result<Response<Body>, GitHubError> {
        self.fetch(&self.base.url(&request.path), request)
    }

    fn fetch(&self, url: &str, request: &Request) -> Result<Response<Body>, GitHubError> {
        let mut url = url.to_owned();
        for _ in 0..=REDIRECTS {
            let answer = self.once(&url, request)?;
            match answer.status().as_u16() {
                200..=299 => return Ok(answer),
                // A request that changes something is not made again elsewhere by itself.
                300..=399 if request.method == Method::Get => {
                    let to = answer.headers().get("location").and_then(|to| to.to_str().ok());
                    url = to.filter(|to| self.base.owns(to)).ok_or(GitHubError::Moved)?.to_owned();
                }
                300..=399 => return Err(GitHubError::Moved),
                _ => return Err(refusal(answer)),
            }
        }
        Err(GitHubError::Moved)
    }

    fn once(&self, url: &str, request: &Request) -> Result<Response<Body>, GitHubError> {
        let accept = match request.accept {
            Accept::Json => "application/vnd.github+json",
            Accept::Diff => "application/vnd.github.diff",
        };
        let body = request.body.as_ref().map(ToString::to_string).unwrap_or_default();
        let (token, version) = (self.token.authorization(), VERSION);
        let sent = match request.method {
            Method::Get => {
                let asked = self.agent.get(url).header("authorization", token).header("accept", accept);
                asked.header("x-github-api-version", version).call()
            }
            Method::Post | Method::Patch => {
                let asked = if request.method == Method::Post { self.agent.post(url) } else { self.agent.patch(url) };
                let asked = asked.header("authorization", token).header("accept", accept);
                asked.header("x-github-api-version", version).content_type("application/json").send(body)
            }
        };
        sent.map_err(|error| match error {
            ureq::Error::Timeout(_) => GitHubError::TimedOut,
            source => GitHubError::Unreachable { host: self.base.login_host().to_owned(), source: Box::new(source) },
        })
    }
}

fn is_milestone_number(name: &str) -> bool {
    matches!(name, "*" | "none") || name.parse::<u64>().is_ok()
}

fn parse<T: DeserializeOwned>(answer: Response<Body>) -> Result<T, GitHubError> {
    let mut bytes = Vec::new();
    let mut reader = answer.into_body().into_reader().take(ANSWER_LIMIT + 1);
    reader.read_to_end(&mut bytes).map_err(broken_off)?;
    match u64::try_from(bytes.len()) {
        Ok(0..=ANSWER_LIMIT) => serde_json::from_slice(&bytes).map_err(|source| GitHubError::Unreadable { source }),
        Ok(_) | Err(_) => Err(GitHubError::TooLong),
    }
}

fn broken_off(source: io::Error) -> GitHubError {
    match source.kind() {
        io::ErrorKind::TimedOut => GitHubError::TimedOut,
        _ => GitHubError::BrokenOff { source },
    }
}

/// What GitHub says about a request that it does not take.
#[derive(Default, Deserialize)]
struct Complaint {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<Detail>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Detail {
    Text(String),
    Field { message: Option<String>, field: Option<String>, code: Option<String> },
}

fn refusal(answer: Response<Body>) -> GitHubError {
    let (code, headers) = (answer.status().as_u16(), answer.headers().clone());
    let mut text = String::new();
    // An answer that breaks off says at least its status.
    answer.into_body().into_reader().take(REFUSAL_LIMIT).read_to_string(&mut text).ok();
    let complaint: Complaint = serde_json::from_str(&text).unwrap_or_default();
    refused(code, &headers, &complaint)
}

fn refused(code: u16, headers: &HeaderMap, complaint: &Complaint) -> GitHubError {
    let message = complaint.told();
    match code {
        401 => GitHubError::BadToken,
        403 | 429 => {
            let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
            let after = number("retry-after");
            let is_spent = number("x-ratelimit-remaining") == Some(0);
            let reset = number("x-ratelimit-reset").filter(|_| is_spent).and_then(|at| i64::try_from(at).ok());
            match after.is_some() || is_spent || code == 429 {
                true => GitHubError::RateLimited { reset, after },
                false => GitHubError::Forbidden { message },
            }
        }
        404 | 410 => GitHubError::NotFound,
        422 => GitHubError::Refused { message },
        code => GitHubError::Status { code, message },
    }
}

impl Complaint {
    /// GitHub's words on one line, the details after the headline.
    fn told(&self) -> String {
        let detail = |detail: &Detail| match detail {
            Detail::Text(text) => text.clone(),
            Detail::Field { message: Some(message), .. } => message.clone(),
            Detail::Field { message: None, field, code } => {
                format!("{} {}", field.as_deref().unwrap_or_default(), code.as_deref().unwrap_or_default())
            }
        };
        let details: Vec<_> = self.errors.iter().map(detail).collect();
        let headline = if self.message.is_empty() { "no reason given" } else { &self.message };
        let whole = match details.is_empty() {
            true => headline.to_owned(),
            false => format!("{headline} ({})", details.join("; ")),
        };
        whole.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(WORDS).collect()
    }
}

/// The address with `rel="next"` in a `Link` header.
fn next_page(link: &str) -> Option<String> {
    let next = link.split(',').find(|part| part.split(';').skip(1).any(|rel| rel.trim() == "rel=\"next\""))?;
    let url = next.split(';').next()?.trim();
    Some(url.strip_prefix('<')?.strip_suffix('>')?.to_owned())
}

/// Keeps the beginning of a text, at a whole character.
fn cut(mut bytes: Vec<u8>, limit: usize) -> Cut {
    let is_cut = bytes.len() > limit;
    bytes.truncate(limit);
    let end = match std::str::from_utf8(&bytes) {
        Ok(_) => bytes.len(),
        Err(error) if is_cut && error.error_len().is_none() => error.valid_up_to(),
        Err(_) => bytes.len(),
    };
    Cut { text: String::from_utf8_lossy(&bytes[..end]).into_owned(), is_cut }
}

#[cfg(test)]
mod tests;
