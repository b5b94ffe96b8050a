//! What is looked at: the files of a patch, the cursor in one of them, comments and marks, and the box that is open.

use super::comment::{Target, Unkept, Writing};
use super::item::{self, Item, Layout, Unfolded};
use super::paint::{Paint, bare};
use super::patch::{File, Kind};
use crate::api::review::{Comment, FileReview, Review, Side};
use crate::look::line::Line;

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Whose changes.
    pub(super) session: String,
    /// Those of one turn, or all.
    pub(super) turn: Option<u32>,
    pub(super) reading: Reading,
    pub(super) files: Vec<File>,
    pub(super) review: Review,
    /// The file in hand.
    pub(super) file: usize,
    pub(super) pane: Pane,
    /// As the person wants it; a narrow screen is always unified.
    pub(super) layout: Layout,
    /// Long lines of the file in hand that are shown to their end.
    pub(super) unfolded: Unfolded,
    pub(super) items: Vec<Item>,
    /// How the items are laid out; `None` when they are to be built again.
    pub(super) built: Option<Layout>,
    pub(super) cursor: usize,
    /// The first item that is seen.
    pub(super) top: usize,
    /// Where the cursor stands on an item that is higher than the screen.
    pub(super) inside: Inside,
    /// How many rows were seen last: a page.
    pub(super) page: usize,
    pub(super) writing: Option<Writing>,
    /// Of every session.
    pub(super) unkept: Unkept,
    pub(super) paint: Paint,
    /// The rows that are about to be seen.
    pub(super) rows: Vec<Row>,
}

/// A place in an item that is higher than the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Inside {
    pub(super) item: usize,
    /// Rows of it that have gone out above.
    pub(super) above: usize,
    /// Rows of it that are still to come.
    pub(super) below: usize,
}

/// A row of the file in hand.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: Line,
    /// The item that it belongs to.
    pub(super) item: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Reading {
    #[default]
    Asked,
    Done,
}

/// Where the cursor moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Pane {
    Files,
    #[default]
    Lines,
}

impl State {
    pub(super) fn of(session: &str) -> State {
        State { session: session.to_owned(), ..State::default() }
    }

    pub(super) fn file(&self) -> Option<&File> {
        self.files.get(self.file)
    }

    pub(super) fn item(&self) -> Option<&Item> {
        self.items.get(self.cursor)
    }

    /// Another patch arrived. The cursor stays where it is while its file is the same.
    pub(super) fn take(&mut self, files: Vec<File>) {
        let was = self.file().map(|file| (file.path.clone(), file.digest.clone()));
        let same = was.as_ref().and_then(|(path, _)| files.iter().position(|file| file.path == *path));
        self.files = files;
        self.reading = Reading::Done;
        self.paint.forget();
        let is_same = same.is_some_and(|at| was.is_some_and(|(_, digest)| self.files[at].digest == digest));
        match is_same {
            true => {
                self.file = same.unwrap_or_default();
                self.built = None;
            }
            false => self.show(same.unwrap_or_default()),
        }
    }

    /// Takes a file in hand, from its first change.
    pub(super) fn show(&mut self, file: usize) {
        self.file = file.min(self.files.len().saturating_sub(1));
        self.paint.forget();
        self.built = None;
        (self.cursor, self.top) = (0, 0);
        self.unfolded.clear();
        self.items.clear();
    }

    /// Moves inside of an item that is higher than the screen; `false` where that is no move.
    pub(super) fn scroll(&mut self, way: Way, rows: usize) -> bool {
        let Inside { item, above, below } = self.inside;
        if item != self.cursor {
            return false;
        }
        let rows = match way {
            Way::Forward => rows.min(below),
            Way::Back => rows.min(above),
        };
        (self.inside.above, self.inside.below) = match way {
            Way::Forward => (above + rows, below - rows),
            Way::Back => (above - rows, below + rows),
        };
        rows > 0
    }

    /// Shows a long line to its end, or its beginning again; `false` where no long line is.
    pub(super) fn unfold(&mut self) -> bool {
        let long = |item: &Item| item.is_rest().then(|| item.line()).flatten();
        let here = self.item().and_then(long);
        let next = || self.items.get(self.cursor + 1).filter(|_| self.item().is_some_and(|item| item.line().is_some()));
        let Some(line) = here.or_else(|| next().and_then(long)) else { return false };
        if !self.unfolded.remove(&line) {
            self.unfolded.insert(line);
        }
        self.built = None;
        true
    }

