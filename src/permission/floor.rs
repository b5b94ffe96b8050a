//! What no rule and no person can allow: commands that end a machine or a home, or take rights that hold an agent.
//!
//! It judges words. What a program does in its own code, it does not see.

mod place;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::shell::{self, Role, Simple, Word, name, programs};
use place::{Loss, is_disk, loss};

/// Programs that run others with the rights of another user.
const RIGHTS: &[&str] = &["doas", "pkexec", "run0", "su", "sudo", "sudoedit"];

const ENDINGS: &[&str] = &["halt", "poweroff", "reboot", "shutdown"];

/// Programs that write to the disks that they are given.
const WRITERS: &[&str] =
    &["badblocks", "blkdiscard", "cp", "mkswap", "mv", "sfdisk", "sgdisk", "shred", "tee", "truncate", "wipefs"];

/// Words before a program in a text that could not be read.
const BEFORE: &[&str] =
    &["!", "bash", "dash", "do", "elif", "else", "eval", "if", "sh", "then", "time", "until", "while", "zsh"];

/// Why a command must never run; `None` when nothing speaks against it for good.
pub fn catastrophe(text: &str) -> Option<String> {
    let commands = shell::parse(text).unwrap_or_else(|| scan(text));
    let scene = Scene::new(&commands);
    let mut base = None;
    for simple in &commands {
        let found = scene.judge(simple, base.as_deref());
        if found.is_some() {
            return found;
        }
        base = moves(simple).or(base);
    }
    None
}

/// What else a text says that a command in it may depend on.
struct Scene<'a> {
    variables: Vec<(&'a str, &'a str)>,
    commands: &'a [Simple],
}

impl<'a> Scene<'a> {
    fn new(commands: &'a [Simple]) -> Self {
        let words = commands.iter().flat_map(|simple| &simple.words).filter(|word| word.assigns);
        Self { variables: words.filter_map(|word| word.text.split_once('=')).collect(), commands }
    }

    fn judge(&self, simple: &Simple, base: Option<&str>) -> Option<String> {
        let words = simple.words.as_slice();
        let target = words.iter().find(|word| word.writes() && (is_disk(&word.text) || is_trigger(&word.text)));
        if let Some(target) = target {
            return Some(format!("it would overwrite `{}`", target.text));
        }
        if simple.is_bomb {
            return Some("it would start processes without end".to_owned());
        }
        match simple.role {
            Role::Head => None,
            Role::Command => programs(words, 0).into_iter().find_map(|program| {
                let behind = words[program.at + 1..].iter().filter(|word| !word.is_target());
                let arguments: Vec<_> = behind.flat_map(|word| self.meanings(word)).collect();
                let is_fed = words[..program.at].iter().any(|word| name(&word.text) == "xargs");
                let fed = if is_fed { self.printed() } else { Vec::new() };
                let program = self.meanings(&words[program.at]).into_iter().next()?;
                judge(&program, &arguments, &fed, base)
            }),
        }
    }

    /// What a word may become, as far as the text tells.
    fn meanings<'b>(&self, word: &'b Word) -> Vec<Cow<'b, str>> {
        let mut text = Cow::Borrowed(word.text.as_str());
        if word.expands {
            text = Cow::Owned(self.expand(&text));
        }
        if !word.is_quoted && text.contains('{') {
            let mut found = Vec::new();
            unbrace(&text, &mut found);
            return found.into_iter().map(Cow::Owned).collect();
        }
        vec![text]
    }

    /// Puts in the values of variables that the text sets, and what simple commands print.
    fn expand(&self, text: &str) -> String {
        let mut expanded = text.to_owned();
        for (name, value) in &self.variables {
            expanded = expanded.replace(&format!("${{{name}}}"), value);
            // A longer name may begin with it; then the result names nothing that counts.
            expanded = expanded.replace(&format!("${name}"), value);
        }
        for opening in ["$(echo ", "$(printf ", "$(which ", "$(command -v "] {
            if let Some(inside) = expanded.strip_prefix(opening).and_then(|rest| rest.strip_suffix(')')) {
                return inside.trim_matches(['"', '\'']).to_owned();
            }
        }
        // `${x:-/}` is `/` when nothing is known about `x`.
        let fallback = expanded.strip_prefix("${").and_then(|rest| rest.split_once('}'));
        let fallback = fallback.and_then(|(inside, rest)| Some((inside.split_once('-')?.1, rest)));
        match fallback {
            Some((value, rest)) => format!("{value}{rest}"),
            None => expanded,
        }
    }

    /// The words that commands of the text print.
    fn printed(&self) -> Vec<Cow<'a, str>> {
        let prints = |simple: &&Simple| {
            let program = simple.words.iter().find(|word| !word.assigns && !word.is_target());
            program.is_some_and(|word| matches!(name(&word.text), "echo" | "printf" | "ls"))
        };
        let words = self.commands.iter().filter(prints).flat_map(|simple| simple.words.iter().skip(1));
        words.flat_map(|word| word.text.split_whitespace()).map(Cow::Borrowed).collect()
    }
}

