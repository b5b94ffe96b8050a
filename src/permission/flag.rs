//! Flags of git that throw work away, overwrite a file or run a program, for the warning that people see before they allow
//! a call.
//!
//! A flag means something only together with its subcommand: `commit -f` destroys nothing.

#[cfg(test)]
mod tests;

use std::path::Path;

use super::shell::{ShellText, SimpleCommand, git_arguments, is_one_of};
use super::verb::{GIT_READS, git_reads};

/// Options of git itself that bring in settings, and so programs, of somebody else.
const FOREIGN_SETTINGS: &str = "-C -c --config-env --exec-path --git-dir --work-tree";

/// Subcommands of git that an allow rule with a pattern covers, besides those that only look. Apart from the flags below, none
/// takes the command of a program, changes what git runs later, or writes outside of the repository and its work tree.
const COVERED: &str = "add am apply archive bisect branch checkout checkout-index cherry-pick clean commit fetch \
                       format-patch fsck gc ls-remote merge mv notes pack-refs prune pull push read-tree rebase \
                       reflog remote repack rerere reset restore revert rm sparse-checkout stage stash submodule switch \
                       symbolic-ref tag update-index update-ref";

/// What destroys, overwrites a file or runs a program, in a subcommand of git.
struct Row {
    verb: &'static str,
    /// Letters that destroy.
    letters: &'static str,
    /// Letters whose value may be glued to them.
    valued: &'static str,
    flags: &'static [&'static str],
    /// First words that destroy by themselves.
    words: &'static [&'static str],
}

const fn row(
    verb: &'static str,
    (letters, valued): (&'static str, &'static str),
    flags: &'static [&'static str],
    words: &'static [&'static str],
) -> Row {
    Row { verb, letters, valued, flags, words }
}

/// What makes a command that shows things overwrite any file with them.
const OUTPUT: &[&str] = &["--output"];

const ROWS: &[Row] = &[
    row("annotate", ("", ""), OUTPUT, &[]),
    row("apply", ("", ""), &["--build-fake-ancestor", "--unsafe-paths"], &[]),
    row("archive", ("o", ""), &["--exec", "--output"], &[]),
    row("bisect", ("", ""), &[], &["run", "view", "visualize"]),
    row("blame", ("", ""), OUTPUT, &[]),
    row("branch", ("DdfMC", "u"), &["--delete", "--force"], &[]),
    row("cat-file", ("", ""), &["--filters", "--textconv"], &[]),
    row("checkout", ("fB", "b"), &["--force"], &["."]),
    row("checkout-index", ("f", ""), &["--force", "--prefix"], &[]),
    row("clean", ("fdxX", "e"), &["--force"], &[]),
    row("clone", ("cu", "bjo"), &["--config", "--upload-pack"], &[]),
    row("diff", ("", ""), OUTPUT, &[]),
    row("diff-files", ("", ""), OUTPUT, &[]),
    row("diff-index", ("", ""), OUTPUT, &[]),
    row("diff-tree", ("", ""), OUTPUT, &[]),
    row("difftool", ("x", "t"), &["--extcmd"], &[]),
    row("fetch", ("fpP", "jo"), &["--force", "--prune", "--prune-tags", "--upload-pack"], &[]),
    row("filter-branch", ("f", ""), &["--force"], &[]),
    row("filter-repo", ("f", ""), &["--force"], &[]),
    row("format-patch", ("o", "nvU"), &["--output", "--output-directory"], &[]),
    row("gc", ("", ""), &["--prune"], &[]),
    row("grep", ("O", "ABCefm"), &["--open-files-in-pager"], &[]),
    row("log", ("", ""), OUTPUT, &[]),
    row("ls-remote", ("", "o"), &["--exec", "--upload-pack"], &[]),
    row("mv", ("f", ""), &["--force"], &[]),
    row("prune", ("", ""), &["--expire"], &[]),
    row("pull", ("fp", "josSX"), &["--force", "--prune", "--upload-pack"], &[]),
    row(
        "push",
        ("fd", "o"),
        &["--delete", "--exec", "--force", "--force-with-lease", "--mirror", "--prune", "--receive-pack"],
        &[],
    ),
    row("range-diff", ("", ""), OUTPUT, &[]),
    row("read-tree", ("", ""), &["--index-output", "--reset"], &[]),
    row("rebase", ("x", "CsSX"), &["--exec"], &[]),
    row("reflog", ("", ""), &["--expire", "--all", "--output"], &["delete", "expire"]),
    row("remote", ("p", ""), &["--prune"], &["prune", "remove", "rm"]),
    row("reset", ("", ""), &["--hard", "--merge"], &[]),
    row("rev-list", ("", ""), OUTPUT, &[]),
    row("rm", ("fr", ""), &["--force"], &[]),
    row("shortlog", ("", ""), OUTPUT, &[]),
    row("show", ("", ""), OUTPUT, &[]),
    row("stash", ("", ""), OUTPUT, &["clear", "drop"]),
    row("submodule", ("f", ""), &["--force"], &["deinit", "foreach"]),
    row("switch", ("fC", "c"), &["--discard-changes", "--force", "--force-create"], &[]),
    row("symbolic-ref", ("d", "m"), &["--delete"], &[]),
    row("tag", ("df", "mFun"), &["--delete", "--force"], &[]),
    row("update-ref", ("d", "m"), &["--stdin"], &[]),
    row("whatchanged", ("", ""), OUTPUT, &[]),
    row("worktree", ("f", "bB"), &["--force"], &["prune", "remove"]),
];