    /// Builds the items where they are not those of the file, the comments and the layout.
    pub(super) fn settle(&mut self, layout: Layout) {
        if self.built == Some(layout) {
            return;
        }
        let stood_on = self.items.get(self.cursor).cloned();
        let Some(file) = self.files.get(self.file) else {
            self.items.clear();
            return;
        };
        self.items = item::of_file(file, &self.review, layout, &self.unfolded);
        self.built = Some(layout);
        let first = || self.items.iter().position(|item| item.is_change(file));
        let found = match &stood_on {
            Some(item) if item.line().is_some() => {
                self.items.iter().position(|other| other.lines().any(|line| Some(line) == item.line()))
            }
            Some(item) => self.items.iter().position(|other| other == item).or(Some(self.cursor)),
            None => first(),
        };
        self.cursor = found.unwrap_or_default().min(self.items.len().saturating_sub(1));
    }

    /// The next item at which a change begins, or the one before.
    pub(super) fn change(&self, way: Way) -> Option<usize> {
        let file = self.file()?;
        let begins = |at: &usize| {
            let is_change = |at: usize| self.items[at].is_change(file);
            // A comment in the middle of a change does not begin another one.
            let before = (0..*at).rev().find(|at| !matches!(self.items[*at], Item::Comment(_)));
            is_change(*at) && !before.is_some_and(is_change)
        };
        match way {
            Way::Forward => (self.cursor + 1..self.items.len()).find(begins),
            Way::Back => (0..self.cursor.min(self.items.len())).rev().find(begins),
        }
    }

    /// The comment that the cursor stands on, or the first below its line.
    pub(super) fn comment(&self) -> Option<&Comment> {
        let at = match self.item()? {
            Item::Comment(id) => *id,
            Item::Line { .. } | Item::Beside { .. } | Item::Folded { .. } | Item::Piece { .. } => {
                match self.items[self.cursor + 1..].iter().find(|item| !item.is_rest())? {
                    Item::Comment(id) => *id,
                    Item::Note(_)
                    | Item::Hunk(_)
                    | Item::Line { .. }
                    | Item::Beside { .. }
                    | Item::Folded { .. }
                    | Item::Piece { .. } => return None,
                }
            }
            Item::Note(_) | Item::Hunk(_) => return None,
        };
        self.review.comments.iter().find(|comment| comment.id == at)
    }

    /// What a comment would be about.
    pub(super) fn target(&self) -> Option<Target> {
        let file = self.file()?;
        let (hunk, line) = self.item()?.line()?;
        let text = &file.hunks[hunk].lines[line];
        let (side, number) = match text.kind {
            Kind::Less => (Side::Old, text.old?),
            Kind::Same | Kind::More => (Side::New, text.new?),
        };
        Some(Target::Line { path: file.path.clone(), line: number, side, quote: bare(text) })
    }

    /// The line in the file as it is, for an editor: a line that goes leaves its place to the next one.
    pub(super) fn place(&self) -> Option<u32> {
        let file = self.file()?;
        let at_hunk = |hunk: &usize| Some(file.hunks[*hunk].new.max(1));
        match self.item()? {
            Item::Hunk(hunk) => at_hunk(hunk),
            Item::Comment(_) => self.comment().filter(|comment| comment.side == Side::New).map(|comment| comment.line),
            Item::Note(_) => None,
            item @ (Item::Line { .. } | Item::Beside { .. } | Item::Folded { .. } | Item::Piece { .. }) => {
                let (hunk, line) = item.line()?;
                let lines = &file.hunks[hunk].lines;
                let after = lines[line..].iter().find_map(|line| line.new);
                after.or_else(|| lines[..line].iter().rev().find_map(|line| line.new)).or_else(|| at_hunk(&hunk))
            }
        }
    }

    pub(super) fn is_looked_at(&self, file: &File) -> bool {
        self.review.files.iter().any(|mark| mark.path == file.path && mark.digest == file.digest)
    }

    /// Marks the file in hand, or takes its mark away; the digest that is marked then.
    pub(super) fn toggle_mark(&mut self) -> Option<(String, Option<String>)> {
        let file = self.file()?;
        let (path, digest) = (file.path.clone(), file.digest.clone());
        let is_marked = self.is_looked_at(file);
        self.review.files.retain(|mark| mark.path != path);
        if is_marked {
            return Some((path, None));
        }
        self.review.files.push(FileReview { path: path.clone(), digest: digest.clone() });
        Some((path, Some(digest)))
    }

    /// The next file that nobody looked at, from the one in hand on.
    pub(super) fn next_unseen(&self) -> Option<usize> {
        let all = (self.file + 1..self.files.len()).chain(0..self.file);
        all.into_iter().find(|at| !self.is_looked_at(&self.files[*at]))
    }

    pub(super) fn drafts(&self) -> usize {
        self.review.comments.iter().filter(|comment| comment.sent_at.is_none()).count()
    }
}

/// A direction in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Back,
}
