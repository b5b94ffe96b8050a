//! The commands that an opaque text may run, by its words: too many rather than too few. It takes quotes off, cuts at
//! everything that may begin a command, and puts in what the text itself says that variables and braces stand for.

use super::wrapper::{SHELLS, is_assignment, resolve};
use super::{Origin, Redirect, SimpleCommand, Word, base_name};

/// Words that a program may follow.
const BEFORE: &[&str] =
    &["!", "coproc", "do", "elif", "else", "if", "then", "time", "until", "while", "{", "}", "-p", "--"];

/// Programs that print their words, or where they are.
const PRINTING: [&str; 5] = ["echo ", "printf ", "which ", "command -v ", "type -p "];

/// Substitutions that print nothing.
const SILENT: [&str; 6] = ["$()", "$(:)", "$(true)", "``", "`:`", "`true`"];

/// How many words braces may make of one, and how long it may be.
const MOST_BRACED: usize = 64;
const LONGEST_BRACED: usize = 512;

/// How many substitutions and variables are put in.
const MOST_INLINED: usize = 32;

/// How a text is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Quotes fall away, and what they enclose is part of one word.
    Grouped,
    /// Quotes fall away.
    Unquoted,
    /// Each quoted part is a text of its own.
    AtQuotes,
    /// At brackets, braces, and between a variable and what stands for it.
    AtSigns,
}

/// Every command that a text may run.
pub(super) fn suspect_commands(text: &str) -> Vec<SimpleCommand> {
    let commands_of = |cuts: &[Cut]| cut_into(text, cuts).iter().flat_map(commands).collect::<Vec<_>>();
    let mut found = commands_of(&[Cut::Grouped, Cut::Unquoted, Cut::AtSigns]);
    let is_shell = |word: &Word| SHELLS.contains(&base_name(&word.text));
    let is_runner = |program: &str| program.starts_with('$') || matches!(program, "." | "source");
    let runs_texts = |command: &SimpleCommand| is_runner(command.program()) || command.words.iter().any(is_shell);
    if found.iter().any(runs_texts) {
        found.extend(commands_of(&[Cut::AtQuotes]));
        let printing = found.iter().filter(|command| matches!(command.program(), "echo" | "printf"));
        let printed: Vec<_> = printing.flat_map(suffixes).collect();
        found.extend(printed);
    }
    found
}

/// Every word of a text, however it is cut.
pub(super) fn words(text: &str) -> Vec<String> {
    let parts = cut_into(text, &[Cut::Grouped, Cut::Unquoted, Cut::AtQuotes, Cut::AtSigns]).into_iter();
    let words = parts.flat_map(|part| part.words.into_iter().chain(part.redirects.into_iter().map(|to| to.target)));
    words.map(|word| word.text).collect()
}

/// The parts of a text and of what its variables make of it.
fn cut_into(text: &str, cuts: &[Cut]) -> Vec<SimpleCommand> {
    let text = text.replace("\\\n", "");
    let inlined = inline(&text);
    let texts = std::iter::once(&text).chain(&inlined);
    texts.flat_map(|text| cuts.iter().flat_map(|cut| parts(text, *cut))).collect()
}

/// Whether a text may spell letters by their numbers.
pub(super) fn is_spelled_out(text: &str) -> bool {
    text.split("$'").skip(1).any(|rest| rest.split('\'').next().is_some_and(|quoted| quoted.contains('\\')))
}

/// The commands that a part of a text may run.
fn commands(part: &SimpleCommand) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    for command in programs(part) {
        let mut runs = resolve(&command);
        if SHELLS.contains(&command.program()) {
            runs.commands.extend(suffixes(&command));
        }
        let scripts = runs.scripts.iter().chain(&runs.possible_scripts);
        let scripts = scripts.map(|script| script.split_whitespace().map(Word::literal).collect());
        runs.commands.extend(scripts.map(|words| SimpleCommand::of_words(words, Origin::Suspected)));
        found.extend(runs.commands.into_iter().map(|inner| SimpleCommand { origin: Origin::Suspected, ..inner }));
        found.extend(runs.possible_commands);
        found.push(command);
    }
    found
}

