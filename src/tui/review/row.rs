//! Items as rows of the screen: numbers, marks and words, wrapped to the room they have.

use super::item::Item;
use super::paint::Paint;
use super::patch::{File, Kind, Text};
use super::piece::beginning;
use crate::api::review::{Comment, Review};
use crate::look::line::{Line, Tone, visible};

/// Between the two sides.
const BETWEEN: &str = " │ ";

/// What rows are made of, beside the item.
pub(super) struct Sheet<'a> {
    pub(super) file: &'a File,
    pub(super) review: &'a Review,
    pub(super) width: usize,
    /// The key that shows the rest of a line.
    pub(super) unfold: &'a str,
}

/// The rows of one item.
pub(super) fn rows(sheet: &Sheet, item: &Item, paint: &mut Paint) -> Vec<Line> {
    let Sheet { file, review, width, unfold } = *sheet;
    let digits = digits(file);
    match item {
        Item::Note(note) => vec![Line::new().dim(visible(note)).fit(width)],
        Item::Hunk(hunk) => {
            let hunk = &file.hunks[*hunk];
            let place = format!("{:>digits$} ", "⋯");
            let heading =
                if hunk.heading.is_empty() { format!("line {}", hunk.new.max(1)) } else { visible(&hunk.heading) };
            vec![Line::new().dim(place).dim(heading).fit(width)]
        }
        Item::Line { hunk, line } => {
            let text = &file.hunks[*hunk].lines[*line];
            line_rows(text, text.new.or(text.old), paint.line(file, *hunk, *line), digits, width)
        }
        Item::Beside { hunk, old, new } => {
            let half = width.saturating_sub(BETWEEN.chars().count()) / 2;
            let mut side = |line: &Option<usize>, number: fn(&Text) -> Option<u32>| match line {
                Some(line) => {
                    let text = &file.hunks[*hunk].lines[*line];
                    line_rows(text, number(text), paint.line(file, *hunk, *line), digits, half)
                }
                None => Vec::new(),
            };
            let (left, right) = (side(old, |text| text.old), side(new, |text| text.new));
            beside(left, right, half)
        }
        Item::Folded { hunk, line } => {
            let text = &file.hunks[*hunk].lines[*line].text;
            let rest = size(text.len() - beginning(text).len());
            let place = " ".repeat(digits + 3);
            vec![Line::new().plain(place).dim(format!("⋯ {rest} more, {unfold} shows them")).fit(width)]
        }
        Item::Piece { hunk, line, bytes } => {
            let text = file.hunks[*hunk].lines[*line].text.get(bytes.clone()).unwrap_or_default();
            let place = Line::new().plain(" ".repeat(digits + 3));
            hung(place, Line::new().plain(visible(text)), digits + 3, width)
        }
        Item::Comment(id) => match review.comments.iter().find(|comment| comment.id == *id) {
            Some(comment) => comment_rows(comment, digits, width),
            None => vec![Line::new()],
        },
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        ..10_000 => format!("{bytes} bytes"),
        10_000.. => format!("{} kB", bytes / 1_000),
    }
}

/// A number of the file is at most so wide.
fn digits(file: &File) -> usize {
    let last = file.hunks.last().map_or(0, |hunk| {
        let lines = u32::try_from(hunk.lines.len()).unwrap_or(u32::MAX);
        hunk.old.max(hunk.new).saturating_add(lines)
    });
    last.to_string().len().max(3)
}

fn line_rows(text: &Text, number: Option<u32>, shown: Line, digits: usize, width: usize) -> Vec<Line> {
    let (mark, tone) = match text.kind {
        Kind::Same => ("  ", Tone::Plain),
        Kind::Less => ("- ", Tone::Less),
        Kind::More => ("+ ", Tone::More),
    };
    let number = number.map(|number| number.to_string()).unwrap_or_default();
    let head = Line::new().dim(format!("{number:>digits$} ")).with(tone, mark);
    hung(head, shown, digits + 3, width)
}

fn comment_rows(comment: &Comment, digits: usize, width: usize) -> Vec<Line> {
    let state = if comment.sent_at.is_some() { "sent" } else { "draft" };
    let mut lines: Vec<Line> = visible(&comment.text).lines().map(|line| Line::new().plain(line)).collect();
    if let Some(last) = lines.last_mut() {
        *last = std::mem::take(last).dim(format!("  ({state})"));
    }
    let indent = " ".repeat(digits + 1);
    let whose = if comment.suggested { "▏ suggested: " } else { "▏ you: " };
    let first = Line::new().plain(&indent).with(Tone::Accent, whose);
    let next = Line::new().plain(&indent).with(Tone::Accent, "▏ ");
    let mut rows = Vec::new();
    for (number, line) in lines.into_iter().enumerate() {
        let head = if number == 0 { &first } else { &next };
        for (part, row) in line.wrap(width.saturating_sub(head.width())).into_iter().enumerate() {
            let head = if part == 0 { head } else { &next };
            rows.push(head.clone().then(row).fit(width));
        }
    }
    rows
}

/// A line with something before its first row, and room for that before the others.
fn hung(head: Line, line: Line, indent: usize, width: usize) -> Vec<Line> {
    let mut head = Some(head);
    let rows = line.wrap(width.saturating_sub(indent)).into_iter().map(|row| {
        let before = head.take().unwrap_or_else(|| Line::new().plain(" ".repeat(indent)));
        before.then(row).fit(width)
    });
    rows.collect()
}

fn beside(left: Vec<Line>, right: Vec<Line>, half: usize) -> Vec<Line> {
    let count = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let row = |_| {
        let left = left.next().unwrap_or_default();
        let gap = " ".repeat(half.saturating_sub(left.width()));
        left.plain(gap).dim(BETWEEN).then(right.next().unwrap_or_default())
    };
    (0..count).map(row).collect()
}
