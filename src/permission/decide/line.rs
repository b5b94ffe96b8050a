//! A command as rules see it: its spellings, and the files that it names.

use std::path::PathBuf;
use std::slice;

use super::case::{Item, item};
use super::word_order;
use crate::permission::shell::{CommandPattern, ShellText, SimpleCommand, git_arguments};
use crate::permission::{Leads, Places, Target, content, flag, guard};

/// A command as rules see it.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub line: String,
    /// Other spellings, which count for a rule that forbids.
    pub others: Vec<String>,
    /// Its words, without the directory of the program and without the options of git itself.
    pub words: Vec<String>,
    /// What it may be by patterns in its program, which counts for such a rule as well.
    pub patterns: Vec<CommandPattern>,
    /// The files that it writes by redirections, as paths from each directory that the text may go to.
    pub written: Vec<Item>,
    /// The files that git may take back to what they were, in the same way.
    pub restored: Vec<Item>,
    /// The files whose content it shows or copies, in the same way.
    pub shown_files: Vec<Item>,
    /// Is git with a flag that throws work away.
    pub destroys: bool,
    /// Is git with a subcommand or in a repository that may run another program.
    pub may_run_others: bool,
    /// Shows what is in files, and which of them it may be.
    pub shows: ShownContent,
}

/// Whose content a command may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ShownContent {
    Nothing,
    FilesInside,
    /// Files outside, or secrets.
    Anything,
}

impl CommandLine {
    /// A command with the files that it names, as paths from each of `bases`.
    pub(super) fn new(command: &SimpleCommand, bases: &[PathBuf], places: &Places) -> Self {
        let line = command.line();
        let destroys = !flag::in_command(command).is_empty();
        let patterns = command.pattern_lines();
        let may_run_others = flag::may_run_others(command, &places.remotes);
        let (others, shows) = (command.other_lines(&line), ShownContent::Nothing);
        let texts = command.texts();
        let arguments = texts.get(1..).unwrap_or_default();
        let arguments = if command.program() == "git" { git_arguments(arguments) } else { arguments };
        let words = std::iter::once(&command.program()).chain(arguments).map(|word| (*word).to_owned()).collect();
        let path = |path: PathBuf| item(&Target { real: guard::plain(&path), named: path }, places);
        let below = |name: &str| {
            let paths = bases.iter().map(|base| path(base.join(guard::without_tilde(name, &places.home))));
            paths.collect::<Vec<_>>()
        };
        let targets = command.redirects.iter().filter(|redirect| redirect.writes());
        let written = targets.flat_map(|to| below(&to.target.text)).collect();
        let restored = flag::restored_files(command).into_iter().filter_map(guard::words::pathspec);
        let restored = restored.flat_map(below).collect();
        let shown_files = guard::named::shown_files(command).flat_map(below).collect();
        Self { others, line, words, patterns, written, restored, shown_files, destroys, may_run_others, shows }
    }

    /// Whether it may be what the pattern of a rule that forbids means, by patterns of its own or in another order.
    pub(super) fn meets(&self, pattern: &str) -> bool {
        let words: Vec<_> = self.words.iter().map(String::as_str).collect();
        self.patterns.iter().any(|own| own.meets(pattern)) || word_order::means(pattern, &words)
    }

    /// The files that it changes without a tool of its own.
    pub(super) fn changed(&self) -> impl Iterator<Item = &Item> {
        self.written.iter().chain(&self.restored)
    }

    /// All spellings of it.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.line).chain(&self.others).map(String::as_str)
    }
}

/// Whose content a command may show; `leads` is about the whole line that it is part of.
pub(super) fn shown_content(command: &SimpleCommand, leads: Leads) -> ShownContent {
    match content::shows_files(command) {
        // A rule for all files that a program makes is none about those outside or of git.
        _ if matches!(command.program(), "mkdir" | "touch") && leads != Leads::Inside => ShownContent::Anything,
        true if content::may_show_secrets(command, leads) => ShownContent::Anything,
        true => ShownContent::FilesInside,
        false => ShownContent::Nothing,
    }
}

/// The item of a call of the tool for git: its words without the program.
pub(super) fn arguments_of_git(text: &str, leads: Leads, shell: &ShellText, places: &Places) -> Item {
    let line = text.trim().strip_prefix("git ").unwrap_or(text).to_owned();
    let (mut others, mut words) = (Vec::new(), Vec::new());
    let (mut restored, mut shown_files) = (Vec::new(), Vec::new());
    for command in shell.commands.iter().chain(&shell.possible_commands) {
        let known = CommandLine::new(command, slice::from_ref(&places.tree), places);
        others.extend(known.lines().filter_map(|line| line.strip_prefix("git ").map(str::to_owned)));
        words = if words.is_empty() { known.words } else { words };
        restored.extend(known.restored);
        shown_files.extend(known.shown_files);
    }
    let destroys = shell.commands.iter().any(|command| !flag::in_command(command).is_empty());
    let may_run_others = shell.commands.iter().any(|command| flag::may_run_others(command, &places.remotes));
    let shows = shell.commands.iter().map(|command| shown_content(command, leads)).max();
    Item::Command(CommandLine {
        line,
        others,
        words,
        patterns: Vec::new(),
        written: Vec::new(),
        restored,
        shown_files,
        destroys,
        may_run_others,
        shows: shows.unwrap_or(ShownContent::Nothing),
    })
}
