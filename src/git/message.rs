//! Commit messages as they are written: text that an agent worded and that `git log` sends to a terminal.

/// A message without the characters that steer a terminal or the direction of text. Line ends and tabs stay.
pub(super) fn without_controls(message: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(message.len());
    for chunk in message.utf8_chunks() {
        clean.extend(chunk.valid().chars().filter(|c| is_kept(*c)).collect::<String>().into_bytes());
        // Another encoding: a byte below 0xa0 is a control character in all that extend ASCII by one byte.
        clean.extend(chunk.invalid().iter().filter(|byte| **byte >= 0xa0));
    }
    clean
}

/// The same for text.
pub(super) fn printable(message: &str) -> String {
    message.chars().filter(|c| is_kept(*c)).collect()
}

fn is_kept(c: char) -> bool {
    let turns_text = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(c, '\n' | '\t') || !(c.is_control() || turns_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_steers_a_terminal_goes() {
        for (message, expected) in [
            ("Add a\n\n\tbody – ünï 👩‍💻\n", "Add a\n\n\tbody – ünï 👩‍💻\n"),
            ("\x1b[2J\x1b]0;title\x07x", "[2J]0;titlex"),
            ("a\r\nb\u{9b}31mc\u{7f}", "a\nb31mc"),
            ("\u{202e}evil\u{2066}", "evil"),
        ] {
            assert_eq!(printable(message), expected);
            assert_eq!(without_controls(message.as_bytes()), expected.as_bytes());
        }
        assert_eq!(without_controls(b"caf\xe9 \x9b31m\x1b[0m"), b"caf\xe9 31m[0m");
    }
}
