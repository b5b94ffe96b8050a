//! Which calls of git only look. An unknown subcommand may be an alias, and so anything.

use super::super::flag;
use super::super::shell::Word;
use super::is_beginning;

/// Subcommands that read whatever their arguments are, but for the flags below.
const READS: &[&str] = &[
    "annotate",
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "status",
    "version",
    "whatchanged",
];

/// Flags that write files, run programs, read what is in no repository or ignored by it, or show what an attribute says
/// not to show.
const REFUSED: &[&str] = &[
    "--batch-all-objects",
    "--binary",
    "--contents",
    "--ext-diff",
    "--filters",
    "--no-exclude-standard",
    "--no-index",
    "--open-files-in-pager",
    "--output",
    "--output-directory",
    "--show-signature",
    "--text",
    "--textconv",
    "--untracked",
    "--upload-pack",
];

/// Subcommands in which `-a` stands for `--text`; a bundle of letters ends at one that takes a value.
const PATCHES: &[&str] =
    &["diff", "diff-files", "diff-index", "diff-tree", "log", "range-diff", "reflog", "show", "stash", "whatchanged"];
const VALUED: &str = "BCGLMOSUXln";

/// Options of git itself that change nothing but its manners.
const MANNERS: &[&str] = &["--literal-pathspecs", "--no-optional-locks", "--no-pager", "--no-replace-objects", "-P"];

/// Whether a call with these arguments only looks.
pub(super) fn reads(arguments: &[&Word]) -> bool {
    // What a word becomes may be a flag.
    let is_plain = |word: &&&Word| {
        let text = word.text.as_str();
        let opens =
            !word.is_quoted && (text.starts_with(['*', '?', '[', '{']) || text.contains('{') && text.contains(','));
        !word.expands && !opens
    };
    if arguments.iter().filter(is_plain).count() < arguments.len() {
        return false;
    }
    let texts: Vec<_> = arguments.iter().map(|word| word.text.as_str()).collect();
    if texts == ["--version"] {
        return true;
    }
    let Some((verb, words)) = flag::subcommand(&texts) else { return false };
    let options = &texts[..texts.len() - words.len() - 1];
    are_manners(options) && !words.iter().any(|word| is_refused(word)) && !shows_all(verb, words) && looks(verb, words)
}

/// Whether the options before a subcommand lead nowhere else; `-C` may name a directory below.
fn are_manners(options: &[&str]) -> bool {
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let is_below = |to: &&str| !to.starts_with(['/', '~', '-']) && !to.split('/').any(|part| part == "..");
        let passes = MANNERS.contains(option) || *option == "-C" && options.next().is_some_and(is_below);
        if !passes {
            return false;
        }
    }
    true
}

fn is_refused(word: &str) -> bool {
    let is_flag = |flag: &&str| word.split('=').next() == Some(flag) || is_beginning(word, flag);
    // `-O` opens files in a program, and a format with `%G` runs another.
    REFUSED.iter().any(is_flag) || word.starts_with("-O") || word.contains("%G")
}

/// Whether a short flag shows as text what is none.
fn shows_all(verb: &str, words: &[&str]) -> bool {
    let letters = |word: &&&str| word.starts_with('-') && !word.starts_with("--");
    let has = |word: &&str| word.chars().skip(1).take_while(|c| !VALUED.contains(*c)).any(|c| c == 'a');
    PATCHES.contains(&verb) && words.iter().take_while(|word| **word != "--").filter(letters).any(has)
}

fn looks(verb: &str, words: &[&str]) -> bool {
    let only = |flags: &[&str]| words.iter().all(|word| flags.contains(&word.split('=').next().unwrap_or(word)));
    match (verb, words) {
        (verb, _) if READS.contains(&verb) => true,
        ("branch", ["--contains" | "--merged" | "--no-merged" | "--list" | "-l", rest @ ..]) => {
            !rest.iter().any(|word| word.starts_with('-'))
        }
        ("branch", _) => only(&[
            "--all",
            "--color",
            "--column",
            "--format",
            "--list",
            "--no-color",
            "--no-column",
            "--remotes",
            "--show-current",
            "--sort",
            "--verbose",
            "-a",
            "-l",
            "-r",
            "-v",
            "-vv",
            "-av",
            "-avv",
            "-rv",
        ]),
        ("tag", ["--list" | "-l" | "--contains" | "--points-at" | "--merged", rest @ ..]) => {
            !rest.iter().any(|word| word.starts_with('-') && !word.starts_with("--sort="))
        }
        ("tag", _) => only(&["--sort", "--format", "--list", "-l", "-n"]),
        ("remote", [] | ["-v" | "--verbose"] | ["get-url", _]) => true,
        ("config", ["--get" | "--get-all" | "get", name]) => !name.starts_with('-'),
        ("stash", ["list" | "show", ..]) | ("worktree", ["list", ..]) | ("reflog", [] | ["show", ..]) => true,
        _ => false,
    }
}
