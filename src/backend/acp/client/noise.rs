//! What an agent says outside of the protocol before its session is open: often the reason why it never opens.

use std::collections::VecDeque;

/// How many of the last lines are kept, and how much of each.
const LINES: usize = 5;
const WIDTH: usize = 200;

/// The last lines that are no messages.
#[derive(Debug, Default)]
pub(super) struct Noise {
    lines: VecDeque<String>,
    /// Whether the last thing heard was noise.
    pub(super) is_last: bool,
}

impl Noise {
    pub(super) fn hear(&mut self, line: &str) {
        self.is_last = true;
        let words = readable(line);
        if words.is_empty() {
            return;
        }
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(words);
    }

    /// Everything that is kept, on one line.
    pub(super) fn words(&self) -> Option<String> {
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join(" / "))
    }
}

/// The text of a line without what would move a cursor or change a colour.
fn readable(line: &str) -> String {
    let mut text = String::new();
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            // A sequence ends with its first letter; its opening bracket is not one.
            '\u{1b}' => {
                chars.by_ref().find(|c| c.is_ascii_alphabetic() || *c == '~');
            }
            char if char.is_control() => {}
            char => text.push(char),
        }
    }
    let text = text.trim();
    text[..text.floor_char_boundary(WIDTH)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_kept_without_their_colours() {
        let mut noise = Noise::default();
        assert_eq!(noise.words(), None);
        noise.hear("\u{1b}[2J\u{1b}[H");
        assert_eq!((noise.words(), noise.is_last), (None, true));
        for line in ["1", "2", "\u{1b}[31mvisit\u{1b}[0m this page\r", "", "4", "5", "6"] {
            noise.hear(line);
        }
        assert_eq!(noise.words().unwrap(), "2 / visit this page / 4 / 5 / 6");
        noise.hear(&"é".repeat(WIDTH));
        assert!(noise.words().unwrap().len() < WIDTH + 40);
    }
}
