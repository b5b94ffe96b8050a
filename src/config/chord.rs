//! The spelling of a key with its modifiers: `g`, `ctrl+n`, `alt+enter`, `space`.
//!
//! Text in, chord out. What a chord does, and how a terminal reports it, is the face's; one chord has one form here, so
//! that what is configured and what is pressed can be compared.

use std::fmt;
use std::str::FromStr;

use super::value::is_invisible;

/// A key and what is held down with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
    pub key: Key,
}

/// A key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// What the key types.
    Char(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Insert,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
    /// From 1 to 12.
    F(u8),
}

/// A text that names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a key such as `g`, `ctrl+n`, `alt+enter` or `space`", text.escape_debug())]
pub struct NotAKey {
    pub text: String,
}

/// The keys that have a name instead of a character.
const NAMED: [(&str, Key); 15] = [
    ("space", Key::Char(' ')),
    ("enter", Key::Enter),
    ("esc", Key::Esc),
    ("tab", Key::Tab),
    ("backspace", Key::Backspace),
    ("delete", Key::Delete),
    ("insert", Key::Insert),
    ("home", Key::Home),
    ("end", Key::End),
    ("pageup", Key::PageUp),
    ("pagedown", Key::PageDown),
    ("up", Key::Up),
    ("down", Key::Down),
    ("left", Key::Left),
    ("right", Key::Right),
];

impl Chord {
    /// A key with nothing held down.
    pub fn plain(key: Key) -> Self {
        Self { ctrl: false, alt: false, shift: false, key }
    }

    /// The one form of a chord. A character alone says by itself that shift is held (`G`); with `ctrl` or `alt` the letter
    /// is a small one and shift is said, because there people write `Ctrl+N` and mean `ctrl+n`.
    #[must_use]
    pub fn normal(self) -> Self {
        let Key::Char(typed) = self.key else { return self };
        let Some((small, large)) = cases(typed) else { return Self { shift: false, ..self } };
        if self.ctrl || self.alt {
            return Self { shift: self.shift || typed != small, key: Key::Char(small), ..self };
        }
        let key = Key::Char(if self.shift { large } else { typed });
        Self { shift: false, key, ..self }
    }
}

/// Capitals count only where nothing but shift is held, and names never.
impl FromStr for Chord {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        read(text).ok_or_else(|| NotAKey { text: text.to_owned() })
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (held, word) in [(self.ctrl, "ctrl+"), (self.alt, "alt+"), (self.shift, "shift+")] {
            if held {
                f.write_str(word)?;
            }
        }
        match (self.key, NAMED.iter().find(|(_, key)| *key == self.key)) {
            (_, Some((name, _))) => f.write_str(name),
            (Key::Char(typed), None) => write!(f, "{typed}"),
            (Key::F(number), None) => write!(f, "f{number}"),
            (
                Key::Enter
                | Key::Esc
                | Key::Tab
                | Key::Backspace
                | Key::Delete
                | Key::Insert
                | Key::Home
                | Key::End
                | Key::PageUp
                | Key::PageDown
                | Key::Up
                | Key::Down
                | Key::Left
                | Key::Right,
                None,
            ) => Ok(()),
        }
    }
}

fn read(text: &str) -> Option<Chord> {
    let mut chord = Chord::plain(Key::Esc);
    let mut rest = text;
    // What follows the last sign is the key, which may be a sign itself: `ctrl++`.
    while let Some((word, after)) = rest.split_once('+').filter(|(word, after)| !word.is_empty() && !after.is_empty()) {
        let held = match word.to_ascii_lowercase().as_str() {
            "ctrl" => &mut chord.ctrl,
            "alt" => &mut chord.alt,
            "shift" => &mut chord.shift,
            _ => return None,
        };
        if std::mem::replace(held, true) {
            return None;
        }
        rest = after;
    }
    chord.key = key(rest)?;
    if let Key::Char(typed) = chord.key {
        match cases(typed) {
            Some((small, _)) if chord.ctrl || chord.alt => chord.key = Key::Char(small),
            // Which character `shift+1` makes is the keyboard's secret, so the character is what must be written.
            None if chord.shift => return None,
            Some(_) | None => {}
        }
    }
    Some(chord.normal())
}

