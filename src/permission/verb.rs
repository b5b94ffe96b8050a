//! Which commands only look: by the verb of every simple command in a text. What it does not know, it does not pass.

mod git;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::command::is_common_program;
use super::flag;
use super::shell::{self, Role, Simple, Word};

/// Verbs that read whatever their arguments are.
const READS: &[&str] = &[
    ":",
    "[",
    "arch",
    "b2sum",
    "basename",
    "break",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "continue",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expand",
    "expr",
    "false",
    "fgrep",
    "file",
    "fmt",
    "fold",
    "free",
    "getconf",
    "grep",
    "groups",
    "head",
    "hexdump",
    "id",
    "join",
    "jq",
    "locale",
    "ls",
    "md5sum",
    "nl",
    "nproc",
    "od",
    "paste",
    "popd",
    "ps",
    "pushd",
    "pwd",
    "readlink",
    "realpath",
    "return",
    "rev",
    "seq",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sleep",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "tsort",
    "type",
    "uname",
    "unexpand",
    "uptime",
    "wait",
    "wc",
    "whereis",
    "which",
    "whoami",
    "zgrep",
];

/// Verbs that read unless one of these is among their arguments: options by how they begin, letters by the letter.
const READS_WITHOUT: &[(&str, &[&str], &str)] = &[
    ("ag", &["--pager"], ""),
    ("date", &["--set", "-s"], ""),
    ("fd", &["--exec", "-x", "-X"], "xX"),
    ("find", &["-delete", "-exec", "-execdir", "-fls", "-fprint", "-ok"], ""),
    ("printf", &["-v"], ""),
    ("rg", &["--hostname-bin", "--pre", "--search-zip"], "z"),
    ("sort", &["--compress-program", "--output", "--temporary-directory"], "oT"),
    ("tree", &["--output"], "o"),
];

/// Variables that only change how a verb speaks.
const HARMLESS: &[&str] = &["CLICOLOR", "COLUMNS", "IFS", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "TERM", "TZ"];

/// Names of files and directories that hold keys and passwords.
const CREDENTIALS: &[&str] = &[
    ".aws",
    ".azure",
    ".coppice",
    ".docker",
    ".env",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    "credentials.json",
    "environ",
    "gcloud",
    "gshadow",
    "hosts.yml",
    "shadow",
];

/// Whether a shell text does nothing but read, and reads no credentials.
pub fn only_reads(text: &str) -> bool {
    all(text, |simple| {
        let words: Vec<_> = simple.words.iter().filter(|word| !word.is_target()).collect();
        let program = words.iter().position(|word| !word.assigns).unwrap_or(words.len());
        let (settings, command) = words.split_at(program);
        match command {
            [] => settings.iter().all(|word| is_own_variable(&word.text)),
            [program, arguments @ ..] => {
                settings.iter().all(|word| is_harmless(&word.text))
                    && plain_name(program).is_some_and(|verb| reads(verb, arguments))
            }
        }
    })
}

/// Whether a shell text does nothing but read with git.
pub fn only_git_reads(text: &str) -> bool {
    all(text, |simple| {
        let words: Vec<_> = simple.words.iter().filter(|word| !word.is_target()).collect();
        let [program, arguments @ ..] = words.as_slice() else { return false };
        simple.role == Role::Command && plain_name(program) == Some("git") && git::reads(arguments)
    })
}

/// Whether git is told to go to another directory first.
pub(super) fn moves_git(text: &str) -> bool {
    let moves = |simple: &Simple| {
        let texts: Vec<_> = simple.words.iter().map(|word| word.text.as_str()).collect();
        let words = texts.get(1..).unwrap_or_default();
        flag::subcommand(words).is_some_and(|(_, rest)| words[..words.len() - rest.len()].contains(&"-C"))
    };
    shell::parse(text).is_none_or(|commands| commands.iter().any(moves))
}

/// Whether no word of a text leads out of the directory that it runs in, by its looks.
pub(super) fn stays_below(text: &str) -> bool {
    let is_below = |piece: &str| !piece.starts_with('/') && !piece.split('/').any(|part| part == "..");
    let stays = |word: &Word| word.text.split(['=', ':']).all(is_below);
    shell::parse(text).is_some_and(|commands| commands.iter().all(|simple| simple.words.iter().all(stays)))
}

