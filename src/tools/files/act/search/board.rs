//! The first lines of a search, however the files come in.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::text::at_most;

/// All that one search tells.
const BYTES: usize = 256 * 1024;

/// One line that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    line: u64,
    pub(super) text: String,
}

impl Hit {
    /// A line without its end, and without what could not be told anyway.
    pub(super) fn new(line: u64, bytes: &[u8]) -> Self {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(BYTES)]).into_owned();
        Self { line, text }
    }
}

/// Keeps the lines that can still be among the first.
pub(super) struct Board {
    most: usize,
    /// Once there is enough, there always is.
    is_full: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    files: BTreeMap<PathBuf, Vec<Hit>>,
    lines: usize,
    bytes: usize,
}

impl Board {
    pub(super) fn new(most: usize) -> Self {
        Self { most, is_full: AtomicBool::new(false), kept: Mutex::default() }
    }

    /// Whether so much is all that can be told, and the word that there is more.
    pub(super) fn is_enough(&self, lines: usize, bytes: usize) -> bool {
        lines > self.most || bytes > BYTES
    }

    /// Whether nothing in that file or directory can be among the first. Paths are compared part by part, so a directory
    /// behind the last file has everything in it behind that file.
    pub(super) fn is_past(&self, place: &Path) -> bool {
        self.is_full() && self.kept().files.last_key_value().is_some_and(|(last, _)| place > last)
    }

    /// Whether there may be more than is told.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, place: PathBuf, hits: Vec<Hit>) {
        let mut kept = self.kept();
        kept.lines += hits.len();
        kept.bytes += size(&hits);
        kept.files.insert(place, hits);
        // The last file goes when those before it are enough.
        while let Some(last) = kept.files.last_entry() {
            let (lines, bytes) = (last.get().len(), size(last.get()));
            if !self.is_enough(kept.lines - lines, kept.bytes - bytes) {
                break;
            }
            kept.files.pop_last();
            (kept.lines, kept.bytes) = (kept.lines - lines, kept.bytes - bytes);
        }
        if self.is_enough(kept.lines, kept.bytes) {
            self.is_full.store(true, Ordering::Relaxed);
        }
    }

    /// The lines as a text; `None` when there are none.
    pub(super) fn tell(&self) -> Option<String> {
        let kept = self.kept();
        let mut text = String::new();
        let mut told = 0;
        let all = kept.files.iter().flat_map(|(place, hits)| hits.iter().map(move |hit| (place, hit)));
        for (place, hit) in all.take(self.most) {
            let line = format!("{}:{}:{}\n", place.display(), hit.line, hit.text);
            if text.len() + line.len() > BYTES {
                // A line that is too long by itself is better than nothing.
                if told == 0 {
                    text.push_str(at_most(&line, BYTES));
                    text.push('\n');
                    told = 1;
                }
                break;
            }
            text.push_str(&line);
            told += 1;
        }
        if told < kept.lines || text.len() > BYTES {
            let noun = if told == 1 { "match" } else { "matches" };
            write!(text, "the first {told} {noun} …[truncated]").ok()?;
        }
        let text = text.trim_end_matches('\n').to_owned();
        (!text.is_empty()).then_some(text)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size(hits: &[Hit]) -> usize {
    hits.iter().map(|hit| hit.text.len()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_board_keeps_the_first_lines_in_any_order() {
        let board = Board::new(2);
        let hits = |count: u64| (1..=count).map(|line| Hit::new(line, b"x\r\n")).collect::<Vec<_>>();
        board.add("m".into(), hits(2));
        assert!(!board.is_past(Path::new("z")), "one more line must tell that there are more");
        board.add("n".into(), hits(1));
        assert!(board.is_past(Path::new("o")) && !board.is_past(Path::new("a")) && !board.is_past(Path::new("n")));
        board.add("a/b".into(), hits(1));
        assert!(board.is_past(Path::new("n")) && !board.is_past(Path::new("a")) && board.is_past(Path::new("o/a")));
        assert_eq!(board.tell().unwrap(), "a/b:1:x\nm:1:x\nthe first 2 matches …[truncated]");
        assert_eq!(Board::new(5).tell(), None);
    }

    #[test]
    fn a_text_ends_at_its_cap() {
        let board = Board::new(50);
        board.add("a".into(), vec![Hit::new(1, "ä".repeat(BYTES).as_bytes())]);
        let text = board.tell().unwrap();
        assert!(text.len() < BYTES + 64 && text.ends_with("ä\nthe first 1 match …[truncated]"), "{}", text.len());
        let board = Board::new(5000);
        (0..4).for_each(|at| board.add(format!("f{at}").into(), vec![Hit::new(1, &[b'x'; 100_000])]));
        let text = board.tell().unwrap();
        assert!(text.len() < BYTES && text.ends_with("\nthe first 2 matches …[truncated]"));
    }

    proptest! {
        #[test]
        fn the_order_of_files_does_not_matter(
            files in prop::collection::btree_map("[ab]/[abc]{1,3}", 1usize..4, 0..12),
            most in 1usize..8,
            seed in any::<u64>(),
        ) {
            let add = |order: Vec<(&String, &usize)>| {
                let board = Board::new(most);
                for (path, count) in order {
                    if !board.is_past(Path::new(path)) {
                        board.add(path.into(), (0..*count).map(|line| Hit::new(line as u64, b"x")).collect());
                    }
                }
                board.tell()
            };
            let sorted: Vec<_> = files.iter().collect();
            let mut mixed = sorted.clone();
            mixed.sort_by_key(|(path, _)| path.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)));
            prop_assert_eq!(add(sorted), add(mixed));
        }
    }
}