/// The commands that begin with a later word of a command.
fn suffixes(command: &SimpleCommand) -> Vec<SimpleCommand> {
    let suffixes = (1..command.words.len().min(MOST_BRACED)).map(|at| command.words[at..].to_vec());
    suffixes.map(|words| SimpleCommand::of_words(words, Origin::Suspected)).collect()
}

/// The commands of one part: from its first word on, and from the first on that cannot turn out to be none.
fn programs(part: &SimpleCommand) -> Vec<SimpleCommand> {
    let from = |at: usize| SimpleCommand { words: part.words[at..].to_vec(), ..part.clone() };
    let mut found = Vec::new();
    let mut has_bare = false;
    for (at, word) in part.words.iter().enumerate() {
        let text = word.text.as_str();
        let is_before = BEFORE.contains(&text) || is_assignment(text);
        let may_vanish = text.starts_with(['$', '%']);
        if !is_before && (!may_vanish || found.is_empty()) {
            found.push(from(at));
        }
        if let Some(bare) = without_expansions(text).filter(|_| !is_before && !has_bare) {
            let mut command = from(at);
            command.words[0] = Word::literal(bare);
            found.push(command);
            has_bare = true;
        }
        if !is_before && !may_vanish {
            return found;
        }
    }
    if !part.redirects.is_empty() && found.is_empty() {
        found.push(from(part.words.len()));
    }
    found
}

/// A program without the variables in its name, which may be unset: `r${x}m` is `rm`. `None` when it has none, or nothing
/// else.
fn without_expansions(program: &str) -> Option<String> {
    let name = base_name(program);
    let mut parts = name.split('$');
    let mut bare = parts.next()?.to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        bare.push_str(match part.strip_prefix('{') {
            Some(braced) => braced.split_once('}').map_or("", |(_, behind)| behind),
            None if part.starts_with(|c: char| c.is_ascii_digit() || "@*#?!-".contains(c)) => &part[1..],
            None => part.trim_start_matches(is_name),
        });
    }
    let is_other = bare.len() < name.len() && bare.contains(char::is_alphanumeric);
    is_other.then(|| format!("{}{bare}", &program[..program.len() - name.len()]))
}

/// Cuts a text into words and commands.
fn parts(text: &str, cut: Cut) -> Vec<SimpleCommand> {
    let mut parts = Parts::default();
    let mut chars = text.chars().peekable();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (c, cut) {
            (c, Cut::Grouped) if quote == Some(c) => quote = None,
            (c, Cut::Grouped) if quote.is_some() => parts.word.push(c),
            ('\'' | '"', Cut::Grouped) => quote = Some(c),
            ('\\', Cut::Grouped) => parts.word.extend(chars.next()),
            (';' | '|' | '&' | '\n' | '(' | ')' | '`', _) => parts.end_command(),
            ('\'' | '"', Cut::AtQuotes) | ('[' | ']' | '{' | '}', Cut::AtSigns) => parts.end_command(),
            (':', Cut::AtSigns) if chars.next_if(|next| "-=+?".contains(*next)).is_some() => parts.end_command(),
            (',', Cut::AtSigns) => parts.end_word(),
            ('\'' | '"' | '\\', _) => {}
            ('$', _) if chars.next_if(|next| "'\"".contains(*next)).is_some() => {}
            ('>' | '<', _) => parts.redirect(c),
            (c, _) if c.is_whitespace() => parts.end_word(),
            (c, _) => parts.word.push(c),
        }
    }
    parts.end_command();
    parts.found
}

