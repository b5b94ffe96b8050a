//! A call as the steps of a decision see it: its tool in one spelling, and one item for each thing that it is about.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::slice;

use super::line::{CommandLine, arguments_of_git, shown_content};
use super::policy::Opinion;
use crate::permission::address;
use crate::permission::compact::tool::Spelled;
use crate::permission::content;
use crate::permission::flag;
use crate::permission::floor;
use crate::permission::guard::{self, Act, Refusal};
use crate::permission::rule::Spot;
use crate::permission::shell::{OpaqueConstruct, Origin, ShellText, SimpleCommand, TokenBag};
use crate::permission::verb::{self, ReadGround};
use crate::permission::{Call, Effect, GitDriver, Hold, Leads, Overlay, Places, Posture, Scene, Subject, Target};
use crate::tool::{Tool, ToolClass, ToolEffect, ToolFamily, ToolName};

/// Tools of agent programs that change what the session may do, and that Coppice has no row for.
const FOREIGN_LIMITS: [&str; 3] = ["enter_plan_mode", "EnterPlanMode", "request_permissions"];

/// How many directories a text may go to.
const MOST_MOVES: usize = 8;

/// How many bytes of a command a reason repeats.
const MOST_SHOWN: usize = 400;

/// What every step starts from.
pub(super) struct Case<'a> {
    pub call: &'a Call,
    pub scene: &'a Scene<'a>,
    pub tool: Spelled<'a>,
    /// The command of the call, read once.
    pub shell: Option<ShellText>,
    /// What rules are held against. None of them is no opinion.
    pub items: Vec<Item>,
    pub clarity: Clarity,
    /// What stands against its paths.
    pub refusal: Option<Refusal>,
    /// What the maps say, once it was asked for.
    pub said: [OnceCell<Vec<Option<Opinion<'a>>>>; 2],
}

/// One thing that a call is about.
#[derive(Debug)]
pub(super) enum Item {
    Path {
        named: Spot,
        /// Where it is, when that is known.
        real: Option<Spot>,
    },
    /// A simple command of a shell's text.
    Command(CommandLine),
    /// A shell's text that is not understood, with every command that it may run.
    Opaque { text: String, suspects: Vec<CommandLine> },
    /// What a shell's text may run besides its commands. Rules can forbid it; it needs no consent.
    Possible(PossibleRuns),
    /// A tool of an external server, as `SERVER/TOOL`.
    Server(String),
    /// An address, with other spellings that count for a rule that forbids.
    Address { url: String, others: Vec<String> },
    /// A name, or `*` for a tool that is about nothing.
    Text(String),
}

/// What a shell's text may run besides the commands that it is known to run.
#[derive(Debug)]
pub(super) struct PossibleRuns {
    pub text: String,
    pub commands: Vec<CommandLine>,
    pub token_bags: Vec<TokenBag>,
}

/// The two ways to look at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Named,
    Real,
}

impl Item {
    pub(super) fn spot(&self, side: Side) -> Option<&Spot> {
        match (self, side) {
            (Self::Path { named, .. }, Side::Named) => Some(named),
            (Self::Path { real, .. }, Side::Real) => real.as_ref(),
            (
                Self::Command(_)
                | Self::Opaque { .. }
                | Self::Possible(_)
                | Self::Server(_)
                | Self::Address { .. }
                | Self::Text(_),
                Side::Named | Side::Real,
            ) => None,
        }
    }

    /// The commands that a shell's text runs, or may run.
    pub(super) fn commands(&self) -> &[CommandLine] {
        match self {
            Self::Command(command) => slice::from_ref(command),
            Self::Opaque { suspects, .. } => suspects,
            Self::Possible(PossibleRuns { commands, .. }) => commands,
            Self::Path { .. } | Self::Server(_) | Self::Address { .. } | Self::Text(_) => &[],
        }
    }

