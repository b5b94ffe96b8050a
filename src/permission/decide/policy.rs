//! What is written down, held against the items of a call: rules of files, maps, and what a person allowed before.

use std::borrow::Cow;
use std::fmt;

use serde_json::json;

use super::case::{Case, CommandLine, Item, PossibleRuns, Side};
use super::class;
use crate::permission::compact::tool::Spelled;
use crate::permission::compact::{self, Action, CompactPermission, glob, is_everything};
use crate::permission::rule::{Rule, Sense, Spot};
use crate::permission::{AgentWord, Effect, Posture, Subject};

/// What a map says about an item.
pub(super) struct Opinion<'m> {
    pub rule: &'m compact::Rule,
    owner: Owner,
}

/// Where a map stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner {
    Agent,
    Project,
}

impl Opinion<'_> {
    /// Whether it is believed.
    pub(super) fn counts(&self, word: AgentWord) -> bool {
        match (self.owner, word) {
            (Owner::Agent, AgentWord::OnlyTightens) => self.rule.action != Action::Allow,
            (Owner::Agent, AgentWord::Counts) | (Owner::Project, _) => true,
        }
    }
}

impl fmt::Display for Opinion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.owner {
            Owner::Agent => "of the agent",
            Owner::Project => "in permissions.jsonc",
        };
        write!(f, "{}({}) {place}", self.rule.tool, self.rule.pattern)
    }
}

