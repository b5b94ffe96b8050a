//! The changes on the screen: a row about the file in hand, the list of files, the lines, and the box of a comment.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Areas, Position, Rect};

use super::super::bar;
use super::super::keymap::{Action, Context};
use super::super::model::Model;
use super::super::view::WIDE;
use super::comment::Writing;
use super::item::Layout;
use super::patch::File;
use super::row::{self, Sheet};
use super::state::{Inside, Pane, Reading, Row, State};
use crate::api::session::Status;
use crate::look::line::{Line, Tone, columns_of, cut, file_name};
use crate::look::status::count;

/// Columns of the list beside the lines.
const LIST: u16 = 40;

/// Where everything stands.
struct Parts {
    head: Rect,
    list: Rect,
    lines: Rect,
    words: Rect,
}

fn parts(state: &State, area: Rect) -> Parts {
    let words = if state.writing.is_some() { Writing::height().min(area.height / 2) } else { 0 };
    let [head, main, words] =
        Areas::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(words)]).areas(area);
    let (list, lines) = match (area.width >= WIDE, state.pane) {
        (true, _) => (LIST, Constraint::Min(0)),
        (false, Pane::Files) => (area.width, Constraint::Length(0)),
        (false, Pane::Lines) => (0, Constraint::Min(0)),
    };
    let [list, lines] = Areas::horizontal([Constraint::Length(list), lines]).areas(main);
    Parts { head, list, lines, words }
}

/// How the sides are shown on a screen of this width.
pub(super) fn layout(wanted: Layout, width: u16) -> Layout {
    if width >= WIDE { wanted } else { Layout::Unified }
}

/// Brings the rows around the cursor into shape; the others cost nothing. `unfold` is the key that shows the rest of a
/// long line.
pub(super) fn prepare(state: &mut State, area: Rect, unfold: &str) {
    state.settle(layout(state.layout, area.width));
    let lines = parts(state, area).lines;
    state.page = usize::from(lines.height);
    state.rows.clear();
    let Some(file) = state.files.get(state.file) else { return };
    let height = usize::from(lines.height);
    let sheet = Sheet { file, review: &state.review, width: usize::from(lines.width), unfold };
    let paint = &mut state.paint;
    let mut rows = |item: usize| match state.items.get(item) {
        Some(shown) => row::rows(&sheet, shown, paint),
        None => Vec::new(),
    };
    // As few items as possible go out above, so that the cursor is seen.
    let mut first = state.cursor;
    let mut used = rows(first).len();
    state.inside = match state.inside {
        Inside { item, above, .. } if item == first => {
            Inside { item, above: above.min(used.saturating_sub(height)), below: 0 }
        }
        Inside { .. } => Inside { item: first, above: 0, below: 0 },
    };
    state.inside.below = used.saturating_sub(height + state.inside.above);
    while first > state.top.min(state.cursor) {
        used += rows(first - 1).len();
        if used > height {
            break;
        }
        first -= 1;
    }
    state.top = first;
    let above = if first == state.cursor { state.inside.above } else { 0 };
    let mut drawn = Vec::with_capacity(height);
    for item in first..state.items.len() {
        let skipped = if item == first { above } else { 0 };
        drawn.extend(rows(item).into_iter().skip(skipped).map(|line| Row { line, item }));
        if drawn.len() >= height {
            break;
        }
    }
    drawn.truncate(height);
    state.rows = drawn;
}

pub(super) fn view(model: &Model, frame: &mut Frame, area: Rect) {
    let state = &model.review;
    let parts = parts(state, area);
    frame.render_widget(model.theme.line(&head(model, area.width)), parts.head);
    if let Some(teaching) = teaching(model) {
        let below = Rect { y: parts.head.bottom(), height: area.height.saturating_sub(1), ..area };
        let lines = teaching.iter().flat_map(|line| line.wrap(usize::from(area.width).saturating_sub(2)));
        draw(model, frame, below, lines.map(|line| (Line::new().plain(" ").then(line), Mark::None)));
        return;
    }
    list(model, frame, parts.list);
    if !parts.list.is_empty() && !parts.lines.is_empty() {
        let bar = Rect { x: parts.lines.x - 1, width: 1, ..parts.lines };
        draw(model, frame, bar, std::iter::repeat_with(|| (Line::new().dim("│"), Mark::None)));
    }
    let cursor = |item: usize| match state.pane {
        Pane::Lines if item == state.cursor => Mark::Cursor,
        Pane::Lines | Pane::Files => Mark::None,
    };
    draw(model, frame, parts.lines, state.rows.iter().map(|row| (row.line.clone(), cursor(row.item))));
    if let Some(writing) = &state.writing {
        writing.view(model.theme, frame, parts.words);
    }
}

/// What a place on the screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    File(usize),
    Item(usize),
}

pub(super) fn hit(state: &State, area: Rect, at: Position) -> Option<Hit> {
    let parts = parts(state, area);
    if parts.list.contains(at) {
        let file = first_file(state, usize::from(parts.list.height)) + usize::from(at.y - parts.list.y);
        return (file < state.files.len()).then_some(Hit::File(file));
    }
    let row = parts.lines.contains(at).then(|| usize::from(at.y - parts.lines.y))?;
    state.rows.get(row).map(|row| Hit::Item(row.item))
}

enum Mark {
    Cursor,
    None,
}

fn draw(model: &Model, frame: &mut Frame, area: Rect, rows: impl Iterator<Item = (Line, Mark)>) {
    for (row, (line, mark)) in area.rows().zip(rows) {
        frame.render_widget(model.theme.line(&line), row);
        match mark {
            Mark::Cursor => frame.buffer_mut().set_style(row, model.theme.selected()),
            Mark::None => {}
        }
    }
}

