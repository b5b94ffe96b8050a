//! A shell's text, read once: either all of it is understood, as simple commands of literal words, or it is opaque.
//!
//! Nothing opens an opaque text but what opens every text. What forbids is matched against every command that it may
//! run, by its words alone, and against what wrappers such as `env` or `xargs` run.

mod budget;
mod lexer;
mod mention;
mod pattern;
mod raw;
mod source;
#[cfg(test)]
mod tests;
mod value;
mod wrapper;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use budget::{BYTES_PER_WORD, LONGEST_COMMAND, LONGEST_TEXT, MOST_COMMANDS, MOST_VALUES, WorkBudget};
pub(super) use mention::TokenBag;
pub(super) use pattern::{CommandPattern, may_become, may_name};
use value::Values;
pub(super) use wrapper::{SHELLS, find_runnable, git_arguments, is_interpreter, runs_words};

/// How deep scripts for another shell may stand in each other.
const DEEPEST: usize = 4;

/// A text that a shell runs.
#[derive(Debug, Default, Clone)]
pub(super) struct ShellText {
    /// What the text runs, in its order; a command stands behind the commands that it starts itself.
    pub commands: Vec<SimpleCommand>,
    /// What else it runs if programs run their arguments, for rules that forbid.
    pub possible_commands: Vec<SimpleCommand>,
    /// The words of those parts whose commands are not known, for rules that forbid.
    pub token_bags: Vec<TokenBag>,
    /// Words that an opaque text gives to its variables.
    pub values: Values,
    /// What keeps the text from being understood, if anything does.
    pub opaque: Option<OpaqueConstruct>,
}

/// A program with its arguments, and where it reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    pub origin: Origin,
    /// Gets more arguments from its input, as behind `xargs`.
    pub is_fed: bool,
}

/// How it is known that a command runs, from what is certain on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    Written,
    /// Another command starts it.
    Wrapped,
    /// Another command starts it if it runs its arguments.
    Possible,
    /// The same, if that takes an argument with blanks for a script, which may be a mere text.
    Quoted,
    /// It may run, by the words of an opaque text.
    Suspected,
    /// The same, of a text that was cut in quotes and words.
    Fragment,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// As the program gets it.
    pub text: String,
    /// On one line, with the quotes that it needs.
    pub shown: String,
    pub is_quoted: bool,
    /// Stands for names of files, all of which begin with the letters before the first sign of a pattern.
    pub is_glob: bool,
    /// Such names may be options.
    pub is_open_glob: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    pub fd: Option<char>,
    pub sign: &'static str,
    pub target: Word,
}

/// What a text holds that has no place in the language of plain commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpaqueConstruct {
    Named(Cow<'static, str>),
    /// Its words say too little for any rule, so that a person has to look.
    Malformed(&'static str),
}

impl OpaqueConstruct {
    const GLOB: Self = Self::Named(Cow::Borrowed("a pattern that may become an option or a program"));
    const REDIRECTION: Self = Self::Named(Cow::Borrowed("an unusual redirection"));
    const SUBSTITUTION: Self = Self::Named(Cow::Borrowed("a substitution"));
    const INCOMPLETE: Self = Self::Malformed("an incomplete command");
    const TOO_DEEP: Self = Self::Malformed("too many scripts inside each other, words or values");
    const UNCLOSED: Self = Self::Malformed("an unclosed quote");

    fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self::Named(name.into())
    }

    fn keyword(word: &str) -> Self {
        Self::named(format!("the keyword `{word}`"))
    }

    /// What an unquoted character that no plain word holds begins.
    fn of_sign(sign: char) -> Self {
        match sign {
            '$' => Self::named("an expansion (`$`)"),
            '`' => Self::SUBSTITUTION,
            sign => Self::named(format!("the special character `{}`", sign.escape_default())),
        }
    }

    pub(super) fn is_malformed(&self) -> bool {
        matches!(self, Self::Malformed(_))
    }
}

impl fmt::Display for OpaqueConstruct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Malformed(name) => f.write_str(name),
        }
    }
}