    /// The ways of looking at it that differ.
    pub(super) fn sides(&self) -> &'static [Side] {
        if self.spot(Side::Named) == self.spot(Side::Real) { &[Side::Real] } else { &[Side::Named, Side::Real] }
    }

    /// Whether it is a path that is not in the tree, or might not be.
    pub(super) fn is_outside(&self) -> bool {
        matches!(self, Self::Path { real, .. } if real.as_ref().is_none_or(|real| real.inside.is_none()))
    }

    /// Whether it is in the tree under a name that does not say so.
    pub(super) fn is_alias(&self) -> bool {
        matches!(self, Self::Path { named, .. } if named.inside.is_none() && !self.is_outside())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { named, .. } => f.write_str(named.inside.as_ref().unwrap_or(&named.absolute)),
            Self::Command(CommandLine { line: text, .. })
            | Self::Opaque { text, .. }
            | Self::Possible(PossibleRuns { text, .. })
            | Self::Server(text)
            | Self::Address { url: text, .. }
            | Self::Text(text) => {
                let end = text.floor_char_boundary(MOST_SHOWN);
                write!(f, "{}{}", &text[..end], if end < text.len() { "…" } else { "" })
            }
        }
    }
}

/// Whether a call can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clarity {
    Clear,
    /// A shell's text that no rule can be held against.
    Unreadable,
    /// It does not say what it is about.
    Pointless,
    /// A page of a host with letters that a client may replace by others.
    ForeignHost,
}

impl<'a> Case<'a> {
    pub(super) fn new(call: &'a Call, scene: &'a Scene<'a>) -> Self {
        let tool = Spelled::new(&call.tool);
        let shell = match &call.subject {
            Subject::Command { text, .. } => Some(ShellText::read(text)),
            Subject::Name(arguments) if tool.name.known() == Some(Tool::Git) => {
                Some(ShellText::read(&format!("git {arguments}")))
            }
            Subject::Paths(_) | Subject::Url(_) | Subject::Mcp { .. } | Subject::Name(_) | Subject::Nothing => None,
        };
        let (items, clarity) = items(&tool, &call.subject, shell.as_ref(), scene.places);
        let mut case = Self { call, scene, tool, shell, items, clarity, refusal: None, said: Default::default() };
        case.refusal = case.refuse();
        case
    }

    pub(super) fn tool(&self) -> &str {
        self.tool.canonical()
    }

    /// `None` for tools of external servers and those that nobody knows.
    pub(super) fn known(&self) -> Option<Tool> {
        self.tool.name.known()
    }

    pub(super) fn is(&self, tool: Tool) -> bool {
        self.known() == Some(tool)
    }

    pub(super) fn class(&self) -> Option<ToolClass> {
        self.known().map(Tool::class)
    }

    /// The paths of the call, by what is done with them.
    fn paths(&self) -> Vec<(&'a [Target], Act)> {
        let Subject::Paths(paths) = &self.call.subject else { return Vec::new() };
        match (self.known(), paths.as_slice()) {
            (Some(Tool::CopyFile), [from, to @ ..]) => vec![(slice::from_ref(from), Act::Read), (to, Act::Write)],
            (Some(Tool::Search), paths) => vec![(paths, Act::Search)],
            // What nobody knows may as well write.
            (tool, paths) if tool.is_none_or(Tool::is_mutating) => vec![(paths, Act::Write)],
            (_, paths) => vec![(paths, Act::Read)],
        }
    }

    /// What stands against its paths, the gravest first.
    fn refuse(&self) -> Option<Refusal> {
        if self.writes_plan() {
            return None;
        }
        let check = |(targets, act)| guard::check(targets, act, self.scene.places);
        let refusal = self.paths().into_iter().filter_map(check).max_by_key(Refusal::is_final);
        refusal.or_else(|| {
            let (shell, places) = (self.shell.as_ref()?, self.scene.places);
            let path = match &self.call.subject {
                _ if self.is(Tool::Git) => guard::words::named(shell, &places.tree)?,
                Subject::Command { text, cwd, .. } => {
                    let bases = directories(&cwd.real, &shell.commands, &places.home);
                    guard::named::find_named_secret(text, &bases, places)?
                }
                Subject::Paths(_) | Subject::Url(_) | Subject::Mcp { .. } | Subject::Name(_) | Subject::Nothing => {
                    return None;
                }
            };
            Some(Refusal::Secret { path, act: Act::Read })
        })
    }

