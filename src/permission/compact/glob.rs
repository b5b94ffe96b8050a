//! Patterns with `*` and `?`, as permission maps and tool lists use them. Everything else in a pattern is itself.

/// Whether a text is a pattern and not one name.
pub fn is_pattern(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'*' | b'?'))
}

/// Whether a pattern is the whole of a text: `*` is any run of characters, `/` and a leading dot included, `?` is one.
pub fn matches(pattern: &str, text: &str) -> bool {
    // All that is looked for is ASCII, which no part of another character ever is.
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    // Where to go on when the run of the last star has to be longer.
    let mut retry: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at + 1, read));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                read += character(&text[read..]);
            }
            Some(wanted) if *wanted == text[read] => {
                at += 1;
                read += 1;
            }
            Some(_) | None => {
                let Some((after_star, taken)) = retry else { return false };
                let next = taken + character(&text[taken..]);
                retry = Some((after_star, next));
                (at, read) = (after_star, next);
            }
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
}

/// How long the first character is.
fn character(text: &[u8]) -> usize {
    let is_rest = |byte: &&u8| **byte & 0xC0 == 0x80;
    1 + text.iter().skip(1).take_while(is_rest).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stars_cross_directories_and_dots_and_nothing_else_is_special() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "a/b/.c"),
            ("*.env", "deep/dir/.env"),
            ("src/*", "src/a/b.rs"),
            ("a?c", "a/c"),
            ("git push *", "git push origin main"),
            ("**", "x"),
            ("a*b*c", "a__b_bc"),
            ("*.env.*", ".env.example"),
            ("[a-z]+", "[a-z]+"),
            ("é?", "éß"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("?", ""), ("a", "A"), ("*.env", ".envrc"), ("[a-z]+", "abc"), ("w.it", "wait"), ("a*b", "ac")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_a_pattern_for_itself(text in "[^*?]{0,24}", cut in 0_usize..24) {
            prop_assert!(matches(&text, &text));
            let cut = text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at);
            let starred = format!("{}*{}", &text[..cut], &text[cut..]);
            prop_assert!(matches(&starred, &text));
        }

        #[test]
        fn many_stars_take_no_time(stars in 1_usize..200) {
            let pattern = "*a".repeat(stars) + "b";
            prop_assert!(!matches(&pattern, &"a".repeat(2000)));
        }
    }
}
