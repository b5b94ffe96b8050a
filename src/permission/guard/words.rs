//! Which secret of the work tree the words of a call of git name: as a path, in a commit, or as a file that an option
//! reads. A pattern to search for names nothing, and neither does a path that is to be left out.

use std::path::{Path, PathBuf};

use super::super::flag;
use super::super::shell::{ShellText, SimpleCommand};
use super::{TREE_SECRETS, may_be_one_of, plain};

/// Options whose value is a text and not a path.
const TEXTS: &[&str] = &["-e", "-G", "-m", "-S", "--author", "--grep", "--message"];

/// Options that read a file whose name may be glued to them.
const FILES: &[&str] = &["-F", "-f", "--contents=", "--file=", "--pathspec-from-file="];

/// The first secret that the calls of git in a text name; `tree` is the work tree.
pub(in super::super) fn named(text: &ShellText, tree: &Path) -> Option<PathBuf> {
    text.commands.iter().find_map(|command| find_secret(command, tree))
}

/// The first secret that a call of git names.
pub(super) fn find_secret(command: &SimpleCommand, tree: &Path) -> Option<PathBuf> {
    shown_words(command).into_iter().find_map(|word| secret(word, tree))
}

/// The words of a call of git that may name what it shows, without the signs in front by which it counts a path from the
/// top. What a path leaves out, and a pattern to search for, is none.
pub(super) fn shown_words(command: &SimpleCommand) -> Vec<&str> {
    let texts = command.texts();
    let Some((verb, words)) = flag::subcommand(texts.get(1..).unwrap_or_default()) else { return Vec::new() };
    let pattern = pattern(verb, words);
    let counts = |at: &usize| pattern != Some(*at) && !is_text(words, *at);
    (0..words.len()).filter(counts).filter_map(|at| pathspec(words[at])).collect()
}

/// Whether a call of git names no file, but at most commits that cannot be taken for one, so that what it shows is everything.
pub(in super::super) fn names_no_file(command: &SimpleCommand) -> bool {
    shown_words(command).into_iter().all(|word| word.starts_with('-') || is_revision(word))
}

fn is_revision(word: &str) -> bool {
    let is_plain = !word.contains([':', '*', '?', '[']) && word.split('/').all(|part| part != "..");
    let is_hash = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_plain && (is_hash || word.contains("..") || word.split(['~', '^', '@']).next() == Some("HEAD"))
}

/// Whether an argument of git is free text, such as a commit message, or an option with such a text.
pub(in super::super) fn is_text(words: &[&str], at: usize) -> bool {
    // Letters may stand before the one that takes a message.
    let is_bundle = |word: &str| word.starts_with("-a") && word.ends_with('m') && word.len() < 6;
    let is_glued = |option: &&str| {
        option.starts_with("--") && words[at].strip_prefix(*option).is_some_and(|rest| rest.starts_with('='))
    };
    at > 0 && (TEXTS.contains(&words[at - 1]) || is_bundle(words[at - 1])) || TEXTS.iter().any(is_glued)
}

/// Where the pattern of a search is, unless an option brings it.
fn pattern(verb: &str, words: &[&str]) -> Option<usize> {
    let is_brought = words.iter().any(|word| word.starts_with("-e") || word.starts_with("-f"));
    (verb == "grep" && !is_brought).then(|| words.iter().position(|word| !word.starts_with('-'))).flatten()
}

/// The path in a word, unless it is left out.
pub(in super::super) fn pathspec(word: &str) -> Option<&str> {
    let (magic, path) = word.strip_prefix(":(").and_then(|rest| rest.split_once(')')).unwrap_or(("", word));
    let is_left_out = magic.contains("exclude") || path.starts_with(":!") || path.starts_with(":^");
    (!is_left_out).then(|| path.strip_prefix(":/").unwrap_or(path))
}

fn secret(word: &str, tree: &Path) -> Option<PathBuf> {
    let pieces: Vec<&str> = match word.strip_prefix("-L") {
        Some(lines) => lines.rsplit(':').take(1).collect(),
        None if word.starts_with('-') => FILES.iter().filter_map(|option| word.strip_prefix(option)).take(1).collect(),
        None => word.split(':').collect(),
    };
    pieces.into_iter().find_map(|piece| {
        // A name may be meant from a directory below. One that begins with a slash is meant from the top, or is that of
        // the tree by another name.
        let place = plain(Path::new(piece));
        let place = match place.is_absolute() {
            true => place.file_name().map(PathBuf::from)?,
            false => place,
        };
        let below = place.strip_prefix("**").unwrap_or(&place);
        may_be_one_of(TREE_SECRETS, below).then(|| tree.join(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_seen_however_git_spells_it() {
        let tree = Path::new("/tree");
        for text in [
            "git show HEAD:.env",
            "git show HEAD:./.env",
            "git show :.env",
            "git show :0:.env.local",
            "git diff -- .env",
            "git diff HEAD~1 -- a .env.local",
            "git -C sub diff ../.env",
            "git diff /tree/sub/../.env",
            "git diff ':(top,literal).env'",
            "git diff :/.env",
            "git diff HEAD~1 -- '.env*'",
            "git diff HEAD~1 -- ':(glob)**/.e?v'",
            "git blame .env",
            "git log -L1,3:.env",
            "git log -L 1,3:.env",
            "git cat-file -p HEAD:.env",
            "git archive HEAD .env",
            "git grep x .env",
            "git grep -e x .env",
            "git grep -f .env",
            "git grep -f.env a",
            "git blame --contents=.env a",
            "git add .env/x",
        ] {
            assert!(named(&ShellText::read(text), tree).is_some_and(|path| path.starts_with("/tree")), "{text}");
        }
        for text in [
            "git show HEAD:.env.example",
            "git diff -- '*.rs' 'sub/.env*'",
            "git show HEAD:sub/.env",
            "git diff -- . ':!.env' ':(exclude,top).env'",
            "git grep .env",
            "git grep -n .env src",
            "git grep -e .env",
            "git log --grep=.env",
            "git log --grep .env",
            "git log -S.env",
            "git commit -m .env",
            "git log",
            "git",
            "git 'open",
        ] {
            assert_eq!(named(&ShellText::read(text), tree), None, "{text}");
        }
    }

    #[test]
    fn what_is_certainly_a_commit_is_told_from_a_file() {
        let names_none = |text: &str| ShellText::read(text).commands.iter().all(names_no_file);
        for text in
            ["git diff", "git diff --stat HEAD~1", "git log -p -3 main..HEAD", "git show 07b12be4", "git diff -- ':!a'"]
        {
            assert!(names_none(text), "{text}");
        }
        for text in [
            "git log -p notes",
            "git diff -- notes",
            "git show HEAD:a",
            "git grep x a",
            "git diff ../notes",
            "git diff 'n*'",
        ] {
            assert!(!names_none(text), "{text}");
        }
    }
}