/// Why a program must not run with its arguments and with what it is fed.
fn judge(program: &str, arguments: &[Cow<'_, str>], fed: &[Cow<'_, str>], base: Option<&str>) -> Option<String> {
    let of_system = !program.contains('/') || program.starts_with('/');
    let first = arguments.first().map(AsRef::as_ref);
    let deletes = |target: &str| Some(format!("`{}` would delete `{target}`", name(program)));
    match name(program) {
        name if RIGHTS.contains(&name) => Some(format!("`{name}` takes rights that no agent gets")),
        name if ENDINGS.contains(&name) && of_system => Some(format!("`{name}` would stop this machine")),
        name @ ("init" | "telinit") if matches!(first, Some("0" | "6")) => {
            Some(format!("`{name}` would stop this machine"))
        }
        name @ ("systemctl" | "loginctl") => {
            let ends = |word: &&Cow<'_, str>| {
                ENDINGS.contains(&word.trim_end_matches(".target")) || matches!(word.as_ref(), "kexec" | "emergency")
            };
            arguments.iter().find(ends).map(|_| format!("`{name}` would stop this machine"))
        }
        name if name == "mkfs" || name.starts_with("mkfs.") || matches!(name, "mke2fs" | "newfs") => {
            Some(format!("`{name}` would erase a disk"))
        }
        "dd" => {
            let disk = arguments.iter().filter_map(|word| word.strip_prefix("of=")).find(|path| is_disk(path))?;
            Some(format!("it would overwrite `{disk}`"))
        }
        "diskutil" if first.is_some_and(|verb| verb.to_ascii_lowercase().starts_with("erase")) => {
            Some("`diskutil` would erase a disk".to_owned())
        }
        name if WRITERS.contains(&name) => {
            let disk = arguments.last().filter(|path| is_disk(path))?;
            Some(format!("it would overwrite `{disk}`"))
        }
        "rm" => deletes(removed(arguments, fed, base)?),
        "find" => deletes(found(arguments, base)?),
        _ => None,
    }
}

/// The place among the arguments of `rm` that must stay.
fn removed<'a>(arguments: &'a [Cow<'_, str>], fed: &'a [Cow<'_, str>], base: Option<&str>) -> Option<&'a str> {
    let options = arguments.iter().take_while(|word| *word != "--");
    let is_recursive = |word: &Cow<'_, str>| match word.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.len() > 2 && "-recursive".starts_with(long),
        Some(flags) => flags.contains(['r', 'R']),
        // What it becomes is not known.
        None => word.starts_with('$') && !word.contains('/'),
    };
    if arguments.iter().any(|word| word.starts_with("--no-preserve")) {
        return Some("/");
    }
    if !options.into_iter().any(is_recursive) {
        return None;
    }
    let targets = arguments.iter().filter(|word| !word.starts_with('-')).chain(fed);
    targets.map(AsRef::as_ref).find(|target| loss(target, base).is_some())
}

/// The place among the arguments of `find` that must stay.
fn found<'a>(arguments: &'a [Cow<'_, str>], base: Option<&str>) -> Option<&'a str> {
    let runs = |pair: &[Cow<'_, str>]| {
        matches!(&*pair[0], "-exec" | "-execdir" | "-ok" | "-okdir")
            && matches!(name(&pair[1]), "rm" | "shred" | "unlink")
    };
    let deletes = arguments.iter().any(|word| word == "-delete") || arguments.windows(2).any(runs);
    let picks = arguments
        .iter()
        .any(|word| matches!(&**word, "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex"));
    let starts = arguments.iter().map(AsRef::as_ref).skip_while(|word| matches!(*word, "-H" | "-L" | "-P"));
    let mut starts = starts.take_while(|word: &&str| !word.starts_with(['-', '(', '!']));
    let is_lost = |start: &&str| match loss(start, base) {
        Some(Loss::System) => true,
        Some(Loss::Home) => !picks,
        None => false,
    };
    starts.find(is_lost).filter(|_| deletes)
}

/// Where a command goes, for those behind it.
fn moves(simple: &Simple) -> Option<String> {
    let mut words = simple.words.iter().filter(|word| !word.is_target() && !word.assigns);
    if simple.role != Role::Command || !matches!(words.next()?.text.as_str(), "cd" | "pushd") {
        return None;
    }
    let to = words.find(|word| !word.text.starts_with('-'));
    Some(to.map_or_else(|| "~".to_owned(), |word| word.text.clone()))
}

/// Whether a path is that by which the kernel is told to stop.
fn is_trigger(path: &str) -> bool {
    path == "/proc/sysrq-trigger"
}

/// The words that braces make of one.
fn unbrace(text: &str, found: &mut Vec<String>) {
    const MOST: usize = 64;
    let close = text.find('}');
    let open = close.and_then(|close| text[..close].rfind('{').filter(|open| !text[..*open].ends_with('$')));
    match (open, close) {
        (Some(open), Some(close)) if text[open..close].contains(',') && found.len() < MOST => {
            for middle in text[open + 1..close].split(',') {
                unbrace(&format!("{}{middle}{}", &text[..open], &text[close + 1..]), found);
            }
        }
        _ => found.push(text.to_owned()),
    }
}

/// The words of a text that cannot be read: as if its quotes meant nothing, and as if each of them ended a command.
fn scan(text: &str) -> Vec<Simple> {
    const ENDS: &[char] = &[';', '|', '&', '\n', '(', ')', '{', '}', '`'];
    let (unquoted, quoted) = (text.replace(['\'', '"', '\\'], ""), text.replace('\\', ""));
    let parts = unquoted.split(ENDS).chain(quoted.split(['\'', '"']).flat_map(|part| part.split(ENDS)));
    let is_before = |word: &&str| BEFORE.contains(&name(word)) || word.starts_with('-');
    parts.map(|part| Simple::of(part.split_whitespace().skip_while(is_before))).collect()
}
