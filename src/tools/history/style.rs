//! How a repository words the subjects of its commits. Pure.

use std::fmt;

/// How many subjects are looked at.
pub const SUBJECTS: usize = 15;

/// The habit that most of the last subjects follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `feat(parser): read tabs`
    Conventional,
    /// `ABC-123 read tabs`
    TicketPrefix,
    Plain,
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conventional => "conventional",
            Self::TicketPrefix => "ticket-prefix",
            Self::Plain => "plain",
        })
    }
}

/// The types that Conventional Commits and the tools around it know.
const TYPES: &[&str] = &[
    "build", "chore", "ci", "deps", "docs", "feat", "fix", "perf", "refactor", "release", "revert", "style", "test",
    "wip",
];

/// The style of more than half of the first [`SUBJECTS`] subjects, newest first; `Plain` where none has that many.
pub fn detect<'a>(subjects: impl IntoIterator<Item = &'a str>) -> Style {
    let styles: Vec<_> = subjects.into_iter().take(SUBJECTS).map(of).collect();
    let has_majority = |style: &Style| styles.iter().filter(|found| *found == style).count() * 2 > styles.len();
    [Style::Conventional, Style::TicketPrefix].into_iter().find(has_majority).unwrap_or(Style::Plain)
}

fn of(subject: &str) -> Style {
    if is_conventional(subject) {
        Style::Conventional
    } else if is_ticket(subject) {
        Style::TicketPrefix
    } else {
        Style::Plain
    }
}

/// `type: …`, `type(scope): …`, either with `!` before the colon.
fn is_conventional(subject: &str) -> bool {
    let Some((head, rest)) = subject.split_once(": ") else { return false };
    let head = head.strip_suffix('!').unwrap_or(head);
    let kind = match head.split_once('(') {
        Some((kind, scope)) if scope.len() > 1 && scope.ends_with(')') => kind,
        Some(_) => return false,
        None => head,
    };
    !rest.trim().is_empty() && TYPES.contains(&kind.to_ascii_lowercase().as_str())
}

/// `ABC-123 …`, `[ABC-123] …`, `ABC-123: …` or `#123 …`.
fn is_ticket(subject: &str) -> bool {
    let first = subject.split_whitespace().next().unwrap_or_default();
    let first = first.trim_end_matches(':').trim_start_matches(['[', '(']).trim_end_matches([']', ')', ':']);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_project = |text: &str| {
        text.len() > 1
            && text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let is_named =
        |text: &str| text.rsplit_once('-').is_some_and(|(project, number)| is_project(project) && is_number(number));
    first.strip_prefix('#').is_some_and(is_number) || is_named(first)
}