    /// What keeps the command of the call from being understood.
    pub(super) fn opaque(&self) -> Option<&OpaqueConstruct> {
        self.shell.as_ref()?.opaque.as_ref()
    }

    /// Whether it writes the plan while that is made, and nothing else.
    pub(super) fn writes_plan(&self) -> bool {
        let Subject::Paths(paths) = &self.call.subject else { return false };
        let is_plan = |target: &Target| self.scene.places.plan.as_ref() == Some(&target.real);
        let is_edit = matches!(self.known(), Some(Tool::Write | Tool::Edit | Tool::Patch));
        let is_written = is_edit && self.scene.posture == Posture::Plan;
        is_written && !paths.is_empty() && paths.iter().all(is_plan)
    }

    /// Whether its words are a command, or the arguments of one.
    fn runs_words(&self) -> bool {
        matches!(self.known(), Some(Tool::Bash | Tool::Git))
    }

    /// Whether it changes what the session may do.
    pub(super) fn is_boundary(&self) -> bool {
        match self.tool.name {
            ToolName::Known(tool) => tool.effect() == ToolEffect::Limits,
            ToolName::External { .. } => false,
            ToolName::Unknown(name) => FOREIGN_LIMITS.contains(&name),
        }
    }

    /// Whether it is a command that only looks, and whose words all lead into the tree. The sandbox does not make up for
    /// that: an agent's own environment, which holds its login, is open to what it runs.
    pub(super) fn reads_inside(&self) -> bool {
        matches!(self.call.subject, Subject::Command { leads: Leads::Inside, .. }) && self.only_looks()
    }

    /// Whether it changes files of the tree and does nothing that wants a person in any case.
    pub(super) fn edits_inside(&self) -> bool {
        let is_safe = self.known().is_some_and(|tool| !tool.is_asked_beside_edits()) && !self.runs_unheld();
        self.changes() && is_safe && self.refusal.is_none()
    }

    /// Whether it runs code of the project that nothing holds, though it looks like a mere look or edit.
    pub(super) fn runs_unheld(&self) -> bool {
        self.known().map(Tool::family) == Some(ToolFamily::Code) && self.scene.hold == Hold::Advisory
    }

    /// Whether it is any work that stays in the tree.
    pub(super) fn works_inside(&self) -> bool {
        let is_kept = match &self.call.subject {
            Subject::Command { .. } => self.is_held(),
            Subject::Paths(_) => self.refusal.is_none(),
            // Arguments of a program, and what is typed into one, say nothing about where it works.
            Subject::Nothing | Subject::Name(_) => {
                !matches!(self.known(), Some(Tool::Git | Tool::WriteStdin)) || self.scene.hold == Hold::Enforced
            }
            Subject::Url(_) | Subject::Mcp { .. } => false,
        };
        let works = |tool: Tool| tool.is_mutating() && tool.effect() != ToolEffect::Publishes || self.runs_unheld();
        is_kept && self.known().is_some_and(works)
    }

    /// Whether a command is kept in the tree, by the kernel or by its looks.
    pub(super) fn is_held(&self) -> bool {
        match &self.call.subject {
            Subject::Command { leads, .. } => self.scene.hold == Hold::Enforced || *leads == Leads::Inside,
            Subject::Paths(_) | Subject::Url(_) | Subject::Mcp { .. } | Subject::Name(_) | Subject::Nothing => false,
        }
    }

    /// Whether it only looks at history, and shows nothing that may not be read. Of everything, the tool for git shows a patch
    /// in any case.
    pub(super) fn asks_git_openly(&self) -> bool {
        let commands = || self.shell.iter().flat_map(|shell| &shell.commands);
        let is_open = match self.known() {
            Some(Tool::Git) => !self.shows_more() || commands().all(guard::words::names_no_file),
            _ => !self.shows_more() && self.is_held(),
        };
        is_open && self.only_asks_git()
    }

