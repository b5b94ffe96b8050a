//! One session on one line, in columns that go and come with the width.

use super::order::{Branch, Place};
use super::words;
use crate::api::session::Session;
use crate::look::age::age;
use crate::look::line::{Line, columns_of, cut, one_line};
use crate::look::status::{self, Signs};
use crate::tui::model::Model;

/// The agent of a session where nobody chose another.
const USUAL: &str = "builder";

/// A title that is cut shorter than this says nothing.
const TITLE: usize = 12;

/// How wide the columns are at the right of the title; 0 where one is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Columns {
    width: usize,
    engine: usize,
    doing: usize,
    age: usize,
    cost: usize,
}

impl Columns {
    /// What a row of so many columns shows. What it waits for outlives everything but the title.
    pub(crate) fn of(width: u16) -> Columns {
        let width = usize::from(width);
        let (engine, doing, age, cost) = match width {
            ..28 => (0, 0, 0, 0),
            28..40 => (0, 11, 0, 0),
            40..50 => (0, 11, 4, 0),
            50..72 => (8, 12, 4, 0),
            72..92 => (8, 18, 4, 7),
            92..120 => (18, 20, 4, 7),
            120.. => (24, 28, 4, 7),
        };
        Columns { width, engine, doing, age, cost }
    }

    /// The same where nobody tells what it costs.
    pub(crate) fn without_cost(self) -> Columns {
        Columns { cost: 0, ..self }
    }

    fn right(self) -> usize {
        [self.engine, self.doing, self.age, self.cost]
            .into_iter()
            .filter(|column| *column > 0)
            .map(|column| column + 1)
            .sum()
    }
}

/// The row of a session.
pub(crate) fn row(model: &Model, session: &Session, place: &Place, columns: Columns) -> Line {
    let head = Line::new()
        .plain(" ")
        .dim(guide(&place.branches, model.signs))
        .with(status::tone(status::shown(session)), model.signs.glyph(status::shown(session)))
        .plain(" ");
    let left = columns.width.saturating_sub(columns.right());
    let head = padded(head.then(name(model, session, place, left)), left);
    let engine = match columns.engine {
        ..12 => one_line(&session.backend),
        12.. => one_line(&status::engine(&session.backend, session.model.as_deref())),
    };
    let doing = words::doing(model, session);
    let cost = Line::new().dim(status::cost(&session.usage).unwrap_or_default());
    let since = Line::new().dim(age(model.now, words::since(model, session)));
    let line = column(head, Line::new().dim(engine), columns.engine, Side::Left);
    let line = column(line, doing, columns.doing, Side::Left);
    let line = column(line, cost, columns.cost, Side::Right);
    column(line, since, columns.age, Side::Right).fit(columns.width)
}

/// The title with what belongs to it, and the changes at the right end where they have room.
fn name(model: &Model, session: &Session, place: &Place, left: usize) -> Line {
    let indent = 3 + place.branches.len() * 2 + usize::from(!place.branches.is_empty()) * 2;
    let room = left.saturating_sub(indent);
    let changes = words::changes(session.changes);
    let shown = changes.width() > 0 && room >= TITLE + 2 + changes.width();
    let room = if shown { room - changes.width() - 2 } else { room };
    let title = one_line(&session.title);
    let usual = model.world.text_setting("default.agent").unwrap_or(USUAL);
    let agent = session.agent.as_deref().map(one_line);
    let named = |access: &str| agent.as_ref().map(|agent| format!("  ({agent}{access})")).unwrap_or_default();
    let access = if session.read_only { ", read-only" } else { "" };
    let agent = Some(named(access)).filter(|text| columns_of(text) + TITLE <= room).unwrap_or_else(|| named(""));
    let mut rest = match (&session.parent, &session.agent) {
        (Some(_), Some(_)) => agent,
        // The title of one's own task says more than who works on it.
        (None, Some(name)) if name != usual && columns_of(&title) + columns_of(&agent) <= room => agent,
        (None, Some(_)) | (_, None) => String::new(),
    };
    if place.folded > 0 {
        rest.push_str(&format!("  +{}", place.folded));
    }
    let rest = if Line::new().plain(&*rest).width() + TITLE > room { String::new() } else { rest };
    let title = cut(&title, room.saturating_sub(Line::new().plain(&*rest).width()));
    let line = Line::new().plain(title).dim(rest);
    if shown { padded(line, room + 2).then(changes) } else { line }
}

/// The lines that tie a child to its parent.
fn guide(branches: &[Branch], signs: Signs) -> String {
    let Some((last, above)) = branches.split_last() else { return String::new() };
    let mut guide = String::from("│ ");
    guide.extend(above.iter().map(|branch| match branch {
        Branch::GoesOn => "│ ",
        Branch::Ends => "  ",
    }));
    guide.push_str(match last {
        Branch::GoesOn => "├ ",
        Branch::Ends => "└ ",
    });
    match signs {
        Signs::Unicode => guide,
        Signs::Ascii => guide.replace(['│', '├'], "|").replace('└', "`"),
    }
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// The line with one more column, when the column is shown.
fn column(line: Line, cell: Line, width: usize, side: Side) -> Line {
    if width == 0 {
        return line;
    }
    let cell = cell.fit(width);
    let line = line.plain(" ");
    match side {
        Side::Left => line.then(padded(cell, width)),
        Side::Right => line.plain(" ".repeat(width.saturating_sub(cell.width()))).then(cell),
    }
}

fn padded(line: Line, width: usize) -> Line {
    let line = line.fit(width);
    let gap = width.saturating_sub(line.width());
    line.plain(" ".repeat(gap))
}
