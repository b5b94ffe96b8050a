//! The lines of a patch, read by the grammar of their file: only where they are looked at, a block at a time.

use std::collections::HashMap;
use std::fmt;

use super::patch::{End, File, Kind, Text};
use super::piece::beginning;
use crate::look::highlight::{Pair, by_path};
use crate::look::line::{Line, cut, visible};

/// So much of a line is kept with a comment on it.
const QUOTE: usize = 400;

/// Lines that are read together. A jump reads one block before the place, so that most of what is open there is known.
const BLOCK: usize = 64;

/// More blocks than anybody scrolls through are forgotten at once.
const HELD: usize = 512;

#[derive(Default)]
pub(super) struct Paint {
    blocks: HashMap<(usize, usize), Block>,
}

struct Block {
    lines: Vec<Line>,
    /// How the next block is read.
    after: Pair,
}

impl Paint {
    /// Another file, or another patch of it.
    pub(super) fn forget(&mut self) {
        self.blocks.clear();
    }

    pub(super) fn line(&mut self, file: &File, hunk: usize, line: usize) -> Line {
        let Some(text) = file.hunks.get(hunk).and_then(|hunk| hunk.lines.get(line)) else { return Line::new() };
        let block = self.block(file, hunk, line / BLOCK);
        let shown = block.lines.get(line % BLOCK).cloned().unwrap_or_default();
        ended(shown, text)
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.blocks.len()
    }

    fn block(&mut self, file: &File, hunk: usize, number: usize) -> &Block {
        if self.blocks.len() > HELD {
            self.blocks.clear();
        }
        if !self.blocks.contains_key(&(hunk, number)) {
            let before = match number.checked_sub(1).map(|before| (before, self.blocks.get(&(hunk, before)))) {
                Some((_, Some(block))) => block.after.clone(),
                Some((before, None)) => read(file, hunk, before, Pair::new(by_path(&file.path))).after,
                None => Pair::new(by_path(&file.path)),
            };
            self.blocks.insert((hunk, number), read(file, hunk, number, before));
        }
        &self.blocks[&(hunk, number)]
    }
}

fn read(file: &File, hunk: usize, number: usize, mut pair: Pair) -> Block {
    let lines = file.hunks[hunk].lines.chunks(BLOCK).nth(number).unwrap_or_default();
    let read = |line: &Text| {
        let text = beginning(line.text.strip_suffix('\r').unwrap_or(&line.text));
        match line.kind {
            Kind::Same => pair.same(text),
            Kind::Less => pair.less(text),
            Kind::More => pair.more(text),
        }
    };
    let lines = lines.iter().map(read).collect();
    Block { lines, after: pair }
}

/// Ends that are not seen are told where they may be what changed.
fn ended(line: Line, text: &Text) -> Line {
    let line = match (text.kind, text.text.ends_with('\r')) {
        (Kind::Less | Kind::More, true) => line.dim("␍"),
        (Kind::Same, _) | (_, false) => line,
    };
    match text.end {
        End::Newline => line,
        End::Bare => line.dim("  (no newline at the end)"),
    }
}

impl fmt::Debug for Paint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Paint").field("blocks", &self.blocks.len()).finish_non_exhaustive()
    }
}

/// The text of a line without its colours, harmless, and of a long one the beginning.
pub(super) fn bare(text: &Text) -> String {
    cut(&visible(beginning(text.text.trim_end_matches('\r'))), QUOTE)
}
