//! Rules of the form `Tool(pattern)`, and the files they stand in.
//!
//! A pattern is compiled when its rule is made: a decision only matches. Which rule wins is not known here.

mod doublestar;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::address;
use super::compact::{CompactPermission, glob, is_everything, tool};
use doublestar::Doublestar;

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    subject: String,
    pattern: String,
    tools: Vec<&'static str>,
    matcher: Matcher,
}

/// The rules of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleFile {
    /// What people call the file.
    pub name: String,
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub deny: Vec<Rule>,
}

/// Everything that is written down about a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// From the widest to the nearest: the user's, the repository's, the user's own for the repository.
    pub files: Vec<RuleFile>,
    /// The ordered map of the project, in our data.
    pub map: Option<CompactPermission>,
    /// External servers whose word about their own tools counts.
    pub trusted_servers: Vec<String>,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("invalid rule \"{0}\" (want \"Tool(pattern)\")")]
    Shape(String),
    /// A rule that can never match is as bad as a typing error: what it should forbid would go ahead.
    #[error("rule \"{rule}\" is about no known tool; known are {}", known())]
    Subject { rule: String },
    #[error("rule \"{rule}\" has an invalid pattern")]
    Pattern { rule: String, source: globset::Error },
}

/// What the word before the parenthesis stands for.
struct Prefix {
    word: &'static str,
    kind: Kind,
    /// Canonical names; none are those of external servers.
    tools: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file, by a pattern in which `*` stays in its directory.
    Path,
    /// Two files, as `FROM -> TO`.
    Pair,
    /// Any other text, by a pattern in which `*` is everything.
    Text,
}

#[derive(Debug, Clone)]
enum Matcher {
    Path(Doublestar),
    Pair {
        from: Doublestar,
        to: Doublestar,
    },
    /// An address, by the pattern in its plain spelling.
    Address(String),
    Text,
}

/// Stands between the files of a copy or a move.
const ARROW: &str = " -> ";

const PREFIXES: &[Prefix] = &[
    Prefix { word: "Read", kind: Kind::Path, tools: &["read"] },
    Prefix { word: "Write", kind: Kind::Path, tools: &["write"] },
    // Whatever changes parts of files that are there, workspace edits of language servers included.
    Prefix { word: "Edit", kind: Kind::Path, tools: &["edit", "patch", "rename_symbol", "code_action"] },
    Prefix { word: "Mkdir", kind: Kind::Path, tools: &["mkdir"] },
    Prefix { word: "Delete", kind: Kind::Path, tools: &["delete_file"] },
    Prefix { word: "List", kind: Kind::Path, tools: &["list"] },
    Prefix { word: "Copy", kind: Kind::Pair, tools: &["copy_file"] },
    Prefix { word: "Move", kind: Kind::Pair, tools: &["move_file"] },
    Prefix { word: "Bash", kind: Kind::Text, tools: &["bash"] },
    Prefix { word: "Git", kind: Kind::Text, tools: &["git"] },
    Prefix { word: "Glob", kind: Kind::Text, tools: &["locate"] },
    Prefix { word: "Grep", kind: Kind::Text, tools: &["search"] },
    Prefix { word: "Fetch", kind: Kind::Text, tools: &["web_fetch"] },
    Prefix { word: "Tests", kind: Kind::Text, tools: &["run_tests"] },
    Prefix { word: "Rollback", kind: Kind::Text, tools: &["rollback"] },
    Prefix {
        word: "Github",
        kind: Kind::Text,
        tools: &[
            "gh_pr_read",
            "gh_pr_context",
            "gh_pr_review_context",
            "gh_issue_read",
            "gh_issue_list",
            "gh_pr_create",
            "gh_pr_update",
            "gh_pr_add_comment",
        ],
    },
    Prefix { word: "MCP", kind: Kind::Text, tools: &[] },
];

fn known() -> String {
    PREFIXES.iter().map(|prefix| format!("`{}`", prefix.word)).collect::<Vec<_>>().join(", ")
}

/// Where a path is, in the two ways in which patterns speak of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub absolute: String,
    /// From the work tree on, when it is there.
    pub inside: Option<String>,
}

/// Whether a rule is asked for what it lets through or for what it holds up. A rule that gives must mean the place
/// that it gives; one that takes may mean it in any way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    Gives,
    Takes,
}

impl Rule {
    /// The rule `subject(pattern)`. The subject is one of the prefixes, or any name of a tool.
    pub fn new(subject: &str, pattern: &str) -> Result<Self, RuleError> {
        Self::compile(subject, pattern, pattern)
    }

