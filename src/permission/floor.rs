//! What no rule and no person can allow: commands that end a machine or a home, or take rights that hold an agent.
//!
//! It judges words. What a program does in its own code, it does not see.

mod place;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::shell::{
    Origin, Redirect, ShellText, SimpleCommand, base_name, find_runnable, is_one_of, may_name, printed_words,
};
use place::{Loss, is_fatal, joined, loss};

/// Programs that run others with the rights of another user.
const RIGHTS: &str = "doas gosu pkexec run0 runuser setpriv su su-exec sudo sudoedit";

const ENDINGS: &str = "halt poweroff reboot shutdown";

/// Programs that write to the disks that they are given.
const WRITERS: &str = "badblocks blkdiscard cp cryptsetup dd fdisk install mkswap mv nvme parted pvcreate sfdisk \
                       sgdisk shred tee truncate wipefs";

/// Programs that only look at the disks that they are given, or make one appear.
const DISK_READERS: &str = "blkid dd file findmnt fsck lsblk mount smartctl test udevadm umount [";

/// The other programs that are judged below.
const JUDGED: &str = "chmod chown diskutil find init kill killall5 loginctl mkdosfs mke2fs mkfs mkfs.btrfs mkfs.ext4 \
                      mkfs.xfs mkntfs newfs rm rsync systemctl tar telinit";

/// Why a command must never run; `None` when nothing speaks against it for good.
pub fn catastrophe(text: &str) -> Option<String> {
    catastrophe_in(&ShellText::read(text), text, None)
}

/// The same, of a text that runs in `cwd`, and in which the home may also stand by its path.
pub(super) fn catastrophe_at_home(read: &ShellText, text: &str, home: &Path, cwd: &Path) -> Option<String> {
    let below_home = cwd.strip_prefix(home).ok().filter(|_| home.parent().is_some());
    let cwd = below_home.map_or_else(|| cwd.to_owned(), |below| Path::new("~").join(below));
    let cwd = cwd.to_str().filter(|cwd| !cwd.is_empty());
    let named = || {
        let home = home.to_str().filter(|home| home.len() > 1 && text.contains(home))?;
        let is_name = |c: char| c.is_alphanumeric() || "_.-".contains(c);
        let parts: Vec<_> = text.split(home).collect();
        let sign = |behind: &&str| if behind.starts_with(is_name) { home } else { "~" };
        let rest = parts[1..].iter().flat_map(|behind| [sign(behind), behind]);
        let text = std::iter::once(parts[0]).chain(rest).collect::<String>();
        catastrophe_in(&ShellText::read(&text), &text, cwd)
    };
    catastrophe_in(read, text, cwd).or_else(named)
}

fn catastrophe_in(read: &ShellText, text: &str, cwd: Option<&str>) -> Option<String> {
    if read.opaque.is_some() && is_fork_bomb(text) {
        return Some("it would start processes without end".to_owned());
    }
    // Of an opaque text, each command may be there several times: what moves may start from the first directory again.
    let (mut direct, mut chained) = (cwd.map(str::to_owned), cwd.map(str::to_owned));
    for command in read.commands.iter().chain(&read.possible_commands) {
        let is_chained = read.opaque.is_none() || direct != chained;
        let bases = [Some(&direct).filter(|_| read.opaque.is_some()), Some(&chained).filter(|_| is_chained)];
        let found = bases.into_iter().flatten().find_map(|base| command_catastrophe(read, command, base.as_deref()));
        if found.is_some() {
            return found;
        }
        if let Some(to) = moves(&command.texts()) {
            direct = Some(joined(to, cwd).into_owned());
            chained = Some(joined(to, chained.as_deref()).into_owned());
        }
    }
    None
}

