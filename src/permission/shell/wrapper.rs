//! Programs that run other programs, as data: which of their words is the program, and which is a script.
//!
//! A program that is not in the table may run any of its words, unless it is known to take them for texts.

use std::collections::BTreeSet;

use super::super::reader::READS;
use super::super::verb::GIT_READS;
use super::budget::WorkBudget;
use super::{OpaqueConstruct, Origin, SimpleCommand, Word, base_name, is_one_of};

/// What stands behind the options of a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    Program,
    /// The same, and its input brings more arguments.
    FedProgram,
    /// Words that a shell reads once more.
    Script,
}

/// Programs that run the command behind their own options, numbers and assignments; letters of options without a value, or
/// whose value is a number or part of the same word; and what stands behind them.
const WRAPPERS: &[(&str, &str, Behind)] = &[
    ("builtin busybox nohup toybox", "", Behind::Program),
    ("command", "p", Behind::Program),
    ("env", "i0v", Behind::Program),
    ("exec", "cl", Behind::Program),
    ("nice", "n", Behind::Program),
    ("parallel", "kmtXjNn", Behind::FedProgram),
    ("setsid", "cfw", Behind::Program),
    ("stdbuf", "ioeL", Behind::Program),
    ("time", "apqv", Behind::Program),
    ("timeout", "fpvk", Behind::Program),
    ("watch", "bcdegtxn", Behind::Script),
    ("xargs", "0rtpxnLPs", Behind::FedProgram),
];

pub(in super::super) const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "zsh"];

/// Programs that run what comes by their input if no word is a file; a version may follow the name.
const INTERPRETERS: &str = "bun deno guile julia lua node nodejs osascript perl php psql pwsh pypy python ruby tclsh";

/// Programs that run what comes by their input, whatever their words are.
const RUN_INPUT: &str = "at batch crontab ssh";

/// Programs and keywords that take their words for names or texts, besides those that only read.
const TEXTUAL: &str = "case cd chmod cp for mkdir mv printf pytest rm rmdir select touch tree";

/// Programs whose second word says what they do.
const BY_SECOND: &str = "apt brew bun cargo docker dotnet git go helm kubectl npm pip pip3 pnpm podman poetry rustup systemctl \
                         terraform uv yarn";

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

/// How many signs `=`, or letters of options, may stand before a program in a word.
const MOST_VALUES: usize = 4;

/// What a command runs besides itself.
#[derive(Debug, Default)]
pub(super) struct Runs {
    pub commands: Vec<SimpleCommand>,
    pub scripts: BTreeSet<String>,
    /// What it runs if its program runs its arguments, which nobody knows.
    pub possible_commands: Vec<SimpleCommand>,
    pub possible_scripts: BTreeSet<String>,
    /// A shell runs what comes by its input.
    pub input: bool,
    /// The same, if its program runs its arguments.
    pub possible_input: bool,
    /// What keeps the program that a wrapper runs from being known.
    pub unclear: Option<OpaqueConstruct>,
}

/// Whether it is what a program is there for to run what its words or its input say.
pub(in super::super) fn runs_words(program: &str) -> bool {
    let is_wrapper = WRAPPERS.iter().any(|(names, ..)| is_one_of(names, program));
    is_wrapper || SHELLS.contains(&program) || is_interpreter(program) || is_one_of(RUN_INPUT, program)
}

