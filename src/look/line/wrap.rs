//! Lines broken to a width: at blanks, and inside of words that are longer than a row.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{Line, Tone, columns_of};

/// A wide character needs that much, so no row is narrower.
const NARROWEST: usize = 2;

impl Line {
    /// The line as rows of at most so many columns (two at least), with its tones. A row begins with a word: the blanks at
    /// which the line is broken are left out. Takes time as the text is long, whatever is in it.
    pub(crate) fn wrap(&self, columns: usize) -> Vec<Line> {
        let mut rows = Rows { columns: columns.max(NARROWEST), ..Rows::default() };
        for (tone, text) in self.spans() {
            let mut rest = text;
            while !rest.is_empty() {
                let blanks = rest.len() - rest.trim_start_matches(' ').len();
                let (run, tail) = match blanks {
                    0 => rest.split_at(rest.find(' ').unwrap_or(rest.len())),
                    blanks => rest.split_at(blanks),
                };
                match blanks {
                    0 => rows.word.push(tone, run),
                    _ => {
                        rows.place_word();
                        rows.gap.push(tone, run);
                    }
                }
                rest = tail;
            }
        }
        rows.finish()
    }
}

/// Parts of the line, not placed yet.
#[derive(Default)]
struct Run<'a> {
    parts: Vec<(Tone, &'a str)>,
    width: usize,
}

impl<'a> Run<'a> {
    fn push(&mut self, tone: Tone, text: &'a str) {
        self.parts.push((tone, text));
        self.width += columns_of(text);
    }
}

#[derive(Default)]
struct Rows<'a> {
    columns: usize,
    done: Vec<Line>,
    row: Line,
    used: usize,
    /// Blanks between the row and the word.
    gap: Run<'a>,
    /// A word may have several tones.
    word: Run<'a>,
}

impl<'a> Rows<'a> {
    fn place_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.parts.is_empty() {
            return;
        }
        let gap = std::mem::take(&mut self.gap);
        let fits = self.used + gap.width + word.width <= self.columns;
        let is_long = word.width > self.columns;
        if fits || (is_long && self.used + gap.width + NARROWEST <= self.columns) {
            self.put(gap);
        } else if self.used > 0 {
            self.end_row();
        }
        if is_long { self.split(&word) } else { self.put(word) }
    }

    fn put(&mut self, run: Run<'a>) {
        run.parts.into_iter().for_each(|(tone, text)| self.row.append(tone, text));
        self.used += run.width;
    }

    /// Fills row after row.
    fn split(&mut self, word: &Run<'a>) {
        for (tone, text) in &word.parts {
            let mut start = 0;
            for (at, cluster) in self.clusters(text) {
                let width = cluster.width();
                if self.used + width > self.columns {
                    self.row.append(*tone, &text[start..at]);
                    self.end_row();
                    start = at;
                }
                self.used += width;
            }
            self.row.append(*tone, &text[start..]);
        }
    }

    /// What is not split, with its place. Marks can make one character as wide as they like: such a one is split before
    /// each of them.
    fn clusters<'b>(&self, text: &'b str) -> impl Iterator<Item = (usize, &'b str)> + use<'b> {
        let columns = self.columns;
        text.grapheme_indices(true).flat_map(move |(at, cluster)| {
            let inner: Box<dyn Iterator<Item = (usize, &str)>> = match cluster.width() > columns {
                true => Box::new(cluster.char_indices().map(|(from, c)| (from, &cluster[from..from + c.len_utf8()]))),
                false => Box::new(std::iter::once((0, cluster))),
            };
            inner.map(move |(from, piece)| (at + from, piece))
        })
    }

    fn end_row(&mut self) {
        self.done.push(std::mem::take(&mut self.row));
        self.used = 0;
    }

    fn finish(mut self) -> Vec<Line> {
        self.place_word();
        if self.used > 0 || self.done.is_empty() {
            self.end_row();
        }
        self.done
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::look::line::visible;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        let rows: Vec<_> = Line::new().plain(text).wrap(columns).iter().map(Line::text).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn lines_break_at_blanks() {
        check("", 10, &[""]);
        check("    ", 3, &[""]);
        check("one two three", 7, &["one two", "three"]);
        check("one  two", 3, &["one", "two"]);
        check("  indented words", 10, &["  indented", "words"]);
        check("      indented", 10, &["indented"]);
        check("a b ", 3, &["a b"]);
    }

    #[test]
    fn words_longer_than_a_row_are_split() {
        check("abcdefgh", 3, &["abc", "def", "gh"]);
        check("x abcdefgh y", 5, &["x abc", "defgh", "y"]);
        check("word abcdefgh", 5, &["word", "abcde", "fgh"]);
        check("木の名前", 5, &["木の", "名前"]);
        check("木の", 0, &["木", "の"]);
        check("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]);
        check("木\u{d4a}\u{d4a}\u{d4a}", 3, &["木\u{d4a}", "\u{d4a}\u{d4a}"]);
    }

    #[test]
    fn tones_stay_with_their_words() {
        let line = Line::new().plain("say ").strong("wh").dim("at you").strong("");
        let rows: Vec<Vec<_>> =
            line.wrap(5).iter().map(|row| row.spans().map(|(tone, text)| (tone, text.to_owned())).collect()).collect();
        let span = |tone, text: &str| (tone, text.to_owned());
        assert_eq!(
            rows,
            [
                vec![span(Tone::Plain, "say")],
                vec![span(Tone::Strong, "wh"), span(Tone::Dim, "at")],
                vec![span(Tone::Dim, "you")]
            ]
        );
    }

    #[test]
    fn a_line_of_megabytes_is_no_harder_than_many_lines() {
        let rows = Line::new().plain("x".repeat(1_000_000)).wrap(100);
        assert_eq!(rows.len(), 10_000);
    }

    proptest! {
        #[test]
        fn every_row_fits_and_nothing_is_lost(text in any::<String>(), cut in 0usize..40, columns in 2usize..30) {
            let text = visible(&text).replace('\n', " ");
            let cut = text.floor_char_boundary(cut);
            let line = Line::new().plain(&text[..cut]).strong(&text[cut..]);
            let rows = line.wrap(columns);
            // A few characters are three columns wide by themselves.
            let fits = |row: &Line| row.width() <= columns || row.text().chars().count() == 1;
            prop_assert!(rows.iter().all(fits), "{rows:?}");
            let bare = |text: &str| text.replace(' ', "");
            prop_assert_eq!(bare(&rows.iter().map(Line::text).collect::<String>()), bare(&text));
        }

        #[test]
        fn wrapping_again_changes_nothing(text in "[a-c木 ]{0,60}", columns in 2usize..12) {
            for row in Line::new().plain(text).wrap(columns) {
                prop_assert!(row.wrap(columns).len() == 1);
            }
        }
    }
}
