//! A shell's text, read once: either all of it is understood, as simple commands of literal words, or it is opaque.
//!
//! Nothing opens an opaque text but what opens every text. What forbids is matched against every command that it may
//! run, by its words alone, and against what wrappers such as `env` or `xargs` run.

mod lexer;
mod raw;
#[cfg(test)]
mod tests;
mod wrapper;

use std::fmt;

use raw::suspect_commands;
pub(super) use wrapper::{SHELLS, git_arguments};

/// How deep scripts for another shell may stand in each other.
const DEEPEST: usize = 4;

/// A text that a shell runs.
#[derive(Debug, Clone)]
pub(super) struct ShellText {
    /// What the text runs, in its order; a command stands behind the commands that it starts itself.
    pub commands: Vec<SimpleCommand>,
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

/// How it is known that a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Written,
    /// Another command starts it.
    Wrapped,
    /// Another command starts it, or something else among its words.
    Guessed,
    /// It may run, by the words of an opaque text.
    Suspected,
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
    Assignment,
    Background,
    Backtick,
    Brace,
    Comment,
    ControlCharacter,
    Equals,
    Glob,
    HereDocument,
    History,
    Incomplete,
    Input,
    Keyword(String),
    Network,
    Parenthesis,
    Redirection,
    Spelling,
    Substitution,
    Tilde,
    TooDeep,
    Unclosed,
    Unusual(char),
    Variable,
}

impl OpaqueConstruct {
    /// What an unquoted character that no plain word holds begins.
    fn of_sign(sign: char) -> Self {
        match sign {
            '$' => Self::Variable,
            '`' => Self::Backtick,
            '{' | '}' => Self::Brace,
            '(' | ')' => Self::Parenthesis,
            '!' => Self::History,
            sign => Self::Unusual(sign),
        }
    }

    /// Whether its words say too little for any rule, so that a person has to look.
    pub(super) fn is_malformed(&self) -> bool {
        match self {
            Self::ControlCharacter | Self::Incomplete | Self::Spelling | Self::TooDeep | Self::Unclosed => true,
            Self::Assignment
            | Self::Background
            | Self::Backtick
            | Self::Brace
            | Self::Comment
            | Self::Equals
            | Self::Glob
            | Self::HereDocument
            | Self::History
            | Self::Input
            | Self::Keyword(_)
            | Self::Network
            | Self::Parenthesis
            | Self::Redirection
            | Self::Substitution
            | Self::Tilde
            | Self::Unusual(_)
            | Self::Variable => false,
        }
    }
}

impl fmt::Display for OpaqueConstruct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Assignment => "an assignment",
            Self::Background => "a background command (`&`)",
            Self::Backtick => "a command substitution (a backtick)",
            Self::Brace => "an unquoted brace",
            Self::Comment => "a comment",
            Self::ControlCharacter => "a control character",
            Self::Equals => "a word that begins with `=`",
            Self::Glob => "a pattern that may become an option or a program",
            Self::HereDocument => "a here-document or here-string",
            Self::History => "an unquoted `!`",
            Self::Incomplete => "an incomplete command",
            Self::Input => "a shell that runs its input",
            Self::Keyword(word) => return write!(f, "the keyword `{word}`"),
            Self::Network => "a redirection to the network",
            Self::Parenthesis => "an unquoted parenthesis",
            Self::Redirection => "an unusual redirection",
            Self::Spelling => "letters that are spelled as numbers (`$'\\…'`)",
            Self::Substitution => "a process substitution",
            Self::Tilde => "an unquoted `~`",
            Self::TooDeep => "too many scripts inside each other",
            Self::Unclosed => "an unclosed quote",
            Self::Unusual(sign) => return write!(f, "the unquoted character `{}`", sign.escape_default()),
            Self::Variable => "an expansion (`$`)",
        })
    }
}

impl ShellText {
    pub(super) fn read(text: &str) -> Self {
        Self::read_at(text, 0)
    }

    /// Reads a text that stands in `depth` others.
    fn read_at(text: &str, depth: usize) -> Self {
        let lexed = if depth > DEEPEST { Err(OpaqueConstruct::TooDeep) } else { lexer::lex(text) };
        let written = match lexed {
            Ok(written) => written,
            Err(construct) => {
                let construct = if raw::is_spelled_out(text) { OpaqueConstruct::Spelling } else { construct };
                return Self { commands: suspect_commands(text), opaque: Some(construct) };
            }
        };
        let mut read = Self { commands: Vec::with_capacity(written.len()), opaque: None };
        let mut runs_input = false;
        for command in written {
            let runs = wrapper::resolve(&command);
            runs_input |= runs.input;
            if runs.is_too_deep {
                read.opaque = Some(OpaqueConstruct::TooDeep);
            }
            for script in &runs.scripts {
                let inner = Self::read_at(script, depth + 1);
                read.opaque = read.opaque.or(inner.opaque);
                let inner = inner.commands.into_iter();
                read.commands.extend(inner.map(|inner| SimpleCommand { origin: inner.origin.inside(), ..inner }));
            }
            read.commands.extend(runs.commands);
            read.commands.push(command);
        }
        // What another command prints may be what runs.
        if runs_input {
            read.commands.extend(suspect_commands(text));
            read.opaque = read.opaque.or(Some(OpaqueConstruct::Input));
        }
        read
    }

    /// The commands of a text that is understood; `None` when it is opaque.
    pub(super) fn understood(&self) -> Option<&[SimpleCommand]> {
        self.opaque.is_none().then_some(&self.commands)
    }
}

impl Origin {
    /// The origin of a command whose text another command runs.
    fn inside(self) -> Self {
        match self {
            Self::Written | Self::Wrapped => Self::Wrapped,
            Self::Guessed => Self::Guessed,
            Self::Suspected => Self::Suspected,
        }
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
        let mut line = String::with_capacity(self.words.iter().map(|word| word.shown.len() + 1).sum());
        for word in &self.words {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word.shown);
        }
        for Redirect { fd, sign, target } in &self.redirects {
            line.push(' ');
            line.extend(fd);
            line.push_str(sign);
            line.push_str(&target.shown);
        }
        line
    }

    /// Other lines that mean the same to a rule that forbids: without quotes and redirections, without the directory of
    /// the program, and without the options of git itself.
    pub(super) fn other_lines(&self, line: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let texts = self.texts();
        let mut add = |other: String| {
            if other != line && !lines.contains(&other) {
                lines.push(other);
            }
        };
        add(texts.join(" "));
        let (program, arguments) = (self.program(), texts.get(1..).unwrap_or_default());
        add([&[program], arguments].concat().join(" "));
        // What follows it in an opaque text may be its arguments.
        if self.origin == Origin::Suspected && arguments.is_empty() {
            add(format!("{program} {{}}"));
        }
        if program == "git" {
            add([&["git"], git_arguments(arguments)].concat().join(" "));
        }
        lines
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
        Self { shown: text.replace(['\n', '\t'], " "), text, is_quoted: false, is_glob: false }
    }
}

/// Each simple command of a text as one line, those that wrappers start included. `None` when the text is opaque.
pub fn segments(text: &str) -> Option<Vec<String>> {
    Some(ShellText::read(text).understood()?.iter().map(SimpleCommand::line).collect())
}

/// What keeps a text from being understood, for people.
pub fn describe_opaque(text: &str) -> Option<String> {
    ShellText::read(text).opaque.map(|construct| construct.to_string())
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
fn is_safe_text(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-./:,+@%=".contains(c))
}
