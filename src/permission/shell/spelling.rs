//! `$'…'`: letters that are spelled by their numbers or their names.

use super::Word;
use super::reader::Reader;
use super::word::{is_safe_text, show};

impl Reader<'_> {
    /// `$'…'`, from its quote on.
    pub(super) fn spelled(&mut self, word: &mut Word) -> Option<()> {
        self.skip(1);
        let (start, text) = (self.here(), word.text.len());
        word.is_quoted = true;
        loop {
            let rest = self.rest();
            let plain = &rest[..rest.find(['\'', '\\'])?];
            word.text.push_str(plain);
            self.skip(plain.len() + 1);
            if rest[plain.len()..].starts_with('\'') {
                break;
            }
            self.spelled_letter(word)?;
        }
        if word.text.get(text..).is_some_and(is_safe_text) {
            word.shown.push_str(&word.text[text..]);
        } else {
            word.shown.push_str("$'");
            show(word, self.since(start));
        }
        Some(())
    }

    /// What stands behind a backslash in `$'…'`.
    fn spelled_letter(&mut self, word: &mut Word) -> Option<()> {
        let c = self.rest().chars().next()?;
        let (digits, radix) = match c {
            '0'..='7' => (3, 8),
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            _ => {
                self.skip(c.len_utf8());
                match c {
                    'n' => word.text.push('\n'),
                    't' => word.text.push('\t'),
                    'r' => word.text.push('\r'),
                    'a' | 'b' | 'e' | 'E' | 'f' | 'v' => word.text.push('\u{1b}'),
                    '\\' | '\'' | '"' | '?' => word.text.push(c),
                    // The key of a letter; shells differ in which.
                    'c' => return None,
                    _ => word.text.extend(['\\', c]),
                }
                return Some(());
            }
        };
        if radix == 16 {
            self.skip(1);
        }
        let number: String = self.rest().chars().take(digits).take_while(|c| c.is_digit(radix)).collect();
        self.skip(number.len());
        let code = u32::from_str_radix(&number, radix).ok()?;
        // A word ends at a zero.
        (code != 0).then_some(())?;
        // A byte of a longer letter stands for no letter of its own.
        let is_byte = matches!(c, '0'..='7' | 'x') && code > 0x7f;
        word.text.push(char::from_u32(code).filter(|_| !is_byte).unwrap_or(char::REPLACEMENT_CHARACTER));
        Some(())
    }
}
