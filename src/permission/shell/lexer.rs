//! A strict lexer for the part of the shell's language that every shell reads alike: literal words, quotes without
//! expansions, lists, pipes and redirections to named files. It stops at everything else and names it.

use super::super::reader::READS;
use super::{OpaqueConstruct, Origin, Redirect, SimpleCommand, Word, is_one_of, is_safe_text};

/// Unquoted words that are part of the language where a command may start.
pub(super) const KEYWORDS: &str = "[[ case coproc do done elif else esac fi for function if select then until while";

/// Unquoted punctuation that stands for itself in a word.
const LITERAL: &str = "_-./:,+@%=^]";

/// Where a word stands, which decides what it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Command,
    Argument,
    Target,
}

/// The simple commands of a text, in their order; none for a blank text.
pub(super) fn lex(text: &str) -> Result<Vec<SimpleCommand>, OpaqueConstruct> {
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(OpaqueConstruct::Malformed("a control character"));
    }
    let mut lexer = Lexer { text, at: 0 };
    let mut commands = Vec::new();
    let mut is_joined = false;
    loop {
        lexer.skip_blanks();
        match lexer.peek() {
            Some('\n') => lexer.at += 1,
            None if is_joined => return Err(OpaqueConstruct::INCOMPLETE),
            None => return Ok(commands),
            Some(_) => {
                commands.push(lexer.command()?);
                is_joined = lexer.operator()?;
            }
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn starts_with(&self, sign: &str) -> bool {
        self.text[self.at..].starts_with(sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_there = self.starts_with(sign);
        self.at += if is_there { sign.len() } else { 0 };
        is_there
    }

    /// Skips blanks, line ends that a backslash takes away, and a comment that means nothing else to any shell.
    fn skip_blanks(&mut self) {
        while self.take(" ") || self.take("\t") || self.take("\\\n") {}
        let is_start = self.text[..self.at].chars().next_back().is_none_or(char::is_whitespace);
        let comment = Some(&self.text[self.at..]).filter(|text| is_start && text.starts_with('#'));
        let comment = comment.and_then(|text| text.split('\n').next());
        let is_plain = |c: char| c.is_alphanumeric() || " #_-./:,+@%=".contains(c);
        self.at += comment.filter(|comment| comment.chars().all(is_plain)).map_or(0, str::len);
    }

    /// The operator behind a command, and whether it wants another command behind it.
    fn operator(&mut self) -> Result<bool, OpaqueConstruct> {
        if self.starts_with("|&") {
            return Err(OpaqueConstruct::REDIRECTION);
        }
        if self.take("&&") || self.take("||") || self.take("|") {
            return Ok(true);
        }
        if self.starts_with("&") {
            return Err(OpaqueConstruct::named("a background command (`&`)"));
        }
        let _ = self.take(";") || self.take("\n");
        Ok(false)
    }

    fn command(&mut self) -> Result<SimpleCommand, OpaqueConstruct> {
        let mut command = SimpleCommand::of_words(Vec::new(), Origin::Written);
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('<' | '>') => command.redirects.push(self.redirect(None)?),
                Some('&') if self.starts_with("&>") => command.redirects.push(self.redirect(None)?),
                None | Some('\n' | ';' | '|' | '&') => break,
                Some(_) => {
                    let position = if command.words.is_empty() { Position::Command } else { Position::Argument };
                    let start = self.at;
                    let word = self.word(position)?;
                    let source = &self.text[start..self.at];
                    let is_number = source.bytes().all(|byte| byte.is_ascii_digit());
                    match self.peek() {
                        Some('<' | '>') if is_number => {
                            let fd = source.chars().next().filter(|_| source.len() == 1);
                            let fd = fd.ok_or(OpaqueConstruct::REDIRECTION)?;
                            command.redirects.push(self.redirect(Some(fd))?);
                        }
                        Some(_) | None => command.words.push(word),
                    }
                }
            }
        }
        let is_open = command.words.iter().any(|word| word.is_open_glob);
        match (command.words.first(), command.redirects.is_empty()) {
            (Some(program), _) if is_open && !is_one_of(READS, &program.text) && program.text != "rg" => {
                Err(OpaqueConstruct::GLOB)
            }
            (Some(_), _) => Ok(command),
            (None, true) => Err(OpaqueConstruct::INCOMPLETE),
            (None, false) => Err(OpaqueConstruct::REDIRECTION),
        }
    }

    fn redirect(&mut self, fd: Option<char>) -> Result<Redirect, OpaqueConstruct> {
        if self.starts_with("<<") {
            return Err(OpaqueConstruct::named("a here-document or here-string"));
        }
        if self.starts_with("<(") || self.starts_with(">(") {
            return Err(OpaqueConstruct::SUBSTITUTION);
        }
        let is_other = ["<&", "<>", ">|"].iter().any(|sign| self.starts_with(sign));
        let sign = ["&>>", "&>", ">>", ">&", ">", "<"].into_iter().find(|sign| self.take(sign));
        let sign = sign.filter(|_| !is_other).ok_or(OpaqueConstruct::REDIRECTION)?;
        self.skip_blanks();
        let target = self.word(Position::Target)?;
        let is_file = sign != ">&";
        let is_fd = target.text.len() == 1 && target.text.bytes().all(|byte| byte.is_ascii_digit());
        // Bash opens a connection for such a name.
        let is_connection = ["/dev/tcp/", "/dev/udp/"].iter().any(|start| target.text.starts_with(start));
        if is_connection || target.text.is_empty() || !is_file && (!is_fd || target.is_quoted) {
            return Err(OpaqueConstruct::REDIRECTION);
        }
        Ok(Redirect { fd, sign, target })
    }

    fn word(&mut self, position: Position) -> Result<Word, OpaqueConstruct> {
        let start = self.at;
        let mut word = Word::default();
        while let Some(c) = self.peek() {
            let is_alone = self.at == start && self.text[start + c.len_utf8()..].starts_with([' ', '\t']);
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break,
                '\'' | '"' => self.quoted(&mut word, c)?,
                '\\' if self.take("\\\n") => {}
                '\\' => {
                    self.at += 1;
                    let escaped = self.peek().ok_or(OpaqueConstruct::UNCLOSED)?;
                    self.push(&mut word, escaped);
                    word.is_quoted = true;
                }
                '*' | '?' | '[' => {
                    let is_test = position == Position::Command && c == '[' && is_alone;
                    if !is_test && position != Position::Argument {
                        return Err(OpaqueConstruct::GLOB);
                    }
                    // An expansion that may begin with a dash may be any option; `--include=*.c` is always that one.
                    let is_option = word.text.starts_with('-') && !word.text.contains('=');
                    word.is_open_glob |= !is_test && (word.text.is_empty() || is_option);
                    word.is_glob |= !is_test;
                    self.push(&mut word, c);
                }
                // Behind a letter it is one, as in `HEAD~1`.
                '~' if !self.text[..self.at].ends_with(|before: char| before.is_ascii_alphanumeric()) => {
                    return Err(OpaqueConstruct::of_sign('~'));
                }
                '#' if self.at == start => return Err(OpaqueConstruct::named("a comment")),
                '^' if self.at == start => return Err(OpaqueConstruct::GLOB),
                // A word of its own negates a test, as in `find . ! -name x`.
                '!' if position == Position::Argument && is_alone => self.push(&mut word, c),
                '{' if position == Position::Argument && self.take_braces(&mut word) => {}
                '$' if position == Position::Argument && self.take("$?") => word.text.push_str("$?"),
                '~' | '#' => self.push(&mut word, c),
                c if c.is_ascii_alphanumeric() || LITERAL.contains(c) => self.push(&mut word, c),
                c => return Err(OpaqueConstruct::of_sign(c)),
            }
        }
        let source = &self.text[start..self.at];
        // Zsh replaces `=ls` by the path of `ls`.
        if source.starts_with('=') && !matches!(source, "=" | "==") {
            return Err(OpaqueConstruct::of_sign('='));
        }
        if position == Position::Command {
            if !word.is_quoted && is_one_of(KEYWORDS, &word.text) {
                return Err(OpaqueConstruct::keyword(&word.text));
            }
            if word.text.contains('=') {
                return Err(OpaqueConstruct::named("an assignment"));
            }
        }
        word.shown = if is_safe_text(&word.text) { word.text.clone() } else { source.replace(['\n', '\t'], " ") };
        Ok(word)
    }

    /// Takes braces with nothing to choose from, as for `find -exec` and in `HEAD@{1}`.
    fn take_braces(&mut self, word: &mut Word) -> bool {
        let Some((braces, _)) = self.text[self.at..].split_once('}') else { return false };
        let is_literal = braces[1..].chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
        let is_one = is_literal && !braces.contains("..") && (braces == "{" || word.text.ends_with('@'));
        if is_one {
            word.text.extend([braces, "}"]);
            self.at += braces.len() + 1;
        }
        is_one
    }

    fn push(&mut self, word: &mut Word, c: char) {
        word.text.push(c);
        self.at += c.len_utf8();
    }

    fn quoted(&mut self, word: &mut Word, quote: char) -> Result<(), OpaqueConstruct> {
        self.at += 1;
        word.is_quoted = true;
        loop {
            match self.peek().ok_or(OpaqueConstruct::UNCLOSED)? {
                c if c == quote => break,
                c if quote == '\'' => self.push(word, c),
                '$' if self.take("$?") => word.text.push_str("$?"),
                c @ ('$' | '`' | '!') => return Err(OpaqueConstruct::of_sign(c)),
                '\\' if self.take("\\\n") => {}
                '\\' => {
                    self.at += 1;
                    let escaped = self.peek().ok_or(OpaqueConstruct::UNCLOSED)?;
                    if !matches!(escaped, '$' | '`' | '"' | '\\') {
                        word.text.push('\\');
                    }
                    // History is expanded behind a backslash, too, which then stays.
                    if escaped == '!' {
                        return Err(OpaqueConstruct::of_sign('!'));
                    }
                    self.push(word, escaped);
                }
                c => self.push(word, c),
            }
        }
        self.at += 1;
        Ok(())
    }
}