/// Why a command that runs in `base` may never run.
fn command_catastrophe(read: &ShellText, command: &SimpleCommand, base: Option<&str>) -> Option<String> {
    let targets = command.redirects.iter().filter(|redirect| redirect.writes());
    if let Some(target) = targets.map(|redirect| redirect.target.text.as_str()).find(|path| is_fatal(path, base)) {
        return Some(format!("it would overwrite `{target}`"));
    }
    let fed = if command.is_fed { input_words(read) } else { Vec::new() };
    let texts = command.texts();
    let (program, arguments) = texts.split_first()?;
    if let Some(place) = listed_place(read, command, base) {
        return Some(format!("`{}` would delete `{place}`", command.program()));
    }
    let (mut names, is_known) = possible_names(command);
    // What an operator makes of a value may be a part of it.
    let is_made = program.starts_with("${^");
    let is_part = |name: &&str| is_made && read.values.0.iter().any(|(_, value)| is_part_of(name, value));
    names.extend(RIGHTS.split(' ').chain(ENDINGS.split(' ')).filter(is_part));
    std::iter::once(program).chain(&names).find_map(|program| {
        let counts = match command.origin {
            Origin::Written | Origin::Wrapped | Origin::Suspected | Origin::Fragment => is_known || is_part(program),
            // A mere argument may have the name of any program (`apt install sudo curl`), and nobody could allow it.
            Origin::Possible | Origin::Quoted => false,
        };
        let judge = if counts { judge } else { destroys };
        judge(program, arguments, &fed, base)
    })
}

/// Why a person has to look at a command in every posture: it gives a disk to a program that may write to it, or removes
/// what is below a variable that may be empty.
pub(super) fn describe_risk(read: &ShellText, text: &str) -> Option<String> {
    let is_read = |command: &&SimpleCommand| {
        matches!(command.origin, Origin::Written | Origin::Wrapped | Origin::Suspected) && !command.words.is_empty()
    };
    read.commands.iter().filter(is_read).find_map(|command| {
        let (texts, program) = (command.texts(), command.program());
        let writes = find_runnable(&texts).is_some() && !is_one_of(DISK_READERS, program);
        let disk = texts[1..].iter().filter(|word| writes && !word.starts_with("if=")).find_map(|word| {
            let name = word.split_once('=').map_or(*word, |(_, value)| value);
            is_fatal(name, None).then(|| format!("`{program}` may write to `{name}`"))
        });
        let is_empty = |word: &str| {
            let (name, rest) = word.strip_prefix("${").and_then(|name| name.split_once('}')).unwrap_or_default();
            let is_known = name.starts_with('^') || name == "HOME" || text.contains(&format!("${{{name}:?"));
            rest.starts_with('/') && !is_known && read.values.expand(word).is_empty() && loss(rest, None).is_some()
        };
        let open = || {
            texts[1..]
                .iter()
                .find(|word| is_empty(word) && removed(&[&texts[1..], &["/"]].concat(), &[], None).is_some())
        };
        let open = Some(program).filter(|name| *name == "rm").and_then(|_| open());
        disk.or_else(|| open.map(|word| format!("`rm` would delete `{word}`, of which the variable may be empty")))
    })
}

/// What a command may get by its input: words that others print, and those of a here-document or here-string, which look
/// like programs and files to read.
fn input_words(read: &ShellText) -> Vec<&str> {
    let is_input = |redirect: &&Redirect| redirect.sign == "<";
    let targets = read.commands.iter().flat_map(|command| command.redirects.iter().filter(is_input));
    let programs = read.commands.iter().filter_map(|command| command.words.first());
    let words = targets.map(|redirect| &redirect.target).chain(programs).flat_map(|word| word.text.split_whitespace());
    printed_words(&read.commands).into_iter().chain(words).collect()
}

/// The place that must stay among those that `find` lists for a command which removes them.
fn listed_place<'a>(read: &'a ShellText, command: &SimpleCommand, base: Option<&str>) -> Option<&'a str> {
    let is_called = |names: &[&str], command: &SimpleCommand| names.contains(&command.program());
    let reading = || read.commands.iter().filter(|command| is_called(&READERS, command));
    let is_read = |name: &str| reading().any(|command| command.texts()[1..].contains(&name));
    // A script of a shell gets what it is fed as its own arguments, and a loop what `read` puts into a variable.
    let gets_more = |word: &&str| {
        let name = word.strip_prefix("${").and_then(|name| Some(name.split_once('}')?.0));
        name.is_some_and(|name| matches!(name, "@" | "*" | "0" | "1" | "^") || is_read(name))
    };
    if !is_called(&REMOVERS, command) || !(command.is_fed || command.texts().iter().any(gets_more)) {
        return None;
    }
    let is_piped =
        || reading().next().is_some() || read.commands.iter().any(|command| is_called(&["parallel", "xargs"], command));
    read.commands.iter().find_map(|command| match command.program() {
        "find" if is_piped() => lost_start(&command.texts()[1..], base),
        "fd" | "fdfind" => lost_place(command, base),
        "rg" if command.texts().iter().any(|word| word.starts_with("--pre")) => lost_place(command, base),
        _ => None,
    })
}

