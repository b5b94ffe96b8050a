//! The ordered permission map of an agent's file: which calls of a tool are allowed, asked about or denied.
//!
//! It has no opinion about what it does not mention, and knows nothing of files, commands or sessions.

pub mod glob;
pub mod tool;

use std::str::FromStr;

use tool::Spelled;

/// Rules in the order of the file; the last one that matches decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactPermission {
    pub rules: Vec<Rule>,
}

/// One line of the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// A tool's name or a pattern of names.
    pub tool: String,
    /// What the call is about: a path, a command, a name.
    pub pattern: String,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Allow,
    Ask,
    Deny,
}

/// What the map says about one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// The same for every call.
    Simple(Action),
    /// By what the call is about, in the order of the file.
    Detailed(Vec<(String, Action)>),
}

/// Why a map means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid permission for tool \"{tool}\": expected allow, deny or ask")]
pub struct PermissionError {
    pub tool: String,
}

/// A word that is no action; whoever reads the map knows the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoAction;

impl FromStr for Action {
    type Err = NoAction;

    fn from_str(word: &str) -> Result<Self, NoAction> {
        match word {
            "allow" => Ok(Self::Allow),
            "ask" => Ok(Self::Ask),
            "deny" => Ok(Self::Deny),
            _ => Err(NoAction),
        }
    }
}

impl CompactPermission {
    /// Flattens the entries of a map, which come in the order of its file.
    pub fn new(entries: impl IntoIterator<Item = (String, Form)>) -> Self {
        let mut rules = Vec::new();
        for (tool, form) in entries {
            let patterns = match form {
                Form::Simple(action) => vec![("*".to_owned(), action)],
                Form::Detailed(patterns) => patterns,
            };
            rules.extend(patterns.into_iter().map(|(pattern, action)| Rule { tool: tool.clone(), pattern, action }));
        }
        Self { rules }
    }

    /// The map with `~` and `$HOME` at the front of a pattern replaced.
    #[must_use]
    pub fn at_home(mut self, home: &str) -> Self {
        for rule in &mut self.rules {
            let rest = rule.pattern.strip_prefix("$HOME").or_else(|| rule.pattern.strip_prefix('~'));
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                rule.pattern = format!("{home}{rest}");
            }
        }
        self
    }

    /// What the map says about a call; `None` is no opinion. A call without a target is matched as `*`.
    pub fn evaluate(&self, tool: &str, target: Option<&str>) -> Option<Action> {
        let target = target.unwrap_or("*");
        self.ruling(&Spelled::new(tool), |rule| glob::matches(&rule.pattern, target)).map(|rule| rule.action)
    }

    /// The rule that decides about a call whose target is what `is_meant` says.
    pub(super) fn ruling(&self, tool: &Spelled<'_>, is_meant: impl Fn(&Rule) -> bool) -> Option<&Rule> {
        self.rules.iter().rev().find(|rule| tool.is_meant_by(&rule.tool) && is_meant(rule))
    }

    /// The rule that keeps a file from `read`, and so from a tool that shows contents by another name. A rule that means
    /// all files is about the tool and not about them, and one that means this tool as well has its say there.
    pub(super) fn read_denial(&self, tool: &Spelled<'_>, is_meant: impl Fn(&str) -> bool) -> Option<&Rule> {
        self.ruling(&Spelled::new("read"), |rule| is_meant(&rule.pattern)).filter(|rule| rule.keeps_from(tool))
    }

    /// Whether some call of a tool could go ahead; a tool that never can need not exist for the agent.
    pub fn may_ever_run(&self, tool: &str) -> bool {
        let tool = Spelled::new(tool);
        for rule in self.rules.iter().rev().filter(|rule| tool.is_meant_by(&rule.tool)) {
            match rule.action {
                Action::Allow | Action::Ask => return true,
                Action::Deny if is_everything(&rule.pattern) => return false,
                Action::Deny => {}
            }
        }
        true
    }
}

impl Rule {
    /// Whether a rule about reading counts for another tool.
    pub(super) fn keeps_from(&self, tool: &Spelled<'_>) -> bool {
        self.action == Action::Deny && !is_everything(&self.pattern) && !tool.is_meant_by(&self.tool)
    }
}

pub(super) fn is_everything(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.chars().all(|part| part == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple(tool: &str, action: Action) -> (String, Form) {
        (tool.to_owned(), Form::Simple(action))
    }

    fn detailed(tool: &str, patterns: &[(&str, Action)]) -> (String, Form) {
        (tool.to_owned(), Form::Detailed(patterns.iter().map(|(p, action)| ((*p).to_owned(), *action)).collect()))
    }

    #[test]
    fn the_last_rule_that_matches_decides() {
        let map = CompactPermission::new([
            simple("*", Action::Deny),
            simple("Grep", Action::Allow),
            detailed(
                "read_file",
                &[
                    ("*", Action::Allow),
                    ("*.env", Action::Deny),
                    ("*.env.*", Action::Deny),
                    ("*.env.example", Action::Allow),
                ],
            ),
            detailed("bash", &[("git push *", Action::Ask)]),
        ]);
        for (tool, target, expected) in [
            ("search", None, Some(Action::Allow)),
            ("grep", Some("src"), Some(Action::Allow)),
            ("Read", Some("src/a.rs"), Some(Action::Allow)),
            ("read", Some("deep/.env"), Some(Action::Deny)),
            ("read", Some(".env.local"), Some(Action::Deny)),
            ("read", Some(".env.example"), Some(Action::Allow)),
            ("read", None, Some(Action::Allow)),
            ("Bash", Some("git push origin"), Some(Action::Ask)),
            ("Bash", Some("rm x"), Some(Action::Deny)),
            ("mcp__db__drop", None, Some(Action::Deny)),
        ] {
            assert_eq!(map.evaluate(tool, target), expected, "{tool} {target:?}");
        }
        assert_eq!(CompactPermission::default().evaluate("read", None), None);
        let reversed = CompactPermission::new([simple("grep", Action::Allow), simple("*", Action::Deny)]);
        assert_eq!(reversed.evaluate("grep", None), Some(Action::Deny));
    }

    #[test]
    fn a_tool_can_run_while_some_call_of_it_is_not_denied() {
        let map = CompactPermission::new([
            simple("*", Action::Deny),
            simple("search", Action::Ask),
            detailed("read", &[("*.md", Action::Allow)]),
            detailed("write", &[("*", Action::Allow), ("**", Action::Deny)]),
        ]);
        for (tool, expected) in [("Grep", true), ("read_file", true), ("Write", false), ("bash", false)] {
            assert_eq!(map.may_ever_run(tool), expected, "{tool}");
        }
        let vetoes = CompactPermission::new([detailed("read", &[("*.env", Action::Deny)])]);
        assert!(vetoes.may_ever_run("read"));
        assert!(CompactPermission::default().may_ever_run("bash"));
    }

    #[test]
    fn home_is_replaced_at_the_front_only() {
        let patterns = ["~", "~/.ssh/*", "$HOME/x", "~other/x", "a/~/b", "$HOMES"];
        let map = CompactPermission::new([detailed("read", &patterns.map(|pattern| (pattern, Action::Deny)))]);
        let found: Vec<_> = map.at_home("/home/u").rules.into_iter().map(|rule| rule.pattern).collect();
        assert_eq!(found, ["/home/u", "/home/u/.ssh/*", "/home/u/x", "~other/x", "a/~/b", "$HOMES"]);
    }
}
