//! Bytes of a file as text, or the word that they are none.

/// Whether the bytes end where the file does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    OfFile,
    /// The last character may be cut in two.
    Anywhere,
}

/// The text in some bytes; `None` when they are of another kind. Text has no NUL, whatever its encoding allows.
pub(super) fn read(bytes: &[u8], end: End) -> Option<&str> {
    if bytes.contains(&0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() && end == End::Anywhere => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// What stands in the place of a file that is no text.
pub(super) fn skipped(size: u64) -> String {
    format!("[skipped: not UTF-8 text ({size} bytes)]")
}

/// Begins a line.
pub(super) fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// As many bytes of a text as fit, without cutting a character.
pub(super) fn at_most(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
