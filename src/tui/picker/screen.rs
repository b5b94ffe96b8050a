//! How a list looks: a box in the middle of the screen with a row for the letters, and what they leave.

use ratatui::Frame;
use ratatui::layout::{Constraint, Flex, Layout, Position, Rect};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::rows::Row;
use super::{Kind, State};
use crate::look::line::{Line, Tone, columns_of, one_line};
use crate::tui::bar;
use crate::tui::composer::{self, Target};
use crate::tui::keymap::{Action, Context};
use crate::tui::model::Model;

/// As wide as a row can be read.
const WIDEST: u16 = 88;

/// Where everything stands.
struct Parts {
    around: Rect,
    query: Rect,
    list: Rect,
    foot: Rect,
}

fn parts(state: &State, area: Rect) -> Parts {
    let height = u16::try_from(state.rows.len().max(1)).unwrap_or(u16::MAX).saturating_add(4);
    let [middle] = Layout::horizontal([Constraint::Max(WIDEST)]).flex(Flex::Center).areas(area);
    let most = (area.height / 4 * 3).max(6);
    let [around] = Layout::vertical([Constraint::Max(height.min(most))]).flex(Flex::Center).areas(middle);
    let [query, list, foot] = Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)])
        .areas(Block::bordered().inner(around));
    Parts { around, query, list, foot }
}

/// The first row that a list of this height shows.
fn first(state: &State, height: u16) -> usize {
    (state.cursor + 1).saturating_sub(usize::from(height).max(1))
}

/// The place among the shown rows that lies here.
pub(super) fn hit(state: &State, area: Rect, at: Position) -> Option<usize> {
    let list = parts(state, area).list;
    let place = list.contains(at).then(|| first(state, list.height) + usize::from(at.y - list.y))?;
    (place < state.shown.len()).then_some(place)
}

pub(crate) fn view(model: &Model, state: &State, frame: &mut Frame, area: Rect) {
    let Parts { around, query, list, foot } = parts(state, area);
    let theme = model.theme;
    let title = format!(" {} ", title(model, state));
    let block = Block::bordered().border_style(theme.style(Tone::Dim)).title(title);
    frame.render_widget(Clear, around);
    frame.render_widget(block, around);
    let columns = usize::from(query.width);
    let typed = Line::toned(Tone::Accent, "› ").plain(one_line_kept(&state.query)).fit(columns);
    if !query.is_empty() {
        let end = u16::try_from(typed.width()).unwrap_or(u16::MAX).min(query.width.saturating_sub(1));
        frame.set_cursor_position((query.x + end, query.y));
    }
    frame.render_widget(Paragraph::new(theme.line(&typed)), query);
    frame.render_widget(Paragraph::new(rows(model, state, list)), list);
    frame.render_widget(Paragraph::new(theme.line(&Line::new().dim(hint(model, state)).fit(columns))), foot);
}

/// The query as it is typed: blanks at its end are seen.
fn one_line_kept(query: &str) -> String {
    let blanks = query.len() - query.trim_end().len();
    one_line(query) + &" ".repeat(blanks)
}

fn title(model: &Model, state: &State) -> String {
    let whose = match composer::target(model) {
        Target::Task => "the next task",
        Target::Session(_) => "the next prompt",
    };
    match &state.kind {
        Kind::Palette => "commands".to_owned(),
        Kind::Jump => "jump to a session".to_owned(),
        Kind::Removed => "restore a session".to_owned(),
        Kind::Backend => format!("1/2 backend for {whose}"),
        Kind::Model(backend) => format!("2/2 model of {} for {whose}", one_line(backend)),
        Kind::Reasoning => format!("reasoning for {whose}"),
        Kind::Agent => format!("agent for {whose}"),
        Kind::Plans => "plans that wait".to_owned(),
        Kind::Queue => "prompts that wait: ⏎ takes one back".to_owned(),
        Kind::Login => "log in to a backend".to_owned(),
        Kind::Posture => match composer::target(model) {
            Target::Task => "posture for the next task".to_owned(),
            Target::Session(_) => "posture of this session".to_owned(),
        },
    }
}

fn hint(model: &Model, state: &State) -> String {
    let choose = bar::key(model, Context::Picker, Action::Open).unwrap_or_default();
    let back = model.keymap.key(Context::Picker, Action::Back).unwrap_or_default();
    match (&state.kind, state.marked.len()) {
        (Kind::Backend | Kind::Model(_), 0) => {
            format!("{choose} chooses · space marks several: one session each · {back} goes back")
        }
        (Kind::Backend, count) => format!("{count} marked · {choose} takes them · space marks · → models"),
        (Kind::Model(_), count) => format!("{count} marked · {choose} takes them · space marks · ← backends"),
        (Kind::Plans, _) => format!("{choose} reads it · {back} goes back"),
        (Kind::Queue, _) => format!("{choose} takes it back into the composer · {back} goes back"),
        (
            Kind::Palette | Kind::Jump | Kind::Removed | Kind::Reasoning | Kind::Agent | Kind::Posture | Kind::Login,
            _,
        ) => format!("{choose} chooses · {back} goes back"),
    }
}

fn rows(model: &Model, state: &State, area: Rect) -> Vec<ratatui::text::Line<'static>> {
    let theme = model.theme;
    if state.shown.is_empty() {
        let word = match (&state.kind, &model.world.backends) {
            (Kind::Backend, None) => "looking for agents…",
            (Kind::Backend, Some(_)) if state.query.is_empty() => "no agent can run: settings show what is missing",
            _ => "nothing matches",
        };
        return vec![theme.line(&Line::new().dim(word).fit(usize::from(area.width)))];
    }
    let (height, first) = (usize::from(area.height).max(1), first(state, area.height));
    let visible = || state.shown.iter().enumerate().skip(first).take(height);
    let label = visible().filter_map(|(_, index)| state.rows.get(*index)).map(|row| columns_of(&row.label)).max();
    let label = label.unwrap_or(0).min(usize::from(area.width) * 2 / 3);
    let line = |(place, index): (usize, &usize)| {
        let row = state.rows.get(*index)?;
        let line = theme.line(&of(state, row, label).fit(usize::from(area.width)));
        Some(if place == state.cursor { line.style(theme.selected()) } else { line })
    };
    visible().filter_map(line).collect()
}

fn of(state: &State, row: &Row, label: usize) -> Line {
    let mark = match (state.is_marked(row), row.is_current) {
        (true, _) => "+ ",
        (false, true) => "• ",
        (false, false) => "  ",
    };
    let name = Line::new().plain(row.label.as_str()).fit(label);
    let gap = label.saturating_sub(name.width()) + 2;
    Line::toned(Tone::Accent, mark).then(name).plain(" ".repeat(gap)).dim(row.detail.as_str())
}
