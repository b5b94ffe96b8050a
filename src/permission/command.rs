//! Whether a shell command looks as if it stayed in the tree. It reads words, not meaning: what it lets through is
//! harmless by its looks, what it cannot judge is asked about.

#[cfg(test)]
mod tests;

use std::path::Path;

use super::shell::{self, Program, Role, Word, is_shell, name, programs};
use super::{Place, is_inside};

/// Programs whose work is elsewhere: other users, machines, processes. A link brings elsewhere in.
const OUTWARD: &[&str] = &[
    "sudo",
    "su",
    "doas",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "curl",
    "wget",
    "nc",
    "ncat",
    "telnet",
    "ftp",
    "docker",
    "podman",
    "kubectl",
    "systemctl",
    "service",
    "crontab",
    "at",
    "kill",
    "pkill",
    "killall",
    "reboot",
    "shutdown",
    "mount",
    "umount",
    "chroot",
    "dd",
    "gh",
    "ln",
    "link",
    "socat",
    "tmux",
    "screen",
    "trap",
    "alias",
    "printenv",
    "compgen",
    "eval",
    "source",
    ".",
];

/// What git may do for an agent: look.
const GIT_READS: &[&str] = &[
    "blame",
    "cat-file",
    "describe",
    "diff",
    "grep",
    "help",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
    "version",
    "--version",
];

const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// Programs to which a quoted word is text or a pattern, never code.
const TEXTUAL: &[&str] = &["[", "[[", "ag", "echo", "egrep", "fgrep", "find", "git", "grep", "printf", "rg", "test"];

/// Those of them that do not print what their escapes mean.
const MATCHING: &[&str] = &["ag", "egrep", "fgrep", "find", "git", "grep", "rg"];

/// Words whose next one is a directory to work in.
const MOVES: &[&str] = &["cd", "pushd", "-C", "--chdir", "--cwd", "--dir", "--directory", "--prefix"];

/// Places outside of the tree that every command may name.
const DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"];

/// Directories whose programs a command may run, but not touch.
const BINS: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin"];

/// Whether nothing in `text` points out of `tree`.
pub(super) fn stays(text: &str, tree: &Path) -> bool {
    !text.contains("://") && commands(text).is_some_and(|commands| commands.iter().all(|command| command.stays(tree)))
}

/// The places that a command may reach by their names; `None` when it cannot be read.
pub(super) fn places(text: &str) -> Option<Vec<Place>> {
    Some(commands(text)?.iter().flat_map(Simple::places).collect())
}

/// Whether a path is that of a program every command may run.
pub(super) fn is_common_program(path: &Path) -> bool {
    path.parent().is_some_and(|parent| BINS.iter().any(|bin| parent == Path::new(bin)))
}

/// A simple command, and which of its words may be programs.
struct Simple {
    words: Vec<Word>,
    programs: Vec<Program>,
}

/// The simple commands of `text`, those that it hands to a shell included.
fn commands(text: &str) -> Option<Vec<Simple>> {
    let mut found = Vec::new();
    for shell::Simple { words, role, .. } in shell::read(text)? {
        let programs = match role {
            Role::Command => programs(&words, 0),
            Role::Head => Vec::new(),
        };
        let simple = Simple { programs, words };
        for script in simple.scripts() {
            found.extend(commands(&script.text)?);
        }
        found.push(simple);
    }
    Some(found)
}

impl Simple {
    fn stays(&self, tree: &Path) -> bool {
        let is_harmless = |(at, word): (usize, &Word)| {
            let is_run = self.is_program(at) && is_common_program(Path::new(&word.text)) && !word.text.contains("..");
            is_run || self.is_plain(word) && pieces(&word.text).all(|piece| is_harmless(piece, tree))
        };
        // Braces make words that are not to be seen in the parts between their commas.
        let is_word = |word: &Word| !word.is_quoted || !word.text.contains(char::is_whitespace);
        self.words.iter().enumerate().all(is_harmless)
            && self.words.iter().all(|word| !is_word(word) || !climbs(&word.text))
            && self.words.iter().all(|word| !word.expands || !names_environment(&word.text))
            && self.programs.iter().all(|program| is_local(&self.words[program.at..]))
    }

