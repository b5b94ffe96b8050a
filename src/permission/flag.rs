//! Flags of git that throw work away, overwrite a file or run a program, for the warning that people see before they allow
//! a call.
//!
//! A flag means something only together with its subcommand: `commit -f` destroys nothing.

mod option;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::content::is_below;
use super::shell::{ShellText, SimpleCommand, git_arguments, is_one_of};
use super::verb::{GIT_READS, git_lists, git_reads};

/// Options of git itself that bring in settings, and so programs, of somebody else.
const FOREIGN_SETTINGS: &str = "-C -c --config-env --exec-path --git-dir --work-tree";

/// What destroys, overwrites a file or runs a program, in a subcommand of git.
struct Row {
    /// Subcommands with the same flags.
    verbs: &'static str,
    /// Letters that destroy.
    letters: &'static str,
    /// Letters whose value may be glued to them.
    valued: &'static str,
    flags: &'static [&'static str],
    /// First words that destroy by themselves.
    words: &'static [&'static str],
}

const fn row(
    verbs: &'static str,
    (letters, valued): (&'static str, &'static str),
    flags: &'static [&'static str],
    words: &'static [&'static str],
) -> Row {
    Row { verbs, letters, valued, flags, words }
}

/// What makes a command that shows things overwrite any file with them.
const OUTPUT: &[&str] = &["--output"];