pub(in super::super) fn is_interpreter(program: &str) -> bool {
    is_one_of(INTERPRETERS, program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Where the words of a command begin that its program may run; `None` if it prints or stores all of them, searches for
/// them, or takes them for names.
pub(in super::super) fn find_runnable(texts: &[&str]) -> Option<usize> {
    #[cfg(test)]
    super::tests::count_step();
    let (program, arguments) = texts.split_first()?;
    let second = arguments.first().copied().unwrap_or_default();
    let has_option = |words: &[&str], options: &[&str]| {
        words.iter().any(|word| options.iter().any(|option| word.starts_with(option)))
    };
    match base_name(program) {
        "git" => {
            let [verb, words @ ..] = git_arguments(arguments) else { return Some(1) };
            let own = &arguments[..arguments.len() - words.len() - 1];
            // `git grep -O` opens files in a program.
            let opens = verb.starts_with("grep") && has_option(words, &["-O", "--o"]);
            let is_text = !opens && (is_one_of(GIT_READS, verb) || is_one_of(GIT_TEXTUAL, verb));
            match has_option(own, &["-c", "--config", "--exec"]) {
                true => Some(1),
                false => (!is_text).then_some(texts.len() - words.len()),
            }
        }
        "ag" | "rg" if !has_option(arguments, &["--hostname", "--p"]) => None,
        // The name of a variable may have an index, which is evaluated.
        "printf" if second.starts_with("-v") => Some(1),
        "gh" if matches!(second, "issue" | "pr" | "release") => None,
        "bun" | "npm" | "pnpm" | "yarn" if matches!(second, "run" | "test") && !has_option(arguments, &["--sc"]) => {
            None
        }
        name if is_one_of(READS, name) || is_one_of(TEXTUAL, name) || name.starts_with('#') => None,
        name if is_one_of(BY_SECOND, name) && !second.starts_with('-') => Some(2),
        _ => Some(1),
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
pub(super) fn resolve(command: &SimpleCommand, budget: &WorkBudget) -> Runs {
    let mut runs = Runs::default();
    runs.resolve(&command.words, 0, budget);
    runs
}

impl Runs {
    fn resolve(&mut self, words: &[Word], depth: usize, budget: &WorkBudget) {
        let [program, arguments @ ..] = words else { return };
        if depth > MOST_WRAPPERS {
            self.unclear = Some(OpaqueConstruct::TOO_DEEP);
            return;
        }
        let name = base_name(&program.text);
        let second = arguments.first().map_or("", |word| word.text.as_str());
        match name {
            "eval" => self.scripts.extend([join(arguments)]),
            "." | "source" => self.input |= second.starts_with("/dev/"),
            "trap" => self.scripts.extend(arguments.iter().take(2).map(|word| word.text.clone())),
            "alias" => {
                let values = arguments.iter().filter_map(|word| word.text.split_once('='));
                self.scripts.extend(values.map(|(_, value)| value.to_owned()));
                self.unclear = Some(OpaqueConstruct::keyword(name));
            }
            "command" if second.starts_with("-v") || second.starts_with("-V") => {}
            "find" => self.resolve_search(name, arguments, depth, budget),
            "fd" | "fdfind" | "rg" => {
                self.resolve_search(name, arguments, depth, budget);
                self.resolve_unknown(words, budget);
            }
            name if SHELLS.contains(&name) => self.resolve_shell(arguments),
            name => match WRAPPERS.iter().find(|(names, ..)| is_one_of(names, name)) {
                Some((_, letters, behind)) => self.resolve_wrapper(words, letters, *behind, depth, budget),
                None => self.resolve_unknown(words, budget),
            },
        }
    }

    fn resolve_unknown(&mut self, words: &[Word], budget: &WorkBudget) {
        let texts: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        let Some(from) = find_runnable(&texts) else { return };
        let interprets = is_interpreter(base_name(texts[0]));
        self.possible_input |= interprets && reads_input(&words[1..]) || is_one_of(RUN_INPUT, base_name(texts[0]));
        self.add_possible(words, from, budget);
        if base_name(texts[0]) == "git" {
            // Some run git once more, and an option of theirs may have a value; others push.
            let again = match git_arguments(&texts[1..]) {
                ["for-each-repo" | "lfs" | "subtree", behind @ ..] => behind.to_vec(),
                ["http-push" | "send-pack", behind @ ..] => [&["push"], behind].concat(),
                _ => Vec::new(),
            };
            for at in (0..again.len().min(MOST_WORDS)).take_while(|at| budget.spend(again.len() - at + 1)) {
                let words = ["git"].iter().chain(&again[at..]).map(|word| Word::literal(*word)).collect();
                self.possible_commands.push(SimpleCommand::of_words(words, Origin::Possible));
            }
        }
        let is_alias = |text: &str| texts[0].ends_with("git") && text.to_ascii_lowercase().starts_with("alias.");
        for (at, alias) in texts.iter().enumerate().filter(|(_, text)| is_alias(text)) {
            let value = alias.split_once('=').map(|(_, value)| value).or_else(|| texts.get(at + 1).copied());
            let value = value.unwrap_or_default();
            self.possible_scripts.insert(value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned));
        }
    }

    /// Adds what a program may run: any of its words may be the program, and any that looks like code a script.
    fn add_possible(&mut self, words: &[Word], from: usize, budget: &WorkBudget) {
        if words.len() > MOST_WORDS {
            self.unclear = Some(OpaqueConstruct::TOO_DEEP);
        }
        for at in from..words.len().min(MOST_WORDS) {
            let text = words[at].text.as_str();
            let behind = &words[at + 1..words.len().min(MOST_WORDS)];
            let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            let name = text.split(char::is_whitespace).next().unwrap_or(text);
            let values = name.match_indices('=').take(MOST_VALUES).map(|(sign, _)| &text[sign + 1..]);
            let glued = (1..=MOST_VALUES).filter_map(|at| letters?.get(at..));
            let values = values.chain(glued);
            for program in std::iter::once(text).chain(values).filter(|program| !program.is_empty()) {
                self.possible_scripts.extend(program.contains(is_code).then(|| program.to_owned()));
                self.possible_input |= SHELLS.contains(&base_name(program));
                if !budget.spend(behind.len() + 1) {
                    return;
                }
                let words = std::iter::once(Word::literal(program)).chain(behind.iter().cloned()).collect();
                self.possible_commands.push(SimpleCommand::of_words(words, Origin::Possible));
            }
        }
    }

    /// Adds a command that a wrapper starts, and what that starts.
    fn start(&mut self, words: &[Word], behind: Behind, depth: usize, budget: &WorkBudget) {
        let Some(program) = words.first().filter(|_| budget.spend(words.len() + 1)) else { return };
        if program.is_glob {
            self.unclear = Some(OpaqueConstruct::GLOB);
        }
        self.possible_scripts
            .extend(Some(program).filter(|word| word.text.contains(' ')).map(|word| word.text.clone()));
        let mut command = SimpleCommand::of_words(words.to_vec(), Origin::Wrapped);
        if behind == Behind::FedProgram {
            command.is_fed = true;
            command.words.push(Word::literal("{}"));
        }
        let known = self.commands.len();
        self.resolve(&command.words, depth + 1, budget);
        // What it is fed comes to the last program.
        self.commands[known..].iter_mut().for_each(|inner| inner.is_fed |= command.is_fed);
        self.commands.push(command);
    }

    fn resolve_wrapper(&mut self, words: &[Word], known: &str, command: Behind, depth: usize, budget: &WorkBudget) {
        let (name, words) = (base_name(&words[0].text), &words[1..]);
        let is_before = |word: &&Word| word.text.starts_with('-') || is_assignment(&word.text) || is_number(&word.text);
        let (before, behind) = words.split_at(words.iter().take_while(is_before).count());
        let is_known = |word: &Word| match word.text.strip_prefix('-') {
            Some(letters) => letters == "-" || letters.chars().all(|c| c.is_ascii_digit() || known.contains(c)),
            None => true,
        };
        if !before.iter().all(is_known) {
            // One that is not known may take the next word, so that nobody knows which word is the program.
            self.unclear = Some(OpaqueConstruct::named(format!("an unknown option of `{name}`")));
            let known = self.possible_commands.len();
            self.add_possible(words, 0, budget);
            self.possible_commands[known..].iter_mut().for_each(|inner| inner.is_fed = command == Behind::FedProgram);
        }
        // What a variable holds may be run, as `GIT_EDITOR` is; a mere word by a program that may run others.
        let program: Vec<_> = behind.iter().map(|word| word.text.as_str()).collect();
        let is_open = find_runnable(&program).is_some() || program.first().is_some_and(|name| base_name(name) == "git");
        let assigned = before.iter().filter(|word| is_assignment(&word.text));
        let values = assigned.filter_map(|word| word.text.split_once('=')).map(|(_, value)| value.to_owned());
        self.possible_scripts.extend(values.filter(|value| !value.is_empty() && (is_open || value.contains(is_code))));
        // Without a command, its arguments and the lines of its input are commands.
        self.input |= name == "parallel" && behind.first().is_none_or(|word| word.text.starts_with("::"));
        if command == Behind::Script {
            self.scripts.insert(join(behind));
        }
        self.start(behind, command, depth, budget);
    }

    /// The commands behind `-exec` of `find`, `--exec` of `fd` and `--pre` of `rg`.
    fn resolve_search(&mut self, name: &str, words: &[Word], depth: usize, budget: &WorkBudget) {
        let options = match name {
            "find" => "-exec -execdir -ok -okdir",
            "rg" => "--pre",
            _ => "--exec --exec-batch",
        };
        for at in 0..words.len() {
            let text = words[at].text.as_str();
            let glued =
                text.split_once('=').filter(|(option, _)| is_one_of(options, option)).map(|(_, program)| program);
            // Letters may stand before the one by which `fd` runs a program.
            let letters = text.strip_prefix('-').filter(|letters| name.starts_with("fd") && !letters.starts_with('-'));
            let bundle = letters.and_then(|letters| letters.split_once(['x', 'X']));
            let glued = glued.or(bundle.map(|(_, program)| program));
            let program = glued.filter(|program| !program.is_empty()).map(Word::literal);
            if budget.is_spent() || glued.is_none() && !is_one_of(options, text) {
                continue;
            }
            let behind = &words[at + 1..];
            let end = behind.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
            let command: Vec<_> =
                program.into_iter().chain(behind[..end.unwrap_or(behind.len())].iter().cloned()).collect();
            self.start(&command, Behind::FedProgram, depth, budget);
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
            // Fish reads the rest of the word.
            let glued = words[at].text.split_once('c').map(|(_, glued)| glued.to_owned());
            self.possible_scripts.extend(glued.filter(|glued| !glued.is_empty()));
            for at in (at + 1..words.len()).filter(|at| !is_option(*at)).take(2) {
                self.scripts.extend([words[at].text.clone(), join(&words[at..])]);
            }
            return;
        }
        self.input |= reads_input(words);
    }
}

/// Whether a shell or an interpreter with these arguments runs what comes by its input.
fn reads_input(words: &[Word]) -> bool {
    let file = words.iter().map(|word| word.text.as_str()).find(|text| !text.starts_with(['-', '+']));
    file.is_none_or(|file| file.contains("/dev/")) || words.iter().any(|word| matches!(word.text.as_str(), "-" | "-s"))
}

fn join(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Whether a sign in a word makes it look like code.
fn is_code(c: char) -> bool {
    c.is_whitespace() || "'\"`(".contains(c)
}

/// Whether a word is a number or a duration.
fn is_number(word: &str) -> bool {
    word.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
