//! Programs that run other programs, as data: which of their words is the program, and which is a script.
//!
//! An option that the table does not know may take the next word, so every word behind it may be the program.

use super::{Origin, SimpleCommand, Word, base_name, is_one_of};

/// A program whose own options and operands stand before the command that it runs.
struct Wrapper {
    name: &'static str,
    /// Letters of options without a value, or with one that is part of the same word.
    flags: &'static str,
    /// Letters of options whose value is the rest of the word, or the next one.
    valued: &'static str,
    /// Those of them whose value is a script.
    scripts: &'static str,
    /// Long options without a value.
    long: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
    command: Behind,
}

/// What stands behind the options of a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    Program,
    /// The same, and its input brings more arguments.
    FedProgram,
    /// Words that a shell reads once more.
    Script,
}

const fn row(name: &'static str, flags: &'static str, valued: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, flags, valued, scripts: "", long: &[], operands, command: Behind::Program }
}

const WRAPPERS: &[Wrapper] = &[
    row("builtin", "", "", 0),
    row("busybox", "", "", 0),
    row("chroot", "", "", 1),
    row("chrt", "abdfimoprvRG", "TPD", 1),
    row("command", "p", "", 0),
    row("doas", "Lns", "aCu", 0),
    Wrapper { scripts: "S", long: &["debug", "ignore-environment", "null"], ..row("env", "i0v", "uCSa", 0) },
    row("exec", "cl", "a", 0),
    Wrapper { scripts: "c", long: &["close", "exclusive", "nonblock", "shared"], ..row("flock", "sxeunoF", "wEc", 1) },
    row("ionice", "t", "cnpPu", 0),
    row("nice", "", "n", 0),
    row("nohup", "", "", 0),
    Wrapper { long: &["ctty", "fork", "wait"], ..row("setsid", "cfw", "", 0) },
    row("stdbuf", "", "ioe", 0),
    row("strace", "cCdDfFiknqrtTvwxyYzZ", "abeEIoOpPsSuUX", 0),
    row("sudo", "AbBEeHiKklNnPsSVv", "ugpChTRDUrt", 0),
    row("taskset", "apc", "", 1),
    row("time", "apqvV", "fo", 0),
    Wrapper { long: &["foreground", "preserve-status", "verbose"], ..row("timeout", "fpv", "ks", 1) },
    row("toybox", "", "", 0),
    Wrapper { command: Behind::Script, ..row("watch", "bcdegtpqrwxC", "ns", 0) },
    Wrapper {
        long: &["exit", "interactive", "no-run-if-empty", "null", "open-tty", "verbose"],
        command: Behind::FedProgram,
        ..row("xargs", "0rtpxoeil", "EILnPsdaJRS", 0)
    },
];

/// Wrappers whose options are too many for a table: every word may be the program.
const ANY_WORD: &str = "bunx bwrap caffeinate catchsegv cgexec chpst chronic dbus-run-session dtach eatmydata \
                        entr expect fakechroot fakeroot firejail flatpak-spawn gdb hyperfine i386 linux32 \
                        linux64 lldb ltrace nocorrect noglob npx nsenter numactl parallel perf pkexec pnpx \
                        prlimit proot proxychains proxychains4 rlwrap run0 runcon runuser screen script setarch \
                        setpriv setuidgid sg softlimit ssh-agent start-stop-daemon su systemd-cat \
                        systemd-inhibit systemd-run tmux torsocks trickle uname26 unbuffer unshare uvx valgrind x86_64 \
                        xvfb-run";

/// Package managers, and their subcommands that run a program.
const RUNNERS: &[(&str, &[&str])] = &[
    ("bun", &["x"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx", "exec"]),
    ("uv", &["run", "tool"]),
    ("yarn", &["dlx", "exec"]),
];

pub(in super::super) const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "zsh"];

/// Programs that never run what they are given.
const TEXTUAL: &[&str] = &["[", "ag", "echo", "egrep", "fgrep", "git", "grep", "man", "printf", "rg", "test", "which"];

/// Options of git itself whose value is the next word.
const GIT_VALUED: &str = "--attr-source --config-env --exec-path --git-dir --namespace --shallow-file \
                          --super-prefix --work-tree -C -c";

/// How many wrappers may stand before each other.
const MOST_WRAPPERS: usize = 16;

/// How many words of a command count where every word may be a program.
const MOST_WORDS: usize = 64;

/// What a command runs besides itself.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub commands: Vec<SimpleCommand>,
    pub scripts: Vec<String>,
    /// A shell runs what comes by its input.
    pub input: bool,
    /// More wrappers than anybody writes.
    pub is_too_deep: bool,
}