/// `src/limit.rs  +31 −4   turn 2 of 3   unified ⇄ split   looked at 2/4 files   1 draft`
fn head(model: &Model, width: u16) -> Line {
    let state = &model.review;
    let mut line = Line::new().plain(" ");
    if let Some(file) = state.file() {
        let from = file.from.as_ref().map(|from| format!("{} → ", file_name(from))).unwrap_or_default();
        line = line.strong(from + &file_name(&file.path)).plain("  ").then(counts(file));
    }
    let turns = model.world.sessions.get(&state.session).map_or(0, |session| session.turns);
    line = match state.turn {
        Some(turn) => line.with(Tone::Warn, format!("   turn {turn} of {turns}")),
        None => line.dim(format!("   all {}", count(turns as usize, "turn"))),
    };
    if width >= WIDE {
        line = match layout(state.layout, width) {
            Layout::Unified => line.plain("   unified").dim(" ⇄ split"),
            Layout::Split => line.dim("   unified ⇄ ").plain("split"),
        };
    }
    if !state.files.is_empty() {
        let seen = state.files.iter().filter(|file| state.is_looked_at(file)).count();
        let tone = if seen == state.files.len() { Tone::Good } else { Tone::Dim };
        line = line.with(tone, format!("   looked at {seen}/{}", count(state.files.len(), "file")));
    }
    if state.reading == Reading::Asked && !state.files.is_empty() {
        line = line.dim("   reading…");
    }
    match state.drafts() {
        0 => line,
        drafts => line.with(Tone::Accent, format!("   {}", count(drafts, "draft"))),
    }
    .fit(usize::from(width))
}

fn counts(file: &File) -> Line {
    if file.is_binary() {
        return Line::new().dim("binary");
    }
    if file.more + file.less == 0 {
        return Line::new();
    }
    Line::toned(Tone::More, format!("+{}", file.more)).plain(" ").with(Tone::Less, format!("−{}", file.less))
}

fn is_merged(model: &Model) -> bool {
    let session = model.world.sessions.get(model.review.session.as_str());
    session.is_some_and(|session| session.status == Status::Merged)
}

/// What to say where there is nothing to look at.
fn teaching(model: &Model) -> Option<Vec<Line>> {
    let state = &model.review;
    let key = |action| bar::key(model, Context::Diff, action).unwrap_or_default();
    let told = |text: &str, hint: &str| Some(vec![Line::new(), Line::new().plain(text), Line::new().dim(hint)]);
    match (state.reading, state.files.is_empty(), state.turn) {
        (Reading::Asked, true, _) => told("Reading the changes…", ""),
        (Reading::Done, true, None) if is_merged(model) => told(
            "All of it is merged.",
            &format!("{} and {} show what each turn changed.", key(Action::EarlierTurn), key(Action::LaterTurn)),
        ),
        (Reading::Done, true, None) => told(
            "Nothing is changed.",
            &format!(
                "Files that the agent edits show here, with a place to comment on every line. {} goes back.",
                key(Action::Back)
            ),
        ),
        (Reading::Done, true, Some(turn)) => told(
            &format!("Turn {turn} changed no file."),
            &format!(
                "{} and {} show the other turns, and all of them together.",
                key(Action::EarlierTurn),
                key(Action::LaterTurn)
            ),
        ),
        (_, false, _) => None,
    }
}

/// The first file that a list of this height shows: the one in hand stays in its middle.
fn first_file(state: &State, height: usize) -> usize {
    state.file.saturating_sub(height / 2).min(state.files.len().saturating_sub(height))
}

fn list(model: &Model, frame: &mut Frame, area: Rect) {
    let state = &model.review;
    let height = usize::from(area.height);
    let first = first_file(state, height);
    let rows = state.files.iter().enumerate().skip(first).take(height).map(|(at, file)| {
        let mark = match (at == state.file, state.pane) {
            (true, Pane::Files) => Mark::Cursor,
            (true, Pane::Lines) | (false, _) => Mark::None,
        };
        let pointer = if at == state.file { "▸" } else { " " };
        (entry(state, file, pointer, usize::from(area.width)), mark)
    });
    draw(model, frame, area, rows);
}

fn entry(state: &State, file: &File, pointer: &str, width: usize) -> Line {
    let seen = if state.is_looked_at(file) { "✓" } else { " " };
    let head = Line::new().plain(pointer).with(Tone::Good, seen).dim(format!(" {} ", file.fate.letter()));
    let comments: Vec<_> = state.review.comments.iter().filter(|comment| comment.path == file.path).collect();
    let tail = Line::new().plain("  ").then(counts(file));
    let tail = match comments.iter().any(|comment| comment.sent_at.is_none()) {
        true => tail.with(Tone::Accent, format!(" [{}]", comments.len())),
        false if comments.is_empty() => tail,
        false => tail.dim(format!(" [{}]", comments.len())),
    };
    // Between the list and the lines is a bar.
    let room = width.saturating_sub(head.width() + tail.width() + 2);
    let name = ending(&file_name(&file.path), room);
    let gap = " ".repeat(room.saturating_sub(columns_of(&name)));
    head.plain(name).plain(gap).then(tail).fit(width)
}

/// The end of a path says more than its beginning.
fn ending(path: &str, columns: usize) -> String {
    if columns_of(path) <= columns {
        return path.to_owned();
    }
    let tails = path.match_indices('/').map(|(at, _)| format!("…{}", &path[at..]));
    let name = path.rsplit('/').next().unwrap_or(path);
    tails.into_iter().find(|tail| columns_of(tail) <= columns).unwrap_or_else(|| cut(name, columns))
}
