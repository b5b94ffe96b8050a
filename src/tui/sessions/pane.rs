//! Where the list, the filter and the preview stand, which rows are seen, and what lies under the mouse.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};

use super::order::{Group, Resting, Row};
use super::row::{Columns, row};
use super::sift::Stage;
use super::{order, preview};
use crate::look::line::{Line, Tone, one_line};
use crate::look::status::{cost, count};
use crate::tui::bar;
use crate::tui::keymap::{Action, Context};
use crate::tui::model::{Focus, Model};
use crate::tui::view::WIDE;
use crate::tui::welcome;
use crate::tui::world::Link;

/// Under the row of the cursor, a preview takes at most this many lines.
const FOLD: u16 = 8;

/// What is seen of the list.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The line at the top.
    pub(super) first: usize,
    watch: Watch,
    /// How many lines fit.
    height: u16,
    preview: Vec<Line>,
    /// How far the preview is scrolled up from its end.
    up: usize,
}

/// What keeps the list in its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Watch {
    #[default]
    Cursor,
    /// The wheel looks around.
    Free,
}

impl State {
    /// The cursor is seen again.
    pub(super) fn follow(&mut self) {
        self.watch = Watch::Cursor;
    }

    pub(super) fn forget_preview(&mut self) {
        self.up = 0;
    }

    /// The row of the cursor is another; it stays on its line of the screen, unless the top of the list is seen.
    pub(super) fn moved(&mut self, before: usize, after: usize) {
        if self.first > 0 {
            self.first = (self.first + after).saturating_sub(before);
        }
    }

    pub(super) fn page(&self) -> usize {
        usize::from(self.height.max(2) - 1)
    }
}

/// What the mouse points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hit {
    Session(String),
    /// Between the rows.
    List,
    Preview,
}

#[derive(Debug, Clone, Copy)]
struct Panes {
    filter: Rect,
    list: Rect,
    rule: Rect,
    /// Beside the list; empty where the preview stands under the row of the cursor.
    preview: Rect,
}

fn panes(model: &Model, area: Rect) -> Panes {
    let filter = u16::from(model.sessions.filter.is_some());
    let is_wide = area.width >= WIDE;
    let (list, rule) = if is_wide { ((area.width / 2).clamp(56, 100), 1) } else { (area.width, 0) };
    let [left, rule, preview] =
        Layout::horizontal([Constraint::Length(list), Constraint::Length(rule), Constraint::Min(0)]).areas(area);
    let [filter, list] = Layout::vertical([Constraint::Length(filter), Constraint::Min(0)]).areas(left);
    Panes { filter, list, rule, preview }
}

/// Lays out the preview, and moves what is seen so that the cursor is.
pub(crate) fn prepare(model: &mut Model, area: Rect) {
    let panes = panes(model, area);
    let lines = if panes.preview.is_empty() {
        let rows = FOLD.min(panes.list.height / 3 + 1);
        preview::folded(model, panes.list.width.saturating_sub(5), rows)
    } else {
        let width = panes.preview.width.saturating_sub(2);
        let (lines, up) = preview::whole(model, width, panes.preview.height, model.sessions.pane.up);
        model.sessions.pane.up = up;
        lines
    };
    let folded = if panes.preview.is_empty() { lines.len() } else { 0 };
    let cursor = model.sessions.index();
    let height = usize::from(panes.list.height);
    let total = model.sessions.rows.len() + folded;
    let heads = cursor.filter(|index| *index > 0).map(|index| &model.sessions.rows[index - 1]);
    let with_heading = usize::from(matches!(heads, Some(Row::Heading(_))));
    let state = &mut model.sessions.pane;
    state.preview = lines;
    state.height = panes.list.height;
    if let (Watch::Cursor, Some(cursor)) = (state.watch, cursor) {
        state.first = state.first.max((cursor + folded + 1).saturating_sub(height));
        state.first = state.first.min(if height > with_heading { cursor - with_heading } else { cursor });
    }
    state.first = state.first.min(total.saturating_sub(height));
}

/// A line of the list.
enum Shown {
    Row(usize),
    Preview(usize),
}

fn shown(model: &Model, panes: &Panes) -> Vec<Shown> {
    let state = &model.sessions;
    let folded = if panes.preview.is_empty() { state.pane.preview.len() } else { 0 };
    let cursor = state.index().unwrap_or(state.rows.len());
    let at = |line: usize| match line {
        line if line <= cursor => Shown::Row(line),
        line if line <= cursor + folded => Shown::Preview(line - cursor - 1),
        line => Shown::Row(line - folded),
    };
    let total = state.rows.len() + folded;
    (state.pane.first..total).take(usize::from(panes.list.height)).map(at).collect()
}

pub(crate) fn view(model: &Model, frame: &mut Frame, area: Rect) {
    if welcome::is_shown(model) {
        return welcome::view(model, frame, area);
    }
    let panes = panes(model, area);
    frame.render_widget(model.theme.line(&filter_row(model).fit(usize::from(panes.filter.width))), panes.filter);
    list(model, frame, &panes);
    for area in panes.rule.rows() {
        frame.render_widget(model.theme.line(&Line::new().dim("│")), area);
    }
    if !panes.preview.is_empty() {
        let inner = Rect { x: panes.preview.x + 1, width: panes.preview.width - 1, ..panes.preview };
        for (line, area) in model.sessions.pane.preview.iter().zip(inner.rows()) {
            frame.render_widget(model.theme.line(line), area);
        }
    }
}

