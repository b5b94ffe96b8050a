//! The commands that an opaque text may run, by its words: too many rather than too few. It takes quotes off, cuts at
//! everything that may begin a command, and puts in what the text itself says that braces and whole words stand for.

use std::slice;

use super::budget::{MOST_VALUES, WorkBudget};
use super::source::{Source, closing_brace, expand_braces};
use super::value::Values;
use super::wrapper::{MOST_WORDS, SHELLS, is_assignment, resolve};
use super::{Origin, Redirect, SimpleCommand, Word, base_name, is_one_of};

/// Words that a program may follow.
const BEFORE: &str = "! coproc do elif else if then time until while { } -p --";

/// How a text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Quotes fall away, and what they enclose is part of one word.
    Grouped,
    /// Quotes fall away.
    Unquoted,
    /// Each quoted part is a text of its own.
    AtQuotes,
    /// At brackets, braces and commas.
    AtSigns,
}

/// Every command that a text may run, as far as the budget reaches, and what its variables stand for.
pub(super) fn suspect_commands(text: &str, budget: &WorkBudget) -> (Vec<SimpleCommand>, Values) {
    let source = Source::read(text);
    if source.is_too_deep {
        budget.exhaust();
    }
    let grouped = parts(&source.text, Cut::Grouped);
    let values = Values::read(&source, &grouped);
    let commands_of = |cuts: &[Cut]| {
        let parts = cuts.iter().filter(|_| !budget.is_spent()).flat_map(|cut| parts(&source.text, *cut));
        parts.flat_map(|part| commands(&part, &values, budget)).collect::<Vec<_>>()
    };
    let replaced = grouped.iter().flat_map(|part| with_values(part, &values, budget));
    let mut found: Vec<_> = replaced.flat_map(|part| commands(&part, &values, budget)).collect();
    found.extend(commands_of(&[Cut::Unquoted, Cut::AtSigns]));
    let is_shell = |word: &Word| SHELLS.contains(&base_name(&word.text));
    let is_runner = |program: &str| program.starts_with('$') || matches!(program, "." | "source" | "parallel");
    let runs_texts = |command: &SimpleCommand| {
        command.origin == Origin::Suspected && is_runner(command.program()) || command.words.iter().any(is_shell)
    };
    if found.iter().any(runs_texts) {
        found.extend(commands_of(&[Cut::AtQuotes]));
        let printing = found.iter().filter(|command| matches!(command.program(), "echo" | "printf"));
        let printed: Vec<_> = printing.flat_map(|command| suffixes(command, budget)).collect();
        found.extend(printed);
    }
    (found, values)
}

/// Whether a text may spell letters by their numbers.
pub(super) fn is_spelled_out(text: &str) -> bool {
    text.split("$'").skip(1).any(|rest| rest.split('\'').next().is_some_and(|quoted| quoted.contains('\\')))
}

/// The commands that a part of a text may run.
fn commands(part: &SimpleCommand, values: &Values, budget: &WorkBudget) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    for command in programs(part, values, budget) {
        let mut runs = resolve(&command, budget);
        if SHELLS.contains(&command.program()) {
            runs.commands.extend(suffixes(&command, budget));
        }
        let scripts = runs.scripts.iter().chain(&runs.possible_scripts);
        let scripts = scripts.map(|script| script.split_whitespace().map(Word::literal).collect());
        runs.commands.extend(scripts.map(|words| SimpleCommand::of_words(words, command.origin)));
        found.extend(runs.commands.into_iter().map(|inner| SimpleCommand { origin: command.origin, ..inner }));
        let origin = if command.origin == Origin::Fragment { Origin::Quoted } else { Origin::Possible };
        found.extend(runs.possible_commands.into_iter().map(|inner| SimpleCommand { origin, ..inner }));
        found.push(command);
    }
    found
}

/// A command as it is written, and once for each value that one of its words may have; all values of the other words stand
/// one behind the other. The program is replaced where it is looked for.
fn with_values(part: &SimpleCommand, values: &Values, budget: &WorkBudget) -> Vec<SimpleCommand> {
    let expand = |word: &Word| -> Vec<Word> { values.expand(&word.text).into_iter().map(Word::literal).collect() };
    let expanded: Vec<_> = part.words.iter().map(expand).collect();
    let or_own = |at: usize| if expanded[at].is_empty() || at == 0 { &part.words[at..=at] } else { &expanded[at] };
    let targets = |to: &Redirect| {
        let own = std::iter::once(to.target.clone());
        own.chain(expand(&to.target)).map(|target| Redirect { target, ..to.clone() }).collect::<Vec<_>>()
    };
    let redirects: Vec<_> = part.redirects.iter().flat_map(targets).collect();
    let mut found = vec![SimpleCommand { redirects, ..part.clone() }];
    for (at, word) in expanded.iter().enumerate().flat_map(|(at, words)| words.iter().map(move |word| (at, word))) {
        if found.len() > MOST_VALUES || !budget.spend_command(part) {
            budget.exhaust();
            break;
        }
        let words =
            (0..expanded.len()).flat_map(|other| if other == at { slice::from_ref(word) } else { or_own(other) });
        found.push(SimpleCommand { words: words.cloned().collect(), redirects: Vec::new(), ..part.clone() });
    }
    found
}