impl ShellText {
    pub(super) fn read(text: &str) -> Self {
        let budget = WorkBudget::new();
        let mut read = Self::read_at(text, 0, &budget);
        let mut commands = read.commands.iter().chain(&read.possible_commands);
        let is_long = text.len() > LONGEST_TEXT
            || read.opaque.is_none() && read.commands.len() > MOST_COMMANDS
            || commands.any(|command| command.words.len() > LONGEST_COMMAND);
        if (is_long || budget.is_spent()) && !read.opaque.as_ref().is_some_and(OpaqueConstruct::is_malformed) {
            read.opaque = Some(OpaqueConstruct::TOO_DEEP);
            read.token_bags.push(TokenBag::of_text(text));
        }
        read
    }

    /// Reads a text that stands in `depth` others.
    fn read_at(text: &str, depth: usize, budget: &WorkBudget) -> Self {
        let mut read = Self::default();
        let is_readable = budget.spend(text.len() / BYTES_PER_WORD + 1) && depth <= DEEPEST;
        let lexed = if is_readable { lexer::lex(text) } else { Err(OpaqueConstruct::TOO_DEEP) };
        let (written, construct) = match lexed {
            Ok(written) => (written, None),
            Err(_) if raw::is_spelled_out(text) => {
                (Vec::new(), Some(OpaqueConstruct::Malformed("letters that are spelled as numbers (`$'\\…'`)")))
            }
            Err(construct) => (Vec::new(), Some(construct)),
        };
        read.opaque = construct;
        let mut possible_input = false;
        for command in written {
            let mut runs = wrapper::resolve(&command, budget);
            if runs.possible_input && !budget.is_spent() {
                runs.possible_scripts.insert(printed_words(&read.commands).join(" "));
            }
            // What another command prints may be what runs.
            read.opaque = read
                .opaque
                .or(runs.unclear)
                .or(runs.input.then_some(OpaqueConstruct::named("a program that runs its input")));
            possible_input |= runs.possible_input;
            for script in &runs.scripts {
                let inner = Self::read_at(script, depth + 1, budget);
                read.opaque = read.opaque.or(inner.opaque);
                read.token_bags.extend(inner.token_bags);
                read.possible_commands.extend(inner.possible_commands);
                let inner = inner.commands.into_iter();
                read.commands
                    .extend(inner.map(|inner| SimpleCommand { origin: inner.origin.max(Origin::Wrapped), ..inner }));
            }
            for script in runs.possible_scripts.iter().take_while(|_| !budget.is_spent()) {
                let inner = Self::read_at(script, depth + 1, budget);
                read.token_bags.extend(inner.token_bags);
                // It may be code of any language.
                read.token_bags.push(TokenBag::of_text(script));
                let inner = inner.commands.into_iter().chain(inner.possible_commands);
                read.possible_commands.extend(inner.map(|inner| SimpleCommand { origin: Origin::Quoted, ..inner }));
            }
            read.possible_commands.extend(runs.possible_commands);
            read.commands.extend(runs.commands);
            budget.spend_command(&command);
            read.commands.push(command);
        }
        let printed = printed_words(&read.commands);
        let is_open = |command: &&SimpleCommand| find_runnable(&command.texts()).is_some();
        let fed = read.commands.iter().filter(|command| command.is_fed).filter(is_open);
        // Each of them is held against all that others print.
        let fed = fed.take_while(|_| budget.spend(printed.len() + read.commands.len()));
        let fed = fed.map(|command| TokenBag::of_words(command.texts().iter().chain(&printed)));
        read.token_bags.extend(fed.collect::<Vec<_>>());
        if read.opaque.is_some() || possible_input {
            read.token_bags.push(TokenBag::of_text(text));
        }
        if read.opaque.is_some() {
            let (suspects, values) = raw::suspect_commands(&text[..text.floor_char_boundary(LONGEST_TEXT)], budget);
            read.commands.extend(suspects);
            match values.0.len() > MOST_VALUES {
                true => budget.exhaust(),
                false => read.values = values,
            }
        }
        read
    }

