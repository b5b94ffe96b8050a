//! Which files a command that looks may show: below the directories that it searches, and by rules that allow a program
//! without its files. A rule for `tail *` is no word about `.env`.

use super::flag;
use super::guard::words;
use super::key_file::names_credentials;
use super::reader::READS;
use super::shell::{ShellText, SimpleCommand, Word, is_one_of};
use super::verb::git_reads_no_files;
use super::{Leads, Place};

/// Programs that only read, and show no content of files.
const FILELESS: &str = ": basename date df dirname echo expr false free groups id nproc printf pwd seq sleep tr true \
                        type uname uptime whereis which whoami";

/// Further programs that show what is in files.
const SHOWING: &str = "ag awk bat diff file gawk jq less mawk more rg sed sort strings uniq xxd";

/// Subcommands of git that show names and no content, besides those that read no files.
const GIT_NAMES: &str = "cherry describe ls-files shortlog show-branch status";

/// What a command reads in the directories that it searches or compares.
pub(super) fn searched_places(command: &SimpleCommand) -> Vec<Place> {
    let arguments = command.words.get(1..).unwrap_or_default();
    let (options, operands): (Vec<&Word>, Vec<&Word>) = arguments.iter().partition(|word| word.text.starts_with('-'));
    let has = |letters: &[char]| options.iter().any(|word| !word.text.starts_with("--") && word.text.contains(letters));
    let has_long = || options.iter().any(|word| word.text.starts_with("--"));
    let all_below = |directory: &str| Place::Within { directory: directory.to_owned(), pattern: "**".to_owned() };
    let searches = match command.program() {
        // It compares directories file by file, and follows links.
        "diff" => {
            let values = options.iter().filter_map(|word| word.text.split_once('=')).map(|(_, value)| value);
            return operands.iter().map(|word| known_beginning(word)).chain(values).map(all_below).collect();
        }
        "egrep" | "fgrep" | "grep" => has(&['r', 'R', 'd']) || has_long(),
        // They leave out what ignore files name, but an agent writes those.
        "ag" | "rg" => true,
        _ => false,
    };
    if !searches {
        return Vec::new();
    }
    // A word behind any other option may be its value.
    let is_plain = |word: &&Word| word.text[1..].chars().all(|c| "EFHNRabcdhilnoqrsuvwy".contains(c));
    let is_implied = operands.len() < 2 || !options.iter().all(is_plain);
    let place = |word: &&Word| match word.is_glob {
        true => all_below(known_beginning(word)),
        false => Place::Searched(word.text.clone()),
    };
    operands.iter().map(place).chain(is_implied.then(|| Place::Searched(".".to_owned()))).collect()
}

/// The directory in which a pattern may mean anything, links included; a word that is no pattern is its own.
fn known_beginning(word: &Word) -> &str {
    let open = word.text.find(['*', '?', '[']).filter(|_| word.is_glob);
    match open.map(|open| &word.text[..open]) {
        None => &word.text,
        Some(known) => {
            known.rsplit_once('/').map_or(".", |(directory, _)| if directory.is_empty() { "/" } else { directory })
        }
    }
}

/// Whether a text runs git so that it shows the content of files that it tracks, whatever its words name.
pub fn shows_tracked_files(text: &str) -> bool {
    ShellText::read(text).commands.iter().any(shows_tracked)
}

pub(super) fn shows_tracked(command: &SimpleCommand) -> bool {
    let texts = command.texts();
    let (verb, words) = flag::subcommand(texts.get(1..).unwrap_or_default()).unwrap_or_default();
    let is_verbose = |word: &&str| word.starts_with("--v") || !word.starts_with("--") && word.contains('v');
    // It shows patches then.
    let is_verbose_status = verb == "status" && words.iter().filter(|word| word.starts_with('-')).any(is_verbose);
    let shows_names = is_one_of(GIT_NAMES, verb) && !is_verbose_status;
    command.program() == "git" && !git_reads_no_files(command) && !shows_names
}

