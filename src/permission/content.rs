//! Which files a command that looks may show: below the directories that it searches, and by rules that allow a program
//! without its files. A rule for `tail *` is no word about `.env`.

use super::flag;
use super::reader::READS;
use super::shell::{SimpleCommand, Word, is_one_of};
use super::verb::{GIT_READS, names_credentials};
use super::{Leads, Places};

/// Programs that only read, and show no content of files.
const FILELESS: &str = ": basename date df dirname echo expr false free groups id nproc printf pwd seq sleep tr true \
                        type uname uptime whereis which whoami";

/// Further programs that show what is in files.
const SHOWING: &str = "ag awk bat diff file gawk jq less mawk more rg sed sort strings uniq xxd";

/// The operands below which a program reads every file; the directory that it runs in, where its words do not tell.
pub(super) fn searched_directories<'a>(name: &str, arguments: &[&'a str]) -> Vec<&'a str> {
    let (options, operands): (Vec<&str>, Vec<&str>) = arguments.iter().partition(|word| word.starts_with('-'));
    let searches = match name {
        "egrep" | "fgrep" | "grep" => has_letter(&options, &['r', 'R', 'd']),
        // Two directories are compared file by file, without an option for that.
        "ag" | "diff" | "rg" => true,
        _ => false,
    };
    // A word behind any other option may be its value.
    let is_plain = |word: &&str| word[1..].chars().all(|c| "EFHNRabcdhilnoqrsuvwy".contains(c));
    let is_implied = operands.len() < 2 || !options.iter().all(is_plain);
    operands.into_iter().chain(is_implied.then_some(".")).filter(|_| searches).collect()
}

/// Whether a program may show hidden files at the root of the work tree.
pub(super) fn shows_hidden(name: &str, arguments: &[&str]) -> bool {
    let leads_up = |path: &&str| {
        let mut parts = path.split('/');
        path.starts_with('/') || parts.clone().any(|part| part == "..") || parts.all(|part| matches!(part, "" | "."))
    };
    let options: Vec<_> = arguments.iter().copied().filter(|word| word.starts_with('-')).collect();
    let is_asked_for = !matches!(name, "ag" | "rg") || has_letter(&options, &['u', 'g', '.']);
    is_asked_for && searched_directories(name, arguments).iter().any(leads_up)
}

fn has_letter(options: &[&str], letters: &[char]) -> bool {
    options.iter().any(|word| word.starts_with("--") || word.contains(letters))
}

/// Whether a command shows the content of files that its words name.
pub(super) fn shows_files(command: &SimpleCommand) -> bool {
    let texts = command.texts();
    match command.program() {
        "git" => {
            flag::subcommand(texts.get(1..).unwrap_or_default()).is_some_and(|(verb, _)| is_one_of(GIT_READS, verb))
        }
        name => is_one_of(READS, name) && !is_one_of(FILELESS, name) || is_one_of(SHOWING, name),
    }
}

/// Whether a command may show secrets, or files outside of the work tree, so that a pattern for its program does not cover
/// it. `leads` is about the whole line that it is part of; git follows no links.
pub(super) fn may_show_secrets(command: &SimpleCommand, leads: Leads, places: &Places) -> bool {
    let texts = command.texts();
    let arguments = texts.get(1..).unwrap_or_default();
    let is_git = command.program() == "git";
    let targets = command.redirects.iter().filter(|redirect| redirect.sign == "<").map(|redirect| &redirect.target);
    let mut words = command.words.iter().skip(1).chain(targets.clone());
    let climbs = |piece: &str| piece.starts_with(['/', '~']) || piece.split('/').any(|part| part == "..");
    let is_far = |word: &Word| {
        names_credentials(word) || word.text.split(['=', ':']).any(climbs) || is_git && word.text.starts_with("--no-i")
    };
    let names_files = arguments.iter().any(|word| !word.starts_with('-')) || targets.count() > 0;
    let leads_out = leads == Leads::Elsewhere && names_files && !is_git;
    let is_hidden = places.has_tree_secret && shows_hidden(command.program(), arguments);
    shows_files(command) && (command.is_fed || words.any(is_far) || leads_out || is_hidden)
}
