//! What is written down, held against the items of a call: rules of files, maps, and what a person allowed before.

use std::borrow::Cow;
use std::fmt;

use serde_json::json;

use super::case::{Case, Item, PossibleRuns, Side};
use super::line::{CommandLine, ShownContent};
use crate::permission::address;
use crate::permission::compact::tool::Spelled;
use crate::permission::compact::{self, Action, CompactPermission, glob, is_everything};
use crate::permission::rule::{Rule, Sense, Spot};
use crate::permission::shell::{TokenBag, may_become, may_name};
use crate::permission::{AgentWord, Effect, Posture, Subject};
use crate::tool::{Tool, ToolName};

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
        let takes = |rule: &Rule, (at, item): (usize, &Item)| {
            self.takes(rule, item) || self.keeps(rule, at, item) || self.reaches(rule, item)
        };
        rules.iter().find_map(|rule| {
            let mut items = self.items.iter().enumerate();
            Some((rule, items.find(|item| takes(rule, *item))?.1))
        })
    }

    /// Whether an item is a file whose contents the call shows or carries away without being called `read`.
    fn is_read(&self, at: usize) -> bool {
        self.known().is_some_and(|tool| tool.shows_file(at))
    }

    /// Whether an item is a file that the call changes or removes.
    fn changes_file(&self, at: usize) -> bool {
        self.known().is_some_and(|tool| tool.changes_file(at))
    }

    /// Whether a rule about another tool keeps the item, because the call reads, changes or removes it as that does.
    fn keeps(&self, rule: &Rule, at: usize, item: &Item) -> bool {
        let changes = is_about_changes(rule) && self.changes_file(at)
            || rule.is_about(Tool::DeleteFile) && self.is(Tool::MoveFile) && at == 0;
        let changed = rule.path_pattern().filter(|_| changes);
        let Some(pattern) = rule.kept_pattern().filter(|_| self.is_read(at)).or(changed) else { return false };
        let sides = item.sides();
        sides.iter().any(|side| self.means(rule, item, *side, Sense::Takes) || self.is_below(pattern, item, *side))
    }

    /// Whether a command changes a file that a rule about edits means, or shows one that a rule keeps from being read.
    fn reaches(&self, rule: &Rule, item: &Item) -> bool {
        let may_mean = |path: &Item, side: Side| {
            let (spot, pattern) = path.spot(side).zip(rule.path_pattern())?;
            may_become(spot.spelling(pattern), pattern).then_some(())
        };
        let is_meant = |path: &Item| {
            let is_side_meant =
                |side: &Side| self.means(rule, path, *side, Sense::Takes) || may_mean(path, *side).is_some();
            path.sides().iter().any(is_side_meant)
        };
        let commands = item.commands();
        is_about_changes(rule) && commands.iter().flat_map(CommandLine::changed).any(is_meant)
            || rule.kept_pattern().is_some() && commands.iter().flat_map(|command| &command.shown_files).any(is_meant)
    }

    /// Whether a rule or a map keeps a file from being read without a question.
    pub(super) fn keeps_file(&self, item: &Item) -> bool {
        let takes = |rule: &Rule| rule.kept_pattern().is_some() && self.means(rule, item, Side::Real, Sense::Takes);
        let maps = self.scene.agent.into_iter().chain(self.scene.rules.map.as_ref());
        self.scene.rules.files.iter().any(|file| file.deny.iter().chain(&file.ask).any(takes))
            || maps.into_iter().any(|map| self.read_denial(map, item).is_some())
    }

    /// Whether a pattern means something below a directory that is carried away or removed.
    fn is_below(&self, pattern: &str, item: &Item, side: Side) -> bool {
        let goes = matches!(self.known(), Some(Tool::CopyFile | Tool::MoveFile | Tool::DeleteFile));
        let Some(spot) = item.spot(side).filter(|_| goes) else { return false };
        let inside = match spot.spelling(pattern) {
            "." => String::new(),
            inside => format!("{inside}/"),
        };
        let head = pattern.split(['*', '?', '[', '{']).next().unwrap_or(pattern);
        head.starts_with(&inside) || glob::matches(pattern, &inside)
    }

    fn takes(&self, rule: &Rule, item: &Item) -> bool {
        let is_about = rule.is_about_name(self.tool.name);
        let patterns = shell_patterns(rule);
        // Most rules are about other tools, and a command has many spellings.
        if !is_about && patterns.is_empty() {
            return false;
        }
        if patterns.iter().any(|pattern| self.does_same(pattern)) {
            return true;
        }
        let runs = |command: &CommandLine| self.runs(&patterns, command);
        match item {
            Item::Path { .. } => {
                is_about && item.sides().iter().any(|side| self.means(rule, item, *side, Sense::Takes))
            }
            Item::Command(command) => is_about && command.lines().any(|line| rule.means_text(line)) || runs(command),
            Item::Opaque { text, suspects } => is_about && rule.means_text(text) || suspects.iter().any(runs),
            Item::Possible(PossibleRuns { commands, token_bags, .. }) => {
                let is_mentioned = |bag: &TokenBag| patterns.iter().any(|pattern| bag.mentions(pattern));
                commands.iter().any(runs) || token_bags.iter().any(is_mentioned)
            }
            Item::Address { url, others } => {
                is_about && std::iter::once(url).chain(others).any(|text| rule.means_text(text))
            }
            Item::Server(text) | Item::Text(text) => is_about && rule.means_text(text),
        }
    }

    /// Whether the call runs a command that a pattern means, in any spelling: by a shell, by the tool for git, or as tests.
    fn runs(&self, patterns: &[Cow<'_, str>], command: &CommandLine) -> bool {
        patterns.iter().any(|pattern| {
            let git = pattern.strip_prefix("git ").filter(|_| self.is(Tool::Git));
            let own = Some(pattern.as_ref()).filter(|_| !self.is(Tool::Git));
            let means = |pattern: &str| command.lines().any(|line| glob::matches(pattern, line));
            self.shell.is_some() && (git.or(own).is_some_and(means) || command.meets(pattern))
        })
    }

    /// Whether the tool does what a pattern of commands means. One that means all commands is about the shell alone.
    fn does_same(&self, pattern: &str) -> bool {
        let means = |command: &str| [command, &format!("{command} ")].iter().any(|line| may_name(line, pattern));
        !matches!(pattern, "git *" | "git **")
            && !is_everything(pattern)
            && self.known().is_some_and(|tool| tool.same_commands().iter().any(|command| means(command)))
    }

    /// Whether a rule lets an item through. A path counts by where it is, not by what it is called.
    pub(super) fn gives(&self, rule: &Rule, item: &Item) -> bool {
        rule.is_about_name(self.tool.name)
            && match item {
                Item::Path { .. } => self.means(rule, item, Side::Real, Sense::Gives),
                // `cargo test *` means `cargo test` as well.
                Item::Command(CommandLine { line, .. }) => {
                    let is_meant = rule.means_text(line) || rule.means_text(&format!("{line} "));
                    is_meant && (rule.is_exact() || !self.is_grave(item, rule.pattern()))
                }
                Item::Server(text) | Item::Text(text) => {
                    rule.means_text(text) && (rule.is_exact() || !self.is_grave(item, rule.pattern()))
                }
                Item::Address { url, .. } => rule.means_text(url),
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
                let is_wide = is_everything(pattern) && self.is(Tool::Bash);
                let shows = match command.shows {
                    ShownContent::Nothing => false,
                    ShownContent::FilesInside => self.names_kept_file(),
                    ShownContent::Anything => true,
                };
                !command.written.is_empty() && !self.may_redirect(pattern)
                    || command.destroys
                    || (command.may_run_others || shows) && !is_wide
            }
            Item::Opaque { text, suspects } => {
                text.contains('>') && !self.may_redirect(pattern) || suspects.iter().any(|command| command.destroys)
            }
            Item::Server(_) => matches!(self.call.subject, Subject::Mcp { effect: Effect::Destroys, .. }),
            Item::Path { .. } | Item::Possible(_) | Item::Address { .. } | Item::Text(_) => false,
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
        let also = match item {
            Item::Path { .. } if item.is_outside() && self.refusal.is_some() => Some(("external_directory", None)),
            Item::Address { url, .. } => Some(("network_target", Some(address::host(url)))),
            Item::Path { .. }
            | Item::Command(_)
            | Item::Opaque { .. }
            | Item::Possible(_)
            | Item::Server(_)
            | Item::Text(_) => None,
        };
        let by_tool = self.ruling(map, &self.tool, item);
        let by_subject = also.and_then(|(subject, text)| match text {
            Some(text) => self.ruling(map, &Spelled::new(subject), &Item::Text(text)),
            None => self.ruling(map, &Spelled::new(subject), item),
        });
        let shown = Some(item).filter(|_| self.is_read(at)).into_iter();
        let mut shown = shown.chain(item.commands().iter().flat_map(|command| &command.shown_files));
        let by_reading = shown.find_map(|file| self.read_denial(map, file));
        let others = [by_subject, by_reading, self.changing_denial(map, at, item), self.same_denial(map, item)];
        others.into_iter().fold(by_tool, strictest).map(|rule| Opinion { rule, owner })
    }

    /// The rule of a map that keeps a file from `edit` or `write`, where the call changes or removes it otherwise.
    fn changing_denial<'m>(&self, map: &'m CompactPermission, at: usize, item: &Item) -> Option<&'m compact::Rule> {
        let changed = Some(item).filter(|_| self.changes_file(at)).into_iter();
        let changed = changed.chain(item.commands().iter().flat_map(CommandLine::changed));
        let pairs = changed.flat_map(|item| ["edit", "write"].map(|tool| (Spelled::new(tool), item)));
        let denials = pairs.filter_map(|(tool, item)| self.ruling(map, &tool, item));
        denials.filter(|rule| rule.keeps_from(&self.tool)).max_by_key(|rule| rule.action)
    }

    /// The rule of a map that forbids by another name what the call does: a command, or a tool for git or GitHub.
    fn same_denial<'m>(&self, map: &'m CompactPermission, item: &Item) -> Option<&'m compact::Rule> {
        let takes = |rule: &compact::Rule| rule.action != Action::Allow;
        let by_command = ["bash", "git"].into_iter().filter_map(|tool| {
            let spelled = Spelled::new(tool);
            let prefix = if tool == "git" { "git " } else { "" };
            map.ruling(&spelled, |rule| takes(rule) && self.does_same(&format!("{prefix}{}", rule.pattern)))
        });
        let commands = item.commands();
        let by_tool = map.rules.iter().filter(|rule| takes(rule) && !commands.is_empty()).filter(|rule| {
            let Some(tool) = ToolName::read(&rule.tool).known() else { return false };
            let patterns: Vec<_> = tool.same_commands().iter().copied().map(command_pattern).collect();
            let is_last = || map.ruling(&Spelled::new(tool.name()), |rule| is_everything(&rule.pattern)) == Some(*rule);
            commands.iter().any(|command| self.runs(&patterns, command)) && is_last()
        });
        by_command.chain(by_tool).max_by_key(|rule| rule.action)
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
        let by_pattern = |command: &CommandLine| map.ruling(tool, |rule| !gives(&rule) && command.meets(&rule.pattern));
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
            Item::Address { url, others } => {
                let others = others.iter().filter_map(|text| {
                    let pattern = |rule: &compact::Rule| address::normalize_pattern(&rule.pattern);
                    map.ruling(tool, |rule| !gives(&rule) && glob::matches(&pattern(rule), text))
                });
                let by_text = map.ruling(tool, |rule| glob::matches(&rule.pattern, url));
                others.fold(by_text, |found, rule| strictest(found, Some(rule)))
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

fn is_about_changes(rule: &Rule) -> bool {
    rule.is_about(Tool::Edit) || rule.is_about(Tool::Write)
}

fn strictest<'r>(one: Option<&'r compact::Rule>, other: Option<&'r compact::Rule>) -> Option<&'r compact::Rule> {
    [one, other].into_iter().flatten().max_by_key(|rule| rule.action)
}

/// The patterns of commands that a rule is about: its own, or those that do the same as its tools do.
fn shell_patterns(rule: &Rule) -> Vec<Cow<'_, str>> {
    let is_meant = |tool: &Tool| rule.is_total() || tool.rule_verb().is_some_and(|verb| rule.means_text(verb));
    let same = rule.tools().filter(is_meant).flat_map(Tool::same_commands).map(|command| command_pattern(command));
    rule.shell_pattern().into_iter().chain(same).collect()
}

/// The pattern that means a command with all of its further arguments.
fn command_pattern(command: &str) -> Cow<'_, str> {
    if command.ends_with('*') { Cow::Borrowed(command) } else { Cow::Owned(format!("{command} *")) }
}