/// Whether a command that looks shows nothing but its input and names, so that what ran before it makes no difference.
pub(super) fn is_filter(command: &SimpleCommand) -> bool {
    let is_operand = |word: &&Word| !word.text.starts_with('-') && word.text.parse::<u32>().is_err();
    let operands = command.words.iter().skip(1).filter(is_operand).count();
    let has_pattern = !brings_pattern(command) || command.words.iter().any(|word| word.text == "-e");
    let pattern = usize::from(has_pattern && is_one_of("egrep fgrep grep", command.program()));
    match command.program() {
        "git" => !shows_tracked(command),
        _ if !shows_files(command) => true,
        _ => operands <= pattern && searched_places(command).is_empty() && opened_files(command).next().is_none(),
    }
}

/// Whether an option of a program that searches may bring its pattern or script, so that all operands are files.
pub(super) fn brings_pattern(command: &SimpleCommand) -> bool {
    let letters: &[char] = if command.program() == "jq" { &['f'] } else { &['e', 'f'] };
    let is_long = |option: &str| ["exp", "file", "from", "reg", "so"].iter().any(|start| option.starts_with(start));
    command.words.iter().skip(1).any(|word| match word.text.strip_prefix("--") {
        Some(option) => is_long(option),
        None => word.text.starts_with('-') && word.text.contains(letters),
    })
}

/// Whether a command shows, stores or sends the content of files that its words name, or that a shell opens for it.
pub(super) fn shows_files(command: &SimpleCommand) -> bool {
    is_showing(command.program()) || opened_files(command).next().is_some()
}

/// Whether a program shows what is in the files that it is given.
pub(super) fn is_showing(name: &str) -> bool {
    name == "git" || is_one_of(READS, name) && !is_one_of(FILELESS, name) || is_one_of(SHOWING, name)
}

/// The files that a shell opens for a command to read.
pub(super) fn opened_files(command: &SimpleCommand) -> impl Iterator<Item = &Word> {
    command.redirects.iter().filter(|redirect| redirect.sign == "<").map(|redirect| &redirect.target)
}

/// Whether a command may show secrets, or files outside of the work tree, so that a pattern for its program does not cover
/// it. `leads` is about the whole line that it is part of; git follows links only of files that it is fed.
pub(super) fn may_show_secrets(command: &SimpleCommand, leads: Leads) -> bool {
    let texts = command.texts();
    let arguments = texts.get(1..).unwrap_or_default();
    let is_git = command.program() == "git";
    let is_message = |at: usize| is_git && words::is_text(arguments, at);
    let operands = command.words.iter().skip(1).enumerate().filter(|(at, _)| !is_message(*at)).map(|(_, word)| word);
    let is_page = |word: &Word| is_git && word.text.contains("://");
    let is_far = |word: &Word| names_credentials(word) || !is_page(word) && !word.text.split(['=', ':']).all(is_below);
    let is_redirected = opened_files(command).next().is_some();
    let names_files = arguments.iter().any(|word| !word.starts_with('-')) && !is_git || is_redirected;
    let leads_out = match leads {
        Leads::Inside => false,
        Leads::Kept => true,
        Leads::Elsewhere => names_files,
    };
    shows_files(command) && (command.is_fed || operands.chain(opened_files(command)).any(is_far) || leads_out)
}

/// Whether a text only runs programs that read, and names what may hold secrets.
pub(super) fn reads_credentials(text: &ShellText) -> bool {
    let reads = |command: &SimpleCommand| is_one_of(READS, command.program()) && !command.writes();
    let has_secret = |command: &SimpleCommand| command.words.iter().any(names_credentials);
    text.understood().is_some_and(|commands| commands.iter().all(reads) && commands.iter().any(has_secret))
}

/// Whether no word of a text leads out of the directory that it runs in, by its looks.
pub(super) fn stays_below(text: &ShellText) -> bool {
    let stays = |word: &Word| word.text.split(['=', ':']).all(is_below);
    text.understood().is_some_and(|commands| commands.iter().all(|command| command.words.iter().all(stays)))
}

/// Whether a path stays below, by its name.
pub(super) fn is_below(path: &str) -> bool {
    !path.starts_with(['/', '~']) && !path.split('/').any(|part| part == "..")
}
