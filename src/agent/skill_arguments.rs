//! Arguments of slash commands and prompts of other programs: `$ARGUMENTS` and `$1` in their texts. Pure.

use std::borrow::Cow;

/// The placeholder for everything.
const ALL: &str = "ARGUMENTS";

/// Which argument a number in a text stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentNumbers {
    /// The text takes no arguments; a `$` means nothing in it.
    None,
    /// `$0` is the first one, as in Claude Code, which also has `$ARGUMENTS[0]`.
    FromZero,
    /// `$1` is the first one, as in Codex.
    FromOne,
}

/// A text with the arguments in the place of `$ARGUMENTS` and of the numbers. A number without an argument stays as it is.
pub(super) fn fill_in_arguments<'a>(text: &'a str, numbers: ArgumentNumbers, arguments: &str) -> Cow<'a, str> {
    let first = match numbers {
        ArgumentNumbers::None => return Cow::Borrowed(text),
        ArgumentNumbers::FromZero => 0,
        ArgumentNumbers::FromOne => 1,
    };
    let words = split_words(arguments);
    let word_at = |digits: &str| words.get(digits.parse::<usize>().ok()?.checked_sub(first)?);
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let (value, length) = match after.strip_prefix(ALL) {
            Some(behind) => {
                match read_index(behind).and_then(|index| Some((word_at(index)?, index.len() + "[]".len()))) {
                    Some((word, index)) => (Some(word.as_str()), ALL.len() + index),
                    None => (Some(arguments), ALL.len()),
                }
            }
            None => {
                let digits = after.len() - after.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
                (word_at(&after[..digits]).map(String::as_str), digits)
            }
        };
        match value {
            Some(value) => filled.push_str(value),
            None => filled.extend(["$", &after[..length]]),
        }
        rest = &after[length..];
    }
    filled.push_str(rest);
    Cow::Owned(filled)
}

/// The number in `[0]` at the beginning of a text.
fn read_index(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.split_once(']').map(|(index, _)| index)
}

/// The words of a text, as a shell takes them apart; a quote that is not closed is a letter like others.
fn split_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        let quoted = match letter {
            '"' | '\'' => text[at + 1..].split_once(letter).map(|(inside, _)| inside),
            _ => None,
        };
        match (quoted, letter.is_whitespace()) {
            (Some(inside), _) => {
                word.get_or_insert_default().push_str(inside);
                letters.nth(inside.chars().count());
            }
            (None, true) => words.extend(word.take()),
            (None, false) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_get_what_follows_the_name() {
        use ArgumentNumbers::{FromOne, FromZero, None};
        for (numbers, text, arguments, expected) in [
            (FromZero, "Fix $ARGUMENTS now.", "issue 12\nsoon", "Fix issue 12\nsoon now."),
            (FromZero, "$0 then $1, not $2.", "a 'b c'", "a then b c, not $2."),
            (FromZero, "$ARGUMENTS[1] $ARGUMENTS[7]", "a b", "b a b[7]"),
            (FromOne, "$1 then $2, not $3 or $0.", "\"a b\" it's", "a b then it's, not $3 or $0."),
            (FromOne, "Review $ARGUMENTS", "", "Review "),
            (FromOne, "cost $ and $x, $", "a", "cost $ and $x, $"),
            (None, "awk '{print $1}' $ARGUMENTS", "a", "awk '{print $1}' $ARGUMENTS"),
        ] {
            assert_eq!(fill_in_arguments(text, numbers, arguments), expected, "{text}");
        }
    }
}