/// The place that must stay among the words of a program that searches, or where it runs.
fn lost_place<'a>(command: &'a SimpleCommand, base: Option<&str>) -> Option<&'a str> {
    let texts = command.words[1..].iter().map(|word| word.text.as_str());
    let words = texts.flat_map(|word| std::iter::once(word).chain(word.split_once('=').map(|(_, value)| value)));
    words.chain(["."]).find(|word| loss(word, base).is_some())
}

/// Whether a name is a part of a value that is one word, and long enough to be there on purpose.
fn is_part_of(name: &str, value: &str) -> bool {
    name.len() > 3 && value.contains(name) && !value.contains(char::is_whitespace)
}

/// The programs of the system that the program of a command may be, if that is a pattern, and whether its name tells
/// anything at all.
fn possible_names(command: &SimpleCommand) -> (Vec<&'static str>, bool) {
    let is_local = |program: &str| program.contains('/') && !program.starts_with('/');
    let pattern = command.program_pattern().filter(|_| !command.words.first().is_some_and(|word| is_local(&word.text)));
    let Some(pattern) = pattern else { return (Vec::new(), true) };
    let names = [RIGHTS, ENDINGS, WRITERS, JUDGED].into_iter().flat_map(|list| list.split(' '));
    (names.filter(|name| pattern.meets(name)).collect(), pattern.says_something())
}

/// Why a program must not run with its arguments and with what it is fed.
fn judge(program: &str, arguments: &[&str], fed: &[&str], base: Option<&str>) -> Option<String> {
    let of_system = !program.contains('/') || program.starts_with('/');
    let first = arguments.first().copied();
    match base_name(program) {
        name if is_one_of(RIGHTS, name) => Some(format!("`{name}` takes rights that no agent gets")),
        name if is_one_of(ENDINGS, name) && of_system => Some(format!("`{name}` would stop this machine")),
        name @ ("init" | "telinit") if matches!(first, Some("0" | "6")) => {
            Some(format!("`{name}` would stop this machine"))
        }
        name @ ("systemctl" | "loginctl") => {
            let ends = |word: &&&str| {
                is_one_of(ENDINGS, word.trim_end_matches(".target")) || matches!(**word, "kexec" | "emergency")
            };
            arguments.iter().find(ends).map(|_| format!("`{name}` would stop this machine"))
        }
        name if name == "mkfs"
            || name.starts_with("mkfs.")
            || matches!(name, "mkdosfs" | "mke2fs" | "mkntfs" | "newfs") =>
        {
            Some(format!("`{name}` would erase a disk"))
        }
        // The first word may be the signal.
        "kill" if arguments.iter().chain(fed).skip(1).any(|word| is_every_process(word)) => {
            Some("`kill` would end all processes".to_owned())
        }
        "killall5" => Some("`killall5` would end all processes".to_owned()),
        "diskutil" if first.is_some_and(|verb| verb.to_ascii_lowercase().starts_with("erase")) => {
            Some("`diskutil` would erase a disk".to_owned())
        }
        _ => destroys(program, arguments, fed, base),
    }
}

/// Whether an operand of `kill` means all processes.
fn is_every_process(word: &str) -> bool {
    word.trim().strip_prefix('-').is_some_and(|number| number.trim_start_matches('0') == "1")
}

/// Why a program must not run with its arguments, where it is known by them.
fn destroys(program: &str, arguments: &[&str], fed: &[&str], base: Option<&str>) -> Option<String> {
    let deletes = |target: &str| Some(format!("`{}` would delete `{target}`", base_name(program)));
    match base_name(program) {
        name if lost(name, arguments, base).is_some() => {
            Some(format!("`{name}` would destroy `{}`", lost(name, arguments, base)?))
        }
        name if is_one_of(WRITERS, name) => {
            let path = written(name, arguments).into_iter().find(|path| is_fatal(path, base))?;
            Some(format!("it would overwrite `{path}`"))
        }
        "rm" => deletes(removed(arguments, fed, base)?),
        "find" => deletes(found(arguments, base)?),
        _ => None,
    }
}

