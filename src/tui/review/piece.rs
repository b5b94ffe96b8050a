//! A line that is too long to be shown at once: its beginning, and the rest in pieces. Pure.

use std::ops::Range;

/// A line up to this length is shown as it is.
const WHOLE: usize = 1200;

/// Bytes of one piece.
const PIECE: usize = 1000;

/// What is shown of a line before its rest is asked for.
pub(super) fn beginning(text: &str) -> &str {
    match text.len() {
        ..=WHOLE => text,
        _ => &text[..text.floor_char_boundary(PIECE)],
    }
}

/// Where the rest of a line is, a piece at a time; nothing for a line that is shown as it is.
pub(super) fn rest(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = beginning(text).len();
    std::iter::from_fn(move || {
        let from = at;
        at = text.floor_char_boundary((from + PIECE).min(text.len()));
        (from < at).then_some(from..at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_pieces_are_the_line(text in "[aü漢\u{1f333}]{0,3000}") {
            let pieces: Vec<&str> = rest(&text).map(|piece| &text[piece]).collect();
            prop_assert_eq!(beginning(&text).to_owned() + &pieces.concat(), text.clone());
            prop_assert!(pieces.iter().all(|piece| piece.len() <= PIECE && !piece.is_empty()));
            prop_assert_eq!(pieces.is_empty(), text.len() <= WHOLE);
        }
    }
}