    /// The rule with `~` and `$HOME` at the front of its paths replaced. It is still spelled as its file spells it.
    pub fn at_home(self, home: &str) -> Result<Self, RuleError> {
        let home = globset::escape(home);
        let at_home = |path: &str| {
            let rest = path.strip_prefix("$HOME").or_else(|| path.strip_prefix('~'));
            match rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                Some(rest) => format!("{home}{rest}"),
                None => path.to_owned(),
            }
        };
        let meant: Vec<_> = self.pattern.split(ARROW).map(at_home).collect();
        Self::compile(&self.subject, &self.pattern, &meant.join(ARROW))
    }

    fn compile(subject: &str, pattern: &str, meant: &str) -> Result<Self, RuleError> {
        let spelled = || format!("{subject}({pattern})");
        let (kind, tools) = meaning(subject).ok_or_else(|| RuleError::Subject { rule: spelled() })?;
        let path = |text: &str| Doublestar::new(text).map_err(|source| RuleError::Pattern { rule: spelled(), source });
        let matcher = match (kind, meant.split_once(ARROW)) {
            (Kind::Path, _) | (Kind::Pair, None) => Matcher::Path(path(meant)?),
            (Kind::Pair, Some((from, to))) => Matcher::Pair { from: path(from)?, to: path(to)? },
            (Kind::Text, _) if tools == ["web_fetch"] => Matcher::Address(address::normalize_pattern(meant)),
            (Kind::Text, _) => Matcher::Text,
        };
        Ok(Self { subject: subject.to_owned(), pattern: pattern.to_owned(), tools, matcher })
    }

    /// The word before the parenthesis.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether it means one thing and no others that look like it.
    pub(super) fn is_exact(&self) -> bool {
        !glob::is_pattern(&self.pattern)
    }

    /// Whether it means everything that its tools can be about.
    pub(super) fn is_total(&self) -> bool {
        is_everything(&self.pattern)
    }

    /// Whether it speaks of a tool, by its canonical name.
    pub(super) fn is_about(&self, tool: &str) -> bool {
        if self.tools.is_empty() { tool.starts_with("mcp:") } else { self.tools.contains(&tool) }
    }

    /// Whether it means a file. `pair` are both files of a copy or a move.
    pub(super) fn means_path(&self, spot: &Spot, pair: Option<(&Spot, &Spot)>, sense: Sense) -> bool {
        match (&self.matcher, pair) {
            (Matcher::Path(path), _) => path.means(spot, sense),
            (Matcher::Pair { from, to }, Some((source, goal))) => from.means(source, sense) && to.means(goal, sense),
            (Matcher::Pair { .. }, None) => false,
            (Matcher::Address(_) | Matcher::Text, _) => {
                // What is meant for the tree opens nothing outside of it.
                let reaches = sense == Sense::Takes || spot.inside.is_some() || self.pattern.starts_with('/');
                reaches && self.means_text(spot.spelling(&self.pattern))
            }
        }
    }

    /// The pattern of the files that it is about, with the home in its place.
    pub(super) fn path_pattern(&self) -> Option<&str> {
        match &self.matcher {
            Matcher::Path(path) => Some(path.pattern()),
            Matcher::Pair { .. } | Matcher::Address(_) | Matcher::Text => None,
        }
    }

    /// The pattern of a rule that keeps some files from being read; none of one that means all files, which is about the
    /// tool.
    pub(super) fn kept_pattern(&self) -> Option<&str> {
        let pattern = self.path_pattern().filter(|_| self.is_about("read"))?;
        pattern.contains(|c| !matches!(c, '*' | '/')).then_some(pattern)
    }

    /// Whether it means a text that is no path.
    pub(super) fn means_text(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Text => glob::matches(&self.pattern, text),
            Matcher::Address(plain) => glob::matches(&self.pattern, text) || glob::matches(plain, text),
            Matcher::Path(_) | Matcher::Pair { .. } => false,
        }
    }

    /// The pattern of the commands of a shell that it is about.
    pub(super) fn shell_pattern(&self) -> Option<Cow<'_, str>> {
        match self.is_about("bash") {
            true => Some(Cow::Borrowed(&self.pattern)),
            false => self.is_about("git").then(|| Cow::Owned(format!("git {}", self.pattern))),
        }
    }
}

/// What the word before the parenthesis is about.
fn meaning(subject: &str) -> Option<(Kind, Vec<&'static str>)> {
    if let Some(prefix) = PREFIXES.iter().find(|prefix| prefix.word == subject) {
        return Some((prefix.kind, prefix.tools.to_vec()));
    }
    let name = tool::canonical(subject);
    let name = tool::all().find(|known| *known == name)?;
    let kind = PREFIXES.iter().find(|prefix| prefix.tools.contains(&name)).map_or(Kind::Text, |prefix| prefix.kind);
    Some((kind, vec![name]))
}

impl Spot {
    /// The spelling that a pattern speaks of.
    pub(super) fn spelling(&self, pattern: &str) -> &str {
        match &self.inside {
            Some(inside) if !pattern.starts_with('/') => inside,
            Some(_) | None => &self.absolute,
        }
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let shape = || RuleError::Shape(text.to_owned());
        let (subject, rest) = text.trim_start().split_once('(').ok_or_else(shape)?;
        let pattern = rest.trim_end().strip_suffix(')').ok_or_else(shape)?;
        let subject = subject.trim_end();
        let is_word = subject.starts_with(|c: char| c.is_ascii_alphabetic())
            && subject.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word || pattern.contains('\n') {
            return Err(shape());
        }
        Self::new(subject, pattern)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.subject, self.pattern)
    }
}

/// Rules are the same when they are spelled the same.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        (&self.subject, &self.pattern) == (&other.subject, &other.pattern)
    }
}

impl Eq for Rule {}