/// The place that must stay among those that a program moves away, overwrites or closes.
fn lost<'a>(name: &str, arguments: &[&'a str], base: Option<&str>) -> Option<&'a str> {
    let operands: Vec<_> = arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let has = |options: &[&str]| arguments.iter().any(|word| options.iter().any(|option| word.starts_with(option)));
    let directory = arguments.iter().position(|word| is_directory_option(word));
    let is_value =
        |at: usize| arguments[at].ends_with('t') || arguments[at].starts_with("--") && !arguments[at].contains('=');
    let behind = directory.filter(|at| is_value(*at)).map(|at| at + 1);
    let operands: Vec<_> =
        operands.into_iter().filter(|word| behind.and_then(|at| arguments.get(at)) != Some(word)).collect();
    let targets = match (name, operands.as_slice()) {
        ("chgrp" | "chmod" | "chown", targets) if arguments.iter().any(|word| is_recursive(word)) => targets,
        ("mv", sources) if directory.is_some() => sources,
        ("mv", [sources @ .., _]) => sources,
        ("rsync", [.., _]) if has(&["--del"]) => &operands[operands.len() - 1..],
        ("shred" | "truncate", targets) => targets,
        ("tar", targets) if has(&["--remove"]) => targets,
        _ => return None,
    };
    targets.iter().find(|target| loss(target, base).is_some()).copied()
}

/// Whether an option of those that change modes and owners means all that is below.
fn is_recursive(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => !long.is_empty() && "recursive".starts_with(long),
        None => word.starts_with('-') && word.contains('R'),
    }
}

/// Whether an option of those that copy and move is about the directory to do it to.
fn is_directory_option(word: &str) -> bool {
    word.starts_with('-') && (word.starts_with("--t") || !word.starts_with("--") && word.contains('t'))
}

/// The arguments of a program that it writes to. What `dd` and those that copy take from a disk does it no harm.
fn written<'a>(name: &str, arguments: &[&'a str]) -> Vec<&'a str> {
    match name {
        "dd" => arguments.iter().filter_map(|word| word.strip_prefix("of=")).collect(),
        "cp" | "install" | "mv" => {
            let directory = arguments.iter().position(|word| is_directory_option(word));
            let behind = directory.map_or(&[][..], |at| &arguments[at..arguments.len().min(at + 2)]);
            let glued = ['=', 't'].into_iter().filter_map(|sign| Some(behind.first()?.split_once(sign)?.1));
            let last = arguments.iter().rfind(|word| !word.starts_with('-'));
            behind.iter().chain(last).copied().chain(glued).collect()
        }
        _ => arguments.to_vec(),
    }
}

/// The place among the arguments of `rm` that must stay.
fn removed<'a>(arguments: &[&'a str], fed: &[&'a str], base: Option<&str>) -> Option<&'a str> {
    let is_recursive = |word: &&&str| match word.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.len() > 2 && "-recursive".starts_with(long),
        Some(flags) => flags.contains(['r', 'R']),
        // What it becomes is not known.
        None => word.starts_with('$') && !word.contains('/'),
    };
    if arguments.iter().any(|word| word.starts_with("--no-preserve")) {
        return Some("/");
    }
    arguments.iter().take_while(|word| **word != "--").find(is_recursive)?;
    let targets = arguments.iter().filter(|word| !word.starts_with('-')).chain(fed);
    targets.copied().find(|target| loss(target, base).is_some())
}

/// Programs that remove or empty the files that they are given.
const REMOVERS: [&str; 4] = ["rm", "shred", "truncate", "unlink"];

/// Commands of a shell that put their input into variables.
const READERS: [&str; 3] = ["mapfile", "read", "readarray"];

