//! Whether a shell command looks as if it stayed in the tree. It reads words, not meaning: what it lets through is
//! harmless by its looks, what it cannot judge is asked about.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::Path;

use super::content::searched_places;
use super::filter::printed_files;
use super::shell::{SHELLS, ShellText, SimpleCommand, Word, base_name, find_runnable, is_one_of, is_safe_text};
use super::verb::{GIT_READS, finds_names, git_reads};
use super::{Place, is_inside};

/// Programs whose work is elsewhere: other users, machines, processes. A link brings elsewhere in, and some show all
/// variables, keys included.
const OUTWARD: &str = ". alias at chroot compgen crontab curl dd declare doas docker env eval export ftp gh kill killall \
                       kubectl link ln mount nc ncat pkill podman printenv readonly reboot rsync scp screen service \
                       set sftp shutdown socat source ssh su sudo systemctl telnet tmux trap typeset umount wget";

/// Programs to which a quoted word is a pattern or text and never code, and which do not print what escapes mean.
const MATCHING: &str = "ag date diff egrep fd fgrep find git grep jq rg sort";

/// Words whose next one is a directory to work in.
const MOVES: &str = "cd pushd -C --chdir --cwd --dir --directory --prefix";

/// Programs that read files in directories, with the letters and the beginning of a long option by which they follow the
/// links that they find there.
const FOLLOWING: &[(&str, &str, &str)] = &[
    ("ag", "f", "--f"),
    ("cp du ls", "L", "--d"),
    ("egrep fgrep grep", "R", "--der"),
    ("fd rg", "L", "--fo"),
    ("find", "L", "-follow"),
    ("tar", "h", "--d"),
    ("tree", "l", "-l"),
];

/// How many letters of a bundle of options may have a value.
const MOST_LETTERS: usize = 32;

/// Places outside of the tree that every command may name.
const DEVICES: &str = "/dev/null /dev/stdout /dev/stderr /dev/stdin";

/// Directories whose programs a command may run, but not touch.
const BINS: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin"];

/// The places that a command may reach by their names, unless its words point out of `tree` already or nobody can say.
pub(super) fn places_below(text: &str, tree: &Path) -> Option<Vec<Place>> {
    let text = Some(text).filter(|text| !text.contains("://"))?;
    let text = ShellText::read(text);
    let commands = text.understood()?;
    let programs: HashSet<_> =
        commands.iter().filter_map(|command| Some(command.words.first()?.text.as_str())).collect();
    let stays = commands.iter().all(|command| stays(command, &programs, tree));
    let below = |command: &SimpleCommand| {
        let directory = tree.to_string_lossy().into_owned();
        follows_links(command).then(|| Place::Within { directory, pattern: "**".to_owned() })
    };
    let places = |command| places(command, &programs).into_iter().chain(below(command)).chain(searched_places(command));
    stays.then(|| commands.iter().flat_map(places).collect())
}

/// Whether a path is that of a program every command may run.
pub(super) fn is_common_program(path: &Path) -> bool {
    path.parent().is_some_and(|parent| BINS.iter().any(|bin| parent == Path::new(bin)))
}

/// Whether nothing in a command points out of `tree`; `programs` are all those that the text runs.
fn stays(command: &SimpleCommand, programs: &HashSet<&str>, tree: &Path) -> bool {
    let is_run = |word: &Word| {
        programs.contains(word.text.as_str()) && is_common_program(Path::new(&word.text)) && !word.text.contains("..")
    };
    let takes_texts = find_runnable(&command.texts()).is_none();
    let is_harmless_word = |word: &Word| {
        let is_open = word.is_glob && climbs(&word.text);
        is_run(word)
            || !is_open
                && is_plain(command, word, takes_texts)
                && pieces(&word.text).all(|piece| is_harmless(piece, tree))
    };
    paths(command).all(is_harmless_word)
        && command.redirects.iter().all(|to| pieces(&to.target.text).all(|piece| is_harmless(piece, tree)))
        && is_local(command)
}

/// Whether a word means what it looks like, to a program that reads escapes or runs code as well.
fn is_plain(command: &SimpleCommand, word: &Word, takes_texts: bool) -> bool {
    let program = command.program();
    let is_assignment =
        word.text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains(['-', ' ']));
    let is_code = word.is_quoted && (is_assignment || !takes_texts) && !is_safe_text(&word.text);
    // A shell's script is read on its own.
    let is_read = is_one_of(MATCHING, program) && !is_assignment || SHELLS.contains(&program);
    // An escape may spell any letter.
    is_read || !is_code && !word.text.replace("\\n", "").contains('\\')
}

