//! The output of tools, made fit to be kept and shown.

/// How much of one call's output is kept. Lines of many megabytes happen.
pub(super) const LIMIT: usize = 64 * 1024;

/// Keeps the two ends of a long text and marks what is left out.
pub(super) fn bounded(text: &str) -> String {
    if text.len() <= LIMIT {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(LIMIT / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - LIMIT / 2)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} bytes left out]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_keeps_both_ends() {
        assert_eq!(bounded("short"), "short");
        let long = format!("START{}END", "é".repeat(LIMIT));
        let kept = bounded(&long);
        assert!(kept.len() < LIMIT + 100);
        assert!(kept.starts_with("START") && kept.ends_with("END") && kept.contains("bytes left out]"));
    }
}
