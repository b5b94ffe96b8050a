//! Commands, tests and pages of the web: performed inside a session's cage.
//!
//! A command is told by its own text, also where a project's tests are meant: the rules are asked about what runs.

pub(super) mod act;
mod address;
mod page;
mod project;
mod shell;
#[cfg(test)]
mod tests;

use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::Uri;

use super::served::{Needs, Row};
use super::{parse as arguments, schema};
use crate::permission::{Effect, Reach};

const RUN_BASH: &str = "run_bash";
const RUN_TESTS: &str = "run_tests";
const FETCH_URL: &str = "fetch_url";

pub(super) const ROWS: &[Row] = &[
    Row {
        name: RUN_BASH,
        description: "Run a command with `/bin/sh -c` in the work tree. Answers `exit=<code>` and both streams, at most \
                      1 MiB of each. It has no standard input and lives no longer than your turn.",
        schema: schema::of::<Bash>,
        needs: Needs::Instead,
        effect: Effect::Destroys,
    },
    Row {
        name: RUN_TESTS,
        description: "Run the tests of the project. Answers `exit=0` when they pass, and the end of their output when \
                      they fail. Without a command it is what the files of the directory call for: `cargo test`, \
                      `go test ./...`, `npm test`, `pytest` or `make test`.",
        schema: schema::of::<Tests>,
        needs: Needs::Nothing,
        effect: Effect::Destroys,
    },
    Row {
        name: FETCH_URL,
        description: "Read a page of the web as text, over http or https. Answers `status=`, `content_type=` and \
                      `truncated=`, then the page as the server sent it; `redirect=` is where it is instead, \
                      on another host. Addresses of the own network are refused.",
        schema: schema::of::<Fetch>,
        needs: Needs::Instead,
        effect: Effect::Reads,
    },
];

/// How much of a page is read where nobody says otherwise, and at most.
const PAGE: u32 = 65_536;
const LONGEST_PAGE: u32 = 262_144;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bash {
    /// What the shell runs.
    #[schemars(required)]
    command: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Tests {
    /// What runs the tests, if not the usual command of such a project.
    command: Option<String>,
    /// The directory to run it in, below the work tree; the work tree itself unless said otherwise.
    #[schemars(extend("default" = "."))]
    path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Fetch {
    /// The address, with `http://` or `https://`.
    #[schemars(required)]
    url: Option<String>,
    /// How many bytes of the page to read: 65536 unless said otherwise, at most 262144.
    // Some models write 1000.0; the schema asks for a whole number all the same.
    #[schemars(with = "Option<i64>")]
    #[schemars(extend("default" = 65_536))]
    max_bytes: Option<f64>,
}

/// A call of this family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Bash {
        command: String,
    },
    Tests {
        /// None until the project was looked at.
        command: Option<String>,
        path: PathBuf,
    },
    Fetch {
        url: String,
        max_bytes: u32,
    },
}

/// Reads a call; `None` when the tool is of another family.
pub(super) fn parse(name: &str, given: &Value) -> Option<Result<Request, String>> {
    match name {
        RUN_BASH => Some(arguments::read(name, given).and_then(bash)),
        RUN_TESTS => Some(arguments::read(name, given).and_then(tests)),
        FETCH_URL => Some(arguments::read(name, given).and_then(fetch)),
        _ => None,
    }
}

fn bash(given: Bash) -> Result<Request, String> {
    let command = given.command.filter(|command| !command.trim().is_empty());
    let command = command.ok_or("run_bash: command is required")?;
    runnable(RUN_BASH, command).map(|command| Request::Bash { command })
}

fn tests(given: Tests) -> Result<Request, String> {
    let command = given.command.filter(|command| !command.trim().is_empty());
    let command = command.map(|command| runnable(RUN_TESTS, command)).transpose()?;
    let path = PathBuf::from(given.path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned()));
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(format!("run_tests: path `{}` must stay in the work tree, without `..`", path.display()));
    }
    Ok(Request::Tests { command, path })
}

/// No argument of a program can hold this character.
fn runnable(tool: &str, command: String) -> Result<String, String> {
    match command.contains('\0') {
        true => Err(format!("{tool}: command holds a NUL character")),
        false => Ok(command),
    }
}

fn fetch(given: Fetch) -> Result<Request, String> {
    let url = given.url.map(|url| url.trim().to_owned()).filter(|url| !url.is_empty());
    let url = url.ok_or("fetch_url: url is required")?;
    let uri: Uri = url.parse().map_err(|error| format!("fetch_url: `{url}` is no URL: {error}"))?;
    let authority = uri.authority().filter(|authority| !authority.host().is_empty());
    match (uri.scheme_str(), authority) {
        (Some("http" | "https"), Some(authority)) if authority.as_str().contains('@') => {
            Err("fetch_url: a URL with a user name or password is not fetched".to_owned())
        }
        (Some("http" | "https"), Some(_)) => Ok(Request::Fetch { url, max_bytes: bounded(given.max_bytes)? }),
        (Some("http" | "https"), None) => Err(format!("fetch_url: `{url}` names no host")),
        (Some(_) | None, _) => Err(format!("fetch_url: `{url}` is neither http:// nor https://")),
    }
}

/// Whoever asks for more than there ever is gets what everybody gets.
fn bounded(max_bytes: Option<f64>) -> Result<u32, String> {
    match max_bytes {
        None => Ok(PAGE),
        Some(bytes) if bytes > f64::from(LONGEST_PAGE) => Ok(PAGE),
        Some(bytes) if bytes >= 1.0 => Ok(bytes as u32),
        Some(bytes) => Err(format!("fetch_url: max_bytes `{bytes}` must be at least 1")),
    }
}

impl Request {
    /// The request with what only the disk can tell: which command runs the tests of a project.
    pub(super) fn settled(self, tree: &Path) -> Result<Self, String> {
        match self {
            Self::Tests { command: None, path } => {
                let directory = tree.join(&path);
                let command = project::test_command(&|name| directory.join(name).is_file());
                let known = project::known();
                let none = || format!("run_tests: `{}` has none of {known}: name the command", path.display());
                command
                    .map(|command| Self::Tests { command: Some(command.to_owned()), path: path.clone() })
                    .ok_or_else(none)
            }
            Self::Bash { .. } | Self::Tests { command: Some(_), .. } | Self::Fetch { .. } => Ok(self),
        }
    }

    pub(super) fn reach(&self, tree: &Path) -> Reach {
        match self {
            Self::Bash { command } => Reach::Command { text: command.clone(), cwd: tree.to_owned() },
            Self::Tests { command: Some(command), path } => {
                // The tree itself is not spelled with a dot at its end.
                let cwd = tree.join(path).components().collect();
                Reach::Command { text: command.clone(), cwd }
            }
            Self::Tests { command: None, .. } => Reach::Elsewhere,
            Self::Fetch { url, .. } => Reach::Url(url.clone()),
        }
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Bash { command } | Self::Tests { command: Some(command), .. } => {
                command.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
            }
            Self::Tests { command: None, .. } => "run the tests".to_owned(),
            Self::Fetch { url, .. } => url.clone(),
        }
    }

    pub(super) fn preview(&self) -> String {
        match self {
            Self::Bash { command } => command.clone(),
            Self::Tests { command, path } => {
                let command = command.as_deref().unwrap_or_default();
                match path == Path::new(".") {
                    true => command.to_owned(),
                    false => format!("{command}\n(in {})", path.display()),
                }
            }
            Self::Fetch { .. } => String::new(),
        }
    }
}
