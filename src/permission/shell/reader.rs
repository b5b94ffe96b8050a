//! The reader of a shell's text: where it is, and lists of commands. It follows the grammar of bash, but takes more
//! than bash does: a stray separator hides nothing.

use super::redirect::Pending;
use super::{DEEPEST, Role, Simple, Word, is_reserved};

/// How often an opening that has two meanings may turn out to have the second one, since each time is read again.
const RETRIES: usize = 16;

/// Words that end a list of commands.
const CLOSING: &[&str] = &["do", "done", "elif", "else", "esac", "fi", "then", "}"];

pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    pub(super) depth: usize,
    pub(super) level: usize,
    retries: usize,
    pub(super) found: Vec<Simple>,
    /// Here-documents whose bodies begin behind the line.
    pub(super) pending: Vec<Pending>,
    pub(super) bodies: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, depth: usize, level: usize) -> Self {
        let (found, pending, bodies) = (Vec::new(), Vec::new(), Vec::new());
        Self { text, at: 0, depth, level, retries: RETRIES, found, pending, bodies }
    }

    /// The commands of the whole text.
    pub(super) fn read(mut self) -> Option<Vec<Simple>> {
        // No shell can be given one.
        if self.text.contains('\0') {
            return None;
        }
        self.list()?;
        self.is_done().then_some(())?;
        Some(self.into_found())
    }

    /// What was found, with the bodies of here-documents in their places.
    pub(super) fn into_found(mut self) -> Vec<Simple> {
        for word in self.found.iter_mut().flat_map(|simple| &mut simple.words) {
            let body = word.redirect.as_ref().and_then(|redirect| redirect.body);
            if let Some(body) = body.and_then(|body| self.bodies.get_mut(body)) {
                word.text = std::mem::take(body);
            }
        }
        self.found
    }

    /// Commands up to what ends them, which stays.
    pub(super) fn list(&mut self) -> Option<()> {
        loop {
            self.gap()?;
            match self.peek() {
                None | Some(b')') => return Some(()),
                Some(b';') if matches!(self.peek_at(1), Some(b';' | b'&')) => return Some(()),
                Some(b';' | b'|') => self.skip(1),
                Some(b'&') if self.peek_at(1) != Some(b'>') => self.skip(1),
                Some(_) if CLOSING.contains(&self.token()) => return Some(()),
                Some(_) => self.command()?,
            }
        }
    }

    pub(super) fn command(&mut self) -> Option<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        match self.token() {
            "" if self.starts_with("(") => self.parentheses()?,
            "!" => self.skip(1),
            "time" => self.time()?,
            "coproc" => self.coproc()?,
            "if" => self.choice()?,
            "while" | "until" => self.repetition()?,
            "for" | "select" => self.walk()?,
            "case" => self.case()?,
            "{" => self.group()?,
            "[[" => self.condition()?,
            "function" => self.function()?,
            _ => self.simple()?,
        }
        self.depth -= 1;
        Some(())
    }

    pub(super) fn simple(&mut self) -> Option<()> {
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')') => break,
                Some(b'&') if self.peek_at(1) != Some(b'>') => break,
                Some(b'#') => {
                    self.comment();
                    break;
                }
                Some(b'(') => {
                    let name = words.pop().filter(|name| words.is_empty() && !name.is_target())?;
                    return self.body(name);
                }
                Some(b'&') => words.push(self.redirect(String::new())?),
                Some(b'<' | b'>') if self.peek_at(1) != Some(b'(') => words.push(self.redirect(String::new())?),
                Some(_) => {
                    let start = self.at;
                    let word = self.word()?;
                    let source = &self.text[start..self.at];
                    // A line that goes on inside of a word may have spelled a word of the language.
                    if words.is_empty() && source.contains("\\\n") && is_reserved(&word.text) {
                        return None;
                    }
                    if self.is_fd(source) {
                        let fd = source.to_owned();
                        words.push(self.redirect(fd)?);
                    } else {
                        words.push(word);
                    }
                }
            }
        }
        self.push(words, Role::Command);
        Some(())
    }

    /// Whether the word that was just read says which file a sign is about.
    fn is_fd(&self, word: &str) -> bool {
        let is_number = word.bytes().all(|c| c.is_ascii_digit());
        let is_variable = || word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(super::is_name);
        matches!(self.peek(), Some(b'<' | b'>')) && (is_number || is_variable())
    }

    /// A subshell, or arithmetic.
    fn parentheses(&mut self) -> Option<()> {
        if self.starts_with("((") {
            if self.attempt(Self::arithmetic).is_some() {
                return self.redirects();
            }
            self.retry()?;
        }
        self.skip(1);
        self.list()?;
        self.take(")")?;
        self.redirects()
    }

    pub(super) fn push(&mut self, words: Vec<Word>, role: Role) {
        if !words.is_empty() {
            self.found.push(Simple { words, role, is_bomb: false, level: self.level });
        }
    }

    /// Reads what may turn out to be something else: then nothing was read.
    pub(super) fn attempt(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let start = (self.at, self.depth, self.level, self.found.len(), self.pending.len(), self.bodies.len());
        let done = read(self);
        if done.is_none() {
            (self.at, self.depth, self.level) = (start.0, start.1, start.2);
            self.found.truncate(start.3);
            self.pending.truncate(start.4);
            self.bodies.truncate(start.5);
        }
        done
    }

    pub(super) fn retry(&mut self) -> Option<()> {
        self.retries = self.retries.checked_sub(1)?;
        Some(())
    }

    /// Lets another reader read a part of the text, at the expense of this one.
    pub(super) fn lend<'b>(
        &mut self,
        reader: &mut Reader<'b>,
        read: impl FnOnce(&mut Reader<'b>) -> Option<()>,
    ) -> Option<()> {
        reader.retries = self.retries;
        let done = read(reader);
        self.retries = reader.retries;
        done
    }

    /// Goes over all that may stand between two commands.
    pub(super) fn gap(&mut self) -> Option<()> {
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => {
                    self.skip(1);
                    self.here_documents()?;
                }
                Some(b'#') => self.comment(),
                Some(_) | None => return Some(()),
            }
        }
    }

    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.skip(1),
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.skip(2),
                Some(_) | None => return,
            }
        }
    }

    pub(super) fn comment(&mut self) {
        let line = self.rest().find('\n');
        self.skip(line.unwrap_or(self.rest().len()));
    }

    /// The letters up to the next one that ends a word by itself; a word of the language stands alone in them.
    pub(super) fn token(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.find([' ', '\t', '\n', '|', '&', ';', '(', ')', '<', '>']);
        &rest[..end.unwrap_or(rest.len())]
    }

    /// Goes over a word of the language that has to be here.
    pub(super) fn close(&mut self, word: &str) -> Option<()> {
        self.gap()?;
        (self.token() == word).then(|| self.skip(word.len()))
    }

    /// Goes over a sign that has to be here.
    pub(super) fn take(&mut self, sign: &str) -> Option<()> {
        self.starts_with(sign).then(|| self.skip(sign.len()))
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn starts_with(&self, sign: &str) -> bool {
        self.rest().starts_with(sign)
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) fn here(&self) -> usize {
        self.at
    }

    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }
}