    /// Whether a word means what it looks like, to a program that reads escapes or runs code as well.
    fn is_plain(&self, word: &Word) -> bool {
        let all = |names: &[&str]| !self.programs.is_empty() && self.names().all(|name| names.contains(&name));
        let is_spelled = all(MATCHING) || !hides(&word.text);
        is_spelled
            && (!word.is_quoted
                || all(TEXTUAL) && !is_assignment(&word.text)
                || self.has_shell()
                || is_calm(&word.text))
    }

    /// What a shell is given to run.
    fn scripts(&self) -> impl Iterator<Item = &Word> {
        let shell = self.programs.iter().find(|program| is_shell(&self.words[program.at]));
        let from = shell.map_or(self.words.len(), |program| program.at + 1);
        self.words[from..].iter().filter(|word| !word.is_target() && !word.text.starts_with('-'))
    }

    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        let mut is_move = false;
        for (at, word) in self.words.iter().enumerate() {
            if self.is_program(at) {
                is_move = MOVES.contains(&word.text.as_str());
                if word.text.contains('/') {
                    places.push(Place::Program(word.text.clone()));
                }
                continue;
            }
            let whole = pieces(&word.text).nth(1).map(|_| word.text.as_str());
            for piece in pieces(&word.text).chain(whole).filter(|piece| !DEVICES.contains(piece)) {
                let glued =
                    piece.strip_prefix('-').and_then(|option| option.get(1..)).filter(|value| !value.is_empty());
                places.extend(glued.map(|value| place(value, piece.starts_with("-C"))));
                places.push(place(piece, is_move));
                is_move = MOVES.contains(&piece);
            }
        }
        places
    }

    fn is_program(&self, at: usize) -> bool {
        self.programs.iter().any(|program| program.at == at && program.is_sure)
    }

    fn has_shell(&self) -> bool {
        self.programs.iter().any(|program| is_shell(&self.words[program.at]))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.iter().map(|program| name(&self.words[program.at].text))
    }
}

/// The place that a piece of a word names, as far as it can be known without the disk.
fn place(piece: &str, is_move: bool) -> Place {
    let is_open = |part: &str| part.contains(['*', '?', '[', '{', '$']);
    let known: Vec<_> = piece.split('/').take_while(|part| !is_open(part)).collect();
    match known.join("/") {
        known if known.len() < piece.len() => {
            Place::Within(if known.is_empty() && piece.starts_with('/') { "/".into() } else { known })
        }
        known if is_move => Place::Move(known),
        known => Place::File(known),
    }
}

/// The parts of a word that may be paths: a path behind `=` or inside of code is as real as one that stands alone.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let is_break = |c: char| c.is_whitespace() || "'\"`;|&<>()[]=,:!@#^".contains(c);
    word.split(is_break).filter(|piece| !piece.is_empty())
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        let mut chars = name.trim_end_matches('+').chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Whether the program that `words` start with does its work here.
fn is_local(words: &[Word]) -> bool {
    let texts: Vec<_> = words.iter().filter(|word| !word.is_target()).map(|word| word.text.as_str()).collect();
    let [program, args @ ..] = texts.as_slice() else { return false };
    let is_test = matches!(*program, "[" | "[[");
    if program.is_empty() || program.starts_with('-') || !is_test && program.contains(['$', '*', '?', '[', '{', '~']) {
        return false;
    }
    match name(program) {
        "git" => args.iter().find(|arg| **arg != "--no-pager").is_some_and(|verb| GIT_READS.contains(verb)),
        // It splits a word of its own into a command, and without a command it tells all variables, keys included.
        "env" => {
            let splits = |arg: &&str| arg.starts_with("-S") || arg.starts_with("--split");
            !args.iter().any(splits) && args.iter().any(|arg| !arg.starts_with('-') && !arg.contains('='))
        }
        "export" | "set" | "declare" | "typeset" | "readonly" => args.iter().any(|arg| *arg != "-p" && *arg != "-x"),
        // Without a place it goes home.
        "cd" | "pushd" => {
            args.first().is_some_and(|to| !to.starts_with('-') && !to.contains(['$', '*', '?', '[', '{']))
        }
        shell if SHELLS.contains(&shell) => {
            // What comes by a pipe is not to be seen.
            let reads_input =
                |arg: &&str| *arg == "-" || arg.starts_with('-') && !arg.starts_with("--") && arg.contains('s');
            args.iter().any(|arg| !arg.starts_with(['-', '+'])) && !args.iter().any(reads_input)
        }
        name => !OUTWARD.contains(&name),
    }
}

