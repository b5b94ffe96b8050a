//! Words: quotes, escapes, and what a shell replaces. Each word is kept twice: as the program gets it, and as one line.

use super::reader::Reader;
use super::{Role, Word, is_assignment, line};

/// Letters that mean something in a word, or end it.
const ENDS: &[char] = &[' ', '\t', '\n', ';', '|', '&', '(', ')', '<', '>', '\'', '"', '\\', '$', '`'];

/// What surrounds a part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    None,
    Double,
    /// The body of a here-document, in which quotes are letters.
    Body,
}

impl Reader<'_> {
    /// The word that begins here; nothing when none does.
    pub(super) fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        let start = self.here();
        while let Some(c) = self.peek() {
            match c {
                b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b')' => break,
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    self.skip(1);
                    self.substitution(&mut word, if c == b'<' { "<(" } else { ">(" })?;
                }
                b'<' | b'>' => break,
                b'(' if word.text.ends_with('=') && !word.is_quoted && is_assignment(&word.text) => {
                    self.array(&mut word)?;
                }
                b'(' => break,
                b'\'' => self.single(&mut word)?,
                b'"' => self.double(&mut word)?,
                b'\\' => self.escape(&mut word)?,
                b'$' => self.dollar(&mut word, Quote::None)?,
                b'`' => self.backticks(&mut word, Quote::None)?,
                _ => {
                    self.letters(&mut word, ENDS);
                    word.assigns |= !word.is_quoted && !word.expands && is_assignment(&word.text);
                }
            }
        }
        (self.here() > start).then_some(word)
    }

    /// Takes in letters up to one of `ends`.
    fn letters(&mut self, word: &mut Word, ends: &[char]) {
        let rest = self.rest();
        let letters = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.skip(letters.len());
        word.text.push_str(letters);
        show(word, letters);
    }

    fn escape(&mut self, word: &mut Word) -> Option<()> {
        let c = self.rest().chars().nth(1)?;
        self.skip(1 + c.len_utf8());
        match c {
            '\n' => {}
            c if is_safe(c) => {
                word.text.push(c);
                word.shown.push(c);
            }
            c => {
                word.text.push(c);
                show(word, "\\");
                show(word, c.encode_utf8(&mut [0; 4]));
            }
        }
        Some(())
    }

    fn single(&mut self, word: &mut Word) -> Option<()> {
        let inside = self.rest().get(1..)?;
        let inside = &inside[..inside.find('\'')?];
        self.skip(inside.len() + 2);
        word.is_quoted = true;
        word.text.push_str(inside);
        if is_safe_text(inside) {
            word.shown.push_str(inside);
        } else {
            word.shown.push('\'');
            show(word, inside);
            word.shown.push('\'');
        }
        Some(())
    }

    pub(super) fn double(&mut self, word: &mut Word) -> Option<()> {
        self.skip(1);
        word.is_quoted = true;
        let (text, shown) = (word.text.len(), word.shown.len());
        let expanded = std::mem::take(&mut word.expands);
        word.shown.push('"');
        while self.peek()? != b'"' {
            self.quoted_part(word)?;
        }
        self.skip(1);
        if !word.expands && word.text.get(text..).is_some_and(is_safe_text) {
            word.shown.truncate(shown);
            word.shown.push_str(&word.text[text..]);
        } else {
            word.shown.push('"');
        }
        word.expands |= expanded;
        Some(())
    }

    /// One part of what stands in double quotes, or between the signs of arithmetic.
    pub(super) fn quoted_part(&mut self, word: &mut Word) -> Option<()> {
        match self.peek()? {
            b'"' => self.double(word),
            b'\\' => {
                let c = self.rest().chars().nth(1)?;
                let source = &self.rest()[..1 + c.len_utf8()];
                self.skip(source.len());
                match c {
                    '\n' => {}
                    '$' | '`' | '"' | '\\' => word.text.push(c),
                    _ => word.text.push_str(source),
                }
                if c != '\n' {
                    show(word, source);
                }
                Some(())
            }
            b'$' => self.dollar(word, Quote::Double),
            b'`' => self.backticks(word, Quote::Double),
            b'(' | b')' | b'\'' => {
                let source = &self.rest()[..1];
                self.skip(1);
                word.text.push_str(source);
                show(word, source);
                Some(())
            }
            _ => {
                self.letters(word, &['"', '\\', '$', '`', '(', ')', '\'']);
                Some(())
            }
        }
    }

    /// Takes in a `$` and what belongs to it.
    pub(super) fn dollar(&mut self, word: &mut Word, quote: Quote) -> Option<()> {
        self.skip(1);
        // A line that goes on separates nothing.
        while self.starts_with("\\\n") {
            self.skip(2);
        }
        match self.peek() {
            Some(b'(') => {
                if self.starts_with("((") {
                    let start = self.here();
                    if self.attempt(Self::arithmetic).is_some() {
                        word.expands = true;
                        word.text.extend(["$", self.since(start)]);
                        word.shown.push('$');
                        show(word, self.since(start));
                        return Some(());
                    }
                    self.retry()?;
                }
                self.substitution(word, "$(")
            }
            Some(b'{') => self.braces(word, quote),
            Some(b'\'') if quote == Quote::None => self.spelled(word),
            Some(b'"') if quote == Quote::None => self.double(word),
            Some(c) if c.is_ascii_digit() || b"$?!#*@-".contains(&c) => {
                self.skip(1);
                word.expands = true;
                for text in [&mut word.text, &mut word.shown] {
                    text.extend(['$', char::from(c)]);
                }
                Some(())
            }
            next => {
                word.expands |= next.is_some_and(|c| c.is_ascii_alphabetic() || c == b'_');
                word.text.push('$');
                word.shown.push('$');
                Some(())
            }
        }
    }

    /// Commands in parentheses whose output is used.
    fn substitution(&mut self, word: &mut Word, opening: &str) -> Option<()> {
        self.deeper()?;
        self.take("(")?;
        let (start, first) = (self.here(), self.found.len());
        let outer = std::mem::take(&mut self.pending);
        self.level += 1;
        self.list()?;
        // Shells differ in where the body of a here-document is then.
        let is_clear = self.pending.is_empty() && (outer.is_empty() || !self.since(start).contains('\n'));
        is_clear.then_some(())?;
        self.take(")")?;
        self.pending = outer;
        let inside = self.inside(first);
        self.level -= 1;
        self.depth -= 1;
        put_substitution(word, opening, &inside);
        Some(())
    }

    /// What runs in the substitution whose commands were found from `first` on.
    fn inside(&self, first: usize) -> String {
        let own =
            self.found[first..].iter().filter(|simple| simple.level == self.level && simple.role == Role::Command);
        own.map(line).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn backticks(&mut self, word: &mut Word, quote: Quote) -> Option<()> {
        self.deeper()?;
        self.skip(1);
        let mut inside = String::new();
        loop {
            let rest = self.rest();
            let plain = &rest[..rest.find(['`', '\\'])?];
            inside.push_str(plain);
            self.skip(plain.len() + 1);
            if rest[plain.len()..].starts_with('`') {
                break;
            }
            let c = self.rest().chars().next()?;
            self.skip(c.len_utf8());
            let falls_away = matches!(c, '`' | '\\' | '$') || quote == Quote::Double && c == '"';
            if !falls_away {
                inside.push('\\');
            }
            inside.push(c);
        }
        let mut reader = Reader::new(&inside, self.depth, self.level + 1);
        let done = self.lend(&mut reader, Reader::list);
        done.filter(|()| reader.is_done())?;
        let shown = reader.inside(0);
        self.found.extend(reader.into_found());
        self.depth -= 1;
        put_substitution(word, "$(", &shown);
        Some(())
    }

    /// `${…}`, which may hold words of any kind.
    fn braces(&mut self, word: &mut Word, quote: Quote) -> Option<()> {
        self.deeper()?;
        // Some shells run what stands behind these.
        if matches!(self.peek_at(1), Some(b' ' | b'\t' | b'\n' | b'|')) {
            return None;
        }
        self.skip(1);
        word.expands = true;
        word.text.push_str("${");
        word.shown.push_str("${");
        loop {
            match (self.peek()?, quote) {
                (b'}', _) => break,
                (b'\'', Quote::None) => self.single(word)?,
                // Shells differ in what it means here.
                (b'\'', Quote::Double | Quote::Body) | (b'"', Quote::Body) => return None,
                (b'"', Quote::None | Quote::Double) => self.double(word)?,
                (b'\\', _) => self.escape(word)?,
                (b'$', _) => self.dollar(word, quote)?,
                (b'`', _) => self.backticks(word, quote)?,
                (c @ (b'<' | b'>'), Quote::None) if self.peek_at(1) == Some(b'(') => {
                    self.skip(1);
                    self.substitution(word, if c == b'<' { "<(" } else { ">(" })?;
                }
                (c @ (b'<' | b'>'), _) => {
                    self.skip(1);
                    word.text.push(char::from(c));
                    word.shown.push(char::from(c));
                }
                _ => self.letters(word, &['}', '\'', '"', '\\', '$', '`', '<', '>']),
            }
        }
        self.skip(1);
        self.depth -= 1;
        word.text.push('}');
        word.shown.push('}');
        Some(())
    }

    /// The values of an array, between parentheses.
    fn array(&mut self, word: &mut Word) -> Option<()> {
        self.deeper()?;
        // The body of a here-document cannot begin in it.
        self.pending.is_empty().then_some(())?;
        self.skip(1);
        for text in [&mut word.text, &mut word.shown] {
            text.push('(');
        }
        let mut separator = "";
        loop {
            self.gap()?;
            if self.peek()? == b')' {
                break;
            }
            let value = self.word()?;
            word.text.extend([separator, &value.text]);
            word.shown.extend([separator, &value.shown]);
            word.expands |= value.expands;
            word.is_quoted |= value.is_quoted;
            separator = " ";
        }
        self.skip(1);
        self.depth -= 1;
        for text in [&mut word.text, &mut word.shown] {
            text.push(')');
        }
        Some(())
    }

    pub(super) fn deeper(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= super::DEEPEST).then_some(())
    }
}

fn put_substitution(word: &mut Word, opening: &str, inside: &str) {
    word.expands = true;
    for text in [&mut word.text, &mut word.shown] {
        text.extend([opening, inside, ")"]);
    }
}

/// Adds to the line of a word; what would end the line becomes a blank.
pub(super) fn show(word: &mut Word, text: &str) {
    if text.contains(char::is_control) {
        word.shown.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
    } else {
        word.shown.push_str(text);
    }
}

/// Whether a text means the same with and without quotes.
pub(super) fn is_safe_text(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_safe)
}

fn is_safe(c: char) -> bool {
    c.is_alphanumeric() || "_-./,:=@%+".contains(c)
}
