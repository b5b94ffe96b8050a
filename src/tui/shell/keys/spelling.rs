//! Keys as a terminal spells them, for the few that somebody else has read from it. Pure.
//!
//! What a terminal answers to the questions of a program is no key and is left out.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

const ESCAPE: u8 = 0x1b;
const PASTE: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What these bytes mean, one after the other.
pub(super) fn events(mut bytes: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let (length, event) = first(bytes);
        events.extend(event);
        bytes = bytes.get(length..).unwrap_or_default();
    }
    events
}

/// How many bytes the first thing takes, and what it means.
fn first(bytes: &[u8]) -> (usize, Option<Event>) {
    if let Some(text) = bytes.strip_prefix(PASTE) {
        let end = text.windows(PASTE_ENDS.len()).position(|part| part == PASTE_ENDS);
        let text = &text[..end.unwrap_or(text.len())];
        let length = PASTE.len() + text.len() + end.map_or(0, |_| PASTE_ENDS.len());
        return (length, Some(Event::Paste(String::from_utf8_lossy(text).into_owned())));
    }
    match bytes {
        [ESCAPE, b'[', b'M', ..] => (6, None),
        [ESCAPE, b'[', rest @ ..] => match rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) {
            Some(end) => (end + 3, sequence(&rest[..end], rest[end])),
            None => (bytes.len(), None),
        },
        [ESCAPE, b'O', letter, ..] => (3, named(*letter).map(|code| key(code, KeyModifiers::NONE))),
        [ESCAPE, b']' | b'P' | b'_' | b'^' | b'X', rest @ ..] => (2 + string(rest), None),
        [ESCAPE, ESCAPE, ..] | [ESCAPE] => (1, Some(key(KeyCode::Esc, KeyModifiers::NONE))),
        [ESCAPE, rest @ ..] => match plain(rest) {
            (length, Some((code, modifiers))) => (length + 1, Some(key(code, modifiers | KeyModifiers::ALT))),
            (length, None) => (length + 1, None),
        },
        bytes => {
            let (length, found) = plain(bytes);
            (length, found.map(|(code, modifiers)| key(code, modifiers)))
        }
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

/// A letter, or a key that is one byte.
fn plain(bytes: &[u8]) -> (usize, Option<(KeyCode, KeyModifiers)>) {
    let none = KeyModifiers::NONE;
    let control = |letter: char| Some((KeyCode::Char(letter), KeyModifiers::CONTROL));
    match bytes.first() {
        None => (0, None),
        Some(b'\r') => (1, Some((KeyCode::Enter, none))),
        Some(b'\t') => (1, Some((KeyCode::Tab, none))),
        Some(0x7f) => (1, Some((KeyCode::Backspace, none))),
        Some(0) => (1, control(' ')),
        Some(byte @ 0x01..=0x1a) => (1, control(char::from(byte - 1 + b'a'))),
        Some(&ESCAPE) => (1, Some((KeyCode::Esc, none))),
        Some(byte @ 0x1c..=0x1f) => (1, control(char::from(byte - 0x1c + b'4'))),
        Some(_) => match letter(bytes) {
            Some(letter) => (letter.len_utf8(), Some((KeyCode::Char(letter), case(letter)))),
            None => (1, None),
        },
    }
}

fn letter(bytes: &[u8]) -> Option<char> {
    let length = bytes.len().min(4);
    (1..=length).find_map(|length| std::str::from_utf8(&bytes[..length]).ok()?.chars().next())
}

fn case(letter: char) -> KeyModifiers {
    if letter.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE }
}

/// How long a string is that a terminal answers with, its end included.
fn string(bytes: &[u8]) -> usize {
    let ends = |at: &usize| bytes[*at] == 0x07 || bytes[*at..].starts_with(b"\x1b\\");
    match (0..bytes.len()).find(ends) {
        Some(at) if bytes[at] == ESCAPE => at + 2,
        Some(at) => at + 1,
        None => bytes.len(),
    }
}

