//! Edits as lines that go and come, from whatever a backend tells about them: a patch, bare marked lines, or the words
//! that were swapped.

use crate::look::highlight::{Pair, by_path};
use crate::look::line::{Line, Tone, visible};

/// Lines after these say only their side: a card that nobody opens should cost little.
const READ_BY_GRAMMAR: usize = 200;

/// What a call says that it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece(String);

impl Piece {
    /// Some words for others.
    pub(super) fn swap(old: &str, new: &str) -> Piece {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
        let marked =
            |mark: char, lines: &[&str]| lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>();
        let (old_end, new_end) = (old.len() - tail, new.len() - tail);
        let parts = [
            marked(' ', &old[..head]),
            marked('-', &old[head..old_end]),
            marked('+', &new[head..new_end]),
            marked(' ', &old[old_end..]),
        ];
        Piece(parts.concat())
    }

    pub(super) fn patch(text: &str) -> Piece {
        Piece(text.to_owned())
    }
}

/// A change, drawn.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) lines: Vec<Line>,
    pub(super) more: usize,
    pub(super) less: usize,
}

pub(super) fn of_pieces(path: &str, pieces: &[Piece]) -> Option<Change> {
    let text = pieces.iter().map(|Piece(text)| text.trim_end_matches('\n')).collect::<Vec<_>>().join("\n@@ @@\n");
    read(path, &text)
}

/// Reads a patch, or what is like one; `None` for a text in which nothing comes or goes.
pub(super) fn read(path: &str, text: &str) -> Option<Change> {
    let mut reader = Reader { path, pair: Pair::new(by_path(path)), places: None, rows: Vec::new() };
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // Without the line after it, this would be a line that goes.
        if line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ ")) {
            lines.next();
            continue;
        }
        reader.line(line);
    }
    reader.finish()
}

struct Reader<'a> {
    path: &'a str,
    pair: Pair,
    /// The numbers of the next lines, on the old and on the new side.
    places: Option<(usize, usize)>,
    rows: Vec<Row>,
}

enum Row {
    /// The number of the line, what becomes of it, and the line.
    Text(Option<usize>, char, Line),
    Note(Line),
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        let mut letters = line.chars();
        match letters.next() {
            None => self.text(' ', ""),
            Some(mark @ ('+' | '-' | ' ')) => self.text(mark, letters.as_str()),
            Some('@') if line.starts_with("@@") => self.hunk(line),
            Some('\\') => self.rows.push(Row::Note(Line::new().dim(visible(line)))),
            Some(_) if is_of_git(line) => {}
            Some(_) => self.file(
                line.strip_prefix("diff --git a/")
                    .map_or(line, |names| names.split_once(" b/").map_or(names, |(name, _)| name)),
            ),
        }
    }

    fn text(&mut self, mark: char, text: &str) {
        let is_read = self.rows.len() < READ_BY_GRAMMAR;
        let shown = match (mark, is_read) {
            ('+', true) => self.pair.more(text),
            ('+', false) => Line::toned(Tone::More, visible(text)),
            ('-', true) => self.pair.less(text),
            ('-', false) => Line::toned(Tone::Less, visible(text)),
            (_, true) => self.pair.same(text),
            (_, false) => Line::new().plain(visible(text)),
        };
        let number = self.places.map(|(old, new)| if mark == '-' { old } else { new });
        self.places = self.places.map(|(old, new)| (old + usize::from(mark != '+'), new + usize::from(mark != '-')));
        self.rows.push(Row::Text(number, mark, shown));
    }

    /// `@@ -10,2 +10,3 @@`, or only `@@ @@` where the place is not known.
    fn hunk(&mut self, line: &str) {
        let mut words = line.split(' ').skip(1);
        let mut start = |mark| words.next()?.strip_prefix(mark)?.split(',').next()?.parse().ok();
        self.places = start('-').zip(start('+'));
        self.skip();
    }

    /// Another file begins, as `path` or as `path:12`.
    fn file(&mut self, line: &str) {
        let (path, place) = match line.rsplit_once(':').and_then(|(path, place)| Some((path, place.parse().ok()?))) {
            Some((path, place)) => (path, Some(place)),
            None => (line, None),
        };
        self.places = place.map(|place| (place, place));
        self.pair = Pair::new(by_path(path));
        // The header has the names as from the work tree.
        let known = self
            .path
            .split(", ")
            .find(|name| path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')));
        if known != Some(self.path) {
            self.rows.push(Row::Note(Line::new().strong(visible(known.unwrap_or(path)))));
        }
    }

    fn skip(&mut self) {
        self.pair.skip();
        if matches!(self.rows.last(), Some(Row::Text(..))) {
            self.rows.push(Row::Note(Line::new().dim("⋮")));
        }
    }

    fn finish(self) -> Option<Change> {
        let number = |row: &Row| if let Row::Text(number, ..) = row { *number } else { None };
        let digits = self.rows.iter().filter_map(number).max().map(|last| last.to_string().len());
        let mut change = Change::default();
        for row in self.rows {
            change.lines.push(match row {
                Row::Note(note) => note,
                Row::Text(number, mark, text) => {
                    change.more += usize::from(mark == '+');
                    change.less += usize::from(mark == '-');
                    let tone = match mark {
                        '+' => Tone::More,
                        '-' => Tone::Less,
                        _ => Tone::Plain,
                    };
                    let number = number.map(|number| number.to_string()).unwrap_or_default();
                    let place = digits.map(|digits| format!("{number:>digits$}  ")).unwrap_or_default();
                    Line::new().dim(place).with(tone, format!("{mark} ")).then(text)
                }
            });
        }
        (change.more + change.less > 0).then_some(change)
    }
}

