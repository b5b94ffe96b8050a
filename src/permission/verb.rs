//! Which commands only look: by the program and by a list of the options that it may have. An opaque text, an unknown
//! program and an unknown option do not pass.

mod git;
#[cfg(test)]
mod tests;

use std::path::Path;

pub(super) use git::{
    READS as GIT_READS, lists as git_lists, reads as git_reads, reads_no_files as git_reads_no_files,
};

use super::GitDriver;
use super::command::is_common_program;
use super::content::is_below;
use super::filter::{printed_files, prints_texts, reaches_by_filter};
use super::key_file::names_credentials;
use super::reader;
use super::shell::{ShellText, SimpleCommand, base_name, is_one_of};

/// Expressions of `find` that only read: tests, and actions that print.
const FIND_WORDS: &str = "-L -H -P -a -and -daystart -depth -empty -executable -false -follow -group -iname -inum \
                          -ipath -iregex -links -lname -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -not \
                          -o -or -path -perm -print -print0 -printf -prune -quit -readable -regex -regextype -size \
                          -true -type -user -wholename -writable -xdev";

/// Conditions that look at files or compare texts. Those about numbers and variables evaluate what they are given.
const TEST_WORDS: &str = "-a -b -c -d -e -f -h -L -n -o -p -r -s -S -w -x -z";

/// Where a text runs, as far as git is concerned: it reads the configuration of the repository that it finds there.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadGround<'a> {
    /// Whether it is certain that git finds the repository of the work tree.
    pub is_root: bool,
    /// Whether the same is certain of every directory below to which a command changes.
    pub knows_moves: bool,
    /// Names of the root of the work tree, to which a command may change.
    pub root_names: &'a [&'a str],
    /// What git runs when it reads files there.
    pub git_driver: Option<&'a GitDriver>,
}

const AT_ROOT: ReadGround<'_> = ReadGround { is_root: true, knows_moves: false, root_names: &[], git_driver: None };

/// Whether a shell text, run at the root of a work tree, does nothing but read, and reads no credentials.
pub fn only_reads(text: &str) -> bool {
    text_only_reads(&ShellText::read(text), AT_ROOT)
}

/// Whether a shell text, run at the root of a work tree, does nothing but read with git.
pub fn only_git_reads(text: &str) -> bool {
    text_only_reads_git(&ShellText::read(text), AT_ROOT)
}

pub(super) fn text_only_reads(text: &ShellText, ground: ReadGround<'_>) -> bool {
    let leaves = |command: &SimpleCommand| command.program() == "cd" && !ground.is_way_to_root(&command.texts());
    // Another directory may be another repository.
    let stays = ground.knows_moves || !text.commands.iter().any(leaves);
    let ground = ReadGround { is_root: ground.is_root && stays, ..ground };
    all(text, |command| reads(command, ground))
}

pub(super) fn text_only_reads_git(text: &ShellText, ground: ReadGround<'_>) -> bool {
    // Git shows names of its input that it does not know, and so what is in any file.
    let is_fed = |command: &SimpleCommand| command.redirects.iter().any(|redirect| redirect.sign == "<");
    all(text, |command| command.program() == "git" && !is_fed(command) && reads(command, ground))
}

impl ReadGround<'_> {
    /// Whether a call of `cd` stays where it is or goes to the root.
    fn is_way_to_root(&self, texts: &[&str]) -> bool {
        matches!(texts, [_, to] if *to == "." || self.root_names.contains(to))
    }
}

/// Whether a text runs something, and nothing that it runs writes a file, reaches for credentials or fails the test.
fn all(text: &ShellText, passes: impl Fn(&SimpleCommand) -> bool) -> bool {
    let passes = |command: &SimpleCommand| {
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        !command.writes() && passes(command) && !command.words.iter().chain(targets).any(names_credentials)
    };
    text.understood().is_some_and(|commands| !commands.is_empty() && commands.iter().all(passes))
}

fn reads(command: &SimpleCommand, ground: ReadGround<'_>) -> bool {
    let texts = command.texts();
    let [program, arguments @ ..] = texts.as_slice() else { return false };
    if program.contains('/') && !is_common_program(Path::new(program)) {
        return false;
    }
    let has_glob = command.words.iter().any(|word| word.is_glob);
    let are_among = |words: &str| arguments.iter().all(|word| !word.starts_with('-') || is_one_of(words, word));
    match base_name(program) {
        "git" => {
            let runs_no_driver = || ground.git_driver.is_none() || git::reads_no_files(command);
            ground.is_root && git::reads(command, ground.root_names) && runs_no_driver()
        }
        "cd" => {
            ground.is_way_to_root(&texts)
                || matches!(arguments, [to] if !has_glob && !to.is_empty() && !to.starts_with('-') && is_below(to))
        }
        "command" => matches!(arguments, ["-v" | "-V", _]),
        "date" => are_among("-u -R -I --utc --universal") && arguments.iter().all(|word| word.starts_with(['+', '-'])),
        "find" => finds_names(arguments),
        "[" | "test" => are_among(TEST_WORDS),
        "printf" => arguments.first().is_some_and(|format| prints_texts(format)) && !has_glob,
        "sed" | "awk" | "gawk" | "mawk" => printed_files(command).is_some(),
        "jq" if reaches_by_filter(command) => false,
        "uniq" if has_glob => false,
        "time" | "timeout" => !arguments.iter().any(|word| word.contains('=')),
        name => reader::only_reads(name, arguments),
    }
}

/// Whether `find` does nothing but list names.
pub(super) fn finds_names(arguments: &[&str]) -> bool {
    arguments.iter().all(|word| !word.starts_with('-') || is_one_of(FIND_WORDS, word) || word.parse::<i64>().is_ok())
}
