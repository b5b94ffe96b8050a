//! What stands in the rows of one file: its hunks and lines, unified or side by side, and the comments below them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::patch::{File, Kind};
use super::piece;
use crate::api::review::{Comment, Review, Side};

/// How the two sides are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Layout {
    #[default]
    Unified,
    /// Old on the left, new on the right.
    Split,
}

/// Something that the cursor can stand on. Lines are named by their hunk and their place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Note(String),
    Hunk(usize),
    Line {
        hunk: usize,
        line: usize,
    },
    Beside {
        hunk: usize,
        old: Option<usize>,
        new: Option<usize>,
    },
    /// Stands for the rest of a line that is too long.
    Folded {
        hunk: usize,
        line: usize,
    },
    /// A part of that rest, by its bytes.
    Piece {
        hunk: usize,
        line: usize,
        bytes: Range<usize>,
    },
    Comment(u32),
}

/// Lines that are shown to their end, by hunk and place in it.
pub(super) type Unfolded = HashSet<(usize, usize)>;

/// The items of a file.
pub(super) fn of_file(file: &File, review: &Review, layout: Layout, unfolded: &Unfolded) -> Vec<Item> {
    let mut comments = Comments::of(file, review);
    let mut items: Vec<Item> = file.notes.iter().cloned().map(Item::Note).collect();
    if file.hunks.is_empty() && file.notes.is_empty() {
        items.push(Item::Note("the file is empty".to_owned()));
    }
    let start = items.len();
    for hunk in 0..file.hunks.len() {
        items.push(Item::Hunk(hunk));
        let lines = match layout {
            Layout::Unified => (0..file.hunks[hunk].lines.len()).map(|line| Item::Line { hunk, line }).collect(),
            Layout::Split => beside(file, hunk),
        };
        for item in lines {
            let below = comments.take(file, &item);
            let rest: Vec<Item> = item.lines().flat_map(|line| rest(file, line, unfolded)).collect();
            items.push(item);
            items.extend(rest);
            items.extend(below);
        }
    }
    // Comments on lines that this patch does not have stand above them all.
    items.splice(start..start, comments.rest());
    items
}

/// What follows the beginning of a line that is too long.
fn rest(file: &File, (hunk, line): (usize, usize), unfolded: &Unfolded) -> Vec<Item> {
    let pieces = piece::rest(&file.hunks[hunk].lines[line].text);
    match unfolded.contains(&(hunk, line)) {
        true => pieces.map(|bytes| Item::Piece { hunk, line, bytes }).collect(),
        false => pieces.take(1).map(|_| Item::Folded { hunk, line }).collect(),
    }
}

/// Lines that go stand beside those that come in their place.
fn beside(file: &File, hunk: usize) -> Vec<Item> {
    let lines = &file.hunks[hunk].lines;
    let mut items = Vec::with_capacity(lines.len());
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, kind| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let less = run(at, Kind::Less);
        let more = run(at + less, Kind::More);
        if less + more == 0 {
            items.push(Item::Beside { hunk, old: Some(at), new: Some(at) });
            at += 1;
            continue;
        }
        let place = |number: usize, from: usize, count: usize| (number < count).then_some(from + number);
        items.extend((0..less.max(more)).map(|number| Item::Beside {
            hunk,
            old: place(number, at, less),
            new: place(number, at + less, more),
        }));
        at += less + more;
    }
    items
}

impl Item {
    /// The lines of the hunk that it shows, the old side first.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, usize)> {
        let (hunk, old, new) = match self {
            Item::Line { hunk, line } | Item::Folded { hunk, line } | Item::Piece { hunk, line, .. } => {
                (*hunk, Some(*line), None)
            }
            Item::Beside { hunk, old, new } if old == new => (*hunk, None, *new),
            Item::Beside { hunk, old, new } => (*hunk, *old, *new),
            Item::Note(_) | Item::Hunk(_) | Item::Comment(_) => (0, None, None),
        };
        old.into_iter().chain(new).map(move |line| (hunk, line))
    }

    /// The line that a comment would be about: what comes counts more than what goes.
    pub(super) fn line(&self) -> Option<(usize, usize)> {
        self.lines().last()
    }

    /// Whether it goes on with the line of another item.
    pub(super) fn is_rest(&self) -> bool {
        match self {
            Item::Folded { .. } | Item::Piece { .. } => true,
            Item::Note(_) | Item::Hunk(_) | Item::Line { .. } | Item::Beside { .. } | Item::Comment(_) => false,
        }
    }

    pub(super) fn is_change(&self, file: &File) -> bool {
        self.lines().any(|(hunk, line)| file.hunks[hunk].lines[line].kind != Kind::Same)
    }
}

/// The comments on a file, by the line that they are about.
struct Comments<'a> {
    by_line: HashMap<u32, Vec<&'a Comment>>,
}

impl<'a> Comments<'a> {
    fn of(file: &File, review: &'a Review) -> Comments<'a> {
        let mut by_line: HashMap<_, Vec<_>> = HashMap::new();
        for comment in review.comments.iter().filter(|comment| comment.path == file.path) {
            by_line.entry(comment.line).or_default().push(comment);
        }
        Comments { by_line }
    }

    /// Those that stand below an item.
    fn take(&mut self, file: &File, item: &Item) -> Vec<Item> {
        if self.by_line.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (hunk, line) in item.lines() {
            let text = &file.hunks[hunk].lines[line];
            for (side, number) in [(Side::Old, text.old), (Side::New, text.new)] {
                let here = number.and_then(|number| self.by_line.get_mut(&number));
                found.extend(here.into_iter().flat_map(|here| here.extract_if(.., |comment| comment.side == side)));
            }
        }
        found.into_iter().map(|comment| Item::Comment(comment.id)).collect()
    }

    fn rest(self) -> Vec<Item> {
        let mut rest: Vec<&Comment> = self.by_line.into_values().flatten().collect();
        rest.sort_by_key(|comment| (comment.line, comment.id));
        rest.into_iter().map(|comment| Item::Comment(comment.id)).collect()
    }
}