/// What git says about a file besides its lines.
fn is_of_git(line: &str) -> bool {
    let words =
        ["index ", "new file mode ", "deleted file mode ", "old mode ", "new mode ", "similarity index ", "rename "];
    words.iter().any(|words| line.starts_with(words))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let lines: Vec<_> = read(path, text).unwrap_or_default().lines.iter().map(Line::text).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn every_backend_tells_a_change_in_its_own_way() {
        check("a.txt", "-hello\n+bye\n x", &["- hello", "+ bye", "  x"]);
        check("a.txt", "/repo/a.txt:9\n-two\n+TWO\n+THREE", &[" 9  - two", " 9  + TWO", "10  + THREE"]);
        check(
            "a.rs, b.rs",
            "/repo/a.rs\n@@ -2,2 +2,2 @@\n \n-x\n+y\n@@ -9 +9 @@\n-z\n/repo/b.rs\n+new",
            &["a.rs", "2    ", "3  - x", "3  + y", "⋮", "9  - z", "b.rs", "   + new"],
        );
        check(
            "",
            "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ @@\n--- not a name\n\\ No newline at end of file",
            &["f", "- -- not a name", "\\ No newline at end of file"],
        );
        check("a", "The file was updated.", &[]);
    }

    #[test]
    fn swapped_words_are_told_by_what_differs() {
        let pieces = [Piece::swap("a\nb\nc", "a\nB\nc"), Piece::swap("x", "")];
        let change = of_pieces("f", &pieces).unwrap();
        let lines: Vec<_> = change.lines.iter().map(Line::text).collect();
        assert_eq!(lines, ["  a", "- b", "+ B", "  c", "⋮", "- x"]);
        assert_eq!((change.more, change.less), (1, 2));
        assert_eq!(of_pieces("f", &[]), None);
    }

    #[test]
    fn lines_that_come_and_go_are_told_by_tone_and_by_grammar() {
        let change = read("a.rs", "-let a = 1;\n+let b = 1;").unwrap();
        let spans: Vec<_> = change.lines[1].spans().collect();
        assert_eq!(spans[1], (Tone::More, "+ "));
        assert!(spans.contains(&(Tone::Keyword, "let")) && spans.contains(&(Tone::More, ";")), "{spans:?}");
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in any::<String>(), patch in "([-+@ \\\\a][-+@ ,0-9a]{0,12}\n){0,12}") {
            for text in [text, patch] {
                if let Some(change) = read("a.rs", &text) {
                    prop_assert!(!change.lines.iter().any(|line| line.text().contains(char::is_control)));
                }
            }
        }
    }
}