fn key(text: &str) -> Option<Key> {
    let mut characters = text.chars();
    if let (Some(typed), None) = (characters.next(), characters.next()) {
        let is_seen = !typed.is_control() && !typed.is_whitespace() && !is_invisible(typed);
        return is_seen.then_some(Key::Char(typed));
    }
    let name = text.to_ascii_lowercase();
    if let Some((_, key)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some(*key);
    }
    let number = name.strip_prefix('f').filter(|digits| !digits.starts_with(['0', '+']))?;
    number.parse().ok().filter(|number| (1..=12).contains(number)).map(Key::F)
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
        text.parse::<Chord>().ok().map(|chord| chord.to_string())
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
            ("ctrl+n", "ctrl+n"),
            ("Ctrl+N", "ctrl+n"),
            ("alt+M", "alt+m"),
            ("shift+alt+m", "alt+shift+m"),
            ("ALT+Enter", "alt+enter"),
            ("alt+ctrl+delete", "ctrl+alt+delete"),
            ("shift+tab", "shift+tab"),
            ("space", "space"),
            ("ctrl+Space", "ctrl+space"),
            ("F5", "f5"),
            ("shift+f12", "shift+f12"),
            ("f", "f"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_names_no_key_is_refused() {
        for text in [
            "",
            " ",
            "\n",
            "\u{1b}",
            "\u{200b}",
            "gg",
            "ctrl",
            "ctrl+",
            "ctrl+foo",
            "+n",
            "cmd+n",
            "ctrl+ctrl+n",
            "ctrl n",
            "ctrl-n",
            "f0",
            "f13",
            "f01",
            "f+1",
            "shift+1",
            "ctrl+shift+1",
            "shift+space",
            "ctrl+ n",
        ] {
            assert_eq!(shown(text), None, "{text:?}");
        }
        let error = "ctrl+\u{1b}".parse::<Chord>().unwrap_err().to_string();
        assert_eq!(error, "`ctrl+\\u{1b}` is not a key such as `g`, `ctrl+n`, `alt+enter` or `space`");
    }

    #[test]
    fn what_a_terminal_reports_is_what_was_written() {
        let held = |ctrl, alt, shift, key| Chord { ctrl, alt, shift, key }.normal();
        for (pressed, written) in [
            (held(false, false, true, Key::Char('G')), "G"),
            (held(false, false, false, Key::Char('G')), "shift+g"),
            (held(false, false, true, Key::Char('!')), "!"),
            (held(false, true, true, Key::Char('M')), "alt+shift+m"),
            (held(true, false, false, Key::Char('n')), "ctrl+N"),
            (held(false, false, true, Key::Char(' ')), "space"),
            (held(false, false, true, Key::Tab), "shift+tab"),
        ] {
            assert_eq!(Ok(pressed), written.parse(), "{written}");
        }
    }

    fn any_key() -> impl Strategy<Value = Key> {
        let named: Vec<_> = NAMED.iter().map(|(_, key)| *key).collect();
        prop_oneof![
            any::<char>()
                .prop_filter("a key types something that is seen", |c| key(&c.to_string()).is_some())
                .prop_map(Key::Char),
            prop::sample::select(named),
            (1u8..=12).prop_map(Key::F),
        ]
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(
            (ctrl, alt, shift) in any::<(bool, bool, bool)>(), key in any_key(),
        ) {
            let chord = Chord { ctrl, alt, shift, key }.normal();
            prop_assert_eq!(chord.normal(), chord);
            prop_assert_eq!(chord.to_string().parse(), Ok(chord));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            if let Ok(chord) = text.parse::<Chord>() {
                prop_assert_eq!(chord.to_string().parse(), Ok(chord));
            }
        }
    }
}
