//! One key with what is held down: how a terminal reports it, how a person writes it.
//!
//! A chord has one form, so that what is configured and what is pressed can be compared.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// One key with what is held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chord {
    pub(crate) code: KeyCode,
    pub(crate) modifiers: KeyModifiers,
}

/// The keys that have a name instead of a character.
const NAMED: [(&str, KeyCode); 15] = [
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
];

/// What can be held down, in the order in which it is written.
const HELD: [(&str, KeyModifiers); 3] =
    [("ctrl", KeyModifiers::CONTROL), ("alt", KeyModifiers::ALT), ("shift", KeyModifiers::SHIFT)];

impl Chord {
    /// The chord that a terminal reports.
    pub(crate) fn of(key: KeyEvent) -> Chord {
        let modifiers = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        Chord { code: key.code, modifiers }.normal()
    }

    /// Reads `ctrl+n`, `alt+enter`, `space`, `G`. Names and what is held may have capitals, and so may a letter with
    /// `ctrl` or `alt`: people write `Ctrl+N` and mean `ctrl+n`.
    pub(crate) fn parse(text: &str) -> Option<Chord> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        // What follows the last sign is the key, which may be a sign itself: `ctrl++`.
        while let Some((word, after)) =
            rest.split_once('+').filter(|(word, after)| !word.is_empty() && !after.is_empty())
        {
            let (_, held) = HELD.iter().find(|(name, _)| name.eq_ignore_ascii_case(word))?;
            if modifiers.contains(*held) {
                return None;
            }
            modifiers |= *held;
            rest = after;
        }
        let code = match code(rest)? {
            KeyCode::Char(letter) => match cases(letter) {
                Some((small, _)) if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                    KeyCode::Char(small)
                }
                // Which character `shift+1` makes is the keyboard's secret, so the character is what must be written.
                None if modifiers.contains(KeyModifiers::SHIFT) => return None,
                Some(_) | None => KeyCode::Char(letter),
            },
            code => code,
        };
        Some(Chord { code, modifiers }.normal())
    }

    /// The one form: a character alone says by itself that shift is held; with `ctrl` or `alt` the letter is a small one
    /// and shift is said.
    fn normal(self) -> Chord {
        let shift = self.modifiers.contains(KeyModifiers::SHIFT);
        let others = self.modifiers - KeyModifiers::SHIFT;
        match self.code {
            KeyCode::BackTab => Chord { code: KeyCode::Tab, modifiers: others | KeyModifiers::SHIFT },
            KeyCode::Char(letter) => match cases(letter) {
                None => Chord { modifiers: others, ..self },
                Some((_, large)) if others.is_empty() => {
                    let code = KeyCode::Char(if shift { large } else { letter });
                    Chord { code, modifiers: others }
                }
                Some((small, _)) => {
                    let held = if shift || letter != small { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
                    Chord { code: KeyCode::Char(small), modifiers: others | held }
                }
            },
            _ => self,
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, held) in HELD {
            if self.modifiers.contains(held) {
                write!(f, "{word}+")?;
            }
        }
        match (NAMED.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(letter)) => write!(f, "{letter}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            // Keys that nobody can write; a terminal may still report them.
            (None, code) => write!(f, "{code}"),
        }
    }
}

fn code(text: &str) -> Option<KeyCode> {
    let mut letters = text.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return (!letter.is_control() && !letter.is_whitespace()).then_some(KeyCode::Char(letter));
    }
    if let Some((_, code)) = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Some(*code);
    }
    let number = text.strip_prefix(['f', 'F']).filter(|digits| !digits.starts_with(['0', '+']))?;
    number.parse().ok().filter(|number| (1..=12).contains(number)).map(KeyCode::F)
}

/// A letter without and with shift, where each is one character and they differ.
fn cases(letter: char) -> Option<(char, char)> {
    let small = single(letter.to_lowercase())?;
    let large = single(small.to_uppercase())?;
    (small != large).then_some((small, large))
}

fn single(mut letters: impl Iterator<Item = char>) -> Option<char> {
    let first = letters.next();
    first.filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Option<String> {
        Chord::parse(text).map(|chord| chord.to_string())
    }

    #[test]
    fn a_chord_has_one_spelling() {
        for (text, expected) in [
            ("g", "g"),
            ("G", "G"),
            ("shift+g", "G"),
            ("ö", "ö"),
            ("?", "?"),
            ("+", "+"),
            ("ctrl++", "ctrl++"),
            ("Ctrl+N", "ctrl+n"),
            ("alt+M", "alt+m"),
            ("shift+alt+m", "alt+shift+m"),
            ("ALT+Enter", "alt+enter"),
            ("shift+tab", "shift+tab"),
            ("space", "space"),
            ("F5", "f5"),
            ("f", "f"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_names_no_key_is_nothing() {
        for text in
            ["", " ", "\n", "\u{1b}", "gg", "ctrl", "ctrl+", "+n", "cmd+n", "ctrl+ctrl+n", "f0", "f13", "shift+1"]
        {
            assert_eq!(shown(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_a_terminal_reports_is_what_was_written() {
        let (ctrl, alt, shift) = (KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
        for (code, held, written) in [
            (KeyCode::Char('G'), shift, "G"),
            (KeyCode::Char('G'), KeyModifiers::NONE, "G"),
            (KeyCode::Char('g'), shift, "G"),
            (KeyCode::Char('?'), shift, "?"),
            (KeyCode::Char(' '), shift, "space"),
            (KeyCode::Char('n'), ctrl, "ctrl+n"),
            (KeyCode::Char('M'), alt, "alt+shift+m"),
            (KeyCode::BackTab, shift, "shift+tab"),
            (KeyCode::BackTab, KeyModifiers::NONE, "shift+tab"),
            (KeyCode::Tab, shift, "shift+tab"),
            (KeyCode::Enter, alt | KeyModifiers::SUPER, "alt+enter"),
        ] {
            assert_eq!(Some(Chord::of(KeyEvent::new(code, held))), Chord::parse(written), "{written}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(text in "((ctrl|alt|shift)\\+){0,2}(\\PC|space|tab|f[1-9]|pageup)") {
            if let Some(chord) = Chord::parse(&text) {
                prop_assert_eq!(Chord::parse(&chord.to_string()), Some(chord));
                prop_assert_eq!(Chord::of(KeyEvent::new(chord.code, chord.modifiers)), chord);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            Chord::parse(&text);
        }
    }
}
