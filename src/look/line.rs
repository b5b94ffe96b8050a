//! Text with meaning: a line is made of spans that say how they are meant; only a face knows how that looks.
//!
//! Width is what a terminal shows, grapheme by grapheme, because that is how cells are filled.

mod control;
mod wrap;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub(crate) use control::{escape_json, file_name, one_line, unstyled, visible};

/// How a span is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Warn,
    Bad,
    /// Lines that a change takes away.
    Less,
    /// Lines that a change brings.
    More,
    /// The one colour that means "you".
    Accent,
    Heading,
    Link,
    /// Code between words.
    Code,
    // Parts of code.
    Keyword,
    Literal,
    Number,
    Comment,
    TypeName,
    Function,
}

/// One line without its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    spans: Vec<(Tone, String)>,
}

impl Line {
    pub(crate) fn new() -> Line {
        Line::default()
    }

    pub(crate) fn toned(tone: Tone, text: impl Into<String>) -> Line {
        Line::new().with(tone, text)
    }

    pub(crate) fn with(mut self, tone: Tone, text: impl Into<String>) -> Line {
        self.spans.push((tone, text.into()));
        self
    }

    pub(crate) fn plain(self, text: impl Into<String>) -> Line {
        self.with(Tone::Plain, text)
    }

    pub(crate) fn dim(self, text: impl Into<String>) -> Line {
        self.with(Tone::Dim, text)
    }

    pub(crate) fn strong(self, text: impl Into<String>) -> Line {
        self.with(Tone::Strong, text)
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = (Tone, &str)> {
        self.spans.iter().map(|(tone, text)| (*tone, text.as_str()))
    }

    pub(crate) fn then(mut self, other: Line) -> Line {
        self.spans.extend(other.spans);
        self
    }

    /// The line without its tones.
    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The line cut to so many columns.
    pub(crate) fn fit(self, columns: usize) -> Line {
        let mut left = columns;
        let mut fitted = Line::new();
        for (tone, text) in self.spans {
            let width = columns_of(&text);
            if width > left {
                // The mark says that something is missing, so nothing may follow it.
                return fitted.with(tone, cut(&text, left));
            }
            left -= width;
            fitted = fitted.with(tone, text);
        }
        fitted
    }

    /// How many terminal columns the line takes.
    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| columns_of(text)).sum()
    }

    /// Puts a text behind the line; one of the same tone joins the span that is there.
    fn append(&mut self, tone: Tone, text: &str) {
        match self.spans.last_mut() {
            Some((last, joined)) if *last == tone => joined.push_str(text),
            Some(_) | None => self.spans.push((tone, text.to_owned())),
        }
    }
}

/// How many terminal columns a text takes.
pub(crate) fn columns_of(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.graphemes(true).map(UnicodeWidthStr::width).sum(),
    }
}

/// The text cut to so many columns, with a mark when something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let (mut used, mut end) = (0, 0);
    for (start, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used > columns {
            let kept = text[..end].trim_end();
            return if columns == 0 { String::new() } else { format!("{kept}…") };
        }
        // The mark takes a column of its own, so what reaches into the last one may have to go.
        if used < columns {
            end = start + grapheme.len();
        }
    }
    text.to_owned()
}

/// Rows with aligned columns; the last column is as long as it likes.
pub(crate) fn table(rows: &[Vec<Line>]) -> Vec<Line> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(Line::width).max().unwrap_or(0))
        .collect();
    rows.iter().map(|row| align(row, &widths)).collect()
}

fn align(row: &[Line], widths: &[usize]) -> Line {
    let mut line = Line::new();
    // Padding is written only before a cell that shows something, so that no line ends in blanks.
    let mut gap = 0;
    for (cell, width) in row.iter().zip(widths).filter(|(_, width)| **width > 0) {
        if cell.width() > 0 {
            line = line.plain(" ".repeat(gap)).then(cell.clone());
            gap = 0;
        }
        gap += width - cell.width() + 2;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_what_a_terminal_shows() {
        let row = |cells: [&str; 3]| cells.map(|cell| Line::new().plain(cell)).to_vec();
        let rows = [row(["a", "木の名", "end"]), row(["bcd", "", ""]), row(["e", "x", "end"])];
        let text: Vec<_> = table(&rows).iter().map(Line::text).collect();
        assert_eq!(text, ["a    木の名  end", "bcd", "e    x       end"]);
    }

    #[test]
    fn a_column_that_shows_nothing_takes_no_place() {
        let rows = [vec![Line::new().plain("a"), Line::new(), Line::new().plain("b")]];
        assert_eq!(table(&rows)[0].text(), "a  b");
    }

    #[test]
    fn a_cut_says_so_and_keeps_the_width() {
        for (text, columns, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("a b c d", 4, "a b…"),
            ("木の名前", 5, "木の…"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
            ("", 0, ""),
            // The marks of a letter stay with it.
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("🇩🇪🇩🇪", 3, "🇩🇪…"),
        ] {
            assert_eq!(cut(text, columns), expected);
        }
    }

    #[test]
    fn a_line_fits_into_its_columns() {
        let line = Line::new().plain("abc").dim(" def").plain("ghi");
        let padded = Line::new().plain("abc").plain("   ").plain("d");
        assert_eq!(padded.fit(5).text(), "abc…");
        for (columns, expected) in [(20, "abc defghi"), (8, "abc def…"), (6, "abc d…"), (4, "abc…")] {
            assert_eq!(line.clone().fit(columns).text(), expected);
        }
    }
}
