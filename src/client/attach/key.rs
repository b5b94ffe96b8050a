//! The key that comes back, in all the ways that terminals spell it, and what a program did to the screen. Pure.

use std::ops::Range;

/// Ctrl+] as a plain byte.
const PLAIN: u8 = 0x1d;

/// The code of `]`, which terminals spell out once a program has asked for it.
const BRACKET: u32 = 93;

/// The bit for Ctrl in a spelled key.
const CTRL: u32 = 4;

/// Everything a program may have switched on that a shell does not switch off: colours, the mouse, pasting in brackets,
/// reports of focus, spelled keys, a hidden cursor, keys of the application kind, scrolling in a part of the screen. An
/// update that was held back until it is whole comes first: it would hold back all the rest.
const RESET: &[u8] =
    b"\x1b[?2026l\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?2004l\x1b[?1004l\x1b[<u\
    \x1b[>4;0m\x1b[?25h\x1b[?1l\x1b>\x1b[?7h\x1b7\x1b[r\x1b8";

/// The alternate screen, which has a way back of its own.
const ENTER: &[u8] = b"\x1b[?1049h";
const LEAVE: &[u8] = b"\x1b[?1049l";

/// Where the way back stands among bytes that were typed.
pub(super) fn way_back(bytes: &[u8]) -> Option<Range<usize>> {
    (0..bytes.len()).find_map(|at| match bytes[at] {
        PLAIN => Some(at..at + 1),
        _ => spelled(&bytes[at..]).map(|length| at..at + length),
    })
}

/// How long the way back is where it is spelled out at the beginning of these bytes: `ESC [ 93 ; modifiers u`, with
/// other codes of the key and kinds of event after colons, or `ESC [ 27 ; modifiers ; 93 ~`.
fn spelled(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"\x1b[")?;
    let end = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    let text = std::str::from_utf8(&rest[..end]).ok()?;
    let parts: Vec<Vec<u32>> = text
        .split(';')
        .map(|part| part.split(':').map(|number| number.parse().unwrap_or_default()).collect())
        .collect();
    let first = |at: usize| parts.get(at).and_then(|part: &Vec<u32>| part.first()).copied().unwrap_or_default();
    let (code, modifiers, kind) = match rest[end] {
        b'u' => (first(0), first(1), parts.get(1).and_then(|part| part.get(1)).copied().unwrap_or(1)),
        b'~' if first(0) == 27 => (first(2), first(1), 1),
        _ => return None,
    };
    let is_release = kind == 3;
    let is_meant = code == BRACKET && !is_release && modifiers.saturating_sub(1) & CTRL != 0;
    is_meant.then_some(bytes.len() - rest.len() + end + 1)
}

/// What a program did to the screen, as far as it has to be undone.
#[derive(Debug, Default)]
pub(super) struct Screen {
    is_other: bool,
    /// The end of what was shown, in which a sequence may have begun.
    tail: Vec<u8>,
}

impl Screen {
    /// Looks at what is shown.
    pub(super) fn follow(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        let last = |wanted: &[u8]| self.tail.windows(wanted.len()).rposition(|window| window == wanted);
        match (last(ENTER), last(LEAVE)) {
            (Some(entered), Some(left)) => self.is_other = entered > left,
            (Some(_), None) => self.is_other = true,
            (None, Some(_)) => self.is_other = false,
            (None, None) => {}
        }
        let kept = self.tail.len().min(ENTER.len() - 1);
        self.tail.drain(..self.tail.len() - kept);
    }

    /// What puts the terminal back.
    pub(super) fn reset(&self) -> Vec<u8> {
        match self.is_other {
            true => [RESET, LEAVE].concat(),
            false => [RESET, b"\r\n"].concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_way_back_is_known_in_every_spelling() {
        for (typed, expected) in [
            (&b"abc"[..], None),
            (b"\x1d", Some(0..1)),
            (b"ab\x1dcd", Some(2..3)),
            (b"\x1b[93;5u", Some(0..7)),
            (b"x\x1b[93;5uq", Some(1..8)),
            (b"\x1b[93:125;5:1u", Some(0..13)),
            (b"\x1b[93;69u", Some(0..8)),
            (b"\x1b[27;5;93~", Some(0..10)),
            // Released, without Ctrl, another key, cut.
            (b"\x1b[93;5:3u", None),
            (b"\x1b[93;1u", None),
            (b"\x1b[93u", None),
            (b"\x1b[91;5u", None),
            (b"\x1b[27;5;91~", None),
            (b"\x1b[93;5", None),
            (b"\x1b[A", None),
        ] {
            assert_eq!(way_back(typed), expected, "{}", typed.escape_ascii());
        }
    }

    #[test]
    fn a_screen_of_its_own_is_left() {
        for (shown, is_other) in [
            (&[&b"plain"[..]][..], false),
            (&[b"\x1b[?1049h"], true),
            (&[b"a\x1b[?10", b"49h"], true),
            (&[b"\x1b[?1049h\x1b[?1049l"], false),
            (&[b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[?1049h"], true),
        ] {
            let mut screen = Screen::default();
            shown.iter().for_each(|bytes| screen.follow(bytes));
            assert_eq!(screen.reset().ends_with(LEAVE), is_other, "{shown:?}");
            // A terminal that holds an update back shows none of it.
            assert!(screen.reset().starts_with(b"\x1b[?2026l"), "{shown:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let found = way_back(&bytes);
            prop_assert!(found.is_none_or(|found| !found.is_empty() && found.end <= bytes.len()));
            let mut screen = Screen::default();
            bytes.chunks(3).for_each(|piece| screen.follow(piece));
            prop_assert!(screen.tail.len() < ENTER.len());
        }
    }
}
