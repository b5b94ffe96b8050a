//! Where commands read and write: signs with their targets, and here-documents.

use super::reader::Reader;
use super::word::Quote;
use super::{Redirect, Role, Word};

/// Longer signs before those that they begin with.
const SIGNS: &[&str] = &["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"];

/// A here-document whose body was not reached yet.
pub(super) struct Pending {
    delimiter: String,
    /// Whether the shell replaces what stands in the body.
    expands: bool,
    /// Whether tabs at the front of a line do not count.
    strips: bool,
    body: usize,
}

impl Reader<'_> {
    /// The redirections behind a compound command; to write a file, none but they are needed.
    pub(super) fn redirects(&mut self) -> Option<()> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
            let is_sign = match self.peek_at(digits) {
                Some(b'<' | b'>') => self.peek_at(digits + 1) != Some(b'('),
                Some(b'&') => digits == 0 && self.peek_at(1) == Some(b'>'),
                Some(_) | None => false,
            };
            if !is_sign {
                break;
            }
            let fd = self.rest()[..digits].to_owned();
            self.skip(digits);
            words.push(self.redirect(fd)?);
        }
        let role = if words.iter().any(Word::writes) { Role::Command } else { Role::Head };
        self.push(words, role);
        Some(())
    }

    /// A sign and its target.
    pub(super) fn redirect(&mut self, fd: String) -> Option<Word> {
        let sign = SIGNS.iter().find(|sign| self.starts_with(sign))?;
        self.skip(sign.len());
        self.blanks();
        let start = self.here();
        let mut word = self.word()?;
        let body = match *sign {
            "<<" | "<<-" => {
                let source = self.since(start);
                // Where a body ends must be beyond doubt.
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
                let is_sure = !word.text.is_empty() && word.text.chars().all(is_plain) && !source.contains(['\n', '$']);
                is_sure.then_some(())?;
                let body = self.bodies.len();
                self.bodies.push(String::new());
                let (expands, strips) = (source == word.text, *sign == "<<-");
                self.pending.push(Pending { delimiter: word.text, expands, strips, body });
                word = Word { shown: source.to_owned(), is_quoted: true, ..Word::default() };
                Some(body)
            }
            _ => None,
        };
        word.redirect = Some(Redirect { fd, sign, body });
        Some(word)
    }

    /// The bodies that begin here, behind the end of a line.
    pub(super) fn here_documents(&mut self) -> Option<()> {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.here();
            let mut end = start;
            let mut goes_on = false;
            while !self.is_done() {
                let rest = self.rest();
                let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
                self.skip(line.len() + usize::from(line.len() < rest.len()));
                let plain = if pending.strips { line.trim_start_matches('\t') } else { line };
                if plain == pending.delimiter {
                    // The line above swallows this one, in some shells.
                    if goes_on {
                        return None;
                    }
                    break;
                }
                end = self.here();
                goes_on = pending.expands && line.bytes().rev().take_while(|c| *c == b'\\').count() % 2 == 1;
            }
            let body = self.since(start).get(..end - start)?;
            if pending.expands {
                let mut reader = Reader::new(body, self.depth + 1, self.level + 1);
                self.lend(&mut reader, Reader::expansions)?;
                self.found.extend(reader.into_found());
            }
            if let Some(place) = self.bodies.get_mut(pending.body) {
                body.clone_into(place);
            }
        }
        Some(())
    }

    /// What is replaced in the body of a here-document.
    fn expansions(&mut self) -> Option<()> {
        let mut word = Word::default();
        loop {
            let rest = self.rest();
            let Some(place) = rest.find(['\\', '$', '`']) else { return Some(()) };
            self.skip(place);
            match self.peek()? {
                b'$' => self.dollar(&mut word, Quote::Body)?,
                b'`' => self.backticks(&mut word, Quote::Body)?,
                _ => {
                    let escaped = self.rest().chars().nth(1).map_or(0, char::len_utf8);
                    self.skip(1 + escaped);
                }
            }
        }
    }
}