    /// Whether it leads to a file that may not be read, or may lead anywhere by a pattern that git completes.
    fn shows_more(&self) -> bool {
        let Subject::Command { leads, .. } = &self.call.subject else { return false };
        let has_glob = |command: &SimpleCommand| command.words.iter().any(|word| word.text.contains(['*', '?', '[']));
        match leads {
            Leads::Inside => false,
            Leads::Kept => true,
            Leads::Elsewhere => self.shell.iter().flat_map(|shell| &shell.commands).any(has_glob),
        }
    }

    /// Whether it leads to a file of the tree that may not be read.
    pub(super) fn leads_to_kept_file(&self) -> bool {
        matches!(self.call.subject, Subject::Command { leads: Leads::Kept, .. })
    }

    /// Whether it is a tool of an external server that says of itself that it only reads.
    pub(super) fn only_reads_elsewhere(&self) -> bool {
        matches!(self.call.subject, Subject::Mcp { effect: Effect::Reads, .. })
    }

    /// The same, of a server whose word counts.
    pub(super) fn is_trusted_to_read(&self) -> bool {
        let Subject::Mcp { server, effect: Effect::Reads, .. } = &self.call.subject else { return false };
        self.scene.rules.trusted_servers.contains(server)
    }

    /// Whether it is a command that does nothing but look.
    pub(super) fn only_looks(&self) -> bool {
        let reads = || self.at_ground(verb::text_only_reads);
        self.is(Tool::Bash) && reads() || self.only_asks_git()
    }

    /// Whether it is a command that would only look if it did not name what may hold secrets.
    pub(super) fn reads_credentials(&self) -> bool {
        self.shell.as_ref().is_some_and(content::reads_credentials)
    }

    /// Whether it looks at history and does nothing else, by the tool for git or by a shell.
    pub(super) fn only_asks_git(&self) -> bool {
        let Some(shell) = self.shell.as_ref().filter(|_| self.runs_words()) else { return false };
        // Git compares any two files, once one of them is in no repository.
        let is_below = || self.scene.hold == Hold::Enforced || content::stays_below(shell);
        let is_held = || is_below() || matches!(self.call.subject, Subject::Name(_));
        self.at_ground(verb::text_only_reads_git) && (self.is(Tool::Bash) || is_held())
    }