    /// The commands of a text that is understood; `None` when it is opaque.
    pub(super) fn understood(&self) -> Option<&[SimpleCommand]> {
        self.opaque.is_none().then_some(&self.commands)
    }
}

impl SimpleCommand {
    fn of_words(words: Vec<Word>, origin: Origin) -> Self {
        Self { words, redirects: Vec::new(), origin, is_fed: false }
    }

    /// The words as the program gets them, its name first.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.text.as_str()).collect()
    }

    /// The program without its directory.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", |word| base_name(&word.text))
    }

    /// Whether it writes a file by a redirection.
    pub(super) fn writes(&self) -> bool {
        self.redirects.iter().any(Redirect::writes)
    }

    /// The command as one line, with the quotes that its words need, and its redirections at the end.
    pub(super) fn line(&self) -> String {
        let words = self.words.iter().map(|word| word.shown.clone());
        let redirect = |Redirect { fd, sign, target }: &Redirect| {
            fd.iter().copied().chain(sign.chars()).chain(target.shown.chars()).collect()
        };
        words.chain(self.redirects.iter().map(redirect)).collect::<Vec<String>>().join(" ")
    }

    /// Other lines that mean the same to a rule that forbids: without quotes and redirections, without the directory of
    /// the program, and without the options of git itself.
    pub(super) fn other_lines(&self, line: &str) -> Vec<String> {
        let texts = self.texts();
        let (program, arguments) = (self.program(), texts.get(1..).unwrap_or_default());
        let mut spellings = vec![texts.clone(), [&[program], arguments].concat()];
        // What follows it in an opaque text may be its arguments.
        if matches!(self.origin, Origin::Suspected | Origin::Fragment) && arguments.is_empty() {
            spellings.push(vec![program, "{}"]);
        }
        if program == "git" {
            spellings.push([&["git"], git_arguments(arguments)].concat());
        }
        // Its subcommands are programs, too.
        if let Some(verb) = program.strip_prefix("git-") {
            spellings.push([&["git", verb], arguments].concat());
        }
        let mut lines: BTreeSet<_> =
            spellings.iter().map(|words| words.join(" ")).filter(|other| other != line).collect();
        // `git push *` forbids `git push` as well. A single word may be anything.
        if !matches!(self.origin, Origin::Possible | Origin::Quoted) || !arguments.is_empty() {
            let bare: Vec<_> = lines.iter().map(String::as_str).chain([line]).map(|line| format!("{line} ")).collect();
            lines.extend(bare);
        }
        lines.into_iter().collect()
    }
}

impl Redirect {
    /// Whether it names a file that a command writes.
    pub(super) fn writes(&self) -> bool {
        match self.sign {
            "<" | ">&" => false,
            _ => !matches!(self.target.text.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr"),
        }
    }
}

impl Word {
    /// A word that stands for itself.
    fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: text.replace(['\n', '\t'], " "), text, ..Self::default() }
    }
}

/// Each simple command of a text as one line, those that wrappers start included. `None` when the text is opaque.
pub fn segments(text: &str) -> Option<Vec<String>> {
    Some(ShellText::read(text).understood()?.iter().map(SimpleCommand::line).collect())
}

/// What keeps a text from being understood.
pub fn describe_opaque(text: &str) -> Option<String> {
    ShellText::read(text).opaque.map(|construct| construct.to_string())
}

/// The words that commands of a text print.
pub(super) fn printed_words(commands: &[SimpleCommand]) -> Vec<&str> {
    let words = commands.iter().flat_map(|command| {
        let program = command.program();
        let prints = matches!(program, "echo" | "printf");
        let is_printed = move |word: &&Word| prints || program == "ls" && !word.text.starts_with('-');
        command.words.iter().skip(1).filter(is_printed)
    });
    words.flat_map(|word| word.text.split_whitespace()).collect()
}

/// A program's name without its directory.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a name is in a list with a blank between any two names.
pub(super) fn is_one_of(list: &str, name: &str) -> bool {
    !name.contains(' ') && list.split(' ').any(|known| known == name)
}

/// Whether a text needs no quotes.
pub(super) fn is_safe_text(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-./:,+@%=".contains(c))
}