/// `ESC [ parameters final`
fn sequence(parameters: &[u8], end: u8) -> Option<Event> {
    let text = std::str::from_utf8(parameters).ok()?;
    let parts: Vec<Vec<u32>> =
        text.split(';').map(|part| part.split(':').map(|number| number.parse().unwrap_or(0)).collect()).collect();
    let at = |place: usize, inner: usize| parts.get(place).and_then(|part| part.get(inner)).copied().unwrap_or(0);
    let is_reply = text.starts_with(['?', '<', '>', '=']);
    // A key that is let go is no key that is pressed.
    if is_reply || at(1, 1) == 3 {
        return None;
    }
    let held = modifiers(at(1, 0));
    match end {
        b'I' if text.is_empty() => Some(Event::FocusGained),
        b'O' if text.is_empty() => Some(Event::FocusLost),
        b'Z' => Some(key(KeyCode::BackTab, KeyModifiers::SHIFT)),
        b'u' => spelled(at(0, 0), held),
        b'~' if at(0, 0) == 27 => spelled(at(2, 0), held),
        b'~' => numbered(at(0, 0)).map(|code| key(code, held)),
        // It is also how a terminal says where the cursor stands.
        b'R' => None,
        end => named(end).map(|code| key(code, held)),
    }
}

/// The bits for Shift, Alt and Ctrl, plus one.
fn modifiers(number: u32) -> KeyModifiers {
    let bits = number.saturating_sub(1);
    let held = [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)];
    held.into_iter().filter(|(bit, _)| bits & bit != 0).fold(KeyModifiers::NONE, |all, (_, held)| all | held)
}

/// A key by the number of its letter.
fn spelled(number: u32, held: KeyModifiers) -> Option<Event> {
    let code = match char::from_u32(number)? {
        '\r' => KeyCode::Enter,
        '\t' if held.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        '\t' => KeyCode::Tab,
        '\x1b' => KeyCode::Esc,
        '\x7f' => KeyCode::Backspace,
        letter if letter.is_control() => return None,
        letter if held.contains(KeyModifiers::SHIFT) => KeyCode::Char(letter.to_uppercase().next()?),
        letter => KeyCode::Char(letter),
    };
    Some(key(code, held))
}

fn numbered(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(u8::try_from(number - 10).ok()?),
        17..=21 => KeyCode::F(u8::try_from(number - 11).ok()?),
        23 | 24 => KeyCode::F(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}

fn named(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P'..=b'S' => KeyCode::F(letter - b'P' + 1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::keymap::Chord;

    #[test]
    fn keys_are_understood_and_answers_left_out() {
        for (typed, expected) in [
            (&b"jG?"[..], "j G ?"),
            (b"\r\t\x7f\x0a", "enter tab backspace ctrl+j"),
            (b"\x1b", "esc"),
            (b"\x1b\x1bOA", "esc up"),
            (b"\x1b[A\x1b[1;5B\x1b[5~\x1b[3;2~", "up ctrl+down pageup shift+delete"),
            (b"\x1bm\x0b", "alt+m ctrl+k"),
            (b"\x1b[106u\x1b[112;5u\x1b[103;2u\x1b[13;2u", "j ctrl+p G shift+enter"),
            (b"\x1b[106;1:3uk", "k"),
            ("é".as_bytes(), "é"),
            // Where the cursor is, what the terminal is, which colour it has, a name, a click.
            (b"\x1b[12;40Rq\x1b[?62;22cq", "q q"),
            (b"\x1b]11;rgb:0000/0000/0000\x07q\x1b]11;rgb:0/0/0\x1b\\q", "q q"),
            (b"\x1bP>|term 1\x1b\\q\x1b[<0;1;1Mq\x1b[M !!q", "q q q"),
            // Cut off.
            (b"q\x1b[1;", "q"),
            (b"\xff\xfeq", "q"),
        ] {
            let found: Vec<_> = events(typed)
                .into_iter()
                .map(|event| match event {
                    Event::Key(key) => Chord::of(key).to_string(),
                    event => format!("{event:?}"),
                })
                .collect();
            assert_eq!(found.join(" "), expected, "{}", typed.escape_ascii());
        }
    }

    #[test]
    fn a_paste_is_one_thing() {
        let pasted = |text: &str| Event::Paste(text.to_owned());
        assert_eq!(events(b"\x1b[200~a\nb\x1b[201~"), [pasted("a\nb")]);
        assert_eq!(events(b"\x1b[200~cut"), [pasted("cut")]);
    }

    proptest! {
        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(events(&bytes).len() <= bytes.len());
        }
    }
}