    /// Whether the command of the call passes a test that depends on where it runs. The tool for git names the
    /// repository itself; a shell's git finds the one of the directory that it runs in.
    fn at_ground(&self, passes: impl Fn(&ShellText, ReadGround<'_>) -> bool) -> bool {
        self.at_ground_with(self.scene.git_driver, passes)
    }

    /// The setting of git that keeps a command of the call from being one that only looks.
    pub(super) fn driver_in_the_way(&self) -> Option<&str> {
        let driver = self.scene.git_driver?;
        let would_look = self.runs_words() && self.at_ground_with(None, verb::text_only_reads);
        (would_look && !self.only_looks()).then_some(driver.setting.as_str())
    }

    /// Whether one command of a line needs no consent of its own, because it only looks inside: before anything else runs, or
    /// as a filter.
    pub(super) fn needs_no_word(&self, at: usize) -> bool {
        let commands = self.shell.as_ref().and_then(ShellText::understood).unwrap_or_default();
        let looks = |command: &SimpleCommand| {
            let alone = ShellText { commands: vec![command.clone()], ..ShellText::default() };
            self.passes_at_ground(&alone, self.scene.git_driver, verb::text_only_reads)
        };
        let is_inside = matches!(self.call.subject, Subject::Command { leads: Leads::Inside, .. });
        let Some(command) = commands.get(at).filter(|_| is_inside && self.is(Tool::Bash)) else { return false };
        looks(command) && !command.is_fed && (content::is_filter(command) || commands[..at].iter().all(looks))
    }

    fn at_ground_with(
        &self,
        git_driver: Option<&GitDriver>,
        passes: impl Fn(&ShellText, ReadGround<'_>) -> bool,
    ) -> bool {
        self.shell.as_ref().is_some_and(|shell| self.passes_at_ground(shell, git_driver, passes))
    }

    fn passes_at_ground(
        &self,
        shell: &ShellText,
        git_driver: Option<&GitDriver>,
        passes: impl Fn(&ShellText, ReadGround<'_>) -> bool,
    ) -> bool {
        let tree = self.scene.places.tree.as_path();
        let tree_name = tree.to_string_lossy();
        let passes = match &self.call.subject {
            Subject::Command { cwd, leads, .. } if self.is(Tool::Bash) => {
                let is_root = cwd.real == tree;
                let named = if is_root { cwd.named.to_string_lossy() } else { tree_name.clone() };
                // What leads inside runs in no other repository.
                let knows_moves = *leads == Leads::Inside;
                let (is_root, root_names) = (is_root || knows_moves, [tree_name.as_ref(), &named]);
                passes(shell, ReadGround { is_root, knows_moves, root_names: &root_names, git_driver })
            }
            _ => passes(shell, ReadGround { is_root: true, knows_moves: false, root_names: &[], git_driver }),
        };
        passes && !self.names_kept_file()
    }

    /// Whether a word of a plain command is the path of a file that a rule keeps from `read`.
    pub(super) fn names_kept_file(&self) -> bool {
        let places = self.scene.places;
        let directory = match &self.call.subject {
            Subject::Command { cwd, .. } => &cwd.real,
            Subject::Paths(_) | Subject::Url(_) | Subject::Mcp { .. } | Subject::Name(_) | Subject::Nothing => {
                &places.tree
            }
        };
        let is_kept = |piece: &str| {
            let path = guard::plain(&directory.join(piece));
            self.keeps_file(&item(&Target { named: path.clone(), real: path }, places))
        };
        let names_kept = |command: &SimpleCommand| {
            let targets = command.redirects.iter().map(|redirect| &redirect.target);
            let words = command.words.iter().skip(1).chain(targets);
            words.flat_map(|word| word.text.split(['=', ':'])).any(is_kept)
        };
        self.shell.as_ref().and_then(ShellText::understood).is_some_and(|commands| commands.iter().any(names_kept))
    }

    /// Whether one of our tools changes files or history. External servers answer for themselves.
    pub(super) fn changes(&self) -> bool {
        self.known().is_some_and(Tool::is_mutating) && !self.only_looks()
    }

    /// Whether nobody watches: what would be asked about elsewhere is refused.
    pub(super) fn is_alone(&self) -> bool {
        self.scene.posture == Posture::Unattended || self.scene.overlay == Overlay::Yolo
    }
}

fn items(tool: &Spelled<'_>, subject: &Subject, shell: Option<&ShellText>, places: &Places) -> (Vec<Item>, Clarity) {
    if let Some(verb) = tool.name.known().and_then(Tool::rule_verb) {
        return (vec![Item::Text(verb.to_owned())], Clarity::Clear);
    }
    match (subject, shell) {
        (Subject::Command { text, leads, .. }, Some(shell)) if tool.name.known() == Some(Tool::Git) => {
            (vec![arguments_of_git(text, *leads, shell, places)], Clarity::Clear)
        }
        (Subject::Name(text), Some(shell)) => {
            (vec![arguments_of_git(text, Leads::Inside, shell, places)], Clarity::Clear)
        }
        (Subject::Command { text, cwd, leads }, Some(shell)) => commands(text, &cwd.real, *leads, shell, places),
        _ => things(tool, subject, places),
    }
}

/// The items of a shell's text.
fn commands(text: &str, cwd: &Path, leads: Leads, shell: &ShellText, places: &Places) -> (Vec<Item>, Clarity) {
    let leaves = flag::leaves_repository(&shell.commands, &places.tree);
    let bases = directories(cwd, &shell.commands, &places.home);
    let lines = shell.commands.iter().map(|command| {
        let line = CommandLine::new(command, &bases, places);
        let may_run_others = line.may_run_others || leaves && command.program() == "git";
        CommandLine { may_run_others, shows: shown_content(command, leads), ..line }
    });
    let (mut items, clarity): (Vec<_>, _) = match &shell.opaque {
        None if shell.commands.is_empty() => (Vec::new(), Clarity::Pointless),
        None => (lines.map(Item::Command).collect(), Clarity::Clear),
        Some(construct) => {
            let clarity = if construct.is_malformed() { Clarity::Unreadable } else { Clarity::Clear };
            (vec![Item::Opaque { text: text.to_owned(), suspects: lines.collect() }], clarity)
        }
    };
    if !shell.possible_commands.is_empty() || !shell.token_bags.is_empty() {
        let commands = shell.possible_commands.iter().map(|command| CommandLine::new(command, &[], places)).collect();
        items.push(Item::Possible(PossibleRuns {
            text: text.to_owned(),
            commands,
            token_bags: shell.token_bags.clone(),
        }));
    }
    (items, clarity)
}

/// The directories that a text may be in, by the calls of `cd` in it.
fn directories(cwd: &Path, commands: &[SimpleCommand], home: &Path) -> Vec<PathBuf> {
    let mut directories = vec![cwd.to_owned()];
    let moves = commands.iter().flat_map(|command| match command.texts().as_slice() {
        // It goes home.
        ["cd", options @ ..]
            if command.origin <= Origin::Suspected && options.iter().all(|option| option.starts_with('-')) =>
        {
            vec!["~"]
        }
        ["cd" | "pushd", operands @ ..] => operands.iter().copied().filter(|word| !word.starts_with('-')).collect(),
        [_, options @ ..] if command.program() == "tar" => {
            options.windows(2).filter(|pair| pair[0] == "-C").map(|pair| pair[1]).collect()
        }
        [_, options @ ..] if command.program() == "env" => floor::env_directory(options).into_iter().collect(),
        _ => Vec::new(),
    });
    // An opaque text has each of its commands several times, and may have a variable for a directory that it knows.
    let mut seen = BTreeSet::new();
    for to in moves.filter(|to| !to.contains("${") && seen.insert(*to)).take(MOST_MOVES) {
        let next: Vec<_> =
            directories.iter().map(|base| guard::plain(&base.join(guard::without_tilde(to, home)))).collect();
        directories.extend(next);
        directories.sort();
        directories.dedup();
    }
    directories
}

fn things(tool: &Spelled<'_>, subject: &Subject, places: &Places) -> (Vec<Item>, Clarity) {
    match subject {
        Subject::Paths(paths) if paths.is_empty() => (Vec::new(), Clarity::Pointless),
        Subject::Paths(paths) => (paths.iter().map(|path| item(path, places)).collect(), Clarity::Clear),
        Subject::Url(url) => {
            let is_plain = tool.name.known() != Some(Tool::WebFetch) || address::host(url).is_ascii();
            let clarity = if is_plain { Clarity::Clear } else { Clarity::ForeignHost };
            (vec![Item::Address { url: url.clone(), others: address::spellings(url) }], clarity)
        }
        Subject::Mcp { server, tool, .. } => (vec![Item::Server(format!("{server}/{tool}"))], Clarity::Clear),
        Subject::Command { text: name, .. } | Subject::Name(name) => (vec![Item::Text(name.clone())], Clarity::Clear),
        Subject::Nothing if tool.name.known().is_some_and(Tool::needs_subject) => (Vec::new(), Clarity::Pointless),
        Subject::Nothing => (vec![Item::Text("*".to_owned())], Clarity::Clear),
    }
}

pub(super) fn item(target: &Target, places: &Places) -> Item {
    let real = guard::is_known(&target.real).then(|| spot(&target.real, places));
    Item::Path { named: spot(&guard::plain(&target.named), places), real }
}

fn spot(path: &Path, places: &Places) -> Spot {
    let inside = path.strip_prefix(&places.tree).ok().map(|rest| match rest.to_string_lossy() {
        rest if rest.is_empty() => ".".to_owned(),
        rest => rest.into_owned(),
    });
    Spot { absolute: path.to_string_lossy().into_owned(), inside }
}