#[derive(Default)]
struct Parts {
    found: Vec<SimpleCommand>,
    words: Vec<Word>,
    redirects: Vec<Redirect>,
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
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        match self.sign.take() {
            Some(sign) => self.redirects.push(Redirect { fd: None, sign, target: Word::literal(word) }),
            None => {
                let mut words = Vec::new();
                expand_braces(&word, &mut words);
                self.words.extend(words.into_iter().map(Word::literal));
            }
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.sign = None;
        let (words, redirects) = (std::mem::take(&mut self.words), std::mem::take(&mut self.redirects));
        if !words.is_empty() || !redirects.is_empty() {
            self.found.push(SimpleCommand { redirects, ..SimpleCommand::of_words(words, Origin::Suspected) });
        }
    }
}

/// The words that braces make of one.
fn expand_braces(text: &str, found: &mut Vec<String>) {
    let close = text.find('}');
    let open = close.and_then(|close| text[..close].rfind('{').filter(|open| !text[..*open].ends_with('$')));
    match (open, close) {
        (Some(open), Some(close))
            if text.len() <= LONGEST_BRACED && text[open..close].contains(',') && found.len() < MOST_BRACED =>
        {
            for middle in text[open + 1..close].split(',') {
                expand_braces(&format!("{}{middle}{}", &text[..open], &text[close + 1..]), found);
            }
        }
        _ if text.is_empty() => {}
        _ => found.push(text.to_owned()),
    }
}

/// The text with the variables that it sets and the substitutions that only print replaced; `None` when nothing is.
fn inline(text: &str) -> Option<String> {
    let blanks = text.replace("${IFS}", " ").replace("$IFS", " ");
    let mut inlined = blanks.replace("$@", "").replace("$*", "");
    for silent in SILENT {
        inlined = inlined.replace(silent, "");
    }
    for (opening, closing) in PRINTING.iter().flat_map(|name| [(format!("$({name}"), ')'), (format!("`{name}"), '`')]) {
        for _ in 0..MOST_INLINED {
            let Some((before, rest)) = inlined.split_once(&opening) else { break };
            let (inside, after) = rest.split_once(closing).unwrap_or((rest, ""));
            inlined = format!("{before}{}{after}", inside.trim_matches(['"', '\'']));
        }
    }
    // `${x:-/}` is `/` when nothing is known about `x`.
    for part in text.split("${").skip(1).take(MOST_INLINED) {
        let Some((inside, _)) = part.split_once('}') else { continue };
        let Some((name, value)) = inside.split_once(['-', '=', '+']) else { continue };
        if name.trim_end_matches(':').chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            inlined = inlined.replace(&format!("${{{inside}}}"), value);
        }
    }
    for (name, value) in assignments(text) {
        // Values that name each other must not grow without end.
        if inlined.len() > 8 * text.len() + 1024 {
            break;
        }
        inlined = inlined.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
    }
    (inlined != text).then_some(inlined)
}

/// The names that a text sets, with their values.
fn assignments(text: &str) -> Vec<(&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let set = text.match_indices('=').filter_map(|(at, _)| {
        let start = text[..at].rfind(|c| !is_name(c)).map_or(0, |before| before + 1);
        let name = text.get(start..at).filter(|name| is_assignment(&format!("{name}=")))?;
        let value = &text[at + 1..];
        let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let (value, ends): (&str, &[char]) = match quote {
            Some('"') => (&value[1..], &['"']),
            Some(_) => (&value[1..], &['\'']),
            None => (value, &[' ', '\t', '\n', ';', '|', '&', ')']),
        };
        Some((name, &value[..value.find(ends).unwrap_or(value.len())]))
    });
    let looped = text.match_indices("for ").filter_map(|(at, opening)| {
        let (name, rest) = text[at + opening.len()..].trim_start().split_once(" in ")?;
        let values = rest.split([';', '\n']).next()?.trim();
        name.chars().all(is_name).then_some((name, values))
    });
    set.chain(looped).take(MOST_INLINED).collect()
}
