//! Which of many texts a few letters mean, the best first.
//!
//! Whoever types on narrows what was found before, so that a key costs less the longer the query is.

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Texts to search, and what the last query left of them.
#[derive(Debug)]
pub(crate) struct Fuzzy {
    texts: Vec<String>,
    query: String,
    /// What the query matches, in the order of the texts.
    left: Vec<usize>,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl Default for Fuzzy {
    fn default() -> Fuzzy {
        Fuzzy::new(Vec::new())
    }
}

impl Fuzzy {
    pub(crate) fn new(texts: Vec<String>) -> Fuzzy {
        Fuzzy {
            left: (0..texts.len()).collect(),
            texts,
            query: String::new(),
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            buffer: Vec::new(),
        }
    }

    pub(crate) fn text(&self, index: usize) -> &str {
        &self.texts[index]
    }

    /// The places of so many texts that match best; all match an empty query, in their own order.
    pub(crate) fn best(&mut self, query: &str, count: usize) -> Vec<usize> {
        if !query.starts_with(&self.query) {
            self.left = (0..self.texts.len()).collect();
        }
        self.query = query.to_owned();
        let atom = Atom::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy, false);
        let (texts, matcher, buffer) = (&self.texts, &mut self.matcher, &mut self.buffer);
        let mut scored = Vec::with_capacity(self.left.len());
        self.left.retain(|index| {
            let score = atom.score(Utf32Str::new(&texts[*index], buffer), matcher);
            scored.extend(score.map(|score| (score, *index)));
            score.is_some()
        });
        if query.is_empty() {
            return self.left.iter().copied().take(count).collect();
        }
        // What is typed in full comes first, then the better match, then the shorter text.
        let rank = |(score, index): &(u16, usize)| {
            (texts[*index] != query, std::cmp::Reverse(*score), texts[*index].len(), *index)
        };
        if scored.len() > count && count > 0 {
            scored.select_nth_unstable_by_key(count - 1, rank);
        }
        scored.truncate(count);
        scored.sort_unstable_by_key(rank);
        scored.into_iter().map(|(_, index)| index).collect()
    }

    /// How many texts the next letter has to look at.
    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }
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
