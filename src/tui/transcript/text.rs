//! A text that grows: kept in chunks that are laid out apart, so that more of it costs the same however long it is.
//!
//! Where it is cut depends on the text alone and not on how it came, so a stored text has the chunks of a streamed one.

use unicode_segmentation::UnicodeSegmentation;

/// A chunk of that many lines ends with the paragraph.
const SOFT: usize = 40;

/// No chunk has more lines.
const HARD: usize = 200;

/// No chunk has more bytes; a line may have any number.
const BYTES: usize = 16 * 1024;

/// How far back from the end of a full chunk a place to cut is looked for.
const SLACK: usize = 256;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text {
    chunks: Vec<Chunk>,
    /// What the last chunk has so far.
    lines: usize,
    /// The fence that is open at the end of the last complete line.
    fence: Option<Fence>,
    /// Where the line in progress begins in the last chunk.
    line: usize,
}

/// A part of the text that can be laid out by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) text: String,
    /// The line that opened the block of code in which the chunk begins.
    pub(super) opened: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    opening: Box<str>,
}

impl Text {
    pub(super) fn new(text: &str) -> Text {
        let mut made = Text::default();
        made.push(text);
        made.chunks.iter_mut().for_each(|chunk| chunk.text.shrink_to_fit());
        made
    }

    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The whole of it.
    pub(super) fn whole(&self) -> String {
        self.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.text.trim().is_empty())
    }

    /// What `text` has beyond this one, if it begins with it.
    pub(super) fn missing<'a>(&self, text: &'a str) -> Option<&'a str> {
        self.chunks.iter().try_fold(text, |rest, chunk| rest.strip_prefix(chunk.text.as_str()))
    }

    /// Puts more behind it. Only the last chunk changes, and chunks may follow.
    pub(super) fn push(&mut self, text: &str) {
        for part in text.split_inclusive('\n') {
            self.push_part(part);
        }
    }

    /// Takes a piece of one line, with or without its end.
    fn push_part(&mut self, part: &str) {
        let mut rest = part;
        loop {
            let chunk = self.last();
            let room = BYTES.saturating_sub(chunk.text.len());
            if rest.len() <= room {
                chunk.text.push_str(rest);
                break;
            }
            chunk.text.push_str(&rest[..rest.floor_char_boundary(room)]);
            rest = &rest[rest.floor_char_boundary(room)..];
            let cut = place_to_cut(&chunk.text);
            let carried = chunk.text.split_off(cut);
            self.end_chunk();
            self.last().text.push_str(&carried);
        }
        if part.ends_with('\n') {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let begin = self.line;
        let chunk = self.last();
        let line = chunk.text.get(begin..).unwrap_or_default().trim_end().to_owned();
        self.line = self.last().text.len();
        self.lines += 1;
        self.fence = match self.fence.take() {
            Some(fence) if closes(&fence, &line) => None,
            Some(fence) => Some(fence),
            None => opens(&line),
        };
        let is_between = line.is_empty() && self.fence.is_none();
        if (self.lines >= SOFT && is_between) || self.lines >= HARD {
            self.end_chunk();
        }
    }

    fn last(&mut self) -> &mut Chunk {
        if self.chunks.is_empty() {
            self.chunks.push(Chunk::default());
        }
        let last = self.chunks.len() - 1;
        &mut self.chunks[last]
    }

    fn end_chunk(&mut self) {
        self.last().text.shrink_to_fit();
        let opened = self.fence.as_ref().map(|fence| fence.opening.clone());
        self.chunks.push(Chunk { text: String::new(), opened });
        (self.lines, self.line) = (0, 0);
    }
}

impl Chunk {
    /// The chunk as a text of its own: a block of code in whose middle it begins is opened again.
    pub(super) fn standing(&self) -> String {
        match &self.opened {
            Some(opening) => format!("{opening}\n{}", self.text),
            None => self.text.clone(),
        }
    }
}

/// After a blank where there is one, between graphemes otherwise; never at the very beginning.
fn place_to_cut(text: &str) -> usize {
    let from = text.floor_char_boundary(text.len().saturating_sub(SLACK));
    let window = &text[from..];
    let blank = window.rfind([' ', '\n']).map(|at| at + 1);
    let grapheme = window.grapheme_indices(true).next_back().map(|(at, _)| at);
    match blank.or(grapheme).map(|at| from + at).filter(|at| *at > 0) {
        Some(at) => at,
        None => text.len(),
    }
}

fn opens(line: &str) -> Option<Fence> {
    let text = line.trim_start_matches(' ');
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    let info = &text[length..];
    let is_code_between_words = mark == '`' && info.contains('`');
    (length >= 3 && !is_code_between_words).then(|| Fence { mark, length, opening: text.into() })
}

fn closes(fence: &Fence, line: &str) -> bool {
    let text = line.trim();
    text.chars().count() >= fence.length && text.chars().all(|c| c == fence.mark)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lengths(text: &Text) -> Vec<usize> {
        text.chunks().iter().map(|chunk| chunk.text.lines().count()).collect()
    }

    #[test]
    fn a_short_text_is_one_chunk() {
        let text = Text::new("one\n\ntwo\n\n```\ncode\n```\n");
        assert_eq!(lengths(&text), [7]);
        assert_eq!(text.whole(), "one\n\ntwo\n\n```\ncode\n```\n");
    }

    #[test]
    fn a_long_text_is_cut_between_paragraphs() {
        let paragraph = "line\n".repeat(30) + "\n";
        let text = Text::new(&paragraph.repeat(5));
        assert_eq!(lengths(&text), [62, 62, 31]);
    }

    #[test]
    fn code_that_is_cut_is_opened_again() {
        let code = format!("say\n\n```rust\n{}```\nend\n", "let a = 1;\n\n".repeat(150));
        let text = Text::new(&code);
        assert_eq!(lengths(&text), [200, 105]);
        assert_eq!(text.chunks()[1].opened.as_deref(), Some("```rust"));
        assert!(text.chunks()[1].standing().starts_with("```rust\n\nlet a"));
        assert_eq!(text.whole(), code);
    }

    #[test]
    fn a_line_without_an_end_is_cut_too() {
        let line = "x".repeat(10 * 1024 * 1024);
        let text = Text::new(&line);
        assert!(text.chunks().iter().all(|chunk| chunk.text.len() <= BYTES));
        assert_eq!(text.whole(), line);
        let accents = Text::new(&"e\u{301}".repeat(BYTES));
        assert!(accents.chunks().iter().all(|chunk| chunk.text.starts_with('e')));
    }

    #[test]
    fn what_is_missing_is_told_only_of_a_longer_text() {
        let text = Text::new("one\n");
        assert_eq!(text.missing("one\ntwo"), Some("two"));
        assert_eq!(text.missing("other"), None);
    }

    proptest! {
        #[test]
        fn how_a_text_comes_does_not_change_its_chunks(parts in prop::collection::vec((0..7usize, 1..400usize), 0..60)) {
            const PIECES: [&str; 7] = ["a", "b c\n", "\n", "```\n", "~~~x\n", "é", "word "];
            let parts: Vec<String> = parts.into_iter().map(|(piece, times)| PIECES[piece].repeat(times)).collect();
            let mut grown = Text::default();
            parts.iter().for_each(|part| grown.push(part));
            let made = Text::new(&parts.concat());
            prop_assert_eq!(made.whole(), parts.concat());
            prop_assert_eq!(grown, made);
        }
    }
}
