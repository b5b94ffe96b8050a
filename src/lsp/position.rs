//! Places in a text as language servers count them: lines from zero, and the units of UTF-16 within a line.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// A text with the places of its lines. Lines end in `\n`, `\r\n` or `\r`.
pub struct Lines<'a> {
    text: &'a str,
    /// Where each line begins and where its words end, in bytes.
    spans: Vec<(usize, usize)>,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let (mut spans, mut start, mut at) = (Vec::new(), 0, 0);
        while at < bytes.len() {
            let ending = match bytes[at] {
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
                b'\n' | b'\r' => 1,
                _ => 0,
            };
            if ending > 0 {
                spans.push((start, at));
                start = at + ending;
            }
            at += ending.max(1);
        }
        spans.push((start, text.len()));
        Self { text, spans }
    }

    pub fn count(&self) -> usize {
        self.spans.len()
    }

    /// The words of a line, without its end.
    pub fn line(&self, line: u32) -> Option<&'a str> {
        let (start, end) = *self.spans.get(line as usize)?;
        self.text.get(start..end)
    }

    /// Where a position is, in bytes. One past the end of its line is its end; one within a character is its start.
    pub fn offset(&self, position: Position) -> Option<usize> {
        let (start, _) = *self.spans.get(position.line as usize)?;
        Some(start + byte(self.line(position.line)?, position.character))
    }
}

/// Where a unit of UTF-16 is in a line, in bytes.
pub fn byte(line: &str, character: u32) -> usize {
    let mut units = 0;
    for (at, letter) in line.char_indices() {
        units += letter.len_utf16() as u32;
        if units > character {
            return at;
        }
    }
    line.len()
}

/// How many units of UTF-16 are before a byte of a line.
pub fn character(line: &str, byte: usize) -> u32 {
    line.char_indices().take_while(|(at, _)| *at < byte).map(|(_, letter)| letter.len_utf16() as u32).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_and_units_are_counted_as_servers_do() {
        let text = "a𝄞b\r\nü\rx\n";
        let lines = Lines::of(text);
        assert_eq!(
            (0..5).map(|line| lines.line(line)).collect::<Vec<_>>(),
            [Some("a𝄞b"), Some("ü"), Some("x"), Some(""), None]
        );
        let offset = |line, character| lines.offset(Position { line, character });
        for (line, unit, expected) in [
            (0, 0, Some(0)),
            (0, 1, Some(1)),
            // The second half of a pair is no place of its own.
            (0, 2, Some(1)),
            (0, 3, Some(5)),
            (0, 4, Some(6)),
            (0, 99, Some(6)),
            (1, 1, Some(10)),
            (3, 0, Some(text.len())),
            (4, 0, None),
        ] {
            assert_eq!(offset(line, unit), expected, "{line}:{unit}");
        }
    }

    proptest! {
        #[test]
        fn every_character_has_one_place(line in "[a-z𝄞üß日 ]{0,12}") {
            for (at, _) in line.char_indices() {
                prop_assert_eq!(byte(&line, character(&line, at)), at);
            }
        }

        #[test]
        fn every_place_is_within_the_text(text in "[a\r\n𝄞ü]{0,12}", line in 0u32..14, unit in 0u32..14) {
            let lines = Lines::of(&text);
            if let Some(at) = lines.offset(Position { line, character: unit }) {
                prop_assert!(text.is_char_boundary(at));
            }
            prop_assert_eq!(lines.line(line).is_some(), (line as usize) < lines.count());
        }
    }
}
