//! What a repository's file asks to be trusted with, as one text to show, to hash and to compare.

use std::fmt;

use super::key::{self, Authority};
use super::layer::{Entry, Layer};
use super::value::{Kind, Value, one_line};

/// The granting part of a repository's configuration, spelled the same way however the file spells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantText(String);

impl GrantText {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GrantText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Collects what a layer grants, what `.worktreeinclude` would bring into worktrees, and the rules of the repository that
/// allow something; `None` when that is nothing.
pub fn grants(layer: Option<&Layer>, worktreeinclude: Option<&str>, allows: &[String]) -> Option<GrantText> {
    let entries = layer.map_or(&[][..], |layer| &layer.entries);
    let granting = entries.iter().filter(|entry| may_grant(entry));
    let mut lines: Vec<_> = granting.map(|entry| format!("{} = {}", entry.path, entry.value)).collect();
    lines.sort();
    let patterns = worktreeinclude.unwrap_or_default().lines();
    let patterns = patterns.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    // Their order has a meaning, so it stays.
    lines.extend(patterns.map(|pattern| format!(".worktreeinclude: {}", one_line(pattern))));
    lines.extend(allows.iter().map(|rule| format!("allow: {}", one_line(rule))));
    (!lines.is_empty()).then(|| GrantText(lines.join("\n") + "\n"))
}

/// The rules of the user's own file of the repository that allow something, as lines of the same text.
pub fn local_grants(allows: &[String]) -> String {
    let line = |rule: &String| format!("allow in permissions.local.json: {}\n", one_line(rule));
    let mut lines: Vec<_> = allows.iter().map(line).collect();
    lines.sort();
    lines.concat()
}

/// Whether an entry can make something possible. The strictest choice never can.
fn may_grant(entry: &Entry) -> bool {
    match entry.authority {
        Authority::Grants => true,
        Authority::Tightens => match (key::find(&entry.path).map(|key| key.kind), &entry.value) {
            (Some(Kind::Choice(choices)), Value::Text(chosen)) => {
                choices.iter().find(|choice| !choice.is_empty()) != Some(&chosen.as_str())
            }
            _ => true,
        },
        Authority::Anyone | Authority::Lowers | Authority::Personal | Authority::Machine => false,
    }
}