impl<'a> Case<'a> {
    /// The first of some rules that takes any item of the call, and that item.
    pub(super) fn taking<'r>(&self, rules: &'r [Rule]) -> Option<(&'r Rule, &Item)> {
        let takes = |rule: &Rule, (at, item): (usize, &Item)| self.takes(rule, item) || self.keeps(rule, at, item);
        rules.iter().find_map(|rule| {
            let mut items = self.items.iter().enumerate();
            Some((rule, items.find(|item| takes(rule, *item))?.1))
        })
    }

    /// Whether an item is a file whose contents the call shows or carries away without being called `read`.
    fn is_read(&self, at: usize) -> bool {
        class::SHOWING.contains(&self.tool()) || class::CARRYING.contains(&self.tool()) && at == 0
    }

    /// Whether a rule about reading keeps the item.
    fn keeps(&self, rule: &Rule, at: usize, item: &Item) -> bool {
        let Some(pattern) = rule.kept_pattern().filter(|_| self.is_read(at)) else { return false };
        let sides = item.sides();
        sides.iter().any(|side| self.means(rule, item, *side, Sense::Takes) || self.is_below(pattern, item, *side))
    }

    /// Whether a rule or a map keeps a file from being read without a question.
    pub(super) fn keeps_file(&self, item: &Item) -> bool {
        let takes = |rule: &Rule| rule.kept_pattern().is_some() && self.means(rule, item, Side::Real, Sense::Takes);
        let maps = self.scene.agent.into_iter().chain(self.scene.rules.map.as_ref());
        self.scene.rules.files.iter().any(|file| file.deny.iter().chain(&file.ask).any(takes))
            || maps.into_iter().any(|map| self.read_denial(map, item).is_some())
    }

    /// Whether a pattern means something below a directory that is carried away.
    fn is_below(&self, pattern: &str, item: &Item, side: Side) -> bool {
        let Some(spot) = item.spot(side).filter(|_| class::CARRYING.contains(&self.tool())) else { return false };
        let inside = format!("{}/", spot.spelling(pattern));
        let head = pattern.split(['*', '?', '[', '{']).next().unwrap_or(pattern);
        head.starts_with(&inside) || glob::matches(pattern, &inside)
    }

    fn takes(&self, rule: &Rule, item: &Item) -> bool {
        let is_about = rule.is_about(self.tool());
        // Most rules are about other tools, and a command has many spellings.
        if !is_about && !rule.is_about("bash") && !rule.is_about("git") {
            return false;
        }
        match item {
            Item::Path { .. } => {
                is_about && item.sides().iter().any(|side| self.means(rule, item, *side, Sense::Takes))
            }
            Item::Command(command) => self.takes_command(rule, command),
            Item::Opaque { text, suspects } => {
                is_about && rule.means_text(text) || suspects.iter().any(|command| self.takes_command(rule, command))
            }
            Item::Possible(PossibleRuns { commands, token_bags, .. }) => {
                commands.iter().any(|command| self.takes_command(rule, command))
                    || token_bags.iter().any(|bag| rule.shell_pattern().is_some_and(|pattern| bag.mentions(&pattern)))
            }
            Item::Server(text) | Item::Text(text) => is_about && rule.means_text(text),
        }
    }

    /// Whether a rule forbids a command in any of its spellings. A shell reaches git as well as the tool of that name does.
    fn takes_command(&self, rule: &Rule, command: &CommandLine) -> bool {
        let is_about = rule.is_about(self.tool());
        let means = |line: &str| is_about && rule.means_text(line) || self.tool() == "bash" && rule.means_git(line);
        let meets = |pattern: Cow<'_, str>| self.tool() == "bash" && command.meets(&pattern);
        command.lines().any(means) || !command.patterns.is_empty() && rule.shell_pattern().is_some_and(meets)
    }

    /// Whether a rule lets an item through. A path counts by where it is, not by what it is called.
    pub(super) fn gives(&self, rule: &Rule, item: &Item) -> bool {
        rule.is_about(self.tool())
            && match item {
                Item::Path { .. } => self.means(rule, item, Side::Real, Sense::Gives),
                Item::Command(CommandLine { line: text, .. }) | Item::Server(text) | Item::Text(text) => {
                    rule.means_text(text) && (rule.is_exact() || !self.is_grave(item, rule.pattern()))
                }
                Item::Opaque { .. } => rule.is_total() && !self.is_grave(item, rule.pattern()),
                Item::Possible(_) => false,
            }
    }

    fn means(&self, rule: &Rule, item: &Item, side: Side, sense: Sense) -> bool {
        let pair = match self.items.as_slice() {
            [from, to] => from.spot(side).zip(to.spot(side)),
            _ => None,
        };
        item.spot(side).is_some_and(|spot| rule.means_path(spot, pair, sense))
    }

    /// Whether only a rule that means exactly this may let it through, and not a pattern.
    fn is_grave(&self, item: &Item, pattern: &str) -> bool {
        match item {
            Item::Command(command) => {
                let is_wide = is_everything(pattern) && self.tool() == "bash";
                command.writes && !self.may_redirect(pattern) || command.destroys || command.may_run_others && !is_wide
            }
            Item::Opaque { text, suspects } => {
                text.contains('>') && !self.may_redirect(pattern) || suspects.iter().any(|command| command.destroys)
            }
            Item::Server(_) => matches!(self.call.subject, Subject::Mcp { effect: Effect::Destroys, .. }),
            Item::Path { .. } | Item::Possible(_) | Item::Text(_) => false,
        }
    }

    /// Whether a redirection into a file needs no rule of its own: edits in the tree go ahead, or everything does.
    fn may_redirect(&self, pattern: &str) -> bool {
        let edits = match self.scene.posture {
            Posture::Edits | Posture::Unattended => true,
            Posture::Plan | Posture::Attended => is_everything(pattern),
        };
        edits && self.is_held()
    }

    /// What a map says about each item; about anything, when the call does not say what it is about.
    pub(super) fn opinions(&self, owner: Owner) -> &[Option<Opinion<'a>>] {
        let (map, cell) = match owner {
            Owner::Agent => (self.scene.agent, &self.said[0]),
            Owner::Project => (self.scene.rules.map.as_ref(), &self.said[1]),
        };
        cell.get_or_init(|| {
            let Some(map) = map else { return Vec::new() };
            let anything = [Item::Text("*".to_owned())];
            let items = if self.items.is_empty() { &anything } else { self.items.as_slice() };
            items.iter().enumerate().map(|(at, item)| self.opinion(map, owner, at, item)).collect()
        })
    }

    /// Subjects that a call touches besides its tool count too, the strictest most.
    fn opinion<'m>(&self, map: &'m CompactPermission, owner: Owner, at: usize, item: &Item) -> Option<Opinion<'m>> {
        let also = match (item, &self.call.subject) {
            (Item::Path { .. }, _) if item.is_outside() && self.refusal.is_some() => Some(("external_directory", None)),
            (Item::Text(_), Subject::Url(url)) => Some(("network_target", Some(host(url)))),
            (
                Item::Path { .. }
                | Item::Command(_)
                | Item::Opaque { .. }
                | Item::Possible(_)
                | Item::Server(_)
                | Item::Text(_),
                _,
            ) => None,
        };
        let by_tool = self.ruling(map, &self.tool, item);
        let by_subject = also.and_then(|(subject, text)| match text {
            Some(text) => self.ruling(map, &Spelled::new(subject), &Item::Text(text.to_owned())),
            None => self.ruling(map, &Spelled::new(subject), item),
        });
        let by_reading = if self.is_read(at) { self.read_denial(map, item) } else { None };
        strictest(strictest(by_tool, by_subject), by_reading).map(|rule| Opinion { rule, owner })
    }

    /// The rule of a map that keeps a file from being read.
    fn read_denial<'m>(&self, map: &'m CompactPermission, item: &Item) -> Option<&'m compact::Rule> {
        let kept = |side: &Side| {
            // The name of a tree from elsewhere says nothing about what is in it.
            let spot = item.spot(*side).filter(|_| *side == Side::Real || !item.is_alias())?;
            let is_meant = |pattern: &str| glob::matches(pattern, spot.spelling(pattern));
            let below = || {
                map.rules.iter().find(|rule| {
                    let is_reading = Spelled::new("read").is_meant_by(&rule.tool) && rule.keeps_from(&self.tool);
                    is_reading && self.is_below(&rule.pattern, item, *side)
                })
            };
            map.read_denial(&self.tool, is_meant).or_else(below)
        };
        item.sides().iter().find_map(kept)
    }

    fn ruling<'m>(&self, map: &'m CompactPermission, tool: &Spelled<'_>, item: &Item) -> Option<&'m compact::Rule> {
        let gives = |rule: &&compact::Rule| rule.action == Action::Allow;
        let by_pattern = |command: &CommandLine| {
            let has_patterns = !command.patterns.is_empty();
            has_patterns.then(|| map.ruling(tool, |rule| !gives(&rule) && command.meets(&rule.pattern))).flatten()
        };
        match item {
            Item::Path { named, real } => {
                let is_at =
                    |rule: &compact::Rule, spot: &Spot| glob::matches(&rule.pattern, spot.spelling(&rule.pattern));
                let at = |spot: &Spot| map.ruling(tool, |rule| is_at(rule, spot));
                let by_name = item.sides().contains(&Side::Named).then(|| at(named)).flatten();
                let by_name = by_name.filter(|rule| !gives(rule) && !item.is_alias());
                let by_place = real.as_ref().and_then(|spot| {
                    // What is meant for the tree opens nothing outside of it.
                    let is_ours = spot.inside.is_some() || self.refusal.is_none();
                    let names_it =
                        |rule: &compact::Rule| rule.pattern.starts_with('/') || rule.tool == "external_directory";
                    at(spot).filter(|rule| !gives(rule) || is_ours || names_it(rule))
                });
                strictest(by_name, by_place)
            }
            Item::Command(command) => {
                let by_line = map.ruling(tool, |rule| glob::matches(&rule.pattern, &command.line));
                let by_line = by_line.filter(|rule| {
                    !gives(rule) || !glob::is_pattern(&rule.pattern) || !self.is_grave(item, &rule.pattern)
                });
                let others = command.others.iter();
                let others = others.filter_map(|line| map.ruling(tool, |rule| glob::matches(&rule.pattern, line)));
                let others = others.filter(|rule| !gives(rule)).chain(by_pattern(command));
                others.fold(by_line, |found, rule| strictest(found, Some(rule)))
            }
            // A pattern allows none of the commands that such a text may run.
            Item::Opaque { text, suspects } => {
                let counts = |rule: &compact::Rule| {
                    !gives(&rule) || is_everything(&rule.pattern) && !self.is_grave(item, &rule.pattern)
                };
                let by_line = |line: &str| map.ruling(tool, |rule| counts(rule) && glob::matches(&rule.pattern, line));
                let lines = suspects.iter().flat_map(CommandLine::lines).chain([text.as_str()]);
                let rules = lines.filter_map(by_line).chain(suspects.iter().filter_map(by_pattern));
                rules.fold(None, |found, rule| strictest(found, Some(rule)))
            }
            // What a map says about everything, it says about the commands themselves.
            Item::Possible(PossibleRuns { commands, token_bags, .. }) => {
                let lines = commands.iter().flat_map(CommandLine::lines);
                let by_line = lines.filter_map(|line| map.ruling(tool, |rule| glob::matches(&rule.pattern, line)));
                let is_mentioned = |rule: &compact::Rule| token_bags.iter().any(|bag| bag.mentions(&rule.pattern));
                let by_words = map.ruling(tool, |rule| !gives(&rule) && is_mentioned(rule));
                let counts = |rule: &&compact::Rule| !gives(rule) && !is_everything(&rule.pattern);
                let by_pattern = commands.iter().filter_map(by_pattern);
                by_line.chain(by_words).chain(by_pattern).filter(counts).max_by_key(|rule| rule.action)
            }
            Item::Text(text) => map.ruling(tool, |rule| glob::matches(&rule.pattern, text)),
            Item::Server(_) => map
                .ruling(tool, |rule| glob::matches(&rule.pattern, "*"))
                .filter(|rule| !gives(rule) || !glob::is_pattern(&rule.tool) || !self.is_grave(item, &rule.pattern)),
        }
    }

    /// What the model is told when a rule forbids a call.
    pub(super) fn denial(&self, item: &dyn fmt::Display, permission: &str, pattern: &str) -> String {
        let rules = json!([{ "permission": permission, "pattern": pattern, "action": "deny" }]);
        format!("Tool \"{}\" denied by policy for pattern: {item}\nRelevant rules: {rules}", self.call.tool)
    }
}

fn strictest<'r>(one: Option<&'r compact::Rule>, other: Option<&'r compact::Rule>) -> Option<&'r compact::Rule> {
    [one, other].into_iter().flatten().max_by_key(|rule| rule.action)
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    host.split_once(':').map_or(host, |(host, _)| host)
}