/// The words behind the options of git itself: a subcommand and its arguments.
pub(in super::super) fn git_arguments<'a, 'w>(words: &'a [&'w str]) -> &'a [&'w str] {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += if is_one_of(GIT_VALUED, word) { 2 } else { 1 };
    }
    words.get(at..).unwrap_or_default()
}

/// The programs and scripts that a command runs by way of wrappers.
pub(super) fn resolve(command: &SimpleCommand) -> Runs {
    let mut runs = Runs::default();
    runs.resolve(&command.words, 0);
    runs
}

impl Runs {
    fn resolve(&mut self, words: &[Word], depth: usize) {
        let [program, arguments @ ..] = words else { return };
        if depth > MOST_WRAPPERS {
            self.is_too_deep = true;
            return;
        }
        let name = base_name(&program.text);
        let second = arguments.first().map_or("", |word| word.text.as_str());
        let is_runner = RUNNERS.iter().any(|(runner, verbs)| *runner == name && verbs.contains(&second));
        let is_loader = name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so");
        match name {
            "eval" => self.add_script(&join(arguments)),
            "." | "source" => self.input |= second.starts_with("/dev/"),
            "trap" => arguments.iter().take(2).for_each(|word| self.add_script(&word.text)),
            "alias" => {
                let values = arguments.iter().filter_map(|word| word.text.split_once('='));
                values.for_each(|(_, value)| self.add_script(value));
            }
            "command" if second.starts_with("-v") || second.starts_with("-V") => {}
            "find" => self.resolve_find(arguments, depth),
            "fd" | "fdfind" => self.resolve_fd(arguments, depth),
            name if SHELLS.contains(&name) => self.resolve_shell(arguments),
            name if is_one_of(ANY_WORD, name) || is_runner || is_loader => self.resolve_any(arguments, depth),
            name => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
                Some(wrapper) => self.resolve_wrapper(wrapper, arguments, depth),
                // Any program may be a wrapper that nobody knows.
                None if !TEXTUAL.contains(&name) => {
                    for (at, _) in arguments.iter().enumerate().filter(|(_, word)| is_shell(word)) {
                        self.resolve_script(&arguments[at + 1..]);
                    }
                }
                None => {}
            },
        }
    }

    fn add_script(&mut self, script: &str) {
        let script = script.trim();
        if !script.is_empty() && !self.scripts.iter().any(|known| known == script) {
            self.scripts.push(script.to_owned());
        }
    }

    /// Adds a command that a wrapper starts, and what that starts.
    fn start(&mut self, words: &[Word], behind: Behind, depth: usize) {
        if words.is_empty() {
            return;
        }
        let mut command = SimpleCommand::of_words(words.to_vec(), Origin::Wrapped);
        if behind == Behind::FedProgram {
            command.is_fed = true;
            command.words.push(Word::literal("{}"));
        }
        self.resolve(&command.words, depth + 1);
        self.commands.push(command);
    }

    fn resolve_wrapper(&mut self, wrapper: &Wrapper, words: &[Word], depth: usize) {
        let mut operands = wrapper.operands;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            at += 1;
            match text.strip_prefix('-') {
                Some("-") => {
                    at += operands;
                    break;
                }
                Some(long) if long.starts_with('-') => {
                    if !long.contains('=') && !wrapper.long.contains(&&long[1..]) {
                        return self.resolve_any(words, depth);
                    }
                    // The value of `--split-string`.
                    if let Some((_, value)) = long.split_once('=').filter(|_| !wrapper.scripts.is_empty()) {
                        self.add_script(&format!("{value} {}", join(&words[at..])));
                    }
                }
                Some(letters) => match self.resolve_letters(wrapper, letters, &words[at..]) {
                    Some(taken) => at += taken,
                    None => return self.resolve_any(words, depth),
                },
                None if is_assignment(text) => {}
                None if operands > 0 => operands -= 1,
                None => {
                    at -= 1;
                    break;
                }
            }
        }
        let behind = words.get(at..).unwrap_or_default();
        let behind = &behind[behind.iter().take_while(|word| is_assignment(&word.text)).count()..];
        if wrapper.command == Behind::Script {
            self.add_script(&join(behind));
        }
        self.start(behind, wrapper.command, depth);
    }

    /// How many of the next words are values of the letters of an option; `None` for letters that nobody knows.
    fn resolve_letters(&mut self, wrapper: &Wrapper, letters: &str, next: &[Word]) -> Option<usize> {
        for (at, letter) in letters.char_indices() {
            if wrapper.valued.contains(letter) {
                let glued = &letters[at + letter.len_utf8()..];
                if wrapper.scripts.contains(letter) {
                    self.add_script(&format!("{} {}", glued.trim_start_matches('='), join(next)));
                    next.iter().take(usize::from(glued.is_empty())).for_each(|word| self.add_script(&word.text));
                }
                return Some(usize::from(glued.is_empty()));
            }
            if !wrapper.flags.contains(letter) && !letter.is_ascii_digit() {
                return None;
            }
        }
        Some(0)
    }

    /// Every word may be the program, and every text with blanks a script.
    fn resolve_any(&mut self, words: &[Word], depth: usize) {
        for at in 0..words.len() {
            let suffix = &words[at..words.len().min(at + MOST_WORDS)];
            let name = base_name(&suffix[0].text);
            // The others are among the words anyway.
            if WRAPPERS.iter().any(|wrapper| wrapper.name == name) || SHELLS.contains(&name) || name == "eval" {
                self.resolve(suffix, depth + 1);
            }
            if words[at].text.contains(char::is_whitespace) {
                self.add_script(&words[at].text);
            }
            self.commands.push(SimpleCommand::of_words(suffix.to_vec(), Origin::Guessed));
        }
    }

    fn resolve_find(&mut self, words: &[Word], depth: usize) {
        for (at, word) in words.iter().enumerate() {
            if matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
                let behind = &words[at + 1..];
                let end = behind.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
                self.start(&behind[..end.unwrap_or(behind.len())], Behind::FedProgram, depth);
            }
        }
    }

    fn resolve_fd(&mut self, words: &[Word], depth: usize) {
        for (at, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            let glued = match text.strip_prefix("--") {
                Some(long) if long.starts_with("exec") => long.split_once('=').map_or("", |(_, value)| value),
                None if text.starts_with('-') => match text.split_once(['x', 'X']) {
                    Some((_, glued)) => glued,
                    None => continue,
                },
                Some(_) | None => continue,
            };
            let glued = (!glued.is_empty()).then(|| Word::literal(glued.trim_start_matches('=')));
            let behind: Vec<_> = glued.into_iter().chain(words[at + 1..].iter().cloned()).collect();
            return self.resolve_any(&behind, depth);
        }
    }

    fn resolve_shell(&mut self, words: &[Word]) {
        let mut operands = words.iter().filter(|word| !word.text.starts_with(['-', '+']));
        let reads_input = |word: &Word| word.text.contains("/dev/");
        let is_input = |word: &Word| matches!(word.text.as_str(), "-" | "-s");
        if !self.resolve_script(words) {
            self.input |= operands.next().is_none_or(reads_input) || words.iter().any(is_input);
        }
    }

    /// The script behind `-c`, if there is one.
    fn resolve_script(&mut self, words: &[Word]) -> bool {
        let is_option = |word: &Word| word.text.starts_with(['-', '+']);
        let has_script = |word: &Word| is_option(word) && !word.text.starts_with("--") && word.text.contains('c');
        let Some(at) = words.iter().position(has_script) else { return false };
        let is_value = |at: usize| {
            let before = words[at - 1].text.as_str();
            is_option(&words[at - 1]) && before.ends_with(['o', 'O']) && !before.starts_with("--")
        };
        // A file before it gets the words as arguments.
        let is_operand = |at: usize| !is_option(&words[at]) && (at == 0 || !is_value(at));
        if (0..at).any(is_operand) && !words[..at].iter().any(|word| word.text.starts_with("--")) {
            return false;
        }
        let behind = at + 1..words.len();
        let scripts: Vec<_> = behind.filter(|at| !is_option(&words[*at])).take(2).collect();
        for at in scripts {
            self.add_script(&words[at].text);
            self.add_script(&join(&words[at..]));
        }
        true
    }
}

fn is_shell(word: &Word) -> bool {
    SHELLS.contains(&base_name(&word.text))
}

fn join(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