fn places(command: &SimpleCommand, programs: &HashSet<&str>) -> Vec<Place> {
    let mut places = Vec::new();
    let mut is_move = false;
    let targets = command.redirects.iter().map(|redirect| &redirect.target);
    for (at, word) in paths(command).chain(targets).enumerate() {
        let text = word.text.as_str();
        // Behind the first word, what is called like a program may also be a file.
        if programs.contains(text) && (at == 0 || is_common_program(Path::new(text))) {
            is_move = is_one_of(MOVES, text);
            if text.contains('/') {
                places.push(Place::Program(text.to_owned()));
            }
            continue;
        }
        let whole = Some(text).filter(|text| !text.is_empty() && pieces(text).next() != Some(text));
        for piece in whole.into_iter().chain(pieces(text)).filter(|piece| !is_one_of(DEVICES, piece)) {
            places.extend(glued_values(piece).map(|value| place(value, piece.starts_with("-C"))));
            places.push(place(piece, is_move));
            is_move = is_one_of(MOVES, piece);
        }
    }
    places
}

/// The values that may stand behind letters of a bundle such as `-nfa`: any of the letters may take the rest. A bundle with
/// too many of them leads out.
fn glued_values(piece: &str) -> impl Iterator<Item = &str> {
    let bundle = piece.strip_prefix('-').unwrap_or_default();
    let letters = bundle.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(bundle.len());
    let values =
        (1..=letters.clamp(1, MOST_LETTERS)).filter_map(|at| bundle.get(at..)).filter(|value| !value.is_empty());
    values.chain((letters > MOST_LETTERS).then_some(".."))
}

/// The words of a command that may be or hold paths: all but the script by which `sed` or `awk` prints lines, and patterns
/// for git's own files among the names that `find` and `tree` list.
fn paths(command: &SimpleCommand) -> impl Iterator<Item = &Word> {
    let (words, texts) = (&command.words, command.texts());
    let first = words.len() - printed_files(command).map_or(words.len(), <[Word]>::len);
    let lists_names = command.program() == "tree" || command.program() == "find" && finds_names(&texts[1..]);
    let has_option = move |at: usize| lists_names && is_one_of("-I -ipath -path -wholename", texts[at - 1]);
    let is_pattern = move |at: usize| has_option(at) && words[at].text.contains(".git");
    (0..words.len()).filter(move |at| *at == 0 || *at >= first && !is_pattern(*at)).map(|at| &words[at])
}

/// Whether a program reads what links lead to that it finds in directories.
fn follows_links(command: &SimpleCommand) -> bool {
    let row = FOLLOWING.iter().find(|(names, ..)| is_one_of(names, command.program()));
    let Some((_, letters, long)) = row else { return false };
    command.words.iter().skip(1).any(|word| {
        let text = word.text.as_str();
        let has_letter = text.starts_with('-') && !text.starts_with("--") && text.contains(letters);
        has_letter || text.starts_with(long)
    })
}

/// The place that a piece of a word names, as far as it can be known without the disk.
fn place(piece: &str, is_move: bool) -> Place {
    let is_open = |part: &str| part.contains(['*', '?', '[', '{', '$']);
    let known: Vec<_> = piece.split('/').take_while(|part| !is_open(part)).collect();
    match known.join("/") {
        known if known.len() < piece.len() => {
            let pattern = piece[known.len()..].trim_start_matches('/').to_owned();
            let directory = if known.is_empty() && piece.starts_with('/') { "/".into() } else { known };
            Place::Within { directory, pattern }
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

/// Whether the program of a command does its work here.
fn is_local(command: &SimpleCommand) -> bool {
    let texts = command.texts();
    let [program, args @ ..] = texts.as_slice() else { return false };
    match base_name(program) {
        _ if program.is_empty() || program.starts_with('-') => false,
        "git" => {
            git_reads(command, &[])
                || args.iter().find(|arg| **arg != "--no-pager").is_some_and(|verb| is_one_of(GIT_READS, verb))
        }
        // Without a place it goes home.
        "cd" | "pushd" => {
            command.words.get(1).is_some_and(|to| !to.text.is_empty() && !to.text.starts_with('-') && !to.is_glob)
        }
        name => !is_one_of(OUTWARD, name) && (is_one_of(MATCHING, name) || runs_locally(&texts)),
    }
}

/// Whether no argument of a program that may run its arguments is a program that works elsewhere.
fn runs_locally(texts: &[&str]) -> bool {
    let Some(from) = find_runnable(texts) else { return true };
    (from..texts.len()).all(|at| match texts[at] {
        "." => true,
        "git" => texts.get(at + 1).is_none_or(|verb| is_one_of(GIT_READS, verb)),
        word => !is_one_of(OUTWARD, word),
    })
}

fn is_harmless(piece: &str, tree: &Path) -> bool {
    let leaves = roots(piece).any(|path| !is_one_of(DEVICES, path) && !is_inside(Path::new(path), tree));
    !climbs(piece) && !leaves && !piece.starts_with('~')
}

/// Whether a part of a path is, or may become by a pattern, the directory above or git's own.
fn climbs(piece: &str) -> bool {
    let is_pattern = |part: &str| part.starts_with('.') && part.contains(['?', '*', '[', '$', '{']);
    piece.split('/').any(|part| part == ".." || part == ".git" || is_pattern(part))
}

/// The absolute paths that a piece may hold: itself, behind a sign such as `@`, or behind the letters of an option.
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