/// The destructive flags in a shell text, each once, in their order.
pub fn destructive(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // An opaque text is flagged by its raw words.
    for flag in ShellText::read(text).commands.iter().flat_map(in_command) {
        if !found.contains(&flag) {
            found.push(flag);
        }
    }
    found
}

/// The destructive flags of one command.
pub(super) fn in_command(command: &SimpleCommand) -> Vec<String> {
    if command.program() == "git" { in_git(command.texts().get(1..).unwrap_or_default()) } else { Vec::new() }
}

/// Whether a command is git with a subcommand that may run another program: an alias, one that is not on the list, or one
/// that works with a repository on this disk, whose hooks and settings are somebody else's.
pub(super) fn may_run_others(command: &SimpleCommand) -> bool {
    let is_covered = |(verb, words): (&str, &[&str])| {
        (is_one_of(COVERED, verb) || is_one_of(GIT_READS, verb)) && !names_repository(verb, words)
    };
    command.program() == "git"
        && !subcommand(command.texts().get(1..).unwrap_or_default()).is_none_or(is_covered)
        && !git_reads(command)
}

/// Whether a subcommand names a repository by its path, or a program that fetches from one (`ext::`).
fn names_repository(verb: &str, words: &[&str]) -> bool {
    let is_path = |word: &&str| {
        let place = word.split_once('=').filter(|_| word.starts_with('-')).map_or(*word, |(_, value)| value);
        place.starts_with(['/', '.', '~']) || place.starts_with("file:") || place.contains("::")
    };
    match verb {
        "archive" => words.iter().any(|word| word.starts_with("--rem")),
        "fetch" | "ls-remote" | "pull" | "push" => words.iter().any(is_path),
        _ => false,
    }
}

/// Whether git may find another repository than that of `tree`, because a command goes to another directory.
pub(super) fn leaves_repository(commands: &[SimpleCommand], tree: &Path) -> bool {
    let stays = |texts: &[&str]| matches!(texts, [_, to] if *to == "." || Path::new(to) == tree);
    let leaves =
        |command: &SimpleCommand| matches!(command.program(), "cd" | "popd" | "pushd") && !stays(&command.texts());
    commands.iter().any(leaves)
}

/// The destructive flags among the words behind `git`.
fn in_git(words: &[&str]) -> Vec<String> {
    let own = &words[..words.len() - git_arguments(words).len()];
    let names = own.iter().map(|word| word.split('=').next().unwrap_or(word));
    let mut found: Vec<_> = names.filter(|name| is_one_of(FOREIGN_SETTINGS, name)).map(str::to_owned).collect();
    let Some((verb, words)) = subcommand(words) else { return found };
    if verb == "restore" {
        found.extend(restored(words));
        return found;
    }
    let Some(row) = ROWS.iter().find(|row| row.verb == verb) else { return found };
    let dashes = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (options, paths) = words.split_at(dashes);
    for word in options {
        let is_destructive = if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            let end = letters.find(|c| row.valued.contains(c)).unwrap_or(letters.len());
            letters[..end].contains(|c| row.letters.contains(c))
        } else if word.starts_with("--") {
            // Git takes the beginning of a flag for the flag.
            let flag = word.split('=').next().unwrap_or(word);
            flag.len() > "--".len() && row.flags.iter().any(|known| known.starts_with(flag))
        } else {
            // `push +main` and `fetch +main:main` force, `push :main` deletes.
            matches!(verb, "fetch" | "pull" | "push") && word.starts_with(['+', ':'])
        };
        if is_destructive {
            found.push(word.split('=').next().unwrap_or(word).to_owned());
        }
    }
    let first = options.iter().find(|word| !word.starts_with('-'));
    found.extend(first.filter(|word| row.words.contains(word)).map(|word| (*word).to_owned()));
    if verb == "checkout" && paths.len() > 1 {
        found.push(paths.join(" "));
    }
    found
}

/// Files that `restore` takes back to what they were, unless it only changes the index.
fn restored(words: &[&str]) -> Vec<String> {
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(word));
    if has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]) {
        return Vec::new();
    }
    let files = words.iter().filter(|word| !word.starts_with('-'));
    files.map(|word| (*word).to_owned()).collect()
}

/// The subcommand of git, and the words behind it.
pub(super) fn subcommand<'a, 'b>(words: &'b [&'a str]) -> Option<(&'a str, &'b [&'a str])> {
    git_arguments(words).split_first().map(|(verb, rest)| (*verb, rest))
}