/// The place among the arguments of `find` that must stay.
fn found<'a>(arguments: &[&'a str], base: Option<&str>) -> Option<&'a str> {
    let mut runs = arguments.split(|word| matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir")).skip(1);
    let deletes = arguments.contains(&"-delete") || runs.any(runs_remover);
    lost_start(arguments, base).filter(|_| deletes)
}

/// Whether the words behind `-exec` are a program that removes, or run one by their scripts or words.
fn runs_remover(words: &[&str]) -> bool {
    let [program, ..] = words else { return false };
    let end = words.iter().position(|word| matches!(*word, ";" | "+")).unwrap_or(words.len());
    let is_named = |word: &str| REMOVERS.iter().any(|remover| may_name(word, remover));
    let script = words[..end].join(" ").replace(['\'', '"', '\\'], "");
    let mut tokens = script.split(|c: char| c.is_whitespace() || ";|&()`".contains(c));
    let may_run = find_runnable(&words[..end]).is_some();
    is_named(program) || may_run && tokens.any(|token| !token.starts_with('$') && is_named(token))
}

/// The place below which `find` finds what must stay.
fn lost_start<'a>(arguments: &[&'a str], base: Option<&str>) -> Option<&'a str> {
    const PICKING: &str = "-name -iname -path -ipath -wholename -regex -iregex";
    let is_picking = |pair: &[&str]| is_one_of(PICKING, pair[0]) && pair[1].contains(char::is_alphanumeric);
    let picks = arguments.windows(2).any(is_picking);
    let is_lost = |start: &&str| match loss(start, base) {
        Some(Loss::System) => true,
        Some(Loss::Home) => !picks,
        None => false,
    };
    // Options for links, speed and messages may stand before the places; the value of `-D` looks like one of them.
    let is_option =
        |word: &&str| word.strip_prefix('-').is_some_and(|rest| rest.chars().all(|c| "-DEHLPXdfsx".contains(c)));
    let rest = arguments.iter().copied().skip_while(|word| is_option(word) || word.starts_with("-O"));
    let starts: Vec<_> = rest.take_while(|word| !word.starts_with(['-', '(', '!'])).collect();
    let values = arguments.iter().filter(|word| **word == "-D").count();
    let implied = (starts.len() <= values).then_some(".");
    starts.into_iter().chain(implied).find(is_lost)
}

/// Where a command goes, for those behind it.
fn moves<'a>(texts: &[&'a str]) -> Option<&'a str> {
    let (program, arguments) = texts.split_first()?;
    match base_name(program) {
        "cd" | "pushd" => Some(arguments.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("~")),
        "env" => env_directory(arguments),
        _ => None,
    }
}

/// The directory to which `env` goes before it runs a command.
pub(super) fn env_directory<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    let is_own = |at: &usize| {
        let is_option = |at: usize| arguments[at].starts_with('-');
        is_option(*at) || arguments[*at].contains('=') || *at > 0 && is_option(*at - 1)
    };
    (0..arguments.len()).take_while(is_own).find_map(|at| {
        let value = match arguments[at].strip_prefix("--") {
            Some(long) => {
                let (name, value) = long.split_once('=').unwrap_or((long, ""));
                Some(value).filter(|_| !name.is_empty() && "chdir".starts_with(name))
            }
            None => arguments[at].strip_prefix('-').and_then(|letters| letters.split_once('C')).map(|(_, value)| value),
        };
        value.and_then(|value| if value.is_empty() { arguments.get(at + 1).copied() } else { Some(value) })
    })
}

/// Whether a text defines a function that starts itself twice, and so without end.
fn is_fork_bomb(text: &str) -> bool {
    let text: String = text.split_whitespace().collect();
    text.match_indices('{').take(64).any(|(at, _)| {
        let head = text[..at].trim_end_matches("()");
        let start = head.rfind([';', '|', '&', '(', ')', '{', '}']).map_or(0, |before| before + 1);
        let name = head[start..].trim_start_matches("function");
        let body = text[at + 1..].split('}').next().unwrap_or_default();
        let twice = ['|', '&'].map(|sign| format!("{name}{sign}{name}"));
        let is_function = text[..at].ends_with("()") || head[start..].starts_with("function");
        !name.is_empty() && (is_function || body.contains('&')) && twice.iter().any(|twice| body.contains(twice))
    })
}
