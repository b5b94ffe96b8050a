//! Which of many texts a few letters mean, the best first.
//!
//! A key has to be answered at once, among fifty thousand texts too: a cheap look leaves out what cannot match, whoever
//! types on narrows what was left before, and only the likeliest are scored with care.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// So many texts are scored with care.
const SCORED: usize = 1_000;

/// Texts to search, and what the last query left of them.
#[derive(Debug)]
pub(crate) struct Fuzzy {
    texts: Vec<Text>,
    /// The letters of the last query, in small.
    query: String,
    /// What it may match, in the order of the texts.
    left: Vec<usize>,
    matcher: Matcher,
}

#[derive(Debug)]
struct Text {
    whole: String,
    small: String,
    /// Which bytes are in it, folded into so many bits.
    letters: u64,
    /// Where the last part of a path begins in `small`.
    name: usize,
}

impl Text {
    fn new(whole: String) -> Text {
        let small = whole.to_lowercase();
        let name = small.rfind('/').map_or(0, |slash| slash + 1);
        Text { letters: letters(&small), whole, small, name }
    }

    /// How likely the letters mean this text, less is better; `None` when they do not follow each other in it.
    fn likelihood(&self, query: &[u8]) -> Option<(bool, usize, usize)> {
        let (mut left, mut end) = (query, None);
        for (place, byte) in self.small.bytes().enumerate().rev() {
            let Some((last, before)) = left.split_last() else { break };
            if byte == *last {
                let end = *end.get_or_insert(place);
                left = before;
                if left.is_empty() {
                    return Some((place < self.name, end - place, self.small.len()));
                }
            }
        }
        left.is_empty().then_some((false, 0, self.small.len()))
    }
}

fn letters(text: &str) -> u64 {
    text.bytes().fold(0, |letters, byte| letters | 1 << (byte % 64))
}

impl Fuzzy {
    pub(crate) fn new(texts: Vec<String>) -> Fuzzy {
        Fuzzy {
            left: (0..texts.len()).collect(),
            texts: texts.into_iter().map(Text::new).collect(),
            query: String::new(),
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
        }
    }

    pub(crate) fn text(&self, index: usize) -> &str {
        &self.texts[index].whole
    }

    /// The places of so many texts that match best; all match an empty query, in their own order.
    pub(crate) fn best(&mut self, query: &str, count: usize) -> Vec<usize> {
        let small = query.to_lowercase();
        if !small.starts_with(&self.query) {
            self.left = (0..self.texts.len()).collect();
        }
        let mut likely = self.narrow(&small);
        self.query = small;
        if query.is_empty() {
            return self.left.iter().copied().take(count).collect();
        }
        keep_least(&mut likely, SCORED.max(count), |(likelihood, index)| (*likelihood, *index));
        let atom = Atom::new(query, CaseMatching::Smart, Normalization::Never, AtomKind::Fuzzy, false);
        let (texts, matcher) = (&self.texts, &mut self.matcher);
        let mut buffer = Vec::new();
        let score = |(_, index): (_, usize)| {
            let text = Utf32Str::new(&texts[index].whole, &mut buffer);
            Some((atom.score(text, matcher)?, index))
        };
        let mut scored: Vec<(u16, usize)> = likely.into_iter().filter_map(score).collect();
        // What is typed in full, as a whole or as one of its words, comes first; then the better match and the shorter text.
        let rank = |(score, index): &(u16, usize)| {
            let whole = &texts[*index].whole;
            let is_typed = whole == query || whole.split(' ').any(|word| word == query);
            (!is_typed, Reverse(*score), whole.len(), *index)
        };
        keep_least(&mut scored, count, rank);
        scored.sort_unstable_by_key(rank);
        scored.into_iter().map(|(_, index)| index).collect()
    }

    /// Leaves out what cannot match; how likely each of the others is.
    fn narrow(&mut self, query: &str) -> Vec<((bool, usize, usize), usize)> {
        let wanted = letters(query);
        let mut likely = Vec::with_capacity(self.left.len());
        let texts = &self.texts;
        self.left.retain(|index| {
            let text = &texts[*index];
            let has_all = text.letters & wanted == wanted;
            let likelihood = if has_all { text.likelihood(query.as_bytes()) } else { None };
            likely.extend(likelihood.map(|likelihood| (likelihood, *index)));
            likelihood.is_some()
        });
        likely
    }

    /// How many texts the next letter has to look at.
    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }
}

/// Keeps so many of the least, in any order.
fn keep_least<T, K: Ord>(items: &mut Vec<T>, count: usize, rank: impl Fn(&T) -> K) {
    if count > 0 && items.len() > count {
        items.select_nth_unstable_by_key(count - 1, rank);
    }
    items.truncate(count);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts() -> Vec<String> {
        ["src/tui/model.rs", "src/main.rs", "docs/main.md", "README.md", "src/domain.rs"]
            .map(ToOwned::to_owned)
            .to_vec()
    }

    fn found(fuzzy: &mut Fuzzy, query: &str, count: usize) -> Vec<String> {
        fuzzy.best(query, count).into_iter().map(|index| fuzzy.text(index).to_owned()).collect()
    }

    #[test]
    fn the_best_match_comes_first() {
        for (query, expected) in [
            ("", &["src/tui/model.rs", "src/main.rs"][..]),
            ("main", &["src/main.rs", "docs/main.md"]),
            ("main.md", &["docs/main.md"]),
            ("READ", &["README.md"]),
            ("README.md", &["README.md"]),
            ("zzz", &[]),
        ] {
            assert_eq!(found(&mut Fuzzy::new(texts()), query, 2), expected, "{query}");
        }
    }

    #[test]
    fn letters_that_are_added_look_only_at_what_is_left() {
        let names = (0..50_000).map(|number| format!("crates/part{:03}/src/file{number:05}.rs", number % 500));
        let mut fuzzy = Fuzzy::new(names.collect());
        let mut left = Vec::new();
        for query in ["0", "04", "049", "0499", "04999", "049999"] {
            fuzzy.best(query, 8);
            left.push(fuzzy.left());
        }
        assert!(left.is_sorted_by(|more, less| more >= less), "{left:?}");
        assert!(left[4] < 1_000, "{left:?}");
        assert_eq!(found(&mut fuzzy, "file00000", 1), ["crates/part000/src/file00000.rs"]);
    }

    proptest! {
        #[test]
        fn narrowing_finds_what_a_search_from_the_start_finds(
            texts in proptest::collection::vec("[a-cA-C/ é]{0,8}", 0..30),
            query in "[a-cA-C]{0,5}",
        ) {
            let mut narrowed = Fuzzy::new(texts.clone());
            for (end, letter) in query.char_indices() {
                narrowed.best(&query[..end + letter.len_utf8()], 5);
            }
            prop_assert_eq!(narrowed.best(&query, 5), Fuzzy::new(texts).best(&query, 5));
        }
    }
}