const ROWS: &[Row] = &[
    row(
        "annotate blame diff diff-files diff-index diff-tree log range-diff rev-list shortlog show whatchanged",
        ("", ""),
        OUTPUT,
        &[],
    ),
    row("apply", ("", ""), &["--build-fake-ancestor", "--unsafe-paths"], &[]),
    row("archive", ("o", ""), &["--exec", "--output"], &[]),
    row("bisect", ("", ""), &[], &["run", "view", "visualize"]),
    row("branch", ("DdfMC", "u"), &["--delete", "--force"], &[]),
    row("cat-file", ("", ""), &["--filters", "--textconv"], &[]),
    row("checkout", ("fB", "b"), &["--force"], &[]),
    row("checkout-index", ("f", ""), &["--force", "--prefix"], &[]),
    row("clean", ("fdxX", "e"), &["--force"], &[]),
    row("clone", ("cu", "bjo"), &["--config", "--upload-pack"], &[]),
    row("difftool", ("x", "t"), &["--extcmd"], &[]),
    row("fetch", ("fpP", "jo"), &["--force", "--prune", "--prune-tags", "--upload-pack"], &[]),
    row("filter-branch", ("f", ""), &["--force"], &[]),
    row("filter-repo", ("f", ""), &["--force"], &[]),
    row("format-patch", ("o", "nvU"), &["--output", "--output-directory"], &[]),
    row("gc", ("", ""), &["--prune"], &[]),
    row("grep", ("O", "ABCefm"), &["--open-files-in-pager"], &[]),
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
    row("read-tree", ("", ""), &["--index-output", "--reset"], &[]),
    row("rebase", ("x", "CsSX"), &["--exec"], &[]),
    row("reflog", ("", ""), &["--expire", "--all", "--output"], &["delete", "expire"]),
    row("remote", ("p", ""), &["--prune"], &["prune", "remove", "rm"]),
    row("reset", ("", ""), &["--hard", "--merge"], &[]),
    row("rm", ("fr", ""), &["--force"], &[]),
    row("stash", ("", ""), OUTPUT, &["clear", "drop"]),
    row("submodule", ("f", ""), &["--force"], &["deinit", "foreach"]),
    row("switch", ("fC", "c"), &["--discard-changes", "--force", "--force-create"], &[]),
    row("symbolic-ref", ("d", "m"), &["--delete"], &[]),
    row("tag", ("df", "mFun"), &["--delete", "--force"], &[]),
    row("update-ref", ("d", "m"), &["--stdin"], &[]),
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

/// Subcommands that write git's own directory: the index, refs and settings.
const RECORDING: &str = "add am bisect branch checkout cherry-pick commit config fetch gc merge mv notes pull rebase reflog \
                         remote reset restore revert rm sparse-checkout stash submodule switch symbolic-ref tag \
                         update-index update-ref worktree";

/// The first call of git in a shell text that writes git's own directory, unless the text makes a repository of its own.
pub fn find_git_write(text: &str) -> Option<String> {
    let read = ShellText::read(text);
    let calls = read.commands.iter().filter(|command| command.program() == "git");
    let calls = calls.filter_map(|command| Some((command, subcommand(command.texts().get(1..)?)?.0)));
    let makes_one = calls.clone().any(|(_, verb)| matches!(verb, "init" | "clone"));
    let mut writes = calls.filter(|(command, verb)| is_one_of(RECORDING, verb) && !git_reads(command, &[]));
    writes.next().filter(|_| !makes_one).map(|(_, verb)| format!("git {verb}"))
}

/// Whether a command has an option that loads other code, or is git with a subcommand or an option that may run another
/// program: an alias, one that is not on a list, or one that works with a repository on this disk, whose hooks and settings
/// are somebody else's.
pub(super) fn may_run_others(command: &SimpleCommand, remotes: &[String]) -> bool {
    if command.program() != "git" {
        return has_loading_option(command);
    }
    let is_covered = |(verb, words): (&str, &[&str])| {
        let is_listed = match is_one_of(GIT_READS, verb) {
            true => git_lists(verb, words),
            false => option::is_covered(verb, words),
        };
        // Destructive flags have a check of their own.
        (is_listed || !in_git(&[&[verb], words].concat()).is_empty()) && !names_repository(verb, words, remotes)
    };
    !subcommand(command.texts().get(1..).unwrap_or_default()).is_none_or(is_covered) && !git_reads(command, &[])
}

/// Options by which programs that build and test load other code than the project's own.
const LOADING: &[(&str, &str)] = &[
    ("bun", "-c -r --config --import --preload --require"),
    ("cargo", "--config --config-file --tool-config-file"),
    ("npm pnpm yarn", "--globalconfig --import --node-options --require --script-shell --userconfig"),
];

/// Options by which they work in another directory.
const LEADING: &str = "-C --cwd --dir --directory --manifest-path --prefix";

/// Whether a command has one of these options, or its beginning, and one of the latter leads out; what is behind `--` is for
/// the project's own program.
fn has_loading_option(command: &SimpleCommand) -> bool {
    let Some((_, loading)) = LOADING.iter().find(|(programs, _)| is_one_of(programs, command.program())) else {
        return false;
    };
    let begins = |options: &str, name: &str| {
        let is_long = name.starts_with("--") && name.len() > "--no".len();
        options.split(' ').any(|option| option == name || is_long && option.starts_with(name))
    };
    let texts = command.texts();
    let end = texts.iter().position(|word| *word == "--").unwrap_or(texts.len());
    (0..end).any(|at| {
        let next = texts.get(at + 1).copied().unwrap_or_default();
        let (name, value) = texts[at].split_once('=').unwrap_or((texts[at], next));
        begins(loading, name) || begins(LEADING, name) && !is_below(value)
    })
}

/// Options whose value is the next word, which could pass for the remote.
const VALUED_BEFORE_REMOTE: &str = "--deepen --depth --jobs --push-option --shallow-since --strategy-option -X -j -o";

/// Whether a subcommand works with a repository that is neither a remote nor on another machine.
fn names_repository(verb: &str, words: &[&str], remotes: &[String]) -> bool {
    let is_far = |place: &str| {
        let (scheme, rest) = place.split_once(':').unwrap_or(("", place));
        !scheme.is_empty() && !scheme.contains(['/', '.', '~']) && scheme != "file" && !rest.starts_with(':')
    };
    let mut operands = words.iter().filter(|word| !word.starts_with('-'));
    let is_known = |place: &&str| remotes.iter().any(|remote| remote == place) || is_far(place);
    match verb {
        "fetch" | "ls-remote" | "pull" | "push" => {
            let hides_place = words.iter().any(|word| is_one_of(VALUED_BEFORE_REMOTE, word));
            let is_path = operands.clone().any(|word| word.starts_with(['/', '.', '~']));
            hides_place || is_path || operands.next().is_some_and(|place| !is_known(place))
        }
        "remote" | "submodule" => match (operands.next(), operands.next(), operands.next()) {
            (Some(&"add"), Some(address), None) => !is_far(address),
            (Some(&"add"), Some(first), Some(second)) => !is_far(if verb == "remote" { second } else { first }),
            (Some(&"set-url"), _, address) => !address.is_some_and(|address| is_far(address)),
            (_, _, _) => false,
        },
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
    let Some(row) = ROWS.iter().find(|row| is_one_of(row.verbs, verb)) else { return found };
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
    } else if verb == "checkout" && !options.iter().any(|word| is_one_of("-b -B --orphan", word)) {
        // A path, or a commit and a path.
        let names: Vec<_> = options.iter().filter(|word| !word.starts_with('-')).copied().collect();
        let is_file = |name: &str| name.rsplit('/').next().is_some_and(|name| name.contains('.') || name.is_empty());
        found.extend(Some(names.join(" ")).filter(|_| names.len() > 1 || names.iter().any(|name| is_file(name))));
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

/// The words of a call of git that may be files which it takes back to what they were.
pub(super) fn restored_files(command: &SimpleCommand) -> Vec<&str> {
    let texts = command.texts();
    match subcommand(texts.get(1..).unwrap_or_default()).filter(|_| command.program() == "git") {
        Some(("checkout" | "restore", words)) => words.iter().copied().filter(|word| !word.starts_with('-')).collect(),
        Some(_) | None => Vec::new(),
    }
}

/// The subcommand of git, and the words behind it.
pub(super) fn subcommand<'a, 'b>(words: &'b [&'a str]) -> Option<(&'a str, &'b [&'a str])> {
    git_arguments(words).split_first().map(|(verb, rest)| (*verb, rest))
}