/// Whether a text runs something, and nothing that it runs writes a file, reaches for credentials or fails the test.
fn all(text: &str, passes: impl Fn(&Simple) -> bool) -> bool {
    let Some(commands) = shell::parse(text) else { return false };
    let is_command = |simple: &Simple| simple.role == Role::Command;
    let is_calm = |word: &Word| {
        let is_output = matches!(word.text.as_str(), "/dev/stderr" | "/dev/stdout");
        !names_credentials(word) && (!word.writes() || is_output)
    };
    commands.iter().any(is_command)
        && commands.iter().all(|simple| {
            simple.words.iter().all(is_calm)
                && match simple.role {
                    Role::Command => passes(simple),
                    Role::Head => !simple.is_bomb,
                }
        })
}

fn reads(verb: &str, arguments: &[&Word]) -> bool {
    let operands = || arguments.iter().filter(|word| !word.text.starts_with('-'));
    let texts = || arguments.iter().map(|word| word.text.as_str());
    match verb {
        "git" => git::reads(arguments),
        verb if READS.contains(&verb) => true,
        // A second file is written, or a setting.
        "hostname" => arguments.is_empty(),
        "uniq" | "xxd" => operands().count() < 2 && are_plain(arguments),
        "read" => operands().all(|word| is_own_name(&word.text)),
        "set" => texts().all(|word| {
            matches!(word, "-e" | "-u" | "-x" | "-eu" | "-ex" | "-eux" | "-o" | "pipefail" | "-euo" | "-euxo")
        }),
        "command" => matches!(texts().next(), Some("-v" | "-V")),
        // Its language writes files and runs commands; lines by their numbers do neither.
        "sed" => {
            let is_lines = |word: &str| word.chars().all(|c| c.is_ascii_digit() || ",$;p ".contains(c));
            are_plain(arguments)
                && texts().next() == Some("-n")
                && texts().nth(1).is_some_and(is_lines)
                && texts().skip(2).all(|word| !word.starts_with('-'))
        }
        verb => READS_WITHOUT.iter().find(|(name, ..)| *name == verb).is_some_and(|(_, options, letters)| {
            let is_refused = |word: &str| {
                let is_option = |option: &&str| word.starts_with(option) || is_beginning(word, option);
                let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-')).unwrap_or_default();
                options.iter().any(is_option) || flags.contains(|c| letters.contains(c))
            };
            // The time that it is to be.
            let sets = verb == "date" && operands().any(|word| !word.text.starts_with('+'));
            are_plain(arguments) && !texts().any(is_refused) && !sets
        }),
    }
}

/// Whether a word is a long option shortened, as most programs take it.
fn is_beginning(word: &str, option: &str) -> bool {
    let word = word.split('=').next().unwrap_or(word);
    word.len() > 3 && word.starts_with("--") && option.starts_with(word)
}

/// Whether no argument may turn out to be an option that is not to be seen.
fn are_plain(arguments: &[&Word]) -> bool {
    arguments.iter().all(|word| {
        let opens = !word.is_quoted && (word.text.starts_with(['*', '?', '[', '{']) || is_braced_option(&word.text));
        !(opens || word.expands && word.text.starts_with('$'))
    })
}

fn is_braced_option(text: &str) -> bool {
    text.starts_with('-') && text.contains('{')
}

/// The name of a program that is certain to be the common one.
fn plain_name(program: &Word) -> Option<&str> {
    let text = program.text.as_str();
    let is_plain = !program.expands && !text.contains(['*', '?', '{']) && (text == "[" || !text.contains('['));
    let is_common = !text.contains('/') || is_common_program(Path::new(text));
    (is_plain && is_common).then(|| shell::name(text))
}

/// Whether a setting is one of a script for itself.
fn is_own_variable(assignment: &str) -> bool {
    assignment.split(['=', '+', '[']).next().is_some_and(is_own_name)
}

fn is_own_name(name: &str) -> bool {
    !matches!(name, "path" | "cdpath" | "fpath" | "module_path")
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_harmless(assignment: &str) -> bool {
    assignment.split_once('=').is_some_and(|(name, _)| HARMLESS.contains(&name))
}

/// Whether a word may name what holds keys or passwords.
fn names_credentials(word: &Word) -> bool {
    let text = word.text.as_str();
    if !text.contains(['.', '/', '_']) {
        return false;
    }
    let is_far = text.starts_with(['/', '~', '$']) || text.contains("..");
    text.split(|c: char| c.is_whitespace() || "/=:,'\"()`".contains(c)).any(|part| {
        let is_template = [".example", ".sample", ".template"].iter().any(|end| part.ends_with(end));
        // A pattern for hidden files, or for files of somebody else.
        let is_open =
            !word.is_quoted && part.contains(['*', '?', '[']) && (is_far || part.starts_with(['.', '?', '[']));
        CREDENTIALS.contains(&part)
            || part.starts_with(".env.") && !is_template
            || ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"].iter().any(|key| part.starts_with(key))
            || is_open
            || part == "credentials" && text.contains('/')
    })
}
