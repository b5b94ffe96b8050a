//! Programs that run other programs, as data: which of their words is the program, and which is a script.
//!
//! A program that is not in the table may run any of its words, unless it is known to take them for texts.

use super::super::offer::BY_SECOND;
use super::super::verb::{GIT_READS, READS};
use super::{OpaqueConstruct, Origin, SimpleCommand, Word, base_name, is_one_of};

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
    row("command", "p", "", 0),
    Wrapper { scripts: "S", long: &["debug", "ignore-environment", "null"], ..row("env", "i0v", "uCSa", 0) },
    row("exec", "cl", "a", 0),
    Wrapper { scripts: "c", long: &["close", "exclusive", "nonblock", "shared"], ..row("flock", "sxeunoF", "wEc", 1) },
    row("nice", "", "n", 0),
    row("nohup", "", "", 0),
    Wrapper { command: Behind::FedProgram, ..row("parallel", "kmtX", "jNnS", 0) },
    Wrapper { long: &["ctty", "fork", "wait"], ..row("setsid", "cfw", "", 0) },
    row("stdbuf", "", "ioe", 0),
    row("time", "apqvV", "fo", 0),
    row("toybox", "", "", 0),
    Wrapper { long: &["foreground", "preserve-status", "verbose"], ..row("timeout", "fpv", "ks", 1) },
    Wrapper { command: Behind::Script, ..row("watch", "bcdegtpqrwxC", "ns", 0) },
    Wrapper {
        long: &["exit", "interactive", "no-run-if-empty", "null", "open-tty", "verbose"],
        command: Behind::FedProgram,
        ..row("xargs", "0rtpxoeil", "EILnPsdaJRS", 0)
    },
];

pub(in super::super) const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "zsh"];

/// Programs and keywords that take their words for names or texts, besides those that only read.
const TEXTUAL: &str = "[ case cd chmod cp for mkdir mv printf pytest rm rmdir select test touch tree";

/// Options of programs that search by which they run another program.
const SEARCH_RUNS: [&str; 2] = ["--hostname", "--p"];

/// Subcommands of git that do so, besides those that only read.
const GIT_TEXTUAL: &str = "add branch checkout cherry-pick commit init merge mv notes reflog remote reset restore revert \
                           rm stash switch tag worktree";

/// Options of git itself whose value is the next word.
const GIT_VALUED: &str = "--attr-source --config-env --exec-path --git-dir --namespace --shallow-file \
                          --super-prefix --work-tree -C -c";

/// How many wrappers may stand before each other.
const MOST_WRAPPERS: usize = 16;

/// How many words a command may have where every word may be a program.
pub(super) const MOST_WORDS: usize = 128;

/// How many signs `=` of a word may stand before a program.
const MOST_VALUES: usize = 4;

/// What a command runs besides itself.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub commands: Vec<SimpleCommand>,
    pub scripts: Vec<String>,
    /// What it runs if its program runs its arguments, which nobody knows.
    pub possible_commands: Vec<SimpleCommand>,
    pub possible_scripts: Vec<String>,
    /// A shell runs what comes by its input.
    pub input: bool,
    /// The same, if its program runs its arguments.
    pub possible_input: bool,
    /// What keeps the program that a wrapper runs from being known.
    pub unclear: Option<OpaqueConstruct>,
}

/// What a program does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ArgumentUse {
    /// Prints or stores them, searches for them, or takes them for names.
    Text,
    /// May run the words from this one on.
    MayRun(usize),
}

