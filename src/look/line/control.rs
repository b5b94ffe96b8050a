//! What an agent, a tool or a repository wrote must not drive the terminal, nor show something else than it is.

use unicode_width::UnicodeWidthChar;

/// Columns between two stops of the tabulator.
const TAB: usize = 4;

/// A letter carries a few marks; hundreds of them would paint over the rows around it.
const MARKS: usize = 8;

/// Stands for a character that would do something.
const HARMLESS: char = '\u{fffd}';

/// The first line of a text, made harmless.
pub(crate) fn one_line(text: &str) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    visible(first)
}

/// The name of a file, whole and on one line; an end of a line in it shows that it is there.
pub(crate) fn file_name(path: &str) -> String {
    visible(&path.replace('\n', &HARMLESS.to_string()))
}

/// The text with nothing in it that a terminal obeys: control characters and those that turn the direction of writing
/// show that they are there, what has no width is left out, tabs become blanks. Only the ends of lines stay.
pub(crate) fn visible(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let (mut column, mut marks) = (0, 0);
    for c in text.chars() {
        match c {
            '\n' => {
                shown.push(c);
                (column, marks) = (0, 0);
            }
            '\t' => {
                let blanks = TAB - column % TAB;
                shown.extend(std::iter::repeat_n(' ', blanks));
                (column, marks) = (column + blanks, 0);
            }
            c if is_obeyed(c) => {
                shown.push(HARMLESS);
                (column, marks) = (column + 1, 0);
            }
            c if is_hidden(c) => {}
            c => {
                let width = c.width().unwrap_or(0);
                marks = if width == 0 { marks + 1 } else { 0 };
                if marks <= MARKS {
                    shown.push(c);
                    column += width;
                }
            }
        }
    }
    shown
}

/// JSON in which every character that `visible` changes is written as an escape; the value stays the same.
pub(crate) fn escape_json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c != '\n' && (is_obeyed(c) || is_hidden(c)) {
            // Outside of strings JSON has no such character.
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}"))),
            false => escaped.push(c),
        }
    }
    escaped
}

/// The output of a program without its colours and cursor moves; a line that was written over is what it became.
pub(crate) fn unstyled(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        plain.push_str(&rest[..start]);
        rest = after_sequence(&rest[start + 1..]);
    }
    plain.push_str(rest);
    let last = |line: &str| {
        let line = line.trim_end_matches('\r');
        visible(line.rsplit('\r').next().unwrap_or_default())
    };
    plain.split('\n').map(last).collect::<Vec<_>>().join("\n")
}

/// What follows an escape sequence whose escape is already gone.
fn after_sequence(rest: &str) -> &str {
    let mut letters = rest.char_indices();
    match letters.next() {
        Some((_, '[')) => match letters.find(|(_, c)| !matches!(c, '\u{20}'..='\u{3f}')) {
            Some((end, c @ '\u{40}'..='\u{7e}')) => &rest[end + c.len_utf8()..],
            // A sequence that is broken off hides nothing behind it.
            Some((end, _)) => &rest[end..],
            None => "",
        },
        // A text for the terminal itself, such as its title; it ends with a bell or with `ESC \`, on its line.
        Some((_, ']' | 'P' | '_' | '^' | 'X')) => match letters.find(|(_, c)| matches!(c, '\u{7}' | '\u{1b}' | '\n')) {
            Some((end, '\u{7}')) => &rest[end + 1..],
            Some((end, '\u{1b}')) => rest[end + 1..].strip_prefix('\\').unwrap_or(&rest[end..]),
            Some((end, _)) => &rest[end..],
            None => "",
        },
        // A few letters name a set of characters: `ESC ( B`.
        Some((_, ' '..='~')) => match rest.find(|c| !matches!(c, ' '..='/')) {
            Some(end) if matches!(rest.as_bytes()[end], b'0'..=b'~') => &rest[end + 1..],
            Some(end) => &rest[end..],
            None => "",
        },
        Some(_) | None => rest,
    }
}

/// A terminal, or whoever lays out the text, does something on this character.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A character that nobody sees. Joiners are among them: terminals disagree about the width of what they join.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escaped_json_has_the_same_value_and_drives_no_terminal() {
        let value = serde_json::json!({"k\u{9b}": ["\u{9b}2J\u{7f}", "\u{202e}é\n", "\u{e0041}\u{200b}\\\""]});
        for text in [value.to_string(), format!("{value:#}")] {
            let escaped = escape_json(&text);
            assert!(!escaped.contains(|c| c != '\n' && (is_obeyed(c) || is_hidden(c))), "{escaped}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
        assert_eq!(escape_json("[\"\u{9b}\u{202e}\u{e0041}é\"]"), r#"["\u009b\u202e\udb40\udc41é"]"#);
    }

    #[test]
    fn escapes_of_others_do_not_reach_the_terminal() {
        for (text, expected) in [
            ("a\u{1b}[31mred\u{7}x\ny\u{9b}", "a\u{fffd}[31mred\u{fffd}x\ny\u{fffd}"),
            ("if a \u{202e}} \u{2066}b\u{2069}\u{200f}\u{61c}", "if a \u{fffd}} \u{fffd}b\u{fffd}\u{fffd}\u{fffd}"),
            ("pass\u{200b}word\u{feff} a\u{200d}b", "password ab"),
            ("\u{e0041}x\u{2028}", "\u{fffd}x\u{fffd}"),
            ("\ta\tbc\n木\tx", "    a   bc\n木  x"),
        ] {
            assert_eq!(visible(text), expected);
        }
        assert_eq!(one_line("\n  first\r\nsecond"), "first");
        assert_eq!(file_name(" a\nb\u{1b}.rs"), " a\u{fffd}b\u{fffd}.rs");
    }

    #[test]
    fn a_letter_keeps_a_few_marks() {
        let heaped = format!("a{}b\u{301}", "\u{301}".repeat(10_000));
        assert_eq!(visible(&heaped), format!("a{}b\u{301}", "\u{301}".repeat(MARKS)));
    }

    #[test]
    fn the_colours_of_a_program_are_left_out() {
        for (text, expected) in [
            ("\u{1b}[1;31merror\u{1b}[0m: no", "error: no"),
            ("\u{1b}]0;title\u{7}x \u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "x link"),
            ("10%\r50%\r100%\r\ndone\r\n", "100%\ndone\n"),
            ("\u{1b}(Bx\u{1b}c\u{1b}", "x"),
            ("\u{1b}[12", ""),
            ("\u{1b}]open\nnext", "\nnext"),
        ] {
            assert_eq!(unstyled(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_obeyed_is_left(text in any::<String>()) {
            for shown in [visible(&text), unstyled(&text)] {
                prop_assert!(!shown.chars().any(|c| c != '\n' && (is_obeyed(c) || is_hidden(c))), "{shown:?}");
            }
            prop_assert_eq!(visible(&visible(&text)), visible(&text));
        }
    }
}
