//! Lines in files, found by the engine of ripgrep on all cores.
//!
//! Files are met in any order and told in the order of their paths. A board keeps the first lines so far; once it is
//! full, files and directories behind its last one are not looked at, so the answer is always the same.

mod board;

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use ignore::{DirEntry, WalkState};

use super::walk;
use crate::permission::Keeper;
use crate::tools::files::{Case, Grep, Syntax};
use crate::tools::inside::root::{self, Root};
use board::{Board, Hit};

/// A line that is longer is not searched, nor is its file after it.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

pub(super) fn grep(root: &Root, grep: &Grep) -> Result<String, String> {
    let matcher = matcher(grep)?;
    let place = root.place(&grep.path)?;
    root.look(&grep.path)?;
    let (board, keeper) = (Board::new(grep.max_results), grep.kept.keeper(root.real()));
    let kept = AtomicUsize::new(0);
    walk::below(root, &place, |_| true)?.build_parallel().run(|| {
        let (keeper, kept, matcher) = (&keeper, &kept, matcher.clone());
        let mut worker = Worker { root, board: &board, keeper, kept, matcher, searcher: searcher(), directory: None };
        Box::new(move |entry| entry.map_or(WalkState::Continue, |entry| worker.meet(&entry)))
    });
    let found = board.tell().unwrap_or_else(|| "No matches found".to_owned());
    // Of a search that was cut, nobody knows how many it would have met.
    let kept = if board.is_full() { 0 } else { kept.into_inner() };
    Ok(match kept {
        0 => found,
        1 => format!("{found}\n1 file that may not be read was not searched"),
        many => format!("{found}\n{many} files that may not be read were not searched"),
    })
}

fn matcher(grep: &Grep) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).line_terminator(Some(b'\n')).ban_byte(Some(0));
    builder.fixed_strings(match grep.syntax {
        Syntax::Literal => true,
        Syntax::Regex => false,
    });
    builder.case_insensitive(match grep.case {
        Case::Ignored => true,
        Case::Sensitive => false,
    });
    builder.build(&grep.pattern).map_err(|error| {
        let text = error.to_string();
        // The last line says what is wrong, those before it draw where.
        let why = text.lines().next_back().unwrap_or(&text).trim_start_matches("error: ").to_owned();
        match grep.syntax {
            Syntax::Regex => format!("`{}` is no regular expression for one line: {why}", grep.pattern),
            Syntax::Literal => format!("`{}` cannot be in one line: {why}", grep.pattern),
        }
    })
}

fn searcher() -> Searcher {
    let mut builder = SearcherBuilder::new();
    builder.line_number(true).binary_detection(BinaryDetection::quit(0)).heap_limit(Some(LONGEST_LINE));
    builder.build()
}

/// One thread of the search.
struct Worker<'a> {
    root: &'a Root,
    board: &'a Board,
    keeper: &'a Keeper,
    /// How many files were left out because they may not be read.
    kept: &'a AtomicUsize,
    matcher: RegexMatcher,
    searcher: Searcher,
    /// Files are met directory by directory, so the last one is held.
    directory: Option<(PathBuf, OwnedFd)>,
}

impl Worker<'_> {
    fn meet(&mut self, entry: &DirEntry) -> WalkState {
        let (Some(kind), Some(place)) = (entry.file_type(), walk::place(self.root, entry.path())) else {
            return WalkState::Continue;
        };
        if kind.is_dir() {
            return if self.board.is_past(place) { WalkState::Skip } else { WalkState::Continue };
        }
        if kind.is_file() && (self.root.is_kept(place) || self.keeper.keeps(place)) {
            self.kept.fetch_add(1, Ordering::Relaxed);
        } else if kind.is_file() && !self.board.is_past(place) {
            // What cannot be read is left out: it may be gone since it was met.
            let hits = self.search(place).unwrap_or_default();
            if !hits.is_empty() {
                self.board.add(place.to_owned(), hits);
            }
        }
        WalkState::Continue
    }

    fn search(&mut self, place: &Path) -> io::Result<Vec<Hit>> {
        let name = place.file_name().unwrap_or(OsStr::new("."));
        let file = root::open_met(self.held(place.parent().unwrap_or(Path::new("")))?, name)?;
        let mut lines = Lines { hits: Vec::new(), bytes: 0, board: self.board };
        self.searcher.search_file(&self.matcher, &file, &mut lines)?;
        Ok(lines.hits)
    }

    /// The directory of a file, opened beneath the tree.
    fn held(&mut self, parent: &Path) -> io::Result<&OwnedFd> {
        let held = match self.directory.take() {
            Some(held) if held.0.as_os_str() == parent.as_os_str() => held,
            Some(_) | None => (parent.to_owned(), self.root.directory(parent)?),
        };
        Ok(&self.directory.insert(held).1)
    }
}

/// The lines of one file.
struct Lines<'a> {
    hits: Vec<Hit>,
    bytes: usize,
    board: &'a Board,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let hit = Hit::new(found.line_number().unwrap_or_default(), found.bytes());
        self.bytes += hit.text.len();
        self.hits.push(hit);
        Ok(!self.board.is_enough(self.hits.len(), self.bytes))
    }

    /// A file in which a NUL turns up is no text, and the lines before it are not either.
    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        if end.binary_byte_offset().is_some() {
            self.hits.clear();
        }
        Ok(())
    }
}