fn list(model: &Model, frame: &mut Frame, panes: &Panes) {
    let columns = Columns::of(panes.list.width);
    let costs = model.world.sessions.values().any(|session| cost(&session.usage).is_some());
    let columns = if costs { columns } else { columns.without_cost() };
    let draw = |frame: &mut Frame, line: Line, area: Rect| {
        frame.render_widget(model.theme.line(&line.fit(usize::from(area.width))), area);
    };
    if model.sessions.rows.is_empty() {
        for (line, area) in nothing(model).into_iter().zip(panes.list.rows()) {
            draw(frame, line, area);
        }
    }
    for (shown, area) in shown(model, panes).into_iter().zip(panes.list.rows()) {
        match shown {
            Shown::Preview(line) => {
                let line = model.sessions.pane.preview[line].clone();
                draw(frame, Line::new().plain("   ").dim("▏ ").then(line), area);
            }
            Shown::Row(index) => match &model.sessions.rows[index] {
                Row::Heading(group) => draw(frame, heading(*group), area),
                Row::Session(place) => {
                    if let Some(session) = model.world.sessions.get(&place.id) {
                        draw(frame, row(model, session, place, columns), area);
                    }
                    // While somebody writes, no act is about a row.
                    if model.sessions.selected() == Some(&place.id) && model.focus == Focus::Main {
                        frame.buffer_mut().set_style(area, model.theme.selected());
                    }
                }
            },
        }
    }
}

fn heading(group: Group) -> Line {
    let tone = match group {
        Group::NeedsYou => Tone::Accent,
        Group::Running | Group::Ready | Group::Interrupted | Group::Drafts | Group::Resting => Tone::Dim,
    };
    Line::new().plain(" ").with(tone, group.heading())
}

fn filter_row(model: &Model) -> Line {
    let Some(filter) = &model.sessions.filter else { return Line::new() };
    let found = model.sessions.rows.iter().filter(|row| row.id().is_some()).count();
    let line = Line::new().plain(" ").with(Tone::Accent, "filter ").plain(one_line(&filter.text));
    let line = match filter.stage {
        Stage::Typed => line.with(Tone::Accent, "█"),
        Stage::Kept => line,
    };
    line.dim(format!("   {} of {}", found, count(model.world.sessions.len(), "session")))
}

/// Why the list is empty although there are sessions, or nobody knows yet.
fn nothing(model: &Model) -> Vec<Line> {
    let key = |action| bar::key(model, Context::Sessions, action).unwrap_or_default();
    let line = |text: String| Line::new().plain(" ").dim(text);
    let resting = model.world.sessions.values().filter(|session| order::is_resting(session)).count();
    match (&model.world.link, model.world.is_listed, &model.sessions.filter) {
        (Link::Lost { .. } | Link::Stopped | Link::Silent { .. }, false, _) => {
            vec![line("the daemon is away; its sessions go on without this screen".into())]
        }
        (Link::Connecting, false, _) => vec![line("looking for the daemon…".into())],
        (Link::Connected, false, _) => vec![line("reading the sessions…".into())],
        (_, true, Some(_)) => {
            let more = match model.sessions.resting {
                Resting::Hidden => format!(", and {} finds what is merged or archived", key(Action::ToggleResting)),
                Resting::Shown => String::new(),
            };
            vec![line("nothing matches".into()), line(format!("{} clears the filter{more}", key(Action::Back)))]
        }
        (_, true, None) => vec![
            line("nothing is open".into()),
            line(format!("{} describes the next task", key(Action::NewTask))),
            line(format!("{} shows {resting} merged or archived", key(Action::ToggleResting))),
        ],
    }
}

/// What lies at this place of the screen.
pub(crate) fn hit(model: &Model, area: Rect, at: Position) -> Hit {
    let panes = panes(model, area);
    if panes.preview.contains(at) {
        return Hit::Preview;
    }
    let line = at.y.checked_sub(panes.list.y).map(usize::from);
    match line.and_then(|line| shown(model, &panes).into_iter().nth(line)) {
        Some(Shown::Row(index)) => model.sessions.rows[index].id().map_or(Hit::List, |id| Hit::Session(id.to_owned())),
        Some(Shown::Preview(_)) => Hit::Preview,
        None => Hit::List,
    }
}

/// Looks around in the list; the cursor stays where it is.
pub(crate) fn scroll_list(model: &mut Model, rows: i32) {
    let state = &mut model.sessions.pane;
    state.watch = Watch::Free;
    state.first = moved(state.first, rows);
}

/// Looks back in the preview, or forward to its end.
pub(crate) fn scroll_preview(model: &mut Model, rows: i32) {
    let state = &mut model.sessions.pane;
    state.up = moved(state.up, -rows);
}

fn moved(place: usize, rows: i32) -> usize {
    place.saturating_add_signed(isize::try_from(rows).unwrap_or_default())
}
