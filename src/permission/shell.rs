//! A shell's text as simple commands: words with their quotes and escapes taken off. It expands nothing, and gives up
//! on what it cannot read for sure, since a quote that is read wrongly hides a command.

mod compound;
mod reader;
mod redirect;
mod script;
mod spelling;
#[cfg(test)]
mod tests;
mod word;

use reader::Reader;
pub(super) use script::{Program, is_shell, name, programs};

/// How deep commands may stand in each other, so that no text exhausts the stack.
const DEEPEST: usize = 48;

/// Words that are no programs where a command may start, as long as they are not quoted.
const RESERVED: &[&str] = &[
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "select", "then",
    "time", "until", "while", "{", "}",
];

/// A part of a text that a shell reads as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    pub words: Vec<Word>,
    pub role: Role,
    /// The name of a function that starts itself twice, and so without end.
    pub is_bomb: bool,
    /// How many substitutions it stands in.
    level: usize,
}

/// What a shell does with words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It runs them.
    Command,
    /// It only looks at them: the values of a loop, the patterns of a choice, a condition.
    Head,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Without its quotes; the body, for a here-document.
    pub text: String,
    /// As one line, with the quotes that it needs.
    shown: String,
    /// Holds a quoted part, which may be text, or code for another program.
    pub is_quoted: bool,
    /// Holds a `$` that the shell replaces.
    pub expands: bool,
    /// Sets a variable, if it stands before the program.
    pub assigns: bool,
    /// The sign that it stands behind, such as `2>`; then it is never a program.
    pub redirect: Option<Redirect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    /// A number, a name in braces, or nothing.
    pub fd: String,
    pub sign: &'static str,
    /// Where the body of a here-document is, once it is read.
    body: Option<usize>,
}

impl Simple {
    /// Whether it stands in a substitution.
    pub(super) fn is_nested(&self) -> bool {
        self.level > 0
    }

    /// A command of words that nobody could read for sure.
    pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut words = Vec::new();
        let mut is_target = false;
        for text in texts {
            let (fd, text) = text.rsplit_once('>').map_or((None, text), |(fd, target)| (Some(fd), target));
            is_target |= fd.is_some();
            if text.is_empty() {
                continue;
            }
            let redirect = Redirect { fd: fd.unwrap_or_default().to_owned(), sign: ">", body: None };
            words.push(Word {
                text: text.to_owned(),
                shown: text.to_owned(),
                expands: text.contains('$'),
                assigns: is_assignment(text),
                is_quoted: false,
                redirect: std::mem::take(&mut is_target).then_some(redirect),
            });
        }
        Self { words, role: Role::Command, is_bomb: false, level: 0 }
    }
}

impl Word {
    pub(super) fn is_target(&self) -> bool {
        self.redirect.is_some()
    }

    /// Whether it names a file that a command writes.
    pub(super) fn writes(&self) -> bool {
        let Some(redirect) = &self.redirect else { return false };
        let is_copy = || {
            let fd = self.text.strip_suffix('-').unwrap_or(&self.text);
            redirect.sign == ">&" && fd.bytes().all(|c| c.is_ascii_digit())
        };
        redirect.sign.contains('>') && self.text != "/dev/null" && !is_copy()
    }
}

/// Every simple command of a shell text, each as one line with plain blanks and no needless quotes. Commands in
/// substitutions, compound commands, here-documents and scripts for another shell are among them, and whatever is not
/// certain to be something else. `None` when the text cannot be read.
pub fn segments(text: &str) -> Option<Vec<String>> {
    let commands = parse(text)?;
    let is_run = |simple: &&Simple| simple.role == Role::Command;
    Some(commands.iter().filter(is_run).map(line).collect())
}

/// The simple commands of `text`, those of its substitutions and of the scripts that it hands to a shell included.
pub(super) fn parse(text: &str) -> Option<Vec<Simple>> {
    script::unfold(text, 0)
}

/// The simple commands of `text` itself; a script for another shell is a word like others.
pub(super) fn read(text: &str) -> Option<Vec<Simple>> {
    Reader::new(text, 0, 0).read()
}

/// A command as one line: what is run first, where it reads and writes behind it.
pub(super) fn line(simple: &Simple) -> String {
    let mut line = String::with_capacity(simple.words.iter().map(|word| word.shown.len() + 4).sum());
    let mut is_started = false;
    for word in simple.words.iter().filter(|word| !word.is_target()) {
        if !line.is_empty() {
            line.push(' ');
        }
        // Without quotes such a word would be read as a part of the shell's language.
        let reads_else = !is_started && !word.assigns && (is_assignment(&word.shown) || is_reserved(&word.shown));
        is_started |= !word.assigns;
        if reads_else && word.shown != "time" {
            line.extend(["'", &word.shown, "'"]);
        } else {
            line.push_str(&word.shown);
        }
    }
    for word in &simple.words {
        let Some(redirect) = &word.redirect else { continue };
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend([redirect.fd.as_str(), redirect.sign]);
        if word.shown.starts_with(['<', '>', '&', '-']) && !redirect.sign.ends_with('&') {
            line.push(' ');
        }
        line.push_str(&word.shown);
    }
    line
}

fn is_reserved(text: &str) -> bool {
    RESERVED.contains(&text)
}

/// Whether a word sets a variable.
pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').filter(|(_, index)| index.ends_with(']')).map_or(name, |(name, _)| name);
    is_name(name)
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