/// The commands that begin with a later word of a command.
fn suffixes(command: &SimpleCommand, budget: &WorkBudget) -> Vec<SimpleCommand> {
    let suffixes = (1..command.words.len().min(MOST_WORDS)).map(|at| &command.words[at..]);
    let suffixes = suffixes.take_while(|words| budget.spend(words.len() + 1)).map(<[Word]>::to_vec);
    suffixes.map(|words| SimpleCommand::of_words(words, command.origin)).collect()
}

/// The commands of one part: from its first word on, and from the first on that cannot turn out to be none.
fn programs(part: &SimpleCommand, values: &Values, budget: &WorkBudget) -> Vec<SimpleCommand> {
    // What stands in quotes may as well be several words.
    let words: Vec<_> = part.texts().iter().flat_map(|text| text.split_whitespace()).map(Word::literal).collect();
    let behind = |words: Vec<Word>| SimpleCommand { words, ..part.clone() };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        let is_before = is_one_of(BEFORE, text) || is_assignment(text);
        let may_vanish = text.starts_with('$');
        if !is_before && (!may_vanish || found.is_empty()) {
            let from = |program: &str| {
                let program: Vec<_> = program.split_whitespace().map(Word::literal).collect();
                behind([&program, &words[at + 1..]].concat())
            };
            let named = values.expand(text);
            let unnamed = named.is_empty().then(|| text.to_owned());
            let programs = named.into_iter().chain(unnamed).take_while(|_| budget.spend_command(part));
            found.extend(programs.map(|program| from(&program)));
        }
        if !is_before && !may_vanish {
            return found;
        }
    }
    if !part.redirects.is_empty() && found.is_empty() {
        found.push(behind(Vec::new()));
    }
    found
}

/// Cuts a text into words and commands.
fn parts(text: &str, cut: Cut) -> Vec<SimpleCommand> {
    let mut found = cut_text(text, cut);
    // A quote in a here-document is none for the lines behind it.
    if cut == Cut::Grouped && text.contains("<<") {
        found.extend(text.lines().flat_map(|line| cut_text(line, cut)));
    }
    found
}

fn cut_text(text: &str, cut: Cut) -> Vec<SimpleCommand> {
    let origin = if cut == Cut::Grouped { Origin::Suspected } else { Origin::Fragment };
    let command = SimpleCommand::of_words(Vec::new(), origin);
    let mut parts = Parts { found: Vec::new(), command, word: String::new(), sign: None };
    let mut rest = text;
    let mut quote = None;
    while let Some(c) = rest.chars().next() {
        let expansion = rest.strip_prefix("${").and_then(|inside| Some(&rest[..closing_brace(inside)? + 3]));
        let is_plain = |text: &&str| !text.contains(['\'', '"', ';', '|', '&', '\n', '`']);
        if let Some(expansion) = expansion.filter(is_plain) {
            parts.word.push_str(expansion);
            rest = &rest[expansion.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match (c, cut) {
            (c, Cut::Grouped) if quote == Some(c) => quote = None,
            (c, Cut::Grouped) if quote.is_some() => parts.word.push(c),
            ('\'' | '"', Cut::Grouped) => quote = Some(c),
            ('#', Cut::Grouped) if parts.word.is_empty() => rest = &rest[rest.find('\n').unwrap_or(rest.len())..],
            ('\\', Cut::Grouped) => {
                let escaped = rest.chars().next();
                parts.word.extend(escaped);
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
            }
            (';' | '|' | '&' | '\n' | '(' | ')' | '`', _) => parts.end_command(),
            ('\'' | '"', Cut::AtQuotes) | ('[' | ']' | '{' | '}', Cut::AtSigns) => parts.end_command(),
            (',', Cut::AtSigns) => parts.end_word(),
            ('\'' | '"' | '\\', _) => {}
            ('$', _) if rest.starts_with(['\'', '"']) => {}
            ('>' | '<', _) => {
                parts.redirect(c);
                rest = rest.trim_start_matches(['&', '|']);
            }
            (c, _) if c.is_whitespace() => parts.end_word(),
            (c, _) => parts.word.push(c),
        }
    }
    parts.end_command();
    parts.found
}

struct Parts {
    found: Vec<SimpleCommand>,
    /// The command so far.
    command: SimpleCommand,
    word: String,
    /// The sign that the next word stands behind.
    sign: Option<&'static str>,
}

impl Parts {
    fn redirect(&mut self, sign: char) {
        // The number of a file is no word.
        if self.word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.word.clear();
        }
        self.end_word();
        self.sign = Some(if sign == '>' { ">" } else { "<" });
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        match self.sign {
            _ if word.is_empty() => {}
            // What a function does may stand behind it.
            _ if word == "{" => self.end_command(),
            Some(sign) => {
                self.command.redirects.push(Redirect { fd: None, sign, target: Word::literal(word) });
                self.sign = None;
            }
            None => {
                let mut words = Vec::new();
                expand_braces(&word, &mut words);
                self.command.words.extend(words.into_iter().map(Word::literal));
            }
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.sign = None;
        let next = SimpleCommand::of_words(Vec::new(), self.command.origin);
        let command = std::mem::replace(&mut self.command, next);
        if !command.words.is_empty() || !command.redirects.is_empty() {
            self.found.push(command);
        }
    }
}
