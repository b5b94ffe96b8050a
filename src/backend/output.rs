//! The output of tools, made fit to be kept and shown.

/// How much of one call's output is kept. Lines of many megabytes happen.
pub(super) const LIMIT: usize = 64 * 1024;

/// Keeps the two ends of a long text and marks what is left out, with the lines of which nothing is kept.
pub(super) fn bounded(text: &str) -> String {
    if text.len() <= LIMIT {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(LIMIT / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - LIMIT / 2)..];
    let left_out = &text[head.len()..text.len() - tail.len()];
    let lines = left_out.matches('\n').count().saturating_sub(1);
    format!("{head}\n[{lines} lines, {} bytes left out]\n{tail}", left_out.len())
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
        assert!(kept.starts_with("START") && kept.ends_with("END"));
        assert!(kept.contains("\n[0 lines, 65546 bytes left out]\n"), "{kept}");
    }

    #[test]
    fn the_mark_counts_the_lines_of_which_nothing_is_kept() {
        // The cuts go through a line on either side.
        let long = "0123456789\n".repeat(10_000);
        let kept = bounded(&long);
        let (head, rest) = kept.split_once("\n[").unwrap();
        let (left_out, tail) = rest.split_once(" lines, ").unwrap();
        let (_, tail) = tail.split_once(" bytes left out]\n").unwrap();
        let lines = head.lines().count() + left_out.parse::<usize>().unwrap() + tail.lines().count();
        assert_eq!(lines, 10_000);
    }
}