/// Whether code of another language starts none of the programs that work elsewhere.
fn is_calm(code: &str) -> bool {
    code.split(|c: char| ";|&\n(){}[]`\"'!=,".contains(c)).all(|part| {
        let mut words = part.split_whitespace();
        match words.next().map(name) {
            Some("git") => words.next().is_some_and(|verb| GIT_READS.contains(&verb)),
            Some(name) => !OUTWARD.contains(&name),
            None => true,
        }
    })
}

/// Whether escapes may spell a path: by the number of a letter, or by a backslash that falls away.
fn hides(word: &str) -> bool {
    let spells = word.split('\\').skip(1).any(|after| {
        let mut chars = after.chars();
        let (first, second) = (chars.next(), chars.next());
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        matches!(first, Some('0' | 'x' | 'u' | 'U' | 'N' | 'o' | 'c'))
            || (is_digit(first) || first == Some('d')) && is_digit(second)
    });
    spells
        || word.contains('\\') && pieces(&word.replace('\\', "")).any(|piece| climbs(piece) || piece.starts_with('/'))
}

fn is_harmless(piece: &str, tree: &Path) -> bool {
    let leaves = roots(piece).any(|path| !DEVICES.contains(&path) && !is_inside(Path::new(path), tree));
    !climbs(piece) && !leaves && !piece.starts_with('~')
}

/// Whether a part of a path is, or may become by a pattern, the directory above or git's own.
fn climbs(piece: &str) -> bool {
    piece.split('/').any(|part| {
        let has_brace = part.contains(['{', '}']) && !part.contains('$');
        let may_start_with_dot = part.starts_with(['{', '}', ',']) && (part.contains('.') || part.contains("{,"));
        let is_pattern = part.starts_with('.') && part.contains(['?', '*', '[', '$']);
        let is_dots = part.contains('$') && part.ends_with('.');
        part == ".."
            || part == ".git"
            || is_pattern
            || is_dots
            || has_brace && (part.starts_with('.') || may_start_with_dot)
    })
}

/// The absolute paths that a piece may hold: itself, behind a sign such as `@`, behind the letters of an option, or
/// behind a variable that may be empty.
fn roots(piece: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || "_.-*?+%".contains(c);
    let has_prefix = piece.starts_with(['-', '+', '%', '$']);
    let slashes = piece.match_indices('/').map(|(place, _)| place);
    let mut is_first = true;
    slashes.filter_map(move |place| {
        let starts = !piece[..place].ends_with(|c: char| is_name(c) || c == '/');
        let counts = starts || has_prefix && is_first;
        is_first = false;
        counts.then(|| &piece[place..])
    })
}

/// Variables of the environment hold places that cannot be known; those that a command sets itself are lower case.
fn names_environment(word: &str) -> bool {
    let named = word.split('$').skip(1).filter_map(|after| after.trim_start_matches('{').chars().next());
    named.into_iter().any(|c| c.is_ascii_uppercase() || c == '_' || c == '!')
}