impl ArgumentUse {
    /// What the program of a command does, by the words of the command.
    pub(in super::super) fn of(texts: &[&str]) -> Self {
        let [program, arguments @ ..] = texts else { return Self::Text };
        let second = arguments.first().copied().unwrap_or_default();
        match base_name(program) {
            "git" => {
                let [verb, words @ ..] = git_arguments(arguments) else { return Self::MayRun(1) };
                let own = &arguments[..arguments.len() - words.len() - 1];
                let is_setting =
                    |word: &&str| ["-c", "--config", "--exec"].iter().any(|option| word.starts_with(option));
                // `git grep -O` opens files in a program.
                let opens = verb.starts_with("grep")
                    && words.iter().any(|word| word.starts_with("-O") || word.starts_with("--o"));
                match own.iter().any(is_setting) {
                    true => Self::MayRun(1),
                    false if !opens && (is_one_of(GIT_READS, verb) || is_one_of(GIT_TEXTUAL, verb)) => Self::Text,
                    false => Self::MayRun(texts.len() - words.len()),
                }
            }
            "ag" | "rg" if !arguments.iter().any(|word| SEARCH_RUNS.iter().any(|run| word.starts_with(run))) => {
                Self::Text
            }
            "gh" if matches!(second, "issue" | "pr" | "release") => Self::Text,
            "bun" | "npm" | "pnpm" | "yarn" if matches!(second, "run" | "test") => Self::Text,
            name if is_one_of(READS, name) || is_one_of(TEXTUAL, name) || name.starts_with('#') => Self::Text,
            name if BY_SECOND.contains(&name) && name != "bunx" => Self::MayRun(2),
            _ => Self::MayRun(1),
        }
    }
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
            self.unclear = Some(OpaqueConstruct::TooDeep);
            return;
        }
        let name = base_name(&program.text);
        let second = arguments.first().map_or("", |word| word.text.as_str());
        match name {
            "eval" => self.add_script(&join(arguments)),
            "." | "source" => self.input |= second.starts_with("/dev/"),
            "trap" => arguments.iter().take(2).for_each(|word| self.add_script(&word.text)),
            "alias" => {
                let values = arguments.iter().filter_map(|word| word.text.split_once('='));
                values.for_each(|(_, value)| self.add_script(value));
                self.unclear = Some(OpaqueConstruct::Keyword(name.to_owned()));
            }
            "command" if second.starts_with("-v") || second.starts_with("-V") => {}
            "find" | "fd" | "fdfind" => self.resolve_search(name, arguments, depth),
            name if SHELLS.contains(&name) => self.resolve_shell(arguments),
            name => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
                Some(wrapper) => self.resolve_wrapper(wrapper, arguments, depth),
                None => self.resolve_unknown(words),
            },
        }
    }

    fn resolve_unknown(&mut self, words: &[Word]) {
        let texts: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        let ArgumentUse::MayRun(from) = ArgumentUse::of(&texts) else { return };
        self.add_possible(words, from);
        let aliases =
            texts.iter().enumerate().filter(|(_, text)| text.starts_with("alias.") && texts[0].ends_with("git"));
        for (at, alias) in aliases {
            let value = alias.split_once('=').map(|(_, value)| value).or_else(|| texts.get(at + 1).copied());
            let value = value.unwrap_or_default();
            self.possible_scripts.push(value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned));
        }
    }

    /// Adds what a program may run: any of its words may be the program, and any text with blanks a script.
    fn add_possible(&mut self, words: &[Word], from: usize) {
        if words.len() > MOST_WORDS {
            self.unclear = Some(OpaqueConstruct::TooDeep);
        }
        for at in from..words.len().min(MOST_WORDS) {
            let text = words[at].text.as_str();
            let behind = &words[at + 1..words.len().min(MOST_WORDS)];
            let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            let name = text.split(char::is_whitespace).next().unwrap_or(text);
            let values = name.match_indices('=').take(MOST_VALUES).map(|(sign, _)| &text[sign + 1..]);
            let values = values.chain(letters.and_then(|letters| letters.get(1..)));
            for program in std::iter::once(text).chain(values).filter(|program| !program.is_empty()) {
                if program.contains(char::is_whitespace) && !self.possible_scripts.iter().any(|known| known == program)
                {
                    self.possible_scripts.push(program.to_owned());
                }
                self.possible_input |= SHELLS.contains(&base_name(program));
                let words = std::iter::once(Word::literal(program)).chain(behind.iter().cloned()).collect();
                self.possible_commands.push(SimpleCommand::of_words(words, Origin::Possible));
            }
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
        let Some(program) = words.first() else { return };
        if program.is_glob {
            self.unclear = Some(OpaqueConstruct::Glob);
        }
        self.possible_scripts
            .extend(Some(program).filter(|word| word.text.contains(' ')).map(|word| word.text.clone()));
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
                        return self.give_up(wrapper.name, words);
                    }
                    // The value of `--split-string`.
                    if let Some((_, value)) = long.split_once('=').filter(|_| !wrapper.scripts.is_empty()) {
                        self.add_script(&format!("{value} {}", join(&words[at..])));
                    }
                }
                Some(letters) => match self.resolve_letters(wrapper, letters, &words[at..]) {
                    Some(taken) => at += taken,
                    None => return self.give_up(wrapper.name, words),
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

    /// An option that is not known may take the next word, so that nobody knows which word is the program.
    fn give_up(&mut self, wrapper: &'static str, words: &[Word]) {
        self.unclear = Some(OpaqueConstruct::WrapperOption(wrapper));
        self.add_possible(words, 0);
    }

    /// The commands behind `-exec` of `find` and `--exec` of `fd`.
    fn resolve_search(&mut self, program: &str, words: &[Word], depth: usize) {
        for (at, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            let has_letter = || text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
            match text {
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
                    let behind = &words[at + 1..];
                    let end = behind.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
                    self.start(&behind[..end.unwrap_or(behind.len())], Behind::FedProgram, depth);
                }
                // More letters before it, or the program glued to it.
                _ if program != "find" && (text.starts_with("--exec") || has_letter()) => self.give_up("fd", words),
                _ => {}
            }
        }
    }

    /// The script behind `-c`, or what comes by the input.
    fn resolve_shell(&mut self, words: &[Word]) {
        let is_option = |at: usize| words[at].text.starts_with(['-', '+']);
        // A word behind an option may be its value.
        let is_operand = |at: &usize| !is_option(*at) && (*at == 0 || !is_option(*at - 1));
        let end = (0..words.len()).find(is_operand).unwrap_or(words.len());
        let has_script =
            |at: &usize| is_option(*at) && !words[*at].text.starts_with("--") && words[*at].text.contains('c');
        if let Some(at) = (0..end).find(has_script) {
            for at in (at + 1..words.len()).filter(|at| !is_option(*at)).take(2) {
                self.add_script(&words[at].text);
                self.add_script(&join(&words[at..]));
            }
            return;
        }
        let file = (0..words.len()).find(|at| !is_option(*at)).map(|at| words[at].text.as_str());
        let is_input = |word: &Word| matches!(word.text.as_str(), "-" | "-s");
        self.input |= file.is_none_or(|file| file.contains("/dev/")) || words.iter().any(is_input);
    }
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
