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
use super::compact::{CompactPermission, glob, is_everything};
use crate::tool::{RulePrefix, Tool, ToolName};
use doublestar::Doublestar;

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    subject: String,
    pattern: String,
    scope: Scope,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Prefix(RulePrefix),
    /// The name of one tool.
    Tool(Tool),
}

/// What a pattern is held against.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file, by a pattern in which `*` stays in its directory.
    Path,
    /// Two files, as `FROM -> TO`.
    Pair,
    /// The address of a page.
    Address,
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

fn known() -> String {
    RulePrefix::ALL.map(|prefix| format!("`{}`", prefix.as_str())).join(", ")
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
        let scope = Scope::read(subject).ok_or_else(|| RuleError::Subject { rule: spelled() })?;
        let path = |text: &str| Doublestar::new(text).map_err(|source| RuleError::Pattern { rule: spelled(), source });
        let matcher = match (scope.pattern_kind(), meant.split_once(ARROW)) {
            (Kind::Path, _) | (Kind::Pair, None) => Matcher::Path(path(meant)?),
            (Kind::Pair, Some((from, to))) => Matcher::Pair { from: path(from)?, to: path(to)? },
            (Kind::Address, _) => Matcher::Address(address::normalize_pattern(meant)),
            (Kind::Text, _) => Matcher::Text,
        };
        Ok(Self { subject: subject.to_owned(), pattern: pattern.to_owned(), scope, matcher })
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

    pub(super) fn is_about(&self, tool: Tool) -> bool {
        self.tools().any(|own| own == tool)
    }

    pub(super) fn is_about_name(&self, name: ToolName<'_>) -> bool {
        match name {
            ToolName::Known(tool) => self.is_about(tool),
            ToolName::External { .. } => matches!(self.scope, Scope::Prefix(RulePrefix::Mcp)),
            ToolName::Unknown(_) => false,
        }
    }

    /// The tools that it speaks of; those of external servers are none.
    pub(super) fn tools(&self) -> impl Iterator<Item = Tool> {
        let (prefix, tool) = match self.scope {
            Scope::Prefix(prefix) => (Some(prefix), None),
            Scope::Tool(tool) => (None, Some(tool)),
        };
        prefix.into_iter().flat_map(RulePrefix::tools).chain(tool)
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
        let pattern = self.path_pattern().filter(|_| self.is_about(Tool::Read))?;
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
        match self.is_about(Tool::Bash) {
            true => Some(Cow::Borrowed(&self.pattern)),
            false => self.is_about(Tool::Git).then(|| Cow::Owned(format!("git {}", self.pattern))),
        }
    }
}

impl Scope {
    fn read(subject: &str) -> Option<Self> {
        let prefix = RulePrefix::ALL.into_iter().find(|prefix| prefix.as_str() == subject).map(Self::Prefix);
        prefix.or_else(|| ToolName::read(subject).known().map(Self::Tool))
    }

    fn pattern_kind(self) -> Kind {
        let prefix = match self {
            Self::Prefix(prefix) => Some(prefix),
            Self::Tool(tool) => tool.rule_prefix(),
        };
        match prefix {
            Some(
                RulePrefix::Read
                | RulePrefix::Write
                | RulePrefix::Edit
                | RulePrefix::Mkdir
                | RulePrefix::Delete
                | RulePrefix::List,
            ) => Kind::Path,
            Some(RulePrefix::Copy | RulePrefix::Move) => Kind::Pair,
            Some(RulePrefix::Fetch) => Kind::Address,
            Some(
                RulePrefix::Bash
                | RulePrefix::Git
                | RulePrefix::Glob
                | RulePrefix::Grep
                | RulePrefix::Tests
                | RulePrefix::Rollback
                | RulePrefix::Github
                | RulePrefix::Mcp,
            )
            | None => Kind::Text,
        }
    }
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
