//! Places in a line that may be meant: models count characters badly, and say rather what they see.

use super::position::{byte, character};

/// How many places are tried.
const TRIES: usize = 6;

/// The places near a character, the likeliest first: itself, then the names around it by their distance.
pub fn near(line: &str, at: u32) -> Vec<u32> {
    let here = character(line, byte(line, at));
    let mut names: Vec<_> = names(line).collect();
    names.sort_by_key(|(start, end)| {
        let (start, end) = (character(line, *start), character(line, *end));
        here.saturating_sub(end).max(start.saturating_sub(here))
    });
    let mut places = vec![here];
    places.extend(names.into_iter().map(|(start, _)| character(line, start)));
    limited(places)
}

/// The places where a text is seen, whole names first. Of a path such as `a.b` it is the last name that is meant.
pub fn seen(line: &str, text: &str) -> Vec<u32> {
    let last = last_name(text);
    let (whole, parts): (Vec<_>, Vec<_>) = found(line, text).partition(|at| is_whole(line, text, *at));
    let found = whole.into_iter().chain(parts).flat_map(|at| [at + last, at]);
    limited(found.map(|at| character(line, at)).collect())
}

/// All places where a text stands as a whole name, and nothing that only looks like it: `run` is not in `running`.
pub fn whole(line: &str, text: &str) -> Vec<u32> {
    let last = last_name(text);
    found(line, text).filter(|at| is_whole(line, text, *at)).map(|at| character(line, at + last)).collect()
}

/// The name at a character, or right before it.
pub fn name(line: &str, at: u32) -> Option<&str> {
    let at = byte(line, at);
    names(line).find(|(start, end)| (*start..=*end).contains(&at)).map(|(start, end)| &line[start..end])
}

fn found<'l>(line: &'l str, text: &'l str) -> impl Iterator<Item = usize> + 'l {
    line.match_indices(text).map(|(at, _)| at)
}

fn last_name(text: &str) -> usize {
    names(text).last().map_or(0, |(start, _)| start)
}

/// Whether what is found in a line cuts no name apart.
fn is_whole(line: &str, text: &str, at: usize) -> bool {
    let is_name = |letter: Option<char>| letter.is_some_and(is_name);
    let cuts_before = is_name(text.chars().next()) && is_name(line[..at].chars().next_back());
    let cuts_after = is_name(text.chars().next_back()) && is_name(line[at + text.len()..].chars().next());
    !cuts_before && !cuts_after
}

/// Where the names of a line begin and end, in bytes.
fn names(line: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + line[rest..].find(is_name)?;
        let end = line[start..].find(|letter| !is_name(letter)).map_or(line.len(), |length| start + length);
        rest = end;
        Some((start, end))
    })
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

fn limited(places: Vec<u32>) -> Vec<u32> {
    let mut kept = Vec::new();
    for place in places {
        if kept.len() < TRIES && !kept.contains(&place) {
            kept.push(place);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_near_a_character_are_tried() {
        assert_eq!(near("let x = run(y);", 8), [8, 4, 12, 0]);
        assert_eq!(near("let x = run(y);", 11), [11, 8, 12, 4, 0]);
        assert_eq!(near("let x = run(y);", 99), [15, 12, 8, 4, 0]);
        assert_eq!(near("", 3), [0]);
        assert_eq!(near("𝄞 ab", 1), [0, 3]);
    }

    #[test]
    fn what_is_seen_is_found() {
        assert_eq!(seen("running(run)", "run"), [8, 0]);
        assert_eq!(seen("x = a.b.c(1)", "a.b.c"), [8, 4]);
        assert_eq!(seen("𝄞 = ü", "ü"), [5]);
        assert!(seen("a + b", "c").is_empty());
        assert_eq!(seen("a => b", "=>"), [2]);
    }

    #[test]
    fn only_whole_names_are_the_symbol() {
        assert_eq!(whole("running(run)", "run"), [8]);
        assert_eq!(whole("run(run, rerun)", "run"), [0, 4]);
        assert_eq!(whole("x = a.b.c(1)", "a.b.c"), [8]);
        assert!(whole("running()", "run").is_empty());
        assert!(whole("", "run").is_empty());
    }

    #[test]
    fn a_name_is_known_by_a_place_in_it() {
        for (at, expected) in [(3, "let"), (4, "x"), (5, "x"), (9, "run"), (11, "run"), (12, "y")] {
            assert_eq!(name("let x = run(y);", at), Some(expected), "{at}");
        }
        assert_eq!(name("a = b", 2), None);
        assert_eq!(name("", 0), None);
    }

    proptest! {
        #[test]
        fn no_line_does_harm(line in "\\PC{0,20}", text in "\\PC{1,4}", at in 0u32..30) {
            let end = character(&line, line.len());
            let places = near(&line, at).into_iter().chain(seen(&line, &text)).chain(whole(&line, &text));
            prop_assert!(places.into_iter().all(|place| place <= end));
            prop_assert!(name(&line, at).is_none_or(|name| line.contains(name)));
        }
    }
}
